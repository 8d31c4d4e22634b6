"""Recorded runs answer what was recorded, say so when it was not, and grade only what they can tell."""

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.environments.recordings import read_recordings, recorded_schemas, recording, seen_schema
from pipeline.environments.replay import UNKNOWN, ReplayEnvironment
from pipeline.environments.tools import call_tool, reset_arguments
from pipeline.environments.worlds import World, load_worlds
from pipeline.errors import InputError, SpecError
from pipeline.graders.reward import outcome, process
from pipeline.harness_hash import harness_hash
from pipeline.params import EnvironmentsParams
from pipeline.records import JsonObject, Message, Task, ToolCall, Trace
from pipeline.synthesis.given import given_demo, given_tasks
from pipeline.synthesis.replayed import replayed_tasks
from pipeline.traces.folder import read_file, trace_files
from tests.environments.recorded import READ, RUNS, TOOLS, trace, write_runs


def load(folder: Path, said: str = "golden: [extend, refuse]\n") -> World:
    (folder / "desk.replay.yaml").write_text(f"traces: desk.parquet\n{said}")
    if not (folder / "desk.parquet").exists():
        write_runs(folder / "desk.parquet", RUNS)
    return load_worlds(EnvironmentsParams(names=("desk",), folder=str(folder)))["desk"]


def tasks(world: World) -> dict[str, Task]:
    return {task.knobs["group"]: task for split in replayed_tasks(world, 1).values() for task in split}


def started(world: World, task: Task) -> ReplayEnvironment:
    environment = world.factory()
    assert isinstance(environment, ReplayEnvironment)
    environment.reset(**reset_arguments(task))
    return environment


def ask(environment: ReplayEnvironment, tool: str, **arguments: object) -> str:
    return call_tool(environment, ToolCall("c", tool, arguments, "")).content


def test_the_world_is_told_as_the_recorded_agent_was(tmp_path: Path) -> None:
    world = load(tmp_path)
    assert (world.tools, world.procedure) == (TOOLS, "You lend books.")
    assert harness_hash(world.tools) == harness_hash(TOOLS)
    assert (world.tasks, len(world.fingerprint)) == (tmp_path / "desk.replay.yaml", 16)
    write_runs(tmp_path / "desk.parquet", RUNS[:1])
    assert load(tmp_path).fingerprint != world.fingerprint


def test_one_task_a_group_with_the_calls_of_a_successful_run(tmp_path: Path) -> None:
    found = tasks(load(tmp_path))
    assert sorted(found) == ["a", "b"]
    assert found["a"].question == "Loan of a?"
    assert [call["name"] for call in found["a"].golden_calls] == ["get_loan", "extend", "get_loan"]
    assert found["a"].golden_state == {"calls": [{'extend {"days":3,"loan_id":"L-1001"}': 1}]}
    assert found["a"].knobs == {"group": "a", "runs": 2, "successes": 1, "calls": 3}


def test_calls_are_answered_as_recorded_in_the_order_of_the_successful_run(tmp_path: Path) -> None:
    world = load(tmp_path)
    environment = started(world, tasks(world)["a"])
    answers = [ask(environment, "get_loan", loan_id="L-1001") for _ in range(3)]
    assert answers == ["3 weeks, not reserved", "extended by 3", "extended by 3"]
    assert ask(environment, "extend", loan_id="L-1001", days=9) == "too long"
    assert ask(environment, "extend", days=3, loan_id="L-1001") == "extended"


def test_what_no_run_of_the_task_asked_is_not_answered(tmp_path: Path) -> None:
    world = load(tmp_path)
    environment = started(world, tasks(world)["a"])
    assert ask(environment, "get_loan", loan_id="L-1002") == UNKNOWN
    assert ask(environment, "refuse", loan_id="L-1001", why="overdue") == UNKNOWN
    assert ask(environment, "burn") == "error: no such tool: burn"
    assert ask(environment, "get_loan", title="x").startswith("error: bad arguments")
    ask(environment, "get_loan", loan_id="L-1001")
    watched = next(grade for grade in environment.grade() if grade.name == "recorded")
    assert (watched.score, watched.reason, watched.held_out) == (1 / 3, "1 of 3 calls had been recorded", True)


