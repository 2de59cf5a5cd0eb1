"""The parser of Dafny's expressions, types and patterns: recursive descent over tokens.

`lemma` and `lambda_` are the grammar's own allowances: whether `f(x); e` and `x => e` may stand here. `bits` says
whether `|` may be the bitwise operator; inside `|s|` it may not. Raises `DafnySyntaxError` with the place.
"""

from __future__ import annotations

from verified_code import syntax as s
from verified_code.errors import DafnySyntaxError
from verified_code.forms import COMPARISONS, FormParser
from verified_code.tokens import CHAR, END, IDENT, INT, PUNCT, REAL, STRING
from verified_code.type_parser import BUILT_IN_TYPES, COLLECTIONS, SOFT_KEYWORDS

MAX_NESTING = 64  # an expression in an expression costs at most 12 frames of Python

_BINDING = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2, "&": 3, "^": 3, "|": 3, "as": 4, "is": 4}
_SUFFIXES = frozenset((".", "(", "[", "#"))


class ExpressionParser(FormParser):
    """Reads expressions from `tokens`, beginning at `i`."""

    # -- expressions -----------------------------------------------------------------------------------------------

    def expression(self, *, lemma: bool = True, lambda_: bool = True, bits: bool = True) -> s.Node:
        self._nesting += 1
        if self._nesting > MAX_NESTING:
            raise DafnySyntaxError(f"expressions are nested more than {MAX_NESTING} deep", self.token.at)
        left = self._equivalence(lemma, lambda_, bits)
        if lemma and self.is_(";") and isinstance(left, s.Call) and self._begins_expression(self.i + 1):
            self.i += 1
            left = s.StatementExpression(
                left.at, "call", (left,), self.expression(lemma=lemma, lambda_=lambda_, bits=bits)
            )
        self._nesting -= 1
        return left

    def _begins_expression(self, i: int) -> bool:
        token = self.tokens[i]
        return token.kind != END and token.text not in ("}", ")", "]", ";", ",")

    def _equivalence(self, lemma: bool, lambda_: bool, bits: bool) -> s.Node:
        left = self._implication(lemma, lambda_, bits)
        while self.is_("<==>"):
            at = self.token.at
            self.i += 1
            left = s.Binary(at, "<==>", left, self._implication(lemma, lambda_, bits))
        return left

    def _implication(self, lemma: bool, lambda_: bool, bits: bool) -> s.Node:
        operands = [self._logical(lemma, lambda_, bits)]
        places: list[int] = []
        if self.is_("==>"):
            while self.is_("==>"):
                places.append(self.token.at)
                self.i += 1
                operands.append(self._logical(lemma, lambda_, bits))
            right = operands.pop()
            while operands:
                right = s.Binary(places.pop(), "==>", operands.pop(), right)
            return right
        left = operands[0]
        while self.is_("<=="):
            at = self.token.at
            self.i += 1
            left = s.Binary(at, "<==", left, self._logical(lemma, lambda_, bits))
        return left

    def _logical(self, lemma: bool, lambda_: bool, bits: bool) -> s.Node:
        leading = self.token.text if self.is_("&&", "||") else ""
        if leading:  # a list of conjuncts may begin with its operator
            self.i += 1
        left = self._comparison(lemma, lambda_, bits)
        while self.is_("&&", "||"):
            token = self.token
            self.i += 1
            left = s.Binary(token.at, token.text, left, self._comparison(lemma, lambda_, bits))
        return left

    def _comparison(self, lemma: bool, lambda_: bool, bits: bool) -> s.Node:
        first = self._binary(0, lemma, lambda_, bits)
        ops: list[str] = []
        operands = [first]
        while True:
            token = self.token
            if token.kind != PUNCT:
                break
            op = token.text
            if op == "!" and self.ahead() == "in":  # `! in`, as old texts write it
                op = "!in"
                self.i += 1
            if op not in COMPARISONS or (op == "<" and self._is_domain_arrow()):
                break
            self.i += 1
            if op in ("==", "!=") and self.is_("#") and self.ahead() == "[":
                self.i += 2
                self.expression()
                self.expect("]")
            ops.append(op)
            operands.append(self._binary(0, lemma, lambda_, bits))
        if not ops:
            return first
        if len(ops) == 1:
            return s.Binary(first.at, ops[0], first, operands[1])
        return s.Chain(first.at, tuple(ops), tuple(operands))

    def _is_domain_arrow(self) -> bool:
        return self._in_binders and self.neighbours("<", "-")

    def _operator(self, bits: bool) -> tuple[str, int]:
        """The arithmetic operator that stands here and how tightly it binds: shifts 0, sums 1, products 2, bits 3, casts 4."""
        token = self.tokens[self.i]
        text = token.text
        level = _BINDING.get(text, -1) if token.kind in (PUNCT, IDENT) else -1
        if level == 3 and text == "|" and not bits:
            return "", -1
        if level >= 0:
            return text, level
        if text == "<" and self.neighbours("<", "<") and not self._in_binders:
            return "<<", 0
        if text == ">" and self.neighbours(">", ">"):
            return ">>", 0
        return "", -1

    def _binary(self, least: int, lemma: bool, lambda_: bool, bits: bool) -> s.Node:
        left = self._unary(lemma, lambda_, bits)
        while True:
            op, level = self._operator(bits)
            if level < least:
                return left
            at = self.token.at
            self.i += 2 if level == 0 else 1
            if level == 4:
                left = s.Cast(at, op, left, self.type())
            else:
                left = s.Binary(at, op, left, self._binary(level + 1, lemma, lambda_, bits))

    def _unary(self, lemma: bool, lambda_: bool, bits: bool) -> s.Node:
        token = self.token
        ops: list[tuple[str, int]] = []
        while token.kind == PUNCT and token.text in ("-", "!", "!!"):
            ops += [(op, token.at + i) for i, op in enumerate(token.text)]
            self.i += 1
            token = self.token
        node = self._primary(lemma, lambda_, bits)
        for op, at in reversed(ops):
            node = s.Unary(at, op, node)
        return node

    def _primary(self, lemma: bool, lambda_: bool, bits: bool) -> s.Node:
        token = self.token
        if token.kind == PUNCT:
            form = _FORMS.get(token.text)
            if form is not None:
                return form(self, lemma, lambda_, bits)
        if lambda_ and self._begins_lambda():
            return self._lambda(bits)
        return self._suffixes(self._atom(lemma, lambda_, bits))

    # -- atoms and their suffixes ----------------------------------------------------------------------------------

    def _atom(self, lemma: bool, lambda_: bool, bits: bool) -> s.Node:
        token = self.token
        kind, text, at = token
        if kind == IDENT:
            self.i += 1
            if text.startswith("array") and self.is_("<") and not self._instantiation_follows():
                return s.Name(at, text)
            return s.Name(at, text, self._instantiation() if self.is_("<") else ())
        if kind in (INT, REAL, CHAR, STRING):
            self.i += 1
            return s.Literal(at, kind, text)
        if text in ("true", "false"):
            self.i += 1
            return s.Literal(at, "bool", text)
        if text in ("null", "this"):
            self.i += 1
            return s.Literal(at, text, text)
        if text in ("old", "fresh", "allocated"):
            self.i += 1
            if self.take("@"):
                self.identifier()
            self.expect("(")
            inner = self.expression()
            self.expect(")")
            return s.Unary(at, text, inner)
        if text == "unchanged":
            self.i += 1
            if self.take("@"):
                self.identifier()
            self.expect("(")
            return s.Unchanged(at, tuple(self.listed(self.frame, ")")))
        if text == "|":
            self.i += 1
            inner = self.expression(bits=False)
            self.expect("|")
            return s.Unary(at, "|", inner)
        if text == "(":
            self.i += 1
            elements = self.listed(self._tuple_element, ")")
            return (
                elements[0]
                if len(elements) == 1 and self.tokens[self.i - 2].text != ","
                else s.Display(at, "tuple", tuple(elements))
            )
        if text == "[":
            self.i += 1
            return s.Display(at, "seq", tuple(self.listed(self.expression, "]")))
        if text == "{":
            self.i += 1
            return s.Display(at, "set", tuple(self.listed(self.expression, "}")))
        if text in COLLECTIONS:
            return self._collection(lemma, lambda_, bits)
        if text in BUILT_IN_TYPES and self.ahead() in (".", "("):  # int(x), nat(x), real(x): old conversions
            self.i += 1
            return s.Name(at, text)
        if text in SOFT_KEYWORDS:
            self.i += 1
            return s.Name(at, text)
        self.fail("an expression is due")
        return None

    def _instantiation_follows(self) -> bool:
        start = self.i
        found = bool(self._instantiation())
        self.i = start
        return found

    def _tuple_element(self) -> s.Node:
        self.take("ghost")
        if self.tokens[self.i].kind in (IDENT, INT) and self.ahead() == ":=":
            self.i += 2
        return self.expression()

    def frame(self) -> s.Node:
        """A frame expression: an expression, `` e`f `` or `` `f ``."""
        at = self.token.at
        if self.take("`"):
            return s.Frame(at, None, self.identifier())
        if self.is_("*"):
            self.i += 1
            return s.Literal(at, "star", "*")
        of = self.expression(lemma=False, lambda_=False)
        return s.Frame(at, of, self.identifier()) if self.take("`") else of

    def _collection(self, lemma: bool, lambda_: bool, bits: bool) -> s.Node:
        token = self.token
        kind, at = token.text, token.at
        after = self.ahead()
        if kind in ("map", "imap"):
            if after == "[":
                self.i += 2
                pairs = self.listed(self._maplet, "]")
                return s.MapDisplay(at, kind, tuple(k for k, _ in pairs), tuple(v for _, v in pairs))
            return self._comprehension(lemma, lambda_, bits)
        if kind == "multiset":
            self.i += 1
            if self.take("{"):
                return s.Display(at, kind, tuple(self.listed(self.expression, "}")))
            self.expect("(")
            inner = self.expression()
            self.expect(")")
            return s.Unary(at, "multiset", inner)
        if kind == "seq":
            self.i += 1
            arguments = self.type_arguments()
            self.expect("(")
            length = self.expression()
            self.expect(",")
            function = self.expression()
            self.expect(")")
            return s.SeqConstruction(at, arguments[0] if arguments else None, length, function)
        if after == "{":
            self.i += 2
            return s.Display(at, kind, tuple(self.listed(self.expression, "}")))
        return self._comprehension(lemma, lambda_, bits)

    def _maplet(self) -> tuple[s.Node, s.Node]:
        key = self.expression()
        self.expect(":=")
        return key, self.expression()

    def _suffixes(self, node: s.Node) -> s.Node:
        while True:
            token = self.tokens[self.i]
            if token.kind != PUNCT or token.text not in _SUFFIXES:
                return node
            text, at = token.text, token.at
            self.i += 1
            if text == ".":
                node = self._selection(node, at)
            elif text == "(":
                pairs = self.listed(self._argument, ")")
                node = s.Call(at, node, tuple(e for _, e in pairs), tuple(n for n, _ in pairs))
            elif text == "#":
                self.expect("[")
                index = self.expression()
                self.expect("]")
                node = s.Prefix(at, node, index)
            else:
                if self.is_("@"):
                    self.fail("an index is due")
                node = self._bracket(node, at)
            if self.is_("@") and self.tokens[self.i + 1].kind == IDENT and self.ahead(2) == "(":  # f@label(x)
                self.i += 2

    def _argument(self) -> tuple[str, s.Node]:
        if self.tokens[self.i].kind == IDENT and self.ahead() == ":=":
            name = self.identifier()
            self.i += 1
            return name, self.expression()
        return "", self.expression()

    def _selection(self, node: s.Node, at: int) -> s.Node:
        token = self.token
        if self.take("("):
            fields: list[str] = []
            values: list[s.Node] = []
            for field, value in self.listed(self._field_update, ")"):
                fields.append(field)
                values.append(value)
            return s.DatatypeUpdate(at, node, tuple(fields), tuple(values))
        if token.kind == REAL:  # t.0.1
            self.i += 1
            for part in token.text.split("."):
                node = s.Select(token.at, node, part)
            return node
        if token.kind == PUNCT and token.text in ("requires", "reads"):
            self.i += 1
            return s.Select(token.at, node, token.text)
        name = self.identifier(digits=True)
        return s.Select(token.at, node, name, self._instantiation() if self.is_("<") else ())

    def _field_update(self) -> tuple[str, s.Node]:
        name = self.identifier(digits=True)
        self.expect(":=")
        return name, self.expression()

    def _bracket(self, node: s.Node, at: int) -> s.Node:
        if self.take(".."):
            high = None if self.is_("]") else self.expression()
            self.expect("]")
            return s.Slice(at, node, None, high)
        first = self.expression()
        if self.take(".."):
            high = None if self.is_("]") else self.expression()
            self.expect("]")
            return s.Slice(at, node, first, high)
        if self.take(":="):
            updated: s.Node = s.Update(at, node, first, self.expression())
            while self.take(","):
                index = self.expression()
                self.expect(":=")
                updated = s.Update(at, updated, index, self.expression())
            self.expect("]")
            return updated
        if self.take(":"):
            lengths = [first]
            while not self.is_("]"):
                lengths.append(self.expression())
                if not self.take(":"):
                    break
            self.expect("]")
            return s.SliceByLengths(at, node, tuple(lengths))
        indices = [first]
        while self.take(","):
            indices.append(self.expression())
        self.expect("]")
        return s.Index(at, node, tuple(indices))


_FORMS = {
    "forall": ExpressionParser._quantifier,
    "exists": ExpressionParser._quantifier,
    "if": ExpressionParser._conditional,
    "match": ExpressionParser._match,
    "var": ExpressionParser._let,
    "ghost": ExpressionParser._let,
    ":-": ExpressionParser._failure_binding,
    "assert": ExpressionParser._statement,
    "assume": ExpressionParser._statement,
    "expect": ExpressionParser._statement,
    "calc": ExpressionParser._statement,
    "reveal": ExpressionParser._statement,
}
