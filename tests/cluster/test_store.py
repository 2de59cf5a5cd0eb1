"""The run folder: whole parts or none, one driver at a time, and readers that refuse what they do not know."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cluster import rows, store
from cluster.errors import StoreError, UsageError
from cluster.lock import Locked, folder_lock
from cluster.rows import SchemaMismatch
from cluster.store import RunFolder, final_completions, find_run, new_run, resolve_out

ROOT = Path(__file__).resolve().parents[2]


def record(key: str, status: str = "ok", **fields: Any) -> dict[str, Any]:
    return {"key": key, "request_id": key, "status": status, "text": "t", **fields}


def test_parts_are_appended_and_read_in_order(tmp_path: Path) -> None:
    folder = RunFolder(str(tmp_path / "run"))
    folder.append("completions", [record("a"), record("b")], rows.COMPLETION)
    folder.append("completions", [record("c")], rows.COMPLETION)
    folder.append("completions", [], rows.COMPLETION)
    assert len(folder.parts("completions")) == 2
    table = folder.read("completions", rows.COMPLETION)
    assert table.column("key").to_pylist() == ["a", "b", "c"]
    assert table.schema.equals(rows.COMPLETION)
    assert pq.ParquetFile(folder.parts("completions")[0]).metadata.row_group(0).column(0).compression == "ZSTD"


def test_hostile_text_survives_the_store(tmp_path: Path) -> None:
    folder = RunFolder(str(tmp_path))
    texts = ["", "\x00\x1b[2J", "답은 7입니다 👩‍👩‍👧", "\ud800 alone", "x" * 1_000_000]
    folder.append("completions", [record(str(i), text=t) for i, t in enumerate(texts)], rows.COMPLETION)
    got = folder.read("completions", rows.COMPLETION).column("text").to_pylist()
    assert got == [*texts[:3], "??? alone".replace("???", "\ufffd" * 3), texts[4]]


def test_a_torn_part_is_not_read(tmp_path: Path) -> None:
    folder = RunFolder(str(tmp_path))
    folder.append("completions", [record("a")], rows.COMPLETION)
    whole = Path(folder.parts("completions")[0])
    (whole.parent / f"{whole.name}.1f.tmp").write_bytes(whole.read_bytes()[:100])
    assert folder.read("completions", rows.COMPLETION).column("key").to_pylist() == ["a"]


# Writes parts until it is killed; the rename of the third waits between the sync of the temporary file and the rename.
WRITER = """
import os, sys
from cluster import rows, store
folder = store.RunFolder(sys.argv[1])
real, count = os.replace, 0
def replace(a, b):
    global count
    count += 1
    if count == 3:
        print("in the middle", flush=True)
        sys.stdin.read()
    real(a, b)
store.os.replace = replace
for key in "abc":
    folder.append("completions", [{"key": key, "status": "ok"}], rows.COMPLETION)
