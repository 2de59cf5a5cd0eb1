"""Surface A: when a verifier's answer counts as acceptance.

An exit code alone is never acceptance: solvers run out of resources with code 0, included files are not verified, an empty
file has nothing to verify. The whole rule is `decide`, a pure function of what a tool said. Source: surfaces.md, "Surface A";
dafny.md, section 1.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from verified_code.component import Component, load_component
from verified_code.declarations import Declaration
from verified_code.errors import OperatorError

MAX_DIAGNOSTICS = 50


class Status(StrEnum):
    VERIFIED = "verified"
    FAILED = "failed"
    SYNTAX = "syntax"
    RESOLVE = "resolve"
    TIMEOUT = "timeout"
    RESOURCE = "resource"
    NOTHING_VERIFIED = "nothing_verified"
    TOOL_CRASH = "tool_crash"
    KILLED = "killed"
    USAGE = "usage"


STABLE = frozenset(Status) - {Status.TOOL_CRASH, Status.KILLED, Status.USAGE}
"""Statuses that the same files, tools and limits give again: the only ones that are cached."""


@dataclass(frozen=True, slots=True)
class VerifyRequest:
    """`component`: a folder with `Impl.dfy` and what it includes. Times in seconds; `time_limit_s` is of one obligation,
    `wall_s` of the whole call, on our own clock."""

    component: Path
    time_limit_s: int = 20
    wall_s: float = 180.0


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Line and column from 1, 0 where the tool gives none."""

    file: str
    line: int
    column: int
    message: str


@dataclass(frozen=True, slots=True)
class Said:
    """What a tool said, in a form that all share. `per_obligation`: the tool's own name -> whether it was proved;
    `parse_errors`, `resolve_errors`: as counted by the tool; `trailer`: its last line, None where there is none."""

    rc: int | None
    text: str
    killed: str = ""
    trailer: str | None = None
    verified: int = 0
    errors: int = 0
    timeouts: int = 0
    resource_outs: int = 0
    inconclusive: int = 0
    parse_errors: bool = False
    resolve_errors: bool = False
    per_obligation: Mapping[str, bool] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """`per_method`: the implementation's methods -> whether all their obligations were proved."""

    status: Status
    why: str = ""
    verified: int = 0
    errors: int = 0
    timeouts: int = 0
    resource_outs: int = 0
    diagnostics: tuple[Diagnostic, ...] = ()
    per_method: Mapping[str, bool] = field(default_factory=dict)
    argv: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    wall_s: float = 0.0

    @property
    def accepted(self) -> bool:
        return self.status is Status.VERIFIED

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "diagnostics": [asdict(d) for d in self.diagnostics], "status": str(self.status)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> VerifyResult:
        made = {**data, "status": Status(data["status"]), "argv": tuple(data["argv"])}
        made["diagnostics"] = tuple(Diagnostic(**d) for d in data["diagnostics"])
        return cls(**made)


class Verifier(Protocol):
    """One verifier with its solver. `identity`: versions and flags, which decide a result beside the files."""

    @property
    def name(self) -> str: ...

    def identity(self) -> Mapping[str, str]: ...

    def verify(self, request: VerifyRequest) -> VerifyResult: ...


_SUSPICIOUS = (
    (re.compile(r"prover error|unhandled exception|solver exception|ProverException|Prover died", re.IGNORECASE), Status.TOOL_CRASH),
    (re.compile(r"out of resource|out of memory", re.IGNORECASE), Status.RESOURCE),
    (re.compile(r"\btimed out\b|\btime outs?\b", re.IGNORECASE), Status.TIMEOUT),
)  # fmt: skip


