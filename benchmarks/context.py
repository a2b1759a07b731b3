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
from typing import Any

import torch
from torch import Tensor
from torch.func import jacrev, vmap

import rnnlens
from benchmarks import reviews as generated
from benchmarks.fixed_points import plain_adam, quality, until
from benchmarks.networks import kernel, plainly
from benchmarks.size import CPU, Size
from benchmarks.table import Row
from benchmarks.timing import once, side_by_side
from rnnlens.context import Reviews, final_logits, project_out
from rnnlens.context.subspace import random_subspace
from rnnlens.corpora.corpus import Corpus
from rnnlens.dynamics import input_change
from rnnlens.networks import CELLS

WORDS, FEW = 10_000, 40


def rows(size: Size = CPU) -> Iterator[Row]:
    yield from norms(size)
    yield from perturbed(size)
    yield from analysis(size)


def norms(size: Size) -> Iterator[Row]:
    network = packaged(size)
    h_star = network.h0
    h_mod = network.step(h_star.expand(WORDS, -1), network.E[:WORDS])
    best = side_by_side(
        {
            "ours": lambda: input_change(network, h_mod, h_star),
            "peer": lambda: by_autograd(network, h_mod[:FEW], h_star),
        },
        3,
        size.budget,
    )
    double = copy.deepcopy(network).double()
    truth = by_autograd(double, h_mod[:FEW].double(), h_star.double())
    ours, theirs = (
        float(((found(network, h_mod[:FEW], h_star) - truth).abs() / truth).max())
        for found in (input_change, by_autograd)
    )
    what = f"‖ΔJ_inp‖ of {WORDS:,} words ({network.size} units)"
    peer = f"vmap(jacrev), then × E (scaled from {FEW} words)"
    note = f"off by {ours:.0e}, peer by {theirs:.0e}, from float64"
    yield Row(what, best["ours"], peer, best["peer"] * WORDS / FEW, note=note)


def perturbed(size: Size) -> Iterator[Row]:
    """A subspace removed after every word, which no fused kernel does."""
    words, units, embedding = min(size.words, 20_000), min(size.units, 128), min(size.embedding, 64)
    there = Reviews.of(generated.reviews(size.reviews, generated.zipf(words)), size.device)
    for arch in CELLS:
        network = rnnlens.Network([f"w{i}" for i in range(words)], arch, units, embedding)
        network = network.requires_grad_(False).to(size.device)
        V = random_subspace(network.size, 3, torch.Generator().manual_seed(0)).to(network.h0)
        ours = partial(final_logits, project_out(network, V), there)
        whole = partial(final_logits, network, there)
        best = side_by_side({"ours": ours, "plain": plainly(ours), "whole": whole}, 3, size.budget)
        what = f"{arch}, 3 directions removed after every word ({len(there):,} reviews, {units} units)"
        if size.device == "cuda":
            yield Row(what, best["ours"], "the plain scan, no CUDA graph", best["plain"])
        exact = "torch's kernel" if arch == "vanilla" else "our scan" if arch == "ugrnn" else kernel(arch, size)
        yield Row(what, best["ours"], f"the pass by {exact}, nothing removed (the limit)", best["whole"])


def analysis(size: Size) -> Iterator[Row]:
    """`analyze` from end to end: without reviews, against two of its parts by the field's means, and on a GPU against
    the CPU; with reviews, against the passes it makes."""
    run, options = rnnlens.load("zoo:reviews-gru"), dict[str, Any](size.analysis)
    rnnlens.analyze(run, device=size.device, **options)  # libraries load on their first use
    found: list[rnnlens.Analysis] = []
    here = once(lambda: found.append(rnnlens.analyze(run, device=size.device, **options)))
    what = "analyze, no reviews (packaged gru)"
    if size.device == "cuda":
        cpu = once(lambda: rnnlens.analyze(run, device="cpu", **options))
        yield Row(what, here, f"the same on {torch.get_num_threads()} CPU threads", cpu)
    network, one = packaged(size), found[0]
    h, goal = one.points.starts.to(network.h0), quality(network, one.points.states.to(network.h0))
    steps, states = until(network, lambda n: plain_adam(network, h, n), "slow", goal, size.patience)
    adam = once(lambda: plain_adam(network, h, steps))
    base = one.line.h_star.to(network.h0)
    few = network.step(base.expand(FEW, -1), network.E[:FEW])
    jacobians = once(lambda: by_autograd(network, few, base)) * len(one.modifiers) / FEW
    short = not quality(network, states).as_good(goal, "slow")
    peer = "its slow points by Adam and its ‖ΔJ_inp‖ by vmap(jacrev) alone"
    note = f"Adam {adam:.1f} s{', not yet as good' if short else ''}, jacrev {jacobians:.1f} s, scaled"
    yield Row(what, here, peer, adam + jacobians, at_least=True, note=note)
    yield from _with_reviews(size, run, one, options)


def _with_reviews(size: Size, run: Any, before: rnnlens.Analysis, options: dict[str, Any]) -> Iterator[Row]:
    network = packaged(size)
    assert network.vocab is not None and network.vocab.counts is not None
    chance = network.vocab.counts / network.vocab.counts.sum()
    train, test = (generated.reviews(size.reviews, chance, seed=seed) for seed in (0, 1))
    corpus = Corpus(network.vocab, train, None, test, fingerprint="generated")
    found: list[rnnlens.Analysis] = []
    taken = once(
        lambda: found.append(rnnlens.analyze(run.network, corpus, probes=before.probes, device=size.device, **options))
    )
    there = Reviews.to_read(test, network, 800)
    one = side_by_side({"pass": partial(final_logits, network, there)}, 3, size.budget)["pass"]
    made = found[0].perturbations
    assert made is not None
    passes = 2 + len(made.removed) + sum(map(len, made.random.values())) + sum(map(len, made.words.values())) + 2 * 8
    what = f"analyze with {size.reviews:,} + {size.reviews:,} reviews (packaged gru)"
    limit = f"its passes over reviews, each by {kernel('gru', size)} with nothing removed (the limit)"
    rates = {"passes": passes, "reviews_per_s": size.reviews * passes / taken}
    yield Row(what, taken, limit, passes * one, note=f"{passes} passes", numbers=rates)


def packaged(size: Size) -> rnnlens.Network:
    return rnnlens.load("zoo:reviews-gru").network.requires_grad_(False).to(size.device)


def by_autograd(network: rnnlens.Network, h: Tensor, h_star: Tensor) -> Tensor:
    """‖(J_inp(h) − J_inp(h*)) E‖_F as one would write it first: a Jacobian by autograd, and all words formed."""
    zero = h.new_zeros(network.inputs)

    def jacobian(state: Tensor) -> Tensor:
        return jacrev(lambda e: network.step(state, e))(zero)

    base = jacobian(h_star)
    norms = []
    for states in h.split(8):  # N × W of eight words is what fits
        change = (vmap(jacobian)(states) - base) @ network.E.t()
        norms.append(change.flatten(1).norm(dim=1))
    return torch.cat(norms)


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
