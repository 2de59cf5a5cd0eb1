"""A streamed answer: server-sent events, put together into the body that the same answer would have had unstreamed.

Pure: bytes in, values out. `cluster.answers.read_answer` then reads that body, so that a status never depends on
whether an answer was streamed. Nothing here trusts what a provider sends.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from typing import Any

from cluster.answers import Retriable, text_of

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"
_DONE = b"[DONE]"
_DELTAS = ("content", "reasoning", "reasoning_content", "refusal")
_OF_ANSWER = ("id", "model", "provider", "system_fingerprint")
_OF_CHOICE = ("finish_reason", "native_finish_reason")


def is_event_stream(headers: Mapping[str, str]) -> bool:
    return (headers.get("content-type") or "").lower().startswith("text/event-stream")


class EventParser:
    """The data of server-sent events, however their bytes are cut. Comments and fields other than data are dropped."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._data = bytearray()
        self._after_cr = False
        self._begun = False

    @property
    def held(self) -> int:
        """Bytes of the event under way."""
        return len(self._line) + len(self._data)

    def feed(self, chunk: bytes) -> list[bytes]:
        """The events that `chunk` completes."""
        if not chunk:
            return []
        if self._after_cr and chunk.startswith(b"\n"):  # a CRLF was cut in the middle
            chunk = chunk[1:]
        self._after_cr = chunk.endswith(b"\r")
        *ends, rest = _LINE_END.split(chunk)
        events = []
        for end in ends:
            self._line += end
            event = self._end_line()
            if event:
                events.append(event)
        self._line += rest
        return events

    def close(self) -> bytes:
        """What the stream ended with, if no blank line followed it."""
        return self._end_line() or self._end_event()

    def _end_line(self) -> bytes:
        line = bytes(self._line)
        self._line.clear()
        if not self._begun:
            self._begun, line = True, line.removeprefix(_BOM)
        if not line:
            return self._end_event()
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data += value.removeprefix(b" ") + b"\n"
        return b""

    def _end_event(self) -> bytes:
        data = bytes(self._data[:-1])
        self._data.clear()
        return data


class StreamedAnswer:
    """Deltas of a chat completion, gathered as they come.

    Args:
        most: bytes of text, and of one event, that are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._parser = EventParser()
        self._texts = {name: io.StringIO() for name in _DELTAS}
        self._kept = 0
        self._answer: dict[str, Any] = {}
        self._choice: dict[str, Any] = {}
        self._error: dict[str, Any] | None = None
        self._said_done = False

    @property
    def begun(self) -> bool:
        """Whether the first text, or reasoning, has come."""
        return self._kept > 0

    @property
    def over(self) -> bool:
        """Nothing that may still come counts."""
        return self._said_done or self._error is not None

    @property
    def whole(self) -> bool:
        """Whether the answer has come to its end, whatever becomes of the connection."""
        return self.over or "finish_reason" in self._choice

    def feed(self, chunk: bytes) -> None:
        """
        Raises:
            Retriable: an event is no JSON object, or the answer is too large.
        """
        for event in self._parser.feed(chunk):
            self._take(event)
        if self._kept + self._parser.held > self._most:
            raise Retriable(f"an answer of more than {self._most} bytes")

    def body(self) -> bytes:
        """The body of the equivalent whole answer, when the stream has ended.

        Raises:
            Retriable: it was cut.
        """
        last = self._parser.close()
        if last == _DONE or _object(last) is not None:  # a last blank line is often forgotten; half an event is dropped
            self._take(last)
        if not self.whole:
            raise Retriable("a stream that was cut: it has no finish reason and no [DONE]")
        try:
            return json.dumps(self._equivalent()).encode()  # as JSON, halves of a surrogate pair from two deltas meet
        except (RecursionError, ValueError) as error:
            raise Retriable("an event that is no JSON object: it is too deep") from error

    def _equivalent(self) -> dict[str, Any]:
        if self._error is not None:
            return self._error
        texts = {name: text.getvalue() for name, text in self._texts.items()}
        choice = {"message": {name: text for name, text in texts.items() if text}, **self._choice}
        return {**self._answer, "choices": [choice] if self._choice or self.begun else []}

    def _take(self, event: bytes) -> None:
        if self.over:
            return
        if event == _DONE:
            self._said_done = True
            return
        data = _object(event)
        if data is None:
            raise Retriable(f"an event that is no JSON object: {event[:80]!r}")
        choices = data.get("choices")
        if data.get("error") or (data.get("message") and "choices" not in data):
            # Read as the HTTP 200 with an error body that it would have been: half a text is no completion.
            self._error = {k: v for k, v in data.items() if k != "choices"}
            return
        self._answer |= {k: data[k] for k in _OF_ANSWER if data.get(k)}
        if isinstance(data.get("usage"), dict):
            self._answer["usage"] = data["usage"]
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, dict) and not choice.get("index"):
                self._take_choice(choice)

    def _take_choice(self, choice: dict[str, Any]) -> None:
        self._choice |= {k: choice[k] for k in _OF_CHOICE if text_of(choice.get(k))}
        if choice.get("error"):
            self._choice["error"] = choice["error"]
        delta = choice.get("delta")
        if delta is None and not self.begun:
            delta = choice.get("message")  # some send the whole answer as one event
        if not isinstance(delta, dict):
            return
        for name in _DELTAS:
            piece = text_of(delta.get(name))
            self._kept += len(piece)
            self._texts[name].write(piece)


def _object(event: bytes) -> dict[str, Any] | None:
    try:
        data = json.loads(event)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None
