"""What a source row becomes: a `SourceRecord`, or a `Rejection` that names the row, what was seen, what would be right."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from serial7.errors import Serial7Error
from serial7.ir import has_control

MAX_TEXT = 20_000  # characters of one field: far beyond every published row, and a bound for all scans below
_MIXED = re.compile(r"(-?)(?:([0-9]+)[ +])?([0-9]+)/([1-9][0-9]*)")
_PLAIN = re.compile(r"-?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)?(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")


class RowFault(Serial7Error):
    """A row is not what its source publishes. `seen` and `wanted` are short and for people."""

    def __init__(self, seen: str, wanted: str) -> None:
        super().__init__(seen, wanted)
        self.seen, self.wanted = seen, wanted


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row stands: the file relative to the given path, its line (or row) from 1, its key if the file has keys."""

    file: str
    line: int
    key: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Rejection:
    """A row that could not be read; counted and named, never fatal."""

    source: str
    place: str
    seen: str
    wanted: str


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """One problem as its source gives it.

    `question` and `materials` by language (`ko`, `en`; one or both); `answer` as published; `choices` for multiple
    choice; `computation` is what the record carries of its solution (annotations, worked solution), else empty;
    `strata` are the fields of paper table 15.
    """

    source: str
    id: str
    place: str
    question: Mapping[str, str]
    materials: Mapping[str, str]
    answer: str
    licence: str
    family: str
    strata: Mapping[str, str]
    choices: tuple[str, ...] = ()
    unit: str = ""
    computation: str = ""
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(self.question)

    @property
    def stratum(self) -> str:
        return ", ".join(self.strata.values())

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SourceRecord:
        return cls(**{**data, "choices": tuple(data["choices"])})


@dataclass(frozen=True, slots=True)
class Source:
    """A benchmark: the fields by which its rows are known, and how one becomes a record.

    `read` raises `RowFault` for a row that is not as published.
    """

    name: str
    title: str
    family: str
    licence: str
    fields: frozenset[str]
    read: Callable[[Mapping[str, Any], Place], SourceRecord]

    def fits(self, row: Mapping[str, Any]) -> bool:
        return self.fields <= row.keys()


def text_field(row: Mapping[str, Any], name: str, *, empty: bool = False) -> str:
    """The text of a field, stripped.

    Raises:
        RowFault: it is missing, no text, empty (unless `empty`), too long, or holds a control character.
    """
    if name not in row:
        raise RowFault(f"no field {name!r}", f"the fields of the published layout, {name!r} among them")
    value = row[name]
    if value is None and empty:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise RowFault(f"{name} is {type(value).__name__}", "a text")
    value = value.replace("\r\n", "\n").strip()
    if not value and not empty:
        raise RowFault(f"{name} is empty", "a text")
    if len(value) > MAX_TEXT:
        raise RowFault(f"{name} has {len(value)} characters", f"at most {MAX_TEXT}")
    if has_control(value):
        raise RowFault(f"{name} holds a control character or half a surrogate pair", "plain text")
    return value


def list_field(row: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A field that is a list of texts; absent or null is the empty one."""
    value = row.get(name)
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
        raise RowFault(f"{name} is no list of texts", "a list of texts")
    return tuple(v.strip() for v in value)


def record_id(source: str, row: Mapping[str, Any], place: Place, given: str = "") -> str:
    """`source-file-number`: the number is the row's own key, or its index from 0 in the published file.

    A sample of a published file tells where its rows come from in `_source` (`path`, `index`).
    """
    origin = row.get("_source")
    file, number = place.file, given or place.key or str(place.line - 1)
    if isinstance(origin, Mapping) and "index" in origin:
        file, number = str(origin.get("path") or file), str(origin["index"])
    stem = file.rsplit("/", 1)[-1].split(".", 1)[0]
    return re.sub(r"[^A-Za-z0-9]+", "-", f"{source}-{stem}-{number}").strip("-").lower()


def licence_of(row: Mapping[str, Any], default: str) -> str:
    origin = row.get("_source")
    return str(origin["licence"]) if isinstance(origin, Mapping) and origin.get("licence") else default


def read_value(text: str) -> Fraction | None:
    """The number that an official answer means, or None: `8,899`, `3.90`, `11/56`, `1+3/10`, `+4.1`, `−3`, `$5`, `40%`.

    A percent sign is dress here, not a factor: the question asks for the percentage.
    """
    text = text.strip().replace("−", "-").replace("–", "-").strip("$").rstrip("%").strip().lstrip("+").rstrip(".")
    text = re.sub(r"^-\s+", "-", text)
    mixed = _MIXED.fullmatch(text)
    if mixed:
        sign, whole, over, under = mixed.groups()
        value = int(whole or 0) + Fraction(int(over), int(under))
        return -value if sign else value
    if not any(c.isdigit() for c in text) or len(text) > 60 or _PLAIN.fullmatch(text) is None:
        return None
    return Fraction(Decimal(text.replace(",", "")))


def finite(value: Fraction) -> bool:
    """Whether `value` has a finite decimal form."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def decimal_text(value: Fraction) -> str:
    """The exact decimal form, or 15 significant digits where there is none (contracts.md section 1)."""
    if value.denominator == 1:
        return str(value.numerator)
    if finite(value):
        digits = 0
        while (value * 10**digits).denominator != 1:
            digits += 1
    else:
        magnitude = 0
        while abs(value) * 10**magnitude < 1:
            magnitude += 1
        digits = max(1, magnitude + 14 - max(0, len(str(abs(int(value)))) - 1))
    scaled = round(abs(value) * 10**digits)
    text = str(scaled).rjust(digits + 1, "0")
    text = f"{text[:-digits]}.{text[-digits:]}".rstrip("0").rstrip(".")
    return f"-{text}" if value < 0 else text


Rows = Iterator[tuple[Place, Mapping[str, Any] | RowFault]]
