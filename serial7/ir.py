"""Canonical IR: one artifact independent of any representation, exact numbers, and when values are equal.

Source: contracts.md section 1; paper tables 20 and 27.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from serial7.errors import OperatorError

# Python's `\d` and `int()` also take full-width and Arabic digits; the contract takes ASCII alone.
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
NOT_NAMES = frozenset({"true", "false", "null", "inf", "nan"})
MAX_DIGITS = 400
MAX_EXPONENT = 400
WHITE_SPACE = " \t\r\n"

_GROUPED = re.compile(r"-?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "`": "`"}  # noqa: RUF100
_SENTENCE_END = re.compile(r"[.!?。！？]+$")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")


def is_name(text: str) -> bool:
    """Whether `text` is an input name or step id of the contract's grammar."""
    return NAME.fullmatch(text) is not None and text.lower() not in NOT_NAMES


def has_control(text: str) -> bool:
    """Whether a C0 control other than tab, LF, CR stands in `text` (the form feed of a careless `\\frac`), or half of
    a surrogate pair, which JSON's escapes can make."""
    return _CONTROL.search(text) is not None


def parse_number(text: str) -> Decimal | None:
    """The exact value of `text` under the number grammar, or None. No trimming, no other digits.

    A number of more than 400 digits, or with an exponent beyond 400, is none: the bounds reject such a
    document before it is read, so that this is a second fence only.
    """
    if NUMBER.fullmatch(text) is None or len(text) > 2 * MAX_DIGITS:
        return None
    value = Decimal(text)
    if len(value.as_tuple().digits) > MAX_DIGITS or (value and abs(value.adjusted()) > 2 * MAX_EXPONENT):
        return None
    return value


def undress_number(text: str) -> Decimal | None:
    """The value whose meaning is plain under a wrong dress, or None.

    Dress is surrounding white space, one pair of quotes, or commas that group digits by three. Units,
    currency, percent, fractions and other digits are not read (contracts.md section 3, "Types and dress").
    """
    text = text.strip(WHITE_SPACE)
    if len(text) >= 2 and _QUOTES.get(text[0]) == text[-1]:
        text = text[1:-1].strip(WHITE_SPACE)
    if _GROUPED.fullmatch(text) is not None:
        text = text.replace(",", "")
    return parse_number(text)


def number_text(value: Decimal) -> str:
    """The plain decimal form of `value`, as a gold document writes it (`0.000012`, never `1.2E-5`)."""
    return format(value, "f")


@dataclass(frozen=True, slots=True)
class Ref:
    """An argument that refers to an input or to an earlier step."""

    name: str


Argument = Ref | Decimal


@dataclass(frozen=True, slots=True)
class Input:
    name: str
    value: Decimal


