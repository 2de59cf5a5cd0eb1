"""The command as a user runs it: output, JSON lines, exit codes, hostile names."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from verified_code.cli import app

CORPUS = Path(__file__).parent.parent / "corpus" / "gate"
runner = CliRunner()


def test_gate_names_clause_symbol_declaration_and_reason() -> None:
    done = runner.invoke(app, ["gate", str(CORPUS / "29_two_methods_one_unbound")])
    assert done.exit_code == 0
    assert "not_bound  (by the paper's letter: bound)" in done.output
    assert (
        "A at Impl.dfy:3:1: clause 1 names Good at Impl.dfy:4:11, which is Good, declared at Spec.dfy:1:1"
        in done.output
    )
    assert "B at Impl.dfy:6:1: not bound, its clauses name nothing that the specification declares" in done.output


def test_gate_batch_gives_one_json_line_a_component() -> None:
    done = runner.invoke(app, ["gate", "--batch", str(CORPUS), "--json"])
    lines = [json.loads(line) for line in done.output.splitlines()]
    assert done.exit_code == 0
    assert len(lines) == 45
    for line in lines:
        assert {"component", "verdict", "paper_literal_verdict", "level2", "methods", "flags", "unparsed"} <= set(line)


def test_gate_exit_codes(tmp_path: Path) -> None:
    assert runner.invoke(app, ["gate", str(CORPUS / "29_two_methods_one_unbound"), "--fail"]).exit_code == 1
    assert runner.invoke(app, ["gate", str(CORPUS / "37_qualified_name"), "--fail"]).exit_code == 0
    missing = runner.invoke(app, ["gate", str(tmp_path / "no")])
    assert missing.exit_code == 2
    assert "there is no such folder" in missing.output
    assert runner.invoke(app, ["gate", "--batch", str(tmp_path)]).exit_code == 2


def test_control_characters_of_a_model_do_not_reach_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "Spec.dfy").write_text("predicate P() { true }")
    (tmp_path / "Impl.dfy").write_text('include "a\x1b[31mb.dfy"\nmethod M() { }')
    done = runner.invoke(app, ["gate", str(tmp_path)])
    assert "\x1b" not in done.output
    assert "\\u001b" in done.output


def component(tmp_path: Path, ensures: str) -> Path:
    (tmp_path / "Spec.dfy").write_text("predicate Even(x: int) { x % 2 == 0 }")
    (tmp_path / "Impl.dfy").write_text(
        f'include "Spec.dfy"\nmethod M(x: int) returns (r: int) ensures {ensures} {{ r := 2 * x; }}'
    )
    return tmp_path


def test_post2exe(tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text(
        '{"input": {"x": 1}, "output": {"r": 2}}\n\n{"input": {"x": 1}, "output": {"r": 3}, "kind": "negative"}\n'
    )
    done = runner.invoke(app, ["post2exe", str(component(tmp_path, "Even(r)")), str(cases), "--fail"])
    assert (done.exit_code, "M: keep" in done.output) == (0, True), done.output
    done = runner.invoke(app, ["post2exe", str(component(tmp_path, "r >= x || r < x")), str(cases), "--fail"])
    assert (done.exit_code, "accepted_negative" in done.output) == (1, True), done.output
    assert '"output": {"r": 3}' in done.output
    as_json = runner.invoke(app, ["post2exe", str(component(tmp_path, "Even(r)")), str(cases), "--json"])
    assert json.loads(as_json.output)["verdict"] == "keep"


def test_a_line_that_is_no_case_is_named(tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    for text, why in (
        ("{", "not JSON"),
        ("[]", "a case is an object"),
        ('{"input": {}}', "output"),
        ('{"input": {}, "output": {}, "kind": "x"}', "kind"),
    ):
        cases.write_text('{"input": {"x": 1}, "output": {"r": 2}}\n' + text + "\n")
        done = runner.invoke(app, ["post2exe", str(component(tmp_path, "Even(r)")), str(cases)])
        assert done.exit_code == 2
        assert "cases.jsonl:2" in done.output
        assert why in done.output
