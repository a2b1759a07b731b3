"""The networks that `validate` trains on a synthetic language: DIR/ARCH-SEED, beside DIR/corpus."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path

from rnnlens.experiments.recipe import Settings


@dataclasses.dataclass(frozen=True)
class Subject:
    """One network to train: its settings, its seed, and the folder that contains the corpus."""

    settings: Settings
    seed: int
    out: Path

    @property
    def folder(self) -> Path:
        return self.out / f"{self.settings.arch}-{self.seed}"


def train_subject(subject: Subject, device: str | None = None) -> float:
    """Train one network, or load it if it is trained; returns the seconds this took."""
    from rnnlens.corpora import load_corpus
    from rnnlens.networks import Network
    from rnnlens.training.loop import train

    began, settings, seed = time.monotonic(), subject.settings, subject.seed
    corpus = load_corpus(subject.out / "corpus")
    shape = settings.hidden, settings.embedding
    network = Network(corpus.vocab, settings.arch, *shape, seed, settings.scale, settings.memory)
    config = dataclasses.replace(settings.config, seed=seed)
    train(network, corpus, config, subject.folder, resume=True, device=device, test=True, progress=False)
    return time.monotonic() - began
