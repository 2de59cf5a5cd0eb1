"""Free text without its dress: LaTeX, Markdown, HTML marks and typographic characters, one line to read numbers from."""

from __future__ import annotations

import re

_VULGAR = {
    "½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅕": "1/5", "⅖": "2/5", "⅗": "3/5", "⅘": "4/5",
    "⅙": "1/6", "⅚": "5/6", "⅛": "1/8", "⅜": "3/8", "⅝": "5/8", "⅞": "7/8",
}  # fmt: skip
_CHARACTERS = str.maketrans(
    {chr(c): chr(c - 0xFEE0) for c in range(0xFF01, 0xFF5F)}
    | {c: f" {fraction}" for c, fraction in _VULGAR.items()}
    | dict.fromkeys("−‐‑‒–﹣－", "-")
    | dict.fromkeys("⁄∕", "/")
    | dict.fromkeys("∙⋅", "·")
    | dict.fromkeys("✕✖⨯", "×")
    | dict.fromkeys("₩€£¥￦", " ")
    | {"\u3000": " ", "\t": " ", "∶": ":", "\u200b": "", "\u2060": "", "\ufeff": ""}
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_THIN = re.compile(r"(?<=[0-9])(?:[\u00a0\u2007\u2009\u202f]|\{,\}|\\[,!;:] ?|\{\\,\})(?=[0-9]{3}(?![0-9]))")
_WRAP = re.compile(
    r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|mathsf|mathtt|mbox|boldsymbol|bm|operatorname|boxed|fbox|underline|num)"
    r"\s{0,3}\{([^{}]*)\}"
)
_UNIT_MACRO = re.compile(r"\\(?:si|unit)\s?\{[^{}]*\}")
_FRACTION = re.compile(r"\\[dtc]?frac\s?(?:\{\s*(-?[0-9.,]+)\s*\}|([0-9]))\s?(?:\{\s*([0-9.,]+)\s*\}|([0-9]))")
_POWER = re.compile(r"\^\s?\{\s*([+-]?[0-9]+)\s*\}")
_RAISED = re.compile(r"(?<=10)[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_REPLACED = [
    (re.compile(pattern), new)
    for pattern, new in (
        (r"<sup>\s*([+-]?[0-9]{1,3})\s*</sup>", r"^\1"),
        (r"</?[A-Za-z]{1,10}(?:\s[^<>]{0,80})?/?>", ""),
        (r"\\%", "%"),
        (r"\\(?:times|ast)(?![A-Za-z])", "×"),
        (r"\\cdot(?![A-Za-z])", "·"),
        (r"\\div(?![A-Za-z])", "÷"),
        (r"\\(?:approx|simeq|fallingdotseq|sim|cong)(?![A-Za-z])", "≈"),
        (r"\\pm(?![A-Za-z])", "±"),
        (r"\^\s?\{?\\circ\}?|\\(?:degree|textdegree)(?![A-Za-z])", "°"),
        (r"\\sqrt(?![A-Za-z])", "√"),
        (r"\\pi(?![A-Za-z])", "π"),
        (r"\\infty(?![A-Za-z])", "∞"),
        (r"\\l(?:eq?|t)(?![A-Za-z])", "≤"),
        (r"\\g(?:eq?|t)(?![A-Za-z])", "≥"),
        (r"\\neq?(?![A-Za-z])", "≠"),
        (r"\\(?:(?:Long|long)?[Rr]ightarrow|implies|to|therefore)(?![A-Za-z])", "⇒"),
        (r"\\(?:left|right|displaystyle|textstyle|[Bb]igg?[lr]?)(?![A-Za-z])", ""),
        (r"\\(?:quad|qquad|newline|hspace)(?![A-Za-z])|\\[,;:!> ]|\\[()\[\]{}]|\\\\", " "),
        (r"(?<=[0-9])\s?\*\*\s?(?=[-(]?[0-9])", "^"),
        (r"(?<![\w*])\*([^*\s](?:[^*\n]{0,80}[^*\s])?)\*(?![\w*])", r"\1"),
        (r"\*\*|__|`", ""),
        (r"-\s?\\?\$\s?", "-"),
        (r"\\?\$", " "),
        (r"[{}]", ""),
    )
]


def plain(text: str) -> str:
    """`text` as numbers are read from it. Meant for at most some thousand characters."""
    text = unwrap(_THIN.sub("", text.translate(_CHARACTERS)))
    text = _UNIT_MACRO.sub("", text)
    text = _FRACTION.sub(lambda m: f" {m[1] or m[2]}/{m[3] or m[4]}", text)
    text = _POWER.sub(r"^\1", text)
    text = _RAISED.sub(lambda m: "^" + m[0].translate(_SUPERSCRIPTS), text)
    for pattern, new in _REPLACED:
        text = pattern.sub(new, text)
    return text.strip(" *")


def unwrap(text: str) -> str:
    """`text` without LaTeX macros that change only how their argument looks (four levels of them)."""
    for _ in range(4):
        without = _WRAP.sub(r"\1", text)
        if without == text:
            break
        text = without
    return text
