"""Final answers in free text, Korean and English: what is read, what is refused, and why."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serial7.derive import extract_answer, grade, options_of, read_number
from serial7.ir import CanonicalIR

TEXT = CanonicalIR("NaHCO3")
OPTIONS = "Which one conducts?\n(A) wood\n(B) copper wire\n(C) glass"


def number(value: str) -> CanonicalIR:
    return CanonicalIR.from_dict({"answer": value})


@pytest.mark.parametrize(
    ("solution", "gold"),
    [
        ("Answer: 3521", "3521"),
        ("503 * 7 = 3521\n\n**Final Answer:** 3,521 dollars", "3521"),
        ("따라서\n정답: 3,521원", "3521"),
        ("최종 답: **3521**", "3521"),
        ("답은: $3521$", "3521"),
        ("so \\boxed{3521}", "3521"),
        ("1 + 1 = 2, and in the end 3521", "3521"),
        ("Answer: 1\n...\nAnswer: 3521.0", "3521"),
        ("Answer: 3521.", "3521"),
        ("Answer: ３５２１", "3521"),  # full-width digits, as a Korean keyboard gives them
        ("\\boxed{\\text{3,521 dollars}}", "3521"),
        ("## 정답\n\n3521", "3521"),
        ("... = 3521\n#### 3521", "3521"),
        ("정답: 1만 5천 원", "15000"),
        ("따라서 총 3억 2,000만 원이다.", "320000000"),
        ("Answer: 3.5 million", "3500000"),
        ("Answer: 1.5 × 10^3 J", "1500"),
        ("Answer: $1.2\\times10^{-5}$", "0.000012"),
        ("Answer: 1/2", "0.5"),
        ("정답: 2분의 1", "0.5"),
        ("\\boxed{\\dfrac{1}{2}}", "0.5"),
        ("Answer: 3 1/2", "3.5"),
        ("Answer: 0.50000001", "0.5"),
        ("답은 15%입니다.", "0.15"),
        ("답은 15%입니다.", "15"),
        ("Answer: -5 °C", "-5"),
        ("Answer: −5", "-5"),
        ("정답: 영하 5도", "-5"),
        ("정답: 세 명", "3"),
        ("Answer: thirty-five apples", "35"),
        ("Answer: 12 m/s^2", "12"),
        ("The answer is $1,234.50.", "1234.5"),
        ("After 2024, the answer is 30.", "30"),
        ("Answer: 5. Wait, that is wrong.\nAnswer: 6", "6"),
        ("정답: 11,040달러입니다", "11040"),
        ("x = 4 and y = 6, so x + y = 10", "10"),
        ("Answer: 0", "0"),
    ],
)
def test_right_numbers(solution: str, gold: str) -> None:
    assert grade(solution, number(gold)) == ""


@pytest.mark.parametrize(
    ("solution", "gold", "why"),
    [
        ("", "3521", "no final answer"),
        ("I cannot say.", "3521", "no final answer"),
        ("Answer: 3520", "3521", "is '3520'"),
        ("Answer: 3521.0000001", "3521", "gold is 3521"),
        ("Answer: 3521 or 3522", "3521", "alternatives"),
        ("정답: 3521 또는 3522", "3521", "alternatives"),
        ("I think it is 15 or 16", "15", "alternatives"),
        ("3521 of them\nAnswer: 7", "3521", "is '7'"),
        ("Answer: 3 hours 20 minutes", "200", "not one number"),
        ("Answer: 10 to 12", "12", ""),
        ("Answer: more than 12", "12", ""),
        ("Answer: not 12", "12", ""),
        ("Answer: 2^5", "5", ""),
        ("Answer: sqrt(16)", "16", ""),
        ("Answer: 3x", "3", ""),
        ("Answer: 11.040", "11040", ""),
        ("Answer: 0.15", "15", ""),
        ("Answer: 15000", "1.5", ""),
        ("so \\boxed{35", "35", "never closed"),
        ("The answer is 7.\nThe answer is 8.\nWhatever.", "8", "differ"),
        ("Answer: NaN", "0", ""),
        ("Answer: 1,2", "12", ""),
    ],
)
def test_wrong_numbers_say_why(solution: str, gold: str, why: str) -> None:
    said = grade(solution, number(gold))
    assert said
    assert why in said


def test_what_the_question_asks_for() -> None:
    assert grade("Answer: 15%", number("0.15"), "What fraction of it is salt?") == ""
    assert grade("Answer: 15%", number("0.15"), "What percent of it is salt?") != ""
    assert grade("정답: 3만", number("3"), "몇 만 명입니까?") == ""
    assert grade("정답: 3만", number("3"), "몇 명입니까?") != ""


@pytest.mark.parametrize(
    ("solution", "gold"),
    [
        ("정답: nahco3.", "NaHCO3"),
        ('Answer: "NaHCO3"', "NaHCO3"),
        ("**Answer:** NaHCO3", "NaHCO3"),
        ("Answer: $\\text{NaHCO3}$", "NaHCO3"),
        ("정답은 C_7입니다.", "C_7"),
        ("It reacts.\n\nNaHCO3", "NaHCO3"),
        ("Answer: (B)", "(B)"),
    ],
)
def test_right_texts(solution: str, gold: str) -> None:
    assert grade(solution, CanonicalIR(gold)) == ""


def test_wrong_texts() -> None:
    assert "NaCl" in grade("Answer: NaCl", TEXT)
    assert grade("Answer: NaHCO3 or NaCl", TEXT) != ""
    assert grade("Not NaHCO3.\nAnswer: NaCl", TEXT) != ""
    assert grade("정답: C_7 정류장이 아닙니다", CanonicalIR("C_7")) != ""


def test_options() -> None:
    assert list(options_of(OPTIONS)) == ["a", "b", "c"]
    for right in ("Answer: B", "Answer: (b)", "정답: B) copper wire", "Answer: copper wire", "\\boxed{B}"):
        assert grade(right, CanonicalIR("copper wire"), OPTIONS) == "", right
    for wrong in ("Answer: A", "Answer: (B) glass", "Answer: D", "Answer: copper"):
        assert grade(wrong, CanonicalIR("copper wire"), OPTIONS) != "", wrong
    assert options_of("see (A) alone") == {}


def test_reading_is_linear_on_hostile_text() -> None:
    begun = time.process_time()
    pieces = (
        "\\boxed{",
        "Answer:",
        "1,",
        "*",
        "\n",
        "9",
        "답",
        "{",
        "<",
        "3만 ",
        "or ",
        "= 1 ",
        "Answer: 1 or\n",
        "일",
    )
    for piece in pieces:
        for numeric in (True, False):
            extract_answer(piece * 60_000, numeric=numeric)
            extract_answer("Answer: " + piece * 60_000, numeric=numeric)
    assert time.process_time() - begun < 60  # far above what it takes, far below what a quadratic reading would


@given(
    st.integers(-(10**15), 10**15),
    st.sampled_from(["{:d}", "{:,d}", "{:d}원", "{:,d} dollars", "**{:d}**", "${:d}$", "{:d}.0"]),
)
def test_an_integer_is_read_in_every_dress(value: int, dress: str) -> None:
    written = dress.format(value)
    assert read_number(written) == value
    assert grade(f"Answer: {written}", number(str(value))) == ""
    assert grade(f"Answer: {written}", number(str(value + 1))) != ""


@given(st.text(max_size=300))
def test_no_text_breaks_it(text: str) -> None:
    grade(text, number("7"), text)
    grade(text, TEXT, text)
