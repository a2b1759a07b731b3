"""Where to compute: devices by name, how many CPU threads, and work that is shared among CPU cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

import torch

from rnnlens.common.errors import RnnlensError
from rnnlens.common.ranges import check_options
from rnnlens.networks.both_ways import AnyNetwork, BothWays
from rnnlens.networks.cells import Cell
from rnnlens.networks.network import Network

Part = TypeVar("Part")
Result = TypeVar("Result")
_cores: ContextVar[int | None] = ContextVar("cores", default=None)  # for `in_parallel`, set by `threads_for`


def check_device(device: str | None) -> None:
    """Refuse a device that is unknown or missing."""
    check_options("device", device=device)
    if device == "cuda" and not torch.cuda.is_available():
        raise RnnlensError("device is 'cuda', but torch sees no GPU here: use cpu")


@contextmanager
def threads_for(network: AnyNetwork, threads: int | None) -> Iterator[None]:
    """Set the number of CPU threads of a product: `threads` or, if None, one for small networks. Their products are
    short, and on a busy machine two threads that wait for each other can take many times as long as one."""
    before = torch.get_num_threads()
    size = network.forwards.size if isinstance(network, BothWays) else network.size
    torch.set_num_threads(threads or (1 if size <= 128 else before))
    token = _cores.set(threads or _cores.get() or before)
    try:
        yield
    finally:
        _cores.reset(token)
        torch.set_num_threads(before)


def cores_for(network: Network) -> int:
    """How many parts of some work with a network `in_parallel` computes at a time."""
    if network.h0.is_cuda or not isinstance(network.cell, Cell):
        return 1
    return _cores.get() or torch.get_num_threads()


def in_parallel(function: Callable[[Part], Result], parts: Sequence[Part], network: Network) -> list[Result]:
    """The results of all parts, in their order: on a CPU, each core computes one part at a time. If cores shared a
    part, they would wait for each other at every product, which on a busy machine can take ten times as long. A user's
    own step function runs in one thread: neither it nor torch's forward-mode derivatives are known to be
    thread-safe."""
    threads, gradients = torch.get_num_threads(), torch.is_grad_enabled()
    cores = min(cores_for(network), len(parts))
    if cores <= 1:
        return [function(part) for part in parts]

    def compute(part: Part) -> Result:
        with torch.set_grad_enabled(gradients):  # a new thread would record gradients
            return function(part)

    try:
        with ThreadPoolExecutor(cores, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            return list(pool.map(compute, parts))
    finally:
        torch.set_num_threads(threads)
