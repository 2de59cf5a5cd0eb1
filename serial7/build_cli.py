"""`serial7 build`: the rule-based stages of the pipeline on one machine, without a model (`launch/build.py` has one)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from serial7.errors import OperatorError


def build(
    path: Annotated[Path, typer.Argument(help="A file or folder of source rows: JSONL, JSON, CSV, Parquet.")],
    out: Annotated[Path, typer.Option(help="The folder of the stages; finished ones are not done again.")],
    seed: Annotated[int, typer.Option(help="Of the sampling and of who stays in a template family.")] = 7,
    per_source: Annotated[int, typer.Option(min=0, help="Rows of each source, stratified; 0 takes all.")] = 0,
    family_cap: Annotated[int, typer.Option(min=1, help="Artifacts of one template family.")] = 2,
) -> None:
    """Make artifacts from source rows by the rules alone, and count who falls out where (paper table 17)."""
    from serial7.build.pipeline import Settings, rowset  # imports the validator
    from serial7.build.pipeline import build as run

    try:
        settings = Settings(seed=seed, per_source=per_source, family_cap=family_cap)
        built = run([rowset(path)], out, settings, say=lambda line: typer.echo(line, err=True))
    except OperatorError as error:
        typer.echo(f"serial7: {error}", err=True)
        raise typer.Exit(2) from error
    for line in built.summary():
        typer.echo(line.encode("utf-8", "backslashreplace").decode())
    typer.echo(f"{out}: artifacts.jsonl, review.jsonl, flow.json, the stages as Parquet")
