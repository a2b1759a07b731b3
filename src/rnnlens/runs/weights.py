"""Write the weights and the vocabulary of a run, and copy weights into a network of the same shape."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import tensors_fingerprint, write_json, write_tensors
from rnnlens.corpora.vocab import Vocab
from rnnlens.networks import AnyNetwork


def write_vocab(path: Path, vocab: Vocab) -> str:
    return write_json(path, {"words": list(vocab.words), "counts": vocab.counts})


def write_weights(path: Path, network: AnyNetwork) -> str:
    return write_tensors(path, weights_of(network))


def weights_fingerprint(network: AnyNetwork) -> str:
    """The fingerprint that `write_weights` would return."""
    return tensors_fingerprint(weights_of(network))


def weights_of(network: AnyNetwork) -> dict[str, Tensor]:
    """Every weight by name; one that two parts share, as an embedding, by the first of its names."""
    named: dict[int, tuple[str, Tensor]] = {}
    for name, tensor in network.state_dict(keep_vars=True).items():
        named.setdefault(id(tensor), (name, tensor.detach()))
    return dict(named.values())


def snapshot_path(run: Path, step: int) -> Path:
    """The file with the weights that `train(…, snapshots=N)` kept after this many steps."""
    return run / "snapshots" / f"{step}.safetensors"


def load_weights(network: AnyNetwork, tensors: dict[str, Any], path: Path) -> None:
    """Copy tensors into a network of the same shape (copies, since mapped arrays may be misaligned)."""
    own = weights_of(network)
    wrong = set(own) ^ set(tensors) or {n for n in own if tuple(own[n].shape) != tensors[n].shape}
    if wrong:
        raise misfit(path, wrong)
    for name, array in tensors.items():
        if array.dtype.kind != "f":  # complex numbers would lose their imaginary part
            raise RnnlensError(
                f"{quoted(str(path))} holds {name} as {array.dtype}: expected real numbers; train it again"
            )
    with torch.no_grad():
        for name, tensor in own.items():
            tensor.copy_(torch.from_numpy(tensors[name].copy()))
    network.check_finite(quoted(str(path)))


def misfit(path: Path, names: Iterable[str]) -> RnnlensError:
    """The error for weights with other names or shapes than in run.json."""
    return RnnlensError(
        f"{quoted(str(path))} does not fit its run.json: {quoted(', '.join(sorted(names)))} differ; "
        "restore the one that was changed, or train again"
    )
