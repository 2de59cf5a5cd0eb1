"""What many tests share: the artifacts, a few IRs that are hard to write, and the folder of labelled cases."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from serial7.artifacts import load_artifacts
from serial7.ir import CanonicalIR, Input, Ref, Step

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"

AWKWARD_TEXTS = (
    "대한민국 임시정부",
    "profit & loss",
    "a < b > c",
    "snake_case #1 50% $3 {x} ^ ~ \\alpha",
    "use ```json blocks",
    "*not* **bold** `code` [a](b) | pipe",
    "yes",
    "null",
    "true",
    "~",
    "- dash",
    "# hash",
    "> quote",
    "3521",
    'it\'s "quoted"',
    "1. one",
    "&amp",
    "key: value",
    "[[answer]]",
    "<think>",
)


def small_irs() -> list[CanonicalIR]:
    """Graph-bearing and answer-only IRs with negative, tiny, large and non-integer numbers, and awkward texts."""
    graph = CanonicalIR(
        Decimal("-0.0025"),
        (
            Input("x_value", Decimal("-25")),
            Input("tiny", Decimal("0.000012")),
            Input("big", Decimal("9007199254740993")),
        ),
        (
            Step("E1", "multiply", (Ref("x_value"), Decimal("0.0001")), Decimal("-0.0025")),
            Step("E2", "add", (Ref("tiny"), Ref("big")), Decimal("9007199254740993.000012")),
            Step("E3", "min", (Ref("E1"), Ref("E2"), Decimal("7")), Decimal("-0.0025")),
        ),
    )
    return [graph, CanonicalIR(Decimal("42")), CanonicalIR(Decimal("-0.75")), *(CanonicalIR(t) for t in AWKWARD_TEXTS)]


@pytest.fixture(scope="session")
def irs() -> list[CanonicalIR]:
    return [*(a.ir for a in list(load_artifacts().values())[:14]), *small_irs()]