"""


def test_kill_9_in_the_middle_of_a_write(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in the middle\n"
        process.send_signal(signal.SIGKILL)
    folder = RunFolder(str(tmp_path))
    assert folder.read("completions", rows.COMPLETION).column("key").to_pylist() == ["a", "b"]
    assert len(list((tmp_path / "completions").glob("*.tmp"))) == 1
    folder.append("completions", [record("c")], rows.COMPLETION)  # what is left lying disturbs nobody
    assert folder.read("completions", rows.COMPLETION).column("key").to_pylist() == ["a", "b", "c"]


def test_a_write_that_fails_leaves_the_old_file_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder(str(tmp_path))
    folder.write_json("status.json", {"n": 1})

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store.os, "fsync", full)
    with pytest.raises(StoreError, match=r"cannot write status\.json in .*: No space left on device; what was stored"):
        folder.write_json("status.json", {"n": 2})
    assert folder.read_json("status.json") == {"n": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["status.json"]


def test_a_damaged_part_is_named(tmp_path: Path) -> None:
    folder = RunFolder(str(tmp_path))
    folder.append("completions", [record("a")], rows.COMPLETION)
    part = Path(folder.parts("completions")[0])
    part.write_bytes(part.read_bytes()[:50])
    with pytest.raises(StoreError, match=f"{part.name} is damaged .*; move it away"):
        folder.read("completions", rows.COMPLETION)


def test_another_schema_is_refused(tmp_path: Path) -> None:
    folder = RunFolder(str(tmp_path))
    other = pa.schema([*rows.COMPLETION], metadata={b"serial7.schema": b"3"})
    folder.write_table("completions/1.parquet", rows.table([record("a")], other))
    with pytest.raises(SchemaMismatch, match="schema version 3"):
        folder.read("completions", rows.COMPLETION)
    more = pa.schema([*rows.COMPLETION, pa.field("new", pa.string())], metadata=rows.COMPLETION.metadata)
    folder.write_table("completions/1.parquet", rows.table([record("a")], more))
    with pytest.raises(SchemaMismatch, match="'new'"):
        folder.read("completions", rows.COMPLETION)
    typed = pa.schema([f.with_type(pa.string()) for f in rows.COMPLETION], metadata=rows.COMPLETION.metadata)
    folder.write_table("completions/1.parquet", rows.table([record("a", attempts="many")], typed))
    with pytest.raises(SchemaMismatch, match="other types"):
        folder.read("completions", rows.COMPLETION)


def test_an_unknown_column_is_an_error() -> None:
    with pytest.raises(SchemaMismatch, match=r"\['colour'\]"):
        rows.table([record("a", colour="red")], rows.COMPLETION)


def test_a_second_driver_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    folder = RunFolder(str(tmp_path))
    script = (
        "import sys\nfrom cluster.lock import folder_lock\nfrom cluster.store import RunFolder\n"
        "lock = folder_lock(RunFolder(sys.argv[1])); print('held', flush=True)\nsys.stdin.read()"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(Locked, match="another driver works on") as caught:
            folder_lock(folder, wait_s=0)
        assert caught.value.exit_code == 2
        process.kill()
    lock = folder_lock(folder, wait_s=5)  # the kernel freed it
    lock.release()
    folder_lock(folder, wait_s=0).release()


def test_an_unwritable_out_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(
        UsageError, match=r"out: cannot write to .*/file/runs: (Not a directory|File exists); give another"
    ):
        RunFolder(str(tmp_path / "file" / "runs")).probe()
    assert (tmp_path / "file").read_text() == "x"


def test_too_little_space_is_seen_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunFolder, "free_bytes", lambda _self: 5 * 2**20)
    with pytest.raises(UsageError, match="only 5 MiB are free"):
        RunFolder(str(tmp_path)).probe()


def test_probing_leaves_nothing(tmp_path: Path) -> None:
    RunFolder(str(tmp_path / "run")).probe()
    assert list((tmp_path / "run").iterdir()) == []


def test_an_object_store_works_alike() -> None:
    folder = RunFolder("memory://bucket/runs/one")
    folder.probe()
    folder_lock(folder).release()
    folder.append("completions", [record("a")], rows.COMPLETION)
    folder.append("completions", [record("b")], rows.COMPLETION)
    folder.write_json("manifest.json", {"a": "답"})
    assert folder.read("completions", rows.COMPLETION).column("key").to_pylist() == ["a", "b"]
    assert folder.read_json("manifest.json") == {"a": "답"}
    assert folder.read_plan() is None
    assert folder.free_bytes() is None
    assert find_run("memory://bucket/runs", "x", "y") is None


def test_the_newest_run_of_a_hash_is_found(tmp_path: Path) -> None:
    assert find_run(str(tmp_path / "none"), "m", "1234") is None
    for name in (
        "20260101T000000Z_m_1234",
        "20260102T000000Z_m_1234",
        "20260103T000000Z_m_9999",
        "20260104T000000Z_a_m_12",
    ):
        (tmp_path / name).mkdir()
    found = find_run(str(tmp_path), "m", "1234")
    assert found is not None
    assert found.url == str(tmp_path / "20260102T000000Z_m_1234")
    assert new_run(str(tmp_path), "m", "1234").url.endswith("Z_m_1234")


def test_a_relative_out_is_never_lost_in_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SERIAL7_ROOT", raising=False)
    monkeypatch.delenv("RAY_JOB_CONFIG_JSON_ENV_VAR", raising=False)
    assert resolve_out("runs") == str(tmp_path / "runs")
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", "{}")
    assert resolve_out("runs") == "/home/someone/serial7/runs"
    monkeypatch.setenv("SERIAL7_ROOT", "/srv/s7")
    assert resolve_out("runs") == "/srv/s7/runs"
    assert resolve_out("/abs/runs") == "/abs/runs"
    assert resolve_out("s3://bucket/runs/") == "s3://bucket/runs"


def test_the_completion_that_counts() -> None:
    table = rows.table(
        [
            record("a", "provider_error"), record("b", "ok"), record("a", "timed_out"), record("c", "provider_error"),
            record("a", "empty"), record("a", "ok"), record("c", "timed_out"),
        ],
        rows.COMPLETION,
    )  # fmt: skip
    assert final_completions(table) == {"a": 4, "b": 1, "c": 6}  # the first that scores, else the last


def test_nothing_is_written_by_looking(tmp_path: Path) -> None:
    folder = RunFolder(str(tmp_path / "run"))
    assert folder.read_json("manifest.json") is None
    assert folder.read_plan() is None
    assert len(folder.read("completions", rows.COMPLETION)) == 0
    assert not os.path.lexists(folder.path)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "COMPACT_PARTS", 3)


def keys(folder: RunFolder) -> list[str]:
    found: list[str] = folder.read("completions", rows.COMPLETION).column("key").to_pylist()
    return found


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("place", ["disk", "memory"])
def test_compaction_keeps_every_row_in_its_order(place: str, tmp_path: Path) -> None:
    folder = RunFolder(str(tmp_path) if place == "disk" else "memory://compaction/run")
    for key in "abcdefgh":
        folder.append("completions", [record(key)], rows.COMPLETION)
    assert folder.compact("completions", rows.COMPLETION) == 6
    assert len(folder.parts("completions")) == 4
    assert keys(folder) == list("abcdefgh")
    folder.append("completions", [record("i")], rows.COMPLETION)
    assert folder.compact("completions", rows.COMPLETION) == 3
    assert folder.compact("completions", rows.COMPLETION) == 0
    assert (keys(folder), len(folder.parts("completions"))) == (list("abcdefghi"), 3)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("survivors", [1, 2, 3])
def test_a_crash_in_compaction_doubles_and_loses_nothing(
    survivors: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(str(tmp_path))
    for key in "abcd":
        folder.append("completions", [record(key)], rows.COMPLETION)
    real, removed = folder.fs.rm, 0

    def crash(part: str) -> None:
        nonlocal removed
        if removed == 3 - survivors:
            raise KeyboardInterrupt
        removed += 1
        real(part)

    monkeypatch.setattr(folder.fs, "rm", crash)
    with pytest.raises(KeyboardInterrupt):
        folder.compact("completions", rows.COMPLETION)
    monkeypatch.undo()
    assert len(list((tmp_path / "completions").iterdir())) == 2 + survivors
    assert keys(folder) == list("abcd")
    folder.append("completions", [record("e")], rows.COMPLETION)
    folder.compact("completions", rows.COMPLETION)  # takes away what the crash left
    assert keys(folder) == list("abcde")
    assert len(list((tmp_path / "completions").iterdir())) == 3


@pytest.mark.usefixtures("small")
def test_a_clock_that_jumps_back_hides_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder(str(tmp_path))
    hours = iter([10, 11, 12, 11, 1, 10])
    monkeypatch.setattr(store.time, "time_ns", lambda: next(hours) * 3600 * 10**9)
    for key in "abc":
        folder.append("completions", [record(key)], rows.COMPLETION)
    folder.compact("completions", rows.COMPLETION)
    for key in "def":  # between, before and beside the times of what was put together
        folder.append("completions", [record(key)], rows.COMPLETION)
    assert sorted(keys(folder)) == list("abcdef")


def test_columns_can_be_read_alone(tmp_path: Path) -> None:
    folder = RunFolder(str(tmp_path))
    assert folder.read("completions", rows.COMPLETION, ("key", "status")).column_names == ["key", "status"]
    folder.append("completions", [record("a")], rows.COMPLETION)
    older = pa.schema([f for f in rows.COMPLETION if f.name != "first_token_s"], metadata={b"serial7.schema": b"1"})
    folder.write_table("completions/1.parquet", rows.table([record("b")], older))
    found = folder.read("completions", rows.COMPLETION, ("first_token_s", "key"))
    assert found.to_pylist() == [{"first_token_s": None, "key": key} for key in "ab"]
    other = pa.schema([rows.COMPLETION.field("key")], metadata=rows.COMPLETION.metadata)
    folder.write_table("completions/2.parquet", pa.table({"key": ["c"]}, schema=other))
    with pytest.raises(SchemaMismatch, match=r"columns \[\]"):
        folder.read("completions", rows.COMPLETION, ("text",))
