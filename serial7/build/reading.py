"""Rows of a file or folder as published: JSONL, JSON, CSV, Parquet. What cannot be read is a `RowFault` with its place."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from serial7.build.records import Place, RowFault, Rows
from serial7.errors import OperatorError

SUFFIXES = (".jsonl", ".json", ".csv", ".parquet")
MAX_LINE = 4 * 2**20  # bytes of one row


def need_pyarrow() -> Any:
    """pyarrow's Parquet module.

    Raises:
        OperatorError: pyarrow is not installed.
    """
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise OperatorError("building needs pyarrow, which is not installed: pip install 'serial7[job]'") from error
    return pq


def files_of(path: Path) -> list[Path]:
    """The data files at `path`, in a fixed order; a folder that is called like a data file is among them.

    Raises:
        OperatorError: there is no such path, or no data file in it.
    """
    if not path.exists():
        raise OperatorError(f"there is no {path}; give a file or a folder with {', '.join(SUFFIXES)} files")
    if path.is_file():
        if path.suffix.lower() not in SUFFIXES:
            raise OperatorError(f"{path} is no data file: {', '.join(SUFFIXES)} are read")
        return [path]
    found: list[Path] = []
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        odd = [f for f in folders if Path(f).suffix.lower() in SUFFIXES]
        found += [Path(folder, name) for name in (*names, *odd) if Path(name).suffix.lower() in SUFFIXES]
    if not found:
        raise OperatorError(f"{path} holds no data file: {', '.join(SUFFIXES)} are read")
    return sorted(found, key=lambda p: p.as_posix())


def rows_of(file: Path, name: str) -> Rows:
    """The rows of one file, each with its place; `name` is how the file is called in places."""
    whole = Place(name, 0)
    if file.is_dir():
        yield whole, RowFault("a folder", f"a {file.suffix} file")
        return
    read = {".jsonl": _jsonl, ".json": _json, ".csv": _csv, ".parquet": _parquet}[file.suffix.lower()]
    count = 0
    try:
        for place, row in read(file, name):
            count += 1
            yield place, row
    except OSError as error:
        yield whole, RowFault(f"cannot be read: {error.strerror or error}", "a readable file")
        return
    if not count:
        yield whole, RowFault("no row", "at least one row")


def _jsonl(file: Path, name: str) -> Rows:
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if line.strip():
                yield Place(name, number), _caught(line)


def _json(file: Path, name: str) -> Rows:
    try:
        data = _loads(_decoded(file.read_bytes().removeprefix(b"\xef\xbb\xbf"), limit=None))
    except RowFault as fault:
        yield Place(name, 0), fault
        return
    if isinstance(data, dict) and data and all(isinstance(v, dict) for v in data.values()):  # TabMWP: id -> problem
        for number, (key, row) in enumerate(data.items(), 1):
            yield Place(name, number, str(key)), row
        return
    for number, row in enumerate(data if isinstance(data, list) else [data], 1):
        yield Place(name, number), row if isinstance(row, dict) else _no_object(row)


def _csv(file: Path, name: str) -> Rows:
    # Undecodable bytes become lone surrogates, which the row's reader names; the rows around stay readable.
    text = file.read_bytes().removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    csv.field_size_limit(MAX_LINE)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] = []
    while True:
        place = Place(name, reader.line_num + 1)
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield place, RowFault(f"broken CSV: {error}", "RFC 4180")
            return  # where the next row begins is not known
        if not cells:
            continue
        if not header:
            header = [cell.strip() for cell in cells]
        elif len(cells) != len(header):
            yield place, RowFault(f"{len(cells)} cells", f"{len(header)} cells as in the first line")
        elif any("\ud800" <= c <= "\udfff" for cell in cells for c in cell):
            yield place, RowFault("bytes that are not UTF-8", "UTF-8")
        else:
            yield place, dict(zip(header, cells, strict=True))


def _parquet(file: Path, name: str) -> Rows:
    pq = need_pyarrow()
    number = 0
    try:
        for batch in pq.ParquetFile(file).iter_batches():
            for row in batch.to_pylist():
                number += 1
                yield Place(name, number), row
    except Exception as error:  # pyarrow raises many kinds for damaged bytes, some of them no subclass of its own
        yield Place(name, number), RowFault(f"damaged Parquet: {str(error).splitlines()[0]:.100}", "a Parquet file")


def _decoded(data: bytes, limit: int | None = MAX_LINE) -> str:
    if limit is not None and len(data) > limit:
        raise RowFault(f"a row of {len(data)} bytes", f"at most {limit}")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RowFault(f"byte 0x{data[error.start]:02x} at {error.start} is not UTF-8", "UTF-8") from error


def _loads(text: str) -> Any:
    def no_constant(word: str) -> Any:
        raise ValueError(f"{word} is no JSON")

    try:
        return json.loads(text, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise RowFault(f"broken JSON: {str(error)[:120]}", "one JSON object") from error


def _no_object(value: Any) -> RowFault:
    return RowFault(f"a JSON {type(value).__name__}", "a JSON object")


def _caught(line: bytes) -> Mapping[str, Any] | RowFault:
    try:
        row = _loads(_decoded(line))
    except RowFault as fault:
        return fault
    return row if isinstance(row, dict) else _no_object(row)


def rows_at(path: Path) -> Iterator[tuple[str, list[tuple[Place, Mapping[str, Any] | RowFault]]]]:
    """File after file: its name relative to `path`, and its rows."""
    for file in files_of(path):
        name = file.name if path.is_file() else file.relative_to(path).as_posix()
        yield name, list(rows_of(file, name))
