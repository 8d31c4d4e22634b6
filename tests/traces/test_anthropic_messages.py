"""Anthropic rows: a system field, blocks, results in user messages."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.records import TraceStatus
from tests.traces.helpers import lines, only, read, refused, said, traces

TOOLS = [{"name": "look", "description": "Look.", "input_schema": {"type": "object", "properties": {}}}]


def use(name: str, call_id: str, **arguments: Any) -> dict[str, Any]:
    """A call."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def answer(call_id: str, content: Any, **beside: Any) -> dict[str, Any]:
    """A result."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **beside}


def text(value: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": value}


def row(*messages: Any, **beside: Any) -> dict[str, Any]:
    """A row with a question in front."""
    return {"tools": TOOLS, "messages": [{"role": "user", "content": "Go."}, *messages], **beside}


def agent(*blocks: Any) -> dict[str, Any]:
    """An agent's turn."""
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks: Any) -> dict[str, Any]:
    """A user message of blocks."""
    return {"role": "user", "content": list(blocks)}


def test_system_calls_and_results(tmp_path: Path) -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    turn = agent(thought, text("Let me."), use("look", "a", at=1), use("look", "b"))
    back = user(answer("b", [text("B"), text("more")]), answer("a", "A", is_error=True), text("Thanks."))
    trace = only(read(tmp_path, lines(row(turn, back, agent(text("Done.")), system="Be kind."))))
    assert said(trace.messages) == [
        ("system", "Be kind."), ("user", "Go."), ("assistant", "Let me."), ("tool", "B\nmore"), ("tool", "A"),
        ("user", "Thanks."), ("assistant", "Done."),
    ]  # fmt: skip
    turn_read = trace.messages[2]
    assert turn_read.reasoning == "hm"
    assert [(c.id, c.arguments) for c in turn_read.tool_calls] == [("a", {"at": 1}), ("b", {})]
    assert [m.tool_call_id for m in trace.messages[3:5]] == ["b", "a"]
    assert (trace.metadata["linked_by"], trace.metadata["tool_errors"]) == ("id", [4])


def test_tools_take_the_common_form(tmp_path: Path) -> None:
    trace = only(read(tmp_path, lines(row(agent(text("x"))))))
    function = {"name": "look", "description": "Look.", "parameters": TOOLS[0]["input_schema"]}
    assert trace.tools == ({"type": "function", "function": function},)


def test_a_system_prompt_in_blocks(tmp_path: Path) -> None:
    trace = only(read(tmp_path, lines(row(agent(text("x")), system=[text("a"), text("b")]))))
    assert trace.messages[0].content == "a\nb"


def test_origin_and_truncation(tmp_path: Path) -> None:
    beside = {"task_id": "t", "trial": 3, "reward": 0.5, "stop_reason": "max_tokens"}
    trace = only(read(tmp_path, lines(row(agent(text("x")), **beside))))
    assert (trace.group_id, trace.try_id, trace.reward) == ("traces.jsonl#t", "3", 0.5)
    assert trace.status is TraceStatus.TRUNCATED


def test_media_leave_a_mark_and_are_counted(tmp_path: Path) -> None:
    image = {"type": "image", "source": {"type": "base64", "data": "AAAA"}}
    trace = only(read(tmp_path, lines(row(agent(use("look", "a")), user(answer("a", [image])), agent(text("x"))))))
    assert trace.messages[2].content == "[image]"
    assert trace.metadata["left_out_media"] == 1


def test_null_content_is_not_text(tmp_path: Path) -> None:
    silent = {"role": "assistant", "content": None}
    trace = only(read(tmp_path, lines(row(agent(use("look", "a")), user(answer("a", None)), silent))))
    assert [m.content for m in trace.messages[1:]] == [None, None, None]


@pytest.mark.parametrize(
    ("bad", "field", "reason"),
    [
        (row({"role": "tool", "content": "x"}), "messages[1].role", "unknown_role"),
        (row({"role": "assistant", "contenst": []}), "messages[1].content", "missing_field"),
        (row(agent("loose text")), "messages[1].content[0].type", "unknown_part"),
        (row(agent({"type": "tool_use", "id": "x", "input": {}})), "messages[1].content[0].name", "bad_tool_call"),
        (row(user({"type": "tool_result", "tool_use_id": 4})), "messages[1].content[0].tool_use_id", "bad_field"),
        (row(agent({"type": "text"})), "messages[1].content[0].text", "bad_field"),
        (row(agent(text("x")), system=[{"type": "poem"}]), "system.type", "unknown_part"),
        ({"system": "x"}, "messages", "missing_field"),
    ],
)
def test_a_bad_row_is_named(bad: Any, field: str, reason: str, tmp_path: Path) -> None:
    good = row(agent(text("x")))
    items = read(tmp_path, lines(good, bad, good))
    assert refused(items) == [(2, field, reason)]
    assert len(traces(items)) == 2
