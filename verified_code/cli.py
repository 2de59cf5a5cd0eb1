"""The console command `verified-code`. Exit codes: 0 it could judge, 1 failed (`--fail`), 2 wrong usage."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from verified_code.cases import NEGATIVE, POSITIVE, Case
from verified_code.component import IMPL, SPEC, Component, load_component
from verified_code.corpus import parse_corpus
from verified_code.errors import OperatorError
from verified_code.gate import REASONS, GateReport, GateVerdict, judge
from verified_code.post2exe import Fidelity, Post2ExeReport, post2exe

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="What 'verified' means: acceptance, binding and fidelity of verified code.",
)
_COLOURS = {"bound": "green", "keep": "green", "verified": "green", "not_bound": "red", "accepted_negative": "red",
            "rejected_positive": "red"}  # fmt: skip


def main() -> None:
    """Entry point of the console script."""
    app()


def usage_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Turn an operator's error into one line and exit code 2."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except OperatorError as error:
            typer.echo(f"verified-code: {error}", err=True)
            raise typer.Exit(2) from error

    return run


@app.callback()
def _root() -> None:
    """What 'verified' means: acceptance, binding and fidelity of verified code."""


@app.command()
@usage_errors
def gate(
    paths: Annotated[
        list[Path], typer.Argument(help="Component folders (Spec.dfy and Impl.dfy), or with --batch trees of them.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a component.")] = False,
    batch: Annotated[bool, typer.Option("--batch", help="Judge every component below the folders.")] = False,
    members: Annotated[bool, typer.Option(help="Members of the specification's types bind too.")] = False,
    fail: Annotated[bool, typer.Option("--fail", help="Exit 1 unless every component is bound.")] = False,
) -> None:
    """Surface B: does some `ensures` bind to a predicate or function of the specification?"""
    reports: list[GateReport] = []
    console = Console(highlight=False, soft_wrap=True)
    for folder in _components(paths, batch):
        report = judge(load_component(folder), members=members)
        reports.append(report)
        if as_json:
            typer.echo(json.dumps(report.to_dict(), ensure_ascii=True))
        else:
            _show_gate(console, report)
    if not as_json and len(reports) > 1:
        counts = {v: sum(r.verdict is v for r in reports) for v in GateVerdict}
        line = ", ".join(f"{n} {v}" for v, n in counts.items() if n)
        console.print(Text(f"{len(reports)} components: {line}"))
    if fail and not all(r.verdict is GateVerdict.BOUND for r in reports):
        raise typer.Exit(1)


def _components(paths: list[Path], batch: bool) -> Iterator[Path]:
    for path in paths:
        if not path.exists():
            raise OperatorError(
                f"{path}: there is no such folder; name a folder that holds {IMPL}, or a tree with --batch"
            )
        if path.name == IMPL and path.is_file():
            yield path.parent
        elif not path.is_dir():
            raise OperatorError(f"{path}: a folder that holds {IMPL} is due")
        elif not batch:
            yield path
        else:
            found = sorted(_below(path))
            if not found:
                raise OperatorError(f"{path}: no folder below it holds {IMPL} or {SPEC}")
            yield from found


def _below(root: Path) -> Iterator[Path]:
    for folder, _, files in os.walk(root):
        if IMPL in files or SPEC in files:
            yield Path(folder)


def printable(text: str) -> str:
    """Text of a model for a terminal: control characters are shown, not obeyed."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def _verdict(console: Console, name: str, verdict: str, rest: str = "") -> None:
    console.print(Text.assemble(f"{printable(name)}: ", (verdict, _COLOURS.get(verdict, "yellow")), printable(rest)))


