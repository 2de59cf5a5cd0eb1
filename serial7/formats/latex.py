r"""LaTeX, one `response` environment. pylatexenc parses strictly; only the contract's macros and environments exist.

Macros of the contract are declared without arguments and their brace groups are taken here: pylatexenc (like TeX) would
take any token as an argument, and `\Answer 3521` would become 3. How awkward values are written: `\_ \% \& \# \$ \{ \}`,
`\textbackslash{} \textasciitilde{} \textasciicircum{}`. Source: contracts.md section 4 (LaTeX), section 3 fine points
"LaTeX", "Escaping", "Commas".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

from pylatexenc.latexwalker import (
    LatexCharsNode,
    LatexCommentNode,
    LatexEnvironmentNode,
    LatexGroupNode,
    LatexMacroNode,
    LatexMathNode,
    LatexWalker,
    LatexWalkerParseError,
)
from pylatexenc.macrospec import EnvironmentSpec, LatexContextDb, MacroSpec

from serial7.check import Due, InputRead, Look, Reading, Statement, StepRead, within
from serial7.errors import NotWellFormed
from serial7.format import MAX_DEPTH, Format, Span, line_of
from serial7.ir import (
    WHITE_SPACE,
    CanonicalIR,
    Ref,
    has_control,
    is_name,
    number_text,
    parse_number,
    undress_number,
)

_ARGUMENTS = {"Answer": 1, "Input": 2, "Step": 4}
_ESCAPES = {**{c: c for c in "_%&#${}"}, "textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "^": "^", "~": "~"}  # fmt: skip
_SPACES = frozenset([",", ";", ":", "!", " ", "\n", "\t", "quad", "qquad", "\\"])
_LAYOUT = frozenset(
    ["hline", "toprule", "midrule", "bottomrule", "noindent", "centering", "smallskip", "medskip", "bigskip"]
)
_DRESS = {"num": "num", "texttt": "code", "textbf": "bold"}
_MACROS = frozenset([*_ARGUMENTS, *_ESCAPES, *_SPACES, *_LAYOUT, *_DRESS, "item"])
_ENVIRONMENTS = frozenset({"response", "inputs", "steps", "tabular", "enumerate"})

_CONTEXT = LatexContextDb()
_CONTEXT.add_context_category(
    "contract",
    macros=[
        *(MacroSpec(name, "") for name in _MACROS - _DRESS.keys()),
        MacroSpec("num", "[{"),
        MacroSpec("texttt", "{"),
        MacroSpec("textbf", "{"),
    ],
    environments=[
        EnvironmentSpec("tabular", "[{"),
        *(EnvironmentSpec(name, "") for name in _ENVIRONMENTS - {"tabular"}),
    ],
)

_BEGIN = re.compile(r"\\begin[ \t]*\{response\}")
_ENDS = re.compile(r"\\(begin|end)[ \t]*\{response\}")
_BLANK = re.compile(r"(?:[ \t\r\n]+|%[^\n]*(?:\n|\Z))*")
_NESTING = re.compile(r"\\(?:begin|end)[ \t]*\{[^{}\n]*\}|\\[(\[)\]]|\\.|%[^\n]*|[{}]|\$\$?", re.DOTALL)


def _find(text: str) -> list[Span]:
    spans: list[Span] = []
    position = 0
    while (begin := _BEGIN.search(text, position)) is not None:
        least = spans[-1].end if spans else 0
        blank = _BLANK.match(text, least)
        start = least if blank and blank.end() >= begin.start() else begin.start()
        end = _end(text, begin.start())
        if end is None:
            spans.append(Span(start, len(text), closed=False))
            break
        trailing = _BLANK.match(text, end)
        position = trailing.end() if trailing else end
        spans.append(Span(start, position))
    return spans


def _end(text: str, start: int) -> int | None:
    depth = 0
    for match in _ENDS.finditer(text, start):
        depth += 1 if match[1] == "begin" else -1
        if depth == 0:
            return match.end()
    return None


def _bound(text: str) -> None:
    depth = 0
    in_math = False
    for match in _NESTING.finditer(text):
        token = match[0]
        if token[0] == "$":
            in_math = not in_math
            depth += 1 if in_math else -1
        elif token == "{" or token.startswith("\\begin") or token in ("\\(", "\\["):
            depth += 1
        elif token == "}" or token.startswith("\\end") or token in ("\\)", "\\]"):
            depth -= 1
        if depth > MAX_DEPTH:
            raise NotWellFormed(f"nested deeper than {MAX_DEPTH} levels", line_of(text, match.start()))


class Scalar(NamedTuple):
    """A slot's one value: its text (None = not one scalar), and the dress that was around all of it."""

    text: str | None
    dress: frozenset[str]
    at: str


