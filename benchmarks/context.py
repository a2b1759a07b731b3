"""Context: ‖ΔJ_inp‖ of every word without an N × W matrix, perturbed passes, and the whole analysis.

`python -m benchmarks.context memory` prints the peak memory of ‖ΔJ_inp‖ over a vocabulary of 90,000 words.
"""

from __future__ import annotations

import copy
import resource
import sys
import time
from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from torch.func import jacrev, vmap

import rnnlens
from benchmarks.timing import side_by_side
from rnnlens.context import Reviews, final_logits, project_out
from rnnlens.context.subspace import random_subspace
from rnnlens.dynamics import input_change

WORDS, FEW = 10_000, 40


def rows() -> Iterator[tuple[str, float, str, float]]:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    run = rnnlens.load("zoo:imdb-gru")
    network = run.network.requires_grad_(False).to(device)
    h_star = network.h0
    h_mod = network.step(h_star.expand(WORDS, -1), network.E[:WORDS])
    times = side_by_side(
        {
            "ours": lambda: input_change(network, h_mod, h_star),
            "peer": lambda: by_autograd(network, h_mod[:FEW], h_star),
        },
        rounds=3,
    )
    double = copy.deepcopy(network).double()
    truth = by_autograd(double, h_mod[:FEW].double(), h_star.double())
    ours, theirs = (
        float(((found(network, h_mod[:FEW], h_star) - truth).abs() / truth).max())
        for found in (input_change, by_autograd)
    )
    what = f"‖ΔJ_inp‖ of {WORDS:,} words ({network.size} units, {device}; off by {ours:.0e})"
    peer = f"vmap(jacrev), then × E (scaled from {FEW}; off by {theirs:.0e} from float64)"
    yield what, times["ours"], peer, times["peer"] * WORDS / FEW

    reviews = random_reviews(network, 25_000 if device == "cuda" else 200)
    for arch in ("gru", "lstm", "ugrnn"):
        plain = rnnlens.Network(network.vocab, arch, network.size, network.inputs).requires_grad_(False).to(device)
        quiet = project_out(plain, random_subspace(plain.size, 3, torch.Generator().manual_seed(0)).to(plain.h0))
        times = side_by_side(
            {"plain": partial(final_logits, plain, reviews), "quiet": partial(final_logits, quiet, reviews)}, rounds=3
        )
        what = f"{len(reviews):,} reviews, {arch}, a subspace removed at every step ({device})"
        yield what, times["quiet"], "the pass without (the limit)", times["plain"]

    start = time.perf_counter()
    rnnlens.analyze(network)
    analysis = time.perf_counter() - start
    yield f"analyze, without reviews ({device})", analysis, "a minute", 60.0


def by_autograd(network: rnnlens.Network, h: torch.Tensor, h_star: torch.Tensor) -> torch.Tensor:
    """‖(J_inp(h) − J_inp(h*)) E‖_F as one would write it first: a Jacobian by autograd, and all words formed."""
    zero = h.new_zeros(network.inputs)

    def jacobian(state: torch.Tensor) -> torch.Tensor:
        return jacrev(lambda e: network.step(state, e))(zero)

    base = jacobian(h_star)
    norms = []
    for states in h.split(8):  # N × W of eight words is what fits
        change = (vmap(jacobian)(states) - base) @ network.E.t()
        norms.append(change.flatten(1).norm(dim=1))
    return torch.cat(norms)


def random_reviews(network: rnnlens.Network, n: int) -> Reviews:
    """Reviews as long as IMDB's (log-normal, 230 words on average), of random words."""
    generator = np.random.default_rng(0)
    lengths = np.clip(np.exp(generator.normal(5.25, 0.6, n)), 10, 800).astype(np.int64)

    class Split:
        labels = generator.integers(0, 2, n)

        def __len__(self) -> int:
            return n

        def batch(self, rows: np.ndarray, max_words: int | None = None) -> tuple[np.ndarray, np.ndarray]:
            ids = generator.integers(0, len(network.vocab or ()), (len(rows), int(lengths[rows].max())))
            return ids, lengths[rows]

    split = Split()
    split.lengths = lengths  # type: ignore[attr-defined]
    return Reviews.of(split, network.h0.device)


def memory() -> None:
    """Peak memory of the norms of 90,000 words, beyond what the network itself takes."""
    torch.set_num_threads(1)
    network = rnnlens.Network([f"w{i}" for i in range(90_000)], hidden=256, embedding=128).requires_grad_(False)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    h_mod = torch.cat([network.step(network.h0.expand(len(e), -1), e) for e in network.E.split(4096)])
    start = time.perf_counter()
    input_change(network, h_mod, network.h0)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    took = time.perf_counter() - start
    print(f"90,000 words, 256 units: {took:.1f} s, peak {after:.0f} MB, {after - before:.0f} beyond the network")


if __name__ == "__main__" and sys.argv[1:] == ["memory"]:
    memory()
