"""The journal without Ray: durable before it answers, bounded parts, budgets, and no hang when it cannot write."""

from __future__ import annotations

import asyncio
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest

from cluster import journal as module
from cluster import rows
from cluster.answers import Completion
from cluster.errors import StoreError
from cluster.journal import FIRST_UNDER_BUDGET, FLUSH_ROWS, Journal, Limits, Word
from cluster.lock import LeaseLock, Locked, folder_lock
from cluster.store import RunFolder

NO_LIMITS = Limits()


def record(key: str, **fields: Any) -> dict[str, Any]:
    values = {"status": "ok", "prompt_tokens": 10, "completion_tokens": 5, "cost_usd": None}
    return {"key": key, "request_id": key, **values, **fields}


def keys(tmp_path: Path) -> list[str]:
    found: list[str] = RunFolder(str(tmp_path)).read("completions", rows.COMPLETION).column("key").to_pylist()
    return found


async def opened(tmp_path: Path | str, limits: Limits = NO_LIMITS) -> Journal:
    journal = Journal(str(tmp_path), limits)
    await journal.open()
    return journal


def test_a_completion_is_on_disk_when_append_returns(tmp_path: Path) -> None:
    async def go() -> None:
        journal = await opened(tmp_path)
        assert await journal.asks(["a"]) == ["a"]
        assert await journal.append([record("a")], 0) == Word()
        assert keys(tmp_path) == ["a"]  # alone and nothing under way: not held back for five seconds
        await journal.close()

    asyncio.run(go())


def test_a_part_is_full_at_64_rows(tmp_path: Path) -> None:
    async def go() -> None:
        journal = await opened(tmp_path)
        assert await journal.asks(["the one under way"])  # so that idleness does not flush
        waiting = [asyncio.create_task(journal.append([record(str(i))], 1)) for i in range(FLUSH_ROWS + 1)]
        await asyncio.gather(*waiting[:FLUSH_ROWS])
        assert len(keys(tmp_path)) >= FLUSH_ROWS
        await journal.flush()
        await waiting[-1]
        assert len(keys(tmp_path)) == FLUSH_ROWS + 1
        await journal.close()

    asyncio.run(go())


def test_a_row_waits_for_company_at_most_the_flush_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FLUSH_S", 0.2)

    async def go() -> None:
        journal = await opened(tmp_path)
        assert await journal.asks(["the one under way"])
        await asyncio.wait_for(journal.append([record("a")], 1), 10)
        assert keys(tmp_path) == ["a"]
        await journal.close()

    asyncio.run(go())


def test_what_has_arrived_is_not_asked_again(tmp_path: Path) -> None:
    async def go() -> None:
        journal = await opened(tmp_path)
        assert await journal.asks(["a", "b"]) == ["a", "b"]
        assert await journal.asks(["a"]) == ["a"]  # the actor that asked died before the answer: another asks
        await journal.append([record("a")], 0)
        assert await journal.asks(["a", "b"]) == ["b"]
        assert await journal.append([record("a", status="empty")], 0) == Word()  # too late: the first one stands
        assert keys(tmp_path) == ["a"]
        stats = await journal.stats()
        assert (stats["in_flight"], stats["answered"], stats["statuses"]) == (0, 1, {"ok": 1})
        await journal.close()

    asyncio.run(go())


def test_speed_is_counted_from_the_first_request(tmp_path: Path) -> None:
    async def go() -> None:
        journal = await opened(tmp_path)
        assert (await journal.stats())["seconds"] == 0
        await journal.asks(["a"])
        await journal.append([record("a")], 0)
        assert (await journal.stats())["seconds"] > 0
        await journal.close()

    asyncio.run(go())


def test_closing_writes_what_is_buffered_and_frees_the_folder(tmp_path: Path) -> None:
    async def go() -> None:
        journal = await opened(tmp_path)
        task = asyncio.create_task(journal.append([record("a")], 1))
        await asyncio.sleep(0)
        other = Journal(str(tmp_path), Limits())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "folder_lock", lambda folder: folder_lock(folder, wait_s=0))
            with pytest.raises(Locked):
                await other.open()
        await journal.close()
        await task
        assert keys(tmp_path) == ["a"]
        await other.open()
        await other.close()

    asyncio.run(go())


@pytest.mark.parametrize(
    ("limits", "stops_at", "named"),
    [
        (Limits(tokens=45), 3, "budget.tokens: 45 tokens are used"),
        (Limits(tokens=45, spent_tokens=30), 1, "budget.tokens"),
        (Limits(usd=0.3), 2, "budget.usd: 0.3 US dollars are used"),
        (Limits(usd=0.3, spent_usd=0.2), 1, "budget.usd"),
        (Limits(seconds=0.0), 1, "budget.hours: 0 hours are used"),
    ],
)
def test_a_budget_says_stop(tmp_path: Path, limits: Limits, stops_at: int, named: str) -> None:
    async def go() -> None:
        journal = await opened(tmp_path, limits)
        for i in range(1, stops_at + 1):
            why = (await journal.append([record(str(i), cost_usd=0.2)], 0)).stop
            assert bool(why) == (i == stops_at)
        assert named in why
        assert await journal.stopped() == why
        assert not await journal.asks(["another"])
        assert len(keys(tmp_path)) == stops_at  # the row that used the budget up is kept
        await journal.close()

    asyncio.run(go())


