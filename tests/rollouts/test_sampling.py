"""Drawing from the full distribution with numbers that belong to a row."""

import math

import numpy as np
import torch

from pipeline.rollouts.sampling import draw, row_stream


def test_draws_follow_the_distribution_at_the_temperature() -> None:
    logits, count = torch.tensor([0.0, 1.0, -1.0, 2.0]), 20_000
    tokens, logprobs = draw(logits.expand(count, 4), row_stream(3, 0, count), temperature=0.5)
    wanted = torch.softmax(logits / 0.5, -1)
    found = torch.bincount(torch.tensor(tokens), minlength=4) / count
    assert torch.allclose(found, wanted, atol=4 * 0.5 / math.sqrt(count))
    assert torch.allclose(torch.tensor(logprobs), torch.log(wanted)[tokens], atol=1e-6)


def test_impossible_tokens_are_never_drawn() -> None:
    never = float("-inf")
    logits = torch.tensor([[never, 0.0, never, 0.0, never]])
    for number in (0.0, 0.5, 1 - 1e-16, np.nextafter(1.0, 0.0)):
        (token,), (logprob,) = draw(logits, np.array([number]), temperature=1.0)
        assert token in (1, 3)
        assert math.isclose(logprob, math.log(0.5), rel_tol=1e-6)


def test_greedy_takes_the_likeliest_and_reports_temperature_one() -> None:
    logits = torch.tensor([[0.0, 3.0, 1.0]])
    (token,), (logprob,) = draw(logits, np.array([0.99]), temperature=0.0)
    assert token == 1
    assert math.isclose(logprob, float(torch.log_softmax(logits, -1)[0, 1]), rel_tol=1e-6)


def test_streams_belong_to_seed_and_row() -> None:
    assert np.array_equal(row_stream(1, 2, 8), row_stream(1, 2, 4).tolist() + row_stream(1, 2, 8)[4:].tolist())
    others = [row_stream(1, 3, 8), row_stream(2, 2, 8), row_stream((1 << 64) + 5, 0, 8)]
    assert all(not np.array_equal(row_stream(1, 2, 8), other) for other in others)
