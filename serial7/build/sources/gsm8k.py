"""GSM8K: `question`, `answer` with calculator annotations `<<16-3=13>>` and the final answer after `####`.

Cobbe et al. 2021; MIT. Stratum: the number of annotated computations.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from serial7.build.records import Place, RowFault, Source, SourceRecord, licence_of, record_id, text_field

_OPERATION = re.compile(r"<<[^<>=]*[-+*/][^<>=]*=[^<>]*>>")


def split_solution(text: str) -> tuple[str, str]:
    """The worked solution and the final answer.

    Raises:
        RowFault: no line `#### answer` ends it.
    """
    solution, mark, answer = text.rpartition("####")
    if not mark or not answer.strip() or "\n" in answer.strip():
        raise RowFault("answer has no final line '#### NUMBER'", "a worked solution that ends in '#### NUMBER'")
    return solution.strip(), answer.strip()


def depth(solution: str) -> str:
    """The stratum of a worked solution: how many annotated computations it holds, `5+` for many."""
    count = len(_OPERATION.findall(solution))
    return f"{count} steps" if count < 5 else "5+ steps"


def _read(row: Mapping[str, Any], place: Place) -> SourceRecord:
    question = text_field(row, "question")
    solution, answer = split_solution(text_field(row, "answer"))
    return SourceRecord(
        source=SOURCE.name,
        id=record_id(SOURCE.name, row, place),
        place=str(place),
        question={"en": question},
        materials={"en": ""},
        answer=answer,
        licence=licence_of(row, SOURCE.licence),
        family=SOURCE.family,
        strata={"depth": depth(solution)},
        computation=solution,
    )


SOURCE = Source(
    name="gsm8k",
    title="GSM8K",
    family="korean_math",
    licence="MIT",
    fields=frozenset({"question", "answer"}),
    read=_read,
)
