"""The part of reinforcement learning that touches no gradient: play, judge, remember, look at valid.

The trainer asks for the rollouts of a step and says when its updates are done. All draws hang on the seed and the
number of the step, and `state` holds everything that later steps hang on, so that a run resumed from a checkpoint and
an unbroken one are the same run.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.errors import EmptyOutputError
from pipeline.grader_params import held_out_names
from pipeline.graders.panel import NOBODY, Panel
from pipeline.params import Params
from pipeline.records import JsonObject, Rollout, Task
from pipeline.rollouts.engine import Engine
from pipeline.rollouts.episodes import play
from pipeline.rollouts.grading import grade_together
from pipeline.rollouts.places import Places
from pipeline.selection.sampler import TaskSampler
from pipeline.training.collect import Group, Tried, collect, settle
from pipeline.training.curriculum import max_turns
from pipeline.training.ledger import write_part
from pipeline.training.reprofile import is_due, reprofile
from pipeline.training.rl_batch import train_row
from pipeline.training.rl_history import HistoryRow, columns, looked, played, updated
from pipeline.training.run_folder import RunFolder
from pipeline.training.validation import ValidScore, score_valid

Report = Callable[[HistoryRow], None]
"""Called with each finished row of the history; row 0 holds the first look at valid only."""

NAME = "rl"
"""Model name in the rollouts."""


@dataclass
class Practice:
    """One run's rollouts and what is known from them. `engine` samples from the trainer's own live model."""

    engine: Engine
    places: Places
    tasks: dict[str, Task]
    valid: Sequence[Task]
    params: Params
    folder: RunFolder
    sampler: TaskSampler
    report: Report
    panel: Panel = NOBODY
    history: list[HistoryRow] = field(default_factory=list)
    best_step: int = 0
    best_score: float = -1.0

    def rollouts(self, done: int) -> dict[str, list[Any]]:
        """Play the step after `done` finished ones; columns as TRL's rollout_func returns them, one entry a row.

        Columns prompt_ids, completion_ids, logprobs, env_mask, advantages and environments. No row at all when no group
        has spread. Raises EmptyOutputError when no rollout of the step has a reward: the environment is down.
        """
        step = done + 1
        cap = max_turns(done, self.params.rl.horizon)
        measured = self._reprofile(done, cap)
        groups = collect(
            step, self.sampler, self.tasks, lambda tries, seed: self._play(tries, seed, done, cap), self.params
        )
        self._refuse_outage(step, groups)
        tried = settle(groups, self.params.rl)
        write_part(self.folder.ledger, step, [*measured, *tried])
        row = played(step, groups, tried, cap, list(self.places.by_name), self._watching())
        self.history.append(row | {"reprofiled": len(measured)})
        rows = [train_row(one.rollout, one.advantage) for one in tried if one.advantage is not None]
        return {
            "prompt_ids": [row.prompt_ids for row in rows],
            "completion_ids": [row.completion_ids for row in rows],
            "logprobs": [row.logprobs for row in rows],
            "env_mask": [row.mask for row in rows],
            "advantages": [row.advantage for row in rows],
            "environments": [row.environment for row in rows],
        }

    def begin(self) -> bool:
        """Look at valid before the first step; True when the model is to be kept as the best so far."""
        self.history.append(dict.fromkeys(columns(list(self.places.by_name), self._watching())) | {"step": 0})
        return self._close(0)

    def finish(self, done: int, logs: dict[str, float]) -> bool:
        """Close step `done` after its updates; True when the model is to be kept as the best so far."""
        self.history[-1] = updated(self.history[-1], logs)
        return self._close(done)

    def state(self) -> JsonObject:
        """What a checkpoint keeps."""
        return {
            "sampler": self.sampler.state(), "history": self.history, "best_step": self.best_step,
            "best_score": self.best_score,
        }  # fmt: skip

    def restore(self, state: JsonObject) -> None:
        """Take over what `state` returned."""
        self.sampler.restore(state["sampler"])
        self.history, self.best_step, self.best_score = state["history"], state["best_step"], state["best_score"]

    def _close(self, done: int) -> bool:
        better = False
        if done % self.params.rl.valid_every == 0 or done == self.params.rl.steps:
            score = self._score_valid()
            self.history[-1] = looked(self.history[-1], score)
            better = score.mean >= self.best_score
            if better:
                self.best_step, self.best_score = done, score.mean
        self.report(self.history[-1])
        return better

    def _reprofile(self, done: int, cap: int) -> list[Tried]:
        rule = self.params.rl.reprofile
        if rule is None or not is_due(done, self.history, rule):
            return []
        return reprofile(
            done, self.sampler, self.tasks, lambda tries, seed: self._play(tries, seed, done, cap), self.params,
            rule.tries,
        )  # fmt: skip

    def _watching(self) -> tuple[str, ...]:
        return held_out_names(self.params.graders)

    def _play(self, tries: Sequence[tuple[Task, int]], seed: int, done: int, cap: int) -> list[Rollout]:
        rollouts = play(
            self.engine, self.places, tries, self.params.rollouts, model=NAME, seed=seed, policy_version=done,
            max_turns=cap, panel=self.panel,
        )  # fmt: skip
        return grade_together(rollouts, [task for task, _ in tries], self.places, self.panel)

    def _score_valid(self) -> ValidScore:
        return score_valid(self.engine, self.places, self.valid, self.params)

    def _refuse_outage(self, step: int, groups: Sequence[Group]) -> None:
        if all(value is None for group in groups for value in group.rewards):
            stops = sorted({rollout.stop_reason.value for group in groups for rollout in group.rollouts})
            raise EmptyOutputError(
                f"generation step {step}: not one rollout of {len(groups)} groups has a reward ({', '.join(stops)}); "
                "mend the environment and run again: training goes on from its last checkpoint"
            )
