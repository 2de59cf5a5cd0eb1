"""Hidden tests in the sandbox: what passes is right outputs, never what is printed, forged or left out."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.verified_code.test_dafny_tool import IMPL, component, script
from verified_code.cases import NEGATIVE, Case
from verified_code.dafny_tool import Dafny4, find_dafny
from verified_code.errors import OperatorError
from verified_code.hidden_tests import RUN_LIMITS, JavaScriptTests, TestReport, judge_outputs, run_python, run_rust
from verified_code.process import Finished
from verified_code.sandbox import Sandbox, Unavailable, find_sandbox

FOUND = find_sandbox()
boxed = pytest.mark.skipif(isinstance(FOUND, Unavailable), reason=getattr(FOUND, "reason", ""))
PYTHON = "/usr/bin/python3"
python = pytest.mark.skipif(not Path(PYTHON).exists(), reason=f"{PYTHON} is not there")
rust = pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is not on the PATH")
QUICK = replace(RUN_LIMITS, wall_s=3.0)
DOUBLED = [Case({"x": 3}, {"return": 6}), Case({"x": -1}, {"return": -2}), Case({"x": 1}, {"return": 9}, NEGATIVE)]
DAFNY_CASES = [Case({"x": 3}, {"r": 6}), Case({"x": -1}, {"r": -2})]


def box() -> Sandbox:
    assert isinstance(FOUND, Sandbox)
    return FOUND


# -- the judging, on bytes -----------------------------------------------------------------------------------------------


def same(case: Case, output: Mapping[str, Any]) -> tuple[bool, str]:
    return output == case.output, f"{output}"


def lines(*values: Any) -> bytes:
    return b"\n".join(v if isinstance(v, bytes) else json.dumps(v).encode() for v in values)


@pytest.mark.parametrize(
    ("result", "killed", "status", "passed"),
    [
        (lines({"i": 0, "output": {"return": 6}}, {"i": 1, "output": {"return": -2}}), "", "pass", 2),
        (lines({"i": 1, "output": {"return": -2}}, {"i": 0, "output": {"return": 6}}), "", "pass", 2),
        (lines({"i": 0, "output": {"return": 6}}), "", "fail", 1),
        (lines({"i": 0, "output": {"return": 6}}), "wall", "timeout", 1),
        (b"", "memory", "killed", 0),
        (b"", "", "fail", 0),
        (lines({"i": 0, "output": {"return": 7}}, {"i": 1, "output": {"return": -2}}), "wall", "fail", 1),
        (lines(b"pass", b'{"i": 0', b"[" * 99999, {"i": "0"}, {"i": 5, "output": {}}, [1]), "", "fail", 0),
        (lines({"i": 0, "output": "6"}, {"i": 1, "error": "boom"}), "", "fail", 0),
        (lines({"i": 0, "output": {"return": 0}}, {"i": 0, "output": {"return": 6}}), "", "fail", 0),  # the first one counts
        (lines({"i": 0, "error": "t.contains is not a function"}), "", "tool_fault", 0),
    ],
)  # fmt: skip
def test_only_right_values_pass(result: bytes, killed: str, status: str, passed: int) -> None:
    report = judge_outputs(Finished(0, b"pass", b"", result, killed, 0.1), DOUBLED[:2], same)
    assert (report.status, report.passed, report.total) == (status, passed, 2)
    assert bool(report.why) == (status != "pass")


# -- Python --------------------------------------------------------------------------------------------------------------


def run_code(tmp_path: Path, code: str, status: str = "timeout") -> TestReport:
    (tmp_path / "s.py").write_text(code)
    limits = QUICK if status == "timeout" else RUN_LIMITS  # on a busy machine a short one would decide the others too
    return run_python(box(), tmp_path / "s.py", "f", DOUBLED, python=PYTHON, limits=limits)


@boxed
@python
@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("def f(x): return 2 * x", "pass"),
        ("def f(x): return 2.0 * x", "fail"),
        ("def f(x): return str(2 * x)", "fail"),
        ("def f(x): return True", "fail"),
        ("def g(x): return 2 * x", "fail"),
        ("def f(x) return 2 * x", "fail"),
        ("print('PASS'); raise SystemExit(0)", "fail"),
        ("import os\ndef f(x): os._exit(0)", "fail"),
        ("class E:\n  __eq__ = lambda s, o: True\n  __hash__ = None\ndef f(x): return E()", "fail"),
        ("class I(int):\n  __eq__ = lambda s, o: True\n  __hash__ = None\ndef f(x): return I(0)", "fail"),
        ("import os\nos.write(3, b'{\"i\": 0, \"output\": {\"return\": 0}}\\n')\ndef f(x): return 2 * x", "fail"),
        ("import json\njson.dumps = lambda *a, **k: '{}'\ndef f(x): return 2 * x", "pass"),
        ("def f(x):\n  while True: pass", "timeout"),
        ("def f(x): return bytearray(5 * 10**9) and 2 * x", "killed"),
        ("def f(x):\n  r = []\n  r.append(r)\n  return r", "fail"),
    ],
)  # fmt: skip
def test_python(tmp_path: Path, code: str, status: str) -> None:
    assert run_code(tmp_path, code, status).status == status


@boxed
@python
@pytest.mark.parametrize(
    "does",
    [
        "import socket; socket.create_connection(('127.0.0.1', 80), 1)", "open('/given/x', 'w')", "open('/etc/passwd')",
        "import subprocess; subprocess.check_call(['ls', '/root'])",
    ],
)  # fmt: skip
def test_python_is_confined(tmp_path: Path, does: str) -> None:
    report = run_code(tmp_path, f"def f(x):\n  {does}\n  return 2 * x")
    assert (report.status, report.passed) == ("fail", 0)


# -- Rust ----------------------------------------------------------------------------------------------------------------

SUM = (
    "use std::io::*; fn main() { let mut s = String::new(); stdin().read_to_string(&mut s).unwrap();"
    ' println!("{}", s.split_whitespace().map(|x| x.parse::<i64>().unwrap()).sum::<i64>()); }'
)


@boxed
@rust
@pytest.mark.parametrize(
    ("code", "status"),
    [
        (SUM, "pass"),
        ('fn main() { println!("7"); }', "fail"),
        ('fn main() { println!("7"); std::process::exit(1) }', "fail"),
        ('fn main() { let x: i32 = "a"; }', "not_compiled"),
    ],
)
def test_rust(tmp_path: Path, code: str, status: str) -> None:
    (tmp_path / "main.rs").write_text(code)
    cases = [Case({"stdin": "3 4\n"}, {"stdout": "7"}), Case({"stdin": "-1 1"}, {"stdout": "0\n"})]
    rustc = shutil.which("rustc")
    assert rustc is not None
    assert run_rust(box(), tmp_path / "main.rs", cases, rustc=rustc).status == status


def test_without_cases_nothing_is_said(tmp_path: Path) -> None:
    none = [c for c in DOUBLED if c.kind == NEGATIVE]
    nowhere = Sandbox("/no/bwrap")
    assert run_python(nowhere, tmp_path, "f", none, python=PYTHON).status == "no_cases"
    assert run_rust(nowhere, tmp_path, none, rustc="rustc").status == "no_cases"


# -- Dafny through JavaScript --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def runner() -> JavaScriptTests:
    try:
        return JavaScriptTests.find(find_dafny(), box())
    except (OperatorError, AssertionError) as error:
        pytest.skip(f"no Dafny to JavaScript here: {error}")


@pytest.mark.dafny
@pytest.mark.parametrize(
    ("impl", "status", "why"),
    [
        (IMPL, "pass", ""),
        (IMPL.replace("2 * x; }", "2 * x + 1; }"), "fail", "case 1: r is '7', 6 is right"),
        (IMPL.replace("r := 2 * x;", 'print "PASS"; while true decreases * { }').replace("\n{", "\n  decreases *\n{"), "timeout", ""),
        (IMPL.replace("r := 2 * x;", "assume false;"), "not_compiled", "assume"),
        (IMPL.replace("r := 2 * x;", "r := y;"), "not_compiled", "unresolved identifier: y"),
        (IMPL.replace("returns (r: int)", "returns (r: int -> int)").replace("ensures Double(x, r)", "").replace("2 * x;", "y => y;"),
         "unsupported", "not carried"),
        (IMPL.replace("method M", "method Other").replace("ensures", "ensures true ensures"), "not_compiled", "method 'M' is due"),
    ],
    ids=["right", "wrong", "prints-and-hangs", "assume", "unresolved", "function-value", "no-method"],
)  # fmt: skip
def test_dafny(runner: JavaScriptTests, tmp_path: Path, impl: str, status: str, why: str) -> None:
    report = replace(runner, limits=QUICK).test(component(tmp_path / "c", impl), DAFNY_CASES, "M")
    assert report.status == status, report
    assert why in report.why


@pytest.mark.dafny
def test_a_checker_admits_what_no_case_lists(runner: JavaScriptTests, tmp_path: Path) -> None:
    folder = component(tmp_path / "c", IMPL.replace("Double(x, r)", "true").replace("2 * x; }", "2 * x + 2; }"))
    assert runner.test(folder, DAFNY_CASES, "M").status == "fail"
    assert runner.test(folder, DAFNY_CASES, "M", lambda _i, o: int(o["r"]) % 2 == 0).status == "pass"
    assert runner.test(folder, DAFNY_CASES, "M", lambda _i, _o: None).status == "fail"


@pytest.mark.dafny
def test_known_fault_of_dafnys_javascript(runner: JavaScriptTests, tmp_path: Path) -> None:
    impl = 'include "Spec.dfy"\nmethod M(x: int) returns (r: int)\n{ var s := [x]; if x + 1 !in s { r := 2 * x; } }\n'
    assert runner.test(component(tmp_path / "c", impl), DAFNY_CASES, "M").status == "tool_fault"


# What `dafny translate js` of 4.x writes, in little: the module as a top-level `let`, ints as BigNumber.
STAND_IN_4 = r"""
[ "$1 $2" = "translate js" ] || exit 1
[ -f Impl.dfy ] || exit 9
if grep -q nowhere Impl.dfy; then echo "Impl.dfy(4,7): Error: unresolved identifier: nowhere"; exit 2; fi
cat >Impl.js <<'END'
const BigNumber = require("bignumber.js");
let _dafny = (function() { return {}; })();
let _module = (function() { let $module = {}; $module.__default = class __default {
  static M(x) { let r = new BigNumber(0); r = new BigNumber(2).multipliedBy(x); return r; } }; return $module; })();
END
"""


@boxed
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not on the PATH (apt-get install nodejs)")
def test_dafny_4_on_a_stand_in(tmp_path: Path) -> None:
    program = script(tmp_path / "dafny", STAND_IN_4)
    try:
        runner = JavaScriptTests.find(Dafny4(program, "z3", "4.11.0", "4.12.1"), box())
    except OperatorError as error:
        pytest.skip(str(error))
    assert runner.test(component(tmp_path / "c"), DAFNY_CASES, "M").status == "pass"
    wrong = [Case({"x": 3}, {"r": 7})]
    assert runner.test(component(tmp_path / "c"), wrong, "M").why == "case 1: r is '6', 7 is right"
    refused = runner.test(component(tmp_path / "d", IMPL + "// nowhere"), DAFNY_CASES, "M")
    assert (refused.status, "unresolved identifier" in refused.why) == ("not_compiled", True)
