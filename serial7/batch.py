"""`serial7 check --batch`: many answers from one JSONL file, one verdict a line in the same order.

In: `{id, condition, format, rules, gold, text}`; `gold` optional (then `format.*` and `structure.*` only, and `kind`:
`graph` or `answer_only`, `answer_kind`: `number` or `text` may be given). Out: `{id, not_passed, blocked, fc, hsr,
full, findings: [{check, outcome, why, at, blocked_by}]}`. A line that cannot be read gives `{id or line, error}`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from serial7.errors import OperatorError
from serial7.guard import Guard, Limits
from serial7.ir import CanonicalIR
from serial7.verify import Verdict, exceeded, verify

Numbered = tuple[int, str]


def judge_lines(lines: Iterable[str], limits: Limits | None = None) -> Iterator[dict[str, Any]]:
    """One record a line that is not blank, in order; a bad line is named and the rest goes on."""
    numbered = ((i, line) for i, line in enumerate(lines, 1) if line.strip())
    with Guard(judge_line, _dead_line, limits) as guard:
        yield from guard.map(numbered)


def judge_line(numbered: Numbered) -> dict[str, Any]:
    """Judge one line of a batch file."""
    number, line = numbered
    try:
        case = _read(line)
    except OperatorError as error:
        return {"line": number, "error": str(error)}
    try:
        return {"id": case["id"], **verdict_record(verify(case["text"], **_arguments(case)))}
    except OperatorError as error:
        return {"id": case["id"], "error": str(error)}


def _dead_line(numbered: Numbered, why: str) -> dict[str, Any]:
    case = _read(numbered[1])
    return {"id": case["id"], **verdict_record(exceeded(why, **_arguments(case)))}


def _read(line: str) -> dict[str, Any]:
    try:
        case = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise OperatorError(f"the line is not JSON: {error}") from error
    if not isinstance(case, dict):
        raise OperatorError("the line is not a JSON object with id, format and text")
    if not isinstance(case.get("text"), str):
        raise OperatorError("text is missing or not a string")
    if not isinstance(case.get("format"), str):
        raise OperatorError("format is missing or not a string")
    if not isinstance(case.setdefault("condition", "realize"), str):
        raise OperatorError("condition is not a string")
    rules = case.setdefault("rules", [])
    if not (isinstance(rules, list) and all(isinstance(rule, str) for rule in rules)):
        raise OperatorError("rules is not a list of rule names")
    case.setdefault("id", None)
    return case


def _arguments(case: Mapping[str, Any]) -> dict[str, Any]:
    gold = case.get("gold")
    if gold is not None and not isinstance(gold, Mapping):
        raise OperatorError("gold is not an object with answer, inputs and steps")
    kind, answer_kind = case.get("kind", "graph"), case.get("answer_kind", "number")
    if kind not in ("graph", "answer_only"):
        raise OperatorError(f"kind is {kind!r}; graph or answer_only is due")
    if answer_kind not in ("number", "text"):
        raise OperatorError(f"answer_kind is {answer_kind!r}; number or text is due")
    return {
        "format": case["format"],
        "condition": case["condition"],
        "rules": tuple(case["rules"]),
        "gold": None if gold is None else CanonicalIR.from_dict(gold),
        "graph": kind == "graph",
        "text_answer": answer_kind == "text",
    }


def verdict_record(verdict: Verdict) -> dict[str, Any]:
    """A verdict as plain JSON values. Without gold HSR and Full Compliance are not asked: null. A verdict that our own bug
    spoiled carries `error`."""
    judged = verdict.meaning_asked
    return {
        "not_passed": verdict.not_passed,
        "blocked": verdict.blocked,
        "fc": verdict.fc,
        "hsr": verdict.hsr if judged else None,
        "full": verdict.full if judged else None,
        "findings": [
            {"check": f.check, "outcome": str(f.outcome), "why": f.why, "at": f.at, "blocked_by": f.blocked_by}
            for f in verdict.findings
        ],
        **({"error": verdict.error} if verdict.error else {}),
    }
