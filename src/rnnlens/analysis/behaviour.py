"""What a network does with the phrases that people have judged: it reads x and "w x", each from its initial state."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np
import torch

from rnnlens.analysis.people import Judged, judged_pairs, sums_of
from rnnlens.analysis.trees import Trees
from rnnlens.common.errors import RnnlensError
from rnnlens.corpora.vocab import PAD
from rnnlens.networks import Network

BATCH = 2**14  # words of a batch


def behaviour(network: Network, trees: Trees, words: Collection[str]) -> Judged:
    """The strengths that show in a network's logits, by the formula of people's strengths with logits for labels:
    Σ logit(w x) · logit(x) / Σ logit(x)² − 1, for some words w.

    Left out are words that the network does not know, and phrases that it splits differently after w (do + n't)."""
    vocab = network.vocab
    if vocab is None:
        raise RnnlensError("this network has no words: it cannot read phrases")
    asked = {word for word in words if word in vocab}
    pairs, texts = [], []
    for pair in judged_pairs(trees):
        if pair.word in asked:
            rest, whole = vocab.split(trees.text(pair.rest)), vocab.split(trees.text(pair.whole))
            if rest and [word.lower() for word in whole] == [pair.word, *(word.lower() for word in rest)]:
                pairs.append(pair)
                texts.append((tuple(rest), tuple(whole)))
    logits = read_all(network, {text for both in texts for text in both})
    found = np.array([(logits[rest], logits[whole]) for rest, whole in texts]).reshape(-1, 2)
    return sums_of(pairs, found[:, 0], found[:, 1], trees.source)


@torch.no_grad()
def read_all(network: Network, texts: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], float]:
    """The logit after each text, a tuple of words, read from h0; texts of similar length are read together."""
    assert network.vocab is not None
    found: dict[tuple[str, ...], float] = {}
    order = sorted(set(texts), key=len, reverse=True)
    start = 0
    while start < len(order):
        some = order[start : start + max(1, BATCH // max(1, len(order[start])))]
        ids = np.full((len(some), len(some[0])), PAD, np.int64)
        for row, text in zip(ids, some, strict=True):
            row[: len(text)] = network.vocab.encode(text)
        device = network.h0.device
        lengths = torch.tensor([len(text) for text in some], device=device)
        found.update(zip(some, network(torch.as_tensor(ids, device=device), lengths).double().tolist(), strict=True))
        start += len(some)
    return found