@dataclass(slots=True)
class Shape:
    """What the rules of LaTeX look at: every number and every name, step id and reference with its dress."""

    numbers: list[Scalar] = field(default_factory=list)
    ids: list[Scalar] = field(default_factory=list)
    inputs: str = ""  # "macros", "tabular" or "both"
    steps: str = ""  # "macros", "enumerate", or what else was found


def _parse(document: str) -> list[Any]:
    walker = LatexWalker(document, latex_context=_CONTEXT, tolerant_parsing=False)
    try:
        nodes, position, length = walker.get_latex_nodes()
    except LatexWalkerParseError as error:
        place = line_of(document, error.pos) if error.pos is not None else ""
        raise NotWellFormed(str(error.msg).split("\n")[0], place) from error
    except RecursionError as error:
        raise NotWellFormed(f"nested deeper than {MAX_DEPTH} levels") from error
    if position + length != len(document):  # strict mode stops at a trailing backslash without an error
        raise NotWellFormed("the document ends inside a macro", line_of(document, position + length))
    return list(nodes)


def _check_known(nodes: Sequence[Any], document: str) -> None:
    """Raise where a macro or environment stands that the contract does not know."""
    for node in nodes:
        if isinstance(node, LatexMacroNode):
            if node.macroname not in _MACROS:
                raise NotWellFormed(
                    f"the macro \\{node.macroname} is not one of the contract", line_of(document, node.pos)
                )
        elif isinstance(node, LatexEnvironmentNode) and node.environmentname not in _ENVIRONMENTS:
            name = node.environmentname
            raise NotWellFormed(f"the environment {name} is not one of the contract", line_of(document, node.pos))
        _check_known(_inner(node), document)


def _inner(node: Any) -> list[Any]:
    inner = list(getattr(node, "nodelist", None) or ())
    arguments = getattr(node, "nodeargd", None)
    return inner + [a for a in (getattr(arguments, "argnlist", None) or ()) if a is not None]


def _read(text: str, due: Due) -> Reading[Shape]:
    nodes = _parse(text)
    _check_known(nodes, text)
    reading = Reading(Shape())
    reader = _Reader(reading, due, text)
    reader.escaping(nodes, in_table=False)
    roots = [n for n in nodes if isinstance(n, LatexEnvironmentNode) and n.environmentname == "response"]
    if not roots:
        raise NotWellFormed("there is no response environment")
    reader.root(list(roots[0].nodelist))
    return reading


