"""The first stage of an analysis: find where to measure. Visited states → slow points → the line through them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import floor
from typing import Any

import torch
from torch import Tensor

from rnnlens.common.display import Facts, Shown, percent, percents
from rnnlens.common.errors import RnnlensError, RnnlensWarning
from rnnlens.common.files import parsing
from rnnlens.context.blank import BLANKS, BlankInput
from rnnlens.context.impulse import rest, settle
from rnnlens.context.probes import Probes
from rnnlens.corpora import CorpusLike
from rnnlens.dynamics import FixedPoints, LineAttractor, find_fixed_points, fit_line_attractor, visited_states
from rnnlens.dynamics.inputs import given_states
from rnnlens.dynamics.line_attractor import ONE_DIMENSIONAL, Shape, line_or_not
from rnnlens.networks import Network
from rnnlens.runs import Run
from rnnlens.runs.missing import not_analyzed

SETTLE = (0, 10, 20, 50, 100, 200)  # numbers of blank inputs before the search for slow points, to end transients
LARGEST_STATE = 65_504  # the largest number of float16
NEAR = 0.1  # logits: a reading that is not farther from 0 is near it, a probability of 47.5 to 52.5 %
NEARLY_LINEAR = 0.9  # R² of a head's linearization below which a warning is given
SLOW, VISITED = "slow points", "visited states"  # what the line goes through
NO_CURVE = (
    "there are fewer than three slow points, or all of them have the same logit, so no curve goes through them: words "
    "are measured along a curve through visited states instead"
)


@dataclass(frozen=True, eq=False, repr=False)
class Location(Shown):
    """Where a network is measured.

    states   (K, N)  visited states, a sample
    settled          number of blank inputs read from these states before the search for slow points
    points           slow points
    line             the curve through the slow points or, if there are none or all are one point, the visited states
    through          what the line goes through, `SLOW` or `VISITED`
    blank            how far blank inputs move the reading
    """

    network: Network = field(repr=False)
    states: Tensor
    settled: int
    points: FixedPoints
    line: LineAttractor
    through: str
    blank: BlankInput

    @property
    def shape(self) -> Shape:
        """What the slow points are, as `LineAttractor.shape`."""
        return self.line.shape

    @property
    def is_line(self) -> bool:
        """Whether there is a line attractor: one curve of slow points that do not lie together."""
        return self.shape == "line"

    @property
    @torch.no_grad()
    def covers(self) -> float:
        """The share of visited states whose logit is within the line's range."""
        logits, (low, high) = self.network.logit(self.states.to(self.network.h0)), self.line.range
        return float(((logits >= low) & (logits <= high)).double().mean())

    @property
    @torch.no_grad()
    def head_linear(self) -> float | None:
        """How well the head's linearization at h* gives the logits of the visited states (R²); None if the head is
        linear. Where analyses need a readout direction, they use this linearization."""
        if self.network.features is None:
            return None
        states, h_star = self.states.to(self.network.h0), self.line.h_star
        logits = self.network.logit(states).double()
        tangent = self.network.logit(h_star) + (states - h_star) @ self.network.readout_at(h_star)
        left = (logits - tangent.double()).square().sum()
        return float(1 - left / (logits - logits.mean()).square().sum().clamp(min=1e-300))

    @torch.no_grad()
    def warnings(self) -> list[str]:
        """Reasons why an analysis at this location is unreliable; empty if there are none."""
        warnings, linear = warnings_of(self.blank, self.line, self.network, self.through), self.head_linear
        if linear is not None and linear < NEARLY_LINEAR:
            warnings.append(
                f"the head is not linear: its linearization at h* has an R² of {linear:.2f} on the logits of visited "
                "states, so results that need a readout direction (edges, removed modes, alignment) are approximate"
            )
        if self.network.backward:
            warnings.append(
                "this network reads a text from its last word to its first: phrases are in that order, and a modifier "
                "changes the word before it in the text"
            )
        return warnings

    @torch.no_grad()
    def to_dict(self) -> dict[str, Any]:
        """The content for results.json."""
        points, line = self.points, self.line
        return {
            "fixed_points": {
                "n": int(points.converged.sum()),
                "of": len(points),
                "settled": self.settled,
                "q_median": float(points.q.median()),
                "q_p95": float(points.q.quantile(0.95)),
                "slow_ratio": float(points.slowness.median()),
            },
            "line_attractor": {
                **line.to_dict(),
                "is_line": self.is_line,
                "shape": self.shape,
                "through": self.through,
                "h_star_logit": float(self.network.logit(line.h_star)),
                "covers": self.covers,
            },
            **({} if self.head_linear is None else {"head": {"linearized_r2": self.head_linear}}),
            "blank_input": self.blank.to_dict(),
            "warnings": self.warnings(),
        }

    def arrays(self) -> dict[str, Tensor]:
        """The arrays for analysis.safetensors; the visited states have a separate file."""
        points = self.points
        return {
            "slow_points": points.states,
            "slow_points_q": points.q,
            "slow_points_converged": points.converged.to(torch.uint8),
            "slow_points_iterations": points.iterations.int(),
            "deflections": points.deflections,
            "line": self.line.knots,
            "line_logits": self.line.logits,
            "h_star": self.line.h_star,
        }

    @classmethod
    def from_dict(
        cls, network: Network, results: Mapping[str, Any], arrays: Mapping[str, Tensor], states: Tensor
    ) -> Location:
        """The location from the output of `to_dict` and `arrays`."""
        settled, through = results["fixed_points"]["settled"], results["line_attractor"]["through"]
        rested = settle(network, states.to(network.h0), settled)
        points = stored_points(network, arrays, rested)
        blank = BlankInput.from_dict(results["blank_input"])
        line = _known(fit_line_attractor(network, points if through == SLOW else rested), points, through, blank)
        return cls(network, states, settled, points, line, through, blank)

    def _facts(self) -> Facts:
        (low, high), linear = self.line.range, self.head_linear
        return [
            ("visited states", len(self.states)),
            ("slow points", f"{int(self.points.converged.sum())}"),
            ("a line", line_or_not(self.shape)),
            ("a curve explains", percents([self.line.explained])),
            ("logits of the line", [low, high]),
            ("visited states within them", percents([self.covers])),
            ("blank inputs", self.blank.summary()),
            *([] if linear is None else [("R² of the head's linearization", linear)]),
        ]


