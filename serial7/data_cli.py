"""`serial7 data`: validate a set of artifacts, and lay its pairs out for a bilingual reader."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from serial7.localize import print_safely, visible

data = typer.Typer(no_args_is_help=True, help="The artifacts: validate them, read the pairs side by side.")


@data.command()
def validate(
    file: Annotated[
        Path | None, typer.Argument(help="A file of artifacts, JSONL; default: the set that ships.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print counts and problems as one JSON object.")] = False,
) -> None:
    """Validate each artifact and the set (paper tables 16 and 18); exit 1 unless all pass."""
    from serial7.validation import counts, validate_set

    rows, broken = _read(file)
    wrong = validate_set(rows)
    counted = counts(rows)
    if as_json:
        report = {
            "artifacts": len(rows),
            "passed": len(rows) - len(wrong),
            "counts": counted,
            "unreadable": broken,
            "problems": {k: [[p.category, p.field, p.why] for p in v] for k, v in wrong.items()},
        }
        typer.echo(json.dumps(report, ensure_ascii=False, indent=1))
    else:
        console = Console()
        for name, count in counted.items():
            shown = sorted(count.items(), key=lambda c: (int(c[0]) if c[0].isdigit() else 0, c[0]))
            print_safely(console, Text(f"{name:11}" + ", ".join(f"{k} {n}" for k, n in shown)))
        for where, why in broken.items():
            print_safely(console, Text(visible(f"{where}: {why}"), style="red"))
        for id_, problems in wrong.items():
            for problem in problems:
                line = f"{id_}: {problem.category}: {problem.field}: {problem.why}"
                print_safely(console, Text(visible(line), style="red"))
        print_safely(console, Text(f"{len(rows) - len(wrong)} of {len(rows)} artifacts pass", style="bold"))
    if wrong or broken:
        raise typer.Exit(1)


@data.command()
def review(
    file: Annotated[
        Path | None, typer.Argument(help="A file of artifacts, JSONL; default: the set that ships.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("review.html"),
) -> None:
    """Write a page with each pair side by side, its graph, and what the validator says."""
    from serial7.review import review_page
    from serial7.validation import validate_set

    rows, broken = _read(file)
    try:
        out.write_text(review_page(rows, validate_set(rows), broken), "utf-8")
    except OSError as error:
        typer.echo(f"serial7: cannot write {out}: {error.strerror}", err=True)
        raise typer.Exit(2) from error
    typer.echo(f"{out}: {len(rows)} pairs to read")


def _read(file: Path | None) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The artifacts of a file, and its lines that are none, by place."""
    try:
        raw = files("serial7").joinpath("data/artifacts.jsonl").read_bytes() if file is None else file.read_bytes()
    except OSError as error:
        typer.echo(f"serial7: cannot read {file}: {error.strerror}", err=True)
        raise typer.Exit(2) from error
    rows: list[dict[str, Any]] = []
    broken: dict[str, str] = {}
    for number, line in enumerate(raw.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            broken[f"line {number}"] = f"not JSON in UTF-8: {str(error)[:100]}"
            continue
        if isinstance(row, dict):
            rows.append(row)
        else:
            broken[f"line {number}"] = f"a JSON {type(row).__name__}; an object is due"
    return rows, broken
