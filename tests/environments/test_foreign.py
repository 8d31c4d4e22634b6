"""Classes written for TRL, played as they are."""

from threading import Event
from typing import Any

import pytest

from pipeline.environments.base import Environment
from pipeline.environments.foreign import adapt
from pipeline.environments.tools import EnvironmentFault, call_tool, reset_arguments
from pipeline.environments.worlds import World, make_world
from pipeline.records import Task, ToolCall
from pipeline.tables import dumps
from tests.environments.foreign import MoreNotes, Notes


def task(row: dict[str, Any]) -> Task:
    """A task whose row is what `reset` takes."""
    return Task("t", "notes", "plain", "train", 0, "Take notes.", row, {}, (), {})


def start(factory: type[Environment], row: dict[str, Any]) -> Environment:
    environment = factory()
    environment.reset(**reset_arguments(task(row)))
    return environment


def call(environment: Environment, tool: str, /, **arguments: Any) -> tuple[str, bool]:
    answer = call_tool(environment, ToolCall("1", tool, arguments, dumps(arguments)), timeout=5.0)
    return answer.content, answer.error


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("notes", adapt(MoreNotes))


def test_tools_are_those_of_trl_in_its_order(world: World) -> None:
    names = [tool["function"]["name"] for tool in world.tools]
    assert names == ["fail", "grade", "state"]
    assert world.procedure == "Take notes."
    assert world.tools[2]["function"]["parameters"]["required"] == ["name", "tool"]
    assert make_world("plain", adapt(Notes)).procedure == ""


def test_tools_run_whatever_they_are_called(world: World) -> None:
    environment = start(world.factory, {"start": 4})
    assert call(environment, "grade", points=3) == ("7\n[image]", False)
    assert call(environment, "state", name="Ann", tool=2) == ("Ann 2 7", False)
    assert environment.state_hash() == ""


def test_every_exception_of_a_tool_is_told_to_the_agent(world: World) -> None:
    environment = start(world.factory, {"start": 4})
    assert call(environment, "fail") == ("error: KeyError", True)
    assert call(environment, "grade", points="three")[0].startswith("error: bad arguments: 'three' is not of type")


def test_the_outcome_is_what_get_reward_says_and_nothing_is_null(world: World) -> None:
    (none,) = start(world.factory, {"start": 4}).grade()
    assert (none.name, none.score, none.passed) == ("outcome", None, None)
    (one,) = start(world.factory, {"start": 10}).grade()
    assert (one.score, one.passed) == (1.0, True)


def test_reset_gets_what_it_asks_for_and_starts_anew() -> None:
    class Asked:
        """Keeps what it was given."""

        def reset(self, **row: Any) -> str:
            """Keep everything."""
            self.row = row
            return "go on"

        def get_reward(self) -> float:
            """How many times reset was called on this object."""
            return float(len(vars(self)))

    environment = adapt(Asked)()
    for _ in range(2):
        assert environment.reset(**reset_arguments(task({"start": 1}))) == "go on"
        assert environment.get_reward() == 1.0
    with pytest.raises(TypeError, match="start"):
        start(adapt(Notes), {})


def test_a_tool_that_never_answers_is_the_environments_fault() -> None:
    class Slow(Notes):
        """Waits for ever."""

        def wait(self) -> str:
            """Wait."""
            Event().wait()
            return "never"

    environment = start(adapt(Slow), {"start": 1})
    with pytest.raises(EnvironmentFault, match=r"wait: no answer within 0\.01 s"):
        call_tool(environment, ToolCall("1", "wait", {}, "{}"), timeout=0.01)
