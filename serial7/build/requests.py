"""What a language model is asked for, and the strict reading of its answers.

Two requests: the computation graph of a problem, and a problem told in the other language. Numbers of a graph's steps
are not asked for: they are computed here. Nothing is repaired in silence; what is not as asked comes back as a reason,
which the next round of the repair loop quotes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from serial7.build.graphs import Graph
from serial7.build.records import SourceRecord
from serial7.errors import Serial7Error, StepFailed
from serial7.ir import has_control, is_name, parse_number
from serial7.operations import OPERATIONS, execute
from serial7.validation import Problem

Complete = Callable[[list[dict[str, str]]], str]
"""Messages -> the model's text (empty where it gave none). May raise to stop the build; nothing is lost then."""

LANGUAGE_NAMES = {"ko": "Korean", "en": "English"}
MAX_ANSWER = 64 * 1024
MAX_STEPS = 20

GRAPH_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["inputs", "steps"],
    "properties": {
        "inputs": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["name", "value"],
                "properties": {"name": {"type": "string"}, "value": {"type": "string"}},
            },
        },
        "steps": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["id", "op", "args"],
                "properties": {
                    "id": {"type": "string"},
                    "op": {"enum": list(OPERATIONS)},
                    "args": {"type": "array", "items": {"type": "string"}},
                },
            },
        },
    },
}
TEXT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["question", "materials"],
    "properties": {"question": {"type": "string"}, "materials": {"type": "string"}},
}


class NotAsAsked(Serial7Error):
    """The model's answer is not as the schema asks; one line for people and for the next round."""


def graph_request(record: SourceRecord, materials: Mapping[str, str], answer: str) -> list[dict[str, str]]:
    """The messages that ask for the computation graph of a record whose official answer is the number `answer`."""
    operations = ", ".join(f"{o.name} ({o.arity})" for o in OPERATIONS.values())
    language = "en" if "en" in record.question else "ko"
    solution = record.computation or record.extra.get("solution", "")
    system = (
        "You turn a solved problem into a computation graph. Answer with one JSON object and nothing else, by this "
        f"schema:\n{json.dumps(GRAPH_SCHEMA)}\n"
        "inputs: the quantities that the solution takes from the text, in the text's order. A value is written as a "
        "plain decimal number (1240, 0.5; no separators, units or percent signs) and must stand in the text; 15 % is "
        "the value 15. A name says what it counts: letters, digits and underscores, a letter first.\n"
        "steps: the computation in order. op is one of these operations, with their numbers of arguments: "
        f"{operations}. An argument is the name of an input, the id of an earlier step, or a number as text for a "
        "constant that the text implies (100 for percent, 2 for half, 60 for minutes). Sines are of radians; round "
        "takes a value and a number of digits.\n"
        "Every input and every step must be needed for the last step, and the last step must give the official "
        "answer exactly. The answer itself is no input. If the problem is no computation over its numbers, answer "
        'with {"inputs": [], "steps": []}.'
    )
    text = record.question[language]
    parts = [f"Question:\n{text}", f"Materials:\n{materials[language]}" if materials.get(language) else ""]
    parts += [f"Solution:\n{solution}" if solution else "", f"Official answer: {answer}"]
    return [{"role": "system", "content": system}, {"role": "user", "content": "\n\n".join(filter(None, parts))}]


def text_request(source: Mapping[str, str], language: str, target: str) -> list[dict[str, str]]:
    """The messages that ask for a question and its materials in `target`. `source`: `question`, `materials`."""
    manner = {
        "ko": (
            "Write Korean as a native writer of problems would: ~습니까?/~구하세요. endings throughout, right particles "
            "after numerals, counters (개, 명, 권, 마리), Korean units. Keep people's names, romanized into 한글."
        ),
        "en": "Write plain, natural English as a native writer of problems would.",
    }[target]
    system = (
        f"You tell a problem again in {LANGUAGE_NAMES[target]}. Answer with one JSON object and nothing else, by this "
        f"schema:\n{json.dumps(TEXT_SCHEMA)}\n{manner} Keep every number as a numeral with the same value and the same "
        "unit; add none, drop none, convert none. Keep the layout of tables: one line a row, cells apart by ' | '. Keep "
        "formulas, codes and the options of a choice whose text is the answer. Neither solve the problem nor hint at "
        "its answer. materials is empty where it is empty."
    )
    user = f"Question ({LANGUAGE_NAMES[language]}):\n{source['question']}\n\nMaterials:\n{source['materials']}"
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def again(messages: list[dict[str, str]], said: str, reasons: Sequence[str]) -> list[dict[str, str]]:
    """The next round: what the model said, and what is wrong with it."""
    listed = "\n".join(f"- {r}" for r in reasons[:12])
    content = (
        f"This does not hold yet:\n{listed}\nAnswer again with the whole JSON object, corrected, and nothing else."
    )
    return [*messages, {"role": "assistant", "content": said[:8000]}, {"role": "user", "content": content}]


