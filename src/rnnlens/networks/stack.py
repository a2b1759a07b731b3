"""Several layers as one cell."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rnnlens.networks.cells import Cell
from rnnlens.networks.long_texts import outputs_and_state
from rnnlens.networks.parts import Layer


class Stack(nn.Module):
    """Several layers as one cell; its flat state joins theirs in order, and the readout reads the last layer."""

    def __init__(self, layers: list[Layer]):
        super().__init__()
        self.layers: list[Layer] = nn.ModuleList(layers)  # type: ignore[assignment]
        self.sizes = [layer.size for layer in layers]
        self.size, self.inputs, self.hidden = sum(self.sizes), layers[0].inputs, layers[-1].hidden
        start = self.size - self.sizes[-1]
        self.output = slice(start, start + layers[-1].output.stop)

    @property
    def of_cells(self) -> bool:
        """Whether all layers are our own cells, with derivatives in closed form."""
        return all(isinstance(layer, Cell) for layer in self.layers)

    def step(self, h: Tensor, e: Tensor) -> Tensor:
        new = []
        for layer, part in zip(self.layers, h.split(self.sizes, -1), strict=True):
            new.append(layer.step(part, e))
            e = new[-1][..., layer.output]
        return torch.cat(new, -1)

    def sequence(self, e: Tensor, h0: Tensor) -> Tensor:
        states = []
        for layer, part in zip(self.layers, h0.split(self.sizes, -1), strict=True):
            states.append(layer.sequence(e, part))
            e = states[-1][:, 1:, layer.output]
        return torch.cat(states, -1)

    def outputs(self, e: Tensor, h0: Tensor) -> Tensor:
        for layer, part in zip(self.layers, h0.split(self.sizes, -1), strict=True):
            e = layer.outputs(e, part)
        return e

    def outputs_and_state(self, e: Tensor, h0: Tensor) -> tuple[Tensor, Tensor]:
        """The outputs (B, T, H) of the last layer, and the state (B, N) after the last step."""
        ends = []
        for layer, part in zip(self.layers, h0.split(self.sizes, -1), strict=True):
            e, end = outputs_and_state(layer, e, part)
            ends.append(end)
        return e, torch.cat(ends, -1)
