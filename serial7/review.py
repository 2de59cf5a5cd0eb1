"""The review page: each Korean-English pair side by side, for a bilingual reader. One file, no script, no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from serial7.validation import Problem

STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, "Noto Sans KR", "Apple SD Gothic Neo", sans-serif; margin: 1rem auto; max-width: 78rem; padding: 0 1rem; }
article { border: 1px solid #8886; border-radius: 6px; padding: .8rem 1rem; margin: 1rem 0; break-inside: avoid; }
h2 { font-size: 1rem; margin: 0 0 .5rem; } h2 small { font-weight: normal; opacity: .75; margin-left: .6rem; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 0 1.5rem; }
table { border-collapse: collapse; margin: .4rem 0; } td, th { border: 1px solid #8886; padding: .15rem .5rem; text-align: left; }
pre { white-space: pre-wrap; margin: .4rem 0; } code { font-size: .9em; } .bad { color: #b00020; } .answer { font-weight: bold; }
@media (prefers-color-scheme: dark) { .bad { color: #ff8a80; } }
"""


def review_page(
    artifacts: Sequence[Mapping[str, Any]], wrong: Mapping[str, Sequence[Problem]], broken: Mapping[str, str]
) -> str:
    """The page. Every text is escaped: a set may come from a model.

    Args:
        wrong: id -> what the validator says; broken: place -> why a line is no artifact.
    """
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        f"<title>SERIAL-7: {len(artifacts)} pairs to review</title><style>{STYLE}</style></head><body>",
        f"<h1>{len(artifacts)} pairs</h1>",
        f"<p>{len(artifacts) - len(wrong)} pass the validator. Read each pair: is either text odd, unclear or a word-by-word "
        "translation? Do both ask the same? Is the answer the only right one?</p>",
    ]
    parts += [f'<p class="bad">{escape(where)}: {escape(why)}</p>' for where, why in broken.items()]
    parts += [_article(a, wrong.get(str(a.get("id")), ())) for a in artifacts]
    return "\n".join(parts) + "\n</body></html>\n"


def _article(artifact: Mapping[str, Any], problems: Sequence[Problem]) -> str:
    id_, answer = str(artifact.get("id")), artifact.get("answer")
    shown = answer.get("text") if isinstance(answer, Mapping) else answer
    kind = f"{artifact.get('family')}, {artifact.get('stratum')}, {artifact.get('kind')}"
    lines = [f'<article id="{escape(id_)}"><h2>{escape(id_)}<small>{escape(kind)}</small></h2><div class="pair">']
    lines += [_arm(artifact.get(language), language) for language in ("ko", "en")]
    lines.append(f'</div><p>Answer: <span class="answer">{escape(str(shown))}</span></p>')
    if artifact.get("inputs"):
        given = "".join(f"<tr><td><code>{escape(str(n))}</code><td>{escape(str(v))}" for n, v in artifact["inputs"])
        steps = "".join(
            f"<tr><td><code>{escape(str(i))}</code><td>{escape(f'{op}({chr(44).join(map(str, args))})')}<td>{escape(str(v))}"
            for i, op, args, v in artifact["steps"]
        )
        lines.append(f'<div class="pair"><table>{given}</table><table>{steps}</table></div>')
    lines += [f'<p class="bad">{escape(f"{p.category}: {p.field}: {p.why}")}</p>' for p in problems]
    return "\n".join([*lines, "</article>"])


def _arm(held: Any, language: str) -> str:
    if not isinstance(held, Mapping):
        return f'<div lang="{language}"><p class="bad">no {language} text</p></div>'
    question, materials = str(held.get("question", "")), str(held.get("materials", ""))
    rows = [line.split("|") for line in materials.splitlines()]
    if len(rows) > 1 and all(len(row) == len(rows[0]) > 1 for row in rows):
        head = "".join(f"<th>{escape(c.strip())}" for c in rows[0])
        body = "".join("<tr>" + "".join(f"<td>{escape(c.strip())}" for c in row) for row in rows[1:])
        below = f"<table><tr>{head}{body}</table>"
    else:
        below = f"<pre>{escape(materials)}</pre>" if materials else ""
    return f'<div lang="{language}"><p>{escape(question)}</p>{below}</div>'
