"""What steering does: accuracy on reviews, and how strongly modifiers modify, against the gain.

Accuracies are paired with those at gain 1, on the same reviews. The modification at a gain g is

    Σ_i sign(s_i(1)) s_i(g) / Σ_i |s_i(1)|

over modifiers i, where s_i(g) is the strength of a word in the steered network. It is 1 as the network is, 0 if
modifiers change nothing, 2 if they change twice as much, and below 0 if they act the other way. Its interval is a
bootstrap over modifiers.

Controls steer along as many random directions, and along as many directions in which other common words move the state.
Words write far more into the latter than into random ones: they show whether a loss of accuracy comes from modification
or from any change of what words write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rnnlens.common.display import Shown
from rnnlens.common.ranges import in_range
from rnnlens.context.effects import effects
from rnnlens.context.modifiers import MOST, Modifiers
from rnnlens.context.perturbation import Difference, Reviews, compare_logits, final_logits
from rnnlens.context.strength import ENOUGH
from rnnlens.context.subspace import Subspace, random_subspace, steer_each
from rnnlens.networks import Network, Within
from rnnlens.networks.steered import steered

GAINS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
CONTROL_GAINS = (0.0, 0.5, 1.0, 1.5, 2.0)  # fewer, since every draw reads the reviews again at each
DRAWS = 3  # of random directions


@dataclass(frozen=True)
class Dose(Shown):
    """What one gain does. modification, interval: None for a network without clear modifiers."""

    gain: float
    accuracy: Difference
    modification: float | None
    interval: tuple[float, float] | None

    def to_dict(self) -> dict[str, Any]:
        interval = None if self.interval is None else list(self.interval)
        return {**vars(self), "accuracy": self.accuracy.to_dict(), "interval": interval}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Dose:
        measured, ends = stored["modification"], stored["interval"]
        return cls(
            float(stored["gain"]),
            Difference.from_dict(stored["accuracy"]),
            None if measured is None else float(measured),
            None if ends is None else (float(ends[0]), float(ends[1])),
        )


Doses = tuple[Dose, ...]


@dataclass(frozen=True)
class Steering(Shown):
    """Accuracy and modification against the gain.

    rank     of the subspace
    words    number of modifiers in the mean
    doses    at each gain, along the modifier subspace
    random   the same along random directions (orthogonal to the line), several draws
    others   the same along the directions of other common words, several draws
    """

    rank: int
    words: int
    doses: Doses
    random: tuple[Doses, ...]
    others: tuple[Doses, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """For results.json, under `steering`."""
        return {
            "rank": self.rank,
            "words": self.words,
            "doses": [dose.to_dict() for dose in self.doses],
            "random": [[dose.to_dict() for dose in draw] for draw in self.random],
            "others": [[dose.to_dict() for dose in draw] for draw in self.others],
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Steering:
        def doses(some: Sequence[Mapping[str, Any]]) -> Doses:
            return tuple(Dose.from_dict(dose) for dose in some)

        random, others = (tuple(doses(draw) for draw in stored[name]) for name in ("random", "others"))
        return cls(stored["rank"], stored["words"], doses(stored["doses"]), random, others)

    def __str__(self) -> str:
        """One line: accuracy and modification at the gains 0, 0.5, 1 and 2."""
        shown = [dose for dose in self.doses if dose.gain in (0, 0.5, 1, 2)]
        accuracies = ", ".join(f"{100 * dose.accuracy.accuracy:.1f}" for dose in shown)
        return f"{accuracies} % right, modification {', '.join(map(_times, shown))}"


def _times(dose: Dose) -> str:
    return "–" if dose.modification is None else f"×{dose.modification:.2f}".replace("-", "−")


@in_range("perturb")
def dose_response(
    network: Network,
    subspace: Subspace,
    modifiers: Modifiers,
    reviews: Reviews,
    *,
    gains: Sequence[float] = GAINS,
    control_gains: Sequence[float] = CONTROL_GAINS,
    draws: int = DRAWS,
    others: Sequence[Subspace] = (),
    seed: int = 0,
    before: np.ndarray | None = None,
) -> Steering:
    """Steer a network along its modifier subspace, along random directions and along the subspaces of other words.

    modifiers: the table of words, whose clear modifiers (at most 400) are averaged. draws: of random directions, each
    with as many as the subspace has. others: control subspaces, of which those of at least the same rank are used.
    before: the network's own final logits, if they are known."""
    rows = modifiers.selected[:MOST]
    usual = final_logits(network, reviews) if before is None else before
    # Strengths are of one logit, and of one reader.
    one = modifiers.network if network.several_classes or isinstance(network, Within) else network

    random = random_directions(network, subspace, draws, seed)
    fitted = [other.take(subspace.rank).components for other in others if other.rank >= subspace.rank]
    along = [(subspace.components, gains), *((V, control_gains) for V in (*random, *fitted))]
    changed = [(V, gain) for V, at in along for gain in at if gain != 1]
    logits = iter(final_logits(steer_each(network, changed), reviews) if changed else ())
    found: list[Doses] = []
    for V, at in along:
        measured = modifications(steered_strengths(one, modifiers, rows, V, at), at, seed)
        after = [compare_logits(usual, usual if gain == 1 else next(logits), reviews.labels) for gain in at]
        found.append(tuple(Dose(float(g), d, *m) for g, d, m in zip(at, after, measured, strict=True)))
    return Steering(subspace.rank, len(rows), found[0], tuple(found[1 : 1 + draws]), tuple(found[1 + draws :]))