def test_under_a_budget_no_more_are_under_way_than_it_pays_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "IDLE_S", 0.0)

    async def go() -> None:
        journal = await opened(tmp_path, Limits(usd=10.0, tokens=1_000_000))
        assert (await journal.pulse(0)).most == FIRST_UNDER_BUDGET  # nobody knows yet what one costs
        word = Word()
        for i in range(40):
            word = await journal.append([record(str(i), cost_usd=0.2)], 0)
            assert word.stop == ""
            assert word.most is not None
            assert word.most <= 2 * (i + 1) or word.most == FIRST_UNDER_BUDGET
        assert word.most == 10  # 2 dollars are left, at 0.2 each
        word = await journal.append([record(str(i), cost_usd=0.2) for i in range(40, 49)], 0)
        assert word == Word("", 1)
        assert "budget.usd" in (await journal.append([record("last", cost_usd=0.3)], 0)).stop
        await journal.close()

    asyncio.run(go())


def test_what_comes_during_a_write_joins_the_next_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()
    append = RunFolder.append

    def slow(folder: RunFolder, kind: str, records: list[dict[str, Any]], schema: Any) -> None:
        begun.set()
        assert go_on.wait(30)
        append(folder, kind, records, schema)

    async def go() -> None:
        journal = await opened(tmp_path)
        monkeypatch.setattr(RunFolder, "append", slow)
        first = asyncio.create_task(journal.append([record(f"a{i}") for i in range(FLUSH_ROWS)], 1))
        assert await asyncio.to_thread(begun.wait, 30)
        rest = [asyncio.create_task(journal.append([record(f"b{i}")], 1)) for i in range(2 * FLUSH_ROWS)]
        await journal.pulse(1)  # the loop is free while a part is written
        assert not first.done()
        go_on.set()
        await asyncio.gather(first, *rest)
        assert len(RunFolder(str(tmp_path)).parts("completions")) == 2
        await journal.close()

    asyncio.run(go())


@pytest.mark.parametrize("fault", ["disk", "bug"])
def test_a_journal_that_cannot_write_tells_every_waiting_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    def fail(*_arguments: Any) -> None:
        raise StoreError("no space left") if fault == "disk" else OverflowError("too large")

    async def go() -> None:
        journal = await opened(tmp_path)
        monkeypatch.setattr(RunFolder, "append", fail)
        for _ in range(2):  # and the next rows are not left waiting for a dead future
            tasks = [asyncio.create_task(journal.append([record(str(i))], 1)) for i in range(3)]
            for result in await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10):
                assert isinstance(result, StoreError)
                assert ("no space left" if fault == "disk" else "too large") in str(result)
        assert await journal.stopped() != ""
        await journal.close()

    asyncio.run(go())


def test_a_completion_has_the_columns_of_its_schema() -> None:
    fields = {"key", "request_id", *Completion.__dataclass_fields__}
    assert fields == set(rows.COMPLETION.names)


def test_a_disk_that_runs_full_stops_the_run_before_it_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def go() -> None:
        journal = await opened(tmp_path)
        assert (await journal.pulse(1)).stop == ""
        monkeypatch.setattr(RunFolder, "free_bytes", lambda _self: 7 * 2**20)
        assert (await journal.pulse(1)).stop == ""  # looked at every few seconds only
        monkeypatch.setattr(module, "SPACE_S", 0)
        stop = (await journal.pulse(1)).stop
        assert stop.startswith("only 7 MiB are free at "), stop
        assert stop.endswith("free some, and the same command resumes")
        await journal.append([record("a")], 0)  # what was under way is still kept
        assert keys(tmp_path) == ["a"]
        await journal.close()

    asyncio.run(go())


def test_a_journal_whose_lease_is_lost_writes_nothing_more() -> None:
    async def go() -> None:
        url = f"memory://{uuid.uuid4().hex}/run"
        journal = await opened(url)
        await journal.append([record("a")], 0)
        lease = journal._lock
        assert isinstance(lease, LeaseLock)
        lease._lost = "another driver took its lease over"
        with pytest.raises(StoreError, match="this one stops, and the same command resumes"):
            await journal.append([record("b")], 0)
        assert "took its lease over" in (await journal.pulse(0)).stop
        assert RunFolder(url).read("completions", rows.COMPLETION).column("key").to_pylist() == ["a"]
        await journal.close()

    asyncio.run(go())
