"""How blank inputs (x = 0) change the reading, from the states that a network visits.

Every analysis expands the network at the blank input, so the network must keep its reading there. The first blank
inputs after a word change the reading in any network, because a word's effect is larger at first than in the long run
(§6.2). A change that continues after these transients means that the network was not trained for blank inputs, or that
it forgets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rnnlens.common.display import Shown, percent
from rnnlens.common.ranges import in_range
from rnnlens.context.impulse import rest
from rnnlens.dynamics.inputs import given_states
from rnnlens.dynamics.line_attractor import BLANKS, FORGOTTEN
from rnnlens.networks import Network

TRAINING = (
    "Try training with more word dropout, or with blank inputs in the texts (`rnnlens train --blanks 100`); a network "
    "trained with `--start` keeps both as they were"
)


@dataclass(frozen=True)
class BlankInput(Shown):
    """How far blank inputs move the logit, on average over visited states.

    first   mean |change of the logit| over the first 50 blank inputs: transients, and any drift
    then    the same over 50 more, after the transients: drift alone
    spread  standard deviation of the logit over the states after 0, 50 and 100 blank inputs
    """

    first: float
    then: float
    spread: Sequence[float]

    @property
    def limit(self) -> float:
        """The largest drift without a warning: a tenth of the spread of the readings after the first 50 blank inputs.
        Multiplying the readout by a number changes drift and limit by the same factor.

        The readings of networks for reviews spread by 2 to 4 logits, so the limit is about 0.3 logits. If the first
        blank inputs remove nearly all of the spread, no reading is left that could drift: the limit is at least a
        hundredth of the spread before them."""
        return max(0.1 * self.spread[1], 0.01 * self.spread[0])

    @property
    def drifts(self) -> bool:
        """Whether the drift is above the limit, so that measurements at the blank input are unreliable."""
        return self.then > self.limit

    @property
    def forgets(self) -> bool:
        """Whether 50 blank inputs remove nearly all differences between readings. The slow points then lie together:
        the network has no line attractor, even if a curve through them explains their (tiny) variance."""
        return self.spread[1] < FORGOTTEN * self.spread[0]

    def forgetting(self) -> str:
        """The warning for a network that forgets."""
        left = self.spread[1] / self.spread[0]
        return (
            f"the network forgets: {BLANKS} blank inputs leave {percent(left, 0)} of the outputs' standard deviation, "
            f"so the slow points lie together and there is no line attractor. {TRAINING}"
        )

    def warning(self) -> str:
        """The warning for a network that drifts."""
        drift, spread = (f"{float(f'{x:.2g}'):g}" for x in (self.then, self.spread[1]))
        return (
            f"the output drifts {drift} logits over {BLANKS} blank inputs after transients (the outputs' standard "
            f"deviation is {spread}): strengths, subspace and timescales are unreliable. {TRAINING}"
        )

    @classmethod
    def of(cls, logits: Tensor) -> BlankInput:
        """From the logits (3, K) of visited states after 0, 50 and 100 blank inputs."""
        logits = logits.double()
        first, then = (logits[1:] - logits[:-1]).abs().mean(1).tolist()
        return cls(first, then, logits.std(1, correction=0).tolist())

    def to_dict(self) -> dict[str, Any]:
        """For results.json, under `blank_input`."""
        return {"first": self.first, "then": self.then, "spread": list(self.spread)}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> BlankInput:
        """The record from the result of `to_dict`; text in place of a number is a ValueError or TypeError."""
        before, between, after = map(float, stored["spread"])
        return cls(float(stored["first"]), float(stored["then"]), [before, between, after])

    def summary(self) -> str:
        """The numbers in one line."""
        before, between, after = self.spread
        return (
            f"the first {BLANKS} change the reading by {self.first:.2f} on average, {BLANKS} more by {self.then:.2f} "
            f"(spread {before:.1f}, then {between:.1f}, then {after:.1f})"
        )


@torch.no_grad()
@in_range()
def blank_input(network: Network, states: Tensor) -> BlankInput:
    """Read 100 blank inputs from visited states (..., N): how far the first 50 and the next 50 move the logit."""
    return BlankInput.of(rest(network, given_states(network, states), (0, BLANKS, 2 * BLANKS))[0])
