"""Heads that are not linear: any torch module from the network's output to logits, such as an MLP.

A head is split into its last `nn.Linear`, which is read as any linear readout is (one logit, a difference, classes),
and all that comes before it, its `Features`.
"""

from __future__ import annotations

from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.networks.given import ROWS, own_copy, said, same, uncompiled

PROBABILITIES = (nn.Sigmoid, nn.LogSigmoid, nn.Softmax, nn.LogSoftmax)


class Features(nn.Module):
    """The part of a head before its last linear layer, in eval mode: (..., n) → (..., m)."""

    def __init__(self, module: nn.Module):
        super().__init__()
        self.module = module.eval()

    def train(self, mode: bool = True) -> Self:
        """The user's module stays in eval mode: its dropout and batch statistics are not part of the network."""
        super().train(mode)
        self.module.eval()
        return self

    def forward(self, outputs: Tensor) -> Tensor:
        flat = self.module(outputs.reshape(-1, outputs.shape[-1]))
        return flat.reshape(*outputs.shape[:-1], flat.shape[-1])


def split_head(readout: Any, units: int, like: Tensor) -> tuple[Features | None, Any]:
    """The features of a head, None if it is linear, and the linear readout of them, in a form that `read_head` takes.

    units: the length of the network's output. like: a tensor of the network's dtype and device."""
    readout = uncompiled(readout)
    if not isinstance(readout, nn.Module) or isinstance(readout, nn.Linear):
        return None, readout
    if isinstance(readout, nn.RNNBase | nn.Embedding):
        raise RnnlensError(f"readout is {quoted(type(readout).__name__)}: expected nn.Linear, an MLP or a pair (w, b)")
    head = own_copy(readout).to(like)
    layers = [layer for layer in _layers(head) if not isinstance(layer, _DropoutNd | nn.Identity)]
    if not layers:
        raise RnnlensError("the head has no layers: expected one that ends in nn.Linear")
    if isinstance(layers[-1], PROBABILITIES):
        raise RnnlensError(
            f"the head ends in {type(layers[-1]).__name__}, so it gives probabilities, but rnnlens reads logits: pass "
            "the head without its last layer, such as head[:-1]"
        )
    ends_linear = type(layers[-1]) is nn.Linear and not layers[-1]._forward_hooks
    before = layers[:-1] if ends_linear else layers
    if not before:
        return None, layers[-1]
    features = Features(nn.Sequential(*before))
    width = _checked(features, units, like)
    if ends_linear:
        return features, layers[-1]
    return features, (torch.eye(width).to(like), torch.zeros(width).to(like))


def _layers(module: nn.Module) -> list[nn.Module]:
    """The layers of nested `nn.Sequential`s in order; any other module is one layer."""
    module = uncompiled(module)
    if type(module) is not nn.Sequential or module._forward_hooks or module._forward_pre_hooks:
        return [module]
    return [layer for part in module for layer in _layers(part)]


@torch.no_grad()
def _checked(features: Features, units: int, like: Tensor) -> int:
    """The number of features. A head that fails, is random, or mixes the rows of a batch is refused."""
    outputs = torch.randn(ROWS, units, generator=torch.Generator().manual_seed(0)).to(like)
    try:
        with torch.random.fork_rng(devices=[like.device] if like.is_cuda else []):
            first, again, others = (features(rows) for rows in (outputs, outputs, torch.cat([outputs[:1], -outputs])))
    except Exception as error:
        raise RnnlensError(
            f"the head failed on outputs ({ROWS}, {units}), the size of the network's output: {said(error)}"
        ) from error
    if first.ndim != 2 or len(first) != ROWS or first.dtype != like.dtype:
        raise RnnlensError(
            f"the head gave {first.dtype} of shape {tuple(first.shape)} for outputs ({ROWS}, {units}): expected "
            f"{like.dtype} of shape ({ROWS}, k)"
        )
    if not same(first, again):
        raise RnnlensError("the head gave two different results for the same input: expected one without noise")
    if not same(first[:1], others[:1]):
        raise RnnlensError("the head's result depends on the other rows of the batch: expected each row by itself")
    return first.shape[1]
