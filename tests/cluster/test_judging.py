"""Which stored completions are judged, and with which plan rows. No Ray."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster import judging, rows
from cluster.config import load
from cluster.plan import build_plan, verifier_id
from cluster.store import RunFolder
from tests.cluster.test_summary import completion


@pytest.mark.parametrize("slab", [1, 2, 100])
def test_completions_meet_their_plan_rows_and_judged_parts_are_passed_over(
    slab: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "SLAB_ROWS", slab)
    plan = build_plan(load(["model=gold", "conditions=[realize]", "limit=4"]))
    keys = plan.column("key").to_pylist()
    folder = RunFolder(str(tmp_path))
    for key, status in zip(reversed(keys), ["ok", "ok", "refused", "truncated"], strict=True):  # a part each
        folder.append("completions", [completion(key, status)], rows.COMPLETION)
    judged = {"key": keys[3], "request_id": "", "verifier": verifier_id()}
    folder.append("verdicts/instances", [judged], rows.INSTANCE)
    todo = judging.without_verdict(folder)
    assert todo.tolist() == [1, 3]
    found = [row for table in judging._answered(folder, plan, todo) for row in table.to_pylist()]
    planned = {row["key"]: row for row in plan.to_pylist()}
    assert [row["key"] for row in found] == [keys[2], keys[0]]
    for row in found:
        assert row["rules"] == planned[row["key"]]["rules"]
        assert row["artifact_id"] == planned[row["key"]]["artifact_id"]
