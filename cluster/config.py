"""From YAML files and a dotlist to frozen dataclasses: the only file that touches OmegaConf.

`configs/eval.yaml`, then `configs/model/<model>.yaml`, then the arguments of the command line, later ones winning. An
unknown key is an error that suggests the nearest one. Secrets are named by environment variable and never read here.
"""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import json
import operator
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml  # type: ignore[import-untyped]  # PyYAML, which OmegaConf brings, ships no types
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from cluster.engines import EngineSpec
from cluster.errors import UsageError
from serial7.artifacts import LANGUAGES
from serial7.errors import OperatorError
from serial7.formats import FORMATS
from serial7.grid import CONDITIONS, LEVELS, load_grid

EMBEDDED = "embedded"  # engine.model of the demo
CONFIGS = Path(__file__).resolve().parent.parent / "configs"
KINDS = ("engine", "api", "gold")


@dataclass(frozen=True)
class Sampling:
    """What is sent with each request; null = not sent (some providers refuse a field). Source: tables 12 and 14."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    extra_body: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Provider:
    """An OpenAI-compatible end point. `routing` is sent as the body field `provider` (OpenRouter: order, only, ...).
    `observed`: who served in the paper (table 12); a report of other providers is another measurement."""

    base_url: str | None = None
    model_id: str | None = None
    revision: str | None = None
    api_key_env: str | None = None
    routing: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    observed: list[str] = field(default_factory=list)
    usd_per_million_input: float | None = None
    usd_per_million_output: float | None = None


@dataclass(frozen=True)
class Engine:
    """A served vLLM engine; see `cluster.engines.EngineSpec` for the fields. `model`: `embedded` = the demo's own. `card`,
    `parameters_b` and `active_parameters_b` are for the planner; the versions are compared with what is installed."""

    model: str | None = None
    served_name: str | None = None
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
    extra_args: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    python: str | None = None
    port: int | None = None
    startup_deadline_s: float = 1800.0
    stall_s: float = 600.0
    max_restarts: int = 2
    card: str | None = None
    parameters_b: float | None = None
    active_parameters_b: float | None = None
    vllm_version: str | None = None
    transformers_version: str | None = None


@dataclass(frozen=True)
class Client:
    """How requests are sent. `connections`: at once, over all replicas; `per_minute`: 0 = no limit. `idle_s`: a streamed
    answer of which nothing comes for so long is asked again. `lookup`: ask the end point for the cost and the provider of
    a completion that came without, as is always done at OpenRouter."""

    connections: int = 64
    per_minute: int = 0
    deadline_s: float = 900.0
    attempts: int = 6
    backoff_max_s: float = 60.0
    stream: bool = False
    idle_s: float = 300.0
    lookup: bool = False


@dataclass(frozen=True)
class Bench:
    """What `launch/bench.py` measures (`cluster.bench`). `connections`, `median_s` and `sigma` are those of the stand-in;
    the engine is asked with `client.connections`."""

    arms: list[str] = field(default_factory=lambda: ["engine", "job", "client", "stand_in"])
    stops: list[str] = field(default_factory=lambda: ["fixed", "natural"])
    rounds: int = 2
    warmup: int = 8
    output_tokens: int = 64
    connections: int = 512
    median_s: float = 0.2
    sigma: float = 0.0


@dataclass(frozen=True)
class Budget:
    """Past any of these the run stops cleanly as incomplete, exit code 4; null = no limit."""

    usd: float | None = None
    tokens: int | None = None
    hours: float | None = None


@dataclass(frozen=True)
class Config:
    """One run. `data`: a folder with `artifacts.jsonl` and `grid.jsonl`, empty = what ships. `limit`: that many requests,
    spread evenly; empty lists select everything."""

    model: str = "???"
    kind: str = "???"
    suite: str = "serial7"
    data: str = ""
    out: str = "runs"
    limit: int | None = None
    conditions: list[str] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)
    formats: list[str] = field(default_factory=list)
    langs: list[str] = field(default_factory=list)
    sample_ids: list[str] = field(default_factory=list)
    repeats: int = 1
    seed: int = 0
    only_failed: bool = False
    dry_run: bool = False
    verifiers: int = 1
    reasoning_end: list[str] = field(default_factory=lambda: ["</think>"])
    sampling: Sampling = field(default_factory=Sampling)
    provider: Provider = field(default_factory=Provider)
    engine: Engine = field(default_factory=Engine)
    client: Client = field(default_factory=Client)
    budget: Budget = field(default_factory=Budget)
    bench: Bench = field(default_factory=Bench)


# What may change between two commands that continue one run: none of it decides what a completion or a verdict is.
_NOT_HASHED = ("out", "dry_run", "only_failed", "verifiers", "client", "budget", "bench")
_ENGINE_NOT_HASHED = (
    "port", "replicas", "gpu_memory_utilization", "startup_deadline_s", "stall_s", "max_restarts", "card", "parameters_b",
    "active_parameters_b", "vllm_version", "transformers_version",
)  # fmt: skip
_PROVIDER_NOT_HASHED = ("observed", "usd_per_million_input", "usd_per_million_output")
_ALLOWED: dict[str, tuple[str | int, ...]] = {
    "kind": KINDS,
    "suite": ("serial7",),
    "conditions": CONDITIONS,
    "levels": LEVELS,
    "formats": tuple(FORMATS),
    "langs": LANGUAGES,
    "bench.arms": ("engine", "job", "client", "stand_in"),
    "bench.stops": ("fixed", "natural"),
}
_LISTS = ("conditions", "levels", "formats", "langs", "sample_ids", "bench.arms", "bench.stops")
_SECRET = re.compile(r"authorization|api[-_]?key|token|secret|password|cookie", re.IGNORECASE)


def load_all(arguments: Sequence[str], configs: Path = CONFIGS) -> list[Config]:
    """The configs of a command line: one, or one for each name of `models=[a,b]`.

    Raises:
        UsageError: as `load`; or both `model` and `models` are given.
    """
    dotlist = _dotlist(arguments)
    if "models" not in dotlist:
        return [load(arguments, configs)]
    names = dotlist.models if isinstance(dotlist.models, ListConfig) else [dotlist.models]
    if "model" in dotlist or not names:
        raise UsageError("give model=NAME or models=[NAME,NAME], not both, and not an empty list")
    others = [a for a in arguments if not a.startswith("models=")]
    return [load([f"model={name}", *others], configs) for name in dict.fromkeys(names)]


def load(arguments: Sequence[str], configs: Path = CONFIGS) -> Config:
    """The config of a run.

    Raises:
        UsageError: no or unknown model, unknown key, a value of another type or outside its range.
    """
    dotlist = _dotlist(arguments)
    for key in _LISTS:
        value = OmegaConf.select(dotlist, key)
        if isinstance(value, str | int):  # formats=json is as good as formats=[json]
            OmegaConf.update(dotlist, key, [value])
    name = dotlist.get("model")
    known = sorted(p.stem for p in (configs / "model").glob("*.yaml"))
    if name is None:
        raise UsageError(f"which model? give model=NAME, one of {', '.join(known)}")
    if name not in known:
        near = _nearest(str(name), known)
        raise UsageError(f"unknown model {name!r};{near} there are {', '.join(known)} (configs/model/)")
    layers = [
        ("configs/eval.yaml", _read(configs / "eval.yaml")),
        (f"configs/model/{name}.yaml", _read(configs / "model" / f"{name}.yaml")),
        ("the command line", dotlist),
    ]
    schema = OmegaConf.structured(Config)
    keys = list(_paths(schema))
    merged: Any = schema
    for where, layer in layers:
        for path in _paths(layer):
            _check_key(path, keys, where)
        try:
            merged = OmegaConf.merge(merged, layer)
        except OmegaConfBaseException as error:
            key = error.full_key or "a key"
            raise UsageError(f"{where}: {key}: {str(error).splitlines()[0]}") from error
    try:
        config = OmegaConf.to_object(merged)
    except OmegaConfBaseException as error:
        raise UsageError(f"configs/model/{name}.yaml: {str(error).splitlines()[0]}") from error
    assert isinstance(config, Config)
    _check_values(config)
    return dataclasses.replace(config, data=_data_set(config.data))


def _data_set(data: str) -> str:
    """The absolute folder of a data set of the user's own; a relative one is taken from where the command runs."""
    if not data:
        return ""
    folder = str(Path(data).resolve())
    try:
        load_grid(folder)
    except OperatorError as error:
        raise UsageError(f"data: {error}; `serial7 grid --data {data} --draw` draws the grid of a set") from error
    return folder


