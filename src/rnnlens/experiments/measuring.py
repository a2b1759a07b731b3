"""What `validate` measures of one trained network, as plain arrays: words, reaches, edges, and what removing does."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from rnnlens.context.edges import edge_gains
from rnnlens.context.perturbation import Reviews, final_logits
from rnnlens.context.scope import scopes
from rnnlens.context.subspace import fit_subspace, project_out, random_subspace
from rnnlens.corpora.truth import Truth
from rnnlens.experiments.accuracy import other_words
from rnnlens.experiments.analyze import Analysis
from rnnlens.networks import Network

LAGS = 12
CONTEXTS = 16  # states from which reaches are measured, each with other words behind
RANKS = (1, 2, 3, 5, 10)


@torch.no_grad()
def measure_words(analysis: Analysis, corpus: Any, reaching: np.ndarray, seed: int = 0) -> dict[str, np.ndarray]:
    """Of every word that was looked at, (M,), with the edges of documents, (T,), and the reach of some, given by their
    ids, (R, L): among words as they are read, from states as they are visited."""
    found, network, line = analysis.modifiers, analysis.network, analysis.line
    first, last = edge_gains(network, line, analysis.probes)
    generator = np.random.default_rng(seed)
    texts = np.asarray(corpus.train.ids)
    between = texts[generator.integers(0, len(texts), (CONTEXTS, LAGS - 1))].astype(np.int64)
    order = network.logit(analysis.states.to(line.h_star)).argsort()
    places = torch.linspace(0.1, 0.9, CONTEXTS, device=order.device).mul(len(order)).long()
    ids, others = (torch.as_tensor(some, device=line.h_star.device) for some in (reaching, between))
    at = analysis.states.to(line.h_star)[order[places]]
    tensors = {
        "ids": found.ids, "norm_fixed": found.norms["fixed"], "norm_nearest": found.norms["nearest"],
        "interaction": found.interaction, "score": found.score, "strength": found.strength, "sure": found.sure,
        "share": found.share, "positive": found.positive, "negative": found.negative, "valence": found.valence,
        "lasting": found.lasting,
        "reaching": ids, "reach": scopes(network, line, ids, analysis.probes, LAGS, at, others).interaction,
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
def measure_causes(analysis: Analysis, corpus: Any, truth: Truth, draws: int = 3, seed: int = 0) -> dict[str, Any]:
    """What the test documents read as, before and after the modifier subspace is projected out, of several ranks, and
    after random subspaces and those of other words: removing it should take the modification and nothing else."""
    network, subspace, line = analysis.network, analysis.subspace, analysis.line
    sums = truth.sums["test"]
    width = 2 * network.size * getattr(network.cell, "gates", 4) + network.inputs
    reviews = Reviews.of(corpus.test, network.h0.device, None, 12 * width)  # networks are measured side by side
    before = final_logits(network, reviews)
    start = reading(before, sums.plain, sums.expected)

    def told(other: Network) -> dict[str, float]:
        logits = final_logits(other, reviews)
        now = reading(logits, sums.plain, sums.expected)
        return {
            **now, "valence_kept": now["valence"] / start["valence"],
            "accuracy": _accuracy(logits, corpus.test.labels), "accuracy_plain": _accuracy(logits, sums.labels),
        }  # fmt: skip

    wide = fit_subspace(network, line, analysis.modifiers, rank=None, rows=analysis.modifiers.strong)
    ranks = [rank for rank in RANKS if rank <= wide.rank]
    generator = torch.Generator().manual_seed(seed)
    random = [random_subspace(network.size, 3, generator, subspace.line).to(network.h0) for _ in range(draws)]
    others = other_words(network, line, analysis.modifiers, seed, draws)
    return {
        "before": {
            **start, "accuracy": _accuracy(before, corpus.test.labels), "accuracy_plain": _accuracy(before, sums.labels)
        },
        "removed": {str(rank): told(project_out(network, wide.take(rank))) for rank in ranks},
        "random": [told(project_out(network, V, subspace.h_star)) for V in random],
        "other_words": [told(project_out(network, other.take(3))) for other in others if other.rank >= 3],
    }  # fmt: skip


def _accuracy(logits: np.ndarray, labels: np.ndarray) -> float:
    return float(((logits > np.median(logits)) == (np.asarray(labels) > 0.5)).mean())
