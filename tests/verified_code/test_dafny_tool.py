"""Dafny's adapters: Debian's 2.3 for real where it is there, the 4.x command line on a scripted stand-in."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import pytest

from tests.verified_code.test_process import alive
from verified_code.acceptance import Status, VerifyRequest
from verified_code.dafny_tool import Dafny2, Dafny4, DafnyTool, dafny_methods, find_dafny, find_z3
from verified_code.errors import OperatorError

SPEC = "predicate Double(x: int, r: int) { r == 2 * x }\n"
IMPL = 'include "Spec.dfy"\nmethod M(x: int) returns (r: int)\n  ensures Double(x, r)\n{ r := 2 * x; }\n'

real = pytest.mark.skipif(shutil.which("dafny") is None, reason="dafny is not on the PATH (apt-get install dafny)")


def component(folder: Path, impl: str = IMPL, spec: str = SPEC) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Spec.dfy").write_text(spec)
    (folder / "Impl.dfy").write_text(impl)
    return folder


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.fixture(scope="module")
def dafny() -> DafnyTool:
    found = find_dafny()
    if not isinstance(found, Dafny2):
        pytest.skip(f"this is Dafny {found.version}; Debian's 2.3 is due")
    return found


# -- 2.3, for real -------------------------------------------------------------------------------------------------------


@real
@pytest.mark.dafny
@pytest.mark.parametrize(
    ("impl", "spec", "status", "why"),
    [
        (IMPL, SPEC, "verified", ""),
        (IMPL.replace("2 * x; }", "3 * x; }"), SPEC, "failed", "Impl.dfy:4:1: Error BP5003"),
        (IMPL + "}", SPEC, "syntax", "Impl.dfy"),
        (IMPL.replace("Double(x", "Triple(x"), SPEC, "resolve", "Triple"),
        ("", SPEC.replace("==", "=="), "nothing_verified", ""),
        (IMPL.replace("method M", "method {:verify false} M"), SPEC + "lemma L() ensures 1 < 2 { }\n", "nothing_verified", "_module.__default.M"),
        (IMPL, SPEC + "lemma L() ensures 1 == 2 { }\n", "failed", "Spec.dfy"),
        ('include "../Spec.dfy"\n' + IMPL, SPEC, "usage", "outside the component"),
        ('include "None.dfy"\n' + IMPL, SPEC, "resolve", ""),
        ("(" * 2**20, SPEC, "", ""),
    ],
    ids=["ok", "wrong", "syntax", "unresolved", "empty", "verify-false", "false-lemma-in-spec", "include-outside", "include-missing", "brackets"],
)  # fmt: skip
def test_real_dafny(dafny: DafnyTool, tmp_path: Path, impl: str, spec: str, status: str, why: str) -> None:
    folder = component(tmp_path / "c", impl, spec)
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    result = dafny.verify(VerifyRequest(folder, time_limit_s=20, wall_s=60))
    if status:
        assert (result.status, why in result.why) == (status, True), result
    else:
        assert not result.accepted
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before
    assert result.versions["dafny"] == dafny.version
    if result.accepted:
        assert result.per_method == {"_module.__default.M": True}
        assert "--version" not in result.argv


@real
@pytest.mark.dafny
def test_a_solver_that_dies_or_hangs(dafny: DafnyTool, tmp_path: Path) -> None:
    folder = component(tmp_path / "c")
    dies = script(tmp_path / "dies", 'case "$1" in --version) echo "Z3 version 4.8.5";; *) exit 3;; esac')
    result = Dafny2(dafny.program, dies, dafny.version, "4.8.5").verify(VerifyRequest(folder, wall_s=60))
    assert result.status is Status.TOOL_CRASH
    word = "whang" + tmp_path.name.replace("-", "")
    hangs = script(tmp_path / "hangs", f"sh -c 'sleep 600; : {word}'")
    result = Dafny2(dafny.program, hangs, dafny.version, "4.8.5").verify(VerifyRequest(folder, wall_s=4))
    assert (result.status, result.why) == (Status.KILLED, "killed by its bound (wall)")
    assert alive(word) == []


@real
@pytest.mark.dafny
def test_methods_in_modules_and_classes_are_covered(dafny: DafnyTool, tmp_path: Path) -> None:
    impl = (
        'include "Spec.dfy"\nmodule Outer { module Inner_1 {\n  method A\'(x: int) returns (r: int) ensures r == x { r := x; }\n} }\n'
        "class C? { static method B(x: int) returns (r: int) ensures r > x { r := x + 1; } }\n" + IMPL.split("\n", 1)[1]
    )
    folder = component(tmp_path / "c", impl)
    due = dafny_methods(folder)
    assert len(due) == 3
    result = dafny.verify(VerifyRequest(folder))
    assert (result.status, set(result.per_method.values())) == (Status.VERIFIED, {True}), result


# -- 4.x, on a stand-in that replays documented outputs ------------------------------------------------------------------

STAND_IN = """
if [ "$1" = --version ]; then echo 4.11.0; exit 0; fi
[ "$1" = verify ] || { echo "unknown command $1"; exit 1; }
for a in "$@"; do case "$a" in json*) log="${a#*LogFileName=}";; esac; done
[ -f Impl.dfy ] || exit 9
if grep -q WRONG Impl.dfy; then
  echo "Impl.dfy(4,0): Error: a postcondition could not be proved on this return path"
  echo '{"verificationResults": [{"name": "M (correctness)", "outcome": "Errors"}]}' >"$log"
  echo; echo "Dafny program verifier finished with 0 verified, 1 error"; exit 4
