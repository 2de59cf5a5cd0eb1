"""The client against a real loopback server that fails in every way that providers are known to fail."""

from __future__ import annotations

import asyncio
import email.utils
import json
import time
from typing import Any

import pytest

from cluster.answers import Completion, Refused, classify, read_answer, retry_after
from cluster.client import AdaptiveLimit, ChatClient, EndPoint
from cluster.config import Client, Sampling
from cluster.errors import EngineError
from tests.cluster.stand_in import TEXT, Reply, StandIn, completion, error

FAST = Client(connections=4, deadline_s=20, attempts=4, backoff_max_s=0.01)
NOTHING_SET = Sampling()
MESSAGES = [{"role": "user", "content": "How much is 1?"}]


def ask(
    server: StandIn, policy: Client = FAST, sampling: Sampling = NOTHING_SET, count: int = 1, **options: Any
) -> list[Completion]:
    async def go() -> list[Completion]:
        client = ChatClient([EndPoint(server.url, "key-1")], "model-1", sampling, policy, **options)
        try:
            return await asyncio.gather(*(client.complete(MESSAGES) for _ in range(count)))
        finally:
            await client.close()

    return asyncio.run(go())


def script(server: StandIn, *replies: Reply) -> None:
    server.answer = lambda n, _body: replies[min(n, len(replies) - 1)]


GOOD = Reply(body=completion())


def test_what_is_sent_and_what_is_kept(stand_in: StandIn) -> None:
    body = completion("x</think>done", provider_field=1)
    body |= {"provider": "P", "system_fingerprint": "f"}
    body["usage"] |= {
        "cost": 0.25,
        "completion_tokens_details": {"reasoning_tokens": 3},
        "prompt_tokens_details": {"cached_tokens": 7},
    }
    script(stand_in, Reply(body=body))
    sampling = Sampling(temperature=0.5, max_tokens=9, extra_body={"top_k": 3})
    [got] = ask(stand_in, sampling=sampling, routing={"only": ["P"]})
    assert stand_in.bodies == [
        {
            "model": "model-1",
            "messages": MESSAGES,
            "temperature": 0.5,
            "max_tokens": 9,
            "top_k": 3,
            "provider": {"only": ["P"]},
        }
    ]  # top_p and seed are null: not sent
    assert stand_in.headers[0]["authorization"] == "Bearer key-1"
    assert (got.status, got.text, got.finish_reason, got.attempts) == ("ok", "x</think>done", "stop", 1)
    assert (got.prompt_tokens, got.completion_tokens, got.reasoning_tokens, got.cached_tokens) == (10, 5, 3, 7)
    assert (got.cost_usd, got.observed_provider, got.observed_model) == (0.25, "P", "stand-in-1")
    assert (got.system_fingerprint, got.response_id, got.attempt_log) == ("f", "r-1", "[]")


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        (Reply(429, error("slow down"), {"retry-after": "0"}), "HTTP 429 slow down"),
        (Reply(503, b"upstream", content_type="text/plain"), "HTTP 503"),
        (Reply(500, error("boom")), "HTTP 500 boom"),
        (Reply(408, b""), "HTTP 408"),
        (Reply(200, error("overloaded", 502)), "HTTP 502 overloaded"),
        (Reply(200, error("no code")), "HTTP 500 no code"),
        (Reply(200, b'{"choices": [{"mess'), "no JSON object"),
        (Reply(200, b"<html>busy</html>", content_type="text/html"), "no JSON object"),
        (Reply(200, b"[" * 100_000), "no JSON object"),
        (Reply(200, b""), "no JSON object"),
        (Reply(200, b"[]"), "no JSON object"),
        (Reply(200, {"choices": []}), "without choices"),
        (Reply(200, {"choices": None}), "without choices"),
        (Reply(200, {"choices": [{"finish_reason": "stop"}]}), "without choices"),
        (Reply(200, completion("half an ans", finish="error")), "failed while answering"),
        (Reply(200, completion(None, finish=None)), "without text and without a finish reason"),
        (Reply(drop=True), "connection: "),
    ],
    ids=str,
)
def test_a_fault_that_another_attempt_mends(stand_in: StandIn, fault: Reply, named: str) -> None:
    script(stand_in, fault, fault, GOOD)
    [got] = ask(stand_in)
    assert (got.status, got.text, got.attempts) == ("ok", TEXT, 3)
    log = json.loads(got.attempt_log)
    assert len(log) == 2
    assert all(named in entry["error"] for entry in log)


def test_faults_that_stay_are_provider_error_and_bounded(stand_in: StandIn) -> None:
    script(stand_in, Reply(503, error("down")))
    [got] = ask(stand_in)
    assert (got.status, got.error, got.attempts, len(stand_in.bodies)) == ("provider_error", "HTTP 503 down", 4, 4)


