"""Deterministic Parquet, JSONL and JSON, written whole or not at all.

A writer fills a temporary file beside the target and renames it, so a reader never sees half a file. Rows go out in the
order given; compression, row-group size and writer version are fixed, so equal rows give equal bytes.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import InputError
from pipeline.records import SCHEMA_VERSION

ROW_GROUP = 4096
GROUP_BYTES = 16 << 20
"""Bytes of a row group of long texts before they are compressed: bounds the memory of writers and readers."""


@contextmanager
def whole_file(path: Path, mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a temporary file that becomes `path` when the block ends well and vanishes when it does not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open(mode, encoding=None if "b" in mode else "utf-8") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def dumps(value: Any) -> str:
    """Canonical JSON text: sorted keys, no spaces."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def loads(text: str | bytes) -> Any:
    """Parse JSON text that one of our own writers made."""
    return orjson.loads(text)


def write_json(path: Path, value: Any) -> None:
    """Write one JSON document, indented, keys sorted, newline at the end."""
    with whole_file(path) as stream:
        stream.write(orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def read_json(path: Path) -> Any:
    """Read one JSON document; raises InputError naming the file."""
    try:
        return orjson.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise InputError(_missing(path)) from error
    except orjson.JSONDecodeError as error:
        message = f"{path}: not valid JSON ({error}); delete the file and run the stage that writes it"
        raise InputError(message) from error


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write one canonical JSON object a line; returns the number of rows."""
    count = 0
    with whole_file(path) as stream:
        for row in rows:
            stream.write(orjson.dumps(row, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE))
            count += 1
    return count


def write_parquet(path: Path, rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> int:
    """Stream `rows` into Parquet with `schema`, a row group of ROW_GROUP rows at a time; returns the number of rows."""
    tagged = schema.with_metadata({"schema_version": str(SCHEMA_VERSION)})
    count = 0
    batch: list[Mapping[str, Any]] = []
    with whole_file(path) as stream, pq.ParquetWriter(stream, tagged, compression="zstd") as writer:
        for row in rows:
            batch.append(row)
            count += 1
            if len(batch) == ROW_GROUP:
                writer.write_table(pa.Table.from_pylist(batch, schema=tagged))
                batch = []
        if batch or count == 0:
            writer.write_table(pa.Table.from_pylist(batch, schema=tagged))
    return count


def write_tables(path: Path, tables: Iterable[pa.Table], large: Sequence[str], compress: bool) -> int:
    """Stream tables of one schema into Parquet; whole ones fill a row group up to ROW_GROUP rows or GROUP_BYTES bytes.

    Columns of text may come as dictionaries, and are read back as text. Those in `large` are written without dictionary
    and statistics, because no two of their values are alike, and compressed only if `compress` is set. Returns the
    number of rows.
    """
    schema, groups = _peeked(_groups(tables))
    small = [name for name in schema.names if name not in large]
    plain = () if compress else large
    options: dict[str, Any] = {
        "compression": {name: "none" if name in plain else "zstd" for name in schema.names},
        "use_dictionary": small, "write_statistics": small,
        "store_schema": False,  # it would give readers the dictionaries back
    }  # fmt: skip
    count = 0
    # Arrow opens the file itself: through Python's stream every page would be copied twice.
    with (
        whole_file(path) as stream,
        pa.OSFile(stream.name, "wb") as file,
        pq.ParquetWriter(file, schema, **options) as writer,
    ):
        writer.add_key_value_metadata({"schema_version": str(SCHEMA_VERSION)})
        for group in groups:
            writer.write_table(group.unify_dictionaries(), row_group_size=max(1, group.num_rows))
            count += group.num_rows
    return count


def _peeked(tables: Iterator[pa.Table]) -> tuple[pa.Schema, Iterator[pa.Table]]:
    """The schema of the first table, and all tables; nothing holds on to one that was passed."""
    first = next(tables)
    return first.schema, chain([first], tables)


def _groups(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    waiting: list[pa.Table] = []
    rows = size = 0
    for table in tables:
        if waiting and (rows + table.num_rows > ROW_GROUP or size + table.nbytes > GROUP_BYTES):
            yield pa.concat_tables(waiting)
            waiting, rows, size = [], 0, 0
        waiting.append(table)
        rows, size = rows + table.num_rows, size + table.nbytes
    if waiting:
        yield pa.concat_tables(waiting)


def write_arrow(path: Path, table: pa.Table, schema: pa.Schema) -> None:
    """Write columns that are at hand, with the same row groups and bytes as `write_parquet` gives for their rows."""
    tagged = schema.with_metadata({"schema_version": str(SCHEMA_VERSION)})
    with whole_file(path) as stream, pq.ParquetWriter(stream, tagged, compression="zstd") as writer:
        writer.write_table(table.cast(tagged).combine_chunks(), row_group_size=ROW_GROUP)


def check_parquet(path: Path, schema: pa.Schema) -> None:
    """Raises InputError as `read_parquet` does, for those who read the table by other means."""
    next(read_parquet(path, schema), None)


def read_parquet(path: Path, schema: pa.Schema, columns: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """Yield rows of a table that `write_parquet` wrote, row group by row group.

    Raises InputError when the file is missing, is not Parquet, lacks a column of `schema` or has another version.
    """
    try:
        source = pq.ParquetFile(path)
    except FileNotFoundError as error:
        raise InputError(_missing(path)) from error
    except pa.ArrowInvalid as error:
        raise InputError(f"{path}: not a Parquet file ({error}); delete it and run the stage that writes it") from error
    with source:
        _check_schema(path, source.schema_arrow, schema)
        for batch in source.iter_batches(batch_size=ROW_GROUP, columns=list(columns) if columns else None):
            yield from batch.to_pylist()


def _check_schema(path: Path, found: pa.Schema, wanted: pa.Schema) -> None:
    version = (found.metadata or {}).get(b"schema_version", b"none").decode()
    if version != str(SCHEMA_VERSION):
        raise InputError(f"{path}: schema_version is {version}, this code reads {SCHEMA_VERSION}; run its stage again")
    absent = [name for name in wanted.names if name not in found.names]
    if absent:
        raise InputError(f"{path}: column {absent[0]!r} is missing; run the stage that writes this file again")


def _missing(path: Path) -> str:
    return f"{path}: no such file; run the stage that writes it first (`dvc repro`)"