def test_who_makes_no_call_that_counts_is_told_so(tmp_path: Path) -> None:
    world = load(tmp_path)
    environment = started(world, tasks(world)["a"])
    ask(environment, "get_loan", loan_id="L-1001")
    assert environment.grade()[0].reason == "it made none of the calls that count"
    ask(environment, "extend", loan_id="L-1001", days=9)
    assert environment.grade()[0].reason.startswith("of the calls that count it made {")


def test_the_nearest_recorded_call_may_stand_in(tmp_path: Path) -> None:
    world = load(tmp_path, "nearest: 0.5\n")
    environment = started(world, tasks(world)["a"])
    assert ask(environment, "extend", loan_id="L-1001", days=4) == "extended"
    assert ask(environment, "get_loan", loan_id="L-1") == UNKNOWN


@pytest.mark.parametrize(
    ("calls", "wanted"),
    [
        ([("extend", {"loan_id": "L-1001", "days": 3})], 1.0),
        ([("get_loan", {"loan_id": "L-1001"}), ("extend", {"days": 3, "loan_id": "L-1001"})], 1.0),
        ([("extend", {"loan_id": "L-1001", "days": 9})], 0.0),
        ([("extend", {"loan_id": "L-1001", "days": 3})] * 2, 0.0),
        ([], 0.0),
    ],
)
def test_the_outcome_is_that_the_golden_calls_were_made_and_no_others(
    tmp_path: Path, calls: list[tuple[str, JsonObject]], wanted: float
) -> None:
    world = load(tmp_path)
    environment = started(world, tasks(world)["a"])
    for tool, arguments in calls:
        ask(environment, tool, **arguments)
    grades = environment.grade()
    assert outcome(grades) == wanted
    assert process(grades) is None


def test_without_golden_tools_or_a_successful_run_the_outcome_is_unknown(tmp_path: Path) -> None:
    world = load(tmp_path, "")
    assert outcome(started(world, tasks(world)["a"]).grade()) is None
    write_runs(tmp_path / "desk.parquet", [RUNS[0], trace(9, "c", [READ], None)])
    world = load(tmp_path)
    assert [outcome(started(world, task).grade()) for task in tasks(world).values()] == [None, None]
    assert all(task.golden_calls == () for task in tasks(world).values())


def test_any_way_of_a_successful_run_counts(tmp_path: Path) -> None:
    other = trace(4, "a", [READ, ("refuse", {"loan_id": "L-1001", "why": "overdue"}, "refused")], 1.0)
    write_runs(tmp_path / "desk.parquet", [*RUNS, other])
    world = load(tmp_path)
    environment = started(world, tasks(world)["a"])
    ask(environment, "refuse", loan_id="L-1001", why="overdue")
    assert outcome(environment.grade()) == 1.0


def test_reset_leaves_nothing_behind(tmp_path: Path) -> None:
    world = load(tmp_path)
    task = tasks(world)["a"]
    environment = started(world, task)
    fresh = environment.state_hash()
    ask(environment, "get_loan", loan_id="L-1001")
    assert environment.state_hash() != fresh
    environment.reset(**reset_arguments(task))
    assert (environment.state_hash(), ask(environment, "get_loan", loan_id="L-1001")) == (fresh, READ[2])


def test_groups_without_question_or_call_give_no_task(tmp_path: Path) -> None:
    silent = trace(5, "silent", [READ], 1.0, question="")
    idle = trace(6, "idle", [], 1.0)
    write_runs(tmp_path / "desk.parquet", [*RUNS, silent, idle, trace(7, None, [READ], 1.0)])
    assert sorted(tasks(load(tmp_path))) == [f"{7:032x}", "a", "b"]
    write_runs(tmp_path / "desk.parquet", [silent])
    with pytest.raises(InputError, match=r"desk\.replay\.yaml: no run that it takes has a message of the user"):
        tasks(load(tmp_path))


def test_only_runs_of_one_harness_are_taken(tmp_path: Path) -> None:
    strange = trace(8, "c", [("burn", {"it": 1}, "burnt")], 1.0, harness_hash="h2", tools=())
    write_runs(tmp_path / "desk.parquet", [*RUNS, strange])
    assert sorted(tasks(load(tmp_path))) == ["a", "b"]
    world = load(tmp_path, "harness: h2\n")
    assert list(tasks(world)) == ["c"]
    assert world.tools[0]["function"] == {
        "name": "burn", "description": "",
        "parameters": {"type": "object", "properties": {"it": {"type": "integer"}}, "required": ["it"]},
    }  # fmt: skip


