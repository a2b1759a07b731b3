"""Forward and backward passes on a GPU as CUDA graphs, one for each shape of batch.

A step on 64 reviews is more than 500 kernels of a few microseconds each, and launching a kernel takes longer than
running it. So a pass is recorded when its shape comes the second time, and from then on launched as a whole. The
kernels are the same, and so are their results, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlens.corpora.vocab import PAD
from rnnlens.networks.scan import recorder
from rnnlens.training.objective import Batch

MOST = 2**15  # words in all recorded shapes together: a graph takes some kilobytes for each

Shape = tuple[tuple[int, ...] | None, ...]


@dataclass(frozen=True)
class Recording:
    """A graph, the tensors that it reads, and its result, which the next launch overwrites."""

    graph: torch.cuda.CUDAGraph
    batch: Batch
    result: Tensor


class Recorder:
    """`compute(batch, weight)`, which fills the gradients of the parameters and returns a tensor, from graphs where a
    shape comes again. The gradients are the same tensors after every graph.

    Recorded passes take about twice the memory of passes alone. Where that is too much, nothing is recorded."""

    def __init__(self, compute: Callable[[Batch, float], Tensor], parameters: Sequence[nn.Parameter]):
        self.compute, self.parameters = compute, parameters
        self.seen: set[tuple[Shape, float]] = set()
        self.recordings: dict[tuple[Shape, float], Recording] = {}
        self.gradients: list[Tensor | None] = []
        self.buffers: dict[int, Tensor] = {}
        self.pool: Any = None
        self.words, self.most = 0, MOST

    def __call__(self, batch: Batch, weight: float) -> Tensor:
        try:
            recording = self._recording(batch, weight)
            if recording is not None:
                return self._launch(recording, batch)
            return self.compute(batch, weight)
        except torch.OutOfMemoryError:
            if not self.most:
                raise
        self.most, self.pool = 0, None
        for held in (self.seen, self.recordings, self.buffers, self.gradients):
            held.clear()
        torch.cuda.empty_cache()
        return self.compute(batch, weight)

    def _recording(self, batch: Batch, weight: float) -> Recording | None:
        """That of the batch's shape, recorded now if the shape comes the second time; None if it is to be computed."""
        key, width = (tuple(None if part is None else tuple(part.shape) for part in batch), weight), batch[0].shape[1]
        if key not in self.recordings and self.words + width <= self.most:
            if key in self.seen:
                self.recordings[key] = self._record(batch, weight)
                self.words += width
            self.seen.add(key)
        return self.recordings.get(key)

    def _launch(self, recording: Recording, batch: Batch) -> Tensor:
        _fill(recording.batch, batch)
        recording.graph.replay()
        for parameter, gradient in zip(self.parameters, self.gradients, strict=True):
            parameter.grad = gradient
        return recording.result.clone()

    def _record(self, batch: Batch, weight: float) -> Recording:
        held, device = self._held(batch), batch[0].device
        _fill(held, batch)
        graph, current, (side, _, _, lock) = torch.cuda.CUDAGraph(), torch.cuda.current_stream(device), recorder(device)
        self.pool = self.pool or torch.cuda.graph_pool_handle()  # of its own: its memory is free after training
        side.wait_stream(current)
        if not self.recordings:
            with torch.cuda.stream(side):  # not recorded: libraries allocate memory here, which a recording may not do
                self.compute(held, weight)
            self.gradients = [None if p.grad is None else torch.empty_like(p) for p in self.parameters]
        with lock, torch.cuda.stream(side):
            graph.capture_begin(self.pool, capture_error_mode="thread_local")
            try:
                result = self.compute(held, weight)
                for parameter, gradient in zip(self.parameters, self.gradients, strict=True):
                    if gradient is not None and parameter.grad is not None:
                        gradient.copy_(parameter.grad)  # graphs share their memory; this is kept
                    parameter.grad = None
            except BaseException:
                with suppress(RuntimeError):
                    graph.capture_end()
                raise
            graph.capture_end()
        current.wait_stream(side)
        return Recording(graph, held, result)

    def _held(self, batch: Batch) -> Batch:
        """Where a recording of this shape reads its batch: in buffers that all recordings share."""

        def held(i: int, part: Tensor | None) -> Tensor | None:
            if part is None:
                return None
            if i not in self.buffers or len(self.buffers[i]) < part.numel():
                self.buffers[i] = part.new_empty(part.numel())
            return self.buffers[i][: part.numel()].view(part.shape)

        return Batch(*(held(i, part) for i, part in enumerate(batch)))  # type: ignore[arg-type]


def can_record(parameters: Sequence[nn.Parameter]) -> bool:
    """Whether a pass runs nothing that a graph leaves out or cannot hold: a user's hooks on gradients, or torch's
    detection of anomalies, which waits for the GPU."""
    return not torch.is_anomaly_enabled() and not any(
        p._backward_hooks or p._post_accumulate_grad_hooks for p in parameters
    )


def widen(ids: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """ids (B, T) and their mask (B, T, D) with blank inputs on the right, up to a width that many batches share: the
    next multiple of 8, from 256 on of a 32nd of the power of two above T."""
    T = ids.shape[1]
    more = -T % max(8, 2 ** (T - 1).bit_length() // 32)
    return F.pad(ids, (0, more), value=PAD), None if mask is None else F.pad(mask, (0, 0, 0, more))


def _fill(held: Batch, batch: Batch) -> None:
    for there, here in zip(held, batch, strict=True):
        if there is not None and here is not None:
            there.copy_(here)
