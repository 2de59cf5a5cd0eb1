"""Verus as a verifier of surface A, where it is installed: the same shape as Dafny's adapter.

`verus FILE` ends with `verification results:: N verified, M errors`; errors are rustc's. Coverage of single functions is not told
by it, so that acceptance needs at least one obligation and no error. Source: surfaces.md, "Surface A".
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from verified_code.acceptance import MAX_DIAGNOSTICS, Diagnostic, Said, Status, VerifyRequest, VerifyResult, decide
from verified_code.errors import OperatorError
from verified_code.process import Finished, Limits, run

SOURCE = "main.rs"

_TRAILER = re.compile(
    r"^verification results:: (?P<verified>\d+) verified, (?P<errors>\d+) errors?(?P<rest>.*)$", re.MULTILINE
)
_ERROR = re.compile(
    r"^error(?:\[E\d+\])?: (?P<message>.*)\n\s*--> (?P<file>[^:\n]+):(?P<line>\d+):(?P<column>\d+)", re.MULTILINE
)
_RESOURCE = re.compile(r"Resource limit \(rlimit\) exceeded|rlimit exceeded", re.IGNORECASE)
_SYNTAX = re.compile(
    r"^error: (?:expected|unexpected|this file contains an unclosed delimiter|mismatched closing)", re.MULTILINE
)


def find_verus(given: str = "") -> Verus:
    """The Verus of this machine.

    Raises:
        OperatorError: it is not there, or does not tell its version.
    """
    program = given or shutil.which("verus")
    if program is None:
        raise OperatorError("verus is not on the PATH; install a release of Verus, or name its path")
    with TemporaryDirectory() as folder:
        told = run([program, "--version"], cwd=Path(folder), limits=Limits(wall_s=60))
    match = re.search(rb"Version: (\S+)", told.stdout)
    if match is None:
        raise OperatorError(f"{program} does not tell a version of Verus")
    return Verus(program, match[1].decode("utf-8", "replace"))


@dataclass(frozen=True)
class Verus:
    program: str
    version: str
    limits: Limits = field(default_factory=Limits)

    @property
    def name(self) -> str:
        return f"verus {self.version}"

    def identity(self) -> Mapping[str, str]:
        return {"verus": self.version, "adapter": "Verus"}

    def verify(self, request: VerifyRequest) -> VerifyResult:
        """Ask Verus about `main.rs` of a copy of the component."""
        source = request.component / SOURCE
        if not source.is_file():
            return VerifyResult(Status.USAGE, f"{request.component}: there is no {SOURCE}", versions=self.identity())
        with TemporaryDirectory(prefix="verus-") as folder:
            shutil.copyfile(source, Path(folder) / SOURCE)
            argv = [self.program, "--rlimit", str(request.time_limit_s), SOURCE]
            done = run(argv, cwd=Path(folder), limits=replace(self.limits, wall_s=request.wall_s))
        said = read_text(done)
        status, why = decide(said)
        return VerifyResult(
            status,
            why,
            said.verified,
            said.errors,
            0,
            said.resource_outs,
            said.diagnostics,
            {},
            tuple(argv),
            self.identity(),
            round(done.wall_s, 3),
        )


def read_text(done: Finished) -> Said:
    """What Verus's output says; rustc writes errors to standard error, the results come on standard output."""
    out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    text = f"{out}\n{err}"
    diagnostics = tuple(
        Diagnostic(Path(m["file"].strip()).name, int(m["line"]), int(m["column"]), m["message"][:400])
        for m in _ERROR.finditer(text)
    )
    said = Said(rc=done.rc, text=text, killed=done.killed, diagnostics=diagnostics[:MAX_DIAGNOSTICS])
    trailers = list(_TRAILER.finditer(text))
    if len(trailers) != 1:
        syntax = _SYNTAX.search(text) is not None
        return replace(said, parse_errors=syntax, resolve_errors=bool(diagnostics) and not syntax)
    resources = len(_RESOURCE.findall(text))
    errors = int(trailers[0]["errors"])
    return replace(
        said,
        trailer=trailers[0][0],
        verified=int(trailers[0]["verified"]),
        errors=max(0, errors - resources),
        resource_outs=resources,
    )
