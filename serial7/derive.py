"""Derive: the final answer of a free-form solution, and whether it is equivalent to gold.

Extraction goes by rules alone and in this order: the last `\\boxed{...}`, the last line labelled as the answer
(`Answer:`, `Final answer:`, `정답:`, `답:`, `최종 답:`), and for a numeric answer the last number of the text. What is
extracted may wear the dress that free text has and a document may not: thousands separators, a unit, a currency
or percent sign, a fraction. Source: contracts.md section 2; paper table 27.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

from serial7.ir import CanonicalIR, normalize_text, numbers_agree

_LABEL = re.compile(
    r"^[ \t>*_#\-`]{0,20}(?:(?:the )?(?:final )?answer(?: is)?|(?:최종 ?)?(?:정답|답안|답)(?:은|는)?)[ \t]{0,9}[*_`]{0,9}[ \t]{0,9}[:：][ \t]*(.+)$",
    re.IGNORECASE | re.MULTILINE,
)
_BOXED = re.compile(r"\\boxed\s*\{")
_NUMBER = re.compile(
    r"(?<![\w.,])[-−+]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?(?:\s?[eE][+-]?[0-9]{1,3}(?![0-9]))?"
    r"(?:\s*/\s*[1-9][0-9]*(?![0-9.]))?"
)  # fmt: skip
_MARKUP = "*_`$ \t\r\n"
MAX_TEXT = 64 * 1024


def extract_answer(text: str, *, numeric: bool) -> str | None:
    """The final answer as written, markup around it removed; None if none is found. Looks at the last 64 KiB."""
    text = text[-MAX_TEXT:]
    boxed = _last_boxed(text)
    if boxed is not None:
        return boxed
    labelled = _LABEL.findall(text)
    if labelled:
        return str(labelled[-1]).strip(_MARKUP)
    if numeric:
        numbers = [m[0] for m in _NUMBER.finditer(text)]
        return numbers[-1] if numbers else None
    lines = [line.strip(_MARKUP) for line in text.splitlines() if line.strip(_MARKUP)]
    return lines[-1] if lines else None


def _last_boxed(text: str) -> str | None:
    found = None
    for match in _BOXED.finditer(text):
        found = match
    if found is None:
        return None
    depth = 1
    for i in range(found.end(), len(text)):
        depth += (text[i] == "{") - (text[i] == "}")
        if depth == 0:
            return text[found.end() : i].strip(_MARKUP)
    return None


def read_number(answer: str) -> Fraction | None:
    """The one number of an extracted answer; None if it holds none, or several that differ."""
    values = {_value(m[0]) for m in _NUMBER.finditer(answer)}
    return values.pop() if len(values) == 1 else None


def _value(text: str) -> Fraction:
    text = text.replace(",", "").replace("−", "-").replace(" ", "").lstrip("+")
    numerator, _, denominator = text.partition("/")
    value = Fraction(Decimal(numerator))
    return value / int(denominator) if denominator else value


def grade(text: str, gold: CanonicalIR) -> str:
    """Why the final answer of `text` is not equivalent to gold; empty where it is."""
    numeric = isinstance(gold.answer, Decimal)
    answer = extract_answer(text, numeric=numeric)
    if not answer:
        return "no final answer was found"
    if isinstance(gold.answer, str):
        same = normalize_text(answer.strip("\"'“”‘’")) == normalize_text(gold.answer)
        return "" if same else f"the final answer is {answer!r:.60}; gold is {gold.answer!r:.60}"
    value = read_number(answer)
    if value is None:
        return f"the final answer {answer!r:.60} is not one number"
    if _agree(gold, value):
        return ""
    return f"the final answer is {answer!r:.60}; gold is {gold.answer}"


def _agree(gold: CanonicalIR, value: Fraction) -> bool:
    assert isinstance(gold.answer, Decimal)
    return numbers_agree(gold.answer, value, gold.tolerance)
