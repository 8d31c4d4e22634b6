"""One way to the bytes of any file: plain, gzip, zstd, or the rows of a Parquet file as JSON Lines.

What a file is, its first bytes say, not its name. Unpacking is bounded: whatever is packed comes out in small pieces,
and a file that unpacks to far more than its size is given up as a bomb.
"""

import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from pipeline.errors import TraceError
from pipeline.traces.bombs import allowed, bomb
from pipeline.traces.parquet_lines import PARQUET, parquet_lines
from pipeline.traces.reasons import Reason

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"

_PIECE = 1 << 16


@contextmanager
def open_trace(path: Path) -> Iterator[IO[bytes]]:
    """The unpacked bytes of `path`. Raises OSError; reading raises TraceError where unpacking fails."""
    with path.open("rb", buffering=1 << 20) as file:
        assert isinstance(file, io.BufferedReader)
        magic = file.peek(4)[:4]
        if magic.startswith(GZIP):
            yield _unpacked(file, _gunzip(file))
        elif magic == ZSTD:
            yield _unpacked(file, _unzstd(file))
        elif magic == PARQUET:
            yield _unpacked(file, parquet_lines(file, _size(file)))
        else:
            yield file


def read_head(path: Path, size: int) -> bytes:
    """The first `size` unpacked bytes. Raises OSError, and TraceError when not one byte can be unpacked."""
    head = bytearray()
    with open_trace(path) as stream:
        assert isinstance(stream, io.BufferedReader)
        try:
            while len(head) < size and (piece := stream.read1(size - len(head))):
                head += piece
        except TraceError:
            if not head:
                raise
    return bytes(head)


def is_packed(path: Path) -> bool:
    """Whether the bytes of `path` are not those that its reader sees. Raises OSError."""
    with path.open("rb") as file:
        magic = file.read(4)
    return magic.startswith(GZIP) or magic in (ZSTD, PARQUET)


class _Pieces(io.RawIOBase):
    """A raw stream out of pieces of bytes, none of which is empty."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        piece = self._rest or next(self._pieces, b"")
        count = min(len(piece), len(buffer))
        buffer[:count] = piece[:count]
        self._rest = piece[count:]
        return count


def _unpacked(file: IO[bytes], pieces: Iterator[bytes]) -> IO[bytes]:
    return io.BufferedReader(_Pieces(_bounded(pieces, _size(file))), 1 << 18)


def _bounded(pieces: Iterator[bytes], size: int) -> Iterator[bytes]:
    left = allowed(size)
    for piece in pieces:
        left -= len(piece)
        if left < 0:
            raise bomb(size)
        if piece:
            yield piece


def _gunzip(file: IO[bytes]) -> Iterator[bytes]:
    data = file.read(_PIECE)
    while data.strip(b"\x00"):  # zeros after the last member are padding
        member, piece = zlib.decompressobj(wbits=31), b""
        while not member.eof:
            if not data and len(piece) < _PIECE:  # a full piece may leave more inside
                raise TraceError(Reason.TRUNCATED_FILE, "the gzip file ends early")
            try:
                piece = member.decompress(data, _PIECE)
            except zlib.error as error:
                raise _broken("gzip", error) from error
            yield piece
            data = member.unconsumed_tail or member.unused_data or file.read(_PIECE)


def _unzstd(file: io.BufferedReader) -> Iterator[bytes]:
    done = 0
    stream = _zstd(file)
    try:
        while piece := stream.read(_PIECE):
            done += len(piece)
            yield piece
    except OSError as error:
        if error.errno is not None:
            raise
        yield from _salvaged(file, done)
        if "Truncated" in str(error):
            raise TraceError(Reason.TRUNCATED_FILE, "the zstd file ends early") from error
        raise _broken("zstd", error) from error


def _zstd(file: io.BufferedReader) -> pa.CompressedInputStream:
    return pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")


def _salvaged(file: io.BufferedReader, done: int) -> Iterator[bytes]:
    """What Arrow unpacked after the first `done` bytes but dropped when it met the damage: less than a piece."""
    file.seek(0)
    stream = _zstd(file)
    rest = bytearray()
    try:
        while done > 0 and (piece := stream.read(min(done, _PIECE))):
            done -= len(piece)
        while byte := stream.read(1):
            rest += byte
    except OSError as error:
        if error.errno is not None:
            raise
    yield bytes(rest)


def _broken(kind: str, error: Exception) -> TraceError:
    return TraceError(Reason.BROKEN_ARCHIVE, f"the {kind} file is damaged: {error}"[:300])


def _size(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size
