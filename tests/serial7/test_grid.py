from __future__ import annotations

from collections import Counter

import pytest

from serial7 import grid, prompts
from serial7.artifacts import FAMILIES, Artifact, load_artifacts
from serial7.errors import OperatorError
from serial7.formats import FORMATS
from serial7.ir import number_text
from serial7.judge import judge
from serial7.operations import execute


def test_the_starter_set() -> None:
    artifacts = load_artifacts().values()
    assert len(artifacts) == 14
    assert Counter(a.ir.graph_bearing for a in artifacts) == {True: 10, False: 4}
    assert sum(isinstance(a.ir.answer, str) for a in artifacts) == 2
    assert {a.family for a in artifacts} == set(FAMILIES)


@pytest.mark.parametrize("artifact", load_artifacts().values(), ids=lambda a: a.id)
def test_values_stand_in_both_languages_and_the_graph_gives_the_answer(artifact: Artifact) -> None:
    for language in ("ko", "en"):
        text = (artifact.question[language] + artifact.materials[language]).replace(",", "")
        assert all(number_text(i.value) in text for i in artifact.ir.inputs)
    assert any("가" <= c <= "힣" for c in artifact.question["ko"])
    assert not any("가" <= c <= "힣" for c in artifact.question["en"])
    if artifact.ir.graph_bearing:
        assert artifact.ir.steps[-1].value == artifact.ir.answer
        assert execute("add", [1, 1]) == 2  # type: ignore[list-item]


def test_the_grid_covers_every_rule_pair_and_language() -> None:
    requests = grid.starter_grid()
    assert len({r.id for r in requests}) == len(requests) == 126
    assert {f"{r.format}.{rule}" for r in requests for rule in r.rules} == {
        f"{f.name}.{rule}" for f in FORMATS.values() for rule in f.rules
    }
    assert len({(r.source_format, r.format) for r in requests if r.condition == "preserve"}) == 42
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
    chosen = grid.select(grid.starter_grid(), limit=28)
    assert chosen == grid.select(grid.starter_grid(), limit=28)
    conditions = Counter(r.condition for r in chosen)
    assert max(conditions.values()) - min(conditions.values()) <= 1
    formats = Counter(r.format for r in chosen if r.format)
    assert set(formats) == set(FORMATS)
    assert max(formats.values()) - min(formats.values()) <= 2
    languages = Counter(r.language for r in chosen)
    assert abs(languages["ko"] - languages["en"]) <= 2
    assert set(grid.select(grid.starter_grid(), limit=10)) <= set(chosen)


def test_filters() -> None:
    chosen = grid.select(grid.starter_grid(), conditions=["realize"], levels=[2], formats=["yaml"], langs=["ko"])
    assert {(r.condition, r.level, r.format, r.language) for r in chosen} == {("realize", 2, "yaml", "ko")}
    assert {r.condition for r in grid.select(grid.starter_grid(), formats=["yaml"])} == {
        "derive",
        "realize",
        "preserve",
    }
    assert [r.id for r in grid.select(grid.starter_grid(), sample_ids=["derive/ko/S7-001"])] == ["derive/ko/S7-001"]


def test_gold_answers_pass_everything() -> None:
    artifacts = load_artifacts()
    for request in grid.starter_grid():
        verdict = judge(
            request, artifacts[request.artifact_id], prompts.gold_answer(request, artifacts[request.artifact_id])
        )
        assert (verdict.error, verdict.not_passed, verdict.full) == ("", [], True), request.id


def test_prompts_hold_the_problem_and_no_gold() -> None:
    artifacts = load_artifacts()
    for request in grid.starter_grid():
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
