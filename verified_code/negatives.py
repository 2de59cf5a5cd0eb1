"""Negative cases from positive ones: the input stays, the output changes by its type.

Sound only where the requirement allows one output, or where the others are known (`admissible`) or can be told by a
checker; else the negatives are `unsafe` and count for nothing. Source: dafny.md section 4, "Negatives".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verified_code import syntax as s
from verified_code.cases import NEGATIVE, Case, Target
from verified_code.values import read_integer, read_real

MAX_PER_OUTPUT = 12
Checker = Callable[[Mapping[str, Any], Mapping[str, Any]], bool | None]  # input, output -> right, wrong, unknown


@dataclass(frozen=True, slots=True)
class Negatives:
    """`unsafe`: why mutated outputs might be right too; then `cases` is empty."""

    cases: tuple[Case, ...]
    unsafe: str = ""


def negatives(
    target: Target,
    positives: Sequence[Case],
    *,
    unique: bool,
    checker: Checker | None = None,
    limit: int = MAX_PER_OUTPUT,
) -> Negatives:
    """Negative cases by mutation of the outputs of positive ones, and by exchange of outputs between them.

    Args:
        unique: the requirement allows exactly one output for each input (or `admissible` lists all).
        checker: says of an input and output whether they are right; only what it calls wrong becomes a negative.
        limit: most negatives for a positive case.
    """
    if not unique and checker is None and not all(c.admissible for c in positives):
        return Negatives((), "several outputs may be right, and neither a checker nor the admissible outputs are given")
    found: list[Case] = []
    types = {p.name: p.type for p in (*target.method.results, *target.method.parameters)}
    for case in positives:
        right = {_key(case.output), *map(_key, case.admissible)}
        seen: set[str] = set()
        for output, source in [*_mutated(case.output, types, target), *_exchanged(case, positives)]:
            key = _key(output)
            if key in right or key in seen:
                continue
            seen.add(key)
            if checker is not None and checker(case.input, output) is not False:
                continue
            found.append(Case(case.input, output, NEGATIVE, source))
            if len(seen) >= limit:
                break
    return Negatives(tuple(found))


def _key(output: Mapping[str, Any]) -> str:
    return json.dumps(output, sort_keys=True)


def _exchanged(case: Case, positives: Sequence[Case]) -> Iterator[tuple[dict[str, Any], str]]:
    for other in positives:
        if other is not case and all(
            _lengths(case.output[n]) == _lengths(other.output[n])
            for n in case.input
            if n in case.output and n in other.output
        ):
            yield dict(other.output), "output of another case"


def _lengths(value: Any) -> int:
    return len(value) if isinstance(value, list) else -1


def _mutated(
    output: Mapping[str, Any], types: Mapping[str, s.TypeRef | None], target: Target
) -> Iterator[tuple[dict[str, Any], str]]:
    streams = []
    inputs = {p.name for p in target.method.parameters}
    for name, value in output.items():
        type_ = types.get(name)
        if type_ is not None:
            fixed = name in inputs  # an array of the caller keeps its length
            streams.append([(name, new, how) for new, how in mutations(value, type_, target, keep_length=fixed)])
    for i in range(max(map(len, streams), default=0)):  # take turns, so that a limit leaves something of every output
        for stream in streams:
            if i < len(stream):
                name, new, how = stream[i]
                yield {**output, name: new}, f"{name}: {how}"


def mutations(
    value: Any, type_: s.TypeRef, target: Target, *, keep_length: bool = False, depth: int = 0
) -> Iterator[tuple[Any, str]]:
    """Other values of the type, near ones first, each with what was done."""
    name = type_.name
    if depth > 3:
        return
    if name in ("int", "nat"):
        number = read_integer(value)
        for new, how in (
            (number + 1, "+1"),
            (number - 1, "-1"),
            (0, "0"),
            (-number, "negated"),
            (2 * number + 1, "doubled"),
        ):
            if new != number and (new >= 0 or name == "int"):
                yield new, how
    elif name == "real":
        real = read_real(value)
        for new_real, how in ((real + 1, "+1"), (real - 1, "-1"), (real / 2, "halved"), (-real, "negated")):
            if new_real != real:
                yield str(new_real), how
    elif name == "bool":
        yield not value, "flipped"
    elif name == "char":
        yield chr(ord(value) + 1), "next character"
        yield chr(max(32, ord(value) - 1)), "character before"
    elif name in ("string", "seq", "array", "array?", "set", "multiset"):
        element = s.TypeRef(type_.at, "char") if name == "string" else type_.args[0]
        yield from _of_list(
            value, element, target, keep_length or name.startswith("array"), name in ("set", "multiset"), depth
        )
    elif name == "()" and isinstance(value, list):
        for i, (part, inner) in enumerate(zip(value, type_.args, strict=False)):
            for new, how in mutations(part, inner, target, depth=depth + 1):
                yield [*value[:i], new, *value[i + 1 :]], f"part {i}: {how}"
    elif name == "map" and isinstance(value, list):
        for i, (key, part) in enumerate(value):
            yield [*value[:i], *value[i + 1 :]], "entry dropped"
            for new, how in mutations(part, type_.args[1], target, depth=depth + 1):
                yield [*value[:i], [key, new], *value[i + 1 :]], f"value: {how}"
    else:
        declaration, _ = target.program.type_named(name, target.module)
        if declaration is None:
            return
        if declaration.type is not None and not declaration.constructors:
            yield from mutations(value, declaration.type, target, keep_length=keep_length, depth=depth + 1)
        yield from _of_datatype(value, declaration, target, depth)


def _of_datatype(value: Any, declaration: Any, target: Target, depth: int) -> Iterator[tuple[Any, str]]:
    own = value.get("ctor") if isinstance(value, dict) else value
    for constructor in declaration.constructors:
        if constructor.name != own:
            args = [_PLAIN.get(p.type.name if p.type is not None else "") for p in constructor.parameters]
            if None not in args:
                yield ({"ctor": constructor.name, "args": args} if args else constructor.name), "other constructor"
        elif constructor.name == own and isinstance(value, dict):
            args = value.get("args", [])
            for i, (part, parameter) in enumerate(zip(args, constructor.parameters, strict=False)):
                if parameter.type is not None:
                    for new, how in mutations(part, parameter.type, target, depth=depth + 1):
                        yield {"ctor": own, "args": [*args[:i], new, *args[i + 1 :]]}, f"{parameter.name}: {how}"


_PLAIN = {
    "int": 0,
    "nat": 0,
    "bool": False,
    "real": 0,
    "char": "a",
    "string": "",
    "seq": [],
    "set": [],
    "map": [],
    "multiset": [],
}


def _of_list(
    value: Any, element: s.TypeRef, target: Target, keep_length: bool, unordered: bool, depth: int
) -> Iterator[tuple[Any, str]]:
    items = list(value)
    text = isinstance(value, str)

    def made(new: list[Any]) -> Any:
        return "".join(new) if text and all(isinstance(c, str) for c in new) else new

    if items:
        for new, how in mutations(items[0], element, target, depth=depth + 1):
            if not unordered or new not in items:
                yield made([new, *items[1:]]), f"first element {how}"
                break
        for new, how in mutations(items[-1], element, target, depth=depth + 1):
            if not unordered or new not in items:
                yield made([*items[:-1], new]), f"last element {how}"
                break
    if not keep_length and items:
        yield made(items[:-1]), "last element dropped"
        if not unordered:
            yield made([*items, items[-1]]), "last element doubled"
            yield made(items[1:]), "first element dropped"
        yield made([]), "emptied"
    if not unordered and len(items) > 1:
        if items[0] != items[-1]:
            yield made([items[-1], *items[1:-1], items[0]]), "ends exchanged"
        if items != items[::-1]:
            yield made(items[::-1]), "reversed"
    if not keep_length and not items:
        for new in ({"int": 0, "nat": 0, "char": "a", "bool": False}.get(element.name),):
            if new is not None:
                yield made([new]), "element added"
