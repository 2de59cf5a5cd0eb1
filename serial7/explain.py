"""What one check asks, told to a person: its sentence, what it replaces, a good and a bad example."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from rich.text import Text

from serial7.check import AnyRule, Due
from serial7.errors import OperatorError
from serial7.format import AnyFormat
from serial7.formats import FORMATS, get_format
from serial7.ir import CanonicalIR, Input, Ref, Step
from serial7.prompts import statements
from serial7.verify import active_checks

# The running example of contracts.md section 4 and of paper table 20.
EXAMPLE = CanonicalIR(
    Decimal(3521),
    (Input("caribbean_price", Decimal(503)),),
    (Step("R1", "multiply", (Ref("caribbean_price"), Decimal(7)), Decimal(3521)),),
)


def good_example(format_: AnyFormat, rule: AnyRule) -> str:
    """The running example under the rule."""
    return format_.render(EXAMPLE, frozenset({rule.name}), format_.styles[0])


def bad_example(format_: AnyFormat, rule: AnyRule) -> str:
    """The same document with the rule's near miss: it fails this rule and nothing else.

    Raises:
        ValueError: the good example does not hold what the near miss says.
    """
    if rule.near_miss is None:
        return format_.render(EXAMPLE, frozenset(), format_.styles[0])
    good = good_example(format_, rule)
    there, instead = rule.near_miss
    if there not in good:
        raise ValueError(f"{format_.name}.{rule.name}: {there!r} does not stand in its good example")
    return good.replace(there, instead, 1)


def explanation(check: str, format_name: str | None, language: str) -> Iterator[Text]:
    """The lines that explain `check` (`format.feature.key_order`, `structure.unique_step_ids`) in each format.

    Raises:
        OperatorError: no format has such a check.
    """
    found = False
    for format_ in [get_format(format_name)] if format_name else FORMATS.values():
        rule = format_.rules.get(check.removeprefix("format.feature."))
        if check.startswith("format.feature."):
            if rule is not None:
                found = True
                yield from _explain_rule(format_, rule, language)
            continue
        lines = _sentences(format_, check, language)
        if lines:
            found = True
            yield Text(f"{check} ({format_.title})", style="bold")
            yield from (Text(f"  {line}") for line in lines)
    if not found:
        known = sorted(
            {c for f in FORMATS.values() for c in active_checks(f, Due(), f.rules, "realize", with_gold=True)}
        )
        raise OperatorError(f"no check {check!r}; there are {', '.join(known)}")


def _sentences(format_: AnyFormat, check: str, language: str) -> list[str]:
    lines: dict[str, None] = {}
    for condition in ("realize", "preserve"):
        for due in (Due(), Due(text_answer=True), Due(graph=False)):
            for stated in statements(format_, due, (), condition):
                if stated.check == check:
                    lines[stated.statement.en if language == "en" else stated.statement.ko] = None
    return list(lines)


def _explain_rule(format_: AnyFormat, rule: AnyRule, language: str) -> Iterator[Text]:
    yield Text(f"{rule.check} ({format_.title})", style="bold")
    yield Text(f"  {rule.en if language == 'en' else rule.ko}")
    if rule.replaces:
        yield Text(f"  replaces format.{rule.replaces}, all of whose other clauses it keeps", style="dim")
    if rule.excludes:
        yield Text(f"  not together with {', '.join(sorted(rule.excludes))}", style="dim")
    where = "graph-bearing and answer-only" if rule.answer_only else "graph-bearing"
    yield Text(f"  applies to {where} artifacts{' with a numeric answer' if rule.numeric else ''}", style="dim")
    for title, style, example in (
        ("good", "green", good_example(format_, rule)),
        ("bad", "red", bad_example(format_, rule)),
    ):
        yield Text(f"  {title}:", style=style)
        yield from (Text(f"    {line}") for line in example.rstrip("\n").split("\n"))
