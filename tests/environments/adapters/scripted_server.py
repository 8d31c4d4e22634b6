"""A server that speaks OpenEnv's protocol over a real socket and says what a test wants, as real ones seldom do."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from threading import Thread
from typing import Any

import orjson
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve

Answer = dict[str, Any] | bytes | None
"""A message, bytes as they are, or None: the connection is dropped."""


@dataclass
class Served:
    """What the server saw."""

    url: str = ""
    sessions: list[ServerConnection] = field(default_factory=list)
    """Those that are open now."""
    asked: list[dict[str, Any]] = field(default_factory=list)
    tokens: list[str | None] = field(default_factory=list)


def seen(done: bool = False, reward: float | None = None, **observation: Any) -> dict[str, Any]:
    """An answer with an observation."""
    return {"type": "observation", "data": {"observation": observation, "reward": reward, "done": done}}


def error(code: str, message: str, **more: Any) -> dict[str, Any]:
    """An answer that refuses."""
    return {"type": "error", "data": {"code": code, "message": message, **more}}


@contextmanager
def serving(answer: Callable[[dict[str, Any]], Answer], schema: dict[str, Any] | None = None) -> Iterator[Served]:
    """Serve on a free port of this machine until the block ends; `schema` is the action of `/schema`."""
    served = Served()

    def handle(connection: ServerConnection) -> None:
        served.sessions.append(connection)
        served.tokens.append(connection.request.headers.get("Authorization") if connection.request else None)
        try:
            for message in connection:
                asked = orjson.loads(message)
                served.asked.append(asked)
                said = answer(asked)
                if said is None:
                    return
                connection.send(said if isinstance(said, bytes) else orjson.dumps(said).decode())
        finally:
            served.sessions.remove(connection)

    def describe(connection: ServerConnection, request: Request) -> Response | None:
        if request.path != "/schema":
            return None
        return connection.respond(HTTPStatus.OK, orjson.dumps({"action": schema}).decode())

    with serve(handle, "127.0.0.1", 0, process_request=describe) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        served.url = f"http://127.0.0.1:{server.socket.getsockname()[1]}"
        try:
            yield served
        finally:
            for connection in list(served.sessions):
                connection.close()
            server.shutdown()
            thread.join()
