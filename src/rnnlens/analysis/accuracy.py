"""The experiments of `analyze` that read reviews: what accuracy hangs on, and the edges of documents (§5.3.4, §6).

Every difference is paired, with its interval and McNemar's p.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import understood
from rnnlens.context.modifiers import Modifiers
from rnnlens.context.perturbation import (
    Perturbations,
    Reviews,
    compare_logits,
    final_logits,
    initial_state_without,
    network_from,
    perturb,
)
from rnnlens.context.subspace import Subspace, fit_subspace, random_subspace
from rnnlens.dynamics import LineAttractor
from rnnlens.networks import Network
from rnnlens.runs import Run

PARTS = ("train", "validation", "test")


def other_words(
    network: Network, line: LineAttractor, modifiers: Modifiers, subspace: Subspace, seed: int, draws: int = 5,
    common: int = 2_000,
) -> list[Subspace]:  # fmt: skip
    """Subspaces of as many words that are common but not among the strongest modifiers, several draws. The modifiers'
    own directions are taken out first: the strongest directions of all words are nearly the same plane."""
    strong = set(modifiers.strong.tolist())
    rest = torch.tensor([i for i in range(min(common, len(modifiers))) if i not in strong])
    generator = torch.Generator().manual_seed(seed)
    found = []
    for _ in range(draws if len(rest) > len(strong) else 0):
        rows = rest[torch.randperm(len(rest), generator=generator)[: len(strong)]].to(modifiers.h_mod.device)
        found.append(fit_subspace(network, line, modifiers, rank=None, rows=rows, without=subspace.components))
    return found


def sample(split: Any, most: int | None, seed: int) -> Any:
    """All reviews of a split, or so many drawn at random."""
    if most is None or len(split) <= most:
        return split
    return split.take(np.sort(np.random.default_rng(seed).permutation(len(split))[:most]))


def reviews_read(results: dict[str, Any]) -> dict[str, int]:
    """How many reviews of each split the experiments in `results` read; empty without experiments."""
    ending = results.get("ending", {})
    return {part: ending[part]["padded"]["n"] for part in PARTS if part in ending}


def reviews_to_read(corpus: Any, most: int | None) -> dict[str, int]:
    """How many reviews of each split `accuracy_experiments` will read."""
    found = dict([_judged(corpus), ("train", corpus.train)])
    return {name: len(split) if most is None else min(most, len(split)) for name, split in found.items()}


def check_as_many(stored: dict[str, Any], read: dict[str, int], folder: Path) -> None:
    """Refuse to replace experiments with others on fewer reviews."""
    with understood(folder / "results.json", "results of an analysis"):
        known = reviews_read(stored)
        fewer = [part for part, n in read.items() if n < known.get(part, 0)]
    for part in fewer:
        raise RnnlensError(
            f"{quoted(str(folder))} holds an analysis of {known[part]:,} {part} reviews, which one of {read[part]:,} "
            "would replace: ask for as many with --reviews, or allow it with --overwrite"
        )


def _judged(corpus: Any) -> tuple[str, Any]:
    """The split that accuracy is measured on."""
    name, split = ("test", corpus.test) if corpus.test is not None else ("validation", corpus.validation)
    if split is None:
        raise RnnlensError("the corpus has neither test nor validation reviews: prepare some, or pass accuracy=False")
    return name, split


def accuracy_experiments(
    network: Network,
    run: Run | None,
    line: LineAttractor,
    wide: Subspace,
    subspace: Subspace,
    others: list[Subspace],
    corpus: Any,
    results: dict[str, Any],
    seed: int,
    told: Callable[[str], None],
    most: int | None = None,
) -> Perturbations:
    """The experiments on reviews, at most so many of a split: every difference paired, with its interval and p."""
    longest = None if run is None else run.config.max_words
    name, split = _judged(corpus)
    told("accuracy without the subspace")
    reviews = {name: Reviews.to_read(sample(split, most, seed), network, longest)}
    found = perturb(network, wide.take(min(5, wide.rank)), reviews[name], others=others, seed=seed)
    whole = {name: found.accuracy} if most is None else {}  # a sample's accuracy stands with its experiments
    results["accuracy"] = {
        **whole,
        f"{name}_shuffled": found.shuffled.results(),
        f"{name}_subspace_removed": {str(rank): d.results() for rank, d in found.removed.items()},
        f"{name}_random_removed": {str(rank): [d.results() for d in some] for rank, some in found.random.items()},
        f"{name}_words_removed": {str(rank): [d.results() for d in some] for rank, some in found.words.items()},
    }
    generator = torch.Generator().manual_seed(seed)
    two = subspace.take(min(2, subspace.rank))
    reviews["train"] = Reviews.to_read(sample(corpus.train, most, seed), network, longest)
    for part, some in reviews.items():
        told(f"edges of documents, {part}")
        before = final_logits(network, some)
        other = initial_state_without(network, two.components, two.h_star)
        without = compare_logits(before, final_logits(other, some), some.labels)
        resting = network_from(network, line.nearest(network.h0.detach()))
        on_line = compare_logits(before, final_logits(resting, some), some.labels)
        controls = []
        for _ in range(5):
            V = random_subspace(network.size, two.rank, generator, two.line).to(network.h0)
            control = initial_state_without(network, V, two.h_star)
            controls.append(compare_logits(before, final_logits(control, some), some.labels).results())
        padded = compare_logits(before, final_logits(network, some, pads=50), some.labels)
        results["beginning"][part] = {
            "h0_projected": without.results(), "h0_on_line": on_line.results(), "h0_random": controls,
        }  # fmt: skip
        results["ending"][part] = {"padded": padded.results()}
        if most is None:
            results["accuracy"][part] = without.before
    return found
