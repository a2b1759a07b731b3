"""A start that remembers: for languages in which few words matter, far apart.

As made, a network forgets within a few words, and every word stirs it as much as any other: where one word in thirty
has valence, there is hardly a gradient to follow.
"""

from __future__ import annotations

import math

import torch

from rnnlens.networks.network import Network

GATED = ("gru", "lstm", "ugrnn")  # the second of their stacked gates is the one that keeps


@torch.no_grad()
def remember(network: Network, words: float = 100.0, spread: float = 0.1, seed: int = 0) -> Network:
    """Let an untrained network begin with units that keep for 1 … `words` words, evenly in the logarithm, and with
    embedded words of this standard deviation; in place, and returned. A vanilla network has no gates: only its words
    are made small."""
    generator = torch.Generator().manual_seed(seed)
    assert network.E is not None
    network.E.mul_(spread)
    if network.arch in GATED:
        # σ(log T) = T/(T + 1): of a unit's state this share stays at every step, so it is gone after about T of them.
        hidden = network.cell.hidden
        gate = slice(hidden, 2 * hidden)
        network.cell.b[gate] = math.log(words) * torch.rand(hidden, generator=generator)
        network.cell.c[gate] = 0.0
        if network.arch == "lstm":  # and takes in as much as it lets go
            network.cell.b[:hidden] = -network.cell.b[gate]
            network.cell.c[:hidden] = 0.0
    return network
