"""Several versions of one network that read the same texts together: from other initial states, or with other steps.

A version alone repeats short products, and computes the same drives as all the others. Together, the states of all
versions are one long product with the recurrent weights.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rnnlens.networks.cells import Cell, Step
from rnnlens.networks.network import Network
from rnnlens.networks.parallel import cores_for, in_parallel
from rnnlens.networks.wrapped import Wrapped

AT_ONCE = 32  # versions that read together
NUMBERS = 2**18  # in the gates of the states that a core holds: what stays in its cache
STEPS = 32  # whose inputs are computed at a time
FEWEST = 64  # states that a core takes, of large networks
ALONE = 16  # states whose computation takes as long as what is the same in every step of a version alone


@dataclass(frozen=True)
class Versions:
    """K versions of a network. `versions(ids, lengths)` are their logits (K, B), or (K, B, C) of C classes.

    network   what they are versions of: a `Network`, or one reader `Within` a network that reads both ways
    cells     the cell of each version: all `Projected`, all `Steered`, or all the network's own
    h0        (K, N)  their initial states
    """

    network: Any
    cells: Sequence[Any]
    h0: Tensor

    @classmethod
    def changed(cls, network: Any, cells: Sequence[Wrapped]) -> Versions:
        """Versions with changed steps."""
        h0 = network.h0.detach().unsqueeze(0)
        return cls(network, cells, torch.cat([cell.start(h0) for cell in cells]))

    @classmethod
    def alone(cls, network: Network) -> Versions:
        """A network that `projected` or `steered` made, as the only version."""
        inner = network.with_parts(network.cell.cell, network.h0, network.arch)
        return cls(inner, [network.cell], network.h0.detach().unsqueeze(0))

    @classmethod
    def starting(cls, network: Any, h0: Tensor) -> Versions:
        """Versions that start from states h0 (K, N); their steps are the same."""
        return cls(network, [network.cell] * len(h0), h0)

    def __len__(self) -> int:
        return len(self.cells)

    def one(self, k: int) -> Any:
        """A version as a network."""
        return self.network.with_parts(self.cells[k], self.h0[k], self.network.arch)

    @property
    def together(self) -> bool:
        """Whether all versions read together, step by step. Each text then ends at its own length, so texts of any
        lengths may be in one batch."""
        own = not isinstance(self.cells[0], Wrapped)
        fused = own and not isinstance(self.network.cell, Cell)  # a parallel scan, say, which is quicker than steps
        return isinstance(self.network, Network) and not (self.h0.is_cuda or fused)

    @torch.no_grad()
    def __call__(self, ids: Tensor, lengths: Tensor) -> Tensor:
        if not self.together:
            return torch.stack([self.one(k)(ids, lengths) for k in range(len(self))])
        cell, cores = self.network.cell, cores_for(self.network)
        width = self.h0.shape[1] * (cell.gates // cell.blocks if isinstance(cell, Cell) else 1)
        rows = max(1, max(FEWEST, NUMBERS // width) // min(AT_ONCE, len(self)))
        texts: Sequence[Tensor] = torch.argsort(lengths, descending=True, stable=True).split(rows)
        versions = torch.arange(len(self)).split(AT_ONCE)
        if len(texts) * len(versions) < cores:  # too few parts
            texts = [part for some in texts for part in some.split(equal_parts(lengths[some].numpy(), cores))]
        parts = [(chosen, some) for some in texts for chosen in versions]

        def read(part: tuple[Tensor, Tensor]) -> Tensor:
            chosen, some = part
            return self._outputs(chosen.tolist(), ids[some], lengths[some])

        outputs = in_parallel(read, parts, self.network)
        joined = outputs[0].new_empty(len(self), len(ids), outputs[0].shape[-1])
        for (chosen, some), found in zip(parts, outputs, strict=True):
            joined[chosen.unsqueeze(1), some] = found
        return self.network._read_out(joined)

    def _outputs(self, chosen: Sequence[int], ids: Tensor, lengths: Tensor) -> Tensor:
        """The outputs (K, B, H) of some versions after the last word of ids (B, T), the longest text first."""
        prepare, advance = self._steps([self.cells[k] for k in chosen])
        h = self.h0[list(chosen)].unsqueeze(1).expand(-1, len(ids), -1).contiguous()
        h = h[0] if len(chosen) == 1 else h
        ends, output = lengths.tolist(), self.network.cell.output
        last = torch.empty_like(h[..., output])
        unread = len(ends)  # number of texts with words left
        for start in range(0, ends[0] + 1, STEPS):
            inputs = prepare(self.network.embed(ids[:unread, start : min(start + STEPS, ends[0])].t())).unbind(0)
            embedded = unread
            for t in range(start, min(start + STEPS, ends[0] + 1)):
                if ends[unread - 1] == t:
                    before, unread = unread, sum(end > t for end in ends[:unread])
                    last[..., unread:before, :] = h[..., unread:, output]
                    h = h.narrow(-2, 0, unread)
                if unread:
                    e = inputs[t - start]
                    h = advance(h, e if unread == embedded else e.narrow(-2, 0, unread))
        return last if len(chosen) > 1 else last.unsqueeze(0)

    def _steps(self, cells: Sequence[Any]) -> tuple[Callable[[Tensor], Tensor], Step]:
        """What to make of embedded words (T, B, D), and the next state from that of one step: for a cell alone, or one
        with a quick kernel, from the words themselves; else for K cells together from their drives, which are the same
        for all."""
        cell, own, wraps = self.network.cell, isinstance(self.network.cell, Cell), isinstance(cells[0], Wrapped)
        if len(cells) == 1:
            return lambda e: e, cells[0].quick_step() if own else cells[0].step
        joined = type(cells[0]).stack(cells) if wraps else cell
        if not own:
            return lambda e: e.unsqueeze(1), joined.step
        if cell.kernel:
            quick = cell.quick_step()

            def step(h: Tensor, e: Tensor) -> Tensor:
                return quick(h.flatten(0, 1), e.repeat(len(h), 1)).view(h.shape)

            return lambda e: e, partial(joined.changed, step) if wraps else step
        return lambda e: cell.drive(e).to(cell.U.dtype), joined.advance


def equal_parts(lengths: np.ndarray, parts: int) -> list[int]:
    """The sizes of at most `parts` parts of texts, the longest first, that take about equally long: a part of long ones
    has more steps, a part of short ones more texts."""
    words = np.concatenate([[0], np.cumsum(lengths)])

    def cut(most: int) -> list[int]:
        sizes, first = [], 0
        while first < len(lengths):
            room = words[first] + most - ALONE * lengths[first]
            end = max(first + 1, int(np.searchsorted(words, room, "right")) - 1)
            sizes.append(end - first)
            first = end
        return sizes

    whole = int(words[-1] + ALONE * lengths[0])
    return cut(bisect_left(range(whole), True, key=lambda most: len(cut(most)) <= parts))
