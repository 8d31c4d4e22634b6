"""Memory that workers share with the process that forked them: texts are written once, and read where they stand.

Pages that are used again and again cost nothing, where a file or a pipe would have every byte copied twice more.
"""

import mmap
import weakref

import pyarrow as pa

_SLOT = 16 << 20
"""Bytes of a slot: what a span of a file gives has room. Pages that were never written take no memory."""


class Slots:
    """A few pieces of memory, made before the workers are."""

    def __init__(self, count: int) -> None:
        self._maps = [mmap.mmap(-1, _SLOT) for _ in range(count)]
        self._free = list(range(count))

    def take(self) -> int | None:
        """The number of a slot that nobody uses; None if there is none."""
        return self._free.pop() if self._free else None

    def room(self, slot: int | None) -> memoryview:
        """The memory of a slot, to be written; none without a slot."""
        return memoryview(b"") if slot is None else memoryview(self._maps[slot])

    def buffer(self, slot: int | None) -> pa.Buffer:
        """The memory of a slot, to be read. Once nothing refers to it or to a part of it, the slot is free again."""
        view = self.room(slot)
        if slot is not None:
            weakref.finalize(view, self._free.append, slot).atexit = False
        return pa.py_buffer(view)


class Text:
    """Texts one behind the other: in a room as long as they fit, else in memory of their own."""

    def __init__(self, room: memoryview) -> None:
        self._room, self._start, self._end = room, 0, 0
        self._own: bytearray | None = None

    def __len__(self) -> int:
        return self._end - self._start if self._own is None else len(self._own)

    def add(self, text: bytes) -> None:
        """Copy one text, at once, while it is in the processor's cache."""
        end = self._end + len(text)
        if self._own is None and end <= len(self._room):
            self._room[self._end : end] = text
            self._end = end
            return
        if self._own is None:
            self._own = bytearray(self._room[self._start : self._end])
            self._end = self._start
        self._own += text

    def take(self) -> bytearray | None:
        """What was added since the last call; None if it is in the room, behind what was taken before."""
        own, self._own, self._start = self._own, None, self._end
        return own
