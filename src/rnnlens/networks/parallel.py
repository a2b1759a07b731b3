"""Work that is shared among CPU cores."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any, TypeVar

import torch

from rnnlens.networks.cells import Cell

Part = TypeVar("Part")
Result = TypeVar("Result")
WORDS = 2**14  # padded words that a core reads at a time: enough for long products, few enough for many cores
most_cores: ContextVar[int | None] = ContextVar("cores", default=None)  # set by `devices.threads_for`


def usable_cores() -> int:
    """How many CPU cores work may be shared among."""
    return most_cores.get() or torch.get_num_threads()


def cores_for(network: Any) -> int:
    """How many parts of some work with a network `in_parallel` computes at a time."""
    return usable_cores() if _shares(network) else 1


def batch_of(network: Any, words: int, texts: int) -> tuple[int, int]:
    """How many padded words, and how many texts, to read in one part: `words` and `texts`, or on a CPU as few words as
    `words_at_once`. On a GPU more, where they fit: every step of a batch launches its kernels."""
    if not network.h0.is_cuda:
        return words_at_once(network, words), texts
    room = room_on(network.h0.device, sum(map(floats_per_word, _readers(network))))
    return max(words, min(4 * words, room)), 2**14


def floats_per_word(network: Any) -> int:
    """How many numbers a network computes for each word: its gates, its state and the embedded word."""
    return int(2 * network.size * getattr(network.cell, "gates", 4) + network.inputs)


def room_on(device: torch.device | str, width: int) -> int:
    """How many padded words of `width` numbers each fit in a sixth of a GPU's memory."""
    return torch.cuda.get_device_properties(device).total_memory // (6 * 4 * max(1, width))


def words_at_once(network: Any, most: int) -> int:
    """How many of at most `most` padded words to read in one part: the same for any number of cores, and so are the
    results."""
    return min(most, WORDS) if _shares(network) else most


def _shares(network: Any) -> bool:
    return all(isinstance(getattr(one, "cell", None), Cell) and not one.h0.is_cuda for one in _readers(network))


def _readers(network: Any) -> tuple[Any, ...]:
    """The two networks of one that reads both ways; any other network alone."""
    return (network.forwards, network.backwards) if hasattr(network, "forwards") else (network,)


def in_parallel(function: Callable[[Part], Result], parts: Iterable[Part], network: Any) -> list[Result]:
    """The results of all parts, in their order: on a CPU, each core computes one part at a time. If cores shared a
    part, they would wait for each other at every product, which on a busy machine can take ten times as long. A user's
    own step function runs in one thread: neither it nor torch's forward-mode derivatives are known to be
    thread-safe. An iterator of parts is read in the caller's thread, as they are needed."""
    threads, gradients, cores = torch.get_num_threads(), torch.is_grad_enabled(), cores_for(network)
    if cores <= 1 or (isinstance(parts, Sized) and len(parts) <= 1):
        return [function(part) for part in parts]

    def compute(part: Part) -> Result:
        with torch.set_grad_enabled(gradients):  # a new thread would record gradients
            return function(part)

    results: list[Result] = []
    waiting: deque[Future[Result]] = deque()
    try:
        with ThreadPoolExecutor(cores, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            for part in parts:
                waiting.append(pool.submit(compute, part))
                if len(waiting) > 2 * cores:
                    results.append(waiting.popleft().result())
            results += [future.result() for future in waiting]
        return results
    finally:
        torch.set_num_threads(threads)
