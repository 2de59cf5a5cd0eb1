"""The source of an HTML document before and beside its parser: where it begins and ends, its bounds, its escaping.

Everything here is one pass in linear time, on any text. Tags are told apart as the HTML Standard's tokenizer does
(section 13.2.5), elements whose end tags may be left out as its section 13.1.2.4 says; only the tree builder is not
here. Source: contracts.md section 3.2 and 3.3, section 3 "Escaping", fine points "HTML".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.entities import html5 as named_references

from serial7.errors import NotWellFormed
from serial7.format import MAX_ATTRIBUTES, MAX_DEPTH, Span, line_of
from serial7.ir import WHITE_SPACE

MAX_NOTED = 20  # of one kind of fault; more of the same tells a reader nothing, and a place costs time

_ROOT = r"(?:[\w.-]+:)?(?:response|main)(?=[\s/>]|\Z)"
MARK = re.compile(f"<{_ROOT}", re.IGNORECASE)
_ROOT_TAG = re.compile(f"<!--|<(/?)({_ROOT})", re.IGNORECASE)
# Atomic groups and no possessive ones: before 3.11.5 `(?:...)*+` keeps what a failed last round consumed (gh-106052).
_BLANK = re.compile(r"(?>(?:[ \t\r\n]++|<!--.*?-->)*)", re.DOTALL)
_PROLOGUE = re.compile(r"(?>(?:[ \t\r\n]++|<!--.*?-->|<!doctype[^>]*+>|<\?[^>]*+>)*)", re.IGNORECASE | re.DOTALL)
_PAGE = re.compile(r"<(?:html|head|body)(?=[\s/>])", re.IGNORECASE)
_PAGE_END = re.compile(r"</(?:html|body)\s*+>", re.IGNORECASE)

_SPACE = r"[ \t\r\n\f]"
_VALUE = r"""(?:"[^"]*+"|'[^']*+'|[^ \t\r\n\f"'>][^ \t\r\n\f>]*+|(?=>))"""
# An `=` is followed by a whole value: where a quote is not closed, the rest of the text is inside the tag.
_ATTRIBUTE = rf"[^ \t\r\n\f/>][^ \t\r\n\f/>=]*+(?:{_SPACE}*+={_SPACE}*+{_VALUE}|(?!{_SPACE}*+=))"
_TAG = re.compile(rf"<(/?)([A-Za-z][^ \t\r\n\f/>]*+)((?>(?:[ \t\r\n\f/]++|{_ATTRIBUTE})*))(>?)")
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_ANSWER_ID = re.compile(
    rf"""(?:^|[ \t\r\n\f/"'])id{_SPACE}*={_SPACE}*["']?answer["']?(?![^ \t\r\n\f/])""", re.IGNORECASE
)
_COMMENT = re.compile(r"<!--(?:-?>|.*?--!?>)", re.DOTALL)
# A known reference without its semicolon counts as a bare `&`.
_REFERENCE = re.compile(r"&(#[0-9]++;|#[xX][0-9A-Fa-f]++;|[A-Za-z][A-Za-z0-9]*+;)?")
_TWICE = re.compile(r"&amp;(?:(?:lt|gt|amp|quot|apos)|#[0-9]+|#[xX][0-9A-Fa-f]+);")

_VOID = frozenset([
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
])  # fmt: skip
_RAW = {
    name: re.compile(rf"</{name}(?=[ \t\r\n\f/>])", re.IGNORECASE)
    for name in ("script", "style", "textarea", "title", "iframe", "noembed", "noframes", "xmp")
}
_TABLE = frozenset({"table", "tbody", "thead", "tfoot", "tr"})
_CLOSING_P = [
    "address", "article", "aside", "blockquote", "center", "details", "dialog", "dir", "div", "dl", "fieldset", "figcaption",
    "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr", "main", "menu", "nav", "ol", "p",
    "pre", "search", "section", "summary", "table", "ul",
]  # fmt: skip
# start tag -> the open elements that it ends
_ENDS: dict[str, frozenset[str]] = {name: frozenset({"p"}) for name in _CLOSING_P} | {
    name: frozenset(ended.split())
    for names, ended in (
        ("li", "li"),
        ("dt dd", "dt dd"),
        ("option", "option"),
        ("optgroup", "option optgroup"),
        ("rt rp", "rt rp"),
        ("td th", "td th"),
        ("tr", "tr caption colgroup"),
        ("tbody thead tfoot", "tbody thead tfoot caption colgroup"),
    )
    for name in names.split()
}
_OMISSIBLE = frozenset().union(*_ENDS.values())


