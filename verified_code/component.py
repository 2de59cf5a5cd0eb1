"""A component: `Impl.dfy`, the paired `Spec.dfy`, and what they include, read and parsed.

Includes are followed relative to the including file, as Dafny does, and never out of the component's folder. A file that
`Spec.dfy` reaches is of the specification, whoever else includes it; what `Impl.dfy` alone reaches is of the
implementation. Source: surfaces.md, "Surface B"; paper appendix C.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from verified_code.declarations import File, parse
from verified_code.errors import DafnySyntaxError, Place
from verified_code.tokens import MAX_CHARS, Lines

SPEC, IMPL = "Spec.dfy", "Impl.dfy"
MAX_FILES = 200


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a text of the component is missing from the analysis; `place` names the file, line and column."""

    place: Place
    why: str

    def __str__(self) -> str:
        return f"{self.place}: {self.why}"


@dataclass(slots=True)
class Component:
    """`spec`: the files of the specification, `Spec.dfy` first; `impl`: `Impl.dfy` first, then what it alone includes."""

    path: Path
    spec: list[File] = field(default_factory=list)
    impl: list[File] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)

    @property
    def implementation(self) -> File | None:
        """`Impl.dfy` itself, where it could be parsed."""
        return self.impl[0] if self.impl and self.impl[0].name == IMPL else None


def load_component(path: Path) -> Component:
    """Read a component's folder. What cannot be read or parsed is listed in `unreadable`; nothing raises."""
    component = Component(path)
    seen: set[str] = set()
    root = os.path.realpath(path)
    for name, files in ((SPEC, component.spec), (IMPL, component.impl)):
        _load(root, os.path.join(root, name), Place(name, 1, 1), files, seen, component.unreadable)
    return component


def from_texts(spec: str, impl: str, path: Path = Path()) -> Component:
    """A component of two texts that include nothing but `Spec.dfy`."""
    component = Component(path)
    for name, text, files in ((SPEC, spec, component.spec), (IMPL, impl, component.impl)):
        parsed = _parse(name, text, component.unreadable)
        if parsed:
            files.append(parsed)
            for included, at in parsed.includes:
                if Path(included) != Path(SPEC):
                    component.unreadable.append(Unreadable(parsed.lines.place(at), f"no file {included!r} is given"))
    return component


def _load(root: str, path: str, origin: Place, files: list[File], seen: set[str], unreadable: list[Unreadable]) -> None:
    todo = [(path, origin)]
    while todo:
        path, origin = todo.pop(0)
        real = _real(root, path)
        if not real.startswith(root + os.sep):
            name = os.path.basename(path)
            unreadable.append(Unreadable(origin, f"the include {name!r} lies outside the component and is refused"))
            continue
        if real in seen:
            continue
        seen.add(real)
        if len(seen) > MAX_FILES:
            unreadable.append(Unreadable(origin, f"more than {MAX_FILES} files are included"))
            return
        name = real[len(root) + 1 :].replace(os.sep, "/")
        text = _read(real, origin, name, unreadable)
        if text is None:
            continue
        parsed = _parse(name, text, unreadable)
        if parsed is None:
            continue
        files.append(parsed)
        folder = os.path.dirname(real)
        todo += [(os.path.join(folder, included), parsed.lines.place(at)) for included, at in parsed.includes]


def _real(root: str, path: str) -> str:
    """The path without links and dots; a plain file directly in the (real) root costs one look."""
    path = os.path.normpath(path)
    if os.path.dirname(path) == root and not os.path.islink(path):
        return path
    return os.path.realpath(path)


def _read(path: str, origin: Place, name: str, unreadable: list[Unreadable]) -> str | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe would wait for a writer
        with open(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise IsADirectoryError(0, "it is no regular file")
            return stream.read(4 * MAX_CHARS + 1).decode("utf-8")
    except UnicodeDecodeError as error:
        unreadable.append(Unreadable(Place(name, 1, 1), f"not UTF-8 (byte {error.start}); save the file as UTF-8"))
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL
        why = (
            "is missing"
            if isinstance(error, FileNotFoundError)
            else f"cannot be read ({getattr(error, 'strerror', '') or error})"
        )
        unreadable.append(Unreadable(origin, f"{name} {why}"))
    return None


def _parse(name: str, text: str, unreadable: list[Unreadable]) -> File | None:
    try:
        return parse(text, name)
    except DafnySyntaxError as error:
        unreadable.append(Unreadable(Lines(name, text).place(error.at), error.why))
        return None
