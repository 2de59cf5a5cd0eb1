"""HTML, a fragment around one `<main>`. html5lib parses by the HTML standard and lists its parse errors.

What html5lib does not report (text directly in a table, ids that stand twice) or reports against the standard (`AT&T`,
`--` in a comment), and the escaping of attribute values, is seen by one linear scan of the source (`_html_scan`), which
also keeps the bounds before the parser. Every parse error but those of escaping fails `well_formed`; the tree is read
all the same. How awkward values are written: `&amp;` `&lt;` in text, `&quot;` too in attributes, or character
references. Source: contracts.md section 4 (HTML), section 3 "Parse", "Escaping", fine points "HTML"; HTML Standard
section 13.2.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import html5lib
from html5lib.constants import E as MESSAGES

from serial7.check import Due, InputRead, Look, Reading, Statement, StepRead, within
from serial7.errors import NotWellFormed
from serial7.format import MAX_DEPTH, Format, line_of
from serial7.formats._html_scan import MARK, MAX_NOTED, Scan, bound, find, scan
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

_FORMATTING = frozenset(
    ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"]
)
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
# HTML Standard, 3.2.5.2.5 "Phrasing content", with what stands inside such elements, and the cells of a row.
_PHRASING = frozenset([
    "a", "abbr", "area", "audio", "b", "bdi", "bdo", "br", "button", "canvas", "cite", "code", "data", "datalist", "del", "dfn",
    "em", "embed", "i", "iframe", "img", "input", "ins", "kbd", "label", "link", "map", "mark", "meta", "meter", "noscript",
    "object", "output", "picture", "progress", "q", "ruby", "s", "samp", "script", "select", "slot", "small", "span", "strong",
    "style", "sub", "sup", "template", "textarea", "time", "u", "var", "video", "wbr",
    "optgroup", "option", "param", "rb", "rp", "rt", "rtc", "source", "track", "td", "th",
])  # fmt: skip
_GLOBAL = frozenset({"class", "id", "style", "lang", "title", "hidden", "role"})
_OURS = frozenset({"data-name", "data-value", "data-id", "data-op", "data-args"})
_MARKDOWN = re.compile(
    r"^[ \t]*(?:```|~~~|#{1,6} )|\*\*(?=[^\s*])[^*\n]+(?<!\s)\*\*"
    r"|(?<![A-Za-z0-9_])__(?=[^\s_])[^_\n]+(?<!\s)__(?![A-Za-z0-9_])|`[^`\n]+`|\[[^\[\]\n]+\]\([^()\n]*\)",
    re.MULTILINE,
)
# A bare `<`, a bare `&` (also before a name that needs no semicolon) and an unknown reference are faults of escaping alone;
# the two about comments are no errors in the HTML Standard of today.
_NO_ERRORS = frozenset([
    "expected-named-entity", "expected-numeric-entity", "named-entity-without-semicolon", "numeric-entity-without-semicolon",
    "expected-tag-name", "expected-tag-name-but-got-right-bracket",
    "expected-doctype-but-got-chars", "expected-doctype-but-got-start-tag", "expected-doctype-but-got-end-tag",
    "expected-doctype-but-got-eof",
    "unexpected-char-in-comment", "unexpected-dash-after-double-dash-in-comment",
])  # fmt: skip
# What the parser drops from a text, or replaces.
_DROPPED = re.compile("[\x00\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]")
_SEPARATORS = re.compile(f"[{WHITE_SPACE}]+")


@dataclass(slots=True)
class Shape:
    """What the rules of HTML look at."""

    main_children: list[str] = field(default_factory=list)
    inputs_tag: str = ""
    steps_tag: str = ""
    answer: bool = False
    in_dl: bool = False
    strong: bool = False
    # Headings and the parts due in document order: (name, level of a heading or 0).
    order: list[tuple[str, int]] = field(default_factory=list)


class _OpenElements(list[Any]):
    """The parser's stack of open elements, bounded: it reopens elements that were closed in the wrong order, again and
    again, in quadratic time. What `bound` lets through stays far below."""

    def append(self, element: Any) -> None:
        self._bound()
        super().append(element)

    def insert(self, index: Any, element: Any) -> None:
        self._bound()
        super().insert(index, element)

    def _bound(self) -> None:
        if len(self) > 2 * MAX_DEPTH:
            raise NotWellFormed(f"nested deeper than {MAX_DEPTH} elements")


class _Parser(html5lib.HTMLParser):
    def reset(self) -> None:
        super().reset()
        self.tree.openElements = _OpenElements()

    def parseError(self, errorcode: str = "", datavars: Any = None) -> None:  # noqa: N802  # html5lib's name
        if errorcode == "duplicate-attribute":
            # Marked for `_Reader.attributes`; no attribute's name ends with `=` otherwise.
            token: Any = self.tokenizer.currentToken
            if isinstance(token["data"], list):  # else the tag ended with a second name that has no value
                token["data"].insert(0, [f"{token['data'][-1][0]}=", ""])
        if errorcode not in _NO_ERRORS and len(self.errors) < MAX_NOTED:
            super().parseError(errorcode, datavars)


def _read(text: str, due: Due) -> Reading[Shape]:
    parser = _Parser(tree=html5lib.getTreeBuilder("etree"), namespaceHTMLElements=False)
    tree = parser.parse(text)
    reading = Reading(Shape())
    for (line, column), code, values in parser.errors:
        reading.fault("well_formed", _message(code, values), f"line {line}, column {column}")
    found = scan(text)
    for why, offset in found.errors:
        reading.fault("well_formed", why, line_of(text, offset))
    for why, offset in found.escaping:
        reading.fault("escaping", why, line_of(text, offset))
    if found.declaration:
        reading.fault("native_syntax", "an XML declaration stands in the document")
    if found.page:
        reading.fault("root_container", "a whole page stands around <main>; the fragment alone is due", "root")
    _Reader(reading, due, _error_in_answer(text, found, parser.errors)).document(tree)
    return reading


def _message(code: str, values: dict[str, Any] | None) -> str:
    try:
        message = str(MESSAGES[code] % (values or {}))
    except (KeyError, ValueError, TypeError):
        message = code
    return message[:1].lower() + message[1:].rstrip(".")


def _error_in_answer(text: str, found: Scan, errors: list[Any]) -> str:
    """What is wrong where the answer stands: a slot that holds a parse error is absent. Empty = nothing."""
    if found.answer is None or not errors:
        return ""
    start, end = found.answer
    if end is None:
        return "the <output> has no end tag: where the answer ends is not known"
    lines = [0, *(m.end() for m in re.finditer(r"\r\n?|\n", text))]
    for (line, column), code, _ in errors:
        # html5lib gives no place for a wrong code point.
        if code != "invalid-codepoint" and start < lines[min(line, len(lines)) - 1] + column <= end:
            return f"a parse error stands in the answer: {_message(code, None)}"
    return "a code point that HTML does not allow stands in the answer" if _DROPPED.search(text, start, end) else ""


@dataclass(slots=True)
class _Reader:
    reading: Reading[Shape]
    due: Due
    answer_error: str
    seen_ids: set[str] = field(default_factory=set)
    broken: bool = False  # the parser met an error and mended it

    def document(self, tree: Any) -> None:
        reading = self.reading
        self.broken = any(fault.check == "well_formed" for fault in reading.faults)
        everything = [element for element in tree.iter() if isinstance(element.tag, str)]
        body = tree.find("body")
        main = self.main(everything, tree if body is None else body)
        if main is not body and body is not None and (self.elements(body) != [main] or _own_text(body)):
            reading.fault("root_container", "something stands beside <main>", "root")
        self.attributes(main, (), "root_container", "main")
        due = ("answer", "inputs", "steps") if self.due.graph else ("answer",)
        inside = [element for element in main.iter() if isinstance(element.tag, str)]
        parts = {name: [e for e in inside if e.get("id") == name] for name in due}
        in_answer = {e for output in parts["answer"] for e in output.iter()}
        for element in tree.iter():
            self.element(element, in_answer=element in in_answer)
        parents = {child: parent for parent in inside for child in parent} if parts["answer"] else {}
        dl = self.answer(parts["answer"], main, parents)
        self.layout(main, dl)
        for element in inside:
            if element.tag in _HEADINGS:
                reading.shape.order.append((element.tag, int(element.tag[1])))
            reading.shape.order += [(name, 0) for name, found in parts.items() if found and element is found[0]]
        if self.due.graph:
            self.inputs(parts["inputs"])
            self.steps(parts["steps"])

    def main(self, everything: list[Any], body: Any) -> Any:
        """The `<main>`, or what stands in its place."""
        mains = [e for e in everything if e.tag == "main"]
        if len(mains) > 1:
            self.reading.fault("root_container", f"{len(mains)} <main> elements; one is due", "root")
        if not mains:
            self.reading.fault("root_container", "there is no <main>", "root")
            mains = [e for e in everything if e.tag.rpartition(":")[2] in ("main", "response")]
        return mains[0] if mains else body

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
        is_element = isinstance(element.tag, str)  # a comment's tag is a function; its tail is text all the same
        code = element.tag in ("script", "style")
        if code:
            self.reading.fault("native_syntax", f"a <{element.tag}> element stands in the document")
        identity = element.get("id") if is_element else None
        if identity is not None:
            if identity in self.seen_ids:
                self.reading.fault("well_formed", f"the id {identity!r:.60} stands twice")
            self.seen_ids.add(identity)
        outside = not in_answer or identity == "answer"
        inside = is_element and not in_answer and not code
        for text in (element.text if inside else None, element.tail if outside else None):
            if text and (mark := _MARKDOWN.search(text)) is not None:
                self.reading.fault("native_syntax", f"a Markdown mark stands in the text: {_short(mark[0])}")

    def attributes(self, element: Any, known: tuple[str, ...], check: str, at: str) -> dict[str, str]:
        found = {}
        for key, value in element.attrib.items():
            if key in known:
                found[key] = value.strip(WHITE_SPACE)
            elif key.endswith("="):
                if key[:-1] in known:
                    self.reading.fault(check, f"{key[:-1]} stands twice", at)
            elif not (key in _GLOBAL or key.startswith("aria-") or (key.startswith("data-") and key not in _OURS)):
                self.reading.fault(check, f"the attribute {key!r:.60} is not one that the contract names", at)
        return {key: value for key, value in found.items() if f"{key}=" not in element.attrib}

    def layout(self, main: Any, dl: Any) -> None:
        """The children of main, and of its sections: the three parts, headings, and nothing else."""
        reading = self.reading
        if _own_text(main):
            reading.fault("root_container", "text stands beside the elements of <main>", "main")
        for child in self.elements(main):
            if child.tag in ("script", "style"):
                continue
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

    def answer(self, elements: list[Any], main: Any, parents: dict[Any, Any]) -> Any:
        """Read the answer; the <dl> around it, if it stands in one."""
        reading, check = self.reading, "answer_slot"
        if not elements:
            reading.fault(check, 'there is no <output id="answer">', "answer")
            return None
        if len(elements) > 1:
            reading.fault("root_container", f"{len(elements)} elements have the id answer; one is due", "answer")
        values = {self.answer_value(element) for element in elements}
        reading.answer = values.pop() if len(values) == 1 else None
        output = elements[0]
        reading.shape.answer = True
        reading.shape.strong = [c.tag for c in self.elements(output)] == ["strong"] and not _own_text(output)
        around: list[Any] = []
        parent = parents.get(output)
        while parent is not None and parent is not main:
            around.append(parent)
            parent = parents.get(parent)
        for element in around:
            if element.tag in _HEADINGS or element.get("id") in ("inputs", "steps"):
                reading.fault(check, f"the answer stands inside a <{element.tag}>", "answer")
        dl = next((element for element in around if element.tag == "dl"), None)
        if dl is not None:
            self.dl(dl, next((element for element in around if element.tag == "dd"), None), output)
        return dl

    def dl(self, dl: Any, dd: Any, output: Any) -> None:
        reading, check = self.reading, "answer_slot"
        reading.fault(check, "the output stands in a <dl>", "answer", ("dl_for_answer",))
        term = None
        children = self.elements(dl)
        for child in children:
            if child is dd:
                break
            term = child if child.tag == "dt" else term
        text = "" if term is None else "".join(term.itertext()).strip(WHITE_SPACE)
        reading.shape.in_dl = dd is not None and text.casefold() == "answer"
        if not reading.shape.in_dl:
            reading.fault(check, f"the <dt> of the answer is {_short(text)}; Answer is due", "answer")
        elif children != [term, dd] or self.elements(dd) != [output] or _own_text(dd) or _own_text(dl):
            reading.fault(check, "the <dl> holds more than the term Answer and the output", "answer")
        for element in (dl, term, dd):
            if element is not None:
                self.attributes(element, (), check, "answer")

    def answer_value(self, element: Any) -> Decimal | str | None:
        reading, check, at = self.reading, "answer_slot", "answer"
        if element.tag != "output":
            reading.fault(check, f"the answer stands in a <{element.tag}>; an <output> is due", at)
        self.attributes(element, ("id",), check, at)
        if self.answer_error and not has_control(_all_text(element)):
            reading.fault(check, self.answer_error, at)
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
        if has_control(text):
            self.reading.fault(check, f"a control character in {_short(text)}", at)
        elif not free and not is_name(text):
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
                self.attributes(row, (), check, part)  # a header row
                continue
            at = f"{part}[{count}]"
            count += 1
            for inner in row.iter() if len(row) else ():
                # An element of another namespace (`{...}svg`) is phrasing content.
                if (
                    inner is not row
                    and isinstance(inner.tag, str)
                    and inner.tag not in _PHRASING
                    and inner.tag[0] != "{"
                ):
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
            pieces = _SEPARATORS.split(attributes.get("data-args", ""))
            args = tuple(self.arg(piece, at) for piece in pieces if piece)
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
        if value is None and (value := undress_number(piece)) is not None:
            self.reading.fault("steps_container", f"{_short(piece)} is not a number", within(at, ".args"))
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
            if self.style == "loose":
                return [self.tag("table", {"id": part}), *(f"{self.tag('tr', a)}<td>" for a in attributes), "</table>"]
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
        keys = ("data-name", "data-value") if match[1] == "inputs" else ("data-id", "data-op")
        tags = re.compile(r"<(?:li|tr)\b[^<>]*+>", re.IGNORECASE).finditer(text, position)
        records = [tag.start() for tag in tags if any(key in tag[0].lower() for key in keys)]
        if int(match[2]) < len(records):
            position = records[int(match[2])]
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
            Statement(
                "Elements have no attributes but those named here; class, id, style, lang, title, hidden, role, aria-* and data-* "
                "of your own are free.",
                "요소에는 여기에 적힌 속성만 쓰세요. 다만 class, id, style, lang, title, hidden, role, aria-*와 따로 만든 data-* 속성은 "
                "자유롭게 쓸 수 있습니다.",
            ),
        ),
        "answer_slot": (
            Statement(
                'The final answer is the text of <output id="answer">, a child of <main>, with no element inside it.',
                '최종 답은 <main>의 자식인 <output id="answer">의 텍스트로 쓰고, 그 안에 다른 요소를 두지 않습니다.',
                base=True,
                unless=("semantic_element", "strong_answer"),
            ),
            Statement(
                'The final answer stands in <output id="answer"> as one value and nothing else.',
                '<output id="answer"> 안에는 최종 답인 값 하나만 씁니다.',
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
                "The attributes count; the text and the phrasing elements inside a record are free, other elements are not allowed.",
                "속성의 값으로 판정합니다. 레코드 안의 텍스트와 구문 콘텐츠(phrasing) 요소는 자유이지만 다른 요소는 둘 수 없습니다.",
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
    mark=MARK,
    find=find,
    bound=bound,
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
