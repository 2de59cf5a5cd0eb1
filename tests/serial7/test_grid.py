from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from serial7 import grid, prompts
from serial7.artifacts import Artifact, data_text, load_artifacts
from serial7.cli import app
from serial7.errors import OperatorError
from serial7.formats import FORMATS
from serial7.ir import number_text
from serial7.judge import judge


@pytest.mark.parametrize("artifact", load_artifacts().values(), ids=lambda a: a.id)
def test_values_stand_in_both_languages_and_the_graph_gives_the_answer(artifact: Artifact) -> None:
    for language in ("ko", "en"):
        text = (artifact.question[language] + artifact.materials[language]).replace(",", "")
        assert all(number_text(i.value) in text for i in artifact.ir.inputs)
    assert any("가" <= c <= "힣" for c in artifact.question["ko"])
    assert not any("가" <= c <= "힣" for c in artifact.question["en"])
    if artifact.ir.graph_bearing:
        assert artifact.ir.steps[-1].value == artifact.ir.answer


def test_the_grid_covers_every_rule_pair_and_language() -> None:
    requests = grid.load_grid()
    assert len({r.id for r in requests}) == len(requests) == 3519
    assert Counter(r.condition for r in requests) == {"derive": 354, "realize": 1470, "preserve": 1695}
    cells = Counter((r.format, r.level, r.language) for r in requests if r.condition == "realize")
    assert set(cells.values()) == {35}
    assert len(cells) == 7 * 3 * 2
    assert grid.pair_support(requests) == grid.PRESERVE_INSTANCES
    support = grid.rule_support(requests)
    assert set(support) == {f"{f.name}.{rule}" for f in FORMATS.values() for rule in f.rules}
    assert min(support.values()) >= 40
    by_language = {
        language: [
            (r.condition, r.level, r.format, r.artifact_id, r.rules)
            for r in requests
            if r.language == language and r.condition != "preserve"
        ]
        for language in ("ko", "en")
    }
    assert by_language["ko"] == by_language["en"]
    assert all(len(r.rules) == r.level for r in requests)


def test_a_limit_spreads_evenly_and_is_the_same_each_time() -> None:
    chosen = grid.select(grid.load_grid(), limit=28)
    assert chosen == grid.select(grid.load_grid(), limit=28)
    conditions = Counter(r.condition for r in chosen)
    assert max(conditions.values()) - min(conditions.values()) <= 1
    formats = Counter(r.format for r in chosen if r.format)
    assert set(formats) == set(FORMATS)
    assert max(formats.values()) - min(formats.values()) <= 2
    languages = Counter(r.language for r in chosen)
    assert abs(languages["ko"] - languages["en"]) <= 2
    assert set(grid.select(grid.load_grid(), limit=10)) <= set(chosen)


def test_filters() -> None:
    chosen = grid.select(grid.load_grid(), conditions=["realize"], levels=[2], formats=["yaml"], langs=["ko"])
    assert {(r.condition, r.level, r.format, r.language) for r in chosen} == {("realize", 2, "yaml", "ko")}
    assert {r.condition for r in grid.select(grid.load_grid(), formats=["yaml"])} == {
        "derive",
        "realize",
        "preserve",
    }
    assert [r.id for r in grid.select(grid.load_grid(), sample_ids=["derive/ko/S7-001"])] == ["derive/ko/S7-001"]


def test_gold_answers_pass_everything() -> None:
    artifacts = load_artifacts()
    for request in grid.load_grid():
        verdict = judge(
            request, artifacts[request.artifact_id], prompts.gold_answer(request, artifacts[request.artifact_id])
        )
        assert (verdict.error, verdict.not_passed, verdict.full) == ("", [], True), request.id


def test_prompts_hold_the_problem_and_no_gold() -> None:
    artifacts = load_artifacts()
    for request in grid.load_grid():
        artifact = artifacts[request.artifact_id]
        text = prompts.prompt(request, artifact)
        if request.condition == "preserve":
            source = FORMATS[request.source_format]
            assert source.render(artifact.ir, frozenset(), source.styles[0]) in text
            assert artifact.question[request.language] not in text
        else:
            assert artifact.question[request.language] in text
            assert artifact.materials[request.language] in text
            assert "R1" not in text
        for rule in request.rules:
            sentence = FORMATS[request.format].rules[rule]
            assert (sentence.ko if request.language == "ko" else sentence.en) in text
        if request.language == "en":
            assert not any("가" <= c <= "힣" for c in text.replace(artifact.question["en"], ""))


def test_bad_artifacts_name_what_is_wrong() -> None:
    with pytest.raises(OperatorError, match="A1: the field 'kind'"):
        Artifact.from_dict({"id": "A1", "answer": "1"})
    with pytest.raises(OperatorError, match="A1: kind 'graph' does not fit"):
        Artifact.from_dict({"id": "A1", "answer": "1", "kind": "graph"})


def test_the_stored_grid_is_the_one_that_is_drawn() -> None:
    drawn = grid.draw_grid(load_artifacts())
    assert grid.dump(drawn) == grid.dump(grid.load_grid())
    assert grid.grid_hash(grid.draw_grid(load_artifacts(), seed=8)) != grid.grid_hash(drawn)
    for request in drawn:
        if request.condition == "realize":
            artifact, format_ = load_artifacts()[request.artifact_id], FORMATS[request.format]
            assert request.rules in set(format_.combinations(artifact.due, (request.level,)))


def test_a_data_set_of_ones_own(tmp_path: Path) -> None:
    lines = data_text("", "artifacts.jsonl").splitlines()[:5]
    (tmp_path / "artifacts.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    done = CliRunner().invoke(app, ["grid", "--data", str(tmp_path), "--draw", "--check"])
    assert done.exit_code == 0, done.output
    assert "derive 10" in done.output
    found = grid.load_grid(str(tmp_path))
    assert len({r.artifact_id for r in found}) == 5
    grid.load_grid.cache_clear()
    with (tmp_path / "grid.jsonl").open("a") as file:
        file.write(grid.dump([replace(found[0], artifact_id="X")]))
    again = CliRunner().invoke(app, ["grid", "--data", str(tmp_path)])
    assert again.exit_code == 2
    assert f"line {len(found) + 1}: there is no artifact X" in again.output
    missing = CliRunner().invoke(app, ["grid", "--data", str(tmp_path / "none")])
    assert missing.exit_code == 2
    assert "cannot read artifacts.jsonl" in missing.output


def test_the_report(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["grid", "--check"])
    assert done.exit_code == 0, done.output
    assert "derive 354, realize 1470, preserve 1695, in all 3519" in done.output
    assert all(rule in done.output for f in FORMATS.values() for rule in f.rules)
    assert "drawn again from its seed: the same" in done.output
    tokenizers = pytest.importorskip("tokenizers")
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"?": 0}, unk_token="?"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    words.save(str(tmp_path / "tokenizer.json"))
    counted = CliRunner().invoke(app, ["grid", "--tokenizer", str(tmp_path / "tokenizer.json")])
    assert "tokens of a prompt" in counted.output
    assert CliRunner().invoke(app, ["grid", "--tokenizer", str(tmp_path / "none")]).exit_code == 2
