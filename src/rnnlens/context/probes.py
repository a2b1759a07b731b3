"""Probe words: valence words of both signs, on which the effect of modifiers is measured (§5.2.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rnnlens.common.allowed import shown
from rnnlens.common.display import Facts, Shown
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.options import WORDS
from rnnlens.common.ranges import in_range
from rnnlens.context.effects import word_inputs
from rnnlens.corpora.classes import find_class
from rnnlens.corpora.occurrences import occurrences
from rnnlens.corpora.pieces import PieceVocab
from rnnlens.corpora.protocol import CorpusLike
from rnnlens.corpora.splits import NEUTRAL
from rnnlens.corpora.vocab import Vocab
from rnnlens.dynamics import LineAttractor, word_effects
from rnnlens.networks import Network


@dataclass(frozen=True)
class Probes(Shown):
    """Positive and negative words, strongest first. source: how they were chosen."""

    positive: tuple[str, ...]
    negative: tuple[str, ...]
    source: str = "given"

    def __post_init__(self) -> None:
        for name in ("positive", "negative"):
            words = getattr(self, name)
            words = tuple(words) if isinstance(words, Iterator) else words
            if words not in WORDS or not list(words):
                raise RnnlensError(f"{name} probes are {shown(words)}: expected a list of at least one word")
            words = tuple(words)
            object.__setattr__(self, name, words)
            if len(set(words)) < len(words):
                twice = next(word for i, word in enumerate(words) if word in words[:i])
                raise RnnlensError(f"{quoted(twice)} is twice among the {name} probes: expected each word once")
        both = set(self.positive) & set(self.negative)
        if both:
            raise RnnlensError(
                f"{quoted(sorted(both)[0])} is among the positive and the negative probes: expected each word once"
            )

    @property
    def words(self) -> list[str]:
        """The positive ones, then the negative ones."""
        return [*self.positive, *self.negative]

    def to_dict(self) -> dict[str, Any]:
        """For results.json, under `probes`."""
        return {"positive": list(self.positive), "negative": list(self.negative), "source": self.source}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Probes:
        return cls(tuple(stored["positive"]), tuple(stored["negative"]), stored["source"])

    def _facts(self) -> Facts:
        return [
            (f"{len(words)} {side}", [*words[:12], *(["…"] if len(words) > 12 else [])])
            for side, words in (("positive", self.positive), ("negative", self.negative))
        ] + [("source", self.source)]

    @in_range()
    def inputs(self, network: Network) -> Tensor:
        """The embeddings of `words`, (n⁺ + n⁻, D)."""
        return word_inputs(network, self.words)

    @in_range("probes")
    def first(self, n: int) -> Probes:
        """The n strongest of each side."""
        return Probes(self.positive[:n], self.negative[:n], self.source)

    @in_range("probes")
    def some(self, n: int) -> Probes:
        """At most n of each side, evenly spaced from the strongest to the weakest."""
        positive, negative = (
            tuple(words[len(words) * i // n] for i in range(n)) if len(words) > n else words
            for words in (self.positive, self.negative)
        )
        return Probes(positive, negative, self.source)

    def split(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Split values (..., V) for `words` into those of positive and of negative probes."""
        if tuple(values.shape[-1:]) != (len(self.words),):
            raise RnnlensError(f"values have shape {tuple(values.shape)}: expected (..., {len(self.words)}), as words")
        return values[..., : len(self.positive)], values[..., len(self.positive) :]

    def contrast(self, values: Tensor) -> Tensor:
        """(mean over positive probes − mean over negative probes)/2. A change of effects has a contrast above 0 if it
        intensifies valence and below 0 if it weakens or reverses it; a shift of all effects has contrast 0."""
        positive, negative = self.split(values)
        return (positive.mean(-1) - negative.mean(-1)) / 2

    @classmethod
    @in_range("probes")
    def from_corpus(
        cls,
        corpus: CorpusLike,
        n: int = 100,
        seed: int = 0,
        most: int = 100_000,
        class_: str | None = None,
        ordered: bool = False,
    ) -> Probes:
        """The n words with the largest and the n with the smallest weights in a logistic regression on the words of the
        training reviews, at most `most` of them (the paper's choice), which does not depend on the network; words that
        occur in none of them, and pieces that go on with a word, are no probes. class_: of several classes, the one
        that is predicted against the rest. ordered: the upper half of ordered classes is predicted."""
        if np.ndim(corpus.train.labels) != 1:
            raise RnnlensError("this corpus has a target at every word: expected one label for each review")
        weights = bag_of_words(corpus, seed, most=most, class_=class_, ordered=ordered)
        words = corpus.vocab.words
        order = np.argsort(weights, kind="stable")
        order = order[(weights[order] != 0) & whole_words(corpus.vocab)[order]]
        n = min(n, len(order) // 2)
        if not n:
            raise RnnlensError(
                "fewer than two words of the training reviews tell their labels: pass probes of your own"
            )
        return cls(
            tuple(words[i] for i in order[::-1][:n]),
            tuple(words[i] for i in order[:n]),
            "logistic regression on the training reviews"
            + ("" if class_ is None else f", class {quoted(class_, 40)} against the rest"),
        )

    @classmethod
    @in_range("probes")
    def from_network(cls, network: Network, line: LineAttractor, n: int = 100, common: int = 5_000) -> Probes:
        """The n words with the largest and the n with the smallest effect wᵀ J_inp(h*) x, of the `common` most
        frequent: for networks without a corpus."""
        line.check_blank()
        if network.vocab is None:
            raise RnnlensError("this network has no words: probes need a network with a vocabulary")
        ids = common_words(network, common)
        if len(ids) < 2:
            known = f"{len(ids)} word{'' if len(ids) == 1 else 's'}"
            raise RnnlensError(
                f"the network knows {known} that can be probes: expected at least 2, a positive and a negative one; "
                "train a network on more texts"
            )
        n = min(n, len(ids) // 2)
        effect = word_effects(network, line.h_star)[ids]
        order = effect.argsort(descending=True)
        words = network.vocab.decode(ids.tolist())
        return cls(
            tuple(words[i] for i in order[:n].tolist()),
            tuple(words[i] for i in order.flip(0)[:n].tolist()),
            "the network's own linear effects at h*",
        )

    @in_range()
    def known_to(self, network: Network) -> Probes:
        """The probes that are in a network's vocabulary."""
        vocab = network.vocab
        if vocab is None:
            raise RnnlensError("this network has no words: probes need a network with a vocabulary")
        kept = [tuple(word for word in words if word in vocab) for words in (self.positive, self.negative)]
        for words, side in zip(kept, (self.positive, self.negative), strict=True):
            if not words:
                raise RnnlensError(
                    f"none of the probes {quoted(', '.join(side))} is in the network's vocabulary: pass others"
                )
        return Probes(kept[0], kept[1], self.source)


def common_words(network: Network, top: int) -> Tensor:
    """Ids of the `top` most frequent words, most frequent first, without `<unk>`; in the vocabulary's order if it has
    no counts. Of a tokenizer's pieces, those that begin a word."""
    vocab = network.vocab
    if vocab is None:
        raise RnnlensError("this network has no words: expected a network with a vocabulary")
    counts = np.zeros(len(vocab)) if vocab.counts is None else vocab.counts
    order = np.argsort(-counts, kind="stable")
    order = order[whole_words(vocab)[order]][:top]
    return torch.as_tensor(order.copy(), device=network.h0.device)


def whole_words(vocab: Vocab) -> np.ndarray:
    """Which words (W,) can be measured: not `<unk>`, and of a tokenizer's pieces those that begin a word."""
    whole = vocab.begins() if isinstance(vocab, PieceVocab) else np.ones(len(vocab), bool)
    if vocab.unk >= 0:
        whole[vocab.unk] = False
    return whole


def bag_of_words(
    corpus: CorpusLike,
    seed: int = 0,
    C: float = 0.05,
    most: int = 100_000,
    class_: str | None = None,
    ordered: bool = False,
) -> np.ndarray:
    """Weights (W,) of a logistic regression of the label on the words that occur in a training review. If there are
    more than `most` reviews, it uses `most` of them, drawn at random. class_: of several classes, the one that is
    predicted against the rest. ordered: the upper half of ordered classes is predicted."""
    occurs, chosen = words_that_occur(corpus, seed, most)
    weights = logistic_weights(occurs, _positive(corpus, class_, ordered)[chosen], seed, C)
    if corpus.vocab.unk >= 0:
        weights[corpus.vocab.unk] = 0
    return weights


def words_that_occur(corpus: CorpusLike, seed: int, most: int) -> tuple[Any, np.ndarray]:
    """Which words occur in each of the training reviews, a sparse matrix (n, W) of ones, and which reviews (n,) these
    are: all, or `most` of them at random."""
    chosen = np.arange(len(corpus.train))
    if getattr(corpus.train, "grades", None) is not None:
        chosen = np.flatnonzero(np.asarray(corpus.train.labels) != NEUTRAL)
    if len(chosen) > most:
        chosen = np.sort(np.random.default_rng(seed).choice(len(chosen), most, replace=False))
    occurs = occurrences(corpus, chosen)
    occurs.data[:] = 1
    return occurs, chosen


def logistic_weights(occurs: Any, positive: np.ndarray, seed: int, C: float = 0.05) -> np.ndarray:
    """Weights (W,) of a logistic regression of labels (n,) on the words that occur, (n, W)."""
    from sklearn.linear_model import LogisticRegression

    if len(np.unique(positive)) < 2:
        raise RnnlensError(
            f"the {len(positive)} training reviews that are read have one label: expected both, to choose probe words "
            "by; read more of them (most=), or pass probes"
        )
    model = LogisticRegression(C=C, solver="liblinear", random_state=seed % 2**32)  # NumPy's limit
    return model.fit(occurs, positive).coef_[0]


def _positive(corpus: CorpusLike, class_: str | None, ordered: bool) -> np.ndarray:
    """Which training reviews (n,) are positive, of a class, or of the upper half of ordered classes."""
    labels, names = np.asarray(corpus.train.labels), getattr(corpus, "classes", ())
    if ordered and names:
        return labels > (len(names) - 1) / 2
    if names and class_ is None:
        raise RnnlensError(f"the corpus has {len(names)} classes: choose one, class_={quoted(names[0], 40)}")
    if class_ is None:
        return labels > 0.5
    if not names:
        raise RnnlensError(f"class is {quoted(class_)}, but the corpus has no names of classes: leave it out")
    return labels == find_class(names, class_)
