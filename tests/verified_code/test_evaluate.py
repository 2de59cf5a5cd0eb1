"""The evaluator: values of expressions, and unknown where there is none."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verified_code.component import from_texts
from verified_code.evaluate import Env, Evaluator
from verified_code.expressions import ExpressionParser
from verified_code.resolve import Program
from verified_code.tokens import tokenize
from verified_code.unknown import Unknown, Why
from verified_code.values import Char, Data, Map, Multiset, euclidean, string, to_json

SPEC = """
datatype List = Nil | Cons(head: int, tail: List)
datatype Colour = Red | Green | Blue
datatype Shape = Circle(r: int) | Square(side: int, filled: bool)
type Small = x: int | 0 <= x < 10
newtype byte = x: int | 0 <= x < 256
const Limit: int := 7
function Sum(s: seq<int>): int { if |s| == 0 then 0 else s[0] + Sum(s[1..]) }
function Length(l: List): nat { match l case Nil => 0 case Cons(_, rest) => 1 + Length(rest) }
function Half(x: int): int requires x % 2 == 0 { x / 2 }
function Loop(x: int): int { Loop(x + 1) }
function Down(x: nat): int { if x == 0 then 0 else Down(x - 1) }
function NoBody(x: int): int
function Twice(f: int -> int, x: int): int { f(f(x)) }
function Inc(x: int): int { x + 1 }
function Default(x: int, y: int := 5): int { x + y }
least predicate Reach(x: int) { x == 0 || Reach(x - 2) }
predicate Broken(x: int) { x ==> }
module M { const c := 3 function F(x: int): int { x * c } datatype D = K }
"""


def evaluate(text: str, **names: Any) -> Any:
    component = from_texts(SPEC, "method X() { }")
    assert component.unreadable == []
    program = Program(component)
    return Evaluator(program).run(ExpressionParser(tokenize(text)).expression(), Env(names, program.root))


VALUES: dict[str, Any] = {
    "-7 / 2": -4, "-7 % 2": 1, "7 / -2": -3, "7 % -2": 1, "7.0 / 2.0": Fraction(7, 2), "1.5 + 1.5": Fraction(3),
    "(3 as real) / 2.0": Fraction(3, 2), "3.7.Floor": 3, "(-3.5).Floor": -4, "2.0 as int": 2,
    "1 < 2 <= 2": True, "1 < 2 > 3": False, "false && 1 / 0 == 0": False, "true || 1 / 0 == 0": True,
    "false ==> 1 / 0 == 0": True, "1 == 2 <==> 3 == 4": True, "(1 / 0 == 0) <== false": True,
    "[1, 2, 3][1]": 2, "[1, 2, 3][1..]": (2, 3), "[1, 2] + [3]": (1, 2, 3), "|[1, 2]|": 2, "[1] < [1, 2]": True,
    "[2] <= [1, 2]": False, "[1, 2] <= [1, 2]": True, "[1, 2][0 := 5]": (5, 2), "[1, 2, 3, 4][1:2:]": ((1,), (2, 3), (4,)),
    "2 in [1, 2]": True, "3 !in {1, 2}": True, "{1, 2} + {3} == {3, 2, 1}": True, "{1, 2} * {2}": frozenset({2}),
    "{1} < {1, 2}": True, "{1} !! {2}": True, "{1, 1, 2} - {1}": frozenset({2}),
    "multiset{1, 1, 2}[1]": 2, "multiset([1, 2, 1]) == multiset{2, 1, 1}": True, "|multiset{1, 1}|": 2,
    "multiset{1} <= multiset{1, 1}": True, "multiset{1, 1} - multiset{1} == multiset{1}": True,
    "map[1 := 2][1]": 2, "1 in map[1 := 2]": True, "map[1 := 2].Keys": frozenset({1}), "map[1 := 2].Values": frozenset({2}),
    "map[1 := 2][1 := 3] == map[1 := 3]": True, "|map[1 := 2, 3 := 4]|": 2, "map[1 := 2] + map[1 := 9] == map[1 := 9]": True,
    "(map x | x in {1, 2} :: x * x)[2]": 4, "(map x | x in {1, 2} :: x + 1 := x)[3]": 2,
    "set x | x in [1, 2, 3] && x > 1": frozenset({2, 3}), "set x | 0 <= x < 3 :: x * 2": frozenset({0, 2, 4}),
    "set x, y | x in {1, 2} && y in {x} :: x + y": frozenset({2, 4}),
    "forall x | 0 <= x < 3 :: x < 3": True, "exists x | 0 <= x < 3 :: x == 5": False,
    "forall i, j :: 0 <= i < j < 3 ==> [1, 2, 4][i] < [1, 2, 4][j]": True,
    "forall i, j :: 0 <= j < 3 && 0 <= i < j ==> i < 2": True,
    "exists x :: x in [1, 2] && x == 2": True, "exists x :: x == 4 && x > 3": True,
    "forall x <- [1, 2, 3] :: x > 0": True, "forall x <- {1, 2}, y <- {x} | x == y :: x > 0": True,
    "exists x: nat :: x < 3 && x == 2": True, "forall b: bool :: b || !b": True,
    "forall c: Colour :: c == Red || c == Green || c == Blue": True, "exists c: Colour :: c.Blue?": True,
    "forall x :: (x == 1 || x == 2) ==> x < 3": True, "forall s | s <= {1, 2} :: |s| <= 2": True,
    "forall x: Small | -5 <= x < 50 :: x < 10": True, "forall p: (bool, Colour) :: p.0 || !p.0": True,
    "forall c: char | 'a' <= c <= 'c' :: c < 'd'": True, "exists x | x > 3 && 5 >= x :: x == 5": True,
    "forall d :: d > -5 ==> d > 0 || d < 1": True, "forall d :: d > -5 ==> d > 0": False, "forall x :: x !in {3} || x > 2": True,
    "forall x :: x in [1, 9] ==> !(x < 1)": True, "exists x :: !(x < 2) && x <= 2": True, "forall x :: x != 4 || x == 4": True,
    "forall x | 0 <= x :: !(x < 3 && x > 5)": True, "forall x | 0 <= x :: !(x < 3)": False,
    "var x := 3; x * x": 9, "var (a, b) := (1, 2); a + b": 3, "var x :| x in {4}; x": 4, "var x :| 0 <= x < 9 && x * x == 16; x": 4,
    "if 1 < 2 then 3 else 1 / 0": 3, "match Cons(1, Nil) case Nil => 0 case Cons(h, _) => h": 1,
    "match 3 case 1 => 0 case 3 => 7 case _ => 9": 7, "match (1, Red) { case (x, Green) => 0 case (x, _) => x }": 1,
    "Cons(1, Nil).head": 1, "Cons(1, Nil).Cons?": True, "Square(2, true).(side := 5).side": 5, "Colour.Red == Red": True,
    "(1, 2).1": 2, "Sum([1, 2, 3])": 6, "Length(Cons(1, Cons(2, Nil)))": 2, "Half(4)": 2, "Twice(Inc, 1)": 3,
    "Twice(x => x * 3, 1)": 9, "(x => x + 1)(2)": 3, "Default(1)": 6, "Default(1, y := 2)": 3, "Limit": 7, "M.c + M.F(2)": 9,
    "M.D.K == M.K": True, "seq(3, i => i * i)": (0, 1, 4), "'a' as int": 97, "97 as char == 'a'": True, "'b' - 'a' < 'c'": True,
    '"abc"[0] == \'a\'': True, '"a\\n" == ["a"[0], \'\\n\']': True, '@"a\\" == "a\\\\"': True, '"" == []': True,
    "5 as Small": 5, "assert 1 == 1; 4": 4, "calc { 1; 1; } 4": 4, "old(3)": 3, "0xFF": 255, "1_000": 1000,
    "(6 as bv8) & 3 == (2 as bv8)": True, "((255 as bv8) + 1) as int": 0, "(1 as bv8) << 3 == (8 as bv8)": True,
    "null == null": True, "Sum(seq(900, i => 1))": 900,
}  # fmt: skip


@pytest.mark.parametrize("text", VALUES)
def test_value(text: str) -> None:
    value = evaluate(text)
    assert value == VALUES[text]
    assert type(value) is type(VALUES[text])


UNKNOWN = {
    "1 / 0": Why.ILL_FORMED, "1 % 0": Why.ILL_FORMED, "1.0 / 0.0": Why.ILL_FORMED, "[1][1]": Why.ILL_FORMED, "[1][-1]": Why.ILL_FORMED,
    "[1][0..2]": Why.ILL_FORMED, "map[1 := 2][3]": Why.ILL_FORMED, "Half(3)": Why.ILL_FORMED, "10 as Small": Why.ILL_FORMED,
    "256 as byte": Why.ILL_FORMED, "1.5 as int": Why.ILL_FORMED, "Circle(1).side": Why.ILL_FORMED, "var x :| x in {} && x == 1; x": Why.ILL_FORMED,
    "match Red case Green => 1": Why.ILL_FORMED, "Down(-1)": Why.ILL_FORMED, "Default()": Why.ILL_FORMED,
    "1 / 0 == 0 || true": Why.ILL_FORMED, "1 / 0 == 0 && false": Why.ILL_FORMED,
    "forall x | 0 <= x < 3 :: 1 / x > 0": Why.ILL_FORMED,
    "forall x: int :: x * x >= 0": Why.NOT_EXECUTABLE, "exists x: int :: x * x == 2": Why.NOT_EXECUTABLE,
    "forall x | x > 0 :: x * x > 0": Why.NOT_EXECUTABLE, "set x: int | x > 0": Why.NOT_EXECUTABLE, "NoBody(1) == 1": Why.NOT_EXECUTABLE,
    "Reach(4)": Why.NOT_EXECUTABLE, "Broken(1)": Why.NOT_EXECUTABLE, "unknownName": Why.NOT_EXECUTABLE, "iset x: int | x > 0": Why.NOT_EXECUTABLE,
    "var x :| x in {1, 2}; x": Why.NOT_EXECUTABLE, "Inc == Inc": Why.NOT_EXECUTABLE, "this": Why.NOT_EXECUTABLE,
    "fresh(x)": Why.NOT_EXECUTABLE, "forall l: List :: l == l": Why.NOT_EXECUTABLE, "Reach#[3](4)": Why.NOT_EXECUTABLE,
    "Loop(1)": Why.BUDGET, "forall x | 0 <= x < 1000000000 :: x % 7 < 7": Why.BUDGET, "Down(100000)": Why.BUDGET,
    "seq(1000000000, i => i)": Why.BUDGET,
}  # fmt: skip


@pytest.mark.parametrize("text", UNKNOWN)
def test_unknown_is_never_a_value(text: str) -> None:
    with pytest.raises(Unknown) as caught:
        evaluate(text)
    assert caught.value.why is UNKNOWN[text]
    assert caught.value.detail


KLEENE = {
    "NoBody(1) == 1 && false": False, "false && NoBody(1) == 1": False, "NoBody(1) == 1 || true": True,
    "NoBody(1) == 1 ==> true": True, "true <== NoBody(1) == 1": True,
    "(forall x: int :: x == x) && 1 == 2": False, "forall i | 0 <= i < 2 :: NoBody(i) == 1 && i == 5": False,
    "exists i | 0 <= i < 2 :: NoBody(i) == 1 || i == 1": True,
}  # fmt: skip


@pytest.mark.parametrize("text", KLEENE)
def test_one_definite_side_decides(text: str) -> None:
    assert evaluate(text) is KLEENE[text]


@pytest.mark.parametrize(
    "text", ["NoBody(1) == 1 && true", "NoBody(1) == 1 || false", "NoBody(1) == 1 ==> false", "!(NoBody(1) == 1)"]
)
def test_no_side_decides(text: str) -> None:
    with pytest.raises(Unknown):
        evaluate(text)


@given(st.integers(), st.integers().filter(bool))
def test_euclidean_division(a: int, b: int) -> None:
    quotient, remainder = euclidean(a, b)
    assert a == quotient * b + remainder
    assert 0 <= remainder < abs(b)


# Three-valued tables: u is a condition that cannot be computed.
ATOMS = {"true": True, "false": False, "NoBody(0) == 1": None}


def formulas() -> st.SearchStrategy[tuple[str, bool | None]]:
    def negate(inner: tuple[str, bool | None]) -> tuple[str, bool | None]:
        return f"!({inner[0]})", None if inner[1] is None else not inner[1]

    def join(parts: tuple[str, tuple[str, bool | None], tuple[str, bool | None]]) -> tuple[str, bool | None]:
        op, (a, x), (b, y) = parts
        text = f"({a}) {op} ({b})"
        if op == "==>":
            x = None if x is None else not x
        if op == "&&":
            return text, False if x is False or y is False else None if x is None or y is None else True
        return text, True if x is True or y is True else None if x is None or y is None else False

    atoms = st.sampled_from(sorted(ATOMS.items()))
    return st.recursive(
        atoms,
        lambda inner: inner.map(negate) | st.tuples(st.sampled_from(["&&", "||", "==>"]), inner, inner).map(join),
        max_leaves=12,
    )


@given(formulas())
def test_kleene_logic_and_no_unknown_becomes_a_truth(formula: tuple[str, bool | None]) -> None:
    text, expected = formula
    try:
        found: bool | None = evaluate(text)
    except Unknown as error:
        assert error.why is Why.NOT_EXECUTABLE  # noqa: PT017 - both ways are right, and both are looked at
        found = None
    assert found is expected


@pytest.mark.parametrize(
    ("value", "json"),
    [
        (3, 3), (2**70, str(2**70)), (Fraction(1, 3), "1/3"), (string("ab"), "ab"), ((), []), ((1, 2), [1, 2]), (Char(97), "a"),
        (frozenset({1}), [1]), (Multiset([1, 1]), [1, 1]), (Map({1: 2}), [[1, 2]]), (Data("()", (1, True)), [1, True]),
        (Data("Nil", ()), "Nil"), (Data("Some", (1,)), {"ctor": "Some", "args": [1]}), (None, None),
    ],
)  # fmt: skip
def test_json_of_values(value: Any, json: Any) -> None:
    assert to_json(value) == json
