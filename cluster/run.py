"""One run from its config to its exit code: check, plan, ask what has no completion, judge, summarize.

Exit codes: 0 complete, 1 failed, 2 usage or config, 3 incomplete but resumable, 4 budget reached. The last log line and
`status.json` carry the code, since a job's own exit code does not.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cluster import rows
from cluster.config import EMBEDDED, Config, as_dict, config_hash, engine_spec, load_all
from cluster.display import Watch, show_results
from cluster.engines import check_engine, port_is_free, serve_command
from cluster.errors import BudgetReached, Incomplete, JobError, StoreError, UsageError
from cluster.judging import VerdictWriter, judge_missing, without_verdict
from cluster.lock import folder_lock
from cluster.plan import build_plan, engine_build, engine_versions, hashes, verifier_id
from cluster.planner import plan_for, version_differences
from cluster.provenance import environment
from cluster.serving import Served, serve
from cluster.session import cause, ray_session, signals_unmasked
from cluster.store import RunFolder, claim_run, final_rows, find_run, in_job, new_run, resolve_out, root
from cluster.summary import SPENT, spent_tokens, spent_usd, summarize
from serial7.errors import OperatorError
from serial7.metrics import ASKED_AGAIN

log = logging.getLogger("cluster")


def main(act: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> int:
    """Run an act of a launch script; every error on purpose becomes one sentence and its exit code."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S", stream=sys.stderr)
    try:
        code = act(arguments)
    except (JobError, OperatorError) as error:
        log.error("%s", error)
        code = error.exit_code if isinstance(error, JobError) else 2
    except KeyboardInterrupt:
        log.error("ended by Ctrl-C; the same command resumes the run")
        code = Incomplete.exit_code
    except Exception:
        log.exception("a bug of ours; what arrived is stored, and the same command resumes the run")
        code = 1
    log.info("exit code %d", code)
    return code


def evaluate(arguments: Sequence[str]) -> int:
    """`launch/eval.py`: ask and judge what the config plans and the run folder lacks, model after model."""
    configs = load_all(arguments)
    for config in configs:  # all are checked before the first one starts
        check_runnable(config)
    runs = [Run(config) for config in configs]
    for run in runs:
        check_plan(run.config, run.plan)
    if configs[0].dry_run:
        return 0
    if len(runs) == 1:
        return runs[0].go()
    codes = []
    for run in runs:
        try:
            codes.append(run.go())
        except JobError as error:  # the next model's run does not depend on it
            log.error("%s: %s", run.config.model, error)
            codes.append(error.exit_code)
    return next((code for code in (1, 2, 3, 4) if code in codes), 0)


def score(arguments: Sequence[str]) -> int:
    """`launch/score.py run=FOLDER`: judge the stored completions again, without a model."""
    if len(arguments) != 1 or not arguments[0].startswith("run="):
        raise UsageError("give the run folder: launch/score.py run=runs/<folder>")
    folder = RunFolder(resolve_out(arguments[0].removeprefix("run=")))
    manifest, plan = folder.read_json("manifest.json"), folder.read_plan()
    if manifest is None or plan is None:
        raise UsageError(f"run: {folder.url} is no run folder (it has no manifest.json and plan.parquet)")
    if manifest.get("schema") not in rows.READABLE:
        raise UsageError(
            f"run: {folder.url} has schema version {manifest.get('schema')}; this program reads versions "
            f"{' and '.join(rows.READABLE)}"
        )
    kept = manifest["config"]
    config = Config(model=kept["model"], kind="gold", data=kept.get("data", ""), reasoning_end=kept["reasoning_end"])
    folder.probe()
    lock = folder_lock(folder)
    try:
        with ray_session():
            for kind in ("verdicts/instances", "verdicts/findings"):
                folder.clear(kind)
            judge_missing(config, folder, plan)
        summary = summarize(folder, verifier_id())
        folder.write_json("summary.json", summary)
    finally:
        lock.release()
    show_results(summary, folder.url)
    return 1 if summary["total"]["errors"] else 0


