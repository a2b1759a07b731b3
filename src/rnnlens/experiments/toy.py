"""The toy study: a network that learns negation and emphasis, and the phrases that show it has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from rnnlens.corpora.toy import ToyLanguage, toy_corpus
from rnnlens.corpora.vocab import PAD
from rnnlens.networks import Network
from rnnlens.runs import Run
from rnnlens.training import TrainConfig, train

PHRASES = (
    "good", "bad", "extremely good", "extremely bad", "not good", "not bad",
    "not the the the good", "not the the the the good",
)  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """What a network makes of a phrase, and what the language's rule says; both relative to the empty review."""

    phrase: str
    logit: float
    target: float


def toy_config(seed: int) -> TrainConfig:
    """Settings for the toy language. No word is dropped: the language has pads of its own."""
    return TrainConfig(epochs=5, learning_rate=5e-3, word_dropout=0.0, embedding_dropout=0.0, max_words=None, seed=seed)


def train_toy(
    out: Path | str,
    arch: str = "gru",
    hidden: int = 100,
    embedding: int = 16,
    seed: int = 0,
    reviews: int = 64_000,
    resume: bool = False,
    device: str | None = None,
    config: TrainConfig | None = None,
) -> tuple[Run, list[Reading]]:
    """Train on the toy language, read the phrases, store both in the run's results under `toy`."""
    corpus = toy_corpus(train=reviews, seed=seed)
    network = Network(corpus.vocab, arch=arch, hidden=hidden, embedding=embedding, seed=seed)
    run = train(network, corpus, config or toy_config(seed), out, resume=resume, device=device)
    readings = read_phrases(run.network, corpus.language)
    run.add_results(toy={"phrases": [vars(r) for r in readings], "pad_drift": pad_drift(run.network)})
    return run, readings


@torch.no_grad()
def read_phrases(network: Network, language: ToyLanguage, phrases: tuple[str, ...] = PHRASES) -> list[Reading]:
    """Read each phrase from the initial state."""
    readings = []
    for phrase in phrases:
        ids = language.encode(phrase)
        logit = network.logits(torch.as_tensor(ids).unsqueeze(0))[0, -1].item()
        readings.append(Reading(phrase, logit, float(language.targets(ids[None])[0, -1])))
    return readings


@torch.no_grad()
def pad_drift(network: Network, steps: int = 50) -> float:
    """The furthest the logit strays from its start under `steps` zero inputs."""
    ids = torch.full((1, steps), PAD, device=network.h0.device)
    logits = network.logits(ids)[0]
    return float((logits - logits[0]).abs().max())
