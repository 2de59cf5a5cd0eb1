"""Markdown: CommonMark plus pipe tables. markdown-it-py gives the block structure; any text parses, so that the verdict
is about structure, and there is always a tolerant reading.

What the parser hides is seen in the source lines: cells that it drops or pads, fences that never close, lines lazily
continued into an item. How awkward values are written: every ASCII punctuation mark of a text behind a backslash; in a
fence as it is, the fence longer than any in the text. Source: contracts.md section 4 (Markdown), section 3 fine points
"Markdown", "Commas"; CommonMark 0.31.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from serial7.check import Due, InputRead, Look, Reading, Statement, StepRead, within
from serial7.errors import NotWellFormed
from serial7.format import MAX_DEPTH, Format, Span
from serial7.ir import (
    WHITE_SPACE,
    CanonicalIR,
    Ref,
    has_control,
    is_name,
    number_text,
    parse_number,
    undress_number,
)

_PARSER = MarkdownIt("commonmark").enable("table")

SECTIONS = ("result", "inputs", "steps")
COLUMNS = {"inputs": ("name", "value"), "steps": ("id", "operation", "arguments", "value")}
FIELDS = {"inputs": ("value",), "steps": ("operation", "arguments", "value")}

_MARK = re.compile(
    r"^ {0,3}#{1,6}[ \t]+Result[ \t]*(?:[ \t]#+)?[ \t]*\r?$|^ {0,3}Result[ \t]*\r?\n {0,3}(?:=+|-+)[ \t]*\r?$",
    re.MULTILINE | re.IGNORECASE,
)
_CONTRACT_OPENING = re.compile(
    r" {0,3}(?:#{1,6}\s*(?:Result|Inputs|Steps)\b|[-*+][ \t]+\**Answer\b|>[ \t]?Answer\b)", re.IGNORECASE
)
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t\r]*$")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t\r]*$")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_NO_PARAGRAPH = re.compile(r"[ \t]|[-*+](?:[ \t]|$)|[0-9]{1,9}[.)](?:[ \t]|$)|\||#{1,6}(?:[ \t]|$)|>|`{3}|~{3}|<")
_MARKERS = re.compile(r"(?:[ \t]*(?:>|[-*+](?=[ \t]|$)|[0-9]{1,9}[.)](?=[ \t]|$)))*[ \t]*")
_LABEL = re.compile(r"[ \t]*([A-Za-z]+)[ \t]*([:：])")
_CELL_BAR = re.compile(r"(?<!\\)\|")


def _find(text: str) -> list[Span]:
    rows = text.split("\n")
    headings = _headings(rows)
    results = [row for row in headings if row[1] == "result"]
    if not results:
        first = next((i for i, row in enumerate(rows) if row.strip(WHITE_SPACE)), None)
        if first is None or _CONTRACT_OPENING.match(rows[first]) is None:
            return []
        return [Span(0, _offset(rows, _last_row(rows, first, headings) + 1, text))]
    spans = []
    for k, (row, _) in enumerate(results[:2]):  # two are two documents; how many more there are is no matter
        start = row
        while start > 0 and not rows[start - 1].strip(WHITE_SPACE):
            start -= 1
        after = results[k + 1][0] if k + 1 < len(results) else len(rows)
        end = min(_last_row(rows, row, headings) + 1, after)
        while end < len(rows) and not rows[end].strip(WHITE_SPACE):
            end += 1
        spans.append(Span(_offset(rows, start, text), _offset(rows, min(end, after), text)))
    return spans


def _offset(rows: list[str], row: int, text: str) -> int:
    return min(sum(len(r) + 1 for r in rows[:row]), len(text))


def _headings(rows: list[str]) -> list[tuple[int, str]]:
    """(row, text in lower case) of the headings outside fences."""
    found = []
    fence = ""
    for i, row in enumerate(rows):
        opening = _FENCE.match(row)
        if fence:
            if opening and opening[1].startswith(fence) and not row.strip(WHITE_SPACE).strip(fence[0]):
                fence = ""
            continue
        if opening:
            fence = opening[1]
            continue
        heading = _HEADING.match(row)
        if heading is not None:
            found.append((i, (heading[1] or "").strip().lower()))
        elif i + 1 < len(rows) and row.strip().lower() in SECTIONS and _UNDERLINE.match(rows[i + 1]):
            found.append((i, row.strip().lower()))
    return found


def _last_row(rows: list[str], start: int, headings: list[tuple[int, str]]) -> int:
    """The last row of the document that begins at `start`: before the first top-level paragraph after the list or table of
    its last section. A further heading and what it holds still belong to it."""
    last = max((i for i, text in headings if i >= start and text in SECTIONS), default=start)
    began = False
    fence = ""
    for i in range(last + 1, len(rows)):
        row = rows[i]
        opening = _FENCE.match(row)
        if fence:
            fence = "" if opening and row.strip(WHITE_SPACE) == opening[1] and opening[1].startswith(fence) else fence
            continue
        if opening:
            fence = opening[1]
        if not row.strip(WHITE_SPACE):
            continue
        if _HEADING.match(row) and i > last:
            return len(rows) - 1
        paragraph = _NO_PARAGRAPH.match(row) is None and not rows[i - 1].strip(WHITE_SPACE)
        if paragraph and began and not _UNDERLINE.match(rows[i + 1] if i + 1 < len(rows) else ""):
            end = i - 1
            while not rows[end].strip(WHITE_SPACE):
                end -= 1
            return end
        began = began or _NO_PARAGRAPH.match(row) is not None or "|" in row
    return len(rows) - 1


def _bound(text: str) -> None:
    columns: list[int] = []
    for number, row in enumerate(text.split("\n"), 1):
        if not row.strip():
            continue
        markers = _MARKERS.match(row)
        assert markers is not None
        starts = [m.start() for m in re.finditer(r"[^ \t]+", markers[0])]
        for column in (*starts, markers.end()):
            while columns and columns[-1] >= column:
                columns.pop()
            columns.append(column)
        if len(columns) > MAX_DEPTH or markers[0].count(">") > MAX_DEPTH:
            raise NotWellFormed(f"nested deeper than {MAX_DEPTH} levels", f"line {number}")


class _Block(NamedTuple):
    """A block of the document: its opening token, its inline tokens, and the blocks inside it."""

    token: Token
    inline: list[Token]
    children: list[Any]

    @property
    def type(self) -> str:
        return self.token.type.removesuffix("_open")

    @property
    def line(self) -> int:
        return (self.token.map or [0])[0] + 1


def _blocks(tokens: list[Token]) -> list[_Block]:
    roots: list[_Block] = []
    stack: list[_Block] = []
    for token in tokens:
        if token.nesting < 0:
            stack.pop()
            continue
        if token.type == "inline":
            stack[-1].inline.extend(token.children or [])
            continue
        block = _Block(token, [], [])
        (stack[-1].children if stack else roots).append(block)
        if token.nesting > 0:
            stack.append(block)
    return roots


class Piece(NamedTuple):
    """A run of inline text and what is around it: `code`, `bold`, `em`, `link`, `image`."""

    text: str
    dress: frozenset[str]


class Scalar(NamedTuple):
    """A slot's text (None = only parts of it are dressed) and the dress around all of it."""

    text: str | None
    dress: frozenset[str]
    at: str


