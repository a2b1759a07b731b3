"""One layer of a network whose recurrence is linear in the state once the words are known: h' = a(c)∘h + b(c).

    u = project(x)                   what enters the convolution
    c = convolve(buffer, u)          a causal convolution over the last K words, channel by channel; u itself for K = 1
    a, b = coefficients(c)           the architecture's own equation
    h' = a∘h + b
    y = read(h', c, x)               what the next layer, or the readout, is given

The flat state of a layer is (buffer, h): the last K − 1 values of u, oldest first, then h. `step` and `scan` call the
same five functions, for one word and for all words at once; only h' = a∘h + b needs a scan.

Shapes: B batch, T time, D inputs, C channels, K words of the convolution, M recurrent numbers, H outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from rnnlens.networks import onednn
from rnnlens.networks.linear_scan import linear_scan
from rnnlens.networks.scan import no_autocast

AT_ONCE = 2**26  # recurrent numbers that `outputs` keeps at a time, if there are more of them than outputs


class Layer(nn.Module):
    """The convolution and the methods that all layers share; a subclass adds its equation.

    projects   whether `project` maps the D inputs to H channels; otherwise the convolution is over the inputs
    reads_linearly  whether y is linear in h', once the word is known
    gated      whether y differs from h', so that the last layer's y needs a place of its own in the flat state
    expand     recurrent numbers for each output, M/H
    """

    default_kernel: ClassVar[int] = 1
    projects: ClassVar[bool] = False
    gated: ClassVar[bool] = False
    reads_linearly: ClassVar[bool] = True
    expand: ClassVar[int] = 1

    def __init__(self, hidden: int, inputs: int, kernel: int, generator: torch.Generator | None = None):
        super().__init__()
        self.hidden, self.inputs, self.kernel = hidden, inputs, kernel
        self.channels = hidden if self.projects else inputs
        self.recurrent = self.expand * hidden
        self.sizes = [(kernel - 1) * self.channels, self.recurrent]
        self.size = sum(self.sizes)
        if kernel > 1:
            self.conv_w = uniform(kernel, self.channels, fan_in=kernel, generator=generator)
            self.conv_b = uniform(self.channels, fan_in=kernel, generator=generator)

    # --- the equation ---

    def project(self, x: Tensor) -> Tensor:
        """u (..., C) from inputs x (..., D)."""
        return x

    def activate(self, c: Tensor) -> Tensor:
        """The function after the convolution."""
        return c

    def seen(self, c: Tensor, x: Tensor) -> Tensor:
        """What the coefficients are computed from: c; a layer with gates that are not convolved joins them from x."""
        return c

    def coefficients(self, c: Tensor) -> tuple[Tensor, Tensor]:
        """a and b, (..., M), from c (..., C)."""
        raise NotImplementedError

    def read(self, h: Tensor, c: Tensor, x: Tensor) -> Tensor:
        """The output y (..., H) from the new state h (..., M), c (..., C) and the input x (..., D)."""
        return h

    def remember(self, log_T: Tensor) -> None:
        """Set the initial time constants of the H units, at blank input, to T = exp(log_T) (H,), in place."""
        raise NotImplementedError

    def linears(self, x: Tensor, W: Tensor, b: Tensor) -> list[Tensor]:
        """W_g x + b_g (..., H) for each of the stacked gates. One product for each: parts of a joint product would
        have to be joined again in the backward pass, which takes longer."""
        return [linear(x, *gate) for gate in zip(W.split(self.hidden), b.split(self.hidden), strict=True)]

    # --- one word, all words ---

    def convolve(self, last: Sequence[Tensor]) -> Tensor:
        """c from the last K values of u, (..., C) each, oldest first."""
        if self.kernel == 1:
            return self.activate(last[0])
        total = self.conv_b + self.conv_w[0] * last[0]
        for weight, u in zip(self.conv_w[1:], last[1:], strict=True):
            total = total + weight * u
        return self.activate(total)

    def step(self, h: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """The next state (..., size) and the output y (..., H), from a state h (..., size) and an input x (..., D)."""
        buffer, h = h.split(self.sizes, -1)
        u = self.project(x)
        lead = torch.broadcast_shapes(buffer.shape[:-1], u.shape[:-1])
        last = [*buffer.unflatten(-1, (self.kernel - 1, self.channels)).unbind(-2), u] if self.kernel > 1 else [u]
        c = self.seen(self.convolve(last), x)
        a, b = self.coefficients(c)
        h = a * h + b
        kept = [part.expand(*lead, -1) for part in last[1:]]
        return torch.cat([*kept, h], -1), self.read(h, c, x)

    def slope(self, h: Tensor, x: Tensor) -> Tensor:
        """The diagonal of ∂(next state)/∂(state), (..., size): a, and 0 for the buffer."""
        buffer, own = h.split(self.sizes, -1)
        last = buffer.unflatten(-1, (self.kernel - 1, self.channels)).unbind(-2) if self.kernel > 1 else []
        a, _ = self.coefficients(self.seen(self.convolve([*last, self.project(x)]), x))
        return torch.cat([torch.zeros_like(buffer), a.expand_as(own)], -1)

    def scan(self, x: Tensor, h0: Tensor) -> tuple[Tensor, Tensor]:
        """All states (B, T+1, size), h0 first, and all outputs (B, T, H), for inputs x (B, T, D) from h0 (B, size)."""
        u, c, h = self._convolved(x, h0)
        new, y = self._advance(h, c, x)
        states = torch.cat([h.unsqueeze(1), new], 1)
        if self.kernel > 1:  # the buffer after t words holds the values from t to t + K − 2
            buffers = u.unfold(1, self.kernel - 1, 1).transpose(-1, -2).flatten(-2)
            states = torch.cat([buffers, states], -1)
        return states, y

    def outputs(self, x: Tensor, h0: Tensor) -> Tensor:
        """All outputs (B, T, H). If there are more recurrent numbers than outputs, a few words are taken at a time, and
        computed again in the backward pass, so that the states of all words are never in memory together."""
        _, c, h = self._convolved(x, h0)

        few = max(1, AT_ONCE // max(1, len(x) * self.recurrent))
        if self.expand == 1 or few >= x.shape[1]:
            return self._advance(h, c, x)[1]

        def advance(h: Tensor, c: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
            new, y = self._advance(h, c, x)
            return new[:, -1].clone(), y  # a copy: a view would keep all states in memory

        ys = []
        for c_few, x_few in zip(c.split(few, 1), x.split(few, 1), strict=True):
            if torch.is_grad_enabled():  # (there is no dropout, and so no random state to preserve)
                h, y = checkpoint(advance, h, c_few, x_few, use_reentrant=False, preserve_rng_state=False)
            else:
                h, y = advance(h, c_few, x_few)
            ys.append(y)
        return torch.cat(ys, 1)

    def outputs_and_state(self, x: Tensor, h0: Tensor) -> tuple[Tensor, Tensor]:
        """All outputs (B, T, H), and the state (B, size) after the last word."""
        states, y = self.scan(x, h0)
        return y, states[:, -1]

    def linear_form(self, x: Tensor, h0: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """c (B, T, C), the coefficients a and b of h' = a∘h + b (B, T, M), and the initial h (B, M)."""
        _, c, h = self._convolved(x, h0)
        return c, *self.coefficients(c), h

    def _advance(self, h: Tensor, c: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """All new h (B, T, M) and outputs (B, T, H), from h (B, M), c (B, T, C) and x (B, T, D)."""
        a, b = self.coefficients(c)
        with no_autocast(x.device.type):  # as in `scan` of the other cells, since errors add up
            new = linear_scan(a, b, h)
            return new, self.read(new, c, x)

    def _convolved(self, x: Tensor, h0: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """All values of u with the buffer before them (B, K−1+T, C), c (B, T, C), and the initial h (B, M)."""
        buffer, h = h0.split(self.sizes, -1)
        u = self.project(x)
        if self.kernel == 1:
            return u, self.seen(self.convolve([u]), x), h
        u = torch.cat([buffer.unflatten(-1, (self.kernel - 1, self.channels)), u], 1)
        c = self.convolve([u[:, k : k + x.shape[1]] for k in range(self.kernel)])
        return u, self.seen(c, x), h

    def extra_repr(self) -> str:
        conv = f", convolution={self.kernel}" if self.kernel > 1 else ""
        return f"hidden={self.hidden}, inputs={self.inputs}{conv}"


def uniform(*shape: int, fan_in: int, generator: torch.Generator | None) -> nn.Parameter:
    """Initial weights as of `torch.nn.Linear`: uniform within ±1/√fan_in."""
    bound = fan_in**-0.5
    return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound, generator=generator))


def linear(x: Tensor, W: Tensor, b: Tensor | None = None) -> Tensor:
    """W x + b in the weights' precision, which autocast lowers."""
    return onednn.linear(x, W, b).to(W.dtype)