def find(text: str) -> list[Span]:
    """The elements `<main>` or `<response>` of a text, each with what belongs around it: white space, comments, a DOCTYPE,
    a page."""
    elements = _root_elements(text)
    spans: list[Span] = []
    for i, (mark, closing) in enumerate(elements):
        least = spans[-1].end if spans else 0
        most = elements[i + 1][0] if i + 1 < len(elements) else len(text)
        start, end = mark, len(text) if closing is None else closing
        page = _PAGE.search(text, least, mark)
        page_ends = [m.end() for m in _PAGE_END.finditer(text, end, most)]
        if page is not None and (page_ends or _PROLOGUE.match(text, least, page.start()).end() == page.start()):  # type: ignore[union-attr]  # it matches nothing at the least
            start, end = page.start(), page_ends[-1] if page_ends else end
        if _PROLOGUE.match(text, least, start).end() == start:  # type: ignore[union-attr]
            start = least
        spans.append(Span(start, _BLANK.match(text, end, most).end(), closed=closing is not None))  # type: ignore[union-attr]
    return spans


def _root_elements(text: str) -> list[tuple[int, int | None]]:
    """(start, end) of each outermost element with a root's name, comments passed over; the end of the last may be None."""
    found: list[tuple[int, int | None]] = []
    opened, name, depth, position, comments_end = -1, "", 0, 0, True
    for tag in _ROOT_TAG.finditer(text):
        if tag.start() < position:
            continue
        if tag[0] == "<!--":
            end = text.find("-->", tag.start() + 2) if comments_end else -1
            comments_end = end != -1
            position = max(position, end + 3)
        elif opened < 0:
            if not tag[1]:
                opened, name, depth = tag.start(), tag[2].lower(), 1
        elif tag[2].lower() == name:
            depth += -1 if tag[1] else 1
            if depth == 0:
                position = text.find(">", tag.end()) + 1
                if position == 0:
                    break
                found.append((opened, position))
                opened = -1
    return found if opened < 0 else [*found, (opened, None)]


@dataclass(slots=True)
class Scan:
    """What one pass over the source finds; an entry is (why, offset)."""

    escaping: list[tuple[str, int]] = field(default_factory=list)
    errors: list[tuple[str, int]] = field(default_factory=list)  # parse errors that html5lib does not report
    too_much: tuple[str, int] | None = None
    page: bool = False  # a tag of a page around <main>
    declaration: bool = False  # an XML declaration
    answer: tuple[int, int | None] | None = None  # <output id="answer">; None = it has no end tag
    answer_depth: int = 0  # while it is open

    def note(self, kind: list[tuple[str, int]], why: str, offset: int) -> None:
        if len(kind) < MAX_NOTED:
            kind.append((why, offset))


def bound(text: str) -> None:
    """Raise NotWellFormed where elements nest deeper than 64 or a tag has more than 64 attributes."""
    found = scan(text)
    if found.too_much is not None:
        why, offset = found.too_much
        raise NotWellFormed(why, line_of(text, offset))


def scan(text: str) -> Scan:
    """Read the tags, texts and comments of a document."""
    found = Scan()
    stack: list[str] = []
    position, size = 0, len(text)
    while position < size and found.too_much is None:
        start = text.find("<", position)
        _scan_text(text, position, size if start == -1 else start, stack, found)
        if start == -1:
            break
        tag = _TAG.match(text, start)
        if tag is not None:
            position = _scan_tag(text, tag, stack, found)
        elif text.startswith(("<!", "<?", "</"), start):
            position = _scan_declaration(text, start, found)
        else:
            found.note(found.escaping, "a bare <", start)
            position = start + 1
    return found


