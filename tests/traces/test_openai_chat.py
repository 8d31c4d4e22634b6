"""OpenAI chat rows with the quirks of real files."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.records import Trace, TraceStatus
from tests.traces.helpers import ANSWER, USER, call, lines, only, read, refused, result, said, traces


def row(*messages: Any, **beside: Any) -> dict[str, Any]:
    """A row with a user's question in front."""
    return {"messages": [USER, *messages], **beside}


def calls(*entries: Any, **beside: Any) -> dict[str, Any]:
    """An agent's turn with calls."""
    return {"role": "assistant", "content": None, "tool_calls": list(entries), **beside}


def test_a_plain_row(tmp_path: Path) -> None:
    trace = only(read(tmp_path, lines(row(ANSWER))))
    assert said(trace.messages) == [("user", "How tall is it?"), ("assistant", "Five metres.")]
    assert (trace.format, trace.source, trace.line) == ("openai_chat", "traces.jsonl", 1)
    assert (trace.reward, trace.group_id, trace.try_id, trace.status) == (None, None, None, TraceStatus.UNKNOWN)
    assert (trace.tools, trace.harness_hash) == ((), "none")


@pytest.mark.parametrize(
    ("raw", "arguments"),
    [
        ('{"at": 1}', {"at": 1}),
        ({"at": 1}, {"at": 1}),
        ('"{\\"at\\": 1}"', {"at": 1}),
        ("{}", {}),
        ('{"at": 1', None),
        ("", None),
        (None, None),
        ("[1]", None),
        ('"\\"{}\\""', None),
        ('{"at": NaN}', None),
        ([1], None),
    ],
)
def test_arguments_are_decoded_or_kept_with_the_reason(raw: Any, arguments: Any, tmp_path: Path) -> None:
    trace = only(read(tmp_path, lines(row(calls(call(arguments=raw))))))
    (found,) = trace.messages[1].tool_calls
    assert found.arguments == arguments
    assert (found.parse_error is None) == (arguments is not None)
    if isinstance(raw, str):
        assert found.raw_arguments == raw
    assert trace.metadata.get("unreadable_arguments", 0) == (arguments is None)


def test_null_missing_and_empty_content_are_three_things(tmp_path: Path) -> None:
    bare = {"role": "assistant", "tool_calls": [call()]}
    trace = only(read(tmp_path, lines(row(ANSWER, calls(call()), bare, {"role": "assistant", "content": ""}))))
    assert [message.content for message in trace.messages[1:]] == ["Five metres.", None, None, ""]


def test_parallel_results_are_linked_by_id_whatever_their_order(tmp_path: Path) -> None:
    turn = calls(call("a", call_id="x"), call("b", call_id="y"))
    trace = only(read(tmp_path, lines(row(turn, result("of b", "y"), result("of a", "x"), ANSWER))))
    assert [(m.tool_call_id, m.content) for m in trace.messages[2:4]] == [("y", "of b"), ("x", "of a")]
    assert trace.metadata["linked_by"] == "id"
    assert "unanswered_calls" not in trace.metadata


def test_results_without_ids_are_linked_by_order_within_their_turn(tmp_path: Path) -> None:
    first = calls(call("a", call_id=None))
    second = calls(call("b", call_id=None), call("c", call_id=None))
    trace = only(read(tmp_path, lines(row(first, second, result("b's", None), result("c's", None), ANSWER))))
    given = [call.id for message in trace.messages for call in message.tool_calls]
    assert [m.tool_call_id for m in trace.messages if m.role == "tool"] == given[1:]
    assert trace.metadata["linked_by"] == "order"
    assert trace.metadata["unanswered_calls"] == 1


def test_an_id_that_no_call_has_is_noted(tmp_path: Path) -> None:
    trace = only(read(tmp_path, lines(row(calls(call()), result("lost", "other"), ANSWER))))
    assert trace.messages[2].tool_call_id == "other"
    assert (trace.metadata["unmatched_results"], trace.metadata["unanswered_calls"]) == (1, 1)


