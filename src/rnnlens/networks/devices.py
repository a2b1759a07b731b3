"""Where to compute: devices by name, and how many CPU threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from rnnlens.common.errors import RnnlensError
from rnnlens.common.ranges import check_options
from rnnlens.networks.both_ways import AnyNetwork, BothWays
from rnnlens.networks.parallel import most_cores


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
    token = most_cores.set(threads or most_cores.get() or before)
    try:
        yield
    finally:
        most_cores.reset(token)
        torch.set_num_threads(before)
