"""Toolsets of the library `verifiers`: in this process, or served where their config says (MCP over HTTP).

A toolset of this process is an object of its own for each rollout; what its module keeps to itself is shared by all.
"""

from contextlib import AsyncExitStack
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import httpx2
import verifiers.v1 as vf
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError as ServerToolError
from verifiers.v1.harnesses.utils.mcp import MCPConnection, mcp_content_to_chat_content

from pipeline.environments.adapters.schemas import tool_schema
from pipeline.errors import InputError
from pipeline.records import JsonObject

_STATE: ContextVar[Any] = ContextVar("state of the rollout whose tool is at work")


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool as the agent sees it, on a server in this process or behind a connection to another."""

    name: str
    listed: Any
    """What MCP says of it: its name within the toolset, description and input schema."""
    server: MCPServer | None
    connection: Any | None

    def schema(self, where: str) -> JsonObject:
        """It in the OpenAI form. `where` names its origin in the InputError for an input schema that is none."""
        return tool_schema(where, self.name, self.listed.description or "", self.listed.input_schema)

    async def call(self, arguments: JsonObject, state: Any) -> tuple[str, bool]:
        """What it says, and whether that is a refusal. `state` is the rollout's, which the tool may read and write."""
        token = _STATE.set(state)
        try:
            if self.server is not None:
                result: Any = await self.server.call_tool(self.listed.name, arguments)
            else:
                assert self.connection is not None
                result = await self.connection.run(lambda client: client.call_tool(self.listed.name, arguments))
        except ServerToolError as error:
            return str(error), True
        finally:
            _STATE.reset(token)
        return _text(mcp_content_to_chat_content(result.content)), bool(result.is_error)


async def open_tools(where: str, toolset: Any, stack: AsyncExitStack, started: bool) -> list[Tool]:
    """The tools of a toolset; what they hold is given back by `stack`. Not `started`, they are only listed.

    Raises InputError for a toolset that cannot be played here.
    """
    if toolset.config.url:
        return await _remote(where, toolset, stack)
    if type(toolset).register is not vf.Toolset.register:
        raise InputError(f"{where}: {type(toolset).__name__} has tools that differ by task; not played here")
    # Where a server of its own would fetch and store the rollout's state over HTTP, the object itself is at hand.
    toolset._pull_state, toolset._push_state = _at_hand, _kept
    if started:
        stack.push_async_callback(toolset._exit_stack.aclose)
        await toolset.setup()
    server = MCPServer(toolset.server_name or type(toolset).__name__)
    toolset.register(server)
    return [_tool(toolset.server_name, tool, server, None) for tool in await server.list_tools()]


async def _remote(where: str, toolset: Any, stack: AsyncExitStack) -> list[Tool]:
    if toolset._state_cls is not vf.State:
        raise InputError(f"{where}: {type(toolset).__name__} shares state with its task; it cannot be served elsewhere")
    connection = MCPConnection({"url": toolset.config.url})
    stack.push_async_callback(connection.aclose)
    try:
        listed = await connection.run(lambda client: client.list_tools())
    except (OSError, httpx2.HTTPError, ExceptionGroup) as error:
        said = _innermost(error)
        raise InputError(f"{where}: no tools at {toolset.config.url} ({said}); is it running?") from error
    return [_tool(toolset.server_name, tool, None, connection) for tool in listed.tools]


def _tool(prefix: str, listed: Any, server: MCPServer | None, connection: Any | None) -> Tool:
    name = f"{prefix}_{listed.name}" if prefix else str(listed.name)
    return Tool(name, listed, server, connection)


def _innermost(error: Exception) -> Exception:
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


async def _at_hand() -> Any:
    return _STATE.get()


async def _kept(before: bytes) -> None:
    """Nothing to do: the tool wrote into the rollout's own state."""


def _text(content: str | list[JsonObject]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part["text"]) if part["type"] == "text" else f"[{part['type']}]" for part in content)
