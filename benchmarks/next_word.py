"""Seconds of a training step with and without next words, side by side on the same batches of a prepared corpus.

    python -m benchmarks.next_word CORPUS [--device cuda] [--places 4096] [--steps 60] [--warm 20]

The settings are the bundled ones of the GRU, which the packaged networks are trained with.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from statistics import median

os.environ.setdefault("GOMP_SPINCOUNT", "1000")

import torch

from rnnlens import Network, TrainConfig, load_corpus
from rnnlens.training.batches import epoch_batches
from rnnlens.training.loop import Trainer
from rnnlens.training.processes import accelerator_for
from rnnlens.training.settings import TUNED, read_settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--arch", default="gru")
    parser.add_argument("--places", type=int, default=2048)
    parser.add_argument("--steps", type=int, default=60, help="timed steps of each")
    parser.add_argument("--warm", type=int, default=20, help="steps of each before; on a GPU shapes are recorded then")
    asked = parser.parse_args()
    corpus, seconds = load_corpus(asked.corpus), {}
    settings = read_settings(TUNED, asked.arch)
    shape = {name: settings.pop(name) for name in ("hidden", "embedding", "scale", "memory")}
    with tempfile.TemporaryDirectory() as folder:
        trainers = {}
        for weight in (0.0, 0.2):
            config = TrainConfig(**{**settings, "next_word": weight, "next_word_places": asked.places})
            network = Network(corpus.vocab, asked.arch, **shape)
            home = Path(folder) / str(weight)
            home.mkdir()
            trainers[weight] = Trainer(network, corpus, config, home, accelerator_for(config, asked.device), False)
            seconds[weight] = []
        config = trainers[0.0].config
        batches = epoch_batches(corpus.train.lengths, config.batch, config.seed, 0)
        for number, rows in enumerate(batches[: asked.warm + asked.steps]):
            for weight, trainer in trainers.items():
                start = time.perf_counter()
                trainer.step(rows)
                if asked.device == "cuda":
                    torch.cuda.synchronize()
                trainer.counters.step += 1
                if number >= asked.warm:
                    seconds[weight].append(time.perf_counter() - start)
    ratios = [b / a for a, b in zip(*seconds.values(), strict=True)]
    alone, beside = (sum(times) / len(times) for times in seconds.values())
    threads = torch.get_num_threads()
    print(
        f"{asked.arch}, {asked.device}, {threads} threads, batch {config.batch}, {asked.places} places: "
        f"{alone:.4f} s a step, {beside:.4f} s with next words, ratio of sums {beside / alone:.2f}, "
        f"median of ratios {median(ratios):.2f}"
    )


if __name__ == "__main__":
    main()
