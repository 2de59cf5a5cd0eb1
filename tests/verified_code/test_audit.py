"""Samples on disk, the audit of them, and the report: counts, conditional stages, hostile names."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from verified_code.audit import (
    ACCEPTANCE,
    BINDING,
    NOT_RUN,
    POST2EXE,
    TESTS,
    Outcome,
    audit_sample,
    counts,
    pass_at,
    summarize,
    unavailable,
)
from verified_code.errors import OperatorError
from verified_code.report import write_report
from verified_code.samples import Sample, load_samples

SPEC = "predicate Double(x: int, r: int) { r == 2 * x }\npredicate Weak(x: int, r: int) { r >= x || x < 0 }"
IMPL = 'include "Spec.dfy"\nmethod M(x: int) returns (r: int) ensures %s { r := 2 * x; }'
CASES = '{"input": {"x": 2}, "output": {"r": 4}}\n{"input": {"x": -1}, "output": {"r": -2}}\n'


def tree(root: Path, samples: dict[str, str], cases: str = CASES, task: str = '{"unique": true}') -> list[Sample]:
    folder = root / "double"
    for name, ensures in samples.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "Spec.dfy").write_text(SPEC)
        (folder / name / "Impl.dfy").write_text(ensures if "method" in ensures else IMPL % ensures)
    (folder / "cases.jsonl").write_text(cases)
    (folder / "task.json").write_text(task)
    return load_samples(root)


def passed(_sample: Sample) -> Outcome:
    return Outcome("pass", "verified")


def test_every_surface_of_a_sample(tmp_path: Path) -> None:
    good, weak = tree(tmp_path, {"good": "Double(x, r)", "weak": "Weak(x, r)"})
    record = audit_sample(good, passed, passed)
    assert [record[s] for s in (ACCEPTANCE, BINDING, TESTS, POST2EXE)] == ["pass"] * 4
    assert (record["precondition"], record["end2end"]) == ("agrees", True)
    record = audit_sample(weak, passed, passed)
    assert (record[POST2EXE], record["post2exe"], record["end2end"]) == ("fail", "accepted_negative", False)


def test_what_cannot_be_asked_is_not_run_and_never_a_pass(tmp_path: Path) -> None:
    (good,) = tree(tmp_path, {"good": "Double(x, r)"}, cases="")
    record = audit_sample(good, unavailable("no dafny"), unavailable("no sandbox"))
    assert [record[s] for s in (ACCEPTANCE, BINDING, TESTS, POST2EXE)] == [NOT_RUN, "pass", NOT_RUN, NOT_RUN]
    assert record["acceptance_why"] == "no dafny"
    assert record["end2end"] is False


def test_a_conditional_audit_asks_only_what_survived(tmp_path: Path) -> None:
    asked: list[str] = []

    def tests(sample: Sample) -> Outcome:
        asked.append(sample.name)
        return Outcome("fail", "fail", "case 1")

    samples = tree(tmp_path, {"bound": "Double(x, r)", "unbound": "r == 2 * x"})
    records = [audit_sample(s, passed, tests, conditional=True) for s in samples]
    assert asked == ["bound"]
    assert [r[POST2EXE] for r in records] == [NOT_RUN, NOT_RUN]


def test_counts_are_conditional_and_say_so(tmp_path: Path) -> None:
    samples = tree(
        tmp_path,
        {"a": "Double(x, r)", "b": "r == 2 * x", "c": "method M(x: int) returns (r: int) { }", "d": "Weak(x, r)"},
    )
    fails = {"double/d"}
    records = [audit_sample(s, passed, lambda s: Outcome("fail" if s.id in fails else "pass", "x")) for s in samples]
    found = counts(records, "mine")
    assert found["table3"] == [{"benchmark": "mine", "attempted": 4, "accepted": 4, "any_ensures": 3, "bound": 2}]
    assert found["table5"] == [{"benchmark": "mine", "attempted": 4, "fully_verified": 2, "failed": 1}]
    assert found["table7"] == [{"benchmark": "mine", "with_ensures": [2, 3], "without": [1, 1]}]
    assert pass_at(records, (1, 4, 5))["B binding"] == {"pass@1": 0.5, "pass@4": 1.0, "pass@5": None}


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("task.json", "{", "task.json"), ("task.json", "[]", "an object is due"), ("cases.jsonl", "{}\n", "cases.jsonl:1"),
        ("cases.jsonl", CASES + "nonsense\n", "cases.jsonl:3"),
    ],
)  # fmt: skip
def test_broken_task_files_are_named_and_the_rest_goes_on(tmp_path: Path, name: str, text: str, why: str) -> None:
    tree(tmp_path, {"good": "Double(x, r)"})
    (tmp_path / "double" / name).write_text(text)
    (sample,) = load_samples(tmp_path)
    assert any(why in p for p in sample.task.problems)
    assert audit_sample(sample, passed, passed)[BINDING] == "pass"


def test_a_folder_without_samples_is_an_error(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no"):
        with pytest.raises(OperatorError):
            load_samples(path)


def test_the_content_hash_follows_files_and_cases(tmp_path: Path) -> None:
    (before,) = tree(tmp_path, {"good": "Double(x, r)"})
    first = before.content_hash()
    assert load_samples(tmp_path)[0].content_hash() == first
    (tmp_path / "double" / "cases.jsonl").write_text(CASES.splitlines()[0])
    second = load_samples(tmp_path)[0].content_hash()
    (tmp_path / "double" / "good" / "Spec.dfy").write_text(SPEC + " ")
    assert len({first, second, load_samples(tmp_path)[0].content_hash()}) == 3


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(a.startswith("on") or a in ("src", "href") for a, _ in attrs)


def test_the_report_is_whole_and_escapes_what_samples_say(tmp_path: Path) -> None:
    samples = tree(tmp_path / "in", {"<img src=x onerror=alert(1)>": "Double(x, r)", "b": "true"})
    records = [audit_sample(s, passed, lambda _: Outcome("fail", "fail", "<script>alert(1)</script>")) for s in samples]
    write_report(tmp_path / "out", summarize(records, "mine & <yours>"), records)
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    tags = _Tags()
    tags.feed(page)
    assert not {"script", "img"} & set(tags.tags)
    assert "&lt;script&gt;" in page
    assert "default-src 'none'" in page
    lines = (tmp_path / "out" / "records.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["sample"] for line in lines] == [r["sample"] for r in records]
    summary = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    assert [s["stage"] for s in summary["cascade"]] == [ACCEPTANCE, BINDING, TESTS, POST2EXE]
    assert summary["bypass_flags"] == {"trivial_true": 1}
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "cascade.svg",
        "records.jsonl",
        "report.html",
        "summary.json",
    ]
