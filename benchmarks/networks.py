"""Whole sequences, forward and backward: our cells against torch's own, our scan against a loop left to autograd.

The limit for a cell is torch's kernel for it (for the UGRNN, which torch has not, that for the GRU); on a GPU that is
cuDNN in the same arithmetic, float32 that is not rounded to TF32.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.size import CPU, Size
from benchmarks.table import Row, Skipped
from benchmarks.timing import side_by_side
from rnnlens.networks import CELLS, scan, step_by_step
from rnnlens.networks.onednn import linear

KERNELS = {"gru": nn.GRU, "lstm": nn.LSTM, "ugrnn": nn.GRU, "vanilla": nn.RNN}
TORCH = "pip install torch"
Run = Callable[[], object]


def rows(size: Size = CPU) -> Iterator[Row | Skipped]:
    if size.device == "cpu":
        yield _product()
    for B, T, D, H in size.sequences:
        shape = f"{B}×{T} words, {H} units"
        e = torch.randn(B, T, D, device=size.device)
        for arch in CELLS:
            cell, peer = CELLS[arch](H, D).to(size.device), KERNELS[arch](D, H, batch_first=True, device=size.device)
            h0 = torch.zeros(B, cell.size, device=size.device)
            contenders = {
                "ours": exactly(both_ways(lambda x, cell=cell, h0=h0: cell.outputs(x, h0), e)),
                "torch": exactly(both_ways(lambda x, peer=peer: peer(x)[0], e)),
                "rounded": both_ways(lambda x, peer=peer: peer(x)[0], e),
            }
            if arch == "ugrnn":
                contenders |= {
                    "plain": plainly(contenders["ours"]),
                    "loop": both_ways(lambda x, cell=cell, h0=h0: step_by_step(cell.step, x, h0), e),
                    "products": products(cell, e, h0),
                }
            best = side_by_side(contenders, 9, size.budget)
            what = f"{arch}, forward and backward ({shape})"
            yield Row(what, best["ours"], f"{kernel(arch, size)} (the limit)", best["torch"], TORCH)
            if arch == "gru" and size.device == "cuda":
                yield Row(what, best["ours"], "nn.GRU by cuDNN, rounded to TF32", best["rounded"], TORCH)
            if arch == "ugrnn":
                if size.device == "cuda":
                    yield Row(what, best["ours"], "the plain scan, no CUDA graph", best["plain"])
                yield Row(what, best["ours"], "a loop over steps under autograd", best["loop"])
                yield Row(what, best["ours"], "its matrix products alone (the limit)", best["products"])
        if size.device == "cuda":
            yield from _states_alone(size, e, shape, H)


def kernel(arch: str, size: Size, precision: str = "float32") -> str:
    return f"nn.{KERNELS[arch].__name__}" + (f" by cuDNN, {precision}" if size.device == "cuda" else "")


def _product(states: int = 256, units: int = 1024) -> Row:
    """The product of a step of many states of a large GRU: ours, and torch's usual one."""
    h, U, c = torch.randn(states, units), torch.randn(3 * units, units), torch.randn(3 * units)
    with torch.no_grad():
        best = side_by_side({"ours": lambda: linear(h, U, c), "torch": lambda: F.linear(h, U, c)}, 20)
    return Row(f"U h + c, {states} states of {units:,} units", best["ours"], "F.linear", best["torch"], TORCH)


def _states_alone(size: Size, e: Tensor, shape: str, H: int) -> Iterator[Row | Skipped]:
    """The UGRNN's scan without gradients: recorded, recorded with its equation compiled into one kernel, plain."""
    cell = CELLS["ugrnn"](H, e.shape[2]).to(size.device).requires_grad_(False)
    peer = nn.GRU(e.shape[2], H, batch_first=True, device=size.device).requires_grad_(False)
    h0 = torch.zeros(len(e), cell.size, device=size.device)
    contenders: dict[str, Run] = {
        "ours": lambda: scan(cell, e, h0),
        "plain": plainly(lambda: scan(cell, e, h0)),
        "torch": exactly(lambda: peer(e)[0]),
    }
    what = f"ugrnn, states alone ({shape})"
    fused = copy.deepcopy(cell)
    fused.combine = torch.compile(cell.combine, dynamic=False)  # type: ignore[method-assign]
    try:
        if not torch.allclose(scan(fused, e, h0), scan(cell, e, h0), atol=1e-5):
            raise RuntimeError("states differ")
        contenders["compiled"] = lambda: scan(fused, e, h0)
    except Exception as error:  # it needs Triton and a compiler
        yield Skipped(f"{what}, against torch.compile", f"{type(error).__name__}: {str(error)[:100]}")
    best = side_by_side(contenders, 9, size.budget)
    yield Row(what, best["ours"], "the plain scan, no CUDA graph", best["plain"])
    yield Row(what, best["ours"], f"{kernel('gru', size)} (the limit)", best["torch"], TORCH)
    if "compiled" in best:
        yield Row(what, best["ours"], "the same, its equation by torch.compile", best["compiled"], TORCH)


def products(cell: Any, e: Tensor, h0: Tensor) -> Callable[[], None]:
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


def both_ways(forward: Callable[[Tensor], Tensor], e: Tensor) -> Run:
    def run() -> None:
        forward(e.detach().requires_grad_()).sum().backward()

    return run


def exactly(run: Run) -> Run:
    """With cuDNN's float32 left unrounded, as our cells and our training use it."""

    def exact() -> None:
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
            run()

    return exact


def plainly(run: Run) -> Run:
    """With scans that launch every kernel of every step one by one."""

    def plain() -> None:
        with _plain_scans():
            run()

    return plain


@contextmanager
def _plain_scans() -> Iterator[None]:
    modules = [importlib.import_module(f"rnnlens.networks.{name}") for name in ("scan", "wrapped")]
    slow = partial(modules[0].repeat, record=False)
    with patch.object(modules[0], "repeat", slow), patch.object(modules[1], "repeat", slow):
        yield
