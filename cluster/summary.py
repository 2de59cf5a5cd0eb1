"""From what lies in a run folder to its summary: counts a cell, totals, a few failures to look at."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cluster import rows
from cluster.store import RunFolder, by_key, final_completions
from serial7 import metrics
from serial7.artifacts import LANGUAGES
from serial7.formats import FORMATS
from serial7.grid import CONDITIONS
from serial7.metrics import Scored

SAMPLES = 3
SPENT = ("prompt_tokens", "completion_tokens", "cost_usd")  # columns of the two sums below


def summarize(folder: RunFolder, verifier: str) -> dict[str, Any]:
    """Counts a cell and in all; `planned = done + failed + missing` in each. Reads the folder, writes nothing."""
    plan = folder.read_plan()
    assert plan is not None
    completions = folder.read("completions", rows.COMPLETION, ("key", "status", *SPENT))
    chosen = final_completions(completions)
    status = completions.column("status").to_pylist()
    columns = ("verifier", "fc", "hsr", "hsr_inputs", "full", "error")
    verdicts = by_key(folder.read("verdicts/instances", rows.INSTANCE, ("key", *columns)), columns)
    scored = []
    names = ("key", "condition", "level", "format", "language")
    for key, condition, level, format_, language in zip(
        *(plan.column(name).to_pylist() for name in names), strict=True
    ):
        found = status[chosen[key]] if key in chosen else None
        verdict = verdicts.get(key)
        judged = verdict is not None and verdict[0] == verifier and found in metrics.JUDGED
        fc, hsr, hsr_inputs, full, error = verdict[1:] if judged and verdict else (False, False, False, False, "")
        unjudged = found in metrics.JUDGED and not judged
        wrong = bool(error) or unjudged
        scored.append(Scored(condition, level, format_, language, found, fc, hsr, hsr_inputs, full, error=wrong))
    return {
        "cells": metrics.cells(sorted(scored, key=_reporting_order)),
        "total": metrics.count(scored),
        "tokens": spent_tokens(completions),
        "cost_usd": sum(spent_costs(completions)),
        "verifier": verifier,
        "samples": _samples(folder, {k for k, v in verdicts.items() if v[0] == verifier} & chosen.keys()),
    }


def spent_tokens(completions: pa.Table) -> dict[str, int]:
    """`prompt` and `completion` tokens of all completions, those that were asked again included."""
    return {
        name: sum(max(0, n) for n in completions.column(f"{name}_tokens").to_pylist())
        for name in ("prompt", "completion")
    }


def spent_costs(completions: pa.Table) -> list[float]:
    """US dollars of each completion whose provider reported them."""
    return [c for c in completions.column("cost_usd").to_pylist() if c is not None]


def _reporting_order(row: Scored) -> tuple[int, int, int, int]:
    formats = ("", *FORMATS)
    return CONDITIONS.index(row.condition), row.level, formats.index(row.format), LANGUAGES.index(row.language)


def _samples(folder: RunFolder, keys: Set[str]) -> list[dict[str, str]]:
    """A few answers of these keys that failed, of different checks, each with its first failure."""
    samples: dict[str, dict[str, str]] = {}
    for part in folder.iterate("verdicts/findings", rows.FINDING):
        for finding in part.filter(pc.equal(part.column("outcome"), "fail")).to_pylist():
            check, key = finding["check"], finding["key"]
            if check not in samples and key in keys and key not in {s["key"] for s in samples.values()}:
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
