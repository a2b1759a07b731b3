"""Networks whose J_rec is a diagonal D plus a nilpotent rest: the recurrences of today, in any number of layers.

Each layer's state is multiplied, number by number, by factors that only earlier parts of the network set, so J_rec is
triangular up to the order of the state, and its eigenvalues are D. Everything here needs D and products with J_rec:
memory of a few times N, never N × N. An equation x = x D + (rest) is solved exactly by as many rounds as the rest needs
to vanish, `cell.depth`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rnnlens.common.errors import RnnlensError
from rnnlens.dynamics.jacobians import Linearisation
from rnnlens.dynamics.problem import Problem, Search, energy
from rnnlens.networks import Network

DEFECTIVE = "J_rec has fewer eigenvectors than units at this point (it is defective): it has no modes"


def is_triangular(network: Network) -> bool:
    """Whether the network's cell gives the diagonal of J_rec, `slope(h, e)`, and the `depth` of the rest."""
    return hasattr(network.cell, "slope") and hasattr(network.cell, "depth")


@torch.no_grad()
def slope(network: Network, h: Tensor, e: Tensor) -> Tensor:
    """The diagonal of J_rec, (..., N), of a triangular network at states h (..., N) and inputs e (D,) or (..., D)."""
    cell: Any = network.cell
    return cell.slope(h, e.to(h.dtype).expand(*h.shape[:-1], -1))


def solve_fixed(problem: Problem, search: Search, tolerance: float) -> None:
    """The fixed point at each input, from states (K, N), in place: h ← h + (F(h) − h)/(1 − D). After as many rounds as
    the network is deep it is exact, because in each round one more part of the state gets its final value. There is one
    fixed point for each input, so all starts lead to it."""
    cell: Any = problem.network.cell
    h, g = search.h, search.g
    for _ in range(cell.depth + 2):  # two more against rounding errors
        rows = torch.nonzero(energy(g) > tolerance * 1e-12).squeeze(1)
        if not len(rows):
            break
        here = problem.take(rows)
        room = 1 - slope(here.network, h[rows], here.e)
        h = h.index_copy(0, rows, h[rows] + g[rows] / torch.where(room == 0, torch.inf, room))
        g = problem.residual(h)
        search.iterations[rows] += 1
    every = torch.arange(len(h), device=h.device)
    search.put(every, h, g, energy(g))


def eigenvector(here: Linearisation, values: Tensor, at: int, depth: int, *, left: bool) -> Tensor:
    """The left or right eigenvector (N,) of the eigenvalue number `at`, 1 at that place; refused where it has none.

    values (N,): the diagonal of J_rec at one point, `here`. From (D + rest) v = λ v follows v_i = (rest v)_i/(λ − D_i).
    """
    apart = values[at] - values
    same = apart.abs() <= 1e-12 * (1 + values[at].abs())
    vector = torch.zeros_like(values)
    vector[at] = 1
    for _ in range(depth):
        moved = (here.rec_T(vector) if left else here.rec(vector)) - values * vector
        if bool((same & (moved.abs() > 1e-9 * moved.abs().max().clamp(min=1e-9))).any()):
            raise RnnlensError(DEFECTIVE)
        vector = torch.where(same, 0.0, moved / torch.where(same, 1.0, apart))
        vector[at] = 1
    return vector
