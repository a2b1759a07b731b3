"""A run: the folder of one trained network, read back and verified."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rnnlens import __version__
from rnnlens.artifacts import SCHEMA, read_json, read_lines, read_tensors, write_json, write_tensors
from rnnlens.corpora.vocab import Vocab
from rnnlens.errors import RnnlensError, quoted
from rnnlens.networks import Network
from rnnlens.training.config import TrainConfig

CONFIG, MODEL = "config.json", "model.safetensors"  # what run.json and weights.safetensors are called in an export


@dataclass(frozen=True)
class Run:
    """A run folder. `about` is its run.json; the rest is read, and its fingerprint checked, when first asked for."""

    path: Path
    about: dict[str, Any]

    @property
    def weights(self) -> Path:
        """The file of weights, as a run or an export (`rnnlens.export`) has it."""
        own = self.path / "weights.safetensors"
        return own if own.exists() or not (self.path / MODEL).exists() else self.path / MODEL

    @cached_property
    def vocab(self) -> Vocab:
        return read_vocab(self.path / "vocab.json")

    @cached_property
    def network(self) -> Network:
        """The trained network, on the CPU."""
        tensors, _ = read_tensors(self.weights)
        network = Network(self.vocab, **self.about["network"])
        if tensors["h0"].dtype == np.float64:
            network = network.double()  # half precision, which a packaged run may be stored in, is read as single
        load_weights(network, tensors, self.weights)
        return network

    @property
    def config(self) -> TrainConfig:
        return TrainConfig(**self.about["config"])

    @cached_property
    def results(self) -> dict[str, Any]:
        """results.json, or nothing yet."""
        path = self.path / "results.json"
        return read_json(path) if path.exists() else {}

    @property
    def history(self) -> list[dict[str, Any]]:
        """One record an epoch."""
        return read_lines(self.path / "history.jsonl")

    def without_subspace(self, network: Network | None = None) -> Network | None:
        """The network without the modifier subspace that an analysis stored; None if there was none."""
        from rnnlens.context.subspace import project_out

        path = self.path / "analysis.safetensors"
        tensors = read_tensors(path)[0] if path.exists() else {}
        if "subspace" not in tensors:
            return None
        network = self.network if network is None else network
        V, h_star = (torch.from_numpy(tensors[name].copy()).to(network.h0) for name in ("subspace", "h_star"))
        return project_out(network, V, h_star)

    def add_results(self, **results: Any) -> None:
        """Merge results into results.json, a key at a time."""
        self.results.update(results)
        write_json(self.path / "results.json", self.results)

    def __repr__(self) -> str:
        network, accuracy = self.about["network"], self.results.get("accuracy", {})
        shown = "".join(f", {name} {100 * accuracy[name]:.2f} %" for name in ("validation", "test") if name in accuracy)
        return f"Run({str(self.path)!r}: {network['arch']} of {network['hidden']} units{shown})"


def load(path: Path | str) -> Run:
    """Open a run folder, or one that `export` wrote: `.network`, `.vocab`, `.config`, `.results`, `.history`.
    `zoo:NAME` comes along."""
    if str(path).startswith("zoo:"):
        from rnnlens.zoo import packaged

        path = packaged(str(path).removeprefix("zoo:"))
    path = Path(path)
    about = read_about(path)
    run = Run(path, about)
    if about["status"] != "finished" or not run.weights.exists():
        raise RnnlensError(f"the run {quoted(str(path))} is not finished: run `rnnlens train` again with --resume")
    run.network, run.results  # noqa: B018 - whatever is damaged is told now, not in the middle of an analysis
    return run


def read_about(path: Path) -> dict[str, Any]:
    """run.json (in an export config.json), checked."""
    if not path.is_dir():
        raise RnnlensError(f"no run folder {quoted(str(path))}: make one with `rnnlens train CORPUS --out {path}`")
    file = next((path / name for name in ("run.json", CONFIG) if (path / name).exists()), None)
    if file is None:
        raise RnnlensError(f"{quoted(str(path))} is no run folder: it has no run.json")
    about = read_json(file)
    if file.name == CONFIG and about.get("model_type") != "rnnlens":
        raise RnnlensError(f"{quoted(str(path))} holds another kind of model: expected a run or what `export` wrote")
    if about.get("schema", 0) > SCHEMA:
        raise RnnlensError(
            f"{quoted(str(path))} has schema {about['schema']}, rnnlens {__version__} reads up to {SCHEMA}: upgrade it"
        )
    return about


def write_vocab(path: Path, vocab: Vocab) -> None:
    write_json(path, {"words": list(vocab.words), "counts": vocab.counts})


def read_vocab(path: Path) -> Vocab:
    content = read_json(path)
    return Vocab(content["words"], content.get("counts"))


def write_weights(path: Path, network: Network) -> str:
    return write_tensors(path, network.state_dict())


def load_weights(network: Network, tensors: dict[str, Any], path: Path) -> None:
    """Copy tensors into a network of the same shape (copies: what a file maps may be ill-aligned)."""
    wanted = network.state_dict()
    wrong = set(wanted) ^ set(tensors) or {n for n in wanted if tuple(wanted[n].shape) != tensors[n].shape}
    if wrong:
        raise RnnlensError(f"{quoted(str(path))} does not fit its run.json: {', '.join(sorted(wrong))} differ")
    with torch.no_grad():
        for name, tensor in wanted.items():
            tensor.copy_(torch.from_numpy(tensors[name].copy()))
