"""The whole pipeline over one folder: load, sample, normalize, repair, cap families, pair, and what a reviewer gets.

Stages (one Parquet file each): `1_records`, `2_seed`, `3_candidates`, `4_validated`, `5_selected`, `6_paired`; then
`artifacts.jsonl`, `review.jsonl`, `flow.json`, `flow.txt`. Running it again over the same rows, with the same settings
and the same code, reads the stages and writes the same bytes. Source: paper figure 3, tables 15-18.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from serial7.artifacts import LANGUAGES
from serial7.build.drafts import Draft, sorted_drafts
from serial7.build.families import capped
from serial7.build.flow import Flow, flow_table, flows
from serial7.build.normalize import normalize
from serial7.build.pairing import pair
from serial7.build.reading import files_of, need_pyarrow
from serial7.build.records import Rejection, SourceRecord
from serial7.build.repair import settle
from serial7.build.requests import Complete
from serial7.build.sampling import sample
from serial7.build.sources import load
from serial7.build.stages import Rows, Stages, code_digest, digest, json_lines

RECORD_COLUMNS = ("id", "source", "place", "stratum", "state", "seen", "wanted", "record")
DRAFT_COLUMNS = (
    "id", "source", "family", "stratum", "place", "state", "category", "field", "why", "method",
    "problems", "repairs", "notes", "artifact", "record",
)  # fmt: skip

T = TypeVar("T")
U = TypeVar("U")


class Each:
    """Applies a function to each item, results in the order of the items; the job puts a pool in its place."""

    def __call__(self, function: Callable[[T], U], items: Iterable[T]) -> list[U]:
        return [function(item) for item in items]


@dataclass(frozen=True, slots=True)
class Settings:
    """`per_source` 0 takes every record; `family_cap`: artifacts of one template family; `rounds` with a model."""

    seed: int = 7
    per_source: int = 0
    family_cap: int = 2
    rounds: int = 3


@dataclass(frozen=True, slots=True)
class Rowset:
    """What a build starts from: a name, a digest of its content, and the records and rejections in it."""

    name: str
    digest: str
    items: Callable[[], Iterable[SourceRecord | Rejection]]


@dataclass(slots=True)
class Built:
    """What a build made. `rejections`: rows that could not be read; `made`: stage -> made now (not resumed)."""

    drafts: list[Draft]
    rejections: list[Rejection]
    flows: list[Flow]
    made: Mapping[str, bool] = field(default_factory=dict)

    @property
    def artifacts(self) -> list[Draft]:
        return [d for d in self.drafts if not d.problems]

    def summary(self) -> Iterator[str]:
        """Lines for people."""
        yield from flow_table(self.flows).splitlines()
        kinds = Counter(str((d.artifact or {}).get("kind")) for d in self.artifacts)
        counted = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items())) or "none"
        yield f"{len(self.artifacts)} artifacts with both languages, for review: {counted}"
        before = Counter(d.record.source for d in self.drafts if graph_bearing(d))
        yield "valid graph-bearing candidates: " + (", ".join(f"{s} {n}" for s, n in sorted(before.items())) or "none")
        if self.rejections:
            by_source = Counter(r.source for r in self.rejections)
            yield f"{len(self.rejections)} rows could not be read: " + ", ".join(
                f"{s} {n}" for s, n in by_source.items()
            )
            yield from (f"  {r.place}: {r.seen}; due: {r.wanted:.120}" for r in self.rejections[:20])


def graph_bearing(draft: Draft) -> bool:
    """Whether the draft is a graph that passed the validator; a cap or a missing language does not make it invalid."""
    fine = all(p.category in ("redundancy", "pairing") for p in draft.problems)
    return fine and draft.artifact is not None and draft.artifact["kind"] == "graph"


def rowset(path: Path) -> Rowset:
    """The rows at a path.

    Raises:
        OperatorError: there is no such path, or no data file in it.
    """
    parts: list[str | bytes] = []
    for file in files_of(path):
        parts.append(file.name if path.is_file() else file.relative_to(path).as_posix())
        try:
            parts.append(file.read_bytes())
        except OSError as error:
            parts.append(f"({error.strerror})")
    return Rowset(str(path), digest(*parts), lambda: load(path))


def build(
    rows: Sequence[Rowset],
    out: Path,
    settings: Settings,
    *,
    complete: Complete | None = None,
    model: str = "none",
    each: Each | None = None,
    say: Callable[[str], None] = lambda _line: None,
) -> Built:
    """Run the pipeline into `out`, resuming the stages that are there.

    Args:
        complete: asks the model; None leaves what the rules cannot do as rejected, with the reason.
        model: what tells the model apart (part of what its stages are made from).
        each: applies a stage to its items, several at once if it can.

    Raises:
        OperatorError: a path is wrong, pyarrow is missing, or `out` cannot be written.
    """
    need_pyarrow()
    each = each or Each()
    stages = Stages(out, say)
    code = code_digest()

    loaded, made = stages.run(
        "1_records", digest(code, *(r.digest for r in rows)), RECORD_COLUMNS, lambda: _record_rows(rows)
    )
    rejections = [
        Rejection(r["source"], r["place"], r["seen"], r["wanted"]) for r in loaded if r["state"] == "rejected"
    ]

    def seeded() -> Rows:
        records = [SourceRecord.from_dict(json.loads(r["record"])) for r in loaded if r["state"] == "read"]
        return [Draft(record).to_row() for record in sample(records, settings.per_source, settings.seed)]

    def step(name: str, rows: Rows, work: Callable[[list[Draft]], list[Draft]], *made_from: str) -> tuple[Rows, str]:
        def make() -> Rows:
            return [d.to_row() for d in sorted_drafts(work([Draft.from_row(r) for r in rows]))]

        return stages.run(name, digest(code, *made_from), DRAFT_COLUMNS, make)

    seed, asked = str(settings.seed), f"{model}/{settings.rounds}"
    found, made = stages.run("2_seed", digest(code, made, seed, str(settings.per_source)), DRAFT_COLUMNS, seeded)
    found, made = step("3_candidates", found, lambda ds: each(lambda d: normalize(d.record), ds), made)
    found, made = step(
        "4_validated", found, lambda ds: each(lambda d: settle(d, complete, settings.rounds), ds), made, asked
    )
    found, made = step(
        "5_selected",
        found,
        lambda ds: capped(ds, settings.family_cap, settings.seed),
        made,
        seed,
        str(settings.family_cap),
    )
    found, made = step(
        "6_paired", found, lambda ds: each(lambda d: pair(d, complete, settings.rounds), ds), made, asked
    )

    drafts = [Draft.from_row(r) for r in found]
    built = Built(drafts, rejections, flows(drafts), stages.done)
    _write_results(stages, built)
    return built


def _record_rows(sets: Sequence[Rowset]) -> Rows:
    out: Rows = []
    for item in (item for one in sets for item in one.items()):
        read = isinstance(item, SourceRecord)
        out.append(
            {
                "id": item.id if isinstance(item, SourceRecord) else "",
                "source": item.source,
                "place": item.place,
                "stratum": item.stratum if isinstance(item, SourceRecord) else "",
                "state": "read" if read else "rejected",
                "seen": "" if isinstance(item, SourceRecord) else item.seen,
                "wanted": "" if isinstance(item, SourceRecord) else item.wanted,
                "record": json.dumps(item.to_dict(), ensure_ascii=False) if isinstance(item, SourceRecord) else "",
            }
        )
    return out


def _write_results(stages: Stages, built: Built) -> None:
    stages.write("artifacts.jsonl", json_lines(d.artifact for d in built.artifacts))
    stages.write("review.jsonl", json_lines(review_row(d) for d in built.artifacts))
    rejected = Counter(r.source for r in built.rejections)
    table = [{**asdict(f), "remaining": f.remaining, "unreadable_rows": rejected[f.source]} for f in built.flows]
    stages.write("flow.json", (json.dumps(table, ensure_ascii=False, indent=1) + "\n").encode())
    stages.write("flow.txt", flow_table(built.flows).encode())


def review_row(draft: Draft) -> dict[str, Any]:
    """A pair side by side for a bilingual reader, with what to look at; `decision` is the reader's to fill."""
    artifact = draft.artifact or {}
    return {
        "id": draft.id,
        **{language: artifact.get(language) for language in LANGUAGES},
        "answer": artifact.get("answer"),
        "inputs": artifact.get("inputs"),
        "steps": artifact.get("steps"),
        "look_at": [*draft.notes, *draft.repairs],
        "decision": "",
    }
