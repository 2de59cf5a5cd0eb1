"""A draft: one source record on its way to an artifact, with what is wrong with it and what was done to it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from serial7.artifacts import LANGUAGES
from serial7.build.graphs import Graph
from serial7.build.records import SourceRecord, decimal_text
from serial7.validation import Problem

# Table 17(a): a candidate counts where its first unresolved problem falls, in this order. Pairing is ours.
CATEGORIES = ("source", "answer", "grounding", "representation", "redundancy", "pairing")
MODEL_DUE = "the record carries no computation that the rules can read; give model=NAME to have it normalized"


@dataclass(frozen=True, slots=True)
class Draft:
    """`artifact` is a line of `artifacts.jsonl` (one language may still lack), None if none could be made.

    `method`: `annotations`, `solution`, `answer_only`, `model`; `repairs`: what was done to it; `notes`: what a
    reviewer should look at.
    """

    record: SourceRecord
    artifact: Mapping[str, Any] | None = None
    method: str = ""
    problems: tuple[Problem, ...] = ()
    repairs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def problem(self) -> Problem | None:
        """The first unresolved problem, in the order of table 17(a)."""
        return min(self.problems, key=lambda p: CATEGORIES.index(p.category), default=None)

    def artifact_materials(self) -> dict[str, str]:
        """The materials as the artifact shows them (with units, choices), by language; empty without an artifact."""
        held = self.artifact or {}
        return {language: held[language]["materials"] for language in self.record.question if language in held}

    def rejected(self, category: str, field: str, why: str) -> Draft:
        return replace(self, problems=(*self.problems, Problem(category, field, why)))

    def to_row(self) -> dict[str, str]:
        """The columns of a stage's Parquet file; what is nested is JSON."""
        first = self.problem
        return {
            "id": self.id,
            "source": self.record.source,
            "stratum": self.record.stratum,
            "family": self.record.family,
            "place": self.record.place,
            "state": "rejected" if first else "valid",
            "category": first.category if first else "",
            "field": first.field if first else "",
            "why": first.why if first else "",
            "method": self.method,
            "problems": _json([asdict(p) for p in self.problems]),
            "repairs": _json(list(self.repairs)),
            "notes": _json(list(self.notes)),
            "artifact": "" if self.artifact is None else _json(self.artifact),
            "record": _json(self.record.to_dict()),
        }

    @classmethod
    def from_row(cls, row: Mapping[str, str]) -> Draft:
        return cls(
            record=SourceRecord.from_dict(json.loads(row["record"])),
            artifact=json.loads(row["artifact"]) if row["artifact"] else None,
            method=row["method"],
            problems=tuple(Problem(**p) for p in json.loads(row["problems"])),
            repairs=tuple(json.loads(row["repairs"])),
            notes=tuple(json.loads(row["notes"])),
        )


def artifact_of(
    record: SourceRecord,
    answer: str | Mapping[str, str],
    graph: Graph | None = None,
    *,
    tolerance: Mapping[str, str] | None = None,
    materials: Mapping[str, str] | None = None,
    method: str = "rules",
) -> dict[str, Any]:
    """A line of `artifacts.jsonl` with the languages that the record has. `answer` is a number text or `{"text": s}`."""
    shown = record.materials if materials is None else materials
    return {
        "id": record.id,
        "family": record.family,
        "stratum": record.stratum,
        "kind": "graph" if graph else "answer_only",
        "answer": answer,
        "tolerance": tolerance,
        "inputs": [[name, decimal_text(value)] for name, value in graph.inputs] if graph else [],
        "steps": [[i, op, args, decimal_text(value)] for i, op, args, value in graph.steps] if graph else [],
        **{
            language: {"question": record.question[language], "materials": shown[language]}
            for language in sorted(record.question, key=LANGUAGES.index, reverse=True)
        },
        "license": record.licence,
        "provenance": f"{record.source}, {record.place}; normalized by {method}",
    }


def half_unit(text: str) -> dict[str, str] | None:
    """The tolerance of a published rounded value: half a unit of its last decimal; None for an integer."""
    decimals = len(text.split("e")[0].split("E")[0].partition(".")[2])
    exponent = int(text.lower().partition("e")[2] or 0)
    if not decimals or exponent:
        return None
    return {"relative": "0", "absolute": decimal_text(Fraction(1, 2 * 10**decimals))}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def sorted_drafts(drafts: Iterable[Draft]) -> list[Draft]:
    return sorted(drafts, key=lambda d: (d.record.source, d.id))
