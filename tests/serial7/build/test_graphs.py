"""Worked solutions become equations, equations become graphs that execute, or a reason why not."""

from __future__ import annotations

from fractions import Fraction

import pytest

from serial7.build.equations import evaluate, parse_expression, plain_equations, solution_equations
from serial7.build.graphs import Graph, NotAGraph, build_graph
from serial7.build.records import decimal_text
from serial7.build.sightings import near_rows, see_table, see_text
from serial7.operations import execute


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2*(3+.5)", "7"), ("40%*20", "8"), ("4(100)", "400"), ("15840/(440)", "36"), ("-3+5", "2"), ("1,200-1", "1199"),
        ("6×7", "42"), ("520 ÷ 8", "65"), ("10 − 2", "8"), ("3 x 5", "15"), ("2-3-4", "-5"),
    ],
)  # fmt: skip
def test_expressions(text: str, value: str) -> None:
    found = parse_expression(text)
    assert found is not None
    assert decimal_text(evaluate(found)) == value


@pytest.mark.parametrize(
    "text", ["", "2x+4", "2 3", "(1+2", "1+", "*3", "price*2", "3=3", "(" * 500, "1+" * 3000 + "1"]
)
def test_what_is_no_expression(text: str) -> None:
    assert parse_expression(text) is None


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("Together they cost $9.00 + $4.00 = $13.00.", ["13"]),
        ("He has 7 players + 13 players = 20 players.", ["20"]),
        ("It lasts 100 cups * 2 liters/cup = 200 liters", ["200"]),
        ("Workers: 4(100) = 400", ["400"]),
        ("$2 × 4\\frac{1}{2} = $2 × 4.5 = $9", ["9"]),
        ("\\frac{55}{280} → \\frac{11}{56}".replace("→", "="), ["11/56"]),
        ("16/2=8 and 3*2=6", ["8", "6"]),
        ("3x + 4 = 28", []),
        ("2 + 2 = 5", []),
        ("Tuesday: 7,822 + 1,152 = 8,974.", ["8974"]),
    ],
)
def test_equations_among_words(line: str, values: list[str]) -> None:
    assert [e.value for e in plain_equations(line, 0)] == [Fraction(v) for v in values]


def graph(question: str, solution: str, answer: str) -> Graph:
    found = build_graph(solution_equations(solution), Fraction(answer), see_text(question), question)
    values = dict(found.inputs)
    for id_, op, args, value in found.steps:  # a graph executes, whatever it was made from
        assert execute(op, [values[a] if a in values else Fraction(a) for a in args]) == value
        values[id_] = value
    assert values[found.steps[-1][0]] == Fraction(answer)
    return found


def test_operands_are_results_inputs_percentages_and_implied_constants() -> None:
    found = graph(
        "A choir of 80 singers has 45% women. Half of the women sing alto. How many women do not?",
        "80*.45=<<80*.45=36>>36\n36/2=<<36/2=18>>18\n36-18=<<36-18=18>>18\n#### 18",
        "18",
    )
    assert found.inputs == [("singers", 80), ("women_percent", 45)]
    assert [(op, args) for _, op, args, _ in found.steps] == [
        ("divide", ["women_percent", "100"]),
        ("multiply", ["singers", "R1"]),
        ("divide", ["R2", "2"]),
        ("subtract", ["R2", "R3"]),
    ]


def test_a_mean_and_a_choice_are_operations() -> None:
    found = graph(
        "Three jars hold 12, 17 and 25 beans. What is the average number of beans?",
        "12+17+25=<<12+17+25=54>>54\n54/3=<<54/3=18>>18",
        "18",
    )
    assert [op for _, op, _, _ in found.steps] == ["mean"]
    found = graph(
        "Stall A sells 30 cakes for $4 each, stall B sells 25 cakes for $5 each. How many dollars does the better stall take?",
        "30*4=<<30*4=120>>120\n25*5=<<25*5=125>>125\nThe better one takes <<125=125>>125",
        "125",
    )
    assert [op for _, op, _, _ in found.steps] == ["multiply", "multiply", "max"]


def test_fractions_are_computed_without_a_rounded_value() -> None:
    found = graph("A tank of 90 liters is 2/3 full. How many liters are in it?", "2/3*90=<<2/3*90=60>>60", "60")
    assert [(op, args) for _, op, args, _ in found.steps] == [("multiply", ["2", "liters"]), ("divide", ["R1", "3"])]


def test_a_rounded_annotation_becomes_a_round_step() -> None:
    found = graph("7 friends share $50. How many dollars does each get, to the cent?", "50/7=<<50/7=7.14>>7.14", "7.14")
    assert found.steps[-1][1:3] == ("round", ["R1", "2"])


@pytest.mark.parametrize(
    ("question", "solution", "answer", "category", "why"),
    [
        ("There are 700 ants.", "7x=700\nx=<<100=100>>100\nWorkers: 4(100)=400", "400", "grounding", "nowhere in the question"),
        ("There are 700 ants.", "x=<<100=100>>100", "100", "source", "<<100=100>>"),
        ("He is twice as old as she. Together 48.", "x=<<16=16>>16\n2*16=<<2*16=32>>32", "32", "grounding", "16 is asserted"),
        ("A pump moves 15 liters in 9 minutes.", "15*9=<<15*9=135>>135", "145", "answer", "ends in 135, the official answer is 145"),
        ("8 books and 17 books.", "8+17=<<8+17=26>>26", "26", "source", "does not hold: it is 25"),
        ("8 books and 17 books.", "8+17+3=<<8+17+3=28>>28", "28", "grounding", "3 stands nowhere"),
        ("Twice a dozen.", "2*12=<<2*12=24>>24", "24", "grounding", "takes no number"),
        ("8 books.", "Add them.", "8", "source", "computes nothing"),
    ],
)  # fmt: skip
def test_why_there_is_no_graph(question: str, solution: str, answer: str, category: str, why: str) -> None:
    with pytest.raises(NotAGraph) as caught:
        build_graph(solution_equations(solution), Fraction(answer), see_text(question), question)
    assert caught.value.category == category
    assert why in caught.value.why


def test_equal_cells_are_told_apart_by_their_labels() -> None:
    rows = [["sand", "$2/lb"], ["mulch", "$2/lb"], ["bark", "$3/lb"]]
    question = "How much do 4 pounds of mulch cost?"
    table = near_rows(see_table(rows), [r[0] for r in rows], question)
    cells = [s for row in table for s in row if s is not None]
    assert [(s.name, s.far) for s in cells] == [("sand_price", True), ("mulch_price", False), ("bark_price", True)]
    found = build_graph(solution_equations("$2 × 4 = $8"), Fraction(8), [*cells, *see_text(question)], question)
    assert [name for name, _ in found.inputs] == ["mulch_price", "pounds_mulch"]


def test_numbers_of_a_text() -> None:
    seen = [
        (decimal_text(s.value), s.kind)
        for s in see_text("On the 3rd day, forty-two cats eat 1,200.5 g, 15% of $.75, or 3/4.")
    ]
    assert seen == [("42", "word"), ("1200.5", "figure"), ("15", "percent"), ("0.75", "figure"), ("0.75", "fraction")]
