"""A client of OpenAI-compatible chat completions that a stage can lean on.

A request fails for a passing reason (no connection, 429, 5xx, too slow) and is tried again with growing pauses; or for
a reason of its own, and whatever hangs on it is null; or because the endpoint as a whole is unusable, which ends the
stage. Answers are remembered by all that was asked, so that a stage run again asks nothing twice.
"""

import hashlib
import os
import random
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import httpx

from pipeline.records import JsonObject
from pipeline.remote.endpoint import Endpoint
from pipeline.remote.faults import EndpointError, Fault, RemoteFault
from pipeline.remote.memory import Memory
from pipeline.remote.wire import Reply, clean, read_completion, to_reply
from pipeline.tables import dumps

LARGEST_ANSWER = 16 * 2**20
"""Bytes of an answer, unpacked, beyond which it is refused."""
LONGEST_PAUSE = 30.0
"""Seconds between two tries, whatever the server asks for."""

_PASSING = frozenset({408, 409, 425, 429})
_UNUSABLE = {401: "the key is refused", 403: "access is denied", 404: "no such address or model"}
_LONGEST_QUOTE = 300


class _Passing(RemoteFault):
    """Worth another try, at the earliest after `pause` seconds."""

    def __init__(self, fault: Fault, detail: str, pause: float = 0.0) -> None:
        super().__init__(fault, detail)
        self.pause = pause


class Chat:
    """One endpoint, open for questions; use it as a context manager. Safe for several threads."""

    def __init__(self, endpoint: Endpoint, memory: Memory) -> None:
        """Raises EndpointError when the variable that should hold the key is not set."""
        self.endpoint = endpoint
        self._memory = memory
        self._key = _read_key(endpoint)
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self._key}"} if self._key else {})
        # Certificates are read where they are used: that takes longer than an answer of a server next door.
        secure = endpoint.base_url.startswith("https:")
        self._http = httpx.Client(timeout=endpoint.timeout, headers=headers, verify=secure)
        self._room = threading.BoundedSemaphore(endpoint.concurrency)
        self._counter = threading.Lock()
        self._failed_in_a_row = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._http.close()

    def ask(
        self, messages: Sequence[JsonObject], *, tools: Sequence[JsonObject] = (), form: JsonObject | None = None,
        draw: int = 0,
    ) -> Reply:  # fmt: skip
        """One answer; `form` is a `response_format`, `draw` tells wanted repetitions of one request apart.

        Raises RemoteFault when there is no answer, EndpointError when there will be none at all. A refusal, or an
        answer that is empty or cut, is a reply with its fault.
        """
        body = dumps(clean(self._body(messages, tools, form)))
        key = hashlib.sha256(f"{draw} {body}".encode()).hexdigest()
        with self._memory.alone(key):
            known = self._memory.get(key)
            if known is None:
                known = self._memory.keep(key, self._patiently(body.encode()))
        return to_reply(read_completion(known), len(body))

    def _body(self, messages: Sequence[JsonObject], tools: Sequence[JsonObject], form: JsonObject | None) -> JsonObject:
        endpoint = self.endpoint
        optional: JsonObject = {
            "temperature": endpoint.temperature, "max_tokens": endpoint.max_tokens, "tools": list(tools) or None,
            "response_format": form,
        }  # fmt: skip
        given = {name: value for name, value in optional.items() if value is not None}
        return {"model": endpoint.model, "messages": list(messages)} | given | endpoint.extra

    def _patiently(self, body: bytes) -> str:
        """The text to remember, after as many tries as are allowed."""
        for attempt in range(self.endpoint.retries + 1):
            try:
                answer = self._once(body)
            except _Passing as passing:
                last = passing
            else:
                self._count(failed=False)
                return answer
            if attempt < self.endpoint.retries:
                time.sleep(self._pause(attempt, last.pause))
        self._count(failed=True, last=last.detail)
        raise RemoteFault(last.fault, last.detail) from last

    def _pause(self, attempt: int, asked: float) -> float:
        # Full jitter above the half, so that many threads do not come back at the same moment.
        own = self.endpoint.backoff * 2.0**attempt * random.uniform(0.5, 1.0)
        return min(max(own, asked), LONGEST_PAUSE)

    def _once(self, body: bytes) -> str:
        try:
            with self._room:
                status, headers, text = self._post(body)
        except httpx.TimeoutException as error:
            raise _Passing(Fault.TIMEOUT, f"no answer within {self.endpoint.timeout} s") from error
        except httpx.HTTPError as error:
            raise _Passing(Fault.UNREACHABLE, f"{type(error).__name__}: {error}") from error
        if status == 200:
            try:
                return read_completion(text).model_dump_json(exclude_none=True)
            except RemoteFault as fault:
                raise _Passing(fault.fault, fault.detail) from fault
        raise self._refusal(status, headers, text)

    def _post(self, body: bytes) -> tuple[int, httpx.Headers, bytes]:
        deadline = time.monotonic() + self.endpoint.timeout
        text = bytearray()
        with self._http.stream("POST", f"{self.endpoint.base_url}/chat/completions", content=body) as response:
            for piece in response.iter_bytes():
                text += piece
                if len(text) > LARGEST_ANSWER:
                    raise _Passing(Fault.SERVER_ERROR, f"the answer has more than {LARGEST_ANSWER} bytes")
                if time.monotonic() > deadline:
                    raise httpx.ReadTimeout("the answer trickles")
            return response.status_code, response.headers, bytes(text)

    def _refusal(self, status: int, headers: httpx.Headers, text: bytes) -> RemoteFault | EndpointError:
        said = f"status {status}: {self._quote(text)}"
        if status in _PASSING or status >= 500:
            return _Passing(Fault.BUSY if status == 429 else Fault.SERVER_ERROR, said, _seconds(headers))
        if status in _UNUSABLE or status < 400:
            why = _UNUSABLE.get(status, "it does not answer itself")
            return EndpointError(f"{self._name()}: {why} ({said}); mend base_url, model or key_env")
        return RemoteFault(Fault.REJECTED, said)

    def _quote(self, text: bytes) -> str:
        """What the server said, on one line, without the key that some servers repeat."""
        said = text.decode("utf-8", "replace")
        if self._key:
            said = said.replace(self._key, "***")
        return " ".join(said.split())[:_LONGEST_QUOTE]

    def _count(self, failed: bool, last: str = "") -> None:
        with self._counter:
            self._failed_in_a_row = self._failed_in_a_row + 1 if failed else 0
            row = self._failed_in_a_row
        if self.endpoint.give_up and row >= self.endpoint.give_up:
            raise EndpointError(
                f"{self._name()}: {row} requests in a row had no answer (last: {last}); see that the server is up and "
                "run again: answers so far are remembered"
            )

    def _name(self) -> str:
        return f"{self.endpoint.model} at {self.endpoint.base_url}"


def _read_key(endpoint: Endpoint) -> str | None:
    if endpoint.key_env is None:
        return None
    key = os.environ.get(endpoint.key_env, "").strip()
    if not key:
        raise EndpointError(f"the environment variable {endpoint.key_env} is not set; it holds the key of "
                            f"{endpoint.base_url}")  # fmt: skip
    if not key.isascii() or not key.isprintable():
        raise EndpointError(f"the environment variable {endpoint.key_env} holds no key: it has odd characters")
    return key


def _seconds(headers: httpx.Headers) -> float:
    asked = headers.get("retry-after", "")
    return float(asked) if asked.replace(".", "", 1).isdigit() else 0.0
