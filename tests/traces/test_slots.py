"""Slots are free again once nobody looks at what was read of them; texts that find no room keep to themselves."""

import gc
from array import array

import pyarrow as pa
import pytest

from pipeline.traces import slots
from pipeline.traces.slots import Slots, Text


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "_SLOT", 4096)


def test_a_slot_is_free_when_the_last_array_of_its_memory_is_gone() -> None:
    found = Slots(1)
    slot = found.take()
    assert slot == 0
    assert found.take() is None
    found.room(slot)[:5] = b"abcde"
    ends = pa.py_buffer(array("i", [0, 2, 5]))
    texts = pa.StringArray.from_buffers(2, ends, found.buffer(slot).slice(0, 5))
    table = pa.table({"text": texts}).slice(1)
    del texts
    gc.collect()
    assert found.take() is None
    assert table["text"].to_pylist() == ["cde"]
    del table
    gc.collect()
    assert found.take() == 0


def test_without_a_slot_there_is_no_room() -> None:
    found = Slots(0)
    assert found.take() is None
    assert len(found.room(None)) == found.buffer(None).size == 0


def test_texts_stand_in_the_room_one_behind_the_other() -> None:
    room = memoryview(bytearray(8))
    text = Text(room)
    text.add(b"abc")
    text.add(b"de")
    assert (len(text), text.take()) == (5, None)
    text.add(b"fgh")
    assert (len(text), text.take()) == (3, None)
    assert bytes(room) == b"abcdefgh"


def test_a_stretch_that_outgrows_the_room_is_kept_whole_elsewhere() -> None:
    text = Text(memoryview(bytearray(8)))
    text.add(b"abc")
    assert text.take() is None
    text.add(b"de")
    text.add(b"fghi")
    text.add(b"j")
    assert (len(text), text.take()) == (7, bytearray(b"defghij"))
    text.add(b"klmno")
    assert text.take() is None


def test_without_room_all_is_kept_elsewhere() -> None:
    text = Text(memoryview(b""))
    text.add(b"abc")
    assert text.take() == bytearray(b"abc")
