"""How much of a corpus of Dafny files the front end reads, and what it cannot, by construct.

Ill-formed files are in such a corpus too (cut texts, prose): a list of files that Dafny itself refuses may be given, and is
counted apart. Source: dafny.md, sections 2.4 and 3.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verified_code.declarations import parse
from verified_code.errors import DafnySyntaxError, OperatorError
from verified_code.tokens import Lines

MAX_BYTES = 4 * 2**20
_QUOTED = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"")


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that was not read. `construct` is the reason without the text at hand, so that like ones count together."""

    place: str
    why: str
    construct: str


@dataclass(slots=True)
class CorpusReport:
    """`parsed` of `files`; `excluded`: named as ill-formed by the caller, and in no share. Times in seconds."""

    files: int = 0
    parsed: int = 0
    excluded: int = 0
    refused: list[Refused] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @property
    def share(self) -> float | None:
        return self.parsed / self.files if self.files else None

    def by_construct(self) -> dict[str, list[Refused]]:
        """The refused files by construct, the most frequent first."""
        found: dict[str, list[Refused]] = {}
        for one in self.refused:
            found.setdefault(one.construct, []).append(one)
        return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))

    def to_dict(self) -> dict[str, Any]:
        times = sorted(self.seconds)
        return {
            "files": self.files,
            "parsed": self.parsed,
            "share": self.share,
            "excluded": self.excluded,
            "median_s": times[len(times) // 2] if times else None,
            "max_s": times[-1] if times else None,
            "refused": {k: [[r.place, r.why] for r in v] for k, v in self.by_construct().items()},
        }


def parse_corpus(paths: Collection[Path], ill_formed: Collection[str] = ()) -> CorpusReport:
    """Parse every `.dfy` file at or below the paths.

    Args:
        ill_formed: paths (as found) or names of files that are no Dafny.

    Raises:
        OperatorError: a path does not exist, or no Dafny file is there.
    """
    report = CorpusReport()
    bad = set(ill_formed)
    for path in sorted(set(_files(paths))):
        if str(path) in bad or path.name in bad:
            report.excluded += 1
            continue
        report.files += 1
        _parse(path, report)
    if not report.files and not report.excluded:
        raise OperatorError(f"no .dfy file at {', '.join(map(str, paths))}")
    return report


def _files(paths: Collection[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_file():
            yield path
        elif path.is_dir():
            for folder, _, names in os.walk(path):
                yield from (Path(folder, name) for name in names if name.endswith(".dfy"))
        else:
            raise OperatorError(f"{path}: there is no such file or folder")


def _parse(path: Path, report: CorpusReport) -> None:
    try:
        with path.open("rb") as stream:
            text = stream.read(MAX_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        report.refused.append(Refused(str(path), str(error), "cannot be read as UTF-8 text"))
        return
    begun = time.perf_counter()
    try:
        parse(text, path.name)
        report.parsed += 1
    except DafnySyntaxError as error:
        place = Lines(path.name, text).place(min(error.at, len(text)))
        construct = _QUOTED.sub("...", error.why)
        report.refused.append(Refused(f"{path}:{place.line}:{place.column}", error.why, construct))
    finally:
        report.seconds.append(time.perf_counter() - begun)
