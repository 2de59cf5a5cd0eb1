"""TabMWP: `question`, `table`, `table_title`, `choices`, `answer`, `unit`, `solution`, `ques_type`, `ans_type`.

Lu et al. 2023; CC BY-NC-SA 4.0. Published as one JSON object by id. Strata (paper table 15): question type; table
scope, reasoning depth and operation type, which are no fields and are estimated from the worked solution.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from serial7.build.equations import Equation, operations_in, solution_equations, values_in
from serial7.build.records import (
    Place,
    RowFault,
    Source,
    SourceRecord,
    licence_of,
    list_field,
    read_value,
    record_id,
    text_field,
)

QUESTION_TYPES = ("free_text", "multi_choice")


def rows_of_table(table: str) -> list[list[str]]:
    """The cells of a table text, row by row: `name | 3` lines."""
    return [[cell.strip() for cell in line.split("|")] for line in table.splitlines() if line.strip()]


def cell_value(cell: str) -> str:
    """The number text of a cell: `$2.91/kilogram` -> `2.91`, `$4 per lb` -> `4`; empty if it holds no number."""
    head = cell.strip().lstrip("$").split("/")[0].split(" per ")[0].strip()
    return head if read_value(head) is not None else ""


def strata_of(question_type: str, table: str, equations: list[Equation]) -> dict[str, str]:
    """Question type, table scope, estimated depth and operation type.

    The scope is `no_arith` without a computation, else `single_cell`, `whole_column` (all numbers of a column of
    three or more) or `multi_cell`, by the table's values that the computations use.
    """
    operations = [op for e in equations for op in operations_in(e.expression)]
    used = {v for e in equations for v in values_in(e.expression)}
    grid = rows_of_table(table)
    columns = [
        [v for row in grid if len(row) > i and (v := read_value(cell_value(row[i]))) is not None]
        for i in range(max(map(len, grid), default=0))
    ]
    cells = {v for column in columns for v in column} & used
    if not operations:
        scope = "no_arith"
    elif any(len(column) >= 3 and set(column) <= used for column in columns[1:]):
        scope = "whole_column"
    else:
        scope = "single_cell" if len(cells) < 2 else "multi_cell"
    return {
        "question_type": question_type,
        "table_scope": scope,
        "depth": str(len(operations)) if len(operations) < 4 else "4+",
        "operation_type": "+".join(sorted(set(operations))) or "none",
    }


def _read(row: Mapping[str, Any], place: Place) -> SourceRecord:
    question, table = text_field(row, "question"), text_field(row, "table")
    kind = text_field(row, "ques_type")
    if kind not in QUESTION_TYPES:
        raise RowFault(f"ques_type is {kind!r:.40}", " or ".join(QUESTION_TYPES))
    choices, answer = list_field(row, "choices"), text_field(row, "answer")
    if kind == "multi_choice" and answer not in choices:
        raise RowFault(f"the answer {answer!r:.60} is none of the {len(choices)} choices", "one of the choices")
    title = text_field(row, "table_title", empty=True) if "table_title" in row else ""
    solution = text_field(row, "solution")
    return SourceRecord(
        source=SOURCE.name,
        id=record_id(SOURCE.name, row, place),
        place=str(place),
        question={"en": question},
        materials={"en": f"{title}\n{table}".strip()},
        answer=answer,
        licence=licence_of(row, SOURCE.licence),
        family=SOURCE.family,
        strata=strata_of(kind, table, solution_equations(solution)),
        choices=choices,
        unit=text_field(row, "unit", empty=True) if "unit" in row else "",
        computation=solution,
        extra={"table": table, "title": title},
    )


SOURCE = Source(
    name="tabmwp",
    title="TabMWP",
    family="table_arithmetic",
    licence="CC BY-NC-SA 4.0",
    fields=frozenset({"question", "table", "solution", "ques_type"}),
    read=_read,
)
