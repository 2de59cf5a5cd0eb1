"""The accept rule on recorded outputs of Debian's Dafny 2.3, on documented ones of 4.x and Verus, and on what tries to look right."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from verified_code import verus_tool
from verified_code.acceptance import Cached, Said, Status, VerifyRequest, VerifyResult, decide
from verified_code.dafny_tool import read_text
from verified_code.process import Finished

RECORDED: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "dafny_outputs" / "dafny_2_3.json").read_text("utf-8")
)
EXPECTED = {
    "ok": "verified", "bad": "failed", "syn": "syntax", "type": "resolve", "empty": "nothing_verified", "timeout": "timeout",
    "rlimit": "resource", "debianz3": "tool_crash", "z3crash": "tool_crash", "z3missing": "tool_crash", "nosuch": "resolve",
    "nocheating": "syntax", "include": "verified", "include_all": "failed", "ax": "verified", "va": "verified",
}  # fmt: skip


def finished(rc: int | None, stdout: str, stderr: str = "", killed: str = "") -> Finished:
    return Finished(rc, stdout.encode(), stderr.encode(), b"", killed, 0.1)


@pytest.mark.parametrize("name", EXPECTED)
def test_recorded_outputs(name: str) -> None:
    """What needs coverage or included files to be refused (`ax`, `va`, `include`) is verified by the text alone."""
    row = RECORDED[name]
    status, why = decide(read_text(finished(row["rc"], row["stdout"], row["stderr"])))
    assert status == EXPECTED[name]
    assert bool(why) == (status is not Status.VERIFIED)


def test_places_count_from_one() -> None:
    said = read_text(finished(4, RECORDED["bad"]["stdout"]))
    first = said.diagnostics[0]
    assert (first.file, first.line, first.column) == ("bad.dfy", 4, 1)
    assert first.message.startswith("Error BP5003")


def trailer(text: str) -> str:
    return f"\nDafny program verifier finished with {text}\n"


@pytest.mark.parametrize(
    ("rc", "stdout", "status"),
    [
        (0, trailer("3 verified, 0 errors"), "verified"),
        (0, trailer("3 assertions verified, 0 errors"), "verified"),
        (0, trailer("0 verified, 0 errors"), "nothing_verified"),
        (4, trailer("3 verified, 1 error"), "failed"),
        (4, trailer("3 verified, 0 errors, 1 time out"), "timeout"),
        (0, trailer("3 verified, 0 errors, 2 time outs"), "timeout"),
        (4, trailer("3 verified, 0 errors, 1 out of resource"), "resource"),
        (0, trailer("3 verified, 0 errors, 1 out of memory"), "resource"),
        (0, trailer("3 verified, 0 errors, 1 inconclusive"), "resource"),
        (0, trailer("3 verified, 0 errors, 1 solver exception"), "tool_crash"),
        (1, trailer("3 verified, 0 errors"), "tool_crash"),
        (2, "x.dfy(1,0): Error: rbrace expected\n1 parse errors detected in x.dfy\n", "syntax"),
        (2, "x.dfy(1,0): Error: unresolved identifier: f\n1 resolution/type errors detected in x.dfy\n", "resolve"),
        (1, "Error: unknown switch: --foo\n", "usage"),
        (0, "", "tool_crash"),
        (0, trailer("3 verified, 0 errors") + trailer("9 verified, 0 errors"), "tool_crash"),
        (0, "Prover error: line 1\n" + trailer("3 verified, 0 errors"), "tool_crash"),
    ],
)
def test_the_trailer_decides_and_nothing_else_accepts(rc: int, stdout: str, status: str) -> None:
    assert decide(read_text(finished(rc, stdout)))[0] == status


def test_a_killed_tool_is_killed_whatever_it_printed() -> None:
    assert decide(read_text(finished(None, trailer("3 verified, 0 errors"), killed="wall")))[0] is Status.KILLED


def test_every_method_is_covered() -> None:
    said = read_text(finished(0, trailer("3 verified, 0 errors")))
    assert decide(replace(said, per_obligation={"M": True}), ["M"])[0] is Status.VERIFIED
    status, why = decide(replace(said, per_obligation={"Other": True}), ["M"])
    assert (status, why) == (Status.NOTHING_VERIFIED, "no verified obligation covers M")
    assert decide(replace(said, per_obligation={"M": False}), ["M"])[0] is Status.FAILED


@pytest.mark.parametrize(
    ("rc", "stdout", "stderr", "status"),
    [
        (0, "verification results:: 3 verified, 0 errors\n", "", "verified"),
        (0, "verification results:: 0 verified, 0 errors\n", "", "nothing_verified"),
        (1, "verification results:: 2 verified, 1 errors\n", "error: postcondition not satisfied\n --> main.rs:9:1\n", "failed"),
        (1, "verification results:: 2 verified, 1 errors\n", "error: f: Resource limit (rlimit) exceeded\n --> main.rs:9:1\n", "resource"),
        (1, "", "error: expected `;`, found `}`\n --> main.rs:3:5\n", "syntax"),
        (1, "", "error[E0425]: cannot find function `g` in this scope\n --> main.rs:3:5\n", "resolve"),
        (101, "", "thread 'rustc' panicked at 'internal error'\n", "tool_crash"),
    ],
)  # fmt: skip
def test_verus(rc: int, stdout: str, stderr: str, status: str) -> None:
    assert decide(verus_tool.read_text(finished(rc, stdout, stderr)))[0] == status


def test_verus_as_a_tool(tmp_path: Path) -> None:
    program = tmp_path / "verus"
    program.write_text(
        '#!/bin/sh\nif [ "$1" = --version ]; then echo "  Version: 0.2025.1"; exit 0; fi\n'
        '[ -f main.rs ] && echo "verification results:: 1 verified, 0 errors"\n'
    )
    program.chmod(0o755)
    verus = verus_tool.find_verus(str(program))
    assert verus.identity()["verus"] == "0.2025.1"
    assert verus.verify(VerifyRequest(tmp_path)).status is Status.USAGE
    (tmp_path / "main.rs").write_text("fn main() {}")
    assert verus.verify(VerifyRequest(tmp_path)).accepted


class Counting:
    """A verifier that says what it is told, and counts."""

    name = "counting"

    def __init__(self, status: Status) -> None:
        self.status, self.asked, self.version = status, 0, "1"

    def identity(self) -> Mapping[str, str]:
        return {"version": self.version}

    def verify(self, request: VerifyRequest) -> VerifyResult:
        self.asked += 1
        return VerifyResult(self.status, "why", argv=(str(request.time_limit_s),))


def test_stable_results_are_kept_by_content_tools_and_limits(tmp_path: Path) -> None:
    component = tmp_path / "c"
    component.mkdir()
    (component / "Impl.dfy").write_text("a")
    tool = Counting(Status.FAILED)
    cached = Cached(tool, tmp_path / "cache")
    first = cached.verify(VerifyRequest(component))
    assert cached.verify(VerifyRequest(component)) == first
    assert (tool.asked, cached.hits) == (1, 1)
    cached.verify(VerifyRequest(component, time_limit_s=5))
    (component / "Impl.dfy").write_text("b")
    cached.verify(VerifyRequest(component))
    tool.version = "2"
    cached.verify(VerifyRequest(component))
    assert tool.asked == 4
    for kept in (tmp_path / "cache").iterdir():
        kept.write_text(kept.read_text()[:20])  # damaged
    cached.verify(VerifyRequest(component))
    assert tool.asked == 5


@pytest.mark.parametrize("status", [Status.KILLED, Status.TOOL_CRASH, Status.USAGE])
def test_what_may_go_better_next_time_is_not_kept(status: Status, tmp_path: Path) -> None:
    (tmp_path / "Impl.dfy").write_text("a")
    tool = Counting(status)
    cached = Cached(tool, tmp_path / "cache")
    cached.verify(VerifyRequest(tmp_path))
    cached.verify(VerifyRequest(tmp_path))
    assert tool.asked == 2


def test_only_verified_is_accepted() -> None:
    assert [s for s in Status if VerifyResult(s).accepted] == [Status.VERIFIED]
    assert decide(Said(None, ""))[0] is Status.TOOL_CRASH
