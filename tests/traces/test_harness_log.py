"""Tools that change over time, as the rows of traces show them."""

from typing import Any

from pipeline.harness_hash import harness_hash
from pipeline.rows import tools_to_json
from pipeline.traces.harness_log import MOST, HarnessLog, said


def tool(name: str, about: str = "") -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": about}}


def row(source: str, line: int, *tools: dict[str, Any], at: float | None = None) -> dict[str, Any]:
    return {
        "source": source, "line": line, "harness_hash": harness_hash(tools), "tools": tools_to_json(tools),
        "started_at": at,
    }  # fmt: skip


def log(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    found = HarnessLog()
    for each in rows:
        found.add(each)
    return found.as_json()


def test_a_sentence_names_the_first_of_many_tools() -> None:
    [_, many] = log(row("x/1", 1, tool("z")), row("x/2", 1, tool("z"), *(tool(f"t{n:02d}") for n in range(15))))
    assert said(many).endswith("added t00, t01, t02, t03, t04, t05, t06, t07, t08, t09, t10, t11 and 3 more")
    assert len(many["added"]) == 15


def test_a_change_within_a_folder_is_told_tool_by_tool() -> None:
    old, new = (tool("a"), tool("b"), tool("c")), (tool("b", "new"), tool("c"), tool("d"))
    first, second = log(row("x/1", 1, *old), row("x/1", 2, *old), row("x/2", 1, *new), row("y/1", 1, tool("z")))
    assert (first["folder"], first["traces"], first["added"], first["first"]) == ("x", 2, [], "x/1:1")
    assert (second["added"], second["removed"], second["changed"]) == (["d"], ["a"], ["b"])
    assert said(first) == ""
    assert said(second) == "x: other tools from x/2:1 on: added d; removed a; changed b"


def test_time_orders_harnesses_where_all_tell_it() -> None:
    late, early = row("1", 1, tool("b"), at=2e9), row("2", 1, tool("a"), at=1.7e9)
    assert [entry["added"] for entry in log(late, early, row("1", 2, tool("b"), at=1.8e9))] == [[], ["b"]]
    assert said(log(late, early)[1]) == ".: other tools from 1:1 (2033-05-18T03:33:20+00:00) on: added b; removed a"
    untold = log(late, early, row("1", 3, tool("c")))
    assert [entry["first"] for entry in untold] == ["1:1", "2:1", "1:3"]


def test_traces_without_recorded_tools_and_folders_of_one_harness_say_nothing() -> None:
    assert log(row("1", 1), row("1", 2, tool("a")), row("1", 3)) == []


def test_where_each_trace_has_its_own_tools_nothing_changes_over_time() -> None:
    [entry] = log(*(row("1", n, tool(f"t{n}")) for n in range(MOST + 1)))
    assert entry == {"folder": ".", "harnesses": MOST + 1, "traces": MOST + 1}
    assert said(entry) == f".: {MOST + 1} different sets of tools; they are not compared"
