"""The verifier: raw output -> document -> reading -> findings -> Verdict.

Pure: no state between calls, no clock, no files, no network; safe from any thread or process. Source:
contracts.md section 3; paper figure 13, tables 25-27.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from serial7 import reply
from serial7.check import (
    STRUCTURE_CHECKS,
    AnyRule,
    Due,
    Fault,
    Finding,
    InputRead,
    Outcome,
    Reading,
    StepRead,
    within,
)  # fmt: skip
from serial7.errors import NoDocument, NotWellFormed, OperatorError, StepFailed
from serial7.format import AnyFormat, check_bounds
from serial7.formats import get_format
from serial7.ir import CanonicalIR, Ref, Step, answers_agree, matches_all, normalize_text, numbers_agree
from serial7.operations import execute

CONDITIONS = ("derive", "realize", "preserve")
DIAGNOSTIC = frozenset({"binding.grounded"})  # reported, in no metric

AnyReading = Reading[Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the verifier says of one answer.

    Attributes:
        findings: one per active check, in the order of table 25.
        document: what was judged, as a slice of the raw output from `start`; empty if nothing was found.
        reasoning: what stood before it and was set apart.
        fc, hsr, full: Format Compliance, hard satisfaction, Full Compliance (contracts.md, "Metrics of one instance").
        hsr_inputs: HSR with `semantic.input_values` counted in (an open reading of table 27).
        error: a traceback if our own code broke; such a verdict is never scored.
    """

    findings: tuple[Finding, ...]
    document: str = ""
    start: int = 0
    reasoning: str = ""
    error: str = ""
    _by_check: dict[str, Finding] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._by_check.update((f.check, f) for f in self.findings)

    def __getitem__(self, check: str) -> Finding:
        return self._by_check[check]

    def _holds(self, *prefixes: str) -> bool:
        return not self.error and all(
            f.outcome is Outcome.PASS
            for f in self.findings
            if f.check.startswith(prefixes) and f.check not in DIAGNOSTIC
        )

    @property
    def not_passed(self) -> list[str]:
        return sorted(f.check for f in self.findings if f.outcome is not Outcome.PASS and f.check not in DIAGNOSTIC)

    @property
    def blocked(self) -> list[str]:
        return sorted(f.check for f in self.findings if f.outcome is Outcome.BLOCKED and f.check not in DIAGNOSTIC)

    @property
    def meaning_asked(self) -> bool:
        """Whether gold was given, so that `hsr` and `full` mean something."""
        return any(f.check.startswith(("semantic.", "preserve.")) for f in self.findings)

    @property
    def fc(self) -> bool:
        return self._holds("format.")

    @property
    def hsr(self) -> bool:
        return self._holds("format.", "semantic.answer", "preserve.")

    @property
    def hsr_inputs(self) -> bool:
        return self._holds("format.", "semantic.answer", "semantic.input_values", "preserve.")

    @property
    def full(self) -> bool:
        return self._holds("format.", "semantic.", "preserve.", "structure.")


def verify(
    text: str,
    *,
    format: str,  # noqa: A002 - the contract's word for it
    condition: str = "realize",
    rules: Sequence[str] = (),
    gold: CanonicalIR | None = None,
    graph: bool = True,
    text_answer: bool = False,
    reasoning_end: Sequence[str] = reply.REASONING_END,
) -> Verdict:
    """Judge one raw output of a model.

    Args:
        text: the raw output; any string.
        format: `json xml markdown html latex yaml toml`.
        condition: `realize` or `preserve`.
        rules: names of the active atomic rules of that format; none under `preserve`.
        gold: the artifact's Canonical IR (for `preserve` the source document's). Without it only `format.*` and
            `structure.*` are asked.
        graph, text_answer: the kind of answer that is due where no gold is given.
        reasoning_end: marks that end a reasoning block.

    Raises:
        OperatorError: unknown format, condition or rule, or rules that exclude each other. Never for `text`.
    """
    format_, active, due, checks = _asked(format, condition, rules, gold, graph=graph, text_answer=text_answer)
    try:
        found = reply.find_document(text, format_, reasoning_end)
    except NoDocument as fault:
        return Verdict(_all_blocked(checks, "format.clean_boundary", fault))
    except Exception:
        return _broken(checks, text)
    context = {"document": found.document, "start": found.start, "reasoning": found.reasoning}
    boundary = (
        Finding("format.clean_boundary", Outcome.FAIL, found.boundary)
        if found.boundary
        else Finding("format.clean_boundary", Outcome.PASS)
    )
    try:
        check_bounds(format_, found.document)
        reading = format_.read(found.document, due)
    except NotWellFormed as fault:
        findings = _all_blocked(checks, "format.well_formed", fault, boundary)
        return Verdict(findings, **context)  # type: ignore[arg-type]
    except Exception:
        return _broken(checks, found.document)
    try:
        judge = _Judge(reading, due, active, gold)
        findings = tuple(boundary if c == boundary.check else judge.find(c) for c in checks)
    except Exception:
        return _broken(checks, found.document)
    return Verdict(findings, **context)  # type: ignore[arg-type]


