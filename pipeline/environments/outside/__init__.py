"""A suite outside all environments, to see what training made a model forget; nothing is ever trained on it."""

from pipeline.environments.outside.answers import AnswerEnvironment
from pipeline.environments.outside.toolboxes import (
    CalendarEnvironment,
    KitchenEnvironment,
    LampsEnvironment,
    LibraryEnvironment,
    ToolboxEnvironment,
)
from pipeline.environments.worlds import World, make_world

ANSWERS = "outside_answers"
TOOLBOXES: dict[str, type[ToolboxEnvironment]] = {
    "outside_calendar": CalendarEnvironment,
    "outside_kitchen": KitchenEnvironment,
    "outside_lamps": LampsEnvironment,
    "outside_library": LibraryEnvironment,
}


def outside_worlds() -> dict[str, World]:
    """The suite's worlds by name: one without tools, and one for each toolbox."""
    worlds = [make_world(ANSWERS, AnswerEnvironment)]
    worlds += [make_world(name, toolbox) for name, toolbox in TOOLBOXES.items()]
    return {world.name: world for world in worlds}


__all__ = ["ANSWERS", "TOOLBOXES", "AnswerEnvironment", "ToolboxEnvironment", "outside_worlds"]
