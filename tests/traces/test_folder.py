"""Which files are read, and what is said of those that are not."""

import gzip
import os
import tarfile
from pathlib import Path

import pytest

from pipeline.errors import InputError
from pipeline.ingest_params import IngestParams
from pipeline.records import Quarantined
from pipeline.traces.crew import results
from pipeline.traces.finish import Finish
from pipeline.traces.folder import read_file, trace_files
from pipeline.traces.jobs import Job
from pipeline.traces.joined_scores import Later
from pipeline.traces.units import Unit
from tests.traces.helpers import ANSWER, USER, lines, read, refused, traces

ROW = lines({"messages": [USER, ANSWER]})


def messages(items: list[object]) -> list[str]:
    """What the quarantine rows say."""
    return [item.message for item in items if isinstance(item, Quarantined)]


def test_files_come_in_one_order_without_the_hidden_ones(tmp_path: Path) -> None:
    for name in ("b/x.jsonl", "a.jsonl", "b/a/y.json", ".hidden", ".git/z", "b/.gitignore", "b.dvc", "Z"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(ROW)
    assert [source for source, _ in trace_files(tmp_path)] == ["Z", "a.jsonl", "b/a/y.json", "b/x.jsonl"]


def test_a_missing_folder_names_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"raw: no such folder; put trace files into it"):
        trace_files(tmp_path / "raw")


@pytest.mark.parametrize("directory", [True, False])
def test_links_are_refused_and_named(directory: bool, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.jsonl").write_bytes(ROW)
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "link").symlink_to(outside if directory else outside / "secret.jsonl")
    ((source, path),) = trace_files(raw)
    assert source == "link"
    assert refused(list(read_file(path, source, 1000))) == [(1, None, "symlink")]


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert refused(list(read_file(tmp_path / "pipe", "pipe", 1000))) == [(1, None, "unreadable_file")]


def test_a_folder_that_cannot_be_listed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To root, who runs many tests, no folder is closed."""
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "a.jsonl").write_bytes(ROW)
    (tmp_path / "open.jsonl").write_bytes(ROW)
    scandir = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    (source, path), (other, _) = trace_files(tmp_path)
    assert (source, other) == ("closed", "open.jsonl")
    assert messages(list(read_file(path, source, 1000))) == ["a folder that cannot be listed"]


def test_a_file_in_a_folder_that_may_not_be_entered_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job(Unit("file", "", (("a", tmp_path / "a"),)), False, None)
    stat = os.stat

    def refuse(path: object, *rest: object, **more: object) -> object:
        if path == tmp_path / "a":
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, *rest, **more)  # type: ignore[arg-type]

    finish = Finish(IngestParams(max_line_mb=1), Later())
    monkeypatch.setattr(os, "stat", refuse)
    assert [done for done, _ in results([job, job], finish, 2, tmp_path / "work")] == [job, job]


def test_a_tar_archive_is_not_taken_for_the_lines_in_it(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(ROW * 3)
    with tarfile.open(tmp_path / "t", "w") as archive:
        archive.add(tmp_path / "a.jsonl", "a.jsonl")
    items = list(read_file(tmp_path / "t", "t", 1000))
    assert messages(list(items)) == ["no known trace format: a tar archive; unpack it first"]


def test_a_file_that_went_away_is_named(tmp_path: Path) -> None:
    assert refused(list(read_file(tmp_path / "gone", "gone", 1000))) == [(1, None, "unreadable_file")]


def test_a_name_that_is_no_text_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.jsonl")).write_bytes(ROW)
    assert [source for source, _ in trace_files(tmp_path)] == ["\ufffd.jsonl"]


@pytest.mark.parametrize(
    ("content", "reason", "seen"),
    [
        (b"", "empty_file", "holds no record"),
        (b" \n\n", "empty_file", "holds no record"),
        (b"[]", "empty_file", "holds no record"),
        (b"\xef\xbb\xbf{ }\n", "empty_file", "holds no record"),
        ("\ufeff[{}]".encode("utf-16-le"), "invalid_utf8", "text in UTF-16 or UTF-32; save it as UTF-8"),
        ('{"messages": []}'.encode("utf-16-be"), "invalid_utf8", "text in UTF-16 or UTF-32"),
        ('{"messages": []}'.encode("utf-32"), "invalid_utf8", "text in UTF-16 or UTF-32"),
        (b"BZh91AY&SY", "unknown_format", "a bzip2 archive; unpack it first"),
        (b"SQLite format 3\x00", "unknown_format", "an SQLite database; write its rows as JSON Lines"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n", "git_lfs_pointer", "git lfs pull"),
        (b"PK\x03\x04rest", "unknown_format", "a ZIP archive; unpack it first"),
        (gzip.compress(gzip.compress(b"{}", mtime=0), mtime=0), "unknown_format", "a gzip archive; unpack it first"),
        (b"\x1f\x8brest", "broken_archive", "the gzip file is damaged"),
        (b"\n<PLACEHOLDER ROW>\n<PLACEHOLDER ROW>\n", "placeholder", "not a record: '<PLACEHOLDER ROW>'"),
        (b'{"messages": [{"ro', "truncated_file", "the file ends in the middle of"),
        (b'[{"messag', "truncated_file", "the middle of its first record"),
        (b"a\x00b", "unknown_format", "binary data"),
        (b"Hello there", "unknown_format", "text that starts with 'Hello there'"),
        (b'{"schema_version": 1, "steps": []}', "unknown_format", "the keys 'schema_version', 'steps'"),
        (b'[{"role": "user", "content": "x"}]', "unknown_format", "the keys 'role', 'content'"),
        (b"[1, 2]", "unknown_format", "JSON values of the kind int"),
    ],
)
def test_what_is_no_trace_is_named_with_what_was_seen(content: bytes, reason: str, seen: str, tmp_path: Path) -> None:
    items = read(tmp_path, content)
    assert refused(items) == [(1, None, reason)]
    assert seen in messages(list(items))[0]


@pytest.mark.parametrize(
    ("content", "reason", "seen"),
    [
        (b'{"messages": [x]}', "invalid_json", "not JSON (unexpected"),
        (b'[\n{"messages": ["\xff"]}\n]', "invalid_utf8", "not UTF-8: byte 0xff"),
        (b"[" * 2000 + b"]" * 2000, "too_deep", "more than 1024 levels"),
    ],
)
def test_a_file_of_one_broken_record_is_told_where_it_breaks(
    content: bytes, reason: str, seen: str, tmp_path: Path
) -> None:
    items = read(tmp_path, content)
    assert refused(items) == [(1, None, reason)]
    assert seen in messages(list(items))[0]


def test_one_broken_record_of_several_over_lines_hides_no_other(tmp_path: Path) -> None:
    row = ROW.rstrip(b"\n")
    items = read(tmp_path, b"[\n" + row + b",\n" + row.replace(b"user", b"us\xffer") + b",\n" + row + b"\n]")
    assert refused(items) == [(3, None, "invalid_utf8")]
    assert len(traces(items)) == 2


def test_the_format_is_seen_past_junk_and_in_a_long_first_record(tmp_path: Path) -> None:
    assert len(read(tmp_path, b"junk\n" + ROW)) == 2
    long = lines({"input": ["x" * 1000] * 3000, "messages": [USER, ANSWER]})
    assert refused(read(tmp_path, long, limit=1 << 24)) == [(1, None, "unknown_format")]
    late = lines({"messages": [USER | {"content": "x" * 3_000_000}, ANSWER]})
    assert refused(read(tmp_path, late, limit=1 << 24)) == []
