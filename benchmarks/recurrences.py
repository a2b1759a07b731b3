"""The recurrences of today, forward and backward over whole reviews: the parallel scan against a loop over steps under
autograd, and against torch's GRU of as many units, on a GPU cuDNN's. And a whole analysis of a large state: its time
and memory must grow with the state, not with its square.
"""

from __future__ import annotations

import json
import subprocess
import sys
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
    if size is CPU:
        yield large()


ANALYSIS = """
import json, sys, time
import rnnlens
from benchmarks.timing import peak_memory
layers, units = int(sys.argv[1]), 2048
words = ["<unk>", *(f"w{i}" for i in range(60))]
network = rnnlens.Network(words, "mingru", units, 128, layers=layers, memory=300, scale=0.3).requires_grad_(False)
start = time.process_time()
rnnlens.analyze(network, starts=64, top=40)
seconds, peak = time.process_time() - start, peak_memory() / 1024
print(json.dumps({"seconds": seconds, "gb": peak, "size": network.size}))
"""


def large() -> Row:
    """`analyze` on an untrained minGRU of 24 layers of 2,048 units, and on one of 6, in processes of their own; seconds
    of the CPU."""
    found = []
    for layers in (6, 24):
        command = [sys.executable, "-c", ANALYSIS, str(layers)]
        done = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found.append(json.loads(done.splitlines()[-1]))
    small, whole = found
    what = f"analysis of a state of {whole['size']:,} numbers (24 layers of 2,048 units, 40 words)"
    note = f"{whole['gb']:.2f} GB, with a quarter of the state {small['gb']:.2f} GB"
    numbers = {"gb": whole["gb"], "gb_quarter": small["gb"]}
    return Row(what, whole["seconds"], "4 times that of a quarter", 4 * small["seconds"], note=note, numbers=numbers)
