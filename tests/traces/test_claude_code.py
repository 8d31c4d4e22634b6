"""Claude Code sessions: a tree of events becomes conversations."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.records import JsonObject, TraceStatus
from tests.traces.helpers import lines, only, read, refused, said, traces


def event(uuid: str | None, parent: str | None, role: str, content: Any, **beside: Any) -> JsonObject:
    """One event; `api` is the id of the agent's message, `stop` its stop reason."""
    message = {"role": role, "content": content, "id": beside.pop("api", None), "stop_reason": beside.pop("stop", None)}
    found = {"type": role, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "message": message}
    return {key: value for key, value in (found | beside).items() if value is not None}


def text(value: str) -> JsonObject:
    """A text block."""
    return {"type": "text", "text": value}


def use(call_id: str) -> JsonObject:
    """A call."""
    return {"type": "tool_use", "id": call_id, "name": "Read", "input": {"n": call_id}}


def answer(call_id: str) -> JsonObject:
    """A result."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": f"of {call_id}"}


ASK = event("1", None, "user", "Read it.")


def test_a_message_spread_over_lines_is_one(tmp_path: Path) -> None:
    """Parallel calls: a line a block, results in between, each result the child of its own call."""
    content = lines(
        ASK,
        event("2", "1", "assistant", [{"type": "thinking", "thinking": "hm"}], api="m"),
        event("3", "2", "assistant", [text("Both.")], api="m"),
        event("4", "3", "assistant", [use("a")], api="m"),
        event("5", "4", "user", [answer("a")]),
        event("6", "4", "assistant", [use("b")], api="m"),
        event("7", "6", "user", [answer("b")]),
        event("8", "7", "assistant", [text("Done.")], api="n", stop="end_turn"),
    )
    trace = only(read(tmp_path, content))
    assert said(trace.messages) == [
        ("user", "Read it."), ("assistant", "Both."), ("tool", "of a"), ("tool", "of b"), ("assistant", "Done."),
    ]  # fmt: skip
    assert [call.id for call in trace.messages[1].tool_calls] == ["a", "b"]
    assert trace.messages[1].reasoning == "hm"
    assert (trace.status, trace.reward, trace.group_id, trace.harness_hash) == (TraceStatus.OK, None, None, "none")


def test_the_branch_that_was_carried_on_is_the_trace(tmp_path: Path) -> None:
    content = lines(
        ASK,
        event("2", "1", "assistant", "First try."),
        event("3", "1", "user", "No, the other."),
        event("4", "3", "assistant", "Second try."),
    )
    items = read(tmp_path, content)
    (trace,) = traces(items)
    assert [m.content for m in trace.messages] == ["Read it.", "No, the other.", "Second try."]
    assert refused(items) == [(2, None, "abandoned_branch")]


def test_a_dangling_parent_follows_the_event_before(tmp_path: Path) -> None:
    trace = only(read(tmp_path, lines(ASK, event("9", "gone", "assistant", "Here."))))
    assert [m.content for m in trace.messages] == ["Read it.", "Here."]
    assert trace.metadata["dangling_parents"] == 1


def test_parents_in_a_circle_do_no_harm(tmp_path: Path) -> None:
    trace = only(read(tmp_path, lines(event("1", "2", "user", "a"), event("2", "1", "assistant", "b"))))
    assert [m.content for m in trace.messages] == ["a", "b"]


def test_repeated_lines_count_once(tmp_path: Path) -> None:
    reply = event("2", "1", "assistant", "Here.")
    trace = only(read(tmp_path, lines(ASK, reply, ASK, reply)))
    assert [m.content for m in trace.messages] == ["Read it.", "Here."]
    assert trace.metadata["repeated_lines"] == 2


def test_one_uuid_with_two_blocks_loses_none(tmp_path: Path) -> None:
    twice = [event("2", "1", "assistant", [block], api="m") for block in (text("Look:"), use("a"))]
    trace = only(read(tmp_path, lines(ASK, *twice, event("3", "2", "user", [answer("a")]))))
    assert (trace.messages[1].content, len(trace.messages[1].tool_calls)) == ("Look:", 1)


def test_ids_that_are_no_text_link_nothing(tmp_path: Path) -> None:
    odd = event("2", "1", "assistant", [use("a") | {"id": ["a"]}])
    content = lines(ASK, odd, event("3", "2", "user", [answer("a")]), event("4", "3", "assistant", [text("Done.")]))
    assert only(read(tmp_path, content)).metadata["unmatched_results"] == 1


def test_a_file_of_one_id_is_read_in_one_pass(tmp_path: Path) -> None:
    events = [event("1", None, "assistant", [text(str(number))], api="m") for number in range(3000)]
    trace = only(read(tmp_path, lines(ASK, *events, *events[-20:])))
    assert trace.metadata["repeated_lines"] == 20
    assert len((trace.messages[1].content or "").split()) == 3000


def test_a_sub_agent_is_a_trace_that_is_not_trained_on(tmp_path: Path) -> None:
    side = [event("a", None, "user", "Sub.", isSidechain=True), event("b", "a", "assistant", "Yes.", isSidechain=True)]
    main, sub = traces(read(tmp_path, lines(ASK, *side, event("2", "1", "assistant", "Done."))))
    assert [m.content for m in main.messages] == ["Read it.", "Done."]
    assert [(m.content, m.trainable) for m in sub.messages] == [("Sub.", False), ("Yes.", False)]
    assert sub.metadata["sidechain"] is True
    assert main.trace_id != sub.trace_id


def test_compaction_and_commands_are_not_the_user(tmp_path: Path) -> None:
    content = lines(
        ASK,
        event("2", "1", "user", "<command-name>clear</command-name>"),
        event("3", "2", "user", [text("Caveat: The messages below")]),
        event("4", "3", "assistant", "Here."),
        {"type": "system", "subtype": "compact_boundary", "uuid": "5", "parentUuid": "4", "sessionId": "s"},
        event("6", "5", "user", "Summary.", isCompactSummary=True),
        event("7", "6", "assistant", "More."),
    )
    trace = only(read(tmp_path, content))
    assert [m.trainable for m in trace.messages] == [True, False, False, True, False, True]
    assert trace.metadata["compactions"] == [4]
    assert trace.metadata["skipped_events"] == {"system": 1}


@pytest.mark.parametrize(
    ("beside", "status"),
    [
        ({"stop": "end_turn"}, "ok"),
        ({"stop": "max_tokens"}, "truncated"),
        ({}, "unknown"),
        ({"isApiErrorMessage": True}, "error"),
    ],
)
def test_the_last_turn_says_how_it_ended(beside: JsonObject, status: str, tmp_path: Path) -> None:
    trace = only(read(tmp_path, lines(ASK, event("2", "1", "assistant", [text("API Error: 529")], **beside))))
    assert trace.status == status
    assert (trace.error is not None) == (status == "error")


def test_junk_lines_are_named_one_by_one(tmp_path: Path) -> None:
    junk = ["massive error", {"silly": "this"}, 42, [1], event("x", None, "user", 3), {"type": "user", "message": "no"}]
    misspelt = {"type": "user", "uuid": "y", "message": {"role": "user", "contenst": []}}
    wrong_role = {"type": "user", "message": {"role": "assistant", "content": "x"}}
    items = read(tmp_path, lines(ASK, *junk, misspelt, wrong_role, event("2", "1", "assistant", "Here.")))
    (trace,) = traces(items)
    assert len(trace.messages) == 2
    assert refused(items) == [
        (2, None, "not_an_object"), (3, "type", "not_an_event"), (4, None, "not_an_object"), (5, None, "not_an_object"),
        (6, "message.content", "bad_field"), (7, "message", "bad_field"), (8, "message.content", "missing_field"),
        (9, "message.role", "bad_field"),
    ]  # fmt: skip
    assert trace.metadata["quarantined_lines"] == 8


def test_log_lines_in_one_object(tmp_path: Path) -> None:
    events = [event(None, None, "user", "Go."), event(None, None, "assistant", [text("Gone.")]), "junk"]
    items = read(tmp_path, orjson.dumps({"loglines": events}, option=orjson.OPT_INDENT_2), "session.json")
    assert [m.content for m in traces(items)[0].messages] == ["Go.", "Gone."]
    assert refused(items) == [(1, "loglines[2].type", "not_an_event")]


def test_a_session_without_a_conversation_is_named(tmp_path: Path) -> None:
    items = read(tmp_path, lines({"type": "summary", "summary": "x"}, {"type": "user", "message": {}}))
    assert refused(items) == [(2, "message.content", "missing_field"), (1, None, "empty_messages")]


def test_a_copied_session_is_one_run(tmp_path: Path) -> None:
    content = lines(ASK, event("2", "1", "assistant", "Here."))
    assert only(read(tmp_path, content, "a")).trace_id == only(read(tmp_path, content, "b")).trace_id
