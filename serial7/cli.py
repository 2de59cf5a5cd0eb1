"""The console command `serial7`. Exit codes: 0 it could judge, 1 failed, 2 wrong usage."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from serial7.batch import judge_lines, verdict_record
from serial7.build_cli import build
from serial7.check import Due
from serial7.data_cli import data
from serial7.errors import OperatorError
from serial7.formats import FORMATS, get_format
from serial7.ir import CanonicalIR
from serial7.localize import print_safely, show, visible
from serial7.verify import verify

SUFFIXES = {".json": "json", ".xml": "xml", ".md": "markdown", ".html": "html", ".htm": "html", ".tex": "latex",
            ".yaml": "yaml", ".yml": "yaml", ".toml": "toml"}  # fmt: skip

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="SERIAL-7: judge machine-verifiable outputs of language models.",
)


class Lang(StrEnum):
    EN = "en"
    KO = "ko"


def main() -> None:
    """Entry point of the console script."""
    app()


def _usage_errors(command: Callable[..., None]) -> Callable[..., None]:
    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except OperatorError as error:
            typer.echo(f"serial7: {error}", err=True)
            raise typer.Exit(2) from error

    return run


@app.callback()
def _root() -> None:
    """Judge machine-verifiable outputs of language models."""


@app.command()
@_usage_errors
def check(
    document: Annotated[Path | None, typer.Argument(help="The answer to judge; - reads standard input.")] = None,
    format_: Annotated[str | None, typer.Option("--format", help="Default: from the file's ending.")] = None,
    rules: Annotated[str, typer.Option(help="Active atomic rules, separated by commas.")] = "",
    condition: Annotated[str, typer.Option(help="realize or preserve.")] = "realize",
    gold: Annotated[Path | None, typer.Option(help="A JSON file with the gold answer, inputs and steps.")] = None,
    kind: Annotated[str, typer.Option(help="graph or answer_only, where no gold is given.")] = "graph",
    answer_kind: Annotated[str, typer.Option(help="number or text, where no gold is given.")] = "number",
    lang: Annotated[Lang, typer.Option(help="Language of the contract's sentences.")] = Lang.EN,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as one JSON object.")] = False,
    batch: Annotated[Path | None, typer.Option(help="A JSONL file of cases to judge instead of one document.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where the verdicts of --batch go; - is standard output.")] = None,
    fail: Annotated[bool, typer.Option("--fail", help="Exit 1 unless everything passed.")] = False,
) -> None:
    """Judge one document, or a batch of them; without gold, `format.*` and `structure.*` are asked."""
    if batch is not None:
        if document is not None:
            raise OperatorError("give either a document or --batch, not both")
        _check_batch(batch, out or Path("-"), fail=fail)
        return
    if document is None:
        raise OperatorError("give a document to judge (- for standard input), or --batch FILE")
    if kind not in ("graph", "answer_only") or answer_kind not in ("number", "text"):
        raise OperatorError(
            f"--kind is graph or answer_only, --answer-kind number or text; {kind}, {answer_kind} given"
        )
    text = _read_text(document)
    name = format_ or SUFFIXES.get(document.suffix.lower())
    if name is None:
        raise OperatorError(f"the format of {document} is not clear from its name; give --format {' | '.join(FORMATS)}")
    chosen = get_format(name)
    ir = None if gold is None else CanonicalIR.from_dict(_read_json(gold))
    names = tuple(filter(None, (rule.strip() for rule in rules.split(","))))
    due = Due(kind == "graph", answer_kind == "text")
    if ir is not None:
        due = Due(ir.graph_bearing, isinstance(ir.answer, str))
    verdict = verify(
        text, format=name, condition=condition, rules=names, gold=ir, graph=due.graph, text_answer=due.text_answer
    )
    if as_json:
        typer.echo(_line(verdict_record(verdict)), nl=False)
    else:
        print_safely(Console(), show(verdict, chosen, due, names, condition, lang.value))
    if verdict.error:
        typer.echo(verdict.error, err=True)
        raise typer.Exit(1)
    if fail and verdict.not_passed:
        raise typer.Exit(1)


def _check_batch(batch: Path, out: Path, *, fail: bool) -> None:
    try:
        source = sys.stdin.buffer if str(batch) == "-" else batch.open("rb")
    except OSError as error:
        raise OperatorError(f"cannot read {batch}: {error.strerror}") from error
    with source:
        try:
            sink = sys.stdout.buffer if str(out) == "-" else out.open("wb")
        except OSError as error:
            raise OperatorError(f"cannot write {out}: {error.strerror}") from error
        judged = failed = bad = broken = 0
        try:
            # Undecodable bytes become lone surrogates, which the line's reader or the verifier then names.
            for record in judge_lines(line.decode("utf-8", "surrogateescape") for line in source):
                sink.write(_line(record).encode("utf-8", "backslashreplace"))
                judged += 1
                bad += "findings" not in record
                broken += "findings" in record and "error" in record
                failed += bool(record.get("not_passed"))
        finally:
            sink.flush()
            if sink is not sys.stdout.buffer:
                sink.close()
    typer.echo(f"{judged} lines: {judged - failed - bad} passed, {failed} not, {bad} could not be read", err=True)
    if broken:
        typer.echo(f"serial7: {broken} verdicts are ERROR: the verifier broke; please report them", err=True)
        raise typer.Exit(1)
    if fail and (failed or bad):
        raise typer.Exit(1)


@app.command()
@_usage_errors
def rules(
    format_: Annotated[str | None, typer.Option("--format", help="One format; default: all.")] = None,
    lang: Annotated[Lang, typer.Option()] = Lang.EN,
) -> None:
    """List the catalogue of atomic rules."""
    console = Console()
    for name in [format_] if format_ else list(FORMATS):
        chosen = get_format(name)
        print_safely(console, Text(f"{chosen.title} ({len(chosen.rules)})", style="bold"))
        for rule in chosen.rules.values():
            line = Text(f"  {rule.name:20}", style="cyan")
            line.append(f"{rule.replaces or '-':18}{'A' if rule.answer_only else ' '}  ", style="dim")
            line.append(rule.en if lang is Lang.EN else rule.ko, style="default")
            print_safely(console, line)


@app.command()
@_usage_errors
def explain(
    name: Annotated[str, typer.Argument(metavar="CHECK", help="Such as format.feature.key_order.")],
    format_: Annotated[
        str | None, typer.Option("--format", help="One format; default: each that has the check.")
    ] = None,
    lang: Annotated[Lang, typer.Option()] = Lang.EN,
) -> None:
    """Tell what one check asks, with the good and the bad example of a rule."""
    from serial7.explain import explanation  # imports the whole catalogue

    console = Console()
    for part in explanation(name, format_, lang.value):
        print_safely(console, part)


AUDITS = ("round-trip", "combinations", "near-misses", "leakage", "alignment", "mutation")


@app.command()
@_usage_errors
def audit(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[AUDIT]...", help=f"Some of {', '.join(AUDITS)}.")
    ] = None,
    fuzz: Annotated[int, typer.Option(help="Judge that many damaged documents too.")] = 0,
    seed: Annotated[int, typer.Option(help="Of the damage.")] = 0,
) -> None:
    """Examine the verifier itself (paper table 9); exit 1 if it fails one of its exams."""
    from serial7 import audits, mutation  # imports the whole catalogue
    from serial7.artifacts import load_artifacts
    from serial7.fuzz import fuzz as run_fuzz
    from serial7.grid import load_grid

    for name in names or ():
        if name not in AUDITS:
            raise OperatorError(f"unknown audit {name!r}; there are {', '.join(AUDITS)}")
    artifacts = list(load_artifacts().values())
    irs = [a.ir for a in artifacts]
    exams: dict[str, Callable[[], audits.Audit]] = {
        "round-trip": lambda: audits.round_trip(artifacts, load_grid()),
        "combinations": lambda: audits.combinations(irs[::12]),  # every rule set, on a sample of the artifacts
        "near-misses": lambda: audits.near_misses(irs[:4]),
        "leakage": lambda: audits.leakage(irs[::24]),
        "alignment": lambda: audits.alignment(artifacts, load_grid()),
        "mutation": mutation.mutation,
    }
    console = Console()
    failed = 0
    for name in names or (AUDITS if not fuzz else ()):
        found = exams[name]()
        failed += found.failed
        counts = ", ".join(f"{count} {what}" for what, count in found.counts.items())
        print_safely(
            console, Text(f"{name:14}{counts}: {found.failed} failures", style="bold red" if found.failed else "")
        )
        for failure in found.failures:
            print_safely(console, Text(f"  {visible(failure)}", style="red"))
    if fuzz:
        fuzzed = run_fuzz(irs, fuzz, seed)
        failed += len(fuzzed.broken)
        line = f"{fuzzed.documents} damaged documents: {len(fuzzed.broken)} crashed or slow, slowest {fuzzed.slowest_s:.2f} s of CPU"
        print_safely(console, Text(f"{'fuzz':14}{line}", style="bold red" if fuzzed.broken else ""))
        for format_name, document, what in fuzzed.broken[:20]:
            print_safely(console, Text(f"  {format_name}: {what}: {visible(document[:200])}", style="red"))
    if failed:
        raise typer.Exit(1)


@app.command()
@_usage_errors
def grid(
    check: Annotated[
        bool, typer.Option("--check", help="Exit 1 unless the stored grid is drawn again bit for bit.")
    ] = False,
    data_: Annotated[
        Path | None, typer.Option("--data", help="A folder with artifacts.jsonl; default: the set that ships.")
    ] = None,
    draw: Annotated[bool, typer.Option("--draw", help="Draw the grid and write it as --out.")] = False,
    out: Annotated[Path | None, typer.Option(help="Where --draw writes; default: grid.jsonl in --data.")] = None,
    tokenizer: Annotated[
        Path | None, typer.Option(help="A tokenizer.json: report the tokens of each prompt too.")
    ] = None,
) -> None:
    """Show a grid: counts, the support of each rule and of each transfer, the lengths of the prompts, its hash."""
    from serial7.artifacts import load_artifacts
    from serial7.grid import draw_grid, dump, grid_hash, load_grid
    from serial7.grid_report import grid_report

    folder = "" if data_ is None else str(data_)
    artifacts = load_artifacts(folder)
    if draw:
        target = out or (None if data_ is None else data_ / "grid.jsonl")
        if target is None:
            raise OperatorError("--draw of the set that ships: give --out FILE")
        shown = tuple(draw_grid(artifacts))
        try:
            target.write_text(dump(shown), "utf-8")
        except OSError as error:
            raise OperatorError(f"cannot write {target}: {error.strerror}") from error
    else:
        shown = load_grid(folder)
    for line in grid_report(shown, artifacts, tokenizer):
        typer.echo(line)
    typer.echo(f"sha256 {grid_hash(shown)}")
    if check:
        if grid_hash(draw_grid(artifacts)) != grid_hash(shown):
            typer.echo("serial7: the stored grid is not the one that is drawn; grid.jsonl was changed", err=True)
            raise typer.Exit(1)
        typer.echo("drawn again from its seed: the same")


app.command()(build)
app.add_typer(data, name="data")


def _read_text(path: Path) -> str:
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise OperatorError(f"cannot read {path}: {error.strerror}") from error
    return data.decode("utf-8", "surrogateescape")


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise OperatorError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise OperatorError(f"{path} is not JSON: {error}") from error


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    main()
