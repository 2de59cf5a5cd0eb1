#!/usr/bin/env python3
"""Verdicts a second on one core, side by side in one run with the bare parsers: benchmarks/verifier_speed.py [seconds].

For each format: the strict parse alone by the required library (what any verifier with the same strictness must pay), the
whole verdict on gold documents of the grid, and on damaged ones. CPU time, interleaved rounds, best of each. The
last line is the ratio over the grid: verdicts a second / strict parses a second; 1 would be a verdict for the price of
the parse.
"""

from __future__ import annotations

import json
import random
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import html5lib
import tomlkit
from lxml import etree
from markdown_it import MarkdownIt
from pylatexenc.latexwalker import LatexWalker
from ruamel.yaml import YAML

from serial7.artifacts import load_artifacts
from serial7.formats import FORMATS
from serial7.formats.latex import _CONTEXT
from serial7.fuzz import damage
from serial7.grid import load_grid
from serial7.prompts import gold_answer
from serial7.verify import verify

_MARKDOWN = MarkdownIt("commonmark").enable("table")


def _html(text: str) -> None:
    html5lib.HTMLParser(tree=html5lib.getTreeBuilder("etree"), namespaceHTMLElements=False).parse(text)
    etree.fromstring(text.encode(), etree.HTMLParser(encoding="utf-8"))


def _toml(text: str) -> None:
    tomllib.loads(text)
    tomlkit.parse(text)


STRICT: dict[str, Callable[[str], object]] = {
    "json": json.loads,
    "xml": lambda text: etree.fromstring(text.encode(), etree.XMLParser(resolve_entities=False, encoding="utf-8")),
    "markdown": _MARKDOWN.parse,
    "html": _html,
    "latex": lambda text: LatexWalker(text, latex_context=_CONTEXT, tolerant_parsing=False).get_latex_nodes(),
    "yaml": lambda text: YAML(typ="rt").load(text),
    "toml": _toml,
}


def seconds_per_call(call: Callable[[], object], least: float) -> float:
    """CPU seconds of one call: repeated until `least` seconds are spent."""
    calls, start = 0, time.process_time()
    while (spent := time.process_time() - start) < least:
        call()
        calls += 1
    return spent / calls


def main(budget: float) -> None:
    artifacts = load_artifacts()
    chance = random.Random(7)
    documents = {name: [] for name in FORMATS}  # type: dict[str, list[tuple[str, tuple[str, ...], object]]]
    for request in load_grid():
        if request.format:
            artifact = artifacts[request.artifact_id]
            documents[request.format].append((gold_answer(request, artifact), request.rules, artifact.ir))
    print(f"{'format':10}{'documents':>10}{'parse/s':>10}{'gold/s':>10}{'ratio':>8}{'damaged/s':>11}")
    totals = [0.0, 0.0]
    for name, cases in documents.items():
        broken = [(damage(text, chance), rules, ir) for text, rules, ir in cases]

        def parse(cases=cases, name=name) -> None:  # type: ignore[no-untyped-def]
            for text, _, _ in cases:
                STRICT[name](text)

        def judge(cases=cases, name=name) -> None:  # type: ignore[no-untyped-def]
            for text, rules, ir in cases:
                verify(text, format=name, rules=rules, gold=ir)

        def judge_broken(cases=broken, name=name) -> None:  # type: ignore[no-untyped-def]
            for text, rules, ir in cases:
                verify(text, format=name, rules=rules, gold=ir)

        best = [
            min(times)
            for times in zip(
                *([seconds_per_call(f, budget) for f in (parse, judge, judge_broken)] for _ in range(5)), strict=True
            )
        ]
        count = len(cases)
        totals[0] += best[0] / count
        totals[1] += best[1] / count
        print(
            f"{name:10}{count:10}{count / best[0]:10.0f}{count / best[1]:10.0f}{best[0] / best[1]:8.2f}{count / best[2]:11.0f}"
        )
    each = len(documents)
    print(f"{'all alike':10}{'':10}{each / totals[0]:10.0f}{each / totals[1]:10.0f}{totals[0] / totals[1]:8.2f}")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 0.3)
