"""Rates with their counts, and what may be concluded from them: Wilson intervals, pass@k, clustered bootstrap.

Sources: Wilson (1927); Chen et al. (2021), the unbiased estimator of pass@k; percentile bootstrap over problems, because
samples of one problem are not independent. No clock and no global random state: the bootstrap draws from its own seed.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb, sqrt

from verified_code.errors import OperatorError

Z_95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Rate:
    """`count` of `total`; `what` says what the total is, and is never left out where the rate is shown."""

    count: int
    total: int
    what: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.count <= self.total:
            raise OperatorError(
                f"{self.count} of {self.total} ({self.what or 'a rate'}) is no share; the counts contradict each other"
            )

    @property
    def share(self) -> float | None:
        """None of nothing: a rate of an empty population is no 0 %."""
        return self.count / self.total if self.total else None

    @property
    def percent(self) -> str:
        """Two decimals, halves away from zero in exact arithmetic, as the paper prints them."""
        if not self.total:
            return "-"
        hundredths = (self.count * 20_000 + self.total) // (2 * self.total)
        return f"{hundredths // 100}.{hundredths % 100:02d} %"

    def wilson(self, z: float = Z_95) -> tuple[float, float] | None:
        """The Wilson score interval, 95 % by default; None of nothing."""
        n = self.total
        if not n:
            return None
        p = self.count / n
        centre = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return max(0.0, centre - half), min(1.0, centre + half)

    def __str__(self) -> str:
        return f"{self.percent} ({self.count:,}/{self.total:,})"

    def to_dict(self) -> dict[str, object]:
        interval = self.wilson()
        return {
            "count": self.count,
            "total": self.total,
            "of": self.what,
            "share": self.share,
            "wilson_95": list(interval) if interval else None,
        }


def pass_at_k(n: int, c: int, k: int) -> float:
    """The unbiased estimate of pass@k from `n` samples of which `c` are right: 1 - C(n - c, k) / C(n, k).

    Raises:
        OperatorError: k > n; from n samples nothing can be said about more than n.
    """
    if not 0 <= c <= n or k < 1:
        raise OperatorError(f"pass@{k} of {c} right among {n} samples makes no sense")
    if k > n:
        raise OperatorError(f"pass@{k} cannot be estimated from {n} samples; draw at least {k}, or ask for a smaller k")
    return 1.0 - comb(n - c, k) / comb(n, k)


def mean_pass_at_k(problems: Mapping[str, tuple[int, int]], k: int) -> float | None:
    """The mean over problems; `problems`: name -> (samples, right ones). Samples that dropped out count as not right."""
    if not problems:
        return None
    return sum(pass_at_k(n, c, k) for n, c in problems.values()) / len(problems)


def clustered_interval(
    clusters: Sequence[tuple[int, int]], *, draws: int = 2000, seed: int = 7, level: float = 0.95
) -> tuple[float, float] | None:
    """Percentile bootstrap of a share over problems: `clusters` are (count, total) a problem; None of nothing."""
    if not any(total for _, total in clusters):
        return None
    source = random.Random(seed)  # noqa: S311 - a seeded bootstrap, no secret
    shares = []
    for _ in range(draws):
        drawn = source.choices(clusters, k=len(clusters))
        total = sum(t for _, t in drawn)
        if total:
            shares.append(sum(c for c, _ in drawn) / total)
    shares.sort()
    edge = (1 - level) / 2
    return shares[int(edge * len(shares))], shares[min(len(shares) - 1, int((1 - edge) * len(shares)))]
