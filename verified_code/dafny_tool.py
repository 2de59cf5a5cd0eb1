"""Dafny as the verifier of surface A: Debian's 2.3 and the 4.x command line behind one protocol.

Each call works on a private copy of the component. The solver is chosen by an explicit path, `$VERIFIED_CODE_Z3`, the `z3`
beside the running Python (`pip install z3-solver`), or the PATH, in this order, and recorded. Source: dafny.md, section 1.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

from verified_code.acceptance import (
    MAX_DIAGNOSTICS,
    Diagnostic,
    Said,
    Status,
    VerifyRequest,
    VerifyResult,
    decide,
    methods_of,
    unreadable_reason,
)
from verified_code.component import IMPL, load_component
from verified_code.errors import OperatorError
from verified_code.javascript import mangled
from verified_code.process import Finished, Limits, run

Z3_VARIABLE = "VERIFIED_CODE_Z3"
Z3_OF_2_3 = "4.8.5"
MAX_COPY_BYTES = 16 * 2**20

_TRAILER = re.compile(
    r"^Dafny program verifier finished with (?P<verified>\d+) (?:assertions )?verified, (?P<errors>\d+) errors?(?P<rest>.*)$",
    re.MULTILINE,
)
_COUNT = re.compile(r"(\d+) (time outs?|out of resource|out of memory|inconclusive|solver exceptions?)")
_MESSAGE = re.compile(r"^(?P<file>[^\n(]*)\((?P<line>\d+),(?P<column>-?\d+)\): (?P<message>.*)$", re.MULTILINE)
_COUNTED = re.compile(r"^\d+ (?P<what>parse|resolution/type) errors? detected in ", re.MULTILINE)
_MISSING_FILE = re.compile(r"Unable to open included file|Error opening file")
_ADDRESSED = re.compile(r"Error\b|Verification |timed out|Timed out")


def dafny_methods(component: Path) -> list[str]:
    """The methods that must be covered, as Dafny 2.3's log names them but for its numbers: `_module.__default.Max`, `M.C.Get`."""
    found = []
    for *around, method in methods_of(load_component(component)):
        modules = [mangled(d.name.split(".")[-1]) for d in around if d.kind == "module"]
        types = [mangled(d.name) for d in around if d.kind != "module"]
        owner = types[-1] if types else "__default"
        found.append(f"{modules[-1] if modules else '_module'}.{owner}.{mangled(method.name)}")
    return found


def find_z3(given: str = "") -> str:
    """The path of a solver.

    Raises:
        OperatorError: the one that is named is not there, or none is found.
    """
    named = given or os.environ.get(Z3_VARIABLE, "")
    if named:
        if not os.access(named, os.X_OK) or Path(named).is_dir():
            where = "--z3" if given else f"${Z3_VARIABLE}"
            raise OperatorError(f"{where}: {named} is no program; name z3's own path")
        return str(Path(named).resolve())
    beside = Path(sys.executable).parent / "z3"
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("z3")
    if found is None:
        raise OperatorError(f"no z3 is found; `pip install z3-solver=={Z3_OF_2_3}.0`, or name one in ${Z3_VARIABLE}")
    return found


