"""`launch/build.py`: the pipeline of `serial7.build` with a model behind it, and with rows from a hub.

    launch/build.py sources=data/sources out=built model=none per_source=125
    launch/build.py sources=[data/tabmwp,hub:openai/gsm8k:main:test] out=built model=gpt-5.4-nano budget.usd=5

The rules and the counting are serial7's; here is what it may not have: a client, an engine, a clock, a network. Every
answer of the model is durable before it is used: the same command asks nothing twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

import yaml  # type: ignore[import-untyped]  # PyYAML, which OmegaConf brings, ships no types

from cluster.answers import Completion
from cluster.client import ChatClient, EndPoint
from cluster.config import CONFIGS, Config, digest, load
from cluster.errors import BudgetReached, EngineError, Incomplete, JobError, StoreError, UsageError
from cluster.lock import folder_lock
from cluster.plan import endpoint_identity
from cluster.serving import Served, serve
from cluster.store import RunFolder, resolve_out
from serial7.build.pipeline import Built, Each, Rowset, Settings, build, rowset
from serial7.build.records import Place, Rejection, RowFault, SourceRecord
from serial7.build.sources import read_rows, without_twins
from serial7.build.stages import digest as text_digest

log = logging.getLogger("cluster")

HUB = "hub:"
OF_MODEL = ("sampling", "provider", "engine", "client", "budget", "reasoning_end")
ANSWERS = "answers.jsonl"
RETRIED = ("provider_error", "timed_out")  # asked again by the next command; the others stand

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class BuildConfig:
    """One build; see `configs/build.yaml`. `model_config`: None for `model=none`."""

    sources: list[str] = field(default_factory=list)
    out: str = ""
    seed: int = 7
    per_source: int = 0
    family_cap: int = 2
    rounds: int = 3
    model: str = "none"
    model_config: Config | None = None


def load_build(arguments: Sequence[str], configs: Path = CONFIGS) -> BuildConfig:
    """`configs/build.yaml`, then the dotlist; keys of the model's own config (`sampling.*`, ...) go to it.

    Raises:
        UsageError: an unknown key, a value of another type or outside its range, no sources, no out, unknown model.
    """
    values = _yaml((configs / "build.yaml").read_text("utf-8"), "configs/build.yaml")
    known = [f.name for f in fields(BuildConfig) if f.name != "model_config"]
    own: dict[str, Any] = {}
    for_model: list[str] = []
    for argument in arguments:
        key, equals, text = argument.partition("=")
        if not equals:
            raise UsageError(f"{argument!r} is no setting; write key=value, such as per_source=125")
        if key.split(".")[0] in OF_MODEL:
            for_model.append(argument)
        elif key in known:
            own[key] = _yaml(text, f"the command line: {key}")
        else:
            near = difflib.get_close_matches(key, [*known, *OF_MODEL], n=1, cutoff=0.5)
            meant = f" did you mean {near[0]!r}?" if near else ""
            raise UsageError(f"the command line: unknown key {key!r};{meant} see configs/build.yaml for all keys")
    values |= own
    if isinstance(values["sources"], str):
        values["sources"] = [values["sources"]]
    _check(values)
    config = None
    if values["model"] != "none":
        config = load([f"model={values['model']}", *for_model], configs)
        if config.kind == "gold":
            raise UsageError("model: gold answers with what is to be made; give model=none or a model that can write")
    elif for_model:
        raise UsageError(f"{for_model[0].partition('=')[0]} is a setting of a model; give model=NAME too")
    return BuildConfig(**values, model_config=config)


def _yaml(text: str, where: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UsageError(f"{where} is not YAML: {str(error).splitlines()[0]}") from error


def _check(values: Mapping[str, Any]) -> None:
    sources = values["sources"]
    if not isinstance(sources, list) or not sources or not all(isinstance(s, str) and s for s in sources):
        raise UsageError(
            "sources: a file or folder of rows is due, or several: sources=[data/tabmwp,hub:openai/gsm8k:main:test]"
        )
    if not isinstance(values["out"], str) or not values["out"]:
        raise UsageError("out: a folder is due, such as out=built")
    if "://" in values["out"]:
        raise UsageError(f"out: {values['out']} is no local folder; stages are written to one")
    for key, least in (("seed", None), ("per_source", 0), ("family_cap", 1), ("rounds", 1)):
        value = values[key]
        if not isinstance(value, int) or isinstance(value, bool) or (least is not None and value < least):
            due = "an integer" if least is None else f"an integer of at least {least}"
            raise UsageError(f"{key}: {value!r} is not {due}")
    if not isinstance(values["model"], str):
        raise UsageError(f"model: {values['model']!r} is no name; none or a name of configs/model/ is due")


def make(arguments: Sequence[str]) -> int:
    """`launch/build.py`: run the pipeline to its exit code.

    Raises:
        JobError: usage; or requests that got no answer, or a budget reached: the same command goes on.
    """
    config = load_build(arguments)
    out = RunFolder(resolve_out(config.out))
    rows = [_rowset(source) for source in config.sources]
    out.probe()
    lock = folder_lock(out)
    settings = Settings(config.seed, config.per_source, config.family_cap, config.rounds)
    try:
        if config.model_config is None:
            built = build(rows, Path(out.path), settings, say=log.info)
        else:
            with asker(config.model_config, Path(out.path)) as ask:
                built = build(
                    rows,
                    Path(out.path),
                    settings,
                    complete=ask,
                    model=ask.identity,
                    each=Pool(config.model_config.client.connections),
                    say=log.info,
                )
    finally:
        lock.release()
    _show(built)
    return 0


def _show(built: Built) -> None:
    for line in built.summary():
        log.info("%s", line.encode("utf-8", "backslashreplace").decode())


def _rowset(source: str) -> Rowset:
    return hub_rowset(source) if source.startswith(HUB) else rowset(Path(resolve_out(source)))


def hub_rowset(source: str) -> Rowset:
    """The rows of `hub:NAME[:CONFIGURATION[:SPLIT]]`, through the `datasets` library.

    Raises:
        UsageError: the library is not installed, or the hub cannot give the data set.
    """
    try:
        import datasets  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise UsageError(
            f"sources: {source} needs the library `datasets` (pip install datasets); or give a local path"
        ) from error
    name, _, rest = source.removeprefix(HUB).partition(":")
    configuration, _, split = rest.partition(":")
    try:
        loaded = datasets.load_dataset(name, configuration or None, split=split or "test")
    except Exception as error:  # the library raises many kinds for a name, a network, a disk
        raise UsageError(f"sources: {source}: {type(error).__name__}: {str(error).splitlines()[0]:.160}") from error
    file = "/".join(filter(None, (name, configuration, split or "test")))
    found: list[tuple[Place, Mapping[str, Any] | RowFault]] = [
        (Place(file, number), dict(row)) for number, row in enumerate(loaded, 1)
    ]

    def items() -> Iterator[SourceRecord | Rejection]:
        return without_twins(read_rows(found, file))

    content = json.dumps([row for _, row in found], ensure_ascii=False, sort_keys=True, default=str)
    return Rowset(source, text_digest(file, content), items)


class Pool(Each):
    """Several items at once; one that got no answer does not keep the others from theirs."""

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def __call__(self, function: Callable[[T], U], items: Iterable[T]) -> list[U]:
        with ThreadPoolExecutor(self._workers, thread_name_prefix="build") as pool:
            futures = [pool.submit(function, item) for item in items]
            failed: list[JobError] = []
            results: list[U] = []
            for future in futures:
                try:
                    results.append(future.result())
                except JobError as error:
                    failed.append(error)
                    if not isinstance(error, Incomplete):  # a budget, a refusal, a dead engine: no other will do better
                        for other in futures:
                            other.cancel()
                        raise
        if failed:
            raise Incomplete(f"{len(failed)} requests got no answer ({failed[0]}); the same command asks them again")
        return results


class Asker:
    """Messages -> the model's text, from what was answered before or by asking; callable from several threads."""

    def __init__(self, config: Config, out: Path, client: ChatClient, loop: asyncio.AbstractEventLoop) -> None:
        self._config, self._client, self._loop = config, client, loop
        self._file = out / ANSWERS
        self._lock = threading.Lock()
        self._known = self._read()
        self._started = time.monotonic()
        self._tokens = sum(r.get("tokens", 0) for r in self._known.values())
        self._usd = sum(r.get("usd") or 0.0 for r in self._known.values())
        self.identity = digest({"reasoning_end": config.reasoning_end, **endpoint_identity(config)})
        self.asked = 0

    def __call__(self, messages: list[dict[str, str]]) -> str:
        """The text; empty where the model refused, or gave none.

        Raises:
            Incomplete: the end point gave no answer. BudgetReached: a budget of the config is used up.
        """
        key = digest({"model": self.identity, "messages": messages})
        known = self._known.get(key)
        if known is None:
            self._check_budget()
            ask = self._client.complete(messages, self._config.sampling.seed)
            completion = asyncio.run_coroutine_threadsafe(ask, self._loop).result()
            assert completion is not None
            if completion.status in RETRIED:
                raise Incomplete(completion.error or completion.status)
            known = self._keep(key, completion)
        return str(known["text"])

    def _check_budget(self) -> None:
        budget = self._config.budget
        hours = (time.monotonic() - self._started) / 3600
        for name, used, most in (
            ("usd", self._usd, budget.usd),
            ("tokens", self._tokens, budget.tokens),
            ("hours", hours, budget.hours),
        ):
            if most is not None and used >= most:
                raise BudgetReached(f"budget.{name} of {most:g} is used up; the same command with a larger one goes on")

    def _keep(self, key: str, completion: Completion) -> dict[str, Any]:
        scored = completion.status in ("ok", "truncated")
        tokens = max(0, completion.prompt_tokens) + max(0, completion.completion_tokens)
        record = {
            "key": key,
            "status": completion.status,
            "text": completion.text if scored else "",
            "tokens": tokens,
            "usd": completion.cost_usd,
            "observed_model": completion.observed_model,
            "observed_provider": completion.observed_provider,
        }
        line = json.dumps(record, ensure_ascii=False) + "\n"
        with self._lock:
            try:
                with self._file.open("ab") as file:
                    file.write(line.encode("utf-8", "backslashreplace"))
                    file.flush()
                    os.fsync(file.fileno())
            except OSError as error:
                raise StoreError(f"cannot write {self._file}: {error.strerror}; what was stored is kept") from error
            self._known[key] = record
            self._tokens += tokens
            self._usd += completion.cost_usd or 0.0
            self.asked += 1
        return record

    def _read(self) -> dict[str, dict[str, Any]]:
        """The answers kept before. A line cut by a kill is left behind a line end of its own, and asked again."""
        if not self._file.is_file():
            return {}
        data = self._file.read_bytes()
        if data and not data.endswith(b"\n"):
            with self._file.open("ab") as file:
                file.write(b"\n")
        found = {}
        for line in data.splitlines():
            with contextlib.suppress(ValueError):
                record = json.loads(line)
                if isinstance(record, dict) and {"key", "text"} <= record.keys():
                    found[record["key"]] = record
        return found


