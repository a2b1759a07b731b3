"""The augmented bag of words as one torch module (§9, Supp. G): words, modifiers that decay, edges of documents.

    Σ_t [ β[t] + Σ_p (f^p ∗ μ)[t] β^p_mod[t] + f_BOD[t] β_BOD[t] + f_EOD[T−1−t] β_EOD[t] ] + b

with f^m[s] = α^m exp(−s/τ^m). A modifier's trace is a recurrence, z_m[t] = λ_m z_m[t−1] + μ_m[t] with λ = exp(−1/τ), so
the cost is linear in the length of a document. Documents are cut into blocks: inside a block all pairs of words are
computed, and from one block to the next only the traces of the M modifiers are passed on. All blocks are computed at
once, except for a loop with one product and one sum per block.

Shapes: B documents, T words, W vocabulary, M modifiers, P components.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

BLOCK = 16  # words per block; pairs that are further apart interact through the traces
FAINT = 1e-30  # added to traces at every block: denormal numbers would make a processor ten times slower


@dataclass(frozen=True)
class Shape:
    """Which of the paper's models this is.

    words        W, the size of the vocabulary
    modifiers    ids of the modifier words, (M,); may be empty
    own_weights  modifiers scale own weights, β_mod, instead of β
    components   P, the number of vectors β_mod
    factored     a scale per modifier and component, α^{m,p}; otherwise, as in the paper, one per modifier, so that
                 only Σ_p β^p matters
    edges        tokens at the beginning and end of documents are modifiers too
    own_edges    the edges scale own weights, β_BOD and β_EOD
    first_lag    0: a modifier also scales itself, as in the paper; 1: only the words after it
    """

    words: int
    modifiers: tuple[int, ...] = ()
    own_weights: bool = False
    components: int = 3
    factored: bool = False
    edges: bool = False
    own_edges: bool = False
    first_lag: int = 0

    @property
    def parameters(self) -> int:
        """Number of learned parameters: the paper's formulas if `factored` is off."""
        M, W = len(self.modifiers), self.words
        total = W + 1
        if M:
            P = self.components if self.own_weights else 1
            total += M * (1 + (P if self.factored else 1)) + (P * W if self.own_weights else 0)
        if self.edges:
            total += 4 + (2 * W if self.own_edges else 0)
        return total

    @property
    def scales(self) -> list[bool]:
        """For each scale, components first, then edges: whether it has own weights (True) or scales β (False)."""
        modifiers = self.components if self.own_weights and self.factored else 1
        return [self.own_weights] * modifiers * bool(self.modifiers) + [self.own_edges] * 2 * self.edges


class ModifierTables(NamedTuple):
    """Constants computed from the modifiers' parameters, with C words per block and an extra modifier for "none".

    rate, alpha     (M + 1,), (M + 1, P)  log λ, α
    apart, not_yet  (C, C)  [t, s]    distance t − s; 0, or a large negative number if s does not precede t
    decay           (M + 1,)          decay over a block
    ahead           (M + 1, C · P)    gain at each place of a block for a trace of 1 at the end of the block before
    to_the_end      (C,)              number of words from each place to the block's last
    """

    rate: Tensor
    alpha: Tensor
    apart: Tensor
    not_yet: Tensor
    decay: Tensor
    ahead: Tensor
    to_the_end: Tensor


class Tables(NamedTuple):
    """Constants computed from a model's parameters: all weights of each word, β first, (W, …), and the modifiers'."""

    weights: Tensor
    modifiers: ModifierTables | None = None


