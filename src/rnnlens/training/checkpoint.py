"""The checkpoint of a run: weights, Adam's moments and a few counters in one safetensors file."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import read_tensors, write_tensors
from rnnlens.common.provenance import KEY, check_named, names_in
from rnnlens.networks import AnyNetwork

Weights = dict[str, Tensor]


@dataclass
class Counters:
    """Progress of a run: steps done; loss, correct and seen reviews of this epoch, summed; the best score so far and
    the epochs since then, for early stopping; seconds trained."""

    step: int = 0
    loss: float = 0.0
    correct: float = 0.0
    seen: float = 0.0
    score: tuple[float, float] = (0.0, 0.0)
    waited: int = 0
    stopped: bool = False
    seconds: float = 0.0


def checkpoint_path(out: Path) -> Path:
    return out / "checkpoint" / "last.safetensors"


def write_checkpoint(
    out: Path,
    counters: Counters,
    network: AnyNetwork,
    optimiser: torch.optim.Optimizer,
    average: Weights | None,
    best: Weights | None,
    run: str,
) -> None:
    """Write the current state over the last checkpoint, in one rename. run: the fingerprint of the run."""
    tensors: Weights = {f"weights/{name}": p for name, p in network.named_parameters()}
    for name, parameter in network.named_parameters():
        for key, value in optimiser.state[parameter].items():
            tensors[f"optimiser/{key}/{name}"] = value
    for kind, weights in (("average", average), ("best", best)):
        tensors |= {f"{kind}/{name}": value for name, value in (weights or {}).items()}
    write_tensors(checkpoint_path(out), tensors, {**dataclasses.asdict(counters), KEY: {"run": run}})


def read_checkpoint(
    out: Path, network: AnyNetwork, optimiser: torch.optim.Optimizer, average: Weights | None, run: str
) -> tuple[Counters, Weights | None]:
    """Load network, optimizer and average from the checkpoint, in place; returns the counters and the best weights.
    run: the fingerprint of the run that the checkpoint must belong to."""
    path = checkpoint_path(out)
    arrays, about = read_tensors(path)
    advice = "it is of another run or an older version; restore the run's own, or delete it to train from the start"
    check_named(path, names_in(about), "run", out / "run.json", run, advice)
    # Copy into memory that torch allocates: results must not depend on the alignment of the file's bytes.
    tensors = {name: torch.tensor(array) for name, array in arrays.items()}
    device = network.h0.device
    try:
        counts = {name: value for name, value in about.items() if name != KEY}
        counters = Counters(**{**counts, "score": tuple(counts["score"])})
        with torch.no_grad():
            for name, parameter in network.named_parameters():
                parameter.copy_(tensors[f"weights/{name}"])
                if parameter.requires_grad:
                    optimiser.state[parameter] = {
                        key: tensors[f"optimiser/{key}/{name}"].to(device) for key in ("step", "exp_avg", "exp_avg_sq")
                    }
                if average is not None:
                    average[name].copy_(tensors[f"average/{name}"])
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise RnnlensError(
            f"{quoted(str(path))} does not fit this network: {error}; delete the run folder to train from the start"
        ) from error
    best = {n.removeprefix("best/"): t.to(device) for n, t in tensors.items() if n.startswith("best/")}
    return counters, best or None
