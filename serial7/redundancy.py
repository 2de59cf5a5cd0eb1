"""Template families: problems that are one problem with other names and numbers (paper table 16, redundancy control)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

SHINGLE = 3
ALIKE = 0.5  # Jaccard similarity of masked shingles from which two questions are of one family


def masked(question: str) -> list[str]:
    """The words of a question, numbers as `#` and names (capitals inside a sentence) as `@`."""
    question = re.sub(r"[$€£]?[0-9][0-9.,]*%?", " # ", question)
    question = re.sub(r"(?<=[a-z,#] )[A-Z][\w'’]*(?: [A-Z][\w'’]*)*", "@", question)
    return re.findall(r"[#@]|[^\W\d_]+", question.lower())


def shingles(question: str) -> frozenset[tuple[str, ...]]:
    words = masked(question)
    return frozenset(tuple(words[i : i + SHINGLE]) for i in range(max(1, len(words) - SHINGLE + 1)))


def families(questions: Iterable[tuple[str, str]]) -> dict[str, str]:
    """(id, question) in order -> the id of the first member of its family.

    A question joins the family whose first member it is most alike; so a family cannot drift from member to member.
    """
    heads: dict[str, frozenset[tuple[str, ...]]] = {}
    where: dict[tuple[str, ...], list[str]] = {}
    found: dict[str, str] = {}
    for id_, question in questions:
        own = shingles(question)
        shared = Counter(head for shingle in own for head in where.get(shingle, ()))
        best = max(shared, key=lambda h: shared[h] / len(own | heads[h]), default=None)
        if best is not None and shared[best] / len(own | heads[best]) >= ALIKE:
            found[id_] = best
            continue
        found[id_], heads[id_] = id_, own
        for shingle in own:
            where.setdefault(shingle, []).append(id_)
    return found
