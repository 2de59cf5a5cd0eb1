"""An audit of a folder of samples that can be interrupted: every record is on disk before the next is asked for.

A record is kept under the hash of its sample's content, the tools and this package's version of the audit; the same command goes
on, a changed sample is asked again. Source: surfaces.md, "Reporting".
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from verified_code.audit import ACCEPTANCE, STAGES, TESTS, Summary, audit_sample, summarize
from verified_code.errors import OperatorError
from verified_code.report import write_report
from verified_code.samples import Sample, load_samples
from verified_code.surfaces import Surfaces

JOURNAL = "journal.jsonl"
BROKEN = "error"
AUDIT_VERSION = 1

Record = dict[str, Any]
Each = Callable[[Sequence[Sample]], Iterable[tuple[Sample, Record]]]
"""Samples -> (sample, record) as they are done, in any order."""


def threads(surfaces: Surfaces, *, conditional: bool = False, jobs: int = 1) -> Each:
    """Several samples at once: their time goes by in the tools."""

    def each(samples: Sequence[Sample]) -> Iterator[tuple[Sample, Record]]:
        with ThreadPoolExecutor(jobs, thread_name_prefix="audit") as pool:
            asked = {pool.submit(record_of, sample, surfaces, conditional): sample for sample in samples}
            try:
                for done in as_completed(asked):
                    yield asked[done], done.result()
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    return each


def key_of(sample: Sample, identity: Mapping[str, Any], conditional: bool) -> str:
    """What a record depends on, hexadecimal."""
    parts = json.dumps([AUDIT_VERSION, dict(identity), conditional, sample.id], sort_keys=True, default=str)
    return hashlib.sha256(f"{parts}\0{sample.content_hash()}".encode()).hexdigest()[:32]


def record_of(sample: Sample, surfaces: Surfaces, conditional: bool) -> Record:
    """The record of one sample; if our own code breaks on it, a record of that, and the others go on."""
    try:
        return audit_sample(sample, surfaces.accept, surfaces.tests, conditional=conditional)
    except Exception:
        told = traceback.format_exc()
        broken: Record = dict.fromkeys(STAGES, BROKEN)
        words = dict.fromkeys(("acceptance", "gate", "gate_literal", "tests", "post2exe", "precondition"), BROKEN)
        whys = {f"{w}_why": told[-400:] for w in ("acceptance", "gate", "tests", "post2exe", "precondition")}
        rest = {"level2": False, "flags": [], "end2end": False, "task_problems": list(sample.task.problems)}
        return {**broken, **words, **whys, **rest, "task": sample.task.name, "sample": sample.name, "traceback": told}


def audit_folder(
    root: Path,
    out: Path,
    each: Each,
    *,
    identity: Mapping[str, Any],
    conditional: bool = False,
    name: str = "",
    say: Callable[[str], None] = lambda _line: None,
) -> tuple[Summary, list[Record]]:
    """Audit every sample below `root` into `out` (journal, records, summary, page, figure).

    Args:
        each: makes the records; `identity`: the tools that it asks, part of what a kept record depends on.

    Raises:
        OperatorError: no samples there, or `out` cannot be written; what was recorded is kept.
    """
    samples = load_samples(root)
    journal = Journal(out / JOURNAL)
    keys = {s.id: key_of(s, identity, conditional) for s in samples}
    found = {s.id: journal.records[keys[s.id]] for s in samples if keys[s.id] in journal.records}
    if found:
        say(f"{len(found)} of {len(samples)} samples are recorded already")
    todo = [s for s in samples if s.id not in found]
    for number, (sample, record) in enumerate(each(todo) if todo else (), 1):
        found[sample.id] = record
        if record[ACCEPTANCE] != BROKEN:
            journal.keep(keys[sample.id], record)
        if number % 10 == 0 or number == len(todo):
            say(f"{number} of {len(todo)} samples audited")
    records = [found[s.id] for s in samples]
    summary = summarize(records, name or root.resolve().name)
    write_report(out, summary, records)
    return summary, records


class Journal:
    """Key -> record, one JSON object a line, synced; a line cut by a kill is left behind and made again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.records: dict[str, Record] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            raw = path.read_bytes() if path.is_file() else b""
            if raw and not raw.endswith(b"\n"):
                with path.open("ab") as file:
                    file.write(b"\n")
            path.touch()
        except OSError as error:
            raise OperatorError(f"{path.parent}: cannot be written ({error.strerror}); give another --out") from error
        for line in raw.splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError):
                read = json.loads(line)
                if {*STAGES, "task", "sample"} <= read["record"].keys():
                    self.records[str(read["key"])] = read["record"]

    def keep(self, key: str, record: Record) -> None:
        line = json.dumps({"key": key, "record": record}, ensure_ascii=True, sort_keys=True) + "\n"
        try:
            with self._path.open("ab") as file:
                file.write(line.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise OperatorError(
                f"{self._path}: cannot be written ({error.strerror}); what was recorded is kept"
            ) from error
        self.records[key] = record


# -- the set that ships --------------------------------------------------------------------------------------------------


def caught_by(record: Mapping[str, Any]) -> str | None:
    """The first that objects: `A`, `B`, `flags`, `C.tests`, `C.post2exe`; None where none does."""
    if record["acceptance"] != "verified":
        return "A"
    if record["gate"] != "bound":
        return "B"
    if record["flags"]:
        return "flags"
    if record[TESTS] != "pass":
        return "C.tests"
    return None if record["post2exe"] == "keep" else "C.post2exe"


def differences(samples: Sequence[Sample], records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Where records are not what the tasks' labels expect; a surface that was not run is not compared."""
    found = []
    for sample, record in zip(samples, records, strict=True):
        label = next((s for s in sample.task.info.get("samples", []) if s.get("name") == sample.name), None)
        if label is None:
            continue
        seen: dict[str, Any] = {k: record[k] for k in ("acceptance", "gate", "post2exe", "precondition", "flags")}
        seen["tests"] = record["tests"] if record["tests"] in ("pass", "fail") else None
        not_run = {k for k in ("acceptance", "tests") if record[k] == "not_run"}
        for surface, due in label["expect"].items():
            if surface not in not_run and seen[surface] != due:
                found.append(f"{sample.id}: {surface} is {seen[surface]}, {due} is expected")
        if not not_run and caught_by(record) != label["caught_by"]:
            found.append(f"{sample.id}: caught by {caught_by(record)}, {label['caught_by']} is expected")
    return found
