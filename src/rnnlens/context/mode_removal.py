"""Which linear modes carry a modifier: remove them from the state, and measure what remains of its effect (Supp. A.4).

A modifier deflects the state from h* on the line to h_mod, where words have other effects. Removing the modes that
carry the deflection should bring these effects back to those at h*.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor

from rnnlens.common.display import Shown
from rnnlens.common.errors import RnnlensError
from rnnlens.common.ranges import in_range
from rnnlens.common.rows import chosen_rows
from rnnlens.context.effects import check_expansion, effects
from rnnlens.dynamics.inputs import check_states
from rnnlens.dynamics.jacobians import linearise, readout_after
from rnnlens.dynamics.modes import Modes, Spectrum, linear_modes
from rnnlens.networks import Network

Kind = Literal["biorthogonal", "orthogonal"]
Order = Literal["single", "greedy"]
What = Literal["state", "input"]


@dataclass(frozen=True, eq=False, repr=False)
class ModeRemoval(Shown):
    """What remains of a modifier's effect as modes are removed, one unit (a real mode or a conjugate pair) at a time.

    units          (R,)     the units in the order of their removal, as numbers into `modes.units`
    remaining      (R+1,)   ‖effects − effects at h*‖, divided by its value with nothing removed: 1 at first, 0 if all
                            of the effect is gone
    effects        (R+1, V) the words' effects after each removal, first those at h_mod
    reference      (V,)     the words' effects at h*, without the modifier
    random         (draws, R+1)  `remaining` for random units
    rotated        (draws, R+1)  `remaining` for the modes of a randomly rotated network, Q J Qᵀ, chosen in the same
                            way: as oblique as the true ones, but in random directions. It shows how much of the result
                            is due to choosing the best units
    size           (R+1,)   length of the remaining deflection, as a share of the whole. Modes are oblique: removing
                            some often makes it longer, and takes the state to where the network never is
    """

    modes: Spectrum
    kind: Kind
    order: Order
    what: What
    units: list[int]
    remaining: Tensor
    effects: Tensor
    reference: Tensor
    random: Tensor
    rotated: Tensor
    size: Tensor

    def to_dict(self) -> dict[str, Any]:
        chosen = [self.modes.units[i] for i in self.units]
        values = self.modes.eigenvalues[[unit[0] for unit in chosen]]
        return {
            "kind": self.kind,
            "order": self.order,
            "what": self.what,
            "units": [list(unit) for unit in chosen],
            "eigenvalues": torch.view_as_real(values).tolist(),
            "remaining": self.remaining.tolist(),
            "effects": self.effects.tolist(),
            "reference": self.reference.tolist(),
            "random_remaining": self.random.tolist(),
            "rotated_remaining": self.rotated.tolist(),
            "size": self.size.tolist(),
        }


@torch.no_grad()
@in_range("mode_removal")
def mode_removal(
    network: Network,
    h_mod: Tensor,
    h_star: Tensor,
    e: Tensor,
    modes: Spectrum | None = None,
    *,
    kind: Kind = "biorthogonal",
    order: Order = "single",
    what: What = "state",
    units: Sequence[int] | None = None,
    most: int = 10,
    draws: int = 40,
    seed: int = 0,
) -> ModeRemoval:
    """Remove modes of J_rec(h*) after a modifier, and measure the effects of embedded words e (V, D).

    kind   biorthogonal removes r ℓᵀΔh, orthogonal the projection on ℓ (see `remove_modes`); results differ.
    order  single: by how much removing each unit alone changes the effects (the paper's order); greedy: next comes
           the unit whose removal, together with those before it, leaves the smallest remainder.
    what   state: remove from h_mod − h*, then take the full step (Supp. A.4); input: remove from J_inp(h_mod) v, then
           read out, to first order (§4). The integration mode is then kept: without it no word has an effect.
    units  the units to remove, in this order; by default they are chosen, `most` at most.
    draws  number of draws of random units; a quarter as many of rotated modes.
    """
    check_states(network, one=True, h_mod=h_mod, h_star=h_star)
    check_expansion(network, h_star, e)
    modes = linear_modes(network, h_star) if modes is None else modes
    _check(network, modes)
    given = None if units is None else chosen_rows("units", units, len(modes.units), "units").tolist()
    most = min(most, len(modes.units))
    deflection, measure, reference = _measurement(network, h_mod, h_star, e, what)
    whole = measure(deflection)
    size = (whole - reference).norm()
    if not size > 1e-6 * reference.norm():
        raise RnnlensError("the words have the same effects at h_mod as at h*: expected the state after a modifier")

    def left(basis: Spectrum, sets: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """The words' effects without each set of units, (sets, V), and the remaining share of the change, (sets,)."""
        changed = measure(_without(deflection, basis, sets, kind))
        return changed, (changed - reference).norm(dim=-1) / size

    def curve(basis: Spectrum, removed: Sequence[int]) -> tuple[Tensor, Tensor]:
        return left(basis, [removed[:k] for k in range(len(removed) + 1)])

    candidates = [i for i, unit in enumerate(modes.units) if what == "state" or modes.integration not in unit]

    def ordered(basis: Spectrum) -> list[int]:
        return _ordered(partial(left, basis), candidates, whole, order, most)

    chosen = ordered(modes) if given is None else given
    words_effects, remaining = curve(modes, chosen)
    generator = torch.Generator().manual_seed(seed)
    random, rotated = [], []
    for _ in range(draws):
        random.append(curve(modes, torch.randperm(len(modes.units), generator=generator)[: len(chosen)].tolist())[1])
    for _ in range(max(1, draws // 4)):
        other = _rotated(modes, generator)
        rotated.append(curve(other, ordered(other) if given is None else chosen)[1])
    remainders = _without(deflection, modes, [chosen[:k] for k in range(len(chosen) + 1)], kind)
    return ModeRemoval(
        modes,
        kind,
        order,
        what,
        chosen,
        remaining,
        words_effects,
        reference,
        torch.stack(random),
        torch.stack(rotated),
        remainders.flatten(1).norm(dim=1) / deflection.norm(),
    )


def _ordered(
    left: Callable[[Sequence[Sequence[int]]], tuple[Tensor, Tensor]],
    candidates: Sequence[int],
    whole: Tensor,
    order: Order,
    most: int,
) -> list[int]:
    """At most `most` units in the order of their removal. left: the words' effects (sets, V) without each set of units,
    and the remaining share of the change (sets,). whole (V,): the effects with all units."""
    if order == "single":
        change = (left([[i] for i in candidates])[0] - whole).norm(dim=-1)
        return [candidates[i] for i in change.argsort(descending=True)[:most].tolist()]
    chosen: list[int] = []
    while len(chosen) < min(most, len(candidates)):
        rest = [i for i in candidates if i not in chosen]
        chosen.append(rest[int(left([[*chosen, i] for i in rest])[1].argmin())])
    return chosen


def _check(network: Network, modes: Spectrum) -> None:
    if len(modes) != network.size:
        raise RnnlensError(
            f"the modes are of states with {len(modes)} numbers, and those of the network have {network.size}: "
            "expected modes of the same network; take them with linear_modes(network, h_star)"
        )
    if modes.inputs is not None and bool(modes.inputs.any()):
        raise RnnlensError(
            "the modes were taken at an input that is not blank: expected modes at the blank input, where the effects "
            "of words are measured; take them with linear_modes(network, h_star)"
        )


def _without(deflection: Tensor, modes: Spectrum, sets: Sequence[Sequence[int]], kind: Kind) -> Tensor:
    """Deflections (..., N) with each set of units removed, (sets, ..., N): `remove_modes` for many sets at once."""
    rows = [[a for i in units for a in modes.units[i]] for units in sets]
    if kind == "biorthogonal":
        mask = torch.zeros(len(sets), len(modes), dtype=modes.right.dtype, device=modes.right.device)
        for k, removed in enumerate(rows):
            mask[k, removed] = 1
        amplitudes = modes.amplitudes(deflection)
        mask = mask.reshape(len(sets), *[1] * (amplitudes.ndim - 1), len(modes))
        return deflection - ((mask * amplitudes) @ modes.right.t()).real
    # L has the directions ℓ of each set as rows, padded with zeros: Δh − Lᵀ (L Lᵀ)⁺ L Δh.
    L = torch.zeros(len(sets), max(map(len, rows)), len(modes), dtype=modes.J.dtype, device=modes.J.device)
    for k, units in enumerate(sets):
        if units:
            directions = torch.cat([modes.spans[i] for i in units], 1).t()
            L[k, : len(directions)] = directions
    flat = deflection.reshape(-1, len(modes)).t()  # (N, V)
    part = L.mT @ (torch.linalg.pinv(L @ L.mT, hermitian=True) @ (L @ flat))
    return deflection - part.mT.reshape(len(sets), *deflection.shape)


def _rotated(modes: Spectrum, generator: torch.Generator) -> Modes:
    """The modes of Q J Qᵀ for a random rotation Q: the same eigenvalues and the same angles between each other."""
    random = torch.randn(len(modes), len(modes), generator=generator, dtype=modes.J.dtype).to(modes.J)
    Q = torch.linalg.qr(random)[0]
    rotation = Q.to(modes.right.dtype)
    right, left = rotation @ modes.right, modes.left @ rotation.t()
    return Modes(modes.eigenvalues, right, left, Q @ modes.J @ Q.t(), modes.units, modes.inputs)


def _measurement(
    network: Network, h_mod: Tensor, h_star: Tensor, e: Tensor, what: What
) -> tuple[Tensor, Callable[[Tensor], Tensor], Tensor]:
    """The deflection that modes are removed from, a function from what is left of it to the words' effects (V,), and
    the effects at h*."""
    if what == "state":

        def after_removal(left: Tensor) -> Tensor:
            return effects(network, h_star + left.to(h_star.dtype), e).double()

        return (h_mod - h_star).double(), after_removal, effects(network, h_star, e).double()
    at_star, at_mod = (linearise(network, h.expand(len(e), -1)).inp(e).double() for h in (h_star, h_mod))
    w = readout_after(network, h_star).double()
    return at_mod, lambda left: left @ w, at_star @ w
