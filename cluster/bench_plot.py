"""The picture of a bench: rates, latencies, and how busy each arm kept what it asked."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

COLORS = {"engine": "#4c72b0", "job": "#dd8452", "client": "#55a868", "stand_in": "#8172b3"}
NAMES = {"engine": "engine alone", "job": "engine through the job", "client": "client alone", "stand_in": "whole job"}
DASHES = {"fixed": "-", "natural": "--", "": "-"}


def draw(records: Sequence[dict[str, Any]], ratios: Sequence[dict[str, Any]], model: str) -> bytes:
    """A PNG of three panels (completions a second, latencies, requests under way), one row for what was asked of the
    engine and one for the stand-in."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib.figure import Figure

    groups = [
        (title, mine)
        for title, arms in ((model, ("engine", "job")), ("stand-in of known latency", ("client", "stand_in")))
        if (mine := [r for r in records if r["serial7"]["arm"] in arms])
    ]
    figure = Figure(figsize=(15, 4.2 * len(groups)), layout="constrained")
    grid = figure.subplots(len(groups), 3, squeeze=False)
    for axes, (title, mine) in zip(grid, groups, strict=True):
        _rates(axes[0], title, mine, ratios)
        _latencies(axes[1], mine)
        _under_way(axes[2], mine)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()


def _kind(record: dict[str, Any]) -> tuple[str, str]:
    return record["serial7"]["stop"], record["serial7"]["arm"]


def _kinds(records: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    return list(dict.fromkeys(sorted((_kind(r) for r in records), key=lambda k: (k[0], list(NAMES).index(k[1])))))


def _label(kind: tuple[str, str]) -> str:
    return NAMES[kind[1]] + (f", {kind[0]} stops" if kind[0] else "")


def _rates(axes: Any, title: str, records: Sequence[dict[str, Any]], ratios: Sequence[dict[str, Any]]) -> None:
    kinds = _kinds(records)
    for place, kind in enumerate(kinds):
        rates = [
            r["serial7"]["steady"]["completions_per_s"] for r in records if _kind(r) == kind and r["serial7"]["steady"]
        ]
        if not rates:
            continue
        middle = float(np.median(rates))
        axes.barh(place, middle, color=COLORS[kind[1]], alpha=0.75)
        axes.plot(rates, [place] * len(rates), "k.", markersize=5)
        ratio = next((r for r in ratios if (r["stop"], r["of"]) == kind), None)
        text = f" {middle:.1f}/s" + (f", {ratio['ratio']:.3f} of the {ratio['to']}" if ratio else "")
        axes.text(0, place, text, va="center", ha="left", fontsize=9)
    axes.set_yticks(range(len(kinds)), [_label(kind) for kind in kinds])
    axes.invert_yaxis()
    axes.set_xlabel("completions a second at steady state (dots: rounds)")
    axes.set_title(title, loc="left")


def _latencies(axes: Any, records: Sequence[dict[str, Any]]) -> None:
    for kind in _kinds(records):
        seconds = np.sort(np.concatenate([r["latencies"] for r in records if _kind(r) == kind]))
        share = np.arange(1, len(seconds) + 1) / len(seconds)
        axes.step(seconds, share, where="post", color=COLORS[kind[1]], linestyle=DASHES[kind[0]], label=_label(kind))
    axes.set_xlabel("latency of a request, s")
    axes.set_ylabel("share of requests within it")
    axes.set_ylim(0, 1)
    axes.set_xlim(left=0)
    axes.legend(fontsize=8, loc="lower right")


def _under_way(axes: Any, records: Sequence[dict[str, Any]]) -> None:
    last = max(r["serial7"]["round"] for r in records)
    for record in records:
        if record["serial7"]["round"] != last or not record["start_times"]:
            continue
        starts = np.array(record["start_times"])
        ends = starts + np.array(record["latencies"])
        times = np.concatenate([starts, ends]) - starts.min()
        order = np.argsort(times, kind="stable")
        count = np.cumsum(np.concatenate([np.ones(len(starts)), -np.ones(len(ends))])[order])
        kind = _kind(record)
        axes.step(
            times[order],
            count,
            where="post",
            color=COLORS[kind[1]],
            linestyle=DASHES[kind[0]],
            linewidth=1,
            label=_label(kind),
        )
    axes.set_xlabel("s since the first request (last round)")
    axes.set_ylabel("requests under way")
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.legend(fontsize=8, loc="lower center")
