"""What workers hand over: stretches of rows, the text of their messages apart, and refusals in their places."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pipeline.records import Quarantined, Trace
from pipeline.rows import Row, messages_to_json, tools_to_json, trace_head_to_row
from pipeline.traces.decode import unstorable
from pipeline.traces.finish import Finish
from pipeline.traces.lines import Lines
from pipeline.traces.quick_chat import Told
from pipeline.traces.reading import quarantined
from pipeline.traces.slots import Text

Item = Trace | Told | Quarantined | Lines

_BYTES, _ROWS = 4 << 20, 4096
"""A stretch ends here: the same for any number of workers, because row groups are made of whole stretches."""


class Chunk(NamedTuple):
    """A stretch of what was read, in order."""

    rows: list[Row]
    """Rows of `records.TRACES` without messages."""
    sizes: list[int]
    """Bytes of each row's messages."""
    messages: bytearray | None
    """All rows' messages, one after the other; None when they stand in a slot."""
    refused: list[tuple[int, Quarantined]]
    """Each with the number of the rows before it."""
    lines: int
    """Lines of the span, in its last chunk."""


def chunked(items: Iterable[Item], finish: Finish, room: memoryview) -> Iterator[Chunk]:
    """Chunks of what readers yield, each item finished; the messages fill the room before they need other memory."""
    builder = _Builder(finish, room)
    for item in items:
        builder.add(item)
        if builder.size() >= _BYTES or builder.count() >= _ROWS:
            yield builder.take()
    yield builder.take()


class _Builder:
    def __init__(self, finish: Finish, room: memoryview) -> None:
        self._finish, self._text = finish, Text(room)
        self._tools: tuple[object, str] = ((), "[]")
        self._start()

    def add(self, item: Item) -> None:
        if isinstance(item, Lines):
            self._lines = item.total
        elif isinstance(item, Told):
            self._try(item.trace, item.messages)
        elif isinstance(item, Trace):
            self._try(item, None)
        else:
            self._refused.append((len(self.sizes), self._finish.refused(item)))

    def size(self) -> int:
        """Bytes of messages so far."""
        return len(self._text)

    def count(self) -> int:
        """Rows and refusals so far: a file may hold millions of either."""
        return len(self.sizes) + len(self._refused)

    def take(self) -> Chunk:
        chunk = Chunk(self._rows, self.sizes, self._text.take(), self._refused, self._lines)
        self._start()
        return chunk

    def _start(self) -> None:
        self._rows: list[Row] = []
        self.sizes: list[int] = []
        self._refused: list[tuple[int, Quarantined]] = []
        self._lines = 0

    def _try(self, trace: Trace, text: bytes | None) -> None:
        done = self._finish(trace)
        if isinstance(done, Quarantined):
            self._refused.append((len(self.sizes), done))
            return
        try:
            row = trace_head_to_row(done)
            row["tools"] = self._tools_text(done)
            text = messages_to_json(done.messages).encode() if text is None else text
        except TypeError as error:
            self._refused.append((len(self.sizes), quarantined(done.source, done.line, unstorable(error, "metadata"))))
            return
        self._rows.append(row)
        self.sizes.append(len(text))
        self._text.add(text)

    def _tools_text(self, trace: Trace) -> str:
        """Text of the tools, one object for all rows that have the same."""
        if self._tools[0] is not trace.tools:
            self._tools = (trace.tools, tools_to_json(trace.tools))
        return self._tools[1]