@dataclass(slots=True)
class _Reader:
    reading: Reading[Shape]
    due: Due
    document: str

    def at(self, path: str, node: Any) -> str:
        return f"{path} (line {self.document.count(chr(10), 0, node.pos) + 1})"

    def escaping(self, nodes: Sequence[Any], *, in_table: bool) -> None:
        """Characters that TeX would not take in text: they are faults, and are read as themselves."""
        for node in nodes:
            if isinstance(node, LatexCharsNode):
                for found in re.finditer(r"[_#^&]", node.chars):
                    if found[0] != "&" or not in_table:
                        place = line_of(self.document, node.pos + found.start())
                        self.reading.fault("escaping", f"{found[0]} is not escaped", place)
            elif not isinstance(node, LatexMathNode | LatexCommentNode):
                tabular = isinstance(node, LatexEnvironmentNode) and node.environmentname == "tabular"
                inner = list(node.nodelist) if tabular else _inner(node)
                self.escaping(inner, in_table=in_table or tabular)

    def root(self, nodes: list[Any]) -> None:
        reading, check = self.reading, "root_container"
        answers: list[tuple[Any, list[Any] | None]] = []
        parts: dict[str, list[Any]] = {"inputs": [], "steps": []}
        for node, groups in self.items(nodes, check, "response"):
            if isinstance(node, LatexMacroNode) and node.macroname == "Answer":
                answers.append((node, groups))
            elif isinstance(node, LatexEnvironmentNode) and node.environmentname in parts and self.due.graph:
                parts[node.environmentname].append(node)
            else:
                reading.fault(
                    check, f"{_what(node)} is not one that the contract names here", self.at("response", node)
                )
        self.answer(answers)
        for name, found in parts.items():
            for extra in found[1:]:
                reading.fault(check, f"{name} stands {len(found)} times; once is due", self.at(name, extra))
        if self.due.graph:
            self.inputs(parts["inputs"])
            self.steps(parts["steps"])

    def items(self, nodes: list[Any], check: str, at: str) -> Iterator[tuple[Any, list[Any] | None]]:
        """The macros and environments of a container, each with its brace groups (None where one is missing).

        Comments, layout and white space are passed over; other text is a fault of `check`.
        """
        i = 0
        while i < len(nodes):
            node = nodes[i]
            i += 1
            if isinstance(node, LatexMacroNode) and node.macroname in _ARGUMENTS:
                groups, i = _groups(nodes, i, _ARGUMENTS[node.macroname])
                yield node, groups
            elif isinstance(node, LatexEnvironmentNode) or (
                isinstance(node, LatexMacroNode) and node.macroname == "item"
            ):
                yield node, []
            elif not _is_blank(node):
                self.reading.fault(
                    check, f"text stands between the parts: {_short(_flat([node]).strip())}", self.at(at, node)
                )

    def answer(self, answers: list[tuple[Any, list[Any] | None]]) -> None:
        reading, check = self.reading, "answer_slot"
        if not answers:
            reading.fault(check, "there is no \\Answer", "answer")
            return
        if len(answers) > 1:
            reading.fault("root_container", f"\\Answer stands {len(answers)} times; once is due", "answer")
        values: set[Decimal | str | None] = set()
        for node, groups in answers:
            at = self.at("answer", node)
            if groups is None:
                reading.fault(check, "\\Answer has no brace group as its argument", at)
                values.add(None)
                continue
            scalar = self.scalar(groups[0], at)
            if scalar.text == "":
                reading.fault(check, "the answer is empty", at)
            values.add(self.text(scalar, check) if self.due.text_answer else self.number(scalar, check))
        reading.answer = values.pop() if len(values) == 1 else None

    def scalar(self, node: Any, at: str) -> Scalar:
        """The one value in a group or a list of nodes, its dress peeled off."""
        nodes = [node] if not isinstance(node, list) else node
        dress: set[str] = set()
        while True:
            kept = [n for n in nodes if not isinstance(n, LatexCommentNode) and not _is_space(n)]
            if len(kept) != 1:
                break
            (only,) = kept
            if isinstance(only, LatexGroupNode) and only.delimiters == ("{", "}"):
                nodes = list(only.nodelist)
            elif isinstance(only, LatexMathNode):
                dress.add("math" if only.displaytype == "inline" else "display")
                nodes = list(only.nodelist)
            elif isinstance(only, LatexMacroNode) and only.macroname in _DRESS:
                argument = only.nodeargd.argnlist[-1]
                if not isinstance(argument, LatexGroupNode):
                    return Scalar(None, frozenset(dress), at)
                name = _DRESS[only.macroname]
                # \num{$...$} is no number of siunitx: math belongs around it.
                dress.add("inverted" if name == "math" else name)
                nodes = [argument]
            else:
                break
        if any(_is_dressed(n) for n in nodes):
            return Scalar(None, frozenset(dress), at)
        return Scalar(_flat(nodes).strip(WHITE_SPACE), frozenset(dress), at)

    def text(self, scalar: Scalar, check: str) -> str | None:
        self.undress(scalar, check, {})
        if scalar.text and has_control(scalar.text):
            self.reading.fault(check, f"a control character in {_short(scalar.text)}", scalar.at)
        return scalar.text or None

    def undress(self, scalar: Scalar, check: str, allowed: dict[str, tuple[str, ...]]) -> None:
        if scalar.text is None:
            self.reading.fault(check, "the value is not one scalar", scalar.at)
        names = {
            "math": "in math",
            "display": "in display math",
            "num": "in \\num",
            "code": "in \\texttt",
            "bold": "in \\textbf",
        }
        for dress in sorted(scalar.dress):
            self.reading.fault(check, f"the value stands {names[dress]}", scalar.at, allowed.get(dress, ()))

    def number(self, scalar: Scalar, check: str) -> Decimal | None:
        if scalar.text == "":
            return None
        self.undress(scalar, check, {"math": ("math_mode",), "num": ("siunitx",)})
        self.reading.shape.numbers.append(scalar)
        if scalar.text is None:
            return None
        value = parse_number(scalar.text)
        if value is None:
            self.reading.fault(check, f"{_short(scalar.text)} is not a number", scalar.at)
            value = undress_number(scalar.text)
        return value

    def name(self, scalar: Scalar, check: str) -> str | None:
        if scalar.text == "":
            return None
        rules = ("texttt_ids", "bold_ids")
        self.undress(scalar, check, {"code": rules, "bold": rules})
        self.reading.shape.ids.append(scalar)
        if scalar.text and not is_name(scalar.text):
            self.reading.fault(check, f"{_short(scalar.text)} is not a name of the contract's grammar", scalar.at)
        return scalar.text

    def inputs(self, found: list[Any]) -> None:
        reading, check = self.reading, "inputs_container"
        if not found:
            reading.fault(check, "there is no inputs environment", "inputs")
            return
        tables: list[Any] = []
        macros = False
        for node, groups in self.items(list(found[0].nodelist), check, "inputs"):
            at = self.at(f"inputs[{len(reading.inputs)}]", node)
            if isinstance(node, LatexMacroNode) and node.macroname == "Input":
                macros = True
                if groups is None:
                    reading.fault(check, "\\Input has not its two brace groups", at)
                    groups = _groups_left(node, self.document)
                name = self.name(self.scalar(groups[0], within(at, ".name")), check) if groups else None
                value = self.number(self.scalar(groups[1], within(at, ".value")), check) if len(groups) > 1 else None
                reading.inputs.append(InputRead(name, value, at))
            elif isinstance(node, LatexEnvironmentNode) and node.environmentname == "tabular":
                tables.append(node)
                reading.fault(
                    check, "the inputs stand in a tabular", at, ("tabular_inputs",) if len(tables) == 1 else ()
                )
                self.table(node)
            else:
                reading.fault(check, f"{_what(node)} stands among the inputs", at)
        if tables or macros:
            reading.shape.inputs = "tabular" if tables and not macros else "both" if tables else "macros"
        if tables and macros:
            reading.fault(check, "the inputs stand both in a tabular and as \\Input", "inputs")
        if not reading.inputs:
            reading.fault(check, "inputs holds no record", "inputs")

    def table(self, node: Any) -> None:
        reading, check = self.reading, "inputs_container"
        for i, row in enumerate(_rows(list(node.nodelist))):
            at = self.at(f"inputs[{len(reading.inputs)}]", next((n for n in row if not _is_blank(n)), node))
            cells = _split(row, "&")
            scalars = [self.scalar(cell, at) for cell in cells[:2]]
            if i == 0 and len(cells) == 2 and not _is_number(scalars[1].text):
                continue  # a header
            if len(cells) != 2:
                reading.fault(check, f"a row of {len(cells)} cells; name and value are due", at)
            name = self.name(scalars[0]._replace(at=within(at, ".name")), check)
            value = self.number(scalars[1]._replace(at=within(at, ".value")), check) if len(scalars) > 1 else None
            reading.inputs.append(InputRead(name, value, at))

    def steps(self, found: list[Any]) -> None:
        reading, check = self.reading, "steps_container"
        if not found:
            reading.fault(check, "there is no steps environment", "steps")
            return
        lists = 0
        loose = 0
        for node, groups in self.items(list(found[0].nodelist), check, "steps"):
            at = self.at(f"steps[{len(reading.steps)}]", node)
            if isinstance(node, LatexMacroNode) and node.macroname == "Step":
                loose += 1
                self.step(node, groups, at)
            elif isinstance(node, LatexEnvironmentNode) and node.environmentname == "enumerate":
                lists += 1
                rule = ("enumerate_steps",) if lists == 1 else ()
                reading.fault(check, "the steps stand in an enumerate", at, rule)
                self.enumerate(node)
            else:
                reading.fault(check, f"{_what(node)} stands among the steps", at)
        if lists or loose:
            reading.shape.steps = "enumerate" if lists == 1 and not loose else "macros" if not lists else "both"
        if lists and loose:
            reading.fault(check, "steps stand both inside and outside the enumerate", "steps")
        if not reading.steps:
            reading.fault(check, "steps holds no record", "steps")

    def enumerate(self, node: Any) -> None:
        reading, check = self.reading, "steps_container"
        items = steps = 0
        for inner, groups in self.items(list(node.nodelist), check, "steps"):
            at = self.at(f"steps[{len(reading.steps)}]", inner)
            if isinstance(inner, LatexMacroNode) and inner.macroname == "item":
                items += 1
                if items != steps + 1:
                    reading.fault(check, "an \\item without its \\Step", at)
            elif isinstance(inner, LatexMacroNode) and inner.macroname == "Step":
                steps += 1
                if items != steps:
                    reading.fault(check, "a \\Step without an \\item of its own", at)
                    items = steps
                self.step(inner, groups, at)
            else:
                reading.fault(check, f"{_what(inner)} stands among the steps", at)
        if items > steps:
            reading.fault(check, "an \\item without its \\Step", "steps")

    def step(self, node: Any, groups: list[Any] | None, at: str) -> None:
        check = "steps_container"
        if groups is None:
            self.reading.fault(check, "\\Step has not its four brace groups", at)
            groups = _groups_left(node, self.document)
        given = [*groups, None, None, None, None][:4]
        id_, op, args, value = given
        operation = self.scalar(op, within(at, ".op")) if op is not None else None
        if operation is not None:
            self.undress(operation, check, {})
        self.reading.steps.append(
            StepRead(
                id=self.name(self.scalar(id_, within(at, ".id")), check) if id_ is not None else None,
                op=(operation.text or None) if operation is not None else None,
                args=self.args(args, at) if args is not None else None,
                value=self.number(self.scalar(value, within(at, ".value")), check) if value is not None else None,
                at=at,
            )
        )

    def args(self, group: Any, at: str) -> tuple[Ref | Decimal | None, ...] | None:
        nodes = list(group.nodelist)
        while len(kept := [n for n in nodes if not _is_blank(n)]) == 1 and isinstance(kept[0], LatexGroupNode):
            nodes = list(kept[0].nodelist)
        pieces = _split(nodes, ",")
        if len(pieces) == 1 and not _flat(pieces[0]).strip(WHITE_SPACE):
            return None
        return tuple(self.arg(piece, within(at, f".args[{j}]")) for j, piece in enumerate(pieces))

    def arg(self, piece: list[Any], at: str) -> Ref | Decimal | None:
        check = "steps_container"
        scalar = self.scalar(piece, at)
        if scalar.text == "":
            self.reading.fault(check, "an argument is empty", at)
            return None
        if scalar.text is None or not _is_number(scalar.text):
            name = self.name(scalar, check)
            return None if name is None else Ref(name)
        return self.number(scalar, check)


