"""`launch/build.py` with a model behind it: asked through the job's client, its answers durable, nothing asked twice."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from cluster import building, run
from cluster.building import load_build
from cluster.errors import UsageError
from tests.cluster.stand_in import Reply, StandIn, completion, error

ROW = {
    "problem_text": "A reservoir holds 840 m3 and loses 35 m3 a day. How many m3 are left after 6 days?",
    "answer_latex": "630",
    "answer_number": "630",
    "unit": "m3",
    "source": "fund",
    "problemid": "1.1",
    "comment": "",
}
GRAPH = {
    "inputs": [{"name": "volume", "value": "840"}, {"name": "loss", "value": "35"}, {"name": "days", "value": "6"}],
    "steps": [
        {"id": "R1", "op": "multiply", "args": ["loss", "days"]},
        {"id": "R2", "op": "subtract", "args": ["volume", "R1"]},
    ],
}
KOREAN = {
    "question": "저수지에 물이 840 m3 있고 하루에 35 m3씩 줄어듭니다. 6일 뒤에 남은 물은 몇 m3입니까?",
    "materials": "답의 단위: m3",
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "fund.json"
    file.write_text(json.dumps([ROW]))
    return file


def answers(_n: int, body: dict[str, Any]) -> Reply:
    graph = "computation graph" in body["messages"][0]["content"]
    return Reply(body=completion(json.dumps(GRAPH if graph else KOREAN, ensure_ascii=False)))


def build(source: Path, out: Path, server: StandIn, *more: str) -> int:
    arguments = [f"sources={source}", f"out={out}", "model=openai-compatible", f"provider.base_url={server.url}"]
    return run.main(building.make, [*arguments, "provider.model_id=m", *more])


def test_a_model_makes_what_the_rules_cannot(source: Path, tmp_path: Path, stand_in: StandIn) -> None:
    stand_in.answer = answers
    assert build(source, tmp_path / "out", stand_in) == 0
    [line] = (tmp_path / "out" / "artifacts.jsonl").read_text("utf-8").splitlines()
    artifact = json.loads(line)
    assert artifact["kind"] == "graph"
    assert artifact["ko"] == KOREAN
    assert len(stand_in.bodies) == 2
    before = {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir() if p.is_file()}
    assert build(source, tmp_path / "out", stand_in) == 0
    assert len(stand_in.bodies) == 2
    after = {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir() if p.is_file()}
    assert after == before


def test_no_answer_is_asked_again_by_the_same_command_and_what_came_is_kept(
    source: Path, tmp_path: Path, stand_in: StandIn, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    stand_in.answer = lambda n, body: answers(n, body) if n == 0 else Reply(400, error("no such thing"))
    assert build(source, tmp_path / "out", stand_in, "client.attempts=1") == 3
    assert "the same command asks them again" in caplog.text
    asked = len(stand_in.bodies)
    stand_in.answer = answers
    assert build(source, tmp_path / "out", stand_in) == 0
    assert len(stand_in.bodies) == asked + 1
    kept = (tmp_path / "out" / "answers.jsonl").read_bytes()
    (tmp_path / "out" / "answers.jsonl").write_bytes(kept[: len(kept) // 2])  # killed in the middle of a write
    for stage in (tmp_path / "out").glob("*.parquet"):
        stage.unlink()
    assert build(source, tmp_path / "out", stand_in) == 0
    assert len(stand_in.bodies) > asked + 1
    assert len((tmp_path / "out" / "artifacts.jsonl").read_text("utf-8").splitlines()) == 1


def test_a_budget_ends_it_with_its_code(source: Path, tmp_path: Path, stand_in: StandIn) -> None:
    stand_in.answer = answers
    assert build(source, tmp_path / "out", stand_in, "budget.tokens=1") == 4
    assert len(stand_in.bodies) == 1


def test_keys_never_reach_the_folder(
    source: Path, tmp_path: Path, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BUILD_TEST_KEY", "planted-secret-1")
    stand_in.answer = answers
    assert build(source, tmp_path / "out", stand_in, "provider.api_key_env=BUILD_TEST_KEY") == 0
    assert stand_in.headers[0]["authorization"] == "Bearer planted-secret-1"
    assert not [p for p in (tmp_path / "out").rglob("*") if p.is_file() and b"planted-secret" in p.read_bytes()]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "sources: a file or folder"),
        (["sources=x"], "out: a folder"),
        (["sources=x", "out=s3://b/c"], "no local folder"),
        (["sources=x", "out=y", "per_sourc=3"], "did you mean 'per_source'?"),
        (["sources=x", "out=y", "rounds=0"], "at least 1"),
        (["sources=x", "out=y", "sampling.temperature=0"], "give model=NAME too"),
        (["sources=x", "out=y", "model=gold"], "gold answers with what is to be made"),
        (["sources=[x", "out=y"], "is not YAML"),
    ],
)
def test_wrong_usage(arguments: list[str], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_build(arguments)
    assert said in str(caught.value)


def test_a_hub_without_its_library(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "datasets", None)
    caplog.set_level(logging.INFO)
    assert run.main(building.make, ["sources=hub:a/b", f"out={tmp_path / 'out'}"]) == 2
    assert "pip install datasets" in caplog.text
    assert not (tmp_path / "out").exists()


def test_rows_of_a_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Datasets:
        @staticmethod
        def load_dataset(name: str, configuration: str | None, *, split: str) -> list[dict[str, str]]:
            assert (name, configuration, split) == ("openai/gsm8k", "main", "test")
            question = "Mina packs 14 boxes with 6 apples in each. She sells 30 apples. How many apples are left?"
            return [{"question": question, "answer": "14*6=<<14*6=84>>84\n84-30=<<84-30=54>>54\n#### 54"}]

    monkeypatch.setitem(__import__("sys").modules, "datasets", Datasets)
    assert run.main(building.make, ["sources=hub:openai/gsm8k:main", f"out={tmp_path / 'out'}"]) == 0
    assert "gsm8k" in (tmp_path / "out" / "flow.txt").read_text()
