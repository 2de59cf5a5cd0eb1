"""What generated code can do in the sandbox, and what it cannot. Skipped, with the reason, where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verified_code.test_process import alive
from verified_code import sandbox as module
from verified_code.process import Limits
from verified_code.sandbox import Sandbox, Unavailable, find_sandbox

FOUND = find_sandbox()
needed = pytest.mark.skipif(isinstance(FOUND, Unavailable), reason=getattr(FOUND, "reason", ""))


@pytest.fixture
def box() -> Sandbox:
    assert isinstance(FOUND, Sandbox)
    return FOUND


@needed
def test_it_reads_what_is_given_and_writes_to_memory_alone(box: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("given")
    script = "cat /given/in; echo x >/scratch/y && cat /scratch/y; echo z >/given/z; id -u; ls /; echo fine >&3"
    done = box.run(["/bin/sh", "-c", script], given=tmp_path, result=True)
    assert done.stdout.startswith(b"givenx\n65534\n")
    assert done.result == b"fine\n"
    assert b"Read-only" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["in"]
    assert set(done.stdout.split()[2:]) <= {
        b"bin",
        b"dev",
        b"etc",
        b"given",
        b"lib",
        b"lib64",
        b"proc",
        b"sbin",
        b"tmp",
        b"usr",
        b"scratch",
    }


@needed
@pytest.mark.parametrize(
    "script",
    [
        "cat /etc/passwd", "cat /etc/shadow", "ls /root /home", "kill -9 1 && sleep 1; ls /proc/1/root/etc/passwd",
        "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 22), 2)'",
        "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"/run/dbus/system_bus_socket\")'",
        "mount -t tmpfs x /given", "chroot / /bin/true", "echo x >/usr/x", "env | grep PLANTED",
        "head -c 200000000 /dev/zero >/scratch/big",
    ],
)  # fmt: skip
def test_it_cannot(box: Sandbox, script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED", "s3cr3t")
    done = box.run(["/bin/sh", "-c", script], given=tmp_path, limits=Limits(wall_s=20))
    assert done.rc != 0
    assert b"s3cr3t" not in done.stdout


@needed
@pytest.mark.parametrize(
    ("script", "bound"),
    [
        ("sleep 60; : W", "wall"),
        ("(setsid sh -c 'sleep 60; : W' &) ; sleep 60", "wall"),
        ("python3 -c 'x = bytearray(10**9); input()  # W'; sleep 60", "memory"),
        ("for i in $(seq 60); do sh -c 'sleep 60; : W' & done; wait", "processes"),
    ],
)
def test_bounds_hold_inside(box: Sandbox, script: str, bound: str, tmp_path: Path) -> None:
    word = "w" + tmp_path.name.replace("-", "")
    limits = Limits(wall_s=1.0 if bound == "wall" else 20.0, memory_bytes=10**8, processes=20)
    done = box.run(["/bin/sh", "-c", script.replace("W", word)], given=tmp_path, limits=limits)
    assert (done.rc, done.killed) == (None, bound)
    assert alive(word) == []


@needed
def test_a_detached_process_ends_with_the_command(box: Sandbox, tmp_path: Path) -> None:
    script = "(setsid sh -c 'sleep 60; : wdetached7' >/dev/null 2>&1 &); exit 0"
    assert box.run(["/bin/sh", "-c", script], given=tmp_path).rc == 0
    assert alive("wdetached7") == []


def test_without_bubblewrap_there_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module.shutil, "which", lambda _name: None)
    found = find_sandbox()
    assert isinstance(found, Unavailable)
    assert "apt-get install bubblewrap" in found.reason
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(module.shutil, "which", lambda _name: str(broken))
    found = find_sandbox()
    assert isinstance(found, Unavailable)
    assert "No permissions" in found.reason
