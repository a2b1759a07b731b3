"""Mean pooling: a network whose head reads the mean of its outputs over all words, as a state that can be stepped."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from rnnlens.common.errors import RnnlensError
from rnnlens.common.ranges import in_range
from rnnlens.networks.long_texts import outputs_and_state
from rnnlens.networks.network import Network


class MeanPooled(nn.Module):
    """Any cell, with the mean of its outputs so far: n' = n + 1, m' = m + (output(h') − m) / n'.

    The flat state is (h, m, n): the cell's own state, the mean that the head reads, and the number of words read, blank
    inputs among them. Since n grows with every word, no state is fixed.
    """

    never_rests = (
        "this network reads the mean of its outputs over all words, and its state counts the words, so it has no fixed "
        "points: analyze the same network read at its last word, rnnlens.unpooled(network)"
    )

    def __init__(self, cell: Any):
        super().__init__()
        self.cell, self.inputs = cell, cell.inputs
        self.units = len(range(cell.size)[cell.output])
        self.size = cell.size + self.units + 1
        self.output = slice(cell.size, cell.size + self.units)

    def start(self, h0: Tensor) -> Tensor:
        """The flat state before the first word, from the cell's own (N,)."""
        return torch.cat([h0, h0.new_zeros(self.units + 1)])

    def step(self, h: Tensor, e: Tensor) -> Tensor:
        own, mean, n = h.split([self.cell.size, self.units, 1], -1)
        new, n = self.cell.step(own, e), n + 1
        mean = mean + (new[..., self.cell.output] - mean) / n
        return torch.cat([new, mean.expand(*new.shape[:-1], -1), n.expand(*new.shape[:-1], -1)], -1)

    def sequence(self, e: Tensor, h0: Tensor) -> Tensor:
        """All states (B, T+1, N), h0 first."""
        own = self.cell.sequence(e, h0[:, : self.cell.size])
        means, n = self._means(own[:, 1:, self.cell.output], h0)
        pooled = torch.cat([means, n], -1)
        return torch.cat([own, torch.cat([h0[:, None, self.cell.size :], pooled], 1)], -1)

    def outputs(self, e: Tensor, h0: Tensor) -> Tensor:
        return self._means(self.cell.outputs(e, h0[:, : self.cell.size]), h0)[0]

    def outputs_and_state(self, e: Tensor, h0: Tensor) -> tuple[Tensor, Tensor]:
        """The means (B, T, units), and the state (B, N) after the last step."""
        outputs, end = outputs_and_state(self.cell, e, h0[:, : self.cell.size])
        means, n = self._means(outputs, h0)
        return means, torch.cat([end, means[:, -1], n[:, -1]], -1)

    def _means(self, outputs: Tensor, h0: Tensor) -> tuple[Tensor, Tensor]:
        """Means (B, T, units) and counts (B, T, 1) after each of the outputs (B, T, units)."""
        _, mean, n0 = h0.unsqueeze(1).split([self.cell.size, self.units, 1], -1)
        n = n0 + torch.arange(1, outputs.shape[1] + 1, device=n0.device).to(n0).unsqueeze(-1)
        return (n0 * mean + outputs.to(mean.dtype).cumsum(1)) / n, n


def pooled(cell: Any, h0: Tensor, pooling: str | None) -> tuple[Any, Tensor]:
    """A cell and its initial state (N,), with the pooling of its outputs."""
    if pooling is None:
        return cell, h0
    cell = MeanPooled(cell)
    return cell, cell.start(h0)


@in_range()
def unpooled(network: Network) -> Network:
    """The same network read at its last word, without the mean over words: what analyses take.

    The logit of a network with mean pooling and a linear head is the mean of this network's logits over the words."""
    if not isinstance(network.cell, MeanPooled):
        raise RnnlensError("this network has no pooling: analyze it as it is")
    cell = copy.deepcopy(network.cell.cell)
    h0, arch = network.h0.detach()[: cell.size].clone(), network.arch.removesuffix(", mean pooled")
    return network.with_parts(cell, h0, arch)
