"""A stand-in for an OpenAI-compatible end point on a loopback port, with faults to order."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

TEXT = "The answer is 1."


@dataclass
class Reply:
    """What the server sends. `body` as bytes goes out as it is; `drop`: the connection is cut without an answer.

    `pieces`: sent one by one instead of a body; `end`: what follows them: the proper end, a `cut` connection, or `silent`
    (nothing, until `release()`).
    """

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    drop: bool = False
    pieces: Sequence[bytes] | None = None
    end: Literal["proper", "cut", "silent"] = "proper"


def completion(text: str | None = TEXT, finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    return {
        "id": "r-1",
        "model": "stand-in-1",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5},
    }


def delta(text: str | None = None, finish: str | None = None, **fields: Any) -> dict[str, Any]:
    """One event of a stream."""
    choice = {"index": 0, "delta": {"content": text, **fields}, "finish_reason": finish}
    return {"id": "r-1", "model": "stand-in-1", "choices": [choice]}


def event(data: Any) -> bytes:
    return b"data: " + (data if isinstance(data, bytes) else json.dumps(data).encode()) + b"\n\n"


USAGE = {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}
DONE = event(b"[DONE]")


def streamed(*pieces: bytes, end: Literal["proper", "cut", "silent"] = "proper") -> Reply:
    return Reply(content_type="text/event-stream; charset=utf-8", pieces=pieces, end=end)


def error(message: str, code: int | str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "code": code}}


class StandIn:
    """Counts what it is asked, by prompt; `answer(nth request from 0, its body)` says what to send.

    `gate`: a number of requests that are answered; the ones after it wait until `release()`.
    """

    def __init__(self) -> None:
        self.answer: Callable[[int, dict[str, Any]], Reply] = lambda _n, _body: Reply(body=completion())
        self.generation: Callable[[int], Reply] = lambda _n: Reply(404)
        self.looked_up: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.sent: Counter[str] = Counter()  # prompts whose answer went out whole
        self.gate: int | None = None
        self.at_gate = threading.Event()
        self._lock = threading.Lock()
        self._released = threading.Event()
        self.url = ""

    def release(self) -> None:
        self._released.set()

    def asked(self) -> Counter[str]:
        with self._lock:
            return Counter(prompt_of(body) for body in self.bodies)

    def handle(self, body: dict[str, Any], headers: dict[str, str]) -> Reply:
        with self._lock:
            number = len(self.bodies)
            self.bodies.append(body)
            self.headers.append(headers)
        if self.gate is not None and number >= self.gate:
            self.at_gate.set()
            self._released.wait()
        return self.answer(number, body)

    def look_up(self, path: str) -> Reply:
        with self._lock:
            number = len(self.looked_up)
            self.looked_up.append(path)
        return self.generation(number)

    def wait(self) -> None:
        self._released.wait()


def prompt_of(body: Mapping[str, Any]) -> str:
    return json.dumps(body["messages"], sort_keys=True)


@contextmanager
def serving() -> Iterator[StandIn]:
    stand_in = StandIn()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            reply = stand_in.handle(body, {k.lower(): v for k, v in self.headers.items()})
            if self.send(reply):
                stand_in.sent[prompt_of(body)] += 1

        def do_GET(self) -> None:
            self.send(stand_in.look_up(self.path))

        def send(self, reply: Reply) -> bool:
            """Whether it went out whole."""
            if reply.drop or reply.end != "proper":
                self.close_connection = True
            if reply.drop:
                return False
            try:
                self.send_response(reply.status)
                self.send_header("content-type", reply.content_type)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                if reply.pieces is None:
                    data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
                    self.send_header("content-length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                    self.wfile.flush()
                    return True
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                for piece in reply.pieces:
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                    self.wfile.flush()
                if reply.end == "proper":
                    self.wfile.write(b"0\r\n\r\n")
                elif reply.end == "silent":
                    stand_in.wait()
            except OSError:  # the client is gone: killed, or past its deadline
                self.close_connection = True
                return False
            return reply.end == "proper"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

    server = Server(("127.0.0.1", 0), Handler)
    stand_in.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield stand_in
    finally:
        stand_in.release()
        server.shutdown()
        server.server_close()
