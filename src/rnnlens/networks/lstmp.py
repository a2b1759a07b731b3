"""The LSTM whose output is a projection of its units, torch's `nn.LSTM(proj_size=P)` (Sak et al. 2014)."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor, nn

from rnnlens.networks.cells import full_precision
from rnnlens.networks.onednn import linear
from rnnlens.networks.scan import no_autocast


class LSTMP(nn.Module):
    """i, f, o = σ(a_i), σ(a_f), σ(a_o); g = tanh(a_g); c' = f∘c + i∘g; h' = R (o∘tanh(c')), with a = W e + b + U h + c.

    The flat state is (h, c): P numbers of h, which readouts and further layers read, and H of c. The projection R
    (P, H) mixes units, so φ is not elementwise, and derivatives are autograd's.
    """

    blocks = 2

    def __init__(self, W: Tensor, b: Tensor, U: Tensor, c: Tensor, R: Tensor):
        super().__init__()
        (self.projection, self.hidden), self.inputs = R.shape, W.shape[1]
        self.W, self.b, self.U, self.c, self.R = (nn.Parameter(part.detach().clone()) for part in (W, b, U, c, R))

    @property
    def size(self) -> int:
        """N = P + H."""
        return self.projection + self.hidden

    @property
    def output(self) -> slice:
        return slice(0, self.projection)

    def step(self, h: Tensor, e: Tensor) -> Tensor:
        h, c = h.split([self.projection, self.hidden], -1)
        a = linear(e, self.W, self.b) + linear(h, self.U, self.c)
        i, f, g, o = self._gates(a.to(c.dtype))
        c = f * c + i * g
        return torch.cat([linear(o * torch.tanh(c), self.R).to(c.dtype), c], -1)

    def sequence(self, e: Tensor, h0: Tensor) -> Tensor:
        """All states (B, T+1, N), h0 first. The kernel returns h; all gates, and with them c, follow from it."""
        h, c = h0.split([self.projection, self.hidden], -1)
        hs = torch.cat([h.unsqueeze(1), self.outputs(e, h0)], 1)
        a = linear(e, self.W, self.b) + linear(hs[:, :-1], self.U, self.c)
        i, f, g, _ = self._gates(a.to(c.dtype))
        new, cs = i * g, [c]
        for t in range(e.shape[1]):
            cs.append(torch.addcmul(new[:, t], f[:, t], cs[-1]))
        return torch.cat([hs, torch.stack(cs, 1)], -1)

    def outputs(self, e: Tensor, h0: Tensor) -> Tensor:
        """h after each step, (B, T, P), by torch's kernel."""
        if not e.shape[1]:  # torch's kernels refuse empty sequences
            return h0.new_zeros(len(h0), 0, self.projection)
        return self._run(e, h0)[0]

    def outputs_and_state(self, e: Tensor, h0: Tensor) -> tuple[Tensor, Tensor]:
        """The outputs (B, T, P), and the state (B, N) after the last step, without the other cell states."""
        hs, h, c = self._run(e, h0)
        return hs, torch.cat([h, c], -1)[0].to(h0.dtype)

    def _run(self, e: Tensor, h0: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        state = [part.unsqueeze(0).contiguous() for part in h0.split([self.projection, self.hidden], -1)]
        weights: list[Tensor] = [self.W, self.U, self.b, self.c, self.R]
        kernel: Any = torch.lstm
        with no_autocast(e.device.type), full_precision(True, e.is_cuda), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="LSTM with projections is not supported with oneDNN")
            return kernel(e.to(self.W), state, weights, True, 1, 0.0, torch.is_grad_enabled(), False, True)

    @staticmethod
    def _gates(a: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        a_i, a_f, a_g, a_o = a.chunk(4, -1)
        return torch.sigmoid(a_i), torch.sigmoid(a_f), torch.tanh(a_g), torch.sigmoid(a_o)

    def extra_repr(self) -> str:
        return f"hidden={self.hidden}, projection={self.projection}, inputs={self.inputs}"
