"""Tokens of Dafny (2.x and 4.x), as its grammar file defines them.

Identifiers may hold `'` and `?`; block comments nest; a character literal comes before an identifier that begins with
`'`; `>>`, `<<` and `<-` are left as single characters, because generics use them too, and the parser joins neighbours.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from verified_code.errors import DafnySyntaxError, Place

MAX_CHARS = 1 << 20
MAX_DEPTH = 120  # open brackets; deeper texts are no code that people or models write

KEYWORDS = frozenset(
    [
        "abstract",
        "allocated",
        "as",
        "assert",
        "assume",
        "bool",
        "break",
        "by",
        "calc",
        "case",
        "char",
        "class",
        "codatatype",
        "colemma",
        "const",
        "constructor",
        "continue",
        "copredicate",
        "datatype",
        "decreases",
        "else",
        "ensures",
        "exists",
        "expect",
        "export",
        "extends",
        "false",
        "for",
        "forall",
        "free",
        "fresh",
        "function",
        "ghost",
        "if",
        "imap",
        "import",
        "in",
        "include",
        "int",
        "invariant",
        "iset",
        "iterator",
        "label",
        "lemma",
        "map",
        "match",
        "method",
        "modifies",
        "modify",
        "module",
        "multiset",
        "nat",
        "new",
        "newtype",
        "null",
        "object",
        "old",
        "opened",
        "ORDINAL",
        "predicate",
        "provides",
        "reads",
        "real",
        "refines",
        "requires",
        "return",
        "returns",
        "reveal",
        "reveals",
        "seq",
        "set",
        "static",
        "string",
        "then",
        "this",
        "trait",
        "true",
        "twostate",
        "type",
        "unchanged",
        "var",
        "where",
        "while",
        "yield",
        "yields",
    ]
)

_TOKEN = re.compile(
    r"""
    (?>(?:\s+|//[^\n]*)*)(?:
    (?P<end>\Z)
  | (?P<comment>/\*)
  | (?P<char>'(?:[^'\\\r\n]|\\['"\\0nrt]|\\u[0-9A-Fa-f]{4}|\\U\{[0-9A-Fa-f_]{1,8}\})')
  | (?P<ident>[A-Za-z_?'][A-Za-z0-9_?']*)
  | (?P<real>[0-9]+(?:_[0-9]+)*\.[0-9]+(?:_[0-9]+)*)
  | (?P<int>0x[0-9A-Fa-f]+(?:_[0-9A-Fa-f]+)*|[0-9]+(?:_[0-9]+)*)
  | (?P<string>"(?:[^"\\\r\n]|\\.)*"|@"(?:[^"]|"")*")
  | (?P<op><==>|==>|<==|-->|\.\.\.|!in(?![A-Za-z0-9_?'])|\{:|::|:=|:\||:-|\.\.|&&|\|\||==|!=|<=|>=|->|~>|=>|!!|
        [-+*/%<>=!|&^~.,:;()\[\]{}@\#`]|[∀∃∧∨⇒⇐⇔≤≥≠¬•]))
    """,
    re.VERBOSE,
)
_SPACE = re.compile(r"(?>(?:\s+|//[^\n]*)*)")
_COMMENT = re.compile(r"/\*|\*/")
_UNICODE = {"∀": "forall", "∃": "exists", "∧": "&&", "∨": "||", "⇒": "==>", "⇐": "<==", "⇔": "<==>", "≤": "<=",
            "≥": ">=", "≠": "!=", "¬": "!", "•": "::"}  # fmt: skip
_OPEN = frozenset(("(", "[", "{", "{:"))
_CLOSE = frozenset((")", "]", "}"))

IDENT, INT, REAL, CHAR, STRING, PUNCT, END = "ident", "int", "real", "char", "string", "punct", "end"


class Token(NamedTuple):
    """`kind`: one of the constants above; a keyword or operator is `punct` and `text` tells which. `at`: offset."""

    kind: str
    text: str
    at: int


def tokenize(text: str) -> list[Token]:
    """The tokens of `text`, an `end` token last.

    Raises:
        DafnySyntaxError: at a character that begins no token, an unclosed comment, or past a bound
            (1 MiB of text, 120 open brackets).
    """
    if len(text) > MAX_CHARS:
        raise DafnySyntaxError(f"the text is longer than {MAX_CHARS} characters", MAX_CHARS)
    tokens: list[Token] = []
    append, match, keywords, new = tokens.append, _TOKEN.match, KEYWORDS, tuple.__new__
    at = 1 if text.startswith("\ufeff") else 0
    depth = 0
    while True:
        found = match(text, at)
        if found is None:
            at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
            raise DafnySyntaxError(_stray(text, at), at)
        kind = found.lastgroup
        start, stop = found.span(kind)  # type: ignore[arg-type]
        word = text[start:stop]
        if kind == "ident":
            append(new(Token, (PUNCT if word in keywords else IDENT, word, start)))
        elif kind == "op":
            if word in _OPEN:
                depth += 1
                if depth > MAX_DEPTH:
                    raise DafnySyntaxError(f"more than {MAX_DEPTH} brackets are open", start)
            elif word in _CLOSE:
                depth -= 1
            append(new(Token, (PUNCT, _UNICODE.get(word, word), start)))
        elif kind == "comment":
            stop = _comment_end(text, start)
        else:
            append(new(Token, (kind, word, start)))
            if kind == END:
                return tokens
        at = stop


def _comment_end(text: str, at: int) -> int:
    depth = 0
    for found in _COMMENT.finditer(text, at):
        depth += 1 if found[0] == "/*" else -1
        if depth == 0:
            return found.end()
    raise DafnySyntaxError("a block comment is opened and not closed", at)


def _stray(text: str, at: int) -> str:
    if text[at] == '"' or text.startswith('@"', at):
        return "a string literal is opened and not closed on its line"
    return f"the character U+{ord(text[at]):04X} begins no token of Dafny"


class Lines:
    """Offsets to places, of one text."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def place(self, at: int) -> Place:
        line = bisect_right(self._starts, at)
        return Place(self.file, line, at - self._starts[line - 1] + 1)
