"""What a file is that no trace format claims, said so that a person knows what to do."""

import re
from itertools import islice

from pipeline.errors import TraceError
from pipeline.traces.decode import PLACEHOLDER, decode
from pipeline.traces.lines import BOM
from pipeline.traces.opening import GZIP, ZSTD
from pipeline.traces.parquet_lines import PARQUET
from pipeline.traces.preview import closed, is_tar, open_brackets, preview
from pipeline.traces.reasons import Reason

_POINTER = b"version https://git-lfs.github.com/spec/"
_OPENING = re.compile(rb'\s*[\[{]\s*(["\[{]|$)')
_ARCHIVES = {
    b"PK\x03\x04": "a ZIP archive", GZIP: "a gzip archive", ZSTD: "a zstd archive", PARQUET: "a Parquet file",
    b"BZh": "a bzip2 archive", b"\xfd7zXZ\x00": "an xz archive", b"7z\xbc\xaf\x27\x1c": "a 7z archive",
}  # fmt: skip
_DATABASE = b"SQLite format 3\x00"
_WIDE = re.compile(rb"\xff\xfe|\xfe\xff|[\[{]\x00|\x00{1,3}(?:\xfe\xff|[\[{])")
"""How UTF-16 and UTF-32 begin: with their mark, or with a bracket among zeros."""


def strange(head: bytes, whole: bool) -> TraceError:
    """Why a file that starts with `head` (`whole`: and ends with it) is not read."""
    if head.startswith(_POINTER):
        return TraceError(Reason.GIT_LFS_POINTER, "a Git LFS pointer, not the file; run `git lfs pull`")
    if _WIDE.match(head):
        return TraceError(Reason.INVALID_UTF8, "text in UTF-16 or UTF-32; save it as UTF-8")
    if whole and "".join(head.removeprefix(BOM).decode("latin-1").split()) in ("", "[]", "{}"):
        return TraceError(Reason.EMPTY_FILE, "the file holds no record")
    first = head.lstrip().partition(b"\n")[0]
    if PLACEHOLDER.fullmatch(first):
        seen = first.decode("utf-8", "replace").strip()
        return TraceError(Reason.PLACEHOLDER, f"a placeholder, not a record: {seen!r:.80}")
    if whole and _OPENING.match(head) and open_brackets(head)[1]:
        return TraceError(Reason.TRUNCATED_FILE, "the file ends in the middle of its first record")
    if _OPENING.match(head) and not preview(head) and (fault := _fault(head)) is not None:
        return fault
    return TraceError(Reason.UNKNOWN_FORMAT, f"no known trace format: {_seen(head)}")


def _fault(head: bytes) -> TraceError | None:
    """Why the first record, of a file that holds JSON, cannot be read."""
    try:
        decode(closed(head))
    except TraceError as fault:
        return fault
    return None


def _seen(head: bytes) -> str:
    for magic, name in _ARCHIVES.items():
        if head.startswith(magic):
            return f"{name}; unpack it first"
    if is_tar(head):
        return "a tar archive; unpack it first"
    if head.startswith(_DATABASE):
        return "an SQLite database; write its rows as JSON Lines"
    if b"\x00" in head[:4096]:
        return "binary data"
    values = preview(head)
    if not values:
        return f"text that starts with {head[:60].decode('utf-8', 'replace')!r}"
    if isinstance(values[0], dict):
        return f"JSON objects with the keys {', '.join(map(repr, islice(values[0], 12)))}"[:300]
    return f"JSON values of the kind {type(values[0]).__name__}"
