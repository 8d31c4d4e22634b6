"""Packed files read as if they were unpacked; damage and bombs cost what they must and are named."""

import gzip
import random
import tracemalloc
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import TraceError
from pipeline.records import Quarantined, Trace
from pipeline.traces import bombs
from pipeline.traces.framing import records
from pipeline.traces.opening import open_trace, read_head
from tests.traces.helpers import ANSWER, USER, call, lines, only, read, refused, result, traces

CALLING = {"role": "assistant", "content": None, "tool_calls": [call()]}
TALK = [USER, CALLING, result("5 m"), ANSWER]
ROWS = lines(*({"messages": TALK, "task_id": n, "trial": 0, "reward": n / 4} for n in range(4)))
MANY = lines(*({"messages": [USER | {"content": f"{n * 7919} metres?"}, ANSWER]} for n in range(3000)))


def parquet(rows: list[dict[str, Any]], schema: pa.Schema | None = None) -> bytes:
    """A Parquet file of rows."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), sink)
    return sink.getvalue().to_pybytes()


def zstd(data: bytes) -> bytes:
    """One frame."""
    packed: bytes = pa.Codec("zstd").compress(data, asbytes=True)
    return packed


PACKERS = {"gzip": gzip.compress, "zstd": zstd}


def content(items: list[Trace | Quarantined]) -> list[Any]:
    """Traces without what the file's bytes decide."""
    return [(t.line, t.messages, t.reward, t.group_id, t.trace_id) for t in traces(items)]


@pytest.mark.parametrize("packer", PACKERS)
def test_a_packed_file_is_read_as_if_unpacked(packer: str, tmp_path: Path) -> None:
    pack = PACKERS[packer]
    plain = content(read(tmp_path, ROWS))
    assert content(read(tmp_path, pack(ROWS))) == plain
    first = ROWS.splitlines(keepends=True)[0]
    assert content(read(tmp_path, pack(first) + pack(ROWS[len(first) :]))) == plain
    assert read_head(tmp_path / "traces.jsonl", 10) == ROWS[:10]


@pytest.mark.parametrize("packer", PACKERS)
def test_a_cut_file_keeps_what_came_before(packer: str, tmp_path: Path) -> None:
    data = PACKERS[packer](MANY)
    items = read(tmp_path, data[: len(data) * 4 // 5])
    assert len(traces(items)) > 500
    assert refused(items) == [(len(items), None, "truncated_file")]
    assert "ends early" in items[-1].message if isinstance(items[-1], Quarantined) else False
    assert refused(read(tmp_path, data[:6])) == [(1, None, "truncated_file")]


def test_what_is_saved_of_a_cut_zstd_file_comes_in_one_piece(tmp_path: Path) -> None:
    """Not byte by byte, each of which had the whole of a long text looked at again."""
    text = "".join(random.Random(1).choices("abcdefgh ", k=1 << 20))
    data = zstd(orjson.dumps([{"messages": text}], option=orjson.OPT_INDENT_2))
    (tmp_path / "f").write_bytes(data[: len(data) - 5000])
    sizes: list[int] = []

    def read_all(stream: Any) -> None:
        while piece := stream.read1(1 << 20):
            sizes.append(len(piece))

    with open_trace(tmp_path / "f") as stream, pytest.raises(TraceError, match="ends early"):
        read_all(stream)
    assert sum(sizes) > 900_000
    assert min(sizes) > 100


@pytest.mark.parametrize("packer", PACKERS)
def test_damage_inside_is_named(packer: str, tmp_path: Path) -> None:
    data = PACKERS[packer](MANY)
    items = read(tmp_path, data[:60] + bytes(200) + data[260:])
    assert packer == "zstd" or refused(items)[-1][2] == "broken_archive"  # a zstd frame may have no checksum
    assert len(traces(items)) < 3000
    assert refused(read(tmp_path, PACKERS[packer](ROWS) + b"junk after"))[-1] == (5, None, "broken_archive")


@pytest.mark.parametrize("packer", PACKERS)
def test_a_bomb_is_given_up_with_little_memory(packer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bombs, "FLOOR", 1 << 20)
    one_line = ROWS.splitlines(keepends=True)[0]
    data = PACKERS[packer](one_line + b'{"messages": "' + b"x" * (40 << 20) + b'"}\n' + one_line)
    tracemalloc.start()
    items = read(tmp_path, data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (len(traces(items)), refused(items)) == (1, [(2, None, "decompression_bomb")])
    assert peak < 20 << 20


def test_parquet_of_structs_leaves_out_the_nulls_that_arrow_put_in(tmp_path: Path) -> None:
    other = {"role": "assistant", "content": None, "tool_calls": [call("b", {"other": 2}, "c2")]}
    rows = [{"messages": [USER, CALLING | {"tool_calls": [call("a", {"x": 1})]}, result("5 m"), other], "reward": 1.0}]
    found = only(read(tmp_path, parquet(rows), name="no-matter.txt"))
    assert [each.arguments for m in found.messages for each in m.tool_calls] == [{"x": 1}, {"other": 2}]
    assert [m.content for m in found.messages] == ["How tall is it?", None, "5 m", None]
    assert (found.reward, found.metadata["linked_by"]) == (1.0, "id")


def test_parquet_of_json_text_is_the_same_as_lines(tmp_path: Path) -> None:
    text = [{"messages": lines(TALK).decode(), "task_id": n, "trial": 0, "reward": n / 4} for n in range(4)]
    assert content(read(tmp_path, parquet(text))) == content(read(tmp_path, ROWS))


def test_parquet_that_is_cut_or_damaged_is_named(tmp_path: Path) -> None:
    data = parquet([{"messages": lines(TALK).decode()}])
    assert refused(read(tmp_path, data[:-20])) == [(1, None, "truncated_file")]
    assert refused(read(tmp_path, data[:4] + bytes(40) + data[44:])) == [(1, None, "broken_archive")]
    assert refused(read(tmp_path, data[:-30] + b"x" * 22 + data[-8:])) == [(1, None, "broken_archive")]


def test_parquet_of_something_else_is_named_by_its_columns(tmp_path: Path) -> None:
    items = read(tmp_path, parquet([{"height": 5, "at": b"\xff", "day": pa.scalar(1, pa.date32()).as_py()}]))
    assert refused(items) == [(1, None, "unknown_format")]
    assert "the keys 'height', 'at', 'day'" in items[0].message if isinstance(items[0], Quarantined) else False


def test_parquet_keeps_maps_and_long_files(tmp_path: Path) -> None:
    schema = pa.schema([("messages", pa.string()), ("metadata", pa.map_(pa.string(), pa.int64()))])
    rows = [{"messages": lines(TALK).decode(), "metadata": [("a", n)]} for n in range(3000)]
    found = traces(read(tmp_path, parquet(rows, schema)))
    assert [t.metadata["a"] for t in found] == list(range(3000))
    assert [r.line for r in records(tmp_path / "traces.jsonl", 1 << 20)] == list(range(1, 3001))
