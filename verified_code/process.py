"""The one file of this package that starts processes: bounded in time, memory, files and output, and ended as a whole.

Every process gets a session of its own; whatever way a call ends (normally, by a bound, by an exception), everything that it
left behind is killed. A *result descriptor* (number 3) carries bytes apart from what the process prints, so that printing proves
nothing.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from verified_code.errors import OperatorError

MARK = "VERIFIED_CODE_RUN"
"""The environment variable of all descendants by which one that detached itself is found."""

_WATCH_S = 0.05
_PRELUDE = 'ulimit -c 0; ulimit -f "$1"; ulimit -t "$2"; [ -z "$3" ] || exec 3>"/proc/self/fd/$3"; shift 3; exec "$@"'


@dataclass(frozen=True, slots=True)
class Limits:
    """`wall_s` seconds on the clock; `memory_bytes` resident in all processes together; `file_bytes` of one file;
    `output_bytes` of standard output, error and result together; `processes` at once."""

    wall_s: float = 60.0
    memory_bytes: int = 2 * 2**30
    file_bytes: int = 256 * 2**20
    output_bytes: int = 8 * 2**20
    processes: int = 64


@dataclass(frozen=True, slots=True)
class Finished:
    """How a process ended. `rc`: None where it was killed by a bound, named in `killed` (`wall`, `memory`, `output`,
    `processes`); a negative one is the signal that ended it."""

    rc: int | None
    stdout: bytes
    stderr: bytes
    result: bytes
    killed: str
    wall_s: float


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    limits: Limits = Limits(),
    result: bool = False,
    mark: str = "",
) -> Finished:
    """Run a command to its end, or to a bound.

    Args:
        env: the whole environment; without one only `PATH`, and `HOME` in `cwd`. Nothing is inherited, secrets least of all.
        result: give the process a result descriptor, number 3.
        mark: the value of `MARK`, where a command clears the environment and sets it again; default: a new one.

    Raises:
        OperatorError: the command cannot be started.
    """
    environment = (
        {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(cwd), "LC_ALL": "C.UTF-8"}
        if env is None
        else dict(env)
    )
    mark = mark or uuid.uuid4().hex
    environment[MARK] = mark
    begun = time.monotonic()
    read_end, write_end = os.pipe() if result else (-1, -1)
    numbers = [str(limits.file_bytes // 512), str(int(limits.wall_s) * 4 + 10), str(write_end) if result else ""]
    command = ["/bin/sh", "-c", _PRELUDE, "sh", *numbers, *argv]
    try:
        process = subprocess.Popen(  # noqa: S603
            command,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=(write_end,) if result else (),
        )
    except OSError as error:
        if result:
            os.close(read_end)
            os.close(write_end)
        raise OperatorError(f"{argv[0]} cannot be started in {cwd}: {error.strerror}") from error
    if result:
        os.close(write_end)
    assert process.stdout is not None
    assert process.stderr is not None
    streams = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    if result:
        streams[read_end] = bytearray()
    family = _Family(process.pid, mark)
    killed = ""
    try:
        killed = _watch(process, family, streams, limits, begun)
    finally:
        family.kill()
        process.wait()
        _drain(streams, limits.output_bytes)  # what stood in the pipes when it ended
        parts = [bytes(part) for part in streams.values()]
        process.stdout.close()
        process.stderr.close()
        if result:
            os.close(read_end)
    return Finished(
        rc=None if killed else process.returncode,
        stdout=parts[0],
        stderr=parts[1],
        result=parts[2] if result else b"",
        killed=killed,
        wall_s=time.monotonic() - begun,
    )


def _watch(
    process: subprocess.Popen[bytes], family: _Family, streams: dict[int, bytearray], limits: Limits, begun: float
) -> str:
    """Collect output until the process ends; the name of the bound that it broke, or an empty text."""
    with selectors.DefaultSelector() as selector:
        for descriptor in streams:
            os.set_blocking(descriptor, False)
            selector.register(descriptor, selectors.EVENT_READ)
        looked = 0.0
        while process.poll() is None:
            for key, _ in selector.select(_WATCH_S) if selector.get_map() else [_pause(process)]:
                data = _read(key.fd)
                if data == b"":
                    selector.unregister(key.fd)
                elif data is not None:
                    streams[key.fd] += data
            if sum(map(len, streams.values())) > limits.output_bytes:
                return "output"
            now = time.monotonic()
            if now - begun > limits.wall_s:
                return "wall"
            if now - looked >= _WATCH_S:
                looked = now
                members = family.members()
                if len(members) > limits.processes:
                    return "processes"
                if sum(members.values()) > limits.memory_bytes:
                    return "memory"
    return ""


def _pause(process: subprocess.Popen[bytes]) -> tuple[selectors.SelectorKey, int]:
    """The process closed all its output and goes on: wait for its end, a watch's time at most."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_WATCH_S)
    return selectors.SelectorKey(-1, -1, 0, None), 0


def _read(descriptor: int) -> bytes | None:
    """Some bytes; empty at the end; None where there is nothing now."""
    if descriptor < 0:
        return None
    try:
        return os.read(descriptor, 65536)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _drain(streams: dict[int, bytearray], most: int) -> None:
    for descriptor, found in streams.items():
        while sum(map(len, streams.values())) <= most and (data := _read(descriptor)):
            found += data


class _Family:
    """A process, its session, and all its descendants, found through /proc: a child may leave the session by `setsid`."""

    def __init__(self, root: int, mark: str) -> None:
        self.root = root
        self.mark = f"{MARK}={mark}".encode()
        self.known = {root}

    def members(self) -> dict[int, int]:
        """Process id -> resident bytes of every living member. Whoever was one stays one, also when its parent is gone."""
        seen: dict[int, tuple[int, int, int]] = {}
        for pid, folder in _processes():
            with contextlib.suppress(OSError, ValueError, IndexError):
                fields = (folder / "stat").read_bytes().rpartition(b") ")[2].split()
                if fields[0] != b"Z":
                    seen[pid] = (int(fields[1]), int(fields[3]), int(fields[21]) * _PAGE)
        members = {pid for pid, (_, session, _) in seen.items() if session == self.root or pid in self.known}
        grown = True
        while grown:
            children = {pid for pid, (parent, _, _) in seen.items() if parent in members and pid not in members}
            members |= children
            grown = bool(children)
        self.known = members | {self.root}
        return {pid: seen[pid][2] for pid in members}

    def _marked(self) -> set[int]:
        found = set()
        for pid, folder in _processes():
            with contextlib.suppress(OSError):
                if self.mark in (folder / "environ").read_bytes().split(b"\0"):
                    found.add(pid)
        return found

    def kill(self) -> None:
        """Kill every member, again until none is left: a fork may be under way."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.root, signal.SIGKILL)
        for _ in range(100):
            members = self.members().keys() | self._marked()
            if not members:
                return
            for pid in members:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)


def _processes() -> list[tuple[int, Path]]:
    return [(int(path.name), path) for path in Path("/proc").iterdir() if path.name.isdigit()]


_PAGE = os.sysconf("SC_PAGE_SIZE")
