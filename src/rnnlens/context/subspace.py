"""The modifier subspace: the few directions, off the line, along which modifiers deflect the state (§5.3.1, Fig. 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from rnnlens.common.display import Shown, table_html
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.ranges import in_range
from rnnlens.context.modifiers import Modifiers
from rnnlens.dynamics import LineAttractor
from rnnlens.dynamics.inputs import check_tensor
from rnnlens.networks import Network
from rnnlens.networks.projected import Projected, projected
from rnnlens.networks.steered import Steered, steered
from rnnlens.networks.versions import Versions
from rnnlens.networks.wrapped import check_rows


@dataclass(frozen=True, eq=False, repr=False)
class Subspace(Shown):
    """Principal components of the modifiers' deflections h_mod − h*, orthogonal to the line attractor, the readout and
    the integration mode: the paper removes the line "to ensure that the subspace does not have any valence effects".

    components  (R, N)  orthonormal, the largest variance first; each points towards intensifiers
    explained   (K,)    share of variance of every fitted component (K ≥ R)
    sizes       (K,)    standard deviation of the deflections along each
    mean        (N,)    the deflections' mean, which PCA subtracts
    h_star      (N,)    the origin
    line        (k, N)  the directions of `LineAttractor.valence`, and of a whole attractor if one was given, orthogonal
                        to the components
    words, coordinates (M, R)  the modifiers of the fit, and their coordinates
    """

    components: Tensor
    explained: Tensor
    sizes: Tensor
    mean: Tensor
    h_star: Tensor
    line: Tensor
    words: list[str]
    coordinates: Tensor
    kinds: list[str] = field(repr=False)

    @property
    def rank(self) -> int:
        return len(self.components)

    def project(self, h: Tensor) -> Tensor:
        """Coordinates of states relative to h*, (..., N) → (..., R)."""
        check_tensor("h", h, "states", self.components.shape[1], self.h_star)
        return (h - self.h_star) @ self.components.t()

    def take(self, rank: int) -> Subspace:
        """The subspace of the first `rank` components."""
        if not 1 <= rank <= self.rank:
            raise RnnlensError(f"rank is {rank}: expected 1 … {self.rank}")
        return replace(self, components=self.components[:rank], coordinates=self.coordinates[:, :rank])

    def one_component(self, times: float = 5.0, most: int = 10) -> list[list[str]]:
        """For each of the first two components, the words whose coordinate is at least `times` as large as on the
        other, largest first. The paper's examples are `zero` and `five`, before `stars`."""
        if self.rank < 2:
            return []
        lists = []
        for this, other in ((0, 1), (1, 0)):
            size, other_size = self.coordinates[:, this].abs(), self.coordinates[:, other].abs()
            order = size.argsort(descending=True).tolist()
            lists.append([self.words[i] for i in order if size[i] >= times * other_size[i]][:most])
        return lists

    def to_dict(self) -> dict[str, Any]:
        """For results.json, under `subspace`."""
        return {
            "rank": self.rank,
            "explained_variance": self.explained.tolist(),
            "sizes": self.sizes.tolist(),
            "n": len(self.words),
            "words": self.words,
            "kinds": self.kinds,
            "one_component": self.one_component(),
            "coordinates": self.coordinates.tolist(),
        }

    def _table(self) -> str:
        rows = zip(self.words, self.kinds, self.coordinates.tolist(), strict=True)
        head = ["word", "kind", *(f"component {p + 1}" for p in range(self.rank))]
        return table_html([[word, kind, *at] for word, kind, at in rows][:10], head)


@torch.no_grad()
@in_range("fit_subspace")
def fit_subspace(
    network: Network,
    line: LineAttractor,
    modifiers: Modifiers,
    rank: int | None = 3,
    rows: Tensor | None = None,
    without: Tensor | None = None,
    attractor: Tensor | None = None,
) -> Subspace:
    """PCA of the modifiers' deflections, after the directions of `line.valence` are removed from them.

    rank: number of components; None for all, at most 10. rows: rows of the words to use; by default the strongest 400.
    without: more orthonormal directions (k, N) that are removed from the deflections. attractor: directions (k, N) that
    are removed too, and from which random controls are to keep away (`Subspace.line`): with several classes
    `ClassGeometry.span`, so that the subspace holds no evidence of any class."""
    line.check_blank()
    rows = modifiers.chosen(rows, modifiers.strong)
    for name, directions in (("without", without), ("attractor", attractor)):
        if directions is not None:
            check_tensor(name, directions, "directions", len(line.h_star))
            if not directions.is_floating_point() or directions.is_meta:  # such as eigenvectors, which are complex
                raise RnnlensError(f"{name} is {directions.dtype} on {directions.device}: expected real directions")
            if directions.ndim != 2 or not bool(directions.isfinite().all()):
                raise RnnlensError(f"{name} has shape {tuple(directions.shape)}: expected finite directions (k, N)")
    if without is not None and len(without):
        check_rows(without, len(line.h_star))
    if len(rows) < 2:
        raise RnnlensError(
            f"got {len(rows)} words: expected at least 2 to fit a subspace to; raise `top` of find_modifiers"
        )
    span = _joined(line.valence, attractor).double()
    deflections = (modifiers.after(rows) - line.h_star).double()
    deflections = deflections - (deflections @ span.t()) @ span
    if without is not None:
        deflections = deflections - (deflections @ without.double().t()) @ without.double()
    mean = deflections.mean(0)
    _, size, axes = torch.linalg.svd(deflections - mean, full_matrices=False)
    kept = int((size > 1e-9 * size[0]).sum())
    axes, size = axes[:kept], size[:kept]
    if not kept:
        raise RnnlensError("words move the state along the line only: there is no modifier subspace to fit")
    rank = min(10, kept) if rank is None else rank
    if not 1 <= rank <= kept:
        raise RnnlensError(f"rank is {rank}: expected 1 … {kept}, the dimensions that modifiers span off the line")
    strength = modifiers.strength[rows].double()
    # The sign of a principal component is arbitrary: let each point towards intensifiers.
    sign = torch.sign(((deflections - mean) @ axes.t()).t() @ (strength - strength.mean()))
    axes = axes * torch.where(sign == 0, 1.0, sign).unsqueeze(1)
    variance = size.square()
    dtype = line.h_star.dtype
    return Subspace(
        axes[:rank].to(dtype),
        (variance / variance.sum()).to(dtype),
        (size / len(rows) ** 0.5).to(dtype),
        mean.to(dtype),
        line.h_star,
        span.to(dtype),
        [modifiers.words[i] for i in rows.tolist()],
        (deflections @ axes[:rank].t()).to(dtype),
        [modifiers.kinds[i] for i in rows.tolist()],
    )


