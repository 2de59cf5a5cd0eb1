"""One run from its config to its exit code: check, plan, ask what has no completion, judge, summarize.

Exit codes: 0 complete, 1 failed, 2 usage or config, 3 incomplete but resumable, 4 budget reached. The last log line and
`status.json` carry the code, since a job's own exit code does not.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import logging
import os
import platform
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cluster import rows
from cluster.config import Config, as_dict, config_hash, engine_spec, load
from cluster.display import Watch, show_results
from cluster.engines import check_engine, port_is_free, serve_command, start_engines
from cluster.errors import BudgetReached, Incomplete, JobError, UsageError
from cluster.plan import build_plan, engine_build, hashes, verifier_id
from cluster.store import RunFolder, final_completions, find_run, new_run, resolve_out
from cluster.summary import summarize
from serial7.errors import OperatorError
from serial7.metrics import ASKED_AGAIN, JUDGED

log = logging.getLogger("cluster")


def main(act: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> int:
    """Run an act of a launch script; every error on purpose becomes one sentence and its exit code."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S", stream=sys.stderr)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        code = act(arguments)
    except (JobError, OperatorError) as error:
        log.error("%s", error)
        code = error.exit_code if isinstance(error, JobError) else 2
    except KeyboardInterrupt:
        log.error("ended by Ctrl-C; the same command resumes the run")
        code = Incomplete.exit_code
    log.info("exit code %d", code)
    return code


def evaluate(arguments: Sequence[str]) -> int:
    """`launch/eval.py`: ask and judge what the config plans and the run folder lacks."""
    config = load(arguments)
    _check_runnable(config)
    plan = build_plan(config)
    if not len(plan):
        raise UsageError("no request of the grid matches conditions, levels, formats, langs and sample_ids together")
    if config.dry_run:
        _show_plan(config, plan)
        return 0
    return _Run(config, plan).go()


def score(arguments: Sequence[str]) -> int:
    """`launch/score.py RUN_FOLDER`: judge the stored completions again, without a model."""
    if len(arguments) != 1 or not arguments[0].startswith("run="):
        raise UsageError("give the run folder: launch/score.py run=runs/<folder>")
    folder = RunFolder(resolve_out(arguments[0].removeprefix("run=")))
    manifest, plan = folder.read_json("manifest.json"), folder.read_plan()
    if manifest is None or plan is None:
        raise UsageError(f"run: {folder.url} is no run folder (it has no manifest.json and plan.parquet)")
    reasoning_end = manifest["config"]["reasoning_end"]
    config = Config(model=manifest["config"]["model"], kind="gold", reasoning_end=reasoning_end)
    with _ray():
        for kind in ("verdicts/instances", "verdicts/findings"):
            folder.clear(kind)
        _judge_missing(config, folder, plan)
    summary = summarize(folder, verifier_id())
    folder.write_json("summary.json", summary)
    show_results(summary, folder.url)
    return 1 if summary["total"]["errors"] else 0


