"""The line attractor: a curve through the slow points, parametrized by the logit (§2, Fig. 1a).

In real networks it is curved and thick, so PCA's straight line does not fit. It is a smooth curve h(s) over the logit
s, with a tangent at every point. A curve fits two fixed points, or the scatter around one, too: these are no line.
`shape` says what was found, and `is_line` whether it is a line.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import torch
from torch import Tensor

from rnnlens.common.allowed import shown
from rnnlens.common.display import Facts, Shown, percents
from rnnlens.common.errors import RnnlensError
from rnnlens.common.ranges import in_range
from rnnlens.dynamics.curves import held_share, local_regression, nearest_on, spread_left
from rnnlens.dynamics.fixed_points import FixedPoints
from rnnlens.dynamics.inputs import Inputs, check_points, check_tensor, held_input, same_input
from rnnlens.dynamics.modes import Modes, TriangularModes, integration_mode, linear_modes, real_rows
from rnnlens.networks import Network

ONE_DIMENSIONAL = 0.9  # the share of the slow points' variance that a curve must explain to be called a line
FILLED = 0.9  # the share of the curve along which the logit must be held
NEAR_ONE = 0.02  # distance from 1 up to which an eigenvalue integrates
BLANKS = 50  # the number of blank inputs that the paper appends to reviews (§6.2)
FORGOTTEN = 0.1  # a network forgets if less than this share of the differences between states is left after them

Shape = Literal["line", "not one-dimensional", "separate points", "one point", "no slow points"]


@dataclass(frozen=True, eq=False)
class LineAttractor(Shown):
    """A curve of slow points in the order of their logits.

    knots      (M, N)  points of the curve
    logits     (M,)    their logits, rising
    tangents   (M, N)  unit directions of the curve, towards larger logits
    h_star     (N,)    the slow point with logit 0, where the paper expands; the nearest one if the line ends before
    explained          share of the slow points' variance that the curve explains
    pc1_variance       share that the best straight line explains
    bend               largest distance of the curve from its chord, as a share of the chord's length
    readout_alignment  |cos| of the slow points' first principal component with the readout w, on the units that w reads
    thickness          root mean square distance of the slow points from the curve
    inputs     (D,)    the input that the slow points were found at; None is zero
    filled             share of the curve, by logit, along which the logit is held (`curves.held_share`)
    kept               spread of the slow points along the curve, as a share of that of their starts; 1 for states
    known              its `shape`, where an analysis found it by other means than the curve: "one point" of a network
                       that forgets, "no slow points" of one that oscillates
    """

    network: Network = field(repr=False)
    knots: Tensor
    logits: Tensor
    tangents: Tensor
    h_star: Tensor
    explained: float
    pc1_variance: float
    bend: float
    readout_alignment: float
    thickness: float
    inputs: Tensor | None = None
    filled: float = 1.0
    kept: float = 1.0
    known: Shape | None = None

    def check_blank(self) -> None:
        """Raise an error if the line is at another input than the blank one, at which effects of words are measured."""
        if self.inputs is not None and bool(self.inputs.any()):
            raise RnnlensError(
                "this line was fitted to points at an input that is not blank: expected a line at the blank input, "
                "where the effects of words are measured; find the points without inputs="
            )

    @property
    def is_line(self) -> bool:
        """Whether the slow points are a line (`shape`)."""
        return self.shape == "line"

    @cached_property
    def shape(self) -> Shape:
        """What the slow points are. "not one-dimensional": the curve explains less than nine tenths of their variance.
        "separate points": the logit is held along less than nine tenths of the curve, as in a network that switches
        between fixed points. "one point": less than a tenth of the starts' spread along the curve is left, and the
        integration mode leaves less than a tenth of a difference after 50 steps. What is `known` comes first."""
        if self.known is not None:
            return self.known
        if self.explained < ONE_DIMENSIONAL:
            return "not one-dimensional"
        if self.filled < FILLED:
            return "separate points"
        if self.kept < FORGOTTEN and abs(self.integration_eigenvalue) ** BLANKS < FORGOTTEN:
            return "one point"
        return "line"

    @property
    def range(self) -> tuple[float, float]:
        """The logits at the two ends."""
        return self.logits[0].item(), self.logits[-1].item()

    def nearest(self, h: Tensor) -> Tensor:
        """The point of the curve nearest to each state, (..., N) → (..., N)."""
        check_tensor("h", h, "states", self.knots.shape[1], self.knots)
        return nearest_on(self.knots, h)[0]

    def distance(self, h: Tensor) -> Tensor:
        """Distance of states from the curve, (..., N) → (...)."""
        near = self.nearest(h)
        return (h - near).norm(dim=-1)

    def tangent(self, h: Tensor) -> Tensor:
        """The unit direction of the curve at the point nearest to each state, (..., N) → (..., N)."""
        check_tensor("h", h, "states", self.knots.shape[1], self.knots)
        _, left, along = nearest_on(self.knots, h)
        mixed = torch.lerp(self.tangents[left], self.tangents[left + 1], along.unsqueeze(-1))
        return mixed / mixed.norm(dim=-1, keepdim=True)

    def at(self, logit: Tensor | float) -> Tensor:
        """The point of the curve with a given logit (clipped to its range)."""
        try:
            s = torch.as_tensor(logit, dtype=self.logits.dtype, device=self.logits.device)
        except (TypeError, ValueError, RuntimeError) as error:
            raise RnnlensError(f"logit is {shown(logit)}: expected a number, or a tensor of numbers") from error
        if s.isnan().any():
            raise RnnlensError("logit is nan: expected a number, or a tensor of numbers")
        left = (torch.searchsorted(self.logits, s) - 1).clamp(0, len(self.logits) - 2)
        along = ((s - self.logits[left]) / (self.logits[left + 1] - self.logits[left])).clamp(0, 1)
        return torch.lerp(self.knots[left], self.knots[left + 1], along.unsqueeze(-1))

    @cached_property
    def span(self) -> Tensor:
        """Orthonormal directions (k, N) that explain 99.9 % of the curve's own variance: one for a straight line, more
        for a bent one. Directions orthogonal to them leave the line everywhere, not only at h_star."""
        knots = self.knots.double() - self.knots.double().mean(0)
        _, size, axes = torch.linalg.svd(knots, full_matrices=False)
        share = size.square().cumsum(0) / size.square().sum()
        return axes[: int((share < 0.999).sum()) + 1].to(self.knots.dtype)

    @cached_property
    def valence(self) -> Tensor:
        """Orthonormal directions (k, N) in which valence is stored and read out: those of the curve, the readout, and
        the left eigenvector of the integration mode at h_star (of a conjugate pair, both of its parts). Removing a
        component orthogonal to them changes neither the logit nor, to first order, the integrated sum."""
        left = self._integration[1].to(self.knots)
        w = self.network.readout_at(self.h_star.to(self.network.h0)).to(left)
        rows = torch.cat([self.span, w.unsqueeze(0), left]).double()
        rows = rows / rows.norm(dim=1, keepdim=True)
        _, size, axes = torch.linalg.svd(rows, full_matrices=False)
        return axes[size > 1e-6 * size[0]].to(self.knots.dtype)

    @cached_property
    def modes(self) -> Modes | TriangularModes:
        """The linear modes at h_star and the line's own input."""
        return linear_modes(self.network, self.h_star, self.inputs)

    @property
    def integration_eigenvalue(self) -> complex:
        """The eigenvalue of J_rec nearest to 1, at h_star and the line's own input: the mode that integrates."""
        return self._integration[0]

    @property
    def integrating(self) -> int | None:
        """How many eigenvalues are within 0.02 of 1 at h_star: on a plane two, of slow units many. None where J_rec is
        defective, or too large for its modes."""
        modes = self._modes_if_any
        return None if modes is None else int(((modes.eigenvalues - 1).abs() <= NEAR_ONE).sum())

    @cached_property
    def _modes_if_any(self) -> Modes | TriangularModes | None:
        """`modes`; None where there are none, which takes as long to find as the modes."""
        try:
            return self.modes
        except RnnlensError:
            return None

    @cached_property
    def _integration(self) -> tuple[complex, Tensor]:
        """The eigenvalue nearest to 1 and its left eigenvector as `real_rows`; there are such also without modes."""
        with suppress(RnnlensError):
            if (modes := self._modes_if_any) is not None:
                value = complex(modes.eigenvalues[modes.integration])
                return value, real_rows(value, modes.left_of(modes.integration))
        return integration_mode(self.network, self.h_star, self.inputs)

    def to_dict(self) -> dict[str, Any]:
        """For results.json, under `line_attractor`."""
        eigenvalue = self.integration_eigenvalue
        return {
            "pc1_variance": self.pc1_variance,
            "integration_eigenvalue": [eigenvalue.real, eigenvalue.imag],
            "integrating": self.integrating,
            "readout_alignment": self.readout_alignment,
            "explained_variance": self.explained,
            "bend": self.bend,
            "thickness": self.thickness,
            "range": list(self.range),
            "is_line": self.is_line,
            "shape": self.shape,
        }

    def _facts(self) -> Facts:
        value = self.integration_eigenvalue
        return [
            ("a line", line_or_not(self.shape)),
            ("a curve explains", percents([self.explained])),
            ("a straight line", percents([self.pc1_variance])),
            ("logits", f"{self.range[0]:.1f} … {self.range[1]:.1f}"),
            ("integration eigenvalue", f"{value.real:.4f}"),
            (f"eigenvalues within {NEAR_ONE} of 1", self.integrating),
            ("alignment with the readout", self.readout_alignment),
            ("thickness", self.thickness),
        ]

    def __repr__(self) -> str:
        low, high = self.range
        name = "LineAttractor" if self.is_line else f"LineAttractor({self.shape}!)"
        shares = f"explains {100 * self.explained:.1f} %, a straight line {100 * self.pc1_variance:.1f} %"
        return f"{name}: logits {low:.1f} … {high:.1f}, {shares}"


