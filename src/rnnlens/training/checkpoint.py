"""The checkpoint of a run: weights, Adam's moments and a few counters in one safetensors file. If next words are
learned, their head and its optimizer are in it too, and nowhere else."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import read_tensors, write_tensors
from rnnlens.common.provenance import KEY, check_named, names_in

Weights = dict[str, Tensor]
Trained = Sequence[tuple[nn.Module, torch.optim.Optimizer]]  # the network, then the head if there is one
PREFIXES = ("", "head/")  # of their tensors' names
SUMS = ("loss", "correct", "seen", "counted", "following", "foretold")
"""Sums over an epoch: the loss of labels, reviews read correctly, all reviews, those that accuracy counts, the loss of
next words, and their number."""


@dataclass
class Counters:
    """Progress of a run: steps done; sums over this epoch, as named in SUMS; the best score so far and the epochs since
    then, for early stopping; seconds trained."""

    step: int = 0
    sums: tuple[float, ...] = (0.0,) * len(SUMS)
    score: tuple[float, float] = (0.0, 0.0)
    waited: int = 0
    stopped: bool = False
    seconds: float = 0.0


def checkpoint_path(out: Path) -> Path:
    return out / "checkpoint" / "last.safetensors"


def write_checkpoint(
    out: Path,
    counters: Counters,
    trained: Trained,
    average: Weights | None,
    best: Weights | None,
    run: str,
) -> None:
    """Write the current state over the last checkpoint, in one rename. run: the fingerprint of the run."""
    tensors: Weights = {}
    for prefix, (module, optimiser) in zip(PREFIXES, trained, strict=False):
        for name, parameter in module.named_parameters():
            tensors[f"{prefix}weights/{name}"] = parameter
            for key, value in optimiser.state[parameter].items():
                tensors[f"{prefix}optimiser/{key}/{name}"] = value
    for kind, weights in (("average", average), ("best", best)):
        tensors |= {f"{kind}/{name}": value for name, value in (weights or {}).items()}
    write_tensors(checkpoint_path(out), tensors, {**dataclasses.asdict(counters), KEY: {"run": run}})


def read_checkpoint(out: Path, trained: Trained, average: Weights | None, run: str) -> tuple[Counters, Weights | None]:
    """Load modules, optimizers and average from the checkpoint, in place; returns the counters and the best weights.
    run: the fingerprint of the run that the checkpoint must belong to."""
    path = checkpoint_path(out)
    arrays, about = read_tensors(path)
    advice = "it is of another run or an older version; restore the run's own, or delete it to train from the start"
    check_named(path, names_in(about), "run", out / "run.json", run, advice)
    # Copy into memory that torch allocates: results must not depend on the alignment of the file's bytes.
    tensors = {name: torch.tensor(array) for name, array in arrays.items()}
    device = next(trained[0][0].parameters()).device
    try:
        counts = {name: value for name, value in about.items() if name != KEY}
        counters = Counters(**{**counts, "score": tuple(counts["score"]), "sums": tuple(counts["sums"])})
        with torch.no_grad():
            for prefix, (module, optimiser) in zip(PREFIXES, trained, strict=False):
                for name, parameter in module.named_parameters():
                    parameter.copy_(tensors[f"{prefix}weights/{name}"])
                    if parameter.requires_grad:
                        optimiser.state[parameter] = {
                            key: tensors[f"{prefix}optimiser/{key}/{name}"].to(device)
                            for key in ("step", "exp_avg", "exp_avg_sq")
                        }
            for name, value in (average or {}).items():
                value.copy_(tensors[f"average/{name}"])
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise RnnlensError(
            f"{quoted(str(path))} does not fit this network: {error}; delete the run folder to train from the start"
        ) from error
    best = {n.removeprefix("best/"): t.to(device) for n, t in tensors.items() if n.startswith("best/")}
    return counters, best or None
