"""One asynchronous client for served engines and API providers: chat completions, statuses, bounded retries.

Every outcome is a `Completion` with exactly one status; nothing here raises for what a provider answers, except
`Refused`, which no retry can mend (a wrong key, an unknown model). HTTP/2 is used where an https end point offers it.
Certificates are checked against the system's authorities, or those of `SSL_CERT_FILE` or `SSL_CERT_DIR` alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import random
import resource
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from aiolimiter import AsyncLimiter
from pyreqwest.client import ClientBuilder
from pyreqwest.exceptions import PyreqwestError, TransportError
from pyreqwest.request import StreamRequest
from pyreqwest.response import ResponseBodyReader

from cluster.answers import MAX_ERROR_TEXT, Completion, Retriable, add_generation, read_answer
from cluster.config import Client, Sampling
from cluster.errors import JobError, UsageError
from cluster.events import StreamedAnswer, is_event_stream

CONNECT_TIMEOUT = timedelta(seconds=30)
MAX_BODY_BYTES = 64 * 2**20  # an answer of the largest token limit is under 2 MiB
FIRST_BACKOFF_S = 0.5
SPARE_FILES = 256  # for what a process has open beside its connections
LINGER_S = 1.0  # for what follows the end of a stream: read to its end, a connection can be used again
LOOKUP_S = 4.0  # within it a completion that has arrived waits for its cost; its record may come a moment later
LOOKUP_AGAIN_S = 0.5


@dataclass(slots=True)
class EndPoint:
    """Where requests go. `in_flight` decides who gets the next one; one that is being revived, or is gone, gets none."""

    base_url: str
    api_key: str = field(default="", repr=False)
    in_flight: int = 0
    revival: asyncio.Task[None] | None = field(default=None, repr=False)
    gone: JobError | None = field(default=None, repr=False)

    @property
    def up(self) -> bool:
        return self.revival is None and self.gone is None


class AdaptiveLimit:
    """A ceiling on connections: halved on 429 (at most once a second), one more after as many successes as it allows."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.limit = float(most)
        self.in_flight = 0
        self._cap = most
        self._lowered = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()  # a condition would wake all of thousands for each slot

    @contextlib.asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """One request's place, in the order of asking."""
        if self._waiting or not self._free():
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():  # handed over in the same moment: pass it on
                    self.in_flight -= 1
                    self._hand_over()
                raise
        else:
            self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1
            self._hand_over()

    def _free(self) -> bool:
        return self.in_flight < min(self.limit, self._cap)

    def _hand_over(self) -> None:
        while self._waiting and self._free():
            turn = self._waiting.popleft()
            if not turn.done():
                self.in_flight += 1
                turn.set_result(None)

    def cap(self, most: int | None) -> None:
        """Another ceiling beside the adaptive one, such as what a budget still pays; None = none."""
        self._cap = self._most if most is None else most
        self._hand_over()

    def succeeded(self) -> None:
        self.limit = min(self._most, self.limit + 1 / self.limit)
        self._hand_over()

    def busy(self) -> None:
        now = time.monotonic()
        if now - self._lowered > 1:
            self._lowered = now
            self.limit = max(1.0, self.limit / 2)


def _allow_sockets(connections: int) -> None:
    """Raise this process's limit of open files to what the connections take; systems begin at 1,024.

    Raises:
        UsageError: the system allows fewer.
    """
    due = connections + SPARE_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < due:
        if hard != resource.RLIM_INFINITY and hard < due:
            raise UsageError(
                f"client.connections: {connections} connections take more open files than the {hard} that this system "
                "allows; lower client.connections, or raise the limit (ulimit -Hn)"
            )
        resource.setrlimit(resource.RLIMIT_NOFILE, (due, hard))