def _groups(nodes: list[Any], start: int, count: int) -> tuple[list[Any] | None, int]:
    """The next `count` brace groups from `start`, and where to go on. Where one is missing: None, and the loose text up to
    the end of the line is passed over, since it is charged already."""
    groups: list[Any] = []
    i = start
    while i < len(nodes) and len(groups) < count:
        node = nodes[i]
        if isinstance(node, LatexGroupNode) and node.delimiters == ("{", "}"):
            groups.append(node)
        elif not (isinstance(node, LatexCommentNode) or _is_space(node)):
            break
        i += 1
    if len(groups) == count:
        return groups, i
    while i < len(nodes):
        node = nodes[i]
        if isinstance(node, LatexEnvironmentNode) or (
            isinstance(node, LatexMacroNode) and node.macroname in _ARGUMENTS
        ):
            break
        i += 1
        if isinstance(node, LatexCharsNode) and "\n" in node.chars.lstrip(WHITE_SPACE if node is nodes[i - 1] else ""):
            break
    return None, i


def _groups_left(node: Any, document: str) -> list[Any]:
    """The groups that directly follow a macro which has too few of them."""
    following = LatexWalker(document, latex_context=_CONTEXT, tolerant_parsing=False)
    groups: list[Any] = []
    position = node.pos + node.len
    while len(groups) < 4:
        match = re.compile(r"(?:[ \t]*(?:%[^\n]*)?\n?[ \t]*)\{").match(document, position)
        if match is None:
            break
        group, start, length = following.get_latex_expression(match.end() - 1)
        groups.append(group)
        position = start + length
    return groups