def line_or_not(shape: Shape) -> str:
    """Whether there is a line and, if not, what there is."""
    if shape in ("line", "no slow points"):
        return "yes" if shape == "line" else f"no: {shape}"
    return f"no: the slow points are {shape}"


@torch.no_grad()
@in_range("fit_line_attractor")
def fit_line_attractor(
    network: Network,
    points: FixedPoints | Tensor,
    knots: int = 64,
    trim: float = 0.005,
    smooth: float = 1.5,
    *,
    inputs: Inputs = None,
) -> LineAttractor:
    """Fit the curve h(s) to slow points by local linear regression on the logit s.

    points: the result of `find_fixed_points(…, mode="slow")`, of which the converged ones are used, or states (K, N).
    trim: share of the points left out at each end of the range. smooth: kernel width, in spacings between knots.
    inputs: the input of states (K, N), embedded (D,) or a word; None is zero. Fixed points have their own.
    """
    if isinstance(points, FixedPoints):
        check_points(network, points.network, points.states, points.inputs)
        points = points.take(points.converged)
    states: Tensor = points.states if isinstance(points, FixedPoints) else points
    check_tensor("points", states, "fixed points or states", network.size, network.h0)
    states = states.reshape(-1, network.size)
    network.check_one_logit("a line attractor")
    if len(states) < 3:
        raise RnnlensError(
            f"{len(states)} slow points: expected at least 3 to fit a line attractor to; search from more visited "
            "states (starts of analyze)"
        )
    e = same_input(network, points.inputs, inputs) if isinstance(points, FixedPoints) else held_input(network, inputs)
    if not bool(states.isfinite().all()):
        raise RnnlensError("some points are NaN or infinite: expected finite numbers")
    dtype = states.dtype
    h, s = states.double(), network.logit(states).double()
    low, high = s.quantile(torch.tensor([trim, 1 - trim], dtype=s.dtype, device=s.device)).tolist()
    centre = h.mean(0)
    spread = (h - centre).square().sum()
    if not high - low > 1e-9 * (1 + abs(high)) or not spread > 0:
        raise RnnlensError("all slow points have the same logit: there is no line along the readout to fit")
    at = torch.linspace(low, high, knots, dtype=s.dtype, device=s.device)
    curve, slope = local_regression(h, s, at, smooth * (high - low) / (knots - 1))

    first = torch.linalg.svd(h - centre, full_matrices=False)[2][0]
    chord = curve[-1] - curve[0]
    offset = curve - curve[0]
    offset = offset - (offset @ chord).unsqueeze(1) * chord / chord.square().sum()
    distance = (h - nearest_on(curve, h)[0]).norm(dim=1)
    h_star = _neutral_point(network, states[s.abs().argmin()], at, slope, e).to(dtype)
    kept = spread_left(points, chord / chord.norm()) if isinstance(points, FixedPoints) else 1.0
    return LineAttractor(
        network,
        curve.to(dtype),
        at.to(dtype),
        torch.nn.functional.normalize(torch.where(slope.any(1, keepdim=True), slope, chord), dim=1).to(dtype),
        h_star,
        explained=float(1 - distance.square().sum() / spread),
        pc1_variance=float(((h - centre) @ first).square().sum() / spread),
        bend=float(offset.norm(dim=1).max() / chord.norm()),
        readout_alignment=_alignment(network, first, h_star),
        thickness=float(distance.square().mean().sqrt()),
        inputs=e,
        filled=held_share(network, points, curve, at, e),
        kept=kept,
    )