def random_directions(network: Network, subspace: Subspace, draws: int = DRAWS, seed: int = 0) -> list[Tensor]:
    """Orthonormal rows (R, N), as many as the subspace has and orthogonal to the line, drawn several times."""
    generator = torch.Generator().manual_seed(seed)
    drawn = (random_subspace(network.size, subspace.rank, generator, subspace.line) for _ in range(draws))
    return [V.to(network.h0) for V in drawn]


@torch.no_grad()
def steered_strengths(
    network: Network, modifiers: Modifiers, rows: Tensor, V: Tensor, gains: Sequence[float]
) -> np.ndarray:
    """Strengths (gains, M) of rows of the table in the network steered along the orthonormal rows of V (R, N): those of
    `strengths(steer(network, V, gain), …)`, from steps of the network itself."""
    h_star, h_mod, probes = modifiers.line.h_star, modifiers.after(rows), modifiers.probes.some(ENOUGH)
    e, written, found = probes.inputs(network), (h_mod - network.step(h_star)) @ V.t(), []
    for gain in gains:
        if network.features is None:
            # The steered readout of a step, w·[F'(h, v) − F'(h, 0)], is that of F along w + (gain − 1) Vᵀ V w.
            stepped, read = network, network.w + (gain - 1) * (network.w @ V.t()) @ V
        else:
            stepped, read = steered(network, V, gain), None
        after = effects(stepped, h_mod + (gain - 1) * written @ V, e, read)
        found.append(probes.contrast(after) / probes.contrast(effects(stepped, h_star, e, read)) - 1)
    return torch.stack(found).double().cpu().numpy()


def modifications(
    strengths: np.ndarray, gains: Sequence[float], seed: int = 0, draws: int = 2_000
) -> list[tuple[float | None, tuple[float, float] | None]]:
    """The modification at each gain, with its 95 % interval over modifiers, from strengths (gains, M); one of the gains
    is 1."""
    size = strengths.shape[1]
    if not size:
        return [(None, None)] * len(gains)
    usual = strengths[list(gains).index(1)]
    along = np.sign(usual) * strengths  # (gains, M)
    chosen = np.random.default_rng(seed).multinomial(size, np.full(size, 1 / size), size=draws)  # (draws, M)
    means = (chosen @ along.T) / (chosen @ np.abs(usual))[:, None]
    low, high = np.quantile(means, [0.025, 0.975], axis=0)
    values = along.sum(1) / np.abs(usual).sum()
    return [(float(m), (float(a), float(b))) for m, a, b in zip(values, low, high, strict=True)]
