"""ask -> answer -> judge, as a Ray Data stream.

An answering actor hands each completion to the journal as it arrives, and passes the row on only when the journal says
that it is on disk: what happens later (a verifier that dies, a driver that is killed) cannot lose it.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
import traceback
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

import pyarrow as pa
import ray
import uvloop

from cluster import rows
from cluster.answers import Completion
from cluster.client import ChatClient, EndPoint, collect_rarely
from cluster.config import Config
from cluster.errors import EngineError, JobError, StoreError
from cluster.journal import Word
from serial7 import prompts
from serial7.artifacts import load_artifacts
from serial7.batch import verdict_record
from serial7.check import Finding, Outcome
from serial7.grid import Request
from serial7.guard import Guard
from serial7.judge import judge
from serial7.metrics import JUDGED
from serial7.verify import Verdict, exceeded

BLOCK_ROWS = 8  # a block is answered together; small ones keep the engine busy to the end
BLOCKS_AT_HAND = 64  # each waits in a thread of the answering actor
MOST_BLOCKS = 1024  # Ray Data keeps about 100 KB in the driver for each
ROWS_AT_HAND = 8  # a connection: a block leaves when its slowest row is done, and real latencies have long tails
JUDGE_ROWS = 64  # a call of the verifier costs Ray as much as some verdicts do; what is answered is stored already
GATHER_S = 0.02  # completions that arrive within it reach the journal in one call
GATHER_ROWS = 256

ASKED = pa.schema([*rows.PLAN, pa.field("messages", pa.string())])
JUDGED_ROW = pa.schema(
    [
        *rows.INSTANCE,
        pa.field("findings", pa.list_(pa.struct([f for f in rows.FINDING if f.name != "key"]))),
    ]
)


def ask(batch: pa.Table, data: str) -> pa.Table:
    """Plan rows -> the same with the chat messages of each (JSON). Pure."""
    artifacts = load_artifacts(data)
    texts = [json.dumps(prompts.messages(r, artifacts[r.artifact_id])) for r in map(request_of, batch.to_pylist())]
    return batch.append_column("messages", pa.array(texts, pa.string())).cast(ASKED)


def request_of(row: Mapping[str, Any]) -> Request:
    """The request of a plan row."""
    return Request(
        id=row["request_id"],
        condition=row["condition"],
        level=row["level"],
        format=row["format"],
        source_format=row["source_format"],
        language=row["language"],
        artifact_id=row["artifact_id"],
        rules=tuple(row["rules"]),
    )


class Answerer:
    """Asks the model: one event loop and one client, however many blocks are handed to it at once.

    A row comes out with its completion, durable by then; a row that was not asked (the run is stopping) does not come
    out. Errors of the end point are data; an engine that is gone for good stops the run.
    """

    def __init__(self, config: Config, endpoints: list[dict[str, Any]], engines: list[Any], journal: Any) -> None:
        self._config = config
        self._journal = journal
        self._engines = engines
        self._stopped = ""
        self._loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True, name="answers").start()
        self._client = self._run(self._make_client(endpoints)) if config.kind != "gold" else None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._outbox: asyncio.Queue[tuple[dict[str, Any], asyncio.Future[None]]] = asyncio.Queue()
        self._posts: set[asyncio.Task[None]] = set()
        self._most: int | None = None
        self._unheard = 0  # completions that the journal's last word did not count yet
        self._run(self._heed(ray.get(journal.pulse.remote(0))))  # a budget's ceiling holds from the first request on
        collect_rarely()
        for always in (self._watch(), self._collect()):
            asyncio.run_coroutine_threadsafe(always, self._loop)

    def _run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _make_client(self, endpoints: list[dict[str, Any]]) -> ChatClient:
        config = self._config
        engine = config.kind == "engine"
        self._endpoints = [EndPoint(e["base_url"], e["api_key"]) for e in endpoints]
        return ChatClient(
            self._endpoints,
            (config.engine.served_name or config.model) if engine else str(config.provider.model_id),
            config.sampling,
            config.client,
            routing=config.provider.routing,
            headers=config.provider.headers,
            reasoning_end=config.reasoning_end,
            on_lost=self._revive if engine else None,
        )

    async def _revive(self, lost: EndPoint) -> EndPoint:
        try:
            found = await self._engines[self._endpoints.index(lost)].ensure_alive.remote()
        except ray.exceptions.RayActorError as error:
            raise EngineError("an engine's owner died, and its engine with it; the same command resumes") from error
        return EndPoint(found["base_url"], found["api_key"])

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(1)
            await self._heed(await self._journal.pulse.remote(self._in_flight()))

    def _in_flight(self) -> int:
        return len(self._tasks) if self._client is None else self._client.limit.in_flight

    async def _heed(self, word: Word) -> None:
        self._most = word.most
        self._set_cap()
        if word.stop:
            await self._stop(word.stop, tell=False)

    def _set_cap(self) -> None:
        if self._client is not None:
            self._client.limit.cap(None if self._most is None else self._most - self._unheard)

    async def _collect(self) -> None:
        """From the outbox to the journal, many completions a call."""
        while True:
            batch = [await self._outbox.get()]
            await asyncio.sleep(GATHER_S)
            while len(batch) < GATHER_ROWS and not self._outbox.empty():
                batch.append(self._outbox.get_nowait())
            post = asyncio.create_task(self._post(batch))
            self._posts.add(post)
            post.add_done_callback(self._posts.discard)

    async def _post(self, batch: list[tuple[dict[str, Any], asyncio.Future[None]]]) -> None:
        try:
            word = await self._journal.append.remote([record for record, _ in batch], self._in_flight())
            self._unheard -= len(batch)
            await self._heed(word)
        except Exception as error:
            for _, durable in batch:
                durable.set_exception(error)
        else:
            for _, durable in batch:
                durable.set_result(None)

    async def _stop(self, why: str, *, tell: bool = True) -> None:
        self._stopped = self._stopped or why
        if tell:
            await self._journal.stop.remote(why)
        if not why.startswith("budget."):  # at the end of a budget, what is under way is paid for: it is kept
            for task in self._tasks:
                task.cancel()

    def __call__(self, batch: pa.Table) -> pa.Table:
        return self._run(self._answer_all(batch))

    async def _answer_all(self, batch: pa.Table) -> pa.Table:
        plan = batch.to_pylist()
        try:
            wanted = set(await self._journal.asks.remote([row["key"] for row in plan]))
        except ray.exceptions.RayError as error:
            await self._fail(error)
            wanted = set()
        plan = [row for row in plan if row["key"] in wanted]
        answered = await asyncio.gather(*(self._answer(row) for row in plan))
        kept = [(row, done) for row, done in zip(plan, answered, strict=True) if done is not None]
        table = rows.table([done for _, done in kept], rows.COMPLETION)
        for name in ("condition", "level", "format", "source_format", "language", "artifact_id", "rules"):
            values = pa.array([row[name] for row, _ in kept], rows.PLAN.field(name).type)
            table = table.append_column(rows.PLAN.field(name), values)
        return table

    async def _answer(self, row: dict[str, Any]) -> dict[str, Any] | None:
        """The completion of a row, durable; None if it was not asked."""
        try:
            completion = await self._unless_stopped(row)
            if completion is None:
                return None
            record = {"key": row["key"], "request_id": row["request_id"], **asdict(completion)}
            durable = self._loop.create_future()
            self._unheard += 1
            self._set_cap()
            await self._outbox.put((record, durable))
            await durable
            return record
        except (JobError, ray.exceptions.RayError) as error:
            await self._fail(error)
            return None

    async def _fail(self, error: Exception) -> None:
        cause = getattr(error, "cause", None) or error
        knows = isinstance(error, ray.exceptions.RayActorError) or isinstance(cause, StoreError)
        await self._stop(str(cause), tell=not knows)  # the journal is gone, or said so itself

    async def _unless_stopped(self, row: dict[str, Any]) -> Completion | None:
        if self._stopped:
            return None
        task = asyncio.create_task(self._complete(row))
        self._tasks.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            return None
        finally:
            self._tasks.discard(task)

    async def _complete(self, row: dict[str, Any]) -> Completion | None:
        if self._client is None:
            request = request_of(row)
            text = prompts.gold_answer(request, load_artifacts(self._config.data)[request.artifact_id])
            return Completion("ok", text=text, finish_reason="stop", observed_model="gold", asked_at=time.time())
        # A repeat is another sample: its own seed where the run has one.
        seed: int | None = self._config.sampling.seed
        if seed is not None:
            seed += row["repeat"]

        async def still_wanted() -> bool:
            return not self._stopped

        completion: Completion | None = await self._client.complete(json.loads(row["messages"]), seed, still_wanted)
        return completion


class Verifier:
    """Judges completions, each in a limited process whose death costs one record."""

    def __init__(self, data: str, reasoning_end: list[str], verifier: str) -> None:
        self._guard = Guard(judge_row, _dead_row)
        self._data = data
        self._reasoning_end = tuple(reasoning_end)
        self._verifier = verifier

    def __call__(self, batch: pa.Table) -> pa.Table:
        todo = [row for row in batch.to_pylist() if row["status"] in JUDGED]
        found = self._guard.map((row, self._data, self._reasoning_end) for row in todo)
        judged = [
            {"key": row["key"], "request_id": row["request_id"], "verifier": self._verifier, **verdict}
            for row, verdict in zip(todo, found, strict=True)
        ]
        return rows.table(judged, JUDGED_ROW)


Job = tuple[dict[str, Any], str, tuple[str, ...]]


def judge_row(job: Job) -> dict[str, Any]:
    row, data, ends = job
    request = request_of(row)
    try:
        return _verdict_row(judge(request, load_artifacts(data)[request.artifact_id], row["text"], ends))
    except MemoryError:
        raise  # the guard's limit: the answer's doing
    except Exception:  # ours: an ERROR of this row, never scored; the run says so and ends with exit code 1
        return _verdict_row(Verdict((), error=traceback.format_exc()))


def _dead_row(job: Job, why: str) -> dict[str, Any]:
    request = request_of(job[0])
    if request.condition == "derive":
        return _verdict_row(Verdict((Finding("semantic.answer", Outcome.FAIL, why),)))
    ir = load_artifacts(job[1])[request.artifact_id].ir
    arguments = {"format": request.format, "condition": request.condition, "rules": request.rules, "gold": ir}
    return _verdict_row(exceeded(why, **arguments))  # type: ignore[arg-type]


def _verdict_row(verdict: Verdict) -> dict[str, Any]:
    record = verdict_record(verdict)
    return {
        "fc": verdict.fc,
        "hsr": verdict.hsr,
        "hsr_inputs": verdict.hsr_inputs,
        "full": verdict.full,
        "error": verdict.error,
        "findings": record["findings"],
    }


def stream(
    config: Config, plan: pa.Table, endpoints: list[dict[str, Any]], engines: list[Any], journal: Any, verifier: str
) -> Iterator[pa.Table]:
    """Run the pending rows of the plan through the job; yields judged rows (JUDGED_ROW) as they come."""
    size = block_rows(config.client.connections, len(plan))
    # Large blocks, large reserve: one leaves when its slowest row is done.
    rows_at_hand = max(ROWS_AT_HAND * config.client.connections, size * BLOCKS_AT_HAND if size > BLOCK_ROWS else 0)
    concurrent_blocks = max(2, -(-rows_at_hand // size))
    answers = ray.data.ActorPoolStrategy(
        size=1,
        max_tasks_in_flight_per_actor=concurrent_blocks,
        max_concurrent_calls_per_actor=concurrent_blocks,
        enable_true_multi_threading=True,  # blocks wait in threads; one event loop does the work
    )
    dataset = (
        _blocks(plan, size)
        .map_batches(ask, fn_args=(config.data,), batch_format="pyarrow", batch_size=None, num_cpus=0.1)
        .map_batches(
            Answerer,
            fn_constructor_args=(config, endpoints, engines, journal),
            batch_format="pyarrow",
            batch_size=None,
            compute=answers,
            num_cpus=0.1,
        )
    )
    yield from _judged(dataset, config, verifier)


def block_rows(connections: int, requests: int = 0) -> int:
    """Rows of a block: 8, and more where the rows at hand would take more than 64 blocks, or the plan more than 1,024."""
    return max(BLOCK_ROWS, -(-ROWS_AT_HAND * connections // BLOCKS_AT_HAND), -(-requests // MOST_BLOCKS))


def judge_stored(config: Config, slabs: Iterable[pa.Table], verifier: str) -> Iterator[pa.Table]:
    """Judge completions that lie in the run folder (joined with their plan rows), slab after slab; no model."""
    for slab in slabs:
        yield from _judged(_blocks(slab, 512), config, verifier)


def _blocks(table: pa.Table, size: int) -> Any:
    return ray.data.from_arrow([table.slice(i, size).combine_chunks() for i in range(0, len(table), size)])


def _judged(dataset: Any, config: Config, verifier: str) -> Iterator[pa.Table]:
    judged = dataset.map_batches(
        Verifier,
        fn_constructor_args=(config.data, config.reasoning_end, verifier),
        batch_format="pyarrow",
        batch_size=JUDGE_ROWS,
        compute=ray.data.ActorPoolStrategy(size=config.verifiers),
        num_cpus=0.2,
    )
    for batch in judged.iter_batches(batch_format="pyarrow", batch_size=None, prefetch_batches=4):
        if len(batch):
            yield batch


def split_verdicts(judged: pa.Table) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Judged rows -> instance rows and finding rows (long form)."""
    instances, findings = [], []
    for row in judged.to_pylist():
        findings += [{"key": row["key"], **finding} for finding in row.pop("findings")]
        instances.append(row)
    return instances, findings
