"""Rates, pass@k, cascade, tables and figure: golden numbers of the paper and what must be refused."""

from __future__ import annotations

import json
from math import comb
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verified_code.cascade import cascade, figure
from verified_code.errors import OperatorError
from verified_code.rates import Rate, clustered_interval, mean_pass_at_k, pass_at_k
from verified_code.tables import tables

GOLDEN = [
    (535, 6870, "7.79 %"), (535, 1316, "40.65 %"), (229, 1545, "14.82 %"), (124, 1080, "11.48 %"), (229, 6870, "3.33 %"),
    (124, 2080, "5.96 %"), (1032, 9731, "10.61 %"), (1058, 9731, "10.87 %"), (1032, 9448, "10.92 %"), (1545, 6870, "22.49 %"),
]  # fmt: skip


@pytest.mark.parametrize(("count", "total", "shown"), GOLDEN)
def test_golden_rates_of_the_paper(count: int, total: int, shown: str) -> None:
    assert Rate(count, total).percent == shown
    assert str(Rate(count, total)) == f"{shown} ({count:,}/{total:,})"


def test_a_rate_of_nothing_is_no_zero() -> None:
    assert Rate(0, 0).share is None
    assert Rate(0, 0).percent == "-"
    assert Rate(0, 0).wilson() is None


@pytest.mark.parametrize(("count", "total"), [(2, 1), (-1, 3)])
def test_contradicting_counts_are_refused(count: int, total: int) -> None:
    with pytest.raises(OperatorError, match="contradict"):
        Rate(count, total)


def test_wilson_interval_of_a_known_case() -> None:
    low, high = Rate(8, 10).wilson() or (0, 0)  # Agresti and Coull (1998) print 0.49, 0.94
    assert (round(low, 4), round(high, 4)) == (0.4902, 0.9433)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_interval_holds_the_share(pair: tuple[int, int]) -> None:
    low, high = Rate(*pair).wilson() or (0, 0)
    assert 0 <= low <= pair[0] / pair[1] + 1e-12
    assert pair[0] / pair[1] - 1e-12 <= high <= 1


@given(st.integers(1, 20).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_is_the_share_of_draws_with_a_right_one(numbers: tuple[int, int, int]) -> None:
    n, c, k = numbers
    assert pass_at_k(n, c, k) == pytest.approx(1 - comb(n - c, k) / comb(n, k))
    assert pass_at_k(n, c, 1) == pytest.approx(c / n)
    assert pass_at_k(n, c, n) == (1.0 if c else 0.0)


@pytest.mark.parametrize(("n", "c", "k"), [(5, 1, 6), (0, 0, 1), (5, 6, 1), (5, -1, 1), (5, 1, 0)])
def test_pass_at_k_refuses(n: int, c: int, k: int) -> None:
    with pytest.raises(OperatorError):
        pass_at_k(n, c, k)


def test_pass_at_k_averages_problems_not_samples() -> None:
    assert mean_pass_at_k({"a": (10, 10), "b": (2, 0)}, 1) == 0.5
    assert mean_pass_at_k({}, 1) is None


def test_clustered_interval_is_wider_than_independent_samples_would_give() -> None:
    alike = [(10, 10)] * 5 + [(0, 10)] * 5  # each problem all or nothing
    spread = [(5, 10)] * 10
    low, high = clustered_interval(alike) or (0, 0)
    assert low < 0.3 < 0.7 < high
    assert clustered_interval(spread) == (0.5, 0.5)
    assert clustered_interval([]) is None
    assert clustered_interval(alike) == clustered_interval(alike)


RECORDS = [
    {"task": "a", "A": "pass", "B": "pass", "C": "pass"},
    {"task": "a", "A": "pass", "B": "fail", "C": "pass"},
    {"task": "a", "A": "fail"},
    {"task": "b", "A": "timeout", "B": "pass", "C": "pass"},
    {"task": "b", "A": "pass", "B": "pass", "C": "inconclusive"},
    {"task": "b", "A": "pass", "B": "pass"},
]


def test_cascade_conditions_each_stage_on_the_one_before() -> None:
    a, b, c = cascade(RECORDS, ("A", "B", "C"))
    assert (a.asked, a.passed, a.failed, dict(a.outcomes)) == (6, 4, 1, {"timeout": 1})
    assert (b.asked, b.passed, b.failed, dict(b.outcomes)) == (4, 3, 1, {})
    assert (c.asked, c.passed, c.failed, dict(c.outcomes)) == (3, 1, 0, {"inconclusive": 1, "not_run": 1})
    assert str(c.conditional) == "33.33 % (1/3)"
    assert str(c.unconditional) == "16.67 % (1/6)"


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "task": st.sampled_from("xyz"),
                "A": st.sampled_from(["pass", "fail", "crash"]),
                "B": st.sampled_from(["pass", "fail", "odd"]),
            }
        )
    )
)
def test_cascade_loses_nobody(records: list[dict[str, str]]) -> None:
    for stage in cascade(records, ("A", "B")):
        assert stage.asked == stage.passed + stage.failed + sum(stage.outcomes.values())
        assert stage.attempts == len(records)


def test_figure_is_a_picture_and_escapes_names() -> None:
    svg = figure(cascade(RECORDS, ("A", "B", "C")), "<script>")
    root = ElementTree.fromstring(svg)
    bars = [float(r.get("width", 0)) for r in root.iter("{http://www.w3.org/2000/svg}rect")][1:]
    assert bars == sorted(bars, reverse=True)
    assert bars[1] / bars[0] == pytest.approx(4 / 6, abs=0.01)
    assert "script" in svg
    assert "<script>" not in svg


# Level 3 and table 7 are printed as shares only; these counts are the whole numbers that give them.
COUNTS = json.loads((Path(__file__).parent / "paper_counts.json").read_text("utf-8"))


def test_tables_reproduce_the_paper() -> None:
    found = {t.name: t for t in tables(COUNTS)}
    assert list(found) == ["table3", "table4", "table5", "table7"]
    assert found["table3"].rows[2] == (
        "LiveCodeBench v6",
        "10,550",
        "92.24 % (9,731/10,550)",
        "10.87 % (1,058/9,731)",
        "2.30 % (224/9,731)",
    )
    assert found["table5"].rows[0][2:] == ("51.92 % (1,080/2,080)", "124", "11.48 % (124/1,080)", "5.96 % (124/2,080)")
    assert found["table5"].rows[1][2:] == ("22.49 % (1,545/6,870)", "229", "14.82 % (229/1,545)", "3.33 % (229/6,870)")
    assert [r[-1] for r in found["table7"].rows] == [
        "-14.0 pp",
        "-6.4 pp",
        "-9.4 pp",
    ]  # 127/213 - 1318/1995; the paper subtracts rounded shares: -6.5


@pytest.mark.parametrize(
    ("counts", "why"),
    [
        ({"table9": []}, "table9"), ({"table3": {}}, "table3"), ({"table5": [{"benchmark": "x", "attempted": 3}]}, "row 1: the field 'fully_verified'"),
        ({"table5": [{"benchmark": "x", "attempted": 3, "fully_verified": 4, "failed": 0}]}, "contradict"),
        ({"table5": [{"benchmark": "x", "attempted": 3, "fully_verified": "2", "failed": 0}]}, "whole numbers"),
        ({"table7": [{"benchmark": "x", "with_ensures": 3, "without": [1, 2]}]}, "passed, n"),
    ],
)  # fmt: skip
def test_broken_counts_are_named(counts: dict[str, object], why: str) -> None:
    with pytest.raises(OperatorError, match=why):
        tables(counts)
