"""`reset` leaves nothing behind: after any calls at all, an environment is as a fresh one."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.environments import Environment
from pipeline.environments.tools import call_tool, reset_arguments
from pipeline.environments.worlds import World, load_worlds
from pipeline.params import EnvironmentsParams
from pipeline.records import JsonObject, Task, ToolCall
from pipeline.synthesis.tasks import unique_tasks
from pipeline.tables import dumps

NAMES = ("claims", "orders", "archive")
WORLDS = load_worlds(EnvironmentsParams(names=NAMES, folder="pipeline/environments/specs"))
TASKS = {name: list(unique_tasks(world, 5, "train", 6)) for name, world in WORLDS.items()}


def values(schema: JsonObject, task: Task) -> st.SearchStrategy[Any]:
    """Values of a parameter: mostly such that a tool may take them, now and then nonsense."""
    if "enum" in schema:
        return st.sampled_from([*schema["enum"], "nonsense"])
    if schema["type"] == "string":
        ids = [key for table in task.initial_state.values() for key in table]
        return st.sampled_from([*ids, "X-1", ""])
    return st.sampled_from([0, 1, 500, -3, 10**9, "ten"])


def call(name: str, arguments: JsonObject) -> ToolCall:
    """A call as an agent would make it."""
    return ToolCall("1", name, arguments, dumps(arguments))


def calls(world: World, task: Task) -> st.SearchStrategy[list[ToolCall]]:
    """Some calls of the world's tools, golden ones among them."""
    tools = [
        st.builds(
            call,
            st.just(tool["function"]["name"]),
            st.fixed_dictionaries({name: values(its, task) for name, its in _properties(tool).items()}),
        )
        for tool in world.tools
    ]
    golden = [call(each["name"], each["arguments"]) for each in task.golden_calls]
    unreadable = st.just(ToolCall("1", "", None, "{", "not valid JSON"))
    return st.lists(st.one_of(st.sampled_from(golden), unreadable, *tools), max_size=12)


def _properties(tool: JsonObject) -> JsonObject:
    found: JsonObject = tool["function"]["parameters"]["properties"]
    return found


def held(environment: Environment) -> JsonObject:
    """All that an instance holds, but for what `__init__` binds to it."""
    return {name: value for name, value in vars(environment).items() if name not in ("grade", "state", "state_hash")}


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@settings(max_examples=12, deadline=None)
def test_after_reset_nothing_is_left(name: str, data: st.DataObject) -> None:
    world = WORLDS[name]
    before, after = (data.draw(st.sampled_from(TASKS[name]), label=label) for label in ("before", "after"))
    untouched = copy.deepcopy(before)
    used, fresh = world.factory(), world.factory()
    used.reset(**reset_arguments(before))
    used.said, used.transcript = "hm", [*used.transcript]
    for made in data.draw(calls(world, before), label="calls before"):
        call_tool(used, made)
    assert before == untouched
    for environment in (used, fresh):
        environment.reset(**reset_arguments(after))
    assert held(used) == held(fresh)
    assert (used.state(), used.state_hash(), used.grade()) == (fresh.state(), fresh.state_hash(), fresh.grade())
    for made in data.draw(calls(world, after), label="calls after"):
        assert call_tool(used, made) == call_tool(fresh, made)
    assert (used.state_hash(), used.grade()) == (fresh.state_hash(), fresh.grade())


@pytest.mark.parametrize("name", NAMES)
def test_two_instances_share_nothing(name: str) -> None:
    world, task = WORLDS[name], TASKS[name][0]
    one, other = world.factory(), world.factory()
    for environment in (one, other):
        environment.reset(**reset_arguments(task))
    at_first = other.state_hash()
    for each in task.golden_calls:
        call_tool(one, call(each["name"], each["arguments"]))
    assert one.state_hash() != other.state_hash() == at_first
