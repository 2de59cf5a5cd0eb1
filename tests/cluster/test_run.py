"""Whole runs through real local Ray: drivers as child processes, killed and resumed, against a stand-in end point."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cluster import rows
from cluster.lock import folder_lock
from cluster.store import RunFolder
from serial7 import grid
from tests.cluster.driving import (
    ROOT,
    Head,
    api,
    assert_adds_up,
    clean_environment,
    finish,
    run,
    start,
    stored,
    the_folder,
    until,
)
from tests.cluster.stand_in import Reply, StandIn, completion, error, prompt_of
from tests.cluster.stand_in_engine import make_engine

pytestmark = pytest.mark.ray


def test_gold_scores_everything_and_can_be_scored_again(tmp_path: Path) -> None:
    code, printed = run(tmp_path, "model=gold")
    assert code == 0, printed
    folder = the_folder(tmp_path)
    summary = folder.read_json("summary.json")
    assert_adds_up(summary, len(grid.load_grid()))
    cells = {(c["condition"], c["level"], c["format"], c["language"]): c for c in summary["cells"]}
    assert set(cells) == {(r.condition, r.level, r.format, r.language) for r in grid.load_grid()}
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
    assert manifest["hashes"]["grid"] == grid.grid_hash(grid.load_grid())
    assert {"ray", "lxml", "pyarrow"} <= set(manifest["versions"])
    plan = folder.read_plan()
    assert plan is not None
    assert sorted(plan.column("request_id").to_pylist()) == sorted(r.id for r in grid.load_grid())
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
    planned, answered = 24, 13
    stand_in.gate = answered
    command = api(stand_in, f"limit={planned}", "client.connections=16")
    first = start(tmp_path, *command)
    assert stand_in.at_gate.wait(120)
    folder = the_folder(tmp_path)
    until(first, lambda: len(stored(folder)) == answered)

    code, printed = run(tmp_path, *command)  # a second driver, while the first works
    assert code == 2, printed
    assert "another driver works on" in printed
    assert folder.read_json("status.json")["state"] == "running"

    first.kill()
    first.wait()
    folder_lock(folder, wait_s=60).release()  # what the driver left behind is gone now, and wrote nothing since
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
    code, printed = run(tmp_path, *command)  # complete: the same command asks nothing, and needs no Ray
    assert code == 0, printed
    assert f"all {planned} requests have their completion and their verdict" in printed
    assert folder.read_json("summary.json") == summary
    assert sum(stand_in.asked().values()) == requests


def test_sigterm_ends_a_run_as_incomplete_and_resumable(tmp_path: Path, stand_in: StandIn, head: Head) -> None:
    stand_in.gate = 6
    command = api(stand_in, "limit=12", "client.connections=4")
    driver = start(tmp_path, *command, environment=head.environment)
    assert stand_in.at_gate.wait(120)
    folder = the_folder(tmp_path)
    until(driver, lambda: len(stored(folder)) == 6)
    driver.terminate()
    code, printed = finish(driver)
    assert code == 3, printed
    assert "ended by SIGTERM" in printed
    assert printed.splitlines()[-1].endswith("exit code 3")
    summary, status = folder.read_json("summary.json"), folder.read_json("status.json")
    assert_adds_up(summary, 12)
    assert (summary["total"]["done"], summary["total"]["missing"]) == (6, 6)
    assert (status["state"], status["exit_code"], folder.read_json("manifest.json")["state"]) == (
        "ended",
        3,
        "incomplete",
    )
    stand_in.release()
    code, printed = run(tmp_path, *command, environment=head.environment)
    assert code == 0, printed
    assert "12 requests planned, 6 have their completion, 6 to ask" in printed
    assert folder.read_json("summary.json")["total"]["done"] == 12


def test_answers_of_every_status_are_counted_under_their_names(tmp_path: Path, stand_in: StandIn, head: Head) -> None:
    replies = [
        Reply(body=completion()),
        Reply(body=completion("half", finish="length")),
        Reply(body=completion(None, reasoning="hm")),
        Reply(body=completion("")),
        Reply(body=completion(None, refusal="no")),
        Reply(400, error("maximum context length is 4096 tokens")),
        Reply(400, error("bad parameter")),
        Reply(body=completion("\x1b[2J\u202e[red]" + "[" * 100_000)),
    ]
    # The same prompt is answered alike until `mended`: a prompt's number decides.
    numbers: dict[str, int] = {}
    mended = False

    def answer(_n: int, body: dict[str, Any]) -> Reply:
        number = numbers.setdefault(prompt_of(body), len(numbers))
        reply = replies[number % len(replies)]
        return Reply(body=completion()) if mended and reply.status == 400 else reply

    stand_in.answer = answer
    command = api(stand_in, "limit=32", "client.connections=1")
    code, printed = run(tmp_path, *command, environment=head.environment)
    assert code == 3, printed
    folder = the_folder(tmp_path)
    total = folder.read_json("summary.json")["total"]
    assert_adds_up(folder.read_json("summary.json"), 32)
    assert total["statuses"] == {
        "ok": 8, "truncated": 4, "unfinished_reasoning": 4, "empty": 4, "refused": 4, "provider_error": 4,
        "context_overflow": 4,
    }  # fmt: skip
    assert (total["done"], total["failed"], total["missing"], total["n"], total["errors"]) == (24, 8, 0, 24, 0)
    instances = folder.read("verdicts/instances", rows.INSTANCE)
    assert len(instances) == 12  # only ok and truncated were judged
    assert "\x1b" not in printed
    assert "\u202e" not in printed
    assert "4 failed, 0 missing; the same command asks them" in printed

    mended = True
    before = sum(stand_in.asked().values())
    code, printed = run(tmp_path, *command, environment=head.environment)
    assert code == 0, printed  # a context overflow is final
    assert sum(stand_in.asked().values()) == before + 4  # only provider errors are asked again
    assert "4 requests do not fit the model's context" in printed
    total = folder.read_json("summary.json")["total"]
    assert (total["done"], total["failed"], total["missing"]) == (28, 4, 0)


@pytest.mark.parametrize("victim", ["Answerer", "Verifier", "Journal"])
def test_kill_9_of_a_worker(tmp_path: Path, stand_in: StandIn, head: Head, victim: str) -> None:
    stand_in.gate = 9
    command = api(stand_in, "limit=24", "client.connections=4", "client.deadline_s=60")
    driver = start(tmp_path, *command, environment=head.environment)
    assert stand_in.at_gate.wait(120)
    folder = the_folder(tmp_path)
    until(driver, lambda: len(stored(folder)) == 9)
    durable = {row["key"]: row for row in stored(folder)}
    [process] = head.workers(victim)
    process.kill()
    stand_in.release()
    code, printed = finish(driver)
    assert code == (3 if victim == "Journal" else 0), printed
    if code:
        assert "the journal" in printed
        code, printed = run(tmp_path, *command, environment=head.environment)
        assert code == 0, printed
    rows_now = stored(folder)
    plan = folder.read_plan()
    assert plan is not None
    assert Counter(row["key"] for row in rows_now) == Counter(plan.column("key").to_pylist())
    assert {row["key"]: row for row in rows_now if row["key"] in durable} == durable
    summary = folder.read_json("summary.json")
    assert_adds_up(summary, 24)
    assert (summary["total"]["done"], summary["total"]["errors"]) == (24, 0)


def test_a_budget_ends_a_run_with_its_own_code(tmp_path: Path, stand_in: StandIn, head: Head) -> None:
    command = api(stand_in, "limit=20", "client.connections=2")
    code, printed = run(tmp_path, *command, "budget.tokens=100", environment=head.environment)
    assert code == 4, printed
    assert "budget.tokens: 100 tokens are used" in printed
    folder = the_folder(tmp_path)
    first = len(stored(folder))
    assert 7 <= first <= 7 + 2 * 2  # 15 tokens each; what was under way on two connections is kept
    code, printed = run(tmp_path, *command, "budget.tokens=100", environment=head.environment)
    assert code == 4, printed
    assert len(stored(folder)) == first  # a budget is the run's, not the command's
    code, printed = run(tmp_path, *command, environment=head.environment)
    assert code == 0, printed
    assert sum(stand_in.asked().values()) == 20


def test_a_wrong_key_ends_the_run_at_once(tmp_path: Path, stand_in: StandIn, head: Head) -> None:
    stand_in.answer = lambda _n, _body: Reply(401, error("no such key"))
    code, printed = run(tmp_path, *api(stand_in, "limit=20", "client.connections=2"), environment=head.environment)
    assert code == 3, printed
    assert "the end point refuses: HTTP 401 no such key; incomplete: 0 failed, 20 missing" in printed
    assert sum(stand_in.asked().values()) <= 4
    assert_adds_up(the_folder(tmp_path).read_json("summary.json"), 20)


def test_several_models_in_one_command(tmp_path: Path, stand_in: StandIn, head: Head) -> None:
    stand_in.answer = lambda _n, _body: Reply(401, error("no"))
    models = ["models=[openai-compatible,gold]", f"provider.base_url={stand_in.url}", "provider.model_id=m", "limit=3"]
    code, printed = run(tmp_path, *models, environment=head.environment)
    assert code == 3, printed
    summaries = {p.name.split("_")[1]: RunFolder(str(p)).read_json("summary.json") for p in tmp_path.glob("[!.]*")}
    assert summaries["gold"]["total"]["full"] == 3  # one model's failure does not keep the next from its run
    assert summaries["openai-compatible"]["total"]["missing"] == 3


def test_a_submitted_job_keeps_its_run_out_of_the_throw_away_folder(tmp_path: Path, head: Head) -> None:
    command = [
        *(sys.executable, "-m", "ray.scripts.scripts", "job", "submit", f"--address={head.dashboard}"),
        *("--working-dir", ".", "--", f"HOME={tmp_path}", "launch/eval.py", "model=gold", "limit=7"),
    ]
    environment = clean_environment() | {k: v for k, v in head.environment.items() if k != "RAY_ADDRESS"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "exit code 0" in done.stdout
    folder = the_folder(tmp_path / "serial7" / "runs")
    assert folder.read_json("summary.json")["total"]["full"] == 7
    assert folder.read_json("status.json")["exit_code"] == 0


def test_a_cluster_that_cannot_be_joined_is_one_sentence(tmp_path: Path, head: Head) -> None:
    wrong = tmp_path / "token"
    wrong.write_text("f" * 64)
    wrong.chmod(0o600)
    code, printed = run(
        tmp_path / "runs", "model=gold", "limit=1", environment=head.environment | {"RAY_AUTH_TOKEN_PATH": str(wrong)}
    )
    assert code == 2, printed
    assert f"cannot join the Ray cluster at {head.environment['RAY_ADDRESS']}" in printed
    assert "Traceback" not in printed


@pytest.fixture
def engine(tmp_path: Path) -> tuple[Path, list[str]]:
    """The folder that orders an engine's behaviour, and the arguments of a run that uses it."""
    folder = tmp_path / "engine"
    # One connection: with two, a request under way when the engine dies is asked twice, by chance.
    return folder, [*make_engine(folder), "limit=12", "client.connections=1"]


