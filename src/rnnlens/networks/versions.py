"""Several versions of one network that read the same texts together: from other initial states, or with other steps.

A version alone repeats short products, and computes the same drives as all the others. Together, the states of all
versions are one long product with the recurrent weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rnnlens.networks.cells import Cell
from rnnlens.networks.devices import in_parallel
from rnnlens.networks.network import Network
from rnnlens.networks.wrapped import Wrapped

AT_ONCE = 32  # versions that read together
NUMBERS = 2**18  # in the gates of the states that a core holds: what stays in its cache
FEWEST = 64  # states that a core takes, of large networks


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
    def starting(cls, network: Any, h0: Tensor) -> Versions:
        """Versions that start from states h0 (K, N); their steps are the same."""
        return cls(network, [network.cell] * len(h0), h0)

    def __len__(self) -> int:
        return len(self.cells)

    def one(self, k: int) -> Any:
        """A version as a network."""
        return self.network.with_parts(self.cells[k], self.h0[k], self.network.arch)

    @torch.no_grad()
    def __call__(self, ids: Tensor, lengths: Tensor) -> Tensor:
        cell, own = self.network.cell, not isinstance(self.cells[0], Wrapped)
        fused = own and not isinstance(cell, Cell)  # a parallel scan, say, which is quicker than steps
        if self.h0.is_cuda or fused or not isinstance(self.network, Network):
            return torch.stack([self.one(k)(ids, lengths) for k in range(len(self))])
        width = self.h0.shape[1] * (cell.gates // cell.blocks if isinstance(cell, Cell) else 1)
        rows = max(FEWEST, NUMBERS // width) // min(AT_ONCE, len(self))
        texts = torch.argsort(lengths, stable=True).split(max(1, rows))
        versions = torch.arange(len(self)).split(AT_ONCE)
        parts = [(chosen, some) for some in texts for chosen in versions]

        def read(part: tuple[Tensor, Tensor]) -> Tensor:
            chosen, some = part
            longest = int(lengths[some].max())
            return self._outputs(chosen.tolist(), ids[some, :longest], lengths[some])

        outputs = in_parallel(read, parts, self.network)
        joined = outputs[0].new_empty(len(self), len(ids), outputs[0].shape[-1])
        for (chosen, some), found in zip(parts, outputs, strict=True):
            joined[chosen.unsqueeze(1), some] = found
        return self.network._read_out(joined)

    def _outputs(self, chosen: Sequence[int], ids: Tensor, lengths: Tensor) -> Tensor:
        """The outputs (K, B, H) of some versions after the last word of ids (B, T)."""
        cell, cells = self.network.cell, [self.cells[k] for k in chosen]
        e = self.network.embed(ids).transpose(0, 1)
        wrapped = type(cells[0]).stack(cells) if isinstance(cells[0], Wrapped) else None
        h = self.h0[list(chosen)].unsqueeze(1).expand(-1, len(ids), -1).contiguous()
        if isinstance(cell, Cell):
            inputs = cell.drive(e).to(cell.U.dtype)
            advance = _own(cell) if wrapped is None else wrapped.advance
        else:
            assert wrapped is not None
            inputs, advance = e.unsqueeze(1).expand(-1, len(chosen), -1, -1), wrapped.step
        ends: dict[int, list[int]] = {}
        for row, length in enumerate(lengths.tolist()):
            ends.setdefault(length, []).append(row)
        last = torch.empty_like(h[..., cell.output])
        for t in range(len(inputs) + 1):
            if t in ends:
                last[:, ends[t]] = h[:, ends[t], cell.output]
            if t < len(inputs):
                h = advance(h, inputs[t])
        return last


def _own(cell: Cell) -> Any:
    """The steps of a cell itself, from drives."""
    return lambda h, d: cell.combine(h, d, cell.recur(h))
