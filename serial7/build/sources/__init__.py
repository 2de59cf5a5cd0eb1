"""The sources of paper table 15 (and GSM8K with its Korean counterpart), one file each, and what reads a path of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from serial7.build.reading import rows_at
from serial7.build.records import Place, Rejection, RowFault, Source, SourceRecord
from serial7.build.sources import gsm8k, hrm8k, kor_gsm8k, mmlu_pro, scibench, tabmwp

# Those with more telling fields first: a GSM8K row is any question with an answer.
SOURCES: dict[str, Source] = {
    s.name: s for s in (tabmwp.SOURCE, kor_gsm8k.SOURCE, hrm8k.SOURCE, scibench.SOURCE, mmlu_pro.SOURCE, gsm8k.SOURCE)
}
_LOOKED_AT = 50


def identify(rows: Iterable[Mapping[str, Any]]) -> Source | None:
    """The source whose fields most of the first rows carry, or None."""
    votes = dict.fromkeys(SOURCES, 0)
    for row, _ in zip(rows, range(_LOOKED_AT), strict=False):
        first = next((s.name for s in SOURCES.values() if s.fits(row)), None)
        if first:
            votes[first] += 1
    best = max(votes, key=lambda name: votes[name])
    return SOURCES[best] if votes[best] else None


def read_rows(rows: list[tuple[Place, Mapping[str, Any] | RowFault]], name: str) -> Iterator[SourceRecord | Rejection]:
    """The rows of one file or one hub configuration; the source is known by their fields."""
    source = identify(row for _, row in rows if not isinstance(row, RowFault))
    known = source.name if source else "unknown"
    if source is None and any(not isinstance(row, RowFault) for _, row in rows):
        first = next(row for _, row in rows if not isinstance(row, RowFault))
        wanted = "; ".join(f"{s.title}: {', '.join(sorted(s.fields))}" for s in SOURCES.values())
        seen = f"{len(rows)} rows with the fields {', '.join(map(str, list(first)[:12]))}"
        yield Rejection(known, name, seen, f"the fields of a known source ({wanted})")
        rows = [(place, row) for place, row in rows if isinstance(row, RowFault)]
    for place, row in rows:
        if isinstance(row, RowFault):
            yield Rejection(known, str(place), row.seen, row.wanted)
            continue
        assert source is not None
        try:
            yield source.read(row, place)
        except RowFault as fault:
            yield Rejection(known, str(place), fault.seen, fault.wanted)


def load(path: Path) -> Iterator[SourceRecord | Rejection]:
    """Everything at `path` (a file or a folder), in a fixed order; a second record of one id is rejected.

    Raises:
        OperatorError: there is no such path, or no data file in it.
    """
    return without_twins(item for name, rows in rows_at(path) for item in read_rows(rows, name))


def without_twins(items: Iterable[SourceRecord | Rejection]) -> Iterator[SourceRecord | Rejection]:
    first: dict[str, str] = {}
    for item in items:
        if isinstance(item, SourceRecord):
            before = first.setdefault(item.id, item.place)
            if before != item.place:
                yield Rejection(item.source, item.place, f"the id {item.id} of {before} again", "each row once")
                continue
        yield item
