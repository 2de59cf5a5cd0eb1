"""From a raw completion to its reasoning, its document, and the verdict on the boundary.

Source: contracts.md section 3, steps 1 and 2.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from serial7.errors import NoDocument
from serial7.format import AnyFormat, Span
from serial7.ir import WHITE_SPACE

REASONING_END = ("</think>",)
BYTE_ORDER_MARK = "\ufeff"

_FENCE = re.compile(r"^ {0,3}(`{3,}(?=[^`\n]*$)|~{3,})[^\n]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Reply:
    """`document` is `raw[start:start + len(document)]`. `boundary` says why `format.clean_boundary` fails; empty = passes."""

    reasoning: str
    document: str
    start: int
    boundary: str = ""


def strip_reasoning(
    raw: str, mark: re.Pattern[str] | None = None, ends: Sequence[str] = REASONING_END
) -> tuple[str, str]:
    """Split `raw` into (reasoning, the rest). `mark` is the format's document mark, None for free text.

    Raises:
        NoDocument: `no_output`: nothing follows the reasoning, or it never ends.
    """
    cuts = sorted(m.end() for end in ends for m in re.finditer(re.escape(end), raw))
    cut = 0
    if cuts:
        if mark is None:
            cut = cuts[-1]
        else:
            marks = [m.start() for m in mark.finditer(raw)]
            last = marks[-1] if marks else -1
            followed = [c for c in cuts if c <= last]
            leading = [c for c in cuts if not marks or c <= marks[0]]
            cut = followed[-1] if followed else leading[-1] if leading else 0
    rest = raw[cut:]
    if not rest.strip(WHITE_SPACE + BYTE_ORDER_MARK):
        raise NoDocument("no_output: nothing stands after the reasoning" if cut else "no_output: the output is empty")
    if cut == 0 and any(raw.lstrip(WHITE_SPACE).startswith(_opening(end)) for end in ends):
        raise NoDocument("no_output: the output ends inside its reasoning")
    return raw[:cut], rest


def _opening(end: str) -> str:
    return end.replace("</", "<").replace("[/", "[")


def find_document(raw: str, format_: AnyFormat, ends: Sequence[str] = REASONING_END) -> Reply:
    """Find the one document in a raw output.

    Raises:
        NoDocument: there is none, or there are several: none is picked.
    """
    reasoning, text = strip_reasoning(raw, format_.mark, ends)
    start = len(reasoning)
    if text.startswith(BYTE_ORDER_MARK):
        text, start = text[1:], start + 1
    odd = _strip_odd_white_space(text)
    if odd is not None:
        start, text = start + odd[0], odd[1]
    spans = format_.find(text)
    if len(spans) == 1 and spans[0].start == 0 and spans[0].end == len(text):
        why = "" if odd is None else "white space other than space, tab, CR and LF stands around the document"
        return Reply(reasoning, text, start, why)
    fenced = _fenced(text, format_)
    if fenced is not None:
        begin, end = fenced
        return Reply(reasoning, text[begin:end], start + begin, "the document stands inside a code fence")
    if len(spans) > 1:
        raise NoDocument(f"{len(spans)} documents stand in the output; exactly one is due", _place(text, spans[1]))
    if not spans:
        raise NoDocument(f"no {format_.title} document stands in the output")
    span = spans[0]
    if not span.closed:
        raise NoDocument("text stands before a document that has no end", _place(text, span))
    where = "before" if span.end == len(text) else "after" if span.start == 0 else "around"
    return Reply(reasoning, text[span.start : span.end], start + span.start, f"text stands {where} the document")


def _strip_odd_white_space(text: str) -> tuple[int, str] | None:
    """(characters taken off the front, the rest) where NBSP, U+3000 and the like stand around `text`; else None."""
    inner = text.strip()
    if text.strip(WHITE_SPACE) == inner:
        return None
    return len(text) - len(text.lstrip()), inner


def _fenced(text: str, format_: AnyFormat) -> tuple[int, int] | None:
    """The content of the one closed fence that holds a document mark, if a fence opens before any mark does."""
    first_mark = format_.mark.search(text)
    opening = _FENCE.search(text)
    if opening is None or first_mark is None or opening.start() > first_mark.start():
        return None
    holding: list[tuple[int, int]] = []
    while opening is not None:
        ticks = opening[1]
        closing = re.compile(rf"^ {{0,3}}{re.escape(ticks[0])}{{{len(ticks)},}}[ \t]*\r?$", re.MULTILINE).search(
            text, opening.end()
        )
        if closing is None:
            break
        begin, end = min(opening.end() + 1, closing.start()), closing.start()
        if format_.mark.search(text, begin, end):
            holding.append((begin, end))
        opening = _FENCE.search(text, closing.end())
    if len(holding) > 1:
        raise NoDocument(f"{len(holding)} code fences hold a document; exactly one is due")
    return holding[0] if holding else None


def _place(text: str, span: Span) -> str:
    return f"line {text.count(chr(10), 0, span.start) + 1}"
