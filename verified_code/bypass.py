"""Constructs that let a proof pass without proving: reported beside every verdict, never part of it.

Source: surfaces.md, "Surface A"; dafny.md section 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from verified_code import syntax as s
from verified_code.component import Component
from verified_code.declarations import Declaration, File
from verified_code.errors import Place

# flag -> what it means for a reader of the verdict
FLAGS = {
    "verify_false": "{:verify false}: the verifier skips this declaration",
    "assume": "assume: taken for granted, not proved",
    "axiom": "{:axiom}: declared to hold",
    "bodyless_axiom": "{:axiom} without a body: its postcondition is declared to hold",
    "bodyless": "no body: its postcondition is taken for granted",
    "extern": "{:extern}: its code and its contract lie elsewhere",
    "decreases_star": "decreases *: termination is not proved",
    "free_ensures": "free ensures: assumed by callers and proved by nobody",
    "trivial_true": "a postcondition that is literally true",
    "trivial_self_equality": "a postcondition that compares an expression with itself",
    "trivial_disjunct": "a postcondition one of whose alternatives is always true",
}


@dataclass(frozen=True, slots=True)
class Flag:
    flag: str
    declaration: str
    place: Place

    def __str__(self) -> str:
        return f"{self.place}: {self.declaration}: {FLAGS[self.flag]}"


def bypass_flags(component: Component) -> list[Flag]:
    """Every bypass in the files of both sides, in the order of the text, each place once."""
    found: list[Flag] = []
    for file in [*component.spec, *component.impl]:
        for declaration, name, abstract in _named(file.declarations, "", False):
            found += _flags(file, declaration, name, abstract)
    return list(dict.fromkeys(found))


def _named(declarations: list[Declaration], outer: str, abstract: bool) -> Iterator[tuple[Declaration, str, bool]]:
    """Declarations with their qualified names, and whether they stand where a missing body is no bypass."""
    for declaration in declarations:
        name = f"{outer}.{declaration.name}" if outer else declaration.name
        yield declaration, name, abstract
        inner = abstract or declaration.kind == "trait" or "abstract" in declaration.modifiers
        yield from _named(declaration.members, name, inner)


def _flags(file: File, declaration: Declaration, name: str, abstract: bool) -> Iterator[Flag]:
    def flag(kind: str, at: int) -> Flag:
        return Flag(kind, name, file.lines.place(at))

    names = {attribute for attribute, _ in declaration.attributes}
    if any(a == "verify" and [t.text for t in rest[:1]] == ["false"] for a, rest in declaration.attributes):
        yield flag("verify_false", declaration.at)
    if names & {"extern", "dllimport"} or "extern" in declaration.modifiers:
        yield flag("extern", declaration.at)
    callable_ = declaration.is_function or declaration.kind in ("method", "constructor", "lemma", "colemma", "iterator")
    bodyless = callable_ and declaration.body is None and bool(declaration.ensures)
    if "axiom" in names:
        yield flag("bodyless_axiom" if callable_ and declaration.body is None else "axiom", declaration.at)
    elif bodyless and not abstract and not names & {"extern"}:
        yield flag("bodyless", declaration.at)
    if declaration.decreases_star:
        yield flag("decreases_star", declaration.at)
    for token in declaration.body or ():
        if token.text == "assume" and token.kind == "punct":
            yield flag("assume", token.at)
    for clause in declaration.clauses:
        if any(isinstance(n, s.StatementExpression) and n.kind == "assume" for n in s.walk(clause.expression)):
            yield flag("assume", clause.at)
        if clause.kind != "ensures":
            continue
        if clause.free:
            yield flag("free_ensures", clause.at)
        for trivial in trivialities(clause.expression):
            yield flag(trivial, clause.at)


def trivialities(node: s.Node) -> Iterator[str]:
    """Why a postcondition, or a conjunct of it, says nothing."""
    for part in _operands(node, "&&"):
        if _is_true(part):
            yield "trivial_true"
        elif _is_self_equality(part):
            yield "trivial_self_equality"
        elif isinstance(part, s.Binary) and part.op == "||":
            if any(_is_true(p) or _is_self_equality(p) for p in _operands(part, "||")):
                yield "trivial_disjunct"
        elif isinstance(part, s.Binary) and part.op == "==>" and (_is_true(part.right) or _is_false(part.left)):
            yield "trivial_true"


def _operands(node: s.Node, op: str) -> Iterator[s.Node]:
    todo = [node]
    while todo:
        current = todo.pop()
        if isinstance(current, s.Binary) and current.op == op:
            todo += [current.right, current.left]
        else:
            yield current


def _is_true(node: s.Node) -> bool:
    return isinstance(node, s.Literal) and node.text == "true"


def _is_false(node: s.Node) -> bool:
    return isinstance(node, s.Literal) and node.text == "false"


def _is_self_equality(node: s.Node) -> bool:
    return isinstance(node, s.Binary) and node.op in ("==", "<=", ">=", "<==>", "==>") and same(node.left, node.right)


def same(a: s.Node, b: s.Node) -> bool:
    """Whether two trees are written alike; places are not compared."""
    if type(a) is not type(b):
        return False
    for name in a.__dataclass_fields__:
        if name == "at":
            continue
        x, y = getattr(a, name), getattr(b, name)
        if isinstance(x, s.Node) and isinstance(y, s.Node):
            if not same(x, y):
                return False
        elif isinstance(x, tuple) and isinstance(y, tuple):
            if len(x) != len(y) or not all(
                same(p, q) if isinstance(p, s.Node) and isinstance(q, s.Node) else p == q
                for p, q in zip(x, y, strict=True)
            ):
                return False
        elif x != y:
            return False
    return True
