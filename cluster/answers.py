"""What an end point's HTTP answer means: a completion with exactly one status, something to try again, or a refusal.

Pure: bytes in, values out. Nothing here trusts what a provider sends.
"""

from __future__ import annotations

import email.utils
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cluster.errors import JobError

RETRIED_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
REFUSED_STATUS = frozenset({401, 402, 403, 404})  # key, credit, permission, unknown model
MAX_ERROR_TEXT = 400


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
    first_token_s: float | None = None  # from sending the attempt that this came of; None where it was not streamed
    error: str = ""


class Retriable(Exception):
    """An answer that another attempt may mend. `after_s`: what Retry-After asked for."""

    def __init__(self, why: str, after_s: float | None = None, *, lost: bool = False, busy: bool = False) -> None:
        super().__init__(why)
        self.after_s = after_s
        self.lost = lost  # the connection, not an answer: the engine may be dead
        self.busy = busy


def read_answer(
    code: int, headers: Mapping[str, str], body: bytes, reasoning_end: Sequence[str] = ("</think>",)
) -> Completion:
    """The completion in an HTTP answer.

    Raises:
        Retriable: the answer is an error that another attempt may mend, or no completion at all.
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
        raise Retriable(f"HTTP {code} {message}".strip(), retry_after(headers), busy=code == 429, lost=code >= 500)
    if code >= 400:
        status = "context_overflow" if _is_overflow(message) else "provider_error"
        return Completion(status, error=f"HTTP {code} {message or shown}"[:MAX_ERROR_TEXT])
    if not isinstance(data, dict):
        raise Retriable(f"HTTP {code} with a body that is no JSON object: {shown}")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
        raise Retriable("an answer without choices")
    if choice.get("finish_reason") == "error" or choice.get("error"):
        raise Retriable(f"the provider failed while answering: {_error_message(choice) or 'finish_reason error'}")
    completion = _completion(data, choice, reasoning_end)
    if completion.status == "empty" and not completion.finish_reason:
        raise Retriable("an answer without text and without a finish reason")  # cut off: not the model's silence
    return completion


def add_generation(completion: Completion, body: bytes) -> None:
    """Fill what `completion` lacks from OpenRouter's record of its generation; a body that is none changes nothing."""
    try:
        data = _inner(json.loads(body), "data")
    except (ValueError, RecursionError):
        return
    if not isinstance(data, dict):
        return
    completion.native_finish_reason = completion.native_finish_reason or text_of(data.get("native_finish_reason"))
    completion.observed_provider = completion.observed_provider or text_of(data.get("provider_name"))
    if completion.cost_usd is None:
        completion.cost_usd = _cost(data.get("total_cost"))


def _completion(data: dict[str, Any], choice: dict[str, Any], reasoning_end: Sequence[str]) -> Completion:
    message = choice["message"]
    text = text_of(message.get("content"))
    reasoning = text_of(message.get("reasoning")) or text_of(message.get("reasoning_content"))
    finish = text_of(choice.get("finish_reason"))
    usage = data.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Completion(
        status=classify(text, reasoning, finish, text_of(message.get("refusal")), reasoning_end),
        text=text or text_of(message.get("refusal")),
        reasoning=reasoning,
        finish_reason=finish,
        native_finish_reason=text_of(choice.get("native_finish_reason")),
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        reasoning_tokens=_count(_inner(usage, "completion_tokens_details", "reasoning_tokens")),
        cached_tokens=_count(_inner(usage, "prompt_tokens_details", "cached_tokens")),
        cost_usd=_cost(usage.get("cost")),
        observed_provider=text_of(data.get("provider")),
        observed_model=text_of(data.get("model")),
        system_fingerprint=text_of(data.get("system_fingerprint")),
        response_id=text_of(data.get("id")),
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


def text_of(value: Any) -> str:
    """A text as a string or as content parts; "" for anything else."""
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
