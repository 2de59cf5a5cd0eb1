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
from itertools import permutations
from typing import Any, TypeVar

from serial7.artifacts import LANGUAGES, Artifact, data_text, load_artifacts
from serial7.errors import OperatorError
from serial7.formats import FORMATS

CONDITIONS = ("derive", "realize", "preserve")
LEVELS = (1, 2, 3)
SEED = 7
REALIZE_ARTIFACTS = 35  # for each format and level, in both languages
# Table 6, rows = source, columns = target, in the order of FORMATS' names here. The paper's TOML row is lost; its sum is 246.
_NAMES = ("json", "xml", "markdown", "html", "latex", "yaml", "toml")
_TABLE_6 = (
    (0, 34, 36, 36, 40, 38, 40),
    (40, 0, 45, 39, 45, 36, 45),
    (38, 42, 0, 42, 44, 41, 44),
    (43, 44, 40, 0, 36, 36, 41),
    (43, 41, 42, 42, 0, 44, 38),
    (44, 38, 39, 39, 36, 0, 38),
    (41, 41, 41, 41, 41, 41, 0),
)
PRESERVE_INSTANCES = {
    (source, target): _TABLE_6[i][j] for i, source in enumerate(_NAMES) for j, target in enumerate(_NAMES) if i != j
}

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


def draw_grid(artifacts: Mapping[str, Artifact], seed: int = SEED) -> list[Request]:
    """The grid of the paper. Over 177 artifacts: Derive 354, Realize 7 x 3 x 35 x 2 = 1,470, Preserve 1,695."""
    return draw(
        artifacts,
        realize_artifacts=lambda _level: REALIZE_ARTIFACTS,
        preserve_instances=lambda source, target: PRESERVE_INSTANCES[source, target],
        seed=seed,
    )


@cache
def load_grid(folder: str = "") -> tuple[Request, ...]:
    """The stored grid of a folder's `grid.jsonl`, or the one that ships, drawn by `draw_grid` from its artifacts.

    Raises:
        OperatorError: the file cannot be read, or a line is no request over the folder's artifacts.
    """
    artifacts = load_artifacts(folder)
    found = []
    for number, line in enumerate(data_text(folder, "grid.jsonl").splitlines(), 1):
        try:
            request = Request.from_dict(json.loads(line))
        except (ValueError, TypeError, KeyError) as error:
            raise OperatorError(f"{folder}/grid.jsonl, line {number}: no request: {error!r}") from error
        if request.artifact_id not in artifacts:
            raise OperatorError(f"{folder}/grid.jsonl, line {number}: there is no artifact {request.artifact_id}")
        found.append(request)
    return tuple(found)


def rule_support(requests: Iterable[Request]) -> Counter[str]:
    """How many requests each rule is active in, by `format.rule` (the paper's table 7 calls it support)."""
    return Counter(f"{r.format}.{rule}" for r in requests for rule in r.rules)


def pair_support(requests: Iterable[Request]) -> Counter[tuple[str, str]]:
    """How many Preserve requests each directed pair (source, target) has (table 6)."""
    return Counter((r.source_format, r.format) for r in requests if r.condition == "preserve")


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
