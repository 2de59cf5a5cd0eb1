"""The filtering flow of paper table 17(a): who is excluded where, counted once, and what remains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from serial7.build.drafts import CATEGORIES, Draft

STAGES = {
    "source": "Source / normalization validity",
    "answer": "Answer inconsistency",
    "grounding": "Grounding or leakage failure",
    "representation": "Representation incompatibility",
    "redundancy": "Redundancy control",
    "pairing": "Not paired",
}
ALL = "all"


@dataclass(frozen=True, slots=True)
class Flow:
    """One source's flow. `excluded` by category, in order; every draft of the seed is excluded once or remains."""

    source: str
    seed: int
    excluded: Mapping[str, int]

    @property
    def remaining(self) -> int:
        return self.seed - sum(self.excluded.values())

    def rows(self) -> list[tuple[str, int | None, int]]:
        """(stage, excluded, remaining); nothing is excluded from the seed set itself."""
        left = self.seed
        rows: list[tuple[str, int | None, int]] = [("Initial seed set", None, left)]
        for category, title in STAGES.items():
            left -= self.excluded[category]
            rows.append((title, self.excluded[category], left))
        return rows


def flows(drafts: Iterable[Draft]) -> list[Flow]:
    """The flow of each source, in name order, then of all together."""
    counts: dict[str, Counter[str]] = {}
    for draft in drafts:
        first = draft.problem
        for name in (draft.record.source, ALL):
            counts.setdefault(name, Counter())[first.category if first else ""] += 1
    names = [*sorted(n for n in counts if n != ALL), *(n for n in counts if n == ALL)]
    return [Flow(n, counts[n].total(), {c: counts[n][c] for c in CATEGORIES}) for n in names]


def flow_table(found: Sequence[Flow]) -> str:
    """The flows as text: a row a stage, a column `excluded / remaining` a source."""
    if not found:
        return "no candidate\n"
    heads = ["", *(f.source for f in found)]
    rows = zip(*(f.rows() for f in found), strict=True)
    lines = [heads, *([r[0][0], *(f"{'-' if out is None else out} / {left}" for _, out, left in r)] for r in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    return "".join(
        "  ".join([line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]).rstrip()
        + "\n"
        for line in lines
    )
