"""SciBench: `problem_text`, `answer_number`, `unit`, `source` (the textbook), sometimes `solution`.

Wang et al. 2024. Stratum: the scientific subject, by textbook. In the published files `\\f` of `\\frac` was eaten as a
form feed; it is put back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from serial7.build.records import Place, RowFault, Source, SourceRecord, licence_of, record_id, text_field

SUBJECTS = {
    **dict.fromkeys(("atkins", "chemmc", "quan", "matter"), "chemistry"),
    **dict.fromkeys(("class", "fund", "thermo"), "physics"),
    **dict.fromkeys(("calculus", "diff", "stat"), "math"),
}


def _read(row: Mapping[str, Any], place: Place) -> SourceRecord:
    row = {k: v.replace("\f", "\\f") if isinstance(v, str) else v for k, v in row.items()}
    book = text_field(row, "source")
    subject = SUBJECTS.get(book)
    if subject is None:
        raise RowFault(f"source is {book!r:.40}", f"a textbook of SciBench: {', '.join(SUBJECTS)}")
    return SourceRecord(
        source=SOURCE.name,
        id=record_id(f"{SOURCE.name}-{book}", row, place, text_field(row, "problemid", empty=True)),
        place=str(place),
        question={"en": text_field(row, "problem_text")},
        materials={"en": ""},
        answer=text_field(row, "answer_number"),
        licence=licence_of(row, SOURCE.licence),
        family=SOURCE.family,
        strata={"subject": subject},
        unit=text_field(row, "unit", empty=True) if "unit" in row else "",
        extra={"solution": text_field(row, "solution", empty=True)} if "solution" in row else {},
    )


SOURCE = Source(
    name="scibench",
    title="SciBench",
    family="science",
    licence="MIT (repository); problem texts from textbooks",
    fields=frozenset({"problem_text", "answer_number", "source"}),
    read=_read,
)
