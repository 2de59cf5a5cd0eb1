"""MMLU-Pro: `question`, `options`, `answer` (a letter), `answer_index`, `category`, `src`.

Wang et al. 2024; MIT. Only the STEM categories are taken (paper table 15); stratum: the subject.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from serial7.build.records import Place, RowFault, Source, SourceRecord, licence_of, list_field, record_id, text_field

STEM = ("biology", "chemistry", "computer science", "engineering", "math", "physics")
LETTERS = "ABCDEFGHIJ"


def _read(row: Mapping[str, Any], place: Place) -> SourceRecord:
    category = text_field(row, "category")
    if category not in STEM:
        raise RowFault(f"category {category!r:.40}", f"a STEM category: {', '.join(STEM)}")
    options = list_field(row, "options")
    index, letter = row.get("answer_index"), text_field(row, "answer")
    if isinstance(index, str) and index.isascii() and index.isdigit():  # a CSV export
        index = int(index)
    if not isinstance(index, int) or not 0 <= index < min(len(options), len(LETTERS)) or LETTERS[index] != letter:
        raise RowFault(
            f"answer {letter!r:.20}, answer_index {index!r:.20}, {len(options)} options",
            "a letter and the index of the same option",
        )
    if not options[index]:
        raise RowFault(f"option {letter} is empty", "a text")
    return SourceRecord(
        source=SOURCE.name,
        id=record_id(
            SOURCE.name, row, place, text_field(row, "question_id", empty=True) if "question_id" in row else ""
        ),
        place=str(place),
        question={"en": text_field(row, "question")},
        materials={"en": ""},
        answer=options[index],
        licence=licence_of(row, SOURCE.licence),
        family=SOURCE.family,
        strata={"subject": category},
        choices=options,
        extra={"letter": letter, "origin": text_field(row, "src", empty=True) if "src" in row else ""},
    )


SOURCE = Source(
    name="mmlu_pro",
    title="MMLU-Pro (STEM)",
    family="stem",
    licence="MIT",
    fields=frozenset({"question", "options", "answer_index", "category"}),
    read=_read,
)
