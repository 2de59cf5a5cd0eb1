"""Stratified sampling: the same rows for the same seed on every machine, every stratum as evenly as it has rows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import TypeVar

from serial7.build.records import SourceRecord

T = TypeVar("T")


def keyed_order(items: Iterable[T], salt: str, name: Callable[[T], str]) -> list[T]:
    """`items` by the keyed hash of their names: an order that no random generator's version can change."""
    return sorted(items, key=lambda item: hashlib.sha256(f"{salt}/{name(item)}".encode()).digest())


def sample(records: Iterable[SourceRecord], per_source: int, seed: int) -> list[SourceRecord]:
    """At most `per_source` records of each source, round by round one of each stratum; 0 takes all.

    A larger `per_source` under one seed only adds records. The result is sorted by source and id.
    """
    by_source: dict[str, dict[str, list[SourceRecord]]] = {}
    for record in records:
        by_source.setdefault(record.source, {}).setdefault(record.stratum, []).append(record)
    chosen: list[SourceRecord] = []
    for source, strata in by_source.items():
        names = keyed_order(strata, f"{seed}/strata/{source}", str)
        queues = [keyed_order(strata[n], f"{seed}/rows/{source}/{n}", lambda r: r.id) for n in names]
        rounds = (q[i] for i in range(max(map(len, queues))) for q in queues if i < len(q))
        everything = list(rounds)
        chosen += everything[:per_source] if per_source else everything
    return sorted(chosen, key=lambda r: (r.source, r.id))
