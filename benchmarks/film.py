"""What snapshots cost: `python -m benchmarks.film --device cuda`, with the packaged GRU and its recipe.

A training step and a snapshot are timed one after the other, and scaled to the recipe: 40 snapshots in 8,679 steps.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

import rnnlens
from benchmarks import reviews as generated
from rnnlens.analysis.film import DOCUMENTS, READ
from rnnlens.analysis.snapshot import Sample, measure_snapshot
from rnnlens.context import Probes
from rnnlens.training.batches import epoch_batches
from rnnlens.training.loop import Trainer
from rnnlens.training.processes import accelerator_for

SNAPSHOTS, STEPS = 40, 8_679
LIMIT = 0.1  # more than a tenth slower is too slow


def seconds(work: Callable[[], object], device: str) -> float:
    """The time that work takes, with what it left to a GPU."""
    start = time.perf_counter()
    work()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.film", description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", type=int, default=100, help="training steps to time, after as many to warm up")
    parser.add_argument("--repeats", type=int, default=3, help="snapshots to time, of each of two networks")
    asked = parser.parse_args()
    run = rnnlens.load("zoo:reviews-gru")
    data = generated.corpus(max(2 * asked.steps * run.config.batch // 10, READ, 2 * DOCUMENTS), len(run.vocab))
    probes = Probes.from_dict(run.results["probes"])
    untrained = rnnlens.Network(run.vocab, seed=0, **run.about["network"])
    with tempfile.TemporaryDirectory() as out:
        accelerator = accelerator_for(run.config, asked.device)
        trainer = Trainer(untrained, data, run.config, Path(out), accelerator, resume=False)
        every = (epoch_batches(data.train.lengths, run.config.batch, 0, epoch) for epoch in range(10))
        batches = [rows for epoch in every for rows in epoch]

        def train(chosen: list) -> None:
            for rows in chosen:
                trainer.step(rows)
                trainer.counters.step += 1

        train(batches[: asked.steps])
        step = seconds(lambda: train(batches[asked.steps : 2 * asked.steps]), asked.device) / asked.steps
    sample = Sample.of(data.train, DOCUMENTS, 0, run.config.max_words)
    twice = sample.twice(0, torch.device(asked.device))
    took = []
    for network in (run.network.to(asked.device), untrained):
        network.requires_grad_(False).eval()
        for _ in range(1 + asked.repeats):
            took.append(seconds(lambda n=network: measure_snapshot(n, sample, twice, probes), asked.device))
        del took[-1 - asked.repeats]  # the first one warms up
    snapshot = sum(took) / len(took)
    chosen = seconds(lambda: Probes.from_corpus(data, most=READ), "cpu")
    share = (SNAPSHOTS * snapshot + chosen) / (STEPS * step)
    most = max(0, int((LIMIT * STEPS * step - chosen) / snapshot))
    print(
        f"a training step {1000 * step:.1f} ms, a snapshot {snapshot:.2f} s, probe words {chosen:.1f} s; "
        f"{SNAPSHOTS} snapshots in {STEPS:,} steps: {100 * share:.1f} % slower; {most} stay within {100 * LIMIT:.0f} %"
    )


if __name__ == "__main__":
    main()