_SPANS = {"strong": "bold", "em": "em", "link": "link"}


def _pieces(tokens: list[Token]) -> list[Piece]:
    pieces: list[Piece] = []
    open_spans: list[str] = []
    for token in tokens:
        dress = frozenset(open_spans)
        kind = token.type.rpartition("_")[0] if token.nesting else token.type
        if token.nesting > 0:
            open_spans.append(_SPANS.get(kind, kind))
        elif token.nesting < 0:
            open_spans.pop()
        elif token.type in ("softbreak", "hardbreak"):
            pieces.append(Piece(" ", dress))
        elif token.type == "code_inline":
            pieces.append(Piece(token.content, dress | {"code"}))
        elif token.type == "image":
            pieces.append(Piece(token.content, dress | {"image"}))
        elif token.type != "html_inline":
            pieces.append(Piece(token.content, dress))
    return pieces


def _scalar(pieces: list[Piece], at: str) -> Scalar:
    shown = [p for p in pieces if p.text.strip(WHITE_SPACE)]
    text = "".join(p.text for p in pieces).strip(WHITE_SPACE)
    dresses = {p.dress for p in shown}
    if len(dresses) > 1:
        return Scalar(None, frozenset().union(*dresses), at)
    return Scalar(text, dresses.pop() if dresses else frozenset(), at)


def _after(pieces: list[Piece], count: int) -> list[Piece]:
    """The pieces without their first `count` characters."""
    rest = []
    for piece in pieces:
        rest.append(Piece(piece.text[count:], piece.dress))
        count = max(0, count - len(piece.text))
    return [p for p in rest if p.text]


def _split(pieces: list[Piece], separator: str) -> list[list[Piece]]:
    parts: list[list[Piece]] = [[]]
    for piece in pieces:
        first, *others = piece.text.split(separator)
        parts[-1].append(Piece(first, piece.dress))
        parts += [[Piece(other, piece.dress)] for other in others]
    return parts


@dataclass(slots=True)
class Shape:
    """What the rules of Markdown look at."""

    headings: list[tuple[str, int, str]] = field(default_factory=list)  # (section, level, place)
    answer: str = ""  # "item", "fence", "quote" or "other"
    inputs: str = ""  # "list", "table" or "both"
    steps: str = ""
    names: list[Scalar] = field(default_factory=list)  # input names and step ids
    references: list[Scalar] = field(default_factory=list)


