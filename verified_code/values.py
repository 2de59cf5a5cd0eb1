"""Values of Dafny, as Post2Exe computes with them, and their JSON form in test cases.

| Dafny | here | JSON |
|---|---|---|
| int, nat, newtypes | `int` | number or digits in a string |
| bool | `bool` | true, false |
| real | `Fraction` | number, or a string: "2.5", "1/3" |
| char | `Char` | string of one character |
| string, seq<T> | `tuple` | string; list |
| set<T> | `frozenset` | list |
| multiset<T> | `Multiset` | list |
| map<K, V> | `Map` | list of [key, value] |
| datatypes | `Data` | {"ctor": name, "args": [...]}; a constructor without arguments may be its name alone |
| (A, B) | `Data` with the constructor `()` | list |
| array<T>, array2<T> | `Array` | list; list of rows |
| bv8 ... | `BitVector` | number |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, NamedTuple


class Char(NamedTuple):
    """A character by its code point."""

    code: int


class BitVector(NamedTuple):
    value: int
    width: int


class Data(NamedTuple):
    """A datatype's value; `()` is the constructor of tuples."""

    constructor: str
    args: tuple[Any, ...]


class Multiset:
    """A finite multiset; hashable, never changed."""

    __slots__ = ("_hash", "counts")

    def __init__(self, elements: Iterable[Any] | Mapping[Any, int] = ()) -> None:
        self.counts: Counter[Any] = Counter(elements)
        for key in [k for k, n in self.counts.items() if n <= 0]:
            del self.counts[key]
        self._hash = hash(frozenset(self.counts.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Multiset) and self.counts == other.counts

    def __hash__(self) -> int:
        return self._hash

    def __len__(self) -> int:
        return self.counts.total()

    def __contains__(self, item: object) -> bool:
        return item in self.counts

    def __iter__(self) -> Iterator[Any]:
        return iter(self.counts)

    def __repr__(self) -> str:
        return f"Multiset({dict(self.counts)!r})"


class Map:
    """A finite map; hashable, never changed."""

    __slots__ = ("_hash", "items")

    def __init__(self, items: Mapping[Any, Any]) -> None:
        self.items: dict[Any, Any] = dict(items)
        self._hash = hash(frozenset(self.items.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Map) and self.items == other.items

    def __hash__(self) -> int:
        return self._hash

    def __len__(self) -> int:
        return len(self.items)

    def __contains__(self, key: object) -> bool:
        return key in self.items

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __repr__(self) -> str:
        return f"Map({self.items!r})"


@dataclass(eq=False, slots=True)
class Array:
    """An array on the heap: its elements before and after the call, row by row; equal only to itself."""

    lengths: tuple[int, ...]
    before: tuple[Any, ...]
    after: tuple[Any, ...]


@dataclass(eq=False, slots=True)
class Closure:
    """A lambda with the variables it was made in, or a function of the program used as a value."""

    of: Any
    env: Any = field(default=None)


def euclidean(a: int, b: int) -> tuple[int, int]:
    """Quotient and remainder as Dafny defines them: 0 <= remainder < |b|. `b` is not 0."""
    quotient = a // b if b > 0 else -(a // -b)
    return quotient, a - b * quotient


def read_integer(data: Any) -> int:
    """An integer of a test case.

    Raises:
        ValueError: it is none; a boolean is none.
    """
    if isinstance(data, bool):
        raise ValueError("an integer is due, a boolean was given")
    if isinstance(data, int):
        return data
    if isinstance(data, str) and data.lstrip("-").isascii() and data.lstrip("-").isdigit() and len(data) <= 4000:
        return int(data)
    raise ValueError(f"an integer is due, {data!r:.60} was given")


def read_real(data: Any) -> Fraction:
    """A real of a test case: a number, "2.5" or "1/3".

    Raises:
        ValueError: it is none.
    """
    if isinstance(data, bool) or not isinstance(data, int | float | str):
        raise ValueError(f"a real is due, {data!r:.60} was given")
    text = repr(data) if isinstance(data, float) else str(data)
    try:
        numerator, slash, denominator = text.partition("/")
        value = Decimal(numerator)
        if not value.is_finite() or abs(value.adjusted()) > 400:
            raise ValueError
        return Fraction(value) / read_integer(denominator) if slash else Fraction(value)
    except (InvalidOperation, ValueError, ZeroDivisionError):
        raise ValueError(f"a real is due, {data!r:.60} was given") from None


def string(text: str) -> tuple[Char, ...]:
    """A Dafny string."""
    return tuple(Char(ord(c)) for c in text)


def to_json(value: Any) -> Any:
    """The JSON form of a value; a non-empty sequence of characters becomes a string."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Char):
        return chr(value.code)
    if isinstance(value, BitVector):
        return value.value
    if isinstance(value, Data):
        args = [to_json(a) for a in value.args]
        if value.constructor == "()":
            return args
        return {"ctor": value.constructor, "args": args} if args else value.constructor
    if isinstance(value, Array):
        return (
            to_json(value.after)
            if len(value.lengths) == 1
            else [[to_json(x) for x in row] for row in _rows(value.after, value.lengths[1])]
        )
    if isinstance(value, tuple):
        if value and all(isinstance(c, Char) for c in value):
            return "".join(chr(c.code) for c in value)
        return [to_json(v) for v in value]
    if isinstance(value, Multiset):
        return [to_json(v) for v, n in sorted(value.counts.items(), key=repr) for _ in range(n)]
    if isinstance(value, Map):
        return [[to_json(k), to_json(v)] for k, v in sorted(value.items.items(), key=repr)]
    if isinstance(value, frozenset):
        return [to_json(v) for v in sorted(value, key=repr)]
    if value is None:
        return None
    raise TypeError(f"a {type(value).__name__} has no JSON form")


def _rows(flat: tuple[Any, ...], width: int) -> list[tuple[Any, ...]]:
    return [flat[i : i + width] for i in range(0, len(flat), width)] if width else []
