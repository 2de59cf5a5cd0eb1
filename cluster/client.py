"""One asynchronous client for served engines and API providers: chat completions, statuses, bounded retries.

Every outcome is a `Completion` with exactly one status; nothing here raises for what a provider answers, except
`Refused`, which no retry can mend (a wrong key, an unknown model).
"""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import json
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
from aiolimiter import AsyncLimiter
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_random_exponential

from cluster.config import Client, Sampling
from cluster.errors import JobError

RETRIED_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
REFUSED_STATUS = frozenset({401, 402, 403, 404})  # key, credit, permission, unknown model
MAX_ERROR_TEXT = 400
MAX_BODY_BYTES = 64 * 2**20  # an answer of the largest token limit is under 2 MiB


class Refused(JobError):
    """The end point refuses this configuration: a wrong key, an unknown model. Asking again cannot help."""


@dataclass(slots=True)
class Completion:
    """What came of one request. `status` is one of `serial7.metrics.STATUSES`; -1 tokens = not reported."""

    status: str
    text: str = ""
    reasoning: str = ""
    finish_reason: str = ""
    native_finish_reason: str = ""
    prompt_tokens: int = -1
    completion_tokens: int = -1
    reasoning_tokens: int = -1
    cached_tokens: int = -1
    cost_usd: float | None = None
    observed_provider: str = ""
    observed_model: str = ""
    system_fingerprint: str = ""
    response_id: str = ""
    attempts: int = 1
    attempt_log: str = "[]"
    asked_at: float = 0.0
    latency_s: float = 0.0
    error: str = ""


@dataclass(slots=True)
class EndPoint:
    """Where requests go. `in_flight` decides who gets the next one."""

    base_url: str
    api_key: str = field(default="", repr=False)
    in_flight: int = 0


class _Retriable(Exception):
    """An answer that another attempt may mend. `after_s`: what Retry-After asked for."""

    def __init__(self, why: str, after_s: float | None = None, *, lost: bool = False, busy: bool = False) -> None:
        super().__init__(why)
        self.after_s = after_s
        self.lost = lost  # the connection, not an answer: the engine may be dead
        self.busy = busy