def _read(text: str, due: Due) -> Reading[Shape]:
    document = text.replace("\r\n", "\n").replace("\r", "\n")
    reading = Reading(Shape())
    _Reader(reading, due, document.split("\n")).document(_blocks(_PARSER.parse(document)))
    return reading


@dataclass(slots=True)
class _Reader:
    reading: Reading[Shape]
    due: Due
    rows: list[str]
    answers: list[Decimal | str | None] = field(default_factory=list)

    def at(self, path: str, block: _Block) -> str:
        return f"{path} (line {block.line})"

    def document(self, blocks: list[_Block]) -> None:
        reading = self.reading
        parts: dict[str, list[_Block]] = {name: [] for name in SECTIONS}
        section = ""
        for block in blocks:
            self.native(block)
            if block.type == "heading":
                section = self.heading(block)
            elif block.type == "html_block":
                continue
            elif section in ("inputs", "steps"):
                parts[section].append(block)
            else:
                parts["result"].append(block)
        self.headings()
        self.result(parts["result"])
        reading.answer = self.answers[0] if len(set(self.answers)) == 1 else None
        if not self.answers:
            reading.fault("answer_slot", "there is no field Answer", "answer")
        if self.due.graph:
            present = {name for name, _, _ in reading.shape.headings}
            for name in ("inputs", "steps"):
                if name not in present:
                    reading.fault(f"{name}_container", f"there is no section {name.capitalize()}", name)
                else:
                    self.container(name, parts[name])

    def native(self, block: _Block) -> None:
        """Raw HTML anywhere, and fences that never close."""
        if block.type == "html_block" or any(t.type == "html_inline" for t in block.inline):
            self.reading.fault("native_syntax", "raw HTML stands in the document", f"line {block.line}")
        if block.type == "fence":
            last = self.rows[(block.token.map or [0, 0])[1] - 1].strip(" \t>")
            opened_and_closed = (block.token.map or [0, 0])[1] - (block.token.map or [0, 0])[0] > 1
            if not (opened_and_closed and last.startswith(block.token.markup) and not last.strip(last[0])):
                self.reading.fault("well_formed", "the code fence is never closed", f"line {block.line}")
        for child in block.children:
            self.native(child)

    def heading(self, block: _Block) -> str:
        """Note a heading; the section that it begins, or the empty string for one that the contract does not name."""
        scalar = _scalar(_pieces(block.inline), self.at("heading", block))
        name = (scalar.text or "").casefold()
        wanted = SECTIONS if self.due.graph else ("result",)
        if name not in wanted:
            shown = _short("".join(p.text for p in _pieces(block.inline)))
            self.reading.fault("root_container", f"the heading {shown} is not one that the contract names", scalar.at)
            return ""
        if scalar.dress:
            self.reading.fault("root_container", f"the heading {name.capitalize()} is not plain text", scalar.at)
        self.reading.shape.headings.append((name, int(block.token.tag[1]), scalar.at))
        return name

    def headings(self) -> None:
        reading = self.reading
        names = [name for name, _, _ in reading.shape.headings]
        if "result" not in names:
            reading.fault("root_container", "there is no heading Result", "root")
        for name, level, at in reading.shape.headings:
            due = 1 if name == "result" else 2
            if level != due:
                why = f"the heading {name.capitalize()} has level {level}; {due} is due"
                reading.fault("root_container", why, at, ("heading_depth",))
        for name in dict.fromkeys(names):
            if names.count(name) > 1:
                reading.fault("well_formed", f"the heading {name.capitalize()} stands {names.count(name)} times")
        present = list(dict.fromkeys(names))
        if present != sorted(present, key=SECTIONS.index):
            order = ", ".join(name.capitalize() for name in present)
            reading.fault("well_formed", f"the sections stand in the order {order}; Result, Inputs, Steps is due")

    # The answer

    def result(self, blocks: list[_Block]) -> None:
        reading = self.reading
        for block in blocks:
            at = self.at("answer", block)
            if block.type in ("bullet_list", "ordered_list"):
                for item in block.children:
                    self.answer_item(item, ordered=block.type == "ordered_list")
            elif block.type == "blockquote" and self.is_answer(block.children):
                reading.fault("answer_slot", "the answer stands in a block quote", at, ("blockquote_answer",))
                self.answer_field(block.children[0], [], "quote", at)
                if len(block.children) > 1:
                    reading.fault("answer_slot", "more than the answer stands in the block quote", at)
            elif block.type == "paragraph" and self.is_answer([block]):
                reading.fault("answer_slot", "the field Answer is a paragraph; a list item is due", at)
                self.answer_field(block, [], "other", at)
            else:
                rules = ("fence",) if block.type == "fence" else ()
                reading.fault("root_container", f"a {block.type.replace('_', ' ')} stands beside the parts", at, rules)

    def headless(self, part: str, item: _Block) -> bool:
        """Whether a list item is a record of `part`, whose heading is missing: charged there already, and read nowhere."""
        if not self.due.graph or part in {name for name, _, _ in self.reading.shape.headings}:
            return False
        lists = [block for block in item.children if block.type.endswith("_list")]
        fields = {
            _label(_pieces(entry.children[0].inline))[0]
            for block in lists
            for entry in block.children
            if entry.children
        }
        return bool(fields & {"operation", "arguments"}) if part == "steps" else fields == {"value"}

    def is_answer(self, blocks: list[_Block]) -> bool:
        return bool(blocks) and blocks[0].type == "paragraph" and _label(_pieces(blocks[0].inline))[0] == "answer"

    def answer_item(self, item: _Block, *, ordered: bool) -> None:
        at = self.at("answer", item)
        if not self.is_answer(item.children):
            if self.headless("inputs", item) or self.headless("steps", item):
                return
            if len(item.children) == 0:
                # `[Answer]: 3521` is a link reference definition and leaves nothing behind.
                return
            self.reading.fault("root_container", "a list item that is not the field Answer", at)
            return
        if ordered:
            self.reading.fault("answer_slot", "the field Answer is an item of a numbered list", at)
        self.answer_field(item.children[0], item.children[1:], "item", at)

    def answer_field(self, paragraph: _Block, others: list[_Block], form: str, at: str) -> None:
        reading, check = self.reading, "answer_slot"
        if self.answers:
            reading.fault("root_container", "the field Answer stands more than once", at)
        scalar = self.field_value(paragraph, check, at)
        fences = [block for block in others if block.type == "fence"]
        if fences and not (scalar.text or scalar.text is None):
            form = "fence"
            reading.fault(check, "the answer stands in a code fence", at, ("fence",))
            scalar = Scalar(fences[0].token.content.strip(WHITE_SPACE), frozenset(), at)
        if len(others) > len(fences[:1]) or (fences and form != "fence"):
            reading.fault(check, "more than one value stands in the item of the answer", at)
            scalar = Scalar(None, frozenset(), at)
        reading.shape.answer = reading.shape.answer or form
        if scalar.text == "":
            reading.fault(check, "the answer is empty", at)
        if self.due.text_answer:
            self.undress(scalar, check)
            if scalar.text and has_control(scalar.text):
                reading.fault(check, f"a control character in {_short(scalar.text)}", at)
            self.answers.append(scalar.text or None)
        else:
            self.answers.append(self.number(scalar, check))

    def field_value(self, paragraph: _Block, check: str, at: str) -> Scalar:
        """The value behind the label of a field; faults of the label and of lazily continued lines."""
        pieces = _pieces(paragraph.inline)
        _, length, fault = _label(pieces)
        if fault:
            self.reading.fault(check, fault, at)
        self.lazy(paragraph, check, at)
        return _scalar(_after(pieces, length), at)

    def lazy(self, paragraph: _Block, check: str, at: str) -> None:
        start, end = paragraph.token.map or [0, 0]
        markers = _MARKERS.match(self.rows[start])
        assert markers is not None
        width = len(markers[0].expandtabs(4))
        for row in self.rows[start + 1 : end]:
            if (
                len(row) - len(row.lstrip()) < width
                and len(row.expandtabs(4)) - len(row.expandtabs(4).lstrip()) < width
            ):
                self.reading.fault(check, f"a line is lazily continued into the item: {_short(row.strip())}", at)
                return

    # Values

    def undress(self, scalar: Scalar, check: str, unless: tuple[str, ...] = ()) -> None:
        for dress in sorted(scalar.dress):
            names = {"code": "inline code", "bold": "bold", "em": "emphasis", "link": "a link", "image": "an image"}
            excused = unless if dress in ("code", "bold") else ()
            part = "part of the value is" if scalar.text is None else "the value is"
            self.reading.fault(check, f"{part} in {names.get(dress, dress)}", scalar.at, excused)
        if scalar.text is None and not scalar.dress:
            self.reading.fault(check, "the value is not one scalar", scalar.at)

    def number(self, scalar: Scalar, check: str) -> Decimal | None:
        if scalar.text == "":
            return None
        self.undress(scalar, check)
        if scalar.text is None:
            return None
        value = parse_number(scalar.text)
        if value is None:
            self.reading.fault(check, f"{_short(scalar.text)} is not a number", scalar.at)
            value = undress_number(scalar.text)
        return value

    def name(self, scalar: Scalar, check: str, kept: list[Scalar]) -> str | None:
        if scalar.text == "":
            return None
        self.undress(scalar, check, ("inline_code_ids", "bold_names"))
        text = scalar.text
        if text is not None and text.endswith((":", "：")):
            self.reading.fault(check, f"a colon follows the name {_short(text)}", scalar.at)
            text = text[:-1].rstrip(WHITE_SPACE)
        kept.append(scalar)
        if text and not is_name(text):
            self.reading.fault(check, f"{_short(text)} is not a name of the contract's grammar", scalar.at)
        return text or None

    def args(self, pieces: list[Piece], at: str) -> tuple[Ref | Decimal | None, ...] | None:
        if not "".join(p.text for p in pieces).strip(WHITE_SPACE):
            return None
        check = "steps_container"
        for piece in pieces:
            if "code" in piece.dress and "," in piece.text:
                why = f"one code span holds more than one reference: {_short(piece.text)}"
                self.reading.fault(check, why, at, ("inline_code_ids",))
                self.reading.shape.references.append(Scalar(None, frozenset(), at))
        return tuple(self.arg(part, within(at, f".args[{j}]")) for j, part in enumerate(_split(pieces, ",")))

    def arg(self, part: list[Piece], at: str) -> Ref | Decimal | None:
        check = "steps_container"
        scalar = _scalar(part, at)
        if scalar.text == "":
            self.reading.fault(check, "an argument is empty", at)
            return None
        if scalar.text is not None and undress_number(scalar.text) is not None:
            return self.number(scalar, check)
        name = self.name(scalar, check, self.reading.shape.references)
        return None if name is None else Ref(name)

    # Containers

    def container(self, part: str, blocks: list[_Block]) -> None:
        reading, check = self.reading, f"{part}_container"
        forms: set[str] = set()
        for block in blocks:
            at = self.at(part, block)
            if block.type in ("ordered_list", "bullet_list"):
                forms.add("list")
                if block.type == "bullet_list":
                    reading.fault(check, "the records are items of a bullet list; a numbered list is due", at)
                for item in block.children:
                    if part == "steps" or not self.headless("steps", item):
                        self.record(part, item)
            elif block.type == "table":
                if "table" in forms:
                    reading.fault(check, "the records stand in more than one table", at)
                forms.add("table")
                reading.fault(check, "the records stand in a table", at, (f"{part}_as_table",))
                self.table(part, block)
            else:
                rules = ("fence",) if block.type == "fence" else ()
                reading.fault(check, f"a {block.type.replace('_', ' ')} stands among the records", at, rules)
        form = "both" if len(forms) > 1 else forms.pop() if forms else ""
        setattr(reading.shape, part, form)
        if form == "both":
            reading.fault(check, "the records stand both in a list and in a table", part)
        if not getattr(reading, part):
            reading.fault(check, f"{part.capitalize()} holds no record", part)

    def record(self, part: str, item: _Block) -> None:
        reading, check = self.reading, f"{part}_container"
        at = self.at(f"{part}[{len(getattr(reading, part))}]", item)
        blocks = list(item.children)
        name: list[Piece] = []
        if blocks and blocks[0].type == "paragraph":
            name = _pieces(blocks[0].inline)
            self.lazy(blocks[0], check, at)
            blocks = blocks[1:]
        fields: dict[str, list[Piece]] = {}
        for block in blocks:
            if block.type not in ("bullet_list", "ordered_list"):
                reading.fault(check, f"a {block.type.replace('_', ' ')} stands in a record", at)
                continue
            if block.type == "ordered_list":
                reading.fault(check, "the fields are items of a numbered list; bullets are due", at)
            for entry in block.children:
                self.field(part, entry, fields, at)
        self.add(part, name, fields, at)

    def field(self, part: str, entry: _Block, fields: dict[str, list[Piece]], at: str) -> None:
        reading, check = self.reading, f"{part}_container"
        place = self.at(at.partition(" ")[0], entry)
        pieces = _pieces(entry.children[0].inline) if entry.children and entry.children[0].type == "paragraph" else []
        label, length, fault = _label(pieces)
        if label not in FIELDS[part]:
            shown = _short("".join(p.text for p in pieces))
            reading.fault(check, f"the field {shown} is not one that the contract names", place)
            return
        if fault:
            reading.fault(check, fault, place)
        self.lazy(entry.children[0], check, place)
        if len(entry.children) > 1:
            reading.fault(check, f"more than the value stands in the field {label.capitalize()}", place)
        value = _after(pieces, length)
        if label in fields:
            reading.fault(check, f"the field {label.capitalize()} stands twice", place)
            if fields[label] != value:
                fields[label] = [Piece("\0", frozenset())]  # two that differ: neither is the value
            return
        fields[label] = value

    def table(self, part: str, block: _Block) -> None:
        reading, check = self.reading, f"{part}_container"
        due = COLUMNS[part]
        rows = [row for section in block.children for row in section.children]
        header = [_scalar(_pieces(cell.inline), self.at(part, block)) for cell in rows[0].children]
        labels = [(h.text or "").casefold() for h in header]
        for label, scalar in zip(labels, header, strict=True):
            if label not in due:
                reading.fault(
                    check, f"the column {_short(scalar.text or '')} is not one that the contract names", scalar.at
                )
            elif scalar.dress:
                reading.fault(check, f"the column {label.capitalize()} is not plain text", scalar.at)
            if labels.count(label) > 1:
                reading.fault(check, f"the column {_short(label)} stands twice", scalar.at)
        for missing in (label for label in due if label not in labels):
            reading.fault(check, f"the column {missing.capitalize()} is missing", self.at(part, block))
        first = (block.token.map or [0])[0] + 2
        for i, row in enumerate(rows[1:]):
            line = first + i
            at = f"{part}[{len(getattr(reading, part))}] (line {line + 1})"
            count = _cells(self.rows[line]) if line < len(self.rows) else len(labels)
            if count != len(labels):
                reading.fault(check, f"a row of {count} cells; the header has {len(labels)}", at)
            cells = {
                label: _pieces(cell.inline)
                for label, cell in zip(labels, row.children, strict=False)
                if labels.count(label) == 1
            }
            name = cells.pop(due[0], [])
            self.add(part, name, {label: cells[label] for label in FIELDS[part] if label in cells}, at)

    def add(self, part: str, name: list[Piece], fields: dict[str, list[Piece]], at: str) -> None:
        reading, check = self.reading, f"{part}_container"
        identity = self.name(
            _scalar(name, within(at, ".name" if part == "inputs" else ".id")), check, reading.shape.names
        )
        value = self.number(_scalar(fields.get("value", []), within(at, ".value")), check)
        if part == "inputs":
            reading.inputs.append(InputRead(identity, value, at))
            return
        operation = _scalar(fields.get("operation", []), within(at, ".op"))
        self.undress(operation, check)
        args = self.args(fields.get("arguments", []), at)
        reading.steps.append(StepRead(identity, operation.text or None, args, value, at))


