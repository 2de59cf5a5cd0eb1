from __future__ import annotations

import math
from fractions import Fraction as F  # noqa: N817 - many literals

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serial7.errors import StepFailed
from serial7.operations import MAX_BITS, OPERATIONS, execute


@pytest.mark.parametrize(
    ("op", "args", "value"),
    [
        ("add", [1, 2, 3], 6),
        ("subtract", [1, 3], -2),
        ("multiply", [F(1, 3), 3, 5], 5),
        ("divide", [10, 4], F(5, 2)),
        ("modulo", [-7, 3], 2),
        ("modulo", [7, -3], -2),
        ("modulo", [F("7.5"), 2], F("1.5")),
        ("power", [2, -3], F(1, 8)),
        ("power", [-2, 3], -8),
        ("power", [-1, 10**30], 1),
        ("power", [0, 5], 0),
        ("sqrt", [F("0.25")], F(1, 2)),
        ("abs", [-3], 3),
        ("negate", [3], -3),
        ("min", [3, 1, 2], 1),
        ("max", [3], 3),
        ("mean", [1, 2], F(3, 2)),
        ("round", [F("2.5")], 3),
        ("round", [F("-2.5")], -3),
        ("round", [F("164.25"), 1], F("164.3")),
        ("round", [1234, -2], 1200),
        ("floor", [F("-1.5")], -2),
        ("ceil", [F("-1.5")], -1),
        ("exp", [0], 1),
        ("log10", [1000], 3),
        ("ln", [1], 0),
        ("sin", [0], 0),
    ],
)
def test_exact_results(op: str, args: list[F | int], value: F | int) -> None:
    assert execute(op, [F(a) for a in args]) == value


@pytest.mark.parametrize(
    ("op", "args", "why"),
    [
        ("times", [1, 2], "not one of"),
        ("add", [1], "2 or more arguments, 1 given"),
        ("round", [1, 2, 3], "1 or 2 arguments, 3 given"),
        ("divide", [1, 0], "by zero"),
        ("modulo", [1, 0], "by zero"),
        ("power", [0, 0], "undefined"),
        ("power", [0, -1], "by zero"),
        ("power", [-8, F(1, 3)], "above 0"),
        ("power", [10, 10**9], "too many digits"),
        ("power", [10, -(10**9)], "too many digits"),
        ("sqrt", [-1], "negative"),
        ("ln", [0], "above 0"),
        ("log10", [-1], "above 0"),
        ("exp", [10**6], "too large"),
        ("round", [1, F(1, 2)], "integer number of digits"),
        ("round", [1, 16], "from -15 to 15"),
    ],
)
def test_failed_steps_say_why(op: str, args: list[F | int], why: str) -> None:
    with pytest.raises(StepFailed, match=why):
        execute(op, [F(a) for a in args])


def test_transcendental_results_near_an_integer_count_as_it() -> None:
    assert execute("power", [F(2), F("0.5")]) == F(math.sqrt(2))
    assert execute("tan", [F(math.pi / 4)]) == 1


@given(st.sampled_from(sorted(OPERATIONS)), st.lists(st.fractions() | st.integers(-(10**400), 10**400), max_size=4))
def test_execution_is_bounded_and_total(op: str, args: list[F | int]) -> None:
    try:
        value = execute(op, [F(a) for a in args])
    except StepFailed as failed:
        assert failed.why  # noqa: PT017 - either way is right, and each is looked at
    else:
        assert value.numerator.bit_length() <= MAX_BITS
