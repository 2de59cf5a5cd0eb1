"""A stage's rows in a Parquet file that says what it was made from: the same inputs are not worked twice.

The bytes depend on the rows alone: no clock, no host, one row group size, one codec.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from serial7.build.reading import need_pyarrow
from serial7.errors import OperatorError

SCHEMA_VERSION = 1
ROW_GROUP = 4096
_KEY = b"serial7.build"

Rows = list[dict[str, str]]


def digest(*parts: str | bytes) -> str:
    """SHA-256 over the parts and their lengths, hexadecimal."""
    hashed = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
        hashed.update(f"{len(data)}:".encode() + data)
    return hashed.hexdigest()


def code_digest() -> str:
    """What the stages do: the sources of the modules that decide it."""
    package = Path(__file__).resolve().parent.parent
    names = ["ir.py", "operations.py", "quantities.py", "redundancy.py", "validation.py"]
    files = [package / n for n in names] + sorted((package / "build").rglob("*.py"))
    return digest(*(f.read_bytes() for f in files if f.is_file()))


def to_parquet(columns: Sequence[str], rows: Iterable[Mapping[str, str]], made_from: str) -> bytes:
    """The file of a stage: text columns, and what it was made from in the schema's metadata."""
    pq = need_pyarrow()
    import pyarrow as pa

    rows = list(rows)
    meta = json.dumps({"version": SCHEMA_VERSION, "made_from": made_from})
    schema = pa.schema([pa.field(c, pa.string(), nullable=False) for c in columns], metadata={_KEY: meta.encode()})
    table = pa.table({c: pa.array([row[c] for row in rows], pa.string()) for c in columns}, schema=schema)
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd", row_group_size=ROW_GROUP, version="2.6")
    return sink.getvalue()


def from_parquet(data: bytes, made_from: str) -> Rows | None:
    """The rows, or None if the file was made from something else, by another version, or is damaged."""
    pq = need_pyarrow()
    try:
        table = pq.read_table(io.BytesIO(data))
        meta = json.loads((table.schema.metadata or {}).get(_KEY, b"{}"))
    except Exception:  # whatever is wrong with the file, its rows are made again
        return None
    if meta != {"version": SCHEMA_VERSION, "made_from": made_from}:
        return None
    rows: Rows = table.to_pylist()
    return rows


class Stages:
    """The stages of one build folder, each known by the hash of what it is made from.

    Raises:
        OperatorError: the folder cannot be made or written.
    """

    def __init__(self, out: Path, say: Callable[[str], None] = lambda _line: None) -> None:
        self.out = out
        self.say = say
        self.done: dict[str, bool] = {}  # stage -> whether it was made now (False: resumed)
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OperatorError(f"out: cannot make {out}: {error.strerror}; give another folder") from error

    def run(self, name: str, made_from: str, columns: Sequence[str], make: Callable[[], Rows]) -> tuple[Rows, str]:
        """The rows of a stage and the hash of its file; `make` is called only if the file is not there already."""
        file = self.out / f"{name}.parquet"
        data = file.read_bytes() if file.is_file() else b""
        rows = from_parquet(data, made_from) if data else None
        self.done[name] = rows is None
        if rows is None:
            rows = make()
            data = to_parquet(columns, rows, made_from)
            self.write(file.name, data)
        self.say(f"{name}: {len(rows)} rows{'' if self.done[name] else ', as before'}")
        return rows, digest(data)

    def write(self, name: str, data: bytes) -> None:
        """Put a file in place whole."""
        target = self.out / name
        temporary = self.out / f".{name}.{os.getpid()}.tmp"
        try:
            temporary.write_bytes(data)
            temporary.replace(target)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise OperatorError(f"out: cannot write {target}: {error.strerror}") from error


def json_lines(values: Iterable[Any]) -> bytes:
    return "".join(json.dumps(v, ensure_ascii=False) + "\n" for v in values).encode()
