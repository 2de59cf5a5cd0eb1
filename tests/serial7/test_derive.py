from __future__ import annotations

import pytest

from serial7.derive import extract_answer, grade
from serial7.ir import CanonicalIR

GOLD = CanonicalIR.from_dict({"answer": "3521"})
HALF = CanonicalIR.from_dict({"answer": "0.5"})
TEXT = CanonicalIR("NaHCO3")


@pytest.mark.parametrize(
    "solution",
    [
        "Answer: 3521",
        "503 * 7 = 3521\n\n**Final Answer:** 3,521 dollars",
        "따라서\n정답: 3,521원",
        "최종 답: **3521**",
        "답은: $3521$",
        "so \\boxed{3521}",
        "1 + 1 = 2, and in the end 3521",
        "Answer: 1\n...\nAnswer: 3521.0",
        "Answer: 3521.",
    ],
)
def test_right_answers_in_free_text(solution: str) -> None:
    assert grade(solution, GOLD) == ""


@pytest.mark.parametrize(
    ("solution", "why"),
    [
        ("", "no final answer"),
        ("I cannot say.", "no final answer"),
        ("Answer: 3520", "is '3520'"),
        ("Answer: 3521.0000001", "gold is 3521"),
        ("Answer: 3521 or 3522", "not one number"),
        ("Answer: ３５２１", "not one number"),
        ("3521 of them\nAnswer: 7", "is '7'"),
    ],
)
def test_wrong_answers_say_why(solution: str, why: str) -> None:
    assert why in grade(solution, GOLD)


def test_fractions_and_text() -> None:
    assert grade("Answer: 1/2", HALF) == ""
    assert grade("Answer: 0.50000001", HALF) == ""
    assert grade("정답: nahco3.", TEXT) == ""
    assert grade('Answer: "NaHCO3"', TEXT) == ""
    assert "NaCl" in grade("Answer: NaCl", TEXT)


def test_extraction_is_linear_on_hostile_text() -> None:
    for piece in ("\\boxed{", "Answer:", "1,", "*", "\n", "9", "답"):
        extract_answer(piece * 60_000, numeric=True)