def _label(pieces: list[Piece]) -> tuple[str, int, str]:
    """(label in lower case, its length with the colon, what is wrong with it) of a field; empty label if there is none."""
    text = "".join(p.text for p in pieces)
    match = _LABEL.match(text)
    if match is None:
        return "", 0, ""
    fault = ""
    if match[2] != ":":
        fault = f"another colon than the ASCII one follows {match[1]}"
    position = 0
    for piece in pieces:
        if piece.dress and position < match.end():
            fault = f"the label {match[1]} is not plain text"
        position += len(piece.text)
    return match[1].casefold(), match.end(), fault


def _cells(row: str) -> int:
    row = row.strip(" \t>")
    row = row.removeprefix("|")
    if row.endswith("|") and not row.endswith("\\|"):
        row = row[:-1]
    return len(_CELL_BAR.split(row))


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")


def _escape(text: str) -> str:
    return _PUNCTUATION.sub(lambda m: "\\" + m[0], text)


def _render(ir: CanonicalIR, rules: frozenset[str], style: str) -> str:
    writer = _Writer(rules, style)
    blocks = [writer.heading("Result", 1), writer.answer(ir.answer)]
    if ir.graph_bearing:
        inputs = [(writer.name(i.name), {"Value": number_text(i.value)}) for i in ir.inputs]
        steps = [
            (
                writer.name(s.id),
                {"Operation": s.op, "Arguments": writer.args(s.args), "Value": number_text(s.value)},
            )
            for s in ir.steps
        ]
        blocks += [writer.heading("Inputs", 2), writer.records("Name", inputs, "inputs_as_table" in rules)]
        blocks += [writer.heading("Steps", 2), writer.records("ID", steps, "steps_as_table" in rules)]
    joint = "\n" if style == "tight" else "\n\n"
    return joint.join(blocks) + "\n"


