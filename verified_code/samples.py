"""Samples of verified code on disk: tasks with their requirement, cases and attempts.

A task's folder holds `task.json` and `cases.jsonl` (both optional) and one folder a sample with `Spec.dfy` and
`Impl.dfy`. Any tree will do: every folder that holds `Impl.dfy` is a sample, the folder above it its task.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verified_code.cases import Case
from verified_code.component import IMPL
from verified_code.errors import OperatorError

TASK_FILE, CASES_FILE = "task.json", "cases.jsonl"


@dataclass(frozen=True, slots=True)
class Task:
    """`unique`: the requirement allows one output for each input. `checker`: a predicate of the reference's `Spec.dfy`
    over the method's inputs and outputs that tells right from wrong. `reference`: the folder of a trusted solution."""

    name: str
    folder: Path
    cases: tuple[Case, ...] = ()
    method: str = ""
    unique: bool = False
    checker: str = ""
    reference: Path | None = None
    invalid_inputs: tuple[Mapping[str, Any], ...] = ()
    problems: tuple[str, ...] = ()
    info: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sample:
    task: Task
    name: str
    folder: Path

    @property
    def id(self) -> str:
        return f"{self.task.name}/{self.name}"

    def content_hash(self) -> str:
        """SHA-256 over every file of the sample and over the task's cases, hexadecimal."""
        found = hashlib.sha256()
        for path in sorted(p for p in self.folder.rglob("*") if p.is_file()):
            found.update(f"{path.relative_to(self.folder).as_posix()}\0{path.stat().st_size}\0".encode())
            found.update(path.read_bytes())
        found.update(
            json.dumps(
                [[c.input, c.output, c.kind, list(c.admissible)] for c in self.task.cases], sort_keys=True
            ).encode()
        )
        found.update(f"{self.task.method}\0{self.task.unique}\0{self.task.checker}".encode())
        return found.hexdigest()


def load_samples(root: Path) -> list[Sample]:
    """Every sample below `root`, in the order of the paths. A damaged task file is noted in the task's `problems`.

    Raises:
        OperatorError: there is no such folder, or nothing in it.
    """
    if not root.is_dir():
        raise OperatorError(f"{root}: there is no such folder; name a folder of tasks, each with a folder a sample")
    tasks: dict[Path, Task] = {}
    found: list[Sample] = []
    for folder in sorted(_folders(root)):
        parent = folder.parent if folder != root else folder
        if parent not in tasks:
            tasks[parent] = load_task(parent, parent.relative_to(root).as_posix() if parent != root else root.name)
        found.append(Sample(tasks[parent], folder.name, folder))
    if not found:
        raise OperatorError(f"{root}: no folder below it holds {IMPL}")
    return found


def _folders(root: Path) -> Iterator[Path]:
    for folder, _, files in os.walk(root):
        if IMPL in files:
            yield Path(folder)


def load_task(folder: Path, name: str) -> Task:
    """The task of a folder; what its files lack is empty, what is broken in them is in `problems`."""
    problems: list[str] = []
    info: dict[str, Any] = {}
    path = folder / TASK_FILE
    if path.is_file():
        try:
            read = json.loads(path.read_text("utf-8"))
            if not isinstance(read, dict):
                raise ValueError("an object is due")
            info = read
        except (OSError, ValueError, RecursionError) as error:
            problems.append(f"{path}: cannot be read ({error})")
    cases: list[Case] = []
    path = folder / CASES_FILE
    if path.is_file():
        try:
            lines = path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            lines = []
            problems.append(f"{path}: cannot be read ({error})")
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    cases.append(Case.from_dict(json.loads(line)))
                except (OperatorError, ValueError, RecursionError) as error:
                    problems.append(f"{path}:{number}: {error}")
    reference = folder / str(info.get("reference", "good"))
    invalid = info.get("invalid_inputs", [])
    return Task(
        name=name,
        folder=folder,
        cases=tuple(cases),
        method=str(info.get("method", "")),
        unique=bool(info.get("unique", False)),
        checker=str(info.get("checker") or ""),
        reference=reference if reference.is_dir() else None,
        invalid_inputs=tuple(i for i in invalid if isinstance(i, dict)) if isinstance(invalid, list) else (),
        problems=tuple(problems),
        info=info,
    )
