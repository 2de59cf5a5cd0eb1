"""YAML 1.2, core schema, one document. libyaml's events (ruamel.yaml's C parser) are read one by one.

Working on events keeps what a loaded value hides: anchors, aliases, tags, directives, quoting, flow style, duplicate
keys, a second document; nothing is constructed and no alias is ever expanded. Scalars are resolved here from their
own text (ruamel's resolvers read `0b11`, `3_521` and dates as numbers and dates, which the core schema does not).
How awkward values are written: text that is not plainly text as a double-quoted scalar with JSON's escapes.
Source: contracts.md section 4 (YAML), section 3 fine points "YAML", "Numbers"; YAML 1.2.2 section 10.3.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from ruamel.yaml.cyaml import CParser  # type: ignore[attr-defined]  # exported, but not in its __all__
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from serial7 import keyed
from serial7.check import Due, Fault, Look, Reading, Statement
from serial7.errors import NotWellFormed
from serial7.format import MAX_DEPTH, Format, Span, line_of
from serial7.ir import CanonicalIR
from serial7.keyed import Node, Odd, Pairs, Shape

ROOT_ORDER = ("inputs", "steps", "answer")

_KEY = r"""(?:answer|inputs|steps|"(?:answer|inputs|steps)"|'(?:answer|inputs|steps)')"""
# A document begins with a root key in the first column (or indented, if it is the first line of all), or with the
# brace of a flow mapping that begins with one.
_MARK = re.compile(
    rf"(?:^|\A[ \r\n]+)(?:---[ \t]+)?(?:\?[ \t]+)?(?:{_KEY}[ \t]*:(?=[ \t\r\n]|\Z)|\{{\s*{_KEY}[ \t]*:)", re.MULTILINE
)
_BLANK = re.compile(r"[ \t\r]*(?:#.*)?")
_BEFORE = re.compile(r"[ \t\r]*(?:#.*)?|---[ \t\r]*(?:#.*)?|%(?:YAML|TAG)\b.*")
_SECOND = re.compile(r"---(?:[ \t\r]|$)")
_BELONGS = re.compile(r"""[ \t#{}\[\]"'?&!|>-]|\.\.\.[ \t\r]*$|[^\s:#]+[ \t]*:(?:[ \t\r]|$)|<<:""")
_PAIR = re.compile(r"[\w.-]+[ \t]*:[ \t]+\S")

_NULL = re.compile(r"|~|null|Null|NULL")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_DECIMAL = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_OTHER = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
# libyaml speaks 1.1, where these break lines; in 1.2 they are ordinary characters.
_OLD_BREAKS = "\x85\u2028\u2029"


class BlockText(str):
    """A block scalar: text, but not a quoted scalar."""

    __slots__ = ()


class FlowList(list["Node"]):
    """A flow sequence."""

    __slots__ = ()


def _find(text: str) -> list[Span]:
    first = _MARK.search(text)
    if first is None:
        return []
    rows = text.split("\n")
    start_row = text.count("\n", 0, first.end() - len(first[0].lstrip(" \r\n")))
    last, second = _last_row(rows, start_row)
    while start_row > 0 and (_BEFORE.fullmatch(rows[start_row - 1]) or _PAIR.match(rows[start_row - 1])):
        start_row -= 1  # a key that the contract does not name may stand first: it belongs to the document
    end_row = last + 1
    while end_row < len(rows) and _BLANK.fullmatch(rows[end_row]):
        end_row += 1
    start = sum(len(row) + 1 for row in rows[:start_row])
    end = min(sum(len(row) + 1 for row in rows[:end_row]), len(text))
    if any(_SECOND.match(row) for row in _prologue_documents(rows[start_row:])):
        second = second or end
    spans = [Span(start, end)]
    if second is None:
        again = _MARK.search(text, end)
        if again is not None and _key_of(again[0]) in map(_key_of, _MARK.findall(text[start:end])):
            second = again.start()
    if second is not None:
        spans.append(Span(min(second, len(text)), len(text)))
    return spans


def _prologue_documents(rows: list[str]) -> list[str]:
    """The `---` rows before the first content, but for the first one: each ends an empty document."""
    marks = []
    for row in rows:
        if not _BEFORE.fullmatch(row):
            break
        if _SECOND.match(row):
            marks.append(row)
    return marks[1:]


def _key_of(mark: str) -> str:
    found = re.search(r"answer|inputs|steps", mark)
    assert found is not None
    return found[0]


def _last_row(rows: list[str], start: int) -> tuple[int, int | None]:
    """The last row of the document, and the offset of a second `---` document."""
    last = start
    for i in range(start + 1, len(rows)):
        row = rows[i]
        if _SECOND.match(row):
            return last, sum(len(r) + 1 for r in rows[:i])
        if _BLANK.fullmatch(row):
            continue
        if not rows[i - 1].strip(" \t\r") and _BELONGS.match(row) is None:
            return last, None
        last = i
    return last, None


_FLOW = re.compile(
    r"""(?P<quoted>(?:(?<=[\s\[{,:-])|^)(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'))|(?P<comment>(?:(?<=\s)|^)\#[^\n]*)|[\[\]{}]""",
    re.MULTILINE | re.VERBOSE | re.DOTALL,
)
_LEAD = re.compile(r"(?:[ \t]*[-?:](?=[ \t\r]|$))*[ \t]*")


def _bound(text: str) -> None:
    depth = 0
    for match in _FLOW.finditer(text):
        if match[0] in ("[", "{"):
            depth += 1
            if depth > MAX_DEPTH:
                raise NotWellFormed(f"nested deeper than {MAX_DEPTH} levels", line_of(text, match.start()))
        elif match[0] in ("]", "}"):
            depth = max(depth - 1, 0)
    columns: list[int] = []
    for number, row in enumerate(text.split("\n"), 1):
        lead = _LEAD.match(row)
        assert lead is not None
        if lead.end() == len(row.rstrip("\r")) and not lead[0].strip():
            continue
        starts = [m.start() for m in re.finditer(r"[-?:]", lead[0])] if lead[0].strip() else []
        for column in (*starts, lead.end()):
            while columns and columns[-1] >= column:
                columns.pop()
            columns.append(column)
        if len(columns) > MAX_DEPTH:
            raise NotWellFormed(f"nested deeper than {MAX_DEPTH} levels", f"line {number}")


@dataclass(slots=True)
class _Builder:
    """Builds the tree from events; keeps what is not YAML's plain, untagged, block style."""

    parser: Any
    restore: dict[int, str]
    foreign: list[Fault] = field(default_factory=list)  # anchors, aliases, tags, directives, merge keys
    flow: set[str] = field(default_factory=set)  # paths of flow collections that hold something
    lines: dict[str, tuple[int, int]] = field(default_factory=dict)
    anchors: set[str] = field(default_factory=set)

    def document(self) -> Node:
        self.parser.get_event()  # the start of the stream
        start = self.parser.get_event()
        if isinstance(start, StreamEndEvent):
            return Odd("empty")
        assert isinstance(start, DocumentStartEvent)
        if start.version is not None or start.tags:
            self._foreign("a directive stands before the document", "root", start)
        root = self._node(self.parser.get_event(), "")
        self.parser.get_event()  # the end of the document
        following = self.parser.get_event()
        if not isinstance(following, StreamEndEvent):
            raise NotWellFormed("a second document begins", f"line {following.start_mark.line + 1}")
        return root

    def _foreign(self, why: str, at: str, event: Any) -> None:
        self.foreign.append(Fault("native_syntax", why, f"{at or 'root'} (line {event.start_mark.line + 1})"))

    def _node(self, event: Any, at: str) -> Node:
        self.lines[at] = (event.start_mark.line + 1, event.start_mark.column + 1)
        if isinstance(event, AliasEvent):
            if event.anchor not in self.anchors:
                raise NotWellFormed(f"the alias *{event.anchor} has no anchor", f"line {event.start_mark.line + 1}")
            self._foreign(f"the alias *{event.anchor}", at, event)
            return Odd("an alias")
        if event.anchor is not None:
            self.anchors.add(event.anchor)
            self._foreign(f"the anchor &{event.anchor}", at, event)
        if event.tag is not None:
            self._foreign(f"the tag {event.tag}", at, event)
        if isinstance(event, ScalarEvent):
            return self._scalar(event)
        node = self._mapping(event, at) if isinstance(event, MappingStartEvent) else self._sequence(event, at)
        core = "tag:yaml.org,2002:" + ("map" if isinstance(event, MappingStartEvent) else "seq")
        return node if event.tag in (None, "!", core) else Odd(f"a value tagged {event.tag}")

    def _mapping(self, event: MappingStartEvent, at: str) -> Pairs:
        pairs, seen = Pairs(), set()
        while not isinstance(key_event := self.parser.get_event(), MappingEndEvent):
            key_node = self._node(key_event, f"{at} key".lstrip())
            key = _key_text(key_node)
            identity = (type(key_node).__name__ if isinstance(key_node, Odd | Decimal) else "str", key)
            # Collections and aliases as keys are no key of the contract, and are not compared.
            if identity in seen and not (isinstance(key_node, Odd) and key_node.text == ""):
                raise NotWellFormed(f"the key {key!r} stands twice", f"line {key_event.start_mark.line + 1}")
            seen.add(identity)
            value = self._node(self.parser.get_event(), f"{at}.{key}".lstrip("."))
            if key == "<<" and isinstance(key_event, ScalarEvent) and not key_event.style:
                self._foreign("a merge key", at, key_event)
                continue
            pairs.append((key, value))
        if event.flow_style and pairs:
            self.flow.add(at)
        return pairs

    def _sequence(self, event: SequenceStartEvent, at: str) -> list[Node]:
        items: list[Node] = FlowList() if event.flow_style else []
        while not isinstance(item := self.parser.get_event(), SequenceEndEvent):
            items.append(self._node(item, f"{at}[{len(items)}]"))
        if event.flow_style and items:
            self.flow.add(at)
        return items

    def _scalar(self, event: Any) -> Node:
        text: str = event.value.translate(self.restore) if self.restore else event.value
        tag = event.tag
        if tag not in (None, "!"):
            return _tagged(text, tag)
        if event.style in ("|", ">"):
            return BlockText(text)
        if event.style in ("'", '"') or tag == "!":
            return text
        return _resolve(text)


def _resolve(text: str) -> Node:
    """A plain scalar under the core schema (YAML 1.2.2, section 10.3.2)."""
    if _DECIMAL.fullmatch(text):
        return Decimal(text)
    if _NULL.fullmatch(text):
        return Odd("null", text or "null")
    if _BOOL.fullmatch(text):
        return Odd("a boolean", text)
    if _OTHER.fullmatch(text):
        return Odd("not a decimal number", text)
    return text


def _tagged(text: str, tag: str) -> Node:
    resolved = _resolve(text)
    match tag.removeprefix("tag:yaml.org,2002:"):
        case "str":
            return text
        case "int" | "float" if isinstance(resolved, Decimal):
            return resolved
    return Odd(f"a value tagged {tag}")


def _key_text(node: Node) -> str:
    if isinstance(node, Decimal):
        return format(node, "f")
    if isinstance(node, Odd):
        return node.text or f"({node.kind})"
    return str(node) if isinstance(node, str) else f"({keyed.kind_of(node)})"


def _parse(text: str) -> tuple[Node, _Builder]:
    restore: dict[int, str] = {}
    for character in _OLD_BREAKS:
        if character in text:
            stand_in = next(c for c in map(chr, range(0xE000, 0xF8FF)) if c not in text)
            text = text.replace(character, stand_in)
            restore[ord(stand_in)] = character
    _check_plain_percent(text)
    try:
        builder = _Builder(CParser(text), restore)
        return builder.document(), builder
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or str(error)
        raise NotWellFormed(why, f"line {mark.line + 1}, column {mark.column + 1}" if mark else "") from error


_PERCENT = re.compile(r"^[ ]*(?:[-?][ \t]+)*(?:[^\s#\"'\[{|>][^\n#]*?:[ \t]+|(?<=[-?] )[ \t]*)%", re.MULTILINE)


def _check_plain_percent(text: str) -> None:
    # `%` cannot start a plain scalar (YAML 1.2.2, production 22); libyaml lets it. Block scalars may hold such a line.
    if "%" in text and "|" not in text and ">" not in text and (match := _PERCENT.search(text)) is not None:
        raise NotWellFormed("a plain scalar cannot begin with %", line_of(text, match.end() - 1))


def _read(text: str, due: Due) -> Reading[Shape]:
    root, builder = _parse(text)
    reading = keyed.read_tree(root, due)
    reading.faults += builder.foreign
    for path, what in (("", "the root"), ("inputs", "inputs"), ("steps", "steps")):
        if path in builder.flow and (due.graph or not path):
            reading.fault("native_syntax", f"{what} is in flow style; block style is due", path or "root")
    return reading


def _render(ir: CanonicalIR, rules: frozenset[str], style: str) -> str:
    tree = keyed.build_tree(ir, rules, ROOT_ORDER)
    tree = keyed.reorder(tree, reverse=style == "reversed" and "key_order" not in rules)
    lines: list[str] = []
    for key, node in tree:
        lines += _lines(f"{key}:", node, 0, _Style(style, flow_args="flow_args" in rules))
    text = "\n".join(lines) + "\n"
    match style:
        case "document":
            return f"---\n# {len(lines)} lines\n{text}"
        case "single":
            return "\n" + text.replace("\n", "  # -\n", 1) + "\n"
    return text


@dataclass(frozen=True, slots=True)
class _Style:
    name: str
    flow_args: bool

    @property
    def indent(self) -> int:
        return 4 if self.name == "document" else 2

    @property
    def dash(self) -> str:
        return "" if self.name == "reversed" else " " * (self.indent)

    def flows(self, key: str, node: Node) -> bool:
        """Whether a value is written in flow style: the root and the two collections never are."""
        if key == "args":
            return self.flow_args or self.name in ("single", "flow_records")
        return self.name == "flow_records" and key == "-" and isinstance(node, Pairs)


def _lines(head: str, node: Node, column: int, style: _Style) -> list[str]:
    pad = " " * column
    key = head.rstrip(":") if head.endswith(":") else head
    if isinstance(node, str | Decimal):
        return [f"{pad}{head} {_scalar_text(node, style)}"]
    if style.flows(key, node):
        return [f"{pad}{head} {_flow_text(node, style)}"]
    if isinstance(node, Pairs):
        inner = [line for k, v in node for line in _lines(f"{k}:", v, column + style.indent, style)]
        if head == "-":
            return [f"{pad}-{' ' * (style.indent - 1)}{inner[0].lstrip()}", *inner[1:]]
        return [f"{pad}{head}", *inner]
    assert keyed.is_list(node)
    return [f"{pad}{head}", *(line for item in node for line in _lines("-", item, column + len(style.dash), style))]


def _flow_text(node: Node, style: _Style) -> str:
    if isinstance(node, Pairs):
        return "{" + ", ".join(f"{k}: {_flow_text(v, style)}" for k, v in node) + "}"
    if keyed.is_list(node):
        return "[" + ", ".join(_flow_text(item, style) for item in node) + "]"
    return _scalar_text(node, style)


_PLAIN = re.compile(r"[A-Za-z가-힣](?:[A-Za-z0-9_가-힣 .-]*[A-Za-z0-9_가-힣])?")


def _scalar_text(node: Node, style: _Style) -> str:
    if isinstance(node, Decimal):
        return format(node, "f")
    assert isinstance(node, str)
    if style.name not in ("double", "single") and _PLAIN.fullmatch(node) and isinstance(_resolve(node), str):
        return node
    if style.name in ("single", "reversed") and not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]", node):
        return "'" + node.replace("'", "''") + "'"
    quoted = json.dumps(node, ensure_ascii=False)
    return re.sub(r"[\x7f-\x9f\u2028\u2029\ufeff]", lambda m: f"\\u{ord(m[0]):04x}", quoted)