def _show_gate(console: Console, report: GateReport) -> None:
    literal = (
        ""
        if report.verdict == report.paper_literal_verdict
        else f"  (by the paper's letter: {report.paper_literal_verdict})"
    )
    _verdict(console, report.component, report.verdict, literal)
    for method in report.methods:
        head = f"  {method.name} at {method.place}: "
        if method.bindings:
            for b in method.bindings:
                note = " (only in a statement within the clause)" if b.statement_only else ""
                console.print(
                    Text(
                        printable(
                            f"{head}clause {b.clause} names {b.name} at {b.place}, which is {b.symbol}, declared at {b.declared}{note}"
                        )
                    )
                )
        else:
            detail = f": {method.detail}" if method.detail else ""
            exempt = " (exempt)" if method.exempt else ""
            console.print(Text(printable(f"{head}not bound{exempt}, {REASONS[method.reason]}{detail}")))
    for flag in report.flags:
        console.print(Text(printable(f"  bypass: {flag}"), style="yellow"))
    for unreadable in report.unparsed:
        console.print(Text(printable(f"  {unreadable}"), style="yellow"))


@app.command()
@usage_errors
def verify(
    paths: Annotated[
        list[Path], typer.Argument(help="Component folders (Impl.dfy and Spec.dfy), or with --batch trees of them.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a component.")] = False,
    batch: Annotated[bool, typer.Option("--batch", help="Verify every component below the folders.")] = False,
    dafny: Annotated[str, typer.Option(help="Dafny's path; default: from the PATH.")] = "",
    z3: Annotated[str, typer.Option(help="z3's path; default: $VERIFIED_CODE_Z3, beside Python, PATH.")] = "",
    time_limit: Annotated[int, typer.Option(min=1, help="Seconds for one obligation.")] = 20,
    wall: Annotated[float, typer.Option(min=1, help="Seconds for one component, on our clock.")] = 180.0,
    cache: Annotated[
        Path | None, typer.Option(help="A folder that keeps results by content, tools and limits.")
    ] = None,
    fail: Annotated[bool, typer.Option("--fail", help="Exit 1 unless every component is verified.")] = False,
) -> None:
    """Surface A: does the verifier accept, by the whole rule and not by its exit code?"""
    from verified_code.acceptance import Cached, Verifier, VerifyRequest
    from verified_code.dafny_tool import find_dafny

    tool = find_dafny(dafny, z3)
    if tool.warning():
        typer.echo(f"verified-code: {tool.warning()}", err=True)
    verifier: Verifier = tool if cache is None else Cached(tool, cache)
    console = Console(highlight=False, soft_wrap=True)
    accepted = asked = 0
    for folder in _components(paths, batch):
        result = verifier.verify(VerifyRequest(folder, time_limit, wall))
        asked += 1
        accepted += result.accepted
        if as_json:
            typer.echo(json.dumps({"component": str(folder), **result.to_dict()}, ensure_ascii=True))
            continue
        counts = f"  {result.verified} verified, {result.errors} errors, {result.wall_s:.1f} s"
        _verdict(console, folder.name, result.status, counts + (f"  {result.why}" if result.why else ""))
    if not as_json and asked > 1:
        console.print(Text(f"{accepted} of {asked} components accepted by {verifier.name}, z3 {tool.z3_version}"))
    if fail and accepted < asked:
        raise typer.Exit(1)


