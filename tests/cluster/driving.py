"""Drivers of whole runs as child processes, and the Ray clusters that they join."""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from cluster import rows
from cluster.engines import free_port
from cluster.store import RunFolder
from tests.cluster.stand_in import StandIn

ROOT = Path(__file__).resolve().parents[2]

Environment = dict[str, str]


def start(
    out: Path | str,
    *arguments: str,
    script: str = "eval",
    environment: Environment | None = None,
    prefix: Sequence[str] = (),
) -> subprocess.Popen[str]:
    """A driver; `prefix`: the command that runs it."""
    command = [*prefix, sys.executable, f"launch/{script}.py", *arguments]
    if script == "eval":
        command.append(f"out={out}")
    environment = clean_environment() | (environment or {})
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def clean_environment() -> Environment:
    return {k: v for k, v in os.environ.items() if not k.startswith(("RAY_", "SERIAL7_"))}


@dataclass(frozen=True)
class Node:
    """A node of a Ray cluster: `ray start --block` and all that it started."""

    pid: int

    def workers(self, name: str) -> list[psutil.Process]:
        """Its worker processes that run an actor of this name."""
        return [p for p in self._processes() if (c := _command(p)).startswith("ray::") and name in c]

    def raylet(self) -> psutil.Process:
        [found] = [p for p in self._processes() if "/raylet/raylet " in _command(p)]
        return found

    def _processes(self) -> list[psutil.Process]:
        return psutil.Process(self.pid).children(recursive=True)

    def kill(self) -> None:
        """End all of it: a node that is asked to end takes half a minute."""
        for each in [*self._processes(), psutil.Process(self.pid)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()


@dataclass(frozen=True)
class Head(Node):
    """`environment`: what those who join the cluster need."""

    environment: Environment
    dashboard: str

    def logs(self) -> Path:
        """The folder that Ray's processes of this cluster write their logs to."""
        words = self.raylet().cmdline()
        return Path(next(w.partition("=")[2] for w in words if w.startswith("--session_dir="))) / "logs"


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


@contextlib.contextmanager
def ray_node(folder: Path, environment: Environment, *arguments: str) -> Iterator[Node]:
    """`ray start` on this machine, ended by its own processes."""
    folder.mkdir(exist_ok=True)
    command = [
        *(sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--node-ip-address=127.0.0.1"),
        *("--disable-usage-stats", f"--dashboard-agent-listen-port={free_port()}", *arguments),
    ]
    with (folder / "node.log").open("w") as log:
        process = subprocess.Popen(command, env=clean_environment() | environment, stdout=log, stderr=log)
    node = Node(process.pid)
    try:
        while "Ray runtime started" not in (folder / "node.log").read_text():
            assert process.poll() is None, (folder / "node.log").read_text()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.1)
        yield node
    finally:
        if process.poll() is None:
            node.kill()
        process.wait()


@contextlib.contextmanager
def ray_head(folder: Path, cpus: int = 4) -> Iterator[Head]:
    """A cluster that drivers join: a head on this machine, with a token."""
    folder.mkdir(exist_ok=True)
    token = folder / "token"
    token.touch(mode=0o600)
    token.write_text(secrets.token_hex(32))
    environment = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
    port, dashboard = free_port(), free_port()
    arguments = ["--head", f"--num-cpus={cpus}", f"--port={port}"]
    arguments += ["--dashboard-host=127.0.0.1", f"--dashboard-port={dashboard}"]
    patient = {"RAY_JOB_STOP_WAIT_TIME_S": "60"}  # Ray's own 3 s are too few for a clean end on a busy machine
    with ray_node(folder, environment | patient, *arguments) as node:
        environment |= {"RAY_ADDRESS": f"127.0.0.1:{port}"}
        yield Head(node.pid, environment, f"http://127.0.0.1:{dashboard}")


def finish(driver: subprocess.Popen[str]) -> tuple[int, str]:
    printed, _ = driver.communicate(timeout=300)
    return driver.returncode, printed


def run(
    out: Path | str, *arguments: str, script: str = "eval", environment: Environment | None = None
) -> tuple[int, str]:
    return finish(start(out, *arguments, script=script, environment=environment))


def api(server: StandIn, *more: str) -> list[str]:
    return ["model=openai-compatible", f"provider.base_url={server.url}", "provider.model_id=m", *more]


def the_folder(out: Path) -> RunFolder:
    [found] = out.glob("[!.]*")
    return RunFolder(str(found))


def stored(folder: RunFolder) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = folder.read("completions", rows.COMPLETION).to_pylist()
    return found


def assert_adds_up(summary: dict[str, Any], planned: int) -> None:
    for counts in [*summary["cells"], summary["total"]]:
        assert counts["done"] + counts["failed"] + counts["missing"] == counts["planned"]
    assert sum(cell["planned"] for cell in summary["cells"]) == summary["total"]["planned"] == planned


def until(driver: subprocess.Popen[str], holds: Callable[[], bool]) -> None:
    """Poll what another process sees until `holds()`; the driver must stay alive."""
    while not holds():
        assert driver.poll() is None, driver.communicate()[0]
        with contextlib.suppress(subprocess.TimeoutExpired):
            driver.wait(0.1)
