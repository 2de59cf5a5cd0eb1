"""The figures of a bench: steady states, records under vLLM's keys, ratios. Pure.

Steady state lies between the time when as many requests as fit at once have been answered, and the sending of the last
request; rates count what was answered in it.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as its asker saw it: seconds since the epoch, tokens as the server counts them (-1: not said)."""

    start: float
    end: float
    prompt_tokens: int
    output_tokens: int
    error: str = ""


@dataclass(frozen=True, slots=True)
class Steady:
    """The steady state of a measurement. Shares are 0 to 1."""

    seconds: float
    completions: int
    completions_per_s: float
    prompt_tokens_per_s: float
    output_tokens_per_s: float
    busy_share: float  # of its time, with at least one request under way
    occupancy: float  # mean requests under way / connections


@dataclass(frozen=True, slots=True)
class Measurement:
    """One arm in one round. `began` and `ended`: of the whole arm, start-up and ending included, seconds since the
    epoch; `more`: figures that only this arm has."""

    arm: str
    stop: str
    round: int
    connections: int
    asked: Sequence[Asked]
    began: float
    ended: float
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return "-".join(filter(None, (self.arm, self.stop, str(self.round))))


def steady_state(asked: Sequence[Asked], connections: int) -> Steady | None:
    """The steady state of requests that were asked `connections` at once; None if there is none."""
    good = [a for a in asked if not a.error]
    ends = sorted(a.end for a in good)
    if len(ends) <= connections:
        return None
    first, last = ends[connections - 1], max(a.start for a in asked)
    inside = [a for a in good if first < a.end <= last]
    seconds = last - first
    if seconds <= 0 or not inside:
        return None
    under_way = sum(max(0.0, min(a.end, last) - max(a.start, first)) for a in asked)
    return Steady(
        seconds,
        len(inside),
        len(inside) / seconds,
        sum(max(0, a.prompt_tokens) for a in inside) / seconds,
        sum(max(0, a.output_tokens) for a in inside) / seconds,
        _covered(asked, first, last) / seconds,
        under_way / seconds / connections,
    )


def _covered(asked: Sequence[Asked], first: float, last: float) -> float:
    """Seconds between `first` and `last` in which at least one request was under way."""
    covered, reached = 0.0, first
    for start, end in sorted((a.start, a.end) for a in asked):
        begin = max(start, reached)
        covered += max(0.0, min(end, last) - begin)
        reached = max(reached, min(end, last))
    return covered


def most_at_once(asked: Sequence[Asked]) -> int:
    steps = sorted([(a.start, 1) for a in asked] + [(a.end, -1) for a in asked])  # an end before a start of its time
    most = now = 0
    for _, step in steps:
        now += step
        most = max(most, now)
    return most


def record(measured: Measurement, model: str, engines: int, gpus: int) -> dict[str, Any]:
    """A measurement under the keys of `vllm bench serve --save-result --save-detailed`, and ours under `serial7`.

    Its spans are vLLM's: from the first request to the last answer, ramp and tail included.
    """
    asked = sorted(measured.asked, key=lambda a: a.start)
    good = [a for a in asked if not a.error]
    duration = max((a.end for a in asked), default=0.0) - (asked[0].start if asked else 0.0)
    latencies = np.array([a.end - a.start for a in good] or [0.0]) * 1000
    tokens_in, tokens_out = (sum(max(0, getattr(a, f"{n}_tokens")) for a in good) for n in ("prompt", "output"))
    per_s = 1 / duration if duration > 0 else 0.0
    steady = steady_state(asked, measured.connections)
    ours = {
        "arm": measured.arm,
        "stop": measured.stop,
        "round": measured.round,
        "steady": asdict(steady) if steady else None,
        "startup_s": (asked[0].start if asked else measured.ended) - measured.began,
        "ending_s": measured.ended - max((a.end for a in asked), default=measured.ended),
        "load": os.getloadavg()[0],
        **measured.more,
    }
    if "verified" in measured.more and engines:
        per_hour = measured.more["verified"] * per_s * 3600
        ours |= {"verified_per_engine_hour": per_hour / engines}
        ours |= {"verified_per_gpu_hour": per_hour / gpus if gpus else None}
    return {
        "date": time.strftime("%Y%m%d-%H%M%S", time.localtime(measured.began)),
        "backend": "openai-chat",
        "label": measured.name,
        "model_id": model,
        "tokenizer_id": model,
        "num_prompts": len(asked),
        "request_rate": "inf",
        "burstiness": 1.0,
        "max_concurrency": measured.connections,
        "duration": duration,
        "completed": len(good),
        "failed": len(asked) - len(good),
        "total_input_tokens": tokens_in,
        "total_output_tokens": tokens_out,
        "request_throughput": len(good) * per_s,
        "request_goodput": None,
        "output_throughput": tokens_out * per_s,
        "total_token_throughput": (tokens_in + tokens_out) * per_s,
        "mean_e2el_ms": float(latencies.mean()),
        "median_e2el_ms": float(np.median(latencies)),
        "std_e2el_ms": float(latencies.std()),
        **{f"p{p}_e2el_ms": float(np.percentile(latencies, p)) for p in (50, 90, 95, 99)},
        "max_concurrent_requests": most_at_once(asked),
        "start_times": [a.start for a in asked],
        "latencies": [a.end - a.start for a in asked],
        "input_lens": [a.prompt_tokens for a in asked],
        "output_lens": [a.output_tokens for a in asked],
        "errors": [a.error for a in asked],
        "serial7": ours,
    }


def ratios(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the job costs: `job` over `engine` in the same round, `client` and `stand_in` over the ideal of the stand-in.
    Of completions a second at steady state; the median over the rounds, and each of them."""
    by = {(r["serial7"]["arm"], r["serial7"]["stop"], r["serial7"]["round"]): r for r in records}
    found: dict[tuple[str, str], list[float]] = {}
    for (arm, stop, number), one in by.items():
        mine = one["serial7"]["steady"]
        if arm == "job":
            other = (by.get(("engine", stop, number)) or {"serial7": {"steady": None}})["serial7"]["steady"]
            base = other and other["completions_per_s"]
        else:
            base = one["serial7"].get("ideal_per_s")
        if mine and base:
            found.setdefault((arm, stop), []).append(mine["completions_per_s"] / base)
    return [
        {
            "of": arm,
            "to": "engine" if arm == "job" else "ideal",
            "stop": stop,
            "ratio": statistics.median(each),
            "rounds": each,
        }
        for (arm, stop), each in found.items()
    ]