def _locate(text: str, at: str) -> tuple[int, int] | None:
    try:
        _, builder = _parse(text)
    except NotWellFormed:
        return None
    return builder.lines.get("" if at == "root" else at)


YAML: Format[Shape] = Format(
    name="yaml",
    title="YAML",
    contract={
        "clean_boundary": (
            Statement(
                "Output the YAML document alone: no text before or after it, and no code fence around it.",
                "YAML 문서만 출력하세요. 앞뒤에 다른 글을 쓰거나 코드 펜스로 감싸지 마세요.",
            ),
        ),
        "well_formed": (
            Statement(
                "The document is one valid YAML 1.2 document (core schema): no duplicate keys and no tabs in indentation; at "
                "most 64 KiB, at most 64 levels of nesting and at most 400 digits in a number.",
                "문서는 올바른 YAML 1.2 문서(코어 스키마) 하나여야 합니다. 중복된 키가 없어야 하고 들여쓰기에 탭을 쓸 수 없습니다. 크기는 "
                "64 KiB, 중첩은 64단계, 수 하나의 자릿수는 400자리를 넘을 수 없습니다.",
            ),
        ),
        "native_syntax": (
            Statement(
                "The root, inputs and steps are in block style.",
                "루트와 inputs, steps는 블록 스타일로 씁니다.",
                when="graph",
            ),
            Statement("The root is in block style.", "루트는 블록 스타일로 씁니다.", when="answer_only"),
            Statement(
                "Use no tags, anchors, aliases, merge keys or directives.",
                "태그, 앵커, 별칭, 병합 키, 지시문은 쓰지 마세요.",
            ),
        ),
        "root_container": (
            Statement(
                "The root is a mapping with exactly the keys answer, inputs and steps.",
                "루트는 answer, inputs, steps 키만 갖는 매핑입니다.",
                when="graph",
            ),
            Statement(
                "The root is a mapping whose only key is answer.",
                "루트는 answer 키 하나만 갖는 매핑입니다.",
                when="answer_only",
            ),
        ),
        "answer_slot": (
            Statement("answer holds the final answer itself.", "answer에는 최종 답을 그대로 넣습니다.", base=True),
            Statement(
                "The answer is a decimal number of the core schema, without quotes, thousands separators or units.",
                "답은 따옴표, 천 단위 구분 기호, 단위가 없는 코어 스키마의 십진수로 씁니다.",
                when="number",
                unless=("numeric_as_string",),
            ),
            Statement(
                "The answer is a string, not empty and without control characters.",
                "답은 비어 있지 않고 제어 문자가 없는 문자열로 씁니다.",
                when="text",
            ),
        ),
        "inputs_container": (
            Statement(
                "inputs is a sequence of mappings with exactly the keys name and value.",
                "inputs는 name과 value 키만 갖는 매핑의 시퀀스입니다.",
                base=True,
            ),
            Statement(
                "The value of an input is a decimal number without quotes.",
                "입력의 값은 따옴표 없는 십진수로 씁니다.",
                unless=("numeric_as_string",),
            ),
        ),
        "steps_container": (
            Statement(
                "steps is a sequence of mappings with exactly the keys id, op, args and value.",
                "steps는 id, op, args, value 키만 갖는 매핑의 시퀀스입니다.",
                base=True,
            ),
            Statement(
                "args is a sequence, in block or flow style.",
                "args는 시퀀스이며, 블록 스타일과 플로 스타일 모두 쓸 수 있습니다.",
                unless=("flow_args",),
            ),
            Statement(
                "In args, a reference is a string and a literal is a number.",
                "args에서 참조는 문자열로, 상수는 수로 씁니다.",
                unless=("args_as_objects", "numeric_as_string"),
            ),
            Statement(
                "The value of a step is a decimal number without quotes.",
                "단계의 값은 따옴표 없는 십진수로 씁니다.",
                unless=("numeric_as_string",),
            ),
        ),
    },
    mark=_MARK,
    find=_find,
    bound=_bound,
    read=_read,
    render=_render,
    styles=("block", "double", "single", "flow_records", "document", "reversed"),
    locate=_locate,
)


