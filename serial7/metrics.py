"""From verdicts to counts. Every rate is later shown with its numerator, denominator and what is missing.

Source: contracts.md "Metrics of one instance"; completion statuses as in the job's documentation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

SCORED = frozenset({"ok", "truncated", "unfinished_reasoning", "empty", "refused"})
JUDGED = frozenset({"ok", "truncated"})  # these alone have a text to verify
ASKED_AGAIN = frozenset({"provider_error", "timed_out"})
STATUSES = (
    *("ok", "truncated", "unfinished_reasoning", "empty", "refused"),
    *sorted(ASKED_AGAIN),
    "context_overflow",
)
METRICS = ("fc", "hsr", "hsr_inputs", "full")


@dataclass(frozen=True, slots=True)
class Scored:
    """One planned request and what became of it. `status` is None where no completion has arrived.

    `fc`, `hsr`, `hsr_inputs`, `full` are False unless judged; `error`: our verifier broke, the row is in no rate.
    """

    condition: str
    level: int
    format: str
    language: str
    status: str | None
    fc: bool = False
    hsr: bool = False
    hsr_inputs: bool = False
    full: bool = False
    error: bool = False


def count(rows: Iterable[Scored]) -> dict[str, Any]:
    """The counts of a group of rows; a `Counter` of rows counts as many as it says.

    `planned = done + failed + missing`; `n` is the denominator of `fc`, `hsr`, `hsr_inputs` and `full`; the same
    with `_ok` count the rows of status `ok` alone. `errors` are verifier errors: done, but in no denominator.
    """
    tally = Counter(rows)
    scored = Counter({r: n for r, n in tally.items() if r.status in SCORED and not r.error})
    clean = Counter({r: n for r, n in scored.items() if r.status == "ok"})
    done = sum(n for r, n in tally.items() if r.status in SCORED)
    missing = sum(n for r, n in tally.items() if r.status is None)
    statuses = Counter[str]()
    for row, n in tally.items():
        if row.status is not None:
            statuses[row.status] += n

    def reached(metric: str, among: Counter[Scored]) -> int:
        return sum(n for r, n in among.items() if getattr(r, metric))

    return {
        "planned": tally.total(),
        "done": done,
        "failed": tally.total() - done - missing,
        "missing": missing,
        "errors": sum(n for r, n in tally.items() if r.error),
        "n": scored.total(),
        **{m: reached(m, scored) for m in METRICS},
        "n_ok": clean.total(),
        **{f"{m}_ok": reached(m, clean) for m in METRICS},
        "statuses": {s: statuses[s] for s in STATUSES if statuses[s]},
    }


def cells(rows: Iterable[Scored]) -> list[dict[str, Any]]:
    """The counts of each condition x level x format x language, in the order first met."""
    groups: dict[tuple[str, int, str, str], Counter[Scored]] = {}
    for row, n in Counter(rows).items():
        groups.setdefault((row.condition, row.level, row.format, row.language), Counter())[row] += n
    return [
        {"condition": condition, "level": level, "format": format_, "language": language, **count(group)}
        for (condition, level, format_, language), group in groups.items()
    ]