def exceeded(
    why: str,
    *,
    format: str,  # noqa: A002
    condition: str = "realize",
    rules: Sequence[str] = (),
    gold: CanonicalIR | None = None,
    graph: bool = True,
    text_answer: bool = False,
) -> Verdict:
    """The verdict on an output whose judging used up its process: `format.well_formed` fails, all else is blocked.

    For `serial7.guard`, which limits the judging process; arguments as `verify`.
    """
    *_, checks = _asked(format, condition, rules, gold, graph=graph, text_answer=text_answer)
    return Verdict(_all_blocked(checks, "format.well_formed", NotWellFormed(why)))


def _asked(
    format_name: str, condition: str, rules: Sequence[str], gold: CanonicalIR | None, *, graph: bool, text_answer: bool
) -> tuple[AnyFormat, dict[str, AnyRule], Due, list[str]]:
    format_ = get_format(format_name)
    active = _active_rules(format_, rules, condition)
    due = Due(graph, text_answer) if gold is None else Due(gold.graph_bearing, isinstance(gold.answer, str))
    return format_, active, due, active_checks(format_, due, active, condition, with_gold=gold is not None)


def _active_rules(format_: AnyFormat, names: Sequence[str], condition: str) -> dict[str, AnyRule]:
    if condition not in ("realize", "preserve"):
        raise OperatorError(f"condition {condition!r} has no document to verify; realize or preserve is due")
    for name in names:
        if name not in format_.rules:
            raise OperatorError(f"{format_.title} has no rule {name!r}; it has {', '.join(format_.rules)}")
    if names and condition == "preserve":
        raise OperatorError("preserve has no atomic rules")
    if not format_.compatible(names):
        raise OperatorError(f"the rules {', '.join(names)} exclude each other")
    return {name: rule for name, rule in format_.rules.items() if name in names}


def active_checks(
    format_: AnyFormat, due: Due, active: dict[str, AnyRule], condition: str, *, with_gold: bool
) -> list[str]:
    """The active predicates in reporting order, after rule-aware substitution (tables 25 and 26)."""
    replaced = {rule.replaces for rule in active.values()}
    checks = [f"format.{c}" for c in format_.base_checks(due) if c not in replaced]
    checks += [rule.check for rule in active.values()]
    if due.graph:
        checks += STRUCTURE_CHECKS
    if with_gold and condition == "preserve":
        checks += ["preserve.answer", *(("preserve.inputs", "preserve.steps") if due.graph else ())]
    elif with_gold:
        checks.append("semantic.answer")
        if due.graph:
            checks += ["semantic.input_values", "semantic.step_consistent", "binding.grounded"]
    return checks


def _all_blocked(
    checks: list[str], failed: str, fault: NoDocument | NotWellFormed, *known: Finding
) -> tuple[Finding, ...]:
    done = {f.check: f for f in (*known, Finding(failed, Outcome.FAIL, fault.why, fault.at))}
    return tuple(
        done.get(c) or Finding(c, Outcome.BLOCKED, f"{failed} took its ground", blocked_by=failed) for c in checks
    )


def _broken(checks: list[str], document: str) -> Verdict:
    trace = traceback.format_exc()
    return Verdict(tuple(Finding(c, Outcome.ERROR, "the verifier broke") for c in checks), document, error=trace)


class _Blocked(Exception):
    """The ground of a check is absent; carries the check that took it away and what is missing."""

    def __init__(self, by: str, why: str, at: str = "") -> None:
        super().__init__(by, why, at)
        self.by, self.why, self.at = by, why, at


