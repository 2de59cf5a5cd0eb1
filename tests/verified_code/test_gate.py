"""The gate: labelled components, one small case a trap, outcomes of bad input."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from verified_code.component import from_texts, load_component
from verified_code.gate import REASONS, GateReport, GateVerdict, judge

CORPUS = Path(__file__).parent.parent / "corpus" / "gate"
GOOD = "predicate Good(x: int) { 0 <= x && x % 2 == 0 }\n"
HEAD = 'include "Spec.dfy"\n'


def report(impl: str, spec: str = GOOD, *, include: bool = True, members: bool = False) -> GateReport:
    return judge(from_texts(spec, (HEAD if include else "") + impl), members=members)


@pytest.mark.parametrize("folder", sorted(CORPUS.iterdir()), ids=lambda p: p.name)
def test_labelled_component(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    found = judge(load_component(folder))
    assert found.verdict == expected["verdict"]
    assert found.paper_literal_verdict == expected["paper_literal_verdict"]
    assert found.level2 == expected["level2_any_ensures_in_impl"]
    assert sorted({f.flag for f in found.flags}) == sorted(expected["flags"])
    methods = {m.name: "bound" if m.bound_by_resolution else "not_bound" for m in found.methods}
    assert methods == expected["methods"]


def test_the_corpus_is_there() -> None:
    assert len(list(CORPUS.iterdir())) == 45


# name: (implementation, specification, strict, by the paper's letter, reason of the first method)
TRAPS = {
    "result of the predicate's name": (
        "method M() returns (Good: int) ensures Good >= 0 { Good := 4; }", GOOD, "not_bound", "bound", "shadowed_by_parameter"),
    "variable of a set": (
        "method M() returns (r: set<int>) ensures r == set Good | Good in {1, 2} { r := {1, 2}; }",
        GOOD, "not_bound", "not_bound", "shadowed_by_binder"),
    "variable of a map": (
        "method M(s: set<int>) returns (r: map<int, int>) ensures r == map Good | Good in s :: Good { r := map x | x in s :: x; }",
        GOOD, "not_bound", "not_bound", "shadowed_by_binder"),
    "let such that": (
        "method M() returns (r: int) ensures var Good :| Good == r; Good > 0 { r := 4; }",
        GOOD, "not_bound", "not_bound", "shadowed_by_binder"),
    "domain arrow": (
        "method M(s: seq<int>) returns (r: int) ensures forall Good <- s :: Good <= 9 || r < Good { r := 4; }",
        GOOD, "not_bound", "not_bound", "shadowed_by_binder"),
    "use in a domain": (
        "method M() returns (r: int) ensures forall x <- F(r) :: x > 0 { r := 4; }",
        "function F(x: int): set<int> { {x} }", "bound", "bound", ""),
    "function, no method": ("function F(x: int): int ensures Good(F(x)) { 4 }", GOOD, "no_method", "no_method", None),
    "Main without ensures": (
        "method M() returns (r: int) ensures Good(r) { r := 4; }\nmethod Main() { print 1; }", GOOD, "bound", "not_bound", ""),
    "a test without ensures": (
        "method M() returns (r: int) ensures Good(r) { r := 4; }\nmethod {:test} T() { }", GOOD, "bound", "not_bound", ""),
    "another method without ensures": (
        "method M() returns (r: int) ensures Good(r) { r := 4; }\nmethod N() { }", GOOD, "not_bound", "not_bound", ""),
    "other module": (
        "module Other { predicate Good(x: int) { true } }\nmethod M() returns (r: int) ensures Other.Good(r) { r := 4; }",
        GOOD, "not_bound", "bound", "redeclared"),
    "opened import": (
        "module I { import opened Spec\n method M() returns (r: int) ensures Good(r) { r := 4; } }",
        "module Spec { predicate Good(x: int) { x > 0 } }", "bound", "bound", ""),
    "module without import": (
        "module I { method M() returns (r: int) ensures Good(r) { r := 4; } }", GOOD, "not_bound", "bound", "not_in_scope"),
    "named argument": (
        "function F(Good: int): int { Good }\nmethod M() returns (r: int) ensures F(Good := r) == r { r := 4; }",
        GOOD, "not_bound", "bound", "other_kind"),
    "type position": (
        "method M() returns (r: int) ensures forall x: Good :: x == x { r := 4; }",
        "predicate P() { true }\ntype Good = int\nmodule X { predicate Good(y: int) { true } }", "not_bound", "bound", "other_kind"),
    "constant, type, lemma": (
        "method M() returns (r: int) ensures r == Limit { r := 4; }",
        "const Limit: int := 4\nlemma L() ensures true { }\ndatatype D = A", "not_bound", "not_bound", "inline_only"),
    "function method": (
        "method M() returns (r: int) ensures r == F(4) { r := 4; }", "function method F(x: int): int { x }", "bound", "bound", ""),
    "by method": (
        "method M() returns (r: int) ensures r == F(4) { r := 4; }",
        "function F(x: int): int { x } by method { return x; }", "bound", "bound", ""),
    "name in a string of the body": (
        'method M() returns (r: int) ensures r > 0 { r := 4; print "ensures Good(r)"; }',
        GOOD, "not_bound", "not_bound", "inline_only"),
    "iterator": ("iterator I() yields (x: int) yield ensures Good(x) { }", GOOD, "no_method", "no_method", None),
    "free ensures": (
        "method M() returns (r: int) free ensures Good(r) { r := 4; }", GOOD, "not_bound", "bound", "free_only"),
    "class in a module": (
        "module I { import S = Spec\n class C { method M() returns (r: int) ensures S.Good(r) { r := 4; } } }",
        "module Spec { predicate Good(x: int) { x > 0 } }", "bound", "bound", ""),
    "carriage returns and a mark": (
        "method M() returns (r: int)\r\n  ensures r >= 0 // x\r\n  ensures Good(r)\r\n{ r := 4; }", GOOD, "bound", "bound", ""),
    "commented include": (
        '// include "Helper.dfy"\nmethod M() returns (r: int) ensures Good(r) { r := 4; }', GOOD, "bound", "bound", ""),
    "function of the specification as an argument": (
        "method M() returns (r: seq<int>) ensures forall x :: x in r ==> (y => Good(y))(x) { r := []; }", GOOD, "bound", "bound", ""),
    "refined module": (
        "module I refines Spec { method N() returns (r: int) ensures Good(r) { r := 4; } }",
        "abstract module Spec { predicate Good(x: int) { x > 0 } }", "bound", "bound", ""),
    "constructor of that name": (
        "datatype D = Good(x: int) | Bad\nmethod M() returns (d: D) ensures d == Good(3) { d := Good(3); }",
        "module S { predicate Good(x: int) { x > 0 } }", "not_bound", "bound", "other_kind"),
}  # fmt: skip


@pytest.mark.parametrize("name", TRAPS)
def test_trap(name: str) -> None:
    impl, spec, strict, literal, reason = TRAPS[name]
    found = report(impl, spec)
    assert (found.verdict, found.paper_literal_verdict) == (strict, literal), found
    assert [str(u) for u in found.unparsed] == []
    if reason is not None:
        assert found.methods[0].reason == reason, found.methods[0]


def test_paired_on_the_command_line_binds_without_an_include() -> None:
    found = report("method M() returns (r: int) ensures Good(r) { r := 4; }", include=False)
    assert found.verdict is GateVerdict.BOUND


def test_a_binding_names_clause_symbol_and_declaration() -> None:
    found = report("method M() returns (r: int)\n  ensures r > 0\n  ensures r < 9 && Good(r)\n{ r := 4; }")
    (binding,) = found.methods[0].bindings
    assert (binding.clause, binding.name, str(binding.place)) == (2, "Good", "Impl.dfy:4:20")
    assert (binding.symbol, str(binding.declared)) == ("Good", "Spec.dfy:1:1")


def test_members_bind_in_the_wider_reading_only() -> None:
    spec = "class Box { var v: int predicate Valid() reads this { v > 0 } }"
    impl = "class Sub extends Box { method M() modifies this ensures Valid() { } }"
    assert report(impl, spec).methods[0].reason == "spec_member"
    assert report(impl, spec, members=True).verdict is GateVerdict.BOUND


def test_every_reason_that_a_report_gives_is_explained() -> None:
    for impl, spec, *_ in TRAPS.values():
        for method in report(impl, spec).methods:
            assert (method.reason == "") == method.bound_by_resolution
            assert not method.reason or REASONS[method.reason]


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"Impl.dfy": "method M() {"}, "Spec.dfy is missing"),
        ({"Spec.dfy": GOOD}, "Impl.dfy is missing"),
        ({"Spec.dfy": GOOD, "Impl.dfy": "method M( { }"}, "Impl.dfy:1:11"),
        ({"Spec.dfy": "predicate Good(x: int { true }", "Impl.dfy": "method M() { }"}, "Spec.dfy:1:23"),
        ({"Spec.dfy": GOOD, "Impl.dfy": 'include "../../etc/passwd"\nmethod M() { }'}, "outside the component"),
        ({"Spec.dfy": GOOD, "Impl.dfy": 'include "/etc/passwd"\nmethod M() { }'}, "outside the component"),
        ({"Spec.dfy": GOOD, "Impl.dfy": 'include "No.dfy"\nmethod M() { }'}, "No.dfy is missing"),
        ({"Spec.dfy": GOOD, "Impl.dfy": 'include "."\nmethod M() { }'}, "outside the component"),
        ({"Spec.dfy": GOOD, "Impl.dfy": "(" * 1_000_000}, "brackets are open"),
        ({"Spec.dfy": GOOD, "Impl.dfy": b"method M() { } // \xff"}, "not UTF-8"),
        ({"Spec.dfy": GOOD, "Impl.dfy": "method M() /* { }"}, "not closed"),
        ({"Spec.dfy": GOOD, "Impl.dfy": "method M() ensures " + "f(" * 5000}, "brackets are open"),
        ({"Spec.dfy": GOOD, "Impl.dfy": "method M() { } " + " " * (1 << 20)}, "longer than"),
    ],
)
def test_what_cannot_be_read_is_an_outcome_with_its_place(
    tmp_path: Path, files: dict[str, str | bytes], why: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
    found = judge(load_component(tmp_path))
    assert found.verdict is GateVerdict.UNPARSED
    assert found.paper_literal_verdict is GateVerdict.UNPARSED
    assert any(why in str(u) for u in found.unparsed), found.unparsed


def test_long_chains_of_operators_are_judged() -> None:
    clause = " && ".join(f"r != {i}" for i in range(1, 8000))
    assert report(f"method M() returns (r: int) ensures {clause} && Good(r) {{ r := 0; }}").verdict is GateVerdict.BOUND


def test_a_link_out_of_the_component_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "secret.dfy"
    outside.write_text("predicate Secret(x: int) { true }")
    folder = tmp_path / "component"
    folder.mkdir()
    (folder / "Spec.dfy").write_text('include "Link.dfy"\n')
    (folder / "Impl.dfy").write_text("method M() { }")
    (folder / "Link.dfy").symlink_to(outside)
    assert "outside the component" in str(judge(load_component(folder)).unparsed[0])


def test_a_pipe_in_place_of_a_file_does_not_wait(tmp_path: Path) -> None:
    (tmp_path / "Spec.dfy").write_text(GOOD)
    os.mkfifo(tmp_path / "Impl.dfy")
    assert "no regular file" in str(judge(load_component(tmp_path)).unparsed[0])


def test_cyclic_includes_end(tmp_path: Path) -> None:
    (tmp_path / "Spec.dfy").write_text('include "A.dfy"\n')
    (tmp_path / "A.dfy").write_text('include "Spec.dfy"\ninclude "A.dfy"\npredicate Deep(x: int) { true }')
    (tmp_path / "Impl.dfy").write_text('include "Spec.dfy"\nmethod M() returns (r: int) ensures Deep(r) { }')
    assert judge(load_component(tmp_path)).verdict is GateVerdict.BOUND
