"""What the graders of params say of rollouts, beside what their environments said."""

from collections.abc import Sequence
from dataclasses import replace

from pipeline.environments.worlds import World, Worlds
from pipeline.errors import ParamsError
from pipeline.graders.panel import Panel
from pipeline.graders.reward import check_given
from pipeline.graders.view import view_of_rollout
from pipeline.params import Params
from pipeline.records import Grade, Rollout, Task
from pipeline.rollouts.places import Places


def with_grades(rollouts: Sequence[Rollout], more: Sequence[tuple[Grade, ...]]) -> list[Rollout]:
    """The rollouts, each with further grades behind its own."""
    return [replace(one, grades=(*one.grades, *grades)) for one, grades in zip(rollouts, more, strict=True)]


def grade_together(rollouts: Sequence[Rollout], tasks: Sequence[Task], places: Places, panel: Panel) -> list[Rollout]:
    """The rollouts with the grades of those graders that want all tries of a task at once; none may be missing.

    `tasks` are those of the rollouts, in any order. Their final states are not known any more.
    """
    if not panel.groups:
        return list(rollouts)
    by_id = {task.task_id: task for task in tasks}
    procedures = {name: place.world.procedure for name, place in places.by_name.items()}
    views = [view_of_rollout(one, by_id[one.task_id], procedure=procedures[one.environment]) for one in rollouts]
    return with_grades(rollouts, panel.grade_groups(views))


def check_grades(params: Params, worlds: Worlds) -> None:
    """Raises ParamsError when the reward hangs on a grade that nothing gives, when two things give grades of one name,
    or when a grader is for an environment that the run does not use.
    """
    stray = sorted({name for entry in params.graders for name in entry.environments} - set(worlds))
    if stray:
        raise ParamsError(f"params.yaml: graders: this run has no environment {stray[0]!r}, only {', '.join(worlds)}")
    usable = {name: _usable(params, name, world) for name, world in worlds.items()}
    check_given(params.reward, set().union(*usable.values()))
    for name, given in usable.items():
        if not given & {grade for grade, weight in params.reward.weights.items() if weight}:
            raise ParamsError(
                f"params.yaml: reward: nothing has weight that is graded in environment {name!r}, so it has no reward; "
                f"give weight to one of {', '.join(sorted(given))}"
            )


def _usable(params: Params, name: str, world: World) -> set[str]:
    """Names of the grades in this world that a reward may hang on."""
    own = {grade for grade, _ in world.factory.gives}
    entries = [entry for entry in params.graders if not entry.environments or name in entry.environments]
    taken = sorted(own & {grade for entry in entries for grade in entry.gives()})
    if taken:
        raise ParamsError(f"params.yaml: graders: {taken[0]!r} is a grade of environment {name!r} itself; rename it")
    return own | {grade for entry in entries if not entry.held_out for grade in entry.gives()}
