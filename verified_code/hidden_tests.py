"""Surface C (i): does the code that would be shipped give the right outputs on hidden tests?

Inputs go into the sandbox, outputs come back on the result descriptor as values, and what is right stays outside: neither what
the code prints nor how it exits proves anything. Dafny components run as the JavaScript that Dafny 2.3 or 4.x makes of them;
Python functions and Rust programs run directly. Source: surfaces.md, "Surface C"; dafny.md, sections 1 and 5.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from verified_code.cases import POSITIVE, Case, Target, find_target
from verified_code.component import IMPL, load_component
from verified_code.dafny_tool import DafnyTool, copy_component
from verified_code.errors import OperatorError
from verified_code.javascript import JobBuilder, Unsupported, same_output
from verified_code.negatives import Checker
from verified_code.process import Finished, Limits, run
from verified_code.sandbox import Sandbox

NODE_MODULES = "/usr/share/nodejs"  # where Debian puts bignumber.js
RUN_LIMITS = Limits(wall_s=20.0, memory_bytes=2**30, output_bytes=16 * 2**20, processes=32)
COMPILE_LIMITS = Limits(wall_s=120.0)
_MONO = "/etc/mono"  # the runtime of Debian's Dafny looks its libraries up there
_SILENT = "no output came back"
_REFUSED = re.compile(r"[^()]*\(\d+,-?\d+\): Error|\d+ (?:parse|resolution/type) errors? detected")
_TOOL_FAULT = (
    "contains is not a function"  # Dafny 2.3's JavaScript of `x !in s` on a sequence calls what its runtime lacks
)


class TestStatus(StrEnum):
    """`pass`, `fail` speak of the code; the others say what kept the tests from speaking."""

    __test__ = False  # no class of pytest's

    PASS = "pass"
    FAIL = "fail"
    NOT_COMPILED = "not_compiled"
    UNSUPPORTED = "unsupported"
    TIMEOUT = "timeout"
    KILLED = "killed"
    TOOL_FAULT = "tool_fault"
    NO_CASES = "no_cases"


@dataclass(frozen=True, slots=True)
class TestReport:
    """`passed` of `total` positive cases; `failures`: (case from 1, what was wrong), the first ten."""

    __test__ = False

    status: TestStatus
    why: str = ""
    passed: int = 0
    total: int = 0
    failures: tuple[tuple[int, str], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        found = {"status": str(self.status), "why": self.why, "passed": self.passed, "total": self.total}
        return {**found, "failures": [list(f) for f in self.failures]}


Same = Callable[[Case, Mapping[str, Any]], tuple[bool, str]]


@dataclass(frozen=True)
class JavaScriptTests:
    """Hidden tests of Dafny components. `node`: the path of Node.js; `modules`: the folder that holds bignumber.js."""

    dafny: DafnyTool
    sandbox: Sandbox
    node: str
    modules: str = NODE_MODULES
    limits: Limits = field(default_factory=lambda: RUN_LIMITS)

    @classmethod
    def find(cls, dafny: DafnyTool, sandbox: Sandbox) -> JavaScriptTests:
        """The runner of this machine.

        Raises:
            OperatorError: Node.js or bignumber.js is missing.
        """
        node = shutil.which("node")
        if node is None:
            raise OperatorError("node is not on the PATH (apt-get install nodejs)")
        if not Path(NODE_MODULES, "bignumber.js").exists():
            raise OperatorError(f"{NODE_MODULES} holds no bignumber.js (apt-get install node-bignumber)")
        return cls(dafny, sandbox, node)

    def test(
        self, component: Path, cases: Sequence[Case], method: str = "", checker: Checker | None = None
    ) -> TestReport:
        """Run the method on the inputs of the positive cases.

        Args:
            checker: (input, output) -> whether an output that no case lists is right too.
        """
        positives = [c for c in cases if c.kind == POSITIVE]
        if not positives:
            return TestReport(TestStatus.NO_CASES, "the task has no positive case")
        with TemporaryDirectory(prefix="tests-") as folder:
            given = Path(folder) / "given"
            given.mkdir()
            try:
                target = find_target(load_component(component), method)
                code = self._compile(component, Path(folder) / "component")
                job = JobBuilder(target, code).job([c.input for c in positives])
            except _NotCompiled as error:
                return TestReport(TestStatus.NOT_COMPILED, str(error), total=len(positives))
            except Unsupported as error:
                return TestReport(TestStatus.UNSUPPORTED, str(error), total=len(positives))
            except OperatorError as error:
                return TestReport(TestStatus.NOT_COMPILED, str(error), total=len(positives))
            (given / "job.json").write_text(json.dumps(job), "utf-8")
            (given / "program.js").write_text(f"{code}\n{_driver('driver.js')}", "utf-8")
            done = self.sandbox.run(
                [self.node, "--stack-size=4000", "/given/program.js", "/given/job.json"],
                given=given,
                env={"NODE_PATH": self.modules},
                limits=self.limits,
                result=True,
            )

        def same(case: Case, output: Mapping[str, Any]) -> tuple[bool, str]:
            return _same(target, case, output, checker)

        return judge_outputs(done, positives, same)

    def _compile(self, component: Path, work: Path) -> str:
        problem = copy_component(component, work)
        if problem:
            raise _NotCompiled(problem)
        done, code = self._by_2(work) if self.dafny.version.startswith("2.") else self._by_4(work)
        lines = (done.stdout + done.stderr).decode("utf-8", "replace").strip().splitlines()
        refused = [line for line in lines if _REFUSED.match(line)]
        if done.killed or refused or not code:
            told = done.killed or (refused or lines or [f"exit code {done.rc}"])[0]
            raise _NotCompiled(f"Dafny wrote no JavaScript: {told:.300}")
        return code.decode("utf-8", "replace")

    def _by_2(self, work: Path) -> tuple[Finished, bytes]:
        """In the sandbox too: Dafny 2.3 starts node on what it has written. It ends with 3 even where it wrote the file."""
        argv = [
            self.dafny.program,
            "/nologo",
            "/noVerify",
            "/compileTarget:js",
            "/compile:1",
            "/spillTargetCode:3",
            IMPL,
        ]
        script = f"cp -r /given/. /scratch && {shlex.join(argv)}; [ -f Impl.js ] && cat Impl.js >&3"
        mono = [path for path in (_MONO,) if Path(path).is_dir()]
        done = self.sandbox.run(
            ["/bin/sh", "-c", script], given=work, limits=COMPILE_LIMITS, read_only=mono, result=True
        )
        return done, done.result

    def _by_4(self, work: Path) -> tuple[Finished, bytes]:
        """`dafny translate` of 4.x runs nothing of the program. Strings as 2.3 has them, so that one driver serves both."""
        argv = [
            self.dafny.program, "translate", "js", "--no-verify", "--allow-warnings", "--include-runtime", "--unicode-char:false",
            "--optimize-erasable-datatype-wrapper:false", "--output", "Impl", IMPL,
        ]  # fmt: skip
        done = run(argv, cwd=work, limits=COMPILE_LIMITS)
        written = work / "Impl.js"
        return done, written.read_bytes() if written.is_file() else b""


class _NotCompiled(Exception):
    pass


def _same(target: Target, case: Case, output: Mapping[str, Any], checker: Checker | None) -> tuple[bool, str]:
    right, why = same_output(target, case, output)
    if not right and checker is not None and checker(case.input, output) is True:
        return True, ""
    return right, why


def judge_outputs(done: Finished, cases: Sequence[Case], same: Same) -> TestReport:
    """The verdict over the lines of the result descriptor, `{"i", "output"}` or `{"i", "error"}`, one a case in order.

    A line that is missing, broken or forged out of order is a failure of its case; only right values pass.
    """
    outputs: dict[int, Mapping[str, Any]] = {}
    for line in done.result.splitlines():
        try:
            read = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(read, dict) and isinstance(read.get("i"), int) and read["i"] not in outputs:
            outputs[read["i"]] = read
    passed = 0
    faults = 0
    failures: list[tuple[int, str]] = []
    for i, case in enumerate(cases):
        read = outputs.get(i, {"error": _SILENT})
        if isinstance(read.get("output"), dict):
            try:
                right, why = same(case, read["output"])
            except (OperatorError, ValueError, TypeError, RecursionError) as error:
                right, why = False, f"the output cannot be read: {error}"
        else:
            right, why = False, str(read.get("error", "no output"))[:300]
            faults += _TOOL_FAULT in why
        passed += right
        if not right:
            failures.append((i + 1, why))
    report = TestReport(TestStatus.FAIL, "", passed, len(cases), tuple(failures[:10]))
    if not failures:
        return replace(report, status=TestStatus.PASS)
    number, why = failures[0]
    first = f"case {number}: {why}"
    silent = done.killed and all(w == _SILENT for _, w in failures)
    if faults:
        return replace(
            report, status=TestStatus.TOOL_FAULT, why=f"{first} (a fault of Dafny 2.3's JavaScript, not of the code)"
        )
    if silent and done.killed == "wall":
        return replace(report, status=TestStatus.TIMEOUT, why=f"{first}: it ran longer than its bound")
    if silent:
        return replace(report, status=TestStatus.KILLED, why=f"{first}: it was killed by its bound ({done.killed})")
    return replace(report, why=first)


def run_python(
    sandbox: Sandbox, source: Path, function: str, cases: Sequence[Case], *, python: str, limits: Limits = RUN_LIMITS
) -> TestReport:
    """Hidden tests of a Python function: arguments by name from `input`; `output` is `{"return": value}`, compared as JSON.

    Args:
        python: the interpreter, which must lie below `/usr` to be seen in the sandbox.
    """
    positives = [c for c in cases if c.kind == POSITIVE]
    if not positives:
        return TestReport(TestStatus.NO_CASES, "the task has no positive case")
    with TemporaryDirectory(prefix="tests-") as folder:
        given = Path(folder)
        shutil.copyfile(source, given / "solution.py")
        job = {"function": function, "inputs": [c.input for c in positives]}
        (given / "job.json").write_text(json.dumps(job), "utf-8")
        (given / "driver.py").write_text(_driver("driver.py"), "utf-8")
        argv = [python, "-I", "-S", "-B", "/given/driver.py", "/given/job.json"]
        done = sandbox.run(argv, given=given, limits=limits, result=True)
    return judge_outputs(done, positives, _same_json)


def run_rust(
    sandbox: Sandbox, source: Path, cases: Sequence[Case], *, rustc: str, limits: Limits = RUN_LIMITS
) -> TestReport:
    """Hidden tests of a Rust program of one file: `input` is `{"stdin": text}`, `output` `{"stdout": text}`, compared line by
    line without white space at the ends. It is compiled and run in the sandbox, without any crate.

    Raises:
        OperatorError: `rustc` has no tool chain.
    """
    positives = [c for c in cases if c.kind == POSITIVE]
    if not positives:
        return TestReport(TestStatus.NO_CASES, "the task has no positive case")
    with TemporaryDirectory(prefix="tests-") as folder:
        given = Path(folder)
        toolchain = _sysroot(rustc, given)
        shutil.copyfile(source, given / "main.rs")
        for i, case in enumerate(positives):
            (given / f"{i}.in").write_text(str(case.input.get("stdin", "")), "utf-8")
        done = sandbox.run(
            ["/bin/sh", "-c", _RUST, "sh", f"{toolchain}/bin/rustc", str(len(positives) - 1)],
            given=given,
            limits=replace(limits, wall_s=limits.wall_s + COMPILE_LIMITS.wall_s),
            read_only=[toolchain],
            result=True,
        )
    if not done.result and not done.killed and done.rc:
        lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
        told = next(
            (line for line in lines if line.startswith("error")), lines[-1] if lines else f"exit code {done.rc}"
        )
        return TestReport(TestStatus.NOT_COMPILED, told[:300], total=len(positives))
    return judge_outputs(replace(done, result=_rust_lines(done.result)), positives, _same_stdout)


_RUST = """
"$1" --edition 2021 -O -o main /given/main.rs 2>&1 || exit 1
for i in $(seq 0 "$2"); do
  timeout -s KILL 10 ./main <"/given/$i.in" >out 2>/dev/null 3>&-
  printf '%s %s\\n' $? "$(base64 -w0 out)" >&3
