"""Strengths computed from a network's logits on the phrases x and "w x" that people have judged."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import torch

from rnnlens.analysis.people import Judged, judged_pairs, sums_of
from rnnlens.analysis.trees import Trees
from rnnlens.common.errors import RnnlensError
from rnnlens.corpora.batches import token_batches
from rnnlens.corpora.vocab import PAD
from rnnlens.networks import AnyNetwork, Network
from rnnlens.networks.parallel import batch_of, in_parallel

TOKENS, MOST = 2**17, 2**14  # largest numbers of padded words and of texts in one call of the network


def behaviour(network: Network, trees: Trees, words: Collection[str]) -> Judged:
    """The strengths of words w in a network's logits, by the formula of people's strengths with logits instead of
    labels: Σ logit(w x) · logit(x) / Σ logit(x)² − 1.

    Words that the network does not know are left out, and so are phrases that it splits differently after w (do + n't).
    """
    vocab = network.vocab
    if vocab is None:
        raise RnnlensError("this network has no words: reading phrases needs a vocabulary")
    known = {word for word in words if word in vocab}
    pairs, texts = [], []
    for pair in judged_pairs(trees):
        if pair.word in known:
            rest, whole = vocab.split(trees.text(pair.rest)), vocab.split(trees.text(pair.whole))
            if rest and [word.lower() for word in whole] == [pair.word, *(word.lower() for word in rest)]:
                pairs.append(pair)
                texts.append((tuple(rest), tuple(whole)))
    unique = sorted({text for both in texts for text in both}, key=len, reverse=True)
    logits = dict(zip(unique, final_logits(network, unique), strict=True))
    read = np.array([(logits[rest], logits[whole]) for rest, whole in texts]).reshape(-1, 2)
    return sums_of(pairs, read[:, 0], read[:, 1], trees.source)


@torch.no_grad()
def final_logits(network: AnyNetwork, texts: Sequence[str | Sequence[str]]) -> list[float]:
    """The logit after each text, read from h0, with texts of similar length in one call of the network."""
    assert network.vocab is not None
    rows = [network.in_order(network.vocab.encode(text)) for text in texts]
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    logits = np.zeros(len(rows))
    device = network.h0.device

    def read(batch: np.ndarray) -> None:
        ids = np.full((len(batch), max(1, lengths[batch].max())), PAD)
        for k, i in enumerate(batch):
            ids[k, : lengths[i]] = rows[i]
        final = network(torch.as_tensor(ids, device=device), torch.as_tensor(lengths[batch], device=device))
        logits[batch] = final.cpu().numpy()

    in_parallel(read, token_batches(lengths, *batch_of(network, TOKENS, MOST)), network)
    return logits.tolist()
