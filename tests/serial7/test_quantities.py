from __future__ import annotations

from fractions import Fraction

import pytest

from serial7.quantities import numerals, quantities, words


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,240 visitors and 3.50 dollars", ["1240", "7/2"]),
        ("at −4 °C, then -7 | 2", ["-4", "-7", "2"]),
        ("pages 3-5", ["3", "5"]),
        ("x - 3", ["3"]),
        ("15% of .5", ["15", "1/2"]),
        ("3/4 of it", ["3", "3/4", "4"]),
        (r"\frac{1}{8}", ["1", "1/8", "8"]),
        ("6.02 × 10^23 and 1.5e-3", ["602000000000000000000000", "3/2000"]),
        ("2 × 10⁻³ m", ["1/500"]),
        ("1.2 million won", ["1200000"]),
        ("stop C_7, NaHCO3, H2O, the 3rd row", []),
        ("3만 5천 원, 1억 2,000만 원, 5천 원, 2천만", ["35000", "120000000", "5000", "20000000"]),
        ("사과 347개를 24개씩", ["347", "24"]),
        ("850 m이고 1 °C당 0.000012", ["850", "1", "3/250000"]),
        ("1,2", ["1", "2"]),
        ("케이크 3조각", ["3"]),
        ("무대 | 6,400\n조명 | 5", ["6400", "5"]),
    ],
)
def test_numerals(text: str, values: list[str]) -> None:
    assert sorted(numerals(text)) == sorted(Fraction(v) for v in values)


@pytest.mark.parametrize(
    ("text", "language", "values"),
    [
        ("Three friends buy forty-two pens", "en", [3, 42]),
        ("two hundred boxes", "en", [200]),
        ("someone stone attention", "en", []),
        ("친구 세 명이 스물두 개를 나흘 동안", "ko", [3, 22, 4]),
        ("다섯 장에서 서로 다른 세 장", "ko", [5, 3]),
        ("한국의 사과와 두부", "ko", []),
        ("서른 권씩 열 상자", "ko", [30, 10]),
    ],
)
def test_words(text: str, language: str, values: list[int]) -> None:
    assert words(text, language) == values


def test_both_together_and_a_long_text() -> None:
    assert quantities("세 명이 12개", "ko") == [12, 3]
    for piece in ("9", "1,", "3만 ", "-", "열", "1/", "twenty-"):
        quantities(piece * 40_000, "ko")
        quantities(piece * 40_000, "en")
