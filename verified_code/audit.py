"""The audit of a folder of samples: every surface of every sample, records, counts, tables, pass@k.

Surfaces that need a tool (acceptance, hidden tests) are handed in; without them their outcome is `not_run` with the
reason, counted as such and never as a pass. Source: surfaces.md, "Reporting"; paper tables 3, 4, 5, 7, figure 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verified_code.cascade import FAIL, PASS, Stage, cascade
from verified_code.cases import NEGATIVE, POSITIVE, Case, Target, find_target
from verified_code.component import Component, load_component
from verified_code.errors import OperatorError
from verified_code.evaluate import Evaluator
from verified_code.expressions import ExpressionParser
from verified_code.gate import GateReport, GateVerdict, judge
from verified_code.negatives import Checker, negatives
from verified_code.post2exe import Fidelity, Truth, post2exe, preconditions_agree
from verified_code.rates import mean_pass_at_k
from verified_code.samples import Sample, Task
from verified_code.tables import Table, tables
from verified_code.unknown import Unknown

ACCEPTANCE, BINDING, TESTS, POST2EXE = "A acceptance", "B binding", "C hidden tests", "C Post2Exe"
STAGES = (ACCEPTANCE, BINDING, TESTS, POST2EXE)
NOT_RUN = "not_run"


@dataclass(frozen=True, slots=True)
class Outcome:
    """`result`: pass, fail, or what happened instead; `status` in the surface's own words."""

    result: str
    status: str
    why: str = ""


Surface = Callable[[Sample], Outcome]


def unavailable(why: str) -> Surface:
    """A surface that cannot be asked here."""
    return lambda _sample: Outcome(NOT_RUN, NOT_RUN, why)


def audit_sample(sample: Sample, accept: Surface, run_tests: Surface, *, conditional: bool = False) -> dict[str, Any]:
    """The record of one sample.

    Args:
        conditional: ask a surface only of what passed the ones before it, as a large run does; else ask all of them.
    """
    component = load_component(sample.folder)
    record: dict[str, Any] = {
        "task": sample.task.name,
        "sample": sample.name,
        "task_problems": list(sample.task.problems),
    }
    accepted = accept(sample)
    gate = judge(component)
    record |= {
        ACCEPTANCE: accepted.result,
        "acceptance": accepted.status,
        "acceptance_why": accepted.why,
        BINDING: PASS
        if gate.verdict is GateVerdict.BOUND
        else FAIL
        if gate.verdict is GateVerdict.NOT_BOUND
        else str(gate.verdict),
        "gate": str(gate.verdict),
        "gate_literal": str(gate.paper_literal_verdict),
        "gate_why": _gate_why(gate),
        "level2": gate.level2,
        "flags": sorted({f.flag for f in gate.flags}),
    }
    alive = not conditional or (accepted.result == PASS and gate.verdict is GateVerdict.BOUND)
    tested = run_tests(sample) if alive else Outcome(NOT_RUN, NOT_RUN, "an earlier surface did not pass")
    record |= {TESTS: tested.result, "tests": tested.status, "tests_why": tested.why}
    alive = alive and (not conditional or tested.result == PASS)
    fidelity = _fidelity(sample, component) if alive else Outcome(NOT_RUN, NOT_RUN, "an earlier surface did not pass")
    record |= {POST2EXE: fidelity.result, "post2exe": fidelity.status, "post2exe_why": fidelity.why}
    agree, why = _precondition(sample, component)
    record |= {"precondition": agree, "precondition_why": why}
    record["end2end"] = (
        accepted.result == PASS and tested.result == PASS and fidelity.result == PASS and agree == "agrees"
    )
    return record


def _gate_why(gate: GateReport) -> str:
    if gate.unparsed:
        return str(gate.unparsed[0])
    return "; ".join(f"{m.name}: {m.reason}" for m in gate.methods if m.reason and not m.exempt)


def all_cases(task: Task, target: Target) -> list[Case]:
    """A task's cases, with negatives by mutation beside the given ones where they are safe."""
    positives = [c for c in task.cases if c.kind == POSITIVE]
    given = [c for c in task.cases if c.kind == NEGATIVE]
    made = negatives(target, positives, unique=task.unique, checker=checker_of(task), limit=6)
    known = {(str(c.input), str(c.output)) for c in given}
    return [*positives, *given, *(c for c in made.cases if (str(c.input), str(c.output)) not in known)]


def checker_of(task: Task) -> Checker | None:
    """The task's checker: a predicate of the reference's specification, over inputs and then outputs of the method."""
    if not task.checker or task.reference is None:
        return None
    target = find_target(load_component(task.reference), task.method)
    names = [p.name for p in (*target.method.parameters, *target.method.results)]
    call = f"{task.checker}({', '.join(names)})"

    def check(given: Mapping[str, Any], output: Mapping[str, Any]) -> bool | None:
        from verified_code.cases import environment
        from verified_code.tokens import tokenize

        evaluator = Evaluator(target.program)
        try:
            values = target.names(evaluator, Case(given, output))
            node = ExpressionParser(tokenize(call)).expression()
            value = evaluator.run(node, environment(values, target.module, before=False))
        except (OperatorError, Unknown):
            return None
        return value if isinstance(value, bool) else None

    return check


