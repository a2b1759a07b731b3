"""The augmented bag of words as one torch module (§9, Supp. G): words, modifiers that fade, edges of documents.

    Σ_t [ β[t] + Σ_p (f^p ∗ μ)[t] β^p_mod[t] + f_BOD[t] β_BOD[t] + f_EOD[T−1−t] β_EOD[t] ] + b

with f^m[s] = α^m exp(−s/τ^m). A modifier's trace is a recurrence, z_m[t] = λ_m z_m[t−1] + μ_m[t] with λ = exp(−1/τ), so
the cost is linear in the length of a document: time is cut into blocks, inside which words meet directly, and from one
block to the next only the traces of the M modifiers are carried. All blocks are computed at once; the only loop has one
product and sum a block.

Shapes: B documents, T words, W vocabulary, M modifiers, P components.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

BLOCK = 16  # words that meet directly; what is further apart meets through the traces


@dataclass(frozen=True)
class Shape:
    """Which of the paper's models it is.

    modifiers    ids of the modifier words, (M,); empty: none
    own_weights  modifiers scale weights of their own, β_mod, instead of β
    components   P, how many β_mod
    factored     a scale per modifier and component, α^{m,p}; otherwise, as printed, one per modifier, and Σ_p β^p is in
                 effect one vector
    edges        tokens at the beginning and end of documents modify too
    own_edges    … with weights β_BOD, β_EOD of their own
    first_lag    0: a modifier also scales itself, as printed; 1: only what follows
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
        """How many numbers are learnt: the paper's formulas where `factored` is off."""
        M, W = len(self.modifiers), self.words
        total = W + 1
        if M:
            P = self.components if self.own_weights else 1
            total += M * (1 + (P if self.factored else 1)) + (P * W if self.own_weights else 0)
        if self.edges:
            total += 4 + (2 * W if self.own_edges else 0)
        return total


class Convolution(nn.Module):
    """The model. `forward(ids, lengths)` gives logits (B,); PAD (−1) is no word and modifies nothing."""

    def __init__(self, shape: Shape, tau: float = 3.0, edge_tau: float = 20.0, seed: int = 0):
        super().__init__()
        self.shape = shape
        generator = torch.Generator().manual_seed(seed)
        W, M = shape.words, len(shape.modifiers)
        P = shape.components if shape.own_weights else 1

        def small(*size: int) -> nn.Parameter:
            return nn.Parameter(0.01 * torch.randn(*size, generator=generator))

        self.beta, self.bias = nn.Parameter(torch.zeros(W)), nn.Parameter(torch.zeros(()))
        which = torch.full((W + 1,), M)  # PAD reads the last entry
        which[torch.as_tensor(shape.modifiers, dtype=torch.long)] = torch.arange(M)
        self.register_buffer("which", which)
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

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        return self.contributions(ids, lengths).sum(1) + self.bias

    def contributions(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """What each word adds to the logit, (B, T); zero behind a document's end."""
        shape, t = self.shape, torch.arange(ids.shape[1], device=ids.device)
        ids = ids.long().masked_fill(t >= lengths.unsqueeze(1), -1)
        word = ids.clamp(min=0)
        own = self.beta[word]
        total = own
        if shape.modifiers:
            gains = self.gains(ids)
            weights = _rows(self.beta_mod, word) if shape.own_weights else own.unsqueeze(-1)
            # As printed all components share their filters, and add up to one vector of weights.
            total = total + (gains * (weights if shape.factored else weights.sum(-1, keepdim=True))).sum(-1)
        if shape.edges:
            weights = _rows(self.beta_edges, word) if shape.own_edges else own.unsqueeze(-1)
            total = total + (self.edge_gains(lengths, ids.shape[1]) * weights).sum(-1)
        return total.masked_fill(ids < 0, 0)

    def gains(self, ids: Tensor) -> Tensor:
        """Σ_m (f^{m,p} ∗ μ^m)[t], (B, T, P): what modifiers so far do to the word at t; P is 1 unless `factored`."""
        (B, T), C = ids.shape, BLOCK
        M, P = self.alpha.shape
        blocks = -(-T // C)
        log_decay = -torch.exp(-self.log_tau)  # log λ, (M,)
        m = self.which[F.pad(ids, (0, blocks * C - T), value=-1)].view(B, blocks, C).transpose(0, 1)
        # log λ and α of the modifier at each place (blocks, B, C); no modifier is one more, with α = 0.
        here = _rows(F.pad(torch.cat([log_decay.unsqueeze(1), self.alpha], 1), (0, 0, 0, 1)), m)
        rate, alpha = here[..., 0], here[..., 1:]
        lag = torch.arange(C, device=ids.device)
        apart = lag.unsqueeze(1) - lag  # [t, s]: how far back s is
        reach = (apart >= self.shape.first_lag).to(rate.dtype)
        met = (torch.exp(rate.unsqueeze(2) * apart.clamp(min=0)) * reach) @ alpha  # (blocks, B, C, P)
        # What each block leaves behind at its last word, carried on; what that is worth at each word of the next.
        left = alpha.new_zeros(blocks, B, M + 1).scatter_add(2, m, torch.exp(rate * (C - 1 - lag)))
        traces = _Carry.apply(left[..., :M], torch.exp(log_decay * C))
        ahead = torch.exp(log_decay.unsqueeze(1) * (lag + 1)).unsqueeze(2) * self.alpha.unsqueeze(1)  # (M, C, P)
        carried = (traces.flatten(0, 1) @ ahead.flatten(1)).view(blocks, B, C, P)
        return (met + carried).transpose(0, 1).reshape(B, blocks * C, P)[:, :T]

    def edge_gains(self, lengths: Tensor, T: int) -> Tensor:
        """Of the token before a document and of the one behind it, (B, T, 2)."""
        t = torch.arange(T, device=lengths.device)
        since = t.expand(len(lengths), -1)
        until = (lengths.unsqueeze(1) - 1 - t).clamp(min=0)
        steps = torch.stack([since, until], -1).to(self.edge_alpha.dtype)
        return self.edge_alpha * torch.exp(-steps * torch.exp(-self.edge_log_tau))


def _rows(table: Tensor, at: Tensor) -> Tensor:
    """Rows (..., K) of a table at ids (...). (Its gradient takes a fifth of the time of `F.embedding`'s.)"""
    return table.index_select(0, at.flatten()).view(*at.shape, -1)


class _Carry(torch.autograd.Function):
    """z[0] = 0, z[c] = λ z[c − 1] + left[c − 1]: traces before each block, (blocks, B, M). The backward pass is the
    same recurrence the other way, written out: autograd would take four operations for each of its steps."""

    @staticmethod
    def forward(ctx: Any, left: Tensor, decay: Tensor) -> Tensor:
        z = torch.zeros_like(left)
        for c in range(1, len(z)):
            torch.addcmul(left[c - 1], z[c - 1], decay, out=z[c])
        ctx.save_for_backward(z, decay)
        return z

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        z, decay = ctx.saved_tensors
        back = torch.zeros_like(grad)  # the gradient at left
        for c in range(len(z) - 2, -1, -1):
            torch.addcmul(grad[c + 1], back[c + 1], decay, out=back[c])
        return back, (back * z).sum((0, 1))
