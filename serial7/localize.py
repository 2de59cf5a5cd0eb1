"""Show a person where a document fails: the line marked, what was found, what the contract asks.

Documents are hostile: every control character and direction mark is shown as its escape, nothing is markup.
"""

from __future__ import annotations

import re
import unicodedata

from rich.console import Console, Group, RenderableType
from rich.text import Text

from serial7.check import Due, Finding, Outcome
from serial7.format import AnyFormat
from serial7.prompts import statements
from serial7.verify import Verdict

_LINE = re.compile(r"line (\d+)(?:, column (\d+))?")
_STYLE = {Outcome.PASS: "green", Outcome.FAIL: "bold red", Outcome.BLOCKED: "yellow", Outcome.ERROR: "bold magenta"}
CONTEXT_LINES = 2
MAX_WIDTH = 160


def visible(text: str) -> str:
    """`text` with everything that a terminal could act on, or that hides, written as an escape."""
    return "".join(
        c if c == "\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") else _escape(c)
        for c in text
    )


def _escape(c: str) -> str:
    return f"\\x{ord(c):02x}" if ord(c) < 0x100 else f"\\u{ord(c):04x}"


def place_of(format_: AnyFormat, document: str, at: str) -> tuple[int, int | None] | None:
    """(line, column or None), from 1, that a finding's `at` speaks of."""
    match = _LINE.search(at)
    if match is not None:
        return int(match[1]), int(match[2]) if match[2] else None
    return format_.locate(document, at) if at else None


def show(
    verdict: Verdict,
    format_: AnyFormat,
    due: Due,
    rules: tuple[str, ...],
    condition: str = "realize",
    language: str = "en",
) -> Group:
    """The verdict for a terminal: each check, each failure with its place in the document, the metrics."""
    parts: list[RenderableType] = []
    for finding in verdict.findings:
        line = Text(f"{finding.outcome.value:8}", style=_STYLE[finding.outcome])
        line.append(finding.check, style="default")
        if finding.outcome is Outcome.BLOCKED:
            line.append(f"  by {finding.blocked_by}", style="dim")
        parts.append(line)
    failures = [f for f in verdict.findings if f.outcome in (Outcome.FAIL, Outcome.ERROR)]
    for finding in failures:
        parts += ["", *_failure(finding, verdict, format_, due, rules, condition, language)]
    return Group(*parts, "", _metrics(verdict))


def _failure(
    finding: Finding,
    verdict: Verdict,
    format_: AnyFormat,
    due: Due,
    rules: tuple[str, ...],
    condition: str,
    language: str,
) -> list[RenderableType]:
    lines: list[RenderableType] = [Text(finding.check, style="bold red")]
    lines.append(Text(f"  found: {visible(finding.why)}" + (f"  [{visible(finding.at)}]" if finding.at else "")))
    lines += [
        Text(f"  due:   {s.statement.en if language == 'en' else s.statement.ko}", style="dim")
        for s in statements(format_, due, rules, condition)
        if s.check == finding.check
    ]
    place = place_of(format_, verdict.document, finding.at)
    if place is not None:
        lines += _excerpt(verdict.document, *place)
    return lines


def _excerpt(document: str, line: int, column: int | None) -> list[RenderableType]:
    rows = document.split("\n")
    shown: list[RenderableType] = []
    for number in range(max(1, line - CONTEXT_LINES), min(len(rows), line + CONTEXT_LINES) + 1):
        here = number == line
        row = visible(rows[number - 1].rstrip("\r"))
        start = max(0, column - MAX_WIDTH // 2) if here and column and len(row) > MAX_WIDTH else 0
        text = Text(f"  {'>' if here else ' '}{number:5} | ", style="red" if here else "dim")
        text.append(row[start : start + MAX_WIDTH], style="default" if here else "dim")
        shown.append(text)
        if here and column:
            cells = Text(visible(rows[number - 1])[start : column - 1]).cell_len
            shown.append(Text(" " * (11 + cells) + "^", style="red"))
    return shown


def _metrics(verdict: Verdict) -> Text:
    text = Text()
    metrics = [("Format Compliance", verdict.fc)]
    if verdict.meaning_asked:
        metrics += [("HSR", verdict.hsr), ("Full Compliance", verdict.full)]
    for name, holds in metrics:
        text.append(f"{name}: ").append("yes" if holds else "no", style="green" if holds else "bold red").append("   ")
    return text


def print_safely(console: Console, renderable: RenderableType) -> None:
    """Print without markup, emoji codes or highlighting: what a model wrote stays what it wrote."""
    console.print(renderable, markup=False, emoji=False, highlight=False, soft_wrap=True)
