"""The ten models of the paper, setting by setting, against its tables 12 to 14, and against vLLM's own checks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cluster.config import engine_spec, load
from cluster.engines import serve_command

# Table 12: identifier, observed providers, token limit.
API = {
    "gpt-5.4": ("openai/gpt-5.4", ["OpenAI"], 12_000),
    "gpt-5.4-nano": ("openai/gpt-5.4-nano", ["OpenAI"], 12_000),
    "gemini-3.7-flash": ("google/gemini-3.7-flash", ["Google", "Google AI Studio"], 12_000),
    "claude-sonnet-5": ("anthropic/claude-sonnet-5", ["Claude Platform on AWS"], 16_000),
    "nemotron-3-super": ("nvidia/nemotron-3-super-120b-a12b", ["DeepInfra", "DigitalOcean"], 12_000),
    "solar-pro4": ("upstage/solar-pro4", ["Upstage"], 12_000),
}

# Tables 13 and 14: context, temperature, top-p, memory utilization, TP, DP, vLLM, transformers; and the representation as
# vLLM spells it: --dtype and --quantization.
LOCAL: dict[str, tuple[Any, ...]] = {
    "motif-3-beta": (262_144, 1.0, 0.95, 0.85, 1, 8, "0.20.2+motif3.g0b6f55172", "5.14.1", "auto", "modelopt"),
    "a.x-k2": (131_072, 0.6, 0.95, 0.90, 8, 1, "0.23.0", "5.18.0.dev0", "auto", None),
    "k-exaone": (131_072, 1.0, 0.95, 0.90, 4, 1, "0.20.2", "5.8.1", "bfloat16", None),
    "midm-k-3.0-pro": (131_072, 0.6, 0.95, 0.90, 8, 1, "0.17.0", "4.57.6", "bfloat16", None),
}

# What such a checkpoint's config.json says of its weights. A.X-K2's blocks of 128 x 128 are the checkpoint's own word.
QUANTIZATION = {
    "a.x-k2": {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128]},
    "motif-3-beta": {"quant_method": "modelopt", "quant_algo": "FP8_PB_WO", "exclude_modules": []},
}


@pytest.mark.parametrize("name", API)
def test_an_api_model_is_as_in_table_12(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "k")
    config = load([f"model={name}"])
    assert (config.kind, config.provider.base_url) == ("api", "https://openrouter.ai/api/v1")
    assert (config.provider.model_id, config.provider.observed, config.sampling.max_tokens) == API[name]
    assert (config.sampling.temperature, config.sampling.top_p) == (None, None)  # the table gives none: none is sent


@pytest.mark.parametrize("name", LOCAL)
def test_a_local_model_is_as_in_tables_13_and_14(name: str) -> None:
    config = load([f"model={name}", "engine.model=org/name"])
    engine, sampling = config.engine, config.sampling
    assert config.kind == "engine"
    assert (
        engine.max_model_len, sampling.temperature, sampling.top_p, engine.gpu_memory_utilization, engine.tensor_parallel,
        engine.replicas * engine.data_parallel, engine.vllm_version, engine.transformers_version, engine.dtype,
        engine.quantization,
    ) == LOCAL[name]  # fmt: skip
    assert sampling.max_tokens is not None  # the paper had no cap; ours is explicit


CHECK = """
import json, sys
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.entrypoints.launchers.cli_args import make_arg_parser
from vllm.utils.argparse_utils import FlexibleArgumentParser

for line in sys.stdin:
    arguments = make_arg_parser(FlexibleArgumentParser()).parse_args(json.loads(line))
    config = AsyncEngineArgs.from_cli_args(arguments).create_engine_config()
    model, parallel = config.model_config, config.parallel_config
    print("RESULT", json.dumps([
        model.max_model_len, str(model.dtype), model.quantization, parallel.tensor_parallel_size,
        config.cache_config.gpu_memory_utilization]), flush=True)
"""


@pytest.mark.engine
def test_vllm_makes_an_engine_of_each_local_config(tmp_path: Path) -> None:
    """Its own parser and `create_engine_config`, on stand-in checkpoints of such a weight representation."""
    pytest.importorskip("vllm", reason="vLLM is not installed here")
    lines = []
    for name in LOCAL:
        folder = tmp_path / name
        folder.mkdir()
        shape = {
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048, "intermediate_size": 4096,
            "num_attention_heads": 16, "num_key_value_heads": 8, "num_hidden_layers": 2, "vocab_size": 1000,
            "max_position_embeddings": 262_144, "torch_dtype": "bfloat16", "rms_norm_eps": 1e-5, "hidden_act": "silu",
        }  # fmt: skip
        if name in QUANTIZATION:
            shape["quantization_config"] = QUANTIZATION[name]
        (folder / "config.json").write_text(json.dumps(shape))
        spec = engine_spec(load([f"model={name}", f"engine.model={folder}"]))
        lines.append(json.dumps([*serve_command(spec, 8000)[3:], "--skip-tokenizer-init"]))
    done = subprocess.run(
        [sys.executable, "-c", CHECK], input="\n".join(lines), capture_output=True, text=True, check=False, timeout=300
    )
    found = [
        json.loads(line.removeprefix("RESULT ")) for line in done.stdout.splitlines() if line.startswith("RESULT ")
    ]
    assert len(found) == len(LOCAL), done.stderr[-800:]
    representation = {"motif-3-beta": "modelopt", "a.x-k2": "fp8"}
    for (name, due), seen in zip(LOCAL.items(), found, strict=True):
        assert seen == [due[0], "torch.bfloat16", representation.get(name), due[4], due[3]], name
