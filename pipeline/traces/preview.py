"""The first records of a file, read off its first bytes, even when those end in the middle of a record."""

from functools import lru_cache
from itertools import islice
from typing import Any

from pipeline.errors import TraceError
from pipeline.traces.decode import decode
from pipeline.traces.framing import BOM, is_spread
from pipeline.traces.spread import TOKEN

HEAD_BYTES = 1 << 20
"""How much of a file `sniff` is shown."""
_RECORDS = 32
_ARCHIVES = {b"PK\x03\x04": "a ZIP archive", b"\x1f\x8b": "a gzip archive", b"\x28\xb5\x2f\xfd": "a zstd archive"}


@lru_cache(maxsize=4)
def preview(head: bytes) -> tuple[Any, ...]:
    """Up to 32 JSON values from the start of a file; unreadable lines are passed over."""
    lines = list(islice((line for line in head.removeprefix(BOM).splitlines() if line.strip()), _RECORDS))
    if not lines:
        return ()
    if is_spread(lines[:2]):
        return _elements(_value(_closed(head)))
    values = tuple(value for value in map(_value, lines) if value is not None)
    return _elements(values[0]) if len(lines) == 1 and values else values


def objects(head: bytes) -> list[dict[str, Any]]:
    """The objects among the previewed records."""
    return [value for value in preview(head) if isinstance(value, dict)]


def describe(head: bytes) -> str:
    """What a file that no format claims looks like, for people."""
    for magic, name in _ARCHIVES.items():
        if head.startswith(magic):
            return f"{name}; unpack it first"
    if b"\x00" in head[:4096]:
        return "binary data"
    values = preview(head)
    if not values:
        return f"text that starts with {head[:60].decode('utf-8', 'replace')!r}"
    if isinstance(values[0], dict):
        return f"JSON objects with the keys {', '.join(map(repr, islice(values[0], 12)))}"[:300]
    return f"JSON values of the kind {type(values[0]).__name__}"


def _elements(value: Any) -> tuple[Any, ...]:
    return tuple(value[:_RECORDS]) if isinstance(value, list) else (value,) if value is not None else ()


def _value(data: bytes) -> Any:
    try:
        return decode(data)[0]
    except TraceError:
        return None


def _closed(head: bytes) -> bytes:
    """The first JSON value up to the last bracket at hand, with what is open closed: valid if the whole is."""
    stack, cut = bytearray(), 0
    for match in TOKEN.finditer(head):
        token = head[match.start()]
        if token == 0x22:
            continue
        if token in b"[{":
            stack.append(0x5D if token == 0x5B else 0x7D)
        elif stack:
            stack.pop()
        cut = match.end()
        if not stack:
            break
    return head[:cut] + bytes(reversed(stack))
