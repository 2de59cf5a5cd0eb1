"""The mechanical validation of artifacts: of a candidate by itself, and of a set.

What is asked of a candidate is paper table 16 in the order of table 17(a): *source* (it is well formed, its names and graph
follow contracts.md section 1), *answer* (the graph executes to it), *grounding* (every input stands in the text, the answer does
not), *representation* (every format can hold it). A set must also be free of near-duplicates, and an artifact of the set carry
the same quantities in both languages (table 18).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from serial7.artifacts import FAMILIES, LANGUAGES
from serial7.errors import OperatorError, StepFailed
from serial7.formats import FORMATS
from serial7.ir import CanonicalIR, Ref, has_control, is_name, normalize_text, number_text, numbers_agree, parse_number
from serial7.operations import execute
from serial7.quantities import numerals, quantities
from serial7.redundancy import families
from serial7.verify import verify

MAX_STEPS = 20
MAX_DIGITS = 30  # of a value: more than any problem's text holds, and less than the bound of the contract
MAX_TEXT_ANSWER = 200
FAMILY_CAP = 2

_UNITS = frozenset({Fraction(0), Fraction(1)})  # `1 °C당 0.000012` is `0.000012 per °C`
_ENTITY = re.compile(r"&(?:[A-Za-z][A-Za-z0-9]{1,31}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});")
_STATED = re.compile(r"(?:\banswer|정답|답)\s*(?:is|은|는)?\s*[:：=]?\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Problem:
    """Why an artifact is refused. `category`: `source`, `answer`, `grounding`, `representation`, `redundancy`, `pairing`."""

    category: str
    field: str
    why: str


def validate_candidate(data: Mapping[str, Any]) -> list[Problem]:
    """What is wrong with one line of `artifacts.jsonl`, which may still lack one language; empty if nothing is."""
    wrong = list(_shape(data))
    if wrong:
        return wrong
    try:
        ir = CanonicalIR.from_dict(data)
    except OperatorError as error:
        return [Problem("source", "ir", str(error))]
    wrong = list(_graph(ir))
    if wrong:
        return wrong
    return [*_reached(ir), *_execution(ir), *_grounding(ir, data), *_representation(ir)]


def validate_pair(data: Mapping[str, Any]) -> list[Problem]:
    """The quantities that stand in one language's text and not in the other's (category `pairing`).

    A numeral of one language may be a word in the other; 0 and 1 may be left out (`per °C`, `1 °C당`).
    """
    texts = {language: _text(data, language) for language in LANGUAGES}
    wrong = []
    for language, other in (LANGUAGES, tuple(reversed(LANGUAGES))):
        there = set(quantities(texts[other], other))
        there |= {-v for v in there}
        for value in sorted(set(numerals(texts[language])) - there - _UNITS):
            why = f"{_shown(value)} stands in the {language} text only"
            wrong.append(Problem("pairing", f"{other}.question", why))
    return wrong


def validate_set(artifacts: Sequence[Mapping[str, Any]]) -> dict[str, list[Problem]]:
    """The problems of each artifact of a finished set, by id; artifacts without one are not listed.

    Beside the candidates' own validation: both languages are there and carry the same quantities, ids are unique, family and
    licence are stated, no question stands twice, and no template family has more than two members in either language.
    """
    wrong: dict[str, list[Problem]] = {}
    named = [(str(data.get("id") or f"line {i}"), data) for i, data in enumerate(artifacts, 1)]
    for id_, data in named:
        found = validate_candidate(data)
        if not found:
            found = list(_finished(data))
        if not found:
            found = [*validate_pair(data), *_strict_leaks(data)]
        if found:
            wrong[id_] = found
    for id_, count in Counter(id_ for id_, _ in named).items():
        if count > 1:
            wrong.setdefault(id_, []).append(Problem("source", "id", f"{count} artifacts have this id"))
    whole = [(id_, data) for id_, data in named if id_ not in wrong]
    for language in LANGUAGES:
        heads = families((id_, str(data[language]["question"])) for id_, data in whole)
        size: Counter[str] = Counter()
        for id_, _ in whole:
            head = heads[id_]
            size[head] += 1
            if size[head] > FAMILY_CAP:
                why = f"the template family of {head} has {FAMILY_CAP} members already"
                wrong.setdefault(id_, []).append(Problem("redundancy", f"{language}.question", why))
    return wrong


def _shape(data: Mapping[str, Any]) -> Iterator[Problem]:
    for name in ("id", "kind", "answer", "inputs", "steps"):
        if name not in data:
            yield Problem("source", name, f"no field {name!r}")
    if data.get("kind") not in ("graph", "answer_only"):
        yield Problem("source", "kind", f"{data.get('kind')!r}; graph or answer_only is due")
    present = [language for language in LANGUAGES if language in data]
    if not present:
        yield Problem("source", "question", "no text in any language")
    for language in present:
        held = data[language]
        for name in ("question", "materials"):
            text = held.get(name) if isinstance(held, Mapping) else None
            if not isinstance(text, str):
                yield Problem("source", f"{language}.{name}", "a text is due")
            elif has_control(text):
                yield Problem("source", f"{language}.{name}", "holds a control character")
            elif name == "question" and not text.strip():
                yield Problem("source", f"{language}.{name}", "is empty")


def _graph(ir: CanonicalIR) -> Iterator[Problem]:
    if not ir.steps and not ir.inputs:
        return
    if not ir.steps or not ir.inputs:
        yield Problem("source", "steps", "a graph has at least one input and one step, an answer-only artifact neither")
        return
    if isinstance(ir.answer, str):
        yield Problem("source", "answer", "a graph-bearing artifact has a numeric answer")
    if len(ir.steps) > MAX_STEPS:
        yield Problem("source", "steps", f"{len(ir.steps)} steps; at most {MAX_STEPS} are due")
    names = [i.name for i in ir.inputs] + [s.id for s in ir.steps]
    for name, count in Counter(names).items():
        if not is_name(name):
            yield Problem("source", name, f"{name!r} is no name: letters, digits, underscores, a letter first")
        if count > 1:
            yield Problem("source", name, f"{name} stands {count} times; all names and ids are distinct")
    known = {i.name for i in ir.inputs}
    for step in ir.steps:
        for arg in step.args:
            if isinstance(arg, Ref) and arg.name not in known:
                yield Problem("source", step.id, f"{arg.name} is no input and no earlier step")
        known.add(step.id)


def _reached(ir: CanonicalIR) -> Iterator[Problem]:
    names = [i.name for i in ir.inputs] + [s.id for s in ir.steps]
    used: set[str] = set()
    for step in reversed(ir.steps):
        if step is ir.steps[-1] or step.id in used:
            used |= {arg.name for arg in step.args if isinstance(arg, Ref)}
    for name in names[:-1]:
        if name not in used:
            yield Problem("source", name, f"{name} is not reached from the last step")


def _execution(ir: CanonicalIR) -> Iterator[Problem]:
    values = {i.name: Fraction(i.value) for i in ir.inputs}
    for step in ir.steps:
        try:
            value = execute(step.op, [values[a.name] if isinstance(a, Ref) else Fraction(a) for a in step.args])
        except StepFailed as error:
            yield Problem("answer", step.id, str(error))
            return
        if not numbers_agree(value, step.value):
            yield Problem("answer", step.id, f"{step.op} gives {_shown(value)}, {number_text(step.value)} is stated")
        values[step.id] = Fraction(step.value)
    if (
        ir.steps
        and isinstance(ir.answer, Decimal)
        and not numbers_agree(values[ir.steps[-1].id], ir.answer, ir.tolerance)
    ):
        last = number_text(ir.steps[-1].value)
        yield Problem("answer", "answer", f"the graph ends in {last}, the answer is {number_text(ir.answer)}")


def _grounding(ir: CanonicalIR, data: Mapping[str, Any]) -> Iterator[Problem]:
    for language in (language for language in LANGUAGES if language in data):
        text = _text(data, language)
        there = set(quantities(text, language))
        for given in ir.inputs:
            if Fraction(given.value) not in there:
                why = f"the input {given.name} = {number_text(given.value)} does not stand in the {language} text"
                yield Problem("grounding", f"{language}.question", why)
        if isinstance(ir.answer, str):
            yield from _text_leak(ir.answer, data[language]["question"], language)
        else:
            yield from _number_leak(ir, data, language)


def _number_leak(ir: CanonicalIR, data: Mapping[str, Any], language: str) -> Iterator[Problem]:
    """A numeral equal to the answer, where no input or literal of the graph accounts for its being there.

    Of an answer-only artifact the question alone is looked at: its answer may be a cell of its materials.
    """
    assert isinstance(ir.answer, Decimal)
    answer = Fraction(ir.answer)
    accounted = {Fraction(i.value) for i in ir.inputs}
    accounted |= {Fraction(a) for s in ir.steps for a in s.args if isinstance(a, Decimal)}
    if answer in accounted or answer in _UNITS:
        return
    seen = _text(data, language) if ir.graph_bearing else data[language]["question"]
    if answer in numerals(seen):
        yield Problem("grounding", f"{language}.question", f"the answer {number_text(ir.answer)} stands in the text")


def _text_leak(answer: str, question: str, language: str) -> Iterator[Problem]:
    due = normalize_text(answer)
    for match in _STATED.finditer(question):
        if due and normalize_text(question[match.end() : match.end() + len(answer) + 2]).startswith(due):
            yield Problem(
                "grounding", f"{language}.question", f"the question gives its answer: {match[0]}{answer}"[:120]
            )


def _representation(ir: CanonicalIR) -> Iterator[Problem]:
    numbers = [("answer", ir.answer)] if isinstance(ir.answer, Decimal) else []
    numbers += [(i.name, i.value) for i in ir.inputs] + [(s.id, s.value) for s in ir.steps]
    for name, value in numbers:
        if len(value.as_tuple().digits) > MAX_DIGITS or abs(value.adjusted()) > MAX_DIGITS:
            yield Problem("representation", name, f"{value} has too many digits; at most {MAX_DIGITS} are due")
            return
    if isinstance(ir.answer, str):
        text = ir.answer
        if not normalize_text(text) or len(text) > MAX_TEXT_ANSWER or "\n" in text or has_control(text):
            yield Problem("representation", "answer", f"one line of text of 1 to {MAX_TEXT_ANSWER} characters is due")
            return
        if _ENTITY.search(text):
            yield Problem("representation", "answer", f"{text!r} holds what HTML reads as a character reference")
        if parse_number(text) is not None:
            yield Problem("representation", "answer", f"the text {text!r} reads as a number in some formats")
    for name, format_ in FORMATS.items():
        for style in format_.styles:
            try:
                document = format_.render(ir, frozenset(), style)
            except Exception as error:
                yield Problem("representation", name, f"cannot be written: {error!r:.200}")
                break
            verdict = verify(document, format=name, condition="preserve", gold=ir)
            if not verdict.full:
                bad = ", ".join(f"{f.check} {f.outcome}: {f.why}" for f in verdict.findings if f.outcome != "pass")
                yield Problem("representation", name, f"its gold document is not accepted: {bad or verdict.error:.200}")
                break


def _finished(data: Mapping[str, Any]) -> Iterator[Problem]:
    for language in LANGUAGES:
        if language not in data:
            yield Problem("source", language, "no text in this language")
    if data.get("family") not in FAMILIES:
        yield Problem("source", "family", f"{data.get('family')!r}; one of {', '.join(FAMILIES)} is due")
    for name in ("stratum", "license", "provenance"):
        if not isinstance(data.get(name), str) or not data[name].strip():
            yield Problem("source", name, "a text is due")
    if (data["kind"] == "graph") != bool(data["steps"]):
        yield Problem("source", "kind", f"kind {data['kind']} does not fit its steps")


def _strict_leaks(data: Mapping[str, Any]) -> Iterator[Problem]:
    """In a finished set a computed answer stands nowhere in the text, not even as another quantity's value."""
    if data["kind"] != "graph":
        return
    answer = parse_number(str(data["answer"]))
    for language in LANGUAGES:
        if answer is not None and Fraction(answer) in numerals(_text(data, language)):
            yield Problem("grounding", f"{language}.question", f"the answer {data['answer']} stands in the text")