@app.command()
@usage_errors
def audit(
    folder: Annotated[Path | None, typer.Argument(help="Tasks, each with a folder a sample.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where records and report go; the same command goes on there.")
    ] = None,
    counts: Annotated[Path | None, typer.Option(help="Print the paper's tables from a file of counts instead.")] = None,
    name: Annotated[str, typer.Option(help="What the report calls the samples.")] = "",
    jobs: Annotated[int, typer.Option(min=1, help="Samples at once.")] = max(1, (os.cpu_count() or 2) // 2),
    conditional: Annotated[
        bool, typer.Option("--conditional", help="Ask a surface only of what passed the one before.")
    ] = False,
    tools: Annotated[bool, typer.Option(help="Ask Dafny and run hidden tests.")] = True,
    dafny: Annotated[str, typer.Option(help="Dafny's path; default: from the PATH.")] = "",
    z3: Annotated[str, typer.Option(help="z3's path; default: $VERIFIED_CODE_Z3, beside Python, PATH.")] = "",
    time_limit: Annotated[int, typer.Option(min=1, help="Seconds for one obligation.")] = 20,
) -> None:
    """All surfaces of a folder of samples: records, the paper's tables 3, 4, 5, 7, the cascade, pass@k."""
    from verified_code.auditing import audit_folder, threads
    from verified_code.report import show, show_table
    from verified_code.surfaces import find_surfaces
    from verified_code.tables import tables

    console = Console(highlight=False)
    if counts is not None:
        if folder is not None:
            raise OperatorError("give either a folder of samples or --counts FILE, not both")
        for table in tables(_read_counts(counts)):
            show_table(console, table)
        return
    if folder is None or out is None:
        raise OperatorError("give a folder of samples and --out DIR, or --counts FILE")
    surfaces = find_surfaces(dafny=dafny, z3=z3, time_limit_s=time_limit, cache=out / "verifier", tools=tools)
    for note in surfaces.notes:
        typer.echo(f"verified-code: {note}", err=True)
    summary, records = audit_folder(
        folder,
        out,
        threads(surfaces, conditional=conditional, jobs=jobs),
        identity=surfaces.identity,
        conditional=conditional,
        name=name,
        say=lambda line: typer.echo(f"verified-code: {line}", err=True),
    )
    show(console, summary)
    typer.echo(f"{out}: report.html, cascade.svg, summary.json, records.jsonl")
    broken = sum("traceback" in r for r in records)
    if broken:
        typer.echo(f"verified-code: our own code broke on {broken} samples; please report them", err=True)
        raise typer.Exit(1)


def _read_counts(path: Path) -> dict[str, Any]:
    try:
        read = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise OperatorError(f"{path}: cannot be read as JSON ({error})") from error
    if not isinstance(read, dict):
        raise OperatorError(f"{path}: an object with table3, table4, table5 or table7 is due")
    return read


@app.command()
@usage_errors
def demo(
    out: Annotated[
        Path | None, typer.Option(help="Keep records and report there; default: a folder for the moment.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Samples at once.")] = 2,
    tools: Annotated[bool, typer.Option(help="Ask Dafny and run hidden tests.")] = True,
) -> None:
    """The cascade over the 24 tasks that ship, each sample against its label; exit 1 if one is not as expected."""
    import tempfile
    from importlib.resources import as_file, files

    from verified_code.auditing import audit_folder, caught_by, differences, threads
    from verified_code.report import show
    from verified_code.samples import load_samples
    from verified_code.surfaces import find_surfaces

    console = Console(highlight=False)
    surfaces = find_surfaces(tools=tools)
    for note in surfaces.notes:
        typer.echo(f"verified-code: {note}", err=True)
    with tempfile.TemporaryDirectory() as temporary, as_file(files("verified_code").joinpath("data/tasks")) as tasks:
        summary, records = audit_folder(
            tasks,
            out or Path(temporary),
            threads(surfaces, jobs=jobs),
            identity=surfaces.identity,
            name="The tasks that ship",
            say=lambda line: typer.echo(f"verified-code: {line}", err=True),
        )
        wrong = differences(load_samples(tasks), records)
    show(console, summary)
    if "not_run" not in {r["acceptance"] for r in records} | {r["tests"] for r in records}:
        kinds = ("A", "B", "flags", "C.tests", "C.post2exe", None)
        caught = {kind: sum(caught_by(r) == kind for r in records) for kind in kinds}
        console.print(Text("caught by: " + ", ".join(f"{kind or 'nothing'} {n}" for kind, n in caught.items())))
    for line in wrong:
        console.print(Text(printable(line), style="red"))
    console.print(Text(f"{len(records)} samples, {len(wrong)} verdicts not as labelled", style="bold"))
    if wrong:
        raise typer.Exit(1)


@app.command("parse")
@usage_errors
def parse_command(
    paths: Annotated[list[Path], typer.Argument(help="Dafny files, or folders of them.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    ill_formed: Annotated[
        Path | None, typer.Option(help="A file that names, one a line, the files that are no Dafny.")
    ] = None,
) -> None:
    """How much of a corpus the front end reads, and what it cannot, by construct."""
    try:
        bad = [] if ill_formed is None else ill_formed.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise OperatorError(f"{ill_formed}: cannot be read ({error})") from error
    report = parse_corpus(paths, [line.strip() for line in bad if line.strip()])
    if as_json:
        typer.echo(json.dumps(report.to_dict(), ensure_ascii=True))
        return
    console = Console(highlight=False, soft_wrap=True)
    for construct, refused in report.by_construct().items():
        console.print(Text(printable(f"{len(refused)} x {construct}"), style="yellow"))
        for one in refused[:3]:
            console.print(Text(printable(f"  {one.place}: {one.why}")))
    share = "" if report.share is None else f" ({report.share:.1%})"
    excluded = f", {report.excluded} excluded as ill-formed" if report.excluded else ""
    console.print(Text(f"{report.parsed} of {report.files} files parsed{share}{excluded}", style="bold"))


@app.command("post2exe")
@usage_errors
def post2exe_command(
    component: Annotated[Path, typer.Argument(help="A component's folder.")],
    cases: Annotated[Path, typer.Argument(help="A JSONL file of cases; - reads standard input.")],
    method: Annotated[str, typer.Option(help="The method, where there are several.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    fail: Annotated[bool, typer.Option("--fail", help="Exit 1 unless the verdict is keep.")] = False,
) -> None:
    """Surface C: does the postcondition accept the positive cases and reject the negative ones?"""
    found = read_cases(cases)
    report = post2exe(load_component(component), found, method=method)
    if as_json:
        typer.echo(json.dumps(report.to_dict(), ensure_ascii=True))
    else:
        _show_post2exe(Console(highlight=False, soft_wrap=True), report, found)
    if fail and report.verdict is not Fidelity.KEEP:
        raise typer.Exit(1)


def read_cases(path: Path) -> list[Case]:
    """The cases of a JSONL file.

    Raises:
        OperatorError: names the line that is no case.
    """
    try:
        text = typer.get_text_stream("stdin").read() if str(path) == "-" else path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OperatorError(f"{path}: cannot be read as UTF-8 text ({error})") from error
    found: list[Case] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                found.append(Case.from_dict(json.loads(line)))
            except (json.JSONDecodeError, RecursionError) as error:
                raise OperatorError(f"{path}:{number}: not JSON ({error})") from error
            except OperatorError as error:
                raise OperatorError(f"{path}:{number}: {error}") from error
    return found


def _show_post2exe(console: Console, report: Post2ExeReport, cases: list[Case]) -> None:
    _verdict(
        console, f"{report.component} {report.method}".strip(), report.verdict, f"  {report.why}" if report.why else ""
    )
    for kind in (POSITIVE, NEGATIVE):
        counts = report.count(kind)
        line = ", ".join(f"{n} {t}" for t, n in counts.items()) or "none"
        console.print(Text(f"  {kind}: {line}"))
    wrong = {POSITIVE: "true", NEGATIVE: "false"}
    for number, (case, result) in enumerate(zip(cases, report.cases, strict=False), 1):
        if str(result.truth) != wrong[case.kind]:
            shown = json.dumps({"input": case.input, "output": case.output}, ensure_ascii=True)
            console.print(Text(f"  case {number} ({case.kind}): {result.truth} {printable(result.why)} {shown:.160}"))


def component_name(component: Component) -> str:
    return component.path.name or str(component.path)


if __name__ == "__main__":
    main()