class Convolution(nn.Module):
    """The model. `forward(ids, lengths)` gives logits (B,); PAD (−1) has no effect."""

    def __init__(self, shape: Shape, tau: float = 3.0, edge_tau: float = 20.0, seed: int = 0):
        super().__init__()
        self.shape = shape
        generator = torch.Generator().manual_seed(seed)
        W, M = shape.words, len(shape.modifiers)
        P = shape.components if shape.own_weights else 1

        def small(*size: int) -> nn.Parameter:
            return nn.Parameter(0.01 * torch.randn(*size, generator=generator))

        self.beta, self.bias = nn.Parameter(torch.zeros(W)), nn.Parameter(torch.zeros(()))
        which = torch.full((W + 1,), M)  # PAD (−1) indexes the last entry
        which[torch.as_tensor(shape.modifiers, dtype=torch.long)] = torch.arange(M)
        self.register_buffer("which", which)
        self.register_buffer("mean_scales", torch.zeros(len(shape.scales)))
        if M:
            self.alpha = small(M, P if shape.factored else 1)
            self.log_tau = nn.Parameter(torch.full((M,), tau).log())
            if shape.own_weights:
                self.beta_mod = small(W, P)
        if shape.edges:
            self.edge_alpha, self.edge_log_tau = small(2), nn.Parameter(torch.full((2,), edge_tau).log())
            if shape.own_edges:
                self.beta_edges = small(W, 2)

    which: Tensor
    mean_scales: Tensor  # the mean of each scale over words, after training
    offsets: Callable[[], list[Tensor]] | None = None  # subtracted from each scale during training

    def forward(self, ids: Tensor, lengths: Tensor, tables: Tables | None = None) -> Tensor:
        return self.contributions(ids, lengths, tables).sum(1) + self.bias

    def contributions(self, ids: Tensor, lengths: Tensor, tables: Tables | None = None) -> Tensor:
        """The contribution of each word to the logit, (B, T); zero after a document's end."""
        shape, tables = self.shape, tables or self.tables()
        t = torch.arange(ids.shape[1], device=ids.device)
        ids = ids.long().masked_fill(t >= lengths.unsqueeze(1), -1)
        total, *others = _rows(tables.weights, ids.clamp(min=0)).unbind(-1)
        own, scales = total, list[Tensor]()
        if shape.modifiers and tables.modifiers is not None:
            scales += self.gains(ids, tables.modifiers).unbind(-1)
            others = others if shape.own_weights else [own, *others]
        if shape.edges:
            scales += self.edge_gains(lengths, ids.shape[1])
            others = others if shape.own_edges else [*others, own, own]
        if self.offsets is not None:
            scales = [scale - offset for scale, offset in zip(scales, self.offsets(), strict=True)]
        for scale, weight in zip(scales, others, strict=True):
            total = torch.addcmul(total, scale, weight)
        return total.masked_fill(ids < 0, 0)

    def tables(self) -> Tables:
        """Constants computed from the parameters; pass them to `forward` to reuse them for several batches."""
        shape, weights = self.shape, [self.beta.unsqueeze(1)]
        if shape.modifiers and shape.own_weights:
            # In the paper's form all components share one gain, so only the sum of their weights matters.
            weights.append(self.beta_mod if shape.factored else _sum(self.beta_mod).unsqueeze(1))
        if shape.edges and shape.own_edges:
            weights.append(self.beta_edges)
        words = weights[0] if len(weights) == 1 else torch.cat(weights, 1)
        if not shape.modifiers:
            return Tables(words)
        # Pad with modifiers that have α = 0 and no decay, to a multiple of 8; the first of them stands for "none".
        more = 8 - len(self.alpha) % 8
        log_decay, alpha = F.pad(-torch.exp(-self.log_tau), (0, more)), F.pad(self.alpha, (0, 0, 0, more))
        lag = torch.arange(BLOCK, device=alpha.device)
        apart = lag.unsqueeze(1) - lag
        return Tables(
            words,
            ModifierTables(
                log_decay,
                alpha,
                apart.clamp(min=0).to(alpha.dtype),
                # Where s does not precede t, e^−80 stands for 0 (a true 0 would make the processor ten times slower).
                torch.where(apart < shape.first_lag, -80.0, 0.0).to(alpha.dtype),
                torch.exp(log_decay * BLOCK),
                (torch.exp(log_decay.unsqueeze(1) * (lag + 1)).unsqueeze(2) * alpha.unsqueeze(1)).flatten(1),
                BLOCK - 1 - lag,
            ),
        )

    def gains(self, ids: Tensor, tables: ModifierTables) -> Tensor:
        """Σ_m (f^{m,p} ∗ μ^m)[t], (B, T, P): the scale of the word at t by earlier modifiers; P is 1 unless
        `factored`."""
        (B, T), P, blocks = ids.shape, self.alpha.shape[1], -(-ids.shape[1] // BLOCK)
        m = self.which[F.pad(ids, (0, blocks * BLOCK - T), value=-1)]
        m = m.view(B, blocks, BLOCK).transpose(0, 1).contiguous()  # (blocks, B, C)
        rate, alpha = tables.rate.index_select(0, m.flatten()).view(m.shape), _rows(tables.alpha, m).flatten(0, 1)
        fades = torch.addcmul(tables.not_yet, rate.unsqueeze(2), tables.apart).exp_()  # (blocks, B, t, s)
        # The trace that each modifier of a block leaves at its last word, and its gain at each word of the next blocks.
        added = torch.exp(rate * tables.to_the_end)
        gains = torch.bmm(fades.flatten(0, 1), alpha)
        if torch.is_grad_enabled():
            carried = _Traces.apply(m, added, tables.decay).flatten(0, 1) @ tables.ahead
            gains = gains + carried.view(-1, BLOCK, P)
        else:  # the same with one trace, which stays in the cache
            trace, faint = added.new_zeros(B, len(tables.decay)), torch.full_like(tables.decay, FAINT)
            for k, next_gains in enumerate(gains.view(blocks, B, -1)[1:]):
                torch.addcmul(faint, trace, tables.decay, out=trace).scatter_add_(1, m[k], added[k])
                next_gains.addmm_(trace, tables.ahead)
        return gains.view(blocks, B, BLOCK, P).transpose(0, 1).reshape(B, blocks * BLOCK, P)[:, :T]

    def edge_gains(self, lengths: Tensor, T: int) -> tuple[Tensor, Tensor]:
        """Scales by the token at the beginning of documents, (T,), and by the one at their ends, (B, T)."""
        t = torch.arange(T, device=lengths.device)
        until = (lengths.unsqueeze(1) - (1 + t)).clamp_(0, T - 1)
        first, last = (self.edge_alpha * torch.exp(-torch.exp(-self.edge_log_tau) * t.unsqueeze(1))).unbind(1)
        return first, last.index_select(0, until.flatten()).view(-1, T)


def _rows(table: Tensor, at: Tensor) -> Tensor:
    """Rows (..., K) of a table at ids (...). Its gradient is five times as fast as that of `F.embedding`."""
    return table.index_select(0, at.flatten()).view(*at.shape, -1)


def _sum(a: Tensor) -> Tensor:
    """The sum over a short last dimension, for which torch's `sum` is slow."""
    first, *rest = a.unbind(-1)
    return sum(rest, first)


class _Traces(torch.autograd.Function):
    """The traces before each block, (blocks, B, M + 1): z[0] = 0, z[c + 1] = λ z[c] + the `values` (blocks, B, C) of
    block c at the modifiers m. The gradient is the same recurrence in reverse."""

    @staticmethod
    def forward(ctx: Any, m: Tensor, values: Tensor, decay: Tensor) -> Tensor:
        z = values.new_full((*m.shape[:2], len(decay)), FAINT)
        z[0] = 0
        z[1:].scatter_add_(2, m[:-1], values[:-1])
        for before, after in pairwise(z.unbind()):
            after.addcmul_(before, decay)
        ctx.save_for_backward(m, z, decay)
        return z

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, Tensor]:
        m, z, decay = ctx.saved_tensors
        back = grad.clone(memory_format=torch.contiguous_format)
        for after, before in pairwise(reversed(back.unbind())):
            before.addcmul_(after, decay)
        values = F.pad(back[1:].gather(2, m[:-1]), (0, 0, 0, 0, 0, 1))
        return None, values, (back[1:] * z[:-1]).sum((0, 1))