def _fidelity(sample: Sample, component: Component) -> Outcome:
    task = sample.task
    if not task.cases:
        return Outcome(NOT_RUN, NOT_RUN, "the task has no cases")
    try:
        cases = all_cases(task, find_target(component, task.method)) if not component.unreadable else list(task.cases)
        report = post2exe(component, cases, method=task.method)
    except OperatorError as error:
        return Outcome(str(Fidelity.INCONCLUSIVE), str(Fidelity.INCONCLUSIVE), str(error))
    if report.verdict is Fidelity.KEEP:
        return Outcome(PASS, str(report.verdict))
    result = str(report.verdict) if report.verdict is Fidelity.INCONCLUSIVE else FAIL
    unknown = sum(c.truth is Truth.UNKNOWN for c in report.cases)
    return Outcome(
        result,
        str(report.verdict),
        report.why + (f" ({unknown} of {len(report.cases)} cases unknown)" if unknown else ""),
    )


def _precondition(sample: Sample, component: Component) -> tuple[str, str]:
    task = sample.task
    if task.reference is None or not task.cases or component.unreadable:
        return NOT_RUN, "there is no reference to compare with" if task.reference is None else "nothing to compare"
    inputs = [c for c in task.cases if c.kind == POSITIVE]
    if inputs:
        inputs += [Case(i, inputs[0].output) for i in task.invalid_inputs]
    try:
        reference = find_target(load_component(task.reference), task.method)
        agree, why = preconditions_agree(find_target(component, task.method), reference, inputs)
    except OperatorError as error:
        return "unknown", str(error)
    return {True: "agrees", False: "differs", None: "unknown"}[agree], why


# -- counting ----------------------------------------------------------------------------------------------------------


def counts(records: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    """The counts of the paper's tables, in the form of `tables`."""
    accepted = [r for r in records if r[ACCEPTANCE] == PASS]
    bound = [r for r in accepted if r[BINDING] == PASS]
    ran = [r for r in bound if r[TESTS] in (PASS, FAIL)]
    passed = [r for r in ran if r[TESTS] == PASS]
    evaluated = [r for r in accepted if r[TESTS] in (PASS, FAIL)]

    def side(level2: bool) -> list[int]:
        found = [r for r in evaluated if bool(r["level2"]) is level2]
        return [sum(r[TESTS] == PASS for r in found), len(found)]

    return {
        "table3": [
            {
                "benchmark": name,
                "attempted": len(records),
                "accepted": len(accepted),
                "any_ensures": sum(bool(r["level2"]) for r in accepted),
                "bound": len(bound),
            }
        ],
        "table4": [
            {"instance": "tests", "asked": len(bound), "passed": len(passed)},
            {"instance": "post2exe", "asked": len(bound), "passed": sum(r[POST2EXE] == PASS for r in bound)},
        ],
        "table5": [
            {
                "benchmark": name,
                "attempted": len(records),
                "fully_verified": len(bound),
                "failed": sum(r[TESTS] == FAIL for r in bound),
            }
        ],
        "table7": [{"benchmark": name, "with_ensures": side(True), "without": side(False)}],
    }


def pass_at(records: Iterable[Mapping[str, Any]], ks: Sequence[int]) -> dict[str, dict[str, float | None]]:
    """pass@k, averaged over problems, of what survives each stage and of End2End. A k above the smallest number of
    samples of a problem is None: it cannot be estimated."""
    rows = list(records)
    found: dict[str, dict[str, float | None]] = {}
    for i, stage in enumerate([*STAGES, "end2end"]):
        due = STAGES[: i + 1]
        samples: Counter[str] = Counter(r["task"] for r in rows)
        right: Counter[str] = Counter(
            r["task"] for r in rows if (r["end2end"] if stage == "end2end" else all(r[s] == PASS for s in due))
        )
        problems = {task: (n, right[task]) for task, n in samples.items()}
        least = min(samples.values(), default=0)
        found[stage] = {f"pass@{k}": mean_pass_at_k(problems, k) if k <= least else None for k in ks}
    return found


@dataclass(frozen=True, slots=True)
class Summary:
    name: str
    stages: tuple[Stage, ...]
    tables: tuple[Table, ...]
    passes: Mapping[str, Mapping[str, float | None]]
    flags: Mapping[str, int]
    literal: Mapping[str, int]
    attempts: int

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "attempts": self.attempts,
            "cascade": [s.to_dict() for s in self.stages],
            "pass_at_k": {k: dict(v) for k, v in self.passes.items()},
            "bypass_flags": dict(self.flags),
            "gate_by_the_papers_letter": dict(self.literal),
        }


def summarize(records: Sequence[Mapping[str, Any]], name: str, ks: Sequence[int] = (1, 3, 5, 10)) -> Summary:
    """Everything that a report shows, from the records alone."""
    flags: Counter[str] = Counter(f for r in records for f in r["flags"])
    literal: Counter[str] = Counter(r["gate_literal"] for r in records)
    return Summary(
        name,
        tuple(cascade(records, STAGES)),
        tuple(tables(counts(records, name))),
        pass_at(records, ks),
        dict(sorted(flags.items())),
        dict(sorted(literal.items())),
        len(records),
    )
