"""Train the networks with several classes of `studies.kinds`, side by side; one by one:

python -m studies.kinds_training CORPUS --out RUN --seed 0 [--flat] [--shuffled]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from rnnlens.corpora import load_corpus
from rnnlens.networks import Network
from rnnlens.runs.config import TrainConfig
from rnnlens.training.loop import train
from studies.side_by_side import run_side_by_side

SEEDS, AT_ONCE = range(3), 16
USUAL: dict[str, Any] = {
    "max_words": 600, "word_epsilon": 1e-3, "weight_decay": 0.022, "final_rate": 0.0014, "word_dropout": 0.3,
    "embedding_dropout": 0.5,
}  # fmt: skip
SHORT = {"batch": 64, "learning_rate": 0.003, "dropout_run": 3, "average": 0.99}
LONG = {"batch": 256, "learning_rate": 0.006, "dropout_run": 6, "average": 0.999, "sparsity": 0.05}
SETTINGS: dict[str, tuple[float, dict[str, Any]]] = {  # the units' longest initial time constant, and what differs
    "emotion": (30, {**SHORT, "epochs": 10}),
    "news": (60, {**SHORT, "epochs": 14}),
    "ratings": (300, {**LONG, "epochs": 24}),
    "stars": (300, {**LONG, "epochs": 10, "embedding_dropout": 0.4}),
}


def jobs() -> dict[str, list[str]]:
    """The flags of every training, by the name of its run."""
    found = {f"{name}-{seed}": ["--seed", str(seed)] for name in SETTINGS for seed in SEEDS}
    found |= {f"{name}-flat-{seed}": ["--flat", "--seed", str(seed)] for name in ("ratings", "stars") for seed in SEEDS}
    return found | {f"{name}-null": ["--flat", "--shuffled"] for name in SETTINGS}


def train_classes(corpora: Path, out: Path, device: str) -> None:
    """Train all networks, some at a time."""
    out.mkdir(parents=True, exist_ok=True)
    arguments = {}
    for name, flags in jobs().items():
        where = [str(corpora / name.split("-")[0]), "--out", str(out / name), "--device", device]
        arguments[name] = ["studies.kinds_training", *where, *flags]
    run_side_by_side(arguments, AT_ONCE)


def shuffle_labels(corpus: Any, seed: int) -> None:
    """Shuffle the labels of the training and validation texts, in place: then nothing can be learned."""
    generator = np.random.default_rng(seed)
    for split in (corpus.train, corpus.validation):
        object.__setattr__(split, "labels", generator.permutation(np.asarray(split.labels)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--flat", action="store_true", help="read ordered classes as if they had no order")
    parser.add_argument("--shuffled", action="store_true", help="shuffle the labels: a network that can learn nothing")
    parser.add_argument("--device", default="cuda", choices=["cpu", "cuda"])
    asked = parser.parse_args()
    corpus, (memory, settings) = load_corpus(asked.corpus), SETTINGS[asked.corpus.name]
    if asked.shuffled:
        shuffle_labels(corpus, asked.seed)
    ordered = bool(corpus.about.get("ordered")) and not asked.flat
    shape = {"hidden": 128, "embedding": 64, "scale": 0.108, "memory": memory, "seed": asked.seed}
    network = Network(corpus.vocab, **shape, classes=corpus.classes, ordered=ordered)  # type: ignore[arg-type]
    config = TrainConfig(**{**USUAL, **settings, "seed": asked.seed})
    train(network, corpus, config, asked.out, device=asked.device, test=not asked.shuffled, progress=False)


if __name__ == "__main__":
    main()
