"""JSON: RFC 8259, strictly. `json` with hooks parses: duplicate keys, NaN and Infinity are not well formed.

How awkward values are written: numbers in plain decimal form; text with `\\"` and `\\\\` escapes, Korean as it is.
Source: contracts.md section 4 (JSON), section 3 fine points "Numbers in JSON, YAML, TOML".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NoReturn

from serial7 import keyed
from serial7.check import Due, Look, Reading, Statement
from serial7.errors import NotWellFormed
from serial7.format import MAX_DEPTH, Format, Span, line_of
from serial7.ir import WHITE_SPACE, CanonicalIR
from serial7.keyed import Node, Odd, Pairs, Shape

ROOT_ORDER = ("inputs", "steps", "answer")

_STRUCTURAL = re.compile(r'["{}]')
_STRING_END = re.compile(r'(?:[^"\\]|\\.)*"', re.DOTALL)


def _find(text: str) -> list[Span]:
    spans = []
    position = text.find("{")
    while position != -1:
        end = _match(text, position)
        start = position
        while start > 0 and text[start - 1] in WHITE_SPACE:
            start -= 1
        if end is None:
            spans.append(Span(start, len(text), closed=False))
            break
        while end < len(text) and text[end] in WHITE_SPACE:
            end += 1
        spans.append(Span(start, end))
        position = text.find("{", end)
    return spans


def _match(text: str, start: int) -> int | None:
    """The offset after the brace that closes the one at `start`, strings passed over; None if there is none."""
    depth, position = 0, start
    while (found := _STRUCTURAL.search(text, position)) is not None:
        position = found.end()
        if found[0] == '"':
            string = _STRING_END.match(text, position)
            if string is None:
                return None
            position = string.end()
        elif found[0] == "{":
            depth += 1
        else:
            depth -= 1
            if depth == 0:
                return position
    return None


def _bound(text: str) -> None:
    offset = keyed.brackets_too_deep(text, MAX_DEPTH)
    if offset is not None:
        raise NotWellFormed(f"nested deeper than {MAX_DEPTH} levels", line_of(text, offset))


def _pairs(pairs: list[tuple[str, Node]]) -> Pairs:
    if len({key for key, _ in pairs}) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise NotWellFormed(f"the key {key!r} stands twice in one object", f"key {key!r}")
            seen.add(key)
    return Pairs(pairs)


def _constant(name: str) -> NoReturn:
    raise NotWellFormed(f"{name} is not a JSON number", name)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_float=Decimal, parse_int=Decimal, parse_constant=_constant, strict=True
)


def _read(text: str, due: Due) -> Reading[Shape]:
    try:
        root = _DECODER.decode(text.strip(WHITE_SPACE))
    except json.JSONDecodeError as error:
        lead = len(text) - len(text.lstrip(WHITE_SPACE))
        why = (error.msg[:1].lower() + error.msg[1:]).removesuffix(" at")
        raise NotWellFormed(why, line_of(text, error.pos + lead)) from error
    return keyed.read_tree(_plain(root), due)


def _plain(node: object) -> Node:
    """Replace what JSON has beside numbers and text. Half of a surrogate pair stays: the slot it stands in fails."""
    match node:
        case Pairs():
            return Pairs((key, _plain(value)) for key, value in node)
        case list():
            return [_plain(value) for value in node]
        case str() | Decimal():
            return node
        case bool():
            return Odd("a boolean", str(node).lower())
        case None:
            return Odd("null", "null")
    raise AssertionError(node)


def _render(ir: CanonicalIR, rules: frozenset[str], style: str) -> str:
    tree = keyed.build_tree(ir, rules, ROOT_ORDER)
    tree = keyed.reorder(tree, reverse=style == "reversed" and "key_order" not in rules)
    indent = {"pretty": 2, "tabs": 1, "reversed": 4}.get(style, 0)
    text = _write(tree, indent, 0, ascii_only=style in ("compact", "tabs"), tight=style == "compact")
    return re.sub(r"\n( +)", lambda m: "\n" + "\t" * len(m[1]), text) + "\n" if style == "tabs" else text


def _write(node: Node, indent: int, level: int, *, ascii_only: bool, tight: bool) -> str:
    if isinstance(node, Decimal):
        return format(node, "f")
    if isinstance(node, str):
        return json.dumps(node, ensure_ascii=ascii_only)
    if isinstance(node, Odd):
        raise TypeError(node)
    colon = ":" if tight else ": "
    mapping = isinstance(node, Pairs)
    parts = [
        json.dumps(item[0], ensure_ascii=ascii_only)
        + colon
        + _write(item[1], indent, level + 1, ascii_only=ascii_only, tight=tight)
        if isinstance(item, tuple) and not isinstance(item, Odd)
        else _write(item, indent, level + 1, ascii_only=ascii_only, tight=tight)
        for item in node
    ]
    opening, closing = "{}" if mapping else "[]"
    if not indent:
        return opening + ("," if tight else ", ").join(parts) + closing
    pad = "\n" + " " * (indent * (level + 1))
    return opening + pad + ("," + pad).join(parts) + "\n" + " " * (indent * level) + closing


def _locate(text: str, at: str) -> tuple[int, int] | None:
    """The place of the last key of a path (`steps[1].value`): record by record, key by key."""
    position = 0
    for name, index in re.findall(r"([A-Za-z_]\w*)|\[(\d+)\]", at):
        if name:
            found = re.compile(rf'"{re.escape(name)}"\s*:').search(text, position)
            if found is None:
                return None
            position = found.start()
        else:
            for _ in range(int(index) + 1):
                position = text.find("{", position + 1)
                if position == -1:
                    return None
    line = text.count("\n", 0, position) + 1
    return line, position - text.rfind("\n", 0, position)


JSON: Format[Shape] = Format(
    name="json",
    title="JSON",
    contract={
        "clean_boundary": (
            Statement(
                "Output the JSON document alone: no text before or after it, and no code fence around it.",
                "JSON 문서만 출력하세요. 앞뒤에 다른 글을 쓰거나 코드 펜스로 감싸지 마세요.",
            ),
        ),
        "well_formed": (
            Statement(
                "The document is valid JSON (RFC 8259): no comments, no trailing commas, no duplicate keys, no NaN "
                "or Infinity, at most 64 KiB, at most 64 levels of nesting and at most 400 digits in a number.",
                "문서는 올바른 JSON(RFC 8259)이어야 합니다. 주석, 끝에 붙는 쉼표, 중복된 키, NaN과 Infinity는 쓸 수 없고, "
                "크기는 64 KiB, 중첩은 64단계, 수 하나의 자릿수는 400자리를 넘을 수 없습니다.",
            ),
        ),
        "root_container": (
            Statement(
                'The root is an object with exactly the keys "answer", "inputs" and "steps".',
                '루트는 "answer", "inputs", "steps" 키만 갖는 객체입니다.',
                when="graph",
            ),
            Statement(
                'The root is an object whose only key is "answer".',
                '루트는 "answer" 키 하나만 갖는 객체입니다.',
                when="answer_only",
            ),
        ),
        "answer_slot": (
            Statement(
                '"answer" holds the final answer itself.',
                '"answer"에는 최종 답을 그대로 넣습니다.',
                base=True,
            ),
            Statement(
                "The answer is a JSON number, without quotes, thousands separators or units.",
                "답은 따옴표, 천 단위 구분 기호, 단위가 없는 JSON 수로 씁니다.",
                when="number",
                unless=("numeric_as_string",),
            ),
            Statement(
                "The answer is a JSON string, not empty and without control characters.",
                "답은 비어 있지 않고 제어 문자가 없는 JSON 문자열로 씁니다.",
                when="text",
            ),
        ),
        "inputs_container": (
            Statement(
                '"inputs" is an array of objects with exactly the keys "name" and "value".',
                '"inputs"는 "name"과 "value" 키만 갖는 객체의 배열입니다.',
                base=True,
            ),
            Statement(
                "The value of an input is a JSON number.",
                "입력의 값은 JSON 수로 씁니다.",
                unless=("numeric_as_string",),
            ),
        ),
        "steps_container": (
            Statement(
                '"steps" is an array of objects with exactly the keys "id", "op", "args" and "value".',
                '"steps"는 "id", "op", "args", "value" 키만 갖는 객체의 배열입니다.',
                base=True,
            ),
            Statement(
                '"args" is an array.',
                '"args"는 배열입니다.',
            ),
            Statement(
                'In "args", a reference is a string and a literal is a number.',
                '"args"에서 참조는 문자열로, 상수는 수로 씁니다.',
                unless=("args_as_objects", "numeric_as_string"),
            ),
            Statement(
                "The value of a step is a JSON number.",
                "단계의 값은 JSON 수로 씁니다.",
                unless=("numeric_as_string",),
            ),
        ),
    },
    mark=re.compile(r"\{"),
    find=_find,
    bound=_bound,
    read=_read,
    render=_render,
    styles=("plain", "pretty", "compact", "tabs", "reversed"),
    locate=_locate,
)


@JSON.rule(
    en='"inputs" is an object from each input\'s name to its value, in order, instead of an array.',
    ko='"inputs"는 배열 대신, 각 입력의 이름을 키로, 값을 값으로 갖는 객체로 순서대로 씁니다.',
    replaces="inputs_container",
    stands_on=("inputs",),
    near_miss=('{"caribbean_price": 503}', '[{"name": "caribbean_price", "value": 503}]'),
)
def inputs_as_map(reading: Reading[Shape]) -> Iterator[Look]:
    """`inputs` is an object from name to value."""
    return keyed.container_is_map(reading.shape.inputs, "inputs")


@JSON.rule(
    en='"steps" is an object from each step\'s id to an object with exactly the keys "op", "args" and "value", in order, '
    "instead of an array.",
    ko='"steps"는 배열 대신, 각 단계의 id를 키로, "op", "args", "value" 키만 갖는 객체를 값으로 갖는 객체로 순서대로 씁니다.',
    replaces="steps_container",
    stands_on=("steps",),
    near_miss=(
        '{"R1": {"op": "multiply", "args": ["caribbean_price", 7], "value": 3521}}',
        '[{"id": "R1", "op": "multiply", "args": ["caribbean_price", 7], "value": 3521}]',
    ),
)
def steps_as_map(reading: Reading[Shape]) -> Iterator[Look]:
    """`steps` is an object from id to the rest of the record."""
    return keyed.container_is_map(reading.shape.steps, "steps")


@JSON.rule(
    en='Every argument in "args" is an object: {"ref": name} for a reference, {"value": number} for a literal.',
    ko='"args"의 모든 인자는 객체로 씁니다. 참조는 {"ref": 이름}, 상수는 {"value": 수}입니다.',
    stands_on=("steps",),
    near_miss=('{"value": 7}', "7"),
)
def args_as_objects(reading: Reading[Shape]) -> Iterator[Look]:
    """Every argument is `{"ref": name}` or `{"value": number}`."""
    return keyed.args_are_objects(reading)


@JSON.rule(
    en='"answer" is an object whose only key is "value"; the final answer stands there.',
    ko='"answer"는 "value" 키 하나만 갖는 객체이고, 최종 답은 그 값으로 씁니다.',
    replaces="answer_slot",
    answer_only=True,
    stands_on=("answer",),
    near_miss=('{"value": 3521}, "inputs"', '3521, "inputs"'),
)
def answer_object(reading: Reading[Shape]) -> Iterator[Look]:
    """`answer` is an object whose only key is `value`."""
    return keyed.answer_is_object(reading)


@JSON.rule(
    en='Every number (the answer, input values, literals in "args", step values) is a JSON string that holds its decimal '
    'form, such as "3521".',
    ko='모든 수(답, 입력의 값, "args"의 상수, 단계의 값)는 "3521"처럼 십진 표기를 담은 JSON 문자열로 씁니다.',
    answer_only=True,
    numeric=True,
    stands_on=("answer", "inputs", "steps"),
    near_miss=('"7"', "7"),
)
def numeric_as_string(reading: Reading[Shape]) -> Iterator[Look]:
    """Every number is a string."""
    return keyed.numbers_are_strings(reading)


@JSON.rule(
    en='Keys stand in this order: in the root "inputs", "steps", "answer"; in a record "name", "value" and "id", "op", '
    '"args", "value" (those that the record has).',
    ko='키는 다음 순서로 씁니다. 루트는 "inputs", "steps", "answer", 레코드는 "name", "value" 및 "id", "op", "args", "value" '
    "순서입니다(레코드에 있는 키만 해당).",
    stands_on=("answer", "inputs", "steps"),
    near_miss=('"name": "caribbean_price", "value": 503', '"value": 503, "name": "caribbean_price"'),
)
def key_order(reading: Reading[Shape]) -> Iterator[Look]:
    """Root keys in the order inputs, steps, answer; record keys in the contract's order."""
    return keyed.keys_in_order(reading, ROOT_ORDER)
