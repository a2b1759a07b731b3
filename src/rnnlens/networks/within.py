"""One reader of a network that reads both ways, changed while the other one stays: for perturbations of the whole."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from rnnlens.common.ranges import in_range
from rnnlens.networks.both_ways import BothWays, reverse
from rnnlens.networks.network import Network

DIRECTIONS = ("forwards", "backwards")


class Within(nn.Module):
    """The state and step of one reader, with the logits of the whole network.

    It has the parts of a `Network` that perturbations use: `project_out`, `steer` and other initial states change the
    reader, and `within(ids, lengths)` gives the logits of both. Ids are in the order in which the reader reads.
    """

    def __init__(self, reader: Network, other: Network, both: BothWays):
        super().__init__()
        self.reader, self.other = reader, other
        self.joined, self.classes, self.ordered = both._joined, both.classes, both.ordered
        self.several_classes, self.features = both.several_classes, None

    @property
    def cell(self) -> Any:
        return self.reader.cell

    @property
    def arch(self) -> str:
        return self.reader.arch

    @property
    def h0(self) -> Tensor:
        return self.reader.h0

    @property
    def size(self) -> int:
        return self.reader.size

    @property
    def inputs(self) -> int:
        return self.reader.inputs

    @property
    def vocab(self) -> Any:
        return self.reader.vocab

    @property
    def backward(self) -> bool:
        return self.reader.backward

    def forward(self, ids: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The whole network's logits (B,), or (B, C) of C classes."""
        return self.joined(self.reader(ids, lengths), self.other(reverse(ids, lengths), lengths))

    def with_parts(self, cell: Any, h0: Tensor, arch: str) -> Within:
        """The same with another cell and initial state of the reader."""
        new = Within.__new__(Within)
        nn.Module.__init__(new)
        for name in ("joined", "classes", "ordered", "several_classes", "features", "other"):
            setattr(new, name, getattr(self, name))
        new.reader = self.reader.with_parts(cell, h0, arch)
        return new


@in_range("reader")
def within(both: BothWays, direction: str) -> Any:  # Any: it takes the place of a Network in perturbations
    """The whole network, in which perturbations change the reader of one direction."""
    other = both.backwards if direction == "forwards" else both.forwards
    return Within(reader_of(both, direction), other, both)


@in_range("reader")
def reader_of(both: BothWays, direction: str) -> Network:
    """The reader of one direction."""
    return both.forwards if direction == "forwards" else both.backwards


@torch.no_grad()
@in_range("reader")
def replaced(both: BothWays, direction: str, reader: Network) -> BothWays:
    """The whole network with another reader in one direction."""
    halves = (reader, both.backwards) if direction == "forwards" else (both.forwards, reader)
    new = BothWays(*halves, both.b.detach(), both.classes, both.ordered)
    new.target, new.reads = both.target, both.reads
    return new
