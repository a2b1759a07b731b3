"""Looking at a network at a few moments of its training, without changing the training.

The loop knows only `Watch`. What is measured is the business of later parts: `analysis.film` keeps snapshots.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, Protocol

import torch
from accelerate import Accelerator

from rnnlens.corpora.protocol import CorpusLike
from rnnlens.networks import AnyNetwork, Network
from rnnlens.runs.config import TrainConfig
from rnnlens.training.checkpoint import Weights

EARLY = 100  # moments are linear in the steps up to this fraction of the training, and logarithmic after it


class Watch(Protocol):
    """Looks at a network `count` times. Only the main process of several calls it."""

    @property
    def count(self) -> int: ...

    def check(self, corpus: CorpusLike) -> None:
        """Raise an error if it cannot look at a training on this corpus, before anything is written."""
        ...

    def begin(self, corpus: CorpusLike, config: TrainConfig, out: Path, mark: str, steps: list[int], done: int) -> None:
        """Before the first step. mark: the fingerprint of the run. steps: the moments. done: the step of the checkpoint
        that the run resumes from, or −1: what was seen after it will be seen again."""
        ...

    def look(self, network: Network, step: int) -> None:
        """A copy of the network, with the weights after this many steps: averaged, if the run averages."""
        ...

    def end(self, weights: str) -> None:
        """After the last step, before the run is marked as finished. weights: the fingerprint of the trained ones."""
        ...

    def clear(self) -> None:
        """After the run is finished: delete what only a resumed run needs."""
        ...


def moments(total: int, count: int) -> list[int]:
    """`count` different steps from 0 to `total`, closer together at the beginning; all steps if there are fewer."""
    count = min(count, total + 1)
    if count < 2:
        return [total]
    scale, steps = total / EARLY, [0]
    for k in range(1, count):
        step = round(scale * ((1 + EARLY) ** (k / (count - 1)) - 1))
        steps.append(min(max(step, steps[-1] + 1), total - (count - 1 - k)))
    return steps


class Watching:
    """Calls a watch at its moments. It works on a copy of the network, so it cannot change what is trained."""

    def __init__(self, watch: Watch | None, network: AnyNetwork, total: int, accelerator: Accelerator):
        self.watch, self.network, self.accelerator = watch, network, accelerator
        self.copy: Any = None  # a Network
        self.steps = [] if watch is None else moments(total, watch.count)

    def begin(self, corpus: CorpusLike, config: TrainConfig, out: Path, mark: str, done: int) -> None:
        if self.watch is not None and self.accelerator.is_main_process:
            self.watch.begin(corpus, config, out, mark, self.steps, done)

    def due(self, step: int) -> bool:
        return step in self.steps

    @torch.no_grad()
    def look(self, step: int, average: Weights | None) -> None:
        """All processes call this: the main one looks, the others wait."""
        if self.watch is None:
            return
        if self.accelerator.is_main_process:
            if self.copy is None:
                self.copy = copy.deepcopy(self.network).requires_grad_(False).eval()
            weights = dict(self.network.named_parameters()) if average is None else average
            for name, parameter in self.copy.named_parameters():
                parameter.copy_(weights[name])
            self.watch.look(self.copy, step)
        self.accelerator.wait_for_everyone()

    def end(self, weights: str) -> None:
        if self.watch is not None:
            self.watch.end(weights)

    def clear(self) -> None:
        if self.watch is not None:
            self.watch.clear()