fi
if grep -q UNCOVERED Impl.dfy; then echo '{"verificationResults": []}' >"$log"
else echo '{"verificationResults": [{"name": "M (well-formedness)", "outcome": "Correct"}, {"name": "M (correctness)", "outcome": "Correct"}]}' >"$log"; fi
echo; echo "Dafny program verifier finished with 2 verified, 0 errors"
"""


def test_the_command_line_of_4(tmp_path: Path) -> None:
    program = script(tmp_path / "dafny", STAND_IN)
    z3 = script(tmp_path / "z3", 'echo "Z3 version 4.12.1 - 64 bit"')
    tool = find_dafny(program, z3)
    assert isinstance(tool, Dafny4)
    assert dict(tool.identity()) == {"dafny": "4.11.0", "z3": "4.12.1", "adapter": "Dafny4"}
    good = tool.verify(VerifyRequest(component(tmp_path / "good")))
    assert (good.status, good.per_method) == (Status.VERIFIED, {"M": True})
    assert "--verify-included-files" in good.argv
    assert "json;LogFileName=LOG" in good.argv
    wrong = tool.verify(VerifyRequest(component(tmp_path / "wrong", IMPL + "// WRONG")))
    assert (wrong.status, wrong.errors, wrong.diagnostics[0].line) == (Status.FAILED, 1, 4)
    uncovered = tool.verify(VerifyRequest(component(tmp_path / "uncovered", IMPL + "// UNCOVERED")))
    assert uncovered.status is Status.NOTHING_VERIFIED


# -- finding the tools ---------------------------------------------------------------------------------------------------


def test_the_solver_is_found_in_its_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, named = script(tmp_path / "given", "echo"), script(tmp_path / "named", "echo")
    monkeypatch.setenv("VERIFIED_CODE_Z3", named)
    assert find_z3(given) == given
    assert find_z3() == named
    monkeypatch.setenv("VERIFIED_CODE_Z3", str(tmp_path))
    with pytest.raises(OperatorError, match=r"\$VERIFIED_CODE_Z3: .* is no program"):
        find_z3()
    monkeypatch.delenv("VERIFIED_CODE_Z3")
    monkeypatch.setattr("verified_code.dafny_tool.sys.executable", str(tmp_path / "python"))
    beside = script(tmp_path / "z3", "echo")
    assert find_z3() == beside
    os.remove(beside)  # noqa: PTH107
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OperatorError, match=r"pip install z3-solver==4\.8\.5\.0"):
        find_z3()
    with pytest.raises(OperatorError, match="apt-get install dafny"):
        find_dafny()
    with pytest.raises(OperatorError, match="does not tell a version"):
        find_dafny(script(tmp_path / "other", "echo hello"), given)


def test_a_solver_that_dafny_2_was_not_made_for_is_named() -> None:
    assert Dafny2("dafny", "z3", "2.3.0", "4.8.5").warning() == ""
    assert "4.12.1" in Dafny2("dafny", "z3", "2.3.0", "4.12.1").warning()


def test_no_implementation_is_usage(tmp_path: Path) -> None:
    result = Dafny2("/bin/false", "/bin/false", "2.3.0", "4.8.5").verify(VerifyRequest(tmp_path))
    assert result.status is Status.USAGE
    assert json.dumps(result.to_dict())
