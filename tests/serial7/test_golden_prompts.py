"""Whole prompts as they are sent: a change of a word is a change of the benchmark, and is seen in the diff of these files.

After a change that is meant: `python -m tests.serial7.test_golden_prompts` writes them again.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from serial7.artifacts import load_artifacts
from serial7.formats import FORMATS
from serial7.grid import Request
from serial7.prompts import prompt

FOLDER = Path(__file__).parent / "golden_prompts"
RULES = {
    ("json", 3): ("inputs_as_map", "args_as_objects", "numeric_as_string"),
    ("xml", 2): ("namespace", "value_as_attribute"),
    ("markdown", 1): ("steps_as_table",),
    ("html", 3): ("dl_for_answer", "semantic_element", "heading_hierarchy"),
    ("latex", 2): ("tabular_inputs", "siunitx"),
    ("yaml", 1): ("flow_args",),
    ("toml", 2): ("answer_object", "key_order"),
}
CASES = [
    *(Request("", "derive", 0, "", "", language, "S7-001") for language in ("ko", "en")),
    *(
        Request("", "realize", level, name, "", language, artifact, rules)
        for (name, level), rules in RULES.items()
        for language, artifact in (("ko", "S7-003" if name == "html" else "S7-004"), ("en", "S7-003" if name == "html" else "S7-004"))
    ),
    *(
        Request("", "preserve", 0, target, source, language, artifact)
        for source, target, artifact in (("latex", "toml", "S7-002"), ("xml", "markdown", "S7-009"), ("yaml", "html", "S7-008"))
        for language in ("ko", "en")
    ),
]  # fmt: skip


def name_of(request: Request) -> str:
    parts = [
        request.condition,
        request.source_format,
        request.format,
        *request.rules,
        request.artifact_id,
        request.language,
    ]
    return "-".join(filter(None, parts)) + ".txt"


@pytest.mark.parametrize("request_", CASES, ids=name_of)
def test_a_prompt_is_as_it_was(request_: Request) -> None:
    golden = (FOLDER / name_of(request_)).read_text("utf-8")
    assert prompt(request_, load_artifacts()[request_.artifact_id]) + "\n" == golden


def test_the_golden_files_are_these_and_speak_of_every_format() -> None:
    assert {p.name for p in FOLDER.iterdir()} == {name_of(r) for r in CASES}
    assert {r.format for r in CASES if r.condition == "realize"} == set(FORMATS)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.iterdir():
        old.unlink()
    for case in CASES:
        (FOLDER / name_of(case)).write_text(prompt(case, load_artifacts()[case.artifact_id]) + "\n", "utf-8")