class _Judge:
    """Answers each active check from one reading."""

    def __init__(self, reading: AnyReading, due: Due, active: dict[str, AnyRule], gold: CanonicalIR | None) -> None:
        self.reading = reading
        self.due = due
        self.active = active
        self.gold = gold
        self.owner = {rule.replaces: rule.check for rule in active.values() if rule.replaces}

    def find(self, check: str) -> Finding:
        space, _, name = check.partition(".")
        try:
            if check.startswith("format.feature."):
                fault = self._feature(self.active[check.removeprefix("format.feature.")])
            elif space == "format":
                fault = self._base(name)
            else:
                fault = getattr(self, f"_{space}_{name}")()
        except _Blocked as blocked:
            return Finding(check, Outcome.BLOCKED, blocked.why, blocked.at, blocked.by)
        if fault is None:
            return Finding(check, Outcome.PASS)
        return Finding(check, Outcome.FAIL, fault[0], fault[1])

    # format.*

    def _faults(self, check: str) -> Iterator[Fault]:
        for fault in self.reading.faults:
            if fault.check == check and not any(rule in self.active for rule in fault.unless):
                yield fault

    def _base(self, check: str) -> tuple[str, str] | None:
        return next(((f.why, f.at) for f in self._faults(check)), None)

    def _feature(self, rule: AnyRule) -> tuple[str, str] | None:
        looks = list(rule.look(self.reading))
        for look in looks:
            if not look.ok:
                return look.why, look.at
        if rule.replaces is not None:
            inherited = self._base(rule.replaces)
            if inherited is not None:
                return inherited
        if not looks:
            for part in rule.stands_on:
                self._ground(part)
            raise _Blocked(self._owner_of(rule.stands_on[0]), "nothing that the rule speaks of is present")
        return None

    # Grounds

    def _owner_of(self, part: str) -> str:
        base = "answer_slot" if part == "answer" else f"{part}_container"
        return self.owner.get(base, f"format.{base}")

    def _ground(self, part: str) -> None:
        """Raise _Blocked where `answer`, `inputs` or `steps` is absent."""
        absent = self.reading.answer is None if part == "answer" else not getattr(self.reading, part)
        if absent and (part == "answer" or self.due.graph):
            raise _Blocked(self._owner_of(part), f"{part} could not be read", part)

    def _field(self, record: InputRead | StepRead, name: str) -> Any:
        value = getattr(record, name)
        if value is None:
            kind = "input" if isinstance(record, InputRead) else "step"
            raise _Blocked(f"structure.{kind}_fields_present", f"{name} is absent", within(record.at, f".{name}"))
        if name == "args" and None in value:
            at = within(record.at, f".args[{value.index(None)}]")
            raise _Blocked(self._owner_of("steps"), "the argument could not be read", at)
        return value

    # structure.*

    def _structure_unique_input_names(self) -> tuple[str, str] | None:
        self._ground("inputs")
        return _repeated([(r.name, r.at) for r in self.reading.inputs], "input name")

    def _structure_unique_step_ids(self) -> tuple[str, str] | None:
        self._ground("steps")
        names = {r.name for r in self.reading.inputs if r.name is not None}
        for record in self.reading.steps:
            if record.id in names:
                return f"the step id {record.id!r} is also the name of an input", record.at
        return _repeated([(r.id, r.at) for r in self.reading.steps], "step id")

    def _structure_input_fields_present(self) -> tuple[str, str] | None:
        self._ground("inputs")
        return self._first_absent(self.reading.inputs, ("name", "value"))

    def _structure_step_fields_present(self) -> tuple[str, str] | None:
        self._ground("steps")
        return self._first_absent(self.reading.steps, ("id", "op", "args", "value"))

    def _first_absent(
        self, records: Sequence[InputRead] | Sequence[StepRead], fields: tuple[str, ...]
    ) -> tuple[str, str] | None:
        for record in records:
            for name in fields:
                if getattr(record, name) is None:
                    return f"{name} is missing or cannot be read", within(record.at, f".{name}")
        return None

    # semantic.*

    def _semantic_answer(self) -> tuple[str, str] | None:
        self._ground("answer")
        assert self.gold is not None
        assert self.reading.answer is not None
        if answers_agree(self.gold, self.reading.answer):
            return None
        return f"the answer is {self.reading.answer!s:.60}; gold is {self.gold.answer!s:.60}", "answer"

    def _semantic_input_values(self) -> tuple[str, str] | None:
        self._ground("inputs")
        assert self.gold is not None
        offered = [r.value for r in self.reading.inputs if r.value is not None]
        missing = matches_all([i.value for i in self.gold.inputs], offered)
        return None if missing is None else (f"no input of its own has the value {missing}", "inputs")

    def _semantic_step_consistent(self) -> tuple[str, str] | None:
        self._ground("steps")
        self._ground("answer")
        steps = [self._whole_step(record) for record in self.reading.steps]
        copies: dict[str, list[InputRead | StepRead]] = {}
        for given in self.reading.inputs:
            if given.name is not None:
                copies.setdefault(given.name, []).append(given)
        fault: tuple[str, str] | None = None
        for record, step in zip(self.reading.steps, steps, strict=True):
            # Every reference is followed even after a fault: an absent value blocks, whatever else is wrong.
            args = [self._resolve(arg, copies, within(record.at, f".args[{j}]")) for j, arg in enumerate(step.args)]
            fault = fault or _step_fault(step, args, record.at)
            if record.id is not None:
                copies.setdefault(record.id, []).append(record)
        if fault is not None:
            return fault
        last = steps[-1].value
        if not isinstance(self.reading.answer, str) and numbers_agree(last, self.reading.answer):  # type: ignore[arg-type]
            return None
        return f"the last step gives {last}, the answer is {self.reading.answer}", self.reading.steps[-1].at

    def _whole_step(self, record: StepRead) -> Step:
        op, args, value = (self._field(record, name) for name in ("op", "args", "value"))
        return Step(record.id or "", op, args, value)

    def _resolve(self, arg: Any, copies: dict[str, list[InputRead | StepRead]], at: str) -> Fraction | tuple[str, str]:
        if not isinstance(arg, Ref):
            return Fraction(arg)
        found = copies.get(arg.name)
        if not found:
            if not any(s.id == arg.name for s in self.reading.steps):
                self._ground("inputs")
                for given in self.reading.inputs:
                    self._field(given, "name")
                for step in self.reading.steps:
                    self._field(step, "id")
            return f"the reference {arg.name!r:.60} is no input and no earlier step", at
        values = {self._field(record, "value") for record in found}
        if len(values) > 1:
            return f"the name {arg.name!r:.60} stands for {len(values)} different values", at
        return Fraction(values.pop())

    # preserve.*

    def _preserve_answer(self) -> tuple[str, str] | None:
        self._ground("answer")
        assert self.gold is not None
        seen, gold = self.reading.answer, self.gold.answer
        if isinstance(gold, str) and isinstance(seen, str):
            same = normalize_text(gold) == normalize_text(seen)
        else:
            same = type(gold) is type(seen) and gold == seen
        return None if same else (f"the answer is {seen!s:.60}; the source has {gold!s:.60}", "answer")

    def _preserve_inputs(self) -> tuple[str, str] | None:
        self._ground("inputs")
        assert self.gold is not None
        seen = [(self._field(r, "name"), self._field(r, "value")) for r in self.reading.inputs]
        return _first_difference(seen, [(i.name, i.value) for i in self.gold.inputs], "inputs")

    def _preserve_steps(self) -> tuple[str, str] | None:
        self._ground("steps")
        assert self.gold is not None
        fields = ("id", "op", "args", "value")
        seen = [tuple(self._field(r, name) for name in fields) for r in self.reading.steps]
        return _first_difference(seen, [(s.id, s.op, s.args, s.value) for s in self.gold.steps], "steps")

    # binding.*

    def _binding_grounded(self) -> tuple[str, str] | None:
        self._ground("steps")
        inputs = {r.name for r in self.reading.inputs}
        reached: dict[str | None, bool] = {}
        grounded = False
        for record in self.reading.steps:
            names = [arg.name for arg in record.args or () if isinstance(arg, Ref)]
            grounded = any(name in inputs or reached.get(name, False) for name in names)
            reached[record.id] = reached.get(record.id, False) or grounded
        at = self.reading.steps[-1].at
        return None if grounded else ("the last step reaches no input through references", at)


