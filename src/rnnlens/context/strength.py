"""How strongly a word modifies those that follow it, as far as it lasts, and how sure one may be of it.

strength  by how much the effects of strong probe words, full and as they will read some words later, are larger or
          smaller after the word than after a blank input, as a share: −1 takes valence away, −2 flips it. What shows in
          the readout at once and is soon forgotten, as much does after strong words, is left out, and so is what words
          of the same valence show on average.
sure      the strength less what words of like valence show by chance (1.5 standard deviations of them), and shrunk by
          how little the network has seen of the word: n/(n + prior) of it for a word seen n times.

Both were chosen on synthetic languages other than those that docs/validation.md reports.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from rnnlens.context.effects import effects
from rnnlens.context.probes import Probes
from rnnlens.dynamics.jacobians import linearise
from rnnlens.networks import Network

PRIOR = 100.0  # how many occurrences outweigh the belief that a word modifies nothing
STRONG = 25  # probes of each side, the first: those whose valence is surest
LATER = 10  # words after which an effect is said to last
CHANCE = 1.5  # standard deviations of what words of like valence show by chance
GROUP = 250  # words of like valence that are compared; fewer at the ends, where valence changes fast


@torch.no_grad()
def lasting(network: Network, h: Tensor, later: int = LATER) -> Tensor:
    """A readout (N,) of what the logit will be some steps later: wᵀ J_rec(h)^later, for deflections from h (N,)."""
    at, read = linearise(network, h.unsqueeze(0)), network.w.unsqueeze(0)
    for _ in range(later):
        read = at.rec_T(read)
    return read[0]


@torch.no_grad()
def strengths(network: Network, h: Tensor, ids: Tensor, probes: Probes) -> tuple[Tensor, Tensor]:
    """Of words (M,) read at h (N,): by how much the probes' lasting contrast changes, as a share, and the words' own
    lasting effects; nothing is corrected yet."""
    assert network.E is not None
    read, e = lasting(network, h), network.E.detach()[ids]
    strong = probes.first(STRONG)
    after = network.step(h.expand(len(ids) + 1, -1), torch.cat([e, e.new_zeros(1, network.inputs)]))
    contrast = strong.contrast(effects(network, after, strong.inputs(network), read))
    return contrast[:-1] / contrast[-1] - 1, effects(network, h, e, read)


def beyond_valence(strength: Tensor, valence: Tensor) -> Tensor:
    """Strengths (M,) less the median of words of like valence, where there are enough words to tell."""
    if len(strength) < 4 * GROUP:
        return strength
    x, y = valence.double().cpu().numpy(), strength.double().cpu().numpy()
    groups = [rows for rows in np.split(np.argsort(x, kind="stable"), _cuts(len(x))) if len(rows)]
    at, usual = [np.median(x[rows]) for rows in groups], [np.median(y[rows]) for rows in groups]
    return strength - torch.as_tensor(np.interp(x, at, usual)).to(strength)


def sure_scores(strength: Tensor, valence: Tensor, counts: Tensor | None, prior: float = PRIOR) -> Tensor:
    """What of strengths (M,) is beyond chance, given the spread of words of like size of valence; shrunk by counts."""
    if len(strength) >= 4 * GROUP:
        x, y = valence.double().abs().cpu().numpy(), strength.double().cpu().numpy()
        groups = np.array_split(np.argsort(x, kind="stable"), len(x) // GROUP)
        at = [np.median(x[rows]) for rows in groups]
        spread = [np.median(np.abs(y[rows] - np.median(y[rows]))) / 0.6745 for rows in groups]
        chance = CHANCE * torch.as_tensor(np.interp(x, at, spread)).to(strength)
        strength = strength.sign() * (strength.abs() - chance).clamp(min=0)
    return strength if counts is None else strength * (counts / (counts + prior)).to(strength)


def _cuts(n: int) -> list[int]:
    """Where to cut n sorted words into groups: small ones at both ends, growing to GROUP towards the middle."""
    cuts, size = [0], 20
    while cuts[-1] + size < n // 2:
        cuts.append(cuts[-1] + size)
        size = min(GROUP, int(1.3 * size) + 1)
    return sorted({*cuts[1:], *(n - cut for cut in cuts[1:])})
