"""From the equations of a worked solution to a computation graph whose every operand is accounted for.

An operand is an earlier result, a number in sight of the question (then an input), a percentage taken as a part of
one hundred, or a constant that the text implies (`twice` 2, hours 60). An operand that is none of these is what a
reader of the question cannot know: the graph is refused. Contract: contracts.md section 1; paper tables 16 and 20.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from serial7.build.equations import Equation, Expression, Number, Operation, evaluate, rounds_to, values_in
from serial7.build.implied import implies
from serial7.build.records import decimal_text
from serial7.build.sightings import Sighting

_HUNDRED = Fraction(100)
_ONE = Number(Fraction(1))
MAX_AMBIGUOUS = 12
_UNLIKELY = 10  # the cost of an offer that is taken only if there is no other


class NotAGraph(Exception):
    """`category` is one of the validator's; `why` is for people."""

    def __init__(self, category: str, why: str) -> None:
        super().__init__(category, why)
        self.category, self.why = category, why


class _Ungrounded(Exception):
    pass


@dataclass(slots=True)
class Graph:
    """`inputs` [(name, value)], `steps` [(id, operation, arguments as text, value)], and what a reviewer should know."""

    inputs: list[tuple[str, Fraction]]
    steps: list[tuple[str, str, list[str], Fraction]]
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Step:
    op: str
    args: list[int | str | Sighting]  # a step's index, a literal, an input
    value: Fraction
    uses: int = 0


def build_graph(
    equations: Sequence[Equation],
    answer: Fraction,
    sightings: Sequence[Sighting],
    text: str,
    may_be_input: Callable[[Sighting], bool] = lambda _s: True,
) -> Graph:
    """The graph that ends in `answer`.

    Args:
        sightings: the numbers in sight; `text`: the English text, for what it implies.
        may_be_input: whether a number in sight is an input (it stands in every language), else it is a literal.

    Raises:
        NotAGraph: `source` (no computation, a wrong equation), `grounding` (an operand from nowhere), `answer` (the
            computation ends in another value).
    """
    best = _Builder(sightings, text, may_be_input, {})
    graph = best.build(equations, answer)
    # Equal values make operands ambiguous. Of the ways to link them, the one that leaves the fewest results unused and
    # uses the fewest twice is most likely the solution's own: improve one choice at a time.
    chosen: dict[int, int] = {}
    for operand in best.ambiguous[:MAX_AMBIGUOUS]:
        for other in (1, 2):
            trial = _Builder(sightings, text, may_be_input, {**chosen, operand: other})
            try:
                found = trial.build(equations, answer)
            except NotAGraph:
                continue
            if trial.score < best.score:
                best, graph, chosen = trial, found, {**chosen, operand: other}
    if best.ambiguous:
        graph.notes.append(f"{len(best.ambiguous)} operands could be linked in several ways: check which is which")
    return graph