class Run:
    """One model's run: its plan, its folder, and what one command does with them.

    Args:
        served: end points and engine actors that are started already and stay; None = the config's own are started.
        show: print the results at the end.
    """

    def __init__(self, config: Config, served: Served | None = None, *, show: bool = True) -> None:
        self.config = config
        self._served = served
        self._show = show
        self.plan = build_plan(config)
        if not len(self.plan):
            raise UsageError(
                "no request of the grid matches conditions, levels, formats, langs and sample_ids together"
            )
        self.verifier = verifier_id()
        self.hashes = hashes(self.plan, config.data)
        build = engine_build(config.engine.python) if config.kind == "engine" else ""
        self.hash = config_hash(config, self.hashes["grid"], self.hashes["prompts"], build)
        out = resolve_out(config.out)
        found = find_run(out, config.model, self.hash)
        self.folder = found or new_run(out, config.model, self.hash)
        self.resumed = found is not None
        self.engines: list[dict[str, Any]] = []
        self.started = time.time()

    def go(self) -> int:
        """Run it to its exit code.

        Raises:
            JobError: it could not begin, or could not go on; what arrived is stored.
        """
        if not self.resumed:
            self.folder = claim_run(resolve_out(self.config.out), self.folder, self.config.model, self.hash)
        self.folder.probe()
        lock = folder_lock(self.folder)  # refuses before Ray starts; the journal then takes it for the whole run
        try:
            log.info("%s the run in %s", "continuing" if self.resumed else "starting", self.folder.url)
            if self.folder.read_plan() is not None and not len(self._pending()[0]) and not self._unjudged():
                log.info("all %d requests have their completion and their verdict", len(self.plan))
                return self._conclude({"stopped": ""})
        finally:
            lock.release()
        with ray_session(), self._journal() as journal:
            code = 1
            try:
                code = self._with_journal(journal)
            except JobError as error:
                code = error.exit_code
                raise
            finally:
                with contextlib.suppress(StoreError):  # the error under way is the one to show
                    self._write_manifest("complete" if code == 0 else "incomplete", code)
                    self._write_status("ended", code)
        return code

    @contextlib.contextmanager
    def _journal(self) -> Iterator[Any]:
        """The journal's actor, on this node: it holds the folder's lock while the run lasts."""
        import ray

        from cluster.journal import Journal, Limits

        budget = self.config.budget
        spent = self.folder.read("completions", rows.COMPLETION, SPENT)
        limits = Limits(
            budget.usd,
            budget.tokens,
            None if budget.hours is None else budget.hours * 3600,
            spent_usd=spent_usd(spent),
            spent_tokens=sum(spent_tokens(spent).values()),
        )
        here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
        actor = ray.remote(Journal).options(num_cpus=0, scheduling_strategy=here, max_concurrency=4096)
        journal = actor.remote(self.folder.url, limits)
        try:
            ray.get(journal.open.remote())
        except ray.exceptions.RayError as error:
            raise cause(error) from None
        try:
            yield journal
        finally:
            with contextlib.suppress(ray.exceptions.RayError):
                ray.get(journal.close.remote(), timeout=60)
            ray.kill(journal)

    def _with_journal(self, journal: Any) -> int:
        import ray

        if self.folder.read_plan() is None:
            self.folder.write_table("plan.parquet", self.plan)
        self._write_manifest("running")
        self._write_status("starting", None)
        pending, done = self._pending()
        log.info("%d requests planned, %d have their completion, %d to ask", len(self.plan), done, len(pending))
        stopped = ray.get(journal.stopped.remote()) if len(pending) else ""  # a budget that earlier commands used up
        stats: dict[str, Any] = (
            {"stopped": stopped} if stopped or not len(pending) else self._answer(pending, done, journal)
        )
        judge_missing(self.config, self.folder, self.plan)
        try:
            for kind, schema in rows.PARTS.items():
                self.folder.compact(kind, schema)
        except (StoreError, OSError) as error:  # a service to readers: what is stored stays readable without it
            log.warning("the run's small files stay as they are: %s", error)
        return self._conclude(stats)

    def _unjudged(self) -> bool:
        return len(without_verdict(self.folder)) > 0

    def _conclude(self, stats: dict[str, Any]) -> int:
        """Count, write and show what the folder holds; `stats`: the journal's last word. Returns the exit code."""
        summary = summarize(self.folder, self.verifier)
        self.folder.write_json("summary.json", summary)
        speed = stats["completion_tokens"] / max(stats["seconds"], 1e-9) if "seconds" in stats else None
        if self._show:
            show_results(summary, self.folder.url, speed)
        return _exit_code(summary["total"], stats["stopped"])

    def _pending(self) -> tuple[pa.Table, int]:
        """The plan rows to ask, and how many have a completion that stands."""
        completions = self.folder.read("completions", rows.COMPLETION, ("key", "status"))
        chosen = final_rows(completions)
        status = completions.column("status").take(chosen["row"])
        again = pc.is_in(status, pa.array(sorted(ASKED_AGAIN)))
        keys, known = self.plan.column("key"), chosen["key"]
        stands = pc.is_in(keys, known.filter(pc.invert(again)).combine_chunks())
        wanted = pc.is_in(keys, known.filter(again).combine_chunks()) if self.config.only_failed else pc.invert(stands)
        return self.plan.filter(wanted), pc.sum(stands).as_py() or 0

    def _answer(self, pending: pa.Table, done: int, journal: Any) -> dict[str, Any]:
        """Ask the pending rows, judge and store what comes; returns the journal's last word (`stopped`: why it ended
        early). A stream that ends early (SIGTERM, a dead actor) still ends as a run: what arrived is judged and counted.
        """
        import ray

        from cluster import pipeline

        def state() -> dict[str, Any]:
            try:
                found: dict[str, Any] = ray.get(journal.stats.remote(), timeout=5)
            except ray.exceptions.RayError:
                return {}
            return found

        broken = ""
        try:
            with signals_unmasked(), self._endpoints() as (endpoints, actors):
                self._write_manifest("running")
                watch = Watch(len(self.plan), done, state, lambda s: self._write_status("running", None, s))
                with watch, VerdictWriter(self.folder) as verdicts:
                    for judged in pipeline.stream(self.config, pending, endpoints, actors, journal, self.verifier):
                        verdicts.add(judged)
        except Incomplete as error:
            broken = str(error)
        except ray.exceptions.RayError as error:
            broken = f"the stream broke: {cause(error)}"
        if broken:
            log.error("%s; what arrived is judged and counted", broken)
        with contextlib.suppress(ray.exceptions.RayError):
            if broken:
                ray.get(journal.stop.remote(broken), timeout=60)
            ray.get(journal.flush.remote(), timeout=60)
        return {"stopped": broken or "the journal's process died"} | state()

    @contextlib.contextmanager
    def _endpoints(self) -> Iterator[Served]:
        if self._served is not None:
            yield self._served
            return
        with serve(self.config, Path(self.folder.file("logs")) if self.folder.local else None) as served:
            self.engines = served[0] if self.config.kind == "engine" else []
            if self.engines:
                log.info("engine ready after %.0f s: vLLM %s", time.time() - self.started, self.engines[0]["version"])
            try:
                yield served
            finally:
                self._fetch_logs(served[1])

    def _fetch_logs(self, actors: Sequence[Any]) -> None:
        """Put the engines' logs into the run folder where they were written elsewhere: on another node, or beside an
        object store."""
        import ray

        for i, actor in enumerate(actors):
            name = f"logs/engine-{i}.log"
            if self.folder.local and Path(self.folder.file(name)).is_file():
                continue
            with contextlib.suppress(ray.exceptions.RayError, StoreError):
                self.folder.write(name, ray.get(actor.log.remote(), timeout=20))

    def _write_manifest(self, state: str, code: int | None = None) -> None:
        before = self.folder.read_json("manifest.json") or {}
        engines = [{k: e[k] for k in ("version", "served", "restarts")} for e in self.engines]
        self.folder.write_json(
            "manifest.json",
            {
                "schema": rows.SCHEMA_VERSION,
                "config": as_dict(self.config),
                "config_hash": self.hash,
                "hashes": self.hashes,
                **environment(),
                "engine_build": engine_build(self.config.engine.python) if self.config.kind == "engine" else "",
                "engines": engines or before.get("engines", []),
                "started": before.get("started", self.started),
                "ended": None if code is None else time.time(),
                "state": state,
                "exit_code": code,
            },
        )

    def _write_status(self, state: str, code: int | None, stats: dict[str, Any] | None = None) -> None:
        with contextlib.suppress(StoreError):  # for watchers; a run that cannot write ends by its journal's word
            self.folder.write_json(
                "status.json",
                {"state": state, "exit_code": code, "at": time.time(), "planned": len(self.plan), **(stats or {})},
            )


