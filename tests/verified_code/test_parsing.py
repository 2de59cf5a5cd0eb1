"""Tokens, expressions and declarations: what is read, how it nests, and where what cannot be read is."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verified_code import syntax as s
from verified_code.declarations import parse
from verified_code.errors import DafnySyntaxError
from verified_code.expressions import ExpressionParser
from verified_code.tokens import END, Lines, tokenize


def expression(text: str) -> s.Node:
    parser = ExpressionParser(tokenize(text))
    node = parser.expression()
    assert parser.token.kind == END, parser.token
    return node


def shape(node: s.Node | None) -> str:
    """The tree in prefix form, for assertions."""
    match node:
        case None:
            return "-"
        case s.Literal():
            return node.text
        case s.Name():
            return node.name + (f"<{','.join(t.name for t in node.type_args)}>" if node.type_args else "")
        case s.Binary():
            return f"({shape(node.left)} {node.op} {shape(node.right)})"
        case s.Unary():
            return f"{node.op}({shape(node.of)})"
        case s.Chain():
            parts = [shape(node.operands[0])]
            for op, operand in zip(node.ops, node.operands[1:], strict=True):
                parts += [op, shape(operand)]
            return f"[{' '.join(parts)}]"
        case s.Call():
            return f"{shape(node.of)}({', '.join(map(shape, node.args))})"
        case s.Select():
            return f"{shape(node.of)}.{node.field}"
        case s.Index():
            return f"{shape(node.of)}[{', '.join(map(shape, node.indices))}]"
        case s.Slice():
            return f"{shape(node.of)}[{shape(node.low)}..{shape(node.high)}]"
        case s.Quantifier():
            return f"{node.kind} {','.join(b.name for b in node.binders)} | {shape(node.range)} :: {shape(node.body)}"
        case s.Conditional():
            return f"if({shape(node.test)}, {shape(node.then)}, {shape(node.other)})"
        case s.Let():
            return f"let {','.join(p.name for p in node.patterns)} {node.op} {','.join(map(shape, node.values))} in {shape(node.body)}"
        case s.Display():
            return f"{node.kind}{{{', '.join(map(shape, node.elements))}}}"
        case s.Lambda():
            return f"\\{','.join(b.name for b in node.binders)}.{shape(node.body)}"
        case s.StatementExpression():
            return f"{node.kind}; {shape(node.body)}"
        case s.Comprehension():
            return f"{node.kind} {','.join(b.name for b in node.binders)} | {shape(node.range)} :: {shape(node.key)} := {shape(node.value)}"
        case s.Cast():
            return f"({shape(node.of)} {node.op} {node.type.name})"
        case _:
            return type(node).__name__


TREES = {
    "a && b || c": "((a && b) || c)",
    "a ==> b ==> c": "(a ==> (b ==> c))",
    "a <== b <== c": "((a <== b) <== c)",
    "a <==> b ==> c": "(a <==> (b ==> c))",
    "&& a && b": "(a && b)",
    "!a && -b < c": "(!(a) && (-(b) < c))",
    "!!a": "!(!(a))",
    "0 <= i < j <= |s|": "[0 <= i < j <= |(s)]",
    "x in s && y !in s": "((x in s) && (y !in s))",
    "x ! in s": "(x !in s)",
    "a !! b": "(a !! b)",
    "a + b * c - d": "((a + (b * c)) - d)",
    "a % 2 == 0": "((a % 2) == 0)",
    "a & b | c": "((a & b) | c)",
    "x >> 1 < y << 2": "((x >> 1) < (y << 2))",
    "|s| <= |t|": "(|(s) <= |(t))",
    "|set x | x in s && x > 0| == 1": "(|(set x | ((x in s) && (x > 0)) :: - := -) == 1)",
    "s[1..]": "s[1..-]",
    "s[..n] + s[n..]": "(s[-..n] + s[n..-])",
    "a[i, j]": "a[i, j]",
    "m[k := v][j]": "Update[j]",
    "p.(x := 1).x": "DatatypeUpdate.x",
    "t.0.1": "t.0.1",
    "f(x)(y)": "f(x)(y)",
    "Perm<int>(a, b)": "Perm<int>(a, b)",
    "Perm<seq<seq<int>>>(a)": "Perm<seq>(a)",
    "a < b && c > (d)": "((a < b) && (c > (d)))".replace("(d)", "d"),
    "F(a < b, c > d)": "F((a < b), (c > d))",
    "x => x + 1": "\\x.(x + 1)",
    "(x, y: int) => x": "\\x,y.x",
    "() => 1": "\\.1",
    "(x) requires P(x) reads {} => x": "\\x.x",
    "(x)": "x",
    "(x,)": "tuple{x}",
    "()": "tuple{}",
    "(a, b).1": "tuple{a, b}.1",
    "{1, 2} + {}": "(set{1, 2} + set{})",
    "multiset{1} == multiset(s)": "(multiset{1} == multiset(s))",
    "forall x :: x in s ==> P(x)": "forall x | - :: ((x in s) ==> P(x))",
    "forall x: int, y | 0 <= x < y :: x == y": "forall x,y | [0 <= x < y] :: (x == y)",
    "forall x <- s, y <- t | x < y :: x < y": "forall x,y | (x < y) :: (x < y)",
    "x<-1": "(x < -(1))",
    "exists x | x in s :: x > 0 && x < 9": "exists x | (x in s) :: ((x > 0) && (x < 9))",
    "map x | x in s :: x * 2": "map x | (x in s) :: - := (x * 2)",
    "map x | x in s :: x := x * 2": "map x | (x in s) :: x := (x * 2)",
    "if a then b else if c then d else e": "if(a, b, if(c, d, e))",
    "var x, y := 1, 2; x + y": "let x,y := 1,2 in (x + y)",
    "var x :| x in s; x": "let x :| (x in s) in x",
    "var (a, b) := p; a": "let () := p in a",
    "assert x > 0; x": "assert; x",
    "assert x > 0 by { L(); } x": "assert; x",
    "calc { 1; == { L(); } 2; } 3": "calc; 3",
    "reveal F(); x": "reveal; x",
    "L(x); y": "call; y",
    "old(a[..]) == old@L(b)": "(old(a[..]) == old(b))".replace("a[..]", "a[-..-]"),
    "match x case A => 1 case B(y, _) => y": "Match",
    "match x { case A => 1 case B(y, _) => y }.f": "Match.f",
    "match x case A | B => 1 case (p, 3) => 2 case _ => 0": "Match",
    "seq(3, i => i)": "SeqConstruction",
    "x as real / 2.0": "((x as real) / 2.0)",
    "x is C": "(x is C)",
    "P#[k](x)": "Prefix(x)",
    "unchanged(a, b`f)": "Unchanged",
    "s[a:b:c]": "SliceByLengths",
    "forall x {:trigger f(x)} :: f(x)": "forall x | - :: f(x)",
    "'a' == '\\n'": "('a' == '\\n')",
    "x' == x? && 'y' != c": "((x' == x?) && ('y' != c))",
    '@"a""b" + "c\\"d"': '(@"a""b" + "c\\"d")',
    "1_000 + 0xFF": "(1_000 + 0xFF)",
    "∀ x • x ∈ s".replace(" ∈ ", " in "): "forall x | - :: (x in s)",
    "a ∧ ¬b ⇒ c": "((a && !(b)) ==> c)",
}


@pytest.mark.parametrize("text", TREES)
def test_tree(text: str) -> None:
    assert shape(expression(text)) == TREES[text]


FILES = [
    "module A.B { predicate P() { true } }",
    'module {:extern "x"} A refines B.C { import opened D = E.F`G export Z provides P, Q reveals * }',
    "class C<T(==), U(!new,0)> extends T1<int>, T2 { var a: int, b: seq<T>; const c := 3 constructor Init(x: int) ensures a == x { a := x; new; } }",
    "datatype T<+A, -B> = | Nil | Cons(head: A, ghost tail: T<A, B>) { predicate P() { true } }",
    "codatatype Stream = More(int, Stream)",
    "newtype byte = x: int | 0 <= x < 256 witness 3 { function f(): int { 1 } }",
    "type Even = x: int | x % 2 == 0 witness *",
    "type Opaque(==)<A>\nfunction F(): int { 1 }",
    "ghost opaque static function {:fuel 3} F<T>(x: T, ghost y: int := 3, nameonly z: nat): (r: int) requires y > 0 ensures r > 0 reads * decreases y { 1 } by method { return 1; }",
    "twostate predicate P(c: C) reads c, c.d`e { old(c.x) < c.x }",
    "least predicate P[nat](x: int) { x == 0 || P(x - 1) }",
    "inductive predicate P(x: int) { true }\ncopredicate Q(x: int) { Q(x) }\ncolemma L() { }",
    "method M<T>(a: array<T>, f: (int, T) -> bool) returns (r: int, s: set<T>) requires a.Length > 0; ensures r > 0; ensures s != {} modifies a, a`x decreases * { while true invariant {:x} r > 0 { assume {:axiom} false; } }",
    "iterator I(x: int) yields (y: int) yield requires true yield ensures y > 0 { yield 1; }",
    'method Main() { print "}", \'{\', @""""; }',
    'include "a.dfy"\ninclude "b/c.dfy";',
    "@Compile @Fuel(1) method M() { }",
    "function F(x: int): int -> bool { y => y > x }",
    "function G(): (int, bool)",
    "const x: int\nconst y: real := 1.5;",
    "method {:test} T() returns () { }",
    "lemma L(x: int) requires Label: x > 0 ensures P(x) { }",
    "predicate by(by: int) { by > 0 }",
]


