"""Blocks of a pretrained recurrent model as one cell: x ← block(x) along a residual stream, and a norm at the end.

    x = first(e + blank)                 the embedded word; `blank` is what the model is given at e = 0
    state_ℓ, x = block_ℓ(state_ℓ, x)     each block has its own caches: convolution buffers, recurrent states
    output = norm(x)                     the model's last hidden state, which the head reads

The flat state joins the caches of the blocks, first block first; the output comes last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlens.networks import onednn
from rnnlens.networks.layers import Layer
from rnnlens.networks.parts import own_parameter
from rnnlens.networks.scan import repeat, step_by_step, wants_gradient

AT_ONCE = 2**27  # numbers of the states that are in memory at a time, where only outputs are wanted


class RMSNorm(nn.Module):
    """x/√(mean x² + ε)∘w, computed in the precision of x."""

    def __init__(self, weight: Tensor, epsilon: float):
        super().__init__()
        self.weight, self.epsilon = own_parameter(weight), epsilon

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.epsilon) * self.weight


class LayerNorm(nn.Module):
    """(x − mean)/√(variance + ε)∘w + b."""

    def __init__(self, weight: Tensor, bias: Tensor | None, epsilon: float):
        super().__init__()
        self.weight, self.epsilon = own_parameter(weight), epsilon
        self.bias = None if bias is None else own_parameter(bias)

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, x.shape[-1:], self.weight, self.bias, self.epsilon)


class Affine(nn.Module):
    """W x + b, from a copy of the weights of an `nn.Linear`."""

    def __init__(self, linear: Any):
        super().__init__()
        self.W = own_parameter(linear.weight)
        self.b = None if linear.bias is None else own_parameter(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        return onednn.linear(x, self.W, self.b)


class Scale(nn.Module):
    """x times a number."""

    def __init__(self, factor: float):
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factor


class Block(nn.Module):
    """One block: (state, x) → (state, x). A subclass defines `step`.

    names, sizes   the parts of its state and their lengths
    """

    names: Sequence[str] = ()
    sizes: Sequence[int] = ()

    @property
    def size(self) -> int:
        return sum(self.sizes)

    def start(self) -> Tensor | float:
        """The state (size,) before the first word, or one number for all of it."""
        return 0.0

    def step(self, h: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        raise NotImplementedError


class LinearBlock(Block):
    """x + O y, with y of a `Layer` whose recurrence is linear in its state, h' = a∘h + b, read from norm(x); then, if
    the block has one, x + mlp(x)."""

    names = ("convolution", "state")

    def __init__(self, layer: Layer, norm: nn.Module, out: Affine, mlp: nn.Module | None = None):
        super().__init__()
        self.layer, self.norm, self.out, self.mlp = layer, norm, out, mlp
        self.sizes = layer.sizes

    def step(self, h: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        h, y = self.layer.step(h, self.norm(x))
        return h, self.finish(x, y)

    def slope(self, h: Tensor, x: Tensor) -> Tensor:
        """The diagonal of ∂(next state)/∂(state), (..., size)."""
        return self.layer.slope(h, self.norm(x))

    def scan(self, h0: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """All states (B, T+1, size), h0 first, and the stream (B, T, D) after the block."""
        states, y = self.layer.scan(self.norm(x), h0)
        return states, self.finish(x, y)

    def outputs(self, h0: Tensor, x: Tensor) -> Tensor:
        """The stream (B, T, D) after the block, in less memory."""
        return self.finish(x, self.layer.outputs(self.norm(x), h0))

    def finish(self, x: Tensor, y: Tensor) -> Tensor:
        x = x + self.out(y)
        return x if self.mlp is None else x + self.mlp(x)


class BlockStack(nn.Module):
    """Blocks as one cell. Its output is the model's last hidden state.

    first: what the model does with an embedded word before the first block, such as a norm. blank (D,): the embedded
    word that the model is given at the blank input, e = 0; all inputs e are relative to it.
    """

    blank: Tensor

    def __init__(self, blocks: list[Block], norm: nn.Module, blank: Tensor, first: nn.Module | None = None):
        super().__init__()
        self.layers: list[Block] = nn.ModuleList(blocks)  # type: ignore[assignment]
        self.norm, self.first = norm, first
        self.register_buffer("blank", blank.detach().clone())
        self.inputs = self.hidden = self.slot = len(blank)  # `slot`: numbers that the head alone reads
        self.sizes = [block.size for block in blocks]
        self.size = sum(self.sizes) + self.hidden
        self.output = slice(self.size - self.hidden, self.size)

    @property
    def parts(self) -> dict[str, slice]:
        """The parts of the flat state by name."""
        found, start = {}, 0
        for number, block in enumerate(self.layers, 1):
            for name, size in zip(block.names, block.sizes, strict=True):
                if size:
                    found[f"layer {number} {name}"] = slice(start, start + size)
                start += size
        return {**found, "output": self.output}

    def start(self) -> Tensor:
        """The state (N,) before the first word: the caches as the model starts, and an output of 0."""
        h0 = self.blank.new_zeros(self.size)
        for block, part in zip(self.layers, self.split(h0), strict=True):
            part.copy_(torch.as_tensor(block.start()).to(part))
        return h0

    def split(self, h: Tensor) -> tuple[Tensor, ...]:
        """The states of the blocks, from the flat state (..., N)."""
        return h[..., : self.size - self.hidden].split(self.sizes, -1)

    def stream(self, e: Tensor) -> Tensor:
        """What the first block is given."""
        x = e + self.blank
        return x if self.first is None else self.first(x)

    def step(self, h: Tensor, e: Tensor) -> Tensor:
        """F(h, e); h (..., N) and e (..., D) over any leading dimensions."""
        lead = torch.broadcast_shapes(h.shape[:-1], e.shape[:-1])
        new, x = [], self.stream(e).expand(*lead, self.inputs)
        for block, part in zip(self.layers, self.split(h.expand(*lead, self.size)), strict=True):
            state, x = block.step(part, x)
            new.append(state)
        return torch.cat([*new, self.norm(x)], -1)

    def sequence(self, e: Tensor, h0: Tensor) -> Tensor:
        """All states (B, T+1, N), h0 first, for inputs e (B, T, D) from h0 (B, N)."""
        return states_of(self.step, e, h0, self.parameters())

    def outputs(self, e: Tensor, h0: Tensor) -> Tensor:
        """The outputs after each step, (B, T, H). A few steps at a time, so that few states are in memory."""
        few = max(1, AT_ONCE // max(1, len(e) * self.size))
        found = [e.new_zeros(len(e), 0, self.hidden)]
        for some in e.split(few, 1):
            states = self.sequence(some, h0)
            found.append(states[:, 1:, self.output])
            h0 = states[:, -1].clone()
        return torch.cat(found, 1)


class LinearStack(BlockStack):
    """Blocks whose recurrences are linear in their states: whole texts are read by a scan, and J_rec is a diagonal,
    `slope`, plus a rest whose power `depth` is 0."""

    layers: list[LinearBlock]  # type: ignore[assignment]
    opening: Tensor | None = None  # the input (D,) with which every text begins, already read in the initial state

    @torch.no_grad()
    def start(self) -> Tensor:
        h0 = super().start()
        if self.opening is None:
            return h0
        layers: list[Any] = [block.layer for block in self.layers]
        for layer in layers:
            layer.opening = True
        try:
            return self.step(h0, self.opening)
        finally:
            for layer in layers:
                layer.opening = False

    @property
    def depth(self) -> int:
        return sum(block.layer.kernel for block in self.layers) + 1

    @property
    def reads_linearly(self) -> bool:
        """Whether the output of each layer is linear in its state, once its input is known."""
        return all(block.layer.reads_linearly for block in self.layers)

    def inputs_of(self, number: int, e: Tensor, h0: Tensor) -> tuple[Tensor, Tensor]:
        """The inputs (B, T, D) and the initial state (B, size) of layer `number` (from 0), for e (B, T, D) and h0."""
        x, parts = self.stream(e), self.split(h0)
        for block, part in zip(self.layers[:number], parts, strict=False):
            x = block.outputs(part, x)
        return self.layers[number].norm(x), parts[number]

    def slope(self, h: Tensor, e: Tensor) -> Tensor:
        """The diagonal of J_rec, (..., N): its eigenvalues."""
        found, x = [], self.stream(e)
        for block, part in zip(self.layers, self.split(h), strict=True):
            found.append(block.slope(part, x))
            x = block.step(part, x)[1]
        return torch.cat([*found, torch.zeros_like(h[..., self.output])], -1)

    def sequence(self, e: Tensor, h0: Tensor) -> Tensor:
        found, x = [], self.stream(e)
        for block, part in zip(self.layers, self.split(h0), strict=True):
            states, x = block.scan(part, x)
            found.append(states)
        return torch.cat([*found, torch.cat([h0[:, self.output].unsqueeze(1), self.norm(x)], 1)], -1)

    def outputs(self, e: Tensor, h0: Tensor) -> Tensor:
        x = self.stream(e)
        for block, part in zip(self.layers, self.split(h0), strict=True):
            x = block.outputs(part, x)
        return self.norm(x)


def states_of(step: Callable[[Tensor, Tensor], Tensor], e: Tensor, h0: Tensor, parameters: Any) -> Tensor:
    """All states (B, T+1, N) step by step, in memory that is allocated once if no gradient is wanted."""
    if wants_gradient(e, h0, *parameters):
        return step_by_step(step, e, h0)
    return repeat(step, (e.transpose(0, 1),), h0, record=False).transpose(0, 1)
