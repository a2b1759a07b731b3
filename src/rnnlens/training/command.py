"""What `rnnlens train` and `python -m rnnlens.training` both do: open the corpus, train a network, say how well."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

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
    scale: float = 1.0,
    refit: bool = False,
    settings: Path | None = None,
    memory: float = 0.0,
    tuned: bool = False,
) -> Run:
    """Train a fresh network of the given shape on a corpus (a source, a prepared folder, or `toy`); with `refit`, on
    its training and validation reviews together; with `settings`, as a sweep chose, and `tuned`, as the one for
    Table 1 did, but for what is no default."""
    from rnnlens.corpora import load_corpus, toy_corpus

    # The corpus first: a source that is not there is told before torch is imported.
    data: Any = toy_corpus(seed=config.seed) if corpus == "toy" else load_corpus(corpus)
    if refit and corpus == "toy":
        raise RnnlensError("the toy language has no end of reviews: there is nothing to refit on")
    if settings is not None and tuned:
        raise RnnlensError(f"tuned settings come along, {quoted(str(settings))} is another choice: give one of the two")
    if settings is not None or tuned:
        from rnnlens.experiments.settings import PACKAGED, read_choice

        known = None if corpus == "toy" else data
        chosen, usual = read_choice(settings or PACKAGED, arch, known)["parameters"], TrainConfig()
        given = {name: value for name, value in asdict(config).items() if value != getattr(usual, name)}
        hidden = chosen.get("hidden", hidden) if hidden == 256 else hidden
        embedding = chosen.get("embedding", embedding) if embedding == 128 else embedding
        scale = chosen.get("scale", scale) if scale == 1.0 else scale
        memory = chosen.get("memory", memory) if memory == 0 else memory
        fields = {name: value for name, value in chosen.items() if name in asdict(usual)}
        config = TrainConfig(**{**fields, "keep": "last", **given})
    data = data.refit() if refit else data

    from rnnlens.networks import Network
    from rnnlens.training.loop import train

    shape = {"hidden": hidden, "embedding": embedding, "scale": scale, "memory": memory}
    network = Network(data.vocab, arch=arch, seed=config.seed, **shape)  # type: ignore[arg-type]
    run = train(network, data, config, out, resume=resume, device=device, test=test, threads=threads)
    if int(os.environ.get("RANK", 0)) == 0:
        for record in run.history:
            told = "  ".join(f"{key} {value:.4g}" for key, value in record.items())
            print(told)
        print(repr(run))
        if hint := _hint(run, data):
            print(hint)
    return run


def _hint(run: Run, corpus: Any) -> str | None:
    """What to try where a network has learnt hardly anything: few reviews are few steps."""
    accuracy, split = run.accuracy.get("validation"), corpus.validation
    if accuracy is None or np.ndim(split.labels) != 1:
        return None
    positive = float(np.mean(split.labels))
    same = max(positive, 1 - positive)
    if accuracy > same + 0.1 * (1 - same):
        return None
    return (
        f"hint: {100 * accuracy:.1f} % is hardly better than always saying the same ({100 * same:.1f} %): train for "
        "more epochs, with the settings that come along (--tuned), or begin so that few reviews suffice: "
        "--scale 0.1 --memory 100 --learning-rate 0.01"
    )
