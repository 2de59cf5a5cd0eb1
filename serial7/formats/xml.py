"""XML 1.0 with namespaces. lxml parses: no entities, no network, no DTD, no recovery.

A tolerant reading exists where the only errors are a bare `&`, a bare `<`, an unknown entity, or end tags missing at the
end: the text is repaired with a marker at each such place, parsed strictly again, and whatever slot holds a marker is
absent. How awkward values are written: `&amp;` `&lt;` `&gt;` in text and `&quot;` in attributes, or CDATA, or character
references. Source: contracts.md section 4 (XML), section 3 "Parse", "Escaping", fine points "XML", "Comments".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from lxml import etree

from serial7.check import Due, InputRead, Look, Reading, Statement, StepRead, within
from serial7.errors import NotWellFormed
from serial7.format import MAX_ATTRIBUTES, MAX_DEPTH, Format, Span, line_of
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

NAMESPACE = "urn:serial7:response"
MAX_REPAIRS = 64

_MARK = re.compile(r"<(?:[\w.-]+:)?(?:response|main)(?=[\s/>]|\Z)", re.IGNORECASE)
_TAG = re.compile(r"""<(/?)([A-Za-z_:\u0080-\uffff][^\s/<>"'=]*+)((?>(?:[^<>"']|"[^"]*"|'[^']*')*))>""")
_ATTRIBUTE = re.compile(r"""=\s*(?:"[^"]*"|'[^']*')""")
_REFERENCE = re.compile(r"&(?:(?:amp|lt|gt|quot|apos)|#[0-9]+|#x[0-9A-Fa-f]+);")
_TWICE = re.compile(r"&amp;(?:(?:lt|gt|amp|quot|apos)|#[0-9]+|#x[0-9A-Fa-f]+);")
_BEFORE = re.compile(r"[ \t\r\n]*(?:<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>)?", re.DOTALL)


class _Piece(NamedTuple):
    """`kind`: open, close, empty (a self-closed tag), comment, cdata, pi, doctype, bare (a `<` that begins nothing)."""

    kind: str
    start: int
    end: int
    name: str = ""
    attributes: str = ""


def _pieces(text: str) -> Iterator[_Piece]:
    """The markup of a text in order; linear, for any text. Ends at markup that never ends."""
    position, bare = 0, 0
    while (start := text.find("<", position)) != -1:
        for opening, closing, kind in (
            ("<!--", "-->", "comment"),
            ("<![CDATA[", "]]>", "cdata"),
            ("<?", "?>", "pi"),
            ("<!", ">", "doctype"),
        ):
            if text.startswith(opening, start):
                end = text.find(closing, start + len(opening))
                if end == -1:
                    return
                position = end + len(closing)
                yield _Piece(kind, start, position)
                break
        else:
            tag = _TAG.match(text, start)
            if tag is None:
                bare += 1
                if bare > MAX_REPAIRS:
                    return
                position = start + 1
                yield _Piece("bare", start, position)
                continue
            position = tag.end()
            kind = "close" if tag[1] else "empty" if tag[3].endswith("/") else "open"
            yield _Piece(kind, start, position, tag[2], tag[3])


def _find(text: str) -> list[Span]:
    spans: list[Span] = []
    root, depth, start = "", 0, 0
    for piece in _pieces(text):
        if not root:
            if piece.kind in ("open", "empty") and _MARK.match(text, piece.start):
                start = _prologue_start(text, piece.start, spans[-1].end if spans else 0)
                if piece.kind == "empty":
                    spans.append(Span(start, _epilogue_end(text, piece.end)))
                else:
                    root, depth = piece.name, 1
        elif piece.name == root and piece.kind in ("open", "close"):
            depth += 1 if piece.kind == "open" else -1
            if depth == 0:
                spans.append(Span(start, _epilogue_end(text, piece.end)))
                root = ""
    if root:
        spans.append(Span(start, len(text), closed=False))
    elif not spans and (mark := _MARK.search(text)) is not None:
        # The opening tag itself never ends.
        spans.append(Span(_prologue_start(text, mark.start(), 0), len(text), closed=False))
    return spans


