"""From what lies in a run folder to its summary: counts a cell, totals, a few failures to look at."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cluster import rows
from cluster.store import RunFolder, final_rows
from serial7 import metrics
from serial7.artifacts import LANGUAGES
from serial7.formats import FORMATS
from serial7.grid import CONDITIONS
from serial7.metrics import Scored

SAMPLES = 3
SERVED = ("observed_provider", "observed_model")
SPENT = ("prompt_tokens", "completion_tokens", "cost_usd")  # columns of the two sums below


def summarize(folder: RunFolder, verifier: str) -> dict[str, Any]:
    """Counts a cell and in all; `planned = done + failed + missing` in each. Reads the folder, writes nothing."""
    plan = folder.read_plan()
    assert plan is not None
    completions = folder.read("completions", rows.COMPLETION, ("key", "status", *SPENT, *SERVED))
    chosen = final_rows(completions)
    verdicts = _verdicts(folder, verifier)
    by_server = _tally(plan, chosen, completions.select(["status", *SERVED]), verdicts)
    tally = sum(by_server.values(), Counter[Scored]())
    judged = verdicts["key"].filter(pc.is_in(verdicts["key"], chosen["key"].combine_chunks()))
    return {
        "cells": metrics.cells(Counter({row: tally[row] for row in sorted(tally, key=_reporting_order)})),
        "total": metrics.count(tally),
        "tokens": spent_tokens(completions),
        "cost_usd": spent_usd(completions),
        "served_by": [
            {"provider": server[0], "model": server[1], **metrics.count(by_server[server])}
            for server in sorted(by_server)
            if any(server)
        ],
        "verifier": verifier,
        "samples": _samples(folder, judged.combine_chunks()),
    }


def _verdicts(folder: RunFolder, verifier: str) -> pa.Table:
    """`key`, the metrics and `error` (whether the verifier broke) of this verifier's verdicts; the last of a key counts."""
    found = folder.read("verdicts/instances", rows.INSTANCE, ("key", "verifier", *metrics.METRICS, "error"))
    found = found.filter(pc.equal(found["verifier"], verifier))
    row = pa.array(range(len(found)), pa.int64())
    last = pa.table({"key": found["key"], "row": row}).group_by("key").aggregate([("row", "max")])
    found = found.take(last["row_max"])
    broke = pc.not_equal(found["error"], "")
    return found.select(["key", *metrics.METRICS]).append_column("error", broke)


def _tally(
    plan: pa.Table, chosen: pa.Table, completions: pa.Table, verdicts: pa.Table
) -> dict[tuple[str, str], Counter[Scored]]:
    """(observed provider, observed model) -> how many requests of the plan came to the same; a run has far fewer of these
    than requests. What nobody reported, or has not arrived, is under empty names."""
    keys = plan["key"]
    completion = completions.take(chosen["row"].take(pc.index_in(keys, chosen["key"].combine_chunks())))
    verdict = verdicts.take(pc.index_in(keys, verdicts["key"].combine_chunks()))
    columns = {name: plan[name] for name in ("condition", "level", "format", "language")}
    columns |= {name: completion[name] for name in ("status", *SERVED)}
    columns |= {name: verdict[name] for name in (*metrics.METRICS, "error")}
    grouped = pa.table(columns).group_by(list(columns)).aggregate([([], "count_all")])
    tallies: dict[tuple[str, str], Counter[Scored]] = {}
    for found in grouped.to_pylist():
        number = found.pop("count_all")
        server = (found.pop("observed_provider") or "", found.pop("observed_model") or "")
        in_judgement = found["status"] in metrics.JUDGED
        judged = in_judgement and found["error"] is not None
        for name in (*metrics.METRICS, "error"):
            found[name] = judged and found[name]
        found["error"] |= in_judgement and not judged
        tallies.setdefault(server, Counter())[Scored(**found)] += number
    return tallies


def spent_tokens(completions: pa.Table) -> dict[str, int]:
    """`prompt` and `completion` tokens of all completions, those that were asked again included."""
    return {
        name: pc.sum(pc.max_element_wise(completions.column(f"{name}_tokens"), 0)).as_py() or 0
        for name in ("prompt", "completion")
    }


def spent_usd(completions: pa.Table) -> float:
    """US dollars of the completions whose provider reported them."""
    return pc.sum(completions.column("cost_usd")).as_py() or 0.0


def _reporting_order(row: Scored) -> tuple[int, int, int, int]:
    formats = ("", *FORMATS)
    return CONDITIONS.index(row.condition), row.level, formats.index(row.format), LANGUAGES.index(row.language)


def _samples(folder: RunFolder, keys: pa.Array) -> list[dict[str, str]]:
    """A few answers of these keys that failed, of different checks, each with its first failure."""
    samples: dict[str, dict[str, str]] = {}
    for part in folder.iterate("verdicts/findings", rows.FINDING):
        failed = part.filter(pc.equal(part.column("outcome"), "fail"))
        failed = failed.filter(pc.invert(pc.is_in(failed.column("check"), pa.array(list(samples), pa.string()))))
        if not len(failed):
            continue
        for finding in failed.filter(pc.is_in(failed.column("key"), keys)).to_pylist():
            check, key = finding["check"], finding["key"]
            if check not in samples and key not in {s["key"] for s in samples.values()}:
                samples[check] = {name: finding[name] for name in ("key", "check", "why", "at")}
            if len(samples) == SAMPLES:
                return _with_texts(folder, list(samples.values()))
    return _with_texts(folder, list(samples.values()))


def _with_texts(folder: RunFolder, samples: list[dict[str, str]]) -> list[dict[str, str]]:
    wanted = {sample["key"] for sample in samples}
    found: dict[str, tuple[str, str]] = {}
    for part in folder.iterate("completions", rows.COMPLETION) if wanted else ():
        mine = part.filter(pc.is_in(part.column("key"), pa.array(sorted(wanted), pa.string())))
        for row in mine.to_pylist():
            if row["status"] in metrics.JUDGED:
                found.setdefault(row["key"], (row["request_id"], row["text"][:2000]))
        if len(found) == len(wanted):
            break
    return [{"request_id": found[s["key"]][0], "text": found[s["key"]][1], **s} for s in samples]