def _neutral_point(network: Network, sample: Tensor, at: Tensor, slope: Tensor, e: Tensor, turns: int = 5) -> Tensor:
    """The slow point with logit 0. From the nearest sample, two moves alternate: ten steps at the input, which remove
    fast components, and a shift along the curve to logit 0. The result is the sample itself if the curve does not reach
    0, or if the shift makes the state less slow."""
    if not float(at[0]) <= 0 <= float(at[-1]):
        return sample.clone()
    along = slope[int(at.abs().argmin())].to(sample)  # moving by this vector raises the logit by 1

    def to_zero(h: Tensor) -> Tensor:
        return h - network.logit(h) * along

    def speed(h: Tensor) -> float:
        return float((network.step(h, e) - h).norm())

    first = h = to_zero(sample)
    for _ in range(turns):
        for _ in range(10):
            h = network.step(h, e)
        h = to_zero(h)
    best = min((first, h), key=speed)
    return best if speed(best) <= 2 * speed(sample) + 1e-6 else sample.clone()


def _alignment(network: Network, direction: Tensor, at: Tensor) -> float:
    """|cos| with w, linearized at a state, on the part of the state that w reads (of an LSTM, h and not c)."""
    output = network.cell.output
    read, w = direction[output], network.readout_at(at)[output].detach().double()
    return float((read @ w).abs() / (read.norm() * w.norm()).clamp(min=1e-300))