class _Run:
    def __init__(self, config: Config, plan: pa.Table) -> None:
        self.config = config
        self.plan = plan
        out = resolve_out(config.out)
        self.verifier = verifier_id()
        self.hashes = hashes(plan)
        self.hash = config_hash(config, self.hashes["grid"], self.hashes["prompts"], engine_build(config.engine.python))
        found = find_run(out, config.model, self.hash)
        self.folder = found or new_run(out, config.model, self.hash)
        self.resumed = found is not None
        self.engines: list[dict[str, Any]] = []
        self.started = time.time()

    def go(self) -> int:
        self.folder.probe()
        log.info("%s the run in %s", "continuing" if self.resumed else "starting", self.folder.url)
        code = 1
        try:
            with _ended_by_signals(), _ray():
                code = self._in_ray()
        except JobError as error:
            code = error.exit_code
            raise
        except KeyboardInterrupt:
            code = Incomplete.exit_code
            raise
        finally:
            self._write_status("ended", code)
        return code

    def _in_ray(self) -> int:
        import ray

        from cluster.pipeline import Journal, Limits

        budget = self.config.budget
        limits = Limits(budget.usd, budget.tokens, None if budget.hours is None else budget.hours * 3600)
        here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
        actor = ray.remote(Journal).options(num_cpus=0.05, scheduling_strategy=here, max_concurrency=4096)
        journal = actor.remote(self.folder.url, limits)
        try:
            ray.get(journal.ready.remote())
        except ray.exceptions.RayActorError as error:
            raise _cause(error) from None
        try:
            return self._with_journal(journal)
        finally:
            with contextlib.suppress(ray.exceptions.RayError):
                ray.get(journal.close.remote(), timeout=60)
            ray.kill(journal)

    def _with_journal(self, journal: Any) -> int:
        import ray

        if self.folder.read_plan() is None:
            self.folder.write_table("plan.parquet", self.plan)
        self._write_manifest("running")
        pending, done = self._pending()
        log.info("%d requests planned, %d have their completion, %d to ask", len(self.plan), done, len(pending))
        tokens_per_s = None
        if len(pending):
            self._answer(pending, done, journal)
            stats = ray.get(journal.stats.remote())
            tokens_per_s = stats["completion_tokens"] / max(stats["seconds"], 1e-9)
            stopped = stats["stopped"]
        else:
            stopped = ""
        _judge_missing(self.config, self.folder, self.plan)
        summary = summarize(self.folder, self.verifier)
        self.folder.write_json("summary.json", summary)
        show_results(summary, self.folder.url, tokens_per_s)
        code = self._exit_code(summary["total"], stopped)
        self._write_manifest("complete" if code == 0 else "incomplete", code)
        return code

    def _exit_code(self, total: dict[str, Any], stopped: str) -> int:
        if total["errors"]:
            log.error("%d verdicts are ERROR: the verifier broke; they are in no rate", total["errors"])
            return 1
        if total["failed"] or total["missing"]:
            why = f"{stopped}; " if stopped else ""
            log.error(
                "%sincomplete: %d failed, %d missing; the same command asks them",
                why,
                total["failed"],
                total["missing"],
            )
            return BudgetReached.exit_code if stopped.startswith("budget.") else Incomplete.exit_code
        return 0

    def _pending(self) -> tuple[pa.Table, int]:
        """The plan rows to ask, and how many have a completion that stands."""
        completions = self.folder.read("completions", rows.COMPLETION)
        statuses = completions.column("status").to_pylist()
        chosen = {key: statuses[i] for key, i in final_completions(completions).items()}
        keys = self.plan.column("key").to_pylist()
        again = {key for key, status in chosen.items() if status in ASKED_AGAIN}
        wanted = [key in again if self.config.only_failed else key not in chosen or key in again for key in keys]
        done = sum(key in chosen and key not in again for key in keys)
        return self.plan.filter(pa.array(wanted, pa.bool_())), done

    def _answer(self, pending: pa.Table, done: int, journal: Any) -> None:
        import ray

        from cluster import pipeline

        def state() -> dict[str, Any]:
            try:
                found: dict[str, Any] = ray.get(journal.stats.remote(), timeout=5)
            except ray.exceptions.RayError:
                return {}
            return found

        with self._endpoints() as (endpoints, actors), self._end_stream(journal):
            self._write_manifest("running")
            with Watch(len(self.plan), done, state, lambda s: self._write_status("running", None, s)):
                for judged in pipeline.stream(self.config, pending, endpoints, actors, journal, self.verifier):
                    self._store(judged)

    @contextlib.contextmanager
    def _end_stream(self, journal: Any) -> Iterator[None]:
        """A stream that ends early (SIGTERM, a dead actor) still ends as a run: what arrived is judged and counted."""
        import ray

        try:
            yield
        except Incomplete as error:
            ray.get(journal.stop.remote(str(error)), timeout=60)
        except ray.exceptions.RayError as error:
            log.error("the stream broke: %s", _cause(error))
            ray.get(journal.stop.remote("the stream broke"), timeout=60)

    @contextlib.contextmanager
    def _endpoints(self) -> Iterator[tuple[list[dict[str, Any]], list[Any]]]:
        import ray

        config = self.config
        if config.kind == "gold":
            yield [], []
        elif config.kind == "api":
            env = config.provider.api_key_env
            key = os.environ.get(env, "") if env else ""
            yield [{"base_url": str(config.provider.base_url).rstrip("/"), "api_key": key}], []
        else:
            spec = engine_spec(config)
            logs = (
                Path(self.folder.file("logs")) if self.folder.local else Path(tempfile.mkdtemp(prefix="serial7-logs-"))
            )
            log.info("starting %d engine(s) of %s; logs in %s", spec.replicas, spec.served_name, logs)
            with start_engines(spec, logs, config.engine.port) as actors:
                self.engines = ray.get([a.describe.remote() for a in actors])
                log.info("engine ready after %.0f s: vLLM %s", time.time() - self.started, self.engines[0]["version"])
                yield self.engines, actors

    def _store(self, judged: pa.Table) -> None:
        _store_verdicts(self.folder, judged)

    def _write_manifest(self, state: str, code: int | None = None) -> None:
        before = self.folder.read_json("manifest.json") or {}
        engines = [{k: e[k] for k in ("version", "served", "restarts")} for e in self.engines]
        self.folder.write_json(
            "manifest.json",
            {
                "config": as_dict(self.config),
                "config_hash": self.hash,
                "hashes": self.hashes,
                "git": _git(),
                "versions": _versions(),
                "engine_build": engine_build(self.config.engine.python),
                "engines": engines or before.get("engines", []),
                "python": platform.python_version(),
                "machine": platform.platform(),
                "started": before.get("started", self.started),
                "ended": time.time() if code is not None else None,
                "state": state,
                "exit_code": code,
            },
        )

    def _write_status(self, state: str, code: int | None, stats: dict[str, Any] | None = None) -> None:
        with contextlib.suppress(OSError):  # the status is for watchers; the run's own error is the one to show
            self.folder.write_json(
                "status.json",
                {"state": state, "exit_code": code, "at": time.time(), "planned": len(self.plan), **(stats or {})},
            )


