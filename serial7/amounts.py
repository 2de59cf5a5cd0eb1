"""One number out of free text: the dress that a solution may wear and a document may not.

Read are digits with thousands separators, units, currency and percent signs, fractions and mixed numbers, powers of ten,
full-width digits, every minus sign, LaTeX and Markdown around them, the Korean scales (3만 5천, 1억 2,000만), English ones
(3.5 million), and counts in words. What holds several numbers, a range, an unevaluated expression, a bound or a denial is
none: nothing is guessed. Source: contracts.md section 2 (Derive); every choice here is *ours*.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from serial7 import number_words
from serial7.plain_text import plain

MAX_CONTENT = 1000
MAX_DIGITS = 400

ALTERNATIVE = re.compile(
    r"\bor\b|\beither\b|\balternatively\b|\b(?:could|might|may) (?:also )?be\b|\bperhaps also\b|\bvs\b"
    r"|또는|혹은|아니면|이거나|일 수도|(?<=\d)(?:이나|나) (?=\d)",
    re.IGNORECASE,
)
SENTENCE_END = re.compile(r"(?<=\S)[.!?](?=[\s\"'”’)\]]|$)|[。！？\n]")
_REASON = re.compile(r"\b(?:because|since)\b|왜냐하면", re.IGNORECASE)
_DENIAL = re.compile(r"\bnot\b|n't\b|\bcannot\b|≠|아니|아닙|아님", re.IGNORECASE)
_BOUND = re.compile(
    r"\b(?:more|less|fewer|greater|smaller) than\b|\b(?:above|below|under|over)\b|이상|이하|미만|초과", re.IGNORECASE
)
_SIDES = re.compile(r"<?=>?|[≈≒≃⇒→]|->")
_PARENTHESES = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]")

_RUN = re.compile(r"(?<![0-9])\.?[0-9]+(?:[.,][0-9]+)*")
_PLAIN = re.compile(r"\.?[0-9]+|[0-9]+\.[0-9]+")
_GROUPED = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_CURRENCY_CODE = re.compile(r"(?<![A-Za-z])(?:USD|KRW|EUR|JPY|GBP|CNY|US|Rs)$")
_NEGATIVE = re.compile(r"(?:\bminus|\bnegative|마이너스|영하)\s*$", re.IGNORECASE)
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]{1,3})(?![0-9A-Za-z])")
_TIMES_TEN = re.compile(r"\s*[×xX*·]\s*10\s*\^\s*\(?\s*([+-]?[0-9]{1,3})\s*\)?(?![0-9.])")
_TEN_TO = re.compile(r"\s*\^\s*\(?\s*([+-]?[0-9]{1,3})\s*\)?(?![0-9.])")
_OVER = re.compile(r"\s*/\s*([0-9]+(?:[.,][0-9]+)*)(?!\s*/\s*[0-9])")
_SLASHES = re.compile(r"\s*/\s*[0-9.,]*[0-9]\s*/\s*[0-9]")
_MIXED = re.compile(r"(?:\s+|\s*(?:과|와)\s*|\s+and\s+)([0-9]{1,4})\s*/\s*([0-9]{1,4})(?![0-9]|[./,][0-9])")
_MIXED_KO = re.compile(r"\s*(?:과|와)\s*([0-9]{1,4})\s*분의\s*([0-9]{1,4})(?![0-9])")
_PARTS_KO = re.compile(r"\s*분의\s*(-?[0-9]{1,9})(?![0-9])")
_POINTS = re.compile(r"\s*(?:%\s?p\b|%\s?포인트|퍼센트\s?포인트|percentage points?\b)", re.IGNORECASE)
_PERCENT = re.compile(r"\s*(?:%|percent\b|per cent\b|퍼센트|프로(?![가-힣])|프로(?=입니|이[다에]))", re.IGNORECASE)
_SCALE = re.compile(r"\s?([십백천만억조])(?=[^가-힣]|$|[십백천만억조](?![가-힣])|(?:[십백천만억조])*(?:원|명|개(?!월)|톤|년|마리|권|대|번|회|건|배|주|표|곳|평|점|줄|장|쪽|세대|가구|그루|송이|병|상자|달러|유로|엔|위안|킬로|미터|리터|그램|바이트|여|이다|이에|이며|이고|입|가 |으로|로 ))")  # fmt: skip
_NEXT_PART = re.compile(r"\s?([0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,4})(?![0-9.,]*[0-9])")
_SCALE_VALUE = {"십": 10, "백": 100, "천": 1000, "만": 10**4, "억": 10**8, "조": 10**12}
_ENGLISH_SCALE = re.compile(r"\s?-?(hundred|thousand|million|billion|trillion)\b|(k)(?![A-Za-z])", re.IGNORECASE)
_ENGLISH_VALUE = {"hundred": 100, "thousand": 1000, "k": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
# What makes of the number beside it another one: 3x, 5!, 2^5, 1010_2, 5².
_TIED = re.compile(r"\s?[xyzXYZ](?![A-Za-z0-9])|[ni](?![A-Za-z])|x[0-9A-Fa-f]|!|\s*\^|_|[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]")

_UNIT_POWER = re.compile(r"(?<=[A-Za-zΩµμ])(?:\^\(?-?[0-9]\)?|[⁻¹²³⁴]{1,2})")
_UNIT_JOIN = re.compile(r"(?<=[A-Za-zΩµμ℃°가-힣])\s*[/·*]\s*(?=[A-Za-zΩµμ가-힣])")
_OPERATOR = re.compile(
    r"[+*/×÷√π∞^_<>≤≥≠±|\\]|(?<![A-Za-z])(?:sqrt|pi|log|ln|sin|cos|tan|mod|dozens?|hal[fv]\w*|twice|double)(?![A-Za-z])"
    r"|[가-힣] ?반(?![가-힣])|루트|제곱근|로그|파이|팩토리얼|의 (?:세?제곱|절반)|무한|[⁰¹²³⁴⁵⁶⁷⁸⁹]",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\s*(?:to|and|through|[-~∼〜–]|에서|부터|와|과|:)\s*", re.IGNORECASE)
_DATE = re.compile(
    r"[0-9]{4}\s?년(?:\s?[0-9]{1,2}\s?월)?(?:\s?[0-9]{1,2}\s?일)?|(?<![0-9])[0-9]{1,2}\s?월\s?[0-9]{1,2}\s?일"
    r"|(?<![0-9])(?:19|20)[0-9]{2}[-./][0-9]{1,2}[-./][0-9]{1,2}(?![0-9])"
    r"|\b(?:in|since|by|until|year) (?:19|20)[0-9]{2}(?![0-9,.]*[0-9])"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.? [0-9]{1,2}(?:, [0-9]{4})?(?![0-9])",
    re.IGNORECASE,
)
_LETTER = re.compile(r"[A-Za-z가-힣]")


@dataclass(frozen=True, slots=True)
class Amount:
    """A number as read. `percent`: a percent sign follows, and `value` is what stands before it; `scale`: what a scale
    word multiplied it by (3만: value 30000, scale 10000), for questions that ask in that scale."""

    value: Fraction
    percent: bool = False
    scale: int = 1

    def agrees(self, other: Amount) -> bool:
        """Whether both may be said of one quantity: 15%, 15 and 0.15 may, 15 and 0.15 may not."""
        if self.percent == other.percent:
            return self.value == other.value
        return bool({self.value, self.value / 100 if self.percent else self.value}
                    & {other.value, other.value / 100 if other.percent else other.value})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Unread:
    """Why there is not one number. `none`: no number at all; `hedged`: alternatives or a denial; `several`, `bad`."""

    why: str
    kind: Literal["none", "hedged", "several", "bad"]


@dataclass(frozen=True, slots=True)
class _Token:
    start: int
    end: int
    amount: Amount | None  # None: digits that are no number
    text: str


def read_amount(text: str, *, last: bool = False) -> Amount | Unread:
    """The one number that `text` (an answer, at most 1,000 characters of it) states.

    Args:
        last: of several numbers in a sentence take the last, unless they are a list, a range or an expression.
    """
    line = plain(text[:MAX_CONTENT])
    marker = ALTERNATIVE.search(line)
    while marker is not None:
        after = next(_tokens(line[marker.end() :]), None)
        before = _read_sentence(_head(line[: marker.start()]), last)
        if after is not None and not (isinstance(before, Amount) and after.amount and before.agrees(after.amount)):
            # "either" stands before both: what counts is whether two numbers follow.
            first = next(_tokens(line[: marker.start()]), None)
            rest = list(_tokens(line[marker.end() :]))
            if first is not None or len(rest) > 1:
                return Unread(f"{_quote(line)} gives alternatives; one number is due", "hedged")
        marker = ALTERNATIVE.search(line, marker.end())
    return _read_sentence(_head(line), last)


def holds_number(text: str) -> bool:
    """Whether digits that stand for themselves, or a count in words, are in `text`."""
    line = plain(text[:MAX_CONTENT])
    return next(_tokens(line), None) is not None or number_words.find(line) is not None


def numbers_in(text: str) -> list[Amount]:
    """Every number of `text`, in order; digits that are no number are left out."""
    return [t.amount for t in _tokens(plain(text[:MAX_CONTENT])) if t.amount is not None]


def _quote(text: str) -> str:
    return f"{text.strip()!r:.60}"


def _head(line: str) -> str:
    """The first sentence that holds a number, without the reason that it gives."""
    start, head = 0, line
    for end in [*(m.start() for m in SENTENCE_END.finditer(line)), len(line)]:
        head = line[start:end]
        if line[end : end + 1] == "!" and head[-1:].isdigit():
            head += "!"  # it may be a factorial
        if next(_tokens(head), None) is not None or number_words.find(head) is not None:
            break
        start = end + 1
    else:
        head = line
    reason = _REASON.search(head)
    if reason is not None and next(_tokens(head[: reason.start()]), None) is not None:
        head = head[: reason.start()]
    return head


def _read_sentence(sentence: str, last: bool) -> Amount | Unread:
    asides: list[str] = []
    joint = max((m.start() for m in _SIDES.finditer(_PARENTHESES.sub(lambda m: " " * len(m[0]), sentence))), default=-1)

    def aside(match: re.Match[str]) -> str:
        if match.start() > joint:  # f(2) = 35: what stands before is no second answer
            asides.append(match[1] if match[1] is not None else match[2])
        return " "

    main = _PARENTHESES.sub(aside, sentence)
    if _DENIAL.search(main):
        return Unread(f"{_quote(sentence)} denies something; one number is due", "hedged")
    if not _LETTER.search(main) and next(_tokens(main), None) is None and len(asides) == 1:
        sign = "-" if main.strip() == "-" else ""
        main, asides = sign + asides[0], []
    undated = _DATE.sub(" ", main)
    if next(_tokens(undated), None) is not None:
        main = undated
    elif _DATE.search(main) and not re.fullmatch(r"[^0-9]*(?:19|20)[0-9]{2}[^0-9]*", main):
        return Unread(f"{_quote(sentence)} is a date; one number is due", "bad")
    found = _read_sides(main, last)
    if isinstance(found, Unread):
        if found.kind == "none" and (words := number_words.find(main)) is not None:
            found = Amount(words)
        else:
            return found
    for each in asides:
        tokens = list(_tokens(each))
        restated = len(tokens) == 1 and not _OPERATOR.search(_without_units(each)) and tokens[0].amount is not None
        if (
            restated
            and not each[tokens[0].end :].strip()
            and not re.search(r"[A-Za-z가-힣]{2,}\s*$", each[: tokens[0].start])
        ):
            amount = tokens[0].amount
            assert amount is not None
            if not found.agrees(amount):
                return Unread(f"{_quote(sentence)} states two numbers; one is due", "several")
    return found


def _read_sides(main: str, last: bool) -> Amount | Unread:
    """`x = 35`, `12 + 23 = 35`, `35 = 12 + 23`, `3.4948 ≈ 3.49`: the side that is a number, the last of them."""
    sides = _SIDES.split(main)
    if len(sides) > 20:
        return Unread("the answer is a long chain of equations; one number is due", "bad")
    joints = _SIDES.findall(main)
    read = [_read_side(side, last) for side in sides]
    numbers = [(i, r) for i, r in enumerate(read) if isinstance(r, Amount)]
    final = read[-1]
    if isinstance(final, Amount):
        for i, amount in numbers[:-1]:
            # `for 3 boxes, x = 35` states one number, `x = 35, y = 12` two.
            stated = (i and not last) or not _LETTER.search(sides[i])
            if stated and not {"≈", "≒", "≃"} & set(joints[i:]) and not amount.agrees(final):
                return Unread(f"{_quote(main)} equates two numbers; one is due", "several")
        return final
    if len(numbers) == 1 and numbers[0][0] == 0 and (final.kind == "none" or not _LETTER.search(sides[-1])):
        return numbers[0][1]
    failed = [r for r in read if isinstance(r, Unread) and r.kind != "none"]
    return final if final.kind != "none" or not failed else failed[-1]


def _read_side(side: str, last: bool) -> Amount | Unread:
    tokens = list(_tokens(side))
    if not tokens:
        return Unread(f"{_quote(side)} is not one number", "none")
    bound = _BOUND.search(side)
    if bound is not None:
        return Unread(f"{_quote(side)} is a bound ({bound[0]!r}); one number is due", "bad")
    chosen = tokens[-1]
    for one, two in itertools.pairwise(tokens):
        between = side[one.end : two.start]
        alike = one.amount is not None and two.amount is not None and one.amount.agrees(two.amount)
        joined = not _LETTER.search(between) or _RANGE.fullmatch(between) or _OPERATOR.search(_without_units(between))
        if joined if last and two is chosen else (joined or not alike) and not last:
            return Unread(f"{_quote(side)} is not one number", "several")
    if chosen.amount is None:
        return Unread(f"{_quote(side)}: {chosen.text!r:.40} is not one number", "bad")
    before = side[tokens[-2].end if len(tokens) > 1 and last else 0 : tokens[-1 if last else 0].start]
    for residue in (before, side[chosen.end :]):
        operator = _OPERATOR.search(_without_units(residue))
        if operator is not None:
            return Unread(f"{_quote(side)} is an expression ({operator[0]!r}), not one number", "bad")
    return chosen.amount


def _without_units(text: str) -> str:
    return _UNIT_JOIN.sub(" ", _UNIT_POWER.sub("", text))


def _tokens(line: str) -> Iterator[_Token]:
    """The numbers of a plain line from left to right."""
    position = 0
    while (match := _RUN.search(line, position)) is not None:
        position = match.end()
        start, digits = match.start(), match[0]
        previous = line[start - 1 : start]
        if digits.startswith(".") and (previous.isalnum() or previous in (")", ".")):
            start, digits, previous = start + 1, digits[1:], "."
        letter = previous.isascii() and (previous.isalpha() or previous in ("_", "\\"))
        if letter and not _CURRENCY_CODE.search(line[max(0, start - 4) : start]):
            continue  # CO2, x1, C_7
        if previous == "^" and line[start - 2 : start - 1].isalpha():
            continue  # m^2
        if previous == "-" and line[start - 2 : start - 1] == "^":
            continue  # s^-1
        amount, end = _suffixes(line, digits, match.end())
        sign = _sign(line, start)
        if sign is None or _TIED.match(line, end):
            amount = None
        elif amount is not None and sign < 0:
            amount = Amount(-amount.value, amount.percent, amount.scale)
        position = end
        yield _Token(start, end, amount, line[start:end])


def _sign(line: str, start: int) -> int | None:
    """-1 or 1; None where the sign ties the digits to a word (`B-35`) or is doubled."""
    before = line[max(0, start - 24) : start].rstrip(" ")
    if _NEGATIVE.search(before):
        return -1
    if not before or before[-1] not in "+-":
        return 1
    sign, rest = (-1 if before[-1] == "-" else 1), before[:-1]
    glued = line[start - 1] in "+-"
    if not rest.strip():
        return sign
    if rest[-1] in "+-":
        return None
    if not glued:  # `x = - 35`; between words it is a dash, between numbers an operation
        return sign if rest.rstrip()[-1] in "=≈≒:({[⇒→" else 1
    if rest[-1].isascii() and rest[-1].isalpha():
        return None
    return 1 if rest.rstrip()[-1:].isdigit() or rest.rstrip()[-1:] in (")", "%") else sign


def _suffixes(line: str, digits: str, end: int) -> tuple[Amount | None, int]:
    value = _decimal(digits)
    if value is None:
        return None, end
    if (m := _EXPONENT.match(line, end)) or (m := _TIMES_TEN.match(line, end)):
        if abs(int(m[1])) > MAX_DIGITS:
            return None, m.end()
        value, end = value * Fraction(10) ** int(m[1]), m.end()
    elif digits == "10" and (m := _TEN_TO.match(line, end)):
        if abs(int(m[1])) > MAX_DIGITS:
            return None, m.end()
        value, end = Fraction(10) ** int(m[1]), m.end()
    scale = 1
    if _SLASHES.match(line, end):
        return None, end
    if (m := _MIXED.match(line, end)) or (m := _MIXED_KO.match(line, end)):
        top, bottom = (m[1], m[2]) if m.re is _MIXED else (m[2], m[1])
        if value.denominator != 1 or not 0 < int(top) < int(bottom):
            return None, m.end()
        value, end = value + Fraction(int(top), int(bottom)), m.end()
    elif m := _OVER.match(line, end):
        below = _decimal(m[1])
        if not below:
            return None, m.end()
        value, end = value / below, m.end()
    elif m := _PARTS_KO.match(line, end):
        if not value:
            return None, m.end()
        value, end = int(m[1]) / value, m.end()
    elif _SCALE.match(line, end):
        return _korean(line, value, end)
    elif m := _ENGLISH_SCALE.match(line, end):
        scale, end = _ENGLISH_VALUE[(m[1] or m[2]).lower()], m.end()
        value *= scale
    if m := _POINTS.match(line, end):
        return Amount(value, False, scale), m.end()
    if m := _PERCENT.match(line, end):
        return Amount(value, True, scale), m.end()
    return Amount(value, False, scale), end


def _korean(line: str, first: Fraction, end: int) -> tuple[Amount | None, int]:
    """3만 5천, 1억 2,000만, 5천만, 3만 5000."""
    total, section, current = Fraction(0), Fraction(0), Fraction(first)
    pending, big, small, scales = True, 10**16, 10**4, 0
    scale = 1
    while True:
        if m := _SCALE.match(line, end):
            unit = _SCALE_VALUE[m[1]]
            if unit < 10**4:
                if not pending or unit >= small:
                    return None, m.end()
                section, small = section + current * unit, unit
            else:
                if unit >= big or not (pending or section):
                    return None, m.end()
                total, section, big, small = (
                    total + (section + (current if pending else 0)) * unit,
                    Fraction(0),
                    unit,
                    10**4,
                )
            pending, end, scales, scale = False, m.end(), scales + 1, scale * unit
        elif not pending and (m := _NEXT_PART.match(line, end)):
            current = Fraction(m[1].replace(",", ""))
            if current >= min(big, small):
                break
            pending, end = True, m.end()
        else:
            break
    return Amount(
        total + section + (current if pending else 0), False, scale if scales == 1 and not pending else 1
    ), end


def _decimal(digits: str) -> Fraction | None:
    if len(digits) > MAX_DIGITS:
        return None
    if _GROUPED.fullmatch(digits):
        return Fraction(Decimal(digits.replace(",", "")))
    return Fraction(Decimal(digits)) if _PLAIN.fullmatch(digits) else None
