"""The console command as a person uses it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from serial7.cli import app
from serial7.explain import EXAMPLE
from serial7.formats import FORMATS
from serial7.localize import visible

RUN = CliRunner()


def gold_file(folder: Path) -> Path:
    path = folder / "gold.json"
    path.write_text(json.dumps(EXAMPLE.to_dict()))
    return path


def test_a_good_document_passes(tmp_path: Path) -> None:
    path = tmp_path / "answer.yaml"
    path.write_text(FORMATS["yaml"].render(EXAMPLE, frozenset(), "block"))
    found = RUN.invoke(app, ["check", str(path), "--gold", str(gold_file(tmp_path)), "--fail"])
    assert found.exit_code == 0
    assert "Full Compliance: yes" in found.stdout


def test_without_gold_format_and_structure_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "answer.yaml"
    path.write_text("answer: 3521\ninputs:\n  - name: a\n    value: 5\n    unit: USD\nsteps: []\n")
    found = RUN.invoke(app, ["check", str(path), "--format", "yaml"])
    assert found.exit_code == 0
    assert "semantic" not in found.stdout
    assert ">    5 |     unit: USD" in found.stdout
    assert "the key 'unit' is not one that the contract names" in found.stdout
    assert "blocked structure.unique_step_ids  by format.steps_container" in found.stdout
    assert RUN.invoke(app, ["check", str(path), "--fail"]).exit_code == 1


def test_json_output_is_the_batch_record(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"answer": 1}')
    found = json.loads(RUN.invoke(app, ["check", str(path), "--json", "--kind", "answer_only"]).stdout)
    assert (found["not_passed"], found["hsr"]) == ([], None)


def test_standard_input_and_korean(tmp_path: Path) -> None:
    found = RUN.invoke(app, ["check", "-", "--format", "json", "--rules", "key_order", "--lang", "ko"], input="{}")
    assert '"args"는 배열입니다.' in found.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check"], "give a document"),
        (["check", "nosuch.json"], "cannot read nosuch.json"),
        (["check", "-"], "give --format"),
        (["check", "-", "--format", "csv"], "unknown format 'csv'"),
        (["check", "-", "--format", "json", "--rules", "fence"], "no rule 'fence'"),
        (["check", "-", "--format", "json", "--gold", "nosuch.json"], "cannot read nosuch.json"),
        (["check", "-", "--format", "json", "--kind", "x"], "--kind is graph or answer_only"),
        (["check", "--batch", "nosuch.jsonl"], "cannot read nosuch.jsonl"),
        (["rules", "--format", "csv"], "unknown format"),
        (["explain", "format.nothing"], "no check 'format.nothing'"),
        (["audit", "everything"], "unknown audit"),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_code_2(arguments: list[str], message: str) -> None:
    found = RUN.invoke(app, arguments, input="{}")
    assert found.exit_code == 2
    assert message in found.stderr
    assert found.stdout == ""


def test_an_unwritable_out_is_said_before_anything_is_judged(tmp_path: Path) -> None:
    batch = tmp_path / "in.jsonl"
    batch.write_text("{}\n")
    found = RUN.invoke(app, ["check", "--batch", str(batch), "--out", str(tmp_path)])
    assert found.exit_code == 2
    assert "cannot write" in found.stderr


def test_batch_as_a_process(tmp_path: Path) -> None:
    batch, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    case = {"id": 1, "format": "json", "text": '{"answer": "\ud800"}', "kind": "answer_only", "answer_kind": "text"}
    batch.write_bytes(json.dumps(case).encode() + b"\n\xff\xfe\n" + json.dumps({**case, "id": 2}).encode())
    root = Path(__file__).resolve().parent.parent.parent
    command = [sys.executable, "-m", "serial7.cli", "check", "--batch", str(batch), "--out", str(out)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert "3 lines: 0 passed, 2 not, 1 could not be read" in done.stderr
    records = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [r.get("id", r.get("line")) for r in records] == [1, 2, 2]


def test_rules_and_explain_tell_the_catalogue() -> None:
    listed = RUN.invoke(app, ["rules"]).stdout
    assert all(rule.name in listed for f in FORMATS.values() for rule in f.rules.values())
    told = RUN.invoke(app, ["explain", "format.feature.key_order", "--format", "toml", "--lang", "ko"]).stdout
    assert "good:" in told
    assert "bad:" in told
    assert "answer, steps, inputs" in told
    assert "JSON" in RUN.invoke(app, ["explain", "structure.unique_step_ids"]).stdout


def test_audit_prints_counts() -> None:
    found = RUN.invoke(app, ["audit", "near-misses", "mutation", "--fuzz", "70"])
    assert found.exit_code == 0
    assert "43 rules" in found.stdout
    assert "102 checks: 0 failures" in found.stdout
    assert "70 damaged documents: 0 crashed or slow" in found.stdout


def test_hostile_text_cannot_act_on_a_terminal() -> None:
    shown = visible("a\x1b[31m\u202eb\u200b\x07[bold]가\t")
    assert shown == "a\\x1b[31m\\u202eb\\u200b\\x07[bold]가\t"
    found = RUN.invoke(app, ["check", "-", "--format", "json"], input='{"answer": "\x1b[31m[red]x"')
    assert "\x1b" not in found.stdout
    assert "[red]x" in found.stdout
