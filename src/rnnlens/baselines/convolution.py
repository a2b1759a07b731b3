"""The augmented bag of words as one torch module (§9, Supp. G): words, modifiers that fade, edges of documents.

    Σ_t [ β[t] + Σ_p (f^p ∗ μ)[t] β^p_mod[t] + f_BOD[t] β_BOD[t] + f_EOD[T−1−t] β_EOD[t] ] + b

with f^m[s] = α^m exp(−s/τ^m). A modifier's trace is a recurrence, z_m[t] = λ_m z_m[t−1] + μ_m[t] with λ = exp(−1/τ), so
the cost is linear in the length of a document: time is cut into blocks, inside which words meet directly, and from one
block to the next only the traces of the M modifiers are carried, by one matrix product.

Shapes: B documents, T words, W vocabulary, M modifiers, P components.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
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
        which = torch.full((W + 1,), -1, dtype=torch.long)  # PAD reads the last entry
        which[torch.as_tensor(shape.modifiers, dtype=torch.long)] = torch.arange(M)
        self.register_buffer("which", which)
        if M:
            self.alpha = small(M, P if shape.factored else 1)
            self.log_tau = nn.Parameter(torch.full((M,), tau).log())
            if shape.own_weights:
                self.beta_mod = small(P, W)
        if shape.edges:
            self.edge_alpha, self.edge_log_tau = small(2), nn.Parameter(torch.full((2,), edge_tau).log())
            if shape.own_edges:
                self.beta_edges = small(2, W)

    which: Tensor

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        return self.contributions(ids, lengths).sum(1) + self.bias

    def contributions(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """What each word adds to the logit, (B, T); zero behind a document's end."""
        there = torch.arange(ids.shape[1], device=ids.device) < lengths.unsqueeze(1)
        ids = ids.long().masked_fill(~there, -1)
        known = ids >= 0
        safe = ids.clamp(min=0)
        total = self.beta[safe]
        if len(self.shape.modifiers):
            gains = self.gains(ids)  # (B, T, P)
            if self.shape.own_weights:
                total = total + (gains * self.beta_mod.t()[safe]).sum(-1)
            else:
                total = total + gains[..., 0] * self.beta[safe]
        if self.shape.edges:
            edge = self.edge_gains(lengths, ids.shape[1])  # (B, T, 2)
            weights = self.beta_edges.t()[safe] if self.shape.own_edges else self.beta[safe].unsqueeze(-1)
            total = total + (edge * weights).sum(-1)
        return total * known

    def gains(self, ids: Tensor) -> Tensor:
        """Σ_m (f^{m,p} ∗ μ^m)[t], (B, T, P): what modifiers so far do to the word at t."""
        B, T = ids.shape
        P = self.shape.components if self.shape.own_weights else 1
        log_decay = -torch.exp(-self.log_tau)  # log λ, (M,)
        alpha = self.alpha.expand(-1, P)
        modifier = self.which[ids]  # (B, T), −1: none
        active = (modifier >= 0).to(alpha.dtype)
        m = modifier.clamp(min=0)
        traces = alpha.new_zeros(B, len(log_decay))
        lag = torch.arange(BLOCK, device=ids.device)
        apart = lag.unsqueeze(1) - lag  # [t, s]: how far back s is
        reach = (apart >= self.shape.first_lag).to(alpha.dtype)
        # What a trace at the end of the block before is worth at each place of this one, for every component.
        ahead = torch.exp(log_decay.unsqueeze(1) * (lag + 1)).unsqueeze(2) * alpha.unsqueeze(1)  # (M, BLOCK, P)
        found = []
        for start in range(0, T, BLOCK):
            here, on = m[:, start : start + BLOCK], active[:, start : start + BLOCK]
            C = here.shape[1]
            # Where first_lag is above 1 the traces of the block before reach too early: it is 0 or 1.
            carried = (traces @ ahead[:, :C].flatten(1)).view(B, C, P)
            decay = torch.exp(log_decay[here].unsqueeze(1) * apart[:C, :C].clamp(min=0)) * reach[:C, :C]  # (B, t, s)
            met = (decay * on.unsqueeze(1)) @ alpha[here]  # (B, C, P)
            found.append(carried + met)
            left = torch.exp(log_decay[here] * (C - 1 - lag[:C])) * on
            traces = (traces * torch.exp(log_decay * C)).scatter_add(1, here, left)
        return torch.cat(found, 1)

    def edge_gains(self, lengths: Tensor, T: int) -> Tensor:
        """Of the token before a document and of the one behind it, (B, T, 2)."""
        t = torch.arange(T, device=lengths.device)
        since = t.expand(len(lengths), -1)
        until = (lengths.unsqueeze(1) - 1 - t).clamp(min=0)
        steps = torch.stack([since, until], -1).to(self.edge_alpha.dtype)
        return self.edge_alpha * torch.exp(-steps * torch.exp(-self.edge_log_tau))
