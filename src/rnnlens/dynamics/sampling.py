"""A random sample of the states that a network visits, drawn without storing all of them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from rnnlens.common.errors import RnnlensError
from rnnlens.common.ranges import in_range
from rnnlens.corpora.batches import token_batches
from rnnlens.corpora.protocol import CorpusLike, Documents, SplitLike
from rnnlens.networks import Network, check_words
from rnnlens.networks.parallel import in_parallel, words_at_once

STATES = 2**25  # numbers in the states that are held while reading
SAMPLE, FEWEST = 2**23, 64  # numbers in a sample, and states in it whatever their size


@torch.no_grad()
@in_range("visited_states")
def visited_states(
    network: Network,
    corpus: CorpusLike | SplitLike | None = None,
    n: int = 10_000,
    seed: int = 0,
    max_words: int | None = None,
    length: int = 50,
    tokens: int = 2**16,
) -> Tensor:
    """n states (n, N) after words of a corpus's reviews; without a corpus, after random words of the vocabulary.

    corpus: a split, or a corpus (its test split if it has one, else its training split). Pairs (review, word) are drawn
    first, uniformly over all words without replacement; then only those reviews are read, a batch at a time.
    Of a large state, fewer are drawn: 2^23 numbers, but at least 64 states. Random words: sequences of `length`, drawn
    in proportion to their counts if the vocabulary has counts.
    """
    check_words(network, corpus)
    tokens = max(1, min(tokens, STATES // network.size))
    n = min(n, max(FEWEST, SAMPLE // network.size))
    generator = np.random.default_rng(seed)
    if corpus is None:
        length = min(length, max_words or length)
        split: Documents = _RandomReviews(network, max(1, -(-n // length)), length, generator)
    else:
        test = getattr(corpus, "test", None)
        split = getattr(corpus, "train", corpus) if test is None else test  # type: ignore[arg-type]
    lengths = split.lengths if max_words is None else np.minimum(split.lengths, max_words)
    total = int(lengths.sum())
    if total == 0:
        raise RnnlensError("the reviews have no words: expected at least one word to sample a state after")
    picked = np.sort(generator.choice(total, min(n, total), replace=False))
    ends = np.cumsum(lengths)
    review = np.searchsorted(ends, picked, side="right")
    word = picked - (ends - lengths)[review]
    sample = network.h0.new_empty(len(picked), network.size)
    reviews, first = np.unique(review, return_index=True)
    count = np.diff(np.append(first, len(picked)))

    def read(part: tuple[np.ndarray, np.ndarray]) -> None:
        batch, ids = part
        states = network.states(torch.from_numpy(ids).to(network.h0.device))
        rows = np.repeat(np.arange(len(batch)), count[batch])
        slots = np.concatenate([np.arange(first[b], first[b] + count[b]) for b in batch])
        sample[torch.from_numpy(slots)] = states[torch.from_numpy(rows), torch.from_numpy(word[slots] + 1)]

    batches = token_batches(lengths[reviews], words_at_once(network, tokens), 256)
    in_parallel(read, ((batch, split.batch(reviews[batch], max_words)[0]) for batch in batches), network)
    return sample


class _RandomReviews:
    """Sequences of random words, with the interface of a split."""

    def __init__(self, network: Network, n: int, length: int, generator: np.random.Generator):
        if network.vocab is None:
            raise RnnlensError("this network has no words to draw at random: pass a corpus")
        counts = network.vocab.counts
        shares = None if counts is None or counts.sum() == 0 else counts / counts.sum()
        self.ids = generator.choice(len(network.vocab), size=(n, length), p=shares)
        self.lengths = np.full(n, length)

    def batch(self, rows: np.ndarray, max_words: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        return self.ids[rows][:, -(max_words or self.ids.shape[1]) :], self.lengths[rows]