def _prologue_start(text: str, start: int, least: int) -> int:
    """Where a document begins whose root tag stands at `start`: comments, declarations and white space belong to it."""
    head = text[least:start]
    position = 0
    if not head.strip(WHITE_SPACE):
        return least
    while position < len(head):
        match = _BEFORE.match(head, position)
        if match is None or match.end() == position:
            break
        position = match.end()
    if position == len(head):
        return least
    stripped = head.rstrip(WHITE_SPACE)
    return least + len(stripped)


def _epilogue_end(text: str, end: int) -> int:
    while True:
        match = re.compile(r"[ \t\r\n]*(?:<!--(?:(?!-->).)*-->|<\?(?:(?!\?>).)*\?>)", re.DOTALL).match(text, end)
        if match is None:
            break
        end = match.end()
    while end < len(text) and text[end] in WHITE_SPACE:
        end += 1
    return end


def _bound(text: str) -> None:
    depth = 0
    for piece in _pieces(text):
        if piece.kind == "open":
            depth += 1
            if depth > MAX_DEPTH:
                raise NotWellFormed(f"nested deeper than {MAX_DEPTH} elements", line_of(text, piece.start))
        elif piece.kind == "close":
            depth -= 1
        if piece.attributes.count("=") > MAX_ATTRIBUTES:
            count = len(_ATTRIBUTE.findall(piece.attributes))
            if count > MAX_ATTRIBUTES:
                place = line_of(text, piece.start)
                raise NotWellFormed(f"{count} attributes on a tag; at most {MAX_ATTRIBUTES} are read", place)


@dataclass(slots=True)
class Shape:
    """What the rules of XML look at: (right form, what stands there, where) of each part."""

    root_children: list[str] = field(default_factory=list)
    namespaces: list[tuple[str, str]] = field(default_factory=list)  # (namespace, place) of each element
    values: list[tuple[bool, str]] = field(default_factory=list)  # (value="..." alone, place)
    args: list[tuple[bool, str]] = field(default_factory=list)  # (args="..." alone, place) of each step that has some


