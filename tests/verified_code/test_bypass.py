"""Bypass flags: each construct is seen where it stands, and nothing else is."""

from __future__ import annotations

import pytest

from verified_code.bypass import FLAGS, bypass_flags
from verified_code.component import from_texts

CASES = {
    "method {:verify false} M() ensures x > 0 { }": "verify_false",
    "method M() { assume 1 == 2; }": "assume",
    'method M() { var t := "assume false"; /* assume */ }': None,
    "lemma L() ensures F(assume false; 1) { }": "assume",
    "lemma {:axiom} L() ensures 1 == 2": "bodyless_axiom",
    "lemma L() ensures 1 == 2": "bodyless",
    "method M() ensures 1 == 1 + 0": "bodyless",
    "method M()": None,
    "function F(x: int): int": None,
    "method {:extern} M() ensures 1 == 2": "extern",
    "method M() decreases * { }": "decreases_star",
    "method M(n: int) decreases n * 2 { }": None,
    "method M() returns (r: int) free ensures r > 0 { }": "free_ensures",
    "method M() returns (r: int) ensures true { }": "trivial_true",
    "method M() returns (r: int) ensures r > 0 && true { }": "trivial_true",
    "method M() returns (r: int) ensures r == r { }": "trivial_self_equality",
    "method M() returns (r: int) ensures r > 0 || (r < 3 || true) { }": "trivial_disjunct",
    "method M() returns (r: int) ensures r > 0 ==> true { }": "trivial_true",
    "method M() returns (r: int) ensures r == 1 ==> r == 1 { }": "trivial_self_equality",
    "method M() returns (r: int) ensures r > 0 ==> r > 1 { }": None,
    "abstract module A { method M() ensures 1 == 2 }": None,
    "trait T { method M() ensures 1 == 2 }": None,
    "module A { method M() ensures 1 == 2 }": "bodyless",
}


@pytest.mark.parametrize("text", CASES)
def test_flag(text: str) -> None:
    component = from_texts("", text)
    assert not component.unreadable
    found = bypass_flags(component)
    expected = CASES[text]
    assert [f.flag for f in found] == ([] if expected is None else [expected])
    for flag in found:
        assert flag.flag in FLAGS
        assert flag.place.file == "Impl.dfy"


def test_every_flag_has_a_case() -> None:
    assert {v for v in CASES.values() if v} | {"axiom"} == set(FLAGS)
