"""The forms of Dafny's expressions that reach as far right as they can: binders, conditionals, cases, lets, statements."""

from __future__ import annotations

from verified_code import syntax as s
from verified_code.tokens import CHAR, IDENT, INT, PUNCT, REAL, STRING
from verified_code.type_parser import TypeParser

COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">=", "in", "!in", "!!"))


class FormParser(TypeParser):
    """`expression`, `_unary`, `_suffixes` and `frame` are the expression parser's; the two need each other."""

    _in_binders = False

    def expression(self, *, lemma: bool = True, lambda_: bool = True, bits: bool = True) -> s.Node:
        raise NotImplementedError

    def _unary(self, lemma: bool, lambda_: bool, bits: bool) -> s.Node:
        raise NotImplementedError

    def _suffixes(self, node: s.Node) -> s.Node:
        raise NotImplementedError

    def frame(self) -> s.Node:
        raise NotImplementedError

    def _quantifier(self, lemma: bool, lambda_: bool, bits: bool) -> s.Node:
        token = self.token
        self.i += 1
        binders, range_ = self.binders(bits)
        self.expect("::")
        return s.Quantifier(
            token.at, token.text, binders, range_, self.expression(lemma=lemma, lambda_=lambda_, bits=bits)
        )

    def _comprehension(self, lemma: bool, lambda_: bool, bits: bool) -> s.Node:
        token = self.token
        self.i += 1
        binders, range_ = self.binders(bits)
        key = value = None
        if self.take("::"):
            value = self.expression(lemma=lemma, lambda_=lambda_, bits=bits)
            if token.text in ("map", "imap") and self.take(":="):
                key, value = value, self.expression(lemma=lemma, lambda_=lambda_, bits=bits)
        return s.Comprehension(token.at, token.text, binders, range_, key, value)

    def binders(self, bits: bool = True) -> tuple[tuple[s.Binder, ...], s.Node | None]:
        """Bound variables and the range behind them. A range belongs to the last binder if another one follows."""
        found: list[s.Binder] = []
        range_ = None
        outer, self._in_binders = self._in_binders, True
        while True:
            at = self.token.at
            binder = s.Binder(at, self.identifier())
            if self.take(":"):
                binder.type = self.type()
            if self.neighbours("<", "-"):
                self.i += 2
                binder.domain = self.expression(lemma=False, bits=False)
            self.attributes()
            found.append(binder)
            range_ = None
            if self.take("|"):
                self._in_binders = False
                range_ = self.expression(bits=bits)
                self._in_binders = True
            self.attributes()
            if not self.take(","):
                break
            binder.where, range_ = range_, None
        self._in_binders = outer
        return tuple(found), range_

    def _conditional(self, lemma: bool, lambda_: bool, bits: bool) -> s.Node:
        arms: list[tuple[int, s.Node, s.Node]] = []
        while True:  # a chain of `else if` is read in a loop: it may be long
            at = self.token.at
            self.i += 1
            if self.is_("case"):
                self.fail("a condition is due")
            test: s.Node
            if self._begins_such_that():
                binders, test = self._such_that_guard(bits)
                self.expect("then")
                body = self.expression(bits=bits)
                arms.append(
                    (at, s.Quantifier(at, "exists", binders, None, test), s.Lambda(at, binders, (test,), (), body))
                )
            else:
                test = self.expression(bits=bits)
                self.expect("then")
                arms.append((at, test, self.expression(bits=bits)))
            self.expect("else")
            if not self.is_("if"):
                break
        node = self.expression(lemma=lemma, lambda_=lambda_, bits=bits)
        for at, test, then in reversed(arms):
            node = s.Conditional(at, test, then, node)
        return node

    def _begins_such_that(self) -> bool:
        i = self.i
        while self.tokens[i].kind == IDENT:
            i += 1
            if self.tokens[i].text == ":":
                return False if self.tokens[i + 1].kind != IDENT else ":|" in [t.text for t in self.tokens[i : i + 12]]
            if self.tokens[i].text == ":|":
                return True
            if self.tokens[i].text != ",":
                return False
            i += 1
        return False

    def _such_that_guard(self, bits: bool) -> tuple[tuple[s.Binder, ...], s.Node]:
        binders, _ = self.binders(bits)
        self.expect(":|")
        return binders, self.expression(bits=bits)

    def _match(self, lemma: bool, lambda_: bool, bits: bool) -> s.Node:
        at = self.token.at
        self.i += 1
        of = self.expression(bits=bits)
        braces = self.take("{")
        cases: list[s.Case] = []
        while self.is_("case"):
            place = self.token.at
            self.i += 1
            self.attributes()
            pattern = self.pattern()
            self.expect("=>")
            inner = self.expression(lemma=lemma or braces, lambda_=lambda_ or braces, bits=bits or braces)
            cases.append(s.Case(place, pattern, inner))
        if braces:
            self.expect("}")
            return self._suffixes(s.Match(at, of, tuple(cases)))
        if not cases:
            self.fail("`case` is due")
        return s.Match(at, of, tuple(cases))

    def pattern(self) -> s.Pattern:
        first = self._one_pattern()
        if not self.is_("|"):
            return first
        found = [first]
        while self.take("|"):
            found.append(self._one_pattern())
        return s.Pattern(first.at, "", None, None, None, tuple(found))

    def _one_pattern(self) -> s.Pattern:
        token = self.token
        if self.take("("):
            return s.Pattern(token.at, "()", tuple(self.listed(self.pattern, ")")))
        if token.kind in (INT, REAL, CHAR, STRING) or self.is_("true", "false", "null", "-"):
            return s.Pattern(token.at, "", None, self._unary(False, False, False))
        self.take("ghost")
        name = self.identifier()
        while self.take("."):
            name += "." + self.identifier()
        if self.take("("):
            return s.Pattern(token.at, name, tuple(self.listed(self.pattern, ")")))
        return s.Pattern(token.at, name, None, None, self.type() if self.take(":") else None)

    def _let(self, lemma: bool, lambda_: bool, bits: bool) -> s.Node:
        at = self.token.at
        self.take("ghost")
        self.expect("var")
        patterns = [self._let_pattern()]
        while self.take(","):
            patterns.append(self._let_pattern())
        self.attributes()
        if not self.is_(":=", ":|", ":-"):
            self.fail("`:=`, `:|` or `:-` is due")
        op = self.token.text
        self.i += 1
        self.attributes()
        values = [self.expression(lemma=False, bits=bits)]
        while self.take(","):
            values.append(self.expression(lemma=False, bits=bits))
        self.expect(";")
        return s.Let(at, op, tuple(patterns), tuple(values), self.expression(lemma=lemma, lambda_=lambda_, bits=bits))

    def _let_pattern(self) -> s.Pattern:
        self.take("ghost")
        self.attributes()
        return self._one_pattern()

    def _failure_binding(self, lemma: bool, lambda_: bool, bits: bool) -> s.Node:
        """`:- e; body`: like a let without a name."""
        at = self.token.at
        self.i += 1
        value = self.expression(lemma=False, bits=bits)
        self.expect(";")
        return s.Let(at, ":-", (), (value,), self.expression(lemma=lemma, lambda_=lambda_, bits=bits))

    def _statement(self, lemma: bool, lambda_: bool, bits: bool) -> s.Node:
        token = self.token
        self.i += 1
        parts: list[s.Node] = []
        if token.text == "calc":
            self.attributes()
            parts = self._calc()
            self.take(";")
        elif token.text == "reveal":
            parts = [self.expression(lemma=False, lambda_=False, bits=bits)]
            while self.take(","):
                parts.append(self.expression(lemma=False, lambda_=False, bits=bits))
            self.expect(";")
        else:
            self.attributes()
            if self.tokens[self.i].kind == IDENT and self.ahead() == ":":
                self.i += 2
            parts = [self.expression(lemma=False, bits=bits)]
            if token.text == "expect" and self.take(","):
                parts.append(self.expression(lemma=False, bits=bits))
            if self.is_("by") and self.ahead() == "{":
                self.i = self.closing(self.i + 1)
                self.take(";")
            else:
                self.expect(";")
        body = self.expression(lemma=lemma, lambda_=lambda_, bits=bits)
        return s.StatementExpression(token.at, token.text, tuple(parts), body)

    def _calc(self) -> list[s.Node]:
        if not self.is_("{"):
            self.i += 1  # the operator of the whole calculation
        self.expect("{")
        parts: list[s.Node] = []
        while not self.take("}"):
            if self.is_("{"):
                self.i = self.closing(self.i)
            elif self.token.text in COMPARISONS | {"==>", "<==", "<==>"} and self.token.text != "!":
                self.i += 1
                if self.is_("#"):
                    self.i = self.closing(self.i + 1)
            else:
                parts.append(self.expression(lemma=False))
                self.expect(";")
        return parts

    def _begins_lambda(self) -> bool:
        tokens, i = self.tokens, self.i
        if tokens[i].kind == IDENT:
            i += 1
        elif tokens[i].text == "(":
            i += 1
            if tokens[i].kind != IDENT and tokens[i].text != ")":
                return False
            if tokens[i].text != ")" and tokens[i + 1].text not in (",", ")", ":"):
                return False
            i = self.closing(self.i)
        else:
            return False
        after = tokens[i]
        return after.kind == PUNCT and after.text in ("=>", "requires", "reads")

    def _lambda(self, bits: bool) -> s.Node:
        at = self.token.at
        binders: list[s.Binder]
        binders = self.listed(self._parameter, ")") if self.take("(") else [s.Binder(at, self.identifier())]
        requires: list[s.Node] = []
        reads: list[s.Node] = []
        while not self.take("=>"):
            if self.take("requires"):
                requires.append(self.expression(lemma=False, lambda_=False))
            elif self.take("reads"):
                reads.append(self.frame())
                while self.take(","):
                    reads.append(self.frame())
            else:
                self.fail("`=>` is due")
        return s.Lambda(at, tuple(binders), tuple(requires), tuple(reads), self.expression(lemma=False, bits=bits))

    def _parameter(self) -> s.Binder:
        at = self.token.at
        name = self.identifier()
        return s.Binder(at, name, self.type() if self.take(":") else None)
