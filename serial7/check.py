"""Findings, what a document reads as, and what a rule is.

A format reads a document once into a `Reading`: the values that stand in it, and a list of `Fault`s, each
charged to one base check. A rule is a function that looks at the reading again and yields `Look`s, one for each
part it speaks of. `serial7.verify` turns faults and looks of the *active* checks into findings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from serial7.ir import Ref

S = TypeVar("S")

GRAPH_CHECKS = ("inputs_container", "steps_container")
STRUCTURE_CHECKS = (
    "structure.unique_input_names",
    "structure.unique_step_ids",
    "structure.input_fields_present",
    "structure.step_fields_present",
)

When = Literal["always", "graph", "answer_only", "number", "text"]


class Outcome(StrEnum):
    """PASS and FAIL are about the answer. BLOCKED: an earlier check took the ground away; counts as not passed.
    ERROR: our own code broke; never scored."""

    PASS = "pass"
    FAIL = "fail"
    BLOCKED = "blocked"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check's outcome. `at` names the place, `blocked_by` the check that took the ground away."""

    check: str
    outcome: Outcome
    why: str = ""
    at: str = ""
    blocked_by: str = ""


class Fault(NamedTuple):
    """What a base check (`answer_slot`, `steps_container`, ...) finds wrong in a document.

    `unless`: rules whose form this is. Where one of them is active it is no fault: the rule's own feature judges.
    """

    check: str
    why: str
    at: str = ""
    unless: tuple[str, ...] = ()


def within(at: str, part: str) -> str:
    """The place of a part of a place: `steps[1] (line 7)` and `.value` give `steps[1].value (line 7)`."""
    path, space, line = at.partition(" ")
    return f"{path}{part}{space}{line}"


class Look(NamedTuple):
    """What a rule sees at one part that it speaks of: whether the part has the form asked for."""

    ok: bool
    why: str = ""
    at: str = ""


@dataclass(slots=True)
class InputRead:
    """An input record as read; None = absent (missing, or not readable without guessing)."""

    name: str | None
    value: Decimal | None
    at: str


@dataclass(slots=True)
class StepRead:
    """A step record as read. `args` is None if missing, empty or unreadable; one argument is None if unreadable."""

    id: str | None
    op: str | None
    args: tuple[Ref | Decimal | None, ...] | None
    value: Decimal | None
    at: str


@dataclass(frozen=True, slots=True)
class Due:
    """What the contract tells a model about the kind of its artifact: never a value."""

    graph: bool = True
    text_answer: bool = False

    def applies(self, when: When) -> bool:
        match when:
            case "always":
                return True
            case "graph":
                return self.graph
            case "answer_only":
                return not self.graph
            case "text":
                return self.text_answer
            case "number":
                return not self.text_answer


@dataclass(slots=True)
class Reading(Generic[S]):
    """All that was read in a document, whatever rules are active. No inputs / no steps = container absent.

    `shape` is the format's own record of forms, for its rules to look at.
    """

    shape: S
    answer: Decimal | str | None = None
    inputs: list[InputRead] = field(default_factory=list)
    steps: list[StepRead] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def fault(self, check: str, why: str, at: str = "", unless: tuple[str, ...] = ()) -> None:
        self.faults.append(Fault(check, why, at, unless))


class Statement(NamedTuple):
    """One sentence of a prompt, owned by the check that scores it.

    `base`: it states the base form, and is left out where an active rule replaces the check.
    `unless`: rules that change just this sentence, and under which it is left out.
    """

    en: str
    ko: str
    when: When = "always"
    base: bool = False
    unless: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule(Generic[S]):
    """One atomic rule: `format.feature.<name>`. Source: paper table 2; contracts.md section 4.

    `answer_only`: it can be active on answer-only artifacts; `numeric`: there only on those with a numeric answer.
    `stands_on`: the parts (`answer`, `inputs`, `steps`) that it speaks of, to name what blocked it.
    `near_miss`: (what stands in the good example, what stands there instead in the bad one); None = the bad example is
    the base form.
    """

    format: str
    name: str
    en: str
    ko: str
    replaces: str | None
    answer_only: bool
    numeric: bool
    excludes: frozenset[str]
    stands_on: tuple[str, ...]
    near_miss: tuple[str, str] | None
    look: Callable[[Reading[S]], Iterable[Look]]

    @property
    def check(self) -> str:
        return f"format.feature.{self.name}"

    @property
    def doc(self) -> str:
        return (self.look.__doc__ or "").strip()

    def applies_to(self, due: Due) -> bool:
        """Whether the rule can be active on, and violated by, an answer to an artifact of this kind."""
        return due.graph or (self.answer_only and not (self.numeric and due.text_answer))


AnyRule = Rule[Any]
