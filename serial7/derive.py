"""Derive: whether the final answer of a free-form solution is equivalent to gold. Rules alone decide.

Numbers go by the tolerance rules, text by the equality of text (contracts.md section 1; paper table 27). What is *ours*:

- **Percent.** `15%` is 15, and 0.15 too where gold is that, unless the question asks for a percentage: then it is 15 alone.
  `0.15` never is 15, and `15` never 0.15.
- **Scales.** `3만` is 30,000; where the question asks in that scale (`몇 만`, `in millions`), it may be 3 as well.
- **Units and currencies are not compared**, since gold has none; two units (`3시간 20분`) are not one number.
- **Options.** Where the question lists options (`(A) ...`, `① ...`), label, text, and label with text name the same option, and
  a label that contradicts its text names none. Without a list, a label equals itself in its usual dress only.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

from serial7.amounts import Amount, Unread, read_amount
from serial7.final_answer import Final, find_final, readings
from serial7.ir import CanonicalIR, normalize_text, number_text, numbers_agree

_ASKS_PERCENT = re.compile(
    r"몇 ?(?:%|퍼센트|프로)|백분율(?:은|을|로)|\bwhat percent|\bhow many percent|\b(?:as|in) (?:a )?percent|\bpercentage (?:is|was|of .{1,80}\?)",
    re.IGNORECASE,
)
_ASKS_SCALE = {
    1000: re.compile(r"몇 ?천|\b(?:in|many) thousand|천 ?원 단위", re.IGNORECASE),
    10**4: re.compile(r"몇 ?만|만 ?원 단위"),
    10**6: re.compile(r"몇 ?백만|\b(?:in|many) million", re.IGNORECASE),
    10**8: re.compile(r"몇 ?억|억 ?원 단위"),
    10**9: re.compile(r"\b(?:in|many) billion", re.IGNORECASE),
    10**12: re.compile(r"몇 ?조|\b(?:in|many) trillion", re.IGNORECASE),
}
_OPTION = re.compile(r"(?:(?<=\s)|^)(?:\(([A-Ja-j])\)|([A-Ja-j])[.)]|([①-⑩])|([㉠-㉭ㄱ-ㅎ가나다라마])[.)])[ \t]*(?=\S)")
_LABEL_DRESS = re.compile(
    r"(?:(?:option|choice|answer|보기|선택지)\s*)?[(\[]?([a-j①-⑩㉠-㉭ㄱ-ㅎ가나다라마])[)\].:]{0,2}\s*(?:번)?",
    re.IGNORECASE,
)
_LABEL_AND_TEXT = re.compile(
    r"[(\[]?([a-j①-⑩㉠-㉭ㄱ-ㅎ가나다라마])(?:[)\].:]{1,2}\s*|\s*[-–—]\s+|(?<=[①-⑩])\s*)(.+)", re.IGNORECASE
)
_SETS = ("abcdefghij", "①②③④⑤⑥⑦⑧⑨⑩", "㉠㉡㉢㉣㉤㉥㉦㉧㉨㉩㉪㉫㉬㉭", "ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ", "가나다라마")
MAX_QUESTION = 20_000


def final_answer(text: str, gold: CanonicalIR) -> Final:
    """The final answer of a solution to a problem with this kind of gold answer."""
    return find_final(text, numeric=isinstance(gold.answer, Decimal))


def extract_answer(text: str, *, numeric: bool) -> str | None:
    """The final answer as written, markup around it removed; None if there is none, or several that differ."""
    return find_final(text, numeric=numeric).text


def read_number(answer: str) -> Fraction | None:
    """The one number of an extracted answer; None if it holds none, or several that differ."""
    found = read_amount(answer)
    return None if isinstance(found, Unread) else found.value


def grade(text: str, gold: CanonicalIR, question: str = "") -> str:
    """Why the final answer of `text` is not equivalent to gold; empty where it is.

    Args:
        question: the question in the language of the solution: what it asks for (a percentage, a scale) and its options.
    """
    question = question[:MAX_QUESTION]
    options = options_of(question)
    final = final_answer(text, gold)
    if isinstance(gold.answer, str):
        if final.text is None:
            return final.why
        if _same_text(final, gold.answer, options):
            return ""
        return f"the final answer is {final.text!r:.60}; gold is {gold.answer!r:.60}"
    amount = final.amount
    if options and (amount is None or final.where == "conclusion"):
        chosen = find_final(text, numeric=False)  # `Answer: (B)`
        place = None if chosen.text is None else _option(chosen, options)
        found = None if place is None else read_amount(list(options.values())[place])
        amount = found if isinstance(found, Amount) else amount
    if amount is None:
        return final.why
    if any(numbers_agree(gold.answer, value, gold.tolerance) for value in _values(amount, question)):
        return ""
    return f"the final answer is {final.text!r:.60}; gold is {number_text(gold.answer)}"


def _values(amount: Amount, question: str) -> list[Fraction]:
    """What the number may mean as an answer to this question."""
    values = [amount.value]
    if amount.percent and not _ASKS_PERCENT.search(question):
        values.append(amount.value / 100)
    asked = _ASKS_SCALE.get(amount.scale)
    if asked is not None and asked.search(question):
        values.append(amount.value / amount.scale)
    return values


def options_of(question: str) -> dict[str, str]:
    """Label -> text of the options that a question lists, in order; empty where it lists none (at least two are due)."""
    found: dict[str, str] = {}
    begun: list[tuple[str, int, int]] = []
    for match in _OPTION.finditer(question[:MAX_QUESTION]):
        label = next(g for g in match.groups() if g).casefold()
        kind = next(s for s in _SETS if label in s)
        if not begun or kind != next(s for s in _SETS if begun[0][0] in s):
            if kind.index(label) == 0:
                begun = [(label, match.start(), match.end())]
        elif kind.index(label) == len(begun):
            begun.append((label, match.start(), match.end()))
    if len(begun) < 2:
        return found
    for (label, _, start), after in zip(begun, [*begun[1:], None], strict=True):
        text = question[start : after[1] if after else len(question)].strip().rstrip(",;/")
        found[label] = text if after else text.splitlines()[0].strip()
    return found


def _same_text(final: Final, gold: str, options: dict[str, str]) -> bool:
    seen, due = readings(final), normalize_text(gold)
    if due in seen:
        return True
    if options:
        wanted = _option(Final(gold), options)
        return wanted is not None and _option(final, options) == wanted
    if len(due) == 1 and any(due in s for s in _SETS):
        return any((m := _LABEL_DRESS.fullmatch(s)) is not None and m[1].casefold() == due for s in seen)
    return False


def _option(final: Final, options: dict[str, str]) -> int | None:
    """Which option an answer names: by label, by text, or by both where they belong together."""
    labels, texts = list(options), [normalize_text(t) for t in options.values()]
    for seen in sorted(readings(final), key=len, reverse=True):
        if seen in texts:
            return texts.index(seen)
        dressed = _LABEL_DRESS.fullmatch(seen)
        if dressed is not None and dressed[1].casefold() in labels:
            return labels.index(dressed[1].casefold())
        both = _LABEL_AND_TEXT.fullmatch(seen)
        if both is not None and both[1].casefold() in labels:
            place = labels.index(both[1].casefold())
            return place if normalize_text(both[2]) == texts[place] else None
        number = re.fullmatch(r"([1-9]|10)\s*번", seen)
        if number is not None and labels[0] == "①" and int(number[1]) <= len(labels):
            return int(number[1]) - 1
    return None
