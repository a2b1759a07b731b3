"""Networks with several classes whose answers are known by hand: exact simplexes and lines, and class negators."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from rnnlens import Network, adapt
from rnnlens.corpora import Vocab

NAMES = ["anger", "fear", "joy", "love"]
FADES = 0.5  # what is left of a modifier after one more word
WORDS_A_CLASS = 8
NEUTRAL = [f"w{i}" for i in range(30)]


def simplex(classes: int) -> Tensor:
    """Vertices (C, C − 1) of a regular simplex, with U Uᵀ = I − 1/C."""
    values, vectors = torch.linalg.eigh(torch.eye(classes, dtype=torch.float64) - 1 / classes)
    return vectors[:, 1:] * values[1:].sqrt()


def class_words(names) -> dict[str, tuple[int, float]]:
    """Words with their class, and the evidence that they add to it."""
    amounts = [0.5 + i / (WORDS_A_CLASS - 1) for i in range(WORDS_A_CLASS)]
    return {f"{name}{i}": (k, a) for k, name in enumerate(names) for i, a in enumerate(amounts)}


def handmade_classes(names, modifiers, *, vertices: Tensor | None = None, size: int = 16, seed: int = 0) -> Network:
    """A word of class k adds evidence of k, times 1 + m_k; a modifier leaves m (C,), which fades. The evidence is kept
    as a place on the vertices (C, d), by default of a simplex, and the logits are the readouts along them.

    modifiers: the m of each, one number for all classes or C of them. The state is rotated by a random matrix."""
    C, words = len(names), class_words(names)
    U = simplex(C) if vertices is None else vertices.double()
    d = U.shape[1]
    generator = torch.Generator().manual_seed(seed)
    Q = torch.linalg.qr(torch.randn(size, size, generator=generator, dtype=torch.float64))[0]
    every = [*words, *modifiers, *NEUTRAL]
    E = torch.zeros(len(every), 2 * C + 1, dtype=torch.float64)  # evidence, modifiers, decoy
    for i, word in enumerate(every):
        if word in words:
            k, amount = words[word]
            E[i, k] = amount
        elif word in modifiers:
            E[i, C : 2 * C] = torch.as_tensor(modifiers[word], dtype=torch.float64)
        else:
            E[i, 2 * C] = 0.1 * torch.randn((), generator=generator, dtype=torch.float64)

    def step(h: Tensor, e: Tensor) -> Tensor:
        z = h @ Q
        kept, m, rest = z[..., :d], z[..., d : d + C], z[..., d + C :]
        added = (e[..., :C] * (1 + m)) @ U
        return torch.cat([kept + added, FADES * m + e[..., C : 2 * C], 0.5 * rest + e[..., 2 * C :]], -1) @ Q.t()

    read = torch.cat([U, torch.zeros(C, size - d, dtype=torch.float64)], 1) @ Q.t()
    bias = torch.zeros(C, dtype=torch.float64)
    network = adapt(
        step, E, (read, bias), Vocab(every, [100] * len(every)), torch.zeros(size, dtype=torch.float64), classes=names
    )
    return network.requires_grad_(False)


def visited(network: Network, names, n: int = 60, length: int = 14, seed: int = 0) -> Tensor:
    """States after random words of classes, all classes alike."""
    rng = np.random.default_rng(seed)
    words = list(class_words(names))
    k = len(words) // len(names)
    rows = []
    for _ in range(n):
        often = np.repeat(rng.dirichlet(np.ones(len(names))), k)
        rows.append(rng.choice(words + NEUTRAL, length, p=np.append(0.7 * often / k, np.full(30, 0.01))))
    ids = torch.tensor([[network.vocab.words.index(word) for word in row] for row in rows])
    with torch.no_grad():
        return network.states(ids)[:, 4:].reshape(-1, network.size)