@YAML.rule(
    en="inputs is a mapping from each input's name to its value, in order, instead of a sequence.",
    ko="inputs는 시퀀스 대신, 각 입력의 이름을 키로, 값을 값으로 갖는 매핑으로 순서대로 씁니다.",
    replaces="inputs_container",
    stands_on=("inputs",),
    near_miss=("  caribbean_price: 503", "  - name: caribbean_price\n    value: 503"),
)
def inputs_as_map(reading: Reading[Shape]) -> Iterator[Look]:
    """`inputs` is a mapping from name to value."""
    return keyed.container_is_map(reading.shape.inputs, "inputs")


@YAML.rule(
    en="steps is a mapping from each step's id to a mapping with exactly the keys op, args and value, in order, instead of a "
    "sequence.",
    ko="steps는 시퀀스 대신, 각 단계의 id를 키로, op, args, value 키만 갖는 매핑을 값으로 갖는 매핑으로 순서대로 씁니다.",
    replaces="steps_container",
    stands_on=("steps",),
    near_miss=("  R1:\n    op: multiply", "  - id: R1\n    op: multiply"),
)
def steps_as_map(reading: Reading[Shape]) -> Iterator[Look]:
    """`steps` is a mapping from id to the rest of the record."""
    return keyed.container_is_map(reading.shape.steps, "steps")


