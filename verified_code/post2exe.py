"""Surface C (ii), Post2Exe: does the postcondition accept what is right and reject what is wrong?

The conjunction of all `ensures` is evaluated on positive and negative cases. `keep` says: at least one positive and one
negative evaluated, every positive accepted, every negative rejected, nothing unknown. An unknown is never a pass.
Source: paper section 6 and table 4; surfaces.md, "Surface C"; dafny.md section 4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from verified_code.cases import NEGATIVE, POSITIVE, Case, Target, environment, find_target
from verified_code.component import Component
from verified_code.declarations import Clause
from verified_code.errors import OperatorError
from verified_code.evaluate import MAX_STEPS, Evaluator
from verified_code.resolve import SPEC_SIDE, Scope
from verified_code.unknown import Unknown, Why


class Truth(StrEnum):
    """The postcondition on one case. `invalid_case`: outside the precondition, or not of the signature's types; it
    speaks for neither side. `refuted_by_sample`: false, known from samples of an unbounded quantifier; no pass either."""

    TRUE = "true"
    FALSE = "false"
    UNKNOWN = "unknown"
    INVALID_CASE = "invalid_case"
    REFUTED_BY_SAMPLE = "refuted_by_sample"


class Fidelity(StrEnum):
    KEEP = "keep"
    REJECTED_POSITIVE = "rejected_positive"
    ACCEPTED_NEGATIVE = "accepted_negative"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class ClauseResult:
    """One `ensures` clause on one case; `bound`: it names a predicate or function of the specification."""

    place: str
    truth: Truth
    why: str
    bound: bool


@dataclass(frozen=True, slots=True)
class CaseResult:
    kind: str
    truth: Truth
    why: str
    clauses: tuple[ClauseResult, ...]
    bound_only: Truth

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "truth": str(self.truth),
            "why": self.why,
            "bound_clauses_only": str(self.bound_only),
            "clauses": [{"at": c.place, "truth": str(c.truth), "why": c.why, "bound": c.bound} for c in self.clauses],
        }


@dataclass(frozen=True, slots=True)
class Post2ExeReport:
    """`verdict` over all cases; `why` names the first case that decided it."""

    component: str
    method: str
    verdict: Fidelity
    why: str
    cases: tuple[CaseResult, ...]

    def count(self, kind: str) -> Counter[str]:
        return Counter(str(c.truth) for c in self.cases if c.kind == kind)

    @property
    def unknown_reasons(self) -> Counter[str]:
        return Counter(c.why for c in self.cases if c.truth is Truth.UNKNOWN)

    def to_dict(self) -> dict[str, Any]:
        return {
            "component": self.component,
            "method": self.method,
            "verdict": str(self.verdict),
            "why": self.why,
            "positives": dict(self.count(POSITIVE)),
            "negatives": dict(self.count(NEGATIVE)),
            "cases": [c.to_dict() for c in self.cases],
        }


def post2exe(
    component: Component, cases: Iterable[Case], *, method: str = "", max_steps: int = MAX_STEPS
) -> Post2ExeReport:
    """Evaluate the postcondition of a method on cases.

    Args:
        method: its name, qualified by module where needed; default: the only method of `Impl.dfy`.
        max_steps: evaluation steps a case; past them the case is unknown (`budget`).

    Raises:
        OperatorError: the method cannot be found. A case that does not fit its signature is an `invalid_case`.
    """
    name = component.path.as_posix()
    if component.unreadable:
        return Post2ExeReport(name, method, Fidelity.INCONCLUSIVE, f"unparsed: {component.unreadable[0]}", ())
    target = find_target(component, method)
    results = tuple(judge_case(target, case, max_steps) for case in cases)
    verdict, why = decide(results)
    return Post2ExeReport(name, target.qualified, verdict, why, results)


def judge_case(target: Target, case: Case, max_steps: int = MAX_STEPS) -> CaseResult:
    """The postcondition on one case, clause by clause."""
    if target.unsupported:
        return CaseResult(case.kind, Truth.UNKNOWN, f"{Why.NOT_EXECUTABLE}: {target.unsupported}", (), Truth.UNKNOWN)
    evaluator = Evaluator(target.program, max_steps=max_steps)
    try:
        names = target.names(evaluator, case)
        problem = _outside_types(target, evaluator, names)
    except OperatorError as error:
        return CaseResult(case.kind, Truth.INVALID_CASE, str(error), (), Truth.INVALID_CASE)
    except Unknown as error:
        return CaseResult(case.kind, Truth.UNKNOWN, f"{error.why}: {error.detail}", (), Truth.UNKNOWN)
    if problem and not problem.startswith("result"):
        return CaseResult(case.kind, Truth.INVALID_CASE, problem, (), Truth.INVALID_CASE)
    requires = target.method.requires
    truth, why, _ = _conjunction(target, requires, names, max_steps, before=True, sample=False)
    if truth is Truth.FALSE:
        return CaseResult(case.kind, Truth.INVALID_CASE, "the precondition does not hold", (), Truth.INVALID_CASE)
    if truth is not Truth.TRUE:
        return CaseResult(case.kind, Truth.UNKNOWN, f"precondition: {why}", (), Truth.UNKNOWN)
    ensures = target.method.ensures
    if not ensures:
        return CaseResult(
            case.kind, Truth.UNKNOWN, f"{Why.NOT_EXECUTABLE}: there is no postcondition", (), Truth.UNKNOWN
        )
    if problem:  # an output outside its declared type is what the signature itself rejects
        return CaseResult(case.kind, Truth.FALSE, problem, (), Truth.FALSE)
    truth, why, clauses = _conjunction(target, ensures, names, max_steps, before=False, sample=True)
    bound = [c.truth for c in clauses if c.bound]
    return CaseResult(case.kind, truth, why, clauses, _and(bound) if bound else Truth.UNKNOWN)


def _outside_types(target: Target, evaluator: Evaluator, names: dict[str, Any]) -> str:
    """Why a value violates nat, a subset type or a newtype of the signature; begins with `result` for a result."""
    for what, parameters in (("parameter", target.method.parameters), ("result", target.method.results)):
        for parameter in parameters:
            if parameter.type is not None:
                problem = evaluator.misfit(names[parameter.name], parameter.type, target.module)
                if problem:
                    return f"{what} {parameter.name}: {problem}"
    return ""


def _conjunction(
    target: Target, clauses: Sequence[Clause], names: dict[str, Any], max_steps: int, *, before: bool, sample: bool
) -> tuple[Truth, str, tuple[ClauseResult, ...]]:
    env = environment(names, target.module, before=before)
    results: list[ClauseResult] = []
    for clause in clauses:
        truth, why = _clause(Evaluator(target.program, max_steps=max_steps), clause, env)
        if sample and truth is Truth.UNKNOWN and "unbounded" in why:
            sampling = Evaluator(target.program, sample=True, max_steps=max_steps)
            sampled, _ = _clause(sampling, clause, env)
            if sampled is Truth.FALSE:
                truth, why = Truth.REFUTED_BY_SAMPLE, f"{why}; a sample refutes it"
        results.append(ClauseResult(str(clause.at), truth, why, _is_bound(target, clause)))
    truth = _and([r.truth for r in results])
    why = next((r.why for r in results if r.truth is truth and r.why), "")
    return truth, why, tuple(results)


def _clause(evaluator: Evaluator, clause: Clause, env: Any) -> tuple[Truth, str]:
    try:
        value = evaluator.run(clause.expression, env)
    except Unknown as error:
        return Truth.UNKNOWN, f"{error.why}: {error.detail}"
    if not isinstance(value, bool):
        return Truth.UNKNOWN, f"{Why.ILL_FORMED}: the clause is no boolean"
    return (Truth.TRUE, "") if value else (Truth.FALSE, "the clause is false")


def _and(truths: Sequence[Truth]) -> Truth:
    """Kleene's conjunction; a refutation by sample decides where nothing else does."""
    for decisive in (Truth.FALSE, Truth.REFUTED_BY_SAMPLE, Truth.UNKNOWN):
        if decisive in truths:
            return decisive
    return Truth.TRUE


