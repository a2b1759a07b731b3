"""The third stage of an analysis: how much accuracy drops when words, states or the beginnings and ends of reviews are
perturbed (§5.3.4, §6).

Every difference is paired, with its interval and McNemar's p.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rnnlens.analysis.examples import Example
from rnnlens.common.display import Facts, Shown
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import parsing
from rnnlens.context.dose_response import Steering, dose_response
from rnnlens.context.modifiers import Modifiers
from rnnlens.context.perturbation import (
    Difference,
    Perturbations,
    Reviews,
    compare_logits,
    final_logits,
    initial_states_without,
    perturb,
)
from rnnlens.context.subspace import Subspace, fit_subspace, random_subspace
from rnnlens.corpora import CorpusLike
from rnnlens.corpora.grades import decided
from rnnlens.dynamics import LineAttractor
from rnnlens.networks import Network
from rnnlens.networks.versions import Versions

PARTS = ("train", "validation", "test")
BLANKS = 50  # blank inputs after the last word


@dataclass(frozen=True)
class Edges:
    """Differences in accuracy on one split with another initial state, and with blank inputs at the end.

    h0_projected  h0 without its coordinates in the first two directions of the subspace
    h0_on_line    the point of the line nearest to h0
    h0_random     h0 without two random directions, five draws
    padded        50 blank inputs after the last word
    """

    h0_projected: Difference
    h0_on_line: Difference
    h0_random: tuple[Difference, ...]
    padded: Difference


@dataclass(frozen=True)
class Experiments(Shown):
    """Accuracy on reviews under perturbations. split: test or validation. sampled: whether the number of reviews was
    limited. examples: a few of the reviews, for the page. steering: accuracy against the gain."""

    split: str
    sampled: bool
    perturbations: Perturbations
    edges: Mapping[str, Edges]
    steering: Steering
    examples: tuple[Example, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The content for results.json, to be merged into it."""
        p = self.perturbations
        accuracy: dict[str, Any] = {
            f"{self.split}_shuffled": p.shuffled.to_dict(),
            f"{self.split}_subspace_removed": {str(rank): d.to_dict() for rank, d in p.removed.items()},
            f"{self.split}_random_removed": _draws(p.random),
            f"{self.split}_words_removed": _draws(p.words),
        }
        if not self.sampled:  # the accuracy on a sample is stored only with its experiments
            accuracy |= {part: edges.padded.before for part, edges in self.edges.items()}
        beginning = {
            part: {
                "h0_projected": e.h0_projected.to_dict(),
                "h0_on_line": e.h0_on_line.to_dict(),
                "h0_random": [one.to_dict() for one in e.h0_random],
            }
            for part, e in self.edges.items()
        }
        ending = {part: {"padded": e.padded.to_dict()} for part, e in self.edges.items()}
        examples = [vars(one) for one in self.examples]
        steering = {"split": self.split, **self.steering.to_dict()}
        parts = {"accuracy": accuracy, "beginning": beginning, "ending": ending}
        return {**parts, "examples": examples, "steering": steering}

    @classmethod
    def from_dict(cls, results: Mapping[str, Any], split: str, sampled: bool) -> Experiments:
        """The experiments stored in results.json."""
        accuracy, edges = results["accuracy"], {}
        for part in (split, "train"):
            if part in results["ending"]:
                start = results["beginning"][part]
                edges[part] = Edges(
                    Difference.from_dict(start["h0_projected"]),
                    Difference.from_dict(start["h0_on_line"]),
                    tuple(Difference.from_dict(one) for one in start["h0_random"]),
                    Difference.from_dict(results["ending"][part]["padded"]),
                )
        shuffled = Difference.from_dict(accuracy[f"{split}_shuffled"])
        removed = {int(rank): Difference.from_dict(d) for rank, d in accuracy[f"{split}_subspace_removed"].items()}
        random, words = (
            {int(rank): [Difference.from_dict(d) for d in draws] for rank, draws in accuracy[f"{split}_{name}"].items()}
            for name in ("random_removed", "words_removed")
        )
        perturbations = Perturbations(shuffled.before, shuffled.n, shuffled, removed, random, words)
        examples = tuple(Example(**one) for one in results.get("examples", ()))
        return cls(split, sampled, perturbations, edges, Steering.from_dict(results["steering"]), examples)

    def _facts(self) -> Facts:
        return self.perturbations._facts()


def _draws(by_rank: Mapping[int, list[Difference]]) -> dict[str, list[dict[str, Any]]]:
    return {str(rank): [one.to_dict() for one in draws] for rank, draws in by_rank.items()}


