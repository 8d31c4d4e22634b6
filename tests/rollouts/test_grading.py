"""Graders of params beside an environment's own grades: at the end of an episode, over whole groups, on chunks."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline.environments.worlds import make_world
from pipeline.errors import ParamsError
from pipeline.grader_params import GraderEntry, GroupEntry, StateParams, TranscriptParams
from pipeline.graders.config import make_panel
from pipeline.graders.panel import Panel
from pipeline.graders.verdict import verdict
from pipeline.graders.view import View
from pipeline.params import Params, RolloutParams, load_params
from pipeline.records import Grade, JsonObject, Rollout
from pipeline.rollouts.episodes import play
from pipeline.rollouts.grading import check_grades
from pipeline.rollouts.harness import Harness
from pipeline.rollouts.places import Places
from pipeline.rollouts.pool import play_chunks
from tests.conftest import ROOT
from tests.rollouts.conftest import Counter, Scripted, place, task

COUNTED = StateParams.model_validate({"name": "counted", "kind": "state", "expect": {"count": ">=2"}})
SHORT = TranscriptParams(name="short", kind="transcript", max_turns=1)
CALL = '<tool_call>{{"name": "{}", "arguments": {}}}</tool_call>'


def _grades(rollout: Rollout) -> dict[str, float | None]:
    return {grade.name: grade.score for grade in rollout.grades if grade.turn is None}


def _one(harness: Harness, places: Places, params: RolloutParams, call: str) -> Rollout:
    engine = Scripted(harness, lambda row, turn: call if turn == 0 else "done")
    panel = make_panel([COUNTED, SHORT])
    (rollout,) = play(engine, places, [(task(), 0)], params, model="m", seed=1, panel=panel)
    return rollout


def test_graders_speak_after_the_environment(harness: Harness, places: Places, params: RolloutParams) -> None:
    rollout = _one(harness, places, params, CALL.format("add", '{"by": 2}'))
    assert _grades(rollout) == {"outcome": 0.0, "procedure": 1.0, "counted": 1.0, "short": 0.5}


def test_a_world_that_broke_leaves_all_of_them_null(harness: Harness, places: Places, params: RolloutParams) -> None:
    rollout = _one(harness, places, params, CALL.format("explode", '{"why": "rain"}'))
    assert {name: _grades(rollout)[name] for name in ("outcome", "counted", "short")} == dict.fromkeys(
        ("outcome", "counted", "short")
    )
    assert "rain" in rollout.grades[-1].reason


class Stateless(Counter):
    """A counter that tells nobody its number."""

    def _state(self) -> JsonObject:
        return {}

    def _hash(self) -> str:
        return ""


def test_a_world_without_a_state_leaves_only_the_state_unknown(harness: Harness, params: RolloutParams) -> None:
    found = _grades(_one(harness, place(harness, Stateless), params, CALL.format("add", '{"by": 2}')))
    assert (found["counted"], found["short"]) == (None, 0.5)


@dataclass(frozen=True)
class Sizes:
    """Grades each try by the number of tries at hand, to show that none was missing."""

    params: GroupEntry

    def grade_groups(self, views: Sequence[View]) -> list[tuple[Grade, ...]]:
        """An eighth for each try of the task, and which procedure was shown."""
        counts = [sum(one.group == each.group for each in views) for one in views]
        return [(verdict(self.params, count / 8, one.procedure),) for count, one in zip(counts, views, strict=True)]


def test_a_group_that_two_chunks_share_is_judged_whole(
    harness: Harness, places: Places, params: RolloutParams, tmp_path: Path
) -> None:
    panel = Panel(groups=(Sizes(GroupEntry(name="sizes")),))
    engine = Scripted(harness, lambda row, turn: "done")

    def run() -> list[Rollout]:
        return play_chunks(
            engine, places, [task("a"), task("b")], 3, params, model="m", seed=1, work=tmp_path,
            on_progress=lambda done, note: None, panel=panel,
        )  # fmt: skip

    rollouts = run()
    assert [_grades(rollout)["sizes"] for rollout in rollouts] == [3 / 8] * 6
    assert rollouts[0].grades[-1].reason == "Count to three."
    played = len(engine.seeds)
    assert run() == rollouts
    assert len(engine.seeds) == played, "finished chunks are not played again"


def _params(*graders: GraderEntry, **weights: float) -> Params:
    loaded = load_params(ROOT / "params.yaml")
    reward = loaded.reward.model_copy(update={"weights": weights})
    return loaded.model_copy(update={"graders": graders, "reward": reward})


class OutcomeOnly(Counter):
    """A world that grades its end alone."""

    gives = (("outcome", "outcome"),)


@pytest.mark.parametrize(
    ("graders", "weights", "message"),
    [
        ([], {"tone": 1.0}, "nothing gives a grade named 'tone'; known are economy, outcome, procedure"),
        ([SHORT.model_copy(update={"held_out": True})], {"short": 1.0}, "nothing gives a grade named 'short'"),
        (
            [SHORT.model_copy(update={"name": "outcome"})],
            {"outcome": 1.0},
            "'outcome' is a grade of environment",
        ),
        ([SHORT.model_copy(update={"environments": ("claims",)})], {"outcome": 1.0}, "no environment 'claims', only"),
        ([], {"procedure": 1.0, "outcome": 0.0}, "nothing has weight that is graded in environment 'bare'"),
    ],
)
def test_a_reward_that_cannot_be_had_is_refused(
    graders: list[GraderEntry], weights: dict[str, float], message: str
) -> None:
    worlds = {"full": make_world("full", Counter), "bare": make_world("bare", OutcomeOnly)}
    with pytest.raises(ParamsError, match=message):
        check_grades(_params(*graders, **weights), worlds)


def test_environments_with_different_grades_may_share_weights() -> None:
    worlds = {"full": make_world("full", Counter), "bare": make_world("bare", OutcomeOnly)}
    check_grades(_params(SHORT, outcome=0.7, procedure=0.3, short=0.1), worlds)