done
"""


def _sysroot(rustc: str, folder: Path) -> str:
    """The folder of the tool chain behind `rustc`, which may be a launcher that looks it up in the home folder."""
    env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(Path.home())}
    done = run([rustc, "--print", "sysroot"], cwd=folder, env=env, limits=COMPILE_LIMITS)
    sysroot = done.stdout.decode("utf-8", "replace").strip()
    if done.rc != 0 or not Path(sysroot, "bin", "rustc").exists():
        raise OperatorError(f"{rustc} names no tool chain ({done.stderr.decode('utf-8', 'replace').strip()[:200]})")
    return sysroot


def _rust_lines(raw: bytes) -> bytes:
    """`exit-code base64` lines as the lines that `judge_outputs` reads."""
    found = []
    for i, line in enumerate(raw.splitlines()):
        code, _, encoded = line.partition(b" ")
        try:
            text = base64.b64decode(encoded, validate=True).decode("utf-8", "replace")
        except ValueError:
            continue
        ok = code == b"0"
        found.append(
            {"i": i, "output": {"stdout": text}}
            if ok
            else {"i": i, "error": f"exit code {code.decode('ascii', 'replace')}"}
        )
    return "\n".join(json.dumps(line) for line in found).encode()


def _same_json(case: Case, output: Mapping[str, Any]) -> tuple[bool, str]:
    for wanted in (case.output, *case.admissible):
        if _canonical(wanted.get("return")) == _canonical(output.get("return")) and "return" in output:
            return True, ""
    return False, f"returned {output.get('return')!r:.60}, {case.output.get('return')!r:.60} is right"


def _canonical(value: Any) -> str:
    """JSON text: `1`, `1.0`, `true` and `"1"` are four values."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True)


def _same_stdout(case: Case, output: Mapping[str, Any]) -> tuple[bool, str]:
    seen = [line.strip() for line in str(output.get("stdout", "")).strip().splitlines()]
    for wanted in (case.output, *case.admissible):
        if [line.strip() for line in str(wanted.get("stdout", "")).strip().splitlines()] == seen:
            return True, ""
    return False, f"printed {' | '.join(seen)!r:.60}"


def _driver(name: str) -> str:
    return files("verified_code").joinpath("data", name).read_text("utf-8")
