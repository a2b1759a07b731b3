"""The geometry of several classes: the slow points of a network with C logits, and where its classes lie on them.

With one logit, evidence is kept as a place on a line. With C classes it has C − 1 dimensions, the logits centered over
classes. Classes that have nothing in common form a simplex (a triangle, a tetrahedron …), ordered ones a line, and most
lie between (Aitken, Ramasesh et al., "The geometry of integration in text classification RNNs").
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from rnnlens.common.display import Shown
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.ranges import in_range
from rnnlens.corpora.protocol import CorpusLike
from rnnlens.dynamics.class_places import class_directions, evidence, settled_states, slow_point_at
from rnnlens.dynamics.curves import local_regression, near_knots
from rnnlens.dynamics.dimension import least_share, participation_ratio, spread_of
from rnnlens.dynamics.fixed_points import find_fixed_points
from rnnlens.dynamics.line_attractor import FILLED, ONE_DIMENSIONAL
from rnnlens.dynamics.modes import linear_modes
from rnnlens.dynamics.sampling import visited_states
from rnnlens.networks import Network, check_words
from rnnlens.networks.devices import threads_for

SLOW, VISITED = "slow points", "visited states"  # what the geometry is of
SHAPES = ("simplex", "line", "between")
NEARLY_SIMPLEX = 0.9  # of a simplex: the class directions' participation ratio is at least this share of C − 1
KEPT = 0.25  # slow points keep at least this share of the range of the evidence that visited states have
RAREST = 0.01  # a class with a smaller share of the slow points is weighted as if it had this share
SHOWN = 500  # slow points in results.json
DRAWN = 3  # axes of these points


@dataclass(frozen=True, eq=False, repr=False)
class ClassGeometry(Shown):
    """The attractor of a network with C classes.

    names, ordered      of the network's classes
    states (K, N)       slow points or, if these do not keep the evidence of the classes, the visited states
    through             which of the two
    settled             number of blank inputs read before the search for them
    center (N,), axes (R, N), explained (R,)  principal axes of the slow points, the classes weighted equally
    dimension, dimension_interval  participation ratio of the slow points
    by_visits           the same with every visited state weighted equally
    count, count_interval  cross-validated number of axes that carry the evidence
    neutral (N,)        the slow point with equal logits
    directions (C, N)   the classes' readouts at the neutral point, centered over classes
    cosines (C, C)      between them, within the counted axes
    curve               share of the evidence's variance that a curve along the first axis explains
    shape               simplex, line or between
    """

    network: Network = field(repr=False)
    states: Tensor
    through: str
    settled: int
    center: Tensor
    axes: Tensor
    explained: Tensor
    dimension: float
    dimension_interval: tuple[float, float]
    by_visits: float
    count: int
    count_interval: tuple[int, int]
    neutral: Tensor
    directions: Tensor
    cosines: Tensor
    curve: float
    shape: str

    @property
    def names(self) -> tuple[str, ...]:
        return self.network.classes

    @property
    def ordered(self) -> bool:
        return self.network.ordered

    @property
    def simplex_cosine(self) -> float:
        """The mean cosine between the directions of two classes: −1/(C − 1) for a simplex."""
        n = len(self.names)
        return float((self.cosines.sum() - n) / (n * (n - 1)))

    @property
    def filled(self) -> float:
        """The participation ratio of the class directions: C − 1 for a simplex, 1 if they are all on one line."""
        return _filled(self.cosines)

    @property
    def span(self) -> Tensor:
        """Orthonormal directions (k, N) in which the evidence of all classes is stored and read out: the counted axes,
        the classes' readouts, and the left eigenvectors of as many integration modes at the neutral point. Removing a
        component orthogonal to them changes no logit and, to first order, no integrated sum. At most N/2."""
        modes = linear_modes(self.network, self.neutral)
        slowest = modes.left[modes.timescales.argsort(descending=True)[: self.count]]
        rows = [self.directions, self.axes[: self.count], slowest.real, slowest.imag]
        found: list[Tensor] = []
        for row in torch.cat([part.to(self.axes) for part in rows]):
            if len(found) == self.network.size // 2:  # of a tiny network; the rest of its state is left to modifiers
                break
            left = row / row.norm().clamp(min=1e-30)
            for one in found * 2:  # twice, so that rounding errors do not add up
                left = left - (left @ one) * one
            if float(left.norm()) > 1e-6:
                found.append(left / left.norm())
        return torch.stack(found).to(self.network.h0.dtype)

    @torch.no_grad()
    def to_dict(self) -> dict[str, Any]:
        """For results.json, under `classes.geometry`."""
        drawn, likely = self.axes[:DRAWN], self.network.logit(self.states).argmax(-1)
        some = _of_all_classes(likely)
        at = (self.states[some].double() - self.center) @ drawn.t()
        return {
            "dimension": self.dimension,
            "dimension_interval": list(self.dimension_interval),
            "by_visits": self.by_visits,
            "count": self.count,
            "count_interval": list(self.count_interval),
            "explained": self.explained[:10].tolist(),
            "shape": self.shape,
            "simplex_cosine": self.simplex_cosine,
            "cosines": self.cosines.tolist(),
            "filled": self.filled,
            "curve": self.curve,
            "n": len(self.states),
            "through": self.through,
            "settled": self.settled,
            "points": [{"at": xyz, "class": k} for xyz, k in zip(at.tolist(), likely[some].tolist(), strict=True)],
            "directions": (self.directions.double() @ drawn.t()).tolist(),
        }


@torch.no_grad()
@in_range("class_geometry")
def class_geometry(
    network: Network,
    corpus: CorpusLike | None = None,
    states: Tensor | None = None,
    *,
    starts: int = 2_000,
    seed: int = 0,
) -> ClassGeometry:
    """The attractor of a network with three or more classes: its dimension, the directions of the classes, its shape.

    states (..., N): visited states, from which slow points are searched for; by default `starts` states visited in the
    corpus, or after random words. Each start gives one slow point, so that the attractor is measured where the network
    goes. The classes are weighted equally (by the most probable class at each point), because a rare class is as much a
    part of the attractor as a frequent one.

    The attractor is a line if it has one dimension, or if a smooth curve along its first axis explains 90 % of the
    classes' evidence and slow points fill 90 % of the curve; a simplex if it has at least C − 1 dimensions and the
    class directions fill them nearly equally (their participation ratio is at least 90 % of C − 1; it is C − 1 if all
    angles are equal); else it is between the two."""
    _check(network, corpus)
    if states is None:
        source = None if corpus is None else getattr(corpus, "validation", None) or corpus
        states = visited_states(network, source, n=starts, seed=seed)
    classes = len(network.classes)
    slow, through, settled = _on_the_attractor(network, states)
    read = evidence(network, slow)
    neutral = slow_point_at(network, slow, torch.zeros_like(read[0]))
    directions = class_directions(network, neutral)
    weights = _equal_weights(network.logit(slow).argmax(-1), classes)
    readouts = directions if not network.ordered else directions[-1:]
    with threads_for(network, 1):  # products of small matrices
        spread = spread_of(slow, weights, readouts, least_share(classes), seed)
    inside = directions.double() @ spread.axes[: spread.count].t()
    cosines = _cosines(inside)
    along = (slow.double() - spread.center) @ spread.axes[0]
    curve = _curve(along, read.double(), weights)
    return ClassGeometry(
        network, slow, through, settled, spread.center, spread.axes, spread.explained, spread.dimension,
        spread.interval, _participation(slow), spread.count, spread.count_interval, neutral, directions, cosines, curve,
        _shape(spread.count, cosines, curve, along),
    )  # fmt: skip


def _on_the_attractor(network: Network, states: Tensor) -> tuple[Tensor, str, int]:
    """Slow points (K, N) or, if they do not keep the evidence of every class, the visited states; which of the two; and
    the number of blank inputs before the search."""
    rested, settled = settled_states(network, states)
    least = 3 * len(network.classes)
    if len(rested) < least:
        raise RnnlensError(
            f"there are {len(rested)} visited states to start from, and {len(network.classes)} classes need at least "
            f"{least}: raise starts, or pass more states"
        )
    points = find_fixed_points(network, rested, mode="slow")
    slow, visited = points.states[points.converged], states.reshape(-1, network.size).to(network.h0)
    read = evidence(network, visited)
    if not float(read.std(0).max()) > 1e-6 * (1 + float(read.abs().max())):
        raise RnnlensError("all visited states have the same logits: there is no evidence of classes to measure")
    if len(slow) >= least and bool((_range(evidence(network, slow)) >= KEPT * _range(read)).all()):
        return slow, SLOW, settled
    return visited, VISITED, 0


def _range(read: Tensor) -> Tensor:
    """The range (C,) of the middle 80 % of the evidence (K, C): a few outliers do not count."""
    low, high = read.double().quantile(torch.tensor([0.1, 0.9], dtype=torch.float64, device=read.device), 0)
    return high - low


def _check(network: Network, corpus: CorpusLike | None) -> None:
    """Refuse networks without several classes, and corpora with other words."""
    if not isinstance(network, Network):
        raise RnnlensError(
            f"the network is {quoted(type(network).__name__)}: expected a Network with three or more classes"
        )
    if not network.several_classes:
        one = f"it reads {network.reads}" if network.target else "it has one logit"
        raise RnnlensError(
            f"this network does not have several classes, {one}: expected three or more, Network(…, classes=[names]); "
            "for one logit use fit_line_attractor"
        )
    check_words(network, corpus)
    network.check_finite()


def _equal_weights(likely: Tensor, classes: int) -> Tensor:
    """Weights (K,) with which all classes count the same, except those that are hardly ever the most probable."""
    counts = torch.bincount(likely, minlength=classes).double()
    return 1 / counts.clamp(min=RAREST * len(likely))[likely]


def _of_all_classes(likely: Tensor) -> Tensor:
    """Rows of at most `SHOWN` points, as many of each class as there are, the others of the frequent classes."""
    same = likely.unsqueeze(0) == likely.unique().unsqueeze(1)
    place = (same.cumsum(1) * same).sum(0)  # of each point among those of its class
    return place.argsort(stable=True)[:SHOWN].sort().values


def _participation(points: Tensor) -> float:
    centred = points.double() - points.double().mean(0)
    return participation_ratio(torch.linalg.svdvals(centred).square())


def _cosines(rows: Tensor) -> Tensor:
    unit = rows / rows.norm(dim=1, keepdim=True).clamp(min=torch.finfo(rows.dtype).tiny)
    return unit @ unit.t()


def _curve(along: Tensor, read: Tensor, weights: Tensor, knots: int = 32) -> float:
    """The share of the evidence's variance (K, C) that a smooth function of one coordinate (K,) explains, mean over
    classes."""
    at = _knots(along, knots)
    curve, _ = local_regression(read, along, at, 1.5 * float(at[1] - at[0]))
    left = (torch.searchsorted(at, along.contiguous()) - 1).clamp(0, knots - 2)
    part = ((along - at[left]) / (at[left + 1] - at[left])).clamp(0, 1).unsqueeze(1)
    missed = read - torch.lerp(curve[left], curve[left + 1], part)
    w = (weights / weights.sum()).unsqueeze(1)
    total = (w * (read - (w * read).sum(0)).square()).sum(0)
    is_read = total > 1e-12 * total.max()
    return float((1 - (w * missed.square()).sum(0)[is_read] / total[is_read]).mean())


def _knots(along: Tensor, knots: int = 32) -> Tensor:
    """Equally spaced numbers along the coordinates (K,) of points, without the outermost half percent at each end."""
    low, high = (float(along.quantile(share)) for share in (0.005, 0.995))
    return torch.linspace(low, high, knots, dtype=along.dtype, device=along.device)


def _shape(count: int, cosines: Tensor, curve: float, along: Tensor) -> str:
    """The rule of `class_geometry`. A curve through a few separate points, such as the corners of a triangle, explains
    everything, so the points must fill it."""
    classes, filled = len(cosines), float(near_knots(along, _knots(along)).double().mean())
    if count == 1 or (curve >= ONE_DIMENSIONAL and filled >= FILLED):
        return "line"
    return "simplex" if count >= classes - 1 and _filled(cosines) >= NEARLY_SIMPLEX * (classes - 1) else "between"


def _filled(cosines: Tensor) -> float:
    return participation_ratio(torch.linalg.eigvalsh(cosines).clamp(min=0))