@dataclass(slots=True)
class _Writer:
    rules: frozenset[str]
    style: str

    @property
    def bullet(self) -> str:
        return {"stars": "*", "loose": "+"}.get(self.style, "-")

    def heading(self, text: str, level: int) -> str:
        level += "heading_depth" in self.rules
        if self.style == "loose" and level <= 2:
            return f"{text}\n{'=-'[level - 1] * 6}"
        marks = "#" * level
        return f"{marks} {text} {marks}" if self.style == "stars" else f"{marks} {text}"

    def label(self, text: str) -> str:
        return text.lower() if self.style == "stars" else text

    def answer(self, answer: Decimal | str) -> str:
        raw = answer if isinstance(answer, str) else number_text(answer)
        text = _escape(raw) if isinstance(answer, str) else raw
        if "blockquote_answer" in self.rules:
            return f"> {self.label('Answer')}: {text}"
        if "fence" in self.rules:
            mark = "~" if self.style == "loose" else "`"
            longest = max((len(run) for run in re.findall(r"[`~]+", raw)), default=0)
            fence = mark * max(3, longest + 1)
            return f"{self.bullet} {self.label('Answer')}:\n\n  {fence}\n  {raw}\n  {fence}"
        return f"{self.bullet} {self.label('Answer')}: {text}"

    def name(self, name: str, *, reference: bool = False) -> str:
        text = f"`{name}`" if "inline_code_ids" in self.rules else name
        return f"**{text}**" if "bold_names" in self.rules and not reference else text

    def args(self, args: tuple[Ref | Decimal, ...]) -> str:
        joint = "," if self.style == "tight" else ", "
        return joint.join(self.name(a.name, reference=True) if isinstance(a, Ref) else number_text(a) for a in args)

    def records(self, first: str, records: list[tuple[str, dict[str, str]]], table: bool) -> str:
        if table:
            return self.table(first, records)
        lines: list[str] = []
        for i, (name, fields) in enumerate(records, 1):
            marker = {"stars": "1.", "loose": f"{i})"}.get(self.style, f"{i}.")
            lines.append(f"{marker} {name}")
            if self.style == "loose":
                lines.append("")
            items = list(fields.items())
            if self.style in ("stars", "tight"):
                items.reverse()
            pad = " " * (4 if self.style == "loose" and len(marker) < 4 else len(marker) + 1)
            lines += [f"{pad}{self.bullet} {self.label(k)}: {v}" for k, v in items]
            if self.style == "loose":
                lines.append("")
        return "\n".join(lines).rstrip("\n")

    def table(self, first: str, records: list[tuple[str, dict[str, str]]]) -> str:
        rows = [{first: name, **fields} for name, fields in records]
        columns = list(rows[0])
        if self.style in ("stars", "tight"):
            columns.reverse()
        bare = self.style == "loose"
        rule = {"stars": ":---", "loose": "---", "tight": "-"}.get(self.style, "---")
        grid = [[self.label(c) for c in columns], [rule] * len(columns), *([row[c] for c in columns] for row in rows)]
        return "\n".join(" | ".join(line) if bare else "| " + " | ".join(line) + " |" for line in grid)