def find_dafny(given: str = "", z3: str = "") -> DafnyTool:
    """The Dafny of this machine.

    Raises:
        OperatorError: there is none, its version cannot be told, or no solver is found.
    """
    program = given or shutil.which("dafny")
    if program is None:
        raise OperatorError("dafny is not on the PATH (apt-get install dafny; or the .NET tool of Dafny 4)")
    with TemporaryDirectory() as folder:
        told = run([program, "--version"], cwd=Path(folder), limits=Limits(wall_s=60))
        if told.rc == 0 and re.match(rb"\s*\d+\.\d+", told.stdout):
            version = told.stdout.decode("utf-8", "replace").split()[0]
        else:  # 2.x knows no such switch, and tells its version before anything else
            (Path(folder) / "x.dfy").write_text("")
            told = run([program, "/compile:0", "/dafnyVerify:0", "x.dfy"], cwd=Path(folder), limits=Limits(wall_s=60))
            match = re.search(rb"Dafny (\d+\.[\d.]+)", told.stdout)
            if match is None:
                raise OperatorError(f"{program} does not tell a version of Dafny; give the path of Dafny 2.3 or 4.x")
            version = match[1].decode()
        solver = find_z3(z3)
        told = run([solver, "--version"], cwd=Path(folder), limits=Limits(wall_s=60))
        match = re.search(rb"(\d+\.\d+\.\d+)", told.stdout)
        solver_version = match[1].decode() if match else "unknown"
    tool = Dafny2 if int(version.split(".")[0]) < 4 else Dafny4
    return tool(program, solver, version, solver_version)


@dataclass(frozen=True)
class DafnyTool:
    """`program`, `z3`: paths; their versions as they tell them."""

    program: str
    z3: str
    version: str
    z3_version: str
    limits: Limits = field(default_factory=Limits)

    @property
    def name(self) -> str:
        return f"dafny {self.version}"

    def identity(self) -> Mapping[str, str]:
        return {"dafny": self.version, "z3": self.z3_version, "adapter": type(self).__name__}

    def warning(self) -> str:
        """What a user should know about this pair of tools; empty where nothing."""
        return ""

    def arguments(self, request: VerifyRequest, log: Path) -> list[str]:
        raise NotImplementedError

    def read(self, done: Finished, log: Path) -> Said:
        raise NotImplementedError

    def due(self, component: Path) -> list[str]:
        raise NotImplementedError

    def verify(self, request: VerifyRequest) -> VerifyResult:
        """Ask Dafny about `Impl.dfy` of a copy of the component, the included files too."""
        refused = unreadable_reason(request.component)
        if refused:
            return VerifyResult(Status.USAGE, refused, versions=self.identity())
        with TemporaryDirectory(prefix="dafny-") as folder:
            work = Path(folder) / "component"
            problem = copy_component(request.component, work)
            if problem:
                return VerifyResult(Status.USAGE, problem, versions=self.identity())
            log = Path(folder) / "log"
            argv = [self.program, *self.arguments(request, log)]
            done = run(argv, cwd=work, limits=replace(self.limits, wall_s=request.wall_s))
            said = self.read(done, log)
        due = self.due(request.component)
        status, why = decide(said, due)
        return VerifyResult(
            status=status,
            why=why,
            verified=said.verified,
            errors=said.errors,
            timeouts=said.timeouts,
            resource_outs=said.resource_outs,
            diagnostics=said.diagnostics,
            per_method={name: said.per_obligation.get(name, False) for name in due},
            argv=tuple(a.replace(str(log), "LOG") for a in argv),
            versions=self.identity(),
            wall_s=round(done.wall_s, 3),
        )


class Dafny2(DafnyTool):
    """Debian's Dafny 2.3 (options with a slash, results of methods through `/xml`)."""

    def warning(self) -> str:
        if self.z3_version == Z3_OF_2_3:
            return ""
        return f"z3 {self.z3_version}: Dafny 2.x was made for {Z3_OF_2_3} (pip install z3-solver=={Z3_OF_2_3}.0); verdicts can differ"

    def arguments(self, request: VerifyRequest, log: Path) -> list[str]:
        return [
            "/nologo", "/compile:0", "/verifyAllModules", f"/timeLimit:{request.time_limit_s}", "/vcsCores:1",
            f"/z3exe:{self.z3}", f"/xml:{log}", IMPL,
        ]  # fmt: skip

    def due(self, component: Path) -> list[str]:
        return dafny_methods(component)

    def read(self, done: Finished, log: Path) -> Said:
        return replace(read_text(done), per_obligation=_xml_outcomes(log))


