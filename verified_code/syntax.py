"""Syntax trees of Dafny expressions, types and patterns. `at` is an offset into the text of the file, in code points.

Statements are not in the tree: a method's body is skipped by its brackets, its tokens kept (see `declarations`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields


@dataclass(slots=True)
class Node:
    at: int


@dataclass(slots=True)
class TypeRef(Node):
    """`name` dotted; tuples are `()`, function types `->`, `~>`, `-->` with the result last in `args`."""

    name: str
    args: tuple[TypeRef, ...] = ()


@dataclass(slots=True)
class Literal(Node):
    """`kind`: int, real, char, string, bool, null, this. `text` as written."""

    kind: str
    text: str


@dataclass(slots=True)
class Name(Node):
    name: str
    type_args: tuple[TypeRef, ...] = ()


@dataclass(slots=True)
class Select(Node):
    """`of.field`; also a module's, type's or constructor's member."""

    of: Node
    field: str
    type_args: tuple[TypeRef, ...] = ()


@dataclass(slots=True)
class Call(Node):
    """`names[i]` is the parameter's name where argument i is named, else empty."""

    of: Node
    args: tuple[Node, ...]
    names: tuple[str, ...]


@dataclass(slots=True)
class Prefix(Node):
    """`P#[k]`."""

    of: Node
    index: Node


@dataclass(slots=True)
class Index(Node):
    of: Node
    indices: tuple[Node, ...]


@dataclass(slots=True)
class Slice(Node):
    """`of[low..high]`; either bound may be missing."""

    of: Node
    low: Node | None
    high: Node | None


@dataclass(slots=True)
class SliceByLengths(Node):
    """`of[a:b:c]`: consecutive parts of these lengths; the last may be missing."""

    of: Node
    lengths: tuple[Node, ...]


@dataclass(slots=True)
class Update(Node):
    """`of[index := value]`."""

    of: Node
    index: Node
    value: Node


@dataclass(slots=True)
class DatatypeUpdate(Node):
    of: Node
    fields: tuple[str, ...]
    values: tuple[Node, ...]


@dataclass(slots=True)
class Unary(Node):
    """`op`: `-`, `!`, `|` (cardinality), `old`, `fresh`, `allocated`, `multiset` (of a sequence or set)."""

    op: str
    of: Node


@dataclass(slots=True)
class Unchanged(Node):
    of: tuple[Node, ...]


@dataclass(slots=True)
class Frame(Node):
    """A frame expression with a field: `` e`f ``."""

    of: Node | None
    field: str


@dataclass(slots=True)
class Binary(Node):
    """Every binary operator but the chained comparisons; `op` as written, `in` and `!in` included."""

    op: str
    left: Node
    right: Node


@dataclass(slots=True)
class Chain(Node):
    """`a <= b < c`: one more operand than operators."""

    ops: tuple[str, ...]
    operands: tuple[Node, ...]


@dataclass(slots=True)
class Cast(Node):
    """`of as type` or `of is type`."""

    op: str
    of: Node
    type: TypeRef


@dataclass(slots=True)
class Conditional(Node):
    """`binding` is the pattern of `if x :| ...`, else empty."""

    test: Node
    then: Node
    other: Node


@dataclass(slots=True)
class Binder(Node):
    """A bound variable; `domain` is what stands behind `<-`, `where` its own range behind `|`."""

    name: str
    type: TypeRef | None = None
    domain: Node | None = None
    where: Node | None = None


@dataclass(slots=True)
class Quantifier(Node):
    """`kind`: forall, exists."""

    kind: str
    binders: tuple[Binder, ...]
    range: Node | None
    body: Node


@dataclass(slots=True)
class Comprehension(Node):
    """`kind`: set, iset, map, imap. `key` only in maps written `key := value`."""

    kind: str
    binders: tuple[Binder, ...]
    range: Node | None
    key: Node | None
    value: Node | None


@dataclass(slots=True)
class Pattern(Node):
    """A variable or constructor (`name`, no arguments: which one it is, resolution tells), or a literal."""

    name: str
    args: tuple[Pattern, ...] | None = None
    literal: Node | None = None
    type: TypeRef | None = None
    alternatives: tuple[Pattern, ...] = ()


@dataclass(slots=True)
class Case(Node):
    pattern: Pattern
    body: Node


@dataclass(slots=True)
class Match(Node):
    of: Node
    cases: tuple[Case, ...]


@dataclass(slots=True)
class Let(Node):
    """`op`: `:=`, `:|`, `:-`."""

    op: str
    patterns: tuple[Pattern, ...]
    values: tuple[Node, ...]
    body: Node


@dataclass(slots=True)
class Lambda(Node):
    binders: tuple[Binder, ...]
    requires: tuple[Node, ...]
    reads: tuple[Node, ...]
    body: Node


@dataclass(slots=True)
class Display(Node):
    """`kind`: seq, set, iset, multiset, tuple."""

    kind: str
    elements: tuple[Node, ...]


@dataclass(slots=True)
class MapDisplay(Node):
    """`kind`: map, imap."""

    kind: str
    keys: tuple[Node, ...]
    values: tuple[Node, ...]


@dataclass(slots=True)
class SeqConstruction(Node):
    """`seq(length, function)`."""

    type: TypeRef | None
    length: Node
    function: Node


@dataclass(slots=True)
class StatementExpression(Node):
    """`kind`: assert, assume, expect, calc, reveal, call. Its `parts` change no value; `body` is the value."""

    kind: str
    parts: tuple[Node, ...]
    body: Node


_FIELDS: dict[type, tuple[str, ...]] = {}


def children(node: Node) -> Iterator[Node]:
    """The nodes directly below, in the order of the text."""
    names = _FIELDS.get(type(node))
    if names is None:
        names = _FIELDS[type(node)] = tuple(f.name for f in fields(node) if f.type not in ("int", "str"))
    for name in names:
        value = getattr(node, name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            for item in value:
                if isinstance(item, Node):
                    yield item


def walk(node: Node) -> Iterator[Node]:
    """`node` and every node below it."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(children(current))
