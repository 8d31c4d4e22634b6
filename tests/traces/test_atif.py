"""ATIF: steps and their results, versions, copied context, sub-agents, parts of a session."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.records import JsonObject, Quarantined, Trace
from pipeline.traces.units import read_unit, trace_units
from tests.traces.helpers import LIMIT, lines, only, read, refused, said, traces

LOOK: JsonObject = {"tool_call_id": "c1", "function_name": "look", "arguments": {"at": 1}}
ASK: JsonObject = {"step_id": 1, "source": "user", "message": "How tall is it?"}
SAY: JsonObject = {"step_id": 2, "source": "agent", "message": "Five metres."}


def run(*steps: JsonObject, **beside: Any) -> JsonObject:
    """A trajectory."""
    agent = {"name": "terminus-2", "version": "2"} | beside.pop("agent", {})
    return {"schema_version": "ATIF-v1.7", "session_id": "s", "agent": agent, "steps": list(steps), **beside}


def seen(*results: JsonObject) -> JsonObject:
    """The observation of a step."""
    return {"observation": {"results": list(results)}}


def read_all(folder: Path, **files: Any) -> list[Trace | Quarantined]:
    """Everything that files of one folder become, read in units."""
    for name, content in files.items():
        (folder / f"{name}.json").write_bytes(orjson.dumps(content))
    return [item for unit in trace_units(folder) for item in read_unit(unit, LIMIT)]


def test_calls_results_and_what_is_known_of_the_agent(tmp_path: Path) -> None:
    tools = [{"type": "function", "function": {"name": "look", "parameters": {}}}]
    step = {"step_id": 2, "source": "agent", "message": "", "reasoning_content": "hm", "tool_calls": [LOOK],
            "metrics": {"completion_token_ids": [1]}, **seen({"source_call_id": "c1", "content": "5 m"})}  # fmt: skip
    row = run(ASK, step, SAY, agent={"tool_definitions": tools}, final_metrics={"total_steps": 3})
    trace = only(read(tmp_path, lines(row)))
    assert [message.role for message in trace.messages] == ["user", "assistant", "tool", "assistant"]
    call = trace.messages[1].tool_calls[0]
    assert (call.id, call.name, call.arguments, trace.messages[1].reasoning) == ("c1", "look", {"at": 1}, "hm")
    assert (trace.messages[2].tool_call_id, trace.metadata["linked_by"], len(trace.tools)) == ("c1", "id", 1)
    assert trace.metadata["agent"] == {"name": "terminus-2", "version": "2"}
    assert (trace.metadata["final_metrics"], trace.metadata["steps_with_token_ids"]) == ({"total_steps": 3}, 1)
    assert trace.reward is None


@pytest.mark.parametrize(
    ("calls", "results", "linked", "noted"),
    [
        (1, 1, ["c1"], ("linked_by", "order")),
        (2, 2, ["c1", "c2"], ("linked_by", "order")),
        (2, 1, [None], ("step_results", 1)),
        (1, 2, [None, None], ("step_results", 2)),
    ],
)
def test_results_that_name_no_call(
    calls: int, results: int, linked: list[str | None], noted: tuple[str, Any], tmp_path: Path
) -> None:
    made = [LOOK | {"tool_call_id": f"c{n + 1}"} for n in range(calls)]
    step = SAY | {"tool_calls": made} | seen(*({"content": f"r{n}"} for n in range(results)))
    trace = only(read(tmp_path, lines(run(ASK, step))))
    assert [m.tool_call_id for m in trace.messages if m.role == "tool"] == linked
    assert [m.content for m in trace.messages if m.role == "tool"] == [f"r{n}" for n in range(results)]
    assert trace.metadata[noted[0]] == noted[1]
    assert "unanswered_calls" not in trace.metadata


def test_what_a_terminal_shows_after_an_action_in_text_is_the_next_prompt(tmp_path: Path) -> None:
    trace = only(read(tmp_path, lines(run(ASK, SAY | seen({"content": "$ ls"})))))
    assert said(trace.messages)[-1] == ("user", "$ ls")


def test_copied_context_and_fixed_dispatches_are_not_trained_on(tmp_path: Path) -> None:
    copied = [ASK | {"is_copied_context": True}, SAY | {"is_copied_context": True}]
    trace = only(read(tmp_path, lines(run(*copied, SAY | {"llm_call_count": 0}, SAY | {"message": "New."}))))
    assert [message.trainable for message in trace.messages] == [False, False, False, True]
    assert trace.metadata["copied_steps"] == 2


def test_parts_of_messages_and_references_to_sub_agents(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "See"}, {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}}]
    reference = seen({"subagent_trajectory_ref": [{"session_id": "x", "trajectory_path": "../../etc/passwd"}]})
    system = {"step_id": 3, "source": "system", "message": "Compacted.", **reference}
    trace = only(read(tmp_path, lines(run(ASK | {"message": parts}, SAY, system))))
    assert said(trace.messages) == [("user", "See\n[image]"), ("assistant", "Five metres."), ("system", "Compacted.")]
    assert (trace.metadata["subagent_refs"], trace.metadata["left_out_media"]) == (1, 1)


@pytest.mark.parametrize(
    ("version", "noted"), [("ATIF-v1.0", False), ("ATIF-v1.8", False), ("1.4", False), ("ATIF-v1.9", True)]
)
def test_known_versions_and_newer_ones(version: str, noted: bool, tmp_path: Path) -> None:
    trace = only(read(tmp_path, lines(run(ASK, SAY, schema_version=version))))
    assert ("newer_version" in trace.metadata) is noted


def test_another_major_version_is_refused(tmp_path: Path) -> None:
    items = read(tmp_path, lines(run(ASK, SAY, schema_version="ATIF-v2.0"), run(ASK, SAY)))
    assert refused(items) == [(1, "schema_version", "bad_field")]


def test_sub_agents_inside_are_traces_and_faults_name_them(tmp_path: Path) -> None:
    inner = run(ASK, SAY, trajectory_id="t1", subagent_trajectories=[run(ASK, trajectory_id="t2"), 5])
    found = read(tmp_path, lines(run(ASK, SAY | {"message": "Done."}, subagent_trajectories=[inner])))
    assert [trace.metadata.get("subagent") for trace in traces(found)] == [None, "subagent_trajectories[0]"]
    assert [(field, reason) for _, field, reason in refused(found)] == [
        ("subagent_trajectories[0].subagent_trajectories[0].messages", "no_agent_turn"),
        ("subagent_trajectories[0].subagent_trajectories[1]", "not_an_object"),
    ]


@pytest.mark.parametrize(
    ("step", "field", "reason"),
    [
        (5, "steps[1]", "bad_field"),
        ({"source": "robot"}, "steps[1].source", "unknown_role"),
        (SAY | {"tool_calls": "x"}, "steps[1].tool_calls", "bad_tool_call"),
        (SAY | {"tool_calls": [{"arguments": {}}]}, "steps[1].name", "bad_tool_call"),
        (SAY | {"observation": {"results": 5}}, "steps[1].observation", "bad_field"),
        (SAY | seen({"content": 5}), "steps[1].observation.content", "bad_field"),
        (SAY | seen({"source_call_id": 5, "content": "x"}), "steps[1].source_call_id", "bad_field"),
    ],
)
def test_faults_name_the_step(step: Any, field: str, reason: str, tmp_path: Path) -> None:
    assert refused(read(tmp_path, lines(run(ASK, step)))) == [(1, field, reason)]


def part(number: int, *steps: JsonObject, last: bool = False, **beside: Any) -> JsonObject:
    """A part of a session."""
    extra = {"extra": {"continuation_index": number}} if number else {}
    more = {} if last else {"continued_trajectory_ref": "../../../etc/passwd"}
    return run(*steps, agent=extra, final_metrics={"total_steps": number}, **more, **beside)


COPIED = ASK | {"is_copied_context": True}


def test_the_parts_of_a_session_become_one_trace(tmp_path: Path) -> None:
    items = read_all(
        tmp_path,
        c=part(0, ASK, SAY | {"message": "one"}),
        b=part(1, COPIED, SAY | {"message": "two"}),
        a=part(2, COPIED, SAY | {"message": "three"}, last=True),
        other=run(ASK, SAY),
    )
    whole, joined = traces(items)
    assert (whole.source, len(whole.messages), "parts" in whole.metadata) == ("other.json", 2, False)
    assert [m.content for m in joined.messages if m.role == "assistant"] == ["one", "two", "three"]
    assert [m.trainable for m in joined.messages] == [True, True, False, True, False, True]
    assert (joined.source, joined.metadata["parts"]) == ("c.json", ["c.json", "b.json", "a.json"])
    assert (joined.metadata["compactions"], joined.metadata["copied_steps"]) == ([2, 4], 2)
    assert joined.metadata["final_metrics"] == {"total_steps": 2}
    assert "continued_trajectory_ref" not in joined.metadata


def test_parts_without_numbers_are_joined_where_only_one_order_is_possible(tmp_path: Path) -> None:
    first, last = part(0, ASK, SAY), part(0, COPIED, SAY | {"message": "two"}, last=True)
    assert len(traces(read_all(tmp_path, a=last, b=first))[0].messages) == 4
    again = traces(read_all(tmp_path, c=last | {"notes": "a copy"}))
    assert [len(trace.messages) for trace in again] == [2, 2, 2]


def test_a_continuation_by_itself_and_parts_of_two_folders_stay_apart(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "b.json").write_bytes(orjson.dumps(part(1, COPIED, SAY, last=True)))
    items = read_all(tmp_path, a=part(0, ASK, SAY))
    assert [(trace.source, len(trace.messages)) for trace in traces(items)] == [("a.json", 2), ("x/b.json", 2)]


def test_an_agent_whose_name_is_no_text_is_one_without_a_name(tmp_path: Path) -> None:
    data = orjson.dumps(part(0, ASK, SAY)).replace(b'"terminus-2"', b"[" * 990 + b"]" * 990)
    assert b"[[" in data
    (tmp_path / "a.json").write_bytes(data)
    assert [item.line for item in read_all(tmp_path)] == [1]


def test_a_part_that_cannot_be_read_is_refused_and_the_others_stay(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_bytes(orjson.dumps(part(1, COPIED, SAY, last=True))[:-30])
    items = read_all(tmp_path, a=part(0, ASK, SAY))
    assert [trace.source for trace in traces(items)] == ["a.json"]
    assert refused(items) == [(1, None, "truncated_file")]
