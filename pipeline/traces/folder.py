"""Which files of a folder are traces to be read: all that are not hidden, in one order on every machine."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.errors import InputError, TraceError
from pipeline.records import Quarantined, Trace
from pipeline.traces import FORMATS, Format
from pipeline.traces.framing import records
from pipeline.traces.opening import read_head
from pipeline.traces.preview import HEAD_BYTES
from pipeline.traces.reading import FAULTS, fault_of, quarantined
from pipeline.traces.reasons import Reason
from pipeline.traces.strange import strange

Found = tuple[str, Path]
"""Source (path below the folder, with slashes) and where it lies."""


def trace_files(root: Path) -> list[Found]:
    """Files below `root`, by source. Hidden names and DVC's `.dvc` files are passed over. Raises InputError."""
    if not root.is_dir():
        raise InputError(f"{root}: no such folder; put trace files into it and run `dvc repro`")
    found: list[Found] = []

    def closed(error: OSError) -> None:  # a folder that cannot be listed is told like a file, or its files go unseen
        found.append(_found(root, Path(error.filename)))

    for folder, names, files in os.walk(root, onerror=closed):
        names[:] = [name for name in names if not name.startswith(".")]
        linked = [name for name in names if os.path.islink(os.path.join(folder, name))]
        found += (_found(root, Path(folder, name)) for name in [*files, *linked] if _is_wanted(name))
    return sorted(found)


def read_file(path: Path, source: str, max_bytes: int, form: Format | None = None) -> Iterator[Trace | Quarantined]:
    """Read one file, whatever it is (or as `form`): at least one trace or quarantine row comes of it."""
    empty = True
    try:
        for item in _items(path, source, max_bytes, form):
            empty = False
            yield item
    except OSError as error:
        yield quarantined(source, 1, TraceError(Reason.UNREADABLE_FILE, f"cannot be read: {error.strerror}"))
    except FAULTS as error:  # RecursionError: of a reader that puts several records together
        yield quarantined(source, 1, fault_of(error))
    else:
        if empty:
            yield quarantined(source, 1, TraceError(Reason.EMPTY_FILE, "the file holds no record"))


def peek(path: Path, size: int) -> bytes:
    """The first `size` unpacked bytes; none of a link, of what is no regular file, of what cannot be read."""
    try:
        return b"" if path.is_symlink() or not path.is_file() else read_head(path, size)
    except (OSError, TraceError):
        return b""


def side_value(path: Path, max_bytes: int) -> Any:
    """The first JSON value of a file that stands beside a recording. Raises TraceError."""
    check_regular(path)
    try:
        record = next(iter(records(path, max_bytes)), None)
    except OSError as error:
        raise TraceError(Reason.UNREADABLE_FILE, f"cannot be read: {error.strerror}") from error
    if record is None:
        raise TraceError(Reason.EMPTY_FILE, "the file holds no record")
    if record.fault is not None:
        raise record.fault
    return record.value


def check_regular(path: Path) -> None:
    """Raises TraceError for a link and for what is no regular file."""
    if path.is_symlink():
        raise TraceError(Reason.SYMLINK, "a symbolic link is not followed; put the file itself into the folder")
    if not path.is_file():
        kind = "a folder that cannot be listed" if path.is_dir() else "not a regular file"
        raise TraceError(Reason.UNREADABLE_FILE, kind)


def _items(path: Path, source: str, max_bytes: int, form: Format | None) -> Iterator[Trace | Quarantined]:
    check_regular(path)
    head = read_head(path, HEAD_BYTES)
    if not head.strip():
        return
    form = form or next((each for each in FORMATS.values() if each.sniff(head)), None)
    if form is None:
        raise strange(head, whole=len(head) < HEAD_BYTES)
    yield from form.read(path, source, max_bytes)


def _found(root: Path, path: Path) -> Found:
    return os.fsencode(path.relative_to(root).as_posix()).decode("utf-8", "replace"), path


def _is_wanted(name: str) -> bool:
    return not name.startswith(".") and not name.endswith(".dvc")
