"""A cascade: conditional stages, each asked of those that passed the one before. One piece of code for both suites:
surfaces A, B, C of verified code, and format, binding, meaning of a document.

What drops out between two stages (a tool crashed, code did not compile) keeps its own count and stays in the
denominator of the stage; it is neither passed nor failed. Source: paper figure 1; surfaces.md, "What it answers".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from verified_code.rates import Rate, clustered_interval

PASS, FAIL = "pass", "fail"


@dataclass(frozen=True, slots=True)
class Stage:
    """`asked` of those that passed the stage before; `outcomes` counts what is neither pass nor fail, by name."""

    name: str
    asked: int
    passed: int
    failed: int
    outcomes: Mapping[str, int]
    attempts: int
    interval: tuple[float, float] | None  # of the share of attempts, problems as clusters

    @property
    def conditional(self) -> Rate:
        return Rate(self.passed, self.asked, f"asked at {self.name}")

    @property
    def unconditional(self) -> Rate:
        return Rate(self.passed, self.attempts, "all attempts")

    def to_dict(self) -> dict[str, Any]:
        return {
            "stage": self.name,
            "asked": self.asked,
            "passed": self.passed,
            "failed": self.failed,
            "dropped": dict(self.outcomes),
            "of_asked": self.conditional.to_dict(),
            "of_attempts": self.unconditional.to_dict(),
            "bootstrap_95": list(self.interval) if self.interval else None,
        }


def cascade(records: Iterable[Mapping[str, Any]], stages: Sequence[str], *, cluster: str = "task") -> list[Stage]:
    """Count a cascade.

    Args:
        records: one an attempt; `record[stage]` is `pass`, `fail`, or the name of what happened instead. A stage that
            is missing where it is due counts as `not_run`.
        stages: in the order in which they are asked.
        cluster: the field that names the problem of an attempt.
    """
    everyone = list(records)
    alive = everyone
    found: list[Stage] = []
    for stage in stages:
        outcomes = [str(r.get(stage, "not_run")) for r in alive]
        passed = [r for r, outcome in zip(alive, outcomes, strict=True) if outcome == PASS]
        counts = Counter(outcomes)
        asked = len(alive)
        dropped = {k: v for k, v in sorted(counts.items()) if k not in (PASS, FAIL)}
        interval = clustered_interval(_clusters(everyone, passed, cluster))
        found.append(Stage(stage, asked, len(passed), counts[FAIL], dropped, len(everyone), interval))
        alive = passed
    return found


def _clusters(
    everyone: Sequence[Mapping[str, Any]], passed: Sequence[Mapping[str, Any]], cluster: str
) -> list[tuple[int, int]]:
    totals: Counter[Hashable] = Counter(r.get(cluster) for r in everyone)
    counts: Counter[Hashable] = Counter(r.get(cluster) for r in passed)
    return [(counts[name], total) for name, total in totals.items()]


def figure(stages: Sequence[Stage], title: str) -> str:
    """The cascade as an SVG: a bar a stage, its width the share of all attempts, the fall to the next in words."""
    width, bar, left, top = 720, 30, 170, 54
    step = bar + 34
    height = top + step * (len(stages) + 1)
    attempts = stages[0].attempts if stages else 0
    full = width - left - 170
    rows = [(f"{attempts:,} attempts", 1.0 if attempts else 0.0, "", "#5b6770")]
    for stage in stages:
        rate = stage.unconditional
        text = f"{rate.percent} of attempts ({rate.count:,}), {stage.conditional.percent} of {stage.asked:,} asked"
        rows.append((stage.name, rate.share or 0.0, text, "#2b6cb0"))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="13" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="16" y="28" font-size="16" font-weight="bold">{escape(title)}</text>',
    ]
    for i, (name, share, text, colour) in enumerate(rows):
        y = top + i * step
        parts.append(f'<text x="16" y="{y + 20}">{escape(name)}</text>')
        parts.append(f'<rect x="{left}" y="{y}" width="{max(1.0, full * share):.1f}" height="{bar}" fill="{colour}"/>')
        if text:
            parts.append(f'<text x="{left}" y="{y + bar + 15}" fill="#333">{escape(text)}</text>')
        dropped = stages[i - 1].outcomes if i else {}
        if dropped:
            lost = ", ".join(f"{n} {what}" for what, n in dropped.items())
            parts.append(f'<text x="{left + full * share + 8:.1f}" y="{y + 20}" fill="#9c4221">{escape(lost)}</text>')
    return "\n".join([*parts, "</svg>", ""])