def _dotlist(arguments: Sequence[str]) -> DictConfig:
    for argument in arguments:
        if not re.match(r"[\w.]+=", argument):
            raise UsageError(f"{argument!r} is no setting; write key=value, such as limit=28")
    try:
        return OmegaConf.from_dotlist(list(arguments))
    except (yaml.YAMLError, ValueError, OmegaConfBaseException) as error:
        raise UsageError(f"the command line: a value is not YAML: {str(error).splitlines()[0]}") from error


def _read(path: Path) -> DictConfig:
    try:
        layer = OmegaConf.load(path)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError, OmegaConfBaseException) as error:
        raise UsageError(f"{path} is not readable as a config: {str(error).splitlines()[0]}") from error
    if not isinstance(layer, DictConfig):
        raise UsageError(f"{path} holds no keys")
    return layer


def _paths(config: DictConfig, prefix: str = "") -> Iterator[str]:
    """Every key of a config, as dotted paths; free-form mappings (`extra_body`, `env`, ...) end at their name."""
    for key in config:
        path = f"{prefix}{key!s}"
        yield path
        value = None if OmegaConf.is_missing(config, key) else config._get_node(key)
        if isinstance(value, DictConfig) and not value._is_none() and str(key) not in _FREE_FORM:
            yield from _paths(value, f"{path}.")