@dataclass(frozen=True, slots=True)
class Step:
    id: str
    op: str
    args: tuple[Argument, ...]
    value: Decimal


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a non-integer may be from its reference: `relative` to it, or `absolute`. Source: table 27."""

    relative: Fraction = Fraction(1, 10**6)
    absolute: Fraction = Fraction(1, 10**9)


DEFAULT_TOLERANCE = Tolerance()


@dataclass(frozen=True, slots=True)
class CanonicalIR:
    """`answer` (number or text), ordered `inputs`, ordered `steps`. Graph-bearing has both, answer-only none."""

    answer: Decimal | str
    inputs: tuple[Input, ...] = ()
    steps: tuple[Step, ...] = ()
    tolerance: Tolerance | None = None

    @property
    def graph_bearing(self) -> bool:
        return bool(self.steps)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CanonicalIR:
        """Read `{"answer": "3521" | {"text": s}, "inputs": [[name, value]], "steps": [[id, op, args, value]]}`.

        Numbers are strings of the number grammar; an argument that begins with a letter is a reference.

        Raises:
            OperatorError: names the field that is not so.
        """
        try:
            answer = data["answer"]
            tolerance = data.get("tolerance")
            return cls(
                answer=str(answer["text"]) if isinstance(answer, Mapping) else _number(answer, "answer"),
                inputs=tuple(
                    Input(str(name), _number(value, f"inputs[{i}].value"))
                    for i, (name, value) in enumerate(data.get("inputs") or ())
                ),
                steps=tuple(
                    Step(
                        str(id_),
                        str(op),
                        tuple(_argument(a, f"steps[{i}].args[{j}]") for j, a in enumerate(args)),
                        _number(value, f"steps[{i}].value"),
                    )
                    for i, (id_, op, args, value) in enumerate(data.get("steps") or ())
                ),
                tolerance=None
                if tolerance is None
                else Tolerance(Fraction(str(tolerance["relative"])), Fraction(str(tolerance["absolute"]))),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise OperatorError(
                f"a Canonical IR needs answer, inputs [[name, value]] and steps [[id, op, args, value]]: {error!r}"
            ) from error

    def to_dict(self) -> dict[str, Any]:
        """The inverse of `from_dict`."""
        data: dict[str, Any] = {
            "answer": {"text": self.answer} if isinstance(self.answer, str) else number_text(self.answer),
            "inputs": [[i.name, number_text(i.value)] for i in self.inputs],
            "steps": [
                [
                    s.id,
                    s.op,
                    [a.name if isinstance(a, Ref) else number_text(a) for a in s.args],
                    number_text(s.value),
                ]
                for s in self.steps
            ],
        }
        if self.tolerance is not None:
            data["tolerance"] = {
                "relative": str(self.tolerance.relative),
                "absolute": str(self.tolerance.absolute),
            }
        return data


def _number(value: object, place: str) -> Decimal:
    number = parse_number(value) if isinstance(value, str) else None
    if number is None:
        raise OperatorError(f'{place} is {value!r}; a number is written as a string such as "3521" or "-0.5"')
    return number


def _argument(value: object, place: str) -> Argument:
    if isinstance(value, str) and is_name(value):
        return Ref(value)
    return _number(value, place)


def numbers_agree(reference: Decimal | Fraction, seen: Decimal | Fraction, tolerance: Tolerance | None = None) -> bool:
    """Whether `seen` equals `reference`: exactly for an integer reference, else within the tolerance.

    `3521.0` agrees with 3521; `3521.0000001` does not. A `tolerance` given by the artifact overrides both.
    """
    expected, actual = Fraction(reference), Fraction(seen)
    if expected == actual:
        return True
    if tolerance is None:
        if expected.denominator == 1:
            return False
        tolerance = DEFAULT_TOLERANCE
    difference = abs(expected - actual)
    return difference <= tolerance.absolute or difference <= tolerance.relative * abs(expected)


def normalize_text(text: str) -> str:
    """Text as it is compared: NFC, case-folded, white space collapsed, sentence punctuation at the end removed."""
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    text = " ".join(text.split())
    return _SENTENCE_END.sub("", text).strip()


def answers_agree(gold: CanonicalIR, seen: Decimal | str) -> bool:
    """Whether the answer that was read equals gold's, by the equality of its kind; kinds never mix."""
    if isinstance(gold.answer, str):
        return isinstance(seen, str) and normalize_text(gold.answer) == normalize_text(seen)
    return isinstance(seen, Decimal) and numbers_agree(gold.answer, seen, gold.tolerance)


def matches_all(required: Sequence[Decimal], offered: Sequence[Decimal]) -> Decimal | None:
    """Match each required value to an offered one of its own (a multiset match); the first without one, or None.

    Augmenting paths: with tolerances, first-come matching could give a value away that another one needs.
    """
    taken: dict[int, int] = {}

    def place(i: int, tried: set[int]) -> bool:
        for j, value in enumerate(offered):
            if j not in tried and numbers_agree(required[i], value):
                tried.add(j)
                if j not in taken or place(taken[j], tried):
                    taken[j] = i
                    return True
        return False

    for i, value in enumerate(required):
        if not place(i, set()):
            return value
    return None
