"""Builds views of episodes for the tests of graders."""

from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter

from pipeline.graders.config import make_panel
from pipeline.graders.view import Made, View
from pipeline.judge_params import AnyGraderParams
from pipeline.records import Grade, Message, StopReason, ToolCall

_entries: TypeAdapter[AnyGraderParams] = TypeAdapter(AnyGraderParams)


def call(turn: int, name: str, answer: str | None = "done", **arguments: Any) -> Made:
    """A call that the environment answered."""
    return Made(turn, ToolCall(f"{turn}_{name}", name, arguments, "{}"), answer)


def view(made: Sequence[Made] = (), **changes: Any) -> View:
    """An episode of these calls that ended by an answer."""
    turns = max((one.turn for one in made), default=-1) + 2
    values: dict[str, Any] = {
        "episode": "task t, try 0", "group": "t", "environment": "orders", "question": "Do it.",
        "messages": (Message("assistant", "Done."),), "made": tuple(made), "turns": turns, "tokens": 10 * turns,
        "answer": "Done.", "stop_reason": StopReason.FINISHED,
    }  # fmt: skip
    return View(**values | changes)


def grade(entry: dict[str, Any], seen: View) -> tuple[Grade, ...]:
    """All grades that one entry of params gives to one episode."""
    panel = make_panel([_entries.validate_python({"name": "it"} | entry)])
    (grades,) = panel.grade([seen])
    return grades


def first(entry: dict[str, Any], seen: View) -> Grade:
    """The grade of the episode."""
    return grade(entry, seen)[0]
