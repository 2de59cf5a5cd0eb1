"""Validation, repair, revalidation: rules first, then a model with the validator's reasons, a bounded number of rounds.

A repair never touches the source's question, nor the official answer. Source: paper figure 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from serial7.build.drafts import MODEL_DUE, Draft, artifact_of
from serial7.build.normalize import leaks_in_source
from serial7.build.records import decimal_text, finite, read_value
from serial7.build.requests import Complete, NotAsAsked, again, graph_request, read_graph, reasons_of
from serial7.ir import is_name
from serial7.validation import Problem, validate_candidate

Artifact = Mapping[str, Any]


def checked(draft: Draft) -> Draft:
    """The draft with the validator's problems, and those of the source's own text."""
    if draft.artifact is None:
        return draft
    found = [*leaks_in_source(draft.record), *validate_candidate(dict(draft.artifact))]
    return replace(draft, problems=tuple(dict.fromkeys(found)))


def settle(draft: Draft, complete: Complete | None = None, rounds: int = 3) -> Draft:
    """The draft validated, repaired as far as it can be, and validated again.

    Args:
        complete: asks a model for the graph of a numeric record that the rules could not make or repair, at most
            `rounds` times; where it does not succeed, the draft of the rules stands.
    """
    draft = _by_rules(checked(draft))
    record = draft.record
    answer = read_value(record.answer if draft.artifact is None else str(draft.artifact["answer"]))
    graph = draft.artifact is not None and draft.artifact["kind"] == "graph"
    if leaks_in_source(record) or (graph and not draft.problems):
        return draft
    if complete is None:
        needy = draft.artifact is None and not record.computation
        return replace(draft, problems=(Problem("source", "steps", MODEL_DUE),)) if needy else draft
    if answer is None or not finite(answer):
        return draft
    asked = _by_model(draft, decimal_text(answer), complete, rounds)
    if not asked.problems or draft.problems:  # else the answer-only draft of the rules is valid, and stands
        return asked
    return replace(draft, notes=(*draft.notes, f"no graph after {rounds} rounds with a model"))


def _by_model(draft: Draft, answer: str, complete: Complete, rounds: int) -> Draft:
    record = draft.record
    materials = draft.artifact_materials() or record.materials
    tolerance = draft.artifact["tolerance"] if draft.artifact else None
    messages = graph_request(record, materials, answer)
    if draft.problems and draft.artifact is not None and draft.artifact["kind"] == "graph":
        known = "; ".join(reasons_of(draft.problems))
        messages[-1]["content"] += f"\n\nAn automatic reading of the solution failed: {known}"
    problems: tuple[Problem, ...] = draft.problems
    for number in range(1, rounds + 1):
        said = complete(messages)
        try:
            graph = read_graph(said)
        except NotAsAsked as error:
            problems = (Problem("source", "steps", str(error)),)
        else:
            made = artifact_of(record, answer, graph, materials=materials, tolerance=tolerance, method="a model")
            done = replace(draft, repairs=(*draft.repairs, f"model, round {number}"), method="model")
            tried = _by_rules(checked(replace(done, artifact=made)))
            if not tried.problems:
                return tried
            problems = tried.problems
        messages = again(messages, said, reasons_of(problems))
    return replace(draft, problems=problems, repairs=(*draft.repairs, f"model, {rounds} rounds"))


def _by_rules(draft: Draft) -> Draft:
    """Each rule once, kept where it leaves fewer problems."""
    for name, rule in REPAIRS.items():
        if draft.artifact is None or not draft.problems or draft.artifact["kind"] != "graph":
            return draft
        mended = rule(draft)
        if mended is None:
            continue
        tried = checked(replace(draft, artifact=mended, repairs=(*draft.repairs, name)))
        if len(tried.problems) < len(draft.problems):
            draft = tried
    return draft


def _inline(draft: Draft, those: Callable[[str, str], bool]) -> Artifact | None:
    """The graph with the chosen inputs (name, value) written as literals; None if none or all are chosen."""
    assert draft.artifact is not None
    inputs = draft.artifact["inputs"]
    gone = {name: value for name, value in inputs if those(name, value)}
    if not gone or len(gone) == len(inputs):
        return None
    steps = [[i, op, [gone.get(a, a) for a in args], value] for i, op, args, value in draft.artifact["steps"]]
    return {**draft.artifact, "inputs": [x for x in inputs if x[0] not in gone], "steps": steps}


def _inline_words(draft: Draft) -> Artifact | None:
    """An input that one language only implies (`twice`, `두 배`) is a constant of the problem, not a quantity of its text."""
    small = {Fraction(n) for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12)}
    blamed = [p for p in draft.problems if p.category in ("grounding", "pairing")]
    told = " ".join(f"{p.field} {p.why}" for p in blamed)
    return _inline(draft, lambda name, value: name in told and Fraction(value) in small)


def _drop_unreached(draft: Draft) -> Artifact | None:
    assert draft.artifact is not None
    used = {a for _, _, args, _ in draft.artifact["steps"] for a in args}
    kept = [x for x in draft.artifact["inputs"] if x[0] in used]
    return {**draft.artifact, "inputs": kept} if 0 < len(kept) < len(draft.artifact["inputs"]) else None


def _rename(draft: Draft) -> Artifact | None:
    """Names outside the grammar, or taken twice, become `value_1`, `value_2`, ..."""
    assert draft.artifact is not None
    seen = {i for i, *_ in draft.artifact["steps"]}
    names: dict[str, str] = {}
    for number, (name, _) in enumerate(draft.artifact["inputs"], 1):
        names[name] = name if is_name(name) and name not in seen else f"value_{number}"
        seen.add(names[name])
    if all(k == v for k, v in names.items()):
        return None
    inputs = [[names[n], v] for n, v in draft.artifact["inputs"]]
    steps = [[i, op, [names.get(a, a) for a in args], v] for i, op, args, v in draft.artifact["steps"]]
    return {**draft.artifact, "inputs": inputs, "steps": steps}


REPAIRS: dict[str, Callable[[Draft], Artifact | None]] = {
    "names by the grammar": _rename,
    "inputs that no step needs left out": _drop_unreached,
    "implied constants are no inputs": _inline_words,
}
