"""The whole pipeline by the rules: stages, resume, the same bytes twice, the flow, families, the command."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from serial7.artifacts import Artifact
from serial7.build import stages as stage_files
from serial7.build.pipeline import Built, Settings, build, rowset
from serial7.cli import app
from serial7.errors import OperatorError
from serial7.redundancy import families
from tests.serial7.build import rows

pq = pytest.importorskip("pyarrow.parquet")

STAGES = ("1_records", "2_seed", "3_candidates", "4_validated", "5_selected", "6_paired")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "sources"
    folder.mkdir()
    for name, values in (("train.jsonl", rows.GSM8K), ("kor-gsm8k-test.jsonl", rows.KOR_GSM8K)):
        (folder / name).write_text("".join(json.dumps(v, ensure_ascii=False) + "\n" for v in values), "utf-8")
    (folder / "problems.json").write_text(json.dumps(rows.TABMWP), "utf-8")
    with (folder / "train.jsonl").open("a") as file:
        file.write("{broken\n")
    return folder


def run(source: Path, out: Path, **settings: Any) -> Built:
    return build([rowset(source)], out, Settings(**settings))


def why(built: Built, id_: str) -> tuple[str, str]:
    problem = next(d for d in built.drafts if d.id == id_).problem
    return (problem.category, problem.why) if problem else ("", "")


def test_every_row_ends_once_and_with_its_reason(source: Path, tmp_path: Path) -> None:
    built = run(source, tmp_path / "out")
    assert [(r.source, r.place) for r in built.rejections] == [("gsm8k", "train.jsonl:7")]
    by_name = {f.source: f for f in built.flows}
    assert set(by_name) == {"gsm8k", "kor_gsm8k", "tabmwp", "all"}
    assert by_name["all"].seed == len(rows.GSM8K) + len(rows.KOR_GSM8K) + len(rows.TABMWP)
    for flow in built.flows:
        assert flow.rows()[-1][2] == flow.remaining
        assert flow.seed == flow.remaining + sum(flow.excluded.values())
    assert why(built, "gsm8k-train-0") == ("pairing", "no Korean text; give model=NAME to have it translated")
    assert why(built, "gsm8k-train-1")[0] == "pairing"
    assert why(built, "gsm8k-train-2")[0] == "pairing"
    assert why(built, "gsm8k-train-3")[0] == "grounding"
    assert "16 is asserted" in why(built, "gsm8k-train-3")[1]
    assert why(built, "gsm8k-train-4")[0] == "answer"
    assert why(built, "gsm8k-train-5") == ("source", "the annotation = 26 does not hold: it is 25")
    assert why(built, "kor-gsm8k-kor-gsm8k-test-0") == ("", "")
    assert why(built, "kor-gsm8k-kor-gsm8k-test-1")[0] == "grounding"
    assert "답: 71" in why(built, "kor-gsm8k-kor-gsm8k-test-1")[1]
    assert why(built, "kor-gsm8k-kor-gsm8k-test-2")[0] == "grounding"  # the answer, without a label
    artifact = Artifact.from_dict(json.loads((tmp_path / "out" / "artifacts.jsonl").read_text("utf-8")))
    assert artifact.id == "kor-gsm8k-kor-gsm8k-test-0"
    assert artifact.ir.graph_bearing
    review = json.loads((tmp_path / "out" / "review.jsonl").read_text("utf-8"))
    assert review["ko"]["question"].startswith("농장에서")
    assert review["decision"] == ""


def test_tables(source: Path, tmp_path: Path) -> None:
    by_id = {d.id: d.artifact or {} for d in run(source, tmp_path / "out").drafts}
    total = by_id["tabmwp-problems-101"]
    assert total["answer"] == "1173.5"
    assert [name for name, _ in total["inputs"]] == ["lantern_price", "tent_price", "lanterns", "tents"]
    spread = by_id["tabmwp-problems-102"]
    assert [s[1] for s in spread["steps"]] == ["max", "min", "subtract"]
    assert by_id["tabmwp-problems-103"]["answer"] == {"text": "11/56"}
    assert by_id["tabmwp-problems-104"]["en"]["materials"].endswith("Choices: Monday | Tuesday")


def contents(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir())}


def test_twice_is_the_same_bytes_and_a_finished_stage_is_not_done_again(source: Path, tmp_path: Path) -> None:
    first, second = run(source, tmp_path / "a"), run(source, tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert set(contents(tmp_path / "a")) == {f"{s}.parquet" for s in STAGES} | {
        "artifacts.jsonl", "review.jsonl", "flow.json", "flow.txt",
    }  # fmt: skip
    assert all(first.made.values())
    assert all(second.made.values())
    before = contents(tmp_path / "a")
    again = run(source, tmp_path / "a")
    assert not any(again.made.values())
    assert contents(tmp_path / "a") == before
    assert again.drafts == first.drafts


def test_what_changed_is_done_again_and_nothing_else(source: Path, tmp_path: Path) -> None:
    run(source, tmp_path / "out")
    assert [s for s, made in run(source, tmp_path / "out", family_cap=1).made.items() if made][:1] == ["5_selected"]
    assert next(s for s, made in run(source, tmp_path / "out", per_source=2).made.items() if made) == "2_seed"
    (tmp_path / "out" / "3_candidates.parquet").write_bytes(b"PAR1 damaged")
    made = run(source, tmp_path / "out", per_source=2).made
    assert [s for s, m in made.items() if m] == ["3_candidates"]  # its bytes are as before, and what follows stands
    with (source / "train.jsonl").open("a") as file:
        file.write(json.dumps(rows.GSM8K[0] | {"question": "Another 14 boxes of 6; 30 are sold. How many?"}) + "\n")
    assert run(source, tmp_path / "out", per_source=2).made["1_records"]


def test_another_code_makes_the_stages_again(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(source, tmp_path / "out")
    monkeypatch.setattr("serial7.build.pipeline.code_digest", lambda: "another")
    assert all(run(source, tmp_path / "out").made.values())
    assert len(stage_files.code_digest()) == 64


def test_each_stage_tells_the_reason(source: Path, tmp_path: Path) -> None:
    run(source, tmp_path / "out")
    read = {r["place"]: r for r in pq.read_table(tmp_path / "out" / "1_records.parquet").to_pylist()}
    assert read["train.jsonl:7"]["state"] == "rejected"
    assert read["train.jsonl:7"]["seen"].startswith("broken JSON")
    for stage in STAGES[2:]:
        table = pq.read_table(tmp_path / "out" / f"{stage}.parquet").to_pylist()
        assert all(bool(r["why"]) == (r["state"] == "rejected") for r in table), stage
        assert {r["id"] for r in table if r["state"] == "rejected"} >= {"gsm8k-train-4", "gsm8k-train-5"}


def test_template_families_are_capped(tmp_path: Path) -> None:
    names = ["Ana", "Bo", "Chris", "Dina", "Eli"]
    many = [
        {
            "question": f"Yesterday {n} packed {20 + i} boxes with {7 + i} pears in each box. How many pears did {n} pack?",
            "answer": f"{20 + i}*{7 + i}=<<{20 + i}*{7 + i}={(20 + i) * (7 + i)}>>\n#### {(20 + i) * (7 + i)}",
        }
        for i, n in enumerate(names)
    ]
    file = tmp_path / "train.jsonl"
    file.write_text("".join(json.dumps(v) + "\n" for v in [*many, rows.GSM8K[0], rows.GSM8K[0]]), "utf-8")
    built = run(file, tmp_path / "out", family_cap=2)
    reasons = [d.problem.why for d in built.drafts if d.problem and d.problem.category == "redundancy"]
    assert len([r for r in reasons if "has 2 already" in r]) == 3
    assert len([r for r in reasons if "again" in r]) == 1
    other = run(file, tmp_path / "out", family_cap=2, seed=1)
    assert sum(d.problem is not None and d.problem.category == "redundancy" for d in other.drafts) == 4


def test_families_join_the_first_member_they_are_like() -> None:
    same = (
        ("a", "How much money does Ann need to buy 3 red kites?"),
        ("b", "How much money does Bob need to buy 12 red kites?"),
    )
    other = ("c", "What is the mean of the numbers in the table?")
    assert families([*same, other]) == {"a": "a", "b": "a", "c": "c"}


def test_the_command(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["build", str(source), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "Initial seed set" in done.output
    assert "train.jsonl:7: broken JSON" in done.output
    assert (out / "flow.txt").read_text() in done.output
    wrong = CliRunner().invoke(app, ["build", str(tmp_path / "none"), "--out", str(tmp_path / "x")])
    assert wrong.exit_code == 2
    assert "there is no" in wrong.output
    assert not (tmp_path / "x").exists()


def test_without_pyarrow(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    done = CliRunner().invoke(app, ["build", str(source), "--out", str(tmp_path / "x")])
    assert done.exit_code == 2
    assert "pip install 'serial7[job]'" in done.output


def test_an_out_that_cannot_be(source: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OperatorError, match="out: cannot make"):
        run(source, tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"
