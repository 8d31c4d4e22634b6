"""A server of OpenAI's chat completions on a real socket that says what a test tells it to.

    with scripted_server([say("yes"), status(429), say("no")]) as server:
        Endpoint(base_url=server.base_url, model="judge")

Scripts are lists, answered in order (asking further than the list is an error that the client sees as status 418), or
functions of the request. Every request stands in `server.requests`, in the order of arrival.
"""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]

TOKENS = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


@dataclass(frozen=True)
class Answer:
    """One HTTP answer; `delay` in seconds before it, cut short when the server stops."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drop: bool = False
    """Break the connection instead of answering."""
    trickle: float = 0.0
    """Seconds between any two bytes."""


@dataclass(frozen=True)
class Request:
    """What arrived."""

    path: str
    headers: dict[str, str]
    body: Json

    @property
    def messages(self) -> list[Json]:
        """The conversation."""
        return list(self.body["messages"])

    @property
    def last(self) -> str:
        """Text of the last message."""
        return str(self.messages[-1]["content"])


Script = Sequence[Answer] | Callable[[Request], Answer]


def message(said: Json, finish: str = "stop", usage: Json | None = TOKENS) -> Answer:
    """A chat completion with one message."""
    choice = {"index": 0, "message": {"role": "assistant", **said}, "finish_reason": finish}
    body = {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    return Answer(json.dumps(body | ({} if usage is None else {"usage": usage})).encode())


def say(content: str | None, **changes: Any) -> Answer:
    """A text answer; `finish` and `usage` as in `message`."""
    return message({"content": content}, **changes)


def say_json(**values: Any) -> Answer:
    """A structured answer."""
    return say(json.dumps(values))


def call(*calls: tuple[str, Any], content: str | None = None) -> Answer:
    """Tool calls as (name, arguments); arguments that are text go out as they are."""
    made = [
        {"id": f"srv-{n}", "type": "function",
         "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)}}
        for n, (name, given) in enumerate(calls)
    ]  # fmt: skip
    return message({"content": content, "tool_calls": made}, "tool_calls")


def refuse(text: str = "I cannot help with that.") -> Answer:
    """A refusal of the model."""
    return message({"content": None, "refusal": text})


def status(code: int, said: str = "no", **headers: str) -> Answer:
    """An error of the server; `retry_after="1"` becomes a Retry-After header."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(json.dumps({"error": {"message": said}}).encode(), code, named)


def slow(seconds: float, answer: Answer) -> Answer:
    """`answer`, but late."""
    return replace(answer, delay=seconds)


class ScriptedServer(ThreadingHTTPServer):
    """Started by `scripted_server`."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.requests: list[Request] = []
        self.most_at_once = 0
        self.stopping = threading.Event()
        self._now = 0
        self._lock = threading.Lock()

    @property
    def base_url(self) -> str:
        """What an endpoint's `base_url` is."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def begin(self, request: Request) -> Answer:
        """Count a request in and find its answer."""
        with self._lock:
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
            self.requests.append(request)
            number = len(self.requests) - 1
        if callable(self.script):
            return self.script(request)
        return self.script[number] if number < len(self.script) else status(418, "the script has ended")

    def end(self) -> None:
        """Count a request out."""
        with self._lock:
            self._now -= 1

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ScriptedServer

    def do_POST(self) -> None:
        """Answer one request."""
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        request = Request(self.path, {k.lower(): v for k, v in self.headers.items()}, json.loads(raw))
        answer = self.server.begin(request)
        try:
            self.server.stopping.wait(answer.delay)
            self._send(answer)
        finally:
            self.server.end()

    def _send(self, answer: Answer) -> None:
        if answer.drop or self.server.stopping.is_set():
            self.close_connection = True
            return
        head = [f"HTTP/1.1 {answer.status} Scripted", f"Content-Length: {len(answer.body)}"]
        head += ["Content-Type: application/json", *(f"{name}: {value}" for name, value in answer.headers.items())]
        start = ("\r\n".join(head) + "\r\n\r\n").encode()
        if not answer.trickle:
            self.wfile.write(start + answer.body)
            return
        self.wfile.write(start)
        for byte in answer.body:
            if self.server.stopping.wait(answer.trickle):
                return
            self.wfile.write(bytes([byte]))

    def log_message(self, format: str, *args: Any) -> None:
        """Tests read `requests`, not a log."""


@contextmanager
def scripted_server(script: Script = ()) -> Iterator[ScriptedServer]:
    """A server on a free port of 127.0.0.1 while the block runs; `server.script` may be changed meanwhile."""
    server = ScriptedServer(script)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.005}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()
