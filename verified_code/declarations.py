"""The parser of Dafny's declarations: modules, types and members, with their specification clauses as trees.

Bodies of functions are kept as tokens and parsed when asked for; bodies of methods are statements, which nothing here
interprets, and are kept as tokens. Raises `DafnySyntaxError` with the place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from verified_code import syntax as s
from verified_code.errors import DafnySyntaxError
from verified_code.expressions import ExpressionParser
from verified_code.tokens import END, IDENT, PUNCT, STRING, Lines, Token, tokenize

Attributes: TypeAlias = list[tuple[str, list[Token]]]

_MODIFIERS = frozenset(
    ("abstract", "ghost", "static", "opaque", "replaceable", "protected", "private", "least", "greatest", "inductive",
     "twostate", "extern", "nonstatic")
)  # fmt: skip
_FUNCTIONS = frozenset(("function", "predicate", "copredicate"))
_METHODS = frozenset(("method", "lemma", "colemma", "comethod", "constructor", "iterator"))
_TYPES = frozenset(("class", "trait", "datatype", "codatatype", "newtype", "type"))
_BEGINNINGS = _FUNCTIONS | _METHODS | _TYPES | {"module", "import", "export", "const", "var", "include"}


@dataclass(slots=True)
class Parameter:
    name: str
    type: s.TypeRef | None
    at: int
    default: s.Node | None = None
    ghost: bool = False


@dataclass(slots=True)
class Clause:
    """`kind`: requires, ensures, yield requires, yield ensures, decreases, reads, modifies, invariant.
    `free`: old Dafny's clause that nobody proves."""

    kind: str
    expression: s.Node
    at: int
    free: bool = False
    attributes: Attributes = field(default_factory=list)


@dataclass(slots=True)
class Declaration:
    """A function or method (`kind` as written, modifiers apart), a type, a constant, a field, an import or a module."""

    kind: str
    name: str
    at: int
    modifiers: frozenset[str] = frozenset()
    attributes: Attributes = field(default_factory=list)
    type_parameters: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    results: tuple[Parameter, ...] = ()
    clauses: list[Clause] = field(default_factory=list)
    body: Sequence[Token] | None = None  # between the braces
    by_method: bool = False
    members: list[Declaration] = field(default_factory=list)
    constructors: list[Declaration] = field(default_factory=list)
    extends: tuple[s.TypeRef, ...] = ()
    type: s.TypeRef | None = None  # of a constant, field, type synonym, newtype or subset type
    binder: s.Binder | None = None  # of a subset type or newtype
    constraint: s.Node | None = None
    value: s.Node | None = None
    target: tuple[str, ...] = ()  # of an import: the path; of a module: what it refines
    opened: bool = False
    decreases_star: bool = False
    end: int = 0

    @property
    def is_function(self) -> bool:
        return self.kind in _FUNCTIONS

    @property
    def is_method(self) -> bool:
        return self.kind in ("method", "constructor")

    @property
    def ensures(self) -> list[Clause]:
        return [c for c in self.clauses if c.kind == "ensures"]

    @property
    def requires(self) -> list[Clause]:
        return [c for c in self.clauses if c.kind == "requires"]

    def body_expression(self) -> s.Node | None:
        """The body of a function; None where it has none.

        Raises:
            DafnySyntaxError: the body is no expression that this front end reads.
        """
        if self.body is None or not self.is_function:
            return None
        end = self.body[-1].at + len(self.body[-1].text) if self.body else self.end
        parser = ExpressionParser([*self.body, Token(END, "", end)])
        try:
            node = parser.expression()
        except RecursionError:
            raise DafnySyntaxError("the body is nested too deep", parser.token.at) from None
        if parser.token.kind != END:
            parser.fail("the end of the body is due")
        return node

    def walk(self) -> Iterator[Declaration]:
        """This declaration and all that are declared in it."""
        yield self
        for member in self.members:
            yield from member.walk()


