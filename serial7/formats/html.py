"""HTML, a fragment around one `<main>`. html5lib parses by the HTML standard and lists its parse errors.

What html5lib does not report (text directly in a table, ids that stand twice) or reports too strictly (`AT&T`), and the
escaping of attribute values, is seen by one linear scan of the source (`_scan`), which also keeps the bounds before the
parser. Every parse error but those of escaping fails `well_formed`; the tree is read all the same. How awkward values
are written: `&amp;` `&lt;` in text, `&quot;` too in attributes, or character references. Source: contracts.md section
4 (HTML), section 3 "Parse", "Escaping", fine points "HTML"; HTML Standard section 13.2.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from html.entities import html5 as named_references
from typing import Any

import html5lib
from html5lib.constants import E as MESSAGES

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

_MARK = re.compile(r"<(?:[\w.-]+:)?(?:response|main)(?=[\s/>]|\Z)", re.IGNORECASE)
_TAG = re.compile(r"""<(/?)([A-Za-z][^\s/<>]*+)((?:[^<>"']|"[^"]*"|'[^']*')*+)>""")
_ATTRIBUTE = re.compile(r"""[^\s"'<>/=]++(?:\s*+=\s*+(?:"[^"]*"|'[^']*'|[^\s"'>]++))?""")
_REFERENCE = re.compile(r"&(#[0-9]+;|#[xX][0-9A-Fa-f]+;|[A-Za-z][A-Za-z0-9]*;)?")
_TWICE = re.compile(r"&amp;(?:(?:lt|gt|amp|quot|apos)|#[0-9]+|#x[0-9A-Fa-f]+);")
_PROLOGUE = re.compile(r"(?:[ \t\r\n]+|<!--.*?-->|<!doctype[^>]*>|<\?[^>]*>)*", re.IGNORECASE | re.DOTALL)
_PAGE = re.compile(r"<(?:html|head|body)(?=[\s/>])", re.IGNORECASE)
_PAGE_END = re.compile(r"(?:.*?</(?:html|body)\s*>)+", re.IGNORECASE | re.DOTALL)

_VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"]
)
# Elements whose start tag ends an open one of the same group (implied end tags).
_IMPLIED = {name: frozenset(group.split()) for group in ("li", "dt dd", "tr", "td th", "p", "option", "tbody thead tfoot") for name in group.split()}  # fmt: skip
_FORMATTING = frozenset(
    ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"]
)
_RAW = frozenset({"script", "style", "textarea", "title"})
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_PHRASING = frozenset(
    [
        "a",
        "abbr",
        "b",
        "bdi",
        "bdo",
        "br",
        "button",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "i",
        "img",
        "ins",
        "kbd",
        "label",
        "mark",
        "math",
        "meter",
        "output",
        "progress",
        "q",
        "s",
        "samp",
        "small",
        "span",
        "strong",
        "sub",
        "sup",
        "svg",
        "time",
        "u",
        "var",
        "wbr",
        "script",
        "style",
        "template",
        "td",
        "th",
    ]
)
_GLOBAL = frozenset({"class", "id", "style", "lang", "title", "hidden", "role"})
_OURS = frozenset({"data-name", "data-value", "data-id", "data-op", "data-args"})
_MARKDOWN = re.compile(
    r"^[ \t]*(?:```|~~~|#{1,6} )|\*\*[^*\n]+\*\*|__[^_\n]+__|`[^`\n]+`|\[[^\]\n]+\]\([^)\n]*\)", re.MULTILINE
)
# A bare `<`, a bare `&` (also before a name that needs no semicolon) and an unknown reference are faults of escaping alone.
_ESCAPING_ERRORS = frozenset(
    {
        "expected-named-entity",
        "expected-tag-name",
        "expected-tag-name-but-got-right-bracket",
        "named-entity-without-semicolon",
        "numeric-entity-without-semicolon",
    }
)


@dataclass(slots=True)
class _Scan:
    """What one pass over the source finds; each entry is (why, offset)."""

    escaping: list[tuple[str, int]] = field(default_factory=list)
    in_table: list[tuple[str, int]] = field(default_factory=list)
    open_output: bool = False  # an <output> without its end tag
    too_much: tuple[str, int] | None = None


def _scan(text: str) -> _Scan:
    found = _Scan()
    stack: list[str] = []
    lost = bare = 0  # formatting elements closed by another's end tag: the parser opens them again and again
    position = 0
    while position < len(text):
        start = text.find("<", position)
        chunk_end = len(text) if start == -1 else start
        _scan_text(text, position, chunk_end, stack, found)
        if start == -1:
            break
        if text.startswith(("<!", "<?"), start):
            closing = "-->" if text.startswith("<!--", start) else ">"
            end = text.find(closing, start + 2)
            position = len(text) if end == -1 else end + len(closing)
            continue
        tag = _TAG.match(text, start) if bare <= MAX_DEPTH else None
        if tag is None:
            bare += 1
            if text[start + 1 : start + 2].isalpha() or text.startswith("</", start):
                position = start + 2  # an unfinished tag: the parser speaks of it
            else:
                found.escaping.append(("a bare <", start))
                position = start + 1
            continue
        position = tag.end()
        name = tag[2].lower()
        if tag[1]:
            if name in stack:
                while stack and (popped := stack.pop()) != name:
                    lost += popped in _FORMATTING
                    found.open_output |= popped == "output"
            continue
        if len(tag[3]) > 2 * MAX_ATTRIBUTES and len(_ATTRIBUTE.findall(tag[3])) > MAX_ATTRIBUTES:
            found.too_much = found.too_much or (f"more than {MAX_ATTRIBUTES} attributes on a tag", start)
        _scan_attributes(text, tag.start(3), tag.end(3), found)
        if name in _VOID:
            continue
        if stack and stack[-1] in _IMPLIED.get(name, ()):
            stack.pop()
        stack.append(name)
        if len(stack) + lost > MAX_DEPTH:
            found.too_much = found.too_much or (f"nested deeper than {MAX_DEPTH} elements", start)
        if name in _RAW:
            end = text.lower().find(f"</{name}", position) if name in stack else -1
            position = len(text) if end == -1 else end
    found.open_output |= "output" in stack
    return found


def _scan_text(text: str, start: int, end: int, stack: list[str], found: _Scan) -> None:
    chunk = text[start:end]
    if "&" in chunk:
        _scan_references(chunk, start, found)
    if stack and stack[-1] in ("table", "tbody", "thead", "tfoot", "tr") and chunk.strip(WHITE_SPACE):
        found.in_table.append(("text stands directly in a table", start))


def _scan_attributes(text: str, start: int, end: int, found: _Scan) -> None:
    chunk = text[start:end]
    if "&" in chunk:
        _scan_references(chunk, start, found)
    if "<" in chunk:
        found.escaping.append(("a bare < in an attribute value", start + chunk.index("<")))


def _scan_references(chunk: str, offset: int, found: _Scan) -> None:
    for match in _REFERENCE.finditer(chunk):
        if match[1] is None:
            found.escaping.append(("a bare &", offset + match.start()))
        elif match[1][0] != "#" and match[1] not in named_references:
            found.escaping.append((f"the unknown reference &{match[1]}", offset + match.start()))
    for match in _TWICE.finditer(chunk):
        found.escaping.append(("a reference is escaped twice", offset + match.start()))


def _find(text: str) -> list[Span]:
    spans: list[Span] = []
    position = 0
    while (mark := _next_mark(text, position)) is not None:
        least = spans[-1].end if spans else 0
        end = _end_of_element(text, mark)
        start = _start(text, mark, least)
        if _PAGE.match(text, start) or _PAGE.search(text, least, mark):
            page = _PAGE.search(text, least, mark)
            start = _start(text, page.start() if page else mark, least)
            page_end = _PAGE_END.match(text, end or mark)
            end = page_end.end() if page_end else end
        if end is None:
            spans.append(Span(start, len(text), closed=False))
            break
        blank = _BLANK_END.match(text, end)
        end = blank.end() if blank else end
        spans.append(Span(start, end))
        position = end
    return spans


_BLANK_END = re.compile(r"(?:[ \t\r\n]+|<!--(?:(?!-->).)*-->)*", re.DOTALL)


def _next_mark(text: str, position: int) -> int | None:
    """The offset of the next opening of a root, comments passed over."""
    while (mark := _MARK.search(text, position)) is not None:
        comment = text.find("<!--", position, mark.start())
        if comment == -1:
            return mark.start()
        end = text.find("-->", comment)
        if end == -1:
            return None
        if end < mark.start():
            position = end + 3
            continue
        position = end + 3
    return None


def _end_of_element(text: str, start: int) -> int | None:
    opening = _MARK.match(text, start)
    assert opening is not None
    name = re.escape(opening[0][1:])
    depth = 0
    for tag in re.compile(rf"<!--.*?-->|<(/?){name}(?=[\s/>])[^>]*>", re.IGNORECASE | re.DOTALL).finditer(text, start):
        if tag[0].startswith("<!--"):
            continue
        depth += -1 if tag[1] else 1
        if depth == 0:
            return tag.end()
    return None


def _start(text: str, mark: int, least: int) -> int:
    """Where a document begins: white space, comments and declarations directly before its first tag belong to it."""
    match = _PROLOGUE.match(text, least)
    if match is not None and match.end() >= mark:
        return least
    return least + len(text[least:mark].rstrip(WHITE_SPACE))


def _bound(text: str) -> None:
    found = _scan(text)
    if found.too_much is not None:
        why, offset = found.too_much
        raise NotWellFormed(why, line_of(text, offset))


@dataclass(slots=True)
class Shape:
    """What the rules of HTML look at."""

    main_children: list[str] = field(default_factory=list)
    inputs_tag: str = ""
    steps_tag: str = ""
    answer: bool = False
    in_dl: bool = False
    strong: bool = False
    # Headings and the three parts in document order: (name, level of a heading or 0).
    order: list[tuple[str, int]] = field(default_factory=list)


def _read(text: str, due: Due) -> Reading[Shape]:
    parser = html5lib.HTMLParser(tree=html5lib.getTreeBuilder("etree"), namespaceHTMLElements=False)
    try:
        tree = parser.parse(text)
    except RecursionError as error:
        raise NotWellFormed(f"nested deeper than {MAX_DEPTH} elements") from error
    reading = Reading(Shape())
    for (line, column), code, values in parser.errors:
        if not code.startswith("expected-doctype") and code not in _ESCAPING_ERRORS:
            reading.fault("well_formed", _message(code, values), f"line {line}, column {column}")
    found = _scan(text)
    for why, offset in found.escaping:
        reading.fault("escaping", why, line_of(text, offset))
    for why, offset in found.in_table:
        reading.fault("well_formed", why, line_of(text, offset))
    if re.search(r"<\?xml", text, re.IGNORECASE):
        reading.fault("native_syntax", "an XML declaration stands in the document")
    _Reader(reading, due, found.open_output).document(tree, text)
    return reading


def _message(code: str, values: dict[str, Any] | None) -> str:
    try:
        message = str(MESSAGES[code] % (values or {}))
    except (KeyError, ValueError, TypeError):
        message = code
    return message[:1].lower() + message[1:].rstrip(".")


@dataclass(slots=True)
class _Reader:
    reading: Reading[Shape]
    due: Due
    open_output: bool
    seen_ids: set[str] = field(default_factory=set)

    broken: bool = False  # the parser met an error and mended it

    def document(self, tree: Any, text: str) -> None:
        reading = self.reading
        self.broken = any(fault.check == "well_formed" for fault in reading.faults)
        mains = list(tree.iter("main"))
        if _PAGE.search(re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)):
            reading.fault("root_container", "a whole page stands around <main>; the fragment alone is due", "root")
        inside_answer = {inner for e in tree.iter() if e.get("id") == "answer" for inner in e.iter()}
        for element in tree.iter():
            if isinstance(element.tag, str):
                self.element(element, in_answer=element in inside_answer)
        if not mains:
            reading.fault("root_container", "there is no <main>", "root")
            reading.fault("answer_slot", "there is no <main> to hold the answer", "answer")
            return
        main = mains[0]
        if len(mains) > 1:
            reading.fault("root_container", f"{len(mains)} <main> elements; one is due", "root")
        body = tree.find("body")
        if body is not None and (any(c is not main for c in self.elements(body)) or _own_text(body)):
            reading.fault("root_container", "something stands beside <main>", "root")
        self.attributes(main, (), "root_container", "main")
        parts = {name: [e for e in main.iter() if e.get("id") == name] for name in ("answer", "inputs", "steps")}
        parents = {child: parent for parent in main.iter() for child in parent}
        dl = self.answer(parts["answer"], parents)
        self.layout(main, dl)
        self.order(main, parts)
        if self.due.graph:
            self.inputs(parts["inputs"])
            self.steps(parts["steps"])

    def elements(self, element: Any) -> list[Any]:
        """The child elements. After a parse error the parser opens formatting elements again wherever it goes on: they are
        looked through, so that one unclosed <b> is one fault."""
        children: list[Any] = []
        for child in element:
            if self.broken and child.tag in _FORMATTING and element.get("id") != "answer":
                children += self.elements(child)
            elif isinstance(child.tag, str):
                children.append(child)
        return children

    def element(self, element: Any, *, in_answer: bool) -> None:
        """What every element is asked, wherever it stands."""
        if element.tag in ("script", "style"):
            self.reading.fault("native_syntax", f"a <{element.tag}> element stands in the document")
            return
        identity = element.get("id")
        if identity is not None:
            if identity in self.seen_ids:
                self.reading.fault("well_formed", f"the id {identity!r} stands twice")
            self.seen_ids.add(identity)
        texts = [] if in_answer else [element.text or "", *(child.tail or "" for child in element)]
        for text in texts:
            mark = _MARKDOWN.search(text)
            if mark is not None:
                self.reading.fault("native_syntax", f"a Markdown mark stands in the text: {_short(mark[0])}")

    def attributes(self, element: Any, known: tuple[str, ...], check: str, at: str) -> dict[str, str]:
        found = {}
        for key, value in element.attrib.items():
            if key in known:
                found[key] = value.strip(WHITE_SPACE)
            elif not (key in _GLOBAL or key.startswith("aria-") or (key.startswith("data-") and key not in _OURS)):
                self.reading.fault(check, f"the attribute {key!r} is not one that the contract names", at)
        return found

    def layout(self, main: Any, dl: Any) -> None:
        """The children of main, and of its sections: the three parts, headings, and nothing else."""
        reading = self.reading
        if _own_text(main):
            reading.fault("root_container", "text stands beside the elements of <main>", "main")
        for child in self.elements(main):
            reading.shape.main_children.append(child.tag)
            if child.tag == "section":
                reading.fault("root_container", "a <section> stands in <main>", "main", ("semantic_element",))
                self.attributes(child, (), "root_container", "section")
                if _own_text(child):
                    reading.fault("root_container", "text stands beside the elements of a <section>", "section")
                for inner in self.elements(child):
                    self.part(inner, dl)
            else:
                self.part(child, dl)

    def part(self, element: Any, dl: Any) -> None:
        wanted = ("answer", "inputs", "steps") if self.due.graph else ("answer",)
        if element.get("id") in wanted or element is dl or element.tag in ("script", "style"):
            return
        if element.tag in _HEADINGS:
            self.reading.fault("root_container", f"an <{element.tag}> stands in <main>", "main", ("heading_hierarchy",))
            self.attributes(element, (), "root_container", element.tag)
            return
        name = f"<{element.tag}>" + (f" with the id {element.get('id')!r}" if element.get("id") else "")
        self.reading.fault("root_container", f"{name:.60} is not one that the contract names", "main")

    def order(self, main: Any, parts: dict[str, list[Any]]) -> None:
        order = self.reading.shape.order
        for element in main.iter():
            if element.tag in _HEADINGS:
                order.append((element.tag, int(element.tag[1])))
            for name, found in parts.items():
                if found and element is found[0]:
                    order.append((name, 0))

    def answer(self, elements: list[Any], parents: dict[Any, Any]) -> Any:
        """Read the answer; the <dl> around it, if it stands in one."""
        reading, check = self.reading, "answer_slot"
        if not elements:
            reading.fault(check, 'there is no <output id="answer">', "answer")
            return None
        if len(elements) > 1:
            reading.fault("root_container", f"{len(elements)} elements have the id answer; one is due", "answer")
        values = {self.answer_value(element) for element in elements}
        reading.answer = values.pop() if len(values) == 1 else None
        element = elements[0]
        reading.shape.answer = True
        children = self.elements(element)
        reading.shape.strong = [c.tag for c in children] == ["strong"] and not _own_text(element)
        return self.dl(element, parents)

    def dl(self, output: Any, parents: dict[Any, Any]) -> Any:
        dd = parents.get(output)
        dl = parents.get(dd) if dd is not None and dd.tag == "dd" else None
        if dl is None or dl.tag != "dl":
            return None
        reading, check = self.reading, "answer_slot"
        reading.fault(check, "the output stands in a <dl>", "answer", ("dl_for_answer",))
        terms = [c for c in self.elements(dl) if c.tag == "dt"]
        term = "".join(terms[0].itertext()).strip(WHITE_SPACE) if terms else ""
        reading.shape.in_dl = term.casefold() == "answer"
        if not reading.shape.in_dl:
            reading.fault(check, f"the <dt> of the answer is {_short(term)}; Answer is due", "answer")
        if (
            [c.tag for c in self.elements(dl)] != ["dt", "dd"]
            or len(self.elements(dd)) != 1
            or _own_text(dd)
            or _own_text(dl)
        ):
            reading.fault(check, "the <dl> holds more than the term Answer and the output", "answer")
        for element in (dl, dd, *terms):
            self.attributes(element, (), check, "answer")
        return dl

    def answer_value(self, element: Any) -> Decimal | str | None:
        reading, check, at = self.reading, "answer_slot", "answer"
        if element.tag != "output":
            reading.fault(check, f"the answer stands in a <{element.tag}>; an <output> is due", at)
        self.attributes(element, ("id",), check, at)
        if self.open_output:
            reading.fault(check, "the <output> has no end tag: where the answer ends is not known", at)
            return None
        children = self.elements(element)
        holder = element
        if [c.tag for c in children] == ["strong"] and not _own_text(element) and not self.elements(children[0]):
            holder = children[0]
            reading.fault(check, "the answer stands in a <strong>", at, ("strong_answer",))
            self.attributes(holder, (), check, at)
        elif children:
            reading.fault(check, "elements stand inside the answer", at)
            return None
        text = _all_text(holder).strip(WHITE_SPACE)
        if not text:
            reading.fault(check, "the answer is empty", at)
            return None
        if self.due.text_answer:
            if has_control(text):
                reading.fault(check, f"a control character in {_short(text)}", at)
            return text
        return self.number(text, check, at)

    def number(self, text: str | None, check: str, at: str) -> Decimal | None:
        if not text:
            return None
        value = parse_number(text)
        if value is None:
            self.reading.fault(check, f"{_short(text)} is not a number", at)
            value = undress_number(text)
        return value

    def name(self, text: str | None, check: str, at: str, *, free: bool = False) -> str | None:
        if not text:
            return None
        if not free and not is_name(text):
            self.reading.fault(check, f"{_short(text)} is not a name of the contract's grammar", at)
        return text

    def records(self, elements: list[Any], part: str, known: tuple[str, ...]) -> Iterator[tuple[dict[str, str], str]]:
        """The contract's attributes of each record of `inputs` or `steps`, and its place."""
        reading, check = self.reading, f"{part}_container"
        if not elements:
            reading.fault(check, f"no element has the id {part}", part)
            return
        if len(elements) > 1:
            reading.fault("root_container", f"{len(elements)} elements have the id {part}; one is due", part)
        container = elements[0]
        setattr(reading.shape, f"{part}_tag", container.tag)
        if container.tag == "table":
            reading.fault(check, f"#{part} is a <table>", part, (f"table_for_{part}",))
        elif container.tag != "ol":
            reading.fault(check, f"#{part} is a <{container.tag}>; an <ol> is due", part)
        self.attributes(container, ("id",), check, part)
        rows = self.rows(container, check, part)
        count = 0
        for i, row in enumerate(rows):
            if row.tag == "tr" and i == 0 and not any(key in _OURS for key in row.attrib):
                continue  # a header row
            at = f"{part}[{count}]"
            count += 1
            for inner in row.iter():
                if inner is not row and isinstance(inner.tag, str) and inner.tag not in _PHRASING:
                    reading.fault(check, f"a <{inner.tag}> stands inside a record", at)
            yield self.attributes(row, known, check, at), at
        if count == 0:
            reading.fault(check, f"#{part} holds no record", part)

    def rows(self, container: Any, check: str, part: str) -> list[Any]:
        due = "tr" if container.tag == "table" else "li"
        rows: list[Any] = []
        if _own_text(container):
            self.reading.fault(check, "text stands between the records", part)
        for child in self.elements(container):
            if child.tag == due:
                rows.append(child)
            elif due == "tr" and child.tag in ("tbody", "thead", "tfoot"):
                rows += [row for row in self.elements(child) if row.tag == "tr"]
            elif child.tag not in ("script", "style"):
                self.reading.fault(check, f"a <{child.tag}> stands among the records", part)
        return rows

    def inputs(self, elements: list[Any]) -> None:
        check = "inputs_container"
        for attributes, at in self.records(elements, "inputs", ("data-name", "data-value")):
            name = self.name(attributes.get("data-name"), check, within(at, ".name"))
            value = self.number(attributes.get("data-value"), check, within(at, ".value"))
            self.reading.inputs.append(InputRead(name, value, at))

    def steps(self, elements: list[Any]) -> None:
        check = "steps_container"
        for attributes, at in self.records(elements, "steps", ("data-id", "data-op", "data-args", "data-value")):
            args = tuple(self.arg(piece, at) for piece in attributes.get("data-args", "").split())
            self.reading.steps.append(
                StepRead(
                    id=self.name(attributes.get("data-id"), check, within(at, ".id")),
                    op=self.name(attributes.get("data-op"), check, within(at, ".op"), free=True),
                    args=args or None,
                    value=self.number(attributes.get("data-value"), check, within(at, ".value")),
                    at=at,
                )
            )

    def arg(self, piece: str, at: str) -> Ref | Decimal | None:
        value = parse_number(piece)
        if value is not None:
            return value
        name = self.name(piece, "steps_container", within(at, ".args"))
        return None if name is None else Ref(name)


def _own_text(element: Any) -> str:
    """The text directly in an element, outside its children, trimmed."""
    return "".join([element.text or "", *(child.tail or "" for child in element)]).strip(WHITE_SPACE)


def _all_text(element: Any) -> str:
    return (element.text or "") + "".join(child.tail or "" for child in element)


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def _render(ir: CanonicalIR, rules: frozenset[str], style: str) -> str:
    writer = _Writer(rules, style)
    parts = {"answer": writer.answer(ir.answer)}
    if ir.graph_bearing:
        parts["inputs"] = writer.container(
            "inputs", [{"name": i.name, "value": number_text(i.value)} for i in ir.inputs]
        )
        parts["steps"] = writer.container("steps", [
            {
                "id": s.id,
                "op": s.op,
                "args": " ".join(a.name if isinstance(a, Ref) else number_text(a) for a in s.args),
                "value": number_text(s.value),
            }
            for s in ir.steps
        ])  # fmt: skip
    order = list(parts)
    if style == "reordered":
        order.reverse()
        if "heading_hierarchy" in rules:  # the h1 stands before the answer, and each h2 before its container
            order = ["answer", *order[:-1]]
    lines: list[str] = []
    for part in order:
        block = writer.heading(part) + parts[part]
        if "semantic_element" in rules:
            block = [writer.tag("section"), *block, "</section>"]
        lines += block
    if style == "page_comments":
        lines.insert(0, "<!-- result -->")
    pad = "" if style == "compact" else "  "
    newline = "" if style == "compact" else "\n"
    head = "<!DOCTYPE html>\n" if style == "page_comments" else ""
    name = "MAIN" if style == "loose" else "main"
    return head + newline.join([f"<{name}>", *(pad + line for line in lines), f"</{name}>"]) + newline


@dataclass(slots=True)
class _Writer:
    rules: frozenset[str]
    style: str

    def tag(self, name: str, attributes: dict[str, str] | None = None) -> str:
        items = list((attributes or {}).items())
        if self.style == "reordered":
            items.reverse()
        return f"<{name}" + "".join(f" {k}={self.quoted(v)}" for k, v in items) + ">"

    def quoted(self, value: str) -> str:
        if self.style == "loose":
            if re.fullmatch(r"[A-Za-z0-9_.-]+", value):
                return value
            return "'" + html.escape(value, quote=True) + "'"
        return '"' + html.escape(value, quote=True) + '"'

    def text(self, text: str) -> str:
        if self.style == "page_comments":
            return "".join(c if c.isalnum() and c.isascii() else f"&#{ord(c)};" for c in text) + "<!-- end -->"
        return html.escape(text, quote=self.style == "reordered")

    def answer(self, answer: Decimal | str) -> list[str]:
        text = self.text(answer if isinstance(answer, str) else number_text(answer))
        if "strong_answer" in self.rules:
            text = f"<strong>{text}</strong>"
        output = f"{self.tag('output', {'id': 'answer'})}{text}</output>"
        if "dl_for_answer" not in self.rules:
            return [output]
        return [f"<dl><dt>{'ANSWER' if self.style == 'loose' else 'Answer'}</dt><dd>{output}</dd></dl>"]

    def heading(self, part: str) -> list[str]:
        if "heading_hierarchy" not in self.rules:
            return []
        return {"answer": ["<h1>Result</h1>"], "inputs": ["<h2>Inputs</h2>"], "steps": ["<h2>Steps</h2>"]}[part]

    def container(self, part: str, records: list[dict[str, str]]) -> list[str]:
        attributes = [{f"data-{key}": value for key, value in record.items()} for record in records]
        if f"table_for_{part}" in self.rules:
            cell = f"<td>{part}</td>" if self.style == "reordered" else "<td></td>"
            rows = [f"{self.tag('tr', a)}{cell}</tr>" for a in attributes]
            head = [f"<thead><tr><th>{part}</th></tr></thead>"] if self.style == "page_comments" else []
            return [self.tag("table", {"id": part}), *head, "<tbody>", *rows, "</tbody>", "</table>"]
        end = "" if self.style == "loose" else "</li>"
        said = self.style in ("reordered", "loose")
        items = [
            f"{self.tag('li', a)}{html.escape(a['data-value'], quote=False) if said else ''}{end}" for a in attributes
        ]
        return [self.tag("ol", {"id": part}), *items, "</ol>"]


def _locate(text: str, at: str) -> tuple[int, int] | None:
    match = re.match(r"(answer|inputs|steps)(?:\[(\d+)\])?", at)
    if match is None:
        return None
    found = re.search(rf"""id\s*=\s*["']?{match[1]}\b""", text, re.IGNORECASE)
    if found is None:
        return None
    position = found.start()
    if match[2] is not None:
        key = "data-name|data-value" if match[1] == "inputs" else "data-id|data-op"
        records = list(re.compile(rf"<(?:li|tr)\b[^>]*(?:{key})[^>]*>", re.IGNORECASE).finditer(text, position))
        if int(match[2]) < len(records):
            position = records[int(match[2])].start()
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


HTML: Format[Shape] = Format(
    name="html",
    title="HTML",
    contract={
        "clean_boundary": (
            Statement(
                "Output the HTML fragment alone: no text before or after it, and no code fence around it.",
                "HTML 조각만 출력하세요. 앞뒤에 다른 글을 쓰거나 코드 펜스로 감싸지 마세요.",
            ),
        ),
        "well_formed": (
            Statement(
                "The fragment has no parse error by the HTML standard: every element that needs an end tag has one, ids are "
                "unique, and no text stands directly in a table; at most 64 KiB, 64 levels of nesting, 64 attributes on a tag and "
                "400 digits in a number.",
                "HTML 표준에 따른 구문 오류가 없어야 합니다. 끝 태그가 필요한 요소에는 끝 태그가 있고, id는 겹치지 않으며, 표 안에 글이 "
                "직접 놓이지 않아야 합니다. 크기는 64 KiB, 중첩은 64단계, 한 태그의 속성은 64개, 수 하나의 자릿수는 400자리를 넘을 수 "
                "없습니다.",
            ),
        ),
        "native_syntax": (
            Statement(
                "Use no Markdown marks, no XML declaration, and no script or style elements.",
                "Markdown 표시, XML 선언, script 요소와 style 요소는 쓰지 마세요.",
            ),
        ),
        "root_container": (
            Statement(
                "The only top-level element is one <main>, with no page around it.",
                "최상위 요소는 <main> 하나뿐이며 그 바깥에 페이지 구조를 두지 않습니다.",
            ),
            Statement(
                "<main> holds the answer, the inputs and the steps, each once.",
                "<main>에는 답, 입력, 단계를 각각 한 번씩 둡니다.",
                when="graph",
            ),
            Statement("<main> holds the answer alone.", "<main>에는 답 하나만 둡니다.", when="answer_only"),
        ),
        "answer_slot": (
            Statement(
                'The final answer is the text of <output id="answer">, a child of <main>.',
                '최종 답은 <main>의 자식인 <output id="answer">의 텍스트로 씁니다.',
                base=True,
                unless=("semantic_element", "strong_answer"),
            ),
            Statement(
                'The final answer stands in <output id="answer"> as one value, without other attributes or elements of its own.',
                '최종 답은 <output id="answer"> 안에 값 하나로 쓰고, 다른 속성이나 요소를 더하지 않습니다.',
            ),
        ),
        "escaping": (
            Statement(
                "In text and attribute values & and < are escaped (&amp; &lt;), once and not twice, and only references known to "
                "HTML are used.",
                "텍스트와 속성 값의 &와 <는 한 번만 이스케이프하고(&amp; &lt;), HTML이 아는 참조만 씁니다.",
            ),
        ),
        "inputs_container": (
            Statement(
                'The inputs are an <ol id="inputs"> with one <li data-name="..." data-value="..."> for each input.',
                '입력은 <ol id="inputs">에 입력마다 <li data-name="..." data-value="..."> 하나씩으로 씁니다.',
                base=True,
            ),
            Statement(
                "The attributes count; the text of a record is free.",
                "속성의 값으로 판정하며, 레코드의 텍스트는 자유입니다.",
            ),
        ),
        "steps_container": (
            Statement(
                'The steps are an <ol id="steps"> with one <li data-id="..." data-op="..." data-args="..." data-value="..."> for each '
                "step.",
                '단계는 <ol id="steps">에 단계마다 <li data-id="..." data-op="..." data-args="..." data-value="..."> 하나씩으로 씁니다.',
                base=True,
            ),
            Statement(
                "data-args lists the arguments (references and numbers), separated by white space.",
                "data-args에는 인자(참조와 수)를 공백으로 구분하여 나열합니다.",
            ),
        ),
    },
    mark=_MARK,
    find=_find,
    bound=_bound,
    read=_read,
    render=_render,
    styles=("plain", "compact", "loose", "page_comments", "reordered"),
    locate=_locate,
)


@HTML.rule(
    en='The inputs are a <table id="inputs"> with one <tr data-name="..." data-value="..."> for each input, instead of an <ol>; a '
    "header row without these attributes is allowed.",
    ko='입력은 <ol> 대신 <table id="inputs">에 입력마다 <tr data-name="..." data-value="..."> 하나씩으로 씁니다. 이 속성이 없는 머리글 '
    "행은 둘 수 있습니다.",
    replaces="inputs_container",
    stands_on=("inputs",),
)
def table_for_inputs(reading: Reading[Shape]) -> Iterator[Look]:
    """`#inputs` is a `<table>`."""
    if reading.shape.inputs_tag:
        yield Look(reading.shape.inputs_tag == "table", f"#inputs is a <{reading.shape.inputs_tag}>", "inputs")


@HTML.rule(
    en='The steps are a <table id="steps"> with one <tr data-id="..." data-op="..." data-args="..." data-value="..."> for each '
    "step, instead of an <ol>; a header row without these attributes is allowed.",
    ko='단계는 <ol> 대신 <table id="steps">에 단계마다 <tr data-id="..." data-op="..." data-args="..." data-value="..."> 하나씩으로 '
    "씁니다. 이 속성이 없는 머리글 행은 둘 수 있습니다.",
    replaces="steps_container",
    stands_on=("steps",),
)
def table_for_steps(reading: Reading[Shape]) -> Iterator[Look]:
    """`#steps` is a `<table>`."""
    if reading.shape.steps_tag:
        yield Look(reading.shape.steps_tag == "table", f"#steps is a <{reading.shape.steps_tag}>", "steps")


@HTML.rule(
    en="The <output> stands in the <dd> of a <dl> whose <dt> is Answer.",
    ko="<output>은 <dt>가 Answer인 <dl>의 <dd> 안에 둡니다.",
    replaces="answer_slot",
    answer_only=True,
    stands_on=("answer",),
    near_miss=("<dt>Answer</dt>", "<dt>Total</dt>"),
)
def dl_for_answer(reading: Reading[Shape]) -> Iterator[Look]:
    """The output stands in the `<dd>` of a `<dl>` whose `<dt>` is Answer."""
    if reading.shape.answer:
        yield Look(reading.shape.in_dl, "the output does not stand in a <dl> whose <dt> is Answer", "answer")


@HTML.rule(
    en="Every child of <main> is a <section>; what <main> holds stands in them.",
    ko="<main>의 모든 자식은 <section>이고, <main>에 둘 것은 그 안에 둡니다.",
    answer_only=True,
    stands_on=("answer", "inputs", "steps"),
)
def semantic_element(reading: Reading[Shape]) -> Iterator[Look]:
    """Every child of `<main>` is a `<section>`."""
    for tag in reading.shape.main_children:
        yield Look(tag == "section", f"a <{tag}> is a child of <main>", "main")


@HTML.rule(
    en="The text of the <output> stands in one <strong>.",
    ko="<output>의 텍스트는 <strong> 하나로 감쌉니다.",
    answer_only=True,
    stands_on=("answer",),
)
def strong_answer(reading: Reading[Shape]) -> Iterator[Look]:
    """The output's text stands in one `<strong>`."""
    if reading.shape.answer:
        yield Look(reading.shape.strong, "the output's text does not stand in one <strong>", "answer")


@HTML.rule(
    en="The first heading is an <h1> before the answer, each of inputs and steps (where there are any) follows an <h2> of its "
    "own, and no heading level is skipped.",
    ko="첫 제목은 답보다 앞에 오는 <h1>이고, 입력과 단계(있는 경우)는 각각 자기 <h2> 뒤에 오며, 제목 단계를 건너뛰지 않습니다.",
    answer_only=True,
    stands_on=("answer", "inputs", "steps"),
)
def heading_hierarchy(reading: Reading[Shape]) -> Iterator[Look]:
    """h1 first and before the answer, an own h2 before each container, no level skipped."""
    level, heading, owned = 0, "", True
    for name, own in reading.shape.order:
        if own:
            yield Look(own <= level + 1, f"an <{name}> follows {heading or 'no heading'}", "main")
            level, heading, owned = own, name, False
        elif name == "answer":
            yield Look(bool(level), "no <h1> stands before the answer", "answer")
        else:
            yield Look(heading == "h2" and not owned, f"{name} does not follow an <h2> of its own", name)
            owned = True
