"""The networks of `studies.recurrences`: seven kinds and three seeds each, on true labels and, as NAME-null-SEED, on
shuffled ones.

    python -m studies.recurrences_training CORPUS --out RUNS       # all of them, AT_ONCE at a time
    python -m studies.recurrences_training CORPUS --out RUNS --only mingru-2-0

CORPUS is the corpus of `studies.recipe`. Networks that are there already are not trained again.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rnnlens import Network, TrainConfig, load_corpus, train
from studies.kinds_training import shuffle_labels
from studies.side_by_side import run_side_by_side

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
        shuffle_labels(corpus, seed)
    network = Network(corpus.vocab, **USUAL, **SHAPES[kind], seed=seed)
    train(network, corpus, TrainConfig(**SETTINGS, seed=seed), out, device=device, test=not null, progress=False)


def train_all(corpus: Path, out: Path, device: str) -> None:
    """Train all networks that are not there, each in a process of its own."""
    waiting = [name for name in names() if not (out / name / "results.json").exists()]
    usual = ["studies.recurrences_training", str(corpus), "--out", str(out), "--device", device]
    run_side_by_side({name: [*usual, "--only", name] for name in waiting}, AT_ONCE)


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
