"""Rows as published become records; rows that are not are counted and named, and lose no other row."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from serial7.build.records import Rejection, SourceRecord, decimal_text, read_value
from serial7.build.sampling import sample
from serial7.build.sources import load
from serial7.build.sources.hrm8k import subset_of
from serial7.errors import OperatorError
from tests.serial7.build import rows

pq = pytest.importorskip("pyarrow.parquet")


def jsonl(path: Path, values: list[Any]) -> Path:
    path.write_text("".join(json.dumps(v, ensure_ascii=False) + "\n" for v in values), "utf-8")
    return path


def records(path: Path) -> list[SourceRecord]:
    found = list(load(path))
    assert [r for r in found if isinstance(r, Rejection)] == []
    return [r for r in found if isinstance(r, SourceRecord)]


def rejections(path: Path) -> list[Rejection]:
    return [r for r in load(path) if isinstance(r, Rejection)]


def test_every_layout_in_one_folder(tmp_path: Path) -> None:
    jsonl(tmp_path / "test.jsonl", rows.GSM8K)
    jsonl(tmp_path / "kor-gsm8k-test.jsonl", rows.KOR_GSM8K)
    (tmp_path / "problems_test.json").write_text(json.dumps(rows.TABMWP), "utf-8")
    (tmp_path / "fund.json").write_text(json.dumps(rows.SCIBENCH), "utf-8")
    (tmp_path / "README.md").write_text("no data")
    import pyarrow as pa

    pq.write_table(pa.Table.from_pylist(rows.MMLU_PRO), tmp_path / "test-00000-of-00001.parquet")
    (tmp_path / "KSM").mkdir()
    (tmp_path / "KSM" / "ksm-test.csv").write_text(rows.HRM8K, "utf-8-sig")
    found = records(tmp_path)
    counted = {name: sum(r.source == name for r in found) for name in {r.source for r in found}}
    assert counted == {"gsm8k": 6, "kor_gsm8k": 3, "tabmwp": 4, "scibench": 2, "mmlu_pro": 2, "hrm8k": 1}
    by_id = {r.id: r for r in found}
    assert by_id["tabmwp-problems-test-101"].strata == {
        "question_type": "free_text",
        "table_scope": "multi_cell",
        "depth": "3",
        "operation_type": "add+multiply",
    }
    assert by_id["hrm8k-ksm-ksm-test-1"].strata == {"subset": "KSM"}
    assert by_id["hrm8k-ksm-ksm-test-1"].languages == ("ko", "en")
    assert by_id["mmlu-pro-test-00000-of-00001-11"].answer == "20 g"
    assert "\\frac{1}{4}" in by_id["scibench-diff-fund-1-7"].question["en"]
    assert by_id["scibench-fund-fund-2-1"].strata == {"subject": "physics"}


WRONG = [
    ({"question": "How many?"}, "no field 'answer'"),
    ({"question": "How many?", "answer": "It is 4."}, "no final line"),
    ({"question": "", "answer": "x\n#### 4"}, "question is empty"),
    ({"question": None, "answer": "x\n#### 4"}, "question is NoneType"),
    ({"question": ["a"], "answer": "x\n#### 4"}, "question is list"),
    ({"question": "a\u0000b", "answer": "x\n#### 4"}, "control character"),
    ({"question": "a\ud800b", "answer": "x\n#### 4"}, "surrogate"),
    ({"question": "x" * 20_001, "answer": "x\n#### 4"}, "20001 characters"),
]


@pytest.mark.parametrize(("row", "seen"), WRONG, ids=[seen for _, seen in WRONG])
def test_a_wrong_row_is_named_and_the_others_are_read(tmp_path: Path, row: dict[str, Any], seen: str) -> None:
    file = tmp_path / "train.jsonl"
    lines = [json.dumps(r) for r in (rows.GSM8K[0], row, *rows.GSM8K[1:])]
    file.write_text("\n".join(lines), "utf-8")
    found = list(load(file))
    wrong = [r for r in found if isinstance(r, Rejection)]
    assert [(r.source, r.place) for r in wrong] == [("gsm8k", "train.jsonl:2")]
    assert seen in wrong[0].seen
    assert wrong[0].wanted
    assert len(found) == len(rows.GSM8K) + 1


def test_broken_lines(tmp_path: Path) -> None:
    file = tmp_path / "train.jsonl"
    good = json.dumps(rows.GSM8K[0]).encode()
    file.write_bytes(
        b"\xef\xbb\xbf" + good + b"\n"
        b'{"question": "cut\n'
        b'{"question": "\xff\xfe", "answer": "#### 1"}\n'
        b"[1, 2]\n\n"
        b'{"question": NaN, "answer": "#### 1"}\n' + b"[" * 100_000 + b"\n" + json.dumps(rows.GSM8K[1]).encode()
    )
    wrong = rejections(file)
    assert [r.place for r in wrong] == [f"train.jsonl:{n}" for n in (2, 3, 4, 6, 7)]
    assert [r.seen.split(":")[0] for r in wrong] == [
        "broken JSON",
        "byte 0xff at 14 is not UTF-8",
        "a JSON list",
        "broken JSON",
        "broken JSON",
    ]
    assert sum(isinstance(r, SourceRecord) for r in load(file)) == 2


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 no")
    (tmp_path / "empty.jsonl").write_bytes(b"")
    (tmp_path / "other.jsonl").write_text('{"title": "x", "body": "y"}\n')
    (tmp_path / "broken.json").write_text('{"1": {"question"')
    jsonl(tmp_path / "train.jsonl", rows.GSM8K)
    found = list(load(tmp_path))
    wrong = {r.place: r.seen for r in found if isinstance(r, Rejection)}
    assert wrong["folder.jsonl:0"] == "a folder"
    assert wrong["damaged.parquet:0"].startswith("damaged Parquet")
    assert wrong["empty.jsonl:0"] == "no row"
    assert wrong["other.jsonl"] == "1 rows with the fields title, body"
    assert wrong["broken.json:0"].startswith("broken JSON")
    assert len(wrong) == 5
    assert sum(isinstance(r, SourceRecord) for r in found) == len(rows.GSM8K)


def test_csv_with_wrong_rows(tmp_path: Path) -> None:
    file = tmp_path / "GSM8K.csv"
    with file.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows(
            [
                ["question", "original", "answer"],
                ["사과는 몇 개입니까?", "How many apples, all\ntold?", "7"],
                ["a", "b"],
            ]
        )
    with file.open("ab") as out:
        out.write("몇 개,How many?,\n".encode() + b"\xff\xff,How many?,3\n" + "몇 권,How many?,8\n".encode())
    found = list(load(file))
    assert [r.seen for r in found if isinstance(r, Rejection)] == [
        "2 cells",
        "answer is empty",
        "bytes that are not UTF-8",
    ]
    assert [r.answer for r in found if isinstance(r, SourceRecord)] == ["7", "8"]


def test_rows_that_contradict_themselves(tmp_path: Path) -> None:
    mmlu = {**rows.MMLU_PRO[0], "answer": "B"}
    law = {**rows.MMLU_PRO[0], "category": "law"}
    assert "a letter and the index" in rejections(jsonl(tmp_path / "a.jsonl", [mmlu]))[0].wanted
    assert "STEM" in rejections(jsonl(tmp_path / "b.jsonl", [law]))[0].wanted
    table = {**rows.TABMWP["104"], "answer": "Friday"}
    assert "none of the 2 choices" in rejections(jsonl(tmp_path / "c.jsonl", [table]))[0].seen
    korean = {**rows.KOR_GSM8K[0], "answer_s": "115"}
    assert "one final answer" in rejections(jsonl(tmp_path / "d.jsonl", [korean]))[0].wanted
    twins = rejections(
        jsonl(tmp_path / "e.jsonl", [{**rows.GSM8K[0], "_source": {"path": "x/test.jsonl", "index": 5}}] * 2)
    )
    assert "gsm8k-test-5" in twins[0].seen
    unnamed = tmp_path / "rows.csv"
    unnamed.write_text(rows.HRM8K, "utf-8")
    assert "OMNI_MATH" in rejections(unnamed)[0].wanted


def test_paths_that_are_wrong(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="there is no"):
        list(load(tmp_path / "none"))
    with pytest.raises(OperatorError, match="holds no data file"):
        list(load(tmp_path))
    (tmp_path / "x.txt").write_text("x")
    with pytest.raises(OperatorError, match="is no data file"):
        list(load(tmp_path / "x.txt"))


def test_subsets_of_hrm8k() -> None:
    named = {"OMNI_MATH/omni-math-test.csv": "OMNI_MATH", "HRM8K/MATH.csv": "MATH", "hrm8k_gsm8k.csv": "GSM8K"}
    assert {n: subset_of(n) for n in named} == named
    assert subset_of("HRM8K/test.csv") == ""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8,899", "8899"), ("3.90", "3.9"), ("1+3/10", "1.3"), ("1 3/10", "1.3"), ("−3", "-3"), ("+4.1", "4.1"), ("$5", "5"),
        ("40%", "40"), ("- 540", "-540"), ("1.28e-06", "0.00000128"), ("118000.", "118000"), (".5", "0.5"), ("-1/2", "-0.5"),
    ],
)  # fmt: skip
def test_official_answers(text: str, value: str) -> None:
    found = read_value(text)
    assert found is not None
    assert decimal_text(found) == value


@pytest.mark.parametrize("text", ["", "none", "1,2", "12,34", "-24, -1.5", "1/0", "4 Hz", "٣", "9" * 61, "1e9999"])
def test_what_is_no_number(text: str) -> None:
    assert read_value(text) is None


def test_a_sample_is_even_over_strata_and_grows_with_its_size(tmp_path: Path) -> None:
    many = [{**rows.MMLU_PRO[0], "question_id": i, "category": "physics" if i < 5 else "math"} for i in range(200)]
    everything = records(jsonl(tmp_path / "m.jsonl", many))
    small, large = sample(everything, 6, seed=1), sample(everything, 20, seed=1)
    assert sorted(r.stratum for r in small) == ["math"] * 3 + ["physics"] * 3
    assert sum(r.stratum == "physics" for r in large) == 5
    assert {r.id for r in small} <= {r.id for r in large}
    assert sample(reversed(everything), 6, seed=1) == small
    assert sample(everything, 6, seed=2) != small
    assert len(sample(everything, 0, seed=1)) == 200