def _check_runnable(config: Config) -> None:
    """Everything that can be checked before anything is made."""
    if config.kind != "engine":
        return
    check_engine(engine_spec(config))
    if config.engine.port is not None and not port_is_free(config.engine.port):
        raise UsageError(f"engine.port: port {config.engine.port} is taken; free it, or leave engine.port null for any")


def _show_plan(config: Config, plan: pa.Table) -> None:
    log.info(
        "%d requests, about %d prompt tokens (4 characters each)", len(plan), pc.sum(plan["prompt_chars"]).as_py() // 4
    )
    if config.sampling.max_tokens:
        log.info("at most %d output tokens", len(plan) * config.sampling.max_tokens)
    if config.kind == "engine":
        log.info("engine: %s", " ".join(serve_command(engine_spec(config), config.engine.port or 8000)))


def _judge_missing(config: Config, folder: RunFolder, plan: pa.Table) -> None:
    """Judge stored completions that have no verdict of this verifier."""
    completions = folder.read("completions", rows.COMPLETION)
    instances = folder.read("verdicts/instances", rows.INSTANCE)
    current = pc.equal(instances.column("verifier"), verifier_id())
    judged = set(instances.filter(current).column("key").to_pylist())
    chosen = final_completions(completions)
    statuses = completions.column("status").to_pylist()
    todo = [i for key, i in chosen.items() if key not in judged and statuses[i] in JUDGED]
    if not todo:
        return
    from cluster.pipeline import judge_stored

    log.info("judging %d stored completions", len(todo))
    columns = ["key", "condition", "level", "format", "source_format", "language", "artifact_id", "rules"]
    joined = completions.take(todo).join(_indexed(plan.select(columns)), "key")
    # A list column cannot cross Arrow's join; it is taken by the row that the join found.
    rules = plan.column("rules").take(joined.column("plan_row"))
    joined = joined.drop_columns(["plan_row"]).append_column(rows.PLAN.field("rules"), rules)
    for table in judge_stored(config, joined, verifier_id()):
        _store_verdicts(folder, table)