def _is_space(node: Any) -> bool:
    return isinstance(node, LatexCharsNode) and not node.chars.replace("~", " ").strip(WHITE_SPACE)


def _is_blank(node: Any) -> bool:
    """White space, a comment, layout, or an empty group."""
    if isinstance(node, LatexMacroNode):
        return node.macroname in _SPACES or node.macroname in _LAYOUT
    if isinstance(node, LatexGroupNode):
        return all(_is_blank(n) for n in node.nodelist)
    return isinstance(node, LatexCommentNode) or _is_space(node)


def _is_dressed(node: Any) -> bool:
    """Whether math, a dress macro, or anything that is no text stands in a node."""
    if isinstance(node, LatexGroupNode):
        return any(_is_dressed(n) for n in node.nodelist)
    if isinstance(node, LatexMacroNode):
        return node.macroname not in _ESCAPES and node.macroname not in _SPACES and node.macroname not in _LAYOUT
    return isinstance(node, LatexMathNode | LatexEnvironmentNode)


def _flat(nodes: Sequence[Any]) -> str:
    """The text of nodes, escapes decoded, comments left out."""
    parts: list[str] = []
    skip_newline = False
    for node in nodes:
        if isinstance(node, LatexCommentNode):
            skip_newline = not node.comment_post_space.count("\n") > 1
            continue
        if isinstance(node, LatexCharsNode):
            chars = node.chars
            # A comment takes the line's end with it, and the white space that begins the next line.
            parts.append((chars.lstrip(" \t\n") if skip_newline else chars).replace("~", " "))
        elif isinstance(node, LatexMacroNode):
            parts.append(_ESCAPES.get(node.macroname, " " if node.macroname in _SPACES else ""))
            parts.append(_flat([a for a in (node.nodeargd.argnlist if node.nodeargd else ()) if a is not None]))
            if node.macroname in _ESCAPES and not node.macroname.isalpha():
                parts.append(node.macro_post_space or "")
        else:
            parts.append(_flat(_inner(node)))
        skip_newline = False
    return "".join(parts)