def other_words(
    network: Network,
    line: LineAttractor,
    modifiers: Modifiers,
    subspace: Subspace,
    seed: int,
    draws: int = 5,
    common: int = 2_000,
    attractor: torch.Tensor | None = None,
) -> list[Subspace]:
    """Control subspaces: each is fitted to common words that are not among the strongest modifiers, as many as these.
    The directions of the modifier subspace are removed first, since the strongest directions of all words nearly
    coincide with it. attractor: as for `fit_subspace`."""
    strong = set(modifiers.strong.tolist())
    rest = torch.tensor([i for i in range(min(common, len(modifiers))) if i not in strong])
    generator = torch.Generator().manual_seed(seed)
    subspaces = []
    for _ in range(draws if len(rest) > len(strong) else 0):
        rows = rest[torch.randperm(len(rest), generator=generator)[: len(strong)]].to(modifiers.ids.device)
        away = {"without": subspace.components, "attractor": attractor}
        subspaces.append(fit_subspace(network, line, modifiers, rank=None, rows=rows, **away))
    return subspaces


def sample(split: Any, most: int | None, seed: int) -> Any:
    """All reviews of a split or, if it has more than `most`, this many drawn at random."""
    if most is None or len(split) <= most:
        return split
    return split.take(np.sort(np.random.default_rng(seed).permutation(len(split))[:most]))


def reviews_read(results: dict[str, Any]) -> dict[str, int]:
    """The number of reviews of each split in the experiments of `results`; empty without experiments."""
    ending = results.get("ending", {})
    return {part: ending[part]["padded"]["n"] for part in PARTS if part in ending}


def reviews_to_read(corpus: CorpusLike, most: int | None) -> dict[str, int]:
    """The number of reviews of each split that `perturb_reviews` will read."""
    splits = dict([evaluated(corpus), ("train", decided(corpus.train))])
    return {name: len(split) if most is None else min(most, len(split)) for name, split in splits.items()}


def check_as_many(stored: dict[str, Any], read: dict[str, int], folder: Path) -> None:
    """Raise an error if new experiments would replace experiments on more reviews."""
    with parsing(folder / "results.json", "results of an analysis"):
        known = reviews_read(stored)
        fewer = [part for part, n in read.items() if n < known.get(part, 0)]
    for part in fewer:
        raise RnnlensError(
            f"{quoted(str(folder))} holds an analysis of {known[part]:,} {part} reviews, which one of {read[part]:,} "
            "would replace: read as many with --reviews, or allow it with --overwrite"
        )


def evaluated(corpus: CorpusLike) -> tuple[str, Any]:
    """The split on which accuracy is measured, with its name."""
    name, split = ("test", corpus.test) if corpus.test is not None else ("validation", corpus.validation)
    if split is None:
        raise RnnlensError(
            "the corpus has neither test nor validation reviews: prepare it with one of them, or leave --corpus out "
            "(in Python, pass accuracy=False)"
        )
    return name, split


def perturb_reviews(
    network: Network,
    line: LineAttractor,
    subspace: Subspace,
    others: list[Subspace],
    corpus: CorpusLike,
    modifiers: Modifiers,
    *,
    longest: int | None = None,
    most: int | None = None,
    rank: int = 3,
    seed: int = 0,
    step: Callable[[str], None] = lambda note: None,
) -> Experiments:
    """Read the reviews of a corpus with words, states and edges perturbed, and with other gains of the subspace.

    subspace: with all its components. others: control subspaces of other words. longest: read only this many last words
    of a review. most: read at most this many reviews of a split, drawn at random. rank: of the subspace that is
    steered, and of which two components are removed from the initial state."""
    name, split = evaluated(corpus)
    step("accuracy without the subspace")
    reviews = {name: Reviews.to_read(sample(split, most, seed), network, longest)}
    before, five = final_logits(network, reviews[name]), subspace.take(min(5, subspace.rank))
    perturbations = perturb(network, five, reviews[name], others=others, seed=seed, before=before)
    few = subspace.take(min(rank, subspace.rank))
    step("accuracy against the gain")
    # One draw of other words: these differ far less than random directions.
    steering = dose_response(network, few, modifiers, reviews[name], others=others[:1], seed=seed, before=before)
    reviews["train"] = Reviews.to_read(sample(decided(corpus.train), most, seed), network, longest)
    generator = torch.Generator().manual_seed(seed)
    two = few.take(min(2, few.rank))
    edges = {}
    for part, of_split in reviews.items():
        step(f"edges of documents, {part}")
        usual = before if part == name else final_logits(network, of_split)
        edges[part] = _edges(network, line, two, of_split, generator, usual)
    return Experiments(name, most is not None, perturbations, edges, steering)


def _edges(
    network: Network,
    line: LineAttractor,
    two: Subspace,
    reviews: Reviews,
    generator: torch.Generator,
    before: np.ndarray,
) -> Edges:
    random = [random_subspace(network.size, two.rank, generator, two.line) for _ in range(5)]
    states = initial_states_without(network, [two.components, *random], two.h_star)
    starts = torch.cat([states, line.nearest(network.h0.detach()).unsqueeze(0)])
    projected, *drawn, on_line = (
        compare_logits(before, after, reviews.labels)
        for after in final_logits(Versions.starting(network, starts), reviews)
    )
    padded = compare_logits(before, final_logits(network, reviews, pads=BLANKS), reviews.labels)
    return Edges(projected, on_line, tuple(drawn), padded)
