"""On a GPU: training, scans, perturbed passes, slow points, Jacobians and the analysis from end to end.

Needs only torch, numpy, scipy, safetensors, accelerate and scikit-learn; about a minute and a half. The limit for every
cell is what cuDNN does for torch's own (for the UGRNN, which it has not, for the GRU), in the same arithmetic: float32
that is not rounded to TF32.
"""

from __future__ import annotations

import copy
import importlib
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest.mock import patch

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import rnnlens
from benchmarks import reviews as generated
from benchmarks.fixed_points import jacobian_rows, point_rows
from benchmarks.integrator import integrator, noisy_states
from benchmarks.table import Row, Skipped
from benchmarks.timing import once, side_by_side
from rnnlens.context import Reviews, final_logits, project_out
from rnnlens.context.subspace import random_subspace
from rnnlens.corpora.corpus import Corpus
from rnnlens.networks import CELLS, scan, step_by_step
from rnnlens.training import TrainConfig, evaluate
from rnnlens.training.batches import epoch_batches
from rnnlens.training.loop import Trainer, _accelerator

CUDNN = {"gru": nn.GRU, "lstm": nn.LSTM, "ugrnn": nn.GRU, "vanilla": nn.RNN}
TORCH = "pip install torch"


@dataclass(frozen=True)
class Size:
    """How much to measure: on a GPU what is usual there, elsewhere (to try these lines out) next to nothing."""

    device: str
    sequences: tuple[tuple[int, int, int, int], ...] = ((64, 100, 128, 256), (512, 100, 128, 256))  # B, T, D, H
    units: int = 256
    embedding: int = 128
    words: int = 50_000
    training: tuple[tuple[str, int, str], ...] = (
        ("gru", 64, "fp32"), ("gru", 512, "fp32"), ("gru", 2048, "fp32"), ("gru", 512, "bf16"),
        ("lstm", 512, "fp32"), ("ugrnn", 64, "fp32"), ("ugrnn", 512, "fp32"), ("vanilla", 512, "fp32"),
    )  # fmt: skip
    steps: int = 20
    reviews: int = 25_000
    states: int = 1024
    budget: float = 2.0  # seconds of a comparison, at most, beyond its first two rounds


SMALL = Size("cpu", ((4, 40, 8, 16),), 16, 8, 500, (("gru", 8, "fp32"), ("ugrnn", 8, "fp32")), 2, 50, 64, 0.1)