def _repeated(names: list[tuple[str | None, str]], what: str) -> tuple[str, str] | None:
    seen: set[str] = set()
    for name, at in names:
        if name is not None and name in seen:
            return f"the {what} {name!r:.60} stands twice", at
        if name is not None:
            seen.add(name)
    return None


def _step_fault(step: Step, args: list[Fraction | tuple[str, str]], at: str) -> tuple[str, str] | None:
    for arg in args:
        if isinstance(arg, tuple):
            return arg
    try:
        computed = execute(step.op, [arg for arg in args if isinstance(arg, Fraction)])
    except StepFailed as failed:
        return failed.why, at
    if numbers_agree(computed, step.value):
        return None
    shown = str(computed) if computed.denominator == 1 else _decimal(computed)
    return f"{step.op} gives {shown:.60}; the step states {step.value}", within(at, ".value")


def _decimal(value: Fraction) -> str:
    try:
        return f"{float(value):.12g}"
    except OverflowError:
        return str(value)


def _first_difference(seen: list[Any], gold: list[Any], part: str) -> tuple[str, str] | None:
    for i, (s, g) in enumerate(zip(seen, gold, strict=False)):
        if s != g:
            return f"{_show(s)} stands where the source has {_show(g)}", f"{part}[{i}]"
    if len(seen) != len(gold):
        return f"{len(seen)} records; the source has {len(gold)}", part
    return None


def _show(record: tuple[Any, ...]) -> str:
    def one(value: Any) -> str:
        if isinstance(value, tuple):
            return f"[{', '.join(map(one, value))}]"
        return value.name if isinstance(value, Ref) else str(value)

    text = ", ".join(map(one, record))
    return text if len(text) <= 80 else f"{text[:77]}..."
