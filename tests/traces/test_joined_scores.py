"""Scores that arrive later: whose they are, and what becomes of those that cannot be used."""

from pathlib import Path

import pytest

from pipeline.records import Message, Trace, TraceStatus
from pipeline.traces.joined_scores import Later, load_scores

CAP = 1 << 20


def load(folder: Path, **files: bytes) -> tuple[Later, list[tuple[str, int, str | None, str]]]:
    """The scores of these files, and place, field and reason of each fault."""
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_bytes(content)
    later, faults = load_scores(folder, "scores", CAP)
    return later, [(Path(row.source).name, row.line, row.field, row.reason) for row in faults]


def joined(later: Later, trace_id: str, group: str | None = None, number: str | None = None) -> dict[str, float]:
    said = (Message("assistant", "x"),)
    own = {"own": 0.5, "s": 9.0}
    trace = Trace(trace_id, "a", 1, "f", group, number, said, (), "none", own, None, TraceStatus.OK, None, {})
    return later.join(trace).scores


def test_csv_and_json_lines_say_the_same(tmp_path: Path) -> None:
    csv = b"\xef\xbb\xbftrace_id,name,score\nt1,s,0.25\nt2,,true\n"
    jsonl = b'{"trace_id": "t3", "name": "s", "score": 1}\n{"trace_id": "t4", "score": false}\n'
    later, faults = load(tmp_path, human_csv=csv, auto_txt=jsonl)
    assert faults == []
    assert later.names == {"s", "human", "auto"}
    assert joined(later, "t1") == {"own": 0.5, "s": 0.25}
    assert joined(later, "t2") == {"own": 0.5, "s": 9.0, "human": 1.0}
    assert joined(later, "t4") == {"own": 0.5, "s": 9.0, "auto": 0.0}
    assert joined(later, "t9") == {"own": 0.5, "s": 9.0}


def test_a_try_is_named_by_source_task_and_try_and_the_trace_id_counts_first(tmp_path: Path) -> None:
    csv = b"source,task_id,try,trace_id,score\nx/a.jsonl,7,0,,0.1\nx/a.jsonl,7,,,0.2\n,,,t1,0.3\n"
    later, faults = load(tmp_path, s_csv=csv)
    assert faults == []
    assert joined(later, "t0", "x/a.jsonl#7", "0")["s"] == 0.1
    assert joined(later, "t0", "x/a.jsonl#7")["s"] == 0.2
    assert joined(later, "t1", "x/a.jsonl#7", "0")["s"] == 0.3
    assert joined(later, "t0", "x/a.jsonl#8", "0")["s"] == 9.0


def test_what_cannot_be_used_is_told_with_its_line(tmp_path: Path) -> None:
    csv = b'trace_id,score\nt1,1\nt1,1\nt1,0\n,1\nt2,good\nt3,nan\nt4,\nt5,"a\n'
    jsonl = b'{"trace_id": "t1", "score": [1]}\nnot json\n7\n{"source": "a", "score": 1}\n'
    later, faults = load(tmp_path, a_csv=csv, b_jsonl=b'{"trace_id": "q", "score": 1}\n' + jsonl)
    assert faults == [
        ("a.csv", 3, "name", "duplicate_score"), ("a.csv", 4, "name", "duplicate_score"),
        ("a.csv", 5, "trace_id", "missing_field"), ("a.csv", 6, "score", "bad_field"),
        ("a.csv", 7, "score", "bad_field"), ("a.csv", 8, "score", "bad_field"), ("a.csv", 9, None, "bad_field"),
        ("b.jsonl", 2, "score", "bad_field"), ("b.jsonl", 3, None, "invalid_json"),
        ("b.jsonl", 4, None, "not_an_object"), ("b.jsonl", 5, "trace_id", "missing_field"),
    ]  # fmt: skip
    assert joined(later, "t1")["a"] == 1.0


def test_a_duplicate_that_differs_says_which_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"trace_id,name,score\nt1,s,1\nt1,s,0\n")
    [fault] = load_scores(tmp_path, "scores", CAP)[1]
    assert fault.message.endswith("stands in scores/a.csv:2 already; 0 differs from 1, which is kept")


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"id,value\n1,2\n", "missing_field"), (b"", "missing_field"), (b"trace_id,score\n\xff\xfe,1\n", "invalid_utf8")],
)
def test_a_file_that_is_no_table_of_scores_is_told(tmp_path: Path, content: bytes, reason: str) -> None:
    assert [fault[3] for fault in load(tmp_path, a_csv=content)[1]] == [reason]


def test_scores_for_traces_that_were_not_read_are_told(tmp_path: Path) -> None:
    later, _ = load(tmp_path, a_csv=b"trace_id,source,task_id,try,score\nt1,,,,1\n,x,7,0,1\n,x,8,,1\n")
    rows = [(row.line, row.reason, row.message) for row in later.unmatched({"t1"})]
    assert rows == [
        (3, "unknown_trace", "no x#7, try 0, was read"),
        (4, "unknown_trace", "no x#8 without a try was read"),
    ]


def test_a_missing_folder_holds_no_scores(tmp_path: Path) -> None:
    assert load_scores(tmp_path / "none", "scores", CAP) == (Later(), [])


def test_ids_of_tries_are_looked_for_as_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_bytes(b"source,task_id,try,score\nx,7,bob,1\n")
    later, _ = load_scores(tmp_path, "scores", CAP, lambda text: text.replace("bob", "<NAME_1>"))
    assert joined(later, "t0", "x#7", "<NAME_1>")["s"] == 1.0