def _exit_code(total: dict[str, Any], stopped: str) -> int:
    if total["errors"]:
        log.error("%d verdicts are ERROR: the verifier broke; they are in no rate", total["errors"])
        return 1
    overflow = total["statuses"].get("context_overflow", 0)
    if overflow:
        # Asking again cannot help: final, and in no rate.
        log.warning("%d requests do not fit the model's context with its sampling.max_tokens; in no rate", overflow)
    unanswered = total["failed"] - overflow + total["missing"]
    if unanswered:
        why = f"{stopped}; " if stopped else ""
        log.error(
            "%sincomplete: %d failed, %d missing; the same command asks them",
            why,
            total["failed"] - overflow,
            total["missing"],
        )
        return BudgetReached.exit_code if stopped.startswith("budget.") else Incomplete.exit_code
    return 0


def check_runnable(config: Config) -> None:
    """Everything that can be checked before a run is made. Prepares the embedded model where that is due."""
    routing = config.provider.routing
    if config.kind == "api" and routing and not (routing.get("only") and routing.get("allow_fallbacks") is False):
        log.warning("%s: the provider is not pinned (provider.routing); scores may mix providers", config.model)
    if config.kind != "engine":
        return
    if config.engine.model == EMBEDDED and not config.dry_run:
        _prepare_embedded()
    try:
        check_engine(engine_spec(config))
    except UsageError as error:
        if not config.dry_run:
            raise
        log.warning("%s: the run itself would refuse: %s", config.model, error)  # a plan needs no engine
    for difference in version_differences(config, engine_versions(config.engine.python)):
        log.warning("%s: %s; scores may differ from the paper's", config.model, difference)
    if config.engine.port is not None and not port_is_free(config.engine.port):
        raise UsageError(f"engine.port: port {config.engine.port} is taken; free it, or leave engine.port null for any")


