"""Text of others as it is put into YAML that a person reads: nothing invisible, nothing that ends a comment."""

import json
from collections.abc import Iterable


def shown(text: str) -> str:
    """Text whose unprintable characters (controls, marks of direction, surrogates) stand as escapes."""
    return "".join(each if each.isprintable() or each in "\n\t" else _escape(each) for each in text)


def comment(lines: Iterable[str], indent: int = 0) -> str:
    """Each line as a YAML comment of one line."""
    return "".join(f"{' ' * indent}# {' '.join(shown(line).split())}\n" for line in lines)


def quoted(text: str) -> str:
    """A YAML scalar that is this text, whatever it holds."""
    return "".join(
        each if each.isprintable() else _escape(each) for each in json.dumps(text, ensure_ascii=False)
    )  # fmt: skip


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