@YAML.rule(
    en="Every argument in args is a mapping: {ref: name} for a reference, {value: number} for a literal.",
    ko="args의 모든 인자는 매핑으로 씁니다. 참조는 {ref: 이름}, 상수는 {value: 수}입니다.",
    stands_on=("steps",),
    near_miss=("- value: 7", "- 7"),
)
def args_as_objects(reading: Reading[Shape]) -> Iterator[Look]:
    """Every argument is `{ref: name}` or `{value: number}`."""
    return keyed.args_are_objects(reading)


@YAML.rule(
    en="answer is a mapping whose only key is value; the final answer stands there.",
    ko="answer는 value 키 하나만 갖는 매핑이고, 최종 답은 그 값으로 씁니다.",
    replaces="answer_slot",
    answer_only=True,
    stands_on=("answer",),
    near_miss=("answer:\n  value: 3521", "answer: 3521"),
)
def answer_object(reading: Reading[Shape]) -> Iterator[Look]:
    """`answer` is a mapping whose only key is `value`."""
    return keyed.answer_is_object(reading)


@YAML.rule(
    en="Every number (the answer, input values, literals in args, step values) is a quoted scalar that holds its decimal form, "
    "such as '3521'.",
    ko="모든 수(답, 입력의 값, args의 상수, 단계의 값)는 '3521'처럼 십진 표기를 따옴표로 감싼 스칼라로 씁니다.",
    answer_only=True,
    numeric=True,
    stands_on=("answer", "inputs", "steps"),
    near_miss=('- "7"', "- 7"),
)
def numeric_as_string(reading: Reading[Shape]) -> Iterator[Look]:
    """Every number is a quoted scalar; a block scalar is none."""
    for at, node in reading.shape.numbers or ():
        quoted = isinstance(node, str) and not isinstance(node, BlockText)
        yield Look(quoted, "the number is not written as a quoted scalar", at)


