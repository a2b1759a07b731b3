"""Initial time constants: units that remember for many words already before training.

With torch's initial weights a network forgets within a few words, and the beginning of a text hardly affects the
gradient.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from rnnlens.networks.residual import ResidualStack
from rnnlens.networks.stack import Stack

GATED = ("gru", "lstm", "ugrnn")  # the second of their stacked gates keeps the state


@torch.no_grad()
def set_time_constants(cell: Any, arch: str, words: float, generator: torch.Generator) -> None:
    """Give the units of an untrained cell time constants, log-uniform from 1 to `words` words, in place.

    This sets the biases of gates (as in Tallec & Ollivier 2018). A vanilla cell has no gates: its units become leaky
    sums of their own input, without connections between them. Of several layers, each gets them.
    """
    if isinstance(cell, Stack):
        for layer in cell.layers:
            set_time_constants(layer, arch, words, generator)
        return
    log_T = math.log(words) * torch.rand(cell.hidden, generator=generator)
    if isinstance(cell, ResidualStack):
        cell.remember(log_T)
        return
    if arch not in GATED:
        cell.U.copy_(torch.diag(torch.sigmoid(log_T)))
        cell.b.zero_(), cell.c.zero_()
        return
    # A unit keeps the share σ(log T) = T/(T + 1) of its state at every step, so its time constant is about T.
    gate = slice(cell.hidden, 2 * cell.hidden)
    cell.b[gate], cell.c[gate] = log_T, 0.0
    if arch == "lstm":  # the input gate takes in as much as the forget gate drops
        cell.b[: cell.hidden], cell.c[: cell.hidden] = -log_T, 0.0
