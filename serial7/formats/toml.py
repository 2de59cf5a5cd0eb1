"""TOML 1.0, strictly: `tomllib` parses and judges (tomlkit and others accept 1.1), tomlkit writes.

How awkward values are written: numbers in plain decimal form; text as basic strings with escapes, in one style as
literal strings where the text allows it. Hexadecimal, octal and binary integers lose their form in tomllib and are
marked before it reads (`_unradixed`). Source: contracts.md section 4 (TOML), section 3 fine points "TOML", "Numbers".
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal

import tomlkit

from serial7 import keyed
from serial7.check import Due, Look, Reading, Statement
from serial7.errors import NotWellFormed
from serial7.format import MAX_DEPTH, Format, Span, line_of
from serial7.ir import CanonicalIR
from serial7.keyed import Node, Odd, Pairs, Shape

ROOT_ORDER = ("answer", "steps", "inputs")

_KEY = r"""(?:answer|inputs|steps|"(?:answer|inputs|steps)"|'(?:answer|inputs|steps)')"""
_MARK = re.compile(rf"^[ \t]*(?:{_KEY}[ \t]*[=.]|\[\[?[ \t]*{_KEY}[ \t]*[\].])", re.MULTILINE)
_ANY_KEY = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_LINE_OF_DOCUMENT = re.compile(rf"[ \t]*(?:#|\[|\]|\}}|[\"'0-9+-]|{_ANY_KEY}(?:[ \t]*\.[ \t]*{_ANY_KEY})*[ \t]*=)")
_PAIR_OR_HEADER = re.compile(
    rf"[ \t]*(?:{_ANY_KEY}(?:[ \t]*\.[ \t]*{_ANY_KEY})*[ \t]*=|\[\[?[ \t]*{_ANY_KEY}(?:[ \t]*\.[ \t]*{_ANY_KEY})*[ \t]*\]\]?[ \t\r]*(?:#|$))"
)
_BLANK = re.compile(r"[ \t\r]*(?:#.*)?")
# Strings and comments first, so that nothing inside them counts as structure.
_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}]|"""|\'\'\'|["\']',
    re.DOTALL,
)
_RADIX = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*'
    r"|(?P<radix>(?<=[=\[,\s])0(?:x[0-9A-Fa-f_]+|o[0-7_]+|b[01_]+)(?=\s*(?:[\],}#]|$|\n))(?!\s*[=.]))",
    re.DOTALL,
)


def _find(text: str) -> list[Span]:
    first = _MARK.search(text)
    if first is None:
        return []
    rows = text.split("\n")
    start_row = text.count("\n", 0, first.start())
    end_row = _last_row(rows, start_row) + 1
    while start_row > 0 and (_BLANK.fullmatch(rows[start_row - 1]) or _PAIR_OR_HEADER.match(rows[start_row - 1])):
        start_row -= (
            1  # a key that the contract does not name may stand first: it belongs, and root_container speaks of it
        )
    while end_row < len(rows) and _BLANK.fullmatch(rows[end_row]):
        end_row += 1
    start = sum(len(row) + 1 for row in rows[:start_row])
    end = min(sum(len(row) + 1 for row in rows[:end_row]), len(text))
    spans = [Span(start, end)]
    second = _MARK.search(text, end)
    if second is not None and _KEY_NAME.search(second[0])[0] in _KEY_NAME.findall(text[start:end]):  # type: ignore[index]
        spans.append(Span(second.start(), len(text)))
    return spans


_KEY_NAME = re.compile(r"answer|inputs|steps")


def _last_row(rows: list[str], start: int) -> int:
    """The last row of the document: the one before a blank row that a row follows which cannot belong."""
    last, open_string = start, ""
    for i in range(start, len(rows)):
        row = rows[i]
        if open_string:
            open_string = "" if open_string in row else open_string
            last = i
            continue
        if _BLANK.fullmatch(row):
            continue
        if i > start and not rows[i - 1].strip(" \t\r") and _LINE_OF_DOCUMENT.match(row) is None:
            return last
        for quotes in ('"""', "'''"):
            if row.count(quotes) % 2:
                open_string = quotes
        last = i
    return last


def _bound(text: str) -> None:
    depth = 0
    for match in _TOKEN.finditer(text):
        if match[0] in ("[", "{"):
            depth += 1
            if depth > MAX_DEPTH:
                raise NotWellFormed(f"nested deeper than {MAX_DEPTH} levels", line_of(text, match.start()))
        elif match[0] in ("]", "}"):
            depth -= 1
    for number, row in enumerate(text.split("\n"), 1):
        if row.count(".") > MAX_DEPTH and _dots(row) >= MAX_DEPTH:
            raise NotWellFormed(f"a dotted key of more than {MAX_DEPTH} parts", f"line {number}")


