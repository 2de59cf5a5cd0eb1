"""The Korean-English pair of one artifact: by the source's own two texts, or by a model's translation that is checked.

Answer, values and graph are shared; each language must ground them in its own text (paper table 18).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

from serial7.artifacts import LANGUAGES
from serial7.build.drafts import Draft
from serial7.build.records import decimal_text
from serial7.build.repair import checked
from serial7.build.requests import LANGUAGE_NAMES, Complete, NotAsAsked, again, read_text, reasons_of, text_request
from serial7.quantities import quantities
from serial7.validation import Problem


def pair(draft: Draft, complete: Complete | None = None, rounds: int = 3) -> Draft:
    """A valid draft with both languages, or with the reason (category `pairing`) why it is not paired."""
    if draft.problems or draft.artifact is None:
        return draft
    missing = [language for language in LANGUAGES if language not in draft.artifact]
    if not missing:
        return replace(draft, problems=tuple(quantity_gaps(draft)))
    if complete is None:
        why = f"no {LANGUAGE_NAMES[missing[0]]} text; give model=NAME to have it translated"
        return draft.rejected("pairing", missing[0], why)
    return _translated(draft, missing[0], complete, rounds)


def _translated(draft: Draft, target: str, complete: Complete, rounds: int) -> Draft:
    assert draft.artifact is not None
    language = next(language for language in LANGUAGES if language != target)
    messages = text_request(draft.artifact[language], language, target)
    problems: tuple[Problem, ...] = ()
    for number in range(1, rounds + 1):
        said = complete(messages)
        try:
            text = read_text(said)
        except NotAsAsked as error:
            problems = (Problem("pairing", target, str(error)),)
        else:
            tried = checked(replace(draft, artifact={**draft.artifact, target: text}))
            problems = (*tried.problems, *quantity_gaps(tried))
            if not problems:
                note = f"{LANGUAGE_NAMES[target]} by a model, round {number}"
                return replace(tried, notes=(*draft.notes, note))
        messages = again(messages, said, reasons_of(problems))
    whys = "; ".join(reasons_of(problems))
    return draft.rejected("pairing", target, f"not translated in {rounds} rounds: {whys}")


def quantity_gaps(draft: Draft) -> list[Problem]:
    """Input values that stand in one language only; small numbers may be words in one language and numerals in the other."""
    artifact = draft.artifact or {}
    if any(language not in artifact for language in LANGUAGES):
        return []
    held = {
        language: Counter(
            Fraction(v)
            for v in quantities(f"{artifact[language]['question']}\n{artifact[language]['materials']}", language)
        )
        for language in LANGUAGES
    }
    due = {Fraction(value) for _, value in artifact["inputs"]}
    return [
        Problem("pairing", f"{language}.question", f"the input value {decimal_text(value)} does not stand here")
        for language in LANGUAGES
        for value in sorted(due)
        if value not in held[language]
    ]
