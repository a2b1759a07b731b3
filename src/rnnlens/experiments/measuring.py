"""The measurements of `validate` on a trained network: its line, and the effects of removing the modifier subspace."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from rnnlens.analysis.locate import location_of, warnings_of
from rnnlens.analysis.perturb import other_words
from rnnlens.context.modifiers import Modifiers
from rnnlens.context.perturbation import Reviews, final_logits
from rnnlens.context.subspace import fit_subspace, project_out_each, random_subspace
from rnnlens.corpora import CorpusLike
from rnnlens.corpora.truth import Truth
from rnnlens.dynamics import LineAttractor, visited_states
from rnnlens.networks import Network
from rnnlens.networks.devices import threads_for
from rnnlens.runs import Run

RANKS = (1, 2, 3, 5, 10)


@dataclass(frozen=True, eq=False)
class Opened:
    """A trained network with its line. results: the content for validation.json."""

    network: Network
    line: LineAttractor
    results: dict[str, Any]


@torch.no_grad()
def locate_run(run: Run, corpus: CorpusLike, device: str | None, starts: int = 2_000) -> Opened:
    """The first stage of `analyze`: visited states, slow points, the line."""
    network = copy.deepcopy(run.network).to(device) if device else run.network
    with threads_for(network, None):
        source = getattr(corpus, "validation", None) or corpus.train
        states = visited_states(network, source, n=starts, seed=0, max_words=run.config.max_words).to(network.h0)
        found = location_of(network, states)
    line = found.line
    results = {
        "accuracy": run.results["accuracy"],
        "warnings": warnings_of(found.blank, line, network, found.through),
        "line": {"explained": line.explained, "through": found.through, "is_line": found.is_line},
    }
    return Opened(network, line, results)


def reading(logits: np.ndarray, plain: np.ndarray, expected: np.ndarray) -> dict[str, float]:
    """Fit a network's logits by a·(sum of plain valences) + b·(contribution of modifiers) + c.

    valence: a. modification: b/a, which is 1 if modifiers count in full and 0 if they are ignored. explained: the share
    of variance."""
    x = np.stack([plain, expected - plain, np.ones(len(plain))], 1)
    fit = np.linalg.lstsq(x, logits, rcond=None)[0]
    (a, b, _), left = fit, logits - x @ fit
    return {"valence": float(a), "modification": float(b / a), "explained": float(1 - left.var() / logits.var())}


@torch.no_grad()
def measure_causes(
    network: Network,
    line: LineAttractor,
    modifiers: Modifiers,
    corpus: CorpusLike,
    truth: Truth,
    draws: int = 3,
    seed: int = 0,
) -> dict[str, Any]:
    """How the network reads the test documents before and after its modifier subspace is projected out, with several
    ranks, and, as controls, without random subspaces and subspaces of other words. Removing the modifier subspace
    should remove the modification and nothing else."""
    split, sums = corpus.test, truth.sums["test"]
    assert split is not None
    width = 2 * network.size * getattr(network.cell, "gates", 4) + network.inputs
    reviews = Reviews.of(split, network.h0.device, None, 12 * width)
    before = final_logits(network, reviews)
    start = reading(before, sums.plain, sums.expected)

    def read(logits: np.ndarray) -> dict[str, float]:
        now = reading(logits, sums.plain, sums.expected)
        kept = {"valence_kept": now["valence"] / start["valence"]}
        return {**now, **kept, "accuracy": _accuracy(logits, split.labels)}

    wide = fit_subspace(network, line, modifiers, rank=None, rows=modifiers.strong)
    generator = torch.Generator().manual_seed(seed)
    random = [random_subspace(network.size, 3, generator, wide.line) for _ in range(draws)]
    others = other_words(network, line, modifiers, wide.take(min(3, wide.rank)), seed, draws)
    ranks = [rank for rank in RANKS if rank <= wide.rank]
    subspaces = [*(wide.components[:rank] for rank in ranks), *random]
    subspaces += [other.take(3).components for other in others if other.rank >= 3]
    versions = project_out_each(network, [(V, wide.h_star) for V in subspaces])
    after = [read(logits) for logits in final_logits(versions, reviews)]
    return {
        "before": {**start, "accuracy": _accuracy(before, split.labels)},
        "removed": dict(zip(map(str, ranks), after, strict=False)),
        "random": after[len(ranks) :][:draws],
        "other_words": after[len(ranks) + draws :],
    }


def _accuracy(logits: np.ndarray, labels: np.ndarray) -> float:
    """Accuracy with the median logit as threshold, so that a shift of all logits does not matter."""
    return float(((logits > np.median(logits)) == (np.asarray(labels) > 0.5)).mean())