def _prepare_embedded() -> None:
    from cluster import embedded_model

    if in_job():  # what is made in a job's working directory is gone with it
        os.environ.setdefault("SERIAL7_MODELS", str(root() / "models"))
    folder = embedded_model.default_folder()
    if (folder / "config.json").is_file():
        return
    log.info("preparing the embedded model in %s (once, about 20 s)", folder)
    here = str(Path(__file__).resolve().parent.parent)
    # A process of its own: torch and the tensors are not kept in the driver.
    done = subprocess.run(
        [sys.executable, "-m", "cluster.embedded_model"],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))},
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise UsageError(f"engine.model: the embedded model cannot be prepared: {lines[-1]}")


def _prompt_tokens(plan: pa.Table) -> int:
    """About how many, without the model's tokenizer: Korean takes a token for two characters, English one for four."""
    each = pc.divide(plan["prompt_chars"], pc.if_else(pc.equal(plan["language"], "ko"), 2, 4))
    return pc.sum(each).as_py() or 0


def check_plan(config: Config, plan: pa.Table) -> None:
    """Show the plan of a dry run; refuse what cannot fit, before anything is started.

    Raises:
        UsageError: names the setting to change.
    """
    prompt_tokens = _prompt_tokens(plan)
    found = plan_for(config, len(plan), prompt_tokens)
    if config.dry_run:
        log.info(
            "%s: %d requests, about %d prompt tokens (4 characters each, 2 in Korean)",
            config.model,
            len(plan),
            prompt_tokens,
        )
        if config.sampling.max_tokens:
            log.info("at most %d output tokens", len(plan) * config.sampling.max_tokens)
        for line in found.lines:
            log.info("%s", line)
        if config.kind == "engine":
            log.info("engine: %s", shlex.join(serve_command(engine_spec(config), config.engine.port or 8000)))
    if found.refusal:
        raise UsageError(f"{config.model}: {found.refusal}")
