"""Baselines: how many more reviews a second the full one classifies than a GRU, on one core, in batches of 64; and
whether the time to explain a text grows with its length alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch

import rnnlens
from benchmarks.reviews import reviews
from benchmarks.table import Row
from benchmarks.timing import side_by_side
from rnnlens.baselines.convolution import Convolution, Shape
from rnnlens.baselines.explanation import explain
from rnnlens.baselines.fitting import read_logits
from rnnlens.training import evaluate

BATCH, REVIEWS, MODIFIERS = 64, 1024, 400


def rows() -> Iterator[Row]:
    network = rnnlens.load("zoo:reviews-gru").network.requires_grad_(False)
    assert network.vocab is not None and network.vocab.counts is not None
    W, counts = len(network.vocab), network.vocab.counts
    words = tuple(np.argsort(-counts, kind="stable")[:MODIFIERS].tolist())  # the commonest: every other word modifies
    models = {
        "full baseline, as printed": Shape(W, words, own_weights=True, edges=True, own_edges=True),
        "full baseline, factored": Shape(W, words, own_weights=True, factored=True, edges=True, own_edges=True),
        "bag of words": Shape(W),
    }
    split = reviews(REVIEWS, counts / counts.sum())
    contenders = {
        name: partial(read_logits, Convolution(shape).requires_grad_(False), split, None, BATCH)
        for name, shape in models.items()
    }
    contenders["GRU"] = partial(evaluate, network, split, None, 2**16, BATCH)  # type: ignore[assignment]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        times = side_by_side(contenders, rounds=5)
    finally:
        torch.set_num_threads(threads)
    theirs = times.pop("GRU")
    for name, ours in times.items():
        what = f"{REVIEWS:,} reviews read by the {name}, one core"
        note = f"{REVIEWS / ours:,.0f} reviews/s, peer {REVIEWS / theirs:,.0f}"
        yield Row(what, ours, f"the packaged gru of {network.size} units", theirs, note=note)
    yield _explaining(Convolution(models["full baseline, as printed"]).requires_grad_(False), network.vocab)


def _explaining(model: Convolution, vocab: rnnlens.Vocab, long: int = 100_000) -> Row:
    assert vocab.counts is not None
    drawn = np.random.default_rng(0).choice(len(vocab), long, p=vocab.counts / vocab.counts.sum())
    text = [vocab.words[word] for word in drawn]
    contenders = {
        name: partial(explain, model, vocab, " ".join(text[:n])) for name, n in (("long", long), ("short", long // 10))
    }
    times = side_by_side(contenders, rounds=3)
    what = f"explaining a text of {long:,} words by the full baseline"
    return Row(what, times["long"], "10 times that of a tenth of it", 10 * times["short"])
