"""Counts from a run folder: they add up whatever is missing, and what was not judged is not scored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cluster import rows
from cluster.config import load
from cluster.display import results_table, show_results
from cluster.plan import build_plan
from cluster.store import RunFolder
from cluster.summary import summarize

PASSED = {"fc": True, "hsr": True, "hsr_inputs": True, "full": True, "error": ""}
VERIFIER = "v2"


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """Twelve planned requests: two right, one truncated, one ERROR, one judged by an older verifier, one empty, one
    refused, one provider error, one context overflow, one asked twice, two missing."""
    folder = RunFolder(str(tmp_path))
    plan = build_plan(load(["model=gold", "conditions=[realize,preserve]", "limit=12"]))
    folder.write_table("plan.parquet", plan)
    keys = plan.column("key").to_pylist()
    statuses = [
        "ok",
        "ok",
        "truncated",
        "ok",
        "ok",
        "empty",
        "refused",
        "provider_error",
        "context_overflow",
        "timed_out",
    ]
    completions = [completion(key, status) for key, status in zip(keys, statuses, strict=False)]
    folder.append("completions", completions, rows.COMPLETION)
    folder.append("completions", [completion(keys[9], "ok")], rows.COMPLETION)
    verdicts: list[tuple[int, str, dict[str, Any]]] = [
        (0, VERIFIER, PASSED), (1, VERIFIER, PASSED), (2, VERIFIER, {**PASSED, "full": False}),
        (3, VERIFIER, {**PASSED, "error": "Traceback"}), (4, "v1", PASSED), (9, "v1", PASSED), (9, VERIFIER, PASSED),
    ]  # fmt: skip
    for i, verifier, verdict in verdicts:
        instance = {"key": keys[i], "request_id": keys[i], "verifier": verifier, **verdict}
        folder.append("verdicts/instances", [instance], rows.INSTANCE)
    finding = {
        "check": "format.well_formed",
        "outcome": "fail",
        "why": "\x1b[31mred[/red]",
        "at": "line 1",
        "blocked_by": "",
    }
    folder.append("verdicts/findings", [{"key": keys[2], **finding}, {"key": keys[4], **finding}], rows.FINDING)
    return folder


def completion(key: str, status: str) -> dict[str, Any]:
    return {
        "key": key, "request_id": f"r-{key}", "status": status, "text": "\x1b]0;owned\x07 [bold]\u202e:smile:",
        "prompt_tokens": 10, "completion_tokens": -1 if status == "refused" else 5, "cost_usd": 0.5,
    }  # fmt: skip


def test_counts(folder: RunFolder) -> None:
    summary = summarize(folder, VERIFIER)
    total = summary["total"]
    for counts in [*summary["cells"], total]:
        assert counts["done"] + counts["failed"] + counts["missing"] == counts["planned"]
    assert (total["planned"], total["done"], total["failed"], total["missing"]) == (12, 8, 2, 2)
    assert total["errors"] == 2  # the ERROR, and the one that this verifier has not judged
    assert (total["n"], total["fc"], total["hsr"], total["full"]) == (6, 4, 4, 3)
    assert (total["n_ok"], total["full_ok"]) == (3, 3)
    assert total["statuses"] == {
        "ok": 5, "truncated": 1, "empty": 1, "refused": 1, "provider_error": 1, "context_overflow": 1,
    }  # fmt: skip
    for name in ("planned", "done", "n", "fc", "hsr", "full"):
        assert sum(cell[name] for cell in summary["cells"]) == total[name]
    assert summary["tokens"] == {"prompt": 110, "completion": 50}
    assert summary["cost_usd"] == 5.5


def test_samples_are_of_this_verifier_only(folder: RunFolder) -> None:
    samples = summarize(folder, VERIFIER)["samples"]
    assert [(s["check"], s["at"]) for s in samples] == [("format.well_formed", "line 1")]


def test_a_terminal_is_shown_no_control_characters_and_no_markup(
    folder: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    show_results(summarize(folder, VERIFIER), "/runs/[red]x", 12.0)
    printed = capsys.readouterr().out
    assert not any(c in printed for c in "\x1b\x07\u202e")
    assert "\\x1b[31mred[/red]" in printed
    assert "\\x1b]0;owned\\x07 [bold]\\u202e:smile:" in printed
    assert "format.well_formed at line 1" in printed
    assert "The run lies in /runs/[red]x" in printed
    assert "8 done + 2 failed + 2 missing = 12 planned, 12 output tokens/s" in " ".join(printed.split())


def test_derive_has_no_format_compliance(tmp_path: Path) -> None:
    folder = RunFolder(str(tmp_path))
    plan = build_plan(load(["model=gold", "conditions=[derive,realize]", "limit=2"]))
    folder.write_table("plan.parquet", plan)
    for key in plan.column("key").to_pylist():
        folder.append("completions", [completion(key, "ok")], rows.COMPLETION)
        instance = {"key": key, "request_id": key, "verifier": VERIFIER, **PASSED}
        folder.append("verdicts/instances", [instance], rows.INSTANCE)
    table = results_table(summarize(folder, VERIFIER), None)
    columns = {str(c.header): [str(cell) for cell in c.cells] for c in table.columns}
    assert columns["condition"][0] == "derive"
    assert columns["FC"] == ["-", "1", "1 of 1"]
    assert columns["HSR"] == ["1", "1", "2"]


def test_scores_are_broken_down_by_who_answered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = RunFolder(str(tmp_path))
    plan = build_plan(load(["model=gold", "conditions=[realize]", "limit=5"]))
    folder.write_table("plan.parquet", plan)
    servers = [("A", "m"), ("A", "m"), ("B\x1b[2J", "m-turbo"), ("", "")]
    for key, (provider, model) in zip(plan.column("key").to_pylist(), servers, strict=False):
        answer = completion(key, "ok") | {"observed_provider": provider, "observed_model": model}
        folder.append("completions", [answer], rows.COMPLETION)
        instance = {"key": key, "request_id": key, "verifier": VERIFIER, **PASSED, "full": provider == "A"}
        folder.append("verdicts/instances", [instance], rows.INSTANCE)
    summary = summarize(folder, VERIFIER)
    found = {(one["provider"], one["model"]): (one["n"], one["full"]) for one in summary["served_by"]}
    assert found == {("A", "m"): (2, 2), ("B\x1b[2J", "m-turbo"): (1, 0)}
    assert summary["total"]["n"] == 4  # who did not say who it was counts in the run
    show_results(summary, "here")
    printed = capsys.readouterr().out
    assert "B\\x1b[2J" in printed
    assert "\x1b" not in printed