MARKDOWN: Format[Shape] = Format(
    name="markdown",
    title="Markdown",
    contract={
        "clean_boundary": (
            Statement(
                "Output the Markdown document alone: no text before or after it, and no code fence around it.",
                "Markdown 문서만 출력하세요. 앞뒤에 다른 글을 쓰거나 코드 펜스로 감싸지 마세요.",
            ),
        ),
        "well_formed": (
            Statement(
                "The document is CommonMark with pipe tables; its sections stand in the order Result, Inputs, Steps, each once, and "
                "every code fence is closed.",
                "문서는 파이프 표를 더한 CommonMark입니다. 섹션은 Result, Inputs, Steps 순서로 한 번씩만 두고, 코드 펜스는 모두 닫습니다.",
                when="graph",
            ),
            Statement(
                "The document is CommonMark, and every code fence is closed.",
                "문서는 CommonMark이고, 코드 펜스는 모두 닫습니다.",
                when="answer_only",
            ),
            Statement(
                "It has at most 64 KiB, 64 levels of nesting and 400 digits in a number.",
                "크기는 64 KiB, 중첩은 64단계, 수 하나의 자릿수는 400자리를 넘을 수 없습니다.",
            ),
        ),
        "native_syntax": (Statement("Use no raw HTML.", "HTML을 직접 쓰지 마세요."),),
        "root_container": (
            Statement(
                "The document begins with the heading `# Result`; the other headings are `## Inputs` and `## Steps`.",
                "문서는 `# Result` 제목으로 시작하고, 나머지 제목은 `## Inputs`와 `## Steps`입니다.",
                when="graph",
                base=True,
            ),
            Statement(
                "The document begins with the heading `# Result`, the only one.",
                "문서는 유일한 제목인 `# Result`로 시작합니다.",
                when="answer_only",
                base=True,
            ),
        ),
        "answer_slot": (
            Statement(
                "Below the first heading stands the list item `- Answer: ...` with the final answer.",
                "첫 제목 아래에 최종 답을 `- Answer: ...` 목록 항목으로 씁니다.",
                base=True,
            ),
            Statement(
                "The label Answer is plain text with an ASCII colon, in English, and the answer is one value without emphasis, code or "
                "links.",
                "라벨 Answer는 영어 그대로, 꾸밈 없는 텍스트와 ASCII 콜론으로 쓰고, 답은 강조, 코드, 링크가 없는 값 하나로 씁니다.",
                unless=("fence",),
            ),
        ),
        "inputs_container": (
            Statement(
                "Inputs is a numbered list: each item is the name of an input, with a nested bullet item `- Value: ...`.",
                "Inputs는 번호 목록입니다. 각 항목은 입력의 이름이고, 그 아래에 `- Value: ...` 항목을 중첩합니다.",
                base=True,
            ),
            Statement(
                "Input names are plain, without emphasis or code.",
                "입력 이름은 강조나 코드 없이 씁니다.",
                unless=("inline_code_ids", "bold_names"),
            ),
        ),
        "steps_container": (
            Statement(
                "Steps is a numbered list: each item is the id of a step, with the nested bullet items `- Operation: ...`, "
                "`- Arguments: ...` and `- Value: ...`.",
                "Steps는 번호 목록입니다. 각 항목은 단계의 id이고, 그 아래에 `- Operation: ...`, `- Arguments: ...`, `- Value: ...` 항목을 "
                "중첩합니다.",
                base=True,
            ),
            Statement(
                "The arguments are references and numbers, separated by commas.",
                "인자는 참조와 수를 쉼표로 구분하여 씁니다.",
            ),
        ),
    },
    mark=_MARK,
    find=_find,
    bound=_bound,
    read=_read,
    render=_render,
    styles=("plain", "stars", "loose", "tight"),
)


