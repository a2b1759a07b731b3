"""A network whose answers are known by hand: exact modifiers, scopes and edge effects, in rotated coordinates."""

import math

import numpy as np
import torch

from rnnlens import adapt
from rnnlens.corpora import Vocab

FAST, SLOW, LATE = 2.0, 5.0, 10.0  # timescales, in words, of the two modifier coordinates and of the transient
VALENCE = {"good": 1.0, "great": 2.0, "bad": -1.0, "awful": -2.0}
MODIFIERS = {  # what each leaves in the fast and the slow coordinate
    "not": (-2.0, 0.0), "never": (-1.2, 0.0), "very": (1.2, 0.0), "so": (2.0, 0.0), "hardly": (0.0, -0.7),
    "really": (0.0, 0.7),
}  # fmt: skip
NEUTRAL = [f"w{i}" for i in range(30)]
H0 = 0.5  # the initial state stresses the first words by half, slowly fading
TRANSIENT = 0.5  # a word moves the logit by half again more at first than it does in the long run


def handmade(size: int = 8, seed: int = 0):
    """z0 sums up valence times 1 + z1 + z2; z1 and z2 are what modifiers leave; z3 is a transient; h = Q z.

    The logit is z0 + z3. The rest are decoys, stirred by neutral words."""
    generator = torch.Generator().manual_seed(seed)
    Q = torch.linalg.qr(torch.randn(size, size, generator=generator, dtype=torch.float64))[0]
    words = [*VALENCE, *MODIFIERS, *NEUTRAL]
    E = torch.zeros(len(words), 4, dtype=torch.float64)  # valence, fast, slow, decoy
    for i, word in enumerate(words):
        E[i, 0] = VALENCE.get(word, 0.0)
        E[i, 1], E[i, 2] = MODIFIERS.get(word, (0.0, 0.0))
        E[i, 3] = 0.1 * torch.randn((), generator=generator, dtype=torch.float64) if word in NEUTRAL else 0.0
    decay = torch.tensor([1.0, *(math.exp(-1 / tau) for tau in (FAST, SLOW, LATE))], dtype=torch.float64)
    decay = torch.cat([decay, torch.full((size - 4,), 0.5, dtype=torch.float64)])

    def step(h, e):
        z = h @ Q
        valence = e[..., :1] * (1 + z[..., 1:2] + z[..., 2:3])
        moved = torch.cat([valence, e[..., 1:3], TRANSIENT * valence, e[..., 3:4].expand(*e.shape[:-1], size - 4)], -1)
        return (decay * z + moved) @ Q.t()

    z0 = torch.zeros(size, dtype=torch.float64)
    z0[2] = H0
    counts = [1_000] * (len(words) - len(NEUTRAL)) + list(range(1, len(NEUTRAL) + 1))
    w = Q[:, 0] + Q[:, 3]
    network = adapt(step, E, (w, torch.zeros((), dtype=torch.float64)), Vocab(words, counts), Q @ z0)
    return network.requires_grad_(False), Q


class Documents:
    """Rows of ids in the shape of a split."""

    def __init__(self, rows, labels):
        self.rows, self.labels = rows, labels
        self.lengths = np.array([len(row) for row in rows])

    def __len__(self):
        return len(self.rows)

    def batch(self, rows, max_words=None):
        ids = np.full((len(rows), self.lengths[rows].max()), -1)
        for k, row in enumerate(rows):
            ids[k, : self.lengths[row]] = self.rows[row]
        return ids, self.lengths[rows]
