"""Wrong usage of the launch scripts: one clear sentence, exit code 2, nothing half-written. No Ray."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cluster import run

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["model=gold", "limt=3"], "unknown key 'limt'; did you mean 'limit'?"),
        (["model=gould"], "unknown model 'gould'; did you mean 'gold'?"),
        ([], "which model?"),
        (["model=demo", "engine.model=/no/such/model"], "engine.model: /no/such/model holds no config.json"),
        (
            ["model=demo", "engine.python=/no/such/python", "engine.model=x/y"],
            "engine.python: cannot run /no/such/python",
        ),
        (["model=demo", "engine.python=/bin/false", "engine.model=x/y"], "engine.python: vLLM is not installed for"),
        (["model=gold", "conditions=[realize]", "sample_ids=[no-such-id]"], "no request of the grid matches"),
        (["models=[gold,demo]", "engine.model=/no/such/model"], "holds no config.json"),
    ],
    ids=str,
)
def test_wrong_usage(arguments: list[str], said: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    code = run.main(run.evaluate, [*arguments, f"out={tmp_path / 'runs'}"])
    assert code == 2
    assert said in caplog.text
    assert "Traceback" not in caplog.text
    assert caplog.messages[-1] == "exit code 2"
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("mine")
    assert run.main(run.evaluate, ["model=gold", f"out={tmp_path / 'file'}"]) == 2
    assert "out: cannot write to" in caplog.text
    assert (tmp_path / "file").read_text() == "mine"


def test_a_port_that_is_taken(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "config.json").write_text("{}")
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 0\n")
    python.chmod(0o755)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        engine = [f"engine.python={python}", f"engine.model={tmp_path}", f"engine.port={port}"]
        assert run.main(run.evaluate, ["model=demo", *engine, f"out={tmp_path / 'runs'}"]) == 2
    assert f"engine.port: port {port} is taken; free it, or leave engine.port null" in caplog.text
    assert not (tmp_path / "runs").exists()


def test_dry_run_prints_the_plan_and_makes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    assert run.main(run.evaluate, ["model=gold", "limit=7", "dry_run=true", f"out={tmp_path / 'runs'}"]) == 0
    assert "7 requests, about " in caplog.text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [([], "give the run folder"), (["run=/no/such/run"], "is no run folder"), (["runs/x"], "give the run folder")],
)
def test_scoring_what_is_no_run(arguments: list[str], said: str, caplog: pytest.LogCaptureFixture) -> None:
    assert run.main(run.score, arguments) == 2
    assert said in caplog.text


def test_scoring_a_run_of_another_schema(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = run.RunFolder(str(tmp_path))
    folder.write_json("manifest.json", {"schema": "99"})
    folder.write_table("plan.parquet", run.rows.PLAN.empty_table())
    assert run.main(run.score, [f"run={tmp_path}"]) == 2
    assert "schema version 99" in caplog.text


def test_a_bug_of_ours_ends_with_its_traceback_and_code_1(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    def act(_arguments: object) -> int:
        raise ZeroDivisionError("ours")

    assert run.main(act, []) == 1
    assert "ZeroDivisionError: ours" in caplog.text
    assert caplog.messages[-1] == "exit code 1"


@pytest.mark.parametrize("script", ["eval", "score"])
def test_the_scripts_can_be_started_as_they_are(script: str) -> None:
    path = ROOT / "launch" / f"{script}.py"
    assert path.read_text("utf-8").startswith("#!/usr/bin/env python3\n")
    assert os.access(path, os.X_OK)
    done = subprocess.run([path], cwd="/", env=plain_environment(), capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("exit code 2")


def plain_environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "VENV": sys.prefix, "HOME": os.environ.get("HOME", "/")}


@pytest.fixture
def bare(tmp_path: Path) -> str:
    """An interpreter without any package: `-S -E` leaves site-packages out."""
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec {Path(sys.executable).resolve()} -S -E "$@"\n')
    python.chmod(0o755)
    return str(python)


def test_an_interpreter_without_the_packages_hands_over_to_the_environment(bare: str) -> None:
    command = [bare, ROOT / "launch" / "eval.py", "model=gould"]
    environment = {k: v for k, v in plain_environment().items() if k != "PATH"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert "unknown model 'gould'" in done.stderr


def test_no_environment_at_all_is_one_sentence(bare: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "launch", tmp_path / "launch")
    done = subprocess.run([bare, tmp_path / "launch" / "eval.py"], env={}, capture_output=True, text=True)
    assert done.returncode == 2
    assert "not installed for" in done.stderr
    assert "make env" in done.stderr
    assert "Traceback" not in done.stderr
