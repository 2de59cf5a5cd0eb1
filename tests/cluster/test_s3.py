"""Run folders on a real S3 server (moto's, on loopback): conditional puts, whole runs, a killed driver, resumes."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator

import pytest

from cluster import rows
from cluster.lock import LeaseLock, Locked, folder_lock
from cluster.store import RunFolder
from tests.cluster.driving import api, finish, run, start, until
from tests.cluster.stand_in import StandIn

pytest.importorskip("s3fs", reason="the extra s3 is not installed")
moto_server = pytest.importorskip("moto.server", reason="moto's server is not installed")

SECRET = "planted-store-secret"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto_server.ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def environment(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    found = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "operator",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    return found


@pytest.fixture
def out(environment: dict[str, str]) -> str:
    bucket = uuid.uuid4().hex
    RunFolder(f"s3://{bucket}").fs.mkdir(bucket)
    return f"s3://{bucket}/runs"


def run_folder(out: str) -> RunFolder:
    root = RunFolder(out)
    (name,) = [n for n in root.fs.ls(root.path, detail=False, refresh=True) if not n.endswith("/.claims")]
    return RunFolder(f"s3://{name}")


def test_a_run_folder_on_s3(out: str) -> None:
    folder = RunFolder(f"{out}/one")
    folder.probe()
    assert folder.read_plan() is None
    assert folder.parts("completions") == []
    for key in "ab":
        folder.append("completions", [{"key": key, "request_id": key, "status": "ok", "text": "답"}], rows.COMPLETION)
    assert folder.read("completions", rows.COMPLETION).column("key").to_pylist() == ["a", "b"]
    folder.write_json("status.json", {"n": 1})
    folder.write_json("status.json", {"n": 2})
    assert folder.read_json("status.json") == {"n": 2}
    folder.clear("completions")
    assert folder.parts("completions") == []


def test_one_driver_at_a_time_on_s3(out: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder(f"{out}/one")
    first = LeaseLock(folder, lease_s=5, renew_s=0.05)
    with pytest.raises(Locked, match="another driver"):
        LeaseLock(RunFolder(f"{out}/one"), wait_s=0, lease_s=5)
    first.check()
    first.release()
    folder_lock(folder).release()
    with pytest.raises(FileExistsError):
        folder.fs.pipe_file(folder.file(".lease/00000002"), b"{}", mode="create")


@pytest.mark.ray
def test_a_run_and_its_resume_on_s3(out: str, environment: dict[str, str]) -> None:
    code, printed = run(out, "model=gold", "limit=40", environment=environment)
    assert code == 0, printed
    folder = run_folder(out)
    plan = folder.read_plan()
    assert plan is not None
    completions = folder.read("completions", rows.COMPLETION).column("key").to_pylist()
    assert sorted(completions) == sorted(plan.column("key").to_pylist())
    assert folder.read_json("summary.json")["total"]["errors"] == 0
    code, printed = run(out, "model=gold", "limit=40", environment=environment)
    assert code == 0, printed
    assert "all 40 requests have their completion and their verdict" in printed
    assert run_folder(out).url == folder.url
    code, printed = run(out, f"run={folder.url}", script="score", environment=environment)
    assert code == 0, printed
    everything = b"".join(folder.fs.cat_file(name) for name in folder.fs.find(folder.path))
    assert SECRET.encode() not in everything
    assert SECRET not in printed


@pytest.mark.ray
@pytest.mark.slow  # 20 s until the lease runs out, and two drivers
def test_a_driver_killed_on_s3_is_resumed(out: str, environment: dict[str, str], stand_in: StandIn) -> None:
    """The lease of the dead runs out; nothing stored is lost, and nothing that was stored is asked again."""
    planned, answered = 24, 13
    stand_in.gate = answered
    arguments = api(stand_in, f"limit={planned}", "client.connections=16")
    driver = start(out, *arguments, environment=environment)
    assert stand_in.at_gate.wait(120)
    folder = run_folder(out)
    until(driver, lambda: len(keys(folder)) == answered)
    driver.kill()
    finish(driver)
    before = keys(folder)
    assert len(before) == answered
    asked_before = stand_in.asked()
    stand_in.release()
    code, printed = run(out, *arguments, environment=environment)
    assert code == 0, printed
    assert f"{planned} requests planned, {answered} have their completion" in printed
    assert run_folder(out).url == folder.url
    assert keys(folder)[:answered] == before
    assert len(keys(folder)) == len(set(keys(folder))) == planned
    assert sum((stand_in.asked() - asked_before).values()) == planned - answered
    assert folder.read_json("status.json")["exit_code"] == 0


def keys(folder: RunFolder) -> list[str]:
    return [str(key) for key in folder.read("completions", rows.COMPLETION).column("key").to_pylist()]