def test_the_older_function_form(tmp_path: Path) -> None:
    asks = {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": '{"at": 2}'}}
    answers = {"role": "function", "name": "look", "content": "seen"}
    trace = only(read(tmp_path, lines(row(asks, answers, ANSWER, functions=[{"name": "look", "parameters": {}}]))))
    (found,) = trace.messages[1].tool_calls
    assert (found.arguments, trace.messages[2].tool_call_id) == ({"at": 2}, found.id)
    assert trace.messages[2].role == "tool"
    assert trace.tools == ({"type": "function", "function": {"name": "look", "parameters": {}}},)


def test_a_call_may_be_json_text(tmp_path: Path) -> None:
    trace = only(read(tmp_path, lines(row(calls(orjson.dumps(call()).decode())))))
    assert trace.messages[1].tool_calls[0].name == "look"


def test_content_in_parts(tmp_path: Path) -> None:
    parts = [
        {"type": "reasoning", "value": "hm"},
        {"type": "text", "text": "one"},
        {"type": "text", "value": "two"},
        {"type": "image_url", "image_url": {"url": "data:"}},
        {"type": "tool_call", "value": '{"name": "look", "arguments": {"at": 3}}'},
    ]
    trace = only(read(tmp_path, lines(row({"role": "assistant", "content": parts}))))
    said_by = trace.messages[1]
    assert (said_by.content, said_by.reasoning) == ("one\ntwo\n[image_url]", "hm")
    assert said_by.tool_calls[0].arguments == {"at": 3}
    assert trace.metadata["left_out_media"] == 1


def test_reasoning_is_kept(tmp_path: Path) -> None:
    trace = only(read(tmp_path, lines(row({"role": "assistant", "content": "x", "reasoning_content": "because"}))))
    assert trace.messages[1].reasoning == "because"


@pytest.mark.parametrize(
    ("key", "value", "trainable"), [("weight", 0, False), ("weight", 1, True), ("loss_weight", 0.0, False)]
)
def test_weight_decides_what_is_trained_on(key: str, value: float, trainable: bool, tmp_path: Path) -> None:
    trace = only(read(tmp_path, lines(row(ANSWER | {key: value}))))
    assert trace.messages[1].trainable is trainable


def test_what_stands_beside_the_messages(tmp_path: Path) -> None:
    trace = only(read(tmp_path, lines(row(ANSWER, task_id=7, trial=0, reward=1, status="ok", model="m", seen=None))))
    assert (trace.group_id, trace.try_id, trace.reward, trace.status) == ("traces.jsonl#7", "0", 1.0, TraceStatus.OK)
    assert trace.metadata["model"] == "m"
    assert "seen" not in trace.metadata


def test_what_stands_in_the_metadata(tmp_path: Path) -> None:
    beside = {"task_id": "t", "trial": 2, "reward": 0, "scores": {"f1": 0.5, "note": "x"}, "cost": 3}
    trace = only(read(tmp_path, lines(row(ANSWER, metadata=beside))))
    assert (trace.group_id, trace.try_id, trace.reward) == ("traces.jsonl#t", "2", 0.0)
    assert trace.scores == {"f1": 0.5}
    assert trace.metadata["cost"] == 3


@pytest.mark.parametrize("beside", [{"error": "connection lost"}, {"status": "timeout"}, {"error": {"code": 500}}])
def test_an_error_has_no_reward(beside: dict[str, Any], tmp_path: Path) -> None:
    trace = only(read(tmp_path, lines(row(ANSWER, reward=0.0, **beside))))
    assert (trace.status, trace.reward) == (TraceStatus.ERROR, None)
    assert trace.error
    assert trace.metadata["reward"] == 0.0


def test_a_failed_agent_is_not_an_error(tmp_path: Path) -> None:
    trace = only(read(tmp_path, lines(row(ANSWER, reward=0.0, status="failed", error=None))))
    assert (trace.status, trace.reward) == (TraceStatus.UNKNOWN, 0.0)


def test_a_nan_reward_is_not_known(tmp_path: Path) -> None:
    content = b'{"messages": [{"role": "assistant", "content": "x"}], "reward": NaN}\n'
    trace = only(read(tmp_path, content))
    assert (trace.reward, trace.metadata["not_finite"]) == (None, ["reward"])


@pytest.mark.parametrize(
    ("bad", "field", "reason"),
    [
        (row({"role": "robot", "content": "x"}), "messages[1].role", "unknown_role"),
        (row({"role": ["user"], "content": "x"}), "messages[1].role", "unknown_role"),
        (row("hello"), "messages[1]", "bad_field"),
        (row({"role": "assistant", "content": 5}), "messages[1].content", "bad_field"),
        (row({"role": "assistant", "content": [{"type": "dance"}]}), "messages[1].content[0].type", "unknown_part"),
        (row({"role": "assistant", "content": [{"type": {}}]}), "messages[1].content[0].type", "unknown_part"),
        (row(calls(call(name=""))), "messages[1].tool_calls[0].name", "bad_tool_call"),
        (row(calls({"id": "c"})), "messages[1].tool_calls[0].function", "bad_tool_call"),
        (row(calls("no json")), "messages[1].tool_calls[0]", "bad_tool_call"),
        (row(), "messages", "no_agent_turn"),
        ({"messages": []}, "messages", "empty_messages"),
        ({"messages": "x"}, "messages", "bad_field"),
        (row(ANSWER, tools=[{"type": "function"}]), "tools[0]", "bad_tools"),
        (row(ANSWER, tools="no json"), "tools", "bad_tools"),
        (row(ANSWER, reward="high"), "reward", "bad_field"),
        (row(ANSWER, task_id={"a": 1}), "task_id", "bad_field"),
        ({"input": {"messages": [USER]}, "preferred_output": [ANSWER]}, "preferred_output", "preference_pair"),
        ({"other": 1}, "messages", "missing_field"),
        ([1], None, "not_an_object"),
        (b'{"messages": [', None, "invalid_json"),
        (b"<PLACEHOLDER ROW>", None, "placeholder"),
        (b'{"messages": [{"role": "assistant", "content": NaN}]}', "messages[0].content", "not_finite"),
        (b'{"messages": [{"role": "assistant", "content": "\xff"}]}', None, "invalid_utf8"),
    ],
)
def test_a_bad_record_is_named_and_the_next_one_read(bad: Any, field: str | None, reason: str, tmp_path: Path) -> None:
    items = read(tmp_path, lines(row(ANSWER), bad, row(ANSWER)))
    assert refused(items) == [(2, field, reason)]
    assert [trace.line for trace in traces(items)] == [1, 3]


def test_tools_in_any_dialect_give_the_same_harness(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"at": {"type": "integer"}}}
    openai = {"type": "function", "function": {"name": "look", "description": "d", "parameters": schema}}
    flat = {"type": "function", "parameters": schema, "name": "look", "description": "d"}
    anthropic = {"input_schema": schema, "description": "d", "name": "look"}
    rows = [row(ANSWER, tools=[openai]), row(ANSWER, tools=[flat]), row(ANSWER, tools=orjson.dumps([openai]).decode())]
    read_ones = traces(read(tmp_path, lines(*rows)))
    read_ones += traces(read(tmp_path, lines(row(ANSWER, tools=[anthropic])), "b.jsonl"))
    assert [trace.format for trace in read_ones] == ["openai_chat"] * 3 + ["anthropic_messages"]
    assert len({trace.harness_hash for trace in read_ones}) == 1
    assert read_ones[0].harness_hash != "none"