def test_retry_after_is_waited_for(stand_in: StandIn) -> None:
    script(stand_in, Reply(429, error("wait"), {"retry-after": "0.3"}), GOOD)
    [got] = ask(stand_in)
    assert got.status == "ok"
    assert got.latency_s >= 0.3


def test_a_wait_past_the_deadline_is_not_begun(stand_in: StandIn) -> None:
    script(stand_in, Reply(429, error("tomorrow"), {"retry-after": "86400"}))
    [got] = ask(stand_in)
    assert (got.status, got.error, got.attempts) == ("provider_error", "HTTP 429 tomorrow", 1)
    assert got.latency_s < FAST.deadline_s


def test_a_slow_answer_times_out(stand_in: StandIn) -> None:
    stand_in.gate = 0
    [got] = ask(stand_in, Client(connections=1, deadline_s=0.3))
    assert (got.status, got.attempts) == ("timed_out", 1)
    assert 0.3 <= got.latency_s < 10


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_what_no_retry_mends_is_refused_at_once(stand_in: StandIn, status: int) -> None:
    script(stand_in, Reply(status, error("who are you")))
    with pytest.raises(Refused, match=f"HTTP {status} who are you"):
        ask(stand_in)
    assert len(stand_in.bodies) == 1


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (Reply(400, error("This model's maximum context length is 4096 tokens")), "context_overflow"),
        (Reply(400, error("unsupported parameter top_p")), "provider_error"),
        (Reply(422, b"what?", content_type="text/plain"), "provider_error"),
        (Reply(400, error("filtered", "content_filter")), "refused"),
        (Reply(403, {"error": {"message": "flagged", "code": 403, "metadata": {"reasons": ["x"]}}}), "refused"),
        (Reply(200, completion(None)), "empty"),
        (Reply(200, completion(" \n")), "empty"),
        (Reply(200, completion("", finish="length")), "truncated"),
        (Reply(200, completion("half", finish="length")), "truncated"),
        (Reply(200, completion(None, reasoning="hm", finish="length")), "unfinished_reasoning"),
        (Reply(200, completion(None, reasoning_content="hm")), "unfinished_reasoning"),
        (Reply(200, completion("<think>hm", finish="length")), "unfinished_reasoning"),
        (Reply(200, completion("<think>hm</think>", finish="stop")), "unfinished_reasoning"),
        (Reply(200, completion(None, refusal="I will not")), "refused"),
        (Reply(200, completion("no", finish="content_filter")), "refused"),
        (Reply(200, completion([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])), "ok"),  # type: ignore[arg-type]  # content parts
    ],
    ids=str,
)
def test_one_status_each_without_a_retry(stand_in: StandIn, reply: Reply, status: str) -> None:
    script(stand_in, reply)
    [got] = ask(stand_in)
    assert (got.status, got.attempts, len(stand_in.bodies)) == (status, 1, 1)


def test_connections_are_bounded(stand_in: StandIn) -> None:
    stand_in.gate = 3
    seen: list[int] = []

    async def go() -> None:
        client = ChatClient([EndPoint(stand_in.url)], "m", Sampling(), Client(connections=5, deadline_s=20))
        tasks = [asyncio.create_task(client.complete(MESSAGES)) for _ in range(20)]
        await asyncio.to_thread(stand_in.at_gate.wait, 20)
        seen.append(client.limit.in_flight)
        stand_in.release()
        done = await asyncio.gather(*tasks)
        assert [d.status for d in done] == ["ok"] * 20
        await client.close()

    asyncio.run(go())
    assert seen[0] <= 5


def test_a_busy_end_point_lowers_the_ceiling_and_success_raises_it_again() -> None:
    async def go() -> None:
        limit = AdaptiveLimit(8)
        limit.busy()
        limit.busy()  # within the same second: one wave of 429 counts once
        assert limit.limit == 4
        for _ in range(100):
            limit.succeeded()
        assert limit.limit == 8

    asyncio.run(go())


def test_the_least_loaded_end_point_is_asked(stand_in: StandIn) -> None:
    async def go() -> None:
        busy, idle = EndPoint("http://127.0.0.1:9", in_flight=7), EndPoint(stand_in.url)
        client = ChatClient([busy, idle], "m", Sampling(), FAST)
        assert (await client.complete(MESSAGES)).status == "ok"
        assert (busy.in_flight, idle.in_flight) == (7, 0)
        await client.close()

    asyncio.run(go())


