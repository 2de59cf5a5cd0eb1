"""The journal through which every completion of a run becomes durable before anything else happens to it.

It is one actor on the driver's node and the only writer of completions: it holds the folder's lock, so that what a dead
driver left behind cannot write beside a new one; it knows what has arrived, so that a restarted answering actor asks
nothing twice; and it counts, so that budgets end a run.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from cluster import rows
from cluster.errors import JobError, StoreError
from cluster.store import FolderLock, RunFolder

FLUSH_ROWS = 64
FLUSH_S = 5.0
IDLE_S = 0.25


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a run stops by itself; None = nowhere. `spent_*`: what earlier commands of the run have used up already;
    `seconds` counts this command alone."""

    usd: float | None = None
    tokens: int | None = None
    seconds: float | None = None
    spent_usd: float = 0.0
    spent_tokens: int = 0


class Journal:
    """The append-only record of completions (a Ray actor with an event loop)."""

    def __init__(self, url: str, limits: Limits) -> None:
        self._folder = RunFolder(url)
        self._lock: FolderLock | None = None
        self._limits = limits
        self._buffer: list[dict[str, Any]] = []
        self._written: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._started = time.monotonic()
        self._first_asked: float | None = None  # an engine's start-up is in no tokens/s
        self._stopped = ""
        self._under_way: set[str] = set()
        self._kept: set[str] = set()
        self._statuses: Counter[str] = Counter()
        self._sums: Counter[str] = Counter()

    async def open(self) -> None:
        """Take the folder.

        Raises:
            Locked: another journal holds it.
        """
        self._lock = FolderLock(self._folder)

    async def append(self, row: dict[str, Any]) -> str:
        """Keep one completion; returns when it is durable. The answer is why the run should stop, or empty.

        Raises:
            StoreError: it could not be written.
        """
        self._buffer.append(row)
        self._under_way.discard(row["key"])
        self._kept.add(row["key"])
        self._statuses[row["status"]] += 1
        for name in ("prompt_tokens", "completion_tokens"):
            self._sums[name] += max(0, row[name])
        self._sums["cost_micro_usd"] += round((row["cost_usd"] or 0) * 1e6)
        if self._written is None:
            self._written = asyncio.get_running_loop().create_future()
            self._timer = asyncio.get_running_loop().call_later(FLUSH_S, self._flush)
        written = self._written
        if len(self._buffer) >= FLUSH_ROWS:
            self._flush()
        elif not self._under_way:
            asyncio.get_running_loop().call_later(IDLE_S, self._flush_if_idle)
        await asyncio.shield(written)
        return self._why_stop()

    def _flush_if_idle(self) -> None:
        if not self._under_way:  # nothing is coming that could join the part
            self._flush()

    def _flush(self) -> None:
        written, self._written = self._written, None
        if self._timer is not None:
            self._timer.cancel()
        if written is None:
            return
        buffer, self._buffer = self._buffer, []
        try:
            self._folder.append("completions", buffer, rows.COMPLETION)
        except Exception as error:  # whatever it is, the waiting rows must hear of it: else the run would hang
            self._stopped = self._stopped or str(error)
            written.set_exception(error if isinstance(error, JobError) else StoreError(f"journal: {error!r}"))
            written.exception()  # looked at: nobody may be waiting any more
            return
        written.set_result(None)

    def _why_stop(self) -> str:
        limits = self._limits
        tokens = limits.spent_tokens + self._sums["prompt_tokens"] + self._sums["completion_tokens"]
        if limits.tokens is not None and tokens >= limits.tokens:
            self._stopped = self._stopped or f"budget.tokens: {limits.tokens} tokens are used"
        if limits.usd is not None and limits.spent_usd + self._sums["cost_micro_usd"] / 1e6 >= limits.usd:
            self._stopped = self._stopped or f"budget.usd: {limits.usd} US dollars are used"
        if limits.seconds is not None and time.monotonic() - self._started >= limits.seconds:
            self._stopped = self._stopped or f"budget.hours: {limits.seconds / 3600:g} hours are used"
        return self._stopped

    async def asks(self, key: str) -> bool:
        """Whether to ask for this key: not if the run is stopping, or if its completion has arrived (an answering actor
        that was restarted is handed its rows again)."""
        if key in self._kept or self._why_stop():
            return False
        self._under_way.add(key)
        if self._first_asked is None:
            self._first_asked = time.monotonic()
        return True

    async def stop(self, why: str) -> None:
        self._stopped = self._stopped or why

    async def stopped(self) -> str:
        return self._why_stop()

    async def stats(self) -> dict[str, Any]:
        """What has happened since this journal began; `seconds` since the first request."""
        done = sum(self._statuses.values())
        return {
            "seconds": 0.0 if self._first_asked is None else time.monotonic() - self._first_asked,
            "statuses": dict(self._statuses),
            "answered": done,
            "in_flight": len(self._under_way),
            "prompt_tokens": self._sums["prompt_tokens"],
            "completion_tokens": self._sums["completion_tokens"],
            "cost_usd": self._sums["cost_micro_usd"] / 1e6,
            "stopped": self._stopped,
        }

    async def flush(self) -> None:
        """Write what is buffered."""
        self._flush()

    async def close(self) -> None:
        """Write what is buffered, and let go of the folder."""
        self._flush()
        if self._lock is not None:
            self._lock.release()