def test_an_object_that_holds_bodies_gives_each_its_line(tmp_path: Path) -> None:
    content = orjson.dumps({"one": row(ANSWER), "two": row(ANSWER), "other": {"output": []}})
    items = read(tmp_path, content, "pair.json")
    one, two = traces(items)
    assert one.trace_id == two.trace_id, "one record, one run"
    assert refused(items) == [(1, "other", "unknown_format")]


def test_an_anthropic_row_late_in_the_file_is_read_as_one(tmp_path: Path) -> None:
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {}}]}
    items = read(tmp_path, lines(*[row(ANSWER)] * 40, row(use)))
    assert [trace.format for trace in traces(items)] == ["openai_chat"] * 40 + ["anthropic_messages"]


def identities(*files: tuple[str, list[Any]], folder: Path) -> list[str]:
    """Trace ids of several files."""
    items = [item for name, rows in files for item in read(folder, lines(*rows), name)]
    return [item.trace_id for item in items if isinstance(item, Trace)]


def test_two_equal_tries_stay_two(tmp_path: Path) -> None:
    same = row(ANSWER)
    tries = [row(ANSWER, task_id=1, trial=0), row(ANSWER, task_id=1, trial=1)]
    assert len(set(identities(("a", [same, same]), ("b", [same]), ("c", tries), folder=tmp_path))) == 5


def test_a_re_export_of_one_try_is_one(tmp_path: Path) -> None:
    one = row(ANSWER, task_id=1, trial=0, reward=1.0)
    again = {"metadata": {"trial": 0, "task_id": "1"}, "reward": None, "messages": one["messages"]}
    assert len(set(identities(("a", [one]), ("b", [again, one]), folder=tmp_path))) == 1
