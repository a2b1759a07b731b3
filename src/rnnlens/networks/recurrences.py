"""The recurrences of today, one equation each: minGRU, minLSTM, RG-LRU and Mamba's S6.

Each is h' = a(c)∘h + b(c), with c what the layer's convolution gives at this step. RG-LRU and Mamba gate their output
by the word alone, and Mamba reads its state through a matrix that the word gives; without biases they would read
nothing at a blank input, around which rnnlens expands. So both have a bias in that gate, and Mamba's B and C have
biases too (as in Mamba-3; with them it also learns from fewer texts). All else is as in the papers.

Shapes: as in `layers`; S states of each of Mamba's channels.
"""

from __future__ import annotations

import math
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlens.networks.layers import Layer, linear, uniform
from rnnlens.networks.scan import no_autocast
from rnnlens.networks.selective_scan import selective_coefficients, selective_scan, without_states
from rnnlens.networks.selective_steps import selective_outputs

OPEN = 1.0  # initial bias of gates on the output: they are open


class MinGRU(Layer):
    """z = σ(W_z c + b_z), h̃ = W_h c + b_h; h' = (1−z)∘h + z∘h̃ (Feng et al. 2024)."""

    def __init__(self, hidden: int, inputs: int, kernel: int, generator: torch.Generator | None = None):
        super().__init__(hidden, inputs, kernel, generator)
        self.W = uniform(2 * hidden, inputs, fan_in=inputs, generator=generator)
        self.b = uniform(2 * hidden, fan_in=inputs, generator=generator)

    def coefficients(self, c: Tensor) -> tuple[Tensor, Tensor]:
        return self.equation(*self.linears(c, self.W, self.b))

    def equation(self, d_z: Tensor, new: Tensor) -> tuple[Tensor, Tensor]:
        z = torch.sigmoid(d_z)
        return 1 - z, z * new

    @torch.no_grad()
    def remember(self, log_T: Tensor) -> None:
        self.b[: self.hidden] = -log_T  # a = T/(T + 1)


class MinLSTM(Layer):
    """f, i = σ(W_f c + b_f), σ(W_i c + b_i), h̃ = W_h c + b_h; h' = (f∘h + i∘h̃)/(f + i) (Feng et al. 2024)."""

    def __init__(self, hidden: int, inputs: int, kernel: int, generator: torch.Generator | None = None):
        super().__init__(hidden, inputs, kernel, generator)
        self.W = uniform(3 * hidden, inputs, fan_in=inputs, generator=generator)
        self.b = uniform(3 * hidden, fan_in=inputs, generator=generator)

    def coefficients(self, c: Tensor) -> tuple[Tensor, Tensor]:
        return self.equation(*self.linears(c, self.W, self.b))

    def equation(self, d_f: Tensor, d_i: Tensor, new: Tensor) -> tuple[Tensor, Tensor]:
        d = F.logsigmoid(d_f) - F.logsigmoid(d_i)  # f/(f + i) = σ(log f − log i), also where both are 0 in floats
        kept = torch.sigmoid(d)
        return kept, (1 - kept) * new

    @torch.no_grad()
    def remember(self, log_T: Tensor) -> None:
        self.b[: 2 * self.hidden] = torch.cat([log_T, -log_T])  # f/(f + i) = T/(T + 1)


class RGLRU(Layer):
    """r, i = σ(W_r c + b_r), σ(W_i c + b_i); a = exp(−8 softplus(Λ)∘r); h' = a∘h + √(1−a²)∘i∘c;
    y = h'∘gelu(W_y x + b_y), with c = conv(W_u x + b_u) (Griffin: De et al. 2024). W_r and W_i are whole matrices."""

    default_kernel = 4
    projects, gated = True, True

    def __init__(self, hidden: int, inputs: int, kernel: int, generator: torch.Generator | None = None):
        super().__init__(hidden, inputs, kernel, generator)
        self.W = uniform(2 * hidden, inputs, fan_in=inputs, generator=generator)  # of u and y
        self.b = uniform(2 * hidden, fan_in=inputs, generator=generator)
        self.U = uniform(2 * hidden, hidden, fan_in=hidden, generator=generator)  # of r and i
        self.c = uniform(2 * hidden, fan_in=hidden, generator=generator)
        kept = torch.empty(hidden).uniform_(0.9, 0.999, generator=generator)  # a for r = 1, as in the paper
        self.decay = nn.Parameter(inverse_softplus(-kept.log() / 8))  # Λ
        with torch.no_grad():
            self.b[hidden:] = OPEN

    def project(self, x: Tensor) -> Tensor:
        return linear(x, self.W[: self.hidden], self.b[: self.hidden])

    def coefficients(self, c: Tensor) -> tuple[Tensor, Tensor]:
        r, i = (torch.sigmoid(d) for d in self.linears(c, self.U, self.c))
        log_a = -8 * F.softplus(self.decay) * r
        room = (-torch.expm1(2 * log_a)).clamp(min=1e-12)  # 1 − a²; a root has no derivative at 0
        return log_a.exp(), torch.sqrt(room) * i * c

    def read(self, h: Tensor, c: Tensor, x: Tensor) -> Tensor:
        return h * F.gelu(linear(x, self.W[self.hidden :], self.b[self.hidden :]))

    @torch.no_grad()
    def remember(self, log_T: Tensor) -> None:
        self.c[: self.hidden] = 0  # r = ½
        self.decay.copy_(inverse_softplus(torch.log1p(torch.exp(-log_T)) / 4))


