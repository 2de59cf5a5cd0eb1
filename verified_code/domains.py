"""Finite domains of bound variables, read off the conditions that guard them.

For each variable in turn: bounds in chains of comparisons (`0 <= i < j < n` bounds `i` by `n`), membership, equality, a
`<-` domain, alternatives that are each bounded, or a type with few values. Variables bound earlier may stand in the
bounds of later ones. Without a finite domain: `Unbounded`; nothing is sampled in silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from verified_code import syntax as s
from verified_code.unknown import Unbounded, Unknown, Why
from verified_code.values import Char, Data, Map, Multiset

if TYPE_CHECKING:
    from verified_code.evaluate import Env, Evaluator

MAX_VALUES_OF_A_TYPE = 10_000
MAX_SUBSETS_OF = 12


_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "==", "in": "!in", "!in": "in"}


def conjuncts(node: s.Node | None, *, negated: bool = False) -> list[s.Node]:
    """The conjuncts of a condition, or of its negation, from the left."""
    found: list[s.Node] = []
    todo = [(node, negated)] if node is not None else []
    while todo:
        current, negate = todo.pop()
        if isinstance(current, s.Unary) and current.op == "!":
            todo.append((current.of, not negate))
        elif isinstance(current, s.Binary) and current.op == ("||" if negate else "&&"):
            todo += [(current.right, negate), (current.left, negate)]
        elif isinstance(current, s.Binary) and negate and current.op in ("==>", "<=="):
            premise, conclusion = current.left, current.right
            if current.op == "<==":
                premise, conclusion = conclusion, premise
            todo += [(conclusion, True), (premise, False)]
        elif negate and isinstance(current, s.Binary) and current.op == "&&":
            sides = [s.Unary(n.at, "!", n) for n in (current.left, current.right)]
            found.append(s.Binary(current.at, "||", sides[0], sides[1]))
        elif negate and isinstance(current, s.Binary) and current.op in _OPPOSITE:
            found.append(s.Binary(current.at, _OPPOSITE[current.op], current.left, current.right))
        elif negate:
            found.append(s.Unary(current.at, "!", current))
        else:
            found.append(current)
    return found


def guards(node: s.Quantifier) -> list[s.Node]:
    """What must hold of the variables for the body to decide: of `exists` the range and the body, of `forall` the range
    and the negation of the body. Dafny's own heuristics look for bounds in the same places."""
    return conjuncts(node.range) + conjuncts(node.body, negated=node.kind == "forall")


def assignments(
    ev: Evaluator, binders: Sequence[s.Binder], conditions: list[s.Node], env: Env
) -> Iterator[dict[str, Any]]:
    """Every assignment of the variables within their domains.

    Raises:
        Unbounded: a variable has no finite domain.
    """
    for binder in binders:
        conditions = [*conditions, *conjuncts(binder.where)]
    return _rest(ev, list(binders), conditions, env, {})


