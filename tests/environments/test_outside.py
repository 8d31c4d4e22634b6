"""The suite outside: exact answers, one right call, and nothing else counts."""

import pytest

from pipeline.environments.outside import ANSWERS, outside_worlds
from pipeline.environments.outside.answers import last_number
from pipeline.environments.tools import call_tool
from pipeline.graders.reward import outcome
from pipeline.records import JsonObject, ToolCall
from pipeline.tables import dumps

WORLDS = outside_worlds()
TIMER: JsonObject = {"name": "set_timer", "arguments": {"label": "soup", "minutes": 9}}


def answered(said: str, golden: JsonObject) -> float | None:
    """Outcome of saying something."""
    environment = WORLDS[ANSWERS].factory()
    environment.reset(golden_state=golden)
    environment.said = said
    return outcome(environment.grade())


def called(*calls: JsonObject) -> float | None:
    """Outcome of making calls where a timer was wanted."""
    environment = WORLDS["outside_kitchen"].factory()
    environment.reset(golden_state={"calls": [TIMER], "refused": 0})
    for number, call in enumerate(calls):
        call_tool(environment, ToolCall(str(number), call["name"], call["arguments"], dumps(call["arguments"])))
    return outcome(environment.grade())


@pytest.mark.parametrize(
    ("said", "right"),
    [("RIVER", 1.0), (" RIVER\n", 1.0), ("river", 0.0), ("RIVER.", 0.0), ("The word is RIVER", 0.0), ("", 0.0)],
)
def test_a_text_is_right_to_the_letter_or_wrong(said: str, right: float) -> None:
    assert answered(said, {"text": "RIVER"}) == right


@pytest.mark.parametrize(
    ("said", "found"),
    [("175", 175.0), ("100 + 75 = 175.", 175.0), ("1,175 it is", 1175.0), ("-3", -3.0), ("2.5", 2.5), ("none", None)],
)
def test_the_last_number_is_the_answer(said: str, found: float | None) -> None:
    assert last_number(said) == found


def test_only_the_one_call_that_was_asked_for_is_right() -> None:
    oven: JsonObject = {"name": "heat_oven", "arguments": {"degrees": 200}}
    wrong: JsonObject = {"name": "set_timer", "arguments": {"label": "soup", "minutes": 8}}
    unreadable: JsonObject = {"name": "set_timer", "arguments": {"label": "soup", "minutes": "nine"}}
    assert called(TIMER) == 1.0
    assert [called(), called(wrong), called(TIMER, TIMER), called(TIMER, oven), called(unreadable, TIMER)] == [0.0] * 5


def test_reset_leaves_nothing_behind() -> None:
    environment = WORLDS["outside_kitchen"].factory()
    environment.reset(golden_state={"calls": [], "refused": 0})
    fresh = environment.state_hash()
    call_tool(environment, ToolCall("0", "heat_oven", {"degrees": 200}, ""))
    call_tool(environment, ToolCall("1", "no_such", {}, ""))
    assert environment.state() == {"calls": [{"name": "heat_oven", "arguments": {"degrees": 200}}], "refused": 1}
    environment.reset(golden_state={"calls": [], "refused": 0})
    assert environment.state_hash() == fresh
