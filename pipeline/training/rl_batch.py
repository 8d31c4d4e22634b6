"""Rollouts to tensors: exactly the sampled tokens, padded as little as possible.

All rows of a minibatch begin with the same tokens (system message, tool schemas); this common prefix is kept apart so
that the model reads it once a minibatch and not once a row. What follows is padded on the right only.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

import torch

from pipeline.records import Rollout

Minibatch = dict[str, torch.Tensor]


@dataclass(frozen=True, slots=True)
class TrainRow:
    """One rollout: `completion_ids` are turns and observations in their order, `mask` is 1 on sampled tokens only.

    `completion_ids`, `mask` and `logprobs` have equal lengths; logprobs are 0 on observations.
    """

    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    mask: tuple[int, ...]
    logprobs: tuple[float, ...]
    advantage: float
    environment: str = ""
    """Rows of one environment share a long prefix, so that they are put into the same hands."""


def train_row(rollout: Rollout, advantage: float) -> TrainRow:
    """The row of a rollout; observations behind the last sampled token are left out, nothing hangs on them."""
    ids: list[int] = []
    mask: list[int] = []
    logprobs: list[float] = []
    for number, turn in enumerate(rollout.turns):
        seen = turn.observation_ids if number + 1 < len(rollout.turns) else ()
        ids += [*turn.token_ids, *seen]
        mask += [1] * len(turn.token_ids) + [0] * len(seen)
        logprobs += [*turn.logprobs, *[0.0] * len(seen)]
    return TrainRow(rollout.prompt_ids, tuple(ids), tuple(mask), tuple(logprobs), advantage, rollout.environment)


def deal(rows: Sequence[TrainRow], updates: int, micro: int, seed: int) -> list[list[TrainRow]]:
    """`updates * micro` hands: shuffled rows dealt evenly to the updates, each update cut into `micro` hands.

    Within an update rows stand by environment, then by length. Rows without a sampled token are left out. A hand may be
    empty.
    """
    shuffled = [row for row in rows if any(row.mask)]
    random.Random(seed).shuffle(shuffled)
    hands = []
    for update in range(updates):
        share = sorted(shuffled[update::updates], key=lambda row: (row.environment, _length(row)))
        bounds = [len(share) * part // micro for part in range(micro + 1)]
        hands += [share[start:end] for start, end in pairwise(bounds)]
    return hands


def to_tensors(rows: Sequence[TrainRow], tokens: int, pad_id: int) -> Minibatch:
    """The inputs of TRL's loss. B rows, P tokens of common prefix, C tokens up to the end of the longest row.

    prompt_ids (B, P) is the prefix, completion_ids (B, C) all that follows, tool_mask 1 on sampled tokens; the first of
    the C tokens is never a sampled one. `tokens` is the number of sampled tokens in the whole generation batch.
    """
    prefix = _common_prefix([row.prompt_ids for row in rows])
    rests = [[*row.prompt_ids[prefix:], *row.completion_ids] for row in rows]
    asked = [len(row.prompt_ids) - prefix for row in rows]
    masks = [[0] * skip + list(row.mask) for row, skip in zip(rows, asked, strict=True)]
    logprobs = [[0.0] * skip + list(row.logprobs) for row, skip in zip(rows, asked, strict=True)]
    head = torch.tensor(rows[0].prompt_ids[:prefix], dtype=torch.long).expand(len(rows), prefix)
    return {
        "prompt_ids": head,
        "prompt_mask": torch.ones_like(head),
        "completion_ids": _pad(rests, pad_id),
        "completion_mask": _pad([[1] * len(rest) for rest in rests], 0),
        "tool_mask": _pad(masks, 0),
        "old_per_token_logps": _pad(logprobs, 0.0),
        "advantages": torch.tensor([row.advantage for row in rows], dtype=torch.float32),
        "num_items_in_batch": torch.tensor(tokens),
    }


def _length(row: TrainRow) -> int:
    return len(row.prompt_ids) + len(row.completion_ids)


def _common_prefix(prompts: Sequence[tuple[int, ...]]) -> int:
    """Tokens that all prompts share, always leaving one of each prompt."""
    first, last = min(prompts), max(prompts)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False)))
    return min(same, min(map(len, prompts)) - 1)


def _pad(rows: Sequence[Sequence[int]] | Sequence[Sequence[float]], value: float) -> torch.Tensor:
    width = max(map(len, rows))
    return torch.tensor([[*row, *[value] * (width - len(row))] for row in rows])
