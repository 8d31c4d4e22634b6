"""Any number of processes, any order of files: the same bytes; a filter of the table reads only what it needs."""

import io
import random
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from pipeline.errors import InputError
from pipeline.ingest_params import IngestParams
from pipeline.records import TRACES
from pipeline.rows import trace_from_row
from pipeline.stages import ingest
from pipeline.tables import read_parquet
from pipeline.traces import crew, jobs, slots
from tests.traces.helpers import ANSWER, USER, call, lines, result

CALLING = {"role": "assistant", "content": None, "tool_calls": [call()]}


def row(number: int, **beside: Any) -> dict[str, Any]:
    """A chat row; every seventh is a re-export of one before, every ninth has no identity of its own."""
    task = {"task_id": f"t{number // 3}", "trial": number % 3} if number % 7 else {"task_id": "t0", "trial": 1}
    said = [USER, CALLING, result("x" * (number % 50)), ANSWER | {"content": f"{number if number % 7 else 1} metres."}]
    return {"messages": said, "reward": float(number % 7 > 3), **({} if number % 9 == 0 else task), **beside}


def fill(raw: Path, names: list[str]) -> None:
    """Files of several kinds, written in the order of `names`."""
    rng = random.Random(1)
    rows = [orjson.dumps(row(number)) for number in range(120)]
    rows[20:20] = [b"", b"{broken", b'{"messages": []}', b"  "]
    content = {
        "a.jsonl": b"\n".join(rows) + b"\n",
        "b.json": b"[" + b",".join(line for line in rows if line.strip() and line != b"{broken") + b"]",
        "c/d.jsonl": b"\n".join(rng.sample(rows, len(rows))),
        "notes.txt": b"Hello",
    }
    for name in names:
        (raw / name).parent.mkdir(parents=True, exist_ok=True)
        (raw / name).write_bytes(content[name])


NAMES = ["a.jsonl", "b.json", "c/d.jsonl", "notes.txt"]


def outs(folder: Path, names: list[str], workers: int) -> list[Any]:
    """Bytes of the table and of the quarantine, and the metrics."""
    raw = folder / "raw"
    fill(raw, names)
    table, quarantine = folder / "t.parquet", folder / "q.jsonl"
    params = IngestParams(max_line_mb=1, workers=workers)
    summary, account = ingest.ingest(raw, table, quarantine, params)
    return [table.read_bytes(), quarantine.read_bytes(), summary.as_json(), account.as_json()]


def test_spans_and_processes_change_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    whole = outs(tmp_path / "whole", NAMES, 1)
    monkeypatch.setattr(jobs, "_LARGE", 1)
    monkeypatch.setattr(jobs, "_SPAN", 5000)
    assert outs(tmp_path / "spans", NAMES, 1) == whole
    monkeypatch.setattr(crew, "_WORTH", 1)
    assert outs(tmp_path / "two", NAMES[::-1], 2) == whole
    assert not (tmp_path / ".work/ingest").exists()
    refused = [orjson.loads(line) for line in whole[1].splitlines()]
    assert next((r["source"], r["line"]) for r in refused if r["reason"] == "invalid_json") == ("a.jsonl", 22)
    assert whole[2]["quarantined_by_reason"]["duplicate_export"] > 100


@pytest.mark.parametrize("size", [1, 3000])
def test_text_that_finds_no_room_in_shared_memory_changes_no_byte(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    whole = outs(tmp_path / "whole", NAMES, 1)
    monkeypatch.setattr(jobs, "_LARGE", 1)
    monkeypatch.setattr(jobs, "_SPAN", 5000)
    monkeypatch.setattr(crew, "_WORTH", 1)
    monkeypatch.setattr(slots, "_SLOT", size)
    assert outs(tmp_path / "one", NAMES, 1) == whole
    assert outs(tmp_path / "two", NAMES, 2) == whole


def test_the_shortcut_gives_the_bytes_of_the_general_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    general = outs(tmp_path / "general", NAMES, 1)
    monkeypatch.setattr(jobs, "_LARGE", 1)
    assert outs(tmp_path / "quick", NAMES, 1) == general


def test_an_error_of_a_worker_is_told_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        ingest.ingest(tmp_path / "raw", tmp_path / "t", tmp_path / "q", IngestParams(max_line_mb=1, workers=2))
    assert not list(tmp_path.iterdir())


class Counting(io.BytesIO):
    """Counts the bytes that are read of it."""

    count = 0

    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(size)
        self.count += len(found)
        return found


def many(tmp_path: Path, compress: bool) -> Path:
    """A table of five thousand traces."""
    (tmp_path / "raw").mkdir()
    long = "x" * 400
    rows = ({"messages": [USER, ANSWER | {"content": f"{n} {long}"}], "task_id": f"{n // 8:05}", "trial": n % 8,
             "reward": n / 5_000} for n in range(5_000))  # fmt: skip
    (tmp_path / "raw/a.jsonl").write_bytes(lines(*rows))
    params = IngestParams(max_line_mb=1, workers=1, compress=compress)
    ingest.ingest(tmp_path / "raw", tmp_path / "t.parquet", tmp_path / "q", params)
    return tmp_path / "t.parquet"


def test_a_filter_by_group_or_reward_reads_only_the_columns_and_row_groups_it_needs(tmp_path: Path) -> None:
    path = many(tmp_path, compress=False)
    meta = pq.ParquetFile(path).metadata
    sizes = [meta.row_group(index).num_rows for index in range(meta.num_row_groups)]
    assert sizes == [4096, 904]
    for column in ("group_id", "reward"):
        place = meta.schema.names.index(column)
        found = [meta.row_group(index).column(place).statistics for index in range(meta.num_row_groups)]
        ranges = [(each.min, each.max) for each in found if each is not None]
        assert len(ranges) == 2
        assert ranges[0] < ranges[1]
    file = Counting(path.read_bytes())
    kept = pq.read_table(pa.PythonFile(file, mode="r"), columns=["group_id"], filters=pc.field("reward") >= 0.95)
    assert kept.num_rows == 250
    assert file.count < len(file.getvalue()) / 20


def test_the_table_holds_plain_text_and_reads_back(tmp_path: Path) -> None:
    path = many(tmp_path, compress=True)
    assert pq.ParquetFile(path).schema_arrow.remove_metadata() == TRACES
    traces = [trace_from_row(each) for each in read_parquet(path, TRACES)]
    assert [trace.line for trace in traces] == list(range(1, 5_001))
    assert path.stat().st_size < 750_000