_DOTTED = re.compile(rf"[ \t]*\[{{0,2}}[ \t]*({_ANY_KEY}(?:[ \t]*\.[ \t]*{_ANY_KEY})*)")


def _dots(row: str) -> int:
    match = _DOTTED.match(row)
    return 0 if match is None else len(re.findall(_ANY_KEY, match[1])) - 1


def _read(text: str, due: Due) -> Reading[Shape]:
    try:
        root = tomllib.loads(text, parse_float=Decimal)
        if _RADIX_HINT.search(text) is not None:
            root = tomllib.loads(_RADIX.sub(_unradixed, text), parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise NotWellFormed(*_reason(str(error))) from error
    except RecursionError as error:
        raise NotWellFormed(f"nested deeper than {MAX_DEPTH} levels") from error
    tree = _node(root)
    assert isinstance(tree, Pairs)
    return keyed.read_tree(tree if "answer" in root else _without_swallowed_answer(tree), due)


def _without_swallowed_answer(tree: Pairs) -> Pairs:
    """An `answer` written after a table header belongs to that table: it is missing at the root, and no field there."""

    def drop(node: Node, depth: int) -> Node:
        if isinstance(node, Pairs):
            return Pairs((k, drop(v, depth - 1)) for k, v in node if k != "answer") if depth else node
        return [drop(item, depth) for item in node] if keyed.is_list(node) else node

    return Pairs((key, drop(node, 2) if key in ("inputs", "steps") else node) for key, node in tree)


_RADIX_HINT = re.compile(r"\b0[xob]")


def _unradixed(match: re.Match[str]) -> str:
    return "nan" if match["radix"] else match[0]  # nan is no number either, and keeps its place


def _reason(message: str) -> tuple[str, str]:
    found = re.fullmatch(r"(.*) \(at (.*)\)", message, re.DOTALL)
    why, at = (found[1], found[2]) if found else (message, "")
    return why[:1].lower() + why[1:], at


def _node(value: object) -> Node:
    match value:
        case dict():
            return Pairs((str(key), _node(item)) for key, item in value.items())
        case list():
            return [_node(item) for item in value]
        case str():
            return value
        case bool():
            return Odd("a boolean", str(value).lower())
        case int():
            return Decimal(value)
        case Decimal():
            return value if value.is_finite() else Odd("not a decimal number")
        case datetime() | date() | time():
            return Odd("a date or time", str(value))
    raise AssertionError(value)


def _render(ir: CanonicalIR, rules: frozenset[str], style: str) -> str:
    tree = keyed.build_tree(ir, rules, ROOT_ORDER)
    if style == "reversed" and "key_order" not in rules:
        tree = keyed.reorder(tree, reverse=True)
        # A bare key after a table header would belong to that table.
        tree.sort(key=lambda pair: not _is_bare(pair[1]))
    literal = style == "literal"
    head: list[str] = []
    tables: list[str] = []
    for key, node in tree:
        if _is_bare(node) or style == "inline":
            head.append(f"{key} = {_value(node, literal=literal)}")
        elif isinstance(node, Pairs) and style == "dotted" and "key_order" not in rules:
            head += [f"{key}.{k} = {_value(v, literal=literal)}" for k, v in node]
        else:
            tables += _tables(key, node, literal=literal)
    text = "\n".join([*head, *tables]).strip("\n") + "\n"
    return f"# {len(tree)} keys\n{text}" if literal else text


def _is_bare(node: Node) -> bool:
    return isinstance(node, str | Decimal)


def _tables(key: str, node: Node, *, literal: bool) -> list[str]:
    if keyed.is_list(node):
        tables = [(f"[[{key}]]", record) for record in node]
    elif isinstance(node, Pairs) and all(isinstance(value, Pairs) for _, value in node):
        tables = [(f"[{key}.{name}]", record) for name, record in node]
    else:
        tables = [(f"[{key}]", node)]
    lines: list[str] = []
    for header, record in tables:
        assert isinstance(record, Pairs)
        lines += ["", header, *(f"{k} = {_value(v, literal=literal)}" for k, v in record)]
    return lines


def _value(node: Node, *, literal: bool) -> str:
    if isinstance(node, Decimal):
        return format(node, "f")
    if isinstance(node, str):
        plain = literal and not re.search(r"['\x00-\x1f\x7f]", node)
        return str(tomlkit.string(node, literal=plain).as_string())
    if isinstance(node, Pairs):
        return "{" + ", ".join(f"{key} = {_value(value, literal=literal)}" for key, value in node) + "}"
    assert keyed.is_list(node)
    return "[" + ", ".join(_value(item, literal=literal) for item in node) + "]"


def _locate(text: str, at: str) -> tuple[int, int] | None:
    """The row of a path: the header of its record, then the key in it; best effort."""
    match = re.match(r"(\w+)(?:\[(\d+)\]|\.(\w+))?(?:\.(\w+))?", at)
    if match is None:
        return None
    part, index, name, key = match.groups()
    rows = text.split("\n")
    heads = [i for i, row in enumerate(rows) if re.match(rf"\s*\[\[?\s*['\"]?{part}\b", row)]
    if name is not None:
        heads = [i for i in heads if name in rows[i]] or heads
    row = heads[int(index or 0)] if heads and int(index or 0) < len(heads) else None
    pattern = rf"\s*['\"]?{key or name or part}['\"]?\s*="
    for i in range(row or 0, len(rows)):
        if re.match(pattern, rows[i]):
            return i + 1, 1
        if row is not None and i > row and rows[i].lstrip().startswith("["):
            break
    return None if row is None else (row + 1, 1)


TOML: Format[Shape] = Format(
    name="toml",
    title="TOML",
    contract={
        "clean_boundary": (
            Statement(
                "Output the TOML document alone: no text before or after it, and no code fence around it.",
                "TOML 문서만 출력하세요. 앞뒤에 다른 글을 쓰거나 코드 펜스로 감싸지 마세요.",
            ),
        ),
        "well_formed": (
            Statement(
                "The document is valid TOML 1.0: no duplicate keys or tables, no newline or trailing comma in an inline table, "
                "only the escapes of TOML 1.0; at most 64 KiB, at most 64 levels of nesting and at most 400 digits in a number.",
                "문서는 올바른 TOML 1.0이어야 합니다. 중복된 키나 테이블이 없어야 하고, 인라인 테이블 안에 줄바꿈이나 끝에 붙는 쉼표를 "
                "쓸 수 없으며, 이스케이프는 TOML 1.0에 있는 것만 씁니다. 크기는 64 KiB, 중첩은 64단계, 수 하나의 자릿수는 400자리를 "
                "넘을 수 없습니다.",
            ),
        ),
        "root_container": (
            Statement(
                "The root has exactly the keys answer, inputs and steps.",
                "루트에는 answer, inputs, steps 키만 있습니다.",
                when="graph",
            ),
            Statement("The root has the key answer alone.", "루트에는 answer 키 하나만 있습니다.", when="answer_only"),
        ),
        "answer_slot": (
            Statement(
                "The root key answer holds the final answer itself.",
                "루트의 answer에는 최종 답을 그대로 넣습니다.",
                base=True,
            ),
            Statement(
                "The answer is a TOML decimal integer or float, without quotes, thousands commas or units.",
                "답은 따옴표, 천 단위 쉼표, 단위가 없는 TOML 십진 정수나 실수로 씁니다.",
                when="number",
                unless=("numeric_as_string",),
            ),
            Statement(
                "The answer is a TOML string, not empty and without control characters.",
                "답은 비어 있지 않고 제어 문자가 없는 TOML 문자열로 씁니다.",
                when="text",
            ),
            Statement(
                "It belongs to the root and to no table of inputs or steps.",
                "답은 루트에 속하며, 입력이나 단계의 테이블 안에 들어가면 안 됩니다.",
                when="graph",
            ),
        ),
        "inputs_container": (
            Statement(
                "inputs is an array of tables with exactly the keys name and value ([[inputs]] or inline).",
                "inputs는 name과 value 키만 갖는 테이블의 배열입니다([[inputs]] 또는 인라인).",
                base=True,
            ),
            Statement(
                "The value of an input is a TOML decimal integer or float.",
                "입력의 값은 TOML 십진 정수나 실수로 씁니다.",
                unless=("numeric_as_string",),
            ),
        ),
        "steps_container": (
            Statement(
                "steps is an array of tables with exactly the keys id, op, args and value ([[steps]] or inline).",
                "steps는 id, op, args, value 키만 갖는 테이블의 배열입니다([[steps]] 또는 인라인).",
                base=True,
            ),
            Statement("args is an array.", "args는 배열입니다."),
            Statement(
                "In args, a reference is a string and a literal is a number.",
                "args에서 참조는 문자열로, 상수는 수로 씁니다.",
                unless=("args_as_objects", "numeric_as_string"),
            ),
            Statement(
                "The value of a step is a TOML decimal integer or float.",
                "단계의 값은 TOML 십진 정수나 실수로 씁니다.",
                unless=("numeric_as_string",),
            ),
        ),
    },
    mark=_MARK,
    find=_find,
    bound=_bound,
    read=_read,
    render=_render,
    styles=("tables", "inline", "dotted", "literal", "reversed"),
    locate=_locate,
)


@TOML.rule(
    en="inputs is a table from each input's name to its value, in order, instead of an array of tables.",
    ko="inputs는 테이블의 배열 대신, 각 입력의 이름을 키로, 값을 값으로 갖는 테이블로 순서대로 씁니다.",
    replaces="inputs_container",
    stands_on=("inputs",),
    near_miss=("[inputs]\ncaribbean_price = 503", '[[inputs]]\nname = "caribbean_price"\nvalue = 503'),
)
def inputs_as_map(reading: Reading[Shape]) -> Iterator[Look]:
    """`inputs` is a table from name to value."""
    return keyed.container_is_map(reading.shape.inputs, "inputs")


@TOML.rule(
    en="steps is a table of tables keyed by each step's id, in order; each of them has exactly the keys op, args and value.",
    ko="steps는 각 단계의 id를 키로 하는 테이블의 테이블로 순서대로 씁니다. 각 테이블에는 op, args, value 키만 있습니다.",
    replaces="steps_container",
    stands_on=("steps",),
    near_miss=("[steps.R1]", '[[steps]]\nid = "R1"'),
)
def steps_as_map(reading: Reading[Shape]) -> Iterator[Look]:
    """`steps` is a table of tables, keyed by id."""
    return keyed.container_is_map(reading.shape.steps, "steps")


@TOML.rule(
    en="Every argument in args is an inline table: {ref = name} for a reference, {value = number} for a literal.",
    ko="args의 모든 인자는 인라인 테이블로 씁니다. 참조는 {ref = 이름}, 상수는 {value = 수}입니다.",
    stands_on=("steps",),
    near_miss=("{value = 7}", "7"),
)
def args_as_objects(reading: Reading[Shape]) -> Iterator[Look]:
    """Every argument is an inline table `{ref = "..."}` or `{value = 7}`."""
    return keyed.args_are_objects(reading)


@TOML.rule(
    en="answer is a table whose only key is value; the final answer stands there.",
    ko="answer는 value 키 하나만 갖는 테이블이고, 최종 답은 그 값으로 씁니다.",
    replaces="answer_slot",
    answer_only=True,
    stands_on=("answer",),
    near_miss=("[answer]\nvalue = 3521", "answer = 3521"),
)
def answer_object(reading: Reading[Shape]) -> Iterator[Look]:
    """`answer` is a table whose only key is `value`."""
    return keyed.answer_is_object(reading)


@TOML.rule(
    en="Every number (the answer, input values, literals in args, step values) is a TOML string that holds its decimal form, "
    'such as "3521".',
    ko='모든 수(답, 입력의 값, args의 상수, 단계의 값)는 "3521"처럼 십진 표기를 담은 TOML 문자열로 씁니다.',
    answer_only=True,
    numeric=True,
    stands_on=("answer", "inputs", "steps"),
    near_miss=('"7"', "7"),
)
def numeric_as_string(reading: Reading[Shape]) -> Iterator[Look]:
    """Every number is a string."""
    return keyed.numbers_are_strings(reading)


@TOML.rule(
    en="Keys stand in this order: in the root answer, steps, inputs; in a record name, value and id, op, args, value (those "
    "that the record has).",
    ko="키는 다음 순서로 씁니다. 루트는 answer, steps, inputs, 레코드는 name, value 및 id, op, args, value 순서입니다(레코드에 있는 "
    "키만 해당).",
    stands_on=("answer", "inputs", "steps"),
    near_miss=('name = "caribbean_price"\nvalue = 503', 'value = 503\nname = "caribbean_price"'),
)
def key_order(reading: Reading[Shape]) -> Iterator[Look]:
    """Root keys in the order answer, steps, inputs; record keys in the contract's order."""
    return keyed.keys_in_order(reading, ROOT_ORDER)
