"""How fast: a served engine alone and through the job, the job's client and the whole job against a stand-in.

The arms ask the same prompts in the same order, never streamed:

```
engine     the served engine, asked by a bare loop of HTTP requests: what the hardware gives
job        the same engine through stream, journal and verifiers
client     the job's HTTP client alone, against a stand-in of known latency (`cluster.latency_server`)
stand_in   the whole job against that stand-in
```
Arms take turns within a round, in turned order every other round. Each measurement on an engine begins after requests
that are not counted, under a `cache_salt` of its own: none finds the prefixes of another in the engine's cache.

Steady state lies between the time when as many requests as fit at once have been answered, and the sending of the last
request; rates count what was answered in it. Only ratios of one run mean something on a shared machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import uvloop
from rich.console import Console
from rich.table import Table

from cluster import rows
from cluster.bench_figures import Asked, Measurement, ratios, record
from cluster.client import ChatClient, EndPoint, collect_rarely
from cluster.config import Client, Config, Sampling, as_dict, engine_spec, load
from cluster.display import LOG_WIDTH
from cluster.errors import EngineError, Incomplete, UsageError
from cluster.plan import build_plan
from cluster.provenance import environment
from cluster.run import Run, check_plan, check_runnable
from cluster.serving import Served, serve
from cluster.session import ray_session
from cluster.store import RunFolder, final_completions, resolve_out
from serial7.artifacts import load_artifacts
from serial7.grid import load_grid
from serial7.metrics import JUDGED, SCORED
from serial7.prompts import gold_answer

ON_ENGINE = ("engine", "job")
LEAST_ROUNDS = 3  # requests a connection, so that a steady state lies between ramp and tail
STAND_IN_ROUNDS = 12  # the same, for the stand-in's arms
STAND_IN_ANSWERS = 250  # texts, spread over the grid
STAND_IN_MESSAGES = [{"role": "user", "content": "Write the result as a JSON document. " * 120}]  # 4,400 characters

log = logging.getLogger("cluster")


async def ask_bare(
    base_urls: Sequence[str], keys: Sequence[str], bodies: Sequence[bytes], connections: int
) -> list[Asked]:
    """Ask every body, `connections` at once, by a loop that does nothing else: no retries, nothing stored or judged.
    Several engines get the same share of connections."""
    import aiohttp

    left = iter(bodies)
    asked: list[Asked] = []

    async def worker(session: aiohttp.ClientSession, base_url: str, key: str) -> None:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        for body in left:  # one iterator for all: each takes the next body when it is free
            start, error, usage = time.time(), "", dict[str, int]()
            try:
                async with session.post(f"{base_url}/chat/completions", data=body, headers=headers) as answer:
                    found = await answer.json()
                    error = "" if answer.status == 200 else f"HTTP {answer.status}: {str(found)[:200]}"
                    usage = found.get("usage") or {}
            except (aiohttp.ClientError, ValueError) as problem:
                error = f"{type(problem).__name__}: {problem}"
            tokens = (usage.get("prompt_tokens", -1), usage.get("completion_tokens", -1))
            asked.append(Asked(start, time.time(), *tokens, error))

    limits = {"connector": aiohttp.TCPConnector(limit=0), "timeout": aiohttp.ClientTimeout(total=None)}
    async with aiohttp.ClientSession(**limits) as session:  # type: ignore[arg-type]
        places = [i % len(base_urls) for i in range(connections)]
        await asyncio.gather(*(worker(session, base_urls[i], keys[i]) for i in places))
    return asked


async def ask_by_client(client: ChatClient, messages: Sequence[list[dict[str, str]]]) -> tuple[list[Asked], float]:
    """Ask everything by the job's client; the requests, and the CPU cores that this process used meanwhile."""

    async def one(each: list[dict[str, str]]) -> Asked:
        found = await client.complete(each)
        assert found is not None
        error = "" if found.status in SCORED else found.error or found.status
        end = found.asked_at + found.latency_s
        return Asked(found.asked_at, end, found.prompt_tokens, found.completion_tokens, error)

    cpu, wall = time.process_time(), time.monotonic()
    asked = await asyncio.gather(*(one(each) for each in messages))
    return asked, (time.process_time() - cpu) / (time.monotonic() - wall)