@MARKDOWN.rule(
    en="Inputs is a pipe table with the columns Name and Value, instead of a list.",
    ko="Inputs는 목록 대신 Name과 Value 열을 갖는 파이프 표로 씁니다.",
    replaces="inputs_container",
    stands_on=("inputs",),
)
def inputs_as_table(reading: Reading[Shape]) -> Iterator[Look]:
    """Inputs is a table with the columns Name, Value."""
    if reading.shape.inputs:
        yield Look(reading.shape.inputs == "table", "the inputs do not stand in a table alone", "inputs")


@MARKDOWN.rule(
    en="Steps is a pipe table with the columns ID, Operation, Arguments and Value, instead of a list.",
    ko="Steps는 목록 대신 ID, Operation, Arguments, Value 열을 갖는 파이프 표로 씁니다.",
    replaces="steps_container",
    stands_on=("steps",),
)
def steps_as_table(reading: Reading[Shape]) -> Iterator[Look]:
    """Steps is a table with the columns ID, Operation, Arguments, Value."""
    if reading.shape.steps:
        yield Look(reading.shape.steps == "table", "the steps do not stand in a table alone", "steps")


@MARKDOWN.rule(
    en="The answer stands alone in a fenced code block inside the list item `- Answer:`.",
    ko="답은 `- Answer:` 목록 항목 안의 펜스 코드 블록에 단독으로 씁니다.",
    replaces="answer_slot",
    answer_only=True,
    excludes=("blockquote_answer",),
    stands_on=("answer",),
)
def fence(reading: Reading[Shape]) -> Iterator[Look]:
    """The answer stands alone in a fenced code block inside the Answer item."""
    if reading.shape.answer:
        yield Look(
            reading.shape.answer == "fence", "the answer does not stand in a code fence inside its item", "answer"
        )


