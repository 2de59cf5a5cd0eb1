"""Counts in words: `thirty-five apples`, `two thirds`, `서른다섯 개`, `삼만 오천 원`.

A Korean word counts only with a counter behind it or alone, an English `one` only at the beginning: 한국, 사과 and "this
one" hold no number.
"""

from __future__ import annotations

import re
from fractions import Fraction

_ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ENGLISH = {w: i for i, w in enumerate(_ONES.split())} | {w: 10 * i for i, w in enumerate(_TENS.split(), 2)}
_MULTIPLIERS = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_PARTS = {"half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10}
_WORD = "|".join(sorted([*_ENGLISH, *_MULTIPLIERS], key=len, reverse=True))
_ENGLISH_RUN = re.compile(
    rf"(?<![A-Za-z-])(?:(?P<sign>minus|negative)\s+)?(?P<words>(?:{_WORD})(?:(?:\s+and\s+|[\s-]+)(?:{_WORD})){{0,12}})(?![A-Za-z])"
    r"(?:[\s-]+(?P<part>half|third|quarter|fourth|fifth|sixth|eighth|tenth|halve)s?(?![A-Za-z]))?"
    r"(?P<odd>\s+and\s+a\s|[\s-]+dozen|\s+of\s|\s+or\s)?",
    re.IGNORECASE,
)

_NATIVE_TENS = {
    "열": 10,
    "스물": 20,
    "스무": 20,
    "서른": 30,
    "마흔": 40,
    "쉰": 50,
    "예순": 60,
    "일흔": 70,
    "여든": 80,
    "아흔": 90,
}
_NATIVE_ONES = {
    "하나": 1, "한": 1, "둘": 2, "두": 2, "셋": 3, "세": 3, "석": 3, "넷": 4, "네": 4, "넉": 4, "다섯": 5, "여섯": 6, "일곱": 7,
    "여덟": 8, "아홉": 9,
}  # fmt: skip
_SINO = {"영": 0, "공": 0, "일": 1, "이": 2, "삼": 3, "사": 4, "오": 5, "육": 6, "칠": 7, "팔": 8, "구": 9}
_SINO_UNITS = {"십": 10, "백": 100, "천": 1000, "만": 10**4, "억": 10**8}
_COUNTERS = (
    "시간 킬로미터 센티미터 킬로그램 미터 그램 리터 달러 상자 봉지 송이 그루 마리 가지 자루 켤레 조각 사람 개 명 권 번 원 살 장 대 "
    "병 잔 배 일 주 달 해 년 분 초 도 점 쪽 줄 칸 곳 쌍 회 통 벌 채 판 알 톤 자리 번째"
)
_COUNTER = "|".join(sorted(_COUNTERS.split(), key=len, reverse=True))
_NATIVE = (
    rf"(?:(?P<tens>{'|'.join(_NATIVE_TENS)})(?P<ones>{'|'.join(_NATIVE_ONES)})?|(?P<only>{'|'.join(_NATIVE_ONES)}))"
)
_SINO_WORD = r"(?P<sino>[일이삼사오육칠팔구영공]?[십백천만억](?:\s?[일이삼사오육칠팔구]?[십백천만억]|\s?[일이삼사오육칠팔구](?=$|\s|[^가-힣]|입|이[다에]))*(?:[일이삼사오육칠팔구])?|[일이삼사오육칠팔구영공])"
_COPULA = r"(?:입니다|이다|이에요|예요|이며|이고|임|다)?"
_LEAD = r"(?:(?:약|총|모두|전부|마이너스)\s*)*"
_WHOLE = re.compile(rf"\s*{_LEAD}(?:{_NATIVE}|{_SINO_WORD})(?P<counted>\s?(?:{_COUNTER}))?\s?{_COPULA}\s*[.!]?\s*")
_COUNTED = re.compile(
    rf"(?<![가-힣])(?:{_NATIVE}|{_SINO_WORD})\s?(?:{_COUNTER})(?=$|[^가-힣]|입니다|이다|이에요|이며|이고|예요|를|을|가 |이 )"
)
_DETERMINERS = frozenset("한두세석네넉")


def find(text: str) -> Fraction | None:
    """The count in words of a line without digits: the whole line, or the last one in it; None if there is none."""
    if len(text) > 1000:
        return None
    whole = _WHOLE.fullmatch(text)
    if whole is not None:
        value = _korean(whole)
        bare = whole["only"] in _DETERMINERS and not whole["counted"]
        single = (
            whole["sino"] and len(whole["sino"]) == 1 and not whole["counted"] and text.strip(" .") != whole["sino"]
        )
        if value is not None and not bare and not single:
            return -value if "마이너스" in text else value
    english, counted = list(_ENGLISH_RUN.finditer(text)), list(_COUNTED.finditer(text))
    if counted and not english:
        return _korean(counted[-1]) if len({_korean(m) for m in counted}) == 1 else None
    stated = [m for m in english if m["words"].lower() != "one" or m["part"] or m.start() == 0]
    values = {_english(m) for m in stated}
    return values.pop() if len(values) == 1 else None


def _english(match: re.Match[str]) -> Fraction | None:
    if match["odd"]:
        return None
    total, current = 0, 0
    for word in re.split(r"[\s-]+", match["words"].lower()):
        if word == "and":
            continue
        if word == "hundred":
            current = (current or 1) * 100
        elif word in _MULTIPLIERS:
            total, current = total + (current or 1) * _MULTIPLIERS[word], 0
        elif current % 10 or (current % 100 and _ENGLISH[word] >= 10):
            return None  # `five six` is no number
        else:
            current += _ENGLISH[word]
    value = Fraction(total + current)
    part = (match["part"] or "").lower()
    if part:
        value /= 2 if part == "halve" else _PARTS[part]
    return -value if match["sign"] else value


def _korean(match: re.Match[str]) -> Fraction | None:
    if match["sino"] is None:
        return Fraction(
            _NATIVE_TENS.get(match["tens"] or "", 0) + _NATIVE_ONES.get(match["ones"] or match["only"] or "", 0)
        )
    total, section, digit = 0, 0, 0
    for letter in match["sino"].replace(" ", ""):
        if letter in _SINO:
            digit = _SINO[letter]
        elif _SINO_UNITS[letter] < 10**4:
            section, digit = section + (digit or 1) * _SINO_UNITS[letter], 0
        else:
            total, section, digit = total + (section + digit or 1) * _SINO_UNITS[letter], 0, 0
    return Fraction(total + section + digit)
