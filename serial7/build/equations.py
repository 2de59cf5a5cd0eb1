"""Equations in worked solutions: GSM8K's `<<16-3=13>>`, and plain ones among words (`$9.00 + $4.00 = $13.00`).

An expression is a small tree; nothing is evaluated but by exact fractions. A plain equation counts only if it holds,
so that what is misread falls away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from serial7.build.records import read_value

MAX_TOKENS = 200
OPERATORS = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}

_ANNOTATION = re.compile(r"<<([^<>=]{0,200})=([^<>=]{1,60})>>")
_FRAC = re.compile(r"\\frac\s*\{([^{}]{1,120})\}\s*\{([^{}]{1,120})\}")
_FRACTION = re.compile(r"\s*\(\((-?[0-9,]{1,20})\)/\(([1-9][0-9,]{0,20})\)\)")
_LEADING = re.compile(
    r"\s*(?:about |approximately )?([-−]?)\s*[$€£]{0,2}(-?(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)?(?:\.[0-9]+)?)"
)
_TOKEN = re.compile(
    r"(?P<number>(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+)"
    r"|(?P<word>[^\W\d_]+(?:[-'’][^\W\d_]+)*)|(?P<sign>[-+*/^()%×÷·−–$€£=])|(?P<space>\s+)|(?P<other>.)"
)
_SIGNS = {"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-"}


@dataclass(frozen=True, slots=True)
class Number:
    value: Fraction


@dataclass(frozen=True, slots=True)
class Operation:
    """`op` is `add`, `subtract`, `multiply` or `divide` of two, or `negate` of one."""

    op: str
    args: tuple[Expression, ...]


Expression = Number | Operation


@dataclass(frozen=True, slots=True)
class Equation:
    """`expression` = `value`. `alternatives`: earlier forms of the same value in a chain `a = b = value`.

    `annotated`: GSM8K's own mark-up; `line`: where it stands, from 0. An expression that is a bare number asserts its
    value without a computation.
    """

    expression: Expression
    value: Fraction
    digits: int
    line: int
    annotated: bool = False
    alternatives: tuple[Expression, ...] = ()

    @property
    def asserts(self) -> bool:
        return isinstance(self.expression, Number)


def evaluate(expression: Expression) -> Fraction:
    """The exact value.

    Raises:
        ZeroDivisionError: it divides by zero.
    """
    if isinstance(expression, Number):
        return expression.value
    a, *rest = (evaluate(e) for e in expression.args)
    match expression.op:
        case "negate":
            return -a
        case "add":
            return a + rest[0]
        case "subtract":
            return a - rest[0]
        case "multiply":
            return a * rest[0]
        case _:
            return a / rest[0]


def operations_in(expression: Expression) -> list[str]:
    """The operations as a person counts them: a sum of many terms is one, a fraction's division one."""
    if isinstance(expression, Number):
        return []
    inner = [op for e in expression.args for op in operations_in(e)]
    first = expression.args[0]
    joins = expression.op in ("add", "multiply") and isinstance(first, Operation) and first.op == expression.op
    return inner if joins or expression.op == "negate" else [*inner, expression.op]


def values_in(expression: Expression) -> list[Fraction]:
    if isinstance(expression, Number):
        return [expression.value]
    return [v for e in expression.args for v in values_in(e)]


def parse_expression(text: str) -> Expression | None:
    """A whole expression (`2*(3+.5)`, `40%*20`, `4(100)`), or None."""
    tokens = _tokens(text, words=False)
    return None if tokens is None else _parse(tokens)


def annotated_equations(line: str, number: int) -> list[Equation]:
    """The annotations of one line; one that is no arithmetic is left out."""
    found = []
    for match in _ANNOTATION.finditer(line):
        expression, value = parse_expression(match[1]), read_value(match[2].strip())
        if expression is not None and value is not None:
            found.append(Equation(expression, value, _digits(match[2]), number, annotated=True))
    return found


