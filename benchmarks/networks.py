"""Whole sequences, forward and backward: fused kernels, our scan, and a loop left to autograd."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import nn

from benchmarks.timing import side_by_side
from rnnlens.networks import CELLS, scan, step_by_step

SHAPES = ((64, 50, 16, 100), (64, 100, 128, 256))  # batch, time, embedding, units: the toy's, and a review's


def rows() -> Iterator[tuple[str, float, str, float]]:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for B, T, D, H in SHAPES:
        shape = f"({B}×{T} words, {H} units, {device})"
        e, h0 = torch.randn(B, T, D, device=device), torch.zeros(B, H, device=device)
        peer = nn.GRU(D, H, batch_first=True, device=device)
        gru, ugrnn = (CELLS[arch](H, D).to(device) for arch in ("gru", "ugrnn"))
        times = side_by_side(
            {
                "nn.GRU": _both_ways(lambda x, peer=peer: peer(x)[0], e),
                "fused": _both_ways(lambda x, gru=gru, h0=h0: gru.outputs(x, h0), e),
                "scan": _both_ways(lambda x, gru=gru, h0=h0: scan(gru, x, h0), e),
                "ugrnn": _both_ways(lambda x, ugrnn=ugrnn, h0=h0: scan(ugrnn, x, h0), e),
                "loop": _both_ways(lambda x, ugrnn=ugrnn, h0=h0: step_by_step(ugrnn.step, x, h0), e),
                "products": _products(ugrnn, e, h0),
            }
        )
        yield f"GRU, fused {shape}", times["fused"], "nn.GRU", times["nn.GRU"]
        yield f"GRU, fused {shape}", times["fused"], "GRU by our scan", times["scan"]
        yield f"UGRNN scan {shape}", times["ugrnn"], "nn.GRU", times["nn.GRU"]
        yield f"UGRNN scan {shape}", times["ugrnn"], "loop under autograd", times["loop"]
        yield f"UGRNN scan {shape}", times["ugrnn"], "its matrix products alone (the limit)", times["products"]


def _both_ways(forward: Callable[[torch.Tensor], torch.Tensor], e: torch.Tensor) -> Callable[[], None]:
    def run() -> None:
        forward(e.detach().requires_grad_()).sum().backward()

    return run


def _products(cell: nn.Module, e: torch.Tensor, h0: torch.Tensor) -> Callable[[], None]:
    """Only the products that forward and backward cannot do without: the time no UGRNN can beat on this machine."""
    B, T, _ = e.shape
    W, U = cell.W.detach(), cell.U.detach()
    gates = torch.randn(T, B, len(U), device=e.device)
    flat, inputs = gates.view(T * B, -1), e.reshape(T * B, -1)
    states = torch.randn(T * B, h0.shape[1], device=e.device)

    def run() -> None:
        inputs @ W.t()
        for t in range(T):
            h0 @ U.t()
            gates[t] @ U
        flat.t() @ states, flat.t() @ inputs, flat @ W

    return run
