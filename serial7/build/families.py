"""A cap on each template family of candidates (paper table 16, redundancy control)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from serial7.build.drafts import Draft, sorted_drafts
from serial7.build.sampling import keyed_order
from serial7.redundancy import families


def capped(drafts: Iterable[Draft], most: int, seed: int) -> list[Draft]:
    """The drafts with every valid one beyond `most` of its family rejected, and every one whose question stands
    there already; which ones stay is drawn from `seed`."""
    drafts = list(drafts)
    valid = keyed_order([d for d in drafts if not d.problems], f"{seed}/families", lambda d: d.id)
    language = {d.id: "en" if "en" in d.record.question else "ko" for d in valid}
    twins: dict[str, str] = {}
    same: dict[str, str] = {}
    for draft in sorted(valid, key=lambda d: -len(d.record.question)):  # of one problem, the one with both languages
        text = " ".join(draft.record.question[language[draft.id]].casefold().split())
        materials = " ".join(draft.record.materials[language[draft.id]].casefold().split())
        first = same.setdefault(f"{text}\n{materials}", draft.id)
        if first != draft.id:
            twins[draft.id] = first
    found = families((d.id, d.record.question[language[d.id]]) for d in valid if d.id not in twins)
    size: Counter[str] = Counter()
    spare: dict[str, str] = {}
    for draft in valid:
        head = found.get(draft.id)
        if head is None:
            spare[draft.id] = f"the question of {twins[draft.id]} again"
            continue
        size[head] += 1
        if size[head] > most:
            spare[draft.id] = f"the template family of {head} has {most} already"
    return sorted_drafts(d.rejected("redundancy", "question", spare[d.id]) if d.id in spare else d for d in drafts)
