"""Generated code runs here: no network, no file of the host but the tools, memory for files, everything killed together.

Built on bubblewrap. Where it is not there, or the kernel refuses it, the outcome is `Unavailable`, never a run unconfined.
Source: surfaces.md, "Surface C".
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from verified_code.errors import OperatorError
from verified_code.process import MARK, Finished, Limits, run

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/alternatives")
_SCRATCH = ("/tmp", "/scratch")  # noqa: S108 - of the sandbox, in memory
_SCRATCH_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Unavailable:
    reason: str


@dataclass(frozen=True, slots=True)
class Sandbox:
    """`bwrap`: the path of bubblewrap."""

    bwrap: str

    def run(
        self,
        argv: Sequence[str],
        *,
        given: Path,
        env: Mapping[str, str] | None = None,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        read_only: Sequence[str] = (),
        result: bool = False,
    ) -> Finished:
        """Run a command with `given` (a folder) read-only as `/given`, and an empty `/scratch` in memory to work in.

        Args:
            read_only: further folders of the host that the command needs, at their own paths.
            result: as in `process.run`.
        """
        command = [self.bwrap, *self._confined(given, read_only)]
        mark = uuid.uuid4().hex
        inside = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": "/scratch",
            "LC_ALL": "C.UTF-8",
            **(env or {}),
            MARK: mark,
        }
        for name, value in inside.items():
            command += ["--setenv", name, value]
        limits = replace(limits, processes=limits.processes + 4)  # its own
        return run([*command, *argv], cwd=given, env={"PATH": os.defpath}, limits=limits, result=result, mark=mark)

    def _confined(self, given: Path, read_only: Sequence[str]) -> list[str]:
        found = [
            "--unshare-all",
            "--die-with-parent",
            "--new-session",
            "--clearenv",
            "--cap-drop",
            "ALL",
            "--hostname",
            "sandbox",
        ]
        found += ["--unshare-user", "--uid", "65534", "--gid", "65534"]
        for path in map(Path, _SYSTEM):
            if path.is_symlink():
                found += ["--symlink", str(path.readlink()), str(path)]
            elif path.is_dir():
                found += ["--ro-bind", str(path), str(path)]
        for needed in read_only:
            found += ["--ro-bind", needed, needed]
        found += ["--proc", "/proc", "--dev", "/dev"]
        for scratch in _SCRATCH:
            found += ["--size", str(_SCRATCH_BYTES), "--tmpfs", scratch]
        return [*found, "--ro-bind", str(given.resolve()), "/given", "--chdir", "/scratch"]


def find_sandbox() -> Sandbox | Unavailable:
    """A sandbox that works on this machine, or why there is none."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return Unavailable("bubblewrap is not installed (apt-get install bubblewrap)")
    sandbox = Sandbox(bwrap)
    with TemporaryDirectory() as folder:
        try:
            tried = sandbox.run(["/bin/sh", "-c", "echo fine"], given=Path(folder), limits=Limits(wall_s=20))
        except OperatorError as error:
            return Unavailable(str(error))
    if tried.stdout != b"fine\n":
        said = tried.stderr.decode("utf-8", "replace").strip().splitlines()
        return Unavailable(f"bubblewrap does not work here ({said[-1] if said else tried.killed or tried.rc})")
    return sandbox
