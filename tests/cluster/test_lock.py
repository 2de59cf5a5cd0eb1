"""Leases and claims where no kernel keeps a lock: one driver at a time, dead holders replaced, lost leases noticed."""

from __future__ import annotations

import json
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cluster import lock as module
from cluster.lock import LeaseLock, LeaseLost, Locked, folder_lock
from cluster.store import RunFolder, claim_run, new_run


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.setattr(module, "POLL_S", 0.02)
    return RunFolder(f"memory://{uuid.uuid4().hex}/runs/one")


def state(folder: RunFolder, number: int) -> dict[str, object]:
    found: dict[str, object] = folder.read_json(f".lease/{number:08d}")
    return found


def test_a_folder_without_kernel_locks_is_kept_by_a_lease(folder: RunFolder) -> None:
    lock = folder_lock(folder)
    assert isinstance(lock, LeaseLock)
    lock.check()
    lock.release()
    assert state(folder, 1)["released"] is True
    start = time.monotonic()
    folder_lock(folder).release()  # what was let go is taken at once
    assert time.monotonic() - start < module.LEASE_S / 2
    assert state(folder, 2)["released"] is True


def test_a_living_holder_is_not_replaced(folder: RunFolder) -> None:
    first = LeaseLock(folder, lease_s=5, renew_s=0.05)
    with pytest.raises(Locked, match=r"another driver \(.+:\d+:\w+\) works on memory:.*/runs/one; wait for it or end"):
        LeaseLock(folder, wait_s=0, lease_s=5)
    first.check()
    first.release()


def test_a_dead_holder_is_replaced_and_a_holder_that_was_away_stops(folder: RunFolder) -> None:
    first = LeaseLock(folder, lease_s=1000, renew_s=1000)  # it does not renew: dead, or cut off from the store
    second = LeaseLock(folder, wait_s=0, lease_s=0.2)
    assert state(folder, 2)["holder"] != state(folder, 1)["holder"]
    first._renew()  # it is back
    with pytest.raises(LeaseLost, match="another driver took its lease over; this one stops, and the same command res"):
        first.check()
    first.release()
    assert state(folder, 2)["released"] is False  # and does not touch the new holder's lease
    second.release()


def test_a_store_that_does_not_answer_ends_the_lease_before_another_may_take_it(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = LeaseLock(folder, lease_s=20, renew_s=1000)

    def away(*_args: object, **_kwargs: object) -> None:
        raise OSError("no route to host")

    now = time.monotonic()
    monkeypatch.setattr(folder.fs, "ls", away)
    lock._renew()
    monkeypatch.setattr(module.time, "monotonic", lambda: now + 15)
    lock._renew_s = 4
    lock.check()
    monkeypatch.setattr(module.time, "monotonic", lambda: now + 17)
    with pytest.raises(LeaseLost, match=r"could not be renewed for 1[67] s, so that another driver may have taken it"):
        lock.check()


def test_a_clock_that_jumps_changes_nothing(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = LeaseLock(folder, lease_s=2000, renew_s=1000)
    real = time.time
    for jump in (-86_400, 86_400):
        monkeypatch.setattr(module.time, "time", lambda jump=jump: real() + jump)
        lock._renew()
        lock.check()
    assert "beats" in state(folder, 1)
    lock.release()


def test_of_many_contenders_one_wins(folder: RunFolder) -> None:
    def contend(_i: int) -> LeaseLock | None:
        try:
            return LeaseLock(folder, wait_s=0, lease_s=5, renew_s=0.05)
        except Locked:
            return None

    with ThreadPoolExecutor(8) as pool:
        found = [lock for lock in pool.map(contend, range(8)) if lock]
    assert len(found) == 1
    found[0].release()


@pytest.mark.parametrize("where", ["disk", "store"])
def test_drivers_started_at_once_get_one_folder(where: str, tmp_path: Path) -> None:
    out = str(tmp_path / "runs") if where == "disk" else f"memory://{uuid.uuid4().hex}/runs"
    proposed = [RunFolder(f"{out}/2026010{i}T000000Z_m_abc") for i in range(8)]
    with ThreadPoolExecutor(8) as pool:
        got = {f.path for f in pool.map(lambda f: claim_run(out, f, "m", "abc"), proposed)}
    assert len(got) == 1
    assert got <= {f.path for f in proposed}
    assert claim_run(out, new_run(out, "m", "other"), "m", "other").path not in got


def test_a_claim_that_was_never_written_holds_nobody_up(tmp_path: Path) -> None:
    (tmp_path / ".claims").mkdir()
    (tmp_path / ".claims" / "m_abc").touch()
    folder = new_run(str(tmp_path), "m", "abc")
    assert claim_run(str(tmp_path), folder, "m", "abc").path == folder.path


def test_a_claim_names_a_folder_beside_it(tmp_path: Path) -> None:
    (tmp_path / ".claims").mkdir()
    (tmp_path / ".claims" / "m_abc").write_text("../../elsewhere")
    folder = claim_run(str(tmp_path), new_run(str(tmp_path), "m", "abc"), "m", "abc")
    assert Path(folder.path).parent == tmp_path


def test_a_lease_tells_its_holder(folder: RunFolder) -> None:
    lock = LeaseLock(folder)
    assert set(json.loads(folder.fs.cat_file(folder.file(".lease/00000001")))) == {"holder", "beats", "released"}
    lock.release()
    lock.release()  # twice does no harm
