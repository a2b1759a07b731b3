"""Forward and backward passes on a GPU as CUDA graphs, one for each shape of batch.

A step on 64 reviews is more than 500 kernels of a few microseconds each, and launching a kernel takes longer than
running it. So a pass is recorded when its shape comes the second time, and from then on launched as a whole. The
kernels are the same, and so are their results, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlens.corpora.vocab import PAD
from rnnlens.networks.scan import recorder

MOST = 2**15  # words in all recorded shapes together: a graph takes some kilobytes for each

Batch = tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]  # ids, lengths, labels, mask, weights
Shape = tuple[tuple[int, ...] | None, ...]


@dataclass(frozen=True)
class Recording:
    """A graph, the tensors that it reads, and its result, which the next launch overwrites."""

    graph: torch.cuda.CUDAGraph
    batch: Batch
    result: Tensor


class Recorder:
    """`compute(batch, weight)`, which fills the gradients of the parameters and returns a tensor, from graphs where a
    shape comes again. The gradients are the same tensors after every graph."""

    def __init__(self, compute: Callable[[Batch, float], Tensor], parameters: Sequence[nn.Parameter]):
        self.compute, self.parameters = compute, parameters
        self.seen: set[tuple[Shape, float]] = set()
        self.recordings: dict[tuple[Shape, float], Recording] = {}
        self.gradients: list[Tensor | None] = []
        self.words = 0

    def __call__(self, batch: Batch, weight: float) -> Tensor:
        key = tuple(None if part is None else tuple(part.shape) for part in batch), weight
        recording = self.recordings.get(key)
        if recording is None:
            width = batch[0].shape[1]
            if key not in self.seen or self.words + width > MOST:
                self.seen.add(key)
                return self.compute(batch, weight)
            recording = self.recordings[key] = self._record(batch, weight)
            self.words += width
        for there, here in zip(recording.batch, batch, strict=True):
            if there is not None and here is not None:
                there.copy_(here)
        recording.graph.replay()
        for parameter, gradient in zip(self.parameters, self.gradients, strict=True):
            parameter.grad = gradient
        return recording.result.clone()

    def _record(self, batch: Batch, weight: float) -> Recording:
        ids, lengths, labels, mask, weights = batch
        batch = ids.clone(), lengths.clone(), labels.clone(), _copy(mask), _copy(weights)
        graph, current = torch.cuda.CUDAGraph(), torch.cuda.current_stream(ids.device)
        side, pool, _, lock = recorder(ids.device)
        side.wait_stream(current)
        if not self.recordings:
            with torch.cuda.stream(side):  # not recorded: libraries allocate memory here, which a recording may not do
                self.compute(batch, weight)
            self.gradients = [None if p.grad is None else torch.empty_like(p) for p in self.parameters]
        with lock, torch.cuda.stream(side):
            graph.capture_begin(pool, capture_error_mode="thread_local")
            try:
                result = self.compute(batch, weight)
                for parameter, gradient in zip(self.parameters, self.gradients, strict=True):
                    if gradient is not None and parameter.grad is not None:
                        gradient.copy_(parameter.grad)  # graphs share their memory; this is kept
                    parameter.grad = None
            finally:
                graph.capture_end()
        current.wait_stream(side)
        return Recording(graph, batch, result)


def widen(ids: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """ids (B, T) and their mask (B, T, D) with blank inputs on the right, up to a width that many batches share: the
    next multiple of 8, from 256 on of a 32nd of the power of two above T."""
    T = ids.shape[1]
    more = -T % max(8, 2 ** (T - 1).bit_length() // 32)
    return F.pad(ids, (0, more), value=PAD), None if mask is None else F.pad(mask, (0, 0, 0, more))


def _copy(part: Tensor | None) -> Tensor | None:
    return None if part is None else part.clone()
