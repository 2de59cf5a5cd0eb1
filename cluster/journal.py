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
from cluster.lock import FlockLock, LeaseLock, folder_lock
from cluster.store import RunFolder

FLUSH_ROWS = 64
FLUSH_S = 5.0
IDLE_S = 0.25
SPACE_S = 5.0  # between two looks at the free space
FIRST_UNDER_BUDGET = 8  # requests at once before a budgeted run knows what one costs


@dataclass(frozen=True, slots=True)
class Word:
    """What the journal says to those who ask: `stop`, why the run should stop (empty: go on), and `most`, how many
    requests may be under way at once so that a budget is not overrun (None: as many as the client likes)."""

    stop: str = ""
    most: int | None = None


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
        self._lock: FlockLock | LeaseLock | None = None
        self._limits = limits
        self._buffer: list[dict[str, Any]] = []
        self._written: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._writer: asyncio.Task[None] | None = None
        self._again = False
        self._started = time.monotonic()
        self._first_asked: float | None = None  # an engine's start-up is in no tokens/s
        self._looked = -SPACE_S
        self._stopped = ""
        self._in_flight = 0
        self._kept: set[str] = set()
        self._statuses: Counter[str] = Counter()
        self._sums: Counter[str] = Counter()

    async def open(self) -> None:
        """Take the folder.

        Raises:
            Locked: another journal holds it.
        """
        self._lock = await asyncio.to_thread(folder_lock, self._folder)

    async def append(self, records: list[dict[str, Any]], in_flight: int) -> Word:
        """Keep completions; returns when they are durable. A key that has its completion keeps that one.

        Args:
            in_flight: requests under way now.

        Raises:
            StoreError: they could not be written.
        """
        self._in_flight = in_flight
        fresh = {row["key"]: row for row in records if row["key"] not in self._kept}
        for row in fresh.values():
            self._statuses[row["status"]] += 1
            for name in ("prompt_tokens", "completion_tokens"):
                self._sums[name] += max(0, row[name])
            self._sums["cost_micro_usd"] += round((row["cost_usd"] or 0) * 1e6)
        if fresh:
            self._kept.update(fresh)
            self._buffer += fresh.values()
            await asyncio.shield(self._due())
        return self._word()

    def _due(self) -> asyncio.Future[None]:
        """Done when what lies in the buffer now is written: at 64 rows, after 5 s, or soon when nothing is coming."""
        loop = asyncio.get_running_loop()
        if self._written is None:
            self._written = loop.create_future()
            self._timer = loop.call_later(FLUSH_S, self._flush)
        if len(self._buffer) >= FLUSH_ROWS:
            self._flush()
        elif not self._in_flight:
            loop.call_later(IDLE_S, self._flush_if_idle)
        return self._written

    def _flush_if_idle(self) -> None:
        if not self._in_flight:  # nothing is coming that could join the part
            self._flush()

    def _flush(self) -> None:
        """Write soon. One part is written at a time, beside the loop; what comes meanwhile joins the next."""
        if self._writer is None or self._writer.done():
            self._writer = asyncio.get_running_loop().create_task(self._write())
        else:
            self._again = True

    async def _write(self) -> None:
        while self._buffer:
            self._again = False
            buffer, self._buffer = self._buffer, []
            written, self._written = self._written, None
            assert written is not None
            if self._timer is not None:
                self._timer.cancel()
            try:
                await asyncio.to_thread(self._append, buffer)
            except Exception as error:  # whatever it is, the waiting rows must hear of it: else the run would hang
                self._stopped = self._stopped or str(error)
                self._kept.difference_update(row["key"] for row in buffer)
                written.set_exception(error if isinstance(error, JobError) else StoreError(f"journal: {error!r}"))
                written.exception()  # looked at: nobody may be waiting any more
            else:
                written.set_result(None)
            if len(self._buffer) < FLUSH_ROWS and not self._again:
                return

    def _append(self, buffer: list[dict[str, Any]]) -> None:
        if self._lock is not None:
            self._lock.check()
        self._folder.append("completions", buffer, rows.COMPLETION)

    def _watch_folder(self) -> None:
        """Stop while there is still room for what is under way, and when the folder is another driver's."""
        if self._lock is not None:
            try:
                self._lock.check()
            except StoreError as error:
                self._stopped = self._stopped or str(error)
        if time.monotonic() - self._looked >= SPACE_S:
            self._looked = time.monotonic()
            short = self._folder.short_of_space()
            self._stopped = self._stopped or (short and f"{short}, and the same command resumes")

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

    def _word(self) -> Word:
        return Word(self._why_stop(), self._room())

    def _room(self) -> int | None:
        """How many requests of mean cost what is left of the budgets would pay; few, while the mean is hardly known."""
        limits, answered = self._limits, sum(self._statuses.values())
        if limits.tokens is None and limits.usd is None:
            return None
        most = max(FIRST_UNDER_BUDGET, 2 * answered)
        tokens = self._sums["prompt_tokens"] + self._sums["completion_tokens"]
        if limits.tokens is not None and tokens:
            most = min(most, (limits.tokens - limits.spent_tokens - tokens) * answered // tokens)
        micro = self._sums["cost_micro_usd"]
        if limits.usd is not None and micro:
            most = min(most, int(((limits.usd - limits.spent_usd) * 1e6 - micro) * answered / micro))
        return max(1, most)

    async def asks(self, keys: list[str]) -> list[str]:
        """Those of the keys that are to be asked: none if the run is stopping; none whose completion has arrived (an
        answering actor that was restarted is handed its rows again)."""
        if self._why_stop():
            return []
        if self._first_asked is None:
            self._first_asked = time.monotonic()
        return [key for key in keys if key not in self._kept]

    async def pulse(self, in_flight: int) -> Word:
        """Said by the answering actor every second: how many requests are under way."""
        self._in_flight = in_flight
        self._watch_folder()
        if self._buffer and not in_flight:
            asyncio.get_running_loop().call_later(IDLE_S, self._flush_if_idle)
        return self._word()

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
            "in_flight": self._in_flight,
            "prompt_tokens": self._sums["prompt_tokens"],
            "completion_tokens": self._sums["completion_tokens"],
            "cost_usd": self._sums["cost_micro_usd"] / 1e6,
            "stopped": self._stopped,
        }

    async def flush(self) -> None:
        """Write what is buffered."""
        while self._buffer or (self._writer is not None and not self._writer.done()):
            self._flush()
            if self._writer is not None:
                await self._writer

    async def close(self) -> None:
        """Write what is buffered, and let go of the folder."""
        await self.flush()
        if self._lock is not None:
            await asyncio.to_thread(self._lock.release)
