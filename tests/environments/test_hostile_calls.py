"""Whatever a model calls a declared environment with, it gets an answer: no crash, no fault of the environment."""

import random
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from pipeline.environments.base import Environment
from pipeline.environments.declared import SHIPPED
from pipeline.environments.declared.environment import make_class
from pipeline.environments.declared.load import parse_spec
from pipeline.environments.tools import call_tool, reset_arguments
from pipeline.environments.worlds import World, load_worlds, make_world
from pipeline.errors import ToolError
from pipeline.params import EnvironmentsParams
from pipeline.records import JsonObject, Task, ToolCall
from pipeline.synthesis.tasks import task_from, unique_tasks
from tests.environments.desk import DESK, spoiled

NAMES = tuple(sorted(path.stem for path in SHIPPED.glob("*.yaml")))
WORLDS = load_worlds(EnvironmentsParams(names=NAMES, folder=str(SHIPPED)))


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


ODD: list[Any] = [
    -1, 2**53 + 1, 2**70, 1e308, float("nan"), float("inf"), "", "x" * 100_000, "__class__", "\ud800", "{claim.id}",
    None, [], {"a": 1}, True, nested(1000), "C-" + "9" * 90,
]  # fmt: skip


def asked(name: str, arguments: JsonObject) -> ToolCall:
    return ToolCall("1", name, arguments, "")


def odd_calls(world: World, task: Task) -> Iterator[ToolCall]:
    for tool in world.tools:
        name, properties = tool["function"]["name"], tool["function"]["parameters"].get("properties", {})
        golden: JsonObject = next((call["arguments"] for call in task.golden_calls if call["name"] == name), {})
        for parameter in properties:
            for value in ODD:
                yield asked(name, dict.fromkeys(properties, "x") | golden | {parameter: value})
        yield asked(name, {})
        yield asked(name, {**golden, "self": 1, "x" * 5000: 1, "\ud800": 1})


@pytest.mark.parametrize("name", NAMES)
def test_odd_arguments_are_the_agents_own_doing(name: str) -> None:
    task = next(unique_tasks(WORLDS[name], 1, "train", 1))
    environment = WORLDS[name].factory()
    environment.reset(**reset_arguments(task))
    for call in odd_calls(WORLDS[name], task):
        answer = call_tool(environment, call)
        assert len(answer.content.encode()) < 500
        with suppress(ToolError):
            getattr(environment, call.name)(**call.arguments or {})
    assert environment.grade()[0].score == 0.0


NO_TOOLS = ["__class__", "_call", "reset", "get_reward", "grade", "spec", "mro", "", "x" * 10_000, "\ud800"]


@pytest.mark.parametrize("tool", NO_TOOLS, ids=ascii)
def test_odd_names_are_no_tools(tool: str) -> None:
    environment = WORLDS["claims"].factory()
    environment.reset(**reset_arguments(next(unique_tasks(WORLDS["claims"], 1, "train", 1))))
    answer = call_tool(environment, asked(tool, {}))
    assert answer.content.startswith("error: no such tool: ")
    assert len(answer.content.encode()) < 500


def desk(old: str = "about: A desk", new: str = "about: A desk") -> tuple[Environment, Task]:
    """The small desk, changed in one place, with a task begun in it."""
    world = make_world("desk", make_class(parse_spec(spoiled(old, new)[0], "desk.yaml")))
    drawn = (task_from(world, random.Random(number), "whole", "train", 0) for number in range(50))
    task = next(each for each in drawn if isinstance(each, Task) and each.knobs["cases"] == ["light"])
    environment = world.factory()
    environment.reset(**reset_arguments(task))
    return environment, task


def test_a_call_whose_answer_has_no_value_changes_nothing() -> None:
    environment, task = desk()
    light = next(key for key, row in task.initial_state["parcels"].items() if not row["marks"])
    answer = call_tool(environment, asked("refuse", {"parcel_id": light, "why": "other"}))
    assert answer.content == "error: this cannot be done with these values"
    assert environment.state() == task.initial_state
    assert environment.refused == 1


@pytest.mark.parametrize(
    ("old", "new", "fee"),
    [
        ("fee + parcel.fee", "fee * fee * fee", 2**53),
        ("fee + parcel.fee", "10 / fee", 0),
        ("fee + parcel.fee", "'[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10][fee]'", 99),
        ("fee + parcel.fee", "fee + 1", 2**53),
        ("parcel.state: \"'sent'\"", "parcel.state: \"'x'.matches(fee > 99 ? '(' : 'x') ? 'a' : 'b'\"", 100),
    ],
)
def test_numbers_that_lead_nowhere_are_refused(old: str, new: str, fee: int) -> None:
    environment, task = desk(old, new)
    parcel = next(iter(task.initial_state["parcels"]))
    answer = call_tool(environment, asked("send", {"parcel_id": parcel, "fee": fee}))
    assert answer.content == "error: this cannot be done with these values"
    assert environment.state() == task.initial_state


INSERT = """\
    change: {parcel.state: why}
    insert: {table: shelves, id: why, row: {floor: "size(why)"}}"""


def test_rows_are_added_once_and_not_when_the_answer_fails() -> None:
    environment, task = desk("    change: {parcel.state: why}", INSERT)
    parcel = next(key for key, row in task.initial_state["parcels"].items() if not row["marks"])
    assert call_tool(environment, asked("refuse", {"parcel_id": parcel, "why": "other"})).error
    assert environment.state() == task.initial_state
    assert "other" not in environment.state()["shelves"]


def test_a_reference_that_leads_nowhere_is_told() -> None:
    environment, task = desk("parcel.fee: fee + parcel.fee", "parcel.shelf: string(fee)")
    assert DESK.count("parcel.shelf") == 0
    parcel = next(iter(task.initial_state["parcels"]))
    assert not call_tool(environment, asked("send", {"parcel_id": parcel, "fee": 1})).error
    assert environment.state()["parcels"][parcel]["shelf"] == "1"
    assert environment.grade()[0].score == 0.0