def reasons_of(problems: Sequence[Problem]) -> list[str]:
    return [f"{p.field}: {p.why}" for p in problems]


def read_graph(text: str) -> Graph:
    """The graph of a model's answer, its steps computed.

    Raises:
        NotAsAsked: it is not one JSON object of the schema, has no step, or a step cannot be executed.
    """
    data = _object(text, ("inputs", "steps"))
    inputs: list[tuple[str, Fraction]] = []
    values: dict[str, Fraction] = {}
    for i, item in enumerate(_list(data["inputs"], "inputs")):
        place = f"inputs[{i}]"
        name, value = _fields(item, ("name", "value"), place)
        number = parse_number(value) if isinstance(value, str) else None
        if number is None:
            raise NotAsAsked(f"{place}.value is {value!r:.40}; a plain decimal number as text is due")
        _new_name(name, values, f"{place}.name")
        values[name] = Fraction(number)
        inputs.append((name, values[name]))
    steps: list[tuple[str, str, list[str], Fraction]] = []
    for i, item in enumerate(_list(data["steps"], "steps")):
        place = f"steps[{i}]"
        id_, op, args = _fields(item, ("id", "op", "args"), place)
        _new_name(id_, values, f"{place}.id")
        if not isinstance(op, str) or not isinstance(args, list) or not all(isinstance(a, str) for a in args):
            raise NotAsAsked(f"{place}: op is a text and args a list of texts")
        try:
            result = execute(op, [_argument(a, values, place) for a in args])
        except StepFailed as error:
            raise NotAsAsked(f"{place} ({id_}): {error}") from error
        values[id_] = result
        steps.append((id_, op, list(args), result))
    if not inputs or not steps:
        raise NotAsAsked("no graph: at least one input and one step are due")
    if len(steps) > MAX_STEPS:
        raise NotAsAsked(f"{len(steps)} steps; at most {MAX_STEPS} are due")
    return Graph(inputs, steps)


def read_text(text: str) -> dict[str, str]:
    """`question` and `materials` of a model's answer.

    Raises:
        NotAsAsked: it is not one JSON object of the schema, or the question is empty.
    """
    data = _object(text, ("question", "materials"))
    for name, value in data.items():
        if not isinstance(value, str) or has_control(value) or len(value) > MAX_ANSWER:
            raise NotAsAsked(f"{name} is no plain text")
    if not data["question"].strip():
        raise NotAsAsked("question is empty")
    return {"question": data["question"].strip(), "materials": data["materials"].strip()}


def _object(text: str, keys: tuple[str, ...]) -> dict[str, Any]:
    if not text.strip():
        raise NotAsAsked("the answer is empty")
    if len(text) > MAX_ANSWER:
        raise NotAsAsked(f"the answer has {len(text)} characters; at most {MAX_ANSWER} are due")
    fenced = re.fullmatch(r"\s*```(?:json)?[ \t]*\n(.*)\n```\s*", text, re.DOTALL)  # dress that many models put on
    try:
        data = json.loads(fenced[1] if fenced else text, object_pairs_hook=_once)
    except NotAsAsked:
        raise
    except (ValueError, RecursionError) as error:
        raise NotAsAsked(f"the answer is not one JSON object: {str(error)[:80]}") from error
    if not isinstance(data, dict) or set(data) != set(keys):
        seen = ", ".join(map(str, list(data)[:8])) if isinstance(data, dict) else type(data).__name__
        raise NotAsAsked(f"the answer is an object with exactly the keys {', '.join(keys)}; seen: {seen:.120}")
    return data


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [k for k, _ in pairs]
    if len(set(keys)) < len(keys):
        raise NotAsAsked("a key stands twice in one object")
    return dict(pairs)


def _list(value: Any, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise NotAsAsked(f"{place} is {type(value).__name__}; a list is due")
    return value


def _fields(item: Any, keys: tuple[str, ...], place: str) -> list[Any]:
    if not isinstance(item, dict) or set(item) != set(keys):
        raise NotAsAsked(f"{place} is an object with exactly the keys {', '.join(keys)}")
    return [item[k] for k in keys]


def _new_name(name: Any, taken: Mapping[str, Fraction], place: str) -> None:
    if not isinstance(name, str) or not is_name(name):
        raise NotAsAsked(f"{place} is {name!r:.40}; letters, digits and underscores, a letter first, are due")
    if name in taken:
        raise NotAsAsked(f"{place}: {name} is there already; all names and ids are distinct")


def _argument(text: str, values: Mapping[str, Fraction], place: str) -> Fraction:
    if text in values:
        return values[text]
    number = parse_number(text)
    if number is None:
        raise NotAsAsked(f"{place}: the argument {text!r:.40} is no number, no input and no earlier step")
    return Fraction(number)
