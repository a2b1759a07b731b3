"""Blocks of pretrained models whose recurrence is normalized by a sum: RWKV and xLSTM; and the feed-forward parts.

Each has copies of the weights of transformers' module and is its equation, one step at a time.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlens.networks.blocks import Affine, Block, LayerNorm, RMSNorm
from rnnlens.networks.parts import own_parameter

NEVER = -100.0  # log of a weight that is 0 beside exp(k) of any key k in use: 1 + exp(−100 − k) is 1 down to k = −63


class RWKVBlock(Block):
    """RWKV-4 (Peng et al. 2023). With u = LN(x) and its last value in `shift`, k, v, r are linear in mixtures of both;

        wkv = μ + σ(first + k − L) (v − μ),   x ← x + O (σ(r)∘wkv)
        μ'  = μ + σ(k − L − decay) (v − μ),   L' = log(exp(L + decay) + exp(k))

    then a feed-forward part, which also reads the last value of its own input. `average` μ is the weighted mean of the
    values v so far, `weight` L the logarithm of the sum of their weights: num/den and max + log den of transformers'
    state. Unlike those they are bounded by the values and keys, and the step is smooth in them.
    """

    names = ("shift", "average", "weight", "feed-forward shift")

    def __init__(self, block: Any, scale: float, halve: bool):
        """scale: of the weights that write to the stream. halve: whether the stream is halved after the block."""
        super().__init__()
        attention, forward = block.attention, block.feed_forward
        D, A = len(block.ln1.weight), attention.attention_hidden_size
        self.sizes, self.halve = [D, A, A, D], halve
        self.norm1, self.norm2 = (LayerNorm(norm.weight, norm.bias, norm.eps) for norm in (block.ln1, block.ln2))
        self.mix = own_parameter(_mixtures(attention, "key", "value", "receptance"))
        self.mix_forward = own_parameter(_mixtures(forward, "key", "receptance"))
        self.key, self.value, self.receptance, self.out = (
            Affine(part) for part in (attention.key, attention.value, attention.receptance, attention.output)
        )
        self.up, self.gate, self.down = (Affine(part) for part in (forward.key, forward.receptance, forward.value))
        self.decay = nn.Parameter(-attention.time_decay.detach().exp())
        self.first = own_parameter(attention.time_first)
        with torch.no_grad():
            self.out.W.mul_(scale)
            self.down.W.mul_(scale)

    def start(self) -> Tensor:
        D, A = self.sizes[:2]
        return torch.cat([torch.zeros(D + A), torch.full((A,), NEVER), torch.zeros(D)])

    def step(self, h: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        shift, mean, L, shift_forward = h.split(list(self.sizes), -1)
        u = self.norm1(x)
        k, v, r = (u * mix + shift * (1 - mix) for mix in self.mix)
        k, v, r = self.key(k), self.value(v), torch.sigmoid(self.receptance(r))
        wkv = mean + torch.sigmoid(self.first + k - L) * (v - mean)
        x = x + self.out(r * wkv)
        mean = mean + torch.sigmoid(k - L - self.decay) * (v - mean)
        L = torch.logaddexp(L + self.decay, k)
        z = self.norm2(x)
        k, r = (z * mix + shift_forward * (1 - mix) for mix in self.mix_forward)
        x = x + torch.sigmoid(self.gate(r)) * self.down(F.relu(self.up(k)).square())
        return torch.cat([u, mean, L, z], -1), x / 2 if self.halve else x


def _mixtures(module: Any, *names: str) -> Tensor:
    return torch.stack([getattr(module, f"time_mix_{name}").reshape(-1) for name in names])


class MLSTMBlock(Block):
    """xLSTM's matrix memory (Beck et al. 2024), for each head, with q, k, v, i, f linear in norm(x):

        m' = max(m + log σ(f), i),   f̂ = exp(m + log σ(f) − m'),   î = exp(i − m')
        C' = f̂ C + î k vᵀ,   n' = f̂ n + î k
        y  = (qᵀC')/(max(|q·n'|, exp(−m')) + ε),   x ← x + O (σ(o)∘norm(y))

    then a feed-forward part. i and f are soft-capped.
    """

    names = ("state", "normalizer", "scale")

    def __init__(self, block: Any):
        super().__init__()
        layer, config = block.mlstm_layer, block.config
        self.heads, self.cap, self.epsilon = config.num_heads, config.gate_soft_cap, config.eps
        self.qk, self.v = layer.qk_dim, layer.v_dim
        self.sizes = [self.qk * self.v // self.heads, self.qk, self.heads]
        self.norm = RMSNorm(block.norm_mlstm.weight, block.norm_mlstm.eps)
        self.query, self.key, self.value, self.open = (
            Affine(part) for part in (layer.q, layer.k, layer.v, layer.ogate_preact)
        )
        self.i, self.f, self.out = (Affine(part) for part in (layer.igate_preact, layer.fgate_preact, layer.out_proj))
        self.head_norm, self.head_epsilon = own_parameter(layer.multihead_norm.weight), layer.multihead_norm.eps
        self.mlp = GatedMLP(
            RMSNorm(block.norm_ffn.weight, block.norm_ffn.eps),
            Affine(block.ffn.proj_up_gate),
            Affine(block.ffn.proj_up),
            Affine(block.ffn.proj_down),
            "none",
        )

    def step(self, h: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        C, n, m = h.split(list(self.sizes), -1)
        n = n.unflatten(-1, (self.heads, -1))
        C = C.unflatten(-1, (*n.shape[-2:], -1))
        u = self.norm(x)
        q, k, v = (part(u).unflatten(-1, (self.heads, -1)) for part in (self.query, self.key, self.value))
        i, f = (self.cap * torch.tanh(part(u) / self.cap) for part in (self.i, self.f))
        kept = m + F.logsigmoid(f)
        m = torch.maximum(kept, i)
        f, i = torch.exp(kept - m).unsqueeze(-1), torch.exp(i - m).unsqueeze(-1)  # (..., heads, 1)
        C = f.unsqueeze(-1) * C + (i * k).unsqueeze(-1) * v.unsqueeze(-2)
        n = f * n + i * k
        q = q * q.shape[-1] ** -0.5
        size = torch.maximum((q * n).sum(-1).abs(), torch.exp(-m)) + self.epsilon
        y = (q.unsqueeze(-2) @ C).squeeze(-2) / size.unsqueeze(-1)
        y = F.layer_norm(y, y.shape[-1:], eps=self.head_epsilon).flatten(-2) * self.head_norm
        x = x + self.out(torch.sigmoid(self.open(u)) * y)
        return torch.cat([C.flatten(-3), n.flatten(-2), m], -1), x + self.mlp(x)


class GatedMLP(nn.Module):
    """W_d (act(W_g z)∘W_u z), with z = norm(x); act is silu, or gelu as approximated by tanh."""

    def __init__(self, norm: nn.Module, gate: Affine, up: Affine, down: Affine, gelu: str):
        super().__init__()
        self.norm, self.gate, self.up, self.down, self.gelu = norm, gate, up, down, gelu

    def forward(self, x: Tensor) -> Tensor:
        z = self.norm(x)
        gate = self.gate(z)
        return self.down((F.gelu(gate, approximate="tanh") if self.gelu == "tanh" else F.silu(gate)) * self.up(z))
