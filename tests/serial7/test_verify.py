"""The verifier's judgement apart from any one format: grounds, blocking, metrics, recovery, errors."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serial7 import verify
from serial7.errors import OperatorError
from serial7.explain import EXAMPLE
from serial7.formats import FORMATS
from serial7.ir import CanonicalIR
from serial7.verify import Verdict
from tests.conftest import SHARED

BASE: dict[str, Any] = {
    "answer": 3521,
    "inputs": [{"name": "caribbean_price", "value": 503}],
    "steps": [{"id": "R1", "op": "multiply", "args": ["caribbean_price", 7], "value": 3521}],
}


def judge(document: object, **kwargs: Any) -> Verdict:
    text = document if isinstance(document, str) else json.dumps(document)
    return verify(text, format="json", gold=EXAMPLE, **kwargs)


def changed(**kwargs: Any) -> dict[str, Any]:
    return {**BASE, **kwargs}


def steps(*records: tuple[str, str, list[Any], Any], answer: Any = 3521) -> dict[str, Any]:
    return changed(answer=answer, steps=[{"id": i, "op": o, "args": a, "value": v} for i, o, a, v in records])


@pytest.mark.parametrize(
    ("document", "not_passed", "blocked"),
    [
        (BASE, [], []),
        (changed(inputs=[]), ["format.inputs_container", "semantic.input_values", "semantic.step_consistent",
                              "structure.input_fields_present", "structure.unique_input_names"],
         ["semantic.input_values", "semantic.step_consistent", "structure.input_fields_present",
          "structure.unique_input_names"]),
        # A missing field is a fault of structure.*, an unreadable value is charged to its container too.
        (changed(inputs=[{"name": "caribbean_price"}]),
         ["semantic.input_values", "semantic.step_consistent", "structure.input_fields_present"],
         ["semantic.step_consistent"]),
        (changed(inputs=[{"name": "caribbean_price", "value": "503 USD"}]),
         ["format.inputs_container", "semantic.input_values", "semantic.step_consistent",
          "structure.input_fields_present"], ["semantic.step_consistent"]),
        (steps(("R1", "multiply", ["caribbean_price", 7], 3521), ("R2", "add", ["R1", 0], 3521)), [], []),
        (steps(("R1", "multiply", ["caribbean_price", 7], 3520)), ["semantic.step_consistent"], []),
        (steps(("R1", "multiply", ["R1", 7], 3521)), ["semantic.step_consistent"], []),  # no earlier step
        (steps(("R1", "multiply", ["nowhere", 7], 3521)), ["semantic.step_consistent"], []),
        (steps(("R1", "multiply", [503, 7], 3521)), [], []),  # grounded in no input: binding.grounded alone
        (steps(("R1", "power", ["caribbean_price", 10**9], 3521)), ["semantic.step_consistent"], []),
        (steps(("caribbean_price", "multiply", ["caribbean_price", 7], 3521)), ["structure.unique_step_ids"], []),
        (steps(("R1", "multiply", [], 3521)), ["semantic.step_consistent", "structure.step_fields_present"],
         ["semantic.step_consistent"]),
        (steps(("R 1", "multiply", ["caribbean_price", 7], 3521)), ["format.steps_container"], []),
        (steps(("true", "multiply", ["caribbean_price", 7], 3521)), ["format.steps_container"], []),
        (changed(answer=None), ["format.answer_slot", "semantic.answer", "semantic.step_consistent"],
         ["semantic.answer", "semantic.step_consistent"]),
        (changed(answer="3,521"), ["format.answer_slot"], []),
        (changed(answer="3521 won"), ["format.answer_slot", "semantic.answer", "semantic.step_consistent"],
         ["semantic.answer", "semantic.step_consistent"]),
        (changed(answer=3521.0), [], []),
        (changed(answer=3521.0000001), ["semantic.answer", "semantic.step_consistent"], []),
    ],
)  # fmt: skip
def test_what_fails_and_what_is_blocked(document: Any, not_passed: list[str], blocked: list[str]) -> None:
    verdict = judge(document)
    assert verdict.error == ""
    assert (verdict.not_passed, verdict.blocked) == (not_passed, blocked)


def test_absent_values_block_even_where_another_value_is_wrong() -> None:
    document = steps(("R1", "multiply", ["caribbean_price", 7], 1), ("R2", "add", ["R1"], None), answer=5)
    finding = judge(document)["semantic.step_consistent"]
    assert (finding.outcome, finding.blocked_by) == ("blocked", "structure.step_fields_present")


def test_blocked_names_the_feature_that_replaced_the_base_check() -> None:
    verdict = judge({k: v for k, v in BASE.items() if k != "answer"}, rules=["answer_object"])
    assert verdict["format.feature.answer_object"].outcome == "fail"
    assert verdict["semantic.answer"].blocked_by == "format.feature.answer_object"


def test_duplicated_names_count_only_if_their_copies_agree() -> None:
    same = [{"name": "caribbean_price", "value": 503}] * 2
    assert judge(changed(inputs=same)).not_passed == ["structure.unique_input_names"]
    differ = [{"name": "caribbean_price", "value": 503}, {"name": "caribbean_price", "value": 9}]
    assert judge(changed(inputs=differ)).not_passed == ["semantic.step_consistent", "structure.unique_input_names"]


def test_metrics_of_one_instance() -> None:
    wrong_graph = judge(steps(("R1", "multiply", ["caribbean_price", 8], 3521)))
    assert (wrong_graph.fc, wrong_graph.hsr, wrong_graph.full) == (True, True, False)
    wrong_answer = judge(changed(answer=1))
    assert (wrong_answer.fc, wrong_answer.hsr, wrong_answer.full) == (True, False, False)
    other_inputs = judge(changed(inputs=[{"name": "caribbean_price", "value": 502}]))
    assert (other_inputs.hsr, other_inputs.hsr_inputs, other_inputs.full) == (True, False, False)


def test_grounded_is_reported_and_in_no_metric() -> None:
    verdict = judge(steps(("R1", "multiply", [503, 7], 3521)))
    assert verdict["binding.grounded"].outcome == "fail"
    assert (verdict.not_passed, verdict.full) == ([], True)


def test_preserve_compares_names_order_and_exact_numbers() -> None:
    assert judge(BASE, condition="preserve").full
    renamed = changed(inputs=[{"name": "price", "value": 503}])
    assert judge(renamed, condition="preserve").not_passed == ["preserve.inputs"]
    gold = CanonicalIR.from_dict({"answer": "0.3333333333", "inputs": [], "steps": []})
    close = verify('{"answer": 0.33333333330001}', format="json", condition="preserve", gold=gold)
    assert close.not_passed == ["preserve.answer"]


def test_without_gold_only_format_and_structure_are_asked() -> None:
    verdict = verify(json.dumps(BASE), format="json")
    assert {f.check.partition(".")[0] for f in verdict.findings} == {"format", "structure"}
    assert verify('{"answer": "text"}', format="json", graph=False, text_answer=True).fc


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("", "no_output"),
        (" \n\t", "no_output"),
        ("<think>I wonder", "no_output"),
        ("<think>a</think>\n ", "no_output"),
        ("I cannot answer.", "no JSON document"),
        ('{"answer": 1} {"answer": 2}', "2 documents"),
        ('```json\n{"answer": 1}\n```\n```json\n{"answer": 2}\n```', "2 code fences"),
    ],
)
def test_no_document_blocks_everything_else(output: str, why: str) -> None:
    verdict = judge(output)
    boundary = verdict["format.clean_boundary"]
    assert (boundary.outcome, why in boundary.why) == ("fail", True)
    assert set(verdict.not_passed) - set(verdict.blocked) == {"format.clean_boundary"}


@pytest.mark.parametrize(
    "output",
    [
        "Here it is:\n```json\n{}\n```",
        "```\n{}\n```\nDone.",
        "The result is {}",
        "{}\nI hope this helps.",
        "\u00a0{}",
    ],
)
def test_a_recovered_document_fails_the_boundary_alone(output: str) -> None:
    assert judge(output.replace("{}", json.dumps(BASE))).not_passed == ["format.clean_boundary"]


@pytest.mark.parametrize("around", ["{}", "\ufeff{}", "\n{}\n\n", "<think>{{}}</think>\n{}", "a</think>{}"])
def test_white_space_bom_and_reasoning_are_no_fault(around: str) -> None:
    text = (
        around.replace("{}", json.dumps(BASE), 1) if "{{}}" not in around else "<think>{}</think>\n" + json.dumps(BASE)
    )
    assert judge(text).not_passed == []


def test_other_reasoning_marks_are_the_configs() -> None:
    text = "[THINK]x[/THINK]" + json.dumps(BASE)
    assert judge(text).not_passed == ["format.clean_boundary"]
    assert judge(text, reasoning_end=["[/THINK]"]).not_passed == []


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"format": "csv"}, "unknown format 'csv'"),
        ({"format": "json", "rules": ["fence"]}, "no rule 'fence'"),
        ({"format": "markdown", "rules": ["fence", "blockquote_answer"]}, "exclude each other"),
        ({"format": "json", "condition": "preserve", "rules": ["key_order"]}, "no atomic rules"),
        ({"format": "json", "condition": "derive"}, "no document to verify"),
    ],
)
def test_wrong_usage_says_what_is_due(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(OperatorError, match=message):
        verify("{}", **kwargs)


def test_our_own_bug_is_an_error_and_never_scored(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    def broken(*_: object) -> None:
        raise RuntimeError("a bug of ours")

    monkeypatch.setattr(FORMATS["json"], "read", broken)
    verdict = judge(BASE)
    assert "a bug of ours" in verdict.error
    assert {f.outcome for f in verdict.findings} == {"error"}
    assert (verdict.fc, verdict.hsr, verdict.full) == (False, False, False)


def test_verdicts_cross_processes() -> None:
    verdict = judge(BASE)
    assert pickle.loads(pickle.dumps(verdict)) == verdict
    error = OperatorError("what was seen")
    assert str(pickle.loads(pickle.dumps(error))) == "what was seen"


@given(st.text(max_size=300), st.sampled_from(sorted(FORMATS)))
def test_any_text_gets_a_verdict(text: str, name: str) -> None:
    verdict = verify(text, format=name, gold=EXAMPLE)
    assert verdict.error == ""
    assert verdict.findings[0].check == "format.clean_boundary"


def _cases(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


CORPUS = Path(__file__).resolve().parent.parent / "corpus"
# The contract allows one leading U+FEFF, and white space before an XML declaration.
ALLOWED_BY_THE_CONTRACT = {"BOM first", "newline before declaration"}


@pytest.mark.parametrize("folder", [CORPUS, SHARED / "corpus"], ids=["ours", "beside the checkout"])
def test_labelled_verdicts(folder: Path) -> None:
    if not folder.is_dir():
        pytest.skip("no labelled cases beside this checkout")
    wrong = []
    for case in _cases(folder / "verdicts.jsonl"):
        gold = CanonicalIR.from_dict(case["gold"])
        verdict = verify(
            case["text"], format=case["format"], condition=case["condition"], rules=case["rules"], gold=gold
        )
        seen = {name: getattr(verdict, name) for name in case["expect"]}
        if seen != {k: sorted(v) if isinstance(v, list) else v for k, v in case["expect"].items()}:
            wrong.append(case["id"])
    assert wrong == []


@pytest.mark.parametrize("folder", [CORPUS, SHARED / "corpus"], ids=["ours", "beside the checkout"])
def test_hostile_documents(folder: Path) -> None:
    if not folder.is_dir():
        pytest.skip("no labelled cases beside this checkout")
    for case in _cases(folder / "traps.jsonl"):
        verdict = verify(case["text"], format=case["format"], gold=EXAMPLE)
        assert verdict.error == "", case["title"]
        assert case["well_formed"] or verdict.not_passed or case["title"] in ALLOWED_BY_THE_CONTRACT, case["title"]
