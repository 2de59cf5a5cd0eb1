"""An eighth format is one file (here: a few functions) and one line in the table: all else follows by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from serial7 import audits, prompts
from serial7.check import Due, InputRead, Look, Reading, Statement, StepRead
from serial7.errors import NotWellFormed
from serial7.explain import EXAMPLE
from serial7.format import Format, Span
from serial7.formats import FORMATS
from serial7.grid import Request
from serial7.ir import CanonicalIR, Ref, number_text, parse_number
from serial7.verify import verify


def _read(text: str, due: Due) -> Reading[list[str]]:
    reading: Reading[list[str]] = Reading([])
    for line in text.strip().splitlines():
        key, _, rest = line.partition(" ")
        fields = rest.split()
        if key in ("ANSWER", "answer") and fields:
            reading.shape.append(key)
            reading.answer = rest if due.text_answer else parse_number(rest)
        elif key == "in" and len(fields) == 2:
            reading.inputs.append(InputRead(fields[0], parse_number(fields[1]), f"inputs[{len(reading.inputs)}]"))
        elif key == "step" and len(fields) > 3:
            args = tuple(parse_number(a) or Ref(a) for a in fields[2:-1])
            at = f"steps[{len(reading.steps)}]"
            reading.steps.append(StepRead(fields[0], fields[1], args, parse_number(fields[-1]), at))
        else:
            raise NotWellFormed(f"the line {line!r} is none of the format")
    if reading.answer is None:
        reading.fault("answer_slot", "no answer line", "answer")
    elif "ANSWER" in reading.shape:
        reading.fault("answer_slot", "the word is in capitals", "answer", ("loud",))
    for part in ("inputs", "steps"):
        if due.graph and not getattr(reading, part):
            reading.fault(f"{part}_container", f"no {part}", part)
    return reading


def _render(ir: CanonicalIR, rules: frozenset[str], style: str) -> str:
    def arg(value: Ref | Decimal) -> str:
        return value.name if isinstance(value, Ref) else number_text(value)

    lines = [f"in {i.name} {number_text(i.value)}" for i in ir.inputs]
    lines += [f"step {s.id} {s.op} {' '.join(map(arg, s.args))} {number_text(s.value)}" for s in ir.steps]
    answer = ir.answer if isinstance(ir.answer, str) else number_text(ir.answer)
    lines.insert(0 if style == "first" else len(lines), f"{'ANSWER' if 'loud' in rules else 'answer'} {answer}")
    return "\n".join(lines)


def _find(text: str) -> list[Span]:
    return [Span(0, len(text))] if re.search(r"^answer ", text, re.MULTILINE | re.IGNORECASE) else []


def _contract() -> dict[str, tuple[Statement, ...]]:
    checks = ("clean_boundary", "well_formed", "root_container", "answer_slot", "inputs_container", "steps_container")
    return {check: (Statement(f"About {check}.", f"{check}에 관한 문장입니다."),) for check in checks}


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Format[list[str]]:
    toy: Format[list[str]] = Format(
        name="lines", title="Lines", contract=_contract(), mark=re.compile(r"^answer ", re.MULTILINE | re.IGNORECASE),
        find=_find, bound=lambda _text: None, read=_read, render=_render, styles=("first", "last"),
    )  # fmt: skip

    @toy.rule(en="The word ANSWER is in capitals.", ko="ANSWER는 대문자로 씁니다.", replaces="answer_slot", answer_only=True,
              stands_on=("answer",))  # fmt: skip
    def loud(reading: Reading[list[str]]) -> Iterator[Look]:
        for word in reading.shape:
            yield Look(word == "ANSWER", "the word is not in capitals", "answer")

    monkeypatch.setitem(FORMATS, "lines", toy)  # the one line of serial7/formats/__init__.py
    return toy


def test_verifier_prompts_and_audits_follow(lines: Format[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    text = lines.render(EXAMPLE, frozenset(), "first")
    assert verify(text, format="lines", gold=EXAMPLE).full
    assert verify(text, format="lines", rules=["loud"], gold=EXAMPLE).not_passed == ["format.feature.loud"]
    assert verify(text.replace("3521", "1", 1), format="lines", gold=EXAMPLE).not_passed == [
        "semantic.answer", "semantic.step_consistent",
    ]  # fmt: skip
    from serial7.artifacts import load_artifacts

    request = Request("x", "realize", 1, "lines", "", "ko", "S7-001", ("loud",))
    assert "ANSWER는 대문자로 씁니다." in prompts.prompt(request, load_artifacts()["S7-001"])
    monkeypatch.setattr(audits, "FORMATS", {"lines": lines})
    for found in (
        audits.combinations([EXAMPLE]),
        audits.near_misses([EXAMPLE]),
        audits.leakage([EXAMPLE]),
        audits.alignment(),
    ):
        assert found.failures == []
        assert sum(found.counts.values()) > 0
