"""Whole runs through real local Ray: drivers as child processes, killed and resumed, against a stand-in end point."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from stand_in import StandIn

from cluster import rows
from cluster.store import RunFolder
from serial7 import grid

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.ray


def start(out: Path, *arguments: str, script: str = "eval") -> subprocess.Popen[str]:
    command = [sys.executable, f"launch/{script}.py", *arguments]
    if script == "eval":
        command.append(f"out={out}")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("RAY_", "SERIAL7_"))}
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def finish(driver: subprocess.Popen[str]) -> tuple[int, str]:
    printed, _ = driver.communicate(timeout=300)
    return driver.returncode, printed


def run(out: Path, *arguments: str, script: str = "eval") -> tuple[int, str]:
    return finish(start(out, *arguments, script=script))


def api(server: StandIn, *more: str) -> list[str]:
    return ["model=openai-compatible", f"provider.base_url={server.url}", "provider.model_id=m", *more]


def the_folder(out: Path) -> RunFolder:
    [found] = out.iterdir()
    return RunFolder(str(found))


def stored(folder: RunFolder) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = folder.read("completions", rows.COMPLETION).to_pylist()
    return found


def assert_adds_up(summary: dict[str, Any], planned: int) -> None:
    for counts in [*summary["cells"], summary["total"]]:
        assert counts["done"] + counts["failed"] + counts["missing"] == counts["planned"]
    assert sum(cell["planned"] for cell in summary["cells"]) == summary["total"]["planned"] == planned


def test_gold_scores_everything_and_can_be_scored_again(tmp_path: Path) -> None:
    code, printed = run(tmp_path, "model=gold")
    assert code == 0, printed
    folder = the_folder(tmp_path)
    summary = folder.read_json("summary.json")
    assert_adds_up(summary, len(grid.starter_grid()))
    cells = {(c["condition"], c["level"], c["format"], c["language"]): c for c in summary["cells"]}
    assert set(cells) == {(r.condition, r.level, r.format, r.language) for r in grid.starter_grid()}
    for place, cell in cells.items():
        assert cell["n"] == cell["fc"] == cell["hsr"] == cell["full"] == cell["planned"], place
        assert cell["statuses"] == {"ok": cell["planned"]}
    assert printed.splitlines()[-1].endswith("exit code 0")
    assert str(folder.url) in printed
    manifest, status = folder.read_json("manifest.json"), folder.read_json("status.json")
    assert (manifest["state"], manifest["exit_code"], status["state"], status["exit_code"]) == (
        "complete",
        0,
        "ended",
        0,
    )
    assert manifest["hashes"]["grid"] == grid.grid_hash(grid.starter_grid())
    assert {"ray", "lxml", "pyarrow"} <= set(manifest["versions"])
    plan = folder.read_plan()
    assert plan is not None
    assert sorted(plan.column("request_id").to_pylist()) == sorted(r.id for r in grid.starter_grid())
    instances = folder.read("verdicts/instances", rows.INSTANCE)
    assert Counter(instances.column("key").to_pylist()) == Counter(plan.column("key").to_pylist())
    findings = folder.read("verdicts/findings", rows.FINDING)
    assert set(findings.column("outcome").to_pylist()) == {"pass"}

    parts = folder.parts("completions")
    code, printed = run(tmp_path, f"run={folder.url}", script="score")
    assert code == 0, printed
    assert folder.read_json("summary.json") == summary
    assert folder.parts("completions") == parts
    assert len(folder.read("verdicts/findings", rows.FINDING)) == len(findings)


def test_kill_9_of_the_driver_loses_nothing_and_asks_nothing_twice(tmp_path: Path, stand_in: StandIn) -> None:
    planned, answered = 40, 21
    stand_in.gate = answered
    command = api(stand_in, f"limit={planned}", "client.connections=16")
    first = start(tmp_path, *command)
    assert stand_in.at_gate.wait(120)
    folder = the_folder(tmp_path)
    _until(first, lambda: len(stored(folder)) == answered)

    code, printed = run(tmp_path, *command)  # a second driver, while the first works
    assert code == 2, printed
    assert "another driver works on" in printed
    assert folder.read_json("status.json")["state"] == "running"

    first.kill()
    first.wait()
    before = {row["key"]: row for row in stored(folder)}
    assert len(before) == answered
    asked_before = stand_in.asked()
    stand_in.release()
    code, printed = run(tmp_path, *command)
    assert code == 0, printed
    assert "continuing the run" in printed
    expected = f"{planned} requests planned, {answered} have their completion, {planned - answered} to ask"
    assert expected in printed, printed

    after = stored(folder)
    plan = folder.read_plan()
    assert plan is not None
    assert Counter(row["key"] for row in after) == Counter(plan.column("key").to_pylist())  # every row once
    assert {row["key"]: row for row in after if row["key"] in before} == before  # what was stored is as it was
    asked_again = stand_in.asked() - asked_before
    assert sum(asked_again.values()) == planned - answered
    instances = folder.read("verdicts/instances", rows.INSTANCE)
    assert Counter(instances.column("key").to_pylist()) == Counter(plan.column("key").to_pylist())
    summary = folder.read_json("summary.json")
    assert_adds_up(summary, planned)
    assert summary["total"]["done"] == planned

    requests = sum(stand_in.asked().values())
    code, printed = run(tmp_path, *command)  # complete: the same command asks nothing
    assert code == 0, printed
    assert sum(stand_in.asked().values()) == requests


def _until(driver: subprocess.Popen[str], holds: Any) -> None:
    """Poll the run folder, which is what another process sees, until `holds()`; the driver must stay alive."""
    while not holds():
        assert driver.poll() is None, driver.communicate()[0]
        try:
            driver.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
