"""Records that spread over several lines, or share one: the elements of an array, or objects one after the other.

Brackets are counted outside strings, so an element ends where it ends, however the file is indented, and no more than
one element is held in memory.
"""

import re
from collections.abc import Iterator
from typing import IO

from pipeline.errors import TraceError
from pipeline.traces.lines import BOM
from pipeline.traces.reasons import Reason

_NEXT = re.compile(rb'(?:[^"\[\]{}]++|"[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+")*+(["\[\]{}]|\Z)')
"""Text and whole strings, and what comes behind them: a bracket, the quote of a string that is not whole, the end."""
_BRACKET = re.compile(rb"[\[\]{}]")

QUOTE = 0x22

Piece = tuple[int, bytes | TraceError]

_BLOCK = 1 << 20
_GAP = b" \t\r\n,"


def spread_values(stream: IO[bytes], max_bytes: int) -> Iterator[Piece]:
    """Yield the line and bytes of each record; what cannot be cut out comes as a TraceError."""
    splitter = _Splitter(max_bytes)
    for block in _blocks(stream, splitter):
        yield from splitter.feed(splitter.rest + block)
        if len(splitter.rest) > max_bytes:
            fault = TraceError(Reason.LINE_TOO_LONG, f"longer than {max_bytes} bytes; the rest is left unread")
            yield splitter.line, fault
            return
    yield from splitter.end()


def _blocks(stream: IO[bytes], splitter: "_Splitter") -> Iterator[bytes]:
    """Blocks no smaller than the rest before which they come, as the rest is looked at again with each of them."""
    read = getattr(stream, "read1", stream.read)
    parts: list[bytes] = []
    size, mark = 0, BOM
    try:
        while part := read(_BLOCK):
            parts.append(part.removeprefix(mark))
            size, mark = size + len(part), b""
            if size >= max(_BLOCK, len(splitter.rest)):
                yield b"".join(parts)
                parts, size = [], 0
    except TraceError:
        if parts:  # what could be unpacked before the damage
            yield b"".join(parts)
        raise
    if parts:
        yield b"".join(parts)


def brackets(data: bytes) -> Iterator[int]:
    """Places of the brackets outside strings, and of the quote of a string in which the bytes end, in one pass.

    No string spans lines: where one is still open as its line ends, its quote is none, nor is any behind it, and the
    brackets of the line count.
    """
    at = 0
    while at >= 0:
        for match in _NEXT.finditer(data, at):
            place = match.start(1)
            if match[1] != b'"':
                if place < len(data):
                    yield place
                continue
            at = data.find(b"\n", place)
            if at < 0:
                yield place
            else:
                yield from (bracket.start() for bracket in _BRACKET.finditer(data, place, at))
            break
        else:
            return


class _Splitter:
    def __init__(self, max_bytes: int) -> None:
        self._max = max_bytes
        self._base = -1  # brackets around a record: 1 in an array; set by the first bracket
        self._depth = 0
        self._parts: list[bytes] = []
        self._size = 0
        self._start = 1
        self._data = self.rest = b""
        self._counted = 0
        self.line = 1
        """Of the first byte of `rest`, which is what could not be used yet: to be fed again with more behind it."""

    def feed(self, data: bytes) -> Iterator[Piece]:
        """The records that end in `data`."""
        self._data, self._counted = data, 0
        at, stop = 0, len(data)
        for place in brackets(data):
            token = data[place]
            if token == QUOTE:
                stop = place
            elif token in b"[{":
                if self._base < 0:
                    self._base = 1 if token == 0x5B else 0
                if self._depth == self._base:
                    yield from self._between(at, place)
                    at, self._start = place, self._line_at(place)
                elif self._depth < self._base:
                    at = place + 1
                self._depth += 1
            elif self._depth > 0:
                self._depth -= 1
                if self._depth == self._base:
                    self._keep(data[at : place + 1])
                    yield self._take()
                    at = place + 1
                elif self._depth < self._base:
                    yield from self._between(at, place)
                    at = place + 1
        if self._depth > self._base:
            self._keep(data[at:stop])
        else:
            stop = max(at, data.rfind(b"\n") + 1)
            yield from self._between(at, stop)
        self._line_at(stop)
        self.rest = data[stop:]

    def end(self) -> Iterator[Piece]:
        """What is said of the end of the file."""
        if self._depth > self._base:
            yield self._start, TraceError(Reason.TRUNCATED_FILE, "the file ends in the middle of this record")
            return
        if rest := self.rest.strip(_GAP):
            yield self.line, rest
        if self._depth > 0:
            yield self.line, TraceError(Reason.TRUNCATED_FILE, "the array of records is never closed")

    def _line_at(self, place: int) -> int:
        self.line += self._data.count(b"\n", self._counted, place)
        self._counted = place
        return self.line

    def _between(self, start: int, stop: int) -> Iterator[Piece]:
        """What stands between two records: commas, or values that are no objects."""
        text = self._data[start:stop]
        if not text.strip(_GAP):
            return
        first = self._line_at(start)
        for number, line in enumerate(text.split(b"\n"), start=first):
            if rest := line.strip(_GAP):
                yield number, rest

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
