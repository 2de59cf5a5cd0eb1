"""The throughput bench: its arithmetic on made-up requests, and its stand-in's arms for real."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from cluster import run
from cluster.bench import bench, measure_client
from cluster.bench_figures import Asked, Measurement, most_at_once, ratios, record, steady_state


def lanes(connections: int, rounds: int, seconds: float, pause: float = 0.0) -> list[Asked]:
    """Every connection asks `rounds` times, each answered after `seconds`, with `pause` seconds between."""
    step = seconds + pause
    return [Asked(r * step, r * step + seconds, 100, 10) for r in range(rounds) for _ in range(connections)]


def test_the_steady_state_of_full_lanes() -> None:
    steady = steady_state(lanes(4, 5, 2.0), 4)
    assert steady is not None
    assert steady.seconds == 6.0  # from the end of the first round to the sending of the last
    assert steady.completions == 12
    assert steady.completions_per_s == 2.0
    assert (steady.prompt_tokens_per_s, steady.output_tokens_per_s) == (200.0, 20.0)
    assert (steady.busy_share, steady.occupancy) == (1.0, 1.0)


def test_pauses_show_as_idle_time() -> None:
    steady = steady_state(lanes(2, 6, 1.0, pause=1.0), 2)
    assert steady is not None
    assert steady.busy_share == pytest.approx(4 / 9)  # from second 1 to 10: busy 2-3, 4-5, 6-7, 8-9
    assert steady.occupancy == pytest.approx(4 / 9)


def test_the_ramp_and_the_tail_do_not_count() -> None:
    slow_start = [Asked(0, 50, 1, 1)] * 2
    slow_end = [Asked(60, 200, 1, 1)]
    steady = steady_state([*slow_start, *(Asked(50 + i, 51 + i, 1, 1) for i in range(10)), *slow_end], 2)
    assert steady is not None
    assert (steady.seconds, steady.completions) == (10, 10)


@pytest.mark.parametrize("asked", [[], lanes(4, 1, 1.0), [Asked(0, 1, -1, -1, "HTTP 500")] * 20], ids=len)
def test_too_little_has_no_steady_state(asked: list[Asked]) -> None:
    assert steady_state(asked, 4) is None


def test_failures_are_under_way_but_no_completions() -> None:
    asked = [a if i % 2 else Asked(a.start, a.end, -1, -1, "HTTP 500") for i, a in enumerate(lanes(2, 10, 1.0))]
    steady = steady_state(asked, 2)
    assert steady is not None
    assert steady.completions_per_s == 1.0
    assert steady.occupancy == 1.0


def test_an_end_frees_the_place_of_a_start_in_the_same_moment() -> None:
    assert most_at_once(lanes(3, 4, 1.0)) == 3
    assert most_at_once([]) == 0


def test_a_record_has_the_keys_of_vllm_bench() -> None:
    measured = Measurement("job", "fixed", 1, 4, lanes(4, 5, 2.0), -3.0, 12.0, {"verified": 18})
    found = record(measured, "some-model", engines=2, gpus=8)
    assert found["label"] == "job-fixed-1"
    assert (found["num_prompts"], found["completed"], found["failed"], found["duration"]) == (20, 20, 0, 10.0)
    assert (found["request_throughput"], found["output_throughput"], found["total_token_throughput"]) == (
        2.0,
        20.0,
        220.0,
    )
    assert (found["mean_e2el_ms"], found["p99_e2el_ms"], found["max_concurrent_requests"]) == (2000.0, 2000.0, 4)
    assert found["latencies"] == [2.0] * 20
    ours = found["serial7"]
    assert (ours["startup_s"], ours["ending_s"]) == (3.0, 2.0)
    assert (ours["verified_per_engine_hour"], ours["verified_per_gpu_hour"]) == (3240.0, 810.0)
    json.dumps(found)


def test_ratios_are_of_the_same_round_and_stop() -> None:
    records = [
        record(Measurement(arm, stop, number, 2, lanes(2, 9, seconds), 0, 99), "m", 1, 0)
        for arm, stop, number, seconds in [
            ("engine", "fixed", 0, 1.0), ("job", "fixed", 0, 2.0),
            ("engine", "fixed", 1, 3.0), ("job", "fixed", 1, 4.0),
            ("job", "natural", 0, 5.0),  # nothing to compare with
        ]
    ]  # fmt: skip
    records.append(record(Measurement("client", "", 0, 2, lanes(2, 9, 1.0), 0, 99, {"ideal_per_s": 4.0}), "m", 1, 0))
    job, client = ratios(records)
    assert (job["of"], job["to"], job["stop"], job["rounds"]) == ("job", "engine", "fixed", [0.5, 0.75])
    assert job["ratio"] == 0.625
    assert (client["of"], client["to"], client["ratio"]) == ("client", "ideal", 0.5)


def test_the_client_against_a_stand_in() -> None:
    measured = measure_client(8, 0.02, 0.0, 0)
    assert len(measured.asked) == 96
    assert not [a.error for a in measured.asked if a.error]
    assert {a.output_tokens for a in measured.asked} == {200}
    assert min(a.end - a.start for a in measured.asked) >= 0.018  # its timers count whole milliseconds
    assert measured.more["ideal_per_s"] == 400
    steady = steady_state(measured.asked, 8)
    assert steady is not None
    assert 0 < steady.completions_per_s <= 400


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["model=gold"], "model=gold has no engine to measure"),
        (
            [
                "model=openai-compatible",
                "provider.base_url=http://127.0.0.1:9/v1",
                "provider.model_id=m",
                "provider.api_key_env=null",
            ],
            "bench.stops: answers of fixed length need ignore_eos",
        ),
        (["model=demo", "limit=30"], "30 requests at 12 at once have no steady state; at least 36 are due"),
        (["model=demo", "bench.arms=[engin]"], "bench.arms: 'engin' is not one of engine, job, client, stand_in"),
        (["model=demo", "bench.rounds=0"], "bench.rounds: 0 is too few"),
    ],
    ids=str,
)
def test_wrong_usage(arguments: list[str], said: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    assert run.main(bench, [*arguments, f"out={tmp_path / 'runs'}"]) == 2
    assert said in caplog.text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.ray
def test_the_arms_of_the_stand_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["bench.arms=[client,stand_in]", "bench.connections=16", "bench.rounds=1", "bench.median_s=0.05"]
    assert run.main(bench, ["model=gold", *arguments, f"out={tmp_path}"]) == 0
    (folder,) = (tmp_path / "bench").iterdir()
    found = json.loads((folder / "bench.json").read_text())
    client, job = found["measurements"]
    assert (client["label"], job["label"]) == ("client-0", "stand_in-0")
    assert job["completed"] == job["num_prompts"] >= 16 * 12
    assert job["serial7"]["verified"] == job["completed"]
    assert job["serial7"]["verification_share"] > 0
    assert [(r["of"], r["to"]) for r in found["ratios"]] == [("client", "ideal"), ("stand_in", "ideal")]
    assert (folder / "bench.png").read_bytes().startswith(b"\x89PNG")
    assert len(json.loads((folder / "measurements" / "stand_in-0.json").read_text())["latencies"]) == job["num_prompts"]
    assert "stand_in / ideal: " in capsys.readouterr().out
