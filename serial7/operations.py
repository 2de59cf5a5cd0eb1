"""The closed list of operations and their bounded, exact execution. Source: contracts.md section 1.

Rational operations are computed with fractions. Only the transcendental ones and roots that are not perfect
use binary floats; such a result within 1e-12 of an integer counts as that integer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf

from serial7.errors import StepFailed

MAX_BITS = 13_000  # of a numerator or denominator: far beyond 400 digits, and still printable (4,300 digits)
_SNAP = Fraction(1, 10**12)


@dataclass(frozen=True, slots=True)
class Operation:
    """`least` to `most` arguments, and how they are computed."""

    name: str
    least: int
    most: float
    compute: Callable[[Sequence[Fraction]], Fraction]

    @property
    def arity(self) -> str:
        if self.most == inf:
            return f"{self.least} or more"
        return str(self.least) if self.least == self.most else f"{self.least} or {int(self.most)}"


def execute(op: str, args: Sequence[Fraction]) -> Fraction:
    """The value of one step.

    Raises:
        StepFailed: unknown operation, wrong number of arguments, undefined there, or too large to compute.
    """
    operation = OPERATIONS.get(op)
    if operation is None:
        raise StepFailed(f"operation {op!r} is not one of {', '.join(OPERATIONS)}")
    if not operation.least <= len(args) <= operation.most:
        raise StepFailed(f"{op} takes {operation.arity} arguments, {len(args)} given")
    try:
        return _bounded(operation.compute(args))
    except OverflowError as error:
        raise StepFailed(f"{op} is too large to compute") from error
    except ZeroDivisionError as error:
        raise StepFailed(f"{op} divides by zero") from error


def _bounded(value: Fraction) -> Fraction:
    if value.numerator.bit_length() > MAX_BITS or value.denominator.bit_length() > MAX_BITS:
        raise StepFailed("the result has too many digits to compute")
    return value


def _product(args: Sequence[Fraction]) -> Fraction:
    result = Fraction(1)
    for value in args:
        result = _bounded(result * value)
    return result


def _total(args: Sequence[Fraction]) -> Fraction:
    result = Fraction(0)
    for value in args:
        result = _bounded(result + value)
    return result


def _from_float(value: float) -> Fraction:
    if not math.isfinite(value):
        raise StepFailed("the result is not a finite number")
    exact = Fraction(value)
    nearest = Fraction(round(exact))
    return nearest if abs(exact - nearest) <= _SNAP else exact


def _floating(function: Callable[[float], float]) -> Callable[[Sequence[Fraction]], Fraction]:
    return lambda args: _from_float(function(float(args[0])))


def _modulo(args: Sequence[Fraction]) -> Fraction:
    a, b = args
    return a - b * math.floor(a / b)


def _power(args: Sequence[Fraction]) -> Fraction:
    base, exponent = args
    if exponent.denominator != 1:
        if base <= 0:
            raise StepFailed("power with a fractional exponent needs a base above 0")
        return _from_float(float(base) ** float(exponent))
    if base == 0 and exponent <= 0:
        raise StepFailed("power(0, 0) is undefined" if exponent == 0 else "power divides by zero")
    if abs(base) == 1 or base == 0:  # these alone stay small under any exponent
        return base if exponent % 2 or base >= 0 else -base
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(exponent) * max(bits - 1, 1) > MAX_BITS:
        raise StepFailed(f"power with exponent {_short(exponent)} has too many digits to compute")
    return base**exponent.numerator


def _sqrt(args: Sequence[Fraction]) -> Fraction:
    (value,) = args
    if value < 0:
        raise StepFailed("sqrt of a negative number is undefined")
    numerator, denominator = math.isqrt(value.numerator), math.isqrt(value.denominator)
    if numerator**2 == value.numerator and denominator**2 == value.denominator:
        return Fraction(numerator, denominator)
    return _from_float(math.sqrt(float(value)))


def _mean(args: Sequence[Fraction]) -> Fraction:
    return _total(args) / len(args)


def _round(args: Sequence[Fraction]) -> Fraction:
    digits = args[1] if len(args) == 2 else Fraction(0)
    if digits.denominator != 1 or not -15 <= digits <= 15:
        raise StepFailed(f"round takes an integer number of digits from -15 to 15, {_short(digits)} given")
    unit = Fraction(10) ** digits.numerator
    scaled = abs(args[0]) * unit
    rounded = Fraction(math.floor(scaled + Fraction(1, 2))) / unit  # halves away from zero
    return rounded if args[0] >= 0 else -rounded


def _logarithm(function: Callable[[float], float], name: str) -> Callable[[Sequence[Fraction]], Fraction]:
    def compute(args: Sequence[Fraction]) -> Fraction:
        if args[0] <= 0:
            raise StepFailed(f"{name} needs an argument above 0")
        return _from_float(function(float(args[0])))

    return compute


def _short(value: Fraction) -> str:
    text = str(value)
    return text if len(text) <= 24 else f"{text[:12]}... ({len(text)} characters)"


OPERATIONS: dict[str, Operation] = {
    o.name: o
    for o in (
        Operation("add", 2, inf, _total),
        Operation("subtract", 2, 2, lambda a: a[0] - a[1]),
        Operation("multiply", 2, inf, _product),
        Operation("divide", 2, 2, lambda a: a[0] / a[1]),
        Operation("modulo", 2, 2, _modulo),
        Operation("power", 2, 2, _power),
        Operation("sqrt", 1, 1, _sqrt),
        Operation("abs", 1, 1, lambda a: abs(a[0])),
        Operation("negate", 1, 1, lambda a: -a[0]),
        Operation("min", 1, inf, min),
        Operation("max", 1, inf, max),
        Operation("mean", 1, inf, _mean),
        Operation("round", 1, 2, _round),
        Operation("floor", 1, 1, lambda a: Fraction(math.floor(a[0]))),
        Operation("ceil", 1, 1, lambda a: Fraction(math.ceil(a[0]))),
        Operation("exp", 1, 1, _floating(math.exp)),
        Operation("ln", 1, 1, _logarithm(math.log, "ln")),
        Operation("log10", 1, 1, _logarithm(math.log10, "log10")),
        Operation("sin", 1, 1, _floating(math.sin)),
        Operation("cos", 1, 1, _floating(math.cos)),
        Operation("tan", 1, 1, _floating(math.tan)),
    )
}
