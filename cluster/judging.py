"""Verdicts of a run folder: which completions lack one, how they get it, how it is stored. Rebuilt at will."""

from __future__ import annotations

import logging

import pyarrow as pa
import pyarrow.compute as pc

from cluster import rows
from cluster.config import Config
from cluster.plan import verifier_id
from cluster.store import RunFolder, final_completions
from serial7.metrics import JUDGED

log = logging.getLogger("cluster")


def judge_missing(config: Config, folder: RunFolder, plan: pa.Table) -> None:
    """Judge stored completions that have no verdict of this verifier."""
    completions = folder.read("completions", rows.COMPLETION)
    todo = without_verdict(completions, folder)
    if not todo:
        return
    from cluster.pipeline import judge_stored

    log.info("judging %d stored completions", len(todo))
    columns = ["key", "condition", "level", "format", "source_format", "language", "artifact_id", "rules"]
    joined = completions.take(todo).join(_indexed(plan.select(columns)), "key")
    # A list column cannot cross Arrow's join; it is taken by the row that the join found.
    rules = plan.column("rules").take(joined.column("plan_row"))
    joined = joined.drop_columns(["plan_row"]).append_column(rows.PLAN.field("rules"), rules)
    for table in judge_stored(config, joined, verifier_id()):
        store_verdicts(folder, table)


def without_verdict(completions: pa.Table, folder: RunFolder) -> list[int]:
    """The rows of the completions that count and have no verdict of this verifier."""
    instances = folder.read("verdicts/instances", rows.INSTANCE)
    current = pc.equal(instances.column("verifier"), verifier_id())
    judged = set(instances.filter(current).column("key").to_pylist())
    statuses = completions.column("status").to_pylist()
    return [i for key, i in final_completions(completions).items() if key not in judged and statuses[i] in JUDGED]


def _indexed(plan: pa.Table) -> pa.Table:
    return plan.drop_columns(["rules"]).append_column("plan_row", pa.array(range(len(plan)), pa.int64()))


def store_verdicts(folder: RunFolder, judged: pa.Table) -> None:
    from cluster.pipeline import split_verdicts

    instances, findings = split_verdicts(judged)
    folder.append("verdicts/findings", findings, rows.FINDING)  # first: an instance says that its findings are there
    folder.append("verdicts/instances", instances, rows.INSTANCE)