def _is_number(text: str | None) -> bool:
    return text is not None and undress_number(text) is not None


def _split(nodes: list[Any], separator: str) -> list[list[Any]]:
    """Split a node list at a character that stands in its text."""
    pieces: list[list[Any]] = [[]]
    for node in nodes:
        if not isinstance(node, LatexCharsNode):
            pieces[-1].append(node)
            continue
        first, *rest = node.chars.split(separator)
        offset = node.pos
        pieces[-1].append(LatexCharsNode(chars=first, pos=offset, len=len(first)))
        for part in rest:
            offset += len(part) + 1
            pieces.append([LatexCharsNode(chars=part, pos=offset, len=len(part))])
    return pieces


def _rows(nodes: list[Any]) -> Iterator[list[Any]]:
    row: list[Any] = []
    for node in [*nodes, None]:
        if node is None or (isinstance(node, LatexMacroNode) and node.macroname == "\\"):
            kept = [n for n in row if not (isinstance(n, LatexMacroNode) and n.macroname in _LAYOUT)]
            if any(not _is_blank(n) for n in kept):
                yield kept
            row = []
        else:
            row.append(node)


def _what(node: Any) -> str:
    return f"\\{node.macroname}" if isinstance(node, LatexMacroNode) else f"the environment {node.environmentname}"


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


_SPECIAL = re.compile(r"[_%&#${}\\^~]")
_WORDS = {"\\": "\\textbackslash{}", "^": "\\textasciicircum{}", "~": "\\textasciitilde{}"}


def _escape(text: str) -> str:
    return _SPECIAL.sub(lambda m: _WORDS.get(m[0], f"\\{m[0]}"), text)


def _render(ir: CanonicalIR, rules: frozenset[str], style: str) -> str:
    writer = _Writer(rules, style)
    space = " " if style == "spaced" else ""
    answer = ir.answer if isinstance(ir.answer, str) else None
    body = [f"\\Answer{space}{{{_escape(answer) if answer is not None else writer.number(ir.answer)}}}"]  # type: ignore[arg-type]
    if ir.graph_bearing:
        inputs = [(writer.name(i.name), writer.number(i.value)) for i in ir.inputs]
        steps = [
            f"\\Step{space}{{{writer.name(s.id)}}}{space}{{{s.op}}}{{{writer.args(s.args)}}}{{{writer.number(s.value)}}}"
            for s in ir.steps
        ]
        containers = [writer.inputs(inputs, space), writer.steps(steps)]
        if style == "reordered":
            containers.reverse()
        body = (
            [*containers[0], *containers[1], *body] if style == "reordered" else [*body, *containers[0], *containers[1]]
        )
    if style == "indented":
        body = [f"  {line}" for line in body]
        body.insert(1, "")
    head = "% a response\n" if style == "indented" else ""
    joint = " " if style == "crowded" else "\n"
    return head + joint.join(["\\begin{response}", *body, "\\end{response}"]) + ("" if style == "crowded" else "\n")


