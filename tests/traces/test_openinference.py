"""OpenInference spans: flat attributes, sub-agents, failed tools."""

from pathlib import Path
from typing import Any

import orjson

from pipeline.records import JsonObject, TraceStatus
from tests.traces.helpers import lines, only, read, refused, said, traces
from tests.traces.span_samples import (
    ASK,
    CALLS,
    DONE,
    HISTORY,
    ROLES,
    SYSTEM,
    TOOL,
    batch,
    phoenix,
    phoenix_spans,
    span,
    text,
    wrapped,
)


def test_the_last_call_holds_the_conversation(tmp_path: Path) -> None:
    trace = only(read(tmp_path, lines(*phoenix_spans())))
    assert said(trace.messages) == [(m["role"], m["content"]) for m in [*HISTORY, DONE]]
    assert (trace.tools, trace.format, trace.metadata["tool_errors"]) == ((TOOL,), "openinference", [4])
    assert trace.messages[2].tool_calls[0].arguments == {"part": "mast"}
    page = {"data": list(reversed(phoenix_spans())), "next_cursor": None}
    assert only(read(tmp_path, lines(page))).messages == trace.messages


def test_indices_are_numbers(tmp_path: Path) -> None:
    talk = [{"role": "user" if n % 2 == 0 else "assistant", "content": str(n)} for n in range(25)]
    row = phoenix(0, None, "LLM", wrapped(talk, "llm.input_messages") | wrapped([DONE], "llm.output_messages"))
    assert [m.content for m in only(read(tmp_path, lines(row))).messages[:25]] == [str(n) for n in range(25)]


def test_trees_tables_and_otlp_say_the_same(tmp_path: Path) -> None:
    flat = only(read(tmp_path, lines(*phoenix_spans()))).messages

    def tree(row: JsonObject) -> JsonObject:
        found: JsonObject = {}
        for key, value in row["attributes"].items():
            at = found
            for step in key.split(".")[:-1]:
                at = at.setdefault(step, {})
            at[key.split(".")[-1]] = value
        return row | {"attributes": found}

    def table(row: JsonObject) -> JsonObject:
        kept = {key: value for key, value in row.items() if key not in ("context", "attributes")}
        kept |= {f"context.{key}": value for key, value in row["context"].items()}
        return kept | {f"attributes.{key}": value for key, value in row["attributes"].items()}

    def wire(row: JsonObject) -> JsonObject:
        number, parent = row["context"]["span_id"][1:], row["parent_id"]
        status = {"code": 2 if row["status_code"] == "ERROR" else 1}
        return span(int(number), None if parent is None else int(parent[1:]), row["name"],
                    row["attributes"], status=status)  # fmt: skip

    for form in (tree, table, wire):
        found = only(read(tmp_path, lines(*map(form, phoenix_spans()))))
        assert ([m.role for m in found.messages], found.format) == (ROLES, "openinference")
        assert [m.tool_calls for m in found.messages] == [m.tool_calls for m in flat]
    assert only(read(tmp_path, lines(batch(*map(wire, phoenix_spans()))))).metadata["tool_errors"] == [4]


def test_parts_values_and_old_function_calls(tmp_path: Path) -> None:
    asked = {
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.contents.0.message_content.type": "text",
        "llm.input_messages.0.message.contents.0.message_content.text": "Look.",
        "llm.input_messages.0.message.contents.1.message_content.type": "image",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.function_call_name": "look",
        "llm.output_messages.0.message.function_call_arguments_json": '{"at": 1}',
    }
    trace = only(read(tmp_path, lines(phoenix(0, None, "LLM", asked))))
    assert (trace.messages[0].content, trace.messages[1].tool_calls[0].arguments) == ("Look.\n[image]", {"at": 1})
    values = {"input.value": text({"messages": [ASK]}), "output.value": text({"choices": [{"message": DONE}]})}
    assert [m.role for m in only(read(tmp_path, lines(phoenix(0, None, "LLM", values)))).messages] == [
        "user",
        "assistant",
    ]


def sub_agent() -> list[JsonObject]:
    """An agent whose tool is another agent."""
    inner_ask, inner_said = {"role": "user", "content": "Find the keel."}, {"role": "assistant", "content": "None."}
    inner = wrapped([inner_ask], "llm.input_messages") | wrapped([inner_said], "llm.output_messages")
    rows = phoenix_spans()
    return [*rows, phoenix(5, 3, "AGENT", {}, name="finder"), phoenix(6, 5, "LLM", inner)]


