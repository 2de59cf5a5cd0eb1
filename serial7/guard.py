"""Judge in a process of its own, under CPU and memory limits: what kills that process costs one record.

The parsers are C code that answers write to. Bounds keep the known killers out; this is the fence behind them for
the unknown ones. The only file of this package that starts processes.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Generic, TypeVar

from serial7.errors import Serial7Error

J = TypeVar("J")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Limits:
    """`cpu_s` of CPU time a record; `memory_bytes` of address space; `wall_s` a record as the last resort."""

    cpu_s: int = 20
    memory_bytes: int = 4 * 2**30
    wall_s: float = 300.0


class JudgeFailed(Serial7Error):
    """The judging function raised: a bug of ours, with its traceback. Never the record's verdict."""


class Guard(Generic[J, R]):
    """Runs `judge` on records in one limited child process, restarted when it dies. Use as a context manager.

    Args:
        judge: record -> result; importable (it is pickled by name), and total: it may not raise.
        on_death: (record, why) -> the result of a record whose judging killed the process.
    """

    def __init__(
        self, judge: Callable[[J], R], on_death: Callable[[J, str], R], limits: Limits | None = None, batch: int = 64
    ) -> None:
        self._judge = judge
        self._on_death = on_death
        self._limits = limits or Limits()
        self._batch = batch
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self.deaths = 0

    def __enter__(self) -> Guard[J, R]:
        return self

    def __exit__(self, _t: type[BaseException] | None, _e: BaseException | None, _tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the child process, whatever it does."""
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = self._pipe = None

    def map(self, records: Iterable[J]) -> Iterator[R]:
        """One result a record, in their order.

        Raises:
            JudgeFailed: `judge` raised.
        """
        stream = iter(records)
        while waiting := list(islice(stream, self._batch)):
            while waiting:
                answered = 0
                for result in self._run(waiting):
                    answered += 1
                    yield result
                del waiting[:answered]
                if waiting:  # the child died on the first record that has no result
                    why = self._why()
                    self.close()
                    self.deaths += 1
                    yield self._on_death(waiting.pop(0), why)

    def _run(self, records: list[J]) -> Iterator[R]:
        pipe = self._start()
        try:
            pipe.send(records)
        except (BrokenPipeError, ConnectionResetError):
            return
        for _ in records:
            try:
                if not pipe.poll(self._limits.wall_s):
                    return
                failure, result = pipe.recv()
            except (EOFError, ConnectionResetError):
                return
            if failure:
                raise JudgeFailed(failure)
            yield result

    def _start(self) -> Connection:
        if self._pipe is None:
            # Not multiprocessing: forking a threaded parent may deadlock the child, and spawning imports its main script.
            ours, theirs = socket.socketpair()
            with theirs:
                self._process = subprocess.Popen(  # noqa: S603 - this interpreter, this module
                    [sys.executable, "-c", f"from serial7.guard import _child; _child({theirs.fileno()})"],
                    pass_fds=(theirs.fileno(),),
                    stdin=subprocess.DEVNULL,
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                )
            self._pipe = Connection(ours.detach())
            with contextlib.suppress(BrokenPipeError):  # a child that died at once is found by the first recv
                self._pipe.send((self._judge, self._limits))
        return self._pipe

    def _why(self) -> str:
        assert self._process is not None
        try:
            code = self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            return f"judging gave no verdict within {self._limits.wall_s:.0f} s"
        if code == -signal.SIGXCPU:
            return f"judging took more than {self._limits.cpu_s} s of CPU time"
        return f"judging ended its process ({signal.Signals(-code).name if code < 0 else f'exit code {code}'})"


def _child(descriptor: int) -> None:
    """The child's main: limits itself, then judges batches until its parent is gone."""
    pipe = Connection(descriptor)
    judge, limits = pipe.recv()
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    while True:
        try:
            records = pipe.recv()
        except (EOFError, ConnectionResetError):
            return
        for record in records:
            usage = resource.getrusage(resource.RUSAGE_SELF)
            soft = int(usage.ru_utime + usage.ru_stime) + 1 + limits.cpu_s
            resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))  # SIGXCPU ends C code too
            try:
                answer = ("", judge(record))
            except MemoryError:
                raise SystemExit(3) from None  # the address space is spent: a new process is due
            except Exception as error:
                answer = (f"{type(error).__name__}: {error}", None)
            try:
                pipe.send(answer)
            except BrokenPipeError:
                return
