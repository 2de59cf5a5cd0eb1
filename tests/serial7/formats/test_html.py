"""HTML: what the scan, the parser and the tree each have to see; hostile documents; recovery. One edit of a gold document."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serial7.check import Due
from serial7.errors import NotWellFormed
from serial7.explain import EXAMPLE
from serial7.formats.html import HTML
from serial7.ir import CanonicalIR, normalize_text
from serial7.verify import Verdict, verify

NO_ANSWER = ["semantic.answer", "semantic.step_consistent"]
OUTPUT = '<output id="answer">3521</output>'


def judge(text: str, rules: tuple[str, ...] = (), gold: CanonicalIR = EXAMPLE) -> Verdict:
    verdict = verify(text, format="html", rules=rules, gold=gold)
    assert verdict.error == ""
    return verdict


def edited(old: str, new: str, rules: tuple[str, ...] = ()) -> str:
    text = HTML.render(EXAMPLE, frozenset(rules), HTML.styles[0])
    assert old in text
    return text.replace(old, new, 1)


def failed(verdict: Verdict) -> list[str]:
    return sorted(set(verdict.not_passed) - set(verdict.blocked))


@pytest.mark.parametrize(
    ("old", "new", "fails", "blocked"),
    [
        # What HTML allows: foreign content, ruby, lists of options, comments of every kind.
        ("></li>", '><svg width="1"><path d="M0"/></svg></li>', [], []),
        ("></li>", "><math><mi>x</mi></math></li>", [], []),
        ("></li>", "><ruby>a<rp>(</rp><rt>b</rt><rp>)</rp></ruby></li>", [], []),
        ("></li>", "><select><option>a<option>b</select></li>", [], []),
        ("></li>", "><br/><wbr></li>", [], []),
        (OUTPUT, OUTPUT + "<!-- a -- b --->", [], []),
        (OUTPUT, OUTPUT + "<!-- <!-- -->", ["format.well_formed"], []),
        (OUTPUT, OUTPUT + "<!-- <?xml ?> <body> -->", [], []),
        ("></li>", " data-note='<body>'></li>", ["format.escaping"], []),
        ("></li>", ">a__b__c</li>", [], []),
        ("></li>", ">2 ** 3 ** 4</li>", [], []),
        ("></li>", ">**b**</li>", ["format.native_syntax"], []),
        ("></li>", "><!-- x -->__b__</li>", ["format.native_syntax"], []),
        ("></li>", ">&#42;&#42;b&#42;&#42;</li>", ["format.native_syntax"], []),
        # Parse errors that one of the two sees alone.
        ("></li>", ">a&</li>", ["format.escaping"], []),
        ("></li>", ">a&#x;</li>", ["format.escaping"], []),
        ("></li>", ">&amp;#X41;</li>", ["format.escaping"], []),
        ("></li>", "></span></li>", ["format.well_formed"], []),
        ("></li>", "><span/></li>", ["format.well_formed"], []),
        ("></li>", "><b><i>x</b></i></li>", ["format.well_formed"], []),
        ("></li>", "><a href=x>a<a href=y>b</a></a></li>", ["format.well_formed"], []),
        ("<main>", "<main><?php x ?>", ["format.well_formed"], []),
        ("<main>", "<?xml version='1.0'?><main>", ["format.native_syntax", "format.well_formed"], []),
        # The answer's slot: an error in it takes it away.
        (OUTPUT, OUTPUT.replace(">3521<", ">35</b>21<"), ["format.answer_slot", "format.well_formed"], NO_ANSWER),
        (OUTPUT, OUTPUT.replace(">3521<", ">35\x0021<"), ["format.answer_slot", "format.well_formed"], NO_ANSWER),
        (OUTPUT, OUTPUT.replace(">3521<", "><![CDATA[3521]]><"), ["format.answer_slot", "format.well_formed"], NO_ANSWER),
        (OUTPUT, '<output id="answer"/>3521', ["format.answer_slot", "format.well_formed"], NO_ANSWER),
        (OUTPUT, '<output id="answer">3521', ["format.answer_slot", "format.well_formed"], NO_ANSWER),
        (OUTPUT, '<output id="x" id="answer">3521</output>',
         ["format.answer_slot", "format.root_container", "format.well_formed"], NO_ANSWER),
        (OUTPUT, OUTPUT.replace(">3521<", ">3521</output><output><"), ["format.root_container"], []),
        (OUTPUT, OUTPUT.replace("3521", "&nbsp;3521"), ["format.answer_slot"], NO_ANSWER),
        (OUTPUT, OUTPUT.replace("3521", "3,521"), ["format.answer_slot"], []),
        (OUTPUT, OUTPUT.replace("id=", "name=x id="), ["format.answer_slot"], []),
        (OUTPUT, OUTPUT.replace("id=", "aria-live=off id="), [], []),
        (OUTPUT, OUTPUT + OUTPUT, ["format.root_container", "format.well_formed"], []),
        (OUTPUT, OUTPUT + OUTPUT.replace("3521", "1"), ["format.root_container", "format.well_formed"], NO_ANSWER),
        (OUTPUT, OUTPUT.replace("answer", "Answer"), ["format.answer_slot", "format.root_container"], NO_ANSWER),
        # Records.
        ('data-value="503"', 'data-value="503" data-value="504"',
         ["format.inputs_container", "format.well_formed", "semantic.input_values", "structure.input_fields_present"],
         ["semantic.step_consistent"]),
        ('data-value="503"', 'data-value="&quot;503&quot;"', ["format.inputs_container"], []),
        ("caribbean_price 7", "\n caribbean_price\t7 ", [], []),
        ("caribbean_price 7", "caribbean_price &quot;7&quot;", ["format.steps_container"], []),
        ("caribbean_price 7", "caribbean_price\u00a07", ["format.steps_container", "semantic.step_consistent"], []),
        ("multiply", "multi\x0cply", ["format.steps_container", "semantic.step_consistent"], []),
        ("></li>", "><p>x</p></li>", ["format.inputs_container"], []),
        ('<ol id="inputs">', '<ol id="inputs" start="2">', ["format.inputs_container"], []),
        ('<ol id="inputs">', '<ol id="inputs">so:', ["format.inputs_container"], []),
    ],
)  # fmt: skip
def test_one_edit(old: str, new: str, fails: list[str], blocked: list[str]) -> None:
    verdict = judge(edited(old, new))
    assert failed(verdict) == fails
    assert sorted(verdict.blocked) == blocked


def test_the_answer_inside_a_record_or_a_heading_is_not_in_its_slot() -> None:
    text = edited(OUTPUT, "").replace("></li>", f">{OUTPUT}</li>", 1)
    assert failed(judge(text)) == ["format.answer_slot"]
    rules = ("heading_hierarchy",)
    text = edited(OUTPUT, "", rules).replace("<h1>Result</h1>", f"<h1>Result {OUTPUT}</h1>")
    assert failed(judge(text, rules)) == ["format.answer_slot"]


@pytest.mark.parametrize(
    ("around", "fails"),
    [
        ("<dl><dt> ANSWER </dt><dd>{}</dd></dl>", []),
        ("<dl><dt>Answer<dd>{}</dl>", []),
        ('<dl class="x"><dt>Answer</dt><dd>{}</dd></dl>', []),
        ("<dl><dt>Total</dt><dd>{}</dd></dl>", ["format.feature.dl_for_answer"]),
        ("<dl><dt>Answer</dt><dd>{} USD</dd></dl>", ["format.feature.dl_for_answer"]),
        ("<dl><dt>Answer</dt><dd>{}</dd><dt>Unit</dt><dd>USD</dd></dl>", ["format.feature.dl_for_answer"]),
        ("<dl><dt>Answer</dt><dd><p>{}</p></dd></dl>", ["format.feature.dl_for_answer"]),
        ("<dl><div><dt>Answer</dt><dd>{}</dd></div></dl>", ["format.feature.dl_for_answer"]),
        ("<p>{}</p>", ["format.feature.dl_for_answer", "format.root_container"]),
    ],
)
def test_dl_for_answer(around: str, fails: list[str]) -> None:
    assert failed(judge(edited(OUTPUT, around.format(OUTPUT)), ("dl_for_answer",))) == fails


@pytest.mark.parametrize(
    ("old", "new", "fails"),
    [
        ("<tbody>", "", []),
        ("<td></td></tr>\n  </tbody>", "", []),
        ("<tbody>", "<tr><th scope=col>name</th></tr><tbody>", []),
        ("<tbody>", "<tr bgcolor=red><th>name</th></tr><tbody>", ["format.feature.table_for_inputs"]),
        ("<tbody>", "<caption>x</caption><tbody>", ["format.feature.table_for_inputs"]),
        ("<td></td>", "<td><div>503</div></td>", ["format.feature.table_for_inputs"]),
        ("<td></td>", "503<td></td>", ["format.root_container", "format.well_formed"]),
        ("</tbody>", "<tr><td>sum</td></tr></tbody>", ["structure.input_fields_present"]),
    ],
)
def test_table_for_inputs(old: str, new: str, fails: list[str]) -> None:
    rules = ("table_for_inputs",)
    assert failed(judge(edited(old, new, rules), rules)) == fails


def test_a_script_in_main_is_charged_once_under_semantic_element() -> None:
    rules = ("semantic_element",)
    assert failed(judge(edited("<main>", "<main><script>x</script>", rules), rules)) == ["format.native_syntax"]


BASE = HTML.render(EXAMPLE, frozenset(), "plain")
PAGE = "<!DOCTYPE html><html><head><title>r</title></head><body>{}</body></html>"


@pytest.mark.parametrize(
    ("text", "fails", "all_else_blocked"),
    [
        (BASE.replace("main>", "response>"), ["format.root_container"], False),
        (BASE.replace("main>", "x:main>"), ["format.root_container"], False),
        (f"<main>{BASE}</main>", ["format.root_container"], False),
        (PAGE.format(BASE), ["format.root_container"], False),
        (f"Here:\n{PAGE.format(BASE)}", ["format.clean_boundary", "format.root_container"], False),
        (f"The fragment of the <body> is:\n{BASE}", ["format.clean_boundary"], False),
        (PAGE.format(BASE + BASE), ["format.clean_boundary"], True),
        (BASE + BASE, ["format.clean_boundary"], True),
        (f"<!-- {BASE} -->", ["format.clean_boundary"], True),
        (f"<!-- <main> -->\n<!DOCTYPE html>\n{BASE}<!-- done -->", [], False),
        (f"{BASE}<!-- done", ["format.clean_boundary"], False),
        (f"```html\n{BASE}```", ["format.clean_boundary"], False),
        (f"Sure!\n{BASE}Done.", ["format.clean_boundary"], False),
        (BASE.replace("</main>\n", ""), ["format.well_formed"], False),
        (BASE.replace("</ol>\n</main>\n", ""), ["format.well_formed"], False),
        (f"Sure: {BASE.replace('</main>', '')}", ["format.clean_boundary"], True),
    ],
)
def test_boundary_and_root(text: str, fails: list[str], all_else_blocked: bool) -> None:
    verdict = judge(text)
    assert failed(verdict) == fails
    others = {f.check for f in verdict.findings} - {"format.clean_boundary", "binding.grounded"}
    assert set(verdict.blocked) == (others if all_else_blocked else set())


@pytest.mark.parametrize(
    ("inside", "passes"),
    [
        ("<span>" * 61 + "</span>" * 61, True),
        ("<span>" * 62 + "</span>" * 62, False),
        ("<i " + " ".join(f"data-a{i}" for i in range(64)) + "></i>", True),
        ("<i " + " ".join(f"data-a{i}" for i in range(65)) + "></i>", False),
        ("<svg>" + "<path/>" * 100 + "</svg>", True),
        ("<br>" * 100, True),
        ("<!--" + "<div>" * 100 + "-->", True),
        ("<textarea>" + "&lt;div>" * 100 + "</textarea>", True),
    ],
)
def test_the_bound_itself_passes_and_one_more_fails(inside: str, passes: bool) -> None:
    verdict = judge(edited("></li>", f">{inside}</li>"))  # inside <main>, <ol> and <li>
    assert failed(verdict) == ([] if passes else ["format.well_formed"])


def test_implied_end_tags_do_not_count_as_nesting() -> None:
    HTML.bound("<main><ol>" + "<li><p>a" * 200 + "</ol><table>" + "<tr><td>a<td>b" * 200 + "</table></main>")
    HTML.bound("<main><dl>" + "<dt>a<dd><p>b" * 200 + "</dl>" + "<p>a<div></div>" * 200 + "</main>")
    with pytest.raises(NotWellFormed, match="64 elements"):
        HTML.bound("<main>" + "<ol><li>" * 32)


def fill(unit: str, before: str = "<main>", after: str = "") -> str:
    return before + unit * ((64_000 - len(before) - len(after)) // len(unit)) + after


@pytest.mark.parametrize(
    "text",
    [
        *map(fill, ["<div>", "<b><i></b>", "<a><div></a>", "<p><b>x</p>", "<b></p>", "<table><b>x</table>", "<b><table></b>"]),
        *map(fill, ["<", "&", "&#", "<a ", '<a "', "<a \"'", '<a x="<', "<!--", "<?", "</main>", "</p>", "<title></title>", "\0"]),
        *map(fill, ["[", "**a", "__a", "`a", "<i id=answer></i>", '<output id="answer">1</output>', "<select><option>"]),
        fill("<div>", "<main>" + "<a <b >" * 70),
        fill("<main ", ""),
        fill("<!---->", "", "<main></main>"),
        fill("</html ", "<html><main></main>"),
        "<main " + " ".join(f"a{i}=1" for i in range(9_000)),
        "<!---->" * 200_000 + "<main></main>",
        "<main " * 200_000,
        "<!-- <main></main>" * 50_000,
        "<main></main><!--" * 50_000,
        "x < y <b 'q' \"z\" " * 40_000 + "<main></main>",
    ],
    ids=lambda text: repr(text[:24]),
)  # fmt: skip
def test_hostile_documents_get_a_verdict_in_bounded_time(text: str) -> None:
    start = time.process_time()
    verdict = judge(text)
    assert time.process_time() - start < 5.0  # measured: under 1
    assert not verdict.fc


def test_locate_finds_the_record() -> None:
    assert HTML.locate(BASE, "answer") == (2, 11)
    assert HTML.locate(BASE, "inputs[0].value") == (4, 3)
    assert HTML.locate(BASE, "steps[0].args[1]") == (7, 3)
    assert HTML.locate(BASE, "main") is None


# What HTML can carry: no controls, no surrogates, no noncharacters; a carriage return is a line feed.
TEXTS = st.text(
    st.one_of(
        st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn")),
        st.sampled_from(list("&<>\"'`*_#$%\\{}|\n\t")),
    ),
    min_size=1,
    max_size=40,
).filter(lambda text: normalize_text(text) != "" and "&" not in text.replace("& ", ""))


@settings(max_examples=150, deadline=None)
@given(
    TEXTS,
    st.sampled_from(HTML.styles),
    st.sets(st.sampled_from(["dl_for_answer", "strong_answer", "semantic_element"])),
)
def test_any_text_comes_back(text: str, style: str, rules: set[str]) -> None:
    gold = CanonicalIR(text)
    document = HTML.render(gold, frozenset(rules), style)
    reading = HTML.read(document, Due(graph=False, text_answer=True))
    assert isinstance(reading.answer, str)
    assert normalize_text(reading.answer) == normalize_text(text)
    assert judge(document, tuple(rules), gold).not_passed == []
