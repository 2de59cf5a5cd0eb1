"""One driver at a time on a run folder.

On a local disk the kernel keeps the lock and frees it when its holder dies. An object store has no such thing: there a
lease is kept as numbered files, of which the newest counts. A holder renews its own file; who wants the folder and has
seen the newest file unchanged for `LEASE_S` by its own clock puts the next number, which the store lets only one do.
So no two machines' clocks are compared, and any store that can create a file only where there is none will do.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import threading
import time
import uuid
from pathlib import Path, PurePosixPath
from typing import IO, Any

from cluster.errors import StoreError, UsageError
from cluster.store import RunFolder

LEASE_S = 20.0
RENEW_S = 4.0
POLL_S = 0.5


class Locked(UsageError):
    """Another driver works on the run folder."""


class LeaseLost(StoreError):
    """This driver can no longer be sure that it alone writes to the run folder."""


def folder_lock(folder: RunFolder, wait_s: float = 10.0) -> FlockLock | LeaseLock:
    """Take the folder: by the kernel's lock on a local disk, by a lease elsewhere.

    Args:
        wait_s: how long a holder that is alive may take to let go; the journal of a driver that was killed a moment
            ago may take some seconds to die.

    Raises:
        Locked: another driver holds it.
        StoreError: the lease cannot be read or written.
    """
    return FlockLock(folder, wait_s) if folder.local else LeaseLock(folder, wait_s)


class FlockLock:
    """An advisory lock on a local run folder, freed by the kernel when its holder dies."""

    def __init__(self, folder: RunFolder, wait_s: float = 10.0) -> None:
        path = Path(folder.file(".lock"))
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[str] | None = path.open("a")
        deadline = time.monotonic() + wait_s
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError:
                if time.monotonic() >= deadline:
                    self._file.close()
                    raise _locked(folder) from None
                time.sleep(0.2)

    def check(self) -> None:
        """Raise nothing: the kernel takes no lock away from a living holder."""

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class LeaseLock:
    """A lease on a run folder of an object store, renewed by a thread of its holder."""

    def __init__(
        self, folder: RunFolder, wait_s: float = 10.0, *, lease_s: float = LEASE_S, renew_s: float = RENEW_S
    ) -> None:
        self._folder = folder
        self._lease_s = lease_s
        self._renew_s = renew_s
        self._holder = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._beats = 0
        self._lost = ""
        self._ended = threading.Event()
        try:
            self._number = self._take(wait_s)
        except OSError as error:
            raise StoreError(f"cannot take the lease of {folder.url}: {error}; look at the store's rights") from error
        self._renewed = time.monotonic()
        self._thread = threading.Thread(target=self._renew_always, daemon=True, name="lease")
        self._thread.start()

    def _take(self, wait_s: float) -> int:
        start = since = time.monotonic()
        seen: tuple[int, bytes] | None = None
        moved = False  # the holder was seen alive
        while True:
            newest = self._newest()
            held = None if newest == 0 else (newest, self._read(newest))
            if held is not None and not json.loads(held[1])["released"]:
                now = time.monotonic()
                if held != seen:
                    moved = seen is not None
                    seen, since = held, now
                if now - since < self._lease_s:
                    if moved and now - start >= wait_s:
                        raise _locked(self._folder, json.loads(held[1])["holder"])
                    time.sleep(POLL_S)
                    continue
            try:
                self._put(newest + 1, mode="create")
            except FileExistsError:
                continue  # another contender was faster
            return newest + 1

    def _newest(self) -> int:
        try:
            names = self._folder.fs.ls(self._folder.file(".lease"), detail=False, refresh=True)
        except FileNotFoundError:
            return 0
        return max((int(PurePosixPath(n).name) for n in names if PurePosixPath(n).name.isdigit()), default=0)

    def _file(self, number: int) -> str:
        return self._folder.file(f".lease/{number:08d}")

    def _read(self, number: int) -> bytes:
        return bytes(self._folder.fs.cat_file(self._file(number)))

    def _put(self, number: int, *, mode: str = "overwrite", released: bool = False) -> None:
        state = {"holder": self._holder, "beats": self._beats, "released": released}
        if mode == "create":
            self._folder.fs.makedirs(self._folder.file(".lease"), exist_ok=True)  # a folder only where stores have them
        self._folder.fs.pipe_file(self._file(number), json.dumps(state).encode(), mode=mode)

    def _renew_always(self) -> None:
        while not self._ended.wait(self._renew_s) and not self._lost:
            self._renew()

    def _renew(self) -> None:
        """Show that the holder lives. A store that does not answer is asked again, until the lease may be another's."""
        try:
            if self._newest() != self._number:
                self._lost = "another driver took its lease over"
                return
            self._beats += 1
            asked = time.monotonic()
            self._put(self._number)
            self._renewed = asked
        except Exception:  # noqa: S110 - whatever the store's library raises; check() judges by the clock
            pass

    def check(self) -> None:
        """
        Raises:
            LeaseLost: the lease is another's, or could not be renewed for so long that it may be.
        """
        silent = time.monotonic() - self._renewed
        if not self._lost and silent > self._lease_s - self._renew_s:
            self._lost = f"its lease could not be renewed for {silent:.0f} s, so that another driver may have taken it"
        if self._lost:
            raise LeaseLost(f"{self._folder.url}: {self._lost}; this one stops, and the same command resumes")

    def release(self) -> None:
        if self._ended.is_set():
            return
        self._ended.set()
        self._thread.join()
        try:
            if self._newest() == self._number:
                self._put(self._number, released=True)
        except Exception:  # noqa: S110 - a store that is gone: the lease runs out by itself
            pass


def _locked(folder: RunFolder, holder: Any = None) -> Locked:
    who = f" ({holder})" if holder else ""
    return Locked(f"another driver{who} works on {folder.url}; wait for it or end it (two would ask everything twice)")
