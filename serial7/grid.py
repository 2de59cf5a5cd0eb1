"""The requests of a model: drawn once from a seed, stored, hashed, and the same for every model.

Draws go by the order of a keyed hash, not by a random generator, so that a grid can be rebuilt bit for bit by
any Python on any machine. Source: contracts.md section 2; paper table 6.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import permutations
from typing import Any, TypeVar

from serial7.artifacts import LANGUAGES, Artifact
from serial7.formats import FORMATS

CONDITIONS = ("derive", "realize", "preserve")
LEVELS = (1, 2, 3)
STARTER_SEED = 7

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Request:
    """One thing to ask. `level` is 0 outside Realize, `format` empty in Derive, `source_format` empty outside Preserve."""

    id: str
    condition: str
    level: int
    format: str
    source_format: str
    language: str
    artifact_id: str
    rules: tuple[str, ...] = ()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Request:
        return cls(**{**data, "rules": tuple(data["rules"])})


def draw(
    artifacts: Mapping[str, Artifact],
    *,
    realize_artifacts: Callable[[int], int],
    preserve_instances: Callable[[str, str], int],
    seed: int,
) -> list[Request]:
    """Draw a grid: Derive over all artifacts, Realize per format and level, Preserve per directed pair.

    Args:
        realize_artifacts: level -> artifacts for each format, each asked in both languages under the same rules.
        preserve_instances: (source, target) -> number of (artifact, language) instances.
    """
    requests = [_request("derive", a, language) for a in artifacts for language in LANGUAGES]
    for name, format_ in FORMATS.items():
        uses: Counter[str] = Counter()
        for level in LEVELS:
            eligible = [a for a in artifacts.values() if any(format_.combinations(a.due, (level,)))]
            chosen = _shuffled(eligible, f"{seed}/realize/{name}/{level}", lambda a: a.id)[: realize_artifacts(level)]
            for artifact in chosen:
                combos = list(format_.combinations(artifact.due, (level,)))
                order = _shuffled(combos, f"{seed}/rules/{name}/{level}/{artifact.id}", "+".join)
                rules = min(order, key=lambda combo: sum(uses[rule] for rule in combo))  # every rule gets support
                uses.update(rules)
                requests += [
                    _request("realize", artifact.id, language, format=name, level=level, rules=rules)
                    for language in LANGUAGES
                ]
    places = list(FORMATS)
    for source, target in permutations(FORMATS, 2):
        salt = f"{seed}/preserve/{source}/{target}"
        instances = _interleave(
            [
                [(artifact_id, language) for artifact_id in _shuffled(list(artifacts), f"{salt}/{language}", str)]
                for language in (LANGUAGES if (places.index(source) + places.index(target)) % 2 else LANGUAGES[::-1])
            ]
        )
        requests += [
            _request("preserve", artifact_id, language, format=target, source_format=source)
            for artifact_id, language in instances[: preserve_instances(source, target)]
        ]
    return requests


def _request(
    condition: str,
    artifact_id: str,
    language: str,
    *,
    format: str = "",  # noqa: A002 - the contract's word for it
    source_format: str = "",
    level: int = 0,
    rules: tuple[str, ...] = (),
) -> Request:
    place = {"derive": "", "realize": f"L{level}/{format}/", "preserve": f"{source_format}-{format}/"}[condition]
    id_ = f"{condition}/{place}{language}/{artifact_id}"
    return Request(id_, condition, level, format, source_format, language, artifact_id, rules)


def _shuffled(items: Sequence[T], salt: str, name: Callable[[T], str]) -> list[T]:
    return sorted(items, key=lambda item: hashlib.sha256(f"{salt}/{name(item)}".encode()).digest())


def draw_starter(artifacts: Mapping[str, Artifact]) -> list[Request]:
    """The starter grid: Derive 28, Realize 7 x (2 + 1 + 1) x 2 = 56, Preserve 42; 126 requests."""
    return draw(
        artifacts,
        realize_artifacts=lambda level: 2 if level == 1 else 1,
        preserve_instances=lambda _source, _target: 1,
        seed=STARTER_SEED,
    )


@cache
def starter_grid() -> tuple[Request, ...]:
    """The stored starter grid (`data/starter_grid.jsonl`), drawn by `draw_starter`."""
    text = files("serial7").joinpath("data/starter_grid.jsonl").read_text("utf-8")
    return tuple(Request.from_dict(json.loads(line)) for line in text.splitlines())


def dump(requests: Iterable[Request]) -> str:
    """The grid as it is stored: one JSON object a line."""
    return "".join(json.dumps(asdict(r), ensure_ascii=False) + "\n" for r in requests)


def grid_hash(requests: Iterable[Request]) -> str:
    """SHA-256 over the stored form, hexadecimal."""
    return hashlib.sha256(dump(requests).encode()).hexdigest()


def select(
    requests: Iterable[Request],
    *,
    limit: int | None = None,
    conditions: Collection[str] = (),
    levels: Collection[int] = (),
    formats: Collection[str] = (),
    langs: Collection[str] = (),
    sample_ids: Collection[str] = (),
) -> list[Request]:
    """The requests that match every given filter; with `limit`, that many, spread evenly over conditions, then
    formats, then languages, the same ones each time. A filter left empty asks nothing.

    `levels` speaks of Realize, `formats` of target formats; Derive passes both. `sample_ids` are request ids or
    artifact ids.
    """
    chosen = [
        r
        for r in requests
        if (not conditions or r.condition in conditions)
        and (not levels or r.condition != "realize" or r.level in levels)
        and (not formats or r.condition == "derive" or r.format in formats)
        and (not langs or r.language in langs)
        and (not sample_ids or r.id in sample_ids or r.artifact_id in sample_ids)
    ]
    return chosen if limit is None else _spread(chosen)[:limit]


def _spread(requests: list[Request]) -> list[Request]:
    by_condition = []
    for in_condition in _groups(requests, lambda r: r.condition):
        by_format = []
        for i, in_format in enumerate(_groups(in_condition, lambda r: r.format)):
            languages = _groups(_shuffled(in_format, "spread", lambda r: r.id), lambda r: r.language)
            languages.sort(key=lambda group: (LANGUAGES.index(group[0].language) + i) % 2)
            by_format.append(_interleave(languages))
        by_condition.append(_interleave(by_format))
    return _interleave(by_condition)


def _groups(items: Iterable[T], key: Callable[[T], Hashable]) -> list[list[T]]:
    groups: dict[Hashable, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def _interleave(groups: Sequence[Sequence[T]]) -> list[T]:
    longest = max(map(len, groups), default=0)
    return [group[i] for i in range(longest) for group in groups if i < len(group)]


def with_repeat(request: Request, index: int) -> Request:
    """The request of repeat `index` (from 0): the first keeps its id, the others carry `#index`."""
    return request if index == 0 else replace(request, id=f"{request.id}#{index}")
