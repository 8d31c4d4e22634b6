"""JSON schemas of others, shortened to what helps to write a spec: local references followed, sizes bounded.

A schema is data of unknown size and may refer to itself; each tool's schemas may cost a fixed number of parts.
"""

from typing import Any

from pipeline.records import JsonObject

MAX_PARTS = 300
"""Parts of one tool's schemas that are looked at; what is beyond is left out."""
MAX_DEPTH = 6
LONGEST_TEXT = 200
MAX_CHOICES = 40
_KEPT = ("type", "format", "const", "default", "minimum", "maximum", "pattern", "maxLength", "required")


class Shortener:
    """Shortens the schemas of one tool; `root` is the document that references point into."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._left = MAX_PARTS

    def shorten(self, schema: Any, depth: int = 0, above: frozenset[str] = frozenset()) -> JsonObject:
        """The schema with references put in (each once on a way down), long texts cut, nothing below `MAX_DEPTH`."""
        self._left -= 1
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        if self._left < 0 or depth > MAX_DEPTH or reference in above:
            return {}
        if isinstance(reference, str):
            above |= {reference}
        found = self._merged(self.follow(schema))
        short: JsonObject = {key: found[key] for key in _KEPT if key in found and _small(found[key])}
        if isinstance(found.get("enum"), list):
            short["enum"] = [value for value in found["enum"] if _small(value)][:MAX_CHOICES]
        if text := one_line(found.get("description")):
            short["description"] = text
        if isinstance(found.get("properties"), dict):
            few = list(found["properties"].items())[:MAX_CHOICES]
            short["properties"] = {str(name): self.shorten(inner, depth + 1, above) for name, inner in few}
        if isinstance(found.get("items"), dict):
            short["items"] = self.shorten(found["items"], depth + 1, above)
        for key in ("oneOf", "anyOf"):
            if isinstance(found.get(key), list):
                short[key] = [self.shorten(inner, depth + 1, above) for inner in found[key][:4]]
        return short

    def follow(self, node: Any) -> JsonObject:
        """The object that `node` is or refers to; empty for a reference that leads nowhere in this document."""
        for _ in range(MAX_DEPTH):
            if not isinstance(node, dict):
                return {}
            if "$ref" not in node:
                return node
            node = self._target(node["$ref"])
        return {}

    def _target(self, reference: Any) -> Any:
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return None  # another file or address, which is never opened
        node = self._root
        for part in reference[2:].split("/"):
            node = node.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(node, dict) else None
        return node

    def _merged(self, schema: JsonObject) -> JsonObject:
        parts = schema.get("allOf")
        if not isinstance(parts, list):
            return schema
        properties: JsonObject = {}
        merged: JsonObject = {}
        for part in [*map(self.follow, parts[:MAX_CHOICES]), {key: schema[key] for key in schema if key != "allOf"}]:
            properties |= part["properties"] if isinstance(part.get("properties"), dict) else {}
            merged |= part
        return merged | ({"properties": properties} if properties else {})


def one_line(text: Any) -> str:
    """Text on one line, cut to `LONGEST_TEXT` characters; empty for anything else."""
    if not isinstance(text, str):
        return ""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_TEXT else f"{line[: LONGEST_TEXT - 1]}…"


def _small(value: Any) -> bool:
    return len(str(value)) <= LONGEST_TEXT if isinstance(value, str | int | float | bool | list) else False