def test_sub_agents_are_traces_of_their_own_and_not_trained_on(tmp_path: Path) -> None:
    found = traces(read(tmp_path, lines(*sub_agent())))
    assert [len(trace.messages) for trace in found] == [6, 2]
    assert [trace.metadata.get("sub_agent") for trace in found] == [None, True]
    assert [trace.metadata["agent"] for trace in found] == ["agent", "finder"]
    assert not any(m.trainable for m in found[1].messages)
    assert all(m.trainable for m in found[0].messages)
    assert len({trace.trace_id for trace in found}) == 2


def test_a_call_that_was_left_out_of_the_history_is_not_lost(tmp_path: Path) -> None:
    rows = phoenix_spans()
    last = {key: value for key, value in rows[4]["attributes"].items() if not key.startswith("llm.input_messages.2.")}
    trace = only(read(tmp_path, lines(*rows[:4], rows[4] | {"attributes": last})))
    assert ([m.role for m in trace.messages], trace.metadata["linked_by"]) == (ROLES, "id")


def crashed(number: int) -> dict[str, Any]:
    """The status of a span that an exception ended."""
    raised = {"exception.type": "Timeout", "exception.message": f"no answer {number}"}
    return {"status_code": "ERROR", "status_message": "", "events": [{"name": "exception", "attributes": raised}]}


def test_an_agent_that_crashed_is_an_error_and_a_call_that_was_repeated_is_none(tmp_path: Path) -> None:
    rows = phoenix_spans()
    lost = rows[4] | {"attributes": {"openinference.span.kind": "LLM"}} | crashed(4)
    trace = only(read(tmp_path, lines(*rows[:4], lost)))
    assert (trace.status, trace.error, trace.reward) == (TraceStatus.ERROR, "Timeout: no answer 4", None)
    assert [m.role for m in trace.messages] == ROLES[:-1]
    assert trace.metadata["tool_errors"] == [4]
    again = rows[4] | {"context": {"trace_id": "t1", "span_id": "s5"}, "start_time": "2025-01-01T00:00:05Z"}
    trace = only(read(tmp_path, lines(*rows[:4], lost, again)))
    assert (trace.status, len(trace.messages)) == (TraceStatus.OK, 6)
    assert only(read(tmp_path, lines(rows[0] | crashed(0), *rows[1:]))).error == "Timeout: no answer 0"


def test_scattered_spans_of_two_traces_in_one_array(tmp_path: Path) -> None:
    other = [row | {"context": row["context"] | {"trace_id": "t2"}} for row in phoenix_spans()]
    rows = [row for pair in zip(phoenix_spans(), reversed(other), strict=True) for row in pair]
    found = traces(read(tmp_path, orjson.dumps(rows, option=orjson.OPT_INDENT_2)))
    assert [len(trace.messages) for trace in found] == [6, 6]


def test_a_task_and_a_try_that_the_user_recorded(tmp_path: Path) -> None:
    rows = phoenix_spans()
    rows[0]["attributes"] |= {"metadata": text({"task_id": "heights", "trial": 3}), "session.id": "s"}
    trace = only(read(tmp_path, lines(*rows)))
    assert (trace.group_id, trace.try_id, trace.metadata["session.id"]) == ("traces.jsonl#heights", "3", "s")


def test_a_chain_alone_is_no_conversation(tmp_path: Path) -> None:
    row = phoenix(0, None, "CHAIN", {"input.value": "How tall?", "output.value": "12"})
    assert refused(read(tmp_path, lines(row))) == [(1, None, "no_model_span")]
    empty = phoenix(0, None, "LLM", {"llm.model_name": "m-1"})
    assert refused(read(tmp_path, lines(empty))) == [(1, None, "no_content")]
    whole = phoenix(0, None, "CHAIN", {"output.value": text({"messages": [SYSTEM, ASK, CALLS, DONE]})})
    assert len(only(read(tmp_path, lines(whole))).messages) == 4


def test_a_kind_that_is_a_list_marks_nothing_and_breaks_nothing(tmp_path: Path) -> None:
    spans = [one | {"kind": ["LLM"], "attributes": {}} for one in phoenix_spans()]
    assert refused(read(tmp_path, lines(*spans)))
