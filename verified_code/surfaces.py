"""The surfaces that need tools, as this machine has them: a verifier for A, a sandboxed runner for the hidden tests of C.

What is missing is named once and its outcomes are `not_run` with that reason; nothing is guessed and nothing runs unconfined.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verified_code.acceptance import Cached, Verifier, VerifyRequest
from verified_code.audit import NOT_RUN, Outcome, Surface, checker_of, unavailable
from verified_code.cascade import FAIL, PASS
from verified_code.dafny_tool import find_dafny
from verified_code.errors import OperatorError
from verified_code.hidden_tests import JavaScriptTests, TestStatus
from verified_code.samples import Sample
from verified_code.sandbox import Unavailable, find_sandbox


@dataclass(frozen=True)
class Surfaces:
    """`identity`: the tools that decide a record; `notes`: what is missing or unusual, for people."""

    accept: Surface
    tests: Surface
    identity: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def find_surfaces(
    *,
    dafny: str = "",
    z3: str = "",
    time_limit_s: int = 20,
    wall_s: float = 180.0,
    cache: Path | None = None,
    tools: bool = True,
) -> Surfaces:
    """What this machine can ask.

    Args:
        dafny, z3: paths; empty = found as `dafny_tool` says. cache: a folder for the verifier's results.
        tools: False asks no tool at all: binding and Post2Exe alone.
    """
    if not tools:
        off = unavailable("tools are switched off")
        return Surfaces(
            off, off, {"tools": "off"}, ("tools are switched off: acceptance and hidden tests are not run",)
        )
    try:
        tool = find_dafny(dafny, z3)
    except OperatorError as error:
        if dafny or z3:
            raise
        gone = unavailable(str(error))
        return Surfaces(gone, gone, {"dafny": "none"}, (f"acceptance and hidden tests are not run: {error}",))
    notes = [tool.warning()] if tool.warning() else []
    identity: dict[str, Any] = {**tool.identity(), "time_limit_s": time_limit_s, "wall_s": wall_s}
    verifier: Verifier = tool if cache is None else Cached(tool, cache)
    accept = _accept(verifier, time_limit_s, wall_s)
    try:
        sandbox = find_sandbox()
        if isinstance(sandbox, Unavailable):
            raise OperatorError(sandbox.reason)
        tests = _tests(JavaScriptTests.find(tool, sandbox))
    except OperatorError as error:
        notes.append(f"hidden tests are not run: {error}")
        return Surfaces(accept, unavailable(str(error)), {**identity, "tests": "none"}, tuple(notes))
    return Surfaces(accept, tests, {**identity, "tests": "javascript in bubblewrap"}, tuple(notes))


def _accept(verifier: Verifier, time_limit_s: int, wall_s: float) -> Surface:
    def accept(sample: Sample) -> Outcome:
        result = verifier.verify(VerifyRequest(sample.folder, time_limit_s, wall_s))
        outcome = PASS if result.accepted else FAIL if result.status not in _NEITHER else str(result.status)
        return Outcome(outcome, str(result.status), result.why)

    return accept


_NEITHER = ("tool_crash", "killed", "usage")  # nothing was said of the sample


def _tests(runner: JavaScriptTests) -> Surface:
    def tests(sample: Sample) -> Outcome:
        task = sample.task
        if not task.cases:
            return Outcome(NOT_RUN, NOT_RUN, "the task has no cases")
        checker = checker_of(task) if not task.unique else None
        report = runner.test(sample.folder, task.cases, task.method, checker)
        if report.status in (TestStatus.PASS, TestStatus.FAIL, TestStatus.TIMEOUT, TestStatus.KILLED):
            return Outcome(PASS if report.status is TestStatus.PASS else FAIL, str(report.status), report.why)
        return Outcome(str(report.status), str(report.status), report.why)

    return tests
