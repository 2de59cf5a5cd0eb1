"""From a Dafny method and inputs to a job for the JavaScript that Dafny 2.3 or 4.x makes of it (`data/driver.js`).

The default module is `_module`, a module M `_n_M_Compile` in 2.3 and `M` in 4.x; in names `_` becomes `__`, `'` `_k`, `?` `_q`.
Integers travel as digits, reals as [numerator, denominator]; expected outputs never travel.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from verified_code import domains
from verified_code import syntax as s
from verified_code.cases import Case, Reader, Target
from verified_code.declarations import Declaration
from verified_code.errors import OperatorError
from verified_code.evaluate import Env, Evaluator
from verified_code.resolve import Module
from verified_code.unknown import Unknown
from verified_code.values import Array, BitVector, Char, Data, Map, Multiset, to_json


class Unsupported(Exception):
    """A type or place that this target cannot carry; the message names it."""


def mangled(name: str) -> str:
    """A Dafny name as Dafny 2.3 writes it in JavaScript."""
    return name.replace("_", "__").replace("'", "_k").replace("?", "_q")


@dataclass
class JobBuilder:
    """Types of a method as the driver reads them; declared datatypes are collected in `types`."""

    target: Target
    code: str  # the compiled JavaScript, where the names of modules are looked up
    types: dict[str, Any] = field(default_factory=dict)

    def job(self, inputs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The driver's job for inputs in the JSON form of cases.

        Raises:
            Unsupported: the method's place or one of its types cannot be carried.
            OperatorError: an input does not fit the signature.
        """
        method = self.target.method
        path = self.target.qualified.split(".")
        owner = path[len(_module_path(self.target.module)) : -1]
        if owner and "static" not in method.modifiers:
            raise Unsupported(f"{self.target.qualified} is a method of an object")
        parameters = [
            {"name": p.name, "type": self.type(p.type, self.target.module)} for p in method.parameters if not p.ghost
        ]
        results = [
            {"name": p.name, "type": self.type(p.type, self.target.module)} for p in method.results if not p.ghost
        ]
        return {
            "module": self.module(self.target.module),
            "owner": [mangled(o) for o in owner] or ["__default"],
            "function": mangled(method.name),
            "parameters": parameters,
            "results": results,
            "types": self.types,
            "inputs": [self._input(i) for i in inputs],
        }

    def module(self, module: Module) -> str:
        path = _module_path(module)
        if not path:
            return "_module"
        name = re.escape(mangled(path[-1]))
        whole = re.escape("_".join(mangled(part) for part in path))  # 4.x: `Outer_Inner`
        found = re.findall(rf"^let (_\d+_{name}_Compile|{name}|{whole}) =", self.code, re.MULTILINE)
        if len(found) != 1:
            raise Unsupported(f"the module {'.'.join(path)} is found {len(found)} times in the compiled code")
        return str(found[0])

    def _input(self, data: Mapping[str, Any]) -> list[Any]:
        reader = Reader(Evaluator(self.target.program))
        found = []
        for parameter in self.target.method.parameters:
            if parameter.ghost:
                continue
            if parameter.name not in data or parameter.type is None:
                raise OperatorError(f"the case's input lacks {parameter.name}")
            try:
                value = reader.read(data[parameter.name], parameter.type, self.target.module)
            except ValueError as error:
                raise OperatorError(f"{parameter.name}: {error}") from error
            found.append(_encode(value))
        return found

    def type(self, type_: s.TypeRef | None, module: Module) -> dict[str, Any]:
        if type_ is None:
            raise Unsupported("a parameter without a type")
        name, args = type_.name, type_.args
        if name in ("int", "nat") or (name.startswith("bv") and name[2:].isdigit()):
            return {"k": "int"}
        if name in ("bool", "char", "real", "string"):
            return {"k": name}
        if name == "seq" and args and args[0].name == "char":
            return {"k": "string"}
        if name.rstrip("?") in ("seq", "set", "multiset", "array", "array2") and args:
            return {"k": name.rstrip("?"), "of": self.type(args[0], module)}
        if name == "map" and len(args) == 2:
            return {"k": "map", "key": self.type(args[0], module), "value": self.type(args[1], module)}
        if name == "()":
            return {"k": "tuple", "of": [self.type(a, module) for a in args]}
        declaration, home = self.target.program.type_named(name, module)
        if declaration is None or declaration.type_parameters:
            raise Unsupported(f"values of the type {name} are not carried to JavaScript")
        if declaration.constructors:
            return self._datatype(declaration, home)
        if declaration.kind == "newtype":
            return {"k": "native" if self._is_native(declaration, home) else "int"}
        if declaration.type is not None:
            return self.type(declaration.type, home)
        raise Unsupported(f"values of the type {name} are not carried to JavaScript")

    def _datatype(self, declaration: Declaration, home: Module) -> dict[str, Any]:
        key = ".".join([*_module_path(home), declaration.name])
        if key not in self.types:
            entry: dict[str, Any] = {"module": self.module(home), "name": mangled(declaration.name), "ctors": []}
            self.types[key] = entry
            entry["ctors"] = [
                {
                    "name": c.name,
                    "js": mangled(c.name),
                    "args": [self.type(p.type, home) for p in c.parameters],
                    "fields": [
                        mangled(p.name) if p.name and not p.name.isdigit() else f"_{i}"
                        for i, p in enumerate(c.parameters)
                    ],
                }
                for c in declaration.constructors
            ]
        return {"k": "data", "type": key}

    def _is_native(self, declaration: Declaration, home: Module) -> bool:
        """Dafny stores a newtype with constant bounds as a number of the machine."""
        if declaration.binder is None or declaration.constraint is None:
            return False
        evaluator = Evaluator(self.target.program)
        try:
            found = domains.values(
                evaluator, declaration.binder, domains.conjuncts(declaration.constraint), Env({}, home),
                frozenset((declaration.binder.name,)),
            )  # fmt: skip
        except Unknown:
            return False
        return isinstance(found, range) and found.start >= -(2**53) and found.stop <= 2**53


