"""Korean GSM8K: the rows of GSM8K with `kor_question`, `kor_answer` and the bare final answer `answer_s`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from serial7.build.records import Place, RowFault, Source, SourceRecord, licence_of, read_value, record_id, text_field
from serial7.build.sources.gsm8k import depth, split_solution


def _read(row: Mapping[str, Any], place: Place) -> SourceRecord:
    korean, english = text_field(row, "kor_question"), text_field(row, "question")
    solution, answer = split_solution(text_field(row, "answer"))
    bare = text_field(row, "answer_s")
    if read_value(bare) is None or read_value(bare) != read_value(answer):
        raise RowFault(f"answer_s is {bare!r:.40}, answer ends in {answer!r:.40}", "one final answer")
    return SourceRecord(
        source=SOURCE.name,
        id=record_id(SOURCE.name, row, place),
        place=str(place),
        question={"ko": korean, "en": english},
        materials={"ko": "", "en": ""},
        answer=bare,
        licence=licence_of(row, SOURCE.licence),
        family=SOURCE.family,
        strata={"subset": "GSM8K", "depth": depth(solution)},
        computation=solution,
    )


SOURCE = Source(
    name="kor_gsm8k",
    title="Korean GSM8K",
    family="korean_math",
    licence="Apache-2.0 (translation) over MIT (GSM8K)",
    fields=frozenset({"question", "answer", "kor_question", "answer_s"}),
    read=_read,
)