def plain_equations(line: str, number: int) -> list[Equation]:
    """The equations that stand in a line of text and hold; a chain `a = b = 3` is one equation with alternatives."""
    found: list[Equation] = []
    for sentence in re.split(r"(?<=[^0-9])[.;:](?:\s|$)|(?<=[0-9])[.;](?:\s|$)|\n", _unfrac(line)):
        parts = sentence.split("=")
        chain: list[Expression] = []
        for part, following in pairwise(parts):
            tokens = _tokens(part, words=True)
            if tokens is None:  # algebra
                chain = []
                continue
            expression, whole = _suffix(tokens)
            chain = [*chain, expression] if chain and whole and expression else ([expression] if expression else [])
            value, text = _leading(following)
            if not chain or value is None:
                continue
            if _holds(chain[-1], value, _digits(text)):
                good = [e for e in chain if _holds(e, value, _digits(text)) and isinstance(e, Operation)]
                if good:
                    found.append(Equation(good[0], value, _digits(text), number, alternatives=tuple(good[1:])))
                    chain = []
    return found


def solution_equations(solution: str) -> list[Equation]:
    """All equations of a worked solution in order; a line that is annotated speaks by its annotations alone."""
    found: list[Equation] = []
    solution = re.sub(r"(?<=[$€£])([0-9]{1,3}) (?=[0-9]{3}(?![0-9]))", r"\1", solution.replace("→", "="))
    lines = re.sub(r"\n[ \t]*=", " =", solution).splitlines()
    for number, line in enumerate(lines[:400]):
        found += annotated_equations(line, number) if "<<" in line else plain_equations(line[:2000], number)
    return found


def rounds_to(exact: Fraction, stated: Fraction, digits: int) -> bool:
    """Whether `exact`, rounded to `digits` decimals (halves away from zero), is `stated`."""
    unit = Fraction(10) ** digits
    magnitude = Fraction(int(abs(exact) * unit + Fraction(1, 2))) / unit
    return (magnitude if exact >= 0 else -magnitude) == stated


def _holds(expression: Expression, value: Fraction, digits: int) -> bool:
    try:
        exact = evaluate(expression)
    except ZeroDivisionError:
        return False
    return exact == value or (digits > 0 and rounds_to(exact, value, digits))


def _digits(text: str) -> int:
    match = re.search(r"\.([0-9]+)", text)
    return len(match[1]) if match else 0


def _unfrac(text: str) -> str:
    for _ in range(4):
        text, count = _FRAC.subn(r" +((\1)/(\2))", text) if re.search(r"[0-9]\\frac", text) else (text, 0)
        text, more = _FRAC.subn(r"((\1)/(\2))", text)
        if not count + more:
            break
    # A mixed number is a sum: 4\frac{1}{2} became `4 +((1)/(2))`, and binds as one.
    text = re.sub(r"([0-9]+) \+\(\((\w+)\)/\((\w+)\)\)", r"(\1+\2/\3)", text)
    return text.replace(" +((", " ((")