def test_a_recorded_schema_is_never_followed_anywhere(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"loan_id": {"$ref": "file:///etc/passwd"}}, "$ref": "http://127.0.0.1:9/"}
    tools = ({"type": "function", "function": {"name": "get_loan", "parameters": schema}},)
    write_runs(tmp_path / "desk.parquet", [trace(1, "a", [READ], 1.0, tools=tools)])
    world = load(tmp_path, "")
    assert ask(started(world, tasks(world)["a"]), "get_loan", loan_id="L-1001") == READ[2]


@pytest.mark.parametrize(
    ("said", "error", "message"),
    [
        ("golden: [burn]\n", InputError, r"golden: no run knows a tool 'burn'; there are get_loan, extend, refuse"),
        ("harness: h9\n", InputError, r"harness: no run of desk\.parquet has 'h9'.*there are h1 \(3 runs\)"),
        ("nearest: 2\n", SpecError, r"desk\.replay\.yaml:2:10: nearest: Input should be less than or equal to 1"),
        ("goldn: []\n", SpecError, r"goldn: Extra inputs are not permitted"),
        ("a: [\n", SpecError, r"not valid YAML"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(tmp_path: Path, said: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        load(tmp_path, said)


def test_a_missing_table_says_what_to_copy(tmp_path: Path) -> None:
    (tmp_path / "desk.replay.yaml").write_text("traces: gone.parquet\n")
    with pytest.raises(InputError, match=r"traces: .*gone\.parquet cannot be read.*copy data/traces/traces\.parquet"):
        load_worlds(EnvironmentsParams(names=("desk",), folder=str(tmp_path)))


def test_answers_are_matched_by_id_even_when_ids_repeat(tmp_path: Path) -> None:
    call = Message("assistant", None, (ToolCall("x", "get_loan", {"loan_id": "L-1"}, "{}"),))
    bad = Message("assistant", None, (ToolCall("y", "get_loan", None, "{", "not JSON"),))
    messages = (call, Message("tool", "one", tool_call_id="x"), bad, Message("tool", "?", tool_call_id="y"), call,
                Message("tool", None, tool_call_id="x"), call)  # fmt: skip
    found = recording(replace(RUNS[0], messages=messages))
    assert [each.answer for each in found.calls] == ["one", "", None]


def test_schemas_of_what_was_seen(tmp_path: Path) -> None:
    schema = seen_schema([{"a": 1, "b": "x", "c": None}, {"a": 1.5, "b": True, "d": []}])
    assert schema["properties"] == {
        "a": {"type": "number"}, "b": {"type": ["boolean", "string"]}, "c": {"type": "null"}, "d": {"type": "array"},
    }  # fmt: skip
    assert schema["required"] == ["a", "b"]
    write_runs(tmp_path / "t.parquet", RUNS)
    assert tuple(recorded_schemas(read_recordings(tmp_path / "t.parquet")).values()) == TOOLS


def test_golden_runs_are_demonstrated_where_a_good_end_is_known(tmp_path: Path) -> None:
    world = load(tmp_path)
    given = [task for split in given_tasks(world, 1).values() for task in split]
    demos = {task.knobs["group"]: given_demo(world, task) for task in given}
    assert [None if demo is None else demo.outcome for demo in demos.values()] == [1.0, 1.0]
    assert demos["b"] is not None
    told = [message.content for message in demos["b"].messages if message.role == "tool"]
    assert told == ["1 weeks, reserved", "refused"]
    unknown = load(tmp_path, "")
    assert [given_demo(unknown, task) for task in tasks(unknown).values()] == [None, None]


def test_real_traces_are_replayed(trace_folders: Path, tmp_path: Path) -> None:
    files = trace_files(trace_folders / "tau_bench")
    items = [item for source, path in files for item in read_file(path, source, 32 << 20)]
    write_runs(tmp_path / "desk.parquet", [item for item in items if isinstance(item, Trace)])
    world = load(tmp_path, "golden: [transfer_to_human_agents, update_reservation_passengers]\n")
    assert world.procedure.startswith("# Airline Agent Policy")
    found = tasks(world)
    assert [task.knobs["successes"] for task in found.values()] == [2, 1, 4]
    for task in found.values():
        environment = started(world, task)
        answers = [ask(environment, call["name"], **call["arguments"]) for call in task.golden_calls]
        assert UNKNOWN not in answers
        assert outcome(environment.grade()) == 1.0
