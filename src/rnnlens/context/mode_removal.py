"""Which linear modes carry a modifier: take them out of the state, and see what is left of its effect (Supp. A.4).

The state after a modifier, h_mod, is a deflection from a point of the line, h*. It matters because words have other
effects there; taking out the modes that carry it should bring their effects back to those at h*.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor

from rnnlens.context.effects import effects
from rnnlens.dynamics.jacobians import linearise
from rnnlens.dynamics.modes import Modes, linear_modes, remove_modes
from rnnlens.errors import RnnlensError, quoted
from rnnlens.networks import Network

Kind = Literal["biorthogonal", "orthogonal"]
Order = Literal["single", "greedy"]
What = Literal["state", "input"]


@dataclass(frozen=True, eq=False)
class ModeRemoval:
    """What is left of a modifier's effect as modes are removed one unit (a real mode or a conjugate pair) at a time.

    units          (R,)     the units in the order of their removal, as numbers into `modes.units`
    remaining      (R+1,)   ‖effects − effects at h*‖ / ‖the same, nothing removed‖: 1 at first, 0 with nothing left
    effects        (R+1, V) the words' effects after each removal, those of the untouched h_mod first
    reference      (V,)     their effects at h*, without the modifier
    single         (U,)     what is left when one unit alone is removed
    random         (draws, R+1)  `remaining` for random units in their place
    random_basis   (draws, R+1)  `remaining` for the best directions of a random basis, chosen in the same way: what
                            choosing alone achieves
    """

    modes: Modes
    kind: Kind
    order: Order
    what: What
    units: list[int]
    remaining: Tensor
    effects: Tensor
    reference: Tensor
    single: Tensor
    random: Tensor
    random_basis: Tensor

    def destroyed(self, most: int) -> float:
        """The largest share of the effect that removing at most this many units destroys."""
        return float(1 - self.remaining[: most + 1].min())

    def results(self) -> dict[str, Any]:
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
            "random_basis_remaining": self.random_basis.tolist(),
        }


@torch.no_grad()
def mode_removal(
    network: Network,
    h_mod: Tensor,
    h_star: Tensor,
    e: Tensor,
    modes: Modes | None = None,
    *,
    kind: Kind = "biorthogonal",
    order: Order = "single",
    what: What = "state",
    most: int = 10,
    draws: int = 40,
    seed: int = 0,
) -> ModeRemoval:
    """Remove modes of J_rec(h*) after a modifier, and measure what words e (V, D) then do.

    kind   biorthogonal takes out r ℓᵀΔh, orthogonal the projection on ℓ (see `remove_modes`); results differ.
    order  single: units by how much the removal of each alone changes the effect (the paper's); greedy: each next one
           is that whose removal, with those before it, leaves least.
    what   state: out of h_mod − h*, then the full step (Supp. A.4); input: out of J_inp(h_mod) v, then the readout, to
           first order (§4). Units are removed `most` at most; controls are drawn `draws` times.
    """
    if order not in ("single", "greedy"):
        raise RnnlensError(f"order is {quoted(order)}: expected single or greedy")
    if what not in ("state", "input"):
        raise RnnlensError(f"what is {quoted(what)}: expected state or input")
    modes = modes or linear_modes(network, h_star)
    most = min(most, len(modes.units))
    deflection, measure, reference = _measurement(network, h_mod, h_star, e, what)
    whole = measure(deflection)
    size = (whole - reference).norm()
    if not size > 1e-6 * reference.norm():
        raise RnnlensError("the words have the same effects at h_mod as at h*: there is no modification to remove")

    def left(basis: Modes, sets: Sequence[Sequence[int]], kind: Kind = kind) -> tuple[Tensor, Tensor]:
        """The words' effects without each set of units, (sets, V), and what remains of the modification, (sets,)."""
        found = measure(_without(deflection, basis, sets, kind))
        return found, (found - reference).norm(dim=-1) / size

    def curve(basis: Modes, chosen: Sequence[int], kind: Kind = kind) -> tuple[Tensor, Tensor]:
        return left(basis, [chosen[:k] for k in range(len(chosen) + 1)], kind)

    def ordered(basis: Modes, kind: Kind = kind) -> tuple[list[int], Tensor]:
        everyone = range(len(basis.units))
        found, single = left(basis, [[i] for i in everyone], kind)
        if order == "single":
            return (found - whole).norm(dim=-1).argsort(descending=True)[:most].tolist(), single
        chosen: list[int] = []
        while len(chosen) < most:
            rest = [i for i in everyone if i not in chosen]
            chosen.append(rest[int(left(basis, [[*chosen, i] for i in rest], kind)[1].argmin())])
        return chosen, single

    units, single = ordered(modes)
    found, remaining = curve(modes, units)
    generator = torch.Generator().manual_seed(seed)
    random = [
        curve(modes, torch.randperm(len(modes.units), generator=generator)[:most].tolist())[1] for _ in range(draws)
    ]
    best = []
    for _ in range(min(draws, 5)):
        basis = _random_basis(modes, generator)
        best.append(curve(basis, ordered(basis, "biorthogonal")[0], "biorthogonal")[1])
    return ModeRemoval(
        modes, kind, order, what, units, remaining, found, reference, single, torch.stack(random), torch.stack(best)
    )


def _without(deflection: Tensor, modes: Modes, sets: Sequence[Sequence[int]], kind: Kind) -> Tensor:
    """Deflections (..., N) with each set of units taken out, (sets, ..., N)."""
    rows = [[a for i in some for a in modes.units[i]] for some in sets]
    if kind != "biorthogonal":
        nowhere = torch.zeros_like(deflection)
        return torch.stack([remove_modes(deflection, modes, nowhere, some, kind) for some in rows])
    mask = torch.zeros(len(sets), len(modes), dtype=modes.right.dtype, device=modes.right.device)
    for k, some in enumerate(rows):
        mask[k, some] = 1
    amplitudes = modes.amplitudes(deflection)
    mask = mask.reshape(len(sets), *[1] * (amplitudes.ndim - 1), len(modes))
    return deflection - ((mask * amplitudes) @ modes.right.t()).real


def _random_basis(modes: Modes, generator: torch.Generator) -> Modes:
    """Random orthonormal directions of state space in place of modes."""
    size = len(modes)
    q = torch.linalg.qr(torch.randn(size, size, generator=generator, dtype=modes.J.dtype))[0].to(modes.right)
    return replace(modes, right=q, left=q.t(), units=[(a,) for a in range(size)])


def _measurement(
    network: Network, h_mod: Tensor, h_star: Tensor, e: Tensor, what: What
) -> tuple[Tensor, Callable[[Tensor], Tensor], Tensor]:
    """What modes are taken out of, how to measure the words' effects (V,) with what is left of it, and their effects at
    h*. In float64: a removal is a small difference."""
    if what == "state":

        def after_removal(left: Tensor) -> Tensor:
            return effects(network, h_star + left.to(h_star.dtype), e).double()

        return (h_mod - h_star).double(), after_removal, effects(network, h_star, e).double()
    at_star, at_mod = (linearise(network, h.expand(len(e), -1)).inp(e).double() for h in (h_star, h_mod))
    return at_mod, lambda left: left @ network.w.double(), at_star @ network.w.double()
