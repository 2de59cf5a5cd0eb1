"""The quantities that a reader finds in a question or its materials, Korean or English.

Numerals in every dress (`1,240`, `−3`, `3/4`, `6.02 × 10^23`, `15%`, `3만 5천`, `1.2 million`) and small numbers in words
(`three`, `세 개`). Digits that are part of a code (`C_7`, `NaHCO3`) are none. Source: paper tables 16 and 18.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

MAX_TEXT = 64 * 1024
_ASCII = str.maketrans({"−": "-", "–": "-", "\u00a0": " ", "\u2009": " ", "\u202f": " "})
_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_SCALES = {"십": 10, "백": 100, "천": 1000, "만": 10**4, "억": 10**8, "조": 10**12}
_ENGLISH_SCALES = {"thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_DIGITS = r"[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+"
_NUMERAL = re.compile(
    r"(?:(?<![0-9A-Za-z_.)\]가-힣])(?P<sign>-))?"
    rf"(?<![A-Za-z_0-9])(?<![0-9]\.)(?P<number>(?:{_DIGITS})(?:\.[0-9]+)?|(?<![0-9])\.[0-9]+)(?![0-9])"
    r"(?:\s?(?:×|\\times|x|·)\s?10(?:\^\{?(?P<power>[+-]?[0-9]{1,3})\}?|(?P<raised>[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}))"
    r"|[eE](?P<exponent>[+-]?[0-9]{1,3})(?![0-9A-Za-z])"
    r"|(?P<korean> ?[십백천만억조]{1,3}(?:[ ]?[0-9,.]{1,15}[십백천만억조]{1,3}){0,5}(?: ?[0-9,]{1,9}(?=원|명|개|\b))?)(?!각|[가-힣]*층)"
    r"|\s(?P<english>thousand|million|billion|trillion)\b"
    r"|(?P<ordinal>st|nd|rd|th)\b)?"
)
_FRACTION = re.compile(r"(?<![0-9A-Za-z_./])([0-9]{1,9})\s?/\s?([1-9][0-9]{0,8})(?![0-9A-Za-z_/]|\.[0-9])")
_LATEX_FRACTION = re.compile(r"\\[dt]?frac\s?\{\s?([0-9]{1,9})\s?\}\s?\{\s?([1-9][0-9]{0,8})\s?\}")
_PART = re.compile(r"([0-9,.]+)?([십백천만억조]{1,3})|([0-9,]+)")

_ONES = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
ENGLISH_NUMBERS = {w: i for i, w in enumerate(_ONES, 1)} | {w: 10 * i for i, w in enumerate(_TENS, 2)}
_WORD_SCALES = {"hundred": 100, **_ENGLISH_SCALES}
ENGLISH_WORD = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(_TENS)})(?:[- ](?P<unit>{'|'.join(_ONES[:9])}))?|(?P<one>{'|'.join(reversed(_ONES))}))"
    rf"(?:[ -](?P<scale>{'|'.join(_WORD_SCALES)}))?\b",
    re.IGNORECASE,
)
_NATIVE_TENS = {
    "열": 10, "스물": 20, "스무": 20, "서른": 30, "마흔": 40, "쉰": 50, "예순": 60, "일흔": 70, "여든": 80, "아흔": 90,
}  # fmt: skip
_NATIVE_ONES = {
    "하나": 1, "한": 1, "둘": 2, "두": 2, "셋": 3, "세": 3, "석": 3, "넷": 4, "네": 4, "넉": 4, "다섯": 5, "여섯": 6, "일곱": 7,
    "여덟": 8, "아홉": 9,
}  # fmt: skip
_DAYS = {
    "하루": 1,
    "이틀": 2,
    "사흘": 3,
    "나흘": 4,
    "닷새": 5,
    "엿새": 6,
    "이레": 7,
    "여드레": 8,
    "아흐레": 9,
    "열흘": 10,
}
_SINO = {"일": 1, "이": 2, "삼": 3, "사": 4, "오": 5, "육": 6, "칠": 7, "팔": 8, "구": 9, "십": 10}
_COUNTERS = (
    "시간 킬로미터 센티미터 킬로그램 미터 그램 리터 달러 상자 봉지 송이 그루 마리 가지 자루 켤레 조각 사람 군데 모둠 묶음 바퀴 자리 "
    "개 명 권 번 원 살 장 대 병 잔 배 주 달 해 분 초 점 쪽 줄 칸 곳 쌍 회 통 벌 채 판 알 톤 종 팀 칸 층 편 척 포기 꾸러미 수 값 "
    "기온 변 각 면 행 열 차례 날 과목 지점 숫자 정수 자연수 식 항 도시 반"
)
_KOREAN_WORD = re.compile(
    rf"(?<![가-힣])(?:(?P<tens>{'|'.join(_NATIVE_TENS)})?(?P<ones>{'|'.join(_NATIVE_ONES)})|(?P<only>{'|'.join(_NATIVE_TENS)})"
    rf"|(?P<sino>[일이삼사오육칠팔구십](?=차|각형|면체|등분|진법)))\s?"
    rf"(?=(?:{'|'.join(sorted(_COUNTERS.split(), key=len, reverse=True))})|차|각형|면체|등분|진법)"
    rf"|(?<![가-힣])(?P<days>{'|'.join(_DAYS)})"
    rf"|(?<![가-힣])(?P<alone>{'|'.join(w for w in _NATIVE_ONES if len(w) > 1 or w in '둘셋넷')})(?=[은는이가을를의로과와]|\s|$)"
)


def quantities(text: str, language: str) -> list[Fraction]:
    """Every quantity of `text`, in order: numerals, then the numbers in words of `language` (`ko`, `en`)."""
    return [*numerals(text), *words(text, language)]


def numerals(text: str) -> list[Fraction]:
    """The values of the numerals of `text`. A fraction `3/4` counts as itself and as its two parts.

    `15%` counts as 15: whether it means a part of one hundred is for the solution to say.
    """
    text = text[:MAX_TEXT].translate(_ASCII)
    found: list[tuple[int, Fraction]] = []
    for match in _NUMERAL.finditer(text):
        found += [(match.start(), value) for value in _values(match)]
    for pattern in (_FRACTION, _LATEX_FRACTION):
        found += [(m.start(), Fraction(int(m[1]), int(m[2]))) for m in pattern.finditer(text)]
    return [value for _, value in sorted(found, key=lambda f: f[0])]


def words(text: str, language: str) -> list[Fraction]:
    """The values of the number words of `text`: `forty-two`, `two hundred`; `세 명`, `스물두 권`, `나흘`."""
    pattern, value = (_KOREAN_WORD, _korean_word) if language == "ko" else (ENGLISH_WORD, english_value)
    return [Fraction(value(m)) for m in pattern.finditer(text[:MAX_TEXT])]


def _values(match: re.Match[str]) -> Iterator[Fraction]:
    if match["ordinal"]:
        return
    sign = -1 if match["sign"] else 1
    value = sign * Fraction(Decimal(match["number"].replace(",", "")))
    power = match["power"] or (match["raised"] or "").translate(_SUPERSCRIPT) or match["exponent"]
    if power:
        yield value * Fraction(10) ** int(power)
    elif match["korean"]:
        yield sign * _korean_amount(match["number"] + match["korean"])
    elif match["english"]:
        yield value * _ENGLISH_SCALES[match["english"]]
    else:
        yield value


def _korean_amount(text: str) -> Fraction:
    """`3만 5천` -> 35000; `1억 2,000만` -> 120000000."""
    total, below = Fraction(0), Fraction(0)
    for part in _PART.finditer(text.replace(" ", "")):
        if part[3]:
            below += int(part[3].replace(",", "") or 0)
            continue
        value = Fraction(Decimal(part[1].replace(",", "").strip(".") or "1")) if part[1] else Fraction(1)
        large = Fraction(1)
        for scale in part[2]:
            if _SCALES[scale] < 10**4:
                value *= _SCALES[scale]
            else:
                large *= _SCALES[scale]
        if large > 1:
            total, below = total + (below + value) * large, Fraction(0)
        else:
            below += value
    return total + below


def english_value(match: re.Match[str]) -> int:
    """The value of a match of `ENGLISH_WORD`: `forty-two` -> 42, `two hundred` -> 200."""
    value = ENGLISH_NUMBERS[(match["tens"] or match["one"]).lower()] + ENGLISH_NUMBERS.get(
        (match["unit"] or "").lower(), 0
    )
    return int(value * _WORD_SCALES.get((match["scale"] or "").lower(), 1))


def _korean_word(match: re.Match[str]) -> int:
    if match["days"]:
        return _DAYS[match["days"]]
    if match["alone"]:
        return _NATIVE_ONES[match["alone"]]
    if match["sino"]:
        return _SINO[match["sino"]]
    return _NATIVE_TENS.get(match["tens"] or match["only"] or "", 0) + _NATIVE_ONES.get(match["ones"] or "", 0)