@dataclass(slots=True)
class _Writer:
    rules: frozenset[str]
    style: str

    def number(self, value: Decimal) -> str:
        text = number_text(value)
        if "siunitx" in self.rules:
            option = "[group-digits=none]" if self.style == "spaced" else ""
            text = f"\\num{option}{{{text}}}"
        if "math_mode" in self.rules:
            text = f"\\({text}\\)" if self.style in ("spaced", "indented") else f"${text}$"
        return {"spaced": f" {text} ", "reordered": f"{{{text}}}"}.get(self.style, text)

    def name(self, name: str) -> str:
        text = _escape(name)
        macros = [m for rule, m in (("texttt_ids", "texttt"), ("bold_ids", "textbf")) if rule in self.rules]
        for macro in macros if self.style == "reordered" else reversed(macros):
            text = f"\\{macro}{{{text}}}"
        return text

    def args(self, args: tuple[Ref | Decimal, ...]) -> str:
        joint = {"crowded": ",", "spaced": " , "}.get(self.style, ", ")
        return joint.join(self.name(a.name) if isinstance(a, Ref) else self.number(a).strip() for a in args)

    def inputs(self, records: list[tuple[str, str]], space: str) -> list[str]:
        if "tabular_inputs" not in self.rules:
            lines = [f"\\Input{space}{{{name}}}{space}{{{value}}}" for name, value in records]
        else:
            end = "" if self.style == "crowded" else " \\\\"
            rows = [f"{name} & {value} \\\\" for name, value in records]
            rows[-1] = rows[-1].removesuffix(" \\\\") + end
            header = ["\\hline", "Name & Value \\\\", "\\hline"] if self.style in ("indented", "reordered") else []
            lines = [f"\\begin{{tabular}}{{{'|l|r|' if header else 'll'}}}", *header, *rows, "\\end{tabular}"]
        return ["\\begin{inputs}", *self.indented(lines), "\\end{inputs}"]

    def steps(self, lines: list[str]) -> list[str]:
        if "enumerate_steps" in self.rules:
            lines = ["\\begin{enumerate}", *(f"\\item {line}" for line in lines), "\\end{enumerate}"]
        return ["\\begin{steps}", *self.indented(lines), "\\end{steps}"]

    def indented(self, lines: list[str]) -> list[str]:
        return [f"  {line} % -" for line in lines] if self.style == "indented" else lines


LATEX: Format[Shape] = Format(
    name="latex",
    title="LaTeX",
    contract={
        "clean_boundary": (
            Statement(
                "Output the response environment alone: no text before or after it, and no code fence around it.",
                "response 환경만 출력하세요. 앞뒤에 다른 글을 쓰거나 코드 펜스로 감싸지 마세요.",
            ),
        ),
        "well_formed": (
            Statement(
                r"Braces, environments and math delimiters balance; besides the macros and environments named here only character "
                r"escapes, \textbackslash, \textasciitilde, \textasciicircum, spacing, rules of a table, \noindent, \centering and "
                r"vertical skips are known; at most 64 KiB, 64 levels of nesting and 400 digits in a number.",
                r"중괄호, 환경, 수식 구분자는 짝이 맞아야 합니다. 여기서 이름을 든 매크로와 환경 말고는 문자 이스케이프, \textbackslash, "
                r"\textasciitilde, \textasciicircum, 간격, 표의 선, \noindent, \centering, 세로 간격만 쓸 수 있습니다. 크기는 64 KiB, 중첩은 "
                r"64단계, 수 하나의 자릿수는 400자리를 넘을 수 없습니다.",
            ),
        ),
        "root_container": (
            Statement(
                r"There is exactly one environment \begin{response} ... \end{response}, and nothing outside it (no preamble).",
                r"\begin{response} ... \end{response} 환경이 정확히 하나 있고, 그 바깥에는 아무것도 두지 않습니다(프리앰블 없음).",
            ),
            Statement(
                r"It holds one \Answer, one inputs environment and one steps environment, and no other text.",
                r"그 안에는 \Answer 하나, inputs 환경 하나, steps 환경 하나만 두고 다른 글은 두지 않습니다.",
                when="graph",
            ),
            Statement(
                r"It holds one \Answer and nothing else.",
                r"그 안에는 \Answer 하나만 둡니다.",
                when="answer_only",
            ),
        ),
        "answer_slot": (
            Statement(
                r"The final answer is the argument of \Answer{...}, in braces.",
                r"최종 답은 \Answer{...}의 중괄호 인자로 씁니다.",
            ),
            Statement(
                "The answer is one value, without emphasis or math around it.",
                "답은 값 하나이며 강조나 수식으로 감싸지 않습니다.",
                unless=("math_mode",),
            ),
        ),
        "escaping": (
            Statement(
                r"In text _ % & # $ { } ^ and the backslash are escaped, such as \_ and \&.",
                r"텍스트의 _ % & # $ { } ^와 역슬래시는 \_나 \&처럼 이스케이프합니다.",
            ),
        ),
        "inputs_container": (
            Statement(
                r"The inputs environment holds one \Input{name}{value} for each input.",
                r"inputs 환경에는 입력마다 \Input{name}{value}를 하나씩 둡니다.",
                base=True,
            ),
            Statement(
                "Names are plain, without emphasis.",
                "이름은 강조 없이 씁니다.",
                unless=("texttt_ids", "bold_ids"),
            ),
        ),
        "steps_container": (
            Statement(
                r"The steps environment holds one \Step{id}{operation}{arguments}{value} for each step.",
                r"steps 환경에는 단계마다 \Step{id}{operation}{arguments}{value}를 하나씩 둡니다.",
                base=True,
            ),
            Statement(
                "The arguments are references and numbers, separated by commas.",
                "인자는 참조와 수를 쉼표로 구분하여 씁니다.",
            ),
        ),
    },
    mark=_BEGIN,
    find=_find,
    bound=_bound,
    read=_read,
    render=_render,
    styles=("plain", "indented", "spaced", "crowded", "reordered"),
)