def _indexed(plan: pa.Table) -> pa.Table:
    return plan.drop_columns(["rules"]).append_column("plan_row", pa.array(range(len(plan)), pa.int64()))


def _store_verdicts(folder: RunFolder, judged: pa.Table) -> None:
    from cluster.pipeline import split_verdicts

    instances, findings = split_verdicts(judged)
    folder.append("verdicts/findings", findings, rows.FINDING)  # first: an instance says that its findings are there
    folder.append("verdicts/instances", instances, rows.INSTANCE)


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """SIGTERM ends a run cleanly as incomplete."""

    def end(_number: int, _frame: Any) -> None:
        raise Incomplete("ended by SIGTERM")

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _ray() -> Iterator[None]:
    """Join the cluster that the environment names, or start a local one; token authentication is on in both."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    with contextlib.ExitStack() as stack:
        joins = bool(os.environ.get("RAY_ADDRESS"))
        if not joins:
            _local_token(stack)
        import ray  # reads its authentication settings at import

        if joins:
            ray.init(**quiet)
        else:
            # Ray counts cores: two stages of a core each would starve a third on a machine of two.
            cores = max(4, os.cpu_count() or 1)
            ray.init(address="local", include_dashboard=False, num_cpus=cores, _node_ip_address="127.0.0.1", **quiet)
        stack.callback(ray.shutdown)
        ray.data.DataContext.get_current().enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        yield


def _local_token(stack: contextlib.ExitStack) -> None:
    """A token for the local cluster, unless the operator has one."""
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    if os.environ.get("RAY_AUTH_TOKEN") or os.environ.get("RAY_AUTH_TOKEN_PATH"):
        return
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="serial7-ray-"))
    path = Path(folder) / "token"
    path.touch(mode=0o600)
    path.write_text(secrets.token_hex(32))
    os.environ["RAY_AUTH_TOKEN_PATH"] = str(path)
    stack.callback(os.environ.pop, "RAY_AUTH_TOKEN_PATH", None)


def _cause(error: BaseException) -> JobError:
    """The error on purpose inside an error of Ray, or a JobError with its last line."""
    import ray

    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, JobError):
            return seen
        inner = getattr(seen, "cause", None) or seen.__cause__
        seen = inner if isinstance(inner, BaseException) else None
    if isinstance(error, ray.exceptions.RayActorError):
        text = str(error)
        found = [
            line for line in text.splitlines() if ("cluster." in line and "Error" in line) or "another driver" in line
        ]
        if any("another driver" in line for line in found):
            return UsageError(found[-1].partition(": ")[2] or found[-1])
    return Incomplete(str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__)


def _git() -> dict[str, Any]:
    root = Path(__file__).resolve().parent.parent

    def git(*arguments: str) -> str | None:
        try:
            found = subprocess.run(["git", "-C", str(root), *arguments], check=False, capture_output=True, text=True)  # noqa: S603, S607
        except OSError:
            return None
        return found.stdout.strip() if found.returncode == 0 else None

    status = git("status", "--porcelain")
    return {"commit": git("rev-parse", "HEAD"), "dirty": None if status is None else bool(status)}


def _versions() -> dict[str, str]:
    names = (
        "serial7",
        "ray",
        "pyarrow",
        "httpx",
        "lxml",
        "html5lib",
        "ruamel.yaml",
        "tomlkit",
        "markdown-it-py",
        "pylatexenc",
    )
    found = {}
    for name in names:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found
