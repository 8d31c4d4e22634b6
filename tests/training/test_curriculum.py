from collections import Counter

import pytest

from pipeline.params import HorizonParams
from pipeline.training.curriculum import TaskSampler, max_turns

TASKS = [f"task {n}" for n in range(40)]


@pytest.mark.parametrize(("step", "turns"), [(0, 8), (7, 8), (8, 11), (15, 11), (16, 14), (400, 14)])
def test_the_horizon_grows_in_rounds_and_stays_at_the_last(step: int, turns: int) -> None:
    assert max_turns(step, HorizonParams(rounds=(8, 11, 14), every=8)) == turns


def test_a_draw_hangs_on_seed_and_knowledge_only() -> None:
    first, second = TaskSampler(TASKS), TaskSampler(TASKS)
    assert first.draw(10, seed=3) == second.draw(10, seed=3)
    assert first.draw(10, seed=3) != first.draw(10, seed=4)
    assert len(set(first.draw(40, seed=3))) == 40


def test_a_draw_leaves_out_what_was_drawn_and_ends_when_nothing_is_left() -> None:
    sampler = TaskSampler(TASKS)
    drawn = sampler.draw(30, seed=1)
    assert set(sampler.draw(30, seed=2, without=drawn)) == set(TASKS) - set(drawn)


def test_tasks_with_spread_come_more_often_but_none_is_given_up() -> None:
    sampler = TaskSampler(TASKS)
    for task in TASKS[:20]:
        sampler.observe(task, [True] * 8)
    for task in TASKS[20:]:
        sampler.observe(task, [True, False] * 4)
    counts = Counter(task for seed in range(300) for task in sampler.draw(8, seed))
    solved, mixed = sum(counts[task] for task in TASKS[:20]), sum(counts[task] for task in TASKS[20:])
    assert mixed > 1.5 * solved
    assert min(counts[task] for task in TASKS) > 0


def test_newer_groups_count_more_and_unknown_tries_change_nothing() -> None:
    sampler = TaskSampler(["a"], {"a": 0.0}, {"a": 8.0})
    before = sampler.pass_rate("a")
    sampler.observe("a", [None, None])
    assert sampler.pass_rate("a") == before == 0.1
    sampler.observe("a", [True, None, True, True, True])
    assert sampler.pass_rate("a") == pytest.approx(5 / 10)


def test_state_survives_a_restore() -> None:
    sampler = TaskSampler(TASKS)
    sampler.observe("task 3", [True, False])
    other = TaskSampler(TASKS)
    other.restore(sampler.state())
    assert other.draw(20, seed=9) == sampler.draw(20, seed=9)
