"""Tool documentation in one form, whichever way it was written: OpenAPI 3, lists of tool schemas, MCP's tools/list."""

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipeline.errors import InputError, TraceError
from pipeline.records import JsonObject
from pipeline.synthesis.drafting.naming import parameter_name, snake, tool_name
from pipeline.synthesis.drafting.openapi import is_openapi, openapi_title, openapi_tools
from pipeline.synthesis.drafting.plain import read_plain
from pipeline.synthesis.drafting.schemas import Shortener, one_line
from pipeline.synthesis.drafting.tool_doc import ToolDoc
from pipeline.traces.tools import read_tools

MAX_TOOLS = 60
"""As many as a spec may have."""
LONGEST = 150_000
"""Characters of documentation that go into a prompt."""


@dataclass(frozen=True, slots=True)
class Documentation:
    """All tools of one file. `renamed` tells names that a spec cannot use from those taken instead."""

    source: str
    kind: str
    sha256: str
    tools: tuple[ToolDoc, ...]
    renamed: tuple[tuple[str, str], ...] = ()

    def text(self) -> str:
        """One line of JSON a tool. Raises InputError when it is too long for a prompt."""
        text = "\n".join(tool.line() for tool in self.tools)
        if len(text) > LONGEST:
            raise InputError(f"{self.source}: its tools take {len(text)} characters, more than {LONGEST}; "
                             "choose some with --tool NAME")  # fmt: skip
        return text


def read_documentation(path: Path, chosen: Collection[str] = ()) -> Documentation:
    """Read a file; `chosen` names the tools that are wanted, none means all. Raises InputError."""
    data = read_plain(path)
    raw = list(openapi_tools(path, data)) if is_openapi(data) else _listed(path, data)
    kind = openapi_title(data) if is_openapi(data) else "tool list"
    tools, renamed = _renamed(raw)
    if absent := sorted(set(chosen) - {tool.name for tool in tools}):
        known = ", ".join(tool.name for tool in tools)
        raise InputError(f"{path}: no tool is called {absent[0]!r}; there are {known}"[:2000])
    if chosen:
        tools = [tool for tool in tools if tool.name in chosen]
        renamed = [(old, new) for old, new in renamed if new.partition(".")[0] in chosen]
    if not tools:
        raise InputError(f"{path}: describes no tool; see docs/drafting.md for what is read")
    if len(tools) > MAX_TOOLS:
        names = ", ".join(tool.name for tool in tools)
        raise InputError(f"{path}: {len(tools)} tools, but a spec has at most {MAX_TOOLS}; choose with --tool NAME, "
                         f"again for each, of {names}"[:4000])  # fmt: skip
    return Documentation(path.name, kind, hashlib.sha256(path.read_bytes()).hexdigest(), tuple(tools), tuple(renamed))


def _listed(path: Path, data: Any) -> list[ToolDoc]:
    """OpenAI's, Anthropic's and MCP's lists, also inside `tools` or a JSON-RPC `result`."""
    inner = data.get("result", data) if isinstance(data, dict) else data
    listed = inner.get("tools") if isinstance(inner, dict) else inner
    if not isinstance(listed, list) or not listed:
        raise InputError(
            f"{path}: neither an OpenAPI 3 document (key `openapi`) nor a list of tools (a list, or one under `tools`)"
        )
    try:
        return list(_schemas([_from_mcp(tool) for tool in listed]))
    except TraceError as error:
        raise InputError(f"{path}: {error.field}: {error}") from error


def _from_mcp(tool: Any) -> Any:
    if not isinstance(tool, dict) or "inputSchema" not in tool:
        return tool
    return {("parameters" if key == "inputSchema" else key): value for key, value in tool.items()}


def _schemas(listed: list[Any]) -> Iterator[ToolDoc]:
    for tool in read_tools(listed)[0]:
        function = tool["function"]
        schema = function.get("parameters")
        shortener = Shortener(schema)
        whole = shortener.shorten(schema)
        required = whole.get("required", [])
        parameters = {
            name: its | {"required": name in required} for name, its in whole.get("properties", {}).items()
        }  # fmt: skip
        answer = Shortener(function.get("outputSchema")).shorten(function.get("outputSchema"))
        about = one_line(function.get("description"))
        yield ToolDoc(function["name"], about, parameters, answer, (), _writes(function.get("annotations")))


def _writes(annotations: Any) -> bool | None:
    said = annotations.get("readOnlyHint") if isinstance(annotations, dict) else None
    return None if not isinstance(said, bool) else not said


def _renamed(raw: list[ToolDoc]) -> tuple[list[ToolDoc], list[tuple[str, str]]]:
    tools: list[ToolDoc] = []
    renamed: list[tuple[str, str]] = []
    for tool in raw:
        name = tool_name(tool.name, {each.name for each in tools})
        if name != tool.name:
            renamed.append((tool.name, name))
        parameters: dict[str, JsonObject] = {}
        for old, schema in tool.parameters.items():
            new = parameter_name(old, name, parameters)
            parameters[new] = schema
            if new != old:
                renamed.append((f"{tool.name}.{old}", f"{name}.{new}"))
        tools.append(replace(tool, name=name, about=tool.about or snake(tool.name).replace("_", " "),
                             parameters=parameters))  # fmt: skip
    return tools, renamed
