"""A three-valued evaluator of Dafny's specification expressions: a value, or an `Unknown` with its reason.

Kleene's logic: one definite false conjunct makes a conjunction false, whatever is unknown beside it; what Dafny would
have rejected as ill-formed (a division by zero, an index out of range, a precondition of a function that does not hold)
is unknown, never false. Work is bounded by steps, depth and sizes; there is no clock. Quantifiers are evaluated over
finite domains only (`domains`); with `sample=True` an unbounded one may also be refuted, or witnessed, by samples.

Source: dafny.md section 4; the Dafny reference manual for division (5.2.1), sequences (5.5.3) and maps (5.5.4).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from verified_code import domains
from verified_code import syntax as s
from verified_code.declarations import Declaration
from verified_code.errors import DafnySyntaxError
from verified_code.operators import COMPARISONS, MAX_ELEMENTS, arithmetic, character, compare, plain, unescape
from verified_code.resolve import Module, Program, Symbol
from verified_code.unknown import Unbounded, Unknown, Why, ill_formed, not_executable
from verified_code.values import (
    Array,
    BitVector,
    Char,
    Closure,
    Data,
    Map,
    Multiset,
    read_integer,
    read_real,
    string,
)

MAX_STEPS = 400_000
MAX_CALLS = 1_500  # nested calls of functions
_FRAMES = 40_000  # of Python, for nested calls and expressions


@dataclass(slots=True)
class Env:
    """Where an expression is evaluated: its variables, its module, and whether the heap is the one before the call."""

    names: dict[str, Any]
    module: Module
    before: bool = False

    def with_names(self, names: dict[str, Any]) -> Env:
        return Env({**self.names, **names}, self.module, self.before)


@dataclass
class Evaluator:
    program: Program
    sample: bool = False
    max_steps: int = MAX_STEPS
    steps: int = 0
    calls: int = 0
    sampled: bool = False  # whether a result hangs on samples
    _memo: dict[Any, Any] = field(default_factory=dict)
    _bodies: dict[int, s.Node | None] = field(default_factory=dict)

    def run(self, node: s.Node, env: Env) -> Any:
        """The value of `node`.

        Raises:
            Unknown: there is none, and why.
        """
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, _FRAMES))
        try:
            return self.eval(node, env)
        except RecursionError:
            raise Unknown(Why.BUDGET, "nested too deep", node.at) from None
        finally:
            sys.setrecursionlimit(limit)

    def truth(self, node: s.Node, env: Env) -> bool:
        value = self.eval(node, env)
        if not isinstance(value, bool):
            raise ill_formed(f"a boolean is due, {value!r:.60} was found", node.at)
        return value

    def eval(self, node: s.Node, env: Env) -> Any:
        self.steps += 1
        if self.steps > self.max_steps:
            raise Unknown(Why.BUDGET, f"more than {self.max_steps} steps", node.at)
        return _FORMS[type(node)](self, node, env)

    # -- names -----------------------------------------------------------------------------------------------------

    def name(self, node: s.Name, env: Env) -> Any:
        if node.name in env.names:
            return env.names[node.name]
        how, found = self.program.unqualified(env.module, node.name)
        return self.refer(node.name, how, found, node.at)

    def refer(self, name: str, how: str, found: Symbol | Module | None, at: int) -> Any:
        """The value of a global name: a constant, a constructor without arguments, a function as a value."""
        if isinstance(found, Symbol):
            declaration = found.declaration
            constructor = next((c for c in declaration.constructors if c.name == name), None)
            if constructor is not None and (how == "constructor" or declaration.name != name):
                return Data(name, ()) if not constructor.parameters else Closure((found, constructor))
            if declaration.kind == "const":
                if declaration.value is None:
                    raise not_executable(f"the constant {name} has no value", at)
                key = ("const", id(declaration))
                if key not in self._memo:
                    self._memo[key] = self.eval(declaration.value, Env({}, self.program.module_of(found)))
                return self._memo[key]
            if declaration.is_function:
                return Closure(found)
        raise not_executable(f"{name} is no value that can be computed", at)

    def global_path(self, node: s.Node, env: Env) -> tuple[str, str, Symbol | Module] | None:
        """What a dotted path of modules and types names: (last name, how, what); None where it begins with a value."""
        if isinstance(node, s.Name):
            if node.name in env.names:
                return None
            how, found = self.program.unqualified(env.module, node.name)
            return (node.name, how, found) if found is not None else None
        if not isinstance(node, s.Select):
            return None
        outer = self.global_path(node.of, env)
        if outer is None:
            return None
        _, how, within = outer
        if isinstance(within, Module):
            found = self.program.in_module(within, node.field)
            return (node.field, "symbol", found) if found is not None else None
        if how == "constructor" or within.declaration.kind == "const":
            return None
        for member in within.declaration.members:
            if member.name == node.field:
                symbol = Symbol(member, within.side, within.file, within.module, within.declaration.name)
                return node.field, "symbol", symbol
        if any(c.name == node.field for c in within.declaration.constructors):
            return node.field, "constructor", within
        return None

    def select(self, node: s.Select, env: Env) -> Any:
        path = self.global_path(node, env)
        if path is not None:
            return self.refer(path[0], path[1], path[2], node.at)
        of = self.eval(node.of, env)
        name = node.field
        if isinstance(of, Data):
            return self.field(of, name, node.at)
        if isinstance(of, Array) and name.startswith("Length"):
            return (
                of.lengths[int(name[6:] or 0)] if name[6:].isdigit() or name == "Length" else self._no_field(of, node)
            )
        if isinstance(of, Map):
            if name == "Keys":
                return frozenset(of.items)
            if name == "Values":
                return frozenset(of.items.values())
            if name == "Items":
                return frozenset(Data("()", pair) for pair in of.items.items())
        if isinstance(of, Fraction) and name == "Floor":
            return of.numerator // of.denominator
        return self._no_field(of, node)

    def _no_field(self, of: Any, node: s.Select) -> Any:
        raise not_executable(f".{node.field} of a {type(of).__name__} cannot be computed", node.at)

    def field(self, of: Data, name: str, at: int) -> Any:
        if of.constructor == "()":
            if name.isdigit() and int(name) < len(of.args):
                return of.args[int(name)]
        elif name.endswith("?"):
            return of.constructor == name[:-1]
        else:
            names = self.program.constructor_fields(of.constructor)
            if name in names and names.index(name) < len(of.args):
                return of.args[names.index(name)]
            if any(name in fields for fields in self.program.fields_beside(of.constructor)):
                raise ill_formed(f"{of.constructor} has no field {name}", at)
        raise not_executable(f"the field {name} of {of.constructor} cannot be computed", at)

    # -- calls -----------------------------------------------------------------------------------------------------

    def call(self, node: s.Call, env: Env) -> Any:
        if isinstance(node.of, s.Select) and node.of.field in ("requires", "reads"):
            raise not_executable(f"`.{node.of.field}` of a function cannot be computed", node.at)
        if isinstance(node.of, s.Name) and node.of.name in ("int", "nat", "real", "char"):
            return self.convert(self.eval(node.args[0], env), s.TypeRef(node.at, node.of.name), env.module, node.at)
        function = self.eval(node.of, env)
        if not isinstance(function, Closure):
            raise not_executable(f"a {type(function).__name__} is called", node.at)
        args = [self.eval(a, env) for a in node.args]
        return self.apply(function, args, node.names, env.before, node.at)

    def apply(self, function: Closure, args: list[Any], names: Iterable[str], before: bool, at: int) -> Any:
        of = function.of
        if isinstance(of, s.Lambda):
            inner: Env = function.env.with_names(dict(zip((b.name for b in of.binders), args, strict=False)))
            if len(args) != len(of.binders):
                raise ill_formed(f"{len(of.binders)} arguments are due, {len(args)} were given", at)
            for condition in of.requires:
                if not self.truth(condition, inner):
                    raise ill_formed("the precondition of a lambda does not hold", at)
            return self.nested(of.body, inner, at)
        if isinstance(of, tuple):
            _, constructor = of
            values = self.arguments(constructor, args, tuple(names), Env({}, self.program.root), at)
            return Data(constructor.name, tuple(values.values()))
        return self.function(of, args, tuple(names), before, at)

    def arguments(
        self, declaration: Declaration, args: list[Any], names: tuple[str, ...], env: Env, at: int
    ) -> dict[str, Any]:
        """Arguments by parameter, in the order of the parameters, defaults filled in."""
        parameters = [p.name or str(i) for i, p in enumerate(declaration.parameters)]
        given: dict[str, Any] = {}
        for i, (name, value) in enumerate(zip(names or [""] * len(args), args, strict=False)):
            if not name and i >= len(parameters):
                raise ill_formed(f"{declaration.name} takes {len(parameters)} arguments, {len(args)} were given", at)
            given[name or parameters[i]] = value
        for name, parameter in zip(parameters, declaration.parameters, strict=True):
            if name not in given:
                if parameter.default is None:
                    raise ill_formed(f"the argument {name} of {declaration.name} is missing", at)
                given[name] = self.eval(parameter.default, env.with_names(given))
        return {name: given[name] for name in parameters}

    def function(self, symbol: Symbol, args: list[Any], names: tuple[str, ...], before: bool, at: int) -> Any:
        declaration = symbol.declaration
        name = declaration.name
        if declaration.modifiers & {"least", "greatest", "inductive", "twostate"} or declaration.kind == "copredicate":
            raise not_executable(f"{name} is an extreme or two-state {declaration.kind}", at)
        if symbol.member_of and "static" not in declaration.modifiers:
            raise not_executable(f"{name} is a member of {symbol.member_of}", at)
        body = self.body(symbol, at)
        env = Env({}, self.program.module_of(symbol), before)
        env = env.with_names(self.arguments(declaration, args, names, env, at))
        for parameter in declaration.parameters:
            if parameter.type is not None:
                problem = self.misfit(env.names[parameter.name], parameter.type, env.module)
                if problem:
                    raise ill_formed(f"{parameter.name} of {name}: {problem}", at)
        key: Any = (id(declaration), before, *env.names.values())
        try:
            if key in self._memo:
                return self._memo[key]
        except TypeError:
            key = None
        for clause in declaration.requires:
            if not self.truth(clause.expression, env):
                raise ill_formed(f"a precondition of {name} does not hold", at)
        value = self.nested(body, env, at)
        if key is not None:
            self._memo[key] = value
        return value

    def body(self, symbol: Symbol, at: int) -> s.Node:
        declaration = symbol.declaration
        key = id(declaration)
        if key not in self._bodies:
            try:
                self._bodies[key] = declaration.body_expression()
            except DafnySyntaxError as error:
                raise not_executable(f"the body of {declaration.name} cannot be read: {error.why}", at) from error
        body = self._bodies[key]
        if body is None or any(a in ("extern", "axiom") for a, _ in declaration.attributes):
            raise not_executable(f"{declaration.name} has no body that could be computed", at)
        return body

    def nested(self, node: s.Node, env: Env, at: int) -> Any:
        self.calls += 1
        if self.calls > MAX_CALLS:
            raise Unknown(Why.BUDGET, f"more than {MAX_CALLS} nested calls", at)
        try:
            return self.eval(node, env)
        finally:
            self.calls -= 1

    # -- types -----------------------------------------------------------------------------------------------------

    def misfit(self, value: Any, type_: s.TypeRef, module: Module) -> str:
        """Why a value is outside a type that constrains it (nat, subset types, newtypes); empty where it is inside."""
        if type_.name == "nat":
            return f"{value} is no nat" if isinstance(value, int) and value < 0 else ""
        declaration, home = self.program.type_named(type_.name, module)
        if declaration is None:
            return ""
        if declaration.binder is not None and declaration.constraint is not None:
            inner = self.misfit(value, declaration.type, home) if declaration.type is not None else ""
            if inner:
                return inner
            if not self.truth(declaration.constraint, Env({declaration.binder.name: value}, home)):
                return f"the value is outside the type {declaration.name}"
        elif declaration.kind == "type" and declaration.type is not None:
            return self.misfit(value, declaration.type, home)
        return ""

    def convert(self, value: Any, type_: s.TypeRef, module: Module, at: int) -> Any:
        name = type_.name
        whole = value.code if isinstance(value, Char) else value.value if isinstance(value, BitVector) else value
        if name == "real":
            return Fraction(whole)
        if isinstance(whole, Fraction):
            if whole.denominator != 1:
                raise ill_formed(f"{whole} is no integer", at)
            whole = whole.numerator
        if not isinstance(whole, int) or isinstance(whole, bool):
            return value  # a cast between reference or collection types changes no value
        if name == "char":
            return character(whole, at)
        if name.startswith("bv") and name[2:].isdigit():
            width = int(name[2:])
            if not 0 <= whole < 1 << width:
                raise ill_formed(f"{whole} does not fit {name}", at)
            return BitVector(whole, width)
        problem = self.misfit(whole, type_, module)
        if problem:
            raise ill_formed(problem, at)
        return whole

    # -- forms -----------------------------------------------------------------------------------------------------

    def literal(self, node: s.Literal, _env: Env) -> Any:
        kind, text = node.kind, node.text
        if kind == "bool":
            return text == "true"
        if kind == "int":
            text = text.replace("_", "")
            return (
                int(text, 16) if text.startswith("0x") else read_integer(text) if len(text) < 4000 else self._long(node)
            )
        if kind == "real":
            return read_real(text.replace("_", ""))
        if kind == "char":
            return Char(ord(unescape(text[1:-1])))
        if kind == "string":
            return string(text[2:-1].replace('""', '"') if text.startswith("@") else unescape(text[1:-1]))
        if kind == "null":
            return None
        raise not_executable(f"`{text}` cannot be computed", node.at)

    def _long(self, node: s.Node) -> Any:
        raise Unknown(Why.BUDGET, "a literal of more than 4000 digits", node.at)

    def unary(self, node: s.Unary, env: Env) -> Any:
        op = node.op
        if op == "!":
            return not self.truth(node.of, env)
        if op == "old":
            return self.eval(node.of, Env(env.names, env.module, True))
        if op in ("fresh", "allocated"):
            raise not_executable(f"`{op}` cannot be computed", node.at)
        value = self.eval(node.of, env)
        if op == "-":
            if isinstance(value, BitVector):
                return BitVector(-value.value & ((1 << value.width) - 1), value.width)
            return -value
        if op == "|":
            if isinstance(value, tuple | frozenset | Multiset | Map):
                return len(value)
            raise not_executable(f"the size of a {type(value).__name__} cannot be computed", node.at)
        if isinstance(value, tuple | frozenset):
            return Multiset(value)
        raise not_executable(f"`{op}` of a {type(value).__name__} cannot be computed", node.at)

    def binary(self, node: s.Binary, env: Env) -> Any:
        op = node.op
        if op in ("&&", "||", "==>", "<=="):
            return self.connective(node, env)
        left, right = self.eval(node.left, env), self.eval(node.right, env)
        if op == "<==>":
            return left == right
        if op in COMPARISONS:
            return compare(op, left, right, node.at)
        return arithmetic(op, left, right, node.at)

    def connective(self, node: s.Binary, env: Env) -> bool:
        """Short-circuit from the left, as Dafny's well-formedness does; an unknown left side leaves the right one a say."""
        op = node.op
        first, second = (node.right, node.left) if op == "<==" else (node.left, node.right)
        decisive = op == "||"  # the value of the left side that settles the whole
        unknown: Unknown | None = None
        try:
            value = self.truth(first, env)
            if value == decisive if op in ("&&", "||") else not value:
                return decisive if op in ("&&", "||") else True
        except Unknown as error:
            if error.why is not Why.NOT_EXECUTABLE:
                raise
            unknown = error
        if unknown is None:
            return self.truth(second, env)
        try:
            value = self.truth(second, env)
        except Unknown:
            raise unknown from None
        if op in ("&&", "||"):
            if value == decisive:
                return decisive
        elif value:
            return True
        raise unknown

    def chain(self, node: s.Chain, env: Env) -> bool:
        left = self.eval(node.operands[0], env)
        for op, operand in zip(node.ops, node.operands[1:], strict=True):
            right = self.eval(operand, env)
            if not compare(op, left, right, node.at):
                return False
            left = right
        return True

    def index(self, node: s.Index, env: Env) -> Any:
        of = self.eval(node.of, env)
        indices = [self.eval(i, env) for i in node.indices]
        if isinstance(of, Map):
            if indices[0] not in of:
                raise ill_formed("the key is not in the map", node.at)
            return of.items[indices[0]]
        if isinstance(of, Multiset):
            return of.counts[indices[0]]
        if isinstance(of, Array):
            flat = 0
            for i, length in zip(indices, of.lengths, strict=False):
                if not 0 <= i < length:
                    raise ill_formed(f"index {i} is outside 0..{length}", node.at)
                flat = flat * length + i
            return (of.before if env.before else of.after)[flat]
        if isinstance(of, tuple) and not isinstance(of, Data):
            i = plain(indices[0])
            if not 0 <= i < len(of):
                raise ill_formed(f"index {i} is outside 0..{len(of)}", node.at)
            return of[i]
        raise not_executable(f"an index into a {type(of).__name__} cannot be computed", node.at)

    def slice(self, node: s.Slice, env: Env) -> Any:
        of = self.eval(node.of, env)
        if isinstance(of, Array) and len(of.lengths) == 1:
            of = of.before if env.before else of.after
        if not isinstance(of, tuple):
            raise not_executable(f"a part of a {type(of).__name__} cannot be computed", node.at)
        low = 0 if node.low is None else self.eval(node.low, env)
        high = len(of) if node.high is None else self.eval(node.high, env)
        if not 0 <= low <= high <= len(of):
            raise ill_formed(f"the range {low}..{high} is outside 0..{len(of)}", node.at)
        return of[low:high]

    def slices(self, node: s.SliceByLengths, env: Env) -> Any:
        of = self.eval(node.of, env)
        lengths = [self.eval(n, env) for n in node.lengths]
        parts, start = [], 0
        for n in lengths:
            if n < 0 or start + n > len(of):
                raise ill_formed("the lengths exceed the sequence", node.at)
            parts.append(of[start : start + n])
            start += n
        return (*parts, of[start:])

    def update(self, node: s.Update, env: Env) -> Any:
        of, key, value = self.eval(node.of, env), self.eval(node.index, env), self.eval(node.value, env)
        if isinstance(of, Map):
            return Map({**of.items, key: value})
        if isinstance(of, Multiset):
            return Multiset({**of.counts, key: value})
        if isinstance(of, tuple):
            if not 0 <= key < len(of):
                raise ill_formed(f"index {key} is outside 0..{len(of)}", node.at)
            return (*of[:key], value, *of[key + 1 :])
        raise not_executable(f"an update of a {type(of).__name__} cannot be computed", node.at)

    def datatype_update(self, node: s.DatatypeUpdate, env: Env) -> Any:
        of = self.eval(node.of, env)
        if not isinstance(of, Data):
            raise not_executable("an update of this value cannot be computed", node.at)
        names = (
            self.program.constructor_fields(of.constructor)
            if of.constructor != "()"
            else [str(i) for i in range(len(of.args))]
        )
        args = list(of.args)
        for name, value in zip(node.fields, node.values, strict=True):
            if name not in names:
                raise ill_formed(f"{of.constructor} has no field {name}", node.at)
            args[names.index(name)] = self.eval(value, env)
        return Data(of.constructor, tuple(args))

    def cast(self, node: s.Cast, env: Env) -> Any:
        if node.op == "is":
            raise not_executable("`is` cannot be computed", node.at)
        return self.convert(self.eval(node.of, env), node.type, env.module, node.at)

    def conditional(self, node: s.Conditional, env: Env) -> Any:
        if (
            isinstance(node.then, s.Lambda)
            and isinstance(node.test, s.Quantifier)
            and node.then.binders is node.test.binders
        ):
            raise not_executable("`if x :| ...` cannot be computed", node.at)
        return self.eval(node.then if self.truth(node.test, env) else node.other, env)

    def quantifier(self, node: s.Quantifier, env: Env) -> bool:
        universal = node.kind == "forall"
        unknown: Unknown | None = None
        try:
            for names in domains.assignments(self, node.binders, domains.guards(node), env):
                inner = env.with_names(names)
                try:
                    if node.range is not None and not self.truth(node.range, inner):
                        continue
                    if self.truth(node.body, inner) is not universal:
                        return not universal
                except Unknown as error:
                    if error.why is not Why.NOT_EXECUTABLE:
                        raise
                    unknown = unknown or error
        except Unbounded as error:
            unknown = not_executable(f"unbounded {error.name}", node.at)
            if self.sample and domains.sample(self, node, env):
                self.sampled = True
                return not universal
        if unknown is not None:
            raise unknown
        return universal

    def comprehension(self, node: s.Comprehension, env: Env) -> Any:
        if node.kind in ("iset", "imap"):
            raise not_executable(f"an {node.kind} cannot be computed", node.at)
        found: list[Any] = []
        pairs: dict[Any, Any] = {}
        try:
            for names in domains.assignments(self, node.binders, domains.conjuncts(node.range), env):
                inner = env.with_names(names)
                if node.range is not None and not self.truth(node.range, inner):
                    continue
                first = names[node.binders[0].name]
                value = self.eval(node.value, inner) if node.value is not None else first
                if node.kind == "map":
                    key = self.eval(node.key, inner) if node.key is not None else first
                    if pairs.setdefault(key, value) != value:
                        raise ill_formed("a map comprehension gives one key two values", node.at)
                else:
                    found.append(value)
        except Unbounded as error:
            raise not_executable(f"unbounded {error.name}", node.at) from None
        return Map(pairs) if node.kind == "map" else frozenset(found)

    def let(self, node: s.Let, env: Env) -> Any:
        if node.op == ":-":
            raise not_executable("`:-` cannot be computed", node.at)
        if node.op == ":=":
            names: dict[str, Any] = {}
            for pattern, value in zip(node.patterns, node.values, strict=False):
                bound = self.matches(pattern, self.eval(value, env), env)
                if bound is None:
                    raise ill_formed("the value does not have the form of the pattern", node.at)
                names |= bound
            return self.eval(node.body, env.with_names(names))
        binders = tuple(s.Binder(p.at, p.name, p.type) for p in node.patterns)
        condition = node.values[0]
        results: list[Any] = []
        try:
            for names in domains.assignments(self, binders, domains.conjuncts(condition), env):
                inner = env.with_names(names)
                if self.truth(condition, inner):
                    value = self.eval(node.body, inner)
                    if value not in results:
                        results.append(value)
        except Unbounded as error:
            raise not_executable(f"unbounded {error.name}", node.at) from None
        if not results:
            raise ill_formed("no value satisfies the choice", node.at)
        if len(results) > 1:
            raise not_executable("the result depends on which value `:|` chooses", node.at)
        return results[0]

    def match(self, node: s.Match, env: Env) -> Any:
        value = self.eval(node.of, env)
        for case in node.cases:
            bound = self.matches(case.pattern, value, env)
            if bound is not None:
                return self.eval(case.body, env.with_names(bound))
        raise ill_formed("no case matches", node.at)

    def matches(self, pattern: s.Pattern, value: Any, env: Env) -> dict[str, Any] | None:
        """The variables that the pattern binds in `value`; None where it does not match."""
        for alternative in pattern.alternatives:
            bound = self.matches(alternative, value, env)
            if bound is not None:
                return bound
        if pattern.alternatives:
            return None
        if pattern.literal is not None:
            return {} if self.eval(pattern.literal, env) == value else None
        last = pattern.name.rsplit(".", 1)[-1]
        if pattern.args is not None:
            if not isinstance(value, Data) or value.constructor != last or len(value.args) != len(pattern.args):
                return None
            names: dict[str, Any] = {}
            for inner, part in zip(pattern.args, value.args, strict=True):
                bound = self.matches(inner, part, env)
                if bound is None:
                    return None
                names |= bound
            return names
        if "." in pattern.name or (isinstance(value, Data) and last in self.program.siblings(value.constructor)):
            return {} if isinstance(value, Data) and value.constructor == last else None
        return {} if pattern.name == "_" else {pattern.name: value}

    def display(self, node: s.Display, env: Env) -> Any:
        if node.kind == "iset":
            raise not_executable("an iset cannot be computed", node.at)
        elements = [self.eval(e, env) for e in node.elements]
        if node.kind == "tuple":
            return Data("()", tuple(elements))
        return {"seq": tuple, "set": frozenset, "multiset": Multiset}[node.kind](elements)

    def map_display(self, node: s.MapDisplay, env: Env) -> Any:
        if node.kind == "imap":
            raise not_executable("an imap cannot be computed", node.at)
        return Map({self.eval(k, env): self.eval(v, env) for k, v in zip(node.keys, node.values, strict=True)})

    def seq_construction(self, node: s.SeqConstruction, env: Env) -> Any:
        length, function = self.eval(node.length, env), self.eval(node.function, env)
        if not length >= 0:
            raise ill_formed(f"a sequence of length {length}", node.at)
        if length > MAX_ELEMENTS or not isinstance(function, Closure):
            raise Unknown(Why.BUDGET, f"a sequence of more than {MAX_ELEMENTS} elements", node.at)
        return tuple([self.apply(function, [i], [""], env.before, node.at) for i in range(length)])

    def statement(self, node: s.StatementExpression, env: Env) -> Any:
        return self.eval(node.body, env)

    def lambda_(self, node: s.Lambda, env: Env) -> Any:
        return Closure(node, env)

    def unchanged(self, node: s.Unchanged, env: Env) -> bool:
        for of in node.of:
            value = self.eval(of, env)
            if not isinstance(value, Array):
                raise not_executable("`unchanged` of an object cannot be computed", node.at)
            if value.before != value.after:
                return False
        return True

    def unsupported(self, node: s.Node, _env: Env) -> Any:
        raise not_executable(f"a {type(node).__name__.lower()} expression cannot be computed", node.at)


_FORMS: dict[type, Callable[[Evaluator, Any, Env], Any]] = {
    s.Literal: Evaluator.literal, s.Name: Evaluator.name, s.Select: Evaluator.select, s.Call: Evaluator.call,
    s.Prefix: Evaluator.unsupported, s.Index: Evaluator.index, s.Slice: Evaluator.slice,
    s.SliceByLengths: Evaluator.slices, s.Update: Evaluator.update, s.DatatypeUpdate: Evaluator.datatype_update,
    s.Unary: Evaluator.unary, s.Unchanged: Evaluator.unchanged, s.Frame: Evaluator.unsupported,
    s.Binary: Evaluator.binary, s.Chain: Evaluator.chain, s.Cast: Evaluator.cast, s.Conditional: Evaluator.conditional,
    s.Quantifier: Evaluator.quantifier, s.Comprehension: Evaluator.comprehension, s.Match: Evaluator.match,
    s.Let: Evaluator.let, s.Lambda: Evaluator.lambda_, s.Display: Evaluator.display, s.MapDisplay: Evaluator.map_display,
    s.SeqConstruction: Evaluator.seq_construction, s.StatementExpression: Evaluator.statement,
}  # fmt: skip
