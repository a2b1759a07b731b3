"""The networks of `studies.recurrences`: seven kinds and three seeds each, on true labels and, as NAME-null-SEED, on
shuffled ones.

    python -m studies.recurrences_training CORPUS --out RUNS       # all of them, AT_ONCE at a time
    python -m studies.recurrences_training CORPUS --out RUNS --only mingru-2-0

CORPUS is the corpus of `studies.recipe`. Networks that are there already are not trained again.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from rnnlens import Network, TrainConfig, load_corpus, train

SHAPES: dict[str, dict[str, Any]] = {
    "gru-1": {"arch": "gru"},
    "mingru-1": {"arch": "mingru"},
    "conv-1": {"arch": "mingru", "convolution": 4},
    "mingru-2": {"arch": "mingru", "layers": 2},
    "rglru-2": {"arch": "rglru", "layers": 2},
    "mamba-1": {"arch": "mamba"},
    "mamba-2": {"arch": "mamba", "layers": 2},
}
USUAL: dict[str, Any] = {"hidden": 128, "embedding": 64, "memory": 300, "scale": 0.108}
SETTINGS: dict[str, Any] = {
    "batch": 256, "epochs": 6, "max_words": 600, "learning_rate": 0.006, "final_rate": 0.0014, "word_epsilon": 1e-3,
    "weight_decay": 0.022, "sparsity": 0.05, "average": 0.999, "word_dropout": 0.3, "dropout_run": 6,
    "embedding_dropout": 0.3, "blanks": 50, "keep": "last",
}  # fmt: skip
AT_ONCE = 18


def names() -> list[str]:
    """The networks: KIND-SEED and KIND-null-SEED."""
    return [f"{kind}{null}-{seed}" for null in ("", "-null") for kind in SHAPES for seed in range(3)]


def train_one(corpus: Any, name: str, out: Path, device: str) -> None:
    """Train the network of this name; a null network on shuffled labels."""
    kind, null, seed = name.partition("-null")[0], "-null-" in name, int(name.rsplit("-", 1)[1])
    kind = kind if null else kind.rsplit("-", 1)[0]
    if null:
        generator = np.random.default_rng(seed)
        for split in (corpus.train, corpus.validation):
            object.__setattr__(split, "labels", generator.permutation(np.asarray(split.labels)))
    network = Network(corpus.vocab, **USUAL, **SHAPES[kind], seed=seed)
    train(network, corpus, TrainConfig(**SETTINGS, seed=seed), out, device=device, test=not null, progress=False)


def train_all(corpus: Path, out: Path, device: str) -> None:
    """Train all networks that are not there, each in a process of its own."""
    waiting = [name for name in names() if not (out / name / "results.json").exists()]
    running: dict[str, subprocess.Popen[bytes]] = {}
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            command = [sys.executable, "-m", "studies.recurrences_training", str(corpus), "--out", str(out)]
            command += ["--device", device, "--only", waiting[0]]
            running[waiting.pop(0)] = subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"})
        time.sleep(0.2)
        for name in [name for name, process in running.items() if process.poll() is not None]:
            print(f"{name}: exit {running.pop(name).returncode}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", choices=names(), help="train this network alone")
    parser.add_argument("--device", default="cuda", choices=["cpu", "cuda"])
    asked = parser.parse_args()
    if asked.only:
        train_one(load_corpus(asked.corpus), asked.only, asked.out / asked.only, asked.device)
    else:
        train_all(asked.corpus, asked.out, asked.device)


if __name__ == "__main__":
    main()
