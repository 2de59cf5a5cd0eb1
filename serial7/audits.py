"""The verifier's own exams (paper table 9): each prints its counts, and its failures name what failed.

- round trip: gold realizations are rendered, accepted, and read back as the same Canonical IR;
- combinations: so is every compatible combination of one to three rules;
- near misses: breaking one rule fails exactly that rule's check;
- leakage: valid writings of the same content are never penalized, wrong content never changes a `format.*` verdict;
- alignment: what is scored is stated and what is stated is scored, alike in both languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from serial7.artifacts import Artifact
from serial7.check import Due
from serial7.explain import EXAMPLE, bad_example, good_example
from serial7.format import AnyFormat
from serial7.formats import FORMATS
from serial7.grid import Request
from serial7.ir import CanonicalIR, Input, Ref, Step
from serial7.prompts import prompt, statements
from serial7.verify import DIAGNOSTIC, Verdict, active_checks, verify

MAX_SHOWN = 20


@dataclass(slots=True)
class Audit:
    """Counts of one exam. `failures` holds the first twenty, one line each; `failed` counts all."""

    name: str
    counts: dict[str, int] = field(default_factory=dict)
    failed: int = 0
    failures: list[str] = field(default_factory=list)

    def add(self, what: str, failure: str = "") -> None:
        self.counts[what] = self.counts.get(what, 0) + 1
        if failure:
            self.failed += 1
            if len(self.failures) < MAX_SHOWN:
                self.failures.append(f"{what}: {failure}")


def _spoiled(verdict: Verdict) -> str:
    if verdict.error:
        return f"ERROR {verdict.error.strip().splitlines()[-1]}"
    bad = [f"{f.check} {f.outcome} ({f.why} {f.at})" for f in verdict.findings if f.outcome != "pass"]
    return "; ".join(bad)


def _case(format_: AnyFormat, ir: CanonicalIR, rules: Iterable[str], style: str, condition: str = "realize") -> str:
    """Why the rendering is not accepted, or empty."""
    names = tuple(rules)
    try:
        text = format_.render(ir, frozenset(names), style)
    except Exception as error:
        return f"{format_.name} {names} {style}: rendering raised {error!r}"
    verdict = verify(text, format=format_.name, condition=condition, rules=names, gold=ir)
    why = _spoiled(verdict) or _same_ir(format_, text, ir)
    return f"{format_.name} {'+'.join(names)} {style}: {why}" if why else ""


def _same_ir(format_: AnyFormat, text: str, ir: CanonicalIR) -> str:
    reading = format_.read(text, Due(ir.graph_bearing, isinstance(ir.answer, str)))
    seen = (
        reading.answer,
        [(i.name, i.value) for i in reading.inputs],
        [(s.id, s.op, s.args, s.value) for s in reading.steps],
    )
    gold = (
        ir.answer,
        [(i.name, i.value) for i in ir.inputs],
        [(s.id, s.op, s.args, s.value) for s in ir.steps],
    )
    return "" if seen == gold else f"read back as {seen}, not {gold}"


def round_trip(artifacts: Sequence[Artifact], requests: Iterable[Request]) -> Audit:
    """Base realizations of every artifact, and the gold realization of every request of the grid."""
    audit = Audit("round trip")
    by_id = {a.id: a for a in artifacts}
    for format_ in FORMATS.values():
        for artifact in artifacts:
            audit.add("base", _case(format_, artifact.ir, (), format_.styles[0]))
    for request in requests:
        if request.condition == "derive":
            continue
        format_, ir = FORMATS[request.format], by_id[request.artifact_id].ir
        audit.add(request.condition, _case(format_, ir, request.rules, format_.styles[0], request.condition))
    return audit


def combinations(irs: Sequence[CanonicalIR]) -> Audit:
    """Every compatible combination of one to three rules of every format, on every artifact that it applies to."""
    audit = Audit("combinations")
    distinct: set[tuple[str, tuple[str, ...]]] = set()
    for format_ in FORMATS.values():
        for ir in irs:
            for rules in format_.combinations(Due(ir.graph_bearing, isinstance(ir.answer, str))):
                distinct.add((format_.name, rules))
                audit.add("documents", _case(format_, ir, rules, format_.styles[0]))
    audit.counts["combinations"] = len(distinct)
    return audit


def near_misses(irs: Sequence[CanonicalIR] = ()) -> Audit:
    """The bad example of each rule, and every document that follows all active rules but one."""
    audit = Audit("near misses")
    for format_ in FORMATS.values():
        for rule in format_.rules.values():
            good = verify(good_example(format_, rule), format=format_.name, rules=(rule.name,), gold=EXAMPLE)
            bad = verify(bad_example(format_, rule), format=format_.name, rules=(rule.name,), gold=EXAMPLE)
            why = _spoiled(good) or _only(bad, rule.check)
            audit.add("rules", f"{format_.name}.{rule.name}: {why}" if why else "")
        for ir in (i for i in irs if i.graph_bearing):
            for rules in format_.combinations(Due()):
                for left_out in rules:
                    text = format_.render(ir, frozenset(rules) - {left_out}, format_.styles[0])
                    verdict = verify(text, format=format_.name, rules=rules, gold=ir)
                    why = _only(verdict, f"format.feature.{left_out}")
                    audit.add("left out", f"{format_.name} {'+'.join(rules)} without {left_out}: {why}" if why else "")
    return audit


def _only(verdict: Verdict, check: str) -> str:
    if verdict.not_passed == [check] and not verdict.blocked:
        return ""
    return f"fails {verdict.not_passed or 'nothing'}, blocked {verdict.blocked}; {check} alone is due"


def leakage(irs: Sequence[CanonicalIR]) -> Audit:
    """Valid transformations: every style under every combination. Perturbations: wrong content in a right form."""
    audit = Audit("leakage")
    for format_ in FORMATS.values():
        for ir in irs:
            due = Due(ir.graph_bearing, isinstance(ir.answer, str))
            for rules in [(), *format_.combinations(due, (1, 2))]:
                for style in format_.styles[1:]:
                    audit.add("valid transformations", _case(format_, ir, rules, style))
            for rules in [(), *format_.combinations(due, (1,))]:
                for what, changed in perturbations(ir):
                    text = format_.render(changed, frozenset(rules), format_.styles[0])
                    verdict = verify(text, format=format_.name, rules=rules, gold=ir)
                    failed = [c for c in verdict.not_passed if c.startswith("format.")]
                    why = f"{failed} fail" if failed else "" if verdict.not_passed else "nothing notices"
                    audit.add("perturbations", f"{format_.name} {rules} {what}: {why}" if why else "")
    return audit


def perturbations(ir: CanonicalIR) -> Iterator[tuple[str, CanonicalIR]]:
    """The same kind of artifact with wrong content: each must fail something, and no `format.*`."""
    if isinstance(ir.answer, str):
        yield "another answer", replace(ir, answer=f"x{ir.answer}")
        return
    yield "answer + 1", replace(ir, answer=ir.answer + 1)
    yield "answer negated", replace(ir, answer=-ir.answer or Decimal(1))
    if not ir.graph_bearing:
        return
    first, last = ir.inputs[0], ir.steps[-1]
    yield "input value", replace(ir, inputs=(Input(first.name, first.value + 1), *ir.inputs[1:]))
    yield "step value", replace(ir, steps=(*ir.steps[:-1], replace(last, value=last.value + 1)))
    yield "unknown operation", replace(ir, steps=(*ir.steps[:-1], replace(last, op="combine")))
    yield (
        "dangling reference",
        replace(ir, steps=(*ir.steps[:-1], replace(last, args=(Ref("nowhere"), *last.args[1:])))),
    )
    yield (
        "literal for a reference",
        replace(ir, steps=(*ir.steps, Step("extra_step", "add", (Decimal(1), Decimal(1)), Decimal(2)))),
    )


def alignment(artifacts: Sequence[Artifact] = (), requests: Iterable[Request] = ()) -> Audit:
    """Unstated checks, unmeasured requirements, and sentences that one language lacks, over all kinds of prompts.

    Of each request of the grid the prompt itself is read: every sentence of a scored check stands in it as a line of its own,
    and every such line is the sentence of a scored check.
    """
    audit = Audit("alignment")
    for format_ in FORMATS.values():
        for due in (Due(), Due(graph=False), Due(graph=False, text_answer=True)):
            for condition in ("realize", "preserve"):
                sets = [()] if condition == "preserve" else [(), *format_.combinations(due)]
                for rules in sets:
                    active = {n: r for n, r in format_.rules.items() if n in rules}
                    scored = set(active_checks(format_, due, active, condition, with_gold=True)) - DIAGNOSTIC
                    stated = statements(format_, due, rules, condition)
                    where = f"{format_.name} {condition} {due} {'+'.join(rules)}"
                    unstated = sorted(scored - {s.check for s in stated})
                    unmeasured = sorted({s.check for s in stated} - scored)
                    audit.add("prompts")
                    audit.add("unstated checks", f"{where}: {unstated}") if unstated else None
                    audit.add("unmeasured requirements", f"{where}: {unmeasured}") if unmeasured else None
                    for s in stated:
                        why = asymmetry(s.statement.en, s.statement.ko)
                        if why:
                            audit.add("language asymmetries", f"{where}: {why}")
    by_id = {a.id: a for a in artifacts}
    for request in requests:
        audit.add("prompts of the grid", _misaligned(request, by_id[request.artifact_id]))
    for zero in ("unstated checks", "unmeasured requirements", "language asymmetries"):
        audit.counts.setdefault(zero, 0)
    return audit


def _misaligned(request: Request, artifact: Artifact) -> str:
    text = prompt(request, artifact)
    if request.condition == "derive":
        asks = ("Answer: <final answer>", "정답: <최종 답>")[request.language == "ko"]
        return "" if asks in text else f"{request.id}: does not say how to give the final answer"
    format_ = FORMATS[request.format]
    active = {n: r for n, r in format_.rules.items() if n in request.rules}
    scored = set(active_checks(format_, artifact.due, active, request.condition, with_gold=True)) - DIAGNOSTIC
    language = 0 if request.language == "en" else 1
    stated = statements(format_, artifact.due, request.rules, request.condition)
    due = {f"- {s.statement[language]}" for s in stated if s.check in scored}
    contract = _PROBLEM.split(text, maxsplit=1)[0].split("\n")
    lines = {line for line in contract if line.startswith("- ")}
    silent = sorted(scored - {s.check for s in stated})
    missing, extra = sorted(due - lines), sorted(lines - due)
    return f"{request.id}: unstated {silent}, missing {missing}, unscored {extra}" if silent or missing or extra else ""


_PROBLEM = re.compile(r"\n\n\[(?:Question|문제|Source document|원본 문서)\b")
_CODE = re.compile(r'"[^"]*[a-zA-Z][^"]*"|`[^`]+`|<[^<>]+>|\\[A-Za-z]+|#[a-z]+|\d{2,}')


def asymmetry(en: str, ko: str) -> str:
    """Why the two sentences do not say the same, as far as a program can see: empty, untranslated, other code."""
    if not en.strip() or not ko.strip():
        return f"one language lacks the sentence {en or ko!r}"
    if not any("가" <= c <= "힣" for c in ko):
        return f"no Korean in {ko!r}"
    if any("가" <= c <= "힣" for c in en):
        return f"Korean in {en!r}"
    quoted_en, quoted_ko = _code(en), _code(ko)
    if quoted_en != quoted_ko:
        return f"the code in {en!r} and {ko!r} differs: {sorted(quoted_en ^ quoted_ko)}"
    return ""


def _code(sentence: str) -> set[str]:
    return set(_CODE.findall(sentence))
