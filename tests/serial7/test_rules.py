"""The catalogue proves itself: tests are generated from the rules, the styles and the contracts of every format."""

from __future__ import annotations

import pytest

from serial7 import audits
from serial7.check import Due
from serial7.explain import EXAMPLE, bad_example, good_example
from serial7.formats import FORMATS
from serial7.verify import active_checks, verify
from tests.conftest import small_irs

RULES = [(f, r) for f in FORMATS.values() for r in f.rules.values()]
FORMAT_NAMES = tuple(FORMATS)


def test_catalogue_has_the_43_rules_of_table_2() -> None:
    counts = {name: len(f.rules) for name, f in FORMATS.items()}
    assert counts == {"json": 6, "xml": 5, "markdown": 7, "html": 6, "latex": 6, "yaml": 7, "toml": 6}
    assert FORMAT_NAMES == ("json", "xml", "markdown", "html", "latex", "yaml", "toml")


@pytest.mark.parametrize(
    ("graph", "counts"),
    [(False, [4, 5, 5, 6, 5, 5, 4]), (True, [6, 7, 7, 8, 7, 7, 6])],
)
def test_active_base_checks_are_those_of_table_26(graph: bool, counts: list[int]) -> None:
    due = Due(graph)
    active = [active_checks(f, due, {}, "realize", with_gold=False) for f in FORMATS.values()]
    assert [sum(c.startswith("format.") for c in checks) for checks in active] == counts


@pytest.mark.parametrize(("format_", "rule"), RULES, ids=lambda x: x.name)
def test_good_example_passes_and_bad_example_fails_its_own_check_alone(format_, rule) -> None:  # type: ignore[no-untyped-def]
    good = verify(good_example(format_, rule), format=format_.name, rules=[rule.name], gold=EXAMPLE)
    assert (good.not_passed, good.full) == ([], True)
    bad = verify(bad_example(format_, rule), format=format_.name, rules=[rule.name], gold=EXAMPLE)
    assert (bad.not_passed, bad.blocked) == ([rule.check], [])


@pytest.mark.parametrize(("format_", "rule"), RULES, ids=lambda x: x.name)
def test_an_active_rule_replaces_its_base_check(format_, rule) -> None:  # type: ignore[no-untyped-def]
    checks = active_checks(format_, Due(), {rule.name: rule}, "realize", with_gold=False)
    assert rule.check in checks
    assert (f"format.{rule.replaces}" in checks) is False
    plain = active_checks(format_, Due(), {}, "realize", with_gold=False)
    assert len(checks) == len(plain) + (rule.replaces is None)


@pytest.mark.parametrize(("format_", "rule"), RULES, ids=lambda x: x.name)
def test_a_rule_form_without_the_rule_is_free_or_fails_one_base_check(format_, rule) -> None:  # type: ignore[no-untyped-def]
    free = {"key_order", "flow_args", "sibling_order", "answer_last"}
    verdict = verify(good_example(format_, rule), format=format_.name, gold=EXAMPLE)
    failed = [c for c in verdict.not_passed if c.startswith("format.")]
    assert bool(failed) == (rule.name not in free)
    assert all(not c.startswith("format.feature.") for c in failed)
    if rule.replaces:
        assert f"format.{rule.replaces}" in failed


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_every_combination_renders_reads_back_and_passes(name: str, irs, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(audits, "FORMATS", {name: FORMATS[name]})
    found = audits.combinations(irs)
    assert found.failures == []
    assert found.counts["documents"] > 100


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_valid_writings_pass_and_wrong_content_leaves_format_checks_alone(name: str, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(audits, "FORMATS", {name: FORMATS[name]})
    found = audits.leakage([*small_irs(), EXAMPLE])
    assert found.failures == []
    assert found.counts["valid transformations"] > 100
    assert found.counts["perturbations"] > 50


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_leaving_one_of_several_rules_out_fails_that_one_alone(name: str, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(audits, "FORMATS", {name: FORMATS[name]})
    found = audits.near_misses([EXAMPLE, small_irs()[0]])
    assert found.failures == []
    assert found.counts["rules"] == len(FORMATS[name].rules)


def test_prompts_state_what_is_scored_and_nothing_else() -> None:
    found = audits.alignment()
    assert found.failures == []
    zeros = {k: v for k, v in found.counts.items() if k != "prompts"}
    assert zeros == {"unstated checks": 0, "unmeasured requirements": 0, "language asymmetries": 0}


def test_alignment_notices_a_missing_sentence(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    json = FORMATS["json"]
    monkeypatch.setattr(json, "contract", {**json.contract, "answer_slot": ()})
    monkeypatch.setattr(audits, "FORMATS", {"json": json})
    assert audits.alignment().counts["unstated checks"] > 0


def test_alignment_notices_a_sentence_that_one_language_lacks() -> None:
    assert audits.asymmetry("The root is `answer`.", "루트는 `answer`입니다.") == ""
    assert "differs" in audits.asymmetry("At most 64.", "최대 65입니다.")
    assert "lacks" in audits.asymmetry("At most 64.", "")
    assert "no Korean" in audits.asymmetry("At most 64.", "At most 64.")