def _tokens(text: str, *, words: bool) -> list[str] | None:
    """Numbers and operators. `words`: words and units fall away, two numbers that then stand side by side are kept
    apart by `|`; None for what is no arithmetic (a letter as a variable, without `words` any word)."""
    out: list[str] = []
    apart = False
    before_space = True
    matches = list(_TOKEN.finditer(text))
    if len(matches) > 4 * MAX_TOKENS:
        return None
    for i, match in enumerate(matches):
        kind, token = match.lastgroup, match[0]
        following = matches[i + 1] if i + 1 < len(matches) else None
        if kind == "number":
            if out and (out[-1] not in OPERATORS and out[-1] not in ("(", "^")):
                out.append("|")
            out.append(token.replace(",", ""))
        elif kind == "word":
            times = token in ("x", "X") and before_space and out and (out[-1][-1].isdigit() or out[-1] in ")%")
            if times and following is not None:
                out.append("*")
            elif token in ("x", "X") and out and out[-1][-1].isdigit() and following and following[0][0].isdigit():
                out.append("*")  # 3x5
            elif not words or (len(token) == 1 and token not in "aAI"):
                return None
            else:
                apart = True
        elif kind == "sign":
            sign = _SIGNS.get(token, token)
            if sign in "$€£":
                continue
            if sign == "=":
                return None
            previous = matches[i - 1] if i else None
            after_word = words and previous is not None and previous.lastgroup == "word"
            before_word = words and (following is None or following.lastgroup == "word")
            if (sign == "/" and (after_word or before_word)) or (sign == "-" and after_word and before_word):
                continue  # km/lap, $0.05/coupon, six-sided
            if sign == "(" and out and (out[-1][-1].isdigit() or out[-1] == ")"):
                out.append("|" if apart else "*")
            out.append(sign)
        elif kind == "other" and (not words or token in "[]{}<>"):
            return None
        elif kind == "other" and token in ",?!":
            out.append("|")
        apart = apart if kind in ("space", "word") else False
        before_space = kind == "space" or (before_space and kind == "word")
    return out[-MAX_TOKENS:]


def _suffix(tokens: list[str]) -> tuple[Expression | None, bool]:
    """The longest expression that ends the tokens, and whether it is all of them."""
    last = len(tokens) - 1 - tokens[::-1].index("|") if "|" in tokens else -1
    rest = tokens[last + 1 :]
    for start in range(len(rest)):
        if rest[start] in ("*", "/", "+", ")", "%", "^"):
            continue
        expression = _parse(rest[start:])
        if expression is not None:
            return expression, last < 0 and start == 0
    return None, False


def _leading(text: str) -> tuple[Fraction | None, str]:
    """The number that begins a text after signs of currency; None if an operator follows it at once."""
    fraction = _FRACTION.match(text)
    if fraction:
        return Fraction(int(fraction[1].replace(",", "")), int(fraction[2].replace(",", ""))), ""
    match = _LEADING.match(text)
    if match is None or not any(c.isdigit() for c in match[2]):
        return None, ""
    value = read_value(match[2])
    return (None if value is None else -value if match[1] else value), match[2]


class _Stop(Exception):
    pass


def _parse(tokens: list[str]) -> Expression | None:
    if not tokens or len(tokens) > MAX_TOKENS:
        return None
    position = 0

    def peek() -> str:
        return tokens[position] if position < len(tokens) else ""

    def take() -> str:
        nonlocal position
        position += 1
        return tokens[position - 1]

    def total(depth: int) -> Expression:
        left = product(depth)
        while peek() in ("+", "-"):
            op = OPERATORS[take()]
            left = Operation(op, (left, product(depth)))
        return left

    def product(depth: int) -> Expression:
        left = factor(depth)
        while peek() in ("*", "/"):
            op = OPERATORS[take()]
            left = Operation(op, (left, factor(depth)))
        return left

    def factor(depth: int) -> Expression:
        if depth > 20 or not peek():
            raise _Stop
        token = take()
        if token == "-":
            inner = factor(depth + 1)
            return Number(-inner.value) if isinstance(inner, Number) else Operation("negate", (inner,))
        if token == "+":
            return factor(depth + 1)
        if token == "(":
            found = total(depth + 1)
            if not peek() or take() != ")":
                raise _Stop
        elif token[0].isdigit() or token[0] == ".":
            found = Number(Fraction(f"0{token}" if token[0] == "." else token))
        else:
            raise _Stop
        while peek() == "%":
            take()
            found = Operation("divide", (found, Number(Fraction(100))))
        return found

    try:
        found = total(0)
    except _Stop:
        return None
    return found if position == len(tokens) else None


def walk(expression: Expression) -> Iterator[Expression]:
    yield expression
    if isinstance(expression, Operation):
        for inner in expression.args:
            yield from walk(inner)