def test_an_engine_that_dies_in_mid_run_is_started_again(
    tmp_path: Path, engine: tuple[Path, list[str]], head: Head
) -> None:
    folder, command = engine
    (folder / "die").touch()
    code, printed = run(tmp_path / "runs", *command, "engine.max_restarts=5", environment=head.environment)
    assert code == 0, printed
    summary = the_folder(tmp_path / "runs").read_json("summary.json")
    assert summary["total"]["statuses"] == {"ok": 12}
    assert len((folder / "starts").read_text()) == 4  # three answers a life, and the fourth request kills
    assert len((folder / "served").read_text()) == 12


def test_an_engine_that_stays_dead_ends_the_run_as_incomplete(
    tmp_path: Path, engine: tuple[Path, list[str]], head: Head
) -> None:
    folder, command = engine
    (folder / "die").touch()
    code, printed = run(tmp_path / "runs", *command, "engine.max_restarts=0", environment=head.environment)
    assert code == 3, printed
    assert "died after 0 restarts (engine.max_restarts)" in printed
    run_folder = the_folder(tmp_path / "runs")
    assert_adds_up(run_folder.read_json("summary.json"), 12)
    arrived = len(stored(run_folder))
    assert arrived == len((folder / "served").read_text())  # what it answered before is stored
    (folder / "die").unlink()
    code, printed = run(tmp_path / "runs", *command, environment=head.environment)
    assert code == 0, printed
    assert len((folder / "served").read_text()) == 12


def test_an_engine_that_cannot_start_shows_its_last_lines(
    tmp_path: Path, engine: tuple[Path, list[str]], head: Head
) -> None:
    folder, command = engine
    (folder / "die-at-start").touch()
    code, printed = run(tmp_path / "runs", *command, environment=head.environment)
    assert code == 3, printed
    assert "the engine of demo died at start-up:" in printed
    assert "no GPU for you" in printed
    assert the_folder(tmp_path / "runs").read_json("status.json")["exit_code"] == 3