@MARKDOWN.rule(
    en="Every input name, step id and reference is inline code, one code span each.",
    ko="모든 입력 이름, 단계 id, 참조는 각각 인라인 코드 하나로 씁니다.",
    stands_on=("inputs", "steps"),
    near_miss=("`R1`", "R1"),
)
def inline_code_ids(reading: Reading[Shape]) -> Iterator[Look]:
    """Every name, step id and reference is inline code."""
    for scalar in (*reading.shape.names, *reading.shape.references):
        ok = "code" in scalar.dress and scalar.text is not None
        yield Look(ok, "the name is not one inline code span", scalar.at)


@MARKDOWN.rule(
    en="Every heading is one level deeper: `## Result`, and `### Inputs` and `### Steps` where there are any.",
    ko="모든 제목은 한 단계 깊게 씁니다. `## Result`, 그리고 있는 경우 `### Inputs`와 `### Steps`입니다.",
    replaces="root_container",
    answer_only=True,
    stands_on=("answer", "inputs", "steps"),
)
def heading_depth(reading: Reading[Shape]) -> Iterator[Look]:
    """`## Result`, `### Inputs`, `### Steps`."""
    for name, level, at in reading.shape.headings:
        due = 2 if name == "result" else 3
        yield Look(level == due, f"the heading {name.capitalize()} has level {level}; {due} is due", at)


@MARKDOWN.rule(
    en="The answer is the block quote `> Answer: ...`, not a list item.",
    ko="답은 목록 항목이 아니라 `> Answer: ...` 인용문으로 씁니다.",
    replaces="answer_slot",
    answer_only=True,
    excludes=("fence",),
    stands_on=("answer",),
)
def blockquote_answer(reading: Reading[Shape]) -> Iterator[Look]:
    """The answer field is `> Answer: 3521`."""
    if reading.shape.answer:
        yield Look(reading.shape.answer == "quote", "the answer does not stand in a block quote", "answer")


@MARKDOWN.rule(
    en="Every input name in Inputs and every step id in Steps is bold.",
    ko="Inputs의 모든 입력 이름과 Steps의 모든 단계 id는 굵게 씁니다.",
    stands_on=("inputs", "steps"),
    near_miss=("**R1**", "R1"),
)
def bold_names(reading: Reading[Shape]) -> Iterator[Look]:
    """Every input name in Inputs and step id in Steps is bold."""
    for scalar in reading.shape.names:
        yield Look("bold" in scalar.dress and scalar.text is not None, "the name is not bold", scalar.at)
