"""From what lies in a run folder to its summary: counts a cell, totals, a few failures to look at."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from cluster import rows
from cluster.store import RunFolder, by_key, final_completions
from serial7 import metrics
from serial7.artifacts import LANGUAGES
from serial7.formats import FORMATS
from serial7.grid import CONDITIONS
from serial7.metrics import Scored

SAMPLES = 3


def summarize(folder: RunFolder, verifier: str) -> dict[str, Any]:
    """Counts a cell and in all; `planned = done + failed + missing` in each. Reads the folder, writes nothing."""
    plan = folder.read_plan()
    assert plan is not None
    completions = folder.read("completions", rows.COMPLETION)
    chosen = final_completions(completions)
    status = completions.column("status").to_pylist()
    instances = folder.read("verdicts/instances", rows.INSTANCE)
    verdicts = by_key(instances, ("verifier", "fc", "hsr", "hsr_inputs", "full", "error"))
    scored = []
    for row in plan.to_pylist():
        found = status[chosen[row["key"]]] if row["key"] in chosen else None
        verdict = verdicts.get(row["key"])
        judged = verdict is not None and verdict[0] == verifier and found in metrics.JUDGED
        fc, hsr, hsr_inputs, full, error = verdict[1:] if judged and verdict else (False, False, False, False, "")
        unjudged = found in metrics.JUDGED and not judged
        place = (row["condition"], row["level"], row["format"], row["language"])
        scored.append(Scored(*place, found, fc, hsr, hsr_inputs, full, error=bool(error) or unjudged))
    return {
        "cells": metrics.cells(sorted(scored, key=_reporting_order)),
        "total": metrics.count(scored),
        "tokens": spent_tokens(completions),
        "cost_usd": sum(spent_costs(completions)),
        "verifier": verifier,
        "samples": _samples(folder, completions, chosen, verifier),
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


def _samples(folder: RunFolder, completions: Any, chosen: dict[str, int], verifier: str) -> list[dict[str, str]]:
    """A few judged answers that failed, of different checks, each with its first failure."""
    findings = folder.read("verdicts/findings", rows.FINDING)
    current = {
        k
        for k, (v,) in by_key(folder.read("verdicts/instances", rows.INSTANCE), ("verifier",)).items()
        if v == verifier
    }
    samples: dict[str, dict[str, str]] = {}
    texts, ids = completions.column("text"), completions.column("request_id")
    for finding in findings.to_pylist():
        check, key = finding["check"], finding["key"]
        fresh = check not in samples and key not in {s["key"] for s in samples.values()}
        if finding["outcome"] == "fail" and fresh and key in current and key in chosen:
            row = chosen[key]
            samples[check] = {
                "request_id": ids[row].as_py(),
                "text": texts[row].as_py()[:2000],
                **{name: finding[name] for name in ("key", "check", "why", "at")},
            }
            if len(samples) == SAMPLES:
                break
    return list(samples.values())
