"""Generated reviews for measuring by: as long as real ones, of words as frequent, with labels by chance."""

from __future__ import annotations

import numpy as np

from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.splits import Split
from rnnlens.corpora.vocab import Vocab

LIKE = {  # mean and spread of the logarithm of a review's length, and the longest: as `rnnlens info` finds them
    "imdb": (5.25, 0.6, 800),
    "yelp": (4.58, 0.92, 1156),
}


def lengths(n: int, like: str, generator: np.random.Generator) -> np.ndarray:
    """Words of each of n reviews, (n,): log-normal, on average some 230 (imdb) or 140 (yelp)."""
    middle, spread, longest = LIKE[like]
    return np.clip(np.exp(generator.normal(middle, spread, n)), 10, longest).astype(np.int64)


def zipf(words: int) -> np.ndarray:
    """Chances (W,) that fall as 1/rank, as those of words do."""
    chance = 1 / np.arange(1, words + 1)
    return chance / chance.sum()


def reviews(n: int, chance: np.ndarray, like: str = "imdb", seed: int = 0) -> Split:
    """n reviews of words drawn by their chance (W,)."""
    generator = np.random.default_rng(seed)
    n_words = lengths(n, like, generator)
    ids = np.searchsorted(np.cumsum(chance), generator.random(int(n_words.sum()))).clip(max=len(chance) - 1)
    kind = np.uint16 if len(chance) <= 2**16 else np.uint32
    labels = generator.integers(0, 2, n).astype(np.uint8)
    return Split(ids.astype(kind), np.concatenate([[0], np.cumsum(n_words)]), labels)


def corpus(n: int, words: int, like: str = "yelp") -> Corpus:
    """A corpus of n training reviews and a tenth as many to validate on, in memory."""
    vocab = Vocab(["<unk>", *(f"w{i}" for i in range(1, words))])
    chance = zipf(words)
    return Corpus(
        vocab,
        reviews(n, chance, like),
        reviews(max(1, n // 10), chance, like, seed=1),
        about={"source": "generated"},
        fingerprint=f"generated-{n}-{words}-{like}",
    )
