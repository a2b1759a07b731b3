"""The bilinear model: J_inp changes linearly with a few projections of the state (§8, eq. 6).

    J_inp(h_mod) ≈ J_inp(h*) + Σ_p ((h_mod − h*)ᵀ m^p) A^p

Fitting m^p and A^p to all modifiers is a reduced-rank regression of ΔJ_inp on Δh, uncentered, in the metric of ΔJ_inp
on one-hot words. `input_features` turns ΔJ_inp into a short vector with the same inner products, so that no array has
the size of the vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rnnlens.common.display import Shown
from rnnlens.common.errors import RnnlensError
from rnnlens.common.ranges import in_range
from rnnlens.context.modifiers import MOST, Modifiers
from rnnlens.dynamics import LineAttractor
from rnnlens.dynamics.features import input_features
from rnnlens.networks import Network

ROUNDING = 100  # machine epsilons of J_inp: a smaller change is a rounding error


@dataclass(frozen=True, eq=False, repr=False)
class Bilinear(Shown):
    """m (P, N): the modifier components m^p. features (P, K): A^p in the coordinates of `input_features`.

    explained   (Q,)  share of ‖ΔJ_inp‖² explained with 1 … Q terms, over the words of the fit
    held_out    (Q,)  the same over a fifth of the words, for a fit to the other words
    bound       (Q,)  share explained by an SVD of ΔJ_inp: an upper bound for any linear function of the state
    """

    m: Tensor
    features: Tensor
    explained: Tensor
    held_out: Tensor
    bound: Tensor
    n: int

    @property
    def rank(self) -> int:
        return len(self.m)

    def to_dict(self) -> dict[str, Any]:
        """For results.json, under `bilinear`."""
        return {
            "rank": self.rank,
            "n": self.n,
            "explained_variance": self.explained.tolist(),
            "held_out": self.held_out.tolist(),
            "bound": self.bound.tolist(),
        }

    def terms(self, share: float) -> int | None:
        """The smallest number of terms that explain this share of the change; None if none of those fitted do."""
        enough = torch.nonzero(self.explained >= share).flatten().tolist()
        return enough[0] + 1 if enough else None


@torch.no_grad()
@in_range("fit_bilinear")
def fit_bilinear(
    network: Network,
    line: LineAttractor,
    modifiers: Modifiers,
    rank: int = 3,
    most: int = 10,
    seed: int = 0,
    rows: Tensor | None = None,
) -> Bilinear:
    """Fit the model to the 400 words of largest norm (or the given rows of the table), with 1 … `most` terms."""
    line.check_blank()
    rows = modifiers.chosen(rows, modifiers.norm.argsort(descending=True)[:MOST])
    if len(rows) < 5:
        raise RnnlensError(f"got {len(rows)} modifiers: expected at least 5 to fit the bilinear model to")
    h_mod = modifiers.after(rows)
    X = (h_mod - line.h_star).double()
    at_line = input_features(network, line.h_star)
    Y = (input_features(network, h_mod) - at_line).double()
    if Y.norm(dim=1).max() <= ROUNDING * torch.finfo(at_line.dtype).eps * at_line.norm():
        raise RnnlensError(
            "the input Jacobian is the same after every word, up to rounding: no word changes the effect of the next "
            "one in this network, as in a linear one, so there is nothing to fit; Jacobians, slow points and modes can "
            "be computed"
        )
    most = min(most, len(rows), network.size)
    if not 1 <= rank <= most:
        raise RnnlensError(f"rank is {rank}: expected 1 … {most}")
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed)).to(X.device)
    held, kept = order[: len(rows) // 5], order[len(rows) // 5 :]
    U, size, V = _svd(Y)
    Y = U * size  # as short as words are few: all that follows needs the inner products of its rows alone
    m, A = _reduced_rank(X, Y, most)
    m_kept, A_kept = _reduced_rank(X[kept], Y[kept], most)
    size = size.square()
    rank, most = min(rank, len(m)), len(m)
    return Bilinear(
        m[:rank].to(line.h_star),
        (A[:rank] @ V).to(line.h_star),
        _explained(X, Y, m, A),
        _explained(X[held], Y[held], m_kept, A_kept),
        (size.cumsum(0) / size.sum())[:most],
        len(rows),
    )


def _reduced_rank(X: Tensor, Y: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """The best X mᵀ A of every rank up to `rank`: m (rank, N), A (rank, K). Directions of X with a singular value
    below a thousandth of the largest are left out, so that their noise is not amplified."""
    U, size, V = _svd(X)
    keep = size > 1e-3 * size[0]
    U, size, V = U[:, keep], size[keep], V[keep]
    coefficients = U.t() @ Y  # the least-squares fit is U @ coefficients
    u, s, A = _svd(coefficients)
    rank = min(rank, len(s))
    m = (V.t() / size) @ (u[:, :rank] * s[:rank])
    return m.t(), A[:rank]


def _svd(X: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """U (M, k), singular values (k,) and V (k, K) of X (M, K), the largest first. Of long rows, which states of large
    networks are, U has the eigenvectors of the small matrix X Xᵀ; it is orthonormal, and U (Uᵀ X) is X in any case."""
    if len(X) >= X.shape[1]:
        return torch.linalg.svd(X, full_matrices=False)
    U = torch.linalg.eigh(X @ X.t())[1].flip(1)
    rows = U.t() @ X
    size = rows.norm(dim=1)
    return U, size, rows / size.clamp(min=torch.finfo(size.dtype).tiny).unsqueeze(1)


def _explained(X: Tensor, Y: Tensor, m: Tensor, A: Tensor) -> Tensor:
    """1 − ‖Y − X mᵀA‖²/‖Y‖² with the first 1, 2, … terms."""
    total, residual, shares = Y.square().sum(), Y.clone(), []
    for p in range(len(m)):
        residual = residual - (X @ m[p]).unsqueeze(1) * A[p]
        shares.append(1 - residual.square().sum() / total)
    return torch.stack(shares)
