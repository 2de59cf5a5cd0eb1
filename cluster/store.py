"""The run folder: what is in it, how it is written so that nothing stored is lost, and how it is read back.

Parts are append-only Parquet files: written under a temporary name, synced, then renamed, so that a reader sees a
whole part or none. On an object store a part is put once. The journal's process holds the folder's lock
(`cluster.lock`).
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from fsspec.implementations.local import LocalFileSystem

from cluster import rows
from cluster.errors import StoreError, UsageError
from serial7.metrics import SCORED

MIN_FREE_BYTES = 256 * 2**20
READERS = 8  # parts read at once
GROUP_ROWS = 4096
COMPACT_PARTS = 64  # small parts that are put together in one
COMPACTED = ".compacted.parquet"
_REPLACES = b"serial7.replaces"


def root() -> Path:
    """What relative folders are relative to: `$SERIAL7_ROOT`; in a Ray job, whose working directory is a throw-away
    copy, `~/serial7`; else the working directory."""
    named = os.environ.get("SERIAL7_ROOT")
    if named:
        return Path(named).expanduser().resolve()
    return Path.home() / "serial7" if in_job() else Path.cwd()


def in_job() -> bool:
    """Whether this process is the entry point of `ray job submit`."""
    return "RAY_JOB_CONFIG_JSON_ENV_VAR" in os.environ


def resolve_out(out: str) -> str:
    """An absolute folder, or a URI as it is."""
    return out.rstrip("/") if "://" in out else str((root() / Path(out).expanduser()).resolve())


class RunFolder:
    """One run's folder, local or on an object store (any fsspec URI). Opening it writes nothing."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.fs, self.path = fsspec.core.url_to_fs(url)
        self.local = isinstance(self.fs, LocalFileSystem)

    def file(self, name: str) -> str:
        return str(PurePosixPath(self.path) / name)

    def probe(self) -> None:
        """Make the folder and write to it, before anything costly starts.

        Raises:
            UsageError: it cannot be written, or the disk is nearly full.
        """
        try:
            self.fs.makedirs(self.path, exist_ok=True)
            self.write("probe", b"")
            self.fs.rm(self.file("probe"))
        except (OSError, ValueError, StoreError) as error:
            why = _reason(error.__cause__ or error)
            raise UsageError(f"out: cannot write to {self.url}: {why}; give another out=") from error
        short = self.short_of_space()
        if short:
            raise UsageError(f"out: {short}")

    def short_of_space(self) -> str:
        """What is wrong with the free space, or nothing."""
        free = self.free_bytes()
        if free is None or free >= MIN_FREE_BYTES:
            return ""
        return f"only {free // 2**20} MiB are free at {self.url}; {MIN_FREE_BYTES // 2**20} are due; free some"

    def free_bytes(self) -> int | None:
        """Bytes free where the folder lies; None on an object store."""
        if not self.local:
            return None
        stat = os.statvfs(self.path)
        return stat.f_bavail * stat.f_frsize

    def write(self, name: str, data: bytes) -> None:
        """Put a file in place whole: readers see the old one or the new one.

        Raises:
            StoreError: the disk is full, or the folder is gone or read-only.
        """
        try:
            self._put(self.file(name), data)
        except OSError as error:
            raise StoreError(f"cannot write {name} in {self.url}: {_reason(error)}; what was stored is kept") from error

    def _put(self, target: str, data: bytes) -> None:
        if not self.local:
            self.fs.pipe_file(target, data)
            return
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        temporary = f"{target}.{uuid.uuid4().hex}.tmp"
        try:
            with open(temporary, "wb") as file:  # noqa: PTH123 - fsspec hands out strings
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)  # noqa: PTH105
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)  # noqa: PTH108
            raise
        directory = os.open(os.path.dirname(target), os.O_RDONLY)  # noqa: PTH120
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def write_json(self, name: str, value: Any) -> None:
        self.write(name, (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "backslashreplace"))

    def read_json(self, name: str) -> Any:
        """The JSON of a file, or None where there is none."""
        try:
            return json.loads(self.fs.cat_file(self.file(name)))
        except FileNotFoundError:
            return None

    def write_table(self, name: str, table: pa.Table) -> None:
        buffer = io.BytesIO()
        pq.write_table(table, buffer, compression="zstd")
        self.write(name, buffer.getvalue())

    def append(self, kind: str, records: list[dict[str, Any]], schema: pa.Schema) -> None:
        """Add one part to `completions`, `verdicts/instances` or `verdicts/findings`."""
        if records:
            name = f"{kind}/{time.time_ns():020d}-{uuid.uuid4().hex[:12]}.parquet"
            self.write_table(name, rows.table(records, schema))

    def parts(self, kind: str) -> list[str]:
        """The files of a kind, in the order written; those whose rows a compacted one holds are left out."""
        names = self._files(kind)
        replaced = {name for whole in names if whole.endswith(COMPACTED) for name in self._replaced_by(whole)}
        return [name for name in names if PurePosixPath(name).name not in replaced]

    def _files(self, kind: str) -> list[str]:
        try:
            names = self.fs.ls(self.file(kind), detail=False, refresh=True)
        except FileNotFoundError:
            return []
        return sorted(n for n in names if n.endswith(".parquet"))

    def _replaced_by(self, whole: str) -> list[str]:
        with self._parquet(whole) as file:
            names: list[str] = json.loads((file.schema_arrow.metadata or {}).get(_REPLACES, b"[]"))
        return names

    def read(self, kind: str, schema: pa.Schema, columns: Sequence[str] | None = None) -> pa.Table:
        """All parts of a kind, in the order written; of `columns` alone, if they are given."""
        with ThreadPoolExecutor(READERS) as pool:  # a run of 350,000 requests has thousands of parts
            tables = list(pool.map(lambda part: self._read_table(part, schema, columns), self.parts(kind)))
        empty = schema.empty_table()
        return pa.concat_tables(tables) if tables else empty if columns is None else empty.select(columns)

    def iterate(self, kind: str, schema: pa.Schema) -> Iterator[pa.Table]:
        """The rows of a kind in the order written, some thousands at a time."""
        for part in self.parts(kind):
            with self._parquet(part) as file:
                for i in range(file.num_row_groups):
                    yield rows.checked(file.read_row_group(i), schema, part)

    def compact(self, kind: str, schema: pa.Schema) -> int:
        """Put the small parts of a kind together, 64 in one; for the holder of the folder's lock. Returns how many were
        put together.

        The large file names the ones it replaces: from the moment it is there readers leave those out, so that a crash
        before they are gone doubles nothing. Names keep the order in which rows arrived.
        """
        known = self._files(kind)
        parts = self.parts(kind)
        for stale in set(known) - set(parts):  # a crash left them
            self.fs.rm(stale)
        small = [part for part in parts if not part.endswith(COMPACTED)]
        done = 0
        for i in range(0, len(small) - COMPACT_PARTS + 1, COMPACT_PARTS):
            group = small[i : i + COMPACT_PARTS]
            names = json.dumps([PurePosixPath(part).name for part in group]).encode()
            whole = io.BytesIO()
            named = schema.with_metadata({**(schema.metadata or {}), _REPLACES: names})
            with pq.ParquetWriter(whole, named, compression="zstd") as writer:
                for table in self._some_rows(group, schema):
                    writer.write_table(table.replace_schema_metadata(named.metadata))
            self.write(f"{kind}/{PurePosixPath(group[0]).name.removesuffix('.parquet')}{COMPACTED}", whole.getvalue())
            for part in group:
                self.fs.rm(part)
            done += len(group)
        return done

    def _some_rows(self, parts: Sequence[str], schema: pa.Schema) -> Iterator[pa.Table]:
        """The rows of parts, at least `GROUP_ROWS` in a table but for the last one: never all of them at once."""
        held: list[pa.Table] = []
        for part in parts:
            held.append(self._read_table(part, schema))
            if sum(map(len, held)) >= GROUP_ROWS:
                yield pa.concat_tables(held)
                held = []
        if held:
            yield pa.concat_tables(held)

    def read_plan(self) -> pa.Table | None:
        try:
            return self._read_table(self.file("plan.parquet"), rows.PLAN)
        except FileNotFoundError:
            return None

    @contextlib.contextmanager
    def _parquet(self, path: str) -> Iterator[pq.ParquetFile]:
        """
        Raises:
            StoreError: the file is damaged; parts are renamed into place whole, so the disk or a person did it.
        """
        with self.fs.open(path, "rb") as file:
            try:
                yield pq.ParquetFile(file)
            except (pa.ArrowInvalid, OSError) as error:
                raise StoreError(
                    f"{path} is damaged ({str(error).splitlines()[0]:.80}); move it away, and its rows are made again"
                ) from error

    def _read_table(self, path: str, schema: pa.Schema, columns: Sequence[str] | None = None) -> pa.Table:
        """
        Raises:
            StoreError: the file is damaged.
            SchemaMismatch: another release wrote it.
        """
        with self._parquet(path) as file:
            known = file.schema_arrow.names
            names = known if columns is None else [name for name in columns if name in known]
            found = file.read(names).select(names)  # read alone keeps the order of the file
        return rows.checked(found, schema, path, columns)

    def clear(self, kind: str) -> None:
        for part in self.parts(kind):
            self.fs.rm(part)


