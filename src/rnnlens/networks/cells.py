"""The four architectures, one equation each: h' = φ(h, d, u).

The input enters through the drive d = W e + b, the past through u = U h + c, and φ acts on each unit separately. All
else follows from φ: `step` is φ; a scan computes all drives in one product and repeats φ; its backward pass, and the
Jacobians in closed form, need only φ's elementwise `partials`.

Shapes: B batch, T time, H units, N flat state, D embedding, G gates, S blocks of the state (1; for the LSTM 2: h, c).
Weights have the layout of `torch.nn`, gates stacked in its order, so the fused kernels take them as they are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from rnnlens.networks.onednn import is_quicker, linear, tanh
from rnnlens.networks.scan import scan

Partials = tuple[Tensor, Tensor, Tensor]
Step = Callable[[Tensor, Tensor], Tensor]

MANY = 48  # states from which on torch's LSTM for sequences takes less time than its function for one step


class Cell(nn.Module):
    """Weights and methods that all cells share; a subclass adds its equation."""

    gates: ClassVar[int]
    blocks: ClassVar[int] = 1
    kernel: ClassVar[bool] = False  # whether `quick_step` of many states takes less time than a step from known drives
    cudnn: ClassVar[bool] = True  # whether cuDNN's kernel for this cell has full float32 precision

    def __init__(self, hidden: int, inputs: int, generator: torch.Generator | None = None):
        super().__init__()
        self.hidden, self.inputs = hidden, inputs
        bound = hidden**-0.5

        def uniform(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound, generator=generator))

        self.W, self.b = uniform(self.gates * hidden, inputs), uniform(self.gates * hidden)
        self.U, self.c = uniform(self.gates * hidden, hidden), uniform(self.gates * hidden)

    @property
    def size(self) -> int:
        """N, the length of the flat state."""
        return self.blocks * self.hidden

    @property
    def output(self) -> slice:
        """The part of the flat state that readouts and further layers read."""
        return slice(0, self.hidden)

    def bounds(self) -> tuple[Tensor, Tensor]:
        """The smallest box (N,), (N,) that contains every state the cell can stay in: −1 … 1, the range of tanh."""
        one = self.U.new_ones(self.size)
        return -one, one

    def combine(self, h: Tensor, d: Tensor, u: Tensor) -> Tensor:
        """φ: the next state (..., N) from h (..., N), drive d and recurrent input u (..., G·H)."""
        raise NotImplementedError

    def partials(self, h: Tensor, d: Tensor, u: Tensor) -> Partials:
        """The derivatives of φ, elementwise: ∂h'/∂h (..., S, S, H), ∂h'/∂d and ∂h'/∂u (..., S, G, H)."""
        raise NotImplementedError

    def fused(self, e: Tensor, h0: Tensor) -> Tensor | None:
        """States (B, T, N) after each step by torch's own kernel, or None if torch has no such cell, or a quicker
        product (`linear`) that its kernel does not use."""
        return None

    def drive(self, e: Tensor) -> Tensor:
        """d = W e + b, (..., D) → (..., G·H)."""
        return linear(e, self.W, self.b)

    def recur(self, h: Tensor) -> Tensor:
        """u = U h + c, (..., N) → (..., G·H)."""
        return linear(h[..., self.output], self.U, self.c)

    def step(self, h: Tensor, e: Tensor) -> Tensor:
        """F(h, e): the state after input e; h (..., N) and e (..., D) over any leading dimensions."""
        return self.combine(h, self.drive(e).to(h.dtype), self.recur(h).to(h.dtype))  # autocast lowers the precision

    def advance(self, h: Tensor, d: Tensor) -> Tensor:
        """`step` from the drive d of the input."""
        return self.combine(h, d, self.recur(h))

    def quick_step(self) -> Step:
        """`step` for h (B, N) and e (B, D), without gradients: torch's function for one step if it has one. In Python
        every operation takes and gives back the interpreter's lock, so threads that do small steps wait for each other;
        one function takes it once."""
        return self.step

    def sequence(self, e: Tensor, h0: Tensor) -> Tensor:
        """All states (B, T+1, N), h0 first, for inputs e (B, T, D) from h0 (B, N)."""
        states = self.fused(e, h0) if e.shape[1] else None  # (torch's kernels refuse empty sequences)
        if states is None:
            return scan(self, e, h0)
        return torch.cat([h0.unsqueeze(1), states], dim=1)

    def outputs(self, e: Tensor, h0: Tensor) -> Tensor:
        """The outputs after each step, (B, T, H), which readouts read."""
        return self.sequence(e, h0)[:, 1:, self.output]

    def _kernel(self, kernel: Callable[..., Any], e: Tensor, state: Tensor | list[Tensor]) -> tuple[Tensor, ...]:
        """Outputs (B, T, H) of one of torch's fused kernels, and the parts (1, B, H) of the last state."""
        # In eval mode cuDNN keeps nothing for a backward pass. There is no dropout inside, so train and eval mode
        # compute the same: train mode is used whenever gradients are enabled.
        keep, weights = torch.is_grad_enabled(), list(self._weights)
        if not (e.is_cuda and torch.is_autocast_enabled("cuda")):
            with full_precision(self.cudnn or (keep and self.U.requires_grad), e.is_cuda):
                return kernel(e, state, weights, True, 1, 0.0, keep, False, True)
        # By default autocast runs cuDNN's kernels in float16, even if bfloat16 was chosen.
        dtype = torch.get_autocast_dtype("cuda")
        e, weights = e.to(dtype), [weight.to(dtype) for weight in weights]
        state = [part.to(dtype) for part in state] if isinstance(state, list) else state.to(dtype)
        with torch.autocast("cuda", enabled=False), full_precision(True, True):
            return kernel(e, state, weights, True, 1, 0.0, keep, False, True)

    @property
    def _weights(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """In the order of torch's functions."""
        return self.W, self.U, self.b, self.c

    def extra_repr(self) -> str:
        return f"hidden={self.hidden}, inputs={self.inputs}"


class Vanilla(Cell):
    """h' = tanh(W e + b + U h + c), or ReLU in its place."""

    gates = 1
    cudnn = False  # its tanh is off by 1e-5, enough for training but not for measuring; torch's own kernel by 5e-7

    def __init__(self, hidden: int, inputs: int, generator: torch.Generator | None = None, nonlinearity: str = "tanh"):
        super().__init__(hidden, inputs, generator)
        self.nonlinearity = nonlinearity
        nn.init.orthogonal_(self.U, generator=generator)  # keeps long memory at the start of training

    def bounds(self) -> tuple[Tensor, Tensor]:
        low, high = super().bounds()
        return (torch.zeros_like(low), torch.full_like(high, torch.inf)) if self.nonlinearity == "relu" else (low, high)

    def combine(self, h: Tensor, d: Tensor, u: Tensor) -> Tensor:
        return torch.relu(d + u) if self.nonlinearity == "relu" else tanh(d + u)

    def partials(self, h: Tensor, d: Tensor, u: Tensor) -> Partials:
        a = d + u
        slope = (a > 0).to(a.dtype) if self.nonlinearity == "relu" else 1 - tanh(a) ** 2
        p_a = slope[..., None, None, :]
        return torch.zeros_like(p_a), p_a, p_a

    def quick_step(self) -> Step:
        kernel, weights = torch.rnn_relu_cell if self.nonlinearity == "relu" else torch.rnn_tanh_cell, self._weights
        return lambda h, e: kernel(e, h, *weights)

    def fused(self, e: Tensor, h0: Tensor) -> Tensor | None:
        if is_quicker(h0, self.U):
            return None
        kernel = torch.rnn_relu if self.nonlinearity == "relu" else torch.rnn_tanh
        return self._kernel(kernel, e, h0.unsqueeze(0).contiguous())[0]


class UGRNN(Cell):
    """c = tanh(a_c), g = σ(a_g), h' = g∘h + (1−g)∘c, with a = W e + b + U h + c (Collins et al. 2016)."""

    gates = 2

    def __init__(self, hidden: int, inputs: int, generator: torch.Generator | None = None):
        super().__init__(hidden, inputs, generator)
        with torch.no_grad():
            self.b[hidden:] += 1  # gates keep most of the state at first

    def combine(self, h: Tensor, d: Tensor, u: Tensor) -> Tensor:
        a_c, a_g = (d + u).chunk(2, -1)
        return torch.lerp(tanh(a_c), h, torch.sigmoid(a_g))

    def partials(self, h: Tensor, d: Tensor, u: Tensor) -> Partials:
        a_c, a_g = (d + u).chunk(2, -1)
        c, g = tanh(a_c), torch.sigmoid(a_g)
        p_a = torch.stack([(1 - g) * (1 - c * c), (h - c) * g * (1 - g)], -2).unsqueeze(-3)
        return g[..., None, None, :], p_a, p_a


class GRU(Cell):
    """r, z = σ(a_r), σ(a_z); n = tanh(d_n + r∘u_n); h' = (1−z)∘n + z∘h, with a = d + u (Cho et al. 2014)."""

    gates = 3

    def combine(self, h: Tensor, d: Tensor, u: Tensor) -> Tensor:
        H = self.hidden
        r, z = (d[..., : 2 * H] + u[..., : 2 * H]).sigmoid_().chunk(2, -1)  # in place: one array less to write
        n = tanh(torch.addcmul(d[..., 2 * H :], r, u[..., 2 * H :]))
        return torch.lerp(n, h, z)

    def partials(self, h: Tensor, d: Tensor, u: Tensor) -> Partials:
        H = self.hidden
        r, z = torch.sigmoid(d[..., : 2 * H] + u[..., : 2 * H]).chunk(2, -1)
        n = tanh(d[..., 2 * H :] + r * u[..., 2 * H :])
        p_n = (1 - z) * (1 - n * n)
        p_r, p_z = p_n * u[..., 2 * H :] * r * (1 - r), (h - n) * z * (1 - z)
        p_d = torch.stack([p_r, p_z, p_n], -2).unsqueeze(-3)
        p_u = torch.stack([p_r, p_z, p_n * r], -2).unsqueeze(-3)
        return z[..., None, None, :], p_d, p_u

    def quick_step(self) -> Step:
        weights = self._weights
        return lambda h, e: torch.gru_cell(e, h, *weights)

    def fused(self, e: Tensor, h0: Tensor) -> Tensor | None:
        return None if is_quicker(h0, self.U) else self._kernel(torch.gru, e, h0.unsqueeze(0).contiguous())[0]


class LSTM(Cell):
    """i, f, o = σ(a_i), σ(a_f), σ(a_o); g = tanh(a_g); c' = f∘c + i∘g; h' = o∘tanh(c'). The flat state is (h, c)."""

    gates = 4
    blocks = 2
    kernel = True  # products and tanh of torch's LSTM for sequences take half the time of its other functions

    def __init__(self, hidden: int, inputs: int, generator: torch.Generator | None = None):
        super().__init__(hidden, inputs, generator)
        with torch.no_grad():
            self.b[hidden : 2 * hidden] += 1  # forget gates keep most of the state at first

    def bounds(self) -> tuple[Tensor, Tensor]:
        low, high = super().bounds()
        low[self.hidden :], high[self.hidden :] = -torch.inf, torch.inf  # c is unbounded
        return low, high

    def combine(self, h: Tensor, d: Tensor, u: Tensor) -> Tensor:
        c = h[..., self.hidden :]
        i, f, g, o = self._gates(d + u)
        c = f * c + i * g
        return torch.cat([o * tanh(c), c], -1)

    def partials(self, h: Tensor, d: Tensor, u: Tensor) -> Partials:
        c = h[..., self.hidden :]
        i, f, g, o = self._gates(d + u)
        s = tanh(f * c + i * g)
        q, zero = o * (1 - s * s), torch.zeros_like(c)  # q = ∂h'/∂c'
        c_a = torch.stack([g * i * (1 - i), c * f * (1 - f), i * (1 - g * g), zero], -2)
        h_a = q.unsqueeze(-2) * c_a + torch.stack([zero, zero, zero, s * o * (1 - o)], -2)
        p_h = torch.stack([torch.stack([zero, q * f], -2), torch.stack([zero, f], -2)], -3)
        p_a = torch.stack([h_a, c_a], -3)
        return p_h, p_a, p_a

    def quick_step(self) -> Step:
        weights = [weight.detach() for weight in self._weights]

        def step(h: Tensor, e: Tensor) -> Tensor:
            if len(e) < MANY:
                return torch.cat(torch.lstm_cell(e, h.chunk(2, -1), *weights), -1)
            state = h.unsqueeze(0).chunk(2, -1)  # of a sequence of one step
            return torch.cat(torch.lstm(e.unsqueeze(0), state, weights, True, 1, 0.0, False, False, False)[1:], -1)[0]

        return step

    def fused(self, e: Tensor, h0: Tensor) -> Tensor:
        # The kernel does not return its cell states, but all gates follow from the h that it returns, in one product;
        # the rest of the recurrence, c' = f∘c + i∘g, is elementwise.
        h, c = h0.chunk(2, -1)
        hs = self.outputs(e, h0)
        a = self.drive(e) + self.recur(torch.cat([h.unsqueeze(1), hs[:, :-1]], 1))
        i, f, g, _ = self._gates(a.to(c.dtype))  # under autocast the sum over time stays in full precision
        new, cs = i * g, []
        for t in range(e.shape[1]):
            c = torch.addcmul(new[:, t], f[:, t], c)
            cs.append(c)
        return torch.cat([hs, torch.stack(cs, 1)], -1)

    def outputs(self, e: Tensor, h0: Tensor) -> Tensor:
        if not e.shape[1]:
            return super().outputs(e, h0)
        return self._run(e, h0)[0]

    def outputs_and_state(self, e: Tensor, h0: Tensor) -> tuple[Tensor, Tensor]:
        """The outputs (B, T, H), and the state (B, N) after the last step, without the other cell states."""
        hs, h, c = self._run(e, h0)
        return hs, torch.cat([h, c], -1)[0].to(h0.dtype)

    def _run(self, e: Tensor, h0: Tensor) -> tuple[Tensor, ...]:
        state = [part.unsqueeze(0).contiguous() for part in h0.chunk(2, -1)]
        return self._kernel(torch.lstm, e, state)

    def _gates(self, a: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        a_i, a_f, a_g, a_o = a.chunk(4, -1)
        return torch.sigmoid(a_i), torch.sigmoid(a_f), tanh(a_g), torch.sigmoid(a_o)


@contextmanager
def full_precision(enabled: bool, is_cuda: bool) -> Iterator[None]:
    """Switch cuDNN on or off on a GPU, with full float32 precision."""
    if not is_cuda:
        yield
        return
    # By default cuDNN rounds float32 to 10 bits of mantissa (TF32), too few for measurements.
    with torch.backends.cudnn.flags(enabled=enabled, allow_tf32=False), warnings.catch_warnings():
        # The four weights are separate tensors, which cuDNN joins at each call: this takes microseconds.
        warnings.filterwarnings("ignore", message="RNN module weights are not part of single contiguous chunk")
        yield


CELLS: dict[str, type[Cell]] = {"gru": GRU, "lstm": LSTM, "ugrnn": UGRNN, "vanilla": Vanilla}
