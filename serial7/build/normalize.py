"""Rule-based normalization: a record that carries its computation becomes a graph, one whose answer stands for itself
an answer-only candidate. The rest is for a model (`requests.py`); the validator decides either way.

Source: paper figure 3 and tables 16, 19, 20.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from serial7.build.drafts import Draft, artifact_of, half_unit
from serial7.build.equations import Equation, solution_equations
from serial7.build.graphs import Graph, NotAGraph, build_graph
from serial7.build.records import SourceRecord, decimal_text, finite, read_value
from serial7.build.sightings import Sighting, near_rows, see_table, see_text
from serial7.build.sources.tabmwp import rows_of_table
from serial7.quantities import quantities
from serial7.validation import Problem

CHOICES = {"en": "Choices", "ko": "보기"}
UNIT = {"en": "Unit of the answer", "ko": "답의 단위"}

_NUMBER_AND_UNIT = re.compile(
    r"([-−+]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,2})?)\s?((?:[A-Za-zµμΩ°%][A-Za-z0-9µμΩ°%/^· -]{0,24})?)\.?"
)
_NEEDS_OPTIONS = re.compile(
    r"\b(?:following|which of|which one|these|statements?|options?|choices?|choose|select|closest|nearest|true|false|except)\b|_{3,}",
    re.IGNORECASE,
)
# An answer that the source's own text gives away: a line that begins with such a label.
_ANSWER_LINE = re.compile(
    r"^\s*(?:(?:final |correct )?answer|solution|정답|답안|답|해설|풀이)\s*(?:is|은|는)?\s*[:：=].{0,80}",
    re.IGNORECASE | re.MULTILINE,
)


def normalize(record: SourceRecord) -> Draft:
    """The candidate that the rules make of a record, or a draft with the reason why not."""
    draft = _by_source(record)
    return replace(draft, problems=(*leaks_in_source(record), *draft.problems))


def leaks_in_source(record: SourceRecord) -> list[Problem]:
    """Answers that the source's own question gives away, in a line of its own (`Answer: ...`, `답: ...`)."""
    return [
        Problem(
            "grounding", f"{language}.question", f"a line of the question gives an answer: {found[0].strip()!r:.60}"
        )
        for language, question in record.question.items()
        if (found := _ANSWER_LINE.search(question))
    ]


def _by_source(record: SourceRecord) -> Draft:
    if record.source == "tabmwp":
        return _tabmwp(record)
    if record.source in ("gsm8k", "kor_gsm8k"):
        return _annotated(record)
    if record.source == "scibench":
        return _scibench(record)
    if record.source == "mmlu_pro":
        return _mmlu_pro(record)
    return _open(record)


def stands_everywhere(record: SourceRecord, sighting: Sighting) -> bool:
    """Whether a number in sight stands in every language of the record, so that it can be an input."""
    return all(
        sighting.value in {Fraction(v) for v in quantities(f"{question}\n{record.materials[language]}", language)}
        for language, question in record.question.items()
    )


def _graph_draft(
    record: SourceRecord, equations: Sequence[Equation], sightings: Sequence[Sighting], method: str
) -> Draft:
    answer = read_value(record.answer)
    if answer is None:
        return Draft(record, method=method).rejected("answer", "answer", f"{record.answer!r:.60} is no number")
    if not finite(answer):
        why = f"{record.answer} has no finite decimal form"
        return Draft(record, method=method).rejected("representation", "answer", why)
    text = record.question.get("en", "")
    try:
        graph = build_graph(equations, answer, sightings, text, lambda s: stands_everywhere(record, s))
    except NotAGraph as error:
        return Draft(record, method=method).rejected(error.category, "steps", error.why)
    return Draft(record, artifact_of(record, decimal_text(answer), graph), method, notes=tuple(graph.notes))


def _annotated(record: SourceRecord) -> Draft:
    return _graph_draft(record, solution_equations(record.computation), see_text(record.question["en"]), "annotations")