def collect_rarely() -> None:
    """Keep Python's garbage collector from stopping thousands of requests every moment: what this process holds now is
    not looked at again, the rest seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


class ChatClient:
    """Asks `endpoints` for chat completions.

    Args:
        model: the id that is sent.
        on_lost: called once for an end point whose connection was lost; returns where to go on (a restarted engine), or
            raises JobError if it is gone for good. Meanwhile the others are asked; when none is left, the error is raised.
    """

    def __init__(
        self,
        endpoints: Sequence[EndPoint],
        model: str,
        sampling: Sampling,
        policy: Client,
        *,
        routing: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        reasoning_end: Sequence[str] = ("</think>",),
        on_lost: Callable[[EndPoint], Awaitable[EndPoint]] | None = None,
    ) -> None:
        self.endpoints = list(endpoints)
        self.limit = AdaptiveLimit(policy.connections)
        self._model = model
        self._sampling = sampling
        self._policy = policy
        self._routing = dict(routing or {})
        self._reasoning_end = tuple(reasoning_end)
        self._on_lost = on_lost
        self._rate = AsyncLimiter(policy.per_minute, 60) if policy.per_minute else None
        # The deadline of a request is ours, over all attempts; so are retries, and a redirect is no answer.
        builder = ClientBuilder().user_agent("serial7").http2(True).follow_redirects(False)
        builder = builder.connect_timeout(CONNECT_TIMEOUT).default_headers(dict(headers or {}))
        if on_lost is not None or all(e.base_url.startswith("http://127.0.0.1") for e in self.endpoints):
            builder = builder.no_proxy()  # a proxy of the environment never sees what goes to our own engines
        _allow_sockets(policy.connections)
        self._http = builder.build()

    async def close(self) -> None:
        await self._http.close()

    def body(self, messages: list[dict[str, str]], seed: int | None = None) -> dict[str, Any]:
        """The JSON body of a request; a sampling field that is None is not sent."""
        sampling = self._sampling
        fields = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_tokens,
            "seed": seed if seed is not None else sampling.seed,
        }
        body: dict[str, Any] = {"model": self._model, "messages": messages}
        if self._policy.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        body |= {k: v for k, v in fields.items() if v is not None} | dict(sampling.extra_body)
        if self._routing:
            body["provider"] = self._routing
        return body

    async def complete(
        self,
        messages: list[dict[str, str]],
        seed: int | None = None,
        still_wanted: Callable[[], Awaitable[bool]] | None = None,
    ) -> Completion | None:
        """One completion, within the deadline and the attempts of the policy.

        Args:
            still_wanted: asked when a connection is free, just before the first attempt; if not, None is returned.

        Raises:
            Refused: the end point refuses the key or the model.
            JobError: from `on_lost`: the engine is gone for good.
        """
        async with self.limit.slot():
            if still_wanted is not None and not await still_wanted():
                return None
            trail = _Trail()
            body = self.body(messages, seed)
            try:
                async with asyncio.timeout(self._policy.deadline_s) as deadline:
                    completion = await self._attempts(body, trail, deadline)
            except TimeoutError:
                completion = Completion("timed_out", error=f"no completion within {self._policy.deadline_s:g} s")
            except Retriable as error:
                completion = Completion("provider_error", error=str(error)[:MAX_ERROR_TEXT])
            completion.asked_at, completion.latency_s = trail.asked_at, trail.seconds()
            completion.attempts = trail.attempts
            completion.attempt_log = json.dumps(trail.errors)
            if trail.endpoint is not None:
                await self._look_up(trail.endpoint, completion)
            return completion

    async def _attempts(self, body: dict[str, Any], trail: _Trail, deadline: asyncio.Timeout) -> Completion:
        """Ask until an answer stands; the last attempt's error is raised where none does."""
        while True:
            try:
                return await self._attempt(body, trail, deadline)
            except Retriable as error:
                # Full jitter, unless the end point says when. Waiting past the deadline would hold a connection for nothing.
                most = min(self._policy.backoff_max_s, FIRST_BACKOFF_S * 2 ** (trail.attempts - 1))
                wait = random.uniform(0, most) if error.after_s is None else error.after_s  # noqa: S311 - no secret
                asked = trail.seconds() - trail.waited_s + (error.after_s or 0)
                if asked >= self._policy.deadline_s or trail.attempts >= self._policy.attempts:
                    raise
            await asyncio.sleep(wait)

    async def _attempt(self, body: dict[str, Any], trail: _Trail, deadline: asyncio.Timeout) -> Completion:
        endpoint = await self._pick(trail, deadline)
        if self._rate is not None:
            await self._rate.acquire()
        trail.attempts += 1
        endpoint.in_flight += 1
        trail.endpoint = endpoint
        try:
            return await self._once(endpoint, body)
        except Retriable as error:
            trail.failed(error)
            if error.busy:
                self.limit.busy()
            if error.lost and self._on_lost is not None and endpoint.up:
                endpoint.revival = asyncio.create_task(self._revive(endpoint))
            raise
        finally:
            endpoint.in_flight -= 1

    async def _pick(self, trail: _Trail, deadline: asyncio.Timeout) -> EndPoint:
        """The least loaded end point that is up; waits for a revival where none is, beside the request's deadline."""
        while True:
            up = [e for e in self.endpoints if e.up]
            if up:
                return min(up, key=lambda e: e.in_flight)
            revivals = [e.revival for e in self.endpoints if e.revival is not None]
            if not revivals:
                gone = next(e.gone for e in self.endpoints if e.gone is not None)
                raise gone
            ends, begun = deadline.when(), time.monotonic()
            deadline.reschedule(None)  # an engine's start-up has a deadline of its own
            await asyncio.wait(revivals, return_when=asyncio.FIRST_COMPLETED)
            waited = time.monotonic() - begun
            trail.waited_s += waited
            if ends is not None:
                deadline.reschedule(ends + waited)

    async def _revive(self, lost: EndPoint) -> None:
        assert self._on_lost is not None
        try:
            found = await self._on_lost(lost)
            lost.base_url, lost.api_key = found.base_url, found.api_key
        except JobError as error:
            lost.gone = error
        finally:
            lost.revival = None

    async def _once(self, endpoint: EndPoint, body: dict[str, Any]) -> Completion:
        request = self._http.post(f"{endpoint.base_url}/chat/completions").body_json(body)
        if endpoint.api_key:
            request = request.bearer_auth(endpoint.api_key)
        if self._policy.stream:
            # By default 64 KiB are gathered before the first byte is handed on: no first token, no silence to notice.
            request = request.streamed_read_buffer_limit(0)
        answer = await self._receive(request.build_streamed())
        said = answer.body
        if endpoint.api_key:  # a server that repeats the key puts it neither into the run folder nor into a log
            said = said.replace(endpoint.api_key.encode(), b"[API key]")
        completion = read_answer(answer.status, answer.headers, said, self._reasoning_end)
        completion.first_token_s = answer.first_token_s
        self.limit.succeeded()
        return completion

    async def _receive(self, request: StreamRequest) -> _Answer:
        """An answer, whole: as it came, or as its stream adds up to. What is asked unstreamed may take its time."""
        idle_s = self._policy.idle_s if self._policy.stream else None
        sent, first_token_s = time.monotonic(), None
        stream = StreamedAnswer(MAX_BODY_BYTES)
        try:
            async with asyncio.timeout(idle_s) as idle, request as answer:
                status, headers = answer.status, answer.headers
                if status != 200 or not is_event_stream(headers):
                    idle.reschedule(None)
                    return _Answer(status, headers, await _read(answer.body_reader))
                while not stream.over and (chunk := await answer.body_reader.read_chunk()) is not None:
                    if idle_s is not None:
                        idle.reschedule(asyncio.get_running_loop().time() + idle_s)
                    stream.feed(bytes(chunk))
                    if first_token_s is None and stream.begun:
                        first_token_s = time.monotonic() - sent
                idle.reschedule(asyncio.get_running_loop().time() + LINGER_S)
                while await answer.body_reader.read_chunk() is not None:
                    pass
        except TransportError as error:
            if not stream.whole:
                raise Retriable(f"connection: {_said(error)}", lost=True) from error
        except PyreqwestError as error:
            if not stream.whole:
                raise Retriable(_said(error)) from error
        except TimeoutError as error:
            if not stream.whole:
                raise Retriable(f"nothing came for {idle_s:g} s") from error
        return _Answer(status, headers, stream.body(), first_token_s)

    async def _look_up(self, endpoint: EndPoint, completion: Completion) -> None:
        """Ask for the cost, the native finish reason and the provider that `completion` came without. They are worth a
        moment's wait, and never a completion: what goes wrong here is passed over."""
        host = urlsplit(endpoint.base_url).hostname or ""
        if not self._policy.lookup and host != "openrouter.ai" and not host.endswith(".openrouter.ai"):
            return
        if not completion.response_id or (completion.cost_usd is not None and completion.native_finish_reason):
            return
        with contextlib.suppress(TimeoutError, Retriable, PyreqwestError):
            async with asyncio.timeout(LOOKUP_S):
                while True:
                    request = self._http.get(f"{endpoint.base_url}/generation").query({"id": completion.response_id})
                    if endpoint.api_key:
                        request = request.bearer_auth(endpoint.api_key)
                    async with request.build_streamed() as answer:
                        body = await _read(answer.body_reader)
                    if answer.status != 404:
                        break
                    await asyncio.sleep(LOOKUP_AGAIN_S)
                if answer.status == 200:
                    add_generation(completion, body)