class _Builder:
    def __init__(
        self,
        sightings: Sequence[Sighting],
        text: str,
        may_be_input: Callable[[Sighting], bool],
        choices: dict[int, int],
    ) -> None:
        self.choices = choices  # the n-th operand -> which of its offers, instead of the likeliest
        self.operands = 0
        self.ambiguous: list[int] = []
        self.score = 0
        self.before = 0  # steps made by earlier equations
        self.sightings = list(sightings)
        self.text = text.lower()
        self.may_be_input = may_be_input
        self.steps: list[_Step] = []
        self.used: set[str] = set()  # names of the sightings that an equation took
        self.here: set[str] = set()  # by the equation under way
        self.broken: dict[Fraction, str] = {}  # values whose computation is not accounted for, and why
        self.lost: set[Fraction] = set()  # those of them that an equation computes
        self.of_hundred = False  # inside a product that is divided by 100
        self.percents = any(s.kind == "percent" for s in sightings)

    def build(self, equations: Sequence[Equation], answer: Fraction) -> Graph:
        computed = [e for e in equations if not e.asserts]
        if not computed:
            asserted = ", ".join(f"{decimal_text(e.value)}={decimal_text(e.value)}" for e in equations[:3])
            seen = f"; its annotations only restate a number (<<{asserted}>>)" if asserted else ""
            raise NotAGraph("source", f"the solution computes nothing that could be read{seen}")
        target: int | None = None
        last = computed[-1]
        for equation in equations:
            if equation.asserts:
                target = self._conclude(equation, answer, target)
                continue
            made = self._equation(equation)
            if made is not None and equation.value == answer:
                target = made
            if equation is last and equation.value != answer and not self._restated(equations, equation, answer):
                why = f"the computation ends in {decimal_text(equation.value)}, the official answer is {decimal_text(answer)}"
                raise NotAGraph("answer", why)
        if target is None:
            if answer in self.broken:
                raise NotAGraph("grounding", self.broken[answer])
            raise NotAGraph("answer", f"no computed step has the official answer {decimal_text(answer)}")
        return self._collect(target)

    def _restated(self, equations: Sequence[Equation], last: Equation, answer: Fraction) -> bool:
        after = list(equations)[list(equations).index(last) + 1 :]
        return any(e.asserts and e.value == answer for e in after)

    def _conclude(self, equation: Equation, answer: Fraction, target: int | None) -> int | None:
        """An assertion `<<125=125>>`: the choice among results, or a value from nowhere."""
        known = [i for i, s in enumerate(self.steps) if s.value == equation.value]
        if not known:
            if not any(s.value == equation.value for s in self.sightings):
                shown = decimal_text(equation.value)
                self.broken.setdefault(
                    equation.value,
                    f"{shown} is asserted (<<{shown}={shown}>>), not computed, and stands nowhere in the question",
                )
            return target
        if equation.value != answer:
            return target
        loose = [i for i, s in enumerate(self.steps) if not s.uses]
        values = [self.steps[i].value for i in loose]
        if known[-1] in loose and len(loose) > 1 and equation.value in (max(values), min(values)):
            op = "max" if equation.value == max(values) else "min"
            return self._step(op, [*loose], equation.value)
        return known[-1]

    def _equation(self, equation: Equation) -> int | None:
        """The step of one equation; None if it makes none (`1*15`) or its operands are not accounted for."""
        exact = evaluate(equation.expression)
        if exact != equation.value and not (equation.digits and rounds_to(exact, equation.value, equation.digits)):
            raise NotAGraph(
                "source", f"the annotation = {decimal_text(equation.value)} does not hold: it is {decimal_text(exact)}"
            )
        why = ""
        for expression in (equation.expression, *equation.alternatives):
            before = copy.deepcopy((self.steps, self.used))
            self.here, self.before, self.of_hundred = set(), len(self.steps), False
            try:
                made = self._lower(expression)
            except _Ungrounded as error:
                self.steps, self.used = before
                asserted = (self.broken[v] for v in values_in(expression) if v in self.broken)
                why = why or next(asserted, str(error))  # what an earlier line left open says more than a factor
                continue
            if isinstance(made, int) and self.steps[made].value != equation.value:
                made = self._step("round", [made, str(equation.digits)], equation.value)
            return made if isinstance(made, int) else None
        self.broken.setdefault(equation.value, why)
        self.lost.add(equation.value)
        return None

    def _lower(self, expression: Expression) -> int | str | Sighting:
        if isinstance(expression, Number):
            return self._operand(expression.value)
        if expression.op == "negate":
            inner = self._lower(expression.args[0])
            return self._step("negate", [inner], evaluate(expression))
        if expression.op in ("add", "subtract"):
            return self._sum(expression)
        return self._product(expression)

    def _sum(self, expression: Operation) -> int | str | Sighting:
        terms: list[tuple[bool, Expression]] = []

        def collect(e: Expression, minus: bool) -> None:
            if isinstance(e, Operation) and e.op in ("add", "subtract"):
                collect(e.args[0], minus)
                collect(e.args[1], minus != (e.op == "subtract"))
            else:
                terms.append((minus, e))

        collect(expression, False)
        if terms[0][0]:
            terms.sort(key=lambda t: t[0])
        done: int | str | Sighting = self._lower(terms[0][1])
        value = evaluate(terms[0][1])
        i = 1
        while i < len(terms):
            if terms[i][0]:
                value -= evaluate(terms[i][1])
                done = self._step("subtract", [done, self._lower(terms[i][1])], value)
                i += 1
                continue
            run = [done]
            while i < len(terms) and not terms[i][0]:
                run.append(self._lower(terms[i][1]))
                value += evaluate(terms[i][1])
                i += 1
            done = self._step("add", run, value)
        return done

    def _product(self, expression: Operation) -> int | str | Sighting:
        over: list[Expression] = []
        under: list[Expression] = []

        def collect(e: Expression, below: bool) -> None:
            if isinstance(e, Operation) and e.op in ("multiply", "divide"):
                collect(e.args[0], below)
                collect(e.args[1], below != (e.op == "divide"))
            elif isinstance(e, Number) and e.value == Fraction(1, 100) and self.percents:
                (over if below else under).append(Number(_HUNDRED))
            else:
                (under if below else over).append(e)

        collect(expression, False)
        if not self._counts_one(under):
            over = [e for e in over if e != _ONE] or [_ONE]
            under = [e for e in under if e != _ONE]
        self.of_hundred = Number(_HUNDRED) in under
        factors = [self._lower(e) for e in over]
        value = Fraction(1)
        for e in over:
            value *= evaluate(e)
        done: int | str | Sighting = factors[0] if len(factors) == 1 else self._step("multiply", factors, value)
        for e in under:
            divisor = evaluate(e)
            value /= divisor
            literal = e == Number(_HUNDRED) and self.percents
            below = "100" if literal else self._divisor(done, e)
            done = self._step("divide", [done, below], value)
            done = self._as_mean(done)
        return done

    def _counts_one(self, under: list[Expression]) -> bool:
        """Whether a factor of 1 is a quantity (`1 cup a day`), and not the numerator of a fraction or mere dress."""
        if any(s.kind == "fraction" and s.over == 1 and Number(Fraction(s.under)) in under for s in self.sightings):
            return False
        figure = any(s.value == 1 and s.kind == "figure" and s.name not in self.used for s in self.sightings)
        return figure or any(s.value == 1 and not s.uses for s in self.steps[: self.before])

    def _divisor(self, done: int | str | Sighting, e: Expression) -> int | str | Sighting:
        """A divisor; the number of terms of the sum that is divided is no input but counted."""
        averaged = re.search(r"\b(?:average|mean)\b", self.text)
        if isinstance(done, int) and isinstance(e, Number) and averaged:
            step = self.steps[done]
            if step.op == "add" and len(step.args) == e.value:
                return decimal_text(e.value)
        return self._lower(e)

    def _as_mean(self, index: int | str | Sighting) -> int | str | Sighting:
        """A sum that is used once and divided by the number of its terms is their mean."""
        if not isinstance(index, int):
            return index
        step = self.steps[index]
        first = step.args[0]
        if step.op != "divide" or not isinstance(first, int) or not isinstance(step.args[1], str):
            return index
        total = self.steps[first]
        counted = total.op == "add" and step.args[1] == str(len(total.args)) and total.uses == 1
        if counted and re.search(r"\b(?:average|mean)\b", self.text):
            step.op, step.args = "mean", list(total.args)
            total.uses = 0
        return index

    def _step(self, op: str, args: list[int | str | Sighting], value: Fraction) -> int:
        for arg in args:
            if isinstance(arg, int):
                self.steps[arg].uses += 1
        self.steps.append(_Step(op, list(args), value))
        return len(self.steps) - 1

    def _operand(self, value: Fraction) -> int | str | Sighting:
        """What an operand is, the likeliest first: a result not used yet, a number in sight not used yet, ..."""
        offers: list[tuple[int, int, int | str | Sighting | tuple[str, Sighting]]] = []

        def offer(cost: int, what: int | str | Sighting | tuple[str, Sighting], name: str) -> None:
            offers.append((cost + (_UNLIKELY if name in self.here else 0), len(offers), what))

        for i in range(self.before - 1, -1, -1):
            if self.steps[i].value == value:
                offer(4 if self.steps[i].uses else 0, i, f"#{i}")
        for s in self.sightings:
            seen = s.name in self.used
            if s.kind == "fraction":
                if value in (s.over, s.under):
                    offer(2, decimal_text(value), "")
                if value == s.value:
                    offer(2, ("fraction", s), "")
                continue
            if s.value == value:
                plain_percent = s.kind == "percent" and not self.of_hundred
                unlikely = _UNLIKELY * plain_percent + 3 * s.far + 2 * (s.kind == "word" and value == 1)
                offer((3 if seen else 1) + unlikely, s, s.name)
            if s.kind == "percent":
                parts = {
                    "part": s.value / 100,
                    "rest": (100 - s.value) / 100,
                    "more": (100 + s.value) / 100,
                    "rest_percent": 100 - s.value,
                    "more_percent": 100 + s.value,
                }
                for how, derived in parts.items():
                    if derived == value and derived > 0:
                        offer(5 if how != "part" else 2, (how, s), f"{how} {s.name}")
            cents = s.value / 100 if re.search(r"\bcents?\b", self.text) else None
            if cents == value and s.kind != "percent":
                offer(5, ("part", s), f"cents {s.name}")
        if implies(self.text, value):
            offer(6, decimal_text(value), "")
        if value == 1:
            offer(7, "1", "")
        if value in self.lost and not any(cost == 0 for cost, _, _ in offers):
            offers = []  # the number means that result, not another one of its value
        if not offers:
            raise _Ungrounded(
                self.broken.get(value)
                or f"{decimal_text(value)} stands nowhere in the question, is no earlier result and is not implied by it"
            )
        offers.sort(key=lambda o: o[:2])
        number = self.operands
        self.operands += 1
        if len(offers) > 1 and offers[1][0] < _UNLIKELY:
            self.ambiguous.append(number)
        likely = max(1, sum(cost < _UNLIKELY for cost, _, _ in offers))
        return self._taken(offers[min(self.choices.get(number, 0), likely - 1)][2], value)

    def _taken(self, chosen: int | str | Sighting | tuple[str, Sighting], value: Fraction) -> int | str | Sighting:
        if isinstance(chosen, tuple):
            how, s = chosen
            if how == "fraction":
                return self._step("divide", [str(s.over), str(s.under)], value)
            base: int | str | Sighting = self._taken(s, s.value)
            name = f"{how} {s.name}"
            self.here.add(name)
            if how.startswith(("rest", "more")):
                op, changed = ("subtract", 100 - s.value) if how.startswith("rest") else ("add", 100 + s.value)
                base = self._again(op, ["100", base], changed)
                if how.endswith("percent"):
                    return base
            return self._again("divide", [base, "100"], value)
        if isinstance(chosen, Sighting):
            self.used.add(chosen.name)
            self.here.add(chosen.name)
            return chosen if self.may_be_input(chosen) else decimal_text(chosen.value)
        if isinstance(chosen, int):
            self.here.add(f"#{chosen}")
        return chosen

    def _again(self, op: str, args: list[int | str | Sighting], value: Fraction) -> int:
        """The step `op(args)`, the same one if it was made before."""
        same = (i for i, s in enumerate(self.steps) if s.op == op and s.args == args)
        found = next(same, None)
        return self._step(op, args, value) if found is None else found

    def _collect(self, target: int) -> Graph:
        """The steps that the target needs, in order, numbered R1, R2, ..., and the inputs in order of the text."""
        needed: set[int] = set()
        stack = [target]
        while stack:
            i = stack.pop()
            if i not in needed:
                needed.add(i)
                stack += [a for a in self.steps[i].args if isinstance(a, int)]
        order = sorted(needed)
        ids = {i: f"R{n}" for n, i in enumerate(order, 1)}
        taken = {a.name for i in order for a in self.steps[i].args if isinstance(a, Sighting)}
        graph = Graph([(s.name, s.value) for s in self.sightings if s.name in taken], [])
        for i in order:
            step = self.steps[i]
            args = [ids[a] if isinstance(a, int) else a.name if isinstance(a, Sighting) else a for a in step.args]
            graph.steps.append((ids[i], step.op, args, step.value))
        if not graph.inputs:
            raise NotAGraph("grounding", "the computation takes no number from the question")
        dropped = len(self.steps) - len(order)
        idle = sum(s.name not in taken and s.kind == "figure" and not s.far for s in self.sightings)
        idle += sum(3 * s.far for s in self.sightings if s.name in taken)
        self.score = 6 * dropped + 2 * sum(max(0, s.uses - 1) for s in self.steps) + idle
        if dropped:
            graph.notes.append(f"{dropped} computed values do not reach the answer and are left out")
        values = [v for _, v in graph.inputs]
        if len(set(values)) < len(values):
            graph.notes.append("two inputs have the same value: check which is which")
        return graph
