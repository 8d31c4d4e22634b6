"""Drawing tokens: the full distribution at a temperature, and random numbers that belong to a row, not to a batch.

The n-th token of row r is drawn with the n-th number of a counter-based stream keyed by (seed, r). So a row's samples
do not depend on who sat beside it in the batch, except where two batch shapes round a probability differently
right at the drawn number.
"""

import numpy as np
import torch
from numpy.typing import NDArray

_WORD = (1 << 64) - 1


def row_stream(seed: int, row: int, length: int) -> NDArray[np.float64]:
    """`length` uniform numbers in [0, 1) that belong to `row` under `seed` (Philox, Salmon et al. 2011)."""
    key = np.array([seed & _WORD, row & _WORD], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key)).random(length)


def draw(logits: torch.Tensor, uniforms: NDArray[np.float64], temperature: float) -> tuple[list[int], list[float]]:
    """One token for each row of `logits` [rows, vocabulary], and its log-probability under the distribution drawn from.

    Inverse transform sampling with `uniforms` [rows]. Temperature 0 takes the likeliest token and reports the
    log-probability at temperature 1.
    """
    logprobs = torch.log_softmax(logits.float() / (temperature or 1.0), dim=-1)
    chosen = _invert(logprobs, uniforms) if temperature else logprobs.argmax(dim=-1, keepdim=True)
    return chosen[:, 0].tolist(), logprobs.gather(1, chosen)[:, 0].tolist()


def _invert(logprobs: torch.Tensor, uniforms: NDArray[np.float64]) -> torch.Tensor:
    """First token whose cumulative probability exceeds the row's number: never one of probability 0."""
    cumulative = logprobs.exp().double().cumsum(dim=-1)
    total = cumulative[:, -1:]
    below = torch.nextafter(total, torch.zeros_like(total))
    target = torch.from_numpy(uniforms).to(logprobs.device)[:, None] * total
    return torch.searchsorted(cumulative, torch.minimum(target, below), right=True)
