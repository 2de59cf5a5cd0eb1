"""Verdicts of a run folder: which completions lack one, how they get it, how it is stored. Rebuilt at will."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cluster import rows
from cluster.config import Config
from cluster.plan import verifier_id
from cluster.store import RunFolder, final_rows
from serial7.metrics import JUDGED

SLAB_ROWS = 40_000
PART_ROWS = 512
PART_S = 10.0

Rows = npt.NDArray[np.int64]  # numbers of rows

log = logging.getLogger("cluster")


def judge_missing(config: Config, folder: RunFolder, plan: pa.Table) -> None:
    """Judge stored completions that have no verdict of this verifier."""
    todo = without_verdict(folder)
    if not len(todo):
        return
    from cluster.pipeline import judge_stored

    log.info("judging %d stored completions", len(todo))
    with VerdictWriter(folder) as verdicts:
        for table in judge_stored(config, _answered(folder, plan, todo), verifier_id()):
            verdicts.add(table)


def without_verdict(folder: RunFolder) -> Rows:
    """The rows, ascending, of the completions that count and have no verdict of this verifier."""
    completions = folder.read("completions", rows.COMPLETION, ("key", "status"))
    instances = folder.read("verdicts/instances", rows.INSTANCE, ("key", "verifier"))
    judged = instances.filter(pc.equal(instances.column("verifier"), verifier_id())).column("key").combine_chunks()
    chosen = final_rows(completions)
    status = completions.column("status").take(chosen["row"])
    due = pc.and_(pc.is_in(status, pa.array(sorted(JUDGED))), pc.invert(pc.is_in(chosen["key"], judged)))
    return np.sort(chosen["row"].filter(due).to_numpy())


def _answered(folder: RunFolder, plan: pa.Table, todo: Rows) -> Iterator[pa.Table]:
    """The rows `todo` of the completions, each with its plan row, in slabs: the texts of all would not fit anywhere."""
    first, slab, size = 0, list[pa.Table](), 0
    for part in folder.iterate("completions", rows.COMPLETION):
        inside = todo[np.searchsorted(todo, first) : np.searchsorted(todo, first + len(part))] - first
        first += len(part)
        slab.append(part.take(pa.array(inside)))
        size += len(inside)
        if size >= SLAB_ROWS:
            yield _with_plan(pa.concat_tables(slab), plan)
            slab, size = [], 0
    if size:
        yield _with_plan(pa.concat_tables(slab), plan)


def _with_plan(completions: pa.Table, plan: pa.Table) -> pa.Table:
    planned = plan.take(pc.index_in(completions.column("key"), plan.column("key").combine_chunks()))
    for name in ("condition", "level", "format", "source_format", "language", "artifact_id", "rules"):
        completions = completions.append_column(rows.PLAN.field(name), planned.column(name))
    return completions


class VerdictWriter:
    """Stores verdicts as they come, many in a part. What a crash loses of them is judged again."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._instances: list[dict[str, Any]] = []
        self._findings: list[dict[str, Any]] = []
        self._written = time.monotonic()

    def __enter__(self) -> VerdictWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._write()

    def add(self, judged: pa.Table) -> None:
        """Judged rows of the stream (`cluster.pipeline.JUDGED_ROW`)."""
        from cluster.pipeline import split_verdicts

        instances, findings = split_verdicts(judged)
        self._instances += instances
        self._findings += findings
        if len(self._instances) >= PART_ROWS or time.monotonic() - self._written >= PART_S:
            self._write()

    def _write(self) -> None:
        # Findings first: an instance says that its findings are there.
        self._folder.append("verdicts/findings", self._findings, rows.FINDING)
        self._folder.append("verdicts/instances", self._instances, rows.INSTANCE)
        self._instances, self._findings, self._written = [], [], time.monotonic()
