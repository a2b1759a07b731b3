"""Layers of pretrained models whose recurrence is linear in the state: Mamba, Mamba-2 and RecurrentGemma's RG-LRU.

Each is a `Layer` with copies of the weights of transformers' module. Mamba is the layer of `recurrences`, whose biases
of gate, B and C are 0 here.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlens.networks.blocks import RMSNorm
from rnnlens.networks.layers import Layer, linear
from rnnlens.networks.parts import own_parameter
from rnnlens.networks.recurrences import Mamba


def mamba_layer(mixer: Any) -> Mamba:
    """The layer of a `MambaMixer`."""
    H, S, rank = mixer.intermediate_size, mixer.ssm_state_size, mixer.time_step_rank
    layer = Mamba.__new__(Mamba)
    _shape(layer, H, mixer.hidden_size, mixer.conv_kernel_size, H, S * H)
    layer.expand, layer.parts = S, [rank, S]  # type: ignore[misc]  # of this model, not of the class
    _copy_convolution(layer, mixer.conv1d)
    W = mixer.in_proj.weight
    layer.W, layer.b = own_parameter(W), own_parameter(_bias(mixer.in_proj))
    layer.V, layer.v = own_parameter(mixer.x_proj.weight), nn.Parameter(W.new_zeros(2 * S).detach())
    layer.W_delta, layer.b_delta = own_parameter(mixer.dt_proj.weight), own_parameter(_bias(mixer.dt_proj))
    layer.A, layer.d = own_parameter(mixer.A_log), own_parameter(mixer.D)
    return layer


class Mamba2(Layer):
    """Δ = softplus(W_Δ x + b_Δ) for each head, (x̂, B, C) = c; a = exp(−Δ exp(A)); h' = a h + Δ x̂ Bᵀ;
    y = norm((h' C + d∘x̂)∘silu(W_z x)), with c = silu(conv(W_u x)) (Dao & Gu 2024). h is (heads, P, S); B and C are
    shared by the heads of a group."""

    projects, gated = True, True
    reads_linearly = False  # a norm comes after the gate

    def __init__(self, mixer: Any):
        heads, P, S = mixer.num_heads, mixer.head_dim, mixer.ssm_state_size
        _shape(self, heads * P, mixer.hidden_size, mixer.conv_kernel_size, mixer.conv_dim, heads * P * S)
        self.expand = S  # type: ignore[misc]  # of this model, not of the class
        self.heads, self.groups = heads, mixer.n_groups
        self.parts = [heads * P, mixer.n_groups * S, mixer.n_groups * S, heads]  # x̂, B, C and Δ in what is seen
        self.limits = tuple(float(limit) for limit in mixer.time_step_limit)
        _copy_convolution(self, mixer.conv1d)
        self.W, self.b = own_parameter(mixer.in_proj.weight), own_parameter(_bias(mixer.in_proj))  # of z, u and Δ
        self.b_delta, self.A, self.d = (own_parameter(part) for part in (mixer.dt_bias, mixer.A_log, mixer.D))
        self.norm = RMSNorm(mixer.norm.weight, mixer.norm.variance_epsilon)

    def project(self, x: Tensor) -> Tensor:
        u = slice(self.hidden, self.hidden + self.channels)
        return linear(x, self.W[u], self.b[u])

    def activate(self, c: Tensor) -> Tensor:
        return F.silu(c)

    def seen(self, c: Tensor, x: Tensor) -> Tensor:
        delta = linear(x, self.W[-self.heads :], self.b[-self.heads :])
        lead = torch.broadcast_shapes(c.shape[:-1], delta.shape[:-1])
        return torch.cat([c.expand(*lead, -1), delta.expand(*lead, -1)], -1)

    def coefficients(self, c: Tensor) -> tuple[Tensor, Tensor]:
        u, B, _, delta = c.split(self.parts, -1)
        delta = F.softplus(delta + self.b_delta).clamp(*self.limits).unsqueeze(-1)  # (..., heads, 1)
        a = torch.exp(-delta * self.A.exp().unsqueeze(-1)).unsqueeze(-1)
        written = delta * u.unflatten(-1, (self.heads, -1))  # (..., heads, P)
        b = written.unsqueeze(-1) * self._by_head(B).unsqueeze(-2)
        return a.expand_as(b).flatten(-3), b.flatten(-3)

    def read(self, h: Tensor, c: Tensor, x: Tensor) -> Tensor:
        u, _, C, _ = c.split(self.parts, -1)
        h = h.unflatten(-1, (self.heads, -1, self.expand))
        y = (h @ self._by_head(C).unsqueeze(-1)).squeeze(-1) + self.d.unsqueeze(-1) * u.unflatten(-1, (self.heads, -1))
        return self.norm(y.flatten(-2) * F.silu(linear(x, self.W[: self.hidden], self.b[: self.hidden])))

    def _by_head(self, part: Tensor) -> Tensor:
        """(..., heads, S) from the B or C of all groups."""
        grouped = part.unflatten(-1, (self.groups, self.expand))
        return grouped.repeat_interleave(self.heads // self.groups, -2)


class Griffin(Layer):
    """r, i = σ(W_r c + b_r), σ(W_i c + b_i), in blocks of channels; a = exp(−8 softplus(Λ)∘r); h' = a∘h + √(1−a²)∘i∘c;
    y = h'∘gelu(W_y x + b_y), with c = conv(W_u x + b_u) (De et al. 2024): RecurrentGemma's recurrent block.

    opening: whether the word begins a text. Then c enters without the factor √(1−a²), as in transformers."""

    projects, gated = True, True
    opening = False

    def __init__(self, block: Any):
        H = block.lru_width
        _shape(self, H, block.linear_x.in_features, block.conv1d_width, H, H)
        _copy_convolution(self, block.conv_1d)
        W = torch.cat([block.linear_x.weight, block.linear_y.weight])
        self.W, self.b = own_parameter(W), own_parameter(torch.cat([_bias(block.linear_x), _bias(block.linear_y)]))
        gates = block.rg_lru
        self.U = own_parameter(torch.stack([gates.recurrent_gate_weight, gates.input_gate_weight]))  # (2, blocks, ·, ·)
        self.c = own_parameter(torch.stack([gates.recurrent_gate_bias, gates.input_gate_bias]))
        self.decay = own_parameter(gates.recurrent_param)  # Λ

    def project(self, x: Tensor) -> Tensor:
        return linear(x, self.W[: self.hidden], self.b[: self.hidden])

    def coefficients(self, c: Tensor) -> tuple[Tensor, Tensor]:
        blocks = c.unflatten(-1, self.c.shape[1:])
        gates = torch.einsum("...gi,kgij->...kgj", blocks, self.U) + self.c
        r, i = torch.sigmoid(gates).flatten(-2).unbind(-2)
        log_a = -8 * F.softplus(self.decay) * r
        room = (-torch.expm1(2 * log_a)).clamp(min=1e-12)  # 1 − a²; a root has no derivative at 0
        return log_a.exp(), i * c * (1 if self.opening else torch.sqrt(room))

    def read(self, h: Tensor, c: Tensor, x: Tensor) -> Tensor:
        return h * F.gelu(linear(x, self.W[self.hidden :], self.b[self.hidden :]), approximate="tanh")


def _shape(layer: Layer, hidden: int, inputs: int, kernel: int, channels: int, recurrent: int) -> None:
    """Set the sizes of a layer, which `Layer.__init__` would set for weights of its own."""
    nn.Module.__init__(layer)
    layer.hidden, layer.inputs, layer.kernel, layer.channels, layer.recurrent = (
        hidden,
        inputs,
        kernel,
        channels,
        recurrent,
    )
    layer.sizes = [(kernel - 1) * channels, recurrent]
    layer.size = sum(layer.sizes)


def _copy_convolution(layer: Layer, conv: Any) -> None:
    if layer.kernel == 1:
        raise ValueError("a convolution over one word")
    layer.conv_w = own_parameter(conv.weight[:, 0].t())  # (K, C), the oldest word first
    layer.conv_b = own_parameter(_bias(conv))


def _bias(module: Any) -> Tensor:
    """The bias of a module, or zeros."""
    return module.weight.new_zeros(len(module.weight)) if module.bias is None else module.bias
