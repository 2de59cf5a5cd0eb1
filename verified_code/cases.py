"""Test cases of a method: JSON inputs and outputs, read by the types of its signature.

A case is `{"input": {parameter: value}, "output": {result: value}, "kind": "positive" | "negative", "source": "..."}`;
an array parameter that the method changes has its elements after the call in `output` under its own name. The JSON form
of each type stands in `values`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from verified_code import syntax as s
from verified_code.component import Component
from verified_code.declarations import Declaration
from verified_code.errors import OperatorError
from verified_code.evaluate import Env, Evaluator
from verified_code.resolve import Module, Program
from verified_code.values import Array, BitVector, Char, Data, Map, Multiset, read_integer, read_real, string

POSITIVE, NEGATIVE = "positive", "negative"


@dataclass(frozen=True, slots=True)
class Case:
    """`admissible`: further outputs that are right for the input, where the requirement allows several."""

    input: Mapping[str, Any]
    output: Mapping[str, Any]
    kind: str = POSITIVE
    source: str = ""
    admissible: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def from_dict(cls, data: Any) -> Case:
        """Read a case.

        Raises:
            OperatorError: names the field, what was seen and what is due.
        """
        if not isinstance(data, dict):
            raise OperatorError(f"a case is an object with input and output, {data!r:.80} was given")
        for name in ("input", "output"):
            if not isinstance(data.get(name), dict):
                raise OperatorError(
                    f"the case's {name} is an object of names and values, {data.get(name)!r:.80} was given"
                )
        kind = data.get("kind", POSITIVE)
        if kind not in (POSITIVE, NEGATIVE):
            raise OperatorError(f"the case's kind is {POSITIVE} or {NEGATIVE}, {kind!r:.80} was given")
        admissible = data.get("admissible", [])
        if not isinstance(admissible, list) or not all(isinstance(a, dict) for a in admissible):
            raise OperatorError(f"the case's admissible is a list of outputs, {admissible!r:.80} was given")
        return cls(data["input"], data["output"], kind, str(data.get("source", "")), tuple(admissible))


@dataclass(slots=True)
class Target:
    """The method that a specification is about, with the names around it."""

    method: Declaration
    module: Module
    program: Program
    qualified: str
    unsupported: str = ""

    def names(self, evaluator: Evaluator, case: Case) -> dict[str, Any]:
        """The method's names with the values of a case.

        Raises:
            OperatorError: a name is missing, too many, or its value does not have the type.
        """
        reader = Reader(evaluator)
        names: dict[str, Any] = {}
        known = {p.name for p in (*self.method.parameters, *self.method.results)}
        for name in [*case.input, *case.output]:
            if name not in known:
                raise OperatorError(f"the case names {name!r}; the method has {', '.join(sorted(known))}")
        for where, given, parameters in (
            ("input", case.input, self.method.parameters),
            ("output", case.output, self.method.results),
        ):
            for parameter in parameters:
                if parameter.name not in given:
                    raise OperatorError(f"the case's {where} lacks {parameter.name}")
                names[parameter.name] = self._read(reader, parameter.name, parameter.type, given[parameter.name])
        for parameter in self.method.parameters:
            value = names[parameter.name]
            if isinstance(value, Array) and parameter.name in case.output:
                after = self._read(reader, parameter.name, parameter.type, case.output[parameter.name])
                if after.lengths != value.lengths:
                    raise OperatorError(f"the array {parameter.name} changes its length in the case")
                names[parameter.name] = Array(value.lengths, value.before, after.before)
            elif parameter.name in case.output:
                raise OperatorError(f"{parameter.name} is a parameter and no array: the case's output cannot change it")
        return names

    def _read(self, reader: Reader, name: str, type_: s.TypeRef | None, data: Any) -> Any:
        if type_ is None:
            raise OperatorError(f"{name} has no type")
        try:
            return reader.read(data, type_, self.module)
        except ValueError as error:
            raise OperatorError(f"{name}: {error}") from error


def find_target(component: Component, name: str = "") -> Target:
    """The method to judge: the one of this name, or the only one that is not `Main`.

    Raises:
        OperatorError: there is none, or several and no name was given.
    """
    if component.unreadable:
        raise OperatorError(f"{component.path}: unparsed: {component.unreadable[0]}")
    program = Program(component)
    found: list[Target] = []
    for file in [*component.impl[:1], *component.spec]:
        for method, path, owner in _methods(file.declarations, (), None):
            qualified = ".".join([*path, *([owner.name] if owner else []), method.name])
            if name in (qualified, method.name) or (not name and method.name != "Main"):
                target = Target(method, program.module_at(path), program, qualified)
                if owner is not None and "static" not in method.modifiers:
                    target.unsupported = f"{qualified} is a method of an object"
                found.append(target)
        if found:
            break
    if len(found) != 1:
        what = f"method {name!r}" if name else "a method"
        seen = ", ".join(t.qualified for t in found) or "none"
        raise OperatorError(f"{component.path}: {what} is due, {seen} found; name one of them")
    return found[0]


def _methods(
    declarations: list[Declaration], path: tuple[str, ...], owner: Declaration | None
) -> Iterator[tuple[Declaration, tuple[str, ...], Declaration | None]]:
    for declaration in declarations:
        if declaration.kind == "module":
            yield from _methods(declaration.members, (*path, declaration.name), None)
        elif declaration.is_method:
            yield declaration, path, owner
        elif declaration.members:
            yield from _methods(declaration.members, path, declaration)


@dataclass
class Reader:
    """JSON to values, by type. `depth` bounds nested values."""

    evaluator: Evaluator
    depth: int = field(default=0)

    def read(self, data: Any, type_: s.TypeRef, module: Module) -> Any:
        """The value of `data` as `type_`; the constraints of nat, subset types and newtypes are not asked here.

        Raises:
            ValueError: what is due and what was given.
        """
        self.depth += 1
        if self.depth > 60:
            raise ValueError("the value is nested too deep")
        try:
            return self._read(data, type_, module)
        finally:
            self.depth -= 1

    def _read(self, data: Any, type_: s.TypeRef, module: Module) -> Any:
        name, args = type_.name, type_.args
        if name in ("int", "nat", "ORDINAL"):
            return read_integer(data)
        if name == "bool":
            if not isinstance(data, bool):
                raise ValueError(f"a boolean is due, {data!r:.60} was given")
            return data
        if name == "real":
            return read_real(data)
        if name == "char":
            if not isinstance(data, str) or len(data) != 1:
                raise ValueError(f"a string of one character is due, {data!r:.60} was given")
            return Char(ord(data))
        if name == "string":
            return self._string(data)
        if name.startswith("bv") and name[2:].isdigit():
            value = read_integer(data)
            if not 0 <= value < 1 << int(name[2:]):
                raise ValueError(f"a value of {name} is due, {data!r:.60} was given")
            return BitVector(value, int(name[2:]))
        if name == "seq" and args:
            if args[0].name == "char" and isinstance(data, str):
                return self._string(data)
            return tuple([self.read(x, args[0], module) for x in self._list(data)])
        if name == "set" and args:
            return frozenset([self.read(x, args[0], module) for x in self._list(data)])
        if name == "multiset" and args:
            return Multiset([self.read(x, args[0], module) for x in self._list(data)])
        if name == "map" and len(args) == 2:
            pairs = [self._list(p, 2) for p in self._list(data)]
            return Map({self.read(k, args[0], module): self.read(v, args[1], module) for k, v in pairs})
        if name == "()":
            return Data(
                "()", tuple([self.read(x, t, module) for x, t in zip(self._list(data, len(args)), args, strict=True)])
            )
        if name.rstrip("?") == "array" and args:
            elements = tuple([self.read(x, args[0], module) for x in self._list(data)])
            return Array((len(elements),), elements, elements)
        if name.rstrip("?") == "array2" and args:
            rows = [self._list(row) for row in self._list(data)]
            if len({len(row) for row in rows}) > 1:
                raise ValueError("the rows of an array2 have one length")
            flat = tuple([self.read(x, args[0], module) for row in rows for x in row])
            return Array((len(rows), len(rows[0]) if rows else 0), flat, flat)
        return self._declared(data, type_, module)

    def _declared(self, data: Any, type_: s.TypeRef, module: Module) -> Any:
        declaration, home = self.evaluator.program.type_named(type_.name, module)
        if declaration is None:
            raise ValueError(f"values of the type {type_.name} cannot be read from a case")
        inner = dict(zip(declaration.type_parameters, type_.args, strict=False))
        if declaration.constructors:
            return self._data(data, declaration, inner, home)
        if declaration.type is None:
            raise ValueError(f"the type {type_.name} has no values that a case could give")
        return self.read(data, _substitute(declaration.type, inner), home)

    def _data(self, data: Any, declaration: Declaration, inner: Mapping[str, s.TypeRef], home: Module) -> Data:
        form = data if isinstance(data, dict) else {"ctor": data}
        name, args = form.get("ctor"), form.get("args", [])
        constructor = next((c for c in declaration.constructors if c.name == name), None)
        if constructor is None:
            names = ", ".join(c.name for c in declaration.constructors)
            raise ValueError(f"a constructor of {declaration.name} ({names}) is due, {name!r:.60} was given")
        types = [_substitute(p.type, inner) for p in constructor.parameters if p.type is not None]
        return Data(
            constructor.name,
            tuple([self.read(x, t, home) for x, t in zip(self._list(args, len(types)), types, strict=True)]),
        )

    def _string(self, data: Any) -> tuple[Char, ...]:
        if not isinstance(data, str):
            raise ValueError(f"a string is due, {data!r:.60} was given")
        return string(data)

    def _list(self, data: Any, length: int | None = None) -> list[Any]:
        if not isinstance(data, list) or (length is not None and len(data) != length):
            due = "a list" if length is None else f"a list of {length}"
            raise ValueError(f"{due} is due, {data!r:.60} was given")
        return data


def _substitute(type_: s.TypeRef, inner: Mapping[str, s.TypeRef]) -> s.TypeRef:
    if type_.name in inner and not type_.args:
        return inner[type_.name]
    return s.TypeRef(type_.at, type_.name, tuple(_substitute(a, inner) for a in type_.args))


def environment(names: dict[str, Any], module: Module, *, before: bool) -> Env:
    """The names of a case before or after the call."""
    return Env(names, module, before)
