"""What a weekend brings, through real Ray: nodes that leave, disks that fill, permissions that go, jobs that are stopped,
keys that must appear nowhere."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from cluster import rows
from cluster.store import MIN_FREE_BYTES, RunFolder
from tests.cluster.driving import (
    ROOT,
    Head,
    api,
    assert_adds_up,
    clean_environment,
    finish,
    ray_head,
    ray_node,
    run,
    start,
    stored,
    the_folder,
    until,
)
from tests.cluster.stand_in import Reply, StandIn, completion, error
from tests.cluster.stand_in_engine import make_engine

pytestmark = pytest.mark.ray


def assert_nothing_lost_or_doubled(folder: RunFolder, durable: list[dict[str, Any]], planned: int) -> None:
    """Every planned request has its one completion and its one verdict; `durable` ones are as they were."""
    found = stored(folder)
    plan = folder.read_plan()
    assert plan is not None
    keys = Counter(plan.column("key").to_pylist())
    assert Counter(row["key"] for row in found) == keys
    known = {row["key"] for row in durable}
    assert sorted((r for r in found if r["key"] in known), key=_key) == sorted(durable, key=_key)
    instances = folder.read("verdicts/instances", rows.INSTANCE)
    assert set(instances.column("key").to_pylist()) == set(keys)
    summary = folder.read_json("summary.json")
    assert_adds_up(summary, planned)
    assert (summary["total"]["done"], summary["total"]["errors"]) == (planned, 0)


def _key(row: dict[str, Any]) -> str:
    return str(row["key"])


@pytest.mark.parametrize("victim", ["Answerer", "Verifier"])
def test_a_node_that_leaves_takes_nothing_along(tmp_path: Path, stand_in: StandIn, victim: str) -> None:
    planned, answered = 24, 9
    stand_in.gate = answered
    command = api(stand_in, f"limit={planned}", "client.connections=4", "client.deadline_s=60")
    # The head runs no work, as on most clusters: driver and journal are there, all else is on the other two.
    with ray_head(tmp_path / "head", cpus=0) as head:
        worker = f"--address={head.environment['RAY_ADDRESS']}"
        with (
            ray_node(tmp_path / "one", head.environment, worker, "--num-cpus=4") as one,
            ray_node(tmp_path / "two", head.environment, worker, "--num-cpus=4") as two,
        ):
            driver = start(tmp_path / "runs", *command, environment=head.environment)
            assert stand_in.at_gate.wait(120)
            folder = the_folder(tmp_path / "runs")
            until(driver, lambda: len(stored(folder)) == answered)
            durable = stored(folder)
            [leaves] = [node for node in (one, two) if node.workers(victim)]
            leaves.raylet().kill()
            stand_in.release()
            code, printed = finish(driver)
    assert code == 0, printed
    assert_nothing_lost_or_doubled(folder, durable, planned)


@dataclass(frozen=True)
class Disk:
    """A small disk of its own: `path` as drivers under `prefix` see it, `here` as this process does."""

    path: Path
    here: Path
    prefix: list[str]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A file system of a few hundred MiB in memory, mounted in a name space of its own."""
    path = tmp_path / "disk"
    path.mkdir()
    size = MIN_FREE_BYTES + 64 * 2**20
    mount = f"mount -t tmpfs -o size={size} tmpfs '{path}' && echo mounted && read line"
    if not shutil.which("unshare") or not shutil.which("nsenter"):
        pytest.skip("unshare and nsenter (util-linux) are not installed")
    with subprocess.Popen(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as keeper:  # fmt: skip
        assert keeper.stdout is not None
        assert keeper.stdin is not None
        if keeper.stdout.readline() != "mounted\n":
            assert keeper.stderr is not None
            pytest.skip(f"no name space with a file system of its own: {keeper.stderr.read().strip()}")
        enter = ["nsenter", f"--target={keeper.pid}", "--user", "--mount", "--preserve-credentials", f"--wd={ROOT}"]
        yield Disk(path, Path(f"/proc/{keeper.pid}/root{path}"), enter)
        keeper.stdin.close()


def test_a_disk_that_is_full_ends_the_run_resumable(stand_in: StandIn, disk: Disk) -> None:
    planned, answered = 24, 9
    stand_in.gate = answered
    command = api(stand_in, f"limit={planned}", "client.connections=4")
    driver = start(disk.path / "runs", *command, prefix=disk.prefix)
    assert stand_in.at_gate.wait(120)
    folder = the_folder(disk.here / "runs")
    until(driver, lambda: len(stored(folder)) == answered)
    durable = stored(folder)
    with (disk.here / "filler").open("wb", buffering=0) as filler:
        free = os.fstatvfs(filler.fileno()).f_bavail * os.fstatvfs(filler.fileno()).f_frsize
        os.posix_fallocate(filler.fileno(), 0, free)
    stand_in.release()
    code, printed = finish(driver)
    assert code == 3, printed
    assert "No space left on device" in printed or "MiB are free at" in printed
    assert "Traceback" not in printed
    kept = stored(folder)
    assert [row for row in kept if row in durable] == durable
    assert len({row["key"] for row in kept}) == len(kept)

    code, printed = finish(start(disk.path / "runs", *command, prefix=disk.prefix))
    assert code == 2, printed  # refused before anything starts
    assert "out: " in printed
    (disk.here / "filler").unlink()
    code, printed = finish(start(disk.path / "runs", *command, prefix=disk.prefix))
    assert code == 0, printed
    assert_nothing_lost_or_doubled(folder, durable, planned)


def test_a_folder_that_may_no_longer_be_written_ends_the_run_resumable(tmp_path: Path, stand_in: StandIn) -> None:
    # Under another user id of its own name space even the superuser has no more than the file's permissions.
    prefix = ["unshare", "--user", "--map-user=1000"]
    if not shutil.which("unshare") or subprocess.run([*prefix, "true"], check=False).returncode:
        pytest.skip("unshare (util-linux) cannot make a user name space here")
    planned, answered = 24, 9
    stand_in.gate = answered
    command = api(stand_in, f"limit={planned}", "client.connections=4")
    driver = start(tmp_path / "runs", *command, prefix=prefix)
    assert stand_in.at_gate.wait(120)
    folder = the_folder(tmp_path / "runs")
    until(driver, lambda: len(stored(folder)) == answered)
    durable = stored(folder)
    completions = Path(folder.file("completions"))
    completions.chmod(0o500)
    try:
        stand_in.release()
        code, printed = finish(driver)
        assert code == 3, printed
        assert "Permission denied" in printed
        assert "Traceback" not in printed
        assert stored(folder) == durable
    finally:
        completions.chmod(0o755)
    code, printed = finish(start(tmp_path / "runs", *command, prefix=prefix))
    assert code == 0, printed
    assert_nothing_lost_or_doubled(folder, durable, planned)


def test_a_job_that_is_stopped_while_its_engine_starts_leaves_nothing(tmp_path: Path, head: Head) -> None:
    engine = tmp_path / "engine"
    arguments = make_engine(engine)
    (engine / "hang-at-start").touch()
    environment = clean_environment() | {k: v for k, v in head.environment.items() if k != "RAY_ADDRESS"}
    ray = [sys.executable, "-m", "ray.scripts.scripts"]
    job = [*ray, "job", "submit", f"--address={head.dashboard}", "--no-wait", "--submission-id=stopped-early"]
    job += ["--working-dir", ".", "--", f"HOME={tmp_path}", "launch/eval.py", *arguments, "limit=3"]
    done = subprocess.run(job, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    while not (engine / "pids").exists():
        state = ray_says(environment, head, "status")
        assert "FAILED" not in state, state
    pids = [int(pid) for pid in (engine / "pids").read_text().split()]
    processes = [psutil.Process(pid) for pid in pids]
    ray_says(environment, head, "stop")
    _, alive = psutil.wait_procs(processes, timeout=120)
    assert [p for p in alive if p.status() != psutil.STATUS_ZOMBIE] == []
    script = (
        "import json, ray; ray.init(log_to_driver=False);"
        "print(json.dumps([g['state'] for g in ray.util.placement_group_table().values()]))"
    )
    states = subprocess.run(
        [sys.executable, "-c", script],
        env=clean_environment() | head.environment, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    found = json.loads(states.stdout.splitlines()[-1])
    assert found
    assert set(found) == {"REMOVED"}
    status = the_folder(tmp_path / "serial7" / "runs").read_json("status.json")
    assert (status["state"], status["exit_code"]) == ("ended", 3)


def ray_says(environment: dict[str, str], head: Head, what: str) -> str:
    command = [sys.executable, "-m", "ray.scripts.scripts", "job", what, f"--address={head.dashboard}", "stopped-early"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout + done.stderr


def test_a_key_appears_nowhere(tmp_path: Path, stand_in: StandIn, head: Head) -> None:
    key = "planted-key-6b1f09"

    def answer(number: int, _body: dict[str, Any]) -> Reply:
        if number % 3 == 0:
            return Reply(400, error(f"Incorrect API key provided: {key}"))
        if number % 3 == 1:
            return Reply(body=completion(f"your key is {key}"))
        return Reply(body=completion())

    stand_in.answer = answer
    environment = head.environment | {"PLANTED_KEY": key}
    command = api(stand_in, "limit=12", "client.connections=2", "provider.api_key_env=PLANTED_KEY")
    code, printed = run(tmp_path / "runs", *command, environment=environment)
    assert code == 3, printed
    assert all(h["authorization"] == f"Bearer {key}" for h in stand_in.headers)
    stand_in.answer = lambda _n, _body: Reply(401, error(f"no such key: {key}"))
    code, refused = run(tmp_path / "runs", *command, environment=environment)
    assert code == 3, refused
    assert "no such key: " in refused
    assert key not in printed + refused
    folder = the_folder(tmp_path / "runs")
    assert key not in json.dumps(stored(folder), default=str)  # parts are compressed: they are read
    places = [*(tmp_path / "runs").rglob("*"), *head.logs().rglob("*")]
    files = [place for place in places if place.is_file()]
    assert any(file.name == "manifest.json" for file in files)
    assert any(file.name.startswith("worker-") for file in files)
    assert [file for file in files if key.encode() in file.read_bytes()] == []
