"""Fuzzing of the verifier: gold documents damaged byte by byte and token by token must get a verdict, in bounded time.

Deterministic for a seed. A crash shows as an ERROR verdict, a hang as CPU time; neither depends on what is right.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from serial7.check import Due
from serial7.formats import FORMATS
from serial7.ir import CanonicalIR
from serial7.verify import verify

SLOW_S = 2.0

# Pieces that have hurt parsers: closers and openers of all seven syntaxes, references, controls, odd digits.
_TOKENS = (
    "{", "}", "[", "]", "<", ">", "</", "/>", "<!--", "-->", "<![CDATA[", "]]>", "<!DOCTYPE a>", "<?", "&", "&amp;", "&lt;",
    "&amp;lt;", "&#0;", "&nope;", '"', "'", '"""', "'''", "```", "~~~", "`", "**", "__", "#", "##", ">", "- ", "1. ", "|",
    "\\", "\\\\", "\\begin{response}", "\\end{response}", "\\Answer", "\\num{", "$", "$$", "%", "{}", "---", "...", "%YAML 1.1",
    "&a ", "*a", "!!str ", "<<: *a", ": ", "= ", ",", "\t", "\r", "\n\n", "\0", "\x0c", "\x85", "\u2028", "\ufeff", "\u00a0",
    "\u3000", "\ud800", "３", "1e999", "9" * 401, "0x1F", "NaN", "null", "true", "</think>", "<think>", "[[steps]]", "[answer]",
    "answer", "inputs", "steps", "<main>", "<response>", "# Result", "<b><i></b>", "<table>", "<li>", "((((", "[" * 70, "- " * 70,
    "<a>" * 70, "> " * 70, "{" * 70,
)  # fmt: skip


@dataclass(slots=True)
class Fuzzed:
    """Counts by format, the slowest document in CPU seconds, and the documents that broke the verifier or were slow."""

    documents: int = 0
    passed: int = 0
    slowest_s: float = 0.0
    by_format: dict[str, int] = field(default_factory=dict)
    broken: list[tuple[str, str, str]] = field(default_factory=list)  # (format, document, what happened)


def damage(document: str, chance: random.Random) -> str:
    """One to six edits: deletion, duplication, swap or insertion of characters, tokens or stretches."""
    for _ in range(chance.randint(1, 6)):
        size = len(document)
        i, j = sorted((chance.randint(0, size), chance.randint(0, size)))
        match chance.randrange(8):
            case 0:
                document = document[:i] + document[i + 1 :]
            case 1:
                document = document[:i] + chance.choice(_TOKENS) + document[i:]
            case 2:
                document = document[:i] + document[j:]
            case 3 if j - i < 2_000:
                document = document[:j] + document[i:j] + document[j:]
            case 4:
                document = (
                    document[:i]
                    + chr(chance.choice((chance.randrange(32, 127), chance.randrange(0x110000))))
                    + document[i + 1 :]
                )
            case 5:
                lines = document.split("\n")
                k, m = chance.randrange(len(lines)), chance.randrange(len(lines))
                lines[k], lines[m] = lines[m], lines[k]
                document = "\n".join(lines)
            case 6:
                document = document[: j or 1]
            case _:
                document = document[:i] + chance.choice(_TOKENS) * chance.randint(1, 40) + document[i:]
    return document


def fuzz(irs: Sequence[CanonicalIR], count: int, seed: int = 0) -> Fuzzed:
    """Judge `count` damaged documents over all formats, rules, styles and artifacts."""
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    found = Fuzzed()
    formats = list(FORMATS.values())
    combos = {
        (f.name, due): [(), *f.combinations(due)]
        for f in formats
        for due in {Due(i.graph_bearing, isinstance(i.answer, str)) for i in irs}
    }
    for n in range(count):
        format_ = formats[n % len(formats)]
        ir = chance.choice(irs)
        rules = chance.choice(combos[format_.name, Due(ir.graph_bearing, isinstance(ir.answer, str))])
        text = damage(format_.render(ir, frozenset(rules), chance.choice(format_.styles)), chance)
        start = time.process_time()
        verdict = verify(text, format=format_.name, rules=rules, gold=ir)
        spent = time.process_time() - start
        found.documents += 1
        found.passed += verdict.full
        found.slowest_s = max(found.slowest_s, spent)
        found.by_format[format_.name] = found.by_format.get(format_.name, 0) + 1
        if verdict.error or spent > SLOW_S:
            what = verdict.error.strip().splitlines()[-1] if verdict.error else f"{spent:.1f} s of CPU time"
            found.broken.append((format_.name, text, what))
    return found
