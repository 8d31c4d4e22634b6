"""`traces check` and `traces show`, run as a person runs them."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import main
from pipeline.records import TRACES, Grade, Message, ToolCall, Trace, TraceStatus
from pipeline.rows import trace_to_row
from pipeline.tables import write_parquet
from tests.traces.helpers import ANSWER, USER, lines


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs `traces` with arguments in a folder of its own: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["pipeline", "traces", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), *capsys.readouterr()

    return call


def folder() -> Path:
    """Traces, faults, a file of another kind and later scores."""
    raw = Path("raw")
    (raw / "sub").mkdir(parents=True)
    (raw / "scores").mkdir()
    good = {"messages": [USER, ANSWER], "task_id": "t", "trial": 0}
    bad = {"messages": [{"role": "\x1b[31mrobot", "content": "x"}]}
    (raw / "sub/a.jsonl").write_bytes(lines(good, bad, bad, b"{", {"messages": []}, good))
    (raw / "notes.md").write_text("Notes.")
    (raw / "scores/s.csv").write_text("trace_id,score\nabc,x\n")
    return raw


def test_check_counts_by_file_and_tells_the_first_faults_with_their_lines(run: Any) -> None:
    code, said, _ = run("check", str(folder()), "--most", "2")
    assert code == 0
    assert "raw/sub/a.jsonl  openai_chat  1 traces, 5 quarantined" in said
    assert r"line 2, messages[0].role: unknown_role: unknown role '\x1b[31mrobot'" in said
    assert "and 3 more; by reason: unknown_role 2, " in said
    assert "raw/notes.md  unknown format  0 traces, 1 quarantined" in said
    assert "raw/scores/s.csv  scores  0 traces, 1 quarantined" in said
    assert "1 traces of 3 files, 7 records would be quarantined" in said
    assert "\x1b" not in said


def test_check_prints_one_json_object(run: Any) -> None:
    code, said, _ = run("check", str(folder()), "--json")
    found = json.loads(said)
    assert code == 0
    assert [*found] == ["files"]
    assert [each["path"] for each in found["files"]] == ["raw/notes.md", "raw/scores/s.csv", "raw/sub/a.jsonl"]
    notes, _, traces = found["files"]
    assert [*traces] == ["path", "format", "traces", "quarantined", "reasons", "faults"]
    assert (traces["format"], traces["traces"], traces["quarantined"]) == ("openai_chat", 1, 5)
    assert len(traces["faults"]) == 5
    assert traces["reasons"] == {"duplicate_export": 1, "empty_messages": 1, "invalid_json": 1, "unknown_role": 2}
    assert traces["faults"][0] == {
        "line": 2, "field": "messages[0].role", "reason": "unknown_role", "message": r"unknown role '\x1b[31mrobot'",
    }  # fmt: skip
    assert (notes["format"], notes["reasons"], notes["faults"][0]["line"]) == (None, {"unknown_format": 1}, 1)


def test_check_keeps_a_file_on_one_line_however_long_or_odd_its_name(run: Any) -> None:
    folder = Path("x" * 200)
    folder.mkdir()
    (folder / "a\nb.jsonl  openai_chat  9 traces, 0 quarantined").write_bytes(lines({"messages": [USER, ANSWER]}))
    said = run("check", str(folder))[1]
    assert said.count("\n") == 2
    assert r"/a\nb.jsonl  openai_chat  9 traces, 0 quarantined  openai_chat  1 traces" in said


def test_check_tells_rewards_that_contradict_each_other_as_ingest_does(run: Any) -> None:
    rows = [{"messages": [USER, ANSWER], "task_id": "t", "trial": 0, "reward": value} for value in (1.0, 0.0)]
    Path("a.jsonl").write_bytes(lines(*rows))
    said = run("check", "a.jsonl")[1]
    assert "try 0 of a.jsonl#t was read before with equal content; its reward 0.0 differs from 1.0, which is" in said


def test_check_reads_one_file_and_colours_for_terminals(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder() / "sub/a.jsonl"
    assert json.loads(run("check", str(path), "--json")[1])["files"][0]["path"] == str(path)
    monkeypatch.setenv("FORCE_COLOR", "1")
    said = run("check", str(path))[1]
    assert re.search(r"\x1b\[[0-9;]*3[1-6]m", said)
    assert "\x1b[31mrobot" not in said


@pytest.mark.parametrize("extra", [(), ("--json",)])
def test_a_path_that_is_not_there_is_one_line(run: Any, extra: tuple[str, ...]) -> None:
    assert run("check", "none", *extra) == (1, "", "error: none: no such file or folder\n")


def test_an_empty_folder_is_one_line(run: Any) -> None:
    Path("raw").mkdir()
    code, _, error = run("check", "raw")
    assert (code, error) == (
        1,
        "error: raw: the folder holds no file that would be read; hidden ones are passed over\n",
    )


def test_a_dry_run_writes_nothing(run: Any) -> None:
    raw = folder()
    before = sorted(path.relative_to(".") for path in Path().rglob("*"))
    run("check", str(raw))
    assert sorted(path.relative_to(".") for path in Path().rglob("*")) == before


def table() -> None:
    call = ToolCall("c", "pay", {"a": 1}, '{"a":1}')
    said = (Message("user", "Pay \x1b]0;pwned\x07 now\r\nplease.", trainable=False),
            Message("assistant", None, (call,), reasoning="Hm."), Message("tool", "x" * 50, (), "c", "pay"),
            Message("assistant", "Done \u202eolleh."))  # fmt: skip
    traces = [
        Trace(
            trace_id, "f.jsonl", 3, "openai_chat", "f.jsonl#t7", "0", said, (), "none", {"s": 0.5}, 1.0, TraceStatus.OK,
            None, {}, (Grade("short", "process", None, reason="not known"),), 1714521600.0,
        )
        for trace_id in ("ab12", "ab34", "cd")
    ]  # fmt: skip
    write_parquet(Path("data/traces/traces.parquet"), map(trace_to_row, traces), TRACES)


def test_show_prints_a_trace_as_a_person_reads_it(run: Any) -> None:
    table()
    code, said, error = run("show", "AB1")
    assert (code, error) == (0, "")
    for words in ("ab12", "f.jsonl:3 (openai_chat)", "t7, try 0", "2024-05-01T00:00:00+00:00", "reward  1", "s 0.5",
                  "short null: not known", "user (not trained on)", "> pay {\"a\":1}", "Hm."):  # fmt: skip
        assert words in said
    assert r"Pay \x1b]0;pwned\x07 now" in said
    assert r"Done \u202eolleh." in said
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", said)
    assert "[40 characters more; --longest 0 shows all]" in run("show", "cd", "--longest", "10")[1]


def test_show_says_when_none_or_several_begin_so(run: Any) -> None:
    table()
    file = "data/traces/traces.parquet"
    several = f"error: {file}: several traces begin with 'ab': ab12, ab34; give more of the id\n"
    assert run("show", "ab") == (1, "", several)
    code, _, error = run("show", "e")
    assert (code, error) == (1, f"error: {file}: no trace whose id begins with 'e'; ids stand in its column trace_id\n")


def test_show_without_a_table_says_which_stage_writes_it(run: Any) -> None:
    code, _, error = run("show", "ab")
    assert code == 1
    assert error.startswith("error: data/traces/traces.parquet: no such file; run the stage that writes it first")
