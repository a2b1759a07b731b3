"""What `validate` measures of one trained network, as plain arrays: words, reaches, edges, and what removing does."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rnnlens.context.blank import blank_input
from rnnlens.context.edges import edge_gains
from rnnlens.context.modifiers import Modifiers, find_modifiers
from rnnlens.context.perturbation import Reviews, final_logits
from rnnlens.context.probes import Probes
from rnnlens.context.scope import LAGS, SUREST, reach_curves, scopes, usual_reach
from rnnlens.context.subspace import fit_subspace, project_out, random_subspace
from rnnlens.corpora.truth import Truth
from rnnlens.dynamics import LineAttractor, visited_states
from rnnlens.experiments.accuracy import other_words
from rnnlens.experiments.analyze import find_line, warnings_of
from rnnlens.networks import Network
from rnnlens.runs import Run
from rnnlens.training.loop import threads_for

RANKS = (1, 2, 3, 5, 10)


@dataclass(frozen=True, eq=False)
class Taken:
    """As much of an analysis as is scored against the truth. `states` (K, N): as they are visited; `results`: as in
    results.json."""

    network: Network
    states: Tensor
    line: LineAttractor
    probes: Probes
    modifiers: Modifiers
    results: dict[str, Any]


@torch.no_grad()
def take_apart(run: Run, corpus: Any, probes: Probes, top: int, device: str | None, starts: int = 2_000) -> Taken:
    """What `analyze` does first: slow points, the line, the modifiers."""
    network = copy.deepcopy(run.network).to(device) if device else run.network
    with threads_for(network, None):
        source = getattr(corpus, "validation", None) or corpus.train
        states = visited_states(network, source, n=starts, seed=0, max_words=run.config.max_words)
        states = states.half().float().to(network.h0)  # as analyses store them
        _, line, _, through = find_line(network, states)
        blank = blank_input(network, states)
        results = {
            "line_attractor": {**line.results(), "through": through, "h_star_logit": float(network.logit(line.h_star))},
            "blank_input": blank.results(),
            "warnings": warnings_of(blank, line, network),
        }
        probes = probes.known_to(network)
        return Taken(network, states, line, probes, find_modifiers(network, line, top, probes=probes), results)


@torch.no_grad()
def measure_words(analysis: Taken, corpus: Any, reaching: np.ndarray, seed: int = 0) -> dict[str, np.ndarray]:
    """Of every word that was looked at, (M,), with the edges of documents, (T,), and the reach of some, given by their
    ids, (R, L): among words as they are read, from states as they are visited; `usual` (L,) is the reach of the words
    that are surest to be modifiers, together."""
    found, network, line = analysis.modifiers, analysis.network, analysis.line
    first, last = edge_gains(network, line, analysis.probes)
    ids = torch.as_tensor(reaching, device=line.h_star.device)
    both = torch.cat([ids, found.ids[found.sure.abs().argsort(descending=True)[:SUREST]]])
    curves = reach_curves(network, line, analysis.probes, analysis.states, corpus, both, seed)
    reach, usual = curves[: len(ids)], usual_reach(curves[len(ids) :])
    tensors = {
        "ids": found.ids, "norm_fixed": found.norms["fixed"], "norm_nearest": found.norms["nearest"],
        "interaction": found.interaction, "score": found.score, "strength": found.strength, "sure": found.sure,
        "share": found.share, "positive": found.positive, "negative": found.negative, "valence": found.valence,
        "lasting": found.lasting,
        "reaching": ids, "reach": reach, "usual": usual,
        "reach_over_pads": scopes(network, line, ids, analysis.probes, LAGS).interaction,
        "beginning": first, "ending": last,
    }  # fmt: skip
    return {name: value.cpu().numpy() for name, value in tensors.items()}


def reading(logits: np.ndarray, plain: np.ndarray, expected: np.ndarray) -> dict[str, float]:
    """A network's logits as a·(what words add up to plainly) + b·(what modifiers add): `valence` is a, `modification`
    b/a, 1 where modifiers count in full and 0 where they are not heeded; `explained` is the share of variance."""
    x = np.stack([plain, expected - plain, np.ones(len(plain))], 1)
    fit = np.linalg.lstsq(x, logits, rcond=None)[0]
    (a, b, _), left = fit, logits - x @ fit
    return {"valence": float(a), "modification": float(b / a), "explained": float(1 - left.var() / logits.var())}


@torch.no_grad()
def measure_causes(analysis: Taken, corpus: Any, truth: Truth, draws: int = 3, seed: int = 0) -> dict[str, Any]:
    """What the test documents read as, before and after the modifier subspace is projected out, of several ranks, and
    after random subspaces and those of other words: removing it should take the modification and nothing else."""
    network, line, split, sums = analysis.network, analysis.line, corpus.test, truth.sums["test"]
    plain, expected, without = sums.plain, sums.expected, sums.labels
    width = 2 * network.size * getattr(network.cell, "gates", 4) + network.inputs
    reviews = Reviews.of(split, network.h0.device, None, 12 * width)  # networks are measured side by side
    before = final_logits(network, reviews)
    start = reading(before, plain, expected)

    def told(other: Network) -> dict[str, float]:
        logits = final_logits(other, reviews)
        now = reading(logits, plain, expected)
        return {
            **now, "valence_kept": now["valence"] / start["valence"],
            "accuracy": _accuracy(logits, split.labels), "accuracy_plain": _accuracy(logits, without),
        }  # fmt: skip

    wide = fit_subspace(network, line, analysis.modifiers, rank=None, rows=analysis.modifiers.strong)
    ranks = [rank for rank in RANKS if rank <= wide.rank]
    generator = torch.Generator().manual_seed(seed)
    random = [random_subspace(network.size, 3, generator, wide.line).to(network.h0) for _ in range(draws)]
    others = other_words(network, line, analysis.modifiers, seed, draws)
    return {
        "before": {
            **start, "accuracy": _accuracy(before, split.labels), "accuracy_plain": _accuracy(before, without)
        },
        "removed": {str(rank): told(project_out(network, wide.take(rank))) for rank in ranks},
        "random": [told(project_out(network, V, wide.h_star)) for V in random],
        "other_words": [told(project_out(network, other.take(3))) for other in others if other.rank >= 3],
    }  # fmt: skip


def _accuracy(logits: np.ndarray, labels: np.ndarray) -> float:
    return float(((logits > np.median(logits)) == (np.asarray(labels) > 0.5)).mean())
