"""What run.json says before training begins, and whether a folder may be written to or gone on with."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import fingerprint, parsing
from rnnlens.common.provenance import KEY, RUN_SCHEMA
from rnnlens.common.replacing import FINGERPRINTED, check_file
from rnnlens.common.version import __version__
from rnnlens.corpora.protocol import CorpusLike
from rnnlens.networks import Network
from rnnlens.runs import Run, read_about, weights_fingerprint
from rnnlens.runs.config import TrainConfig
from rnnlens.training.checkpoint import checkpoint_path


def about_run(network: Network, corpus: CorpusLike, config: TrainConfig, start: Run | None) -> dict[str, Any]:
    """What run.json says of a run that is about to be trained."""
    return {
        "schema": RUN_SCHEMA,
        "version": __version__,
        "network": network.config,
        "config": dataclasses.asdict(config),
        "corpus": {"fingerprint": corpus.fingerprint, **corpus.about},
        **({} if start is None else {"start": _start(start, network)}),
    }


def check_writable(out: Path, about: dict[str, Any], resume: bool) -> None:
    """Refuse to write over another run or anything else, or to resume a run with other settings; name what differs."""
    if not (out / "run.json").exists():
        ours = {"vocab.json", ".lock"}  # what a run killed at its very start leaves
        if out.exists() and not out.is_dir():
            raise RnnlensError(f"{quoted(str(out))} is no folder: choose another to write to")
        there = sorted(path.name for path in out.iterdir()) if out.exists() else []
        foreign = [name for name in there if name not in ours and not name.endswith(".tmp")]
        if foreign:
            raise RnnlensError(
                f"{quoted(str(out))} holds {quoted(foreign[0])}, which is not part of a run: choose another folder"
            )
        check_file(out / "vocab.json", FINGERPRINTED, "a vocabulary that rnnlens wrote")
        return
    if not resume:
        raise RnnlensError(f"{quoted(str(out))} already holds a run: resume it with --resume, or choose another --out")
    with parsing(out / "run.json", "run of rnnlens"):
        before = _deciding(read_about(out))
    # What an older version did not ask for was as it is by default.
    for part, usual in (("network", {}), ("config", dataclasses.asdict(TrainConfig())), ("corpus", {}), ("start", {})):
        old, new = {**usual, **before.get(part, {})}, _deciding(about).get(part, {})
        for key in sorted(set(old) | set(new)):
            if old.get(key) != new.get(key):
                raise RnnlensError(
                    f"cannot resume {quoted(str(out))}: its {part} {key} is {quoted(old.get(key))}, now "
                    f"{quoted(new.get(key))}; use the same settings, or choose another --out"
                )


def _deciding(about: dict[str, Any]) -> dict[str, Any]:
    """The parts of run.json that decide what is trained: of the corpus its content and how much each source counts, not
    where it lay; of the run it started from the weights, not its name."""
    corpus = about["corpus"]
    weights = {f"weight of {part['name']}": part["weight"] for part in corpus.get("sources", ())}
    names = {"fingerprint": corpus.get("fingerprint"), **weights}
    start = {"start": {"weights": about["start"].get("weights")}} if "start" in about else {}
    return {"network": about["network"], "config": about["config"], "corpus": names, **start}


def _start(start: Run, network: Network) -> dict[str, Any]:
    """What run.json says about the run that a network started from; a network of other words or shape is refused."""
    words = len(start.vocab)
    if network.config != start.network.config or network.vocab.words[:words] != start.vocab.words:  # type: ignore[union-attr]
        raise RnnlensError(
            f"the network was not made from the run {quoted(start.name)}: its words or its shape differ; make it with "
            "rnnlens.extend(start.network, corpus.vocab)"
        )
    return {"name": start.name, "weights": start.provenance["weights"], "words": words}


def provenance_of(out: Path, about: dict[str, Any], network: Network, vocabulary: str) -> dict[str, str]:
    """Fingerprints of the vocabulary and of the run: of all that decides what its checkpoints hold. A run that goes on
    from a checkpoint keeps its own, whatever the weights of the network that it is resumed with."""
    before = read_about(out) if (out / "run.json").exists() and checkpoint_path(out).exists() else {}
    start = {**_deciding(about), "vocabulary": vocabulary, "weights": weights_fingerprint(network)}
    return {"vocabulary": vocabulary, "run": before.get(KEY, {}).get("run") or fingerprint(start)}
