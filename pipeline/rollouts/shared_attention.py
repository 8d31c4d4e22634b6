"""Attention on the CPU for rows that share a prefix: the prefix's keys are read once for all rows, not once a row.

Decoding is bound by reading keys and values. Where all conversations open with the same system text and tool schemas,
these are stored once, and all rows attend to them in one call; each row's own keys are attended to in another. The
two are joined by their log-sum-exps, so that the result is plain attention over both (the split softmax of
Flash-Decoding and of Hydragen, arXiv 2402.05099). Heads that share keys (grouped-query attention) count as further
queries, so that keys are never repeated.

Registered under `NAME` in transformers' attention interface; the prefix comes as the forward pass's keyword
`shared_prefix`.
"""

from collections.abc import Sequence
from typing import Any

import torch
from transformers import AttentionInterface

from pipeline.errors import ModelError

NAME = "rehearsal_shared_prefix"

LayerPrefix = tuple[torch.Tensor, torch.Tensor]
"""One layer's keys and values of the prefix, [kv_heads, prefix, head_dim] each."""

_flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default


def shared_prefix_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    shared_prefix: Sequence[LayerPrefix] | None = None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """Attend [rows, heads, new, head_dim] to own keys [rows, kv_heads, length, head_dim] and to the shared prefix.

    `attention_mask` [rows, 1, new, length] is additive and speaks of own positions; the prefix is seen by all; None is
    causal. Returns [rows, new, heads, head_dim]. Raises ModelError for models that bend the scores.
    """
    if options.get("softcap") is not None or options.get("s_aux") is not None:
        raise ModelError(f"{type(module).__name__} caps its scores or has sinks; this engine has plain attention only")
    rows, heads, new, width = query.shape
    groups = key.shape[1]
    folded = query.reshape(rows, groups, -1, width)
    mask = _fold(attention_mask, heads // groups) if attention_mask is not None else _causal(query, key)
    own, own_weight = _flash(folded, key, value, 0.0, False, attn_mask=mask, scale=scaling)
    if shared_prefix:
        keys, values = shared_prefix[int(module.layer_idx)]  # type: ignore[arg-type]
        together = folded.transpose(0, 1).reshape(1, groups, -1, width)
        common, weight = _flash(together, keys[None], values[None], 0.0, False, scale=scaling)
        common = common.view(groups, rows, -1, width).transpose(0, 1)
        weight = weight.view(groups, rows, -1).transpose(0, 1)
        own = torch.lerp(common, own, torch.sigmoid(own_weight - weight).unsqueeze(-1).to(own.dtype))
    return own.reshape(rows, heads, new, width).transpose(1, 2), None


def _fold(mask: torch.Tensor, times: int) -> torch.Tensor:
    """The mask [rows, 1, new, length] once for each of `times` heads that share keys, as further queries."""
    return mask if times == 1 else mask.repeat(1, 1, times, 1)


def _causal(query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    new, length, times = query.shape[2], key.shape[2], query.shape[1] // key.shape[1]
    hidden = torch.ones(new, length, dtype=torch.bool, device=query.device).triu(length - new + 1)
    mask = torch.zeros(new, length, dtype=query.dtype, device=query.device).masked_fill_(hidden, float("-inf"))
    return _fold(mask[None, None].expand(query.shape[0], 1, new, length), times)


AttentionInterface.register(NAME, shared_prefix_attention)
