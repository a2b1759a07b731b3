"""What `rnnlens train` and `python -m rnnlens.training` both do: open the corpus, train a network, say how well."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from rnnlens.errors import RnnlensError, quoted
from rnnlens.training.config import TrainConfig

if TYPE_CHECKING:
    from rnnlens.runs import Run


def train_command(
    corpus: str,
    out: Path,
    config: TrainConfig,
    arch: str = "gru",
    hidden: int = 256,
    embedding: int = 128,
    resume: bool = False,
    device: str | None = None,
    test: bool = False,
    threads: int | None = None,
) -> Run:
    """Train a fresh network of the given shape on a corpus (a source, a prepared folder, or `toy`)."""
    import torch

    from rnnlens.corpora import load_corpus, toy_corpus
    from rnnlens.networks import Network
    from rnnlens.training.loop import train

    check_device(device)
    if threads is not None:
        torch.set_num_threads(threads)
    data = toy_corpus(seed=config.seed) if corpus == "toy" else load_corpus(corpus)
    network = Network(data.vocab, arch=arch, hidden=hidden, embedding=embedding, seed=config.seed)
    run = train(network, data, config, out, resume=resume, device=device, test=test)
    if int(os.environ.get("RANK", 0)) == 0:
        for record in run.history:
            told = "  ".join(f"{key} {value:.4g}" for key, value in record.items())
            print(told)
        print(repr(run))
    return run


def check_device(device: str | None) -> None:
    import torch

    if device not in (None, "cpu", "cuda"):
        raise RnnlensError(f"device is {quoted(device)}: expected cpu or cuda (CUDA_VISIBLE_DEVICES picks which one)")
    if device == "cuda" and not torch.cuda.is_available():
        raise RnnlensError("device is 'cuda', but torch sees no GPU here: use --device cpu")