@pytest.mark.parametrize("text", FILES)
def test_file_is_read_whole(text: str) -> None:
    found = parse(text)
    for declaration in found.walk():
        declaration.body_expression()


def test_declarations_keep_their_parts() -> None:
    (method,) = parse(
        "method {:x 1} M<T>(a: int, b: seq<T>) returns (r: int) requires a > 0 ensures r > a ensures r < 9 { }"
    ).declarations
    assert method.name == "M"
    assert method.type_parameters == ("T",)
    assert [p.name for p in (*method.parameters, *method.results)] == ["a", "b", "r"]
    assert [c.kind for c in method.clauses] == ["requires", "ensures", "ensures"]
    assert [a for a, _ in method.attributes] == ["x"]
    assert method.body == []


@pytest.mark.parametrize(
    ("text", "place", "why"),
    [
        ("method M(", "1:10", "a type is due"),
        ("predicate P() {", "1:15", "never closed"),
        ("\n\nfunktion F() { }", "3:1", "a declaration is due"),
        ('const s := "open', "1:12", "string literal"),
        ("const c := 1 $ 2", "1:14", "U+0024"),
        ("method M() ensures forall :: true { }", "1:27", "a name is due"),
        ("method M() ensures x <= ; { }", "1:25", "an expression is due"),
    ],
)
def test_a_syntax_error_names_its_place(text: str, place: str, why: str) -> None:
    with pytest.raises(DafnySyntaxError) as caught:
        parse(text)
    found = Lines("f", text).place(caught.value.at)
    assert why in caught.value.why
    assert f"{found.line}:{found.column}" == place


@given(st.text(alphabet="abM(){}[]<>|&=!.:;,+-*/'\"@#`? \n0123456789~^%", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    for source in (text, f"method M() ensures {text} {{ }}", f"predicate P() {{ {text} }}"):
        try:
            for declaration in parse(source).walk():
                declaration.body_expression()
        except DafnySyntaxError as error:
            assert 0 <= error.at <= len(source)  # noqa: PT017 - reading it is as right as refusing it


@given(
    st.lists(
        st.sampled_from(
            [
                "method",
                "M",
                "(",
                ")",
                "{",
                "}",
                "ensures",
                "forall",
                "x",
                "::",
                "|",
                "int",
                ":",
                ",",
                "==",
                "if",
                "then",
                "else",
                "<",
                ">",
                "[",
                "]",
                "var",
                ":=",
                ";",
                "match",
                "case",
                "=>",
                "set",
                "map",
                "module",
                "datatype",
                "=",
                "import",
            ]
        ),
        max_size=40,
    )
)
def test_any_tokens_are_read_or_refused(words: list[str]) -> None:
    with suppress(DafnySyntaxError):
        parse(" ".join(words))
