"""Training and evaluation: our loop, with all it does, against a bare loop of torch's modules over batches that lie on
the device already. On a CPU that is the limit; on a GPU it launches its kernels one by one, and ours as graphs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import rnnlens
from benchmarks import reviews as generated
from benchmarks.networks import KERNELS, TORCH, Run, exactly, kernel
from benchmarks.size import CPU, Size
from benchmarks.table import Row
from benchmarks.timing import side_by_side
from rnnlens.context import Reviews, final_logits
from rnnlens.corpora.corpus import Corpus
from rnnlens.training import TrainConfig, batches, evaluate
from rnnlens.training.batches import epoch_batches, packed
from rnnlens.training.loop import Trainer
from rnnlens.training.processes import accelerator_for

LONGEST = 800  # words of a review that are read: the default


def rows(size: Size = CPU) -> Iterator[Row]:
    yield from steps(size)
    if size.device == "cuda":
        yield from one_of_many(size)
    yield from reading(size)


def steps(size: Size) -> Iterator[Row]:
    """Batches from the corpus, dropout, clipping, our optimiser, on reviews as long as Yelp's."""
    data = generated.corpus(50 * size.steps * max(batch for _, batch, _ in size.training) // 20, size.words)
    for arch, batch, precision in size.training:
        config = TrainConfig(batch=batch, precision=precision)  # type: ignore[arg-type]
        chosen = epoch_batches(data.train.lengths, batch, 0, 0)[: size.steps]
        with tempfile.TemporaryDirectory() as out:
            network = rnnlens.Network(data.vocab, arch, size.units, size.embedding)
            trainer = Trainer(network, data, config, Path(out), accelerator_for(config, size.device), resume=False)

            def ours(trainer: Trainer = trainer, chosen: list[np.ndarray] = chosen) -> None:
                for rows in chosen:
                    trainer.step(rows)

            contenders: dict[str, Run] = {"ours": ours, "bare": bare(size, data, chosen, arch, precision)}
            if size.device == "cuda":
                ours()  # the second round, which warms up, records passes
                if (arch, batch) == ("gru", 512):
                    contenders["pageable"] = pageable(ours)
            best = side_by_side(contenders, 3, size.budget)
        n, words = sum(map(len, chosen)), sum(int(data.train.lengths[rows].clip(max=LONGEST).sum()) for rows in chosen)
        rates = {
            "batch": batch,
            "reviews_per_s": n / best["ours"],
            "words_per_s": words / best["ours"],
            "words_per_review": words / n,
            "parameters": sum(p.numel() for p in network.parameters()),
        }
        exact = "float32" if precision == "fp32" else "bfloat16"
        what = f"training {arch}, {batch} reviews a step ({size.units} units, {exact})"
        note = f"{rates['reviews_per_s']:,.0f} reviews/s, {rates['words_per_s']:,.0f} words/s"
        alone = "nothing but the network" + (" (the limit)" if size.device == "cpu" else ", no CUDA graphs")
        limit = f"{kernel(arch, size, exact)}, {alone}"
        yield Row(what, best["ours"], limit, best["bare"], TORCH, note, numbers=rates)
        if "pageable" in best:
            yield Row(what, best["ours"], "the same, batches from pageable memory", best["pageable"])


def one_of_many(size: Size, of: int = 8, batch: int = 512) -> Iterator[Row]:
    """What a process does among `of` that share each batch, but for the exchange of gradients: its own reviews, and
    chance for everybody's."""
    data = generated.corpus(of * batch * 20, size.words)
    config = TrainConfig(batch=of * batch)
    chosen = epoch_batches(data.train.lengths, of * batch, 0, 0)[: size.steps]
    own = [rows[::of] for rows in chosen]
    with tempfile.TemporaryDirectory() as out:
        network = rnnlens.Network(data.vocab, "gru", size.units, size.embedding)
        alone = accelerator_for(config, size.device)
        trainer = Trainer(network, data, config, Path(out), alone, resume=False)
        among: Any = SimpleNamespace(process_index=0, num_processes=of)
        recorder = trainer.recorder

        def run(accelerator: Any, batches: list[np.ndarray]) -> None:
            trainer.accelerator, trainer.recorder = accelerator, recorder if accelerator is alone else None
            for rows in batches:
                trainer.step(rows)

        run(alone, own)  # the second round, which warms up, records passes
        best = side_by_side({"ours": partial(run, among, chosen), "alone": partial(run, alone, own)}, 3, size.budget)
    n = sum(map(len, own))
    rates = {
        "batch": batch,
        "processes": of,
        "reviews_per_s": n / best["ours"],
        "step_s": best["ours"] / len(chosen),
        "parameters": sum(p.numel() for p in network.parameters()),
    }
    what = f"training gru, {batch} reviews a step as one of {of} processes ({size.units} units)"
    note = f"{rates['reviews_per_s']:,.0f} reviews/s; gradients are not exchanged"
    yield Row(what, best["ours"], "the same reviews alone", best["alone"], note=note, numbers=rates)


def bare(size: Size, data: Corpus, chosen: list[np.ndarray], arch: str, precision: str) -> Run:
    """The least that training can be: an embedding, torch's cell, a readout, fused Adam."""
    model = Bare(size.words, size.embedding, size.units, arch).to(size.device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    batches = []
    for rows in chosen:
        ids, lengths = data.train.batch(rows, LONGEST)
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
        self.E, self.rnn = nn.Embedding(words, inputs), KERNELS[arch](inputs, hidden, batch_first=True)
        self.readout = nn.Linear(hidden, 1)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        last = (lengths - 1).clamp(min=0).unsqueeze(1)
        return self.readout(self.rnn(self.E(ids))[0]).squeeze(2).gather(1, last).squeeze(1)


def pageable(run: Run) -> Run:
    """Without the pinned memory that lets a batch travel while the GPU works."""

    def slow() -> None:
        with patch.object(batches, "packed", lambda arrays, pin: packed(arrays, pin=False)):
            run()

    return slow


def reading(size: Size) -> Iterator[Row]:
    """Evaluation: reviews read from a corpus, no gradients."""
    corpus = generated.corpus(size.reviews, size.words)
    data = corpus.train
    network = rnnlens.Network(corpus.vocab, "gru", size.units, size.embedding).requires_grad_(False).to(size.device)
    there = Reviews.to_read(data, network, LONGEST)
    best = side_by_side(
        {"ours": partial(evaluate, network, data, LONGEST), "there": partial(final_logits, network, there)},
        3,
        size.budget,
    )
    rate = len(data) / best["ours"]
    what = f"evaluating gru on {len(data):,} reviews ({size.units} units)"
    limit = f"batches that lie on the device already, by {kernel('gru', size)} (the limit)"
    note = f"{rate:,.0f} reviews/s"
    yield Row(what, best["ours"], limit, best["there"], TORCH, note, numbers={"reviews_per_s": rate})