_FREE_FORM = ("extra_body", "routing", "headers", "env")


def _check_key(path: str, keys: list[str], where: str) -> None:
    if path in keys:
        return
    raise UsageError(f"{where}: unknown key {path!r};{_nearest(path, keys)} see configs/eval.yaml for all keys")


def _nearest(word: str, words: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, words, n=1, cutoff=0.5)
    return f" did you mean {near[0]!r}?" if near else ""


def _check_values(config: Config) -> None:
    for key, allowed in _ALLOWED.items():
        value: Any = operator.attrgetter(key)(config)
        for item in value if isinstance(value, list) else [value]:
            if item not in allowed:
                raise UsageError(f"{key}: {item!r} is not one of {', '.join(map(str, allowed))}")
    for key in ("repeats", "verifiers", "bench.rounds", "bench.output_tokens", "bench.connections"):
        if operator.attrgetter(key)(config) < 1:
            raise UsageError(f"{key}: {operator.attrgetter(key)(config)} is too few; at least 1 is due")
    if config.bench.median_s <= 0 or config.bench.sigma < 0 or config.bench.warmup < 0:
        raise UsageError("bench: median_s more than 0, sigma and warmup at least 0 are due")
    if config.limit is not None and config.limit < 1:
        raise UsageError(f"limit: {config.limit} is too few; at least 1, or null for all requests")
    if config.client.connections < 1 or config.client.attempts < 1:
        raise UsageError("client.connections and client.attempts: at least 1 is due")
    for name in ("deadline_s", "idle_s"):
        if getattr(config.client, name) <= 0:
            raise UsageError(f"client.{name}: {getattr(config.client, name):g} s is too short; more than 0 is due")
    if config.kind == "api":
        if not config.provider.base_url or not config.provider.model_id:
            raise UsageError("provider.base_url and provider.model_id are due for an API model")
        url = urlsplit(config.provider.base_url)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise UsageError(f"provider.base_url: {config.provider.base_url!r} is no URL; http://HOST:PORT/v1 is due")
        if url.username or url.password:
            raise UsageError("provider.base_url carries a password, which would be stored; use provider.api_key_env")
        env = config.provider.api_key_env
        if env and not os.environ.get(env):
            raise UsageError(f"provider.api_key_env: the environment variable {env} is not set; export the key there")
    for key, names in (("provider.headers", config.provider.headers), ("engine.env", config.engine.env)):
        for name in names:
            if _SECRET.search(name):
                raise UsageError(
                    f"{key}: {name} looks like a secret, which a config must not hold, for it is stored; export it in "
                    "the environment (provider.api_key_env names the variable of a key; engines inherit theirs)"
                )
    if config.kind == "engine" and not config.engine.model:
        raise UsageError("engine.model is due: the folder of a checkpoint, or a hub id")


def engine_spec(config: Config) -> EngineSpec:
    """The engine's spec. `engine.model=embedded` becomes the folder of the demo's model, which must be prepared.

    Raises:
        UsageError: the embedded model is not prepared.
    """
    engine = config.engine
    model = engine.model or ""
    if model == EMBEDDED:
        from cluster.embedded_model import default_folder

        model = str(default_folder())
        if not (Path(model) / "config.json").is_file():
            raise UsageError("engine.model: the embedded model is not prepared; run `python -m cluster.embedded_model`")
    values = {f.name: getattr(engine, f.name) for f in dataclasses.fields(EngineSpec) if hasattr(engine, f.name)}
    values |= {
        "model": model,
        "served_name": engine.served_name or config.model,
        "extra_args": tuple(engine.extra_args),
    }
    return EngineSpec(**values)


def as_dict(config: Config) -> dict[str, Any]:
    """The resolved config, for the manifest. Holds names of environment variables, never their values."""
    return dataclasses.asdict(config)


def config_hash(config: Config, *parts: str) -> str:
    """Eight hexadecimal digits over everything that decides what is asked and how it is judged."""
    kept = {k: v for k, v in as_dict(config).items() if k not in _NOT_HASHED}
    kept["engine"] = {k: v for k, v in kept["engine"].items() if k not in _ENGINE_NOT_HASHED}
    kept["provider"] = {k: v for k, v in kept["provider"].items() if k not in _PROVIDER_NOT_HASHED}
    return digest({"config": kept, "parts": parts})[:8]


def digest(value: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON of `value`, hexadecimal."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