class Dafny4(DafnyTool):
    """Dafny 4.x (`dafny verify`, results of methods through its JSON log)."""

    def arguments(self, request: VerifyRequest, log: Path) -> list[str]:
        return [
            "verify", "--allow-warnings", "--verify-included-files", "--show-snippets:false", "--use-basename-for-filename",
            "--verification-time-limit", str(request.time_limit_s), "--cores", "1", "--solver-path", self.z3,
            "--log-format", f"json;LogFileName={log}", IMPL,
        ]  # fmt: skip

    def due(self, component: Path) -> list[str]:
        return [".".join(d.name for d in path) for path in methods_of(load_component(component))]

    def read(self, done: Finished, log: Path) -> Said:
        return replace(read_text(done), per_obligation=_json_outcomes(log))


def copy_component(component: Path, target: Path) -> str:
    """Copy the Dafny files of a component; why it cannot be, or an empty text."""
    if not (component / IMPL).is_file():
        return f"{component}: there is no {IMPL}"
    size = 0
    for path in sorted(component.rglob("*.dfy")):
        if not path.is_file() or not path.resolve().is_relative_to(component.resolve()):
            continue
        size += path.stat().st_size
        if size > MAX_COPY_BYTES:
            return f"{component}: its files are larger than {MAX_COPY_BYTES} bytes together"
        to = target / path.relative_to(component)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, to)
    return ""


def read_text(done: Finished) -> Said:
    """What Dafny's output says, both versions; stack traces come on standard error."""
    out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    text = f"{out}\n{err}"
    trailers = list(_TRAILER.finditer(out))
    counted = {m["what"] for m in _COUNTED.finditer(out)}
    diagnostics = [
        Diagnostic(Path(m["file"].strip()).name, int(m["line"]), max(0, int(m["column"]) + 1), m["message"][:400])
        for m in _MESSAGE.finditer(out)
        if _ADDRESSED.search(m["message"])
    ]
    said = Said(
        rc=done.rc,
        text=text,
        killed=done.killed,
        parse_errors="parse" in counted,
        resolve_errors="resolution/type" in counted or _MISSING_FILE.search(out) is not None,
        diagnostics=tuple(diagnostics[:MAX_DIAGNOSTICS]),
    )
    if len(trailers) != 1:
        return said
    match = trailers[0]
    counts: dict[str, int] = {}
    for number, what in _COUNT.findall(match["rest"]):
        counts[what.rstrip("s")] = int(number)
    return replace(
        said,
        trailer=match[0],
        verified=int(match["verified"]),
        errors=int(match["errors"]),
        timeouts=counts.get("time out", 0),
        resource_outs=counts.get("out of resource", 0) + counts.get("out of memory", 0),
        inconclusive=counts.get("inconclusive", 0) + counts.get("solver exception", 0),
    )


def _xml_outcomes(log: Path) -> dict[str, bool]:
    """`Impl$$_0_M.C.Get` of the log -> `M.C.Get`; a method is proved where all its entries are."""
    found: dict[str, bool] = {}
    try:
        tree = ElementTree.parse(log)  # noqa: S314 - written by the tool, in a folder of ours
    except (OSError, ElementTree.ParseError):
        return found
    for method in tree.iter("method"):
        name, conclusion = method.get("name", ""), method.find("conclusion")
        kind, _, rest = name.partition("$$")
        if kind != "Impl" or conclusion is None:
            continue
        key = re.sub(r"^_\d+_", "", rest)
        found[key] = found.get(key, True) and conclusion.get("outcome") == "correct"
    return found


def _json_outcomes(log: Path) -> dict[str, bool]:
    """`M.Max (correctness)` of the log -> `M.Max`."""
    found: dict[str, bool] = {}
    try:
        entries = json.loads(log.read_text("utf-8"))["verificationResults"]
        for entry in entries:
            name, _, kind = str(entry["name"]).partition(" (")
            if kind.startswith("correctness"):
                found[name] = found.get(name, True) and str(entry["outcome"]).lower() in ("correct", "valid")
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return found