def find_run(out: str, model: str, hash_: str) -> RunFolder | None:
    """The run folder of this model and config hash under `out`, the newest if there are several."""
    root = RunFolder(out)
    try:
        names = root.fs.ls(root.path, detail=False, refresh=True)
    except (FileNotFoundError, NotADirectoryError):
        return None
    found = sorted(n for n in names if n.rstrip("/").endswith(f"_{model}_{hash_}"))
    return RunFolder(_join(out, PurePosixPath(found[-1].rstrip("/")).name)) if found else None


def claim_run(out: str, folder: RunFolder, model: str, hash_: str) -> RunFolder:
    """The one new folder of this model and config hash: of drivers started at once, all get the first one's.

    Raises:
        UsageError: `out` cannot be written.
    """
    claims = RunFolder(_join(out, ".claims"))
    claim = claims.file(f"{model}_{hash_}")
    try:
        claims.fs.makedirs(claims.path, exist_ok=True)
        try:
            claims.fs.pipe_file(claim, PurePosixPath(folder.path).name.encode(), mode="create")
        except FileExistsError:
            return RunFolder(_join(out, _claimed(claims, claim) or PurePosixPath(folder.path).name))
    except OSError as error:
        raise UsageError(f"out: cannot write to {out}: {_reason(error)}; give another out=") from error
    return folder