@contextlib.contextmanager
def stand_in_server(median_s: float, sigma: float) -> Iterator[str]:
    """The base URL of a stand-in in a process of its own, on a free loopback port. It answers with gold realizations, so
    that verdicts take what they take in a run."""
    command = [sys.executable, "-m", "cluster.latency_server", "--median", str(median_s), "--sigma", str(sigma)]
    requests, artifacts = load_grid(""), load_artifacts("")
    with tempfile.TemporaryDirectory() as folder:
        answers = Path(folder) / "answers.json"
        some = requests[:: max(1, len(requests) // STAND_IN_ANSWERS)]
        answers.write_text(json.dumps([gold_answer(r, artifacts[r.artifact_id]) for r in some]), "utf-8")
        with _served([*command, "--answers", str(answers)]) as base_url:
            yield base_url


@contextlib.contextmanager
def _served(command: Sequence[str]) -> Iterator[str]:
    root = Path(__file__).resolve().parent.parent
    paths = filter(None, [str(root), os.environ.get("PYTHONPATH")])
    with subprocess.Popen(  # noqa: S603 - our own module
        command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    ) as server:
        try:
            assert server.stdout is not None
            said = server.stdout.readline().split()
            if len(said) != 2:
                raise EngineError(f"the stand-in server did not start; exit code {server.wait()}")
            yield f"http://127.0.0.1:{int(said[1])}/v1"
        finally:
            server.terminate()


def measure_client(connections: int, median_s: float, sigma: float, number: int) -> Measurement:
    """The client alone against a stand-in. `ideal_per_s` = connections / mean latency."""
    with stand_in_server(median_s, sigma) as base_url:

        async def ask() -> tuple[list[Asked], float]:
            collect_rarely()  # as the job does
            policy = Client(connections=connections, deadline_s=600)
            sampling = Sampling(temperature=0.0, max_tokens=512)
            client = ChatClient([EndPoint(base_url)], "stand-in", sampling, policy)
            try:
                return await ask_by_client(client, [STAND_IN_MESSAGES] * (connections * STAND_IN_ROUNDS))
            finally:
                await client.close()

        began = time.time()
        asked, cores = uvloop.run(ask())
    more = {"ideal_per_s": connections / mean_latency(median_s, sigma), "client_cores": cores}
    return Measurement("client", "", number, connections, asked, began, time.time(), more)


def mean_latency(median_s: float, sigma: float) -> float:
    """Of the log-normal distribution of the stand-in, seconds."""
    return median_s * math.exp(sigma**2 / 2)


def measure_job(config: Config, served: Served, arm: str, stop: str, number: int) -> Measurement:
    """A run of the config through the whole job; a run folder of its own under `config.out`.

    Raises:
        Incomplete: requests stayed unanswered: such a run has no throughput to compare.
    """
    began = time.time()
    run = Run(config, served, show=False)
    code = run.go()
    ended = time.time()
    if code in (3, 4):
        raise Incomplete(f"{arm}: the run in {run.folder.url} ended with exit code {code}; its log above says why")
    completions = run.folder.read("completions", rows.COMPLETION)
    chosen = completions.take(sorted(final_completions(completions).values())).to_pylist()
    asked = [
        Asked(
            row["asked_at"],
            row["asked_at"] + row["latency_s"],
            row["prompt_tokens"],
            row["completion_tokens"],
            "" if row["status"] in SCORED else row["error"] or row["status"],
        )
        for row in chosen
    ]
    judged = len(set(run.folder.read("verdicts/instances", rows.INSTANCE).column("key").to_pylist()))
    seconds, verdicts = verification_cost(run.plan, chosen, config)
    duration = max(a.end for a in asked) - min(a.start for a in asked)
    more = {
        "verified": judged,
        "run": run.folder.url,
        "verdict_cpu_ms": 1000 * seconds / verdicts if verdicts else None,
        # Of one core, while completions came.
        "verification_share": seconds / verdicts * judged / duration if verdicts else None,
    }
    return Measurement(arm, stop, number, config.client.connections, asked, began, ended, more)


def verification_cost(
    plan: pa.Table, completions: Sequence[dict[str, Any]], config: Config, most: int = 2000
) -> tuple[float, int]:
    """CPU seconds that the verdicts of up to `most` of these completions take in this process, and their number."""
    from cluster.pipeline import judge_row

    by_key = {row["key"]: row for row in plan.to_pylist()}
    todo = [by_key[c["key"]] | c for c in completions if c["status"] in JUDGED][:most]
    for row in todo[:50]:  # what is read and compiled once
        judge_row((row, config.data, tuple(config.reasoning_end)))
    before = time.process_time()
    for row in todo:
        judge_row((row, config.data, tuple(config.reasoning_end)))
    return time.process_time() - before, len(todo)


def bench(arguments: Sequence[str]) -> int:
    """`launch/bench.py`: measure, write `bench.json`, `bench.png` and a file a measurement, show the table."""
    config = load(arguments)
    settings = config.bench
    _check(config)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    folder = RunFolder(f"{resolve_out(config.out)}/bench/{stamp}_{config.model}")
    if config.dry_run:
        log.info("%d requests a measurement; arms %s", len(build_plan(config)), ", ".join(settings.arms))
        return 0
    folder.probe()
    bench = _Bench(config, folder)
    with ray_session():
        bench.on_stand_in()
        if any(arm in ON_ENGINE for arm in settings.arms):
            bench.on_engine()
        machine = environment()
    return bench.conclude(machine)


def _check(config: Config) -> None:
    """
    Raises:
        UsageError: the arms cannot be measured with this config.
    """
    settings = config.bench
    for package in ("aiohttp", "matplotlib"):
        try:
            __import__(package)
        except ImportError as error:
            raise UsageError(f"{package} is not installed; pip install 'serial7[bench]'") from error
    if not any(arm in ON_ENGINE for arm in settings.arms):
        return
    if config.kind == "gold":
        raise UsageError("model=gold has no engine to measure; bench.arms=[client,stand_in] needs none")
    if config.kind == "api" and "fixed" in settings.stops:
        raise UsageError(
            "bench.stops: answers of fixed length need ignore_eos, which no API promises; give bench.stops=[natural]"
        )
    check_runnable(config)
    plan = build_plan(config)
    check_plan(config, plan)
    least = LEAST_ROUNDS * config.client.connections
    if len(plan) < least:
        raise UsageError(
            f"{len(plan)} requests at {config.client.connections} at once have no steady state; at least {least} are due: "
            "raise limit or repeats, or lower client.connections"
        )


class _Bench:
    """What one command measures and where it puts it."""

    def __init__(self, config: Config, folder: RunFolder) -> None:
        self.config = config
        self.folder = folder
        self.records: list[dict[str, Any]] = []
        self.engines = config.engine.replicas if config.kind == "engine" else 0
        self.gpus = engine_spec(config).gpus_per_replica * self.engines if config.kind == "engine" else 0

    def on_stand_in(self) -> None:
        """The arms that need no engine."""
        settings, config = self.config.bench, self.config
        for number in range(settings.rounds):
            if "client" in settings.arms:
                self._keep(measure_client(settings.connections, settings.median_s, settings.sigma, number))
            if "stand_in" not in settings.arms:
                continue
            with stand_in_server(settings.median_s, settings.sigma) as base_url:
                lone = build_plan(replace(config, repeats=1))
                repeats = -(-STAND_IN_ROUNDS * settings.connections // len(lone))
                asked_so = replace(
                    config,
                    kind="api",
                    repeats=repeats,
                    out=self._runs("stand_in", "", number),
                    provider=replace(config.provider, base_url=base_url, model_id="stand-in", api_key_env=None),
                    client=replace(config.client, connections=settings.connections, per_minute=0, stream=False),
                )
                measured = measure_job(asked_so, ([{"base_url": base_url, "api_key": ""}], []), "stand_in", "", number)
            ideal = settings.connections / mean_latency(settings.median_s, settings.sigma)
            self._keep(replace(measured, more={**measured.more, "ideal_per_s": ideal}))

    def on_engine(self) -> None:
        """The arms on the config's own engines, or on its API."""
        logs = Path(self.folder.file("logs")) if self.folder.local else None
        with serve(self.config, logs) as (endpoints, actors):
            for number in range(self.config.bench.rounds):
                order = [
                    (stop, arm)
                    for stop in self.config.bench.stops
                    for arm in ON_ENGINE
                    if arm in self.config.bench.arms
                ]
                for stop, arm in order if number % 2 == 0 else reversed(order):
                    config = self._salted(arm, stop, number)
                    self._warm_up(config, endpoints)
                    if arm == "engine":
                        self._keep(self._alone(config, endpoints, stop, number))
                    else:
                        self._keep(measure_job(config, (endpoints, actors), arm, stop, number))

    def _salted(self, arm: str, stop: str, number: int) -> Config:
        """The config of one measurement: its own prefix cache, its own run folder, its own way of stopping."""
        config, extra = self.config, dict(self.config.sampling.extra_body)
        if config.kind == "engine":
            extra["cache_salt"] = f"{arm}-{stop}-{number}-{int(time.time())}"
        sampling = replace(config.sampling, extra_body=extra)
        if stop == "fixed":
            extra["ignore_eos"] = True
            sampling = replace(sampling, max_tokens=config.bench.output_tokens)
        client = replace(config.client, stream=False)
        return replace(config, sampling=sampling, client=client, out=self._runs(arm, stop, number))

    def _runs(self, arm: str, stop: str, number: int) -> str:
        return f"{self.folder.url}/runs/{'-'.join(filter(None, (arm, stop, str(number))))}"

    def _bodies(self, config: Config, salt: str = "") -> list[bytes]:
        """The HTTP bodies that the job's client would send, in the order of the plan."""
        from cluster.pipeline import ask

        if salt:
            extra = config.sampling.extra_body | ({"cache_salt": salt} if config.kind == "engine" else {})
            config = replace(config, sampling=replace(config.sampling, extra_body=extra))
        name = (config.engine.served_name or config.model) if config.kind == "engine" else str(config.provider.model_id)
        client = ChatClient([], name, config.sampling, config.client, routing=config.provider.routing)
        messages = ask(build_plan(config), config.data).column("messages").to_pylist()
        return [json.dumps(client.body(json.loads(each))).encode() for each in messages]

    def _ask(self, bodies: list[bytes], config: Config, endpoints: list[dict[str, Any]]) -> list[Asked]:
        urls, keys = [e["base_url"] for e in endpoints], [e["api_key"] for e in endpoints]
        return uvloop.run(ask_bare(urls, keys, bodies, config.client.connections))

    def _warm_up(self, config: Config, endpoints: list[dict[str, Any]]) -> None:
        bodies = self._bodies(config, salt=f"warm-up-{time.time_ns()}")[-self.config.bench.warmup :]
        failed = [a.error for a in self._ask(bodies if self.config.bench.warmup else [], config, endpoints) if a.error]
        if failed:
            raise Incomplete(f"the end point fails: {failed[0]}")

    def _alone(self, config: Config, endpoints: list[dict[str, Any]], stop: str, number: int) -> Measurement:
        bodies = self._bodies(config)
        began = time.time()
        asked = self._ask(bodies, config, endpoints)
        return Measurement("engine", stop, number, config.client.connections, asked, began, time.time())

    def _keep(self, measured: Measurement) -> None:
        found = record(measured, self.config.model, self.engines, self.gpus)
        self.records.append(found)
        self.folder.write_json(f"measurements/{measured.name}.json", found)
        steady = found["serial7"]["steady"]
        log.info(
            "%s: %s, %d failed",
            measured.name,
            f"{steady['completions_per_s']:.2f} completions/s at steady state" if steady else "no steady state",
            found["failed"],
        )

    def conclude(self, machine: dict[str, Any]) -> int:
        long = ("start_times", "latencies", "input_lens", "output_lens", "errors")
        short = [{k: v for k, v in r.items() if k not in long} for r in self.records]
        ratio = ratios(self.records)
        config = as_dict(self.config)
        self.folder.write_json(
            "bench.json",
            {
                "config": config,
                **machine,
                "engines": self.engines,
                "gpus": self.gpus,
                "ratios": ratio,
                "measurements": short,
            },
        )
        from cluster.bench_plot import draw

        self.folder.write("bench.png", draw(self.records, ratio, self.config.model))
        _show(short, ratio)
        log.info("bench.json, bench.png and the measurements lie in %s", self.folder.url)
        failed = sum(r["failed"] for r in self.records)
        if failed:
            log.error("%d requests failed: the figures are of another load than the one that was asked for", failed)
        return 1 if failed else 0


def _show(records: list[dict[str, Any]], ratio: list[dict[str, Any]]) -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=LOG_WIDTH)
    heads = (
        "at once",
        "completions/s",
        "prompt tok/s",
        "output tok/s",
        "busy",
        "occupancy",
        "p50 s",
        "p99 s",
        "start-up s",
        "ending s",
    )
    table = Table(
        caption="steady state; latencies of all requests; busy: of the time, with a request under way",
        caption_justify="left",
    )
    table.add_column("measurement")
    for head in heads:
        table.add_column(head, justify="right")
    for one in records:
        steady, ours = one["serial7"]["steady"], one["serial7"]
        cells = ["no steady state", "", "", "", ""]
        if steady:
            cells = [
                f"{steady['completions_per_s']:.2f}", f"{steady['prompt_tokens_per_s']:.0f}",
                f"{steady['output_tokens_per_s']:.0f}", f"{steady['busy_share']:.1%}", f"{steady['occupancy']:.1%}",
            ]  # fmt: skip
        times = [one["p50_e2el_ms"] / 1000, one["p99_e2el_ms"] / 1000, ours["startup_s"], ours["ending_s"]]
        table.add_row(one["label"], str(one["max_concurrency"]), *cells, *(f"{t:.2f}" for t in times))
    console.print(table)
    for each in ratio:
        what = f"{each['of']} / {each['to']}" + (f", {each['stop']} stops" if each["stop"] else "")
        console.print(
            f"{what}: {each['ratio']:.3f} of completions a second (rounds {', '.join(f'{r:.3f}' for r in each['rounds'])})"
        )
    for one in records:
        share = one["serial7"].get("verification_share")
        if share is not None:
            console.print(f"{one['label']}: verification takes {share:.2%} of a core while completions come")
