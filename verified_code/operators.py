"""Dafny's operators on values, and the escapes of its literals. What cannot be computed raises `Unknown`."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from verified_code.unknown import Unknown, Why, ill_formed, not_executable
from verified_code.values import BitVector, Char, Closure, Data, Map, Multiset, euclidean

COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">=", "in", "!in", "!!"))
MAX_BITS = 200_000
MAX_ELEMENTS = 200_000


def compare(op: str, a: Any, b: Any, at: int) -> bool:
    if op in ("==", "!="):
        if isinstance(a, Closure) or isinstance(b, Closure):
            raise not_executable("functions cannot be compared", at)
        return (a == b) is (op == "==")
    if op in ("in", "!in"):
        if not isinstance(b, tuple | frozenset | Multiset | Map) or isinstance(b, Data | Char | BitVector):
            raise not_executable(f"`in` a {type(b).__name__} cannot be computed", at)
        return (a in b) is (op == "in")
    if op == "!!":
        return not set(a) & set(b)
    if op in (">", ">="):
        op, a, b = ("<" if op == ">" else "<="), b, a
    if isinstance(a, BitVector) or isinstance(b, BitVector):
        a, b = plain(a), plain(b)
    strict = op == "<"
    if isinstance(a, Multiset) and isinstance(b, Multiset):
        return a.counts <= b.counts and not (strict and a == b)
    if isinstance(a, Char) and isinstance(b, Char):
        return a.code < b.code if strict else a.code <= b.code
    if isinstance(a, Data) or isinstance(b, Data):
        raise not_executable("the order of datatypes cannot be computed", at)
    if isinstance(a, tuple) and isinstance(b, tuple):  # one is a prefix of the other
        return a == b[: len(a)] and not (strict and a == b)
    if isinstance(a, (frozenset, int | Fraction)):
        return bool(a < b if strict else a <= b)
    raise not_executable(f"`{op}` on a {type(a).__name__} cannot be computed", at)


def arithmetic(op: str, a: Any, b: Any, at: int) -> Any:
    if isinstance(a, BitVector):
        return bits(op, a, plain(b), at)
    if isinstance(a, bool) or isinstance(b, bool):
        raise ill_formed(f"`{op}` on booleans", at)
    if isinstance(a, int | Fraction) and isinstance(b, int | Fraction):
        if op == "+":
            return a + b
        if op == "-":
            return a - b
        if op == "*":
            if _size(a) + _size(b) > MAX_BITS:
                raise Unknown(Why.BUDGET, f"a number of more than {MAX_BITS} bits", at)
            return a * b
        if b == 0:
            raise ill_formed("division by zero", at)
        if isinstance(a, int) and isinstance(b, int):
            return euclidean(a, b)[0 if op == "/" else 1]
        return Fraction(a) / b
    if isinstance(a, Char) and isinstance(b, Char) and op in "+-":
        return character(a.code + b.code if op == "+" else a.code - b.code, at)
    if isinstance(a, tuple) and isinstance(b, tuple) and op == "+":
        if len(a) + len(b) > MAX_ELEMENTS:
            raise Unknown(Why.BUDGET, f"a sequence of more than {MAX_ELEMENTS} elements", at)
        return a + b
    if isinstance(a, frozenset) and isinstance(b, frozenset):
        return a | b if op == "+" else a - b if op == "-" else a & b
    if isinstance(a, Multiset) and isinstance(b, Multiset):
        return Multiset(a.counts + b.counts if op == "+" else a.counts - b.counts if op == "-" else a.counts & b.counts)
    if isinstance(a, Map):
        if op == "+" and isinstance(b, Map):
            return Map({**a.items, **b.items})
        if op == "-" and isinstance(b, frozenset):
            return Map({k: v for k, v in a.items.items() if k not in b})
    raise not_executable(f"`{op}` on {type(a).__name__} and {type(b).__name__} cannot be computed", at)


def bits(op: str, a: BitVector, b: int, at: int) -> BitVector:
    x, mask = a.value, (1 << a.width) - 1
    if op in ("/", "%"):
        if b == 0:
            raise ill_formed("division by zero", at)
        return BitVector(x // b if op == "/" else x % b, a.width)
    if op in ("<<", ">>"):
        if not 0 <= b <= a.width:
            raise ill_formed(f"a shift by {b} of a bv{a.width}", at)
        return BitVector((x << b if op == "<<" else x >> b) & mask, a.width)
    table: dict[str, Callable[[], int]] = {
        "+": lambda: x + b, "-": lambda: x - b, "*": lambda: x * b, "&": lambda: x & b, "|": lambda: x | b,
        "^": lambda: x ^ b,
    }  # fmt: skip
    return BitVector(table[op]() & mask, a.width)


def plain(value: Any) -> Any:
    return value.value if isinstance(value, BitVector) else value


def _size(value: int | Fraction) -> int:
    return (
        value.bit_length() if isinstance(value, int) else value.numerator.bit_length() + value.denominator.bit_length()
    )


_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "'": "'", '"': '"', "\\": "\\"}


def unescape(text: str) -> str:
    """The characters of a literal; each may be escaped as Dafny escapes."""
    if "\\" not in text:
        return text
    found, i = [], 0
    while i < len(text):
        if text[i] != "\\":
            found.append(text[i])
            i += 1
        elif text[i + 1] == "u":
            found.append(chr(int(text[i + 2 : i + 6], 16)))
            i += 6
        elif text[i + 1] == "U":
            end = text.index("}", i)
            found.append(chr(int(text[i + 3 : end].replace("_", ""), 16)))
            i = end + 1
        else:
            found.append(_ESCAPES.get(text[i + 1], text[i + 1]))
            i += 2
    return "".join(found)


def character(code: int, at: int) -> Char:
    if not 0 <= code <= 0x10FFFF:
        raise ill_formed(f"{code} is no character", at)
    return Char(code)
