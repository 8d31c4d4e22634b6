import torch

from pipeline.training.rl_batch import TrainRow, deal, to_tensors, train_row
from tests.training.rollouts import rollout, turn


def rows(count: int) -> list[TrainRow]:
    return [
        TrainRow((1, 2, 3 + n % 3), tuple(range(n + 1)), (1,) * (n + 1), (-1.0,) * (n + 1), float(n))
        for n in range(count)
    ]


def test_a_row_holds_exactly_what_was_sampled_and_seen() -> None:
    row = train_row(rollout("a", 0, 1.0, [turn((8, 9, 2), (3, 3)), turn((4, 2), (7, 7, 7))]), 0.5)
    assert row.prompt_ids == (5, 6, 7)
    assert row.completion_ids == (8, 9, 2, 3, 3, 4, 2)
    assert row.mask == (1, 1, 1, 0, 0, 1, 1)
    assert row.logprobs == (-0.5, -0.5, -0.5, 0.0, 0.0, -0.5, -0.5)


def test_every_row_is_dealt_once_and_evenly() -> None:
    hands = deal(rows(21), updates=4, micro=2, seed=1)
    assert len(hands) == 8
    assert sorted(row.advantage for hand in hands for row in hand) == list(range(21))
    assert {len(hands[n]) + len(hands[n + 1]) for n in range(0, 8, 2)} == {5, 6}
    assert hands == deal(rows(21), updates=4, micro=2, seed=1)
    assert hands != deal(rows(21), updates=4, micro=2, seed=2)


def test_rows_without_a_sampled_token_and_missing_rows_leave_empty_hands() -> None:
    silent = TrainRow((1, 2), (), (), (), 1.0)
    hands = deal([*rows(1), silent], updates=2, micro=1, seed=1)
    assert sorted(map(len, hands)) == [0, 1]


def test_the_common_prefix_is_kept_apart_and_the_rest_aligned() -> None:
    batch = to_tensors(
        [
            TrainRow((1, 2, 3, 4), (9, 9, 8), (1, 0, 1), (-1.0, 0.0, -2.0), 0.5),
            TrainRow((1, 2, 5), (7,), (1,), (-3.0,), -0.5),
        ],
        tokens=11,
        pad_id=0,
    )
    assert batch["prompt_ids"].tolist() == [[1, 2], [1, 2]]
    assert batch["completion_ids"].tolist() == [[3, 4, 9, 9, 8], [5, 7, 0, 0, 0]]
    assert batch["completion_mask"].tolist() == [[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]]
    assert batch["tool_mask"].tolist() == [[0, 0, 1, 0, 1], [0, 1, 0, 0, 0]]
    assert batch["old_per_token_logps"].tolist() == [[0, 0, -1, 0, -2], [0, -3, 0, 0, 0]]
    assert batch["advantages"].tolist() == [0.5, -0.5]
    assert batch["num_items_in_batch"].item() == 11


def test_the_last_prompt_token_is_never_in_the_prefix() -> None:
    batch = to_tensors([TrainRow((1, 2, 3), (4,), (1,), (0.0,), 1.0)] * 2, tokens=2, pad_id=0)
    assert batch["prompt_ids"].tolist() == [[1, 2], [1, 2]]
    assert not torch.any(batch["tool_mask"][:, 0])


def test_rows_of_one_environment_share_hands() -> None:
    mixed = [TrainRow((1, n), (2,) * (n + 1), (1,) * (n + 1), (0.0,) * (n + 1), 0.0, "ab"[n % 2]) for n in range(32)]
    hands = deal(mixed, updates=2, micro=4, seed=1)
    assert sum(len({row.environment for row in hand}) > 1 for hand in hands) <= 2
    for update in (hands[:4], hands[4:]):
        assert [row.environment for hand in update for row in hand] == sorted(
            row.environment for hand in update for row in hand
        )