@LATEX.rule(
    en=r"The inputs environment holds one tabular with a row name & value \\ for each input (a header row and rules are allowed), "
    r"and no \Input.",
    ko=r"inputs 환경에는 입력마다 name & value \\ 행을 갖는 tabular 하나를 두고(머리글 행과 선은 둘 수 있음) \Input은 쓰지 않습니다.",
    replaces="inputs_container",
    stands_on=("inputs",),
)
def tabular_inputs(reading: Reading[Shape]) -> Iterator[Look]:
    r"""The inputs environment holds one `tabular` and no `\Input`."""
    if reading.shape.inputs:
        yield Look(reading.shape.inputs == "tabular", "the inputs do not stand in one tabular alone", "inputs")


@LATEX.rule(
    en=r"The steps environment holds one enumerate, with one \Step{id}{operation}{arguments}{value} an \item.",
    ko=r"steps 환경에는 enumerate 하나를 두고, \item마다 \Step{id}{operation}{arguments}{value}를 하나씩 둡니다.",
    replaces="steps_container",
    stands_on=("steps",),
)
def enumerate_steps(reading: Reading[Shape]) -> Iterator[Look]:
    r"""The steps environment holds one `enumerate`, one `\Step` an `\item`."""
    if reading.shape.steps:
        yield Look(reading.shape.steps == "enumerate", "the steps do not stand in one enumerate alone", "steps")


@LATEX.rule(
    en=r"Every number (the answer, input values, literals among the arguments, step values) is written with \num{...}.",
    ko=r"모든 수(답, 입력의 값, 인자의 상수, 단계의 값)는 \num{...}으로 씁니다.",
    answer_only=True,
    numeric=True,
    stands_on=("answer", "inputs", "steps"),
    near_miss=(r"\_price}{\num{503}}", r"\_price}{503}"),
)
def siunitx(reading: Reading[Shape]) -> Iterator[Look]:
    r"""Every number is `\num{...}`."""
    for scalar in reading.shape.numbers:
        yield Look("num" in scalar.dress, "the number does not stand in \\num", scalar.at)


@LATEX.rule(
    en=r"Every number (the answer, input values, literals among the arguments, step values) stands in inline math, $...$ or "
    r"\(...\); a \num{...} stands inside it.",
    ko=r"모든 수(답, 입력의 값, 인자의 상수, 단계의 값)는 $...$ 또는 \(...\) 인라인 수식 안에 씁니다. \num{...}을 쓰면 그 안에 둡니다.",
    answer_only=True,
    numeric=True,
    stands_on=("answer", "inputs", "steps"),
    near_miss=("{$3521$}", "{3521}"),
)
def math_mode(reading: Reading[Shape]) -> Iterator[Look]:
    """Every number is in inline math."""
    for scalar in reading.shape.numbers:
        yield Look("math" in scalar.dress, "the number does not stand in inline math", scalar.at)


@LATEX.rule(
    en=r"Every input name, step id and reference stands in \texttt{...}.",
    ko=r"모든 입력 이름, 단계 id, 참조는 \texttt{...} 안에 씁니다.",
    stands_on=("inputs", "steps"),
    near_miss=(r"\texttt{R1}", "R1"),
)
def texttt_ids(reading: Reading[Shape]) -> Iterator[Look]:
    r"""Every name, step id and reference is in `\texttt{...}`."""
    for scalar in reading.shape.ids:
        yield Look("code" in scalar.dress, "the name does not stand in \\texttt", scalar.at)


@LATEX.rule(
    en=r"Every input name, step id and reference stands in \textbf{...}.",
    ko=r"모든 입력 이름, 단계 id, 참조는 \textbf{...} 안에 씁니다.",
    stands_on=("inputs", "steps"),
    near_miss=(r"\textbf{R1}", "R1"),
)
def bold_ids(reading: Reading[Shape]) -> Iterator[Look]:
    r"""Every name, step id and reference is in `\textbf{...}`."""
    for scalar in reading.shape.ids:
        yield Look("bold" in scalar.dress, "the name does not stand in \\textbf", scalar.at)
