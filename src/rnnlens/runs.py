"""A run: the folder of one trained network, read back and verified."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rnnlens import __version__
from rnnlens.artifacts import (
    SCHEMA,
    exclusive,
    read_json,
    read_lines,
    read_marked_tensors,
    read_tensors,
    understood,
    write_json,
    write_tensors,
)
from rnnlens.corpora.vocab import Vocab
from rnnlens.errors import RnnlensError, quoted
from rnnlens.networks import Network
from rnnlens.training.config import TrainConfig

SHARED = ("accuracy", "loss", "provenance", "beginning", "ending")  # parts of results.json that several commands write
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
        path = self.weights
        tensors, _ = read_tensors(path)
        with understood(self.path / "run.json", "run of rnnlens"):
            shape = self.about["network"]
            least = shape["hidden"] * (shape["hidden"] + shape["embedding"])  # of any cell: before memory is asked for
            if sum(array.size for array in tensors.values()) < least + len(self.vocab) * shape["embedding"]:
                raise _misfit(path, tensors)
            network = Network(self.vocab, **shape)
        if tensors.get("h0", np.zeros(0)).dtype == np.float64:
            network = network.double()  # half precision, which a packaged run may be stored in, is read as single
        load_weights(network, tensors, path)
        return network

    @property
    def config(self) -> TrainConfig:
        with understood(self.path / "run.json", "run of rnnlens"):
            return TrainConfig(**self.about["config"])

    @cached_property
    def results(self) -> dict[str, Any]:
        """results.json, or nothing yet."""
        path = self.path / "results.json"
        found = read_json(path) if path.exists() else {}
        for name in ("network", "accuracy", "loss", "provenance", "probes", "beginning", "ending"):
            if not isinstance(found.get(name, {}), dict):
                raise RnnlensError(
                    f"{quoted(str(path))} is damaged: its {name} is {quoted(found[name])}; write it anew"
                )
        return found

    @property
    def accuracy(self) -> dict[str, Any]:
        """Accuracies by split, and of perturbed reviews; a run whose results.json has none is an error."""
        if "accuracy" not in self.results:
            path = quoted(str(self.path / "results.json"))
            raise RnnlensError(f"{path} with the accuracy of this run is missing: restore it, or train the run again")
        return self.results["accuracy"]

    @property
    def history(self) -> list[dict[str, Any]]:
        """One record an epoch."""
        return read_lines(self.path / "history.jsonl")

    def without_subspace(self, network: Network | None = None) -> Network | None:
        """The network without the modifier subspace that an analysis stored; None if there was none."""
        from rnnlens.context.subspace import project_out

        arrays = self.analysed()
        if "subspace" not in arrays:
            return None
        network = self.network if network is None else network
        with understood(self.path / "analysis.safetensors", "analysis of this network"):
            V, h_star = (arrays[name].to(network.h0) for name in ("subspace", "h_star"))
            return project_out(network, V, h_star)

    def analysed(self) -> dict[str, Tensor]:
        """analysis.safetensors, or nothing yet; of the same analysis as results.json."""
        path = self.path / "analysis.safetensors"
        if not path.exists():
            return {}
        tensors, _, mark = read_marked_tensors(path)
        known = self.results.get("provenance")
        if isinstance(known, dict) and known.get("analysis", mark) != mark:
            raise RnnlensError(
                f"{quoted(str(path))} is of another analysis than results.json, perhaps one that was interrupted: "
                f"run `rnnlens analyze {self.path}` again"
            )
        return {name: torch.from_numpy(array.copy()) for name, array in tensors.items()}

    def add_results(self, **results: Any) -> None:
        """Merge results into results.json, a key at a time, and the parts that several commands write (accuracy, loss,
        provenance, beginning, ending) by their own keys. Pass only what was measured: the rest stays as it is in the
        file, whichever process or thread wrote it."""
        path = self.path / "results.json"
        with exclusive(self.path, wait=True):
            merged = merge_results(read_json(path) if path.exists() else {}, results)
            write_json(path, merged)
            self.results.update(merged)

    def __repr__(self) -> str:
        network, accuracy = self.network, self.results.get("accuracy") or {}
        parts = [name for name in ("validation", "test") if isinstance(accuracy.get(name), int | float)]
        shown = "".join(f", {name} {100 * accuracy[name]:.2f} %" for name in parts)
        return f"Run({str(self.path)!r}: {network.arch} of {network.cell.hidden} units{shown})"


def merge_results(known: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """`known` updated with `new`; shared parts are updated key by key."""
    both = [name for name in SHARED if isinstance(known.get(name), dict) and isinstance(new.get(name), dict)]
    return {**known, **new, **{name: {**known[name], **new[name]} for name in both}}


def load(path: Path | str) -> Run:
    """Open a run folder, or one that `export` wrote: `.network`, `.vocab`, `.config`, `.results`, `.history`.
    `zoo:NAME` comes along."""
    if str(path).startswith("zoo:"):
        from rnnlens.zoo import packaged

        path = packaged(str(path).removeprefix("zoo:"))
    path = Path(path)
    about = read_about(path)
    run = Run(path, about)
    if about.get("status") != "finished" or not run.weights.exists():
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
    with understood(file, "run of rnnlens"):
        if about.get("schema", 0) > SCHEMA:
            raise RnnlensError(
                f"{quoted(str(path))} has schema {about['schema']}, rnnlens {__version__} reads up to {SCHEMA}: "
                "upgrade it"
            )
        for name, kind in (("version", str), ("status", str), ("network", dict), ("config", dict), ("corpus", dict)):
            if not isinstance(about[name], kind):
                raise TypeError(f"its {name} is {quoted(about[name])}")
    return about


def write_vocab(path: Path, vocab: Vocab) -> None:
    write_json(path, {"words": list(vocab.words), "counts": vocab.counts})


def read_vocab(path: Path) -> Vocab:
    content = read_json(path)
    with understood(path, "vocabulary of rnnlens"):
        return Vocab(content["words"], content.get("counts"))


def write_weights(path: Path, network: Network) -> str:
    return write_tensors(path, network.state_dict())


def load_weights(network: Network, tensors: dict[str, Any], path: Path) -> None:
    """Copy tensors into a network of the same shape (copies: what a file maps may be ill-aligned)."""
    wanted = network.state_dict()
    wrong = set(wanted) ^ set(tensors) or {n for n in wanted if tuple(wanted[n].shape) != tensors[n].shape}
    if wrong:
        raise _misfit(path, wrong)
    for name, array in tensors.items():
        if array.dtype.kind != "f":
            raise RnnlensError(
                f"{quoted(str(path))} holds {name} as {array.dtype}: expected real numbers; train it again"
            )
    with torch.no_grad(), understood(path, "weights of rnnlens"):
        for name, tensor in wanted.items():
            if tensors[name].dtype.kind != "f":  # copied into real weights, complex ones would lose a part
                raise ValueError(f"its {name} is {tensors[name].dtype}, expected real numbers")
            tensor.copy_(torch.from_numpy(tensors[name].copy()))
    network.check_finite(quoted(str(path)))


def _misfit(path: Path, names: Iterable[str]) -> RnnlensError:
    return RnnlensError(
        f"{quoted(str(path))} does not fit its run.json: {quoted(', '.join(sorted(names)))} differ; "
        "restore the one that was changed, or train again"
    )
