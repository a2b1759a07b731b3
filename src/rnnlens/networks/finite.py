"""Checks for weights that are NaN, infinite, in half precision, or so large that computing with them overflows."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rnnlens.common.errors import Diverged, RnnlensError, quoted


def not_finite(module: nn.Module) -> list[str]:
    """Names of the parameters and buffers that hold NaN or infinite numbers."""
    named = [*module.named_parameters(), *module.named_buffers()]
    return [name for name, value in named if not bool(value.isfinite().all())]


def too_large(module: nn.Module) -> list[str]:
    """Names of the parameters so large that a product of four of them overflows."""
    return [
        name
        for name, value in module.named_parameters()
        if value.is_floating_point() and bool((value.abs() > torch.finfo(value.dtype).max ** 0.25).any())
    ]


def check_precision(h0: Tensor) -> None:
    """Refuse a network in half precision, by its initial state, and `torch.autocast`, which computes in it."""
    if h0.dtype not in (torch.float32, torch.float64):
        raise RnnlensError(f"the network is {h0.dtype}: expected float32 or float64; use network.float()")
    if not h0.is_meta and torch.is_autocast_enabled(h0.device.type):
        raise RnnlensError("torch.autocast is on, which computes in half precision: call this outside of it")


def check_diverged(module: nn.Module, what: str, fix: str) -> None:
    """Refuse a model whose weights are NaN or infinite. what: the subject of the message; fix: what to do."""
    names = not_finite(module)
    if names:
        raise Diverged(f"{what}: its weights {quoted(', '.join(names))} are not finite (NaN or infinite); {fix}")