@torch.no_grad()
def locate(network: Network, states: Tensor) -> Location:
    """Find slow points from visited states (..., N) and fit the line."""
    _check_states(network, states)
    states = (
        states.reshape(-1, network.size).half().float()
    )  # the precision in which they are stored, so that a second analysis gives the same results
    return replace(location_of(network, states.to(network.h0)), states=states)


def _check_states(network: Network, states: Tensor) -> None:
    """Refuse what are no states of this network, and states too large to be stored."""
    largest = float(given_states(network, states).abs().max())
    if largest > LARGEST_STATE:
        raise RnnlensError(
            f"the network's states reach {largest:.3g}: expected at most {LARGEST_STATE:,}, the largest "
            "number of a stored state (float16); a network whose states grow without bound cannot be analyzed"
        )


def states_of(
    network: Network, run: Run | None, corpus: CorpusLike | None = None, n: int | None = None, seed: int = 0
) -> Tensor:
    """Visited states (K, N), the starting points of the search for slow points: the sample stored in the run, or n
    states of it; n states visited in the corpus, or after random words."""
    known = run is not None and corpus is None and analyzed_view(run.results)[1] == network.direction
    stored = run.states() if run is not None and known else None
    if stored is not None:
        return stored if n is None else _some(stored, n, seed)
    source = None if corpus is None else getattr(corpus, "validation", None) or corpus
    longest = None if run is None else run.config.max_words
    return visited_states(network, source, n=n or usual_starts(network), seed=seed, max_words=longest)


def _some(stored: Tensor, n: int, seed: int) -> Tensor:
    """n of the states that a run stored (K, N), or all if there are fewer."""
    if n > len(stored):
        few = f"starts is {n}, and the run stores {len(stored):,} visited states, which are used"
        warnings.warn(RnnlensWarning(f"{few}: pass its corpus for more"), stacklevel=2)
    return stored[torch.randperm(len(stored), generator=torch.Generator().manual_seed(seed))[:n]]