def _claimed(claims: RunFolder, claim: str) -> str:
    """The name in a claim. On a disk it is written a moment after the file's creation; a driver that was killed between
    the two leaves it empty."""
    deadline = time.monotonic() + 2
    while True:
        name = PurePosixPath(claims.fs.cat_file(claim).decode("utf-8", "replace")).name
        if name or time.monotonic() >= deadline:
            return name
        time.sleep(0.05)


def new_run(out: str, model: str, hash_: str) -> RunFolder:
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return RunFolder(_join(out, f"{stamp}_{model}_{hash_}"))


def _join(out: str, name: str) -> str:
    return f"{out.rstrip('/')}/{name}"


def final_rows(table: pa.Table) -> pa.Table:
    """`key` and `row` of the completion of each key that counts: the first scored one, else the last that arrived.

    Args:
        table: columns `key` and `status`, in the order of arrival.
    """
    row = pa.array(range(len(table)), pa.int64())
    scored = pc.if_else(pc.is_in(table.column("status"), pa.array(sorted(SCORED))), row, None)
    grouped = pa.table({"key": table.column("key"), "scored": scored, "row": row}).group_by("key", use_threads=False)
    found = grouped.aggregate([("scored", "min"), ("row", "max")])
    return pa.table({"key": found["key"], "row": pc.coalesce(found["scored_min"], found["row_max"])})


def final_completions(table: pa.Table) -> dict[str, int]:
    """`final_rows` as key -> row, for who looks at a few."""
    found = final_rows(table)
    return dict(zip(found["key"].to_pylist(), found["row"].to_pylist(), strict=True))


def by_key(table: pa.Table, columns: Iterable[str]) -> dict[str, tuple[Any, ...]]:
    """key -> the values of `columns`; the last row of a key wins."""
    values = zip(*(table.column(c).to_pylist() for c in columns), strict=True)
    return dict(zip(table.column("key").to_pylist(), values, strict=True))


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error)
