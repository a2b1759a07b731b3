"""Layers with linear recurrences as one cell: a residual stream, with norms between the layers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from rnnlens.networks.layers import Layer, linear, uniform

EPSILON = 1e-5


class ResidualStack(nn.Module):
    """x₁ = e; layer ℓ reads RMSNorm(x_ℓ), the first one x₁ itself; x_{ℓ+1} = x_ℓ + O_ℓ y_ℓ. The readout reads the last
    layer's y.

    The embedded word e is not normalized: a norm has no useful derivative at the blank input, e = 0.
    The flat state joins those of the layers, first layer first; then comes the last layer's y, if that differs from its
    state. So the readout reads the last H numbers. J_rec is triangular up to the order of the state: its eigenvalues
    are its diagonal, `slope`, and the power `depth` of the rest is 0.
    """

    def __init__(self, layers: list[Layer], generator: torch.Generator | None = None):
        super().__init__()
        self.layers: list[Layer] = nn.ModuleList(layers)  # type: ignore[assignment]
        first = layers[0]
        self.hidden, self.inputs, self.kernel = first.hidden, first.inputs, first.kernel
        between = range(len(layers) - 1)
        self.norms = nn.ParameterList([nn.Parameter(torch.ones(self.inputs)) for _ in between])
        self.O = nn.ParameterList(
            [uniform(self.inputs, self.hidden, fan_in=self.hidden, generator=generator) for _ in between]
        )
        self.sizes = [layer.size for layer in layers]
        self.slot = self.hidden if layers[-1].gated else 0
        self.size = sum(self.sizes) + self.slot
        self.output = slice(self.size - self.hidden, self.size)
        self.depth = sum(layer.kernel for layer in layers) + bool(self.slot)

    @property
    def parts(self) -> dict[str, slice]:
        """The parts of the flat state by name: of every layer its convolution buffer and its recurrent state, and the
        output."""
        found, start = {}, 0
        for number, layer in enumerate(self.layers, 1):
            for name, size in zip(("convolution", "state"), layer.sizes, strict=True):
                if size:
                    found[f"layer {number} {name}"] = slice(start, start + size)
                start += size
        return found | ({"output": slice(start, start + self.slot)} if self.slot else {})

    def step(self, h: Tensor, e: Tensor) -> Tensor:
        """F(h, e); h (..., N) and e (..., D) over any leading dimensions."""
        new, x, y = [], e, e
        lead = torch.broadcast_shapes(h.shape[:-1], e.shape[:-1])
        h = h.expand(*lead, self.size)
        for number, (layer, part) in enumerate(zip(self.layers, self._split(h), strict=True)):
            x = x if number == 0 else self._stream(number, x, y)
            state, y = layer.step(part, self._read(number, x))
            new.append(state)
        return torch.cat([*new, y] if self.slot else new, -1)

    def slope(self, h: Tensor, e: Tensor) -> Tensor:
        """The diagonal of J_rec, (..., N): its eigenvalues."""
        found, x, y = [], e, e
        for number, (layer, part) in enumerate(zip(self.layers, self._split(h), strict=True)):
            x = x if number == 0 else self._stream(number, x, y)
            inputs = self._read(number, x)
            found.append(layer.slope(part, inputs))
            y = layer.step(part, inputs)[1]
        return torch.cat([*found, torch.zeros_like(h[..., self.output])] if self.slot else found, -1)

    @torch.no_grad()
    def gate_slopes(self, h: Tensor) -> Tensor:
        """∂h'/∂d (..., G, H) by each of the gates d = W e + b at blank input, for states h (..., N) of one layer of
        minGRU or minLSTM without convolution: then a and b depend on each unit's own gates alone."""
        layer: Any = self.layers[0]
        gates = tuple(layer.b.detach().split(self.hidden))
        slopes = []
        for g in range(len(gates)):
            along = tuple(torch.full_like(d, float(i == g)) for i, d in enumerate(gates))
            a, b = torch.func.jvp(layer.equation, gates, along)[1]
            slopes.append(a * h + b)
        return torch.stack(slopes, -2)

    def sequence(self, e: Tensor, h0: Tensor) -> Tensor:
        """All states (B, T+1, N), h0 first, for inputs e (B, T, D) from h0 (B, N)."""
        found, x, y = [], e, e
        for number, (layer, part) in enumerate(zip(self.layers, self._split(h0), strict=True)):
            x = x if number == 0 else self._stream(number, x, y)
            states, y = layer.scan(self._read(number, x), part)
            found.append(states)
        if self.slot:
            found.append(torch.cat([h0[:, self.output].unsqueeze(1), y], 1))
        return torch.cat(found, -1) if len(found) > 1 else found[0]

    def outputs(self, e: Tensor, h0: Tensor) -> Tensor:
        """The outputs after each step, (B, T, H), which the readout reads."""
        x, y = e, e
        for number, (layer, part) in enumerate(zip(self.layers, self._split(h0), strict=True)):
            x = x if number == 0 else self._stream(number, x, y)
            y = layer.outputs(self._read(number, x), part)
        return y

    def outputs_and_state(self, e: Tensor, h0: Tensor) -> tuple[Tensor, Tensor]:
        """The outputs (B, T, H), and the state (B, N) after the last step."""
        ends, x, y = [], e, e
        for number, (layer, part) in enumerate(zip(self.layers, self._split(h0), strict=True)):
            x = x if number == 0 else self._stream(number, x, y)
            y, end = layer.outputs_and_state(self._read(number, x), part)
            ends.append(end)
        return y, torch.cat([*ends, y[:, -1]] if self.slot else ends, -1)

    def inputs_of(self, number: int, e: Tensor, h0: Tensor) -> tuple[Tensor, Tensor]:
        """The inputs (B, T, D) and the initial state (B, size) of layer `number` (from 0), for e (B, T, D) and h0."""
        x, y, parts = e, e, self._split(h0)
        for i in range(number):
            x = x if i == 0 else self._stream(i, x, y)
            y = self.layers[i].outputs(self._read(i, x), parts[i])
        x = x if number == 0 else self._stream(number, x, y)
        return self._read(number, x), parts[number]

    def remember(self, log_T: Tensor) -> None:
        """Set the initial time constants of every layer's units."""
        for layer in self.layers:
            layer.remember(log_T)

    def _split(self, h: Tensor) -> tuple[Tensor, ...]:
        return h[..., : self.size - self.slot].split(self.sizes, -1)

    def _stream(self, number: int, x: Tensor, y: Tensor) -> Tensor:
        """The residual stream before layer `number` (from 0), from that before the last layer and its output."""
        return x + linear(y, self.O[number - 1])

    def _read(self, number: int, x: Tensor) -> Tensor:
        """The input of layer `number`: the stream, normalized except before the first layer."""
        if number == 0:
            return x
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPSILON) * self.norms[number - 1]