def usual_starts(network: Network) -> int:
    """How many visited states to start from: 2,000 of up to 256 numbers. A blank input takes N² operations for each, so
    there are fewer of larger states, but at least 256 (docs/method.md says how little strengths depend on it)."""
    return max(256, min(2_000, 2**27 // network.size**2))


def location_of(network: Network, states: Tensor) -> Location:
    """The slow points from visited states (K, N), and the curve through them.

    Blank inputs remove transients, but if the line leaks or drifts to its ends, they remove the line too. Their number
    is the largest of `SETTLE` that keeps half of the spread of logits and half of the states in its middle. If all slow
    points are one point, there is no line: the curve then goes through the visited states, and its `is_line` is False.
    """
    logits, rested = rest(network, states, SETTLE)
    middle, spread = logits[0].median(), logits[0].std()
    inside = ((logits - middle).abs() <= 0.5 * spread).double().mean(1)
    kept = (logits.std(1) >= 0.5 * spread) & (inside >= 0.5 * inside[0])
    settled = SETTLE[int(kept.nonzero()[-1]) if kept.any() else 0]
    if settled != SETTLE[-1]:
        rested = settle(network, states, settled)
    blank = BlankInput.of(logits[[SETTLE.index(count) for count in (0, BLANKS, 2 * BLANKS)]])
    points = find_fixed_points(network, rested, mode="slow")
    try:
        line, through = fit_line_attractor(network, points), SLOW
    except RnnlensError:
        line, through = fit_line_attractor(network, rested), VISITED
    return Location(network, states, settled, points, _known(line, points, through, blank), through, blank)


def _known(line: LineAttractor, points: FixedPoints, through: str, blank: BlankInput) -> LineAttractor:
    """The line, with what its curve does not show: a network that oscillates has no slow points, those of one that
    forgets are one point."""
    if not points.converged.any():
        return replace(line, known="no slow points", kept=0.0)
    if through == VISITED:
        return replace(line, known="one point", kept=0.0)
    return replace(line, known="one point") if blank.forgets else line


def warnings_of(blank: BlankInput, line: LineAttractor, network: Network, through: str = SLOW) -> list[str]:
    """Reasons why an analysis at the blank input is unreliable. through: what the line goes through. h* reads near 0 if
    its logit is at most a tenth of the line's range, a tenth of the spread of readings, or `NEAR`, whichever is
    largest."""
    low, high = line.range
    warnings = [blank.forgetting()] if blank.forgets else [blank.warning()] if blank.drifts else []
    if not blank.forgets and not line.is_line:
        warnings.append(NO_CURVE if through == VISITED else _no_line(line))
    at = float(network.logit(line.h_star))
    if abs(at) > max(0.1 * (high - low), 0.1 * blank.spread[0], NEAR):
        lowest, highest = f"{low:+.2g}", f"{high:+.2g}"
        others = f"from {lowest} to {highest}" if lowest != highest else "about the same"
        warnings.append(
            f"no slow point reads near 0: h* reads {at:+.2g}, and the others {others}, so words are measured at a "
            "biased state"
        )
    return warnings


def _no_line(line: LineAttractor) -> str:
    """The warning for slow points that are no line."""
    if line.explained < ONE_DIMENSIONAL:
        explained = floor(100 * line.explained)  # 89.9 % is not 90 %, the limit
        return f"the slow points are not one-dimensional: a curve explains {explained} % of their variance"
    if line.shape == "separate points":
        held = floor(100 * line.filled)
        return f"the slow points are separate points, not a line: the logit is held along {held} % of the curve"
    left = percent(line.kept, 0)
    return f"the slow points lie together, not on a line: {left} of the spread of the states before the search is left"


def stored_points(network: Network, arrays: Mapping[str, Tensor], starts: Tensor) -> FixedPoints:
    """The slow points stored in an analysis. starts (K, N): the starting points of their search."""
    states = arrays["slow_points"].to(network.h0).reshape(-1, network.size)
    blank, device = network.h0.new_zeros(network.inputs), network.h0.device
    return FixedPoints(
        network,
        states,
        arrays["slow_points_q"].double().to(device),
        arrays["slow_points_converged"].bool().to(device),
        arrays["slow_points_iterations"].long().to(device),
        starts,
        blank,
        "slow",
        1e-12,
        torch.ones(len(states), dtype=torch.long, device=device),
        arrays["deflections"].to(network.h0),
    )


def stored_line(run: Run) -> LineAttractor:
    """The line attractor of an analyzed run, from its stored slow points."""
    path = run.path / "analysis.safetensors"
    if not path.exists():
        raise not_analyzed(run.path)
    arrays = run.analysis_arrays()
    with parsing(path, "analysis of this network"):
        network = run.analyzed_network
        states = arrays["slow_points"].to(network.h0).reshape(-1, network.size)
        return fit_line_attractor(network, states[arrays["slow_points_converged"].bool().to(states.device)])


def stored_probes(run: Run | None, network: Network, line: LineAttractor) -> Probes:
    """The stored probe words of an analyzed run, or the words with the largest effects in the network. Probe words of
    another class are not used."""
    same = run is not None and analyzed_view(run.results)[0] == network.target
    stored = run.results.get("probes", {}) if run is not None and same else {}
    if run is not None and "positive" in stored:
        with parsing(run.path / "results.json", "result of rnnlens"):
            return Probes.from_dict(stored)
    return Probes.from_network(network, line)


def analyzed_view(results: Mapping[str, Any]) -> tuple[str, str]:
    """The class and the direction that the analysis in results.json is of; empty if the network has one logit, or reads
    one way."""
    options = results.get("analysis")
    options = options if isinstance(options, Mapping) else {}
    return str(options.get("class", "")), str(options.get("direction", ""))


def view_of(network: Network) -> tuple[str, str]:
    """The class and the direction of the network that is analyzed."""
    return network.target, network.direction


def viewed(network: Network) -> dict[str, str]:
    """The same for results.json, under `analysis`: without those that are empty."""
    named = {"class": network.target, "direction": network.direction}
    return {name: value for name, value in named.items() if value}
