"""The network of the fixed-point benchmarks: a GRU of 256 units that adds up ±1 tokens among blank inputs."""

from __future__ import annotations

from pathlib import Path

import torch

from rnnlens import Network, ToyLanguage, TrainConfig, load, toy_corpus, train

LANGUAGE = ToyLanguage(valences={"minus": -1, "plus": 1}, modifiers={})


def integrator(folder: Path = Path(__file__).parent / "data" / "integrator") -> Network:
    """Trained once (half a minute on a GPU, ten on two cores), then read back."""
    if (folder / "weights.safetensors").exists():
        return load(folder).network
    corpus = toy_corpus(LANGUAGE, train=100_000, validation=1_000)
    config = TrainConfig(epochs=4, learning_rate=3e-3, word_dropout=0, embedding_dropout=0, max_words=None)
    network = Network(corpus.vocab, arch="gru", hidden=256, embedding=16)
    return train(network, corpus, config, folder, resume=True).network


@torch.no_grad()
def noisy_states(network: Network, n: int = 1024, noise: float = 0.05, seed: int = 0) -> torch.Tensor:
    """n visited states (n, N), each with Gaussian noise of `noise` times the states' spread."""
    ids = torch.from_numpy(LANGUAGE.sample(max(1, n // 16), seed)[0]).long().to(network.h0.device)
    states = network.states(ids)[:, 1:].flatten(0, 1).cpu()
    generator = torch.Generator().manual_seed(seed)
    states = states[torch.randperm(len(states), generator=generator)[:n]]
    return (states + noise * states.std() * torch.randn(states.shape, generator=generator)).to(network.h0.device)
