"""The recurrences of today, forward and backward over whole reviews: the parallel scan against a loop over steps under
autograd, and against torch's GRU of as many units, on a GPU cuDNN's.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

from benchmarks.networks import TORCH, both_ways, exactly, kernel
from benchmarks.size import CPU, GPU, Size
from benchmarks.table import Row
from benchmarks.timing import side_by_side
from rnnlens.networks import step_by_step
from rnnlens.networks.architectures import make_cell

KINDS = (("mingru", 1), ("mingru", 2), ("minlstm", 1), ("rglru", 1), ("mamba", 1))
SHAPES = {"cuda": (256, 600, 128, 128), "cpu": (64, 200, 64, 128)}  # batch, words, embedding, units


def rows(size: Size | None = None) -> Iterator[Row]:
    size = size or (GPU if torch.cuda.is_available() else CPU)
    B, T, D, H = SHAPES[size.device] if size in (CPU, GPU) else size.sequences[0]
    e, peer = torch.randn(B, T, D, device=size.device), nn.GRU(D, H, batch_first=True, device=size.device)
    for arch, layers in KINDS:
        cell = make_cell(arch, H, D, layers, None, torch.Generator().manual_seed(0)).to(size.device)
        h0 = torch.zeros(B, cell.size, device=size.device)
        contenders = {
            "ours": both_ways(lambda x, cell=cell, h0=h0: cell.outputs(x, h0), e),
            "torch": exactly(both_ways(lambda x: peer(x)[0], e)),
        }
        if arch == "mingru":
            contenders["loop"] = both_ways(lambda x, cell=cell, h0=h0: step_by_step(cell.step, x, h0), e)
        best = side_by_side(contenders, 7, size.budget)
        memory = ""
        if size.device == "cuda":
            torch.cuda.reset_peak_memory_stats()
            contenders["ours"]()
            memory = f"{torch.cuda.max_memory_allocated() / 2**30:.1f} GB"
        name = f"{arch}{f', {layers} layers' if layers > 1 else ''}"
        what = f"{name}, forward and backward ({B}×{T} words, {H} units)"
        yield Row(what, best["ours"], f"{kernel('gru', size)}, one layer", best["torch"], TORCH, memory)
        if "loop" in best:
            yield Row(what, best["ours"], "a loop over steps under autograd", best["loop"])
