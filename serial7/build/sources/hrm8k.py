"""HRM8K: five CSV configurations with `question` (Korean), `original` (English), `answer`; KSM also `original_answer`.

Stratum: the predefined subset (paper table 15), read from the file's or folder's name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from serial7.build.records import Place, RowFault, Source, SourceRecord, licence_of, record_id, text_field

SUBSETS = ("GSM8K", "OMNI_MATH", "MMMLU", "MATH", "KSM")  # OMNI_MATH before MATH, whose name it holds


def subset_of(name: str) -> str:
    """The subset that a file's path names, or an empty text."""
    flat = re.sub(r"[^a-z0-9]", "", name.lower().replace("hrm8k", ""))
    return next((s for s in SUBSETS if s.replace("_", "").lower() in flat), "")


def _read(row: Mapping[str, Any], place: Place) -> SourceRecord:
    subset = subset_of(place.file)
    if not subset:
        raise RowFault(f"the file {place.file} names no subset", f"a file or folder named after {', '.join(SUBSETS)}")
    question = {"ko": text_field(row, "question")}
    original = text_field(row, "original", empty=True)
    if original:
        question["en"] = original
    return SourceRecord(
        source=SOURCE.name,
        id=record_id(f"{SOURCE.name}-{subset}", row, place),
        place=str(place),
        question=question,
        materials=dict.fromkeys(question, ""),
        answer=text_field(row, "answer"),
        licence=licence_of(row, SOURCE.licence),
        family=SOURCE.family,
        strata={"subset": subset},
    )


SOURCE = Source(
    name="hrm8k",
    title="HRM8K",
    family="korean_math",
    licence="MIT",
    fields=frozenset({"question", "original", "answer"}),
    read=_read,
)
