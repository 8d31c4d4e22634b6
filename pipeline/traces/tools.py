"""Tool schemas of any dialect in the one form that the rest of the program knows: OpenAI's."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import orjson

from pipeline.errors import TraceError
from pipeline.harness_hash import harness_hash
from pipeline.records import JsonObject
from pipeline.traces.decode import encode
from pipeline.traces.reasons import Reason

Tools = tuple[tuple[JsonObject, ...], str]
"""Schemas and their harness hash."""

NO_TOOLS: Tools = ((), harness_hash(()))


def read_tools(raw: Any, field: str = "tools") -> Tools:
    """Normalise the tools of a row: OpenAI's, Anthropic's, bare functions, or JSON text of a list of these.

    Raises TraceError naming `field`.
    """
    if not raw:
        return NO_TOOLS
    if isinstance(raw, str):
        return _normalised(raw.encode(), field)
    return _normalised(encode(raw, field).encode(), field)


@lru_cache(maxsize=1024)
def _normalised(text: bytes, field: str) -> Tools:
    try:
        raw = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise TraceError(Reason.BAD_TOOLS, f"tools are text, but not JSON ({error})", field) from error
    if not isinstance(raw, list):
        raise TraceError(Reason.BAD_TOOLS, f"tools must be a list, found {type(raw).__name__}", field)
    tools = _all(raw, field)
    return tools, harness_hash(tools)


def _all(raw: Sequence[Any], field: str) -> tuple[JsonObject, ...]:
    return tuple(_one(tool, f"{field}[{index}]") for index, tool in enumerate(raw))


def _one(tool: Any, field: str) -> JsonObject:
    inner = tool.get("function", tool) if isinstance(tool, dict) else None
    if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
        raise TraceError(Reason.BAD_TOOLS, f"a tool needs a name, found {str(tool)[:80]}", field)
    renamed = {("parameters" if key == "input_schema" else key): value for key, value in inner.items()}
    if renamed.get("type") in ("function", "custom"):
        del renamed["type"]
    return {"type": "function", "function": renamed}
