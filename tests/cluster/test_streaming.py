"""Streamed answers: the same completions as unstreamed ones, and none from a stream that was cut."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from socket import create_server, socket
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster import rows
from cluster.answers import Completion, Refused, Retriable, read_answer
from cluster.client import ChatClient, EndPoint
from cluster.config import Client, Sampling
from cluster.events import EventParser, StreamedAnswer
from cluster.rows import SchemaMismatch
from cluster.store import RunFolder
from tests.cluster.stand_in import DONE, TEXT, USAGE, Reply, StandIn, completion, delta, error, event, streamed

FAST = Client(connections=4, deadline_s=20, attempts=3, backoff_max_s=0.01, stream=True, idle_s=20)
MESSAGES = [{"role": "user", "content": "How much is 1?"}]
KEEP_ALIVE = b": OPENROUTER PROCESSING\n\n"
GOOD = streamed(
    KEEP_ALIVE, event(delta("The answer ")), event(delta("is 1.")), event(delta(finish="stop")), event(USAGE), DONE
)


def ask(url: str, policy: Client = FAST, **options: Any) -> Completion:
    async def go() -> Completion:
        client = ChatClient([EndPoint(url, "key-1")], "model-1", Sampling(), policy, **options)
        try:
            got = await client.complete(MESSAGES)
            assert got is not None
            return got
        finally:
            await client.close()

    return asyncio.run(go())


def script(server: StandIn, *replies: Reply) -> None:
    server.answer = lambda n, _body: replies[min(n, len(replies) - 1)]


def read(*chunks: bytes, most: int = 2**20) -> Completion:
    answer = StreamedAnswer(most)
    for chunk in chunks:
        answer.feed(chunk)
    return read_answer(200, {}, answer.body())


def test_a_stream_gives_the_completion_of_the_same_answer_in_one_piece(stand_in: StandIn) -> None:
    script(stand_in, GOOD, Reply(body=completion()))
    parts = asdict(ask(stand_in.url))
    one = asdict(ask(stand_in.url, replace(FAST, stream=False)))
    assert 0 < parts["first_token_s"] <= parts["latency_s"]
    assert one["first_token_s"] is None
    for own in ("first_token_s", "latency_s", "asked_at"):
        del parts[own], one[own]
    assert parts == one
    assert (parts["status"], parts["text"], parts["completion_tokens"]) == ("ok", TEXT, 5)
    asked = {"stream": True, "stream_options": {"include_usage": True}}
    assert stand_in.bodies[0] == {**stand_in.bodies[1], **asked}


def test_everything_that_a_stream_reports_is_kept() -> None:
    usage = {
        "prompt_tokens": 1,
        "completion_tokens": 2,
        "cost": 0.5,
        "completion_tokens_details": {"reasoning_tokens": 3},
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    last = delta(finish="stop")
    last["choices"][0]["native_finish_reason"] = "eos"
    other = delta("another choice", finish="length")
    other["choices"][0]["index"] = 1
    got = read(
        event(delta(reasoning="h", reasoning_content="h")),
        event(delta(reasoning="m") | {"provider": "P", "system_fingerprint": "f"}),
        event(delta("7")),
        event(other),
        event(delta([{"type": "text", "text": "!"}])),  # type: ignore[arg-type]  # content parts
        event(last),
        event({"choices": [], "usage": usage}),
        DONE,
    )
    assert (got.status, got.text, got.reasoning) == ("ok", "7!", "hm")
    assert (got.finish_reason, got.native_finish_reason) == ("stop", "eos")
    assert (got.prompt_tokens, got.completion_tokens, got.reasoning_tokens, got.cached_tokens) == (1, 2, 3, 4)
    assert (got.cost_usd, got.observed_provider, got.observed_model) == (0.5, "P", "stand-in-1")
    assert (got.system_fingerprint, got.response_id) == ("f", "r-1")


@pytest.mark.parametrize(
    ("pieces", "status", "text"),
    [
        ((event(delta("half")), event(delta(finish="length"))), "truncated", "half"),
        ((event(delta(reasoning="hm")), event(delta(finish="length"))), "unfinished_reasoning", ""),
        ((event(delta(reasoning_content="hm")), event(delta(finish="stop"))), "unfinished_reasoning", ""),
        ((event(delta(refusal="I will ")), event(delta(refusal="not", finish="stop"))), "refused", "I will not"),
        ((event(delta("no", finish="content_filter")),), "refused", "no"),
        ((event(delta(None, finish="stop")),), "empty", ""),
        ((event(delta("text")), DONE), "ok", "text"),  # [DONE] is an end too
        ((event(delta("text", finish="stop"))[:-2],), "ok", "text"),  # a last blank line is often forgotten
        ((event(completion("whole")), DONE), "ok", "whole"),
        ((event(delta("fine", finish="stop")), DONE, event(error("too late"))), "ok", "fine"),
        ((event(error("maximum context length is 9", 400)),), "context_overflow", ""),
        (
            (event({"error": {"message": "flagged", "code": 403, "metadata": {"reasons": ["x"]}}}),),
            "refused",
            "",
        ),
    ],
    ids=str,
)
def test_one_status_each_without_a_retry(stand_in: StandIn, pieces: tuple[bytes, ...], status: str, text: str) -> None:
    script(stand_in, streamed(*pieces))
    got = ask(stand_in.url)
    assert (got.status, got.text, got.attempts) == (status, text, 1)


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        (streamed(event(delta("The answer is")), end="cut"), "connection: "),
        (streamed(event(delta("The answer is"))), "a stream that was cut"),
        (streamed(event(delta("x")), event(delta("y", finish="stop"))[:-9]), "a stream that was cut"),
        (streamed(), "a stream that was cut"),
        (streamed(KEEP_ALIVE), "a stream that was cut"),
        (streamed(event(delta("x")), event(b"{half a"), DONE), "no JSON object: b'{half a'"),
        (streamed(event(b"[" * 100_000)), "no JSON object"),
        (streamed(event({"choices": []}), DONE), "without choices"),
        (streamed(event(delta()), DONE), "without choices"),
        (streamed(event(delta("half")), event(error("overloaded", 502))), "HTTP 502 overloaded"),
        (streamed(event(delta("half")), event(delta(finish="error") | error("down", 503))), "HTTP 503 down"),
        (streamed(event(delta("half")), event(delta(finish="error")), DONE), "failed while answering"),
        (streamed(event({"object": "error", "message": "boom", "code": 500})), "HTTP 500 boom"),
        (replace(GOOD, content_type="text/plain"), "no JSON object"),
        (Reply(200, error("overloaded", 502)), "HTTP 502 overloaded"),
        (Reply(200, b'{"choices": [{"mess'), "no JSON object"),
        (Reply(200, {"choices": []}), "without choices"),
        (Reply(503, event(error("down")), content_type="text/event-stream"), "HTTP 503"),
        (Reply(drop=True), "connection: "),
    ],
    ids=str,
)
def test_a_fault_that_another_attempt_mends(stand_in: StandIn, fault: Reply, named: str) -> None:
    script(stand_in, fault, GOOD)
    got = ask(stand_in.url)
    assert (got.status, got.text, got.attempts) == ("ok", TEXT, 2)
    [entry] = json.loads(got.attempt_log)
    assert named in entry["error"]


def test_a_refusal_inside_a_stream_ends_the_run(stand_in: StandIn) -> None:
    script(stand_in, streamed(event(error("no credit", 402))))
    with pytest.raises(Refused, match="no credit"):
        ask(stand_in.url)


@pytest.mark.parametrize("begun", [(), (KEEP_ALIVE,), (event(delta("The answer")),)], ids=["nothing", "alive", "text"])
def test_a_stream_that_falls_silent_is_asked_again(stand_in: StandIn, begun: tuple[bytes, ...]) -> None:
    lost: list[EndPoint] = []

    async def on_lost(endpoint: EndPoint) -> EndPoint:
        lost.append(endpoint)
        return endpoint

    script(stand_in, streamed(*begun, end="silent"), GOOD)
    got = ask(stand_in.url, replace(FAST, idle_s=1.0), on_lost=on_lost)
    assert (got.status, got.text, got.attempts) == ("ok", TEXT, 2)
    assert [e["error"] for e in json.loads(got.attempt_log)] == ["nothing came for 1 s"]
    assert not lost  # the engine has not died of it


def test_silence_for_ever_is_bounded(stand_in: StandIn) -> None:
    script(stand_in, streamed(end="silent"))
    got = ask(stand_in.url, replace(FAST, idle_s=0.1))
    assert (got.status, got.error, got.attempts) == ("provider_error", "nothing came for 0.1 s", 3)


@pytest.mark.parametrize("pieces", [(DONE,), ()], ids=["done", "finish reason only"])
@pytest.mark.parametrize("end", ["cut", "silent"])
def test_an_answer_that_is_whole_outlives_its_connection(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, pieces: tuple[bytes, ...], end: Any
) -> None:
    monkeypatch.setattr("cluster.client.LINGER_S", 0.1)
    script(stand_in, streamed(event(delta(TEXT, finish="stop")), *pieces, end=end))
    got = ask(stand_in.url, replace(FAST, idle_s=1.0))
    assert (got.status, got.text, got.attempts) == ("ok", TEXT, 1)


def test_an_answer_in_one_piece_is_read_although_a_stream_was_asked_and_may_take_its_time(stand_in: StandIn) -> None:
    body = json.dumps(completion()).encode()
    slow = Reply(pieces=(body[:20],), end="silent")
    script(stand_in, Reply(body=completion()), slow)
    got = ask(stand_in.url)
    assert (got.status, got.text, got.attempts, got.first_token_s) == ("ok", TEXT, 1, None)
    got = ask(stand_in.url, replace(FAST, idle_s=0.5, deadline_s=1.5))
    assert (got.status, got.attempts) == ("timed_out", 1)


def test_unstreamed_answers_have_no_idle_time_out(stand_in: StandIn) -> None:
    stand_in.gate = 0
    got = ask(stand_in.url, replace(FAST, stream=False, idle_s=0.1, deadline_s=0.6))
    assert (got.status, got.attempts) == ("timed_out", 1)


@pytest.mark.parametrize("stream", [False, True])
def test_a_long_completion(stand_in: StandIn, stream: bool) -> None:
    text = "가나다 <p>x</p>\n" * 19_000
    assert len(text.encode()) > 300_000
    pieces = [event(delta(text[i : i + 100])) for i in range(0, len(text), 100)]
    script(stand_in, streamed(*pieces, event(delta(finish="stop")), DONE) if stream else Reply(body=completion(text)))
    got = ask(stand_in.url, replace(FAST, stream=stream))
    assert (got.status, got.text) == ("ok", text)


@pytest.mark.parametrize(
    "chunks",
    [
        [event(delta("x" * 600))] * 2,
        [b"data: " + b"x" * 600] * 2,
        [b"data: " + b"x" * 300 + b"\n"] * 4,
        [b":" + b"x" * 600] * 2,
    ],
    ids=["text", "line", "event", "comment"],
)
def test_what_is_kept_is_bounded(chunks: list[bytes]) -> None:
    with pytest.raises(Retriable, match="more than 1000 bytes"):
        read(*chunks, most=1000)


def test_keep_alives_cost_nothing() -> None:
    assert read(*[KEEP_ALIVE] * 1000, event(delta("x", finish="stop")), most=1000).status == "ok"


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\ndata: b\r\n\r\ndata: c\r\rdata:d\n\n", [b"a", b"b", b"c", b"d"]),
        (b"data: a\ndata: b\ndata\n\n", [b"a\nb\n"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b": c\nevent: x\nid: 1\nretry: 5\ndata:  a\nother\n\n\n\n", [b" a"]),
        (b"datum: a\n\ndata\n\n", []),
        (b"data: a\r\n", []),  # not ended
    ],
)
def test_the_forms_of_events(stream: bytes, events: list[bytes]) -> None:
    assert EventParser().feed(stream) == events
    parser = EventParser()
    assert [e for i in range(len(stream)) for e in parser.feed(stream[i : i + 1])] == events


def test_halves_of_a_character_from_two_deltas_meet() -> None:
    assert read(event(delta("\ud83d")), event(delta("\ude00", finish="stop"))).text == "😀"


@st.composite
def _stream(draw: st.DrawFn) -> tuple[bytes, str]:
    texts = draw(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), min_size=1, max_size=6))
    stream = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    for i, text in enumerate(texts):
        data = json.dumps(delta(text, "stop" if i == len(texts) - 1 else None), ensure_ascii=False, indent=1).encode()
        stream += draw(st.sampled_from([b"", b": OPENROUTER PROCESSING\r\n\r\n", b"event: x\n", b"\r"]))
        end = draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
        for line in data.split(b"\n"):
            stream += b"data:" + draw(st.sampled_from([b"", b" "])) + line + end
        stream += end
    return stream + draw(st.sampled_from([b"", DONE, DONE[:-2]])), "".join(texts)


@given(_stream(), st.data())
def test_however_a_stream_is_cut_it_says_the_same(made: tuple[bytes, str], data: st.DataObject) -> None:
    stream, text = made
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    chunks = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    got = read(*chunks)
    assert got == read(stream) == read(*(stream[i : i + 1] for i in range(len(stream))))
    assert got.text == text
    assert got.finish_reason == "stop"


@given(st.lists(st.sampled_from([b"data: ", b"\n\n", b"{", b"\xff", DONE, event(delta("x")), event([1])]), max_size=9))
def test_any_bytes_are_a_completion_or_retriable(chunks: list[bytes]) -> None:
    with suppress(Retriable):
        assert read(*chunks).status == "ok"


# The record of a generation.

RECORD = {"data": {"native_finish_reason": "eos", "total_cost": 0.25, "provider_name": "P"}}
LOOKING_UP = replace(FAST, stream=False, lookup=True)


def test_what_a_completion_came_without_is_looked_up(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cluster.client.LOOKUP_AGAIN_S", 0.0)
    stand_in.generation = lambda n: Reply(404, error("not yet")) if n == 0 else Reply(body=RECORD)
    got = ask(stand_in.url, LOOKING_UP)
    assert (got.status, got.native_finish_reason, got.cost_usd, got.observed_provider) == ("ok", "eos", 0.25, "P")
    assert stand_in.looked_up == ["/v1/generation?id=r-1"] * 2
    assert got.attempts == 1


def test_what_came_with_the_completion_stands_and_is_not_looked_up(stand_in: StandIn) -> None:
    body = completion()
    body["usage"]["cost"] = 0.5
    stand_in.generation = lambda _n: Reply(body=RECORD)
    script(stand_in, Reply(body=body))
    got = ask(stand_in.url, LOOKING_UP)
    assert (got.cost_usd, got.native_finish_reason) == (0.5, "eos")
    body["choices"][0]["native_finish_reason"] = "own"
    ask(stand_in.url, LOOKING_UP)
    assert len(stand_in.looked_up) == 1
    ask(stand_in.url, replace(LOOKING_UP, lookup=False))  # another end point than OpenRouter has no such records
    assert len(stand_in.looked_up) == 1


@pytest.mark.parametrize(
    "record",
    [
        Reply(404),
        Reply(500, error("down")),
        Reply(401, error("who are you")),
        Reply(200, b"[" * 100_000),
        Reply(200, b"[]"),
        Reply(200, {"data": None}),
        Reply(200, {"data": {"total_cost": -1, "native_finish_reason": 7}}),
        Reply(drop=True),
        Reply(pieces=(b"{",), end="silent"),
    ],
    ids=str,
)
def test_a_look_up_that_fails_costs_no_completion(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, record: Reply
) -> None:
    monkeypatch.setattr("cluster.client.LOOKUP_S", 0.2)
    stand_in.generation = lambda _n: record
    got = ask(stand_in.url, LOOKING_UP)
    assert (got.status, got.text, got.cost_usd, got.native_finish_reason) == ("ok", TEXT, None, "")
    assert stand_in.looked_up


def test_openrouter_is_asked_without_a_setting(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def go() -> None:
        client = ChatClient([], "m", Sampling(), replace(LOOKING_UP, lookup=False))
        monkeypatch.setattr(client, "_http", None)  # asking it is an AttributeError
        for url in ("https://openrouter.ai/api/v1", "https://eu.openrouter.ai/api/v1", "https://notopenrouter.ai/v1"):
            try:
                await client._look_up(EndPoint(url), Completion("ok", response_id="r"))
            except AttributeError:
                asked.append(url)

    asyncio.run(go())
    assert asked == ["https://openrouter.ai/api/v1", "https://eu.openrouter.ai/api/v1"]


# What earlier versions stored.


def _old(schema: pa.Schema, version: bytes = b"1") -> pa.Schema:
    return pa.schema([f for f in schema if f.name != "first_token_s"], metadata={b"serial7.schema": version})


def test_parts_of_the_first_version_are_read_beside_new_ones(tmp_path: Path) -> None:
    folder = RunFolder(str(tmp_path))
    folder.append("completions", [{"key": "a", "latency_s": 2.0, "error": "e"}], _old(rows.COMPLETION))
    folder.append("completions", [{"key": "b", "first_token_s": 0.5}], rows.COMPLETION)
    table = folder.read("completions", rows.COMPLETION)
    assert table.schema.equals(rows.COMPLETION)
    assert table.select(["key", "latency_s", "first_token_s", "error"]).to_pylist() == [
        {"key": "a", "latency_s": 2.0, "first_token_s": None, "error": "e"},
        {"key": "b", "latency_s": None, "first_token_s": 0.5, "error": None},
    ]
    folder.append("verdicts/findings", [{"key": "a"}], _old(rows.FINDING))
    assert folder.read("verdicts/findings", rows.FINDING).schema.equals(rows.FINDING)


@pytest.mark.parametrize(
    "schema",
    [
        _old(rows.COMPLETION, b"2"),
        _old(rows.COMPLETION, b"3"),
        rows.COMPLETION.with_metadata({b"serial7.schema": b"1"}),
        rows.COMPLETION.with_metadata({b"serial7.schema": b"3"}),
        rows.COMPLETION.with_metadata({b"serial7.schema": b"\xff"}),
        rows.COMPLETION.remove_metadata(),
        _old(rows.COMPLETION).remove(3),
    ],
    ids=["2 without", "3 without", "1 with", "3", "no text", "none", "1 with another missing"],
)
def test_other_versions_are_refused(tmp_path: Path, schema: pa.Schema) -> None:
    folder = RunFolder(str(tmp_path))
    folder.append("completions", [{"key": "a"}], schema)
    with pytest.raises(SchemaMismatch, match="this program reads versions 1 and 2"):
        folder.read("completions", rows.COMPLETION)


# HTTP/2 over TLS.


def _authority(folder: Path) -> tuple[Path, Path, Path]:
    """A private authority and a certificate of 127.0.0.1: authority, certificate, key."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    now = datetime.datetime.now(datetime.UTC)
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    names = [x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, n)]) for n in ("authority", "stand-in")]
    found = []
    for is_authority, key, name in zip((True, False), keys, names, strict=True):
        builder = x509.CertificateBuilder(names[0], name, key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(now - datetime.timedelta(days=1))
        builder = builder.not_valid_after(now + datetime.timedelta(days=1))
        builder = builder.add_extension(x509.BasicConstraints(is_authority, None), critical=True)
        address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        builder = builder.add_extension(x509.SubjectAlternativeName([address]), critical=False)
        path = folder / f"{name.rdns[0].rfc4514_string()}.pem"
        path.write_bytes(builder.sign(keys[0], hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        found.append(path)
    secret = folder / "key.pem"
    secret.write_bytes(
        keys[1].private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return found[0], found[1], secret


@contextmanager
def _serving_http2(certificate: Path, key: Path, reply: Reply, seen: list[str]) -> Iterator[str]:
    """Answers every request of every connection with `reply`; `seen`: the protocols that were agreed on."""
    h2 = pytest.importorskip("h2.connection")
    from h2.config import H2Configuration
    from h2.events import RequestReceived, StreamEnded

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["h2"])
    listener = create_server(("127.0.0.1", 0))

    def serve(plain: socket) -> None:
        with suppress(OSError), context.wrap_socket(plain, server_side=True) as wire:
            seen.append(str(wire.selected_alpn_protocol()))
            connection = h2.H2Connection(H2Configuration(client_side=False))
            connection.initiate_connection()
            wire.sendall(connection.data_to_send())
            while data := wire.recv(65536):
                for found in connection.receive_data(data):
                    if isinstance(found, RequestReceived):
                        headers = [(":status", str(reply.status)), ("content-type", reply.content_type)]
                        connection.send_headers(found.stream_id, headers)
                    elif isinstance(found, StreamEnded):
                        for piece in reply.pieces or ():
                            connection.send_data(found.stream_id, piece)
                            wire.sendall(connection.data_to_send())
                        connection.end_stream(found.stream_id)
                wire.sendall(connection.data_to_send())

    def accept() -> None:
        with suppress(OSError):  # the listener is closed
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"https://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        listener.close()


def test_http2_with_a_private_authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority, certificate, key = _authority(tmp_path)
    seen: list[str] = []
    with _serving_http2(certificate, key, GOOD, seen) as url:
        monkeypatch.setenv("SSL_CERT_FILE", str(authority))
        got = ask(url)
        assert (got.status, got.text, got.attempts) == ("ok", TEXT, 1)
        assert seen == ["h2"]
        monkeypatch.delenv("SSL_CERT_FILE")
        got = ask(url, replace(FAST, attempts=1))
        assert got.status == "provider_error"
        assert "certificate" in got.error.lower()
