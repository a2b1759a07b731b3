"""A start that remembers: units that hold on to what they read for a while, before anything is learnt.

As made, a network forgets within a few words, and what stood at a text's beginning hardly reaches the gradient.
"""

from __future__ import annotations

import math
from typing import Any

import torch

GATED = ("gru", "lstm", "ugrnn")  # the second of their stacked gates is the one that keeps


@torch.no_grad()
def hold(cell: Any, arch: str, words: float, generator: torch.Generator) -> None:
    """Let the units of a fresh cell keep their state for 1 … `words` words, evenly in the logarithm, in place.

    Gates are biased for it (as in Tallec & Ollivier 2018). A vanilla cell has none: its units are made leaky sums of
    their own input, with nothing from each other.
    """
    keeps = math.log(words) * torch.rand(cell.hidden, generator=generator)  # log T
    if arch not in GATED:
        cell.U.copy_(torch.diag(torch.sigmoid(keeps)))
        cell.b.zero_(), cell.c.zero_()
        return
    # σ(log T) = T/(T + 1): of a unit's state this share stays at every step, so it is gone after about T of them.
    gate = slice(cell.hidden, 2 * cell.hidden)
    cell.b[gate], cell.c[gate] = keeps, 0.0
    if arch == "lstm":  # and takes in as much as it lets go
        cell.b[: cell.hidden], cell.c[: cell.hidden] = -keeps, 0.0