def _tabmwp(record: SourceRecord) -> Draft:
    if record.choices:
        return _answer_only(record, {"text": record.answer}, _with_lines(record, CHOICES, [" | ".join(record.choices)]))
    value = read_value(record.answer)
    if value is not None and not finite(value):  # `11/56`: asked for as a fraction, and kept as one
        return _answer_only(record, {"text": record.answer.replace(" ", "")})
    rows = rows_of_table(record.extra["table"])
    table = see_table(rows)
    statistic = _statistic(record, table, value)
    if statistic is not None:
        return statistic
    near = near_rows(table, [row[0] for row in rows], record.question["en"])
    cells = [s for row in near for s in row if s is not None]
    equations = solution_equations(record.computation)
    question = [s for s in see_text(record.question["en"]) if s.name not in {c.name for c in cells}]
    if any(not e.asserts for e in equations):
        return _graph_draft(record, equations, [*cells, *question], "solution")
    return (
        _answer_only(record, decimal_text(value))
        if value is not None
        else _answer_only(record, {"text": record.answer})
    )


def _statistic(record: SourceRecord, table: list[list[Sighting | None]], value: Fraction | None) -> Draft | None:
    """`What is the mean | range of the numbers?`: one operation over a whole column."""
    asked = re.search(r"\bwhat is the (mean|range) of the numbers\b", record.question["en"], re.IGNORECASE)
    column = [row[-1] for row in table if row and row[-1] is not None]
    seen = [s for s in column if s is not None]
    if asked is None or len(seen) < 2 or value is None or not finite(value):
        return None
    names, values = [s.name for s in seen], [s.value for s in seen]
    graph = Graph([(s.name, s.value) for s in seen], [])
    if asked[1].lower() == "mean":
        graph.steps.append(("R1", "mean", names, sum(values, Fraction(0)) / len(values)))
    else:
        graph.steps += [("R1", "max", names, max(values)), ("R2", "min", names, min(values))]
        graph.steps.append(("R3", "subtract", ["R1", "R2"], max(values) - min(values)))
    draft = Draft(record, artifact_of(record, decimal_text(value), graph), "solution")
    last = graph.steps[-1][3]
    if last != value:
        why = f"the computation ends in {decimal_text(last)}, the official answer is {record.answer}"
        return draft.rejected("answer", "answer", why)
    return draft


def _scibench(record: SourceRecord) -> Draft:
    value = read_value(record.answer)
    if value is None:
        return Draft(record, method="answer_only").rejected(
            "answer", "answer", f"{record.answer!r:.60} is no one number"
        )
    unit = re.sub(r"\s+", " ", record.unit).strip()
    tolerance = half_unit(record.answer.strip().lstrip("+"))
    return _answer_only(record, decimal_text(value), _with_lines(record, UNIT, [unit] if unit else []), tolerance)


def _mmlu_pro(record: SourceRecord) -> Draft:
    found = _NUMBER_AND_UNIT.fullmatch(record.answer.strip())
    if found is None or _NEEDS_OPTIONS.search(record.question["en"]):
        return _answer_only(record, {"text": record.answer}, _with_lines(record, CHOICES, list(record.choices)))
    value = read_value(found[1])
    assert value is not None
    unit = found[2].strip()
    return _answer_only(
        record,
        decimal_text(value),
        _with_lines(record, UNIT, [unit] if unit else []),
        half_unit(found[1].lstrip("+-−")),
    )


def _open(record: SourceRecord) -> Draft:
    """A question whose solution is not given: an answer-only candidate, and a model's to make a graph of."""
    value = read_value(record.answer)
    if value is not None and finite(value):
        return _answer_only(record, decimal_text(value))
    return _answer_only(record, {"text": record.answer})


def _answer_only(
    record: SourceRecord,
    answer: str | dict[str, str],
    materials: dict[str, str] | None = None,
    tolerance: dict[str, str] | None = None,
) -> Draft:
    made = artifact_of(record, answer, materials=materials, tolerance=tolerance)
    return Draft(record, made, "answer_only")


def _with_lines(record: SourceRecord, title: dict[str, str], lines: list[str]) -> dict[str, str]:
    """The materials with a titled line (or lines) below, where there are any."""
    if not lines:
        return dict(record.materials)
    joint = "\n" if len(lines) > 1 else " "
    return {
        language: f"{text}\n{title[language]}:{joint}{chr(10).join(lines)}".strip()
        for language, text in record.materials.items()
    }
