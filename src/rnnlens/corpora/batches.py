"""Documents of similar length, side by side."""

from __future__ import annotations

import numpy as np


def token_batches(lengths: np.ndarray, tokens: int, most: int) -> list[np.ndarray]:
    """Indices of batches to read: similar lengths together, at most `tokens` padded words and `most` reviews."""
    order = np.argsort(lengths, kind="stable")
    widths, batches, start = np.maximum(1, lengths[order]), [], 0
    while start < len(order):
        # Lengths rise along the order, so the last review of a batch sets its width.
        padded = widths[start : start + most] * np.arange(1, min(most, len(order) - start) + 1)
        stop = start + max(1, int(np.searchsorted(padded, tokens, side="right")))
        batches.append(order[start:stop])
        start = stop
    return batches
