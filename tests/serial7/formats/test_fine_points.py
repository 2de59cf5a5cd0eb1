"""The contract's fine points, one edit of a gold document each: exactly which checks fail, and which are blocked.

Short names: a check without a dot is `format.<check>`; `@rule` is `format.feature.<rule>`.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from serial7.explain import EXAMPLE
from serial7.formats import FORMATS
from serial7.ir import CanonicalIR
from serial7.verify import verify

Edit = tuple[str, str] | Callable[[str], str]
TEXT = CanonicalIR("sun & sea")
NUMBER = CanonicalIR.from_dict({"answer": "42"})
NO_ANSWER = "semantic.answer semantic.step_consistent"
NO_STEPS = "semantic.step_consistent structure.step_fields_present structure.unique_step_ids"
NO_INPUTS = "semantic.input_values semantic.step_consistent structure.input_fields_present structure.unique_input_names"
ALL = "ALL"


def names(text: str) -> set[str]:
    full = set()
    for name in text.split():
        if name.startswith("@"):
            full.add(f"format.feature.{name[1:]}")
        else:
            full.add(name if "." in name else f"format.{name}")
    return full


def judge(format_: str, rules: str, edit: Edit, failed: str, blocked: str, gold: CanonicalIR = EXAMPLE) -> None:
    chosen = FORMATS[format_]
    active = tuple(rules.split())
    text = chosen.render(gold, frozenset(active), chosen.styles[0])
    if callable(edit):
        text = edit(text)
    else:
        assert edit[0] in text, f"{edit[0]!r} does not stand in\n{text}"
        text = text.replace(edit[0], edit[1], 1)
    verdict = verify(text, format=format_, rules=active, gold=gold)
    assert verdict.error == ""
    seen_blocked = set(verdict.blocked)
    seen_failed = set(verdict.not_passed) - seen_blocked
    reasons = {f.check: (f.why, f.at) for f in verdict.findings if f.outcome == "fail"}
    assert seen_failed == names(failed), f"{reasons}\n{text}"
    if blocked == ALL:
        gates = {"format.clean_boundary", "format.well_formed"}
        assert {f.check for f in verdict.findings} - seen_failed - seen_blocked <= gates | {"binding.grounded"}
    else:
        assert seen_blocked == names(blocked), f"{reasons}\n{text}"


JSON = [
    ("", ('"answer": 3521', '"answer": 3521e0'), "", ""),
    ("", ('"answer": 3521', '"answer": 0xDC1'), "well_formed", ALL),
    ("", ('"answer": 3521', '"answer": 03521'), "well_formed", ALL),
    ("", ('"answer": 3521', '"answer": null'), "answer_slot", NO_ANSWER),
    ("", ('"answer": 3521', '"answer": [3521]'), "answer_slot", NO_ANSWER),
    ("", ('"answer": 3521', '"answer": ""'), "answer_slot", NO_ANSWER),
    ("", ('"answer": 3521', '"answer": " 3521 "'), "answer_slot", ""),
    ("numeric_as_string", ('"answer": "3521"', '"answer": " 3521 "'), "answer_slot", ""),
    ("numeric_as_string", ('"answer": "3521"', '"answer": "3,521"'), "answer_slot", ""),
    ("", ('"answer": 3521', '"answer": {"value": 3521}'), "answer_slot", ""),
    ("answer_object", ('{"value": 3521}', '{"value": 3521, "unit": "USD"}'), "@answer_object", ""),
    ("answer_object", ('{"value": 3521}', '{"val": 3521}'), "@answer_object", NO_ANSWER),
    ("", ('"args": ["caribbean_price", 7]', '"args": ["caribbean_price", "7"]'), "steps_container", ""),
    ("", ('"args": ["caribbean_price", 7]', '"args": [{"ref": "caribbean_price"}, 7]'), "steps_container", ""),
    ("args_as_objects", ('{"value": 7}', "7"), "@args_as_objects", ""),
    (
        "args_as_objects",
        ('{"value": 7}', '{"value": 7, "ref": "x"}'),
        "@args_as_objects steps_container",
        "semantic.step_consistent",
    ),
    (
        "",
        ('"args": ["caribbean_price", 7]', '"args": "caribbean_price, 7"'),
        "steps_container structure.step_fields_present",
        "semantic.step_consistent",
    ),
    ("", ('"args": ["caribbean_price", 7]', '"args": []'), "structure.step_fields_present", "semantic.step_consistent"),
    (
        "",
        ('"inputs": [{"name": "caribbean_price", "value": 503}]', '"inputs": {"caribbean_price": 503}'),
        "inputs_container",
        "",
    ),
    ("inputs_as_map", ('{"caribbean_price": 503}', "{}"), "@inputs_as_map", NO_INPUTS),
    (
        "",
        ('"value": 503', '"value": true'),
        "inputs_container semantic.input_values structure.input_fields_present",
        "semantic.step_consistent",
    ),
    ("", ('"name": "caribbean_price"', '"name": 503'), "inputs_container semantic.step_consistent", ""),
    ("", ('"op": "multiply"', '"op": ""'), "structure.step_fields_present", "semantic.step_consistent"),
    ("", ('"answer": 3521', '"answer": 3521, "inputs_note": 1'), "root_container", ""),
    ("", (lambda d: f"[{d}]"), "clean_boundary", ""),
    ("", (lambda d: d[:-1]), "well_formed", ALL),
    ("", (lambda d: d.replace('"id": "R1"', '"id": "R1\\f"')), "steps_container", ""),
    ("key_order", ('"inputs": [', '"note": 1, "inputs": ['), "root_container", ""),
]

YAML = [
    ("", ("answer: 3521", "answer: '3521'"), "answer_slot", ""),
    ("", ("answer: 3521", "answer: |-\n  3521"), "answer_slot", ""),
    ("numeric_as_string", ('answer: "3521"', "answer: |-\n  3521"), "@numeric_as_string", ""),
    ("", ("answer: 3521", "answer: 3_521"), "answer_slot", NO_ANSWER),
    ("", ("answer: 3521", "answer: 0o6701"), "answer_slot", NO_ANSWER),
    ("", ("answer: 3521", "answer: ~"), "answer_slot", NO_ANSWER),
    ("", ("answer: 3521", "answer: !!int 3521"), "native_syntax", ""),
    ("", ("answer: 3521", "answer: !num 3521"), "native_syntax answer_slot", NO_ANSWER),
    (
        "",
        (lambda d: d.replace("answer: 3521", "answer: &t 3521").replace("    value: 3521", "    value: *t")),
        "native_syntax steps_container structure.step_fields_present",
        "semantic.step_consistent",
    ),
    ("", (lambda d: "%YAML 1.2\n---\n" + d), "native_syntax", ""),
    ("", (lambda d: "---\n" + d), "", ""),
    ("", (lambda d: d + "...\n"), "", ""),
    ("", (lambda d: d + "\u00a0"), "clean_boundary", ""),
    ("", (lambda d: d + "---\n" + d), "clean_boundary", ALL),
    ("", (lambda d: d + "\nThat is all.\n"), "clean_boundary", ""),
    ("", (lambda d: d + "\n# a comment\n"), "", ""),
    ("", (lambda d: "# a comment\n\n" + d), "", ""),
    (
        "",
        ("inputs:\n  - name: caribbean_price\n    value: 503", "inputs:\n  - {name: caribbean_price, value: 503}"),
        "",
        "",
    ),
    (
        "",
        ("inputs:\n  - name: caribbean_price\n    value: 503", "inputs: [{name: caribbean_price, value: 503}]"),
        "native_syntax",
        "",
    ),
    ("inputs_as_map", ("inputs:\n  caribbean_price: 503", "inputs: {caribbean_price: 503}"), "native_syntax", ""),
    ("", ("args:\n      - caribbean_price\n      - 7", "args: [caribbean_price, 7]"), "", ""),
    ("", ("answer: 3521", "answer:\t3521"), "", ""),
    ("", ("answer: 3521", "answer: 3521 "), "", ""),
    ("", ("answer: 3521", '"answer": 3521'), "", ""),
    ("", ("answer: 3521", "answer: ratio: 3521"), "well_formed", ALL),
    ("", ("name: caribbean_price", "name: caribbean price"), "inputs_container semantic.step_consistent", ""),
    ("", ("- 7", "- 7.0"), "", ""),
    ("", ("- 7", "- '7'"), "steps_container", ""),
    ("", ("- 7", "- seven"), "semantic.step_consistent", ""),
]

TOML = [
    ("", ("answer = 3521", "answer = 3_521"), "", ""),
    ("", ("answer = 3521", "answer = 3521.0"), "", ""),
    ("", ("answer = 3521", "answer = 0xDC1"), "answer_slot", NO_ANSWER),
    (
        "",
        ("value = 503", "value = 0b111110111"),
        "inputs_container semantic.input_values structure.input_fields_present",
        "semantic.step_consistent",
    ),
    ("", ("answer = 3521", "answer = inf"), "answer_slot", NO_ANSWER),
    ("", ("answer = 3521\n", "answer = '''3521'''\n"), "answer_slot", ""),
    ("", (lambda d: d.replace("answer = 3521\n", "") + "answer = 3521\n"), "answer_slot", NO_ANSWER),
    ("", (lambda d: d + "\nThat is all.\n"), "clean_boundary", ""),
    ("", (lambda d: "Here it is:\n\n" + d), "clean_boundary", ""),
    ("", (lambda d: "# a comment\n\n" + d + "\n# done\n"), "", ""),
    ("", ('args = ["caribbean_price", 7]', 'args = [\n  "caribbean_price",\n  7,\n]'), "", ""),
    ("", ("answer = 3521", "'answer' = 3521"), "", ""),
    ("answer_object", ("[answer]\nvalue = 3521", "answer.value = 3521"), "", ""),
    ("answer_object", ("[answer]\nvalue = 3521", "answer = {value = 3521}"), "", ""),
    ("", ("answer = 3521", "answer = 2024-01-02"), "answer_slot", NO_ANSWER),
    (
        "inputs_as_map steps_as_map",
        (lambda d: d.replace("answer = 3521\n", "").replace("= 503\n", "= 503\nanswer = 3521\n")),
        "answer_slot",
        NO_ANSWER,
    ),
    ("", ("value = 503", "value = 503 # five hundred and three"), "", ""),
    ("", ("value = 503", "value = 5O3"), "well_formed", ALL),
]

XML = [
    ("", ("<answer>3521</answer>", "<answer> 3521\n</answer>"), "", ""),
    ("", ("<answer>3521</answer>", "<answer><![CDATA[3521]]></answer>"), "", ""),
    ("", ("<answer>3521</answer>", "<answer/>"), "answer_slot", NO_ANSWER),
    ("", ("<answer>3521</answer>", '<answer unit="USD">3521</answer>'), "answer_slot", ""),
    ("", ("<answer>3521</answer>", '<answer value="3521"/>'), "answer_slot", ""),
    ("", ("<answer>3521</answer>", "<answer>3521</answer><answer>3521</answer>"), "root_container", ""),
    ("", ("<answer>3521</answer>", "<answer>3521</answer><answer>1</answer>"), "root_container", NO_ANSWER),
    ("", ("<answer>3521</answer>", "<Answer>3521</Answer>"), "root_container answer_slot", NO_ANSWER),
    ("", ("<answer>3521</answer>", "<answer>3&nbsp;521</answer>"), "well_formed escaping answer_slot", NO_ANSWER),
    ("", ("<answer>3521</answer>", "<answer>3521 & up</answer>"), "well_formed escaping answer_slot", NO_ANSWER),
    ("", ("<answer>3521</answer>", "<answer>3521</answe>"), "well_formed", ALL),
    ("", ("<response>", '<response version="1">'), "root_container", ""),
    ("", ("<response>", '<response xmlns="urn:other">'), "root_container", ""),
    ("", ("<response>", '<response xmlns="urn:serial7:response">'), "root_container", ""),
    ("", ("<answer>", "<x:answer>"), "well_formed", ALL),
    ("namespace", ("<answer>3521", '<answer xmlns="">3521'), "@namespace", ""),
    ("", (lambda d: '<?xml version="1.0"?>\n<!-- a -->\n' + d), "", ""),
    ("", (lambda d: d + "<!-- b -->\n<?pi?>\n"), "", ""),
    ("", ("<steps>", "<steps>so: "), "steps_container", ""),
    ("", ("</steps>", "<note/></steps>"), "steps_container", ""),
    ("", ("<arg>7</arg>", '<arg value="7"/>'), "steps_container", "semantic.step_consistent"),
    ("", ("<arg>7</arg>", "<arg>seven</arg>"), "steps_container", "semantic.step_consistent"),
    ("", ("<value>3521</value>", "<value>3521</value><value>3521</value>"), "steps_container", ""),
    ("", ('ref="caribbean_price"', 'ref=" caribbean_price "'), "", ""),
    ("", ("<input name=", "<!-- in --><input name="), "", ""),
    ("", (lambda d: d.replace("</steps>\n</response>", "")), "well_formed", ""),
    (
        "args_as_attribute",
        ('args="caribbean_price 7"', 'args="caribbean_price, 7"'),
        "steps_container semantic.step_consistent",
        "",
    ),
    ("value_as_attribute", ('<answer value="3521"/>', '<answer value="3521"></answer>'), "", ""),
    ("answer_last", ("</response>", "<!-- end --></response>"), "", ""),
    ("", (lambda d: d.replace("response>", "Response>")), "root_container", ""),
    ("", (lambda d: d + d), "clean_boundary", ALL),
]

MARKDOWN = [
    ("", ("- Answer: 3521", "* answer: 3521"), "", ""),
    ("", ("- Answer: 3521", "- Answer：3521"), "answer_slot", ""),
    ("", ("- Answer: 3521", "- Answer: `3521`"), "answer_slot", ""),
    ("", ("- Answer: 3521", "- Answer: [3521](x)"), "answer_slot", ""),
    ("", ("- Answer: 3521", "- Answer: 35**2**1"), "answer_slot", NO_ANSWER),
    ("", ("- Answer: 3521", "- Answer: 3521\nThat is it."), "answer_slot", NO_ANSWER),
    ("", ("- Answer: 3521", "- Answer: 3521\n- Unit: USD"), "root_container", ""),
    ("", ("- Answer: 3521", "- Answer: 3521\n- Answer: 3521"), "root_container", ""),
    ("", ("- Answer: 3521", "- Answer: 3521\n- Answer: 1"), "root_container", NO_ANSWER),
    ("", ("- Answer: 3521", "1. Answer: 3521"), "answer_slot", ""),
    ("", ("- Answer: 3521", "Answer: 3521"), "answer_slot", ""),
    ("", ("- Answer: 3521", "- Answer:\n\n  ```\n  3521\n  ```"), "answer_slot", ""),
    ("", ("- Answer: 3521", "> Answer: 3521"), "answer_slot", ""),
    ("", ("- Answer: 3521", "So:\n\n- Answer: 3521"), "root_container", ""),
    ("", ("# Result", "Result\n======"), "", ""),
    ("", ("# Result", "# Result #"), "", ""),
    ("", ("# Result", "### Result"), "root_container", ""),
    ("", ("# Result\n\n", ""), "root_container", ""),
    ("", (lambda d: d + "\n## Notes\n\nAll good.\n"), "root_container", ""),
    ("", (lambda d: d + "\nI hope this helps.\n"), "clean_boundary", ""),
    ("", (lambda d: d + "\n" + d), "clean_boundary", ALL),
    ("", ("## Steps", "### Steps"), "root_container", ""),
    ("", ("## Inputs\n\n", ""), "inputs_container", NO_INPUTS),
    ("", ("## Steps\n\n", ""), "steps_container", NO_STEPS),
    ("", (lambda d: d + "\u3000"), "clean_boundary", ""),
    ("", ("1. caribbean_price\n   - Value: 503", "- caribbean_price\n  - Value: 503"), "inputs_container", ""),
    ("", ("1. caribbean_price", "7) caribbean_price"), "", ""),
    ("", ("1. caribbean_price", "1. caribbean\\_price"), "", ""),
    ("", ("1. caribbean_price", "1. caribbean_price:"), "inputs_container", ""),
    ("", ("1. caribbean_price", "1. `caribbean_price`"), "inputs_container", ""),
    ("", ("1. caribbean_price", "1. *caribbean_price*"), "inputs_container", ""),
    ("", ("   - Value: 503", "   - Value: 503\n   - Unit: USD"), "inputs_container", ""),
    ("", ("   - Value: 503", "   - **Value**: 503"), "inputs_container", ""),
    ("", ("   - Value: 503", "   1. Value: 503"), "inputs_container", ""),
    (
        "",
        (
            "   - Operation: multiply\n   - Arguments: caribbean_price, 7\n",
            "   - Arguments: caribbean_price,7\n   - Operation: multiply\n",
        ),
        "",
        "",
    ),
    ("", ("caribbean_price, 7", "`caribbean_price`, 7"), "steps_container", ""),
    ("inline_code_ids", ("`caribbean_price`, 7", "`caribbean_price, 7`"), "@inline_code_ids steps_container", ""),
    ("inline_code_ids", ("`caribbean_price`, 7", "`caribbean_price`, `7`"), "steps_container", ""),
    ("inline_code_ids", ("1. `caribbean_price`", "1. **`caribbean_price`**"), "", ""),
    ("bold_names", ("1. **caribbean_price**", "1. __caribbean_price__"), "", ""),
    (
        "inputs_as_table",
        ("| Name | Value |", "| value | NAME |"),
        "@inputs_as_table semantic.input_values semantic.step_consistent structure.input_fields_present",
        "",
    ),
    (
        "inputs_as_table",
        ("| caribbean_price | 503 |", "| caribbean_price | 503 |\nThat is all."),
        "@inputs_as_table structure.input_fields_present",
        "",
    ),
    (
        "inputs_as_table",
        (
            "| Name | Value |\n| --- | --- |\n| caribbean_price | 503 |",
            "Value | Name\n--- | ---\n503 | caribbean_price",
        ),
        "",
        "",
    ),
    (
        "inputs_as_table",
        ("| caribbean_price | 503 |", "| caribbean_price |"),
        "@inputs_as_table semantic.input_values structure.input_fields_present",
        "semantic.step_consistent",
    ),
    ("fence", ("  3521\n", "  3521\n\n"), "", ""),
    ("", ("503", "503<br>"), "native_syntax", ""),
    ("heading_depth", ("### Steps", "#### Steps"), "@heading_depth", ""),
]

HTML = [
    ("", (">3521<", "> 3521 <"), "", ""),
    ("", ("<output id", '<output class="x" id'), "", ""),
    ("", ("<output id", '<output name="x" id'), "answer_slot", ""),
    ("", ("<output id", '<output data-value="3521" id'), "answer_slot", ""),
    ("", (">3521</output>", "><em>3521</em></output>"), "answer_slot", NO_ANSWER),
    ("", ('<output id="answer">3521</output>', '<span id="answer">3521</span>'), "answer_slot", ""),
    ("", ('<output id="answer">3521</output>', '<p><output id="answer">3521</output></p>'), "root_container", ""),
    (
        "",
        ('<output id="answer">3521</output>', '<dl><dt>answer</dt><dd><output id="answer">3521</output></dd></dl>'),
        "answer_slot",
        "",
    ),
    ("", (">3521</output>", "><strong>3521</strong></output>"), "answer_slot", ""),
    (
        "",
        (lambda d: d.replace('<ol id="inputs">', '<ul id="inputs">').replace("</ol>", "</ul>", 1)),
        "inputs_container",
        "",
    ),
    ("", ("></li>", ">costs <b>503</b> won</li>"), "", ""),
    ("", ("></li>", "><div>503</div></li>"), "inputs_container", ""),
    ("", ("></li>", ">**503**</li>"), "native_syntax", ""),
    ("", ("></li>", ">- a\n# b</li>"), "native_syntax", ""),
    ("", ("<li data-name", '<li class="a" lang="ko" data-foreign="1" data-name'), "", ""),
    ("", ("<li data-name", '<li data-id="I1" data-name'), "inputs_container", ""),
    ("", ("<li data-name", '<li value="3" data-name'), "inputs_container", ""),
    ("", ("<main>", '<main class="x">'), "", ""),
    ("", ("<main>", "<main>\nThe result:"), "root_container", ""),
    ("", ("<main>", "<main><h1>Result</h1>"), "root_container", ""),
    ("", (lambda d: f"<!DOCTYPE html>\n{d}"), "", ""),
    (
        "",
        (lambda d: f"<!DOCTYPE html><html><head><title>r</title></head><body>{d}</body></html>"),
        "root_container",
        "",
    ),
    ("", (lambda d: f"{d}\nDone."), "clean_boundary", ""),
    ("", (lambda d: f"{d}{d}"), "clean_boundary", ALL),
    ("", ("></li>", ">a &amp;lt; b</li>"), "escaping", ""),
    ("", ("></li>", ">a < b</li>"), "escaping", ""),
    ("", ("></li>", ">AT&T</li>"), "escaping", ""),
    ("", ("></li>", ">a &copy b</li>"), "escaping", ""),
    ("", ("></li>", ">a &#169 b</li>"), "escaping", ""),
    ("", ("></li>", " data-note='a&b'></li>"), "escaping", ""),
    ("", ("></li>", "><b>x</li>"), "well_formed", ""),
    (
        "",
        ('data-args="caribbean_price 7"', 'data-args=""'),
        "structure.step_fields_present",
        "semantic.step_consistent",
    ),
    (
        "",
        ('data-args="caribbean_price 7"', 'data-args="caribbean_price, 7"'),
        "steps_container semantic.step_consistent",
        "",
    ),
    ("table_for_inputs", ("<tbody>", "<thead><tr><th>Name</th></tr></thead><tbody>"), "", ""),
    ("table_for_inputs", ("<tbody>", "<tbody>503"), "well_formed root_container", ""),
    ("semantic_element", (lambda d: d.replace("<section>", "").replace("</section>", "")), "@semantic_element", ""),
    ("heading_hierarchy", ("<h2>Steps</h2>", ""), "@heading_hierarchy", ""),
    ("heading_hierarchy", ("<h2>Steps</h2>", "<h3>Steps</h3>"), "@heading_hierarchy", ""),
    ("heading_hierarchy", ("<h1>Result</h1>", "<h2>Result</h2>"), "@heading_hierarchy", ""),
    ("", (lambda d: "\u00a0" + d), "clean_boundary", ""),
    ("", ("</output>", ""), "well_formed answer_slot", NO_ANSWER),
    ("", (lambda d: d.replace("<li ", "<LI ").replace("main>", "MAIN>")), "", ""),
]

LATEX = [
    ("", ("\\Answer{3521}", "\\Answer {{3521}}"), "", ""),
    ("", ("\\Answer{3521}", "\\Answer{ 3521 }"), "", ""),
    ("", ("\\Answer{3521}", "\\Answer 3521"), "answer_slot", NO_ANSWER),
    ("", ("\\Answer{3521}", "\\Answer[x]{3521}"), "answer_slot", NO_ANSWER),
    ("", ("\\Answer{3521}", "\\Answer{35%\n21}"), "", ""),
    ("", ("\\Answer{3521}", "\\Answer{\\num{3521}}"), "answer_slot", ""),
    ("", ("\\Answer{3521}", "\\Answer{\\textbf{3521}}"), "answer_slot", ""),
    ("", ("\\Answer{3521}", "\\Answer{35\\,21}"), "answer_slot", NO_ANSWER),
    ("", ("\\Answer{3521}", "\\Answer{3521 won}"), "answer_slot", NO_ANSWER),
    ("", ("\\Answer{3521}", "\\Answer{3521}\n\\Answer{3521}"), "root_container", ""),
    ("", ("\\Answer{3521}", "\\Answer{3521}\n\\Answer{1}"), "root_container", NO_ANSWER),
    ("", ("\\Answer{3521}", "\\noindent\\Answer{3521}\\bigskip"), "", ""),
    ("", ("\\Answer{3521}", "\\Answer{3521}\\\\"), "", ""),
    ("", ("\\Answer{3521}", "\\Total{3521}"), "well_formed", ALL),
    ("", ("\\Answer{3521}", "\\Answer{$3521}"), "well_formed", ALL),
    ("", ("\\Answer{3521}", "\\\\Answer{3521}"), "root_container answer_slot", NO_ANSWER),
    ("", (lambda d: d + "\\"), "clean_boundary", ""),
    ("", (lambda d: "\\documentclass{article}\n" + d), "clean_boundary", ""),
    ("", (lambda d: d + "% end"), "", ""),
    ("", (lambda d: d + d), "clean_boundary", ALL),
    (
        "",
        ("\\Input{caribbean\\_price}{503}", "\\Input{caribbean\\_price}"),
        "inputs_container semantic.input_values structure.input_fields_present",
        "semantic.step_consistent",
    ),
    ("", ("\\Input{caribbean\\_price}{503}", "\\Input{\\texttt{caribbean\\_price}}{503}"), "inputs_container", ""),
    ("", ("\\Input{caribbean\\_price}{503}", "\\Input{caribbean\\_price}{$503$}"), "inputs_container", ""),
    ("texttt_ids", ("\\texttt{R1}", "\\textbf{\\texttt{R1}}"), "", ""),
    ("", ("{caribbean\\_price, 7}", "{caribbean\\_price,7}"), "", ""),
    ("", ("{caribbean\\_price, 7}", "{caribbean\\_price, 7,}"), "steps_container", "semantic.step_consistent"),
    ("", ("{caribbean\\_price, 7}", "{}"), "structure.step_fields_present", "semantic.step_consistent"),
    ("", ("{caribbean\\_price, 7}", "{caribbean\\_price, \\num{7}}"), "steps_container", ""),
    ("", ("{multiply}", "{\\texttt{multiply}}"), "steps_container", ""),
    ("", ("\\begin{steps}", "\\begin{steps} then"), "steps_container", ""),
    ("tabular_inputs", (" \\\\\n\\end{tabular}", "\n\\end{tabular}"), "", ""),
    ("tabular_inputs", ("{ll}", "{|l|r|}\n\\hline\nName & Value \\\\\n\\hline"), "", ""),
    ("tabular_inputs", ("\\end{tabular}", "\\end{tabular}\n\\Input{x}{1}"), "@tabular_inputs", ""),
    ("enumerate_steps", ("\\item ", ""), "@enumerate_steps", ""),
    ("math_mode", ("{$3521$}", "{\\(3521\\)}"), "", ""),
    ("math_mode", ("{$3521$}", "{\\[3521\\]}"), "@math_mode answer_slot", ""),
    ("siunitx math_mode", ("{$\\num{3521}$}", "{$\\num[round-mode=none]{3521}$}"), "", ""),
]

CASES = [
    (name, *case)
    for name, cases in (
        ("json", JSON), ("yaml", YAML), ("toml", TOML), ("xml", XML), ("markdown", MARKDOWN), ("html", HTML), ("latex", LATEX)
    )
    for case in cases
]  # fmt: skip


@pytest.mark.parametrize(("name", "rules", "edit", "failed", "blocked"), CASES)
def test_fine_point(name: str, rules: str, edit: Edit, failed: str, blocked: str) -> None:
    judge(name, rules, edit, failed, blocked)


@pytest.mark.parametrize(
    ("name", "edit", "failed", "blocked"),
    [
        ("json", ('"sun & sea"', "42"), "answer_slot semantic.answer", ""),
        ("json", ('"sun & sea"', '"Sun  &  SEA."'), "", ""),
        ("json", ('"sun & sea"', '"s\\fun & sea"'), "answer_slot semantic.answer", ""),
        ("json", ('"sun & sea"', '"  "'), "answer_slot", "semantic.answer"),
        ("yaml", ('"sun & sea"', "sun & sea"), "", ""),
        ("yaml", ('"sun & sea"', "2024-01-02"), "semantic.answer", ""),
        ("yaml", ('"sun & sea"', "true"), "answer_slot", "semantic.answer"),
        ("toml", ('"sun & sea"', "42"), "answer_slot semantic.answer", ""),
        ("xml", ("sun &amp; sea", "sun & sea"), "well_formed escaping answer_slot", "semantic.answer"),
        ("xml", ("sun &amp; sea", "sun &#38; sea"), "", ""),
        ("html", ("sun &amp; sea", "sun & sea"), "escaping", ""),
        ("html", ("sun &amp; sea", "sun <i>&amp;</i> sea"), "answer_slot", "semantic.answer"),
        ("latex", ("sun \\& sea", "sun & sea"), "escaping", ""),
        ("latex", ("sun \\& sea", "\\textbf{sun} \\& sea"), "answer_slot", "semantic.answer"),
        ("latex", ("sun \\& sea", "sun \\& sea % end\n"), "", ""),
        ("markdown", ("sun \\& sea", "sun &amp; sea"), "", ""),
        ("markdown", ("sun \\& sea", "sun & sea\nThat is it."), "answer_slot semantic.answer", ""),
        ("markdown", ("sun \\& sea", "**sun & sea**"), "answer_slot", ""),
    ],
)  # fmt: skip
def test_text_answers(name: str, edit: Edit, failed: str, blocked: str) -> None:
    judge(name, "", edit, failed, blocked, TEXT)


@pytest.mark.parametrize("name", ["html", "xml"])
def test_an_answer_whose_end_is_not_known_is_absent(name: str) -> None:
    damage = {"html": ("</output>", ""), "xml": ("</answer>\n</response>", "")}
    judge(name, "", damage[name], "well_formed answer_slot", "semantic.answer", NUMBER)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_answer_only_documents_hold_nothing_else(name: str) -> None:
    extra = {
        "json": ("42}", '42, "inputs": []}'),
        "yaml": ("42\n", "42\ninputs: []\n"),
        "toml": ("42\n", "42\ninputs = []\n"),
        "xml": ("</response>", "<inputs/></response>"),
        "html": ("</main>", '<ol id="inputs"></ol></main>'),
        "latex": ("\\end{response}", "\\begin{inputs}\\end{inputs}\n\\end{response}"),
        "markdown": ("42\n", "42\n\n## Inputs\n"),
    }
    judge(name, "", extra[name], "root_container", "", NUMBER)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_bounds_pass_at_the_bound_and_fail_one_beyond(name: str) -> None:
    def number(digits: int) -> CanonicalIR:
        return CanonicalIR.from_dict({"answer": "7" * digits})

    format_ = FORMATS[name]
    at_bound = number(400)
    text = format_.render(at_bound, frozenset(), format_.styles[0])
    assert verify(text, format=name, gold=at_bound).full
    beyond = verify(text.replace("7" * 400, "7" * 401), format=name, gold=at_bound)
    assert beyond["format.well_formed"].outcome == "fail"
    assert "401 digits" in beyond["format.well_formed"].why
    size = 64 * 1024 - len(text.encode())
    assert verify(text + " " * size, format=name, gold=at_bound).full
    assert "65537 bytes" in verify(text + " " * (size + 1), format=name, gold=at_bound)["format.well_formed"].why
