"""What a format is: one object that renders, finds, bounds, reads, and owns its contract and its rules.

Each file of `serial7.formats` builds one `Format`. Everything else (prompts, checks, audits, tests, report
columns) follows from the table in `serial7.formats`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Generic, NamedTuple, TypeVar

from serial7.check import GRAPH_CHECKS, Due, Look, Reading, Rule, Statement
from serial7.errors import NotWellFormed
from serial7.ir import MAX_DIGITS, MAX_EXPONENT, CanonicalIR

S = TypeVar("S")

MAX_BYTES = 64 * 1024
MAX_DEPTH = 64
MAX_ATTRIBUTES = 64

_LONG_NUMBER = re.compile(r"[0-9][0-9_.]{400,}|[0-9][eE][+-]?[0-9]{3,}")
_ANY_NUMBER = re.compile(r"(?<![A-Za-z0-9_.])([0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE]([+-]?[0-9]+))?")


class Span(NamedTuple):
    """Where a candidate document stands in a text: `text[start:end]`, adjacent white space, comments and
    prologue included. `closed`: its end was found (an open one reaches to the end of the text)."""

    start: int
    end: int
    closed: bool = True


@dataclass(slots=True)
class Format(Generic[S]):
    """One of the seven representations.

    Attributes:
        name: the id (`json`), lower case.
        title: the name for people (`JSON`).
        contract: base check (without `format.`) -> the sentences it owns, in prompt order. The keys are the
            base checks of table 26; `inputs_container` and `steps_container` are active on graph-bearing only.
        mark: what begins a document (contracts.md section 3.2, "document mark").
        find: the candidate documents of a text, in order.
        bound: raises NotWellFormed where nesting or attributes exceed the bounds; runs before any parser and
            must be linear. (Size, digits and surrogates are checked for all formats by `check_bounds`.)
        read: parses under safe settings and reads; raises NotWellFormed where no tolerant reading exists.
            Never looks at gold or at the active rules.
        render: IR, active rules, style -> a valid document.
        styles: names of the ways to write one and the same document; the first is the canonical one and shows
            no rule's form unless that rule is active.
        locate: place (`steps[1].value`) -> (line, column), both from 1, or None; for people, run on demand.
    """

    name: str
    title: str
    contract: Mapping[str, tuple[Statement, ...]]
    mark: re.Pattern[str]
    find: Callable[[str], list[Span]]
    bound: Callable[[str], None]
    read: Callable[[str, Due], Reading[S]]
    render: Callable[[CanonicalIR, frozenset[str], str], str]
    styles: tuple[str, ...]
    locate: Callable[[str, str], tuple[int, int] | None] = field(default=lambda _text, _at: None)
    rules: dict[str, Rule[S]] = field(default_factory=dict)

    def rule(
        self,
        *,
        en: str,
        ko: str,
        stands_on: tuple[str, ...],
        near_miss: tuple[str, str] | None = None,
        replaces: str | None = None,
        answer_only: bool = False,
        numeric: bool = False,
        excludes: Iterable[str] = (),
    ) -> Callable[[Callable[[Reading[S]], Iterable[Look]]], Callable[[Reading[S]], Iterable[Look]]]:
        """Register the decorated function as the atomic rule of its name. See `serial7.check.Rule`."""

        def register(look: Callable[[Reading[S]], Iterable[Look]]) -> Callable[[Reading[S]], Iterable[Look]]:
            if replaces is not None and replaces not in self.contract:
                raise ValueError(f"{self.name}.{look.__name__} replaces {replaces!r}, which {self.name} does not check")
            self.rules[look.__name__] = Rule(
                self.name, look.__name__, en, ko, replaces, answer_only, numeric,
                frozenset(excludes), stands_on, near_miss, look,
            )  # fmt: skip
            return look

        return register

    def base_checks(self, due: Due) -> list[str]:
        """The base checks of table 26 that are active for this kind of artifact, without `format.`."""
        return [check for check in self.contract if due.graph or check not in GRAPH_CHECKS]

    def compatible(self, names: Iterable[str]) -> bool:
        """Whether these rules can be active together."""
        chosen = set(names)
        return not any(self.rules[name].excludes & chosen for name in chosen)

    def combinations(self, due: Due, sizes: Iterable[int] = (1, 2, 3)) -> Iterator[tuple[str, ...]]:
        """Every compatible combination of rules that can apply to an artifact of this kind."""
        names = [name for name, rule in self.rules.items() if rule.applies_to(due)]
        for size in sizes:
            yield from filter(self.compatible, combinations(names, size))


AnyFormat = Format[Any]


def check_bounds(format_: AnyFormat, document: str) -> None:
    """The bounds of contracts.md section 3.3, before any parser runs.

    Raises:
        NotWellFormed: names the bound that is exceeded.
    """
    try:
        size = len(document.encode("utf-8"))
    except UnicodeEncodeError as error:
        place = f"character {error.start}"
        raise NotWellFormed("a lone surrogate, which UTF-8 cannot hold", place) from error
    if size > MAX_BYTES:
        raise NotWellFormed(f"{size} bytes; at most {MAX_BYTES} are read")
    if _LONG_NUMBER.search(document) is not None:
        _check_digits(document)
    format_.bound(document)


def _check_digits(document: str) -> None:
    for match in _ANY_NUMBER.finditer(document):
        digits = sum(c.isdigit() for c in match[1])
        if digits > MAX_DIGITS:
            raise NotWellFormed(
                f"a number of {digits} digits; at most {MAX_DIGITS} are read",
                line_of(document, match.start()),
            )
        exponent = match[2]
        if exponent and (len(exponent) > 6 or abs(int(exponent)) > MAX_EXPONENT):
            raise NotWellFormed(f"an exponent beyond {MAX_EXPONENT}", line_of(document, match.start()))


def line_of(text: str, offset: int) -> str:
    """`line 3, column 5` of an offset."""
    line = text.count("\n", 0, offset) + 1
    return f"line {line}, column {offset - text.rfind(chr(10), 0, offset)}"