def _joined(line: Tensor, attractor: Tensor | None) -> Tensor:
    """Orthonormal rows (k, N) that span those of the line and of an attractor."""
    if attractor is None:
        return line
    rows = torch.cat([line, attractor.to(line)]).double()
    _, size, axes = torch.linalg.svd(rows, full_matrices=False)
    return axes[size > 1e-6 * size[0]].to(line)


@in_range("project_out")
def project_out(network: Network, subspace: Subspace | Tensor, at: Tensor | None = None) -> Network:
    """A new network whose state has no deflection along the subspace, at the start and after every step.

    subspace: a `Subspace`, or orthonormal rows (R, N). at (N,): the state whose coordinates in the subspace the new
    network always has; by default h* of a `Subspace`, else the zero state. The given network is not changed.
    """
    V = rows_of(subspace)
    if at is None:
        at = subspace.h_star if isinstance(subspace, Subspace) else torch.zeros_like(network.h0)
    check_tensor("at", at, "one state", network.size, one=True)
    if V.ndim != 2 or V.shape[1] != at.shape[-1]:
        raise RnnlensError(f"subspace has shape {tuple(V.shape)}: expected (R, {network.size}) with R of at least 1")
    return projected(network, V, at.to(V) @ V.t())


def project_out_each(network: Network, subspaces: Sequence[tuple[Tensor, Tensor]]) -> Versions:
    """Versions of a network, each without deflections along one of K subspaces. subspaces: the orthonormal rows (R, N)
    of each, and the state (N,) whose coordinates along them the version keeps."""
    given = [(V.to(network.h0), at.to(network.h0)) for V, at in subspaces]
    return Versions.changed(network, [Projected(network.cell, V, at @ V.t()) for V, at in given])


def steer_each(network: Network, doses: Sequence[tuple[Tensor, float]]) -> Versions:
    """Versions of a network, each steered along the orthonormal rows (R, N) of a subspace, with its gain."""
    return Versions.changed(network, [Steered(network.cell, V.to(network.h0), gain) for V, gain in doses])


@in_range("steer")
def steer(network: Network, subspace: Subspace | Tensor, gain: float) -> Network:
    """A new network in which words write `gain` times as much into the subspace:
    h' = F(h, e) + (gain − 1) Vᵀ V [F(h, e) − F(h, 0)].

    subspace: a `Subspace`, or orthonormal rows V (R, N). gain: from 0, words write nothing into it, to 10; 1 changes
    nothing. Blank inputs are read as before, so the slow points and the line stay the same. The given network is not
    changed.
    """
    return steered(network, rows_of(subspace), gain)


def rows_of(subspace: Subspace | Tensor) -> Tensor:
    """The orthonormal rows (R, N) of a subspace, given as a `Subspace` or as these rows."""
    V = subspace.components if isinstance(subspace, Subspace) else subspace
    if not isinstance(V, Tensor):
        raise RnnlensError(
            f"the subspace is {quoted(type(V).__name__)}: expected a Subspace, such as analysis.subspace, or a tensor "
            "of orthonormal rows (R, N)"
        )
    if not V.is_floating_point() or V.is_meta:
        raise RnnlensError(f"the subspace is {V.dtype} on {V.device}: expected real numbers, as torch.float32")
    return V


def random_subspace(size: int, rank: int, generator: torch.Generator, orthogonal_to: Tensor | None = None) -> Tensor:
    """Orthonormal rows (rank, size) of a random subspace, orthogonal to the orthonormal rows `orthogonal_to` (k,
    size)."""
    random = torch.randn(rank, size, generator=generator, dtype=torch.float64)
    if orthogonal_to is not None:
        kept = orthogonal_to.double().cpu()
        random = random - (random @ kept.t()) @ kept
    return torch.linalg.qr(random.t())[0].t()
