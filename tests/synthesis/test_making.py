"""Many tasks: equal for any number of workers, worlds by turns, rejected ones counted."""

from pathlib import Path

import pytest

from pipeline.environments.declared import SHIPPED
from pipeline.errors import SpecError
from pipeline.params import EnvironmentsParams
from pipeline.records import Split
from pipeline.rows import task_from_row
from pipeline.synthesis import making
from pipeline.synthesis.making import Order, Tally, make_rows, shares
from pipeline.synthesis.questions import Noise
from pipeline.synthesis.tasks import unique_tasks
from tests.worlds import CLAIMS

ALL = EnvironmentsParams(names=("claims", "orders", "archive"), folder=str(SHIPPED))
QUIET = Noise()
SPLITS: tuple[Split, ...] = ("train", "valid", "eval")
SEEN = {"near", "middle", "far"}


def test_worlds_take_turns_and_share_evenly() -> None:
    order = Order(ALL, "valid", shares(ALL.names, 20), 1, QUIET)
    rows = list(make_rows(order, tally := Tally(), workers=1))
    assert [row["environment"] for row in rows[:4]] == ["claims", "orders", "archive", "claims"]
    assert {name: sum(made.values()) for name, made in tally.templates.items()} == {
        "claims": 7, "orders": 7, "archive": 6,
    }  # fmt: skip
    assert {row["split"] for row in rows} == {"valid"}
    alone = [task.task_id for task in unique_tasks(CLAIMS, 1, "valid", 7)]
    assert [row["task_id"] for row in rows if row["environment"] == "claims"] == alone


@pytest.mark.slow
def test_one_worker_and_two_make_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "_MANY", 0)
    order = Order(ALL, "train", shares(ALL.names, 300), 4, QUIET)
    assert list(make_rows(order, Tally(), workers=1)) == list(make_rows(order, Tally(), workers=2))


def test_noise_is_recorded_and_leaves_the_work_as_it_is() -> None:
    orders = EnvironmentsParams(names=("orders",), folder=str(SHIPPED))
    order = Order(orders, "train", {"orders": 40}, 3, Noise(aside=0.5, contradiction=0.5))
    tasks = [task_from_row(row) for row in make_rows(order, Tally(), workers=1)]
    for word, knob in (("weather", "aside"), ("bought yesterday", "contradiction")):
        assert any(word in task.question for task in tasks)
        assert all(knob in task.knobs for task in tasks if word in task.question)
    assert any(not {"aside", "contradiction"} & task.knobs.keys() for task in tasks)


def test_held_out_phrases_are_asked_in_valid_and_eval_only() -> None:
    orders = EnvironmentsParams(names=("orders",), folder=str(SHIPPED))
    asked = {
        split: " ".join(
            row["question"] for row in make_rows(Order(orders, split, {"orders": 60}, 3, QUIET), Tally(), workers=1)
        )
        for split in ("train", "eval")
    }  # fmt: skip
    assert "is still open, go through it" in asked["eval"]
    assert "is still open, go through it" not in asked["train"]
    assert "needs an answer" in asked["train"]
    assert "needs an answer" not in asked["eval"]


def test_unseen_templates_are_asked_in_eval_only() -> None:
    archive = EnvironmentsParams(names=("archive",), folder=str(SHIPPED))
    asked = {
        split: {
            row["template"] for row in make_rows(Order(archive, split, {"archive": 8}, 3, QUIET), Tally(), workers=1)
        }
        for split in SPLITS
    }
    assert asked == {"train": SEEN, "valid": SEEN, "eval": {*SEEN, "very_far"}}


COIN = """
name: coin
about: A coin.
constants: {sides: [heads, tails]}
tables:
  coins:
    row: coin
    prefix: C
    columns:
      side: {type: string, draw: {one_of: sides}}
      called: {type: string, start: ""}
tools:
  call_side:
    about: Call it.
    parameters:
      coin_id: {key: coins, about: Coin.}
      side: {about: Side.}
    change: {coin.called: side}
    decides: coin_id
    returns: "'called'"
    returns_about: Whether it was called.
procedure:
  text: Call the side.
  subject: coin
  steps:
    - call: call_side
      arguments: {coin_id: coin.id, side: coin.side}
      rules: [{name: only, when: "true", call: call_side, arguments: {coin_id: coin.id, side: coin.side}}]
cases: {any: {rule: only}}
templates: {toss: {root: coins, subjects: "[coin.id]", ask: toss}}
ask: {toss: {phrases: ["Coin {coin.id} shows {coin.side}, call it."]}}
"""


def test_a_world_that_gives_its_answers_away_is_refused_with_counts(tmp_path: Path) -> None:
    (tmp_path / "coin.yaml").write_text(COIN)
    order = Order(EnvironmentsParams(names=("coin",), folder=str(tmp_path)), "train", {"coin": 5}, 1, QUIET)
    tally = Tally()
    with pytest.raises(SpecError, match=r"only 0 are new and worth doing \(\{'answer_in_question': 1001\}\)"):
        list(make_rows(order, tally, workers=1))
    assert tally.rejected["coin"]["answer_in_question"] == 1001