@dataclass(slots=True)
class _Answer:
    """An HTTP answer that has arrived."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    first_token_s: float | None = None


async def _read(reader: ResponseBodyReader) -> bytes:
    received = bytearray()
    while (chunk := await reader.read_chunk()) is not None:
        received += chunk
        if len(received) > MAX_BODY_BYTES:
            raise Retriable(f"an answer of more than {MAX_BODY_BYTES} bytes")
    return bytes(received)


def _said(error: PyreqwestError) -> str:
    """The kind of an error and its innermost cause."""
    causes = (getattr(error, "details", None) or {}).get("causes") or []
    return f"{type(error).__name__} {causes[-1]['message'] if causes else error.message}".strip()


@dataclass(slots=True)
class _Trail:
    """What happened to one request so far."""

    asked_at: float = field(default_factory=time.time)
    attempts: int = 0
    endpoint: EndPoint | None = None  # the last one that was asked
    waited_s: float = 0.0  # for an engine that was being restarted
    errors: list[dict[str, Any]] = field(default_factory=list)
    _start: float = field(default_factory=time.monotonic)

    def seconds(self) -> float:
        return time.monotonic() - self._start

    def failed(self, error: Retriable) -> None:
        self.errors.append({"after_s": round(self.seconds(), 3), "error": str(error)[:MAX_ERROR_TEXT]})
