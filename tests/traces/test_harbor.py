"""Trial folders of Harbor: rewards, exceptions and tasks joined to the run; notes beside it named, not refused."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.records import JsonObject, Quarantined, Trace, TraceStatus
from pipeline.traces.units import read_unit, trace_units
from tests.traces.helpers import ANSWER, LIMIT, USER, refused, traces
from tests.traces.test_atif import ASK, COPIED, SAY, part, run

RESULT: JsonObject = {
    "trial_name": "hello__x1", "task_name": "hello", "agent_info": {"name": "terminus-2", "version": "2"},
    "verifier_result": {"rewards": {"reward": 1.0}}, "exception_info": None, "config": {"job": "secret"},
}  # fmt: skip


def read_all(folder: Path, **files: Any) -> list[Trace | Quarantined]:
    """Everything below a folder; `__` in a name stands for a slash, `_dot_` for a dot."""
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else orjson.dumps(content))
    return [item for unit in trace_units(folder) for item in read_unit(unit, LIMIT)]


def trial(**changes: Any) -> dict[str, Any]:
    """The files of a trial in a job."""
    files = {"j__t__result_dot_json": RESULT, "j__t__agent__trajectory_dot_json": run(ASK, SAY),
             "j__t__trial_dot_log": b"started\n", "j__t__verifier__test_dot_txt": b"ok\n"}  # fmt: skip
    return files | changes


def test_the_reward_of_the_result_is_joined_and_notes_are_named(tmp_path: Path) -> None:
    items = read_all(tmp_path, **trial(j__t__agent__debug_dot_json={"messages": [USER, ANSWER]}))
    (trace,) = traces(items)
    assert refused(items) == []
    assert (trace.source, trace.format, trace.reward) == ("j/t/agent/trajectory.json", "atif", 1.0)
    assert (trace.group_id, trace.try_id, trace.scores) == ("j#hello by terminus-2", "hello__x1", {"reward": 1.0})
    assert (trace.status, trace.error) == (TraceStatus.OK, None)
    assert trace.metadata["trial"] == {key: RESULT[key] for key in ("trial_name", "task_name", "agent_info")}
    assert trace.metadata["side_files"] == [
        "j/t/agent/debug.json", "j/t/result.json", "j/t/trial.log", "j/t/verifier/test.txt",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "scores", "reward"),
    [
        ("reward_dot_txt", b"0.5\n", {"reward": 0.5}, 0.5),
        ("reward_dot_txt", b"0", {"reward": 0.0}, 0.0),
        ("reward_dot_json", {"tests": 1, "style": 0.5}, {"tests": 1.0, "style": 0.5}, None),
        ("reward_dot_json", {"reward": True}, {"reward": 1.0}, 1.0),
    ],
)
def test_rewards_that_stand_beside_the_verifier(
    name: str, content: Any, scores: dict[str, float], reward: float | None, tmp_path: Path
) -> None:
    files = {f"verifier__{name}": content, "agent__trajectory_dot_json": run(ASK, SAY)}
    (trace,) = traces(read_all(tmp_path, **files))
    assert (trace.scores, trace.reward, trace.group_id) == (scores, reward, None)


@pytest.mark.parametrize(
    ("kind", "status", "reward"),
    [("AgentTimeoutError", TraceStatus.TRUNCATED, 0.0), ("VerifierTimeoutError", TraceStatus.ERROR, None)],
)
def test_an_exception_is_no_zero_unless_the_agent_ran_out_of_time(
    kind: str, status: TraceStatus, reward: float | None, tmp_path: Path
) -> None:
    raised = {"exception_type": kind, "exception_message": "late"}
    result = RESULT | {"exception_info": raised, "verifier_result": {"rewards": {"reward": 0.0}}}
    (trace,) = traces(read_all(tmp_path, **trial(j__t__result_dot_json=result)))
    assert (trace.status, trace.reward) == (status, reward)
    assert trace.error == (f"{kind}: late" if status is TraceStatus.ERROR else None)


def test_a_trial_that_failed_before_its_agent_began_is_an_error_of_its_group(tmp_path: Path) -> None:
    result = RESULT | {"verifier_result": None, "exception_info": {"exception_type": "DockerError"}}
    items = read_all(tmp_path, j__t__result_dot_json=result, j__t__agent__setup_dot_log=b"no such image\n")
    (trace,) = traces(items)
    assert (trace.messages, trace.error, trace.group_id) == ((), "DockerError", "j#hello by terminus-2")
    assert refused(items) == [(1, None, "unknown_format")]


def test_a_trial_without_a_run_is_refused(tmp_path: Path) -> None:
    items = read_all(tmp_path, t__result_dot_json=RESULT, t__agent__x_dot_log=b"")
    assert {reason for _, _, reason in refused(items)} == {"empty_file"}
    assert not traces(items)


def test_tries_of_a_task_are_a_group_of_the_job(tmp_path: Path) -> None:
    files: dict[str, Any] = {}
    for name, reward in (("a", 0.0), ("b", 1.0)):
        result = RESULT | {"trial_name": name, "verifier_result": {"rewards": {"reward": reward}}}
        files |= {f"j__{name}__result_dot_json": result, f"j__{name}__agent__t_dot_json": run(ASK, SAY)}
    found = traces(read_all(tmp_path, **files))
    assert {trace.group_id for trace in found} == {"j#hello by terminus-2"}
    assert [(trace.try_id, trace.reward) for trace in found] == [("a", 0.0), ("b", 1.0)]
    assert len({trace.trace_id for trace in found}) == 2


def test_the_reward_is_the_agents_not_its_sub_agents(tmp_path: Path) -> None:
    summary = run(ASK, SAY, agent={"name": "terminus-2-summary"}, session_id="s-summary")
    files = trial(
        j__t__agent__a_dot_json=summary,
        j__t__agent__trajectory_dot_json=part(0, ASK, SAY),
        j__t__agent__u_dot_json=part(1, COPIED, SAY, last=True),
    )
    main, other = traces(read_all(tmp_path, **files))
    assert (main.reward, main.metadata["parts"]) == (1.0, ["j/t/agent/trajectory.json", "j/t/agent/u.json"])
    assert (other.source, other.reward, other.group_id) == ("j/t/agent/a.json", None, None)


def test_a_run_in_another_format_takes_the_reward_where_there_is_no_trajectory(tmp_path: Path) -> None:
    files = trial(j__t__agent__trajectory_dot_json={"messages": [USER, ANSWER]}, j__t__agent__x_dot_txt=b"log")
    items = read_all(tmp_path, **files)
    (trace,) = traces(items)
    assert (trace.format, trace.reward, refused(items)) == ("openai_chat", 1.0, [])
    assert "j/t/agent/x.txt" in trace.metadata["side_files"]


def test_a_result_that_cannot_be_read_is_named_and_the_run_stays(tmp_path: Path) -> None:
    items = read_all(tmp_path, **trial(j__t__result_dot_json=b'{"trial_name": "x"'))
    assert refused(items) == [(1, None, "truncated_file")]
    assert [trace.reward for trace in traces(items)] == [None]


def test_a_broken_trajectory_does_not_hide_what_else_the_agent_left(tmp_path: Path) -> None:
    broken = orjson.dumps(run(ASK, SAY))[:-30]
    second = {"j__t__agent__more_dot_json": b'{"steps": ['}
    items = read_all(tmp_path, **trial(j__t__agent__trajectory_dot_json=broken + b"\n{}\n", **second))
    assert {item.source for item in items} == {"j/t/agent/trajectory.json", "j/t/agent/more.json"}
    chat = {"j__t__agent__chat_dot_jsonl": {"messages": [USER, ANSWER]}}
    bad = run(ASK, SAY) | {"steps": [{"step_id": 1, "source": "nobody"}]}
    (trace,) = traces(read_all(tmp_path / "b", **trial(j__t__agent__trajectory_dot_json=bad, **chat)))
    assert (trace.format, trace.reward) == ("openai_chat", 1.0)


def test_a_folder_that_only_looks_like_a_trial_is_read_file_by_file(tmp_path: Path) -> None:
    items = read_all(tmp_path, **trial(j__t__result_dot_json={"messages": [USER, ANSWER]}))
    assert [trace.source for trace in traces(items)] == ["j/t/agent/trajectory.json", "j/t/result.json"]
    assert [reason for _, _, reason in refused(items)] == ["unknown_format", "unknown_format"]


def test_links_in_a_trial_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    outside.write_bytes(orjson.dumps(run(ASK, SAY)))
    root = tmp_path / "raw"
    read_all(root, t__result_dot_json=RESULT, t__agent__x_dot_txt=b"log")
    (root / "t" / "agent" / "trajectory.json").symlink_to(outside)
    items = [item for unit in trace_units(root) for item in read_unit(unit, LIMIT)]
    assert not traces(items)
    assert "symlink" in {reason for _, _, reason in refused(items)}