def _scan_declaration(text: str, start: int, found: Scan) -> int:
    """The end of a comment, DOCTYPE, declaration, or of what the tokenizer takes for a comment."""
    if text.startswith("<!--", start):
        comment = _COMMENT.match(text, start)
        if comment is None:
            return len(text)
        if "<!--" in text[start + 4 : comment.end() - 3]:
            found.note(found.errors, "a comment stands in a comment", start)
        return comment.end()
    found.declaration |= text[start : start + 5].lower() == "<?xml"
    return text.find(">", start) + 1 or len(text)


def _scan_tag(text: str, tag: re.Match[str], stack: list[str], found: Scan) -> int:
    """The end of a tag, or of the text where the tag has none."""
    name, start = tag[2].lower(), tag.start()
    if tag.end(3) - tag.start(3) > 2 * MAX_ATTRIBUTES and len(_ATTRIBUTES.findall(tag[3])) > MAX_ATTRIBUTES:
        found.too_much = (f"more than {MAX_ATTRIBUTES} attributes on a tag", start)
    if not tag[4]:
        return len(text)
    if tag[1]:
        _close(stack, name, tag.end(), found)
        return tag.end()
    if tag.start(3) < tag.end(3):
        _scan_references(text, tag.start(3), tag.end(3), found)
        bare = text.find("<", tag.start(3), tag.end(3))
        if bare != -1:
            found.note(found.escaping, "a bare < in an attribute value", bare)
    found.page |= name in ("html", "head", "body")
    if name in _VOID:
        return tag.end()
    ends = _ENDS.get(name)
    if ends is not None and stack:
        _end_implied(stack, ends)
    foreign = name in ("svg", "math") or "svg" in stack or "math" in stack
    if foreign and tag[3].endswith("/"):
        return tag.end()
    stack.append(name)
    if len(stack) > MAX_DEPTH:
        found.too_much = (f"nested deeper than {MAX_DEPTH} elements", start)
    if name == "output" and found.answer is None and _ANSWER_ID.search(tag[3]):
        found.answer, found.answer_depth = (start, None), len(stack)
    if name in _RAW and not foreign:
        end = _RAW[name].search(text, tag.end())
        return len(text) if end is None else end.start()
    return tag.end()


def _end_implied(stack: list[str], ends: frozenset[str]) -> None:
    """Close the elements whose end a start tag implies."""
    keep = len(stack)
    for i in range(len(stack) - 1, -1, -1):
        if stack[i] in ends:
            keep = i
        elif stack[i] not in _OMISSIBLE:
            break
    del stack[keep:]


def _close(stack: list[str], name: str, end: int, found: Scan) -> None:
    if name not in stack:
        return
    while stack.pop() != name:
        pass
    if len(stack) < found.answer_depth:
        if found.answer is not None and len(stack) == found.answer_depth - 1:
            found.answer = (found.answer[0], end)
        found.answer_depth = 0


def _scan_text(text: str, start: int, end: int, stack: list[str], found: Scan) -> None:
    if start == end:
        return
    _scan_references(text, start, end, found)
    if stack and stack[-1] in _TABLE and text[start:end].strip(WHITE_SPACE + "\f"):
        found.note(found.errors, "text stands directly in a table", start)


def _scan_references(text: str, start: int, end: int, found: Scan) -> None:
    if text.find("&", start, end) == -1:
        return
    for match in _REFERENCE.finditer(text, start, end):
        if match[1] is None:
            found.note(found.escaping, "a bare &", match.start())
        elif match[1][0] != "#" and match[1] not in named_references:
            found.note(found.escaping, f"the unknown reference &{match[1]}", match.start())
    for match in _TWICE.finditer(text, start, end):
        found.note(found.escaping, "a reference is escaped twice", match.start())