@YAML.rule(
    en="Keys stand in this order: in the root inputs, steps, answer; in a record name, value and id, op, args, value (those "
    "that the record has).",
    ko="키는 다음 순서로 씁니다. 루트는 inputs, steps, answer, 레코드는 name, value 및 id, op, args, value 순서입니다(레코드에 있는 "
    "키만 해당).",
    stands_on=("answer", "inputs", "steps"),
    near_miss=("- name: caribbean_price\n    value: 503", "- value: 503\n    name: caribbean_price"),
)
def key_order(reading: Reading[Shape]) -> Iterator[Look]:
    """Root keys in the order inputs, steps, answer; record keys in the contract's order."""
    return keyed.keys_in_order(reading, ROOT_ORDER)


@YAML.rule(
    en="Every args is a flow sequence, such as [caribbean_price, 7].",
    ko="모든 args는 [caribbean_price, 7]과 같은 플로 시퀀스로 씁니다.",
    stands_on=("steps",),
    near_miss=("args: [caribbean_price, 7]", "args:\n      - caribbean_price\n      - 7"),
)
def flow_args(reading: Reading[Shape]) -> Iterator[Look]:
    """Every `args` is a flow sequence."""
    for at, args in reading.shape.args or ():
        yield Look(isinstance(args, FlowList), "args is a block sequence; a flow sequence is due", at)