def decide(said: Said, methods: Collection[str] = ()) -> tuple[Status, str]:
    """The status of a tool's answer, and why it is no acceptance.

    Args:
        methods: the obligations' names that acceptance needs, in the tool's spelling: the methods of the implementation.
    """
    if said.killed:
        return Status.KILLED, f"killed by its bound ({said.killed})"
    if said.parse_errors:
        return Status.SYNTAX, _first(said)
    if said.resolve_errors:
        return Status.RESOLVE, _first(said)
    if said.trailer is None:
        crash = said.rc is None or said.rc != 1 or re.search(r"exception|\bat Microsoft\.", said.text, re.IGNORECASE)
        return (Status.TOOL_CRASH if crash else Status.USAGE), _last_line(
            said.text
        ) or f"no result, exit code {said.rc}"
    if said.errors:
        return Status.FAILED, _first(said) or f"{said.errors} errors"
    if said.resource_outs:
        return Status.RESOURCE, f"{said.resource_outs} obligations ran out of resources"
    if said.timeouts:
        return Status.TIMEOUT, f"{said.timeouts} obligations ran out of time"
    for pattern, status in _SUSPICIOUS:
        found = pattern.search(said.text)
        if found:
            return status, _line_of(said.text, found.start())
    if said.inconclusive:
        return Status.RESOURCE, f"{said.inconclusive} obligations were inconclusive"
    if said.rc != 0:
        return Status.TOOL_CRASH, f"exit code {said.rc} without an error: {_last_line(said.text)}"
    if said.verified < 1:
        return Status.NOTHING_VERIFIED, "there was no obligation"
    unproved = [name for name, proved in said.per_obligation.items() if not proved]
    if unproved:
        return Status.FAILED, f"not proved, though the tool counts no error: {', '.join(sorted(unproved)[:5])}"
    missing = [name for name in methods if not said.per_obligation.get(name, False)]
    if missing:
        return Status.NOTHING_VERIFIED, f"no verified obligation covers {', '.join(missing[:5])}"
    return Status.VERIFIED, ""


def _first(said: Said) -> str:
    if not said.diagnostics:
        return ""
    first = said.diagnostics[0]
    return f"{first.file}:{first.line}:{first.column}: {first.message}"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


def _line_of(text: str, at: int) -> str:
    start = text.rfind("\n", 0, at) + 1
    return text[start : text.find("\n", at) if "\n" in text[at:] else None].strip()[:200]


def methods_of(component: Component) -> list[tuple[Declaration, ...]]:
    """The methods of `Impl.dfy` that a verifier must have proved, each with the modules and types around it, outermost first."""
    found: list[tuple[Declaration, ...]] = []

    def visit(declarations: Sequence[Declaration], path: tuple[Declaration, ...]) -> None:
        for declaration in declarations:
            if declaration.is_method:
                found.append((*path, declaration))
            visit(declaration.members, (*path, declaration))

    if component.implementation is not None:
        visit(component.implementation.declarations, ())
    return found


class Cached:
    """A verifier whose stable results are kept in a folder, by the content of the component, the versions and the limits."""

    def __init__(self, verifier: Verifier, folder: Path) -> None:
        self._verifier, self._folder = verifier, folder
        self.hits = 0

    @property
    def name(self) -> str:
        return self._verifier.name

    def identity(self) -> Mapping[str, str]:
        return self._verifier.identity()

    def verify(self, request: VerifyRequest) -> VerifyResult:
        file = self._folder / f"{self._key(request)}.json"
        try:
            found = VerifyResult.from_dict(json.loads(file.read_text("utf-8")))
            self.hits += 1
            return found
        except (OSError, ValueError, KeyError, TypeError):  # none there, or damaged: it is made again
            pass
        result = self._verifier.verify(request)
        if result.status in STABLE:
            self._keep(file, result)
        return result

    def _keep(self, file: Path, result: VerifyResult) -> None:
        part = file.with_suffix(f".{id(result):x}.part")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps(result.to_dict(), ensure_ascii=True), "utf-8")
            part.replace(file)
        except OSError as error:
            raise OperatorError(f"{self._folder}: the cache cannot be written ({error.strerror})") from error

    def _key(self, request: VerifyRequest) -> str:
        found = hashlib.sha256(
            json.dumps([self.name, dict(self.identity()), request.time_limit_s, request.wall_s]).encode()
        )
        for path in sorted(p for p in request.component.rglob("*") if p.is_file()):
            found.update(f"{path.relative_to(request.component).as_posix()}\0{path.stat().st_size}\0".encode())
            found.update(path.read_bytes())
        return found.hexdigest()


def unreadable_reason(component: Path) -> str:
    """Why a component is not handed to a verifier: an include that leaves its folder, a missing implementation."""
    loaded = load_component(component)
    for one in loaded.unreadable:
        if "outside the component" in one.why:
            return str(one)
    return ""