class AdaptiveLimit:
    """A ceiling on connections: halved on 429 (at most once a second), one more after as many successes as it allows."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.limit = float(most)
        self.in_flight = 0
        self._lowered = 0.0
        self._changed = asyncio.Condition()

    @contextlib.asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        async with self._changed:
            await self._changed.wait_for(lambda: self.in_flight < self.limit)
            self.in_flight += 1
        try:
            yield
        finally:
            async with self._changed:
                self.in_flight -= 1
                self._changed.notify_all()

    def succeeded(self) -> None:
        self.limit = min(self._most, self.limit + 1 / self.limit)

    def busy(self) -> None:
        now = time.monotonic()
        if now - self._lowered > 1:
            self._lowered = now
            self.limit = max(1.0, self.limit / 2)


class ChatClient:
    """Asks `endpoints` for chat completions.

    Args:
        model: the id that is sent.
        on_lost: called with an end point whose connection was lost; returns where to go on (a restarted engine), or
            raises JobError if it is gone for good.
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
        limits = httpx.Limits(max_connections=policy.connections, max_keepalive_connections=policy.connections)
        # The deadline of a request is ours, over all attempts; a proxy of the environment never sees loopback traffic.
        trust_env = not all(e.base_url.startswith("http://127.0.0.1") for e in self.endpoints)
        self._http = httpx.AsyncClient(
            limits=limits, timeout=httpx.Timeout(None, connect=30), headers=dict(headers or {}), trust_env=trust_env
        )

    async def close(self) -> None:
        await self._http.aclose()

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
        body |= {k: v for k, v in fields.items() if v is not None} | dict(sampling.extra_body)
        if self._routing:
            body["provider"] = self._routing
        return body

    async def complete(self, messages: list[dict[str, str]], seed: int | None = None) -> Completion:
        """One completion, within the deadline and the attempts of the policy.

        Raises:
            Refused: the end point refuses the key or the model.
            JobError: from `on_lost`: the engine is gone for good.
        """
        async with self.limit.slot():
            trail = _Trail()
            body = self.body(messages, seed)
            try:
                async with asyncio.timeout(self._policy.deadline_s):
                    completion = await self._attempts(body, trail)
            except TimeoutError:
                completion = Completion("timed_out", error=f"no completion within {self._policy.deadline_s:g} s")
            except _Retriable as error:
                completion = Completion("provider_error", error=str(error)[:MAX_ERROR_TEXT])
            completion.asked_at, completion.latency_s = trail.asked_at, trail.seconds()
            completion.attempts = trail.attempts
            completion.attempt_log = json.dumps(trail.errors)
            return completion

    async def _attempts(self, body: dict[str, Any], trail: _Trail) -> Completion:
        backoff = wait_random_exponential(multiplier=0.5, max=self._policy.backoff_max_s)

        def asked_wait(state: RetryCallState) -> float | None:
            error = state.outcome.exception() if state.outcome else None
            return error.after_s if isinstance(error, _Retriable) else None

        def wait(state: RetryCallState) -> float:
            asked = asked_wait(state)
            return backoff(state) if asked is None else asked

        def stop(state: RetryCallState) -> bool:
            # Waiting past the deadline would hold a connection for nothing.
            too_late = trail.seconds() + (asked_wait(state) or 0) >= self._policy.deadline_s
            return too_late or state.attempt_number >= self._policy.attempts

        async for attempt in AsyncRetrying(
            retry=retry_if_exception_type(_Retriable), stop=stop, wait=wait, reraise=True
        ):
            with attempt:
                endpoint = min(self.endpoints, key=lambda e: e.in_flight)
                if self._rate is not None:
                    await self._rate.acquire()
                trail.attempts += 1
                endpoint.in_flight += 1
                try:
                    return await self._once(endpoint, body)
                except _Retriable as error:
                    trail.failed(error)
                    if error.busy:
                        self.limit.busy()
                    if error.lost and self._on_lost is not None:  # an engine that is gone: restarted, or the run ends
                        await self._replace(endpoint)
                    raise
                finally:
                    endpoint.in_flight -= 1
        raise AssertionError("the retry loop ends by return or raise")

    async def _replace(self, lost: EndPoint) -> None:
        assert self._on_lost is not None
        found = await self._on_lost(lost)
        lost.base_url, lost.api_key = found.base_url, found.api_key

    async def _once(self, endpoint: EndPoint, body: dict[str, Any]) -> Completion:
        headers = {"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}
        url = f"{endpoint.base_url}/chat/completions"
        try:
            async with self._http.stream("POST", url, json=body, headers=headers) as answer:
                received = bytearray()
                async for chunk in answer.aiter_bytes():
                    received += chunk
                    if len(received) > MAX_BODY_BYTES:
                        raise _Retriable(f"an answer of more than {MAX_BODY_BYTES} bytes")
        except httpx.TransportError as error:
            raise _Retriable(f"connection: {type(error).__name__} {error}".strip(), lost=True) from error
        except httpx.HTTPError as error:
            raise _Retriable(f"{type(error).__name__} {error}".strip()) from error
        completion = read_answer(answer.status_code, answer.headers, bytes(received), self._reasoning_end)
        self.limit.succeeded()
        return completion


@dataclass(slots=True)
class _Trail:
    """What happened to one request so far."""

    asked_at: float = field(default_factory=time.time)
    attempts: int = 0
    errors: list[dict[str, Any]] = field(default_factory=list)
    _start: float = field(default_factory=time.monotonic)

    def seconds(self) -> float:
        return time.monotonic() - self._start

    def failed(self, error: _Retriable) -> None:
        self.errors.append({"after_s": round(self.seconds(), 3), "error": str(error)[:MAX_ERROR_TEXT]})


def read_answer(
    code: int, headers: Mapping[str, str], body: bytes, reasoning_end: Sequence[str] = ("</think>",)
) -> Completion:
    """The completion in an HTTP answer.

    Raises:
        _Retriable: the answer is an error that another attempt may mend, or no completion at all.
        Refused: no attempt can mend it.
    """
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        data = None
    shown = repr(body[:80])
    message = _error_message(data)
    choices = data.get("choices") if isinstance(data, dict) else None
    if code == 200 and message and not choices:
        code = _inner_code(data) or 500  # some providers answer an error with HTTP 200
    if code in (400, 403) and _is_moderation(data):
        return Completion("refused", error=f"HTTP {code} {message}"[:MAX_ERROR_TEXT])
    if code in REFUSED_STATUS:
        raise Refused(f"the end point refuses: HTTP {code} {message or shown}")
    if code in RETRIED_STATUS or code >= 500:
        raise _Retriable(f"HTTP {code} {message}".strip(), retry_after(headers), busy=code == 429, lost=code >= 500)
    if code >= 400:
        status = "context_overflow" if _is_overflow(message) else "provider_error"
        return Completion(status, error=f"HTTP {code} {message or shown}"[:MAX_ERROR_TEXT])
    if not isinstance(data, dict):
        raise _Retriable(f"HTTP {code} with a body that is no JSON object: {shown}")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
        raise _Retriable("an answer without choices")
    if choice.get("finish_reason") == "error" or choice.get("error"):
        raise _Retriable(f"the provider failed while answering: {_error_message(choice) or 'finish_reason error'}")
    completion = _completion(data, choice, reasoning_end)
    if completion.status == "empty" and not completion.finish_reason:
        raise _Retriable("an answer without text and without a finish reason")  # cut off: not the model's silence
    return completion


def _completion(data: dict[str, Any], choice: dict[str, Any], reasoning_end: Sequence[str]) -> Completion:
    message = choice["message"]
    text = _text(message.get("content"))
    reasoning = _text(message.get("reasoning")) or _text(message.get("reasoning_content"))
    finish = _text(choice.get("finish_reason"))
    usage = data.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Completion(
        status=classify(text, reasoning, finish, _text(message.get("refusal")), reasoning_end),
        text=text or _text(message.get("refusal")),
        reasoning=reasoning,
        finish_reason=finish,
        native_finish_reason=_text(choice.get("native_finish_reason")),
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        reasoning_tokens=_count(_inner(usage, "completion_tokens_details", "reasoning_tokens")),
        cached_tokens=_count(_inner(usage, "prompt_tokens_details", "cached_tokens")),
        cost_usd=_cost(usage.get("cost")),
        observed_provider=_text(data.get("provider")),
        observed_model=_text(data.get("model")),
        system_fingerprint=_text(data.get("system_fingerprint")),
        response_id=_text(data.get("id")),
    )


def classify(text: str, reasoning: str, finish: str, refusal: str, reasoning_end: Sequence[str]) -> str:
    """The one status of an answer that arrived."""
    if finish in ("content_filter", "refusal") or (refusal and not text):
        return "refused"
    openings = tuple(end.replace("</", "<").replace("[/", "[") for end in reasoning_end)
    inside = text.lstrip().startswith(openings) and not any(end in text for end in reasoning_end)
    after = text
    for end in reasoning_end:
        after = after.rpartition(end)[2]
    if inside or (not after.strip() and (reasoning or after != text)):
        return "unfinished_reasoning"
    if finish == "length":
        return "truncated"
    return "ok" if text.strip() else "empty"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the header Retry-After asks for (a number or an HTTP date), or None."""
    value = headers.get("retry-after")
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _error_message(data: Any) -> str:
    error = data.get("error") if isinstance(data, dict) else None
    if isinstance(error, dict):
        return str(error.get("message") or error)[:MAX_ERROR_TEXT]
    message = error or (data.get("message") if isinstance(data, dict) and "choices" not in data else "")
    return str(message or "")[:MAX_ERROR_TEXT]


def _inner_code(data: Any) -> int | None:
    code = data["error"].get("code") if isinstance(data.get("error"), dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else None


def _is_moderation(data: Any) -> bool:
    """Whether an error says that the input or answer was held back: the model's refusal, not the provider's failure."""
    error = data.get("error") if isinstance(data, dict) else None
    if not isinstance(error, dict):
        return False
    metadata = error.get("metadata")
    return error.get("code") == "content_filter" or (isinstance(metadata, dict) and bool(metadata.get("reasons")))


def _is_overflow(message: str) -> bool:
    lowered = message.lower()
    return "context" in lowered and ("length" in lowered or "window" in lowered or "maximum" in lowered)


def _text(value: Any) -> str:
    if isinstance(value, list):  # content parts
        return "".join(p.get("text", "") for p in value if isinstance(p, dict) and isinstance(p.get("text"), str))
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int:
    """A count of tokens as reported; -1 for anything that is none, or is no such number."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40 else -1


def _cost(value: Any) -> float | None:
    """US dollars as reported; None for anything that is no such number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        return None
    return float(value)


def _inner(data: dict[str, Any], *path: str) -> Any:
    value: Any = data
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
