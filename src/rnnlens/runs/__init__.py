"""Runs: the folder of one trained network, its training settings, packaged networks, and export."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rnnlens.common.lazy import lazily

if TYPE_CHECKING:
    from rnnlens.runs.config import TrainConfig
    from rnnlens.runs.exporting import export
    from rnnlens.runs.folder import Run, load, load_checked, merge_results, read_about, unpack
    from rnnlens.runs.weights import load_weights, weights_fingerprint, write_vocab, write_weights

__all__ = [
    "Run", "load", "load_checked", "load_weights", "merge_results", "read_about", "unpack", "weights_fingerprint",
    "write_vocab", "write_weights", "TrainConfig", "export",
]  # fmt: skip

_HOMES = {
    "TrainConfig": "config", "export": "exporting", "load_weights": "weights", "weights_fingerprint": "weights",
    "write_vocab": "weights", "write_weights": "weights",
}  # fmt: skip
__getattr__ = lazily(__name__, {name: _HOMES.get(name, "folder") for name in __all__})