def _rest(
    ev: Evaluator, binders: list[s.Binder], conditions: list[s.Node], env: Env, names: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    if not binders:
        yield names
        return
    inner = env.with_names(names)
    hidden = frozenset(b.name for b in binders)
    domain = None
    for binder in binders:  # the first one that the others without a value do not bound
        if binder.domain is None or not _mentions(binder.domain, hidden):
            domain = values(ev, binder, conditions, inner, hidden)
            if domain is not None:
                break
    if domain is None:
        raise Unbounded(binders[0].name)
    others = [b for b in binders if b is not binder]
    ready = binder.where is not None and not _mentions(binder.where, hidden - {binder.name})
    for value in domain:
        ev.steps += 1
        if ready and not ev.truth(binder.where, inner.with_names({binder.name: value})):  # type: ignore[arg-type]
            continue
        if binder.type is not None and ev.misfit(value, binder.type, env.module):
            continue
        for found in _rest(ev, others, conditions, env, {**names, binder.name: value}):
            if binder.where is not None and not ready and not ev.truth(binder.where, env.with_names(found)):
                continue
            yield found


def values(
    ev: Evaluator, binder: s.Binder, conditions: list[s.Node], env: Env, hidden: frozenset[str]
) -> Iterable[Any] | None:
    """A finite domain of one variable; None where there is none. `hidden`: variables without a value yet."""
    if binder.domain is not None:
        return _elements(ev.eval(binder.domain, env))
    name = binder.name
    best: Iterable[Any] | None = None
    low: int | None = 0 if binder.type is not None and binder.type.name == "nat" else None
    high: int | None = None
    for condition in conditions:
        found = _exact(ev, name, condition, env, hidden)
        if found is not None:
            return found
        for bound, upper in _bounds(name, condition, hidden):
            value = _value(ev, bound[0], env)
            if isinstance(value, Char):
                value = value.code
                best = ()
            if not isinstance(value, int) or isinstance(value, bool):
                continue
            if upper:
                top = value - 1 if bound[1] else value
                high = top if high is None else min(high, top)
            else:
                bottom = value + 1 if bound[1] else value
                low = bottom if low is None else max(low, bottom)
    if low is not None and high is not None:
        interval = range(low, high + 1)
        if best is not None:
            return (Char(c) for c in interval if 0 <= c <= 0x10FFFF)
        return interval
    if binder.type is None:
        return None
    return of_type(ev, binder.type, env)


def _value(ev: Evaluator, node: s.Node, env: Env) -> Any:
    try:
        return ev.eval(node, env)
    except Unknown as error:
        if error.why is Why.BUDGET:
            raise
        return None  # no usable bound


def _exact(ev: Evaluator, name: str, node: s.Node, env: Env, hidden: frozenset[str]) -> Iterable[Any] | None:
    """A domain that one condition gives by itself: membership, equality, subset, bounded alternatives."""
    if isinstance(node, s.Binary):
        if node.op == "in" and _is(node.left, name) and not _mentions(node.right, hidden):
            return _elements(_value(ev, node.right, env))
        if node.op == "==":
            for one, other in ((node.left, node.right), (node.right, node.left)):
                if _is(one, name) and not _mentions(other, hidden):
                    value = _value(ev, other, env)
                    return (value,) if value is not None else None
        if node.op == "<=" and _is(node.left, name) and not _mentions(node.right, hidden):
            value = _value(ev, node.right, env)
            if isinstance(value, frozenset) and len(value) <= MAX_SUBSETS_OF:
                return _subsets(value)
        if node.op == "||":
            parts: list[Any] = []
            for side in (node.left, node.right):
                part = values(ev, s.Binder(node.at, name), conjuncts(side), env, hidden)
                if part is None:
                    return None
                parts += part
            return dict.fromkeys(parts)
    if isinstance(node, s.Chain) and "in" in node.ops:
        i = node.ops.index("in")
        if _is(node.operands[i], name) and not _mentions(node.operands[i + 1], hidden):
            return _elements(_value(ev, node.operands[i + 1], env))
    return None


def _bounds(name: str, node: s.Node, hidden: frozenset[str]) -> Iterator[tuple[tuple[s.Node, bool], bool]]:
    """((bound, strict), whether it is an upper one) that a comparison puts on the variable."""
    if isinstance(node, s.Binary) and node.op in ("<", "<=", ">", ">="):
        ops: tuple[str, ...] = (node.op,)
        operands: tuple[s.Node, ...] = (node.left, node.right)
    elif isinstance(node, s.Chain):
        ops, operands = node.ops, node.operands
    else:
        return
    for i, operand in enumerate(operands):
        if not _is(operand, name):
            continue
        for step in (1, -1):
            strict = False
            j = i
            falling: bool | None = None
            while 0 <= j + step < len(operands):
                op = ops[j if step == 1 else j - 1]
                if op not in ("<", "<=", ">", ">=", "=="):
                    break
                if op != "==":
                    if falling is not None and falling != (op in (">", ">=")):
                        break
                    falling = op in (">", ">=")
                    strict = strict or op in ("<", ">")
                j += step
                if falling is not None and not _mentions(operands[j], hidden):
                    yield (operands[j], strict), (step == 1) is not falling


def _is(node: s.Node, name: str) -> bool:
    return isinstance(node, s.Name) and node.name == name


def _mentions(node: s.Node, names: frozenset[str]) -> bool:
    return any(isinstance(n, s.Name) and n.name in names for n in s.walk(node))


def _elements(value: Any) -> Iterable[Any] | None:
    if isinstance(value, Data | Char):
        return None
    if isinstance(value, tuple | frozenset | Multiset | Map):
        return dict.fromkeys(value)
    return None


def _subsets(elements: frozenset[Any]) -> Iterator[frozenset[Any]]:
    ordered = list(elements)
    for bits in range(1 << len(ordered)):
        yield frozenset(x for i, x in enumerate(ordered) if bits >> i & 1)


def of_type(ev: Evaluator, type_: s.TypeRef, env: Env) -> Iterable[Any] | None:
    """All values of a type that has few: bool, enumerations, tuples and datatypes of such."""
    found = _all(ev, type_, env, 0)
    return found if found is not None and len(found) <= MAX_VALUES_OF_A_TYPE else None


def _all(ev: Evaluator, type_: s.TypeRef, env: Env, depth: int) -> list[Any] | None:
    if type_.name == "bool":
        return [False, True]
    if depth > 3:
        return None
    if type_.name == "()":
        return _products("()", type_.args, ev, env, depth)
    declaration, home = ev.program.type_named(type_.name, env.module)
    if declaration is None:
        return None
    if declaration.kind == "type" and declaration.type is not None and declaration.constraint is None:
        return _all(ev, declaration.type, env, depth + 1)
    if declaration.kind != "datatype" or declaration.type_parameters:
        return None
    found: list[Any] = []
    for constructor in declaration.constructors:
        types = [p.type for p in constructor.parameters if p.type is not None]
        part = _products(constructor.name, types, ev, type(env)({}, home), depth)
        if part is None or len(found) + len(part) > MAX_VALUES_OF_A_TYPE:
            return None
        found += part
    return found


def _products(name: str, types: Sequence[s.TypeRef], ev: Evaluator, env: Env, depth: int) -> list[Any] | None:
    parts: list[list[Any]] = []
    size = 1
    for one in types:
        part = _all(ev, one, env, depth + 1)
        if part is None:
            return None
        parts.append(part)
        size *= len(part)
        if size > MAX_VALUES_OF_A_TYPE:
            return None
    return [Data(name, values_) for values_ in product(*parts)]


def sample(ev: Evaluator, node: s.Quantifier, env: Env) -> bool:
    """Whether some sampled assignment refutes a `forall` or witnesses an `exists`; nothing else follows from samples."""
    pools: list[list[Any]] = []
    numbers = {-2, -1, 0, 1, 2, 3, 7}
    for value in env.names.values():
        if isinstance(value, int) and not isinstance(value, bool):
            numbers |= {value - 1, value, value + 1}
    for binder in node.binders:
        kind = binder.type.name if binder.type is not None else "int"
        if kind not in ("int", "nat"):
            return False
        pools.append(sorted(n for n in numbers if kind == "int" or n >= 0))
    universal = node.kind == "forall"
    for drawn in product(*pools):
        inner = env.with_names(dict(zip((b.name for b in node.binders), drawn, strict=True)))
        try:
            if node.range is not None and not ev.truth(node.range, inner):
                continue
            if ev.truth(node.body, inner) is not universal:
                return True
        except Unknown as error:
            if error.why is Why.BUDGET:
                raise
    return False