def rows(small: bool = False) -> Iterator[Row | Skipped]:
    if not (small or torch.cuda.is_available()):
        yield Skipped("everything on a GPU", "torch sees no CUDA device here")
        return
    size = SMALL if small else Size("cuda")
    for part in (sequences, training, evaluation, perturbed, dynamics, analysis):
        try:
            yield from part(size)
        except Exception as error:  # one that fails leaves the others their chance on a machine that is soon gone
            yield Skipped(
                part.__name__, f"failed: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            )


def sequences(size: Size) -> Iterator[Row | Skipped]:
    """Whole sequences, forward and backward, as training needs them."""
    for B, T, D, H in size.sequences:
        shape = f"{B}×{T} words, {H} units"
        e = torch.randn(B, T, D, device=size.device)
        for arch in CELLS:
            cell, peer = CELLS[arch](H, D).to(size.device), CUDNN[arch](D, H, batch_first=True, device=size.device)
            h0 = torch.zeros(B, cell.size, device=size.device)
            contenders = {
                "ours": both_ways(lambda x, cell=cell, h0=h0: cell.outputs(x, h0), e),
                "cudnn": exactly(both_ways(lambda x, peer=peer: peer(x)[0], e)),
                "rounded": both_ways(lambda x, peer=peer: peer(x)[0], e),
            }
            if arch == "ugrnn":
                contenders |= {
                    "plain": plainly(contenders["ours"]),
                    "loop": both_ways(lambda x, cell=cell, h0=h0: step_by_step(cell.step, x, h0), e),
                }
            best = side_by_side(contenders, 9, size.budget)
            what, name = f"{arch}, forward and backward ({shape})", CUDNN[arch].__name__
            yield Row(what, best["ours"], f"nn.{name} by cuDNN, float32 (the limit)", best["cudnn"], TORCH)
            if arch == "gru":
                yield Row(what, best["ours"], "nn.GRU by cuDNN, rounded to TF32", best["rounded"], TORCH)
            if arch == "ugrnn":
                yield Row(what, best["ours"], "the plain scan, no CUDA graph", best["plain"])
                yield Row(what, best["ours"], "a loop over steps under autograd", best["loop"])
        yield from _forward_scans(size, e, shape, H)


def _forward_scans(size: Size, e: Tensor, shape: str, H: int) -> Iterator[Row | Skipped]:
    """The UGRNN's scan without gradients: recorded, recorded with its equation compiled into one kernel, plain."""
    cell = CELLS["ugrnn"](H, e.shape[2]).to(size.device).requires_grad_(False)
    peer = nn.GRU(e.shape[2], H, batch_first=True, device=size.device).requires_grad_(False)
    h0 = torch.zeros(len(e), cell.size, device=size.device)
    contenders: dict[str, Callable[[], object]] = {
        "ours": lambda: scan(cell, e, h0),
        "plain": plainly(lambda: scan(cell, e, h0)),
        "cudnn": exactly(lambda: peer(e)[0]),
    }
    what = f"ugrnn, states alone ({shape})"
    fused = copy.deepcopy(cell)
    fused.combine = torch.compile(cell.combine, dynamic=False)  # type: ignore[method-assign]
    try:
        if not torch.allclose(scan(fused, e, h0), scan(cell, e, h0), atol=1e-5):
            raise RuntimeError("states differ")
        contenders["compiled"] = lambda: scan(fused, e, h0)
    except Exception as error:  # it needs Triton and a compiler
        yield Skipped(f"{what}, against torch.compile", f"{type(error).__name__}: {str(error)[:100]}")
    best = side_by_side(contenders, 9, size.budget)
    yield Row(what, best["ours"], "the plain scan, no CUDA graph", best["plain"])
    yield Row(what, best["ours"], "nn.GRU by cuDNN, float32 (the limit)", best["cudnn"], TORCH)
    if "compiled" in best:
        yield Row(what, best["ours"], "the same, its equation by torch.compile", best["compiled"], TORCH)


def training(size: Size) -> Iterator[Row]:
    """Steps of our loop (batches from the corpus, dropout, clipping, all of it) against a bare loop of torch's own
    modules over batches that lie on the GPU already."""
    data = generated.corpus(50 * size.steps * max(batch for _, batch, _ in size.training) // 20, size.words)
    for arch, batch, precision in size.training:
        config = TrainConfig(batch=batch, precision=precision)  # type: ignore[arg-type]
        with tempfile.TemporaryDirectory() as out:
            network = rnnlens.Network(data.vocab, arch, size.units, size.embedding)
            trainer = Trainer(network, data, config, Path(out), _accelerator(config, size.device), resume=False)
            chosen = epoch_batches(data.train.lengths, batch, 0, 0)[: size.steps]

            def ours(trainer: Trainer = trainer, chosen: list = chosen) -> None:
                for rows in chosen:
                    trainer.step(rows)

            contenders = {"ours": ours, "cudnn": bare_training(size, data, chosen, arch, precision)}
            if torch.cuda.is_available() and (arch, batch) == ("gru", 512):
                contenders["pageable"] = without_pinning(ours)
            best = side_by_side(contenders, 3, size.budget)
            del trainer, network
        n, words = sum(map(len, chosen)), sum(int(data.train.lengths[rows].clip(max=800).sum()) for rows in chosen)
        rates = {"batch": batch, "reviews_per_s": n / best["ours"], "words_per_s": words / best["ours"],
                 "words_per_review": words / n}  # fmt: skip
        exact = "float32" if precision == "fp32" else "bfloat16"
        what = f"training {arch}, {batch} reviews a step ({size.units} units, {exact})"
        limit = f"nn.{CUDNN[arch].__name__} by cuDNN, {exact}, nothing but the network (the limit)"
        note = f"{rates['reviews_per_s']:,.0f} reviews/s, {rates['words_per_s']:,.0f} words/s"
        yield Row(what, best["ours"], limit, best["cudnn"], TORCH, note, numbers=rates)
        if "pageable" in best:
            yield Row(what, best["ours"], "the same, batches from pageable memory", best["pageable"])


def bare_training(size: Size, data: Corpus, chosen: list, arch: str, precision: str) -> Callable[[], None]:
    """The least that training can be: an embedding, torch's cell, a readout, fused Adam, batches already there."""
    model = Bare(size.words, size.embedding, size.units, arch).to(size.device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    batches = []
    for rows in chosen:
        ids, lengths = data.train.batch(rows, 800)
        there = (torch.from_numpy(x).to(size.device) for x in (ids.clip(min=0), lengths, data.train.labels[rows]))
        batches.append(tuple(there))

    def run() -> None:
        for ids, lengths, labels in batches:
            with torch.autocast(size.device, torch.bfloat16, enabled=precision == "bf16"):
                logits = model(ids, lengths)
            optimiser.zero_grad(set_to_none=True)
            F.binary_cross_entropy_with_logits(logits.float(), labels.float()).backward()
            optimiser.step()

    return exactly(run)


class Bare(nn.Module):
    def __init__(self, words: int, inputs: int, hidden: int, arch: str):
        super().__init__()
        self.E, self.rnn = nn.Embedding(words, inputs), CUDNN[arch](inputs, hidden, batch_first=True)
        self.readout = nn.Linear(hidden, 1)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        last = (lengths - 1).clamp(min=0).unsqueeze(1)
        return self.readout(self.rnn(self.E(ids))[0]).squeeze(2).gather(1, last).squeeze(1)


def evaluation(size: Size) -> Iterator[Row]:
    """Reading reviews from a corpus, no gradients."""
    data = generated.corpus(size.reviews, size.words).train
    network = rnnlens.Network([f"w{i}" for i in range(size.words)], "gru", size.units, size.embedding)
    network = network.requires_grad_(False).to(size.device)
    there = Reviews.to_read(data, network, 800)
    best = side_by_side(
        {"ours": partial(evaluate, network, data, 800), "there": partial(final_logits, network, there)}, 3, size.budget
    )
    rate = len(data) / best["ours"]
    what = f"evaluating gru on {len(data):,} reviews ({size.units} units)"
    yield Row(what, best["ours"], "large batches that lie on the GPU already, by cuDNN (the limit)", best["there"],
              note=f"{rate:,.0f} reviews/s", numbers={"reviews_per_s": rate})  # fmt: skip


def perturbed(size: Size) -> Iterator[Row]:
    """A subspace removed after every word, which no fused kernel does."""
    words = 20_000 if size.device == "cuda" else size.words
    there = Reviews.of(generated.reviews(size.reviews, generated.zipf(words)), size.device)
    for arch in CELLS:
        network = rnnlens.Network([f"w{i}" for i in range(words)], arch, size.units // 2, size.embedding // 2)
        network = network.requires_grad_(False).to(size.device)
        V = random_subspace(network.size, 3, torch.Generator().manual_seed(0)).to(network.h0)
        quiet = project_out(network, V)
        best = side_by_side(
            {
                "ours": partial(final_logits, quiet, there),
                "plain": plainly(partial(final_logits, quiet, there)),
                "whole": partial(final_logits, network, there),
            },
            3,
            size.budget,
        )
        what = f"{arch}, 3 directions removed after every word ({len(there):,} reviews, {size.units // 2} units)"
        yield Row(what, best["ours"], "the plain scan, no CUDA graph", best["plain"])
        limit = "our scan" if arch == "ugrnn" else "cuDNN" if arch != "vanilla" else "torch's kernel"
        yield Row(what, best["ours"], f"the pass by {limit}, nothing removed (the limit)", best["whole"])


def dynamics(size: Size) -> Iterator[Row]:
    """Slow and fixed points, and Jacobians."""
    network = integrator().to(size.device)
    starts = noisy_states(network, size.states)
    yield from point_rows(network, starts, most=2.5 if size.device == "cuda" else 0.5)
    yield from jacobian_rows(network, starts[:64])


def analysis(size: Size) -> Iterator[Row]:
    """`analyze` from end to end: without reviews against this machine's CPU, with them against the passes it makes."""
    run = rnnlens.load("zoo:imdb-gru")
    few = {} if size.device == "cuda" else {"top": 500, "starts": 100}
    rnnlens.analyze(run, device=size.device, **few)  # libraries load on their first use
    found = []
    here = once(lambda: found.append(rnnlens.analyze(run, device=size.device, **few)))
    cpu = once(lambda: rnnlens.analyze(run, device="cpu", **few))
    yield Row("analyze, no reviews (packaged gru)", here, f"the same on {torch.get_num_threads()} CPU threads", cpu)

    network = copy.deepcopy(run.network).to(size.device).requires_grad_(False)
    assert network.vocab is not None and network.vocab.counts is not None
    chance = network.vocab.counts / network.vocab.counts.sum()
    train, test = (generated.reviews(size.reviews, chance, seed=seed) for seed in (0, 1))
    corpus = Corpus(network.vocab, train, None, test, fingerprint="generated")
    probes, again = found[0].probes, []
    with_reviews = once(lambda: again.append(rnnlens.analyze(run, corpus, probes=probes, device=size.device, **few)))
    there = Reviews.to_read(test, network, 800)
    one = side_by_side({"pass": partial(final_logits, network, there)}, 3)["pass"]
    p = again[0].perturbations
    passes = 2 + len(p.removed) + sum(map(len, p.random.values())) + sum(map(len, p.words.values())) + 2 * 8
    what = f"analyze with {size.reviews:,} + {size.reviews:,} reviews (packaged gru)"
    limit = "its passes over reviews, each by cuDNN with nothing removed (the limit)"
    rates = {"passes": passes, "reviews_per_s": size.reviews * passes / with_reviews}
    yield Row(what, with_reviews, limit, passes * one, note=f"{passes} passes", numbers=rates)


def both_ways(forward: Callable[[Tensor], Tensor], e: Tensor) -> Callable[[], None]:
    def run() -> None:
        forward(e.detach().requires_grad_()).sum().backward()

    return run


def exactly(run: Callable[[], object]) -> Callable[[], None]:
    """With cuDNN's float32 left unrounded, as our cells use it."""

    def exact() -> None:
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
            run()

    return exact


def plainly(run: Callable[[], object]) -> Callable[[], None]:
    """With scans that launch every kernel of every step one by one."""

    def plain() -> None:
        with _plain_scans():
            run()

    return plain


@contextmanager
def _plain_scans() -> Iterator[None]:
    modules = [importlib.import_module(f"rnnlens.networks.{name}") for name in ("scan", "projected")]
    slow = partial(modules[0].repeat, record=False)
    with patch.object(modules[0], "repeat", slow), patch.object(modules[1], "repeat", slow):
        yield


def without_pinning(run: Callable[[], object]) -> Callable[[], None]:
    def pageable() -> None:
        with patch.object(torch.Tensor, "pin_memory", lambda x: x):
            run()

    return pageable
