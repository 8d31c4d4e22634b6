"""Classes written for TRL as they are, in the shape that the rest of the house knows.

What TRL's GRPOTrainer does with a class of its `environment_factory`, this does too (trl/trainer/grpo_trainer.py):
every public method is a tool, `reset` gets the row of the task by keyword, what it returns follows the question, an
exception of a tool is told to the model, and `get_reward` says how it went. Methods may be async.
"""

import inspect
from collections.abc import Callable
from functools import partial
from math import isfinite
from typing import Any, ClassVar

from pipeline.environments.base import NOT_TOOLS, Environment
from pipeline.environments.event_loop import wait_for
from pipeline.errors import ToolError
from pipeline.graders.reward import OUTCOME
from pipeline.records import Grade, JsonObject


class ForeignEnvironment(Environment):
    """One rollout in an instance of `wraps`, which is made anew by each `reset`, so that nothing is left behind.

    A tool that does not answer in time, and whatever `reset` and `get_reward` raise, are the environment's own faults.
    There is no state to compare, so its hash is empty.
    """

    gives = ((OUTCOME, "outcome"),)
    wraps: ClassVar[type]

    @classmethod
    def _tools(cls) -> list[Callable[..., Any]]:
        """The class's public functions by name: TRL's order."""
        found = inspect.getmembers(cls.wraps, predicate=inspect.isfunction)
        return [function for name, function in found if not name.startswith("_") and name not in NOT_TOOLS]

    def reset(self, **task: Any) -> str | None:
        """Start over with the task's own row, which is its `initial_state`, and its question."""
        self._anew()
        self._inner = self.wraps()
        row = task["initial_state"] | {
            "question": task["question"],
            "prompt": [{"role": "user", "content": task["question"]}],
        }
        added = _settled(self._inner.reset(**_accepted(self._inner.reset, row)))
        return None if added is None else _text(added)

    def get_reward(self) -> float:
        """What the wrapped class says; NaN where it says nothing."""
        value = _settled(self._inner.get_reward())
        return float("nan") if value is None else float(value)

    def _tool(self, name: str) -> Callable[..., str]:
        return partial(self._run, name)

    def _run(self, tool: str, /, **arguments: Any) -> str:
        try:
            return _text(_settled(getattr(self._inner, tool)(**arguments)))
        except Exception as error:
            raise ToolError(str(error) or type(error).__name__) from error

    def _grade(self) -> tuple[Grade, ...]:
        value = self.get_reward()
        if not isfinite(value):
            return (Grade(OUTCOME, "outcome", None, reason=f"get_reward gave {value}"),)
        return (Grade(OUTCOME, "outcome", value, value >= 1.0, reason="what get_reward gave"),)

    def _state(self) -> JsonObject:
        return {}

    def _hash(self) -> str:
        return ""


def adapt(cls: type) -> type[ForeignEnvironment]:
    """An environment whose rollouts are played in instances of `cls`."""
    procedure = getattr(cls, "procedure", None)
    members = {"wraps": cls, "__doc__": cls.__doc__, "procedure": procedure if isinstance(procedure, str) else ""}
    return type(cls.__name__, (ForeignEnvironment,), members)


def _accepted(function: Callable[..., Any], row: JsonObject) -> JsonObject:
    """What of `row` the function takes: all of it, or the parameters it names."""
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        return row
    return {parameter.name: row[parameter.name] for parameter in parameters if parameter.name in row}


def _settled(value: Any) -> Any:
    """The value, waited for where a coroutine was returned."""
    return wait_for(value) if inspect.iscoroutine(value) else value


def _text(value: Any) -> str:
    """Text of an answer; of a list of content parts their texts, and a mark for what is no text."""
    if not isinstance(value, list) or not all(isinstance(part, dict) and "type" in part for part in value):
        return str(value)
    return "\n".join(str(part["text"]) if part["type"] == "text" else f"[{part['type']}]" for part in value)
