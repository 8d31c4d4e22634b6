"""Golden runs: the calls of a task, executed, and what makes a drawn task worth practising."""

from dataclasses import replace
from enum import StrEnum

from pipeline.environments.declared import DeclaredEnvironment
from pipeline.environments.declared.compiled import Compiled
from pipeline.environments.tools import reset_arguments
from pipeline.environments.worlds import World
from pipeline.errors import SpecError, ToolError
from pipeline.graders.reward import outcome, process
from pipeline.records import Task
from pipeline.tables import dumps


class Rejected(StrEnum):
    """Why a drawn task is not practised."""

    DUPLICATE = "duplicate"
    """A task with the same question and state was made before."""
    TRIVIAL = "trivial"
    """The initial state is the golden one: nothing need be done."""
    LEFT_OVER = "left_over"
    """It was given in a file, beyond the environment's share of the split."""
    ANSWER_IN_QUESTION = "answer_in_question"
    """The question holds what the agent is to find out."""
    STUCK = "stuck"
    """A walk found too few calls that the tools' requirements allow."""
    NEEDLESS = "needless"
    """A walk reaches the same end without one of its deeds."""


def is_declared(world: World) -> bool:
    """Whether a world comes from a spec, so that tasks can be drawn from it and its procedure be followed."""
    return issubclass(world.factory, DeclaredEnvironment)


def compiled_of(world: World) -> Compiled:
    """The spec of a declared world. Raises SpecError for one that is written in Python."""
    if not issubclass(world.factory, DeclaredEnvironment):
        raise SpecError(
            f"environment {world.name!r} has no spec to draw tasks from; put its tasks into a file beside it"
        )
    return world.factory.spec


def play_golden(world: World, task: Task) -> DeclaredEnvironment:
    """Run a task's golden calls in a fresh environment. Raises SpecError when a call is refused."""
    compiled_of(world)
    environment = world.factory()
    assert isinstance(environment, DeclaredEnvironment)
    environment.reset(**reset_arguments(task))
    for call in task.golden_calls:
        try:
            getattr(environment, call["name"])(**call["arguments"])
        except ToolError as error:
            why = f"{error} ({error.__cause__})" if error.__cause__ is not None else str(error)
            raise SpecError(
                f"environment {world.name!r}, template {task.template}: golden call {call['name']} "
                f"{dumps(call['arguments'])} is refused: {why}"
            ) from error
    return environment


def proved(world: World, draft: Task) -> Task | Rejected:
    """The task with the state that its golden calls reach. Raises SpecError when their run does not earn 1 and 1."""
    golden = play_golden(world, draft).state()
    if golden == draft.initial_state:
        return Rejected.TRIVIAL
    task = replace(draft, golden_state=golden)
    grades = play_golden(world, task).grade()
    if outcome(grades) != 1.0 or process(grades) != 1.0:
        raise SpecError(f"environment {world.name!r}, template {task.template}: the golden run earns {grades}")
    return task
