"""How does a network modify? The strength of a modifier, attributed to what changes in the next word's own step.

In the last layer of a linear recurrence the next word v makes h' = a∘h + b, and y = read(h') is read out. After a
modifier v may keep another share a of the state, write another b, find another state h, or be read through another
gate. Each of these is taken from the run with the modifier or from the run without it; shares are Shapley values, as in
`attribution`.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.ranges import in_range
from rnnlens.context.attribution import Attribution, Measure, shared_out
from rnnlens.context.effects import word_inputs
from rnnlens.context.probes import Probes
from rnnlens.dynamics.inputs import given_states
from rnnlens.networks import Network
from rnnlens.networks.residual import ResidualStack

PARTS = ["keeps", "writes", "state", "reads"]


@torch.no_grad()
@in_range("attribute")
def attribute_step(
    network: Network, states: Tensor, words: Sequence[str], probes: Probes, *, draws: int = 1000, seed: int = 0
) -> Attribution:
    """Attribute the strengths of words to what the next word does in the last layer: how much of the state it keeps
    (`keeps`), what it writes (`writes`), what it finds there (`state`) and, for Mamba and RG-LRU, how the state is read
    out (`reads`). Only for networks of linear recurrences; arguments as for `attribute`."""
    cell = network.cell
    if not isinstance(cell, ResidualStack):
        raise RnnlensError(
            f"a network of kind {quoted(network.arch)} has no step that is linear in the state: expected mingru, "
            "minlstm, mamba or rglru"
        )
    network.check_one_logit("an attribution")
    states, probes = given_states(network, states), probes.known_to(network)
    layer, e = cell.layers[-1], probes.inputs(network)
    inputs = torch.cat([e.new_zeros(1, network.inputs), e])

    def pieces(h: Tensor) -> tuple[Tensor, ...]:
        """a, b, h, c and x of every pair of a state and an input, (K, V+1, ·)."""
        return cell.last_step(h.unsqueeze(1).expand(-1, len(inputs), -1), inputs.expand(len(h), -1, -1))

    without = pieces(states)

    def exchanged(word: Tensor) -> Measure:
        after = pieces(network.step(states, word))

        def value(chosen: frozenset[int]) -> Tensor:
            a, b, h = ((after if part in chosen else without)[part] for part in range(3))
            _, _, _, c, x = after if 3 in chosen else without
            logits = network._read_out(layer.read(a * h + b, c, x)).double()
            return logits[:, 1:] - logits[:, :1]

        return value

    parts = PARTS if cell.slot else PARTS[:3]
    measures = [exchanged(word) for word in word_inputs(network, list(words))]
    return shared_out(list(words), parts, measures, probes, draws, seed)
