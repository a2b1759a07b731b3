"""Which reviews make up each batch: a function of the seed and the epoch alone, so a run can resume in mid-epoch. Also
copies a batch to a GPU."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

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


def to_device(arrays: Sequence[np.ndarray], device: torch.device) -> list[Tensor]:
    """The arrays as tensors on a device. A GPU gets all of them in one copy from pinned memory, which does not wait for
    what the GPU computes."""
    if device.type != "cuda":
        return [torch.from_numpy(array).to(device) for array in arrays]
    return unpacked(packed(arrays, pin=True).to(device, non_blocking=True), arrays)


def packed(arrays: Sequence[np.ndarray], pin: bool) -> Tensor:
    """The bytes of several arrays, one after the other, each at an address that every type allows."""
    bytes_ = torch.empty(_ends(arrays)[-1], dtype=torch.uint8, pin_memory=pin)
    for array, end in zip(arrays, _ends(arrays), strict=True):
        start = end - _room(array)
        bytes_.numpy()[start : start + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return bytes_


def unpacked(bytes_: Tensor, arrays: Sequence[np.ndarray]) -> list[Tensor]:
    """Tensors of the arrays' shapes and types from the result of `packed`."""
    found = []
    for array, end in zip(arrays, _ends(arrays), strict=True):
        start, kind = end - _room(array), torch.from_numpy(array[:0]).dtype
        found.append(bytes_[start : start + array.nbytes].view(kind).view(array.shape))
    return found


def _ends(arrays: Sequence[np.ndarray]) -> list[int]:
    return np.cumsum([_room(array) for array in arrays]).tolist()


def _room(array: np.ndarray) -> int:
    """The bytes that an array takes: a multiple of 16."""
    return -(-array.nbytes // 16) * 16
