"""Configs: layers, nearest key, and errors that name the key and the way out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from cluster.config import CONFIGS, Config, as_dict, config_hash, engine_spec, load, load_all
from cluster.engines import serve_command
from cluster.errors import UsageError

API = ["model=openai-compatible", "provider.base_url=http://127.0.0.1:1/v1", "provider.model_id=m"]


def test_later_layers_win() -> None:
    config = load(["model=demo", "sampling.temperature=0.6", "limit=3"])
    assert (config.kind, config.engine.dtype, config.engine.model) == ("engine", "float32", "embedded")  # the model's
    assert (config.sampling.temperature, config.limit) == (0.6, 3)  # the command line's
    assert (config.client.attempts, config.budget.usd) == (6, None)  # the defaults


def test_a_sampling_field_can_be_taken_back() -> None:
    assert load(["model=demo", "sampling.temperature=null"]).sampling.temperature is None


def test_a_filter_may_be_one_word() -> None:
    config = load(["model=gold", "formats=json", "levels=2", "langs=[ko,en]"])
    assert (config.formats, config.levels, config.langs) == (["json"], [2], ["ko", "en"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "which model? give model=NAME, one of a.x-k2, claude-sonnet-5, demo, "),
        (["model=gould"], "unknown model 'gould'; did you mean 'gold'? there are a.x-k2, claude-sonnet-5, demo, "),
        (["model=gold", "limt=3"], "the command line: unknown key 'limt'; did you mean 'limit'?"),
        (["model=gold", "sampling.temprature=1"], "did you mean 'sampling.temperature'?"),
        (["model=gold", "limit=many"], "the command line: limit: Value 'many'"),
        (["model=gold", "limit=0"], "limit: 0 is too few"),
        (["model=gold", "repeats=0"], "repeats: 0 is too few"),
        (["model=gold", "client.connections=0"], "client.connections and client.attempts: at least 1"),
        (["model=gold", "client.idle_s=0"], "client.idle_s: 0 s is too short"),
        (["model=gold", "formats=[jsn]"], "formats: 'jsn' is not one of json, "),
        (["model=gold", "levels=[4]"], "levels: 4 is not one of 1, 2, 3"),
        (["model=gold", "sampling=null"], "the command line: sampling:"),
        (["gold"], "'gold' is no setting; write key=value"),
        (["model=gold", "limit=[1"], "the command line:"),
        (["model=openai-compatible"], "provider.base_url and provider.model_id are due"),
        ([*API, "provider.base_url=localhost:8000"], "provider.base_url: 'localhost:8000' is no URL"),
        ([*API, "provider.base_url=http://me:pw@h/v1"], "provider.base_url carries a password"),
        ([*API, "provider.api_key_env=NO_SUCH_KEY_7"], "the environment variable NO_SUCH_KEY_7 is not set"),
        ([*API, "provider.headers={Authorization: Bearer x}"], "provider.headers: Authorization looks like a secret"),
        (["model=demo", "engine.env={HF_TOKEN: x}"], "engine.env: HF_TOKEN looks like a secret"),
        (["models=[gold,gould]"], "unknown model 'gould'"),
        (["models=[gold]", "model=gold"], "not both"),
        (["models=[]"], "not an empty list"),
    ],
    ids=str,
)
def test_wrong_usage_is_one_sentence(arguments: list[str], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_all(arguments)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind: gold\nengin: {}\n", "configs/model/mine.yaml: unknown key 'engin'; did you mean 'engine'?"),
        ("kind: [\n", "mine.yaml is not readable as a config"),
        ("- a\n", "mine.yaml holds no keys"),
        ("limit: 3\n", "kind"),
        ("kind: silver\n", "kind: 'silver' is not one of engine, api, gold"),
        ("kind: engine\n", "engine.model is due"),
    ],
)
def test_a_wrong_model_file_is_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "eval.yaml").write_text((CONFIGS / "eval.yaml").read_text("utf-8"), "utf-8")
    (tmp_path / "model" / "mine.yaml").write_text(text, "utf-8")
    with pytest.raises(UsageError, match=said.replace("?", r"\?")):
        load(["model=mine"], tmp_path)


def test_models_gives_one_config_each() -> None:
    configs = load_all(["models=[gold,demo,gold]", "limit=5"])
    assert [(c.model, c.kind, c.limit) for c in configs] == [("gold", "gold", 5), ("demo", "engine", 5)]


def test_the_hash_changes_with_what_decides_the_run_and_only_with_that() -> None:
    base = config_hash(load(["model=demo"]))
    for same in ("out=/elsewhere", "client.connections=3", "verifiers=2", "budget.usd=1", "engine.port=9",
                 "engine.max_restarts=0", "only_failed=true"):  # fmt: skip
        assert config_hash(load(["model=demo", same])) == base, same
    for other in ("limit=3", "sampling.temperature=0.5", "repeats=2", "engine.dtype=bfloat16", "formats=[json]"):
        assert config_hash(load(["model=demo", other])) != base, other


def test_a_key_is_named_and_never_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY_7", "sesame")
    config = load([*API, "provider.api_key_env=A_KEY_7"])
    stored = json.dumps(as_dict(config))
    assert "A_KEY_7" in stored
    assert "sesame" not in stored


def test_an_engine_that_is_not_prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERIAL7_MODELS", str(tmp_path))
    with pytest.raises(UsageError, match=r"not prepared; run `python -m cluster\.embedded_model`"):
        engine_spec(load(["model=demo"]))


# Source: tables 12 and 14 of the paper.
MAX_TOKENS = {
    "gpt-5.4": ("openai/gpt-5.4", 12_000),
    "gpt-5.4-nano": ("openai/gpt-5.4-nano", 12_000),
    "gemini-3.7-flash": ("google/gemini-3.7-flash", 12_000),
    "claude-sonnet-5": ("anthropic/claude-sonnet-5", 16_000),
    "nemotron-3-super": ("nvidia/nemotron-3-super-120b-a12b", 12_000),
    "solar-pro4": ("upstage/solar-pro4", 12_000),
}
LOCAL = {  # context, temperature, memory, tensor parallel, engines
    "motif-3-beta": (262_144, 1.0, 0.85, 1, 8),
    "a.x-k2": (131_072, 0.6, 0.90, 8, 1),
    "k-exaone": (131_072, 1.0, 0.90, 4, 1),
    "midm-k-3.0-pro": (131_072, 0.6, 0.90, 8, 1),
}


@pytest.mark.parametrize("name", MAX_TOKENS)
def test_the_api_models_of_the_paper(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    with pytest.raises(UsageError, match="OPENROUTER_API_KEY is not set"):
        load([f"model={name}"])
    monkeypatch.setenv("OPENROUTER_API_KEY", "x")
    config = load([f"model={name}"])
    assert (config.provider.model_id, config.sampling.max_tokens) == MAX_TOKENS[name]
    assert (config.sampling.temperature, config.sampling.top_p) == (None, None)


@pytest.mark.parametrize("name", LOCAL)
def test_the_local_models_of_the_paper(name: str) -> None:
    with pytest.raises(UsageError, match=r"engine\.model is due"):
        load([f"model={name}"])
    config = load([f"model={name}", "engine.model=/models/x"])
    engine = config.engine
    found = (engine.max_model_len, config.sampling.temperature, engine.gpu_memory_utilization)
    assert (*found, engine.tensor_parallel, engine.replicas) == LOCAL[name]
    assert config.sampling.top_p == 0.95
    assert config.sampling.max_tokens is not None  # the paper's had no cap; ours is explicit
    command = serve_command(engine_spec(config), 8000)
    assert command[command.index("--tensor-parallel-size") + 1] == str(engine.tensor_parallel)


def test_no_other_config_ships() -> None:
    names = {path.stem for path in (CONFIGS / "model").glob("*.yaml")}
    assert names == {*MAX_TOKENS, *LOCAL, "demo", "gold", "openai-compatible"}


def test_eval_yaml_shows_every_key_with_its_default() -> None:
    shown = OmegaConf.to_container(OmegaConf.load(CONFIGS / "eval.yaml"))
    assert shown == {k: v for k, v in as_dict(Config()).items() if k not in ("model", "kind")}


def test_the_seed_of_the_run_can_be_that_of_the_sampling(tmp_path: Path) -> None:
    assert load(["model=demo", "seed=11", "sampling.seed=${seed}"]).sampling.seed == 11
