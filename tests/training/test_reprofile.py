"""Trying all tasks anew: when it is due, and what becomes of the tries."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pipeline.records import Grade, Rollout, Task
from pipeline.rl_params import ReprofileParams
from pipeline.training.collect import Reason
from pipeline.training.reprofile import is_due, reprofile
from pipeline.training.rl_history import HistoryRow
from tests.training.rollouts import Player, params, rollout, sampler, task


def rows(looks: dict[int, float], last: int, reprofiled: tuple[int, ...] = ()) -> list[HistoryRow]:
    return [
        {"step": step, "valid_pass_at_1": looks.get(step), "reprofiled": 9 if step in reprofiled else 0}
        for step in range(last + 1)
    ]


@pytest.mark.parametrize(("done", "due"), [(0, False), (3, False), (4, True), (8, True)])
def test_the_schedule_counts_finished_steps(done: int, due: bool) -> None:
    rule = ReprofileParams(every=4, plateau=0, tries=2)
    assert is_due(done, rows({}, done), rule) is due
    assert not is_due(done, rows({}, done), None)


@pytest.mark.parametrize(
    ("last", "reprofiled", "due"), [(4, (), False), (6, (), True), (6, (6,), False), (8, (5,), True), (8, (6,), True)]
)
def test_a_plateau_is_looks_at_valid_without_a_better_model(last: int, reprofiled: tuple[int, ...], due: bool) -> None:
    rule = ReprofileParams(every=0, plateau=2, tries=2)
    history = rows({0: 0.1, 2: 0.5, 4: 0.4, 6: 0.4, 8: 0.4}, last, reprofiled)
    assert is_due(last, history, rule) is due


@pytest.mark.parametrize("score", [0.0, 0.5, 1.0])
def test_a_score_that_stands_still_is_a_plateau_though_the_later_model_is_kept(score: float) -> None:
    rule = ReprofileParams(every=0, plateau=2, tries=2)
    assert not is_due(1, rows({0: score, 1: score}, 1), rule)
    assert is_due(2, rows({0: score, 1: score, 2: score}, 2), rule)
    assert not is_due(2, rows({0: score, 1: score, 2: score + 0.1}, 2), rule)


def test_the_sampler_starts_from_the_fresh_tries_and_none_is_trained_on() -> None:
    wanted = params(rollouts={"chunk": 5})
    tasks = {name: task(name) for name in ("a", "b")}
    knows, player = sampler(wanted, tasks), Player(lambda name, number: float(name == "a" or number == 0))
    for name in tasks:
        knows.observe(name, [False] * 8)
    tried = reprofile(7, knows, tasks, player, wanted, tries=4)
    assert [len(asked) for asked in player.asked] == [1, 1], "whole groups, though a chunk holds one try more"
    assert len(set(player.seeds)) == 2
    assert (knows.pass_rate("a"), knows.pass_rate("b")) == (5 / 6, 2 / 6)
    assert {(one.reason, one.advantage) for one in tried} == {(Reason.REPROFILED, None)}
    assert [one.reward for one in tried] == [1, 1, 1, 1, 1, 0, 0, 0]


def test_rewards_are_those_of_each_group_where_environments_give_other_grades() -> None:
    wanted = params(reward={"weights": {"outcome": 0.5, "neatness": 0.5}})
    tasks = {"a": task("a"), "b": task("b", "orders")}

    def play(tries: Sequence[tuple[Task, int]], seed: int) -> list[Rollout]:
        extra = {"claims": (), "orders": (Grade("neatness", "process", 0.0),)}
        return [
            replace(made, grades=(*made.grades, *extra[one.environment]))
            for one, number in tries
            for made in [rollout(one.task_id, number, 1.0, environment=one.environment)]
        ]

    tried = reprofile(2, sampler(wanted, tasks), tasks, play, wanted, tries=2)
    assert [one.reward for one in tried] == [1.0, 1.0, 0.5, 0.5]
