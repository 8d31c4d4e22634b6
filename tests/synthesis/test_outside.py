"""Tasks of the suite outside: the same for a seed, of every kind, solvable, and strange to the trained environments."""

from collections import Counter

import pytest

from pipeline.environments.outside import outside_worlds
from pipeline.environments.worlds import Worlds
from pipeline.errors import InputError
from pipeline.rows import task_from_row, task_to_row
from pipeline.synthesis.outside import KINDS, make_outside_task, outside_tasks
from tests.worlds import WORLDS

SUITE = outside_worlds()


def test_a_seed_gives_the_same_tasks_whatever_their_number() -> None:
    few, many = list(outside_tasks(SUITE, 5, 12)), list(outside_tasks(SUITE, 5, 40))
    assert many[:12] == few
    assert list(outside_tasks(SUITE, 6, 12)) != few
    assert len({task.task_id for task in many}) == 40
    assert [task_from_row(task_to_row(task)) for task in many] == many


def test_kinds_take_turns_and_every_world_is_used() -> None:
    made = list(outside_tasks(SUITE, 1, 120))
    counts = Counter(task.template for task in made)
    assert set(counts) == set(KINDS)
    assert max(counts.values()) - min(counts.values()) <= 4
    assert {task.environment for task in made} == set(SUITE)
    assert {task.split for task in made} == {"outside"}


def test_no_tool_is_one_of_the_trained_environments() -> None:
    def names(worlds: Worlds) -> set[str]:
        return {tool["function"]["name"] for world in worlds.values() for tool in world.tools}

    assert not names(SUITE) & names(WORLDS)


def test_a_task_whose_answer_earns_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    task = make_outside_task(SUITE, 1, 3)
    wrong = {"calls": list(task.golden_calls), "refused": 1}
    monkeypatch.setitem(KINDS, "tools", lambda rng: (task.environment, task.question, wrong))
    with pytest.raises(InputError, match=r"outside suite: the right answer to .* its template is broken"):
        make_outside_task(SUITE, 1, 3)
