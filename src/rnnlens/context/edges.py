"""Edges of documents: words at the beginning and at the end count more (§6, Fig. 9, Supp. E).

Beginning: the trained initial state acts as a modifier, which its barcode shows. End: a valence word moves the logit
further at first than in the long run, and at the end of a review no words follow that would let the transient decay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rnnlens.common.display import Shown
from rnnlens.common.errors import RnnlensError
from rnnlens.common.ranges import in_range
from rnnlens.context.barcodes import Barcode, state_barcode
from rnnlens.context.effects import word_inputs
from rnnlens.context.impulse import responses
from rnnlens.context.probes import Probes
from rnnlens.context.subspace import Subspace
from rnnlens.dynamics import LineAttractor
from rnnlens.dynamics.jacobians import linearise
from rnnlens.dynamics.line_attractor import FORGOTTEN
from rnnlens.dynamics.modes import Spectrum
from rnnlens.networks import Network
from rnnlens.networks.parallel import cores_for, in_parallel


@dataclass(frozen=True, eq=False, repr=False)
class Beginning(Shown):
    """The initial state as a modifier.

    barcode          its barcode
    path             (T+1, R)  its coordinates in the subspace under blank inputs
    distance         (T+1,)    its distance from the line
    interventions    two other initial states: h0 without its first two coordinates in the subspace (projected), and the
                     point of the line nearest to h0 (on_line). moved: the distance from h0; takes_away: the share of
                     the initial state's effect on valence that is gone
    """

    barcode: Barcode
    path: Tensor
    distance: Tensor
    interventions: dict[str, dict[str, float]]

    def to_dict(self) -> dict[str, Any]:
        """For results.json, under `beginning`."""
        return {
            "barcode": self.barcode.to_dict(),
            "path": self.path.tolist(),
            "distance": self.distance.tolist(),
            "interventions": self.interventions,
        }


@torch.no_grad()
@in_range()
def beginning(network: Network, line: LineAttractor, subspace: Subspace, probes: Probes, steps: int = 50) -> Beginning:
    """How the initial state changes the effects of the first words (Fig. 9a, b)."""
    h0 = network.h0.detach()
    states = responses(network, h0, steps)
    own = state_barcode(network, line, h0, "h0", probes)
    two = subspace.components[:2]
    others = {"projected": h0 - ((h0 - subspace.h_star) @ two.t()) @ two, "on_line": line.nearest(h0)}
    interventions = {
        name: {
            "moved": float((h - h0).norm()),
            "takes_away": 1 - state_barcode(network, line, h, name, probes).share / (own.share or 1.0),
        }
        for name, h in others.items()
    }
    return Beginning(own, subspace.project(states), line.distance(states), interventions)


@dataclass(frozen=True, eq=False, repr=False)
class Ending(Shown):
    """Transients of valence words on the readout.

    words        (V,)
    transients   (V, T+1)  the logit after the word and blank inputs, minus that after blank inputs alone
    ratio        (V,)      last divided by first effect: below 1, words at the end count more
    settled      (V,)      steps until the transient has covered 95 % of the way to its last value
    growth                 |λ|^T of the integration mode: the factor by which it grows or decays meanwhile
    modes        the linear modes that carry the transients; None if J_rec has too few eigenvectors (as with a
                 convolution), or more than fit into memory
    """

    words: list[str]
    transients: Tensor
    ratio: Tensor
    settled: Tensor
    growth: float
    modes: EndingModes | None

    @property
    def ratio_over_growth(self) -> float | None:
        """The median ratio without the growth of the integration mode; None where the network forgets, so that what is
        left of both is rounding errors."""
        return None if self.growth < FORGOTTEN else float(self.ratio.median()) / self.growth

    def to_dict(self) -> dict[str, Any]:
        """For results.json, under `ending`."""
        return {
            "words": self.words,
            "transients": self.transients.tolist(),
            "ratio": self.ratio.tolist(),
            "ratio_median": float(self.ratio.median()),
            "growth": self.growth,
            "ratio_over_growth": self.ratio_over_growth,
            "settled_median": float(self.settled.double().median()),
            **({} if self.modes is None else {"modes": self.modes.to_dict()}),
        }


@dataclass(frozen=True, eq=False, repr=False)
class EndingModes(Shown):
    """The modes of Supp. E, in the network linearized at h*.

    timescales (U,), eigenvalues (U,)   of every unit (a real mode or a conjugate pair)
    change     (U,)      mean |change of the logit right after a valence word| on removing the unit
    eligible   (U,)      neither an integrating mode, which keeps its value over T steps, nor a fast modifier mode
    strongest            the two eligible units with the largest change
    course     (2, T+1)  the mean |contribution| of these two over time
    transients (V, T+1)  of the words, and `without` (V, T+1) with these two removed from the state at each step; None
                         where this diverges, since a mode that is far from orthogonal to the others cannot be removed
    """

    modes: Spectrum
    timescales: Tensor
    eigenvalues: Tensor
    change: Tensor
    eligible: Tensor
    strongest: list[int]
    course: Tensor
    words: list[str]
    transients: Tensor
    without: Tensor | None

    def to_dict(self) -> dict[str, Any]:
        """For results.json, under `ending.modes`."""
        return {
            "timescales": [value if value != float("inf") else None for value in self.timescales.tolist()],
            "eigenvalues": torch.view_as_real(self.eigenvalues).tolist(),
            "change": self.change.tolist(),
            "eligible": self.eligible.tolist(),
            "strongest": self.strongest,
            "strongest_timescales": [
                value if value != float("inf") else None for value in self.timescales[self.strongest].tolist()
            ],
            "course": self.course.tolist(),
            "words": self.words,
            "transients": self.transients.tolist(),
            "without": None if self.without is None else self.without.tolist(),
        }


@torch.no_grad()
@in_range()
def ending(
    network: Network,
    line: LineAttractor,
    probes: Probes,
    steps: int = 50,
    fastest: float = 5.0,
    examples: Sequence[str] = ("awesome", "good", "bad", "awful"),
) -> Ending:
    """Transients of the probe words on the readout, and the modes that carry them (Fig. 9c, d; Supp. E).

    fastest: modes with a shorter timescale belong to modifiers; modes slower than `steps` words integrate.
    """
    line.check_blank()
    known = [word for word in examples if network.vocab is not None and word in network.vocab]
    known = known or [*probes.positive[:2], *probes.negative[:2]]
    shown = word_inputs(network, known)
    every = _transients(network, line.h_star, torch.cat([probes.inputs(network), shown]), steps)
    transients, of_shown = every.split([len(probes.words), len(known)])
    first, last = transients[:, 0], transients[:, -1]
    unsettled = (transients - last.unsqueeze(1)).abs() > 0.05 * (first - last).abs().unsqueeze(1).clamp(min=1e-12)
    settled = (unsettled * torch.arange(1, steps + 2, device=unsettled.device)).amax(1)
    return Ending(
        probes.words,
        transients,
        last / torch.where(first == 0, torch.ones_like(first), first),
        settled,
        abs(line.integration_eigenvalue) ** steps,
        _ending_modes(network, line, probes, steps, fastest, (known, shown, of_shown)),
    )


def _transients(
    network: Network, h: Tensor, e: Tensor, steps: int, removed: tuple[Tensor, Tensor] | None = None
) -> Tensor:
    """Logits (V, steps+1) after each word and blank inputs, minus those after blank inputs alone. removed: the left
    (k, N) and right (N, k) eigenvectors of modes that are removed from the deflection from h at every step."""

    def logits_after(inputs: Tensor) -> Tensor:
        states, logits = network.step(h, inputs), []
        for step in range(steps + 1):
            states = network.step(states) if step else states
            if removed is not None:
                left, right = removed
                states = states - (((states - h).to(left) @ left.t()) @ right.t()).real.to(h)
            logits.append(network.logit(states))
        return torch.stack(logits, 1)

    inputs = torch.cat([e.new_zeros(1, network.inputs), e])
    parts = inputs.split(max(8, -(-len(inputs) // cores_for(network))))
    paths = torch.cat(in_parallel(logits_after, parts, network))
    return paths[1:] - paths[:1]


def _ending_modes(
    network: Network,
    line: LineAttractor,
    probes: Probes,
    steps: int,
    fastest: float,
    examples: tuple[list[str], Tensor, Tensor],
) -> EndingModes | None:
    """The modes, or None without any. examples: words, their embeddings (V, D) and their transients (V, steps+1)."""
    try:
        modes = line.modes
        modes.right  # noqa: B018 - made now
    except RnnlensError:  # J_rec is defective, or too large: the modes are lost, not the rest of the analysis
        return None
    first = torch.tensor([unit[0] for unit in modes.units], device=modes.J.device)
    half = Probes(probes.positive[:50], probes.negative[:50])  # the paper's 50 + 50 valence words
    e = half.inputs(network)
    deflections = linearise(network, line.h_star.expand(len(e), -1)).inp(e)
    # Mode a adds (w·r_a) λ_a^t (ℓ_a·J_inp v) to the logit t steps after a word v; here t = 0.
    w = network.readout_at(line.h_star).to(modes.right.dtype)
    at_once = modes.amplitudes(deflections) * (w @ modes.right)  # (V, N)
    change = torch.stack([at_once[:, list(unit)].sum(1).real.abs().mean() for unit in modes.units])
    times = modes.timescales[first]
    integration = torch.tensor([modes.integration in unit for unit in modes.units], device=first.device)
    eligible = ~integration & (times >= fastest) & (times <= steps)  # slower ones integrate too
    strongest = [i for i in change.argsort(descending=True).tolist() if bool(eligible[i])][:2]
    t = torch.arange(steps + 1, device=first.device)
    course = []
    for i in strongest:
        unit = list(modes.units[i])
        powers = modes.eigenvalues[unit].unsqueeze(1) ** t
        course.append((at_once[:, unit] @ powers).real.abs().mean(0))
    known, shown, transients = examples
    rows = [a for i in strongest for a in modes.units[i]]
    without = _transients(network, line.h_star, shown, steps, (modes.left[rows], modes.right[:, rows]))
    return EndingModes(
        modes,
        times,
        modes.eigenvalues[first],
        change,
        eligible,
        strongest,
        torch.stack(course) if course else change.new_zeros(0, steps + 1),
        known,
        transients,
        without if bool((without.abs() <= 100 * transients.abs().max()).all()) else None,  # also for NaN
    )
