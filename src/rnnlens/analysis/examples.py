"""Short reviews of the corpus at hand, read rightly and wrongly, as examples for the page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rnnlens.context.modifiers import Modifiers
from rnnlens.context.perturbation import Reviews, final_logits
from rnnlens.context.strength import MODIFIERS
from rnnlens.corpora.pieces import PieceVocab
from rnnlens.corpora.protocol import SplitLike
from rnnlens.corpora.splits import Split
from rnnlens.corpora.vocab import PAD
from rnnlens.networks import Network

LENGTHS = ((4, 25), (4, 60))  # words of an example; the second if no review is that short
MOST = 4_000  # reviews that are looked at
EACH = 2


@dataclass(frozen=True)
class Example:
    """A review. label: positive or negative. logit: the network's. modifier: its strongest modifier, or empty."""

    text: str
    label: str
    logit: float
    modifier: str

    @property
    def right(self) -> bool:
        return (self.logit > 0) == (self.label == "positive")


def corpus_examples(network: Network, modifiers: Modifiers, split: SplitLike) -> tuple[Example, ...]:
    """Two short reviews with a clear modifier that the network reads rightly, with the strongest modifiers, and the two
    that it misreads most. All their words are known to it. If no word is a clear modifier, any short reviews; fewer, or
    none, where there are not as many."""
    vocab = network.vocab
    assert vocab is not None
    rows = zip(modifiers.words, modifiers.strength.tolist(), modifiers.kinds, strict=True)
    strength = {word: abs(value) for word, value, kind in rows if kind in MODIFIERS}
    found: list[Example] = []
    for low, high in LENGTHS:
        near = np.flatnonzero((split.lengths >= low) & (split.lengths <= high))[:MOST]
        ids, lengths = split.batch(near)
        texts = [vocab.decode(row[:n].tolist()) for row, n in zip(ids, lengths, strict=True)]
        known = [not np.isin(row[:n], (PAD, vocab.unk)).any() for row, n in zip(ids, lengths, strict=True)]
        chosen = [
            k for k, words in enumerate(texts) if known[k] and not (strength and strength.keys().isdisjoint(words))
        ]
        if chosen:
            found = _read(network, split, near[chosen], [texts[k] for k in chosen], strength)
            break
    right = sorted((one for one in found if one.right), key=lambda one: (-strength.get(one.modifier, 0), one.text))
    wrong = sorted((one for one in found if not one.right), key=lambda one: (-abs(one.logit), one.text))
    return (*_different(right), *_different(wrong))


def _read(
    network: Network, split: SplitLike, rows: np.ndarray, texts: list[list[str]], strength: dict[str, float]
) -> list[Example]:
    ids, lengths = split.batch(rows)
    flat = np.concatenate([row[:n] for row, n in zip(ids, lengths, strict=True)])
    labels = np.asarray(split.labels)[rows] > 0.5
    part = Split(flat, np.concatenate([[0], np.cumsum(lengths)]), labels)
    logits = final_logits(network, Reviews.to_read(part, network)).tolist()
    return [
        Example(
            _text(network, words),
            "positive" if label else "negative",
            round(logit, 4),
            max((word for word in words if word in strength), key=lambda word: strength[word], default=""),
        )
        for words, label, logit in zip(texts, labels, logits, strict=True)
    ]


def _text(network: Network, words: list[str]) -> str:
    """The text of words in the order in which the network takes them: reversed, if it reads backward alone."""
    vocab, words = network.vocab, words[::-1] if getattr(network, "backward", False) else words
    return " ".join([word for word, _ in vocab.joined(words)] if isinstance(vocab, PieceVocab) else words)


def _different(examples: Iterable[Example]) -> list[Example]:
    """The first examples, each with another modifier."""
    by_modifier: dict[str, Example] = {}
    for one in examples:
        by_modifier.setdefault(one.modifier or one.text, one)
    return list(by_modifier.values())[:EACH]
