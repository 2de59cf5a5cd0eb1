"""An audit on paper: one HTML page without scripts, the cascade as SVG, the summary and the records as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from verified_code.audit import ACCEPTANCE, BINDING, POST2EXE, STAGES, TESTS, Summary
from verified_code.bypass import FLAGS
from verified_code.cascade import figure
from verified_code.errors import OperatorError
from verified_code.tables import Table

RECORDS, SUMMARY, PAGE, FIGURE = "records.jsonl", "summary.json", "report.html", "cascade.svg"

_STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1a202c}
table{border-collapse:collapse;margin:.5rem 0 1.5rem}th,td{border:1px solid #cbd5e0;padding:.25rem .6rem;text-align:left;
vertical-align:top;overflow-wrap:anywhere}th{background:#edf2f7}caption{text-align:left;font-weight:600;padding:.3rem 0}.pass{color:#276749}
.fail{color:#9b2c2c}.other{color:#744210}.note{color:#4a5568;font-size:.9em}svg{max-width:100%;height:auto}"""


def write_report(out: Path, summary: Summary, records: Sequence[Mapping[str, Any]]) -> None:
    """Write the four files; each appears whole or not at all.

    Raises:
        OperatorError: the folder cannot be written.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        _write(out / RECORDS, "".join(json.dumps(r, ensure_ascii=True, sort_keys=True) + "\n" for r in records))
        _write(out / SUMMARY, json.dumps(summary.to_dict(), ensure_ascii=True, indent=2) + "\n")
        _write(out / FIGURE, figure(summary.stages, title(summary)))
        _write(out / PAGE, page(summary, records))
    except OSError as error:
        raise OperatorError(f"{out}: the report cannot be written ({error.strerror or error})") from error


def _write(path: Path, text: str) -> None:
    part = path.with_name(path.name + ".part")
    part.write_text(text, "utf-8")
    part.replace(path)


def title(summary: Summary) -> str:
    return f"{summary.name}: what survives each surface"


def page(summary: Summary, records: Sequence[Mapping[str, Any]]) -> str:
    """The HTML page; everything that comes from samples is escaped, and the page may load nothing."""
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{escape(title(summary))}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(summary.name)}</h1><p>{summary.attempts:,} attempts. Each surface is asked of what passed the one "
        "before; shares of all attempts stand beside. What dropped out is counted by name and stays in the denominator.</p>",
        figure(summary.stages, title(summary)),
        _html(_cascade_table(summary)),
        *(_html(t) for t in summary.tables),
        _html(_pass_table(summary)),
    ]
    if summary.flags:
        rows = tuple((f, str(n), FLAGS[f]) for f, n in summary.flags.items())
        parts.append(
            _html(
                Table(
                    "flags",
                    "Bypass flags (samples that carry one; no verdict is changed by them)",
                    ("flag", "samples", "meaning"),
                    rows,
                )
            )
        )
    parts.append(_records(records))
    return "\n".join([*parts, "</body></html>", ""])


def _cascade_table(summary: Summary) -> Table:
    rows = []
    for s in summary.stages:
        dropped = ", ".join(f"{n} {what}" for what, n in s.outcomes.items()) or "-"
        interval = "-" if s.interval is None else f"{s.interval[0]:.1%} to {s.interval[1]:.1%}"
        rows.append(
            (s.name, f"{s.asked:,}", str(s.conditional), f"{s.failed:,}", dropped, str(s.unconditional), interval)
        )
    columns = (
        "surface",
        "asked",
        "pass, of asked",
        "fail",
        "neither",
        "pass, of attempts",
        "95 % bootstrap over problems",
    )
    return Table("cascade", "The cascade", columns, tuple(rows))


def _pass_table(summary: Summary) -> Table:
    ks = list(next(iter(summary.passes.values()), {}))
    rows = tuple(
        (name, *("-" if values[k] is None else f"{values[k]:.1%}" for k in ks))
        for name, values in summary.passes.items()
    )
    return Table(
        "pass",
        "pass@k over problems, up to each surface",
        ("up to", *ks),
        rows,
        "- : fewer than k samples of some problem.",
    )


def _html(table: Table) -> str:
    head = "".join(f"<th>{escape(c)}</th>" for c in table.columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in table.rows)
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    return f"<table><caption>{escape(table.title)}</caption><tr>{head}</tr>{body}</table>{note}"


def _records(records: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for r in records:
        cells = [f"<td>{escape(str(r['task']))}</td><td>{escape(str(r['sample']))}</td>"]
        for stage, status, why in (
            (ACCEPTANCE, "acceptance", "acceptance_why"), (BINDING, "gate", "gate_why"),
            (TESTS, "tests", "tests_why"), (POST2EXE, "post2exe", "post2exe_why"),
        ):  # fmt: skip
            css = r[stage] if r[stage] in ("pass", "fail") else "other"
            cells.append(
                f'<td class="{css}">{escape(str(r[status]))}<div class="note">{escape(str(r[why])[:200])}</div></td>'
            )
        cells.append(f"<td>{escape(', '.join(r['flags']))}</td>")
        rows.append("<tr>" + "".join(cells) + "</tr>")
    head = "".join(f"<th>{escape(h)}</th>" for h in ("task", "sample", *STAGES, "flags"))
    return f"<table><caption>Samples</caption><tr>{head}</tr>{''.join(rows)}</table>"


def show(console: Console, summary: Summary) -> None:
    """The same tables on a terminal."""
    for table in (_cascade_table(summary), *summary.tables, _pass_table(summary)):
        show_table(console, table)
    for flag, n in summary.flags.items():
        console.print(Text(f"bypass: {n} samples with {flag} ({FLAGS[flag]})", style="yellow"))
    survivors = summary.stages[-1].passed if summary.stages else 0
    console.print(Text(f"{survivors} of {summary.attempts} attempts pass every surface.", style="bold"))


def show_table(console: Console, table: Table) -> None:
    shown = RichTable(title=Text(table.title), title_justify="left", caption=Text(table.note) if table.note else None)
    for column in table.columns:
        shown.add_column(Text(column), overflow="fold")
    for row in table.rows:
        shown.add_row(*(Text(cell) for cell in row))
    console.print(shown)
