"""The paper's tables 3, 4, 5 and 7 in their shape, from counts; the counts come from a run (`audit`) or from a file.

A counts file is JSON: `{"table3": [{"benchmark", "attempted", "accepted", "any_ensures", "bound"}], "table4":
[{"instance", "asked", "passed"}], "table5": [{"benchmark", "attempted", "fully_verified", "failed"}], "table7":
[{"benchmark", "with_ensures": [passed, n], "without": [passed, n]}]}`; each table may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from verified_code.errors import OperatorError
from verified_code.rates import Rate


@dataclass(frozen=True, slots=True)
class Table:
    """`rows` hold text ready to be shown; every rate carries its count and denominator."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def tables(counts: Mapping[str, Any]) -> list[Table]:
    """The tables that the counts allow.

    Raises:
        OperatorError: names the table, the row and the field that is missing or contradicts another.
    """
    makers = {"table3": _table3, "table4": _table4, "table5": _table5, "table7": _table7}
    unknown = set(counts) - set(makers)
    if unknown:
        raise OperatorError(f"counts of {', '.join(sorted(unknown))} are not known; known: {', '.join(makers)}")
    return [make(_rows(counts, name)) for name, make in makers.items() if name in counts]


def _rows(counts: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    rows = counts[name]
    if not isinstance(rows, list) or not all(isinstance(r, dict) for r in rows):
        raise OperatorError(f"{name}: a list of objects is due")
    return [_Row(name, i, row) for i, row in enumerate(rows, 1)]


class _Row(dict[str, Any]):
    def __init__(self, table: str, number: int, row: Mapping[str, Any]) -> None:
        super().__init__(row)
        self._where = f"{table}, row {number}"

    def __missing__(self, key: str) -> Any:
        raise OperatorError(f"{self._where}: the field {key!r} is missing")


def _rate(row: Mapping[str, Any], count: str, total: str) -> Rate:
    values = (row[count], row[total])
    if not all(isinstance(v, int) and not isinstance(v, bool) for v in values):
        raise OperatorError(f"{count} and {total} are whole numbers, {values!r:.60} was given")
    return Rate(values[0], values[1], total)


def _table3(rows: list[Mapping[str, Any]]) -> Table:
    return Table(
        "table3",
        "Certificate quality at three levels (levels 2 and 3 of what the verifier accepted)",
        ("benchmark", "attempted", "level 1: accepted", "level 2: any ensures", "level 3: gate passes"),
        tuple(
            (
                str(r["benchmark"]), f"{r['attempted']:,}", str(_rate(r, "accepted", "attempted")),
                str(_rate(r, "any_ensures", "accepted")), str(_rate(r, "bound", "accepted")),
            )
            for r in rows
        ),
    )  # fmt: skip


def _table4(rows: list[Mapping[str, Any]]) -> Table:
    questions = {
        "tests": "does the implementation match the requirement?",
        "post2exe": "does the postcondition itself match the requirement?",
    }
    return Table(
        "table4",
        "Two instances of surface C, on what passed A and B",
        ("instance", "question", "passes", "fails"),
        tuple(
            (
                str(r["instance"]), questions.get(str(r["instance"]), ""), str(_rate(r, "passed", "asked")),
                str(Rate(r["asked"] - r["passed"], r["asked"])),
            )
            for r in rows
        ),
        "Fails include drop-outs; they are counted apart in the cascade.",
    )  # fmt: skip


def _table5(rows: list[Mapping[str, Any]]) -> Table:
    return Table(
        "table5",
        "Fully verified samples that fail hidden tests",
        ("benchmark", "attempts", "fully verified", "B->C fails", "of fully verified", "of attempts"),
        tuple(
            (
                str(r["benchmark"]), f"{r['attempted']:,}", str(_rate(r, "fully_verified", "attempted")), f"{r['failed']:,}",
                str(_rate(r, "failed", "fully_verified")), str(_rate(r, "failed", "attempted")),
            )
            for r in rows
        ),
    )  # fmt: skip


def _table7(rows: list[Mapping[str, Any]]) -> Table:
    shown = []
    for r in rows:
        rates = []
        for side in ("with_ensures", "without"):
            pair = r[side]
            if not isinstance(pair, list) or len(pair) != 2:
                raise OperatorError(f"table7: {side} is [passed, n], {pair!r:.60} was given")
            rates.append(Rate(pair[0], pair[1], "test-evaluated samples"))
        a, b = (rate.share for rate in rates)
        delta = "-" if a is None or b is None else f"{(a - b) * 100:+.1f} pp"
        shown.append((str(r["benchmark"]), str(rates[0]), str(rates[1]), delta))
    return Table(
        "table7",
        "Pass rate by presence of an ensures clause, among samples whose tests ran",
        ("benchmark", "with ensures", "without", "difference"),
        tuple(shown),
        "An observed association among self-selected outputs, no effect of writing specifications.",
    )
