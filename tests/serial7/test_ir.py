from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serial7.errors import OperatorError
from serial7.ir import (
    CanonicalIR,
    Tolerance,
    is_name,
    matches_all,
    normalize_text,
    number_text,
    numbers_agree,
    parse_number,
    undress_number,
)
from tests.conftest import small_irs

D = Decimal


@pytest.mark.parametrize("text", ["0", "-0", "3521", "-0.5", "1.50", "1e3", "1E-7", "0.000012", "9007199254740993"])
def test_numbers_of_the_grammar(text: str) -> None:
    assert parse_number(text) == D(text)


@pytest.mark.parametrize(
    "text",
    ["", " 1", "1 ", "+1", "01", ".5", "5.", "1,000", "1_000", "３５２１", "٣", "−1", "nan", "inf", "0x1F", "1/2", "50%", "$5",
     "1e", "--1", "1\n", "9" * 401, "1e999"],
)  # fmt: skip
def test_what_is_no_number(text: str) -> None:
    assert parse_number(text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (" 3521\n", 3521),
        ('"3521"', 3521),
        ("“3521”", 3521),
        ("3,521", 3521),
        ("-1,234,567.5", "-1234567.5"),
        ("'3,521'", 3521),
    ],
)
def test_dress_that_is_taken_off(text: str, value: object) -> None:
    assert undress_number(text) == D(str(value))


@pytest.mark.parametrize("text", ["35,21", "3521원", "$3521", "1/2", "1,2345", ",123", "３５２１", "3 521", "0x10"])
def test_dress_that_is_not(text: str) -> None:
    assert undress_number(text) is None


@pytest.mark.parametrize(
    ("reference", "seen", "agree"),
    [
        ("3521", "3521.0", True),
        ("3521", "3521.0000001", False),
        ("9007199254740993", "9007199254740992", False),
        ("0.3", "0.3000001", True),
        ("0.3", "0.301", False),
        ("1e-12", "0", True),
        ("-0.5", "0.5", False),
    ],
)
def test_equality_of_numbers(reference: str, seen: str, agree: bool) -> None:
    assert numbers_agree(D(reference), D(seen)) is agree


def test_an_artifacts_tolerance_overrides_both_rules() -> None:
    wide = Tolerance(Fraction(1, 100), Fraction(0))
    assert numbers_agree(D(1000), D(1009), wide)
    assert not numbers_agree(D(1000), D(1011), wide)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Nitrogen dioxide", "  nitrogen \u3000 DIOXIDE. "),
        ("가\u0301", "가\u0301。"),
        ("STRASSE", "straße"),
        ("광합성", "광합성!?"),
        ("대한민국", "대한민국"),
    ],
)
def test_equality_of_text(a: str, b: str) -> None:
    assert normalize_text(a) == normalize_text(b)


def test_punctuation_inside_text_counts() -> None:
    assert normalize_text("a.b") != normalize_text("ab")


def test_matching_gives_no_value_away_that_another_needs() -> None:
    near = [D("0.30000001"), D("0.3")]
    assert matches_all([D("0.3"), D("0.30000001")], near) is None
    assert matches_all([D(5), D(5)], [D(5)]) == 5
    assert matches_all([], [D(5)]) is None


@pytest.mark.parametrize("ir", small_irs(), ids=str)
def test_dict_round_trip(ir: CanonicalIR) -> None:
    assert CanonicalIR.from_dict(ir.to_dict()) == ir


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ({}, "answer"),
        ({"answer": 3521}, "answer"),
        ({"answer": "1", "inputs": [["a", "x"]]}, r"inputs\[0\].value"),
        ({"answer": "1", "steps": [["R", "add", ["$", "1"], "1"]]}, r"steps\[0\].args\[0\]"),
    ],
)
def test_bad_gold_names_its_field(data: dict[str, object], place: str) -> None:
    with pytest.raises(OperatorError, match=place):
        CanonicalIR.from_dict(data)


def test_names() -> None:
    assert all(map(is_name, ["a", "A_1", "x9"]))
    assert not any(map(is_name, ["", "1a", "_a", "a-b", "가격", "TRUE", "NaN", "inf", "a b", "a\n"]))


@given(st.decimals(allow_nan=False, allow_infinity=False, places=20, min_value=-(10**15), max_value=10**15))
def test_number_text_is_read_back_exactly(value: Decimal) -> None:
    assert parse_number(number_text(value)) == value
