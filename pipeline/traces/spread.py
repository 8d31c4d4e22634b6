"""Records that spread over several lines: the elements of an array, or objects one after the other.

Brackets are counted outside strings, so an element ends where it ends, however the file is indented, and no more than
one element is held in memory.
"""

import re
from collections.abc import Iterator

from pipeline.errors import TraceError
from pipeline.traces.reasons import Reason

TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]')
"""A whole string, or a bracket outside one."""

Piece = tuple[int, bytes | TraceError]


def spread_values(lines: Iterator[tuple[int, bytes]], max_bytes: int) -> Iterator[Piece]:
    """Yield the line and bytes of each record; what cannot be cut out comes as a TraceError."""
    splitter = _Splitter(max_bytes)
    for number, line in lines:
        if len(line) > max_bytes:
            yield number, TraceError(Reason.LINE_TOO_LONG, f"longer than {max_bytes} bytes; the rest is left unread")
            return
        yield from splitter.feed(number, line)
    yield from splitter.end()


class _Splitter:
    def __init__(self, max_bytes: int) -> None:
        self._max = max_bytes
        self._base = -1  # brackets around a record: 1 in an array; set by the first bracket
        self._depth = 0
        self._parts: list[bytes] = []
        self._size = 0
        self._start = self._last = 1

    def feed(self, number: int, line: bytes) -> Iterator[Piece]:
        at, self._last = 0, number
        for match in TOKEN.finditer(line):
            token = line[match.start()]
            if token in b"[{":
                if self._base < 0:
                    self._base = 1 if token == 0x5B else 0
                if self._depth == self._base:
                    yield from _between(number, line[at : match.start()])
                    at, self._start = match.start(), number
                elif self._depth < self._base:
                    at = match.end()
                self._depth += 1
            elif token in b"]}" and self._depth > 0:
                self._depth -= 1
                if self._depth == self._base:
                    self._keep(line[at : match.end()])
                    yield self._take()
                    at = match.end()
                elif self._depth < self._base:
                    yield from _between(number, line[at : match.start()])
                    at = match.end()
        if self._depth > self._base:
            self._keep(line[at:])
        else:
            yield from _between(number, line[at:])

    def end(self) -> Iterator[Piece]:
        if self._depth > self._base:
            yield self._start, TraceError(Reason.TRUNCATED_FILE, "the file ends in the middle of this record")
        elif self._depth > 0:
            yield self._last, TraceError(Reason.TRUNCATED_FILE, "the array of records is never closed")

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= self._max:
            self._parts.append(part)
        else:
            self._parts.clear()

    def _take(self) -> Piece:
        data, size = b"".join(self._parts), self._size
        self._parts, self._size = [], 0
        if size > self._max:
            return self._start, TraceError(Reason.LINE_TOO_LONG, f"a record of {size} bytes; raise ingest.max_line_mb")
        return self._start, data


def _between(number: int, text: bytes) -> Iterator[Piece]:
    """What stands between two records: commas, or values that are no objects."""
    if rest := text.strip(b" \t\r\n,"):
        yield number, rest
