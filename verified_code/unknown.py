"""Outcomes of evaluation that are no value."""

from __future__ import annotations

from enum import StrEnum


class Why(StrEnum):
    """Why there is no value."""

    NOT_EXECUTABLE = "not_executable"
    ILL_FORMED = "ill_formed"
    BUDGET = "budget"


class Unknown(Exception):
    """`at`: offset in the file that the expression stands in, -1 where none is known."""

    def __init__(self, why: Why, detail: str, at: int = -1) -> None:
        super().__init__(why, detail, at)
        self.why = why
        self.detail = detail
        self.at = at


class Unbounded(Exception):
    """A bound variable without a finite domain."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def not_executable(detail: str, at: int) -> Unknown:
    return Unknown(Why.NOT_EXECUTABLE, detail, at)


def ill_formed(detail: str, at: int) -> Unknown:
    return Unknown(Why.ILL_FORMED, detail, at)
