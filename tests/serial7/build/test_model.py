"""What a model is asked, the strict reading of its answers, and the bounded loop of repair and translation."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from serial7.build.drafts import Draft
from serial7.build.normalize import normalize
from serial7.build.pairing import pair
from serial7.build.records import SourceRecord
from serial7.build.repair import settle
from serial7.build.requests import NotAsAsked, graph_request, read_graph, read_text
from serial7.operations import OPERATIONS

QUESTION = "A reservoir holds 840 m3 and loses 35 m3 a day. How many m3 are left after 6 days?"
KOREAN = "저수지에 물이 840 m3 있고 하루에 35 m3씩 줄어듭니다. 6일 뒤에 남은 물은 몇 m3입니까?"
GOOD = {
    "inputs": [{"name": "volume", "value": "840"}, {"name": "loss", "value": "35"}, {"name": "days", "value": "6"}],
    "steps": [
        {"id": "R1", "op": "multiply", "args": ["loss", "days"]},
        {"id": "R2", "op": "subtract", "args": ["volume", "R1"]},
    ],
}


def record(question: str = QUESTION, answer: str = "630", **more: Any) -> SourceRecord:
    fields: dict[str, Any] = {
        "source": "scibench",
        "id": "scibench-1",
        "place": "f.json:1",
        "question": {"en": question},
        "materials": {"en": ""},
        "answer": answer,
        "licence": "MIT",
        "family": "science",
        "strata": {"subject": "physics"},
    }
    return SourceRecord(**{**fields, **more})


class Model:
    """Answers in order, and keeps what it was asked."""

    def __init__(self, answers: Iterable[object]) -> None:
        self.answers = [a if isinstance(a, str) else json.dumps(a, ensure_ascii=False) for a in answers]
        self.asked: list[list[dict[str, str]]] = []

    def __call__(self, messages: list[dict[str, str]]) -> str:
        self.asked.append(messages)
        return self.answers[len(self.asked) - 1]


def test_the_request_states_what_the_contract_asks() -> None:
    system, user = graph_request(record(), {"en": "Unit of the answer: m3"}, "630")
    assert all(f"{o.name} ({o.arity})" in system["content"] for o in OPERATIONS.values())
    assert QUESTION in user["content"]
    assert "Official answer: 630" in user["content"]


def test_a_graph_is_read_and_computed() -> None:
    graph = read_graph(f"```json\n{json.dumps(GOOD)}\n```")
    assert [(i, op, args, str(v)) for i, op, args, v in graph.steps] == [
        ("R1", "multiply", ["loss", "days"], "210"),
        ("R2", "subtract", ["volume", "R1"], "630"),
    ]


def changed(**parts: Any) -> dict[str, Any]:
    return {**GOOD, **parts}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "empty"),
        ("Sure! " + json.dumps(GOOD), "not one JSON object"),
        (json.dumps(GOOD) + json.dumps(GOOD), "not one JSON object"),
        ("[]", "seen: list"),
        ('{"inputs": [], "inputs": [], "steps": []}', "stands twice"),
        ("[" * 100_000, "characters"),
        ("[" * 50_000, "not one JSON object"),
        (changed(answer="630"), "exactly the keys"),
        (changed(inputs=[{"name": "volume", "value": 840}]), "as text is due"),
        (changed(inputs=[{"name": "volume", "value": "1,240"}]), "inputs[0].value"),
        (changed(inputs=[{"name": "2nd", "value": "2"}]), "a letter first"),
        (changed(inputs=[{"name": "a", "value": "2"}, {"name": "a", "value": "3"}]), "distinct"),
        (changed(inputs=[{"name": "a", "value": "2", "unit": "m"}]), "exactly the keys name, value"),
        (changed(steps=[{"id": "R1", "op": "sum", "args": ["loss", "days"]}]), "not one of"),
        (changed(steps=[{"id": "R1", "op": "divide", "args": ["loss"]}]), "takes 2 arguments"),
        (changed(steps=[{"id": "R1", "op": "divide", "args": ["loss", "0"]}]), "by zero"),
        (changed(steps=[{"id": "R1", "op": "power", "args": ["loss", "999999999"]}]), "too many digits"),
        (changed(steps=[{"id": "R1", "op": "add", "args": ["R2", "loss"]}]), "no earlier step"),
        (changed(steps=[{"id": "R1", "op": "add", "args": ["15%", "loss"]}]), "is no number"),
        (changed(steps=[{"id": "loss", "op": "add", "args": ["loss", "days"]}]), "distinct"),
        (changed(steps=[]), "no graph"),
        (changed(steps="R1"), "a list is due"),
        (changed(steps=[{"id": f"R{i}", "op": "negate", "args": ["loss"]} for i in range(21)]), "21 steps"),
    ],
)  # fmt: skip
def test_what_is_not_as_asked(answer: object, why: str) -> None:
    with pytest.raises(NotAsAsked) as caught:
        read_graph(answer if isinstance(answer, str) else json.dumps(answer))
    assert why in str(caught.value)


def test_a_text_is_read() -> None:
    assert read_text('{"question": " 몇 개입니까? ", "materials": ""}') == {"question": "몇 개입니까?", "materials": ""}
    for bad in (
        '{"question": "", "materials": ""}',
        '{"question": 3, "materials": ""}',
        '{"question": "a\\u0000", "materials": ""}',
    ):
        with pytest.raises(NotAsAsked):
            read_text(bad)


def test_repair_quotes_the_reasons_and_ends_in_a_valid_graph() -> None:
    wrong_answer = changed(steps=[{"id": "R1", "op": "multiply", "args": ["loss", "days"]}])
    model = Model(["No idea.", wrong_answer, GOOD])
    draft = settle(normalize(record()), model, rounds=3)
    assert draft.problems == ()
    assert draft.method == "model"
    assert draft.repairs[0] == "model, round 3"
    assert draft.artifact is not None
    assert draft.artifact["kind"] == "graph"
    assert "not one JSON object" in model.asked[1][-1]["content"]
    assert "630" in model.asked[2][-1]["content"]
    assert model.asked[2][-2] == {"role": "assistant", "content": json.dumps(wrong_answer)}


def test_a_model_that_never_gets_there_leaves_the_answer_only_draft() -> None:
    model = Model(["no"] * 9)
    draft = settle(normalize(record()), model, rounds=2)
    assert len(model.asked) == 2
    assert draft.problems == ()
    assert draft.artifact is not None
    assert draft.artifact["kind"] == "answer_only"
    assert draft.notes == ("no graph after 2 rounds with a model",)


def test_a_record_that_the_rules_refused_is_rejected_with_the_last_reason() -> None:
    row = record(source="gsm8k", computation="x=<<630=630>>630", family="korean_math")
    first = settle(normalize(row))
    assert first.problem is not None
    assert first.problem.category == "source"
    last = settle(normalize(row), Model(["no", {**GOOD, "steps": []}]), rounds=2)
    assert last.problem is not None
    assert "no graph" in last.problem.why
    assert settle(normalize(row), Model([GOOD]), rounds=1).problems == ()


def test_no_model_is_asked_where_nothing_is_to_gain() -> None:
    model = Model([])
    text_answer = record(answer="B_2", question="Which code is it?")
    leaking = record(question=f"{QUESTION}\nAnswer: 630 m3")
    fine = record(source="gsm8k", computation="35*6=<<35*6=210>>210\n840-210=<<840-210=630>>630", family="korean_math")
    for row in (text_answer, leaking, fine):
        settle(normalize(row), model)
    assert model.asked == []
    refused = settle(normalize(leaking), model).problem
    assert refused is not None
    assert (refused.category, refused.field) == ("grounding", "en.question")


def test_a_translation_is_checked_and_asked_again() -> None:
    draft = settle(normalize(record()), Model([GOOD]))
    model = Model([
        {"question": KOREAN.replace("35", "53"), "materials": ""},
        {"question": f"{KOREAN}\n답: 630", "materials": ""},
        {"question": KOREAN, "materials": ""},
    ])  # fmt: skip
    paired = pair(draft, model, rounds=3)
    assert paired.problems == ()
    assert paired.artifact is not None
    assert paired.artifact["ko"] == {"question": KOREAN, "materials": ""}
    assert list(paired.artifact)[-2:] == ["license", "provenance"] or "ko" in paired.artifact
    assert "35" in model.asked[1][-1]["content"]
    assert "630" in model.asked[2][-1]["content"]
    assert paired.notes[-1] == "Korean by a model, round 3"


def test_a_translation_that_fails_or_is_not_to_be_had() -> None:
    draft = settle(normalize(record()), Model([GOOD]))
    failed = pair(draft, Model(["", "[]"]), rounds=2).problem
    assert failed is not None
    assert (failed.category, failed.field) == ("pairing", "ko")
    assert "not translated in 2 rounds" in failed.why
    without = pair(draft).problem
    assert without is not None
    assert "give model=NAME" in without.why
    assert pair(failed_draft := draft.rejected("answer", "answer", "x"), Model([])) == failed_draft


def test_a_draft_survives_its_row() -> None:
    draft = settle(normalize(record()), Model([GOOD])).rejected("pairing", "ko", "why")
    assert Draft.from_row(draft.to_row()) == draft