class Mamba(Layer):
    """Δ = softplus(W_Δ V_Δ c + b_Δ), B, C = V_B c + v_B, V_C c + v_C; a = exp(−Δ exp(A)); h' = a∘h + (Δ∘c) Bᵀ;
    y = (h' C + d∘c)∘silu(W_y x + b_y), with c = silu(conv(W_u x + b_u)) (S6: Gu & Dao 2023). h is (H, S)."""

    default_kernel = 4
    projects, gated = True, True
    expand: ClassVar[int] = 16  # S

    def __init__(self, hidden: int, inputs: int, kernel: int, generator: torch.Generator | None = None):
        super().__init__(hidden, inputs, kernel, generator)
        S, rank = self.expand, max(1, math.ceil(inputs / 16))
        self.W = uniform(2 * hidden, inputs, fan_in=inputs, generator=generator)  # of u and y
        self.b = uniform(2 * hidden, fan_in=inputs, generator=generator)
        self.V = uniform(rank + 2 * S, hidden, fan_in=hidden, generator=generator)  # of Δ, B and C
        self.v = nn.Parameter(torch.ones(2 * S))  # of B and C
        self.W_delta = uniform(hidden, rank, fan_in=rank, generator=generator)
        steps = torch.empty(hidden).uniform_(math.log(1e-3), math.log(1e-1), generator=generator).exp()
        self.b_delta = nn.Parameter(inverse_softplus(steps))
        self.A = nn.Parameter(torch.arange(1.0, S + 1).log().expand(hidden, S).clone())
        self.d = nn.Parameter(torch.ones(hidden))
        self.parts = [rank, S]
        with torch.no_grad():
            self.b[hidden:] = OPEN

    def project(self, x: Tensor) -> Tensor:
        return linear(x, self.W[: self.hidden], self.b[: self.hidden])

    def activate(self, c: Tensor) -> Tensor:
        return F.silu(c)

    def coefficients(self, c: Tensor) -> tuple[Tensor, Tensor]:
        a, b = selective_coefficients(*self._written(c), -self.A.exp())
        return a.flatten(-2), b.flatten(-2)

    def read(self, h: Tensor, c: Tensor, x: Tensor) -> Tensor:
        y = (h.unflatten(-1, (self.hidden, self.expand)) @ self._reading(c).unsqueeze(-1)).squeeze(-1)
        return self._gated(y, c, x)

    def outputs(self, x: Tensor, h0: Tensor) -> Tensor:
        if not without_states(x):
            return super().outputs(x, h0)
        _, c, h = self._convolved(x, h0)
        written = self._written(c)
        with no_autocast(x.device.type):
            return self._gated(selective_scan(*written, *self._scanned(c, h)), c, x)

    def outputs_and_state(self, x: Tensor, h0: Tensor) -> tuple[Tensor, Tensor]:
        """As of all layers; on a CPU without gradients."""
        if not x.is_cpu:  # the kernels for GPUs do not give the last state
            return super().outputs_and_state(x, h0)
        u, c, h = self._convolved(x, h0)
        written = self._written(c)
        with no_autocast(x.device.type):
            y, _, h = selective_outputs(*written, *self._scanned(c, h))
            buffer = u[:, x.shape[1] :].flatten(1) if self.kernel > 1 else u[:, :0, 0]
            return self._gated(y, c, x), torch.cat([buffer, h.flatten(1)], 1)

    def _scanned(self, c: Tensor, h: Tensor) -> tuple[Tensor, ...]:
        """C, A and the initial states (B, H, S): with Δ, c and B, what a scan is made of."""
        return self._reading(c), -self.A.exp(), h.unflatten(-1, (self.hidden, self.expand))

    def _written(self, c: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Δ (..., H), c and B (..., S), of which a step is made."""
        low, B = linear(c, self.V[: -self.expand]).split(self.parts, -1)
        return F.softplus(linear(low, self.W_delta, self.b_delta)), c, B + self.v[: self.expand]

    def _reading(self, c: Tensor) -> Tensor:
        """C (..., S)."""
        return linear(c, self.V[-self.expand :], self.v[-self.expand :])

    def _gated(self, y: Tensor, c: Tensor, x: Tensor) -> Tensor:
        """The output from y = h' C."""
        return (y + self.d * c) * F.silu(linear(x, self.W[self.hidden :], self.b[self.hidden :]))

    @torch.no_grad()
    def remember(self, log_T: Tensor) -> None:
        self.b_delta.copy_(inverse_softplus(torch.log1p(torch.exp(-log_T))))  # of the slowest of the S states


def inverse_softplus(x: Tensor) -> Tensor:
    return x + torch.log(-torch.expm1(-x))


RECURRENCES: dict[str, type[Layer]] = {"mingru": MinGRU, "minlstm": MinLSTM, "mamba": Mamba, "rglru": RGLRU}