@contextlib.contextmanager
def asker(config: Config, out: Path) -> Iterator[Asker]:
    """An asker over the model's end points; engines are started for it and ended with it."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True, name="answers")
    thread.start()

    def run(coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result()

    async def client_of(described: list[dict[str, Any]], actors: list[Any]) -> ChatClient:
        endpoints = [EndPoint(e["base_url"], e["api_key"]) for e in described]

        async def revive(lost: EndPoint) -> EndPoint:
            import ray

            try:
                found = await actors[endpoints.index(lost)].ensure_alive.remote()
            except ray.exceptions.RayActorError as error:
                raise EngineError("an engine's owner died, and its engine with it; the same command goes on") from error
            return EndPoint(found["base_url"], found["api_key"])

        served = (config.engine.served_name or config.model) if actors else str(config.provider.model_id)
        return ChatClient(
            endpoints,
            served,
            config.sampling,
            config.client,
            routing=config.provider.routing,
            headers=config.provider.headers,
            reasoning_end=config.reasoning_end,
            on_lost=revive if actors else None,
        )

    try:
        with _endpoints(config, out) as (described, actors):
            client = run(client_of(described, actors))
            try:
                yield Asker(config, out, client, loop)
            finally:
                run(client.close())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)


@contextlib.contextmanager
def _endpoints(config: Config, out: Path) -> Iterator[Served]:
    from cluster.session import ray_session

    with ray_session() if config.kind == "engine" else contextlib.nullcontext(), serve(config, out / "logs") as served:
        yield served
