"""Mutation of the verifier: every check has a document that it catches, and that passes once the check is switched off.

A check that could be switched off without any of these documents noticing would not be tested by anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from serial7.audits import Audit
from serial7.explain import EXAMPLE, bad_example
from serial7.formats import FORMATS
from serial7.ir import CanonicalIR
from serial7.verify import Verdict, verify

Edit = tuple[str, str] | Callable[[str], str]


def _last(old: str, new: str) -> Callable[[str], str]:
    def edit(document: str) -> str:
        head, found, tail = document.rpartition(old)
        if not found:
            raise ValueError(f"{old!r} does not stand in the document")
        return head + new + tail

    return edit


# What is changed in the base document of the running example so that one base check fails.
BASE_DAMAGE: dict[str, dict[str, Edit]] = {
    "json": {
        "well_formed": ('"answer": 3521', '"answer": 3521, "answer": 3521'),
        "root_container": _last("}", ', "note": 1}'),
        "answer_slot": ('"answer": 3521', '"answer": "3521"'),
        "inputs_container": ('"value": 503', '"value": "503"'),
        "steps_container": _last("3521", '"3521"'),
    },
    "xml": {
        "well_formed": ("</response>", ""),
        "root_container": ("</response>", "<note/></response>"),
        "answer_slot": ("<answer>3521", "<answer>3,521"),
        "inputs_container": (">503<", '>"503"<'),
        "steps_container": _last("3521", '"3521"'),
    },
    "markdown": {
        "well_formed": ("## Steps", "## Inputs\n\n## Steps"),
        "native_syntax": _last("3521\n", "3521\n\n<!-- done -->\n"),
        "root_container": ("# Result", "## Result"),
        "answer_slot": ("Answer: 3521", "Answer: 3,521"),
        "inputs_container": ("Value: 503", 'Value: "503"'),
        "steps_container": _last("3521", "**3521**"),
    },
    "html": {
        "well_formed": ("</main>", ""),
        "native_syntax": ("</main>", "<script></script></main>"),
        "root_container": ("</main>", "<p>done</p></main>"),
        "answer_slot": (">3521<", ">3,521<"),
        "escaping": ("></li>", ">sun & sea</li>"),
        "inputs_container": ('data-value="503"', "data-value=\"'503'\""),
        "steps_container": _last("3521", "3,521"),
    },
    "latex": {
        "well_formed": (r"\Answer{3521}", r"\Answer{3521}\newpage"),
        "root_container": (r"\Answer{3521}", "\\Answer{3521}\nand so"),
        "answer_slot": (r"\Answer{3521}", r"\Answer{3,521}"),
        "escaping": (r"\Input{caribbean\_price", r"\Input{caribbean_price"),
        "inputs_container": ("{503}", '{"503"}'),
        "steps_container": _last("3521", "3,521"),
    },
    "yaml": {
        "well_formed": ("answer: 3521\n", "answer: 3521\nanswer: 3521\n"),
        "native_syntax": ("answer: 3521", "answer: &a 3521"),
        "root_container": _last("3521\n", "3521\nnote: 1\n"),
        "answer_slot": ("answer: 3521", 'answer: "3521"'),
        "inputs_container": ("value: 503", 'value: "503"'),
        "steps_container": _last("3521", '"3521"'),
    },
    "toml": {
        "well_formed": ("answer = 3521\n", "answer = 3521\nanswer = 3521\n"),
        "root_container": ("answer = 3521\n", "answer = 3521\nnote = 1\n"),
        "answer_slot": ("answer = 3521", 'answer = "3521"'),
        "inputs_container": ("value = 503", 'value = "503"'),
        "steps_container": _last("3521", '"3521"'),
    },
}

# The checks that all formats share are caught in JSON.
_ONE_MORE_INPUT = ('"value": 503}', '"value": 503}, {"name": "caribbean_price", "value": 503}')
SHARED_DAMAGE: dict[str, tuple[str, Edit]] = {
    "structure.unique_input_names": ("realize", _ONE_MORE_INPUT),
    "structure.unique_step_ids": ("realize", ('"id": "R1"', '"id": "caribbean_price"')),
    "structure.input_fields_present": ("realize", ('"value": 503}', '"value": 503}, {"name": "other"}')),
    "structure.step_fields_present": ("realize", ('"id": "R1", ', "")),
    "semantic.answer": ("realize", lambda d: d.replace("3521", "3528").replace("503", "504")),
    "semantic.input_values": ("realize", ('"value": 503}', '"value": 502}, {"name": "b", "value": 503.5}')),
    "semantic.step_consistent": ("realize", ('"multiply"', '"times"')),
    "binding.grounded": ("realize", ('["caribbean_price", 7]', "[503, 7]")),
    "preserve.answer": ("preserve", ('"answer": 3521', '"answer": 3522')),
    "preserve.inputs": ("preserve", ('"value": 503}', '"value": 503}, {"name": "b", "value": 1}')),
    "preserve.steps": ("preserve", ('["caribbean_price", 7]', '[7, "caribbean_price"]')),
}
# A wrong answer or input takes other checks with it: what is asked for cannot be the only thing that is wrong.
_TOGETHER = {
    ("json", "semantic.answer"): {"semantic.answer", "semantic.input_values"},
    ("json", "semantic.input_values"): {"semantic.input_values", "semantic.step_consistent"},
    ("xml", "format.escaping"): {"format.escaping", "semantic.answer"},
}


class Caught(NamedTuple):
    """One check of one format, and the verdict on the document that it must catch."""

    format: str
    check: str
    verdict: Verdict


def _apply(document: str, edit: Edit) -> str:
    if callable(edit):
        return edit(document)
    old, new = edit
    if old not in document:
        raise ValueError(f"{old!r} does not stand in the document")
    return document.replace(old, new, 1)


def exam() -> Iterator[Caught]:
    """A damaged document for every check of every format, judged."""
    for name, format_ in FORMATS.items():
        base = format_.render(EXAMPLE, frozenset(), format_.styles[0])
        yield Caught(
            name, "format.clean_boundary", verify(f"Here it is, as asked.\n\n{base}", format=name, gold=EXAMPLE)
        )
        damage = BASE_DAMAGE.get(name, {})
        for check in format_.contract:
            if check in damage:
                damaged = _apply(base, damage[check])
                yield Caught(name, f"format.{check}", verify(damaged, format=name, gold=EXAMPLE))
        for rule in format_.rules.values():
            yield Caught(
                name, rule.check, verify(bad_example(format_, rule), format=name, rules=[rule.name], gold=EXAMPLE)
            )
    text = CanonicalIR("sun & sea")
    yield Caught(
        "xml",
        "format.escaping",
        verify("<response><answer>sun &amp;amp; sea</answer></response>", format="xml", gold=text),
    )
    json = FORMATS["json"]
    base = json.render(EXAMPLE, frozenset(), json.styles[0])
    for check, (condition, edit) in SHARED_DAMAGE.items():
        yield Caught("json", check, verify(_apply(base, edit), format="json", condition=condition, gold=EXAMPLE))


def mutation() -> Audit:
    """Switch each check off in turn: some document of the exam must then get another verdict."""
    audit = Audit("mutation")
    judged = list(exam())
    for name, format_ in FORMATS.items():
        checks = [f"format.{c}" for c in format_.contract] + [r.check for r in format_.rules.values()]
        for check in checks:
            audit.add("checks", _unnoticed(name, check, judged))
    for check in SHARED_DAMAGE:
        audit.add("checks", _unnoticed("json", check, judged))
    return audit


def _unnoticed(name: str, check: str, judged: list[Caught]) -> str:
    """Why nobody would notice if the check were switched off; empty if a document of the exam shows it."""
    for caught in judged:
        if (caught.format, caught.check) != (name, check):
            continue
        failed = {f.check for f in caught.verdict.findings if f.outcome == "fail"}
        due = _TOGETHER.get((name, check), {check})
        return "" if failed == due else f"{name} {check}: the document fails {sorted(failed)}; {sorted(due)} is due"
    return f"{name} {check}: no document of the exam needs it"