def _text(data: Mapping[str, Any], language: str) -> str:
    return f"{data[language]['question']}\n{data[language]['materials']}"


def _shown(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.15g}"


def counts(artifacts: Iterable[Mapping[str, Any]]) -> dict[str, Counter[str]]:
    """How many artifacts there are by family, stratum, kind, answer type, step count, and how often each operation stands."""
    found: dict[str, Counter[str]] = {
        name: Counter() for name in ("family", "kind", "answer", "steps", "operations", "numbers", "stratum")
    }
    for data in artifacts:
        found["family"][str(data.get("family"))] += 1
        found["kind"][str(data.get("kind"))] += 1
        found["stratum"][f"{data.get('family')}: {data.get('stratum')}"] += 1
        found["answer"]["text" if isinstance(data.get("answer"), Mapping) else "number"] += 1
        steps, inputs = data.get("steps") or [], data.get("inputs") or []
        if data.get("kind") == "graph":
            found["steps"][str(len(steps))] += 1
            found["operations"].update(step[1] for step in steps)
            values = [str(value) for _, value in inputs]
            found["numbers"]["with a decimal"] += any("." in v for v in values)
            found["numbers"]["with a negative input"] += any(v.startswith("-") for v in values)
            found["numbers"]["with a percentage"] += "%" in data["en"]["question"] + data["en"]["materials"]
    return found
