"""Post2Exe: verdicts over cases, negatives by mutation, and that no unknown is a pass."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verified_code.cases import NEGATIVE, POSITIVE, Case, find_target
from verified_code.component import from_texts
from verified_code.errors import OperatorError
from verified_code.negatives import negatives
from verified_code.post2exe import (
    CaseResult,
    Fidelity,
    Post2ExeReport,
    Truth,
    decide,
    post2exe,
    preconditions_agree,
)

SPEC = """
predicate MaxOk(s: seq<int>, r: int) { r in s && forall i :: 0 <= i < |s| ==> s[i] <= r }
predicate Weak(s: seq<int>, r: int) { forall i :: 0 <= i < |s| ==> s[i] <= r }
predicate Wrong(s: seq<int>, r: int) { r in s && forall i :: 0 <= i < |s| ==> s[i] >= r }
predicate Sorted(s: seq<int>) { forall i, j :: 0 <= i < j < |s| ==> s[i] <= s[j] }
predicate Never(s: seq<int>, r: int)
type Percent = x: int | 0 <= x <= 100
"""
MAXIMUM = [
    Case({"s": [3, 1, 2]}, {"r": 3}),
    Case({"s": [-5]}, {"r": -5}),
    Case({"s": [3, 1, 2]}, {"r": 4}, NEGATIVE),
    Case({"s": [-5]}, {"r": 0}, NEGATIVE),
]


def run(ensures: str, cases: list[Case] = MAXIMUM, requires: str = "|s| > 0") -> Post2ExeReport:
    impl = f'include "Spec.dfy"\nmethod M(s: seq<int>) returns (r: int) requires {requires} {ensures} {{ }}'
    return post2exe(from_texts(SPEC, impl), cases)


@pytest.mark.parametrize(
    ("ensures", "verdict"),
    [
        ("ensures MaxOk(s, r)", Fidelity.KEEP),
        ("ensures r in s ensures Weak(s, r)", Fidelity.KEEP),
        ("ensures Weak(s, r)", Fidelity.ACCEPTED_NEGATIVE),
        ("ensures true", Fidelity.ACCEPTED_NEGATIVE),
        ("ensures MaxOk(s, r) || true", Fidelity.ACCEPTED_NEGATIVE),
        ("ensures Wrong(s, r)", Fidelity.REJECTED_POSITIVE),
        ("ensures false", Fidelity.REJECTED_POSITIVE),
        ("ensures Never(s, r)", Fidelity.INCONCLUSIVE),
        ("ensures MaxOk(s, r) && Never(s, r)", Fidelity.INCONCLUSIVE),
        ("", Fidelity.INCONCLUSIVE),
        ("ensures r in s && forall x: int :: x > r ==> x !in s", Fidelity.KEEP),
        ("ensures forall x: int :: x * x > r - 100", Fidelity.INCONCLUSIVE),
        ("ensures forall x: int :: x * x > r", Fidelity.REJECTED_POSITIVE),
        ("ensures s[9] == 1", Fidelity.INCONCLUSIVE),
    ],
)
def test_verdict(ensures: str, verdict: Fidelity) -> None:
    report = run(ensures)
    assert report.verdict is verdict, report
    assert (report.why == "") == (verdict is Fidelity.KEEP)


def test_a_definite_false_clause_rejects_a_negative_beside_an_unknown_one() -> None:
    report = run("ensures Never(s, r) ensures MaxOk(s, r)")
    assert report.count(NEGATIVE) == {"false": 2}
    assert report.count(POSITIVE) == {"unknown": 2}
    assert report.verdict is Fidelity.INCONCLUSIVE


def test_cases_outside_the_precondition_speak_for_neither_side() -> None:
    report = run("ensures MaxOk(s, r)", [Case({"s": []}, {"r": 0}), *MAXIMUM])
    assert report.cases[0].truth is Truth.INVALID_CASE
    assert report.verdict is Fidelity.KEEP
    assert run("ensures MaxOk(s, r)", requires="false").verdict is Fidelity.INCONCLUSIVE
    assert run("ensures MaxOk(s, r)", requires="Never(s, 1)").verdict is Fidelity.INCONCLUSIVE


@pytest.mark.parametrize("kind", [POSITIVE, NEGATIVE])
def test_one_kind_alone_is_inconclusive(kind: str) -> None:
    assert run("ensures MaxOk(s, r)", [c for c in MAXIMUM if c.kind == kind]).verdict is Fidelity.INCONCLUSIVE


@pytest.mark.parametrize(
    "case",
    [
        Case({"s": "x"}, {"r": 1}), Case({"s": [1]}, {"r": True}), Case({"s": [1]}, {}), Case({}, {"r": 1}),
        Case({"s": [1], "t": 1}, {"r": 1}), Case({"s": [1.5]}, {"r": 1}), Case({"s": [1]}, {"r": 1, "s": [2]}),
    ],
)  # fmt: skip
def test_a_case_that_does_not_fit_the_signature(case: Case) -> None:
    report = run("ensures MaxOk(s, r)", [case, *MAXIMUM])
    assert report.cases[0].truth is Truth.INVALID_CASE
    assert report.cases[0].why


def test_an_output_outside_its_declared_type_is_rejected() -> None:
    impl = "method M(x: nat) returns (r: Percent) ensures r >= 0 { }"
    report = post2exe(from_texts(SPEC, impl), [Case({"x": 3}, {"r": 3}), Case({"x": 3}, {"r": 101}, NEGATIVE)])
    assert report.verdict is Fidelity.KEEP
    assert post2exe(from_texts(SPEC, impl), [Case({"x": -3}, {"r": 3})]).cases[0].truth is Truth.INVALID_CASE


SORT = "method S(a: array<int>) modifies a ensures Sorted(a[..]) && multiset(a[..]) == multiset(old(a[..])) { }"


def test_an_array_before_and_after() -> None:
    cases = [
        Case({"a": [3, 1]}, {"a": [1, 3]}),
        Case({"a": [3, 1]}, {"a": [1, 1]}, NEGATIVE),
        Case({"a": [3, 1]}, {"a": [3, 1]}, NEGATIVE),
    ]
    assert post2exe(from_texts(SPEC, SORT), cases).verdict is Fidelity.KEEP
    weak = SORT.replace(" && multiset(a[..]) == multiset(old(a[..]))", "")
    assert post2exe(from_texts(SPEC, weak), cases).verdict is Fidelity.ACCEPTED_NEGATIVE


def test_clauses_are_reported_one_by_one() -> None:
    result = run("ensures Weak(s, r) ensures r in s").cases[2]
    assert [(str(c.truth), c.bound) for c in result.clauses] == [("true", True), ("false", False)]
    assert result.bound_only is Truth.TRUE


def test_methods_of_objects_and_unparsed_components_are_inconclusive() -> None:
    impl = "class C { method M(s: seq<int>) returns (r: int) ensures MaxOk(s, r) { } }"
    assert post2exe(from_texts(SPEC, impl), MAXIMUM).verdict is Fidelity.INCONCLUSIVE
    assert post2exe(from_texts(SPEC, "method M("), MAXIMUM).verdict is Fidelity.INCONCLUSIVE


def test_which_method_must_be_plain() -> None:
    two = "method A() returns (r: int) { } method B() returns (r: int) { } method Main() { }"
    with pytest.raises(OperatorError, match="name one of them"):
        find_target(from_texts(SPEC, two))
    assert find_target(from_texts(SPEC, two), "B").qualified == "B"
    assert find_target(from_texts(SPEC, "method Main() { } method A() { }")).qualified == "A"


truths = st.sampled_from(list(Truth))
results = st.lists(
    st.builds(
        lambda kind, truth: CaseResult(kind, truth, "why", (), truth), st.sampled_from([POSITIVE, NEGATIVE]), truths
    ),
    max_size=8,
)


@given(results)
def test_keep_means_that_everything_was_evaluated_and_right(found: list[CaseResult]) -> None:
    verdict, why = decide(found)
    positives = [r.truth for r in found if r.kind == POSITIVE and r.truth is not Truth.INVALID_CASE]
    negative = [r.truth for r in found if r.kind == NEGATIVE and r.truth is not Truth.INVALID_CASE]
    right = bool(positives) and bool(negative) and set(positives) == {Truth.TRUE} and set(negative) == {Truth.FALSE}
    assert (verdict is Fidelity.KEEP) == right
    assert right or why


@given(results)
def test_an_unknown_more_never_makes_a_keep(found: list[CaseResult]) -> None:
    for truth in (Truth.UNKNOWN, Truth.REFUTED_BY_SAMPLE):
        for kind in (POSITIVE, NEGATIVE):
            assert decide([*found, CaseResult(kind, truth, "why", (), truth)])[0] is not Fidelity.KEEP


def target(signature: str) -> Any:
    return find_target(from_texts(SPEC + "datatype T = Leaf | Node(v: int)\n", f"method M{signature} {{ }}"))


@pytest.mark.parametrize(
    ("signature", "output"),
    [
        ("(x: int) returns (r: int)", 5), ("(x: int) returns (r: int)", 0), ("(x: int) returns (r: nat)", 0), ("(x: int) returns (r: bool)", True),
        ("(x: int) returns (r: seq<int>)", [1, 2]), ("(x: int) returns (r: seq<int>)", []), ("(x: int) returns (r: string)", "ab"),
        ("(x: int) returns (r: real)", "1/2"), ("(x: int) returns (r: char)", "a"), ("(x: int) returns (r: set<int>)", [1]),
        ("(x: int) returns (r: map<int, int>)", [[1, 2]]), ("(x: int) returns (r: (int, bool))", [1, True]), ("(x: int) returns (r: Percent)", 7),
        ("(x: int) returns (r: T)", {"ctor": "Node", "args": [3]}), ("(x: int) returns (r: T)", "Leaf"), ("(x: int) returns (r: seq<seq<int>>)", [[1]]),
    ],
)  # fmt: skip
def test_negatives_keep_the_input_and_change_the_output(signature: str, output: Any) -> None:
    found = negatives(target(signature), [Case({"x": 1}, {"r": output})], unique=True)
    assert found.cases
    assert not found.unsafe
    assert len({str(c.output) for c in found.cases}) == len(found.cases)
    for case in found.cases:
        assert case.input == {"x": 1}
        assert case.output != {"r": output}
        assert case.kind == NEGATIVE
        assert case.source


def test_negatives_where_several_outputs_are_right() -> None:
    place = target("(x: int) returns (r: int)")
    case = Case({"x": 1}, {"r": 5})
    assert negatives(place, [case], unique=False).unsafe
    listed = Case({"x": 1}, {"r": 5}, admissible=({"r": 6}, {"r": 0}))
    assert {c.output["r"] for c in negatives(place, [listed], unique=False).cases} == {4, -5, 11}
    checked = negatives(place, [case], unique=False, checker=lambda _i, o: None if o["r"] == 4 else o["r"] > 0)
    assert {c.output["r"] for c in checked.cases} == {0, -5}


def test_arrays_of_the_caller_keep_their_length() -> None:
    place = find_target(from_texts(SPEC, SORT))
    for case in negatives(place, [Case({"a": [3, 1, 2]}, {"a": [1, 2, 3]})], unique=True).cases:
        assert len(case.output["a"]) == 3


def test_preconditions_agree() -> None:
    reference = find_target(from_texts(SPEC, "method M(x: nat) returns (r: int) requires x < 9 { }"))
    inputs = [Case({"x": n}, {"r": 0}) for n in (-1, 0, 8, 9)]
    same = find_target(from_texts(SPEC, "method M(x: int) returns (r: int) requires 0 <= x && x <= 8 { }"))
    assert preconditions_agree(same, reference, inputs) == (True, "")
    stronger = find_target(from_texts(SPEC, "method M(x: int) returns (r: int) requires 0 < x < 9 { }"))
    agree, why = preconditions_agree(stronger, reference, inputs)
    assert agree is False
    assert "input 2: the candidate excludes it, the reference allows it" in why
    unknown = find_target(from_texts(SPEC, "method M(x: int) returns (r: int) requires Never([x], x) { }"))
    assert preconditions_agree(unknown, reference, inputs)[0] is None
    assert preconditions_agree(same, reference, [])[0] is None
