"""Context: ‖ΔJ_inp‖ of every word without an N × W matrix, perturbed passes, and the whole analysis: its time, how that
grows with units and words, and its memory."""

from __future__ import annotations

import copy
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.func import jacrev, vmap

import rnnlens
from benchmarks import reviews as generated
from benchmarks.fixed_points import plain_adam, quality, until
from benchmarks.networks import kernel, plainly
from benchmarks.size import CPU, Size
from benchmarks.table import Row
from benchmarks.timing import once, peak_memory, side_by_side
from rnnlens.context import Reviews, final_logits, project_out
from rnnlens.context.subspace import project_out_each, random_subspace
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


def perturbed(size: Size, together: int = 32) -> Iterator[Row]:
    """A subspace removed after every word, which no fused kernel does: by one network, and by as many at a time as an
    analysis reads."""
    words, units, embedding = min(size.words, 20_000), min(size.units, 128), min(size.embedding, 64)
    there = Reviews.of(generated.reviews(size.reviews, generated.zipf(words)), size.device)
    for arch in CELLS:
        network = rnnlens.Network([f"w{i}" for i in range(words)], arch, units, embedding)
        network = network.requires_grad_(False).to(size.device)
        generator = torch.Generator().manual_seed(0)
        drawn = [random_subspace(network.size, 3, generator).to(network.h0) for _ in range(together)]
        ours = partial(final_logits, project_out(network, drawn[0]), there)
        whole = partial(final_logits, network, there)
        contenders = {"ours": ours, "plain": plainly(ours), "whole": whole}
        if size.device == "cpu":
            versions = project_out_each(network, [(V, network.h0) for V in drawn])
            contenders["together"] = partial(final_logits, versions, there)
        best = side_by_side(contenders, 3, size.budget)
        what = f"{arch}, 3 directions removed after every word ({len(there):,} reviews, {units} units)"
        if size.device == "cuda":
            yield Row(what, best["ours"], "the plain scan, no CUDA graph", best["plain"])
        exact = "torch's kernel" if arch == "vanilla" else "our scan" if arch == "ugrnn" else kernel(arch, size)
        limit = f"the pass by {exact}, nothing removed (the limit)"
        yield Row(what, best["ours"], limit, best["whole"])
        if "together" in best:
            many = f"{what}, one of {together} versions that read together"
            yield Row(many, best["together"] / together, limit, best["whole"])


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
    if size.device == "cpu":
        yield _wide(options)
        yield _deep(options)
        yield _many_words(options)


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
    removed = len(made.removed) + sum(map(len, made.random.values())) + sum(map(len, made.words.values()))
    steering = found[0].steering
    assert steering is not None
    steered = sum(dose.gain != 1 for doses in (steering.doses, *steering.random, *steering.others) for dose in doses)
    passes = 3 + removed + steered + 2 * 8
    what = f"analyze with {size.reviews:,} + {size.reviews:,} reviews (packaged gru)"
    limit = f"its passes over reviews, each by {kernel('gru', size)} with nothing removed (the limit)"
    rates = {"passes": passes, "reviews_per_s": size.reviews * passes / taken}
    yield Row(what, taken, limit, passes * one, note=f"{passes} passes", numbers=rates)


def _wide(options: dict[str, Any], times: int = 4) -> Row:
    """The packaged GRU against four of it side by side, which read the same."""
    narrow = rnnlens.load("zoo:reviews-gru").network.requires_grad_(False)
    networks = {"narrow": narrow, "wide": widened(narrow, times)}
    contenders = {name: partial(rnnlens.analyze, network, **options) for name, network in networks.items()}
    best = side_by_side(contenders, 2, wall=True)
    what = f"analyze, no reviews, gru of {networks['wide'].size:,} units"
    note = f"{best['wide'] / best['narrow']:.1f} times as long"
    return Row(what, best["wide"], f"the same of {narrow.size} units", best["narrow"], note=note)


def _deep(options: dict[str, Any]) -> Row:
    """Two layers against one with as many numbers in its state, both untrained."""
    vocab = rnnlens.load("zoo:reviews-gru").network.vocab
    shapes = {"deep": {"layers": 2, "hidden": 128}, "flat": {"layers": 1, "hidden": 256}}
    networks = {name: rnnlens.Network(vocab, "gru", embedding=128, **shape) for name, shape in shapes.items()}
    contenders = {name: partial(rnnlens.analyze, network, **options) for name, network in networks.items()}
    best = side_by_side(contenders, 2, wall=True)
    what = "analyze, no reviews, gru of 2 layers of 128 units, untrained"
    note = f"{best['deep'] / best['flat']:.1f} times as long"
    return Row(what, best["deep"], "the same, one layer of 256 units", best["flat"], note=note)


def widened(network: rnnlens.Network, times: int, noise: float = 1e-3) -> rnnlens.Network:
    """Copies of a network side by side, with a little noise between them; the readout is their mean."""
    narrow, H = network.cell, network.cell.hidden
    wide = rnnlens.Network(network.vocab, network.arch, times * H, network.inputs).requires_grad_(False)
    cell, G = wide.cell, narrow.gates
    for name in ("W", "b", "c"):
        gates = getattr(narrow, name).detach().unflatten(0, (G, 1, H))
        getattr(cell, name).data = gates.expand(G, times, H, *gates.shape[3:]).flatten(0, 2).clone()
    U = torch.stack([torch.block_diag(*[gate] * times) for gate in narrow.U.detach().unflatten(0, (G, H))]).flatten(
        0, 1
    )
    cell.U.data = U + noise * U.std() * torch.randn(U.shape, generator=torch.Generator().manual_seed(0))
    wide.E.data, wide.h0.data = network.E.detach().clone(), network.h0.detach().repeat(times)
    wide.readout_w.data = network.readout_w.detach().repeat(times) / times
    wide.readout_b.data = network.readout_b.detach().clone()
    return wide


def _many_words(options: dict[str, Any], words: int = 100_000) -> Row:
    """The packaged GRU with a vocabulary of noisy copies of its words, in a process whose memory is measured."""
    code = f"from benchmarks.context import many_words; many_words({words}, {options})"
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    few, many, peak = map(float, told.split())
    what = f"analyze, no reviews, --top {words:,} (packaged gru)"
    note = f"peak memory {peak / 1024:.2f} GB"
    return Row(what, many, "10 times that of a tenth of the words", 10 * few, note=note, numbers={"peak_mb": peak})


def many_words(words: int, options: dict[str, Any]) -> None:
    """Print the seconds of an analysis of a tenth of the words and of all of them, and the peak memory in MB."""
    network = rnnlens.load("zoo:reviews-gru").network.requires_grad_(False)
    assert network.vocab is not None and network.vocab.counts is not None
    E = network.E.repeat(-(-(words + 1) // len(network.E)), 1)[: words + 1]
    E = E + 0.1 * E.std() * torch.randn(E.shape, generator=torch.Generator().manual_seed(0))
    names = [*network.vocab.words, *(f"word {i}" for i in range(len(E)))][: len(E)]
    counts = np.concatenate([network.vocab.counts, np.ones(len(E), dtype=np.int64)])[: len(E)]
    many = rnnlens.Network(rnnlens.Vocab(names, counts), network.arch, network.cell.hidden, network.inputs)
    many.load_state_dict({**network.state_dict(), "E": E})
    many.requires_grad_(False)
    seconds = []
    for top in (words // 10, words):
        start = time.perf_counter()
        rnnlens.analyze(many, **{**options, "top": top})
        seconds.append(time.perf_counter() - start)
    print(*seconds, peak_memory())


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
