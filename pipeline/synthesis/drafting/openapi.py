"""OpenAPI 3: each operation of each path as a tool."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.errors import InputError
from pipeline.records import JsonObject
from pipeline.synthesis.drafting.schemas import Shortener, one_line
from pipeline.synthesis.drafting.tool_doc import ToolDoc

_METHODS = ("get", "put", "post", "delete", "patch")
_PLACES = ("path", "query")
"""Where parameters of the work stand; headers and cookies carry keys and versions."""


def is_openapi(data: Any) -> bool:
    """Whether the data says that it is an OpenAPI document, of whatever version."""
    return isinstance(data, dict) and ("openapi" in data or "swagger" in data)


def openapi_title(data: JsonObject) -> str:
    """Version and title, for the head of a draft."""
    title = one_line(data["info"].get("title")) if isinstance(data.get("info"), dict) else ""
    return f"OpenAPI {one_line(str(data.get('openapi')))}" + (f", {title}" if title else "")


def openapi_tools(path: Path, data: JsonObject) -> Iterator[ToolDoc]:
    """Every operation, under its own name. Raises InputError for another version."""
    version = str(data.get("openapi", data.get("swagger")))
    if not version.startswith("3."):
        raise InputError(f"{path}: OpenAPI {version}; only version 3 is read, so convert it (swagger2openapi does)")
    paths = data.get("paths")
    if not isinstance(paths, dict):
        raise InputError(f"{path}: paths: must be a mapping from path to operations")
    for where, given in paths.items():
        item = Shortener(data).follow(given)
        for method in _METHODS:
            if isinstance(item.get(method), dict):
                yield _tool(data, str(where), method, item, item[method])


def _tool(data: JsonObject, where: str, method: str, item: JsonObject, operation: JsonObject) -> ToolDoc:
    shortener = Shortener(data)
    said = [one_line(operation.get(key)) for key in ("summary", "description")]
    name, responses = operation.get("operationId"), operation.get("responses")
    answers: JsonObject = responses if isinstance(responses, dict) else {}
    return ToolDoc(
        name if isinstance(name, str) else f"{method} {where}",
        ". ".join(dict.fromkeys(text.rstrip(".") for text in said if text)),
        _parameters(shortener, item, operation) | _body(shortener, operation),
        _answer(shortener, answers), tuple(_errors(shortener, answers)), writes=method != "get",
    )  # fmt: skip


def _parameters(shortener: Shortener, item: JsonObject, operation: JsonObject) -> dict[str, JsonObject]:
    out: dict[str, JsonObject] = {}
    for owner in (item, operation):
        listed = owner.get("parameters")
        for given in listed if isinstance(listed, list) else []:
            its = shortener.follow(given)
            if its.get("in") in _PLACES and isinstance(its.get("name"), str):
                schema = shortener.shorten(its.get("schema"))
                about = one_line(its.get("description"))
                out[its["name"]] = schema | {"required": its.get("required") is True} | _about(about)
    return out


def _about(text: str) -> JsonObject:
    return {"description": text} if text else {}


def _body(shortener: Shortener, operation: JsonObject) -> dict[str, JsonObject]:
    body = shortener.follow(operation.get("requestBody"))
    schema = shortener.shorten(_content(body))
    if not schema:
        return {}
    if "properties" not in schema:
        return {"body": schema | {"required": body.get("required") is True}}
    required = schema.get("required", [])
    return {name: its | {"required": name in required} for name, its in schema["properties"].items()}


def _content(holder: JsonObject) -> Any:
    """The schema of a body or an answer: the JSON one, else the first."""
    content = holder.get("content")
    if not isinstance(content, dict) or not content:
        return None
    chosen = next((its for kind, its in content.items() if "json" in str(kind)), next(iter(content.values())))
    return chosen.get("schema") if isinstance(chosen, dict) else None


def _answer(shortener: Shortener, responses: JsonObject) -> JsonObject:
    good = next((its for code, its in responses.items() if str(code).startswith("2")), None)
    found = shortener.follow(good)
    return shortener.shorten(_content(found)) or _about(one_line(found.get("description")))


def _errors(shortener: Shortener, responses: JsonObject) -> list[str]:
    found = []
    for code, its in list(responses.items())[:10]:
        if str(code).startswith("4"):
            found.append(f"{code} {one_line(shortener.follow(its).get('description'))}".strip())
    return found