def _is_bound(target: Target, clause: Clause) -> bool:
    names = frozenset(p.name for p in (*target.method.parameters, *target.method.results))
    scope = Scope(target.program, target.module, None, names)
    return any(
        r.symbol is not None and r.symbol.declaration.is_function and r.symbol.side == SPEC_SIDE
        for r in scope.references(clause.expression)
    )


def decide(results: Sequence[CaseResult]) -> tuple[Fidelity, str]:
    """The verdict over all cases. Definite faults come before what is unknown: they cannot be undone by more cases."""
    for number, result in enumerate(results, 1):
        if result.kind == POSITIVE and result.truth in (Truth.FALSE, Truth.REFUTED_BY_SAMPLE):
            return Fidelity.REJECTED_POSITIVE, f"case {number}: {result.why}"
    for number, result in enumerate(results, 1):
        if result.kind == NEGATIVE and result.truth is Truth.TRUE:
            return Fidelity.ACCEPTED_NEGATIVE, f"case {number}: the postcondition holds of a wrong output"
    for number, result in enumerate(results, 1):
        if result.truth in (Truth.UNKNOWN, Truth.REFUTED_BY_SAMPLE):
            return Fidelity.INCONCLUSIVE, f"case {number}: {result.why}"
    for kind, due in ((POSITIVE, Truth.TRUE), (NEGATIVE, Truth.FALSE)):
        if not any(r.kind == kind and r.truth is due for r in results):
            of_kind = [r for r in results if r.kind == kind]
            outside = sum(r.truth is Truth.INVALID_CASE for r in of_kind)
            why = f": {outside} of {len(of_kind)} lie outside the precondition or the signature" if outside else ""
            return Fidelity.INCONCLUSIVE, f"no {kind} case was evaluated{why}"
    return Fidelity.KEEP, ""


def preconditions_agree(candidate: Target, reference: Target, inputs: Iterable[Case]) -> tuple[bool | None, str]:
    """Whether two preconditions say the same of every input; None where one of them cannot be evaluated, or no input
    was given. `inputs` are cases whose outputs are not looked at."""
    compared = 0
    for number, case in enumerate(inputs, 1):
        answers: list[Truth] = []
        for target in (candidate, reference):
            blank = Case(case.input, case.output, case.kind, case.source)
            evaluator = Evaluator(target.program)
            try:
                names = target.names(evaluator, blank)
                parameters = {p.name for p in target.method.parameters}
                outside = _outside_types(target, evaluator, names)
            except (OperatorError, Unknown) as error:
                return None, f"input {number}: {error}"
            if outside and not outside.startswith("result"):
                answers.append(Truth.FALSE)
                continue
            names = {n: v for n, v in names.items() if n in parameters}
            truth, why, _ = _conjunction(target, target.method.requires, names, MAX_STEPS, before=True, sample=False)
            if truth not in (Truth.TRUE, Truth.FALSE):
                return None, f"input {number}: {why}"
            answers.append(truth)
        compared += 1
        if answers[0] is not answers[1]:
            says = {Truth.TRUE: "allows", Truth.FALSE: "excludes"}
            return False, f"input {number}: the candidate {says[answers[0]]} it, the reference {says[answers[1]]} it"
    return (True, "") if compared else (None, "no input was given")
