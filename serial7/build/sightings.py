"""Where numbers stand in an English text or a table, and what an input taken from there is called.

A name says what the number counts (`eggs_per_day`, `water_cost`), from the words around it; in a table, from the row's
and the column's label, since equal values stand in several cells.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from serial7.build.records import read_value
from serial7.ir import is_name
from serial7.quantities import ENGLISH_NUMBERS, ENGLISH_WORD, english_value

_FIGURE = re.compile(
    r"(?<![\w.,/])(?P<money>[$€£]\s?)?(?P<number>[0-9]{1,3}(?:[, ][0-9]{3})+(?![0-9])|[0-9]+)(?P<rest>\.[0-9]+)?"
    r"(?:/(?P<under>[1-9][0-9]*)(?:th|rd|nd)?s?(?![0-9]))?(?P<percent>\s?%|\s+percent\b)?(?!(?:st|nd|rd|th)\b)"
)
_POINT = re.compile(r"(?<![\w.])(?P<money>[$€£]\s?)?(?P<number>)(?P<rest>\.[0-9]+)(?P<under>)(?P<percent>\s?%)?")
_STOP_WORDS = (
    "a an the of and or to for in on at by with from as is are was were be been he she it they his her its their him "
    "them there that this these those who which will would can could has have had do does did if so then than but not "
    "more less each every per only also all both many much how what when where while after before into over under "
    "out up off about costs cost cents cent dollars dollar worth gets get got takes take took buys buy bought sells "
    "sell sold makes make made needs need wants want spends spend spent pays pay paid uses use used gives give gave "
    "receives charged priced totaling total usually already another other some any you your we our i my"
)
_STOP = frozenset(_STOP_WORDS.split())


@dataclass(frozen=True, slots=True)
class Sighting:
    """A number in sight. `kind`: `figure`, `percent` (value 40 for 40 %), `fraction` or `word`; `name` for an input.

    `far`: a cell of a row that the question does not speak of, though it speaks of others.
    """

    value: Fraction
    kind: str
    name: str
    over: int = 0
    under: int = 0
    far: bool = False


def see_text(text: str) -> list[Sighting]:
    """The numbers of an English text in order: figures, percentages, fractions, number words."""
    found: list[tuple[int, int, Fraction, str, int, int, bool]] = []
    for match in sorted([*_FIGURE.finditer(text), *_POINT.finditer(text)], key=lambda m: m.start()):
        digits = re.sub(r"[, ]", "", match["number"]) or "0"
        value = Fraction(digits + (match["rest"] or ""))
        under = int(match["under"] or 0)
        kind = "percent" if match["percent"] else "fraction" if under else "figure"
        over = int(value) if under else 0
        found.append(
            (match.start(), match.end(), value / under if under else value, kind, over, under, bool(match["money"]))
        )
    found += [
        (match.start(), match.end(), Fraction(english_value(match)), "word", 0, 0, False)
        for match in ENGLISH_WORD.finditer(text)
    ]
    taken: set[str] = set()
    out = []
    for start, end, value, kind, over, under, money in sorted(found):
        name = free_name(_name(text, start, end, kind, money), taken)
        out.append(Sighting(value, kind, name, over, under))
    return out


def see_table(rows: Sequence[Sequence[str]]) -> list[list[Sighting | None]]:
    """The number of each cell, named by its row's and column's label; None where a cell holds no number.

    The first column is taken as labels, and the first row as a header if its cells hold no number beside the label.
    """
    header = bool(rows) and all(_cell(c) is None for c in rows[0][1:])
    labels = list(rows[0]) if header else []
    wide = max(map(len, rows), default=0) > 2
    taken: set[str] = set()
    out: list[list[Sighting | None]] = []
    for index, row in enumerate(rows):
        cells: list[Sighting | None] = []
        for column, cell in enumerate(row):
            value = _cell(cell)
            if value is None or (header and index == 0) or (column == 0 and len(row) > 1):
                cells.append(None)
                continue
            label = row[0] if column else ""
            if wide and column < len(labels):
                label = f"{label} {labels[column]}"
            elif not re.search(r"[A-Za-z]", label):  # a row labelled by a number
                label = f"{labels[column] if column < len(labels) else 'row'} {label}"
            elif cell.strip().startswith("$"):
                label += " price"
            cells.append(Sighting(value, "figure", free_name(snake(label, 5), taken)))
        out.append(cells)
    return out


def near_rows(table: list[list[Sighting | None]], labels: Sequence[str], question: str) -> list[list[Sighting | None]]:
    """The table with the cells of the rows that the question does not name marked as far, if it names any row."""
    said = set(re.findall(r"[a-z0-9]+", re.sub(r"(\w)s\b", r"\1", question.lower())))
    named = []
    for label in labels:
        words = re.findall(r"[a-z0-9]+", re.sub(r"(\w)s\b", r"\1", label.lower()))
        named.append(bool(words) and set(words) <= said)
    if not any(named):
        return table
    return [
        [s if s is None or name else replace(s, far=True) for s in row] for row, name in zip(table, named, strict=True)
    ]


def snake(text: str, most: int) -> str:
    """Up to `most` telling words of `text` as an input's name, or an empty text."""
    words = [w for w in re.findall(r"[a-z0-9]+", text.lower().replace("'s", "")) if w not in _STOP]
    return "_".join(words[:most]) if words and words[0][0].isalpha() else "_".join(["value", *words][:most])


def free_name(name: str, taken: set[str]) -> str:
    """`name`, or `name_2`, ...: the first one that is a name of the contract and not taken; it is taken now."""
    name = name if is_name(name) else f"value_{name}" if is_name(f"value_{name}") else "value"
    free = next(n for n in (name, *(f"{name}_{i}" for i in range(2, 10_000))) if n not in taken)
    taken.add(free)
    return free


def _cell(cell: str) -> Fraction | None:
    head = cell.strip().lstrip("$").split("/")[0].split(" per ")[0].strip()
    return read_value(head) if head[:1].isdigit() or head[:1] in ("-", ".") else None


def _name(text: str, start: int, end: int, kind: str, money: bool) -> str:
    clause_before = re.split(r"[.,;:!?\n]", text[:start])[-1]
    clause_after = re.split(r"[.,;:!?\n]|\band\b|[0-9$]", text[end:], maxsplit=1)[0]
    before = [w for w in re.findall(r"[a-z]+", clause_before.lower()) if w not in _STOP and w not in ENGLISH_NUMBERS]
    after_words = re.findall(r"[a-z]+", clause_after.lower())[:6]
    after = [w for w in after_words if w not in _STOP and w not in ENGLISH_NUMBERS]
    dollars = money or "dollars" in after_words[:1] or "cents" in after_words[:1] or "dollar" in after_words[:1]
    if dollars:
        rate = re.match(r"\s*(?:dollars?|cents?)?\s*(?:per|an?|each|every)\s+([a-z]+)", clause_after.lower())
        if rate and rate[1] not in _STOP:
            return (
                f"pay_per_{rate[1]}" if rate[1] in ("hour", "day", "week", "month", "year") else f"price_per_{rate[1]}"
            )
        return "_".join([*(before[-2:] or after[:2]), "price" if "each" in after_words else "cost"])
    if kind == "percent":
        return "_".join([*(after[:2] or before[-2:]), "percent"])
    return "_".join(after[:3] or before[-2:]) or "value"
