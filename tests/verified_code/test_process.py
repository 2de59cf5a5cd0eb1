"""Bounds, and that nothing is left running: every process carries a word in its command line that no other has."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import psutil
import pytest

from verified_code.errors import OperatorError
from verified_code.process import Finished, Limits, run


@pytest.fixture
def word() -> str:
    return f"w{uuid.uuid4().hex}"


def alive(word: str) -> list[int]:
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        command = " ".join(process.info["cmdline"] or [])
        if word in command and process.info["status"] != psutil.STATUS_ZOMBIE and process.pid != os.getpid():
            found.append(process.pid)
    return found


def sh(script: str, cwd: Path, limits: Limits = Limits(), *, result: bool = False) -> Finished:  # noqa: B008
    return run(["/bin/sh", "-c", script], cwd=cwd, limits=limits, result=result)


def test_output_error_code_and_result_come_apart(tmp_path: Path) -> None:
    done = sh("echo out; echo err >&2; echo pass >&3; exit 7", tmp_path, result=True)
    assert (done.rc, done.stdout, done.stderr, done.result, done.killed) == (7, b"out\n", b"err\n", b"pass\n", "")
    assert sh("echo pass >&3", tmp_path).rc != 0  # no descriptor where none was asked for
    assert sh("kill -TERM $$", tmp_path).rc == -15


def test_nothing_is_inherited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED_SECRET", "s3cr3t")
    done = sh("env; ls /proc/self/fd | wc -l", tmp_path)
    assert b"s3cr3t" not in done.stdout
    assert done.rc == 0


@pytest.mark.parametrize(
    ("script", "limits", "bound"),
    [
        ("sleep 60 # W", Limits(wall_s=0.3), "wall"),
        ("exec >&- 2>&-; sleep 60 # W", Limits(wall_s=0.3), "wall"),
        ("yes W", Limits(output_bytes=100_000), "output"),
        ("yes W >&3", Limits(output_bytes=100_000), "output"),
        ("python3 -c 'x = bytearray(10**9); input() # W'; sleep 60", Limits(memory_bytes=10**8), "memory"),
        ("for i in $(seq 80); do sh -c 'sleep 60; : W' & done; wait", Limits(processes=20), "processes"),
        ("trap '' TERM; sh -c 'trap \"\" TERM; sleep 60; : W'", Limits(wall_s=0.3), "wall"),
    ],
)
def test_each_bound_ends_all_of_it(script: str, limits: Limits, bound: str, tmp_path: Path, word: str) -> None:
    done = sh(script.replace("W", word), tmp_path, limits, result=True)
    assert (done.rc, done.killed) == (None, bound)
    assert alive(word) == []


def test_what_is_left_behind_ends_with_it(tmp_path: Path, word: str) -> None:
    for leave in ("sh -c 'sleep 60; : W' >/dev/null 2>&1 &", "(setsid sh -c 'sleep 60; : W' >/dev/null 2>&1 &)"):
        assert sh(f"{leave.replace(chr(87), word)}\nexit 0", tmp_path).rc == 0
        assert alive(word) == []


def test_an_exception_ends_it_too(tmp_path: Path, word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("verified_code.process._watch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sh(f"sleep 60; : {word}", tmp_path)
    assert alive(word) == []


def test_files_are_bounded(tmp_path: Path) -> None:
    done = sh("head -c 3000000 /dev/zero > big; echo $?", tmp_path, Limits(file_bytes=2**20))
    assert done.stdout != b"0\n"
    assert (tmp_path / "big").stat().st_size <= 2**20


def test_what_cannot_be_started(tmp_path: Path) -> None:
    assert run(["/no/such/program"], cwd=tmp_path).rc == 127
    with pytest.raises(OperatorError, match="cannot be started"):
        run(["/bin/true"], cwd=tmp_path / "none")