@dataclass(slots=True)
class _Reader:
    reading: Reading[Shape]
    due: Due
    marker: str  # stands where the tolerant reading repaired the text; empty = nothing was repaired

    def element(self, element: Any, at: str) -> str:
        """Note the namespace of an element and return its local name."""
        name = etree.QName(element)
        self.reading.shape.namespaces.append((name.namespace or "", at))
        if name.namespace == NAMESPACE:
            self.reading.fault(
                "root_container", f"{name.localname} is in the namespace {NAMESPACE}", at, ("namespace",)
            )
        elif name.namespace:
            self.reading.fault("root_container", f"{name.localname} is in the namespace {name.namespace!r}", at)
        return str(name.localname)

    def attributes(self, element: Any, known: tuple[str, ...], check: str, at: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for key, value in element.attrib.items():
            if key in known:
                found[key] = value.strip(WHITE_SPACE)
            else:
                self.reading.fault(check, f"the attribute {key!r} is not one that the contract names", at)
        return found

    def children(self, element: Any, check: str, at: str) -> list[Any]:
        """The child elements; text beside them is a fault of `check`."""
        texts = [element.text, *(child.tail for child in element)]
        if any(text and text.replace(self.marker, "").strip(WHITE_SPACE) for text in texts):
            self.reading.fault(check, "text stands between the elements", at)
        return [child for child in element if isinstance(child.tag, str)]

    def text(self, element: Any, check: str, at: str) -> str | None:
        """The trimmed text of a slot, comments and processing instructions passed over; None if it is not one scalar."""
        if any(isinstance(child.tag, str) for child in element):
            self.reading.fault(check, "an element stands inside the value", at)
            for child in element.iter("*"):
                if child is not element:
                    self.element(child, at)
            return None
        return ((element.text or "") + "".join(child.tail or "" for child in element)).strip(WHITE_SPACE)

    def scalar(self, element: Any, attributes: dict[str, str], check: str, at: str) -> str | None:
        """The text of a slot, as text or as `value="..."`; None = absent."""
        text = self.text(element, check, at)
        attribute = attributes.get("value")
        self.reading.shape.values.append((attribute is not None and not text and text is not None, at))
        if attribute is None:
            return text
        if text is None:
            return None
        self.reading.fault(check, "the value stands in an attribute", at, ("value_as_attribute",))
        if text:
            self.reading.fault(check, "the value stands both in an attribute and as text", at)
            return text if text == attribute else None
        return attribute

    def broken(self, text: str | None, check: str, at: str) -> bool:
        if text is not None and self.marker and self.marker in text:
            self.reading.fault(check, "the document is not well formed here", at)
            return True
        return False

    def number(self, text: str | None, check: str, at: str) -> Decimal | None:
        if not text or self.broken(text, check, at):
            return None
        value = parse_number(text)
        if value is None:
            self.reading.fault(check, f"{_short(text)} is not a number", at)
            value = undress_number(text)
        return value

    def name(self, text: str | None, check: str, at: str, *, free: bool = False) -> str | None:
        if not text or self.broken(text, check, at):
            return None
        if not free and not is_name(text):
            self.reading.fault(check, f"{_short(text)} is not a name of the contract's grammar", at)
        return text

    def root(self, root: Any) -> None:
        reading, shape = self.reading, self.reading.shape
        name = self.element(root, "root")
        if name != "response":
            reading.fault("root_container", f"the root element is {name}; response is due", "root")
        self.attributes(root, (), "root_container", "root")
        wanted = ("answer", "inputs", "steps") if self.due.graph else ("answer",)
        found: dict[str, list[Any]] = {}
        for child in self.children(root, "root_container", "root"):
            local = str(etree.QName(child).localname)
            shape.root_children.append(local)
            if local in wanted:
                found.setdefault(local, []).append(child)
            else:
                self.element(child, local)
                reading.fault(
                    "root_container", f"the element {local} is not one that the contract names", _at(child, local)
                )
        for local, elements in found.items():
            for extra in elements[1:]:
                reading.fault("root_container", f"{local} stands {len(elements)} times; once is due", _at(extra, local))
        self.answer(found.get("answer", []))
        if self.due.graph:
            self.inputs(found.get("inputs", []))
            self.steps(found.get("steps", []))

    def answer(self, elements: list[Any]) -> None:
        reading, check = self.reading, "answer_slot"
        if not elements:
            reading.fault(check, "the element answer is missing", "answer")
            return
        values: list[Decimal | str | None] = []
        for element in elements:
            at = _at(element, "answer")
            self.element(element, at)
            text = self.scalar(element, self.attributes(element, ("value",), check, at), check, at)
            if text == "":
                reading.fault(check, "the answer is empty", at)
            if self.due.text_answer:
                if text and has_control(text):
                    reading.fault(check, f"a control character in {_short(text)}", at)
                values.append(None if not text or self.broken(text, check, at) else text)
            else:
                values.append(self.number(text, check, at))
        reading.answer = values[0] if len(set(values)) == 1 else None

    def inputs(self, elements: list[Any]) -> None:
        reading, check = self.reading, "inputs_container"
        if not elements:
            reading.fault(check, "the element inputs is missing", "inputs")
            return
        self.element(elements[0], "inputs")
        self.attributes(elements[0], (), check, "inputs")
        for child in self.children(elements[0], check, "inputs"):
            at = _at(child, f"inputs[{len(reading.inputs)}]")
            local = self.element(child, at)
            if local != "input":
                reading.fault(check, f"the element {local} stands among the inputs", at)
                continue
            attributes = self.attributes(child, ("name", "value"), check, at)
            value = self.number(self.scalar(child, attributes, check, at), check, at)
            reading.inputs.append(InputRead(self.name(attributes.get("name"), check, at), value, at))
        if not reading.inputs:
            reading.fault(check, "inputs holds no record", "inputs")

    def steps(self, elements: list[Any]) -> None:
        reading, check = self.reading, "steps_container"
        if not elements:
            reading.fault(check, "the element steps is missing", "steps")
            return
        self.element(elements[0], "steps")
        self.attributes(elements[0], (), check, "steps")
        for child in self.children(elements[0], check, "steps"):
            at = _at(child, f"steps[{len(reading.steps)}]")
            local = self.element(child, at)
            if local != "step":
                reading.fault(check, f"the element {local} stands among the steps", at)
                continue
            reading.steps.append(self.step(child, at))
        if not reading.steps:
            reading.fault(check, "steps holds no record", "steps")

    def step(self, element: Any, at: str) -> StepRead:
        reading, check = self.reading, "steps_container"
        attributes = self.attributes(element, ("id", "op", "args", "value"), check, at)
        args: list[Ref | Decimal | None] = []
        values: list[Any] = []
        for child in self.children(element, check, at):
            local = self.element(child, at)
            if local == "arg":
                args.append(self.arg(child, within(at, f".args[{len(args)}]")))
            elif local == "value":
                self.attributes(child, (), check, within(at, ".value"))
                values.append(child)
            else:
                reading.fault(check, f"the element {local} is not one that the contract names", at)
        listed = attributes.get("args")
        if listed is not None:
            reading.fault(check, "the arguments stand in an attribute", at, ("args_as_attribute",))
        if listed is not None or args:
            reading.shape.args.append((listed is not None and not args, at))
        given = tuple(args)
        if listed is not None:
            pieces = tuple(self.listed(piece, at) for piece in re.split(r"[ \t\r\n]+", listed) if piece)
            if args:
                reading.fault(check, "the arguments stand both in an attribute and as elements", at)
            given = pieces if not args or pieces == given else (None,)
        return StepRead(
            id=self.name(attributes.get("id"), check, within(at, ".id")),
            op=self.name(attributes.get("op"), check, within(at, ".op"), free=True),
            args=given or None,
            value=self.step_value(attributes.get("value"), values, within(at, ".value")),
            at=at,
        )

    def step_value(self, attribute: str | None, elements: list[Any], at: str) -> Decimal | None:
        reading, check = self.reading, "steps_container"
        texts = [self.text(element, check, at) for element in elements]
        if attribute is not None:
            reading.fault(check, "the value stands in an attribute", at, ("value_as_attribute",))
            texts.append(attribute)
        if texts:
            reading.shape.values.append((attribute is not None and not elements, at))
        if len(texts) > 1:
            reading.fault(check, "the value stands more than once", at)
        return self.number(texts[0], check, at) if len(set(texts)) == 1 else None

    def arg(self, element: Any, at: str) -> Ref | Decimal | None:
        check = "steps_container"
        attributes = self.attributes(element, ("ref",), check, at)
        text = self.text(element, check, at)
        reference = attributes.get("ref")
        if reference is None:
            if text == "":
                self.reading.fault(check, "the argument is empty", at)
            return self.number(text, check, at)
        if text:
            self.reading.fault(check, "the argument has both a reference and text", at)
        name = self.name(reference, check, at)
        if not reference:
            self.reading.fault(check, "the reference is empty", at)
        return None if name is None or text else Ref(name)

    def listed(self, piece: str, at: str) -> Ref | Decimal | None:
        value = parse_number(piece)
        if value is not None:
            return value
        name = self.name(piece, "steps_container", within(at, ".args"))
        return None if name is None else Ref(name)


def _at(element: Any, path: str) -> str:
    return f"{path} (line {element.sourceline})" if element.sourceline else path


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def _parse(text: str) -> Any:
    parser = etree.XMLParser(
        encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, strip_cdata=True
    )
    # The declared encoding is void: the text channel is decoded already. A repeated xml:id is well formed, and
    # libxml2 alone minds it.
    return etree.fromstring(text.replace("xml:id", "xml:xd").encode("utf-8"), parser)


def _read(text: str, due: Due) -> Reading[Shape]:
    document = text.strip(WHITE_SPACE)
    if any(piece.kind == "doctype" for piece in _pieces(document)):
        raise NotWellFormed("a DOCTYPE is not allowed")
    reading = Reading(Shape())
    marker = ""
    try:
        root = _parse(document)
    except etree.XMLSyntaxError as error:
        root, marker = _repaired(document, reading, error)
    if "&amp;" in document and _TWICE.search(_without_cdata(document)) is not None:
        reading.fault("escaping", "a reference is escaped twice", line_of(document, _TWICE.search(document).start()))  # type: ignore[union-attr]
    _Reader(reading, due, marker).root(root)
    return reading


def _without_cdata(text: str) -> str:
    if "<![CDATA[" not in text and "<!--" not in text:
        return text
    kept, position = [], 0
    for piece in _pieces(text):
        if piece.kind in ("cdata", "comment"):
            kept.append(text[position : piece.start])
            position = piece.end
    return "".join([*kept, text[position:]])


def _repaired(text: str, reading: Reading[Shape], error: etree.XMLSyntaxError) -> tuple[Any, str]:
    """The tree of the tolerant reading and its marker; faults for what was repaired.

    Raises:
        NotWellFormed: the document has an error of another kind.
    """
    line, column = error.position
    strict = NotWellFormed(_message(error), f"line {line}, column {column}")
    marker = next(c for c in map(chr, range(0xE000, 0xF8FF)) if c not in text)
    parts: list[str] = []
    faults: list[tuple[str, int]] = []
    open_names: list[str] = []
    position = 0

    def keep(end: int, *, references: bool) -> None:
        nonlocal position
        chunk = text[position:end]
        if references and "&" in chunk:
            chunk = _mend_references(chunk, position, marker, faults)
        parts.append(chunk)
        position = end

    for piece in _pieces(text):
        keep(piece.start, references=True)
        if piece.kind == "bare":
            faults.append(("a bare <", piece.start))
            parts.append(f"&lt;{marker}")
            position = piece.end
            continue
        if piece.kind in ("comment", "cdata", "pi"):
            keep(piece.end, references=False)
            continue
        if piece.kind == "open":
            open_names.append(piece.name)
        elif piece.kind == "close" and (not open_names or open_names.pop() != piece.name):
            raise strict
        quoted = _mend_references(text[piece.start : piece.end], piece.start, marker, faults)
        parts.append(_mend_attributes(quoted, piece.start, marker, faults))
        position = piece.end
    keep(len(text), references=True)
    if open_names:
        parts.append(marker + "".join(f"</{name}>" for name in reversed(open_names)))
    if (not faults and not open_names) or len(faults) > MAX_REPAIRS:
        raise strict
    try:
        root = _parse("".join(parts))
    except etree.XMLSyntaxError:
        raise strict from error
    for why, offset in faults:
        reading.fault("well_formed", why, line_of(text, offset))
        reading.fault("escaping", why, line_of(text, offset))
    if open_names:
        reading.fault("well_formed", f"the end tag of {', '.join(reversed(open_names))} is missing", "the end")
    return root, marker


_NAMED = re.compile(r"&[A-Za-z_][\w.-]*;")


def _mend_references(chunk: str, offset: int, marker: str, faults: list[tuple[str, int]]) -> str:
    parts, position = [], 0
    while (start := chunk.find("&", position)) != -1:
        parts.append(chunk[position:start])
        known = _REFERENCE.match(chunk, start)
        if known is not None:
            parts.append(known[0])
            position = known.end()
            continue
        named = _NAMED.match(chunk, start)
        faults.append((f"the unknown entity {named[0]}" if named else "a bare &", offset + start))
        parts.append(f"&amp;{marker}")
        position = start + 1
    return "".join([*parts, chunk[position:]])


def _mend_attributes(tag: str, offset: int, marker: str, faults: list[tuple[str, int]]) -> str:
    if "<" not in tag[1:]:
        return tag
    faults.append(("a bare < in an attribute", offset))
    return tag[0] + tag[1:].replace("<", f"&lt;{marker}")


def _message(error: etree.XMLSyntaxError) -> str:
    text = (error.msg or "not well formed").split(", line ")[0]
    return text[:1].lower() + text[1:]


def _render(ir: CanonicalIR, rules: frozenset[str], style: str) -> str:
    writer = _Writer(rules, style)
    parts = {"answer": writer.slot("answer", {}, ir.answer)}
    if ir.graph_bearing:
        inputs = [writer.slot("input", {"name": i.name}, i.value) for i in ir.inputs]
        parts["inputs"] = writer.container("inputs", inputs)
        parts["steps"] = writer.container("steps", [writer.step(s.id, s.op, s.args, s.value) for s in ir.steps])
    order = ["answer", "inputs", "steps"] if style != "reordered" else ["steps", "answer", "inputs"]
    if "sibling_order" in rules:
        order = ["answer", "steps", "inputs"] if style != "reordered" else ["steps", "inputs", "answer"]
    if "answer_last" in rules:
        order = [part for part in order if part != "answer"] + ["answer"]
    children = [line for part in order if part in parts for line in parts[part]]
    space = ""
    if "namespace" in rules:
        space = f' xmlns{":s7" if writer.prefix else ""}="{NAMESPACE}"'
    lines = [
        f"<{writer.prefix}response{space}>",
        *(f"{writer.pad}{line}" for line in children),
        f"</{writer.prefix}response>",
    ]
    text = writer.newline.join(lines)
    if style == "declared":
        return f'<?xml version="1.0" encoding="UTF-8"?>\n<!-- a response -->\n{text}\n<!-- done -->\n'
    return text + ("\n" if writer.newline else "")


@dataclass(slots=True)
class _Writer:
    rules: frozenset[str]
    style: str

    @property
    def pad(self) -> str:
        return {"compact": "", "declared": "\t"}.get(self.style, "  ")

    @property
    def newline(self) -> str:
        return "" if self.style == "compact" else "\n"

    @property
    def prefix(self) -> str:
        return "s7:" if "namespace" in self.rules and self.style in ("references", "reordered") else ""

    def tag(self, name: str, attributes: dict[str, str], close: str = ">") -> str:
        items = list(attributes.items())
        if self.style in ("reordered", "references"):
            items.reverse()
        return f"<{self.prefix}{name}" + "".join(f" {k}={self.quoted(v)}" for k, v in items) + close

    def quoted(self, value: str) -> str:
        if self.style == "reordered" and "'" not in value:
            return "'" + escape(value) + "'"
        return quoteattr(value)

    def text(self, value: Decimal | str) -> str:
        text = value if isinstance(value, str) else number_text(value)
        if self.style == "references":
            return "".join(c if c.isalnum() and c.isascii() else f"&#x{ord(c):X};" for c in text)
        if self.style == "declared" and isinstance(value, str) and "]]>" not in text:
            return f"<![CDATA[{text}]]>"
        return escape(text)

    def slot(self, name: str, attributes: dict[str, str], value: Decimal | str) -> list[str]:
        if "value_as_attribute" in self.rules:
            text = value if isinstance(value, str) else number_text(value)
            return [self.empty(name, {**attributes, "value": text})]
        body = self.text(value)
        if self.style == "declared":
            body = f"\n{body}\n<!-- value -->"
        return [f"{self.tag(name, attributes)}{body}</{self.prefix}{name}>"]

    def empty(self, name: str, attributes: dict[str, str]) -> str:
        if self.style in ("compact", "declared"):
            return f"{self.tag(name, attributes)}</{self.prefix}{name}>"
        return self.tag(name, attributes, "/>")

    def container(self, name: str, records: list[list[str]]) -> list[str]:
        return [self.tag(name, {}), *(f"{self.pad}{line}" for r in records for line in r), f"</{self.prefix}{name}>"]

    def step(self, id_: str, op: str, args: tuple[Ref | Decimal, ...], value: Decimal) -> list[str]:
        attributes = {"id": id_, "op": op}
        lines: list[str] = []
        if "args_as_attribute" in self.rules:
            attributes["args"] = " ".join(a.name if isinstance(a, Ref) else number_text(a) for a in args)
        else:
            for arg in args:
                if isinstance(arg, Ref):
                    lines.append(self.empty("arg", {"ref": arg.name}))
                else:
                    lines.append(f"{self.tag('arg', {})}{self.text(arg)}</{self.prefix}arg>")
        if "value_as_attribute" in self.rules:
            attributes["value"] = number_text(value)
        else:
            lines.append(f"{self.tag('value', {})}{self.text(value)}</{self.prefix}value>")
            if self.style == "reordered":
                lines.insert(0, lines.pop())
        if not lines:
            return [self.empty("step", attributes)]
        return [self.tag("step", attributes), *(f"{self.pad}{line}" for line in lines), f"</{self.prefix}step>"]


XML: Format[Shape] = Format(
    name="xml",
    title="XML",
    contract={
        "clean_boundary": (
            Statement(
                "Output the XML document alone: no text before or after it, and no code fence around it.",
                "XML 문서만 출력하세요. 앞뒤에 다른 글을 쓰거나 코드 펜스로 감싸지 마세요.",
            ),
        ),
        "well_formed": (
            Statement(
                "The document is well-formed XML 1.0 with namespaces and has no DOCTYPE; at most 64 KiB, 64 levels of nesting, "
                "64 attributes on a tag and 400 digits in a number.",
                "문서는 이름공간 규칙까지 지킨 정형식(well-formed) XML 1.0이어야 하고 DOCTYPE이 없어야 합니다. 크기는 64 KiB, 중첩은 "
                "64단계, 한 태그의 속성은 64개, 수 하나의 자릿수는 400자리를 넘을 수 없습니다.",
            ),
        ),
        "root_container": (
            Statement(
                "The root is exactly one <response> element, without attributes and in no namespace.",
                "루트는 속성이 없고 어떤 이름공간에도 속하지 않는 <response> 요소 하나입니다.",
                base=True,
            ),
            Statement(
                "<response> has exactly one <answer>, one <inputs> and one <steps>, and no text between its elements.",
                "<response>에는 <answer>, <inputs>, <steps>가 하나씩만 있고, 요소 사이에 글이 없어야 합니다.",
                when="graph",
            ),
            Statement(
                "<response> has exactly one <answer> and nothing beside it.",
                "<response>에는 <answer> 하나만 있습니다.",
                when="answer_only",
            ),
        ),
        "answer_slot": (
            Statement(
                "The final answer is the text of <answer>, which has no attributes.",
                "최종 답은 속성이 없는 <answer>의 텍스트로 씁니다.",
                base=True,
            ),
            Statement(
                "The answer is one value, with no elements inside it.",
                "답은 값 하나이며 그 안에 다른 요소가 없어야 합니다.",
            ),
        ),
        "escaping": (
            Statement(
                "In text and attribute values & and < are escaped (&amp; &lt;), once and not twice, and only references known to "
                "XML are used.",
                "텍스트와 속성 값의 &와 <는 한 번만 이스케이프하고(&amp; &lt;), XML이 아는 참조만 씁니다.",
            ),
        ),
        "inputs_container": (
            Statement(
                '<inputs> holds one <input name="..."> for each input, and nothing else.',
                '<inputs>에는 입력마다 <input name="..."> 요소를 하나씩 두고 다른 것은 두지 않습니다.',
            ),
            Statement(
                "The value of an input is the text of its <input>.",
                "입력의 값은 <input>의 텍스트로 씁니다.",
                unless=("value_as_attribute",),
            ),
        ),
        "steps_container": (
            Statement(
                '<steps> holds one <step id="..." op="..."> for each step, and nothing else.',
                '<steps>에는 단계마다 <step id="..." op="..."> 요소를 하나씩 두고 다른 것은 두지 않습니다.',
            ),
            Statement(
                'In a <step>, each argument is an <arg>: <arg ref="name"/> for a reference, <arg>number</arg> for a literal.',
                '<step> 안에서 각 인자는 <arg>로 씁니다. 참조는 <arg ref="name"/>, 상수는 <arg>number</arg>입니다.',
                unless=("args_as_attribute",),
            ),
            Statement(
                "The value of a step is the text of one <value> inside its <step>.",
                "단계의 값은 <step> 안에 있는 <value> 하나의 텍스트로 씁니다.",
                unless=("value_as_attribute",),
            ),
        ),
    },
    mark=_MARK,
    find=_find,
    bound=_bound,
    read=_read,
    render=_render,
    styles=("indented", "compact", "references", "declared", "reordered"),
)


@XML.rule(
    en='Each <step> lists its arguments in the attribute args="..." (references and numbers separated by white space) and has no '
    "<arg>.",
    ko='각 <step>은 인자를 args="..." 속성에 공백으로 구분하여 쓰고(참조와 수), <arg>는 두지 않습니다.',
    stands_on=("steps",),
    near_miss=(
        ' args="caribbean_price 7">\n',
        '>\n      <arg ref="caribbean_price"/>\n      <arg>7</arg>\n',
    ),
)
def args_as_attribute(reading: Reading[Shape]) -> Iterator[Look]:
    """Each `<step>` has `args="caribbean_price 7"` and no `<arg>`."""
    for ok, at in reading.shape.args:
        yield Look(ok, "the arguments do not stand in the attribute args alone", at)


@XML.rule(
    en=f"The root is exactly one <response> element without attributes, and every element is in the namespace {NAMESPACE} "
    "(as default namespace or with a prefix).",
    ko=f"루트는 속성이 없는 <response> 요소 하나이고, 모든 요소는 이름공간 {NAMESPACE}에 속합니다(기본 이름공간이나 접두사로 선언).",
    replaces="root_container",
    answer_only=True,
    stands_on=("answer", "inputs", "steps"),
    near_miss=(f' xmlns="{NAMESPACE}"', ""),
)
def namespace(reading: Reading[Shape]) -> Iterator[Look]:
    """Every element is in the namespace `urn:serial7:response`."""
    for space, at in reading.shape.namespaces:
        yield Look(space == NAMESPACE, f"the element is in {space or 'no namespace'}; {NAMESPACE} is due", at)


@XML.rule(
    en="<steps> stands before <inputs>.",
    ko="<steps>는 <inputs>보다 앞에 둡니다.",
    stands_on=("steps", "inputs"),
)
def sibling_order(reading: Reading[Shape]) -> Iterator[Look]:
    """`<steps>` stands before `<inputs>`."""
    order = reading.shape.root_children
    if "steps" in order and "inputs" in order:
        yield Look(order.index("steps") < order.index("inputs"), "inputs stands before steps", "root")


@XML.rule(
    en='<answer>, each <input> and each <step> carry their value in the attribute value="...", with no text and no <value>; an '
    "<arg> does not.",
    ko='<answer>와 각 <input>, <step>은 값을 value="..." 속성에 쓰고 텍스트나 <value>는 두지 않습니다. <arg>에는 적용하지 않습니다.',
    replaces="answer_slot",
    answer_only=True,
    stands_on=("answer", "inputs", "steps"),
    near_miss=('<input name="caribbean_price" value="503"/>', '<input name="caribbean_price">503</input>'),
)
def value_as_attribute(reading: Reading[Shape]) -> Iterator[Look]:
    """Answer, inputs and steps carry `value="..."`, no text and no `<value>`."""
    for ok, at in reading.shape.values:
        yield Look(ok, "the value does not stand in the attribute value alone", at)


@XML.rule(
    en="<answer> is the last child of the root.",
    ko="<answer>는 루트의 마지막 자식입니다.",
    stands_on=("answer",),
)
def answer_last(reading: Reading[Shape]) -> Iterator[Look]:
    """`<answer>` is the last child of the root; comments do not count."""
    order = reading.shape.root_children
    if "answer" in order:
        yield Look(order[-1] == "answer", f"{order[-1]} stands last", "root")
