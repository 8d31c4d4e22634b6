"""The first records of a file, read off its first bytes, even when those end in the middle of a record."""

from functools import lru_cache
from io import BytesIO
from itertools import islice
from typing import Any

from pipeline.errors import TraceError
from pipeline.traces.decode import decode
from pipeline.traces.framing import is_spread
from pipeline.traces.lines import BOM
from pipeline.traces.spread import QUOTE, brackets, spread_values

HEAD_BYTES = 1 << 20
"""How much of a file `sniff` is shown."""
_RECORDS = 32


@lru_cache(maxsize=4)
def preview(head: bytes) -> tuple[Any, ...]:
    """Up to 32 JSON values from the start of a file; unreadable lines are passed over."""
    if is_tar(head):  # lines inside would be read, those beside its headers lost
        return ()
    lines = list(islice((line for line in head.removeprefix(BOM).splitlines() if line.strip()), _RECORDS))
    if not lines:
        return ()
    if is_spread(lines[:2]):
        return _elements(_value(closed(head))) or _readable(head)
    values = tuple(value for value in map(_value, lines) if value is not None)
    return _elements(values[0]) if len(lines) == 1 and values else values


def is_tar(head: bytes) -> bool:
    """Whether a file that starts with `head` is a tar archive."""
    return head[257:262] == b"ustar"


def objects(head: bytes) -> list[dict[str, Any]]:
    """The objects among the previewed records."""
    return [value for value in preview(head) if isinstance(value, dict)]


def _elements(value: Any) -> tuple[Any, ...]:
    return tuple(value[:_RECORDS]) if isinstance(value, list) else (value,) if value is not None else ()


def _readable(head: bytes) -> tuple[Any, ...]:
    """Of records over several lines, of which one is damaged, the others."""
    pieces = (piece for _, piece in islice(spread_values(BytesIO(head), len(head)), _RECORDS))
    found = (_value(piece) for piece in pieces if isinstance(piece, bytes))
    return tuple(value for value in found if value is not None)


def _value(data: bytes) -> Any:
    try:
        return decode(data)[0]
    except TraceError:
        return None


def open_brackets(head: bytes) -> tuple[int, bytes]:
    """Up to where the first JSON value reaches, to its last bracket at hand, and what would close it there."""
    stack, cut = bytearray(), 0
    for place in brackets(head):
        token = head[place]
        if token == QUOTE:
            continue
        if token in b"[{":
            stack.append(0x5D if token == 0x5B else 0x7D)
        elif stack:
            stack.pop()
        cut = place + 1
        if not stack:
            break
    return cut, bytes(reversed(stack))


def closed(head: bytes) -> bytes:
    """The first JSON value with what is open closed: valid if the whole is."""
    cut, closing = open_brackets(head)
    return head[:cut] + closing
