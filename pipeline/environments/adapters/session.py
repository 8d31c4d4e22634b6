"""One session on an OpenEnv server: its WebSocket protocol, `/ws` of `base_url`.

A request is `{"type": reset | step, "data": {...}}`; the answer has the type observation and its data, or is
`{"type": "error", "data": {"code", "message"}}`. The messages are those of OpenEnv 0.10; servers of 0.2 know them too,
but list no tools. Its package is not needed here.
"""

import os
from typing import Any, Literal
from urllib.parse import urlsplit

import orjson
from websockets.exceptions import InvalidHandshake, InvalidURI, WebSocketException
from websockets.sync.client import ClientConnection, connect

from pipeline.environments.adapters.files import OpenEnvFile
from pipeline.environments.tools import EnvironmentFault
from pipeline.errors import InputError, ToolError
from pipeline.records import JsonObject

MAX_BYTES = 16 * 2**20
"""Of one answer, decompressed."""
_LOCAL = ("127.0.0.1", "localhost", "::1")


class Session:
    """A world of one's own on the server, from the first request to `close`."""

    def __init__(self, server: OpenEnvFile) -> None:
        """Connect. Raises EnvironmentFault when there is no server, InputError when its token is not set."""
        self._server = server
        self._socket = _connect(server)

    def ask(self, kind: str, data: JsonObject | None = None) -> JsonObject:
        """The data of the answer.

        Raises ToolError when the server found the action itself wrong, and EnvironmentFault for all else that is no
        answer, an answer that took too long among it.
        """
        try:
            self._socket.send(orjson.dumps({"type": kind} if data is None else {"type": kind, "data": data}).decode())
            answer = _object(self._socket.recv(self._server.timeout))
        except TimeoutError as error:
            self.close()
            raise EnvironmentFault(f"{kind}: no answer within {self._server.timeout} s", timed_out=True) from error
        except (WebSocketException, OSError) as error:
            raise EnvironmentFault(f"{kind}: {type(error).__name__}: {error}") from error
        found = answer.get("data")
        if not isinstance(found, dict):
            raise EnvironmentFault(f"{kind}: the server's answer has no data")
        if answer.get("type") == "error":
            raise _refusal(kind, found)
        return found

    def close(self) -> None:
        """End the session; the server drops its world."""
        self._socket.close()


def headers(server: OpenEnvFile) -> dict[str, str]:
    """What every request carries. Raises InputError when the variable that holds the token is not set."""
    if server.key_env is None:
        return {}
    token = os.environ.get(server.key_env)
    if not token:
        raise InputError(f"{server.base_url}: the environment variable {server.key_env} is not set")
    return {"Authorization": f"Bearer {token}"}


def _connect(server: OpenEnvFile) -> ClientConnection:
    parts = urlsplit(server.base_url)
    address = parts._replace(scheme={"http": "ws", "https": "wss"}[parts.scheme], path=f"{parts.path}/ws").geturl()
    # A proxy of the environment is no way to this machine.
    proxy: Literal[True] | None = None if parts.hostname in _LOCAL else True
    try:
        return connect(
            address, open_timeout=server.timeout, close_timeout=1.0, max_size=MAX_BYTES, proxy=proxy,
            additional_headers=headers(server),
        )  # fmt: skip
    except (OSError, InvalidHandshake, InvalidURI) as error:
        raise EnvironmentFault(f"{server.base_url}: no OpenEnv server answers ({error}); is it running?") from error


def _object(text: str | bytes) -> JsonObject:
    try:
        found: Any = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise EnvironmentFault(f"the server's answer is no JSON ({error})") from error
    if not isinstance(found, dict):
        raise EnvironmentFault("the server's answer is no JSON object")
    return found


def _refusal(kind: str, found: JsonObject) -> ToolError | EnvironmentFault:
    code, message = found.get("code"), str(found.get("message", "no message"))
    if code != "VALIDATION_ERROR" or kind != "step":
        return EnvironmentFault(f"{kind}: {code}: {message}")
    errors = found.get("errors")
    details = [_detail(each) for each in errors if isinstance(each, dict)] if isinstance(errors, list) else []
    return ToolError("; ".join(details) or message)


def _detail(fault: JsonObject) -> str:
    place = ".".join(str(part) for part in fault.get("loc", ()))
    return f"{place}: {fault.get('msg')}" if place else str(fault.get("msg"))
