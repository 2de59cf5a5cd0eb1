"""Whose fault an error is.

VerifiedCodeError
├── OperatorError     what the person who runs this gave is wrong: a path, a flag, a malformed task
└── DafnySyntaxError  a Dafny text that this front end cannot read; an outcome (`unparsed`), never an end of a run
"""

from __future__ import annotations

from dataclasses import dataclass


class VerifiedCodeError(Exception):
    """Every error of this package."""


class OperatorError(VerifiedCodeError):
    """The message names the place, what was seen, what would be right, and the way out."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in a text: line and column from 1, as editors count; columns are code points."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class DafnySyntaxError(VerifiedCodeError):
    """`at`: offset in the text, in code points."""

    def __init__(self, why: str, at: int) -> None:
        super().__init__(why, at)
        self.why = why
        self.at = at
