"""`serial7 check --batch`, and the limited process in which it judges."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

import pytest

from serial7.batch import judge_lines
from serial7.explain import EXAMPLE
from serial7.guard import Guard, JudgeFailed, Limits

GOOD = {"id": "a", "format": "json", "text": '{"answer": 42}', "gold": {"answer": "42", "inputs": [], "steps": []}}


def lines(*cases: Any) -> list[str]:
    return [case if isinstance(case, str) else json.dumps(case) for case in cases]


def test_order_and_schema() -> None:
    bad = {**GOOD, "id": "b", "text": '{"answer": 41}'}
    first, second = judge_lines(lines(GOOD, bad))
    assert list(first) == ["id", "not_passed", "blocked", "fc", "hsr", "full", "findings"]
    assert (first["id"], first["not_passed"], first["full"]) == ("a", [], True)
    assert list(second["findings"][0]) == ["check", "outcome", "why", "at", "blocked_by"]
    assert (second["id"], second["not_passed"], second["fc"], second["hsr"]) == ("b", ["semantic.answer"], True, False)


def test_a_line_that_cannot_be_read_is_named_and_the_rest_goes_on() -> None:
    found = list(
        judge_lines(
            lines(
                "{broken",
                "",
                "[]",
                {"id": "x", "format": "json"},
                {"id": "y", "format": "csv", "text": "1"},
                {**GOOD, "rules": ["fence"]},
                {**GOOD, "gold": {"answer": 42}},
                {**GOOD, "condition": "derive"},
                {**GOOD, "gold": None, "kind": "both"},
                "[" * 100_000,
                GOOD,
            )
        )
    )
    assert [r.get("line") for r in found] == [1, 3, 4, None, None, None, None, None, 10, None]
    errors = [r.get("error", "") for r in found]
    for said, due in zip(errors, ["not JSON", "not a JSON object", "text is missing", "unknown format", "no rule 'fence'",
                                  "answer is 42", "no document to verify", "kind is 'both'", "not JSON", ""], strict=True):  # fmt: skip
        assert due in said
    assert found[-1]["full"] is True


def test_without_gold_meaning_is_not_asked() -> None:
    (found,) = judge_lines(lines({**GOOD, "gold": None, "kind": "answer_only"}))
    assert (found["fc"], found["hsr"], found["full"]) == (True, None, None)
    (text,) = judge_lines(
        lines({"id": "t", "format": "json", "text": '{"answer": "x"}', "kind": "answer_only", "answer_kind": "text"})
    )
    assert text["not_passed"] == []


def deadly(record: str) -> str:
    match record:
        case "segfault":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "loop":
            while True:
                pass
        case "memory":
            bytearray(8 * 2**30)
        case "raise":
            raise ValueError("a bug")
    return f"judged {record}"


def died(record: str, why: str) -> str:
    return f"{record} died: {why}"


def test_a_death_costs_one_record_and_says_why() -> None:
    records = ["a", "segfault", "b", "loop", "c", "memory", "d", "e"]
    with Guard(deadly, died, Limits(cpu_s=1), batch=3) as guard:
        found = list(guard.map(records))
        assert guard.deaths == 3
    assert [r for r in found if r.startswith("judged")] == [f"judged {r}" for r in "abcde"]
    assert [r for r in found if "died" in r] == [
        "segfault died: judging ended its process (SIGSEGV)",
        "loop died: judging took more than 1 s of CPU time",
        "memory died: judging ended its process (exit code 3)",
    ]
    assert [r.split()[0 if "died" in r else 1] for r in found] == records


def test_a_bug_of_ours_is_no_verdict() -> None:
    with Guard(deadly, died) as guard, pytest.raises(JudgeFailed, match="ValueError: a bug"):
        list(guard.map(["raise"]))


def test_the_child_ends_with_the_guard() -> None:
    with Guard(deadly, died) as guard:
        list(guard.map(["a"]))
        assert guard._process is not None
        pid = guard._process.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_record_that_kills_the_judge_gets_its_verdict() -> None:
    from serial7.verify import exceeded

    verdict = exceeded("judging took too long", format="json", rules=["key_order"], gold=EXAMPLE)
    assert set(verdict.not_passed) - set(verdict.blocked) == {"format.well_formed"}
    assert "format.feature.key_order" in verdict.blocked
    assert verdict.error == ""
