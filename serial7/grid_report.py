"""What a grid asks, in numbers: counts, supports (paper tables 6 and 7), and the lengths of its prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from serial7.artifacts import Artifact
from serial7.errors import OperatorError
from serial7.formats import FORMATS
from serial7.grid import Request, pair_support, rule_support
from serial7.prompts import prompt


def grid_report(
    requests: Sequence[Request], artifacts: Mapping[str, Artifact], tokenizer: Path | None = None
) -> Iterator[str]:
    """Lines for people.

    Args:
        tokenizer: a `tokenizer.json`; None reports characters and bytes only.

    Raises:
        OperatorError: the tokenizer cannot be read, or the package `tokenizers` is missing.
    """
    count = _counter(tokenizer)
    conditions = Counter(r.condition for r in requests)
    yield ", ".join(f"{name} {number}" for name, number in conditions.items()) + f", in all {len(requests)}"
    languages = Counter(r.language for r in requests)
    kinds = Counter("graph-bearing" if artifacts[r.artifact_id].ir.graph_bearing else "answer-only" for r in requests)
    yield ", ".join(f"{name} {number}" for name, number in sorted((*languages.items(), *kinds.items())))
    support = rule_support(requests)
    yield f"support of each rule, least {min(support.values(), default=0)}:"
    for name, format_ in FORMATS.items():
        yield f"  {format_.title}: " + ", ".join(f"{rule} {support[f'{name}.{rule}']}" for rule in format_.rules)
    pairs = pair_support(requests)
    yield "transfers (rows = source): " + ", ".join(f.title for f in FORMATS.values())
    for name, format_ in FORMATS.items():
        cells = [str(pairs[name, target]) if target != name else "-" for target in FORMATS]
        yield f"  {format_.title:9}" + "".join(f"{cell:>5}" for cell in cells)
    yield from _lengths(requests, artifacts, count)


def _lengths(
    requests: Sequence[Request], artifacts: Mapping[str, Artifact], count: Callable[[str], int] | None
) -> Iterator[str]:
    units: dict[str, Callable[[str], int]] = {"characters": len, "bytes": lambda text: len(text.encode())}
    if count is not None:
        units["tokens"] = count
    texts = [(f"{r.condition} {r.language}", prompt(r, artifacts[r.artifact_id])) for r in requests]
    for unit, measure in units.items():
        yield f"{unit} of a prompt (median, 95th percentile, largest; sum):"
        by_place: dict[str, list[int]] = {}
        for place, text in texts:
            by_place.setdefault(place, []).append(measure(text))
        for place, sizes in by_place.items():
            sizes.sort()
            most = sizes[min(len(sizes) - 1, len(sizes) * 95 // 100)]
            yield f"  {place:12}{sizes[len(sizes) // 2]:7}{most:7}{sizes[-1]:7}{sum(sizes):10}"


def _counter(tokenizer: Path | None) -> Callable[[str], int] | None:
    if tokenizer is None:
        return None
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise OperatorError("--tokenizer needs the package tokenizers (pip install tokenizers)") from error
    try:
        loaded = Tokenizer.from_file(str(tokenizer))
    except Exception as error:  # the package raises bare Exception
        raise OperatorError(f"cannot read the tokenizer {tokenizer}: {error}; a tokenizer.json is due") from error
    return lambda text: len(loaded.encode(text).ids)
