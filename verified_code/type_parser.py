"""Reading tokens one after another: brackets, lists, attributes, names and types."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from verified_code import syntax as s
from verified_code.errors import DafnySyntaxError
from verified_code.tokens import END, IDENT, INT, PUNCT, Token

T = TypeVar("T")

COLLECTIONS = frozenset(("set", "iset", "seq", "multiset", "map", "imap"))
BUILT_IN_TYPES = COLLECTIONS | {"int", "nat", "bool", "real", "char", "string", "object", "ORDINAL"}
# What may follow `f<T>` in an expression; anything else is a comparison (Dafny decides the same way).
_AFTER_TYPE_ARGUMENTS = frozenset(
    ("(", ")", "[", "]", "{", "}", ".", ",", ";", "==", "!=", "&&", "||", "==>", "<==>", "<==", "::", ":=", "|", "")
)
# Identifiers that a binder may carry: every identifier, and words that only newer versions reserve.
SOFT_KEYWORDS = frozenset(("by", "expect", "trait", "export"))


class TypeParser:
    """Reads `tokens`, beginning at `i`."""

    def __init__(self, tokens: list[Token], i: int = 0) -> None:
        self.tokens = tokens
        self.i = i
        self._nesting = 0

    # -- tokens ----------------------------------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        return self.tokens[self.i]

    def ahead(self, n: int = 1) -> str:
        return self.tokens[min(self.i + n, len(self.tokens) - 1)].text

    def is_(self, *texts: str) -> bool:
        token = self.tokens[self.i]
        return token.text in texts and token.kind in (PUNCT, IDENT)

    def take(self, text: str) -> bool:
        token = self.tokens[self.i]
        if token.text == text and token.kind == PUNCT:
            self.i += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        token = self.tokens[self.i]
        if token.text != text or token.kind not in (PUNCT, IDENT):
            self.fail(f"`{text}` is due")
        self.i += 1
        return token

    def fail(self, why: str) -> NoReturn:
        token = self.tokens[self.i]
        seen = "the end of the text" if token.kind == END else f"`{token.text[:40]}`"
        raise DafnySyntaxError(f"{why}, {seen} stands here", token.at)

    def identifier(self, *, digits: bool = False) -> str:
        token = self.tokens[self.i]
        if token.kind == IDENT or (digits and token.kind == INT) or token.text in SOFT_KEYWORDS:
            self.i += 1
            return token.text
        self.fail("a name is due")
        return None

    def neighbours(self, first: str, second: str) -> bool:
        """Whether two single-character tokens stand here without a space between them."""
        a = self.tokens[self.i]
        return a.text == first and self.ahead() == second and self.tokens[self.i + 1].at == a.at + 1

    def attributes(self) -> list[tuple[str, list[Token]]]:
        """`{:name arguments}` and `@Name(arguments)`: names and the tokens of the arguments."""
        found = []
        while True:
            if self.is_("{:"):
                start = self.i
                self.i = self.closing(self.i)
                inner = self.tokens[start + 1 : self.i - 1]
                found.append((inner[0].text if inner else "", inner[1:]))
            elif self.is_("@") and self.tokens[self.i + 1].kind == IDENT:
                name = self.ahead()
                self.i += 2
                start = self.i
                if self.is_("("):
                    self.i = self.closing(self.i)
                found.append((name, self.tokens[start : self.i]))
            else:
                return found

    def closing(self, i: int) -> int:
        """The index behind the bracket that closes the one at `i`."""
        depth = 0
        start = self.tokens[i]
        while True:
            token = self.tokens[i]
            if token.kind == END:
                raise DafnySyntaxError(f"`{start.text}` is never closed", start.at)
            if token.kind == PUNCT:
                if token.text in ("(", "[", "{", "{:"):
                    depth += 1
                elif token.text in (")", "]", "}"):
                    depth -= 1
            i += 1
            if depth == 0:
                return i

    def listed(self, item: Callable[[], T], closing: str) -> list[T]:
        """Items up to `closing`, which is taken; a trailing comma is allowed."""
        items: list[T] = []
        while not self.take(closing):
            if items:
                self.expect(",")
                if self.take(closing):
                    break
            items.append(item())
        return items

    # -- types -----------------------------------------------------------------------------------------------------

    def type(self) -> s.TypeRef:
        """A type; function types associate to the right."""
        at = self.token.at
        left = self._simple_type()
        for arrow in ("->", "~>", "-->"):
            if self.take(arrow):
                arguments = left.args if left.name == "()" else (left,)
                return s.TypeRef(at, arrow, (*arguments, self.type()))
        return left

    def _simple_type(self) -> s.TypeRef:
        token = self.token
        if self.take("("):
            self.take("ghost")
            parts = self.listed(lambda: (self.take("ghost"), self.type())[1], ")")
            return parts[0] if len(parts) == 1 else s.TypeRef(token.at, "()", tuple(parts))
        if token.kind != IDENT and token.text not in BUILT_IN_TYPES:
            self.fail("a type is due")
        self.i += 1
        name = token.text
        arguments = self.type_arguments()
        while self.is_(".") and self.tokens[self.i + 1].kind == IDENT:
            self.i += 1
            name += "." + self.identifier()
            arguments = self.type_arguments() or arguments
        return s.TypeRef(token.at, name, arguments)

    def type_arguments(self) -> tuple[s.TypeRef, ...]:
        if not self.take("<"):
            return ()
        found = [self.type()]
        while self.take(","):
            found.append(self.type())
        self.expect(">")
        return tuple(found)

    def _instantiation(self) -> tuple[s.TypeRef, ...]:
        """Type arguments behind a name in an expression, if that is what `<` begins here."""
        start = self.i
        try:
            found = self.type_arguments()
        except DafnySyntaxError:
            found = ()
        if found and (
            self.token.kind == END or (self.token.kind == PUNCT and self.token.text in _AFTER_TYPE_ARGUMENTS)
        ):
            return found
        self.i = start
        return ()
