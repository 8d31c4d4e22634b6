"""Text of others as it is put into YAML that a person reads: nothing invisible, nothing that ends a comment."""

import json
import re
from collections.abc import Iterable
from typing import Any

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_PLAIN = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)?")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def shown(text: str) -> str:
    """Text whose unprintable characters (controls, marks of direction, surrogates) stand as escapes."""
    return "".join(each if each.isprintable() or each in "\n\t" else _escape(each) for each in text)


def comment(lines: Iterable[str], indent: int = 0) -> str:
    """Each line as a YAML comment of one line."""
    return "".join(f"{' ' * indent}# {' '.join(shown(line).split())}\n" for line in lines)


def quoted(text: str) -> str:
    """A YAML scalar that is this text; control characters, which a spec may not hold, become the mark of a lost one."""
    held = json.dumps(_CONTROL.sub("\ufffd", text), ensure_ascii=False)
    return "".join(each if each.isprintable() else _escape(each) for each in held)


def flow(value: Any) -> str:
    """A value in YAML's flow style, on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) and value not in _WORDS else quoted(value)
    return json.dumps(value)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
