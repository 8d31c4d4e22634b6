"""Muon for hidden matrices, AdamW for everything else, as one optimiser.

Muon (K. Jordan et al., 2024, kellerjordan.github.io/posts/muon) takes the momentum of a matrix's gradient and replaces
it by the nearest semi-orthogonal matrix, so that every direction moves equally far. A model that learns tool syntax
from nothing needs about a third of AdamW's steps. torch.optim.Muon orthogonalises in bfloat16, which a CPU without
bfloat16 units emulates at a fifth of the speed; this one stays in the parameters' own type and treats matrices of one
shape as a batch.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

_NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
"""Coefficients of the quintic iteration, from the source above."""
_ITERATIONS = 5


class Muon(torch.optim.Optimizer):
    """Two parameter groups: `matrices` by Muon, the rest by AdamW; each with a learning rate of its own."""

    def __init__(
        self, named_parameters: Iterable[tuple[str, torch.nn.Parameter]], muon_lr: float, adam_lr: float
    ) -> None:
        """Embeddings, the output head and vectors go to AdamW, all other matrices to Muon."""
        matrices: list[Tensor] = []
        rest: list[Tensor] = []
        for name, parameter in named_parameters:
            hidden = parameter.ndim == 2 and "embed" not in name and "lm_head" not in name
            (matrices if hidden else rest).append(parameter)
        groups = [
            {"params": matrices, "lr": muon_lr, "kind": "muon", "momentum": 0.95},
            {"params": rest, "lr": adam_lr, "kind": "adam", "betas": (0.9, 0.98), "eps": 1e-8},
        ]
        super().__init__([group for group in groups if group["params"]], {})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override] # no closure: nothing here needs a second loss
        """One update of every parameter that has a gradient."""
        for group in self.param_groups:
            parameters = [parameter for parameter in group["params"] if parameter.grad is not None]
            if group["kind"] == "muon":
                self._muon(parameters, group)
            else:
                self._adam(parameters, group)

    def _muon(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        by_shape: dict[torch.Size, list[Tensor]] = {}
        for parameter in parameters:
            by_shape.setdefault(parameter.shape, []).append(parameter)
        for shape, alike in by_shape.items():
            updates = orthogonalise(torch.stack([self._momentum(parameter, group["momentum"]) for parameter in alike]))
            scale = max(1.0, shape[0] / shape[1]) ** 0.5
            for parameter, update in zip(alike, updates, strict=True):
                parameter.add_(update, alpha=-group["lr"] * scale)

    def _momentum(self, parameter: Tensor, momentum: float) -> Tensor:
        gradient = parameter.grad
        assert gradient is not None
        state = self.state[parameter]
        if not state:
            state["momentum"] = torch.zeros_like(parameter)
        state["momentum"].lerp_(gradient, 1 - momentum)
        return gradient.lerp(state["momentum"], momentum)

    def _adam(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        for parameter in parameters:
            gradient, state = parameter.grad, self.state[parameter]
            assert gradient is not None
            if not state:
                state.update(step=0, mean=torch.zeros_like(parameter), square=torch.zeros_like(parameter))
            state["step"] += 1
            state["mean"].lerp_(gradient, 1 - beta1)
            state["square"].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
            spread = (state["square"] / (1 - beta2 ** state["step"])).sqrt_().add_(group["eps"])
            parameter.addcdiv_(state["mean"], spread, value=-group["lr"] / (1 - beta1 ** state["step"]))


def orthogonalise(matrices: Tensor) -> Tensor:
    """Nearest semi-orthogonal matrices of a batch [n, rows, columns], singular values within about 0.7 and 1.2."""
    a, b, c = _NEWTON_SCHULZ
    tall = matrices.size(-2) > matrices.size(-1)
    x: Tensor = matrices.mT if tall else matrices
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(_ITERATIONS):
        gram = x @ x.mT
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return x.mT if tall else x
