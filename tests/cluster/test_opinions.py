"""`launch/judge.py`: a second opinion on Derive answers, beside the rules, kept in the run folder."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from cluster import opinions, rows, run
from cluster.config import as_dict, load
from cluster.plan import build_plan, verifier_id
from cluster.store import RunFolder
from serial7.artifacts import load_artifacts
from tests.cluster.stand_in import Reply, StandIn, completion, error

TEXTS = [a.id for a in load_artifacts().values() if isinstance(a.ir.answer, str)][:2]


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A run over the Derive requests of two text answers and a number: the first is accepted, the others are not."""
    config = load(["model=gold", "conditions=[derive]", "langs=[en]", f"sample_ids=[S7-001,{','.join(TEXTS)}]"])
    plan = build_plan(config)
    found = RunFolder(str(tmp_path / "run"))
    Path(found.path).mkdir()
    found.write_table("plan.parquet", plan)
    found.write_json("manifest.json", {"schema": rows.SCHEMA_VERSION, "config": as_dict(config)})
    defaults: dict[str, Any] = {"status": "ok", "attempts": 1, "finish_reason": "stop"}
    planned = plan.to_pylist()
    completions = [
        {**defaults, "key": r["key"], "request_id": r["request_id"], "text": r["artifact_id"]} for r in planned
    ]
    found.append("completions", completions, rows.COMPLETION)
    verdicts = [
        {"key": r["key"], "request_id": r["request_id"], "hsr": r["artifact_id"] == TEXTS[0], "error": "", "verifier": verifier_id()}
        for r in planned
    ]  # fmt: skip
    found.append("verdicts/instances", verdicts, rows.INSTANCE)
    return found


def judge(folder: RunFolder, server: StandIn, *more: str) -> int:
    arguments = [
        f"run={folder.path}",
        "model=openai-compatible",
        f"provider.base_url={server.url}",
        "provider.model_id=m",
    ]
    return run.main(opinions.ask_opinions, [*arguments, *more])


def report(folder: RunFolder) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (Path(folder.path) / "opinions/openai-compatible/opinions.json").read_text("utf-8")
    )
    return found


def says(equivalent: bool) -> Reply:
    return Reply(body=completion(json.dumps({"final_answer": "x", "equivalent": equivalent, "why": "so"})))


def test_text_answers_are_judged_once_and_the_rules_stand(folder: RunFolder, stand_in: StandIn) -> None:
    stand_in.answer = lambda _n, _body: says(True)
    assert judge(folder, stand_in) == 0
    found = report(folder)
    assert found["counts"] == {"both": 1, "rules_only": 0, "judge_only": 1, "neither": 0, "unread": 0}
    assert found["agreement"] == 0.5
    assert [d["request_id"] for d in found["differ"]] == [f"derive/en/{TEXTS[1]}"]
    assert len(found["prompt_hash"]) == 16
    assert judge(folder, stand_in) == 0
    assert len(stand_in.bodies) == 2
    assert report(folder) == found
    instances = folder.read("verdicts/instances", rows.INSTANCE)
    assert instances.column("hsr").to_pylist().count(True) == 1


def test_numbers_too_and_a_judge_that_rambles(folder: RunFolder, stand_in: StandIn) -> None:
    stand_in.answer = lambda n, _body: Reply(body=completion("I would say yes")) if n == 0 else says(False)
    assert judge(folder, stand_in, "answers=all", "client.connections=1") == 0
    counts = report(folder)["counts"]
    assert counts["unread"] == 1
    assert sum(counts.values()) == 3


def test_an_end_point_that_gives_none_can_be_gone_on_with(folder: RunFolder, stand_in: StandIn) -> None:
    stand_in.answer = lambda n, _body: says(True) if n == 0 else Reply(400, error("no"))
    assert judge(folder, stand_in, "client.connections=1", "client.attempts=1") == 3
    stand_in.answer = lambda _n, _body: says(True)
    asked = len(stand_in.bodies)
    assert judge(folder, stand_in) == 0
    assert len(stand_in.bodies) == asked + 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give the run folder and the judge"),
        (["run=x", "model=gold"], "gold has no opinion"),
        (["run=x", "model=openai-compatible", "answers=some"], "answers: 'some'"),
        (["rum=x"], "is no setting of launch/judge.py"),
    ],
)
def test_wrong_usage(arguments: list[str], said: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    assert run.main(opinions.ask_opinions, arguments) == 2
    assert said in caplog.text


def test_no_run_there(tmp_path: Path, stand_in: StandIn, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    assert judge(RunFolder(str(tmp_path / "none")), stand_in) == 2
    assert "is no run folder" in caplog.text
