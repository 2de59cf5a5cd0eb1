"""Verdicts of a run folder: which completions lack one, how they get it, how it is stored. Rebuilt at will."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cluster import rows
from cluster.config import Config
from cluster.plan import verifier_id
from cluster.store import RunFolder, final_completions
from serial7.metrics import JUDGED

SLAB_ROWS = 40_000
PART_ROWS = 512
PART_S = 10.0

log = logging.getLogger("cluster")


def judge_missing(config: Config, folder: RunFolder, plan: pa.Table) -> None:
    """Judge stored completions that have no verdict of this verifier."""
    todo = without_verdict(folder)
    if not todo:
        return
    from cluster.pipeline import judge_stored

    log.info("judging %d stored completions", len(todo))
    with VerdictWriter(folder) as verdicts:
        for table in judge_stored(config, _answered(folder, plan, todo), verifier_id()):
            verdicts.add(table)


def without_verdict(folder: RunFolder) -> set[int]:
    """The rows of the completions that count and have no verdict of this verifier."""
    completions = folder.read("completions", rows.COMPLETION, ("key", "status"))
    instances = folder.read("verdicts/instances", rows.INSTANCE, ("key", "verifier"))
    current = pc.equal(instances.column("verifier"), verifier_id())
    judged = set(instances.filter(current).column("key").to_pylist())
    statuses = completions.column("status").to_pylist()
    return {i for key, i in final_completions(completions).items() if key not in judged and statuses[i] in JUDGED}


def _answered(folder: RunFolder, plan: pa.Table, todo: set[int]) -> Iterator[pa.Table]:
    """The rows `todo` of the completions, each with its plan row, in slabs: the texts of all would not fit anywhere."""
    plan_row = {key: i for i, key in enumerate(plan.column("key").to_pylist())}
    columns = ("condition", "level", "format", "source_format", "language", "artifact_id", "rules")
    first, slab, size = 0, list[pa.Table](), 0
    for part in folder.iterate("completions", rows.COMPLETION):
        chosen = part.take(pa.array([i for i in range(len(part)) if first + i in todo], pa.int64()))
        first += len(part)
        planned = plan.take(pa.array([plan_row[key] for key in chosen.column("key").to_pylist()], pa.int64()))
        for name in columns:
            chosen = chosen.append_column(rows.PLAN.field(name), planned.column(name))
        slab.append(chosen)
        size += len(chosen)
        if size >= SLAB_ROWS:
            yield pa.concat_tables(slab)
            slab, size = [], 0
    if size:
        yield pa.concat_tables(slab)


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
