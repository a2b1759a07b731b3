"""Which reviews make up each batch: a function of the seed and the epoch alone, so a run can resume in mid-epoch."""

from __future__ import annotations

import numpy as np

POOL = 50  # batches whose reviews are sorted by length together: enough to save padding, few enough to stay random


def epoch_batches(lengths: np.ndarray, batch: int, seed: int, epoch: int) -> list[np.ndarray]:
    """Indices of each batch of one epoch: every review once, similar lengths together, batches in random order."""
    generator = np.random.default_rng([seed, epoch])
    order = generator.permutation(len(lengths))
    pools = [order[i : i + batch * POOL] for i in range(0, len(order), batch * POOL)]
    batches = []
    for pool in pools:
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        batches += [pool[i : i + batch] for i in range(0, len(pool), batch)]
    return [batches[i] for i in generator.permutation(len(batches))]