def _module_path(module: Module) -> list[str]:
    return module.qualified.split(".") if module.qualified else []


def _encode(value: Any) -> Any:
    """A value as the driver reads it."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, BitVector):
        return str(value.value)
    if isinstance(value, Char):
        return chr(value.code)
    if isinstance(value, Data):
        args = [_encode(a) for a in value.args]
        return args if value.constructor == "()" else {"ctor": value.constructor, "args": args}
    if isinstance(value, Array):
        flat = [_encode(v) for v in value.before]
        if len(value.lengths) == 1:
            return flat
        width = value.lengths[1]
        return [flat[i * width : (i + 1) * width] for i in range(value.lengths[0])]
    if isinstance(value, tuple):
        if value and all(isinstance(c, Char) for c in value):
            return "".join(chr(c.code) for c in value)
        return [_encode(v) for v in value]
    if isinstance(value, Multiset):
        return [_encode(v) for v, n in value.counts.items() for _ in range(n)]
    if isinstance(value, Map):
        return [[_encode(k), _encode(v)] for k, v in value.items.items()]
    if isinstance(value, frozenset):
        return [_encode(v) for v in value]
    if hasattr(value, "numerator"):
        return [str(value.numerator), str(value.denominator)]
    raise Unsupported(f"{to_json(value)!r:.60} is not carried to JavaScript")


def same_output(target: Target, expected: Case, output: Mapping[str, Any]) -> tuple[bool, str]:
    """Whether an output of the driver is the case's, or one of its admissible ones; and what differs."""
    why = ""
    for wanted in (expected.output, *expected.admissible):
        difference = _difference(target, wanted, output)
        if not difference:
            return True, ""
        why = why or difference
    return False, why


def _difference(target: Target, wanted: Mapping[str, Any], output: Mapping[str, Any]) -> str:
    reader = Reader(Evaluator(target.program))
    for parameter in (*target.method.results, *target.method.parameters):
        name = parameter.name
        if name not in wanted or parameter.type is None:
            continue
        if name not in output:
            return f"{name} is missing in the output"
        right = reader.read(wanted[name], parameter.type, target.module)
        try:
            got = reader.read(output[name], parameter.type, target.module)
        except ValueError as error:
            return f"{name}: {error}"
        a, b = (v.before if isinstance(v, Array) else v for v in (right, got))
        if a != b:
            return f"{name} is {output[name]!r:.60}, {wanted[name]!r:.60} is right"
    return ""