@dataclass(slots=True)
class File:
    """One parsed text: `includes` as written, with their offsets."""

    name: str
    text: str
    includes: list[tuple[str, int]]
    declarations: list[Declaration]
    lines: Lines

    def walk(self) -> Iterator[Declaration]:
        for declaration in self.declarations:
            yield from declaration.walk()


def parse(text: str, name: str = "<text>") -> File:
    """Parse a whole file.

    Raises:
        DafnySyntaxError: what is due and what stands there.
    """
    parser = DeclarationParser(tokenize(text))
    try:
        includes, declarations = parser.file()
    except RecursionError:
        raise DafnySyntaxError("the text is nested too deep", parser.token.at) from None
    return File(name, text, includes, declarations, Lines(name, text))


class DeclarationParser(ExpressionParser):
    def file(self) -> tuple[list[tuple[str, int]], list[Declaration]]:
        includes: list[tuple[str, int]] = []
        declarations: list[Declaration] = []
        while self.token.kind != END:
            if self.take("include"):
                token = self.token
                if token.kind != STRING:
                    self.fail("the name of a file in quotes is due")
                self.i += 1
                includes.append((_unquote(token.text), token.at))
                self.take(";")
            else:
                declarations += self.declaration()
        return includes, declarations

    def declaration(self) -> list[Declaration]:
        """One declaration; a `var` line may declare several fields."""
        attributes = self.attributes()
        modifiers: set[str] = set()
        while self.token.text in _MODIFIERS and self.token.kind in (PUNCT, IDENT):
            if self.token.kind == IDENT and self.ahead() not in _BEGINNINGS | _MODIFIERS | {"{:"}:
                break
            modifiers.add(self.token.text)
            self.i += 1
            if "extern" in modifiers and self.token.kind == STRING:
                self.i += 1
        attributes += self.attributes()
        token = self.token
        keyword = token.text
        if token.kind != PUNCT or keyword not in _BEGINNINGS:
            self.fail("a declaration is due")
        self.i += 1
        if keyword in _FUNCTIONS:
            found = self._function(token)
        elif keyword in _METHODS:
            found = self._method(token)
        elif keyword == "module":
            found = self._module(token)
        elif keyword == "import":
            found = self._import(token)
        elif keyword == "export":
            found = self._export(token)
        elif keyword in ("class", "trait"):
            found = self._class(token)
        elif keyword in ("datatype", "codatatype"):
            found = self._datatype(token)
        elif keyword in ("newtype", "type"):
            found = self._type(token)
        elif keyword == "const":
            found = self._constant(token)
        elif keyword == "var":
            fields = [self._field(token)]
            while self.take(","):
                fields.append(self._field(token))
            self.take(";")
            for one in fields:
                one.modifiers, one.attributes = frozenset(modifiers), attributes
            return fields
        else:
            self.fail("a declaration is due")
        found.modifiers = found.modifiers | modifiers
        found.attributes = attributes + found.attributes
        found.end = self.tokens[self.i - 1].at + len(self.tokens[self.i - 1].text)
        return [found]

    def _members(self) -> list[Declaration]:
        members: list[Declaration] = []
        self.expect("{")
        while not self.take("}"):
            members += self.declaration()
        return members

    # -- modules ---------------------------------------------------------------------------------------------------

    def _module(self, token: Token) -> Declaration:
        attributes = self.attributes()
        path = self._path()
        target: tuple[str, ...] = ()
        if self.take("refines"):
            target = self._path()
        elif self.is_("replaces"):
            self.i += 1
            target = self._path()
        found = Declaration("module", path[-1], token.at, attributes=attributes, target=target, members=self._members())
        for name in reversed(path[:-1]):  # module A.B { } is B in A
            found = Declaration("module", name, token.at, members=[found])
        return found

    def _path(self) -> tuple[str, ...]:
        path = [self.identifier()]
        while self.take("."):
            path.append(self.identifier())
        return tuple(path)

    def _import(self, token: Token) -> Declaration:
        opened = self.take("opened")
        path = self._path()
        name = path[-1]
        if self.take("=") or self.take(":"):
            name, path = path[0], self._path()
        if self.is_("as"):  # import A as B, of old versions
            self.i += 1
            path = (*path[:-1], path[-1])
            self._path()
        if self.take("`"):
            if self.take("{"):
                self.listed(self.identifier, "}")
            else:
                self.identifier()
        self.take(";")
        return Declaration("import", name, token.at, target=path, opened=opened)

    def _export(self, token: Token) -> Declaration:
        name = ""
        if self.token.kind == IDENT:
            name = self.identifier()
        while self.is_("provides", "reveals", "extends"):
            self.i += 1
            if self.take("*"):
                self.take(",")
                continue
            self._path()
            while self.take(","):
                self._path()
        self.take(";")
        return Declaration("export", name, token.at)

    # -- types -----------------------------------------------------------------------------------------------------

    def _type_parameters(self) -> tuple[str, ...]:
        if not self.take("<"):
            return ()
        names: list[str] = []
        while True:
            while self.is_("+", "-", "*", "!"):
                self.i += 1
            names.append(self.identifier())
            if self.is_("("):
                self.i = self.closing(self.i)  # characteristics: (==), (0), (!new)
            while self.is_("extends"):
                self.i += 1
                self.type()
            if not self.take(","):
                break
        self.expect(">")
        return tuple(names)

    def _extends(self) -> tuple[s.TypeRef, ...]:
        found: list[s.TypeRef] = []
        if self.take("extends"):
            found.append(self.type())
            while self.take(","):
                found.append(self.type())
        return tuple(found)

    def _class(self, token: Token) -> Declaration:
        attributes = self.attributes()
        name = self.identifier()
        parameters = self._type_parameters()
        extends = self._extends()
        self.take("...")  # in a module that refines another: more of its class
        return Declaration(
            token.text, name, token.at, attributes=attributes, type_parameters=parameters, extends=extends,
            members=self._members(),
        )  # fmt: skip

    def _datatype(self, token: Token) -> Declaration:
        attributes = self.attributes()
        found = Declaration(token.text, self.identifier(), token.at, attributes=attributes)
        found.type_parameters = self._type_parameters()
        found.extends = self._extends()
        if self.take("..."):
            found.members = self._members()
            return found
        self.expect("=")
        self.take("|")
        while True:
            extra = self.attributes()
            self.take("ghost")
            extra += self.attributes()
            place = self.token
            constructor = Declaration("constructor", self.identifier(), place.at, attributes=extra)
            if self.take("("):
                constructor.parameters = tuple(self.listed(self._formal, ")"))
            found.constructors.append(constructor)
            if not self.take("|"):
                break
        self.take(";")
        if self.is_("{"):
            found.members = self._members()
        return found

    def _type(self, token: Token) -> Declaration:
        attributes = self.attributes()
        found = Declaration(token.text, self.identifier(), token.at, attributes=attributes)
        while self.is_("("):
            self.i = self.closing(self.i)
        found.type_parameters = self._type_parameters()
        while self.is_("("):
            self.i = self.closing(self.i)
        found.extends = self._extends()
        self.take("...")
        if self.take("="):
            after = self.ahead()
            if self.token.kind == IDENT and after in (":", "|"):
                place = self.token.at
                found.binder = s.Binder(place, self.identifier())
                if self.take(":"):
                    found.binder.type = found.type = self.type()
                self.expect("|")
                found.constraint = self.expression(lemma=False)
            else:
                found.type = self.type()
            self.take("ghost")
            if self.is_("witness"):
                self.i += 1
                if not self.take("*"):
                    found.value = self.expression(lemma=False)
        if self.is_("{"):
            found.members = self._members()
        self.take(";")
        return found

    def _constant(self, token: Token) -> Declaration:
        attributes = self.attributes()
        found = Declaration("const", self.identifier(digits=True), token.at, attributes=attributes)
        if self.take(":"):
            found.type = self.type()
        if self.is_("..."):
            self.i += 1
        if self.take(":="):
            found.value = self.expression(lemma=False)
        self.take(";")
        return found

    def _field(self, token: Token) -> Declaration:
        self.attributes()
        found = Declaration("field", self.identifier(digits=True), token.at)
        if self.take(":"):
            found.type = self.type()
        return found

    # -- functions and methods -------------------------------------------------------------------------------------

    def _formal(self) -> Parameter:
        ghost = False
        self.attributes()
        while self.is_("ghost", "new", "older", "nameonly", "nullable") and self.tokens[self.i + 1].kind == IDENT:
            ghost = ghost or self.token.text == "ghost"
            self.i += 1
        at = self.token.at
        named = self.tokens[self.i].kind in (IDENT, "int") or self.token.text in ("by", "expect")
        if named and self.ahead() == ":":
            name = self.identifier(digits=True)
            self.i += 1
            type_ = self.type()
        else:  # a datatype's field without a name
            name, type_ = "", self.type()
        default = self.expression() if self.take(":=") else None
        return Parameter(name, type_, at, default, ghost)

    def _formals(self) -> tuple[Parameter, ...]:
        self.expect("(")
        return tuple(self.listed(self._formal, ")"))

    def _function(self, token: Token) -> Declaration:
        modifiers: set[str] = set()
        if self.take("method"):
            modifiers.add("method")
        attributes = self.attributes()
        found = Declaration(token.text, self.identifier(digits=True), token.at, attributes=attributes)
        found.modifiers = frozenset(modifiers)
        found.type_parameters = self._type_parameters()
        if self.take("["):  # the kind of prefix of an extreme predicate
            self.type()
            self.expect("]")
        if self.is_("("):
            found.parameters = self._formals()
        elif self.is_("..."):
            self.i += 1
        if self.take(":"):
            if self.is_("(") and self._names_result():
                found.results = self._formals()
                found.type = found.results[0].type if found.results else None
            else:
                found.type = self.type()
        self._clauses(found)
        found.body = self._body()
        if self.is_("by") and self.ahead() == "method":
            self.i += 2
            if self.is_("{"):
                self.i = self.closing(self.i)
            found.by_method = True
        return found

    def _names_result(self) -> bool:
        return self.tokens[self.i + 1].kind == IDENT and self.ahead(2) == ":"

    def _method(self, token: Token) -> Declaration:
        attributes = self.attributes()
        name = (
            "_ctor"
            if token.text == "constructor" and self.tokens[self.i].kind != IDENT
            else self.identifier(digits=True)
        )
        found = Declaration(token.text, name, token.at, attributes=attributes)
        found.type_parameters = self._type_parameters()
        if self.take("["):
            self.type()
            self.expect("]")
        if self.is_("("):
            found.parameters = self._formals()
        elif self.is_("..."):
            self.i += 1
        if self.is_("returns", "yields"):
            self.i += 1
            found.results = self._formals()
        elif self.is_("..."):
            self.i += 1
        self._clauses(found)
        found.body = self._body()
        return found

    def _clauses(self, found: Declaration) -> None:
        while True:
            at = self.token.at
            free = self.take("free")
            yielded = "yield " if self.take("yield") else ""
            if not self.is_("requires", "ensures", "modifies", "reads", "decreases", "invariant"):
                if free or yielded:
                    self.fail("`requires` or `ensures` is due")
                return
            kind = yielded + self.token.text
            self.i += 1
            attributes = self.attributes()
            if kind == "decreases" and self.take("*"):
                found.decreases_star = True
            elif kind in ("modifies", "reads", "decreases"):
                while True:
                    node = self.frame()
                    found.clauses.append(Clause(kind, node, at, attributes=attributes))
                    if not self.take(","):
                        break
            else:
                if self.token.kind == IDENT and self.ahead() == ":":
                    self.i += 2  # a label
                node = self.expression(lemma=False, lambda_=False)
                found.clauses.append(Clause(kind, node, at, free, attributes))
            self.take(";")

    def _body(self) -> Sequence[Token] | None:
        if not self.is_("{"):
            return None
        start = self.i
        self.i = self.closing(self.i)
        return self.tokens[start + 1 : self.i - 1]


def _unquote(text: str) -> str:
    return (
        text[2:-1].replace('""', '"') if text.startswith("@") else text[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    )