def test_a_lost_engine_is_replaced(stand_in: StandIn) -> None:
    async def go() -> None:
        lost: list[str] = []

        async def on_lost(endpoint: EndPoint) -> EndPoint:
            lost.append(endpoint.base_url)
            return EndPoint(stand_in.url, "new")

        dead = "http://127.0.0.1:9"  # the discard port: nothing listens
        client = ChatClient([EndPoint(dead)], "m", Sampling(), FAST, on_lost=on_lost)
        got = await client.complete(MESSAGES)
        assert (got.status, got.attempts, lost) == ("ok", 2, [dead])
        assert stand_in.headers[0]["authorization"] == "Bearer new"
        await client.close()

    asyncio.run(go())


def test_while_one_engine_is_revived_the_others_are_asked(stand_in: StandIn) -> None:
    async def go() -> None:
        revived = asyncio.Event()
        lost: list[str] = []

        async def on_lost(endpoint: EndPoint) -> EndPoint:
            lost.append(endpoint.base_url)
            await revived.wait()
            return EndPoint(stand_in.url, "new")

        dead = EndPoint("http://127.0.0.1:9")
        living = EndPoint(stand_in.url, "old")
        client = ChatClient([dead, living], "m", Sampling(), FAST, on_lost=on_lost)
        done = await asyncio.gather(*(client.complete(MESSAGES) for _ in range(12)))
        assert [c.status for c in done if c] == ["ok"] * 12
        assert {h["authorization"] for h in stand_in.headers} == {"Bearer old"}
        assert lost == ["http://127.0.0.1:9"]  # once, however many requests were lost
        assert not dead.up
        revived.set()
        assert dead.revival is not None
        await dead.revival
        assert dead.up
        living.in_flight = 5
        await client.complete(MESSAGES)
        assert stand_in.headers[-1]["authorization"] == "Bearer new"
        await client.close()

    asyncio.run(go())


def test_waiting_for_an_engine_is_not_counted_against_a_request(stand_in: StandIn) -> None:
    async def go() -> None:
        async def on_lost(_endpoint: EndPoint) -> EndPoint:
            await asyncio.sleep(1.5 * policy.deadline_s)  # the wait itself is what is tried here
            return EndPoint(stand_in.url)

        policy = Client(connections=1, deadline_s=0.4, attempts=2, backoff_max_s=0.01)
        client = ChatClient([EndPoint("http://127.0.0.1:9")], "m", Sampling(), policy, on_lost=on_lost)
        got = await client.complete(MESSAGES)
        assert got is not None
        assert (got.status, got.attempts) == ("ok", 2)
        await client.close()

    asyncio.run(go())


def test_a_run_ends_only_when_no_engine_is_left(stand_in: StandIn) -> None:
    async def go() -> None:
        async def on_lost(endpoint: EndPoint) -> EndPoint:
            raise EngineError(f"{endpoint.base_url} died too often")

        client = ChatClient(
            [EndPoint("http://127.0.0.1:9"), EndPoint(stand_in.url)], "m", Sampling(), FAST, on_lost=on_lost
        )
        got = await asyncio.gather(*(client.complete(MESSAGES) for _ in range(4)))
        assert [c.status for c in got if c] == ["ok"] * 4
        client.endpoints[1].base_url = "http://127.0.0.1:9"
        with pytest.raises(EngineError, match="died too often"):
            await client.complete(MESSAGES)
        await client.close()

    asyncio.run(go())


@pytest.mark.parametrize("value", [True, -1, 10**30, 1.5, "7", None, float("nan"), float("inf"), [1]])
def test_impossible_usage_is_not_reported_rather_than_stored(value: Any) -> None:
    body = completion()
    body["usage"] = {"prompt_tokens": value, "completion_tokens": 5, "cost": value}
    got = read_answer(200, {}, json.dumps(body).encode())
    assert (got.prompt_tokens, got.completion_tokens) == (-1, 5)
    assert got.cost_usd in ((None,) if value != 1.5 else (1.5,))


def test_retry_after_in_every_form() -> None:
    soon = email.utils.formatdate(time.time() + 60, usegmt=True)
    assert retry_after({"retry-after": "7"}) == 7
    assert retry_after({"retry-after": "-7"}) == 0
    assert 50 < (retry_after({"retry-after": soon}) or 0) <= 61
    for nonsense in ("", "soon", "nan", "inf", "Wed, 99 Foo 99999 99:99:99 GMT"):
        assert retry_after({"retry-after": nonsense}) is None


def test_another_reasoning_mark() -> None:
    assert classify("[THINK]hm", "", "length", "", ("[/THINK]",)) == "unfinished_reasoning"
    assert classify("[THINK]hm[/THINK]7", "", "stop", "", ("[/THINK]",)) == "ok"
