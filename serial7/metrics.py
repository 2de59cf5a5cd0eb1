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
    """The counts of a group of rows.

    `planned = done + failed + missing`; `n` is the denominator of `fc`, `hsr`, `hsr_inputs` and `full`; the same
    with `_ok` count the rows of status `ok` alone. `errors` are verifier errors: done, but in no denominator.
    """
    rows = list(rows)
    scored = [r for r in rows if r.status in SCORED and not r.error]
    clean = [r for r in scored if r.status == "ok"]
    done = sum(r.status in SCORED for r in rows)
    missing = sum(r.status is None for r in rows)
    statuses = Counter(r.status for r in rows if r.status is not None)
    return {
        "planned": len(rows),
        "done": done,
        "failed": len(rows) - done - missing,
        "missing": missing,
        "errors": sum(r.error for r in rows),
        "n": len(scored),
        **{m: sum(getattr(r, m) for r in scored) for m in ("fc", "hsr", "hsr_inputs", "full")},
        "n_ok": len(clean),
        **{f"{m}_ok": sum(getattr(r, m) for r in clean) for m in ("fc", "hsr", "hsr_inputs", "full")},
        "statuses": {s: statuses[s] for s in STATUSES if statuses[s]},
    }


def cells(rows: Iterable[Scored]) -> list[dict[str, Any]]:
    """The counts of each condition x level x format x language, in the order first met."""
    groups: dict[tuple[str, int, str, str], list[Scored]] = {}
    for row in rows:
        groups.setdefault((row.condition, row.level, row.format, row.language), []).append(row)
    return [
        {"condition": condition, "level": level, "format": format_, "language": language, **count(group)}
        for (condition, level, format_, language), group in groups.items()
    ]
