"""A stand-in for a served model whose latency is known: what the client and the job cost is measured against it.

    python -m cluster.latency_server --port 0 --median 0.2 [--sigma 0.8] [--tokens 200] [--answers FILE]

It answers chat completions with the texts of FILE (a JSON list) in turn, or always with the same, after a drawn latency (seconds: log-normal of this median and
sigma, as long-tailed as reasoning models are; sigma 0 = constant), reads requests no further than their length, and
prints `ready PORT`. Loopback only. It is made to be cheap, so that a machine of two cores measures the client and not
the server.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import math
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import uvloop


def answer_bytes(text: str, tokens: int) -> bytes:
    """The whole HTTP answer: a chat completion that is counted as `tokens` tokens."""
    body = json.dumps(
        {
            "id": "chatcmpl-stand-in",
            "object": "chat.completion",
            "model": "stand-in",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text},
                    "finish_reason": "stop",
                }
            ],
            "usage": {"prompt_tokens": 900, "completion_tokens": tokens, "total_tokens": 900 + tokens},
        }
    ).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Load:
    """What the server saw: requests under way, the most at once, and seconds in which at least one was."""

    def __init__(self) -> None:
        self.answered = 0
        self.under_way = 0
        self.most = 0
        self.request_seconds = 0.0
        self.first = self.last = 0.0

    def begin(self) -> float:
        now = time.monotonic()
        self.first = self.first or now
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        return now

    def end(self, begun: float) -> None:
        self.last = time.monotonic()
        self.under_way -= 1
        self.answered += 1
        self.request_seconds += self.last - begun

    def report(self) -> dict[str, float]:
        return {
            "answered": self.answered,
            "most_in_flight": self.most,
            "request_seconds": self.request_seconds,
            "seconds": self.last - self.first,
        }


class Connection(asyncio.Protocol):
    """One client's connection; requests on it come one after another (HTTP/1.1 without pipelining)."""

    def __init__(
        self, answers: Iterator[bytes], median: float, sigma: float, chance: random.Random, load: Load
    ) -> None:
        self._answers = answers
        self._median, self._sigma, self._chance = median, sigma, chance
        self._load = load
        self._received = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._received[:end]).lower()
        if head.startswith(b"get "):
            self._received.clear()
            body = json.dumps(self._load.report()).encode()
            self._send(f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
            return
        length = int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        if len(self._received) < end + 4 + length:
            return
        self._received.clear()
        begun = self._load.begin()
        asyncio.get_running_loop().call_later(self._latency(), self._reply, begun)

    def _latency(self) -> float:
        return self._chance.lognormvariate(math.log(self._median), self._sigma) if self._sigma else self._median

    def _reply(self, begun: float) -> None:
        self._load.end(begun)
        self._send(next(self._answers))

    def _send(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)


async def serve(port: int, median: float, sigma: float, tokens: int, texts: list[str]) -> None:
    loop = asyncio.get_running_loop()
    answers = itertools.cycle([answer_bytes(text, tokens) for text in texts])
    chance, load = random.Random(7), Load()  # noqa: S311 - latencies, drawn alike each time
    server = await loop.create_server(
        lambda: Connection(answers, median, sigma, chance, load), "127.0.0.1", port, backlog=4096
    )
    print("ready", server.sockets[0].getsockname()[1], flush=True)  # noqa: T201 - the caller waits for it
    async with server:
        await server.serve_forever()


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--median", type=float, default=0.2)
    parser.add_argument("--sigma", type=float, default=0.0)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--answers", type=Path)
    options = parser.parse_args(arguments)
    texts = json.loads(options.answers.read_text("utf-8")) if options.answers else ["word " * options.tokens]
    uvloop.run(serve(options.port, options.median, options.sigma, options.tokens, texts))


if __name__ == "__main__":
    main(sys.argv[1:])
