"""Keys: the hash of everything that determines a completion, and of nothing else."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from cluster.config import load
from cluster.plan import build_plan, hashes
from serial7 import grid

API = ["model=openai-compatible", "provider.base_url=http://127.0.0.1:1/v1", "provider.model_id=m"]


def keys(*arguments: str) -> dict[str, str]:
    plan = build_plan(load(arguments))
    return dict(zip(plan.column("request_id").to_pylist(), plan.column("key").to_pylist(), strict=True))


def test_every_request_of_the_grid_is_planned_once() -> None:
    plan: list[dict[str, Any]] = build_plan(load(["model=gold"])).to_pylist()
    assert {row["request_id"]: tuple(row["rules"]) for row in plan} == {r.id: r.rules for r in grid.load_grid()}
    assert len({row["key"] for row in plan}) == len(plan) == len(grid.load_grid())
    assert all(row["prompt_chars"] > 60 for row in plan)


def test_the_key_changes_with_all_that_determines_a_completion() -> None:
    base = keys(*API, "limit=6")
    for other in ("sampling.temperature=0.3", "sampling.top_p=0.9", "sampling.max_tokens=9", "sampling.seed=1",
                  "sampling.extra_body={top_k: 2}", "provider.model_id=n", "provider.base_url=http://127.0.0.1:2/v1",
                  "provider.routing={only: [a]}", "provider.revision=r2"):  # fmt: skip
        changed = keys(*API, "limit=6", other)
        assert changed.keys() == base.keys()
        assert not set(changed.values()) & set(base.values()), other


def test_the_key_does_not_change_with_what_does_not() -> None:
    base = keys(*API)
    for other in ("client.connections=2", "budget.usd=1", "out=/x", "verifiers=3", "formats=[json]", "limit=9"):
        changed = keys(*API, other)
        assert changed.items() <= base.items(), other


def test_an_engine_key_changes_with_the_engine() -> None:
    base = keys("model=demo", "limit=3")
    assert keys("model=demo", "limit=3", "engine.port=8123", "engine.replicas=2") == base
    for other in (
        "engine.dtype=bfloat16",
        "engine.revision=x",
        "engine.extra_args=[--seed=3]",
        "engine.max_model_len=99",
    ):
        assert not set(keys("model=demo", "limit=3", other).values()) & set(base.values()), other


def test_repeats_have_their_own_keys_and_ids() -> None:
    found = keys("model=gold", "limit=4", "repeats=3")
    assert len(found) == len(set(found.values())) == 12
    assert sum(name.endswith("#2") for name in found) == 4


def test_requests_that_share_a_prefix_stand_together_and_long_answers_come_first() -> None:
    plan: list[dict[str, Any]] = build_plan(load(["model=gold"])).to_pylist()
    groups = [(row["condition"], row["format"], row["language"]) for row in plan]
    changes = sum(a != b for a, b in pairwise(groups))
    assert changes == len(set(groups)) - 1
    assert [groups[0][0], groups[-1][0]] == ["realize", "derive"]


def test_the_hashes_of_a_manifest() -> None:
    config = load(["model=gold", "limit=3"])
    found = hashes(build_plan(config))
    assert set(found) == {"grid", "artifacts", "prompts", "rules", "verifier", "reasoning"}
    assert found["grid"] == grid.grid_hash(grid.load_grid())
    assert hashes(build_plan(load(["model=gold", "limit=4"])))["prompts"] != found["prompts"]
