"""Each thing that the validator asks, by an artifact that breaks it alone; and what the set that ships holds."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from serial7.artifacts import FAMILIES, data_text
from serial7.cli import app
from serial7.validation import counts, validate_candidate, validate_pair, validate_set

SHIPPED = [json.loads(line) for line in data_text("", "artifacts.jsonl").splitlines()]
GOOD: dict[str, Any] = {
    "id": "T-1",
    "family": "korean_math",
    "stratum": "everyday arithmetic",
    "kind": "graph",
    "answer": "54",
    "tolerance": None,
    "inputs": [["boxes", "14"], ["apples_per_box", "6"], ["sold", "30"]],
    "steps": [["R1", "multiply", ["boxes", "apples_per_box"], "84"], ["R2", "subtract", ["R1", "sold"], "54"]],
    "en": {"question": "Mina fills 14 boxes with 6 apples each and sells 30. How many are left?", "materials": ""},
    "ko": {
        "question": "미나는 사과를 14상자에 6개씩 담고 30개를 팔았습니다. 남은 사과는 몇 개입니까?",
        "materials": "",
    },
    "license": "CC BY 4.0",
    "provenance": "written for this test",
}
TEXT: dict[str, Any] = {
    **GOOD,
    "kind": "answer_only",
    "answer": {"text": "C_7"},
    "inputs": [],
    "steps": [],
    "en": {"question": "Which stop has more boardings?", "materials": "C_7 | 4\nC_8 | 3"},
    "ko": {"question": "승차 인원이 더 많은 정류장은 어디입니까?", "materials": "C_7 | 4\nC_8 | 3"},
}


def changed(base: dict[str, Any], **parts: Any) -> dict[str, Any]:
    return {**copy.deepcopy(base), **parts}


def question(base: dict[str, Any], language: str, old: str, new: str) -> dict[str, Any]:
    held = base[language]
    return changed(base, **{language: {**held, "question": held["question"].replace(old, new)}})


def test_what_is_right_passes() -> None:
    assert validate_candidate(GOOD) == []
    assert validate_candidate(TEXT) == []
    assert validate_pair(GOOD) == []
    one_arm = changed(GOOD)
    del one_arm["ko"]
    assert validate_candidate(one_arm) == []
    assert validate_set([GOOD, changed(TEXT, id="T-2")]) == {}


@pytest.mark.parametrize(
    ("data", "category", "said"),
    [
        ({}, "source", "no field 'id'"),
        (changed(GOOD, kind="both"), "source", "graph or answer_only"),
        (changed(GOOD, en={"question": " ", "materials": ""}), "source", "is empty"),
        (changed(GOOD, en={"question": "a\x0c", "materials": ""}), "source", "control character"),
        (changed(GOOD, en=7), "source", "a text is due"),
        (changed(GOOD, answer="5,4"), "source", "number is written"),
        (changed(GOOD, inputs=[]), "source", "at least one input"),
        (changed(GOOD, answer={"text": "54"}), "source", "numeric answer"),
        (changed(GOOD, inputs=[["boxes", "14"], ["boxes", "6"], ["sold", "30"]]), "source", "stands 2 times"),
        (changed(GOOD, inputs=[*GOOD["inputs"], ["2nd", "6"]]), "source", "is no name"),
        (changed(GOOD, steps=[["R1", "multiply", ["boxes", "R2"], "84"], GOOD["steps"][1]]), "source", "no earlier step"),
        (changed(GOOD, inputs=[*GOOD["inputs"], ["spare", "6"]]), "source", "spare is not reached"),
        (changed(GOOD, steps=[["R1", "sum", ["boxes", "apples_per_box"], "84"], GOOD["steps"][1]]), "answer", "'sum'"),
        (changed(GOOD, steps=[["R1", "add", ["boxes", "apples_per_box"], "84"], GOOD["steps"][1]]), "answer", "gives 20"),
        (changed(GOOD, answer="55"), "answer", "the graph ends in 54"),
        (question(GOOD, "ko", "14", "15"), "grounding", "boxes = 14 does not stand in the ko text"),
        (question(GOOD, "en", "How", "The answer is 54. How"), "grounding", "answer 54 stands"),
        (question(TEXT, "en", "Which", "Answer: C_7. Which"), "grounding", "gives its answer"),
        (changed(TEXT, answer={"text": "a&amp;b"}), "representation", "character reference"),
        (changed(TEXT, answer={"text": "35"}), "representation", "reads as a number"),
        (changed(TEXT, answer={"text": " "}), "representation", "one line of text"),
        (changed(TEXT, answer={"text": "a\nb"}), "representation", "one line of text"),
    ],
)  # fmt: skip
def test_each_fault_alone(data: dict[str, Any], category: str, said: str) -> None:
    found = validate_candidate(data)
    assert found
    assert {p.category for p in found} == {category}
    assert any(said in p.why for p in found), found


def test_small_numbers_may_be_words_and_inputs_may_equal_the_answer() -> None:
    words = question(question(GOOD, "en", "6 apples", "six apples"), "ko", "6개씩", "여섯 개씩")
    assert validate_candidate(words) == []
    equal = changed(GOOD, answer="30", steps=[["R1", "max", ["boxes", "apples_per_box", "sold"], "30"]])
    assert validate_candidate(equal) == []


def test_the_arms_carry_the_same_quantities() -> None:
    extra = question(GOOD, "ko", "담고", "담고 9일 뒤")
    assert [(p.category, p.field, p.why) for p in validate_pair(extra)] == [
        ("pairing", "en.question", "9 stands in the ko text only")
    ]
    assert validate_pair(question(extra, "en", "and sells", "and, nine days later, sells")) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda a: changed(a, family="other"), "'other'"),
        (lambda a: changed(a, license=""), "a text is due"),
        (lambda a: {k: v for k, v in a.items() if k != "ko"}, "no text in this language"),
        (lambda a: question(a, "ko", "담고", "담고 9일 뒤"), "ko text only"),
    ],
)
def test_a_finished_artifact(change: Callable[[dict[str, Any]], dict[str, Any]], said: str) -> None:
    assert any(said in p.why for p in validate_set([change(GOOD)])["T-1"])


def test_a_set_has_no_twins_and_few_of_one_template() -> None:
    assert "2 artifacts have this id" in validate_set([GOOD, GOOD])["T-1"][0].why
    many = []
    for i, name in enumerate(("Mina", "Jisu", "Hana")):
        one = changed(question(GOOD, "en", "Mina", name), id=f"T-{i}")
        many.append(one)
    wrong = validate_set(many)
    assert list(wrong) == ["T-2"]
    assert wrong["T-2"][0].category == "redundancy"


def test_the_set_that_ships() -> None:
    assert validate_set(SHIPPED) == {}
    counted = counts(SHIPPED)
    assert sum(counted["family"].values()) == 177
    assert set(counted["family"]) == set(FAMILIES)
    assert counted["kind"] == {"graph": 124, "answer_only": 53}
    assert set(counted["steps"]) <= {str(n) for n in range(1, 9)}
    assert counted["answer"]["text"] >= 10
    assert len(counted["operations"]) >= 14
    for artifact in SHIPPED:
        assert artifact["license"] == "CC BY 4.0"
        assert any("가" <= c <= "힣" for c in artifact["ko"]["question"])
        assert not any("가" <= c <= "힣" for c in artifact["en"]["question"] + artifact["en"]["materials"])


def test_the_commands(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["data", "validate"])
    assert done.exit_code == 0, done.output
    assert "177 of 177 artifacts pass" in done.output
    file = tmp_path / "a.jsonl"
    file.write_bytes(
        json.dumps(changed(GOOD, answer="55")).encode()
        + b'\n{"id":\n[1]\n\xff\n'
        + json.dumps(changed(TEXT, id="<b>")).encode()
    )
    bad = CliRunner().invoke(app, ["data", "validate", str(file), "--json"])
    assert bad.exit_code == 1
    report = json.loads(bad.output)
    assert (report["artifacts"], report["passed"]) == (2, 1)
    assert list(report["unreadable"]) == ["line 2", "line 3", "line 4"]
    assert report["problems"]["T-1"][0][0] == "answer"
    page = tmp_path / "review.html"
    assert CliRunner().invoke(app, ["data", "review", str(file), "--out", str(page)]).exit_code == 0
    text = page.read_text("utf-8")
    assert 'id="&lt;b&gt;"' in text
    assert "<b>" not in text
    assert "the graph ends in 54" in text
    assert "미나는 사과를" in text
    assert CliRunner().invoke(app, ["data", "validate", str(tmp_path / "none")]).exit_code == 2
    assert CliRunner().invoke(app, ["data", "validate", str(tmp_path)]).exit_code == 2
