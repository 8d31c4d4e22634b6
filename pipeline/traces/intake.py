"""What workers read becomes the table: re-exports are told, all is counted, refusals are written in their places."""

from array import array
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import accumulate
from typing import IO, Any

import orjson
import pyarrow as pa

from pipeline.errors import TraceError
from pipeline.records import TRACES, Quarantined
from pipeline.rows import Row
from pipeline.traces.account import Account
from pipeline.traces.chunks import Chunk
from pipeline.traces.crew import Result
from pipeline.traces.reading import quarantined
from pipeline.traces.reasons import Reason
from pipeline.traces.summary import Summary


class Intake:
    """Sees all chunks in order; of each trace only its id and reward stay in memory."""

    def __init__(self, summary: Summary, account: Account, quarantine: IO[bytes]) -> None:
        self._summary, self._account, self._quarantine = summary, account, quarantine
        self._seen: dict[bytes, float | None] = {}
        self._before = 0

    def tables(self, result: Result) -> Iterator[pa.Table]:
        """The rows of one job that are kept."""
        job, chunks = result
        if job.span is None or job.span.start == 0:
            self._before = 0
        lines = 0
        for chunk, text in chunks:
            kept = self._keep(chunk)
            lines += chunk.lines
            if kept:
                yield _table(chunk, text, kept)
        self._before += lines

    def refuse(self, row: Quarantined) -> None:
        """Write a row of the quarantine."""
        self._quarantine.write(orjson.dumps(asdict(row), option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE))

    def _keep(self, chunk: Chunk) -> list[int]:
        """Which rows of the chunk are kept; the others, and what was refused, are quarantined in order."""
        kept: list[int] = []
        done = 0
        for index, row in enumerate(chunk.rows):
            while done < len(chunk.refused) and chunk.refused[done][0] <= index:
                self._refuse(chunk.refused[done][1])
                done += 1
            if self._is_new(row):
                kept.append(index)
        for _, refused in chunk.refused[done:]:
            self._refuse(refused)
        return kept

    def _is_new(self, row: Row) -> bool:
        key = bytes.fromhex(row["trace_id"])
        if key in self._seen:
            again = repeated(row["group_id"], row["try_id"], row["reward"], self._seen[key])
            self._refuse(quarantined(row["source"], row["line"], again))
            return False
        self._seen[key] = row["reward"]
        row["line"] += self._before
        self._summary.add(row)
        self._account.add(row)
        return True

    def _refuse(self, row: Quarantined) -> None:
        row = replace(row, line=row.line + self._before)
        self._summary.refuse(row)
        self.refuse(row)


def repeated(group_id: str | None, try_id: str | None, reward: float | None, kept: float | None) -> TraceError:
    """The fault of a run that was read before; `kept` is the reward that it had then."""
    which = f"try {try_id} of {group_id}" if try_id is not None else "this run"
    conflict = "" if kept == reward else f"; its reward {reward} differs from {kept}, which is kept"
    return TraceError(Reason.DUPLICATE_EXPORT, f"{which} was read before with equal content{conflict}")


def _table(chunk: Chunk, text: pa.Buffer, kept: list[int]) -> pa.Table:
    rows = chunk.rows
    ends = pa.py_buffer(array("i", accumulate(chunk.sizes, initial=0)))
    messages = pa.StringArray.from_buffers(len(rows), ends, text)
    if len(kept) < len(rows):
        messages = messages.take(pa.array(kept))
        rows = [rows[index] for index in kept]
    columns = {field.name: pa.array([row[field.name] for row in rows], field.type)
               for field in TRACES if field.name not in ("messages", "tools")}  # fmt: skip
    columns |= {"messages": messages, "tools": _as_dictionary([row["tools"] for row in rows])}
    return pa.table({name: columns[name] for name in TRACES.names})


def _as_dictionary(texts: list[str]) -> "pa.DictionaryArray[Any, Any]":
    codes: dict[str, int] = {}
    indices = [codes.setdefault(text, len(codes)) for text in texts]
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(list(codes), pa.string()))
