"""The contents of run.json before training, and whether a run may be written to a folder or resumed in it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import fingerprint, parsing
from rnnlens.common.options import CORPUS
from rnnlens.common.provenance import KEY, RUN_SCHEMA
from rnnlens.common.replacing import FINGERPRINTED, check_file
from rnnlens.common.version import __version__
from rnnlens.corpora.protocol import CorpusLike
from rnnlens.networks import AnyNetwork
from rnnlens.runs import Run, read_about, weights_fingerprint
from rnnlens.runs.config import TrainConfig
from rnnlens.training.checkpoint import checkpoint_path


def check_given(corpus: Any, config: Any) -> None:
    """Refuse what is no corpus or no TrainConfig."""
    if isinstance(corpus, Path | str):
        raise RnnlensError(f"corpus is {quoted(str(corpus))}: open it first, corpus = rnnlens.load_corpus(…)")
    if corpus not in CORPUS:
        raise RnnlensError(
            f"corpus is {quoted(type(corpus).__name__)}: expected a corpus; texts with their labels come in through "
            "rnnlens.Corpus.from_texts(texts, labels)"
        )
    if not isinstance(config, TrainConfig):
        raise RnnlensError(f"config is {quoted(type(config).__name__)}: expected rnnlens.TrainConfig(…)")


def about_run(
    network: AnyNetwork, corpus: CorpusLike, config: TrainConfig, start: Run | None, snapshots: int | None = None
) -> dict[str, Any]:
    """The contents of run.json for a run that is about to be trained."""
    return {
        "schema": RUN_SCHEMA,
        "version": __version__,
        "network": network.config,
        "config": dataclasses.asdict(config),
        "corpus": {"fingerprint": corpus.fingerprint, **corpus.about},
        **({} if start is None else {"start": _start(start, network)}),
        **({} if snapshots is None else {"snapshots": snapshots}),
    }


def is_finished(out: Path) -> bool:
    """Whether the folder holds a run whose training is finished."""
    return (out / "run.json").exists() and read_about(out)["status"] == "finished"


def check_writable(out: Path, about: dict[str, Any], resume: bool) -> None:
    """Raise an error if the folder holds other files, a run that is not to be resumed, or a run with other settings;
    the message names the first difference."""
    if not (out / "run.json").exists():
        ours = {"vocab.json", ".lock"}  # left by a run that was killed before it wrote run.json
        if out.exists() and not out.is_dir():
            raise RnnlensError(f"{quoted(str(out))} is not a folder: choose another --out")
        names = sorted((path.name for path in out.iterdir()) if out.exists() else [], key=lambda n: (n[0] == ".", n))
        foreign = [name for name in names if name not in ours and not name.endswith(".tmp")]
        if foreign:
            raise RnnlensError(f"{quoted(str(out))} holds {quoted(foreign[0])} but no run.json: choose another folder")
        check_file(out / "vocab.json", FINGERPRINTED, "a vocabulary that rnnlens wrote")
        return
    if not resume:
        raise RnnlensError(f"{quoted(str(out))} already holds a run: resume it with --resume, or choose another --out")
    stored = read_about(out)
    with parsing(out / "run.json", "run of rnnlens"):
        before = _decisive(stored)
    if stored.get("snapshots") != about.get("snapshots"):
        old, new = (content.get("snapshots") or "none" for content in (stored, about))
        raise RnnlensError(
            f"cannot resume {quoted(str(out))}: its number of snapshots is {quoted(old)}, now {quoted(new)}; use the "
            "same number, or choose another --out"
        )
    now = _decisive(about)
    if before.get("start") != now.get("start"):  # network and settings then differ only because of it
        name = stored.get("start", {}).get("name")
        was = f"{quoted(name)}; start from it again (--start)" if name else "random weights; leave --start out"
        if name and name == about.get("start", {}).get("name"):
            was = f"other weights of {quoted(name)}, which was trained again since; start from those"
        raise RnnlensError(f"cannot resume {quoted(str(out))}: it started from {was}, or choose another --out")
    if before["corpus"].get("fingerprint") != now["corpus"].get("fingerprint"):  # the classes may differ because of it
        names = [quoted(str(content["corpus"].get("source"))) for content in (stored, about)]
        other = f"and not on this one, {names[1]}" if names[0] != names[1] else "with other content or options"
        raise RnnlensError(
            f"cannot resume {quoted(str(out))}: it was trained on the corpus {names[0]}, {other}; use the same corpus, "
            "or choose another --out"
        )
    for part in ("network", "config", "corpus"):
        old, new = before.get(part, {}), now.get(part, {})
        for key in sorted(set(old) | set(new)):
            if old.get(key) != new.get(key):
                what = "setting" if part == "config" else part
                raise RnnlensError(
                    f"cannot resume {quoted(str(out))}: its {what} {key} is {quoted(old.get(key))}, now "
                    f"{quoted(new.get(key))}; use the same settings, or choose another --out"
                )


def _decisive(about: dict[str, Any]) -> dict[str, Any]:
    """The parts of run.json that determine the trained weights: network, config, the corpus's content and source
    weights (not its path), and the weights of the run it started from (not its name)."""
    corpus = about["corpus"]
    weights = {f"weight of {part['name']}": part["weight"] for part in corpus.get("sources", ())}
    names = {"fingerprint": corpus.get("fingerprint"), **weights}
    start = {"start": {"weights": about["start"].get("weights")}} if "start" in about else {}
    return {"network": about["network"], "config": about["config"], "corpus": names, **start}


def _shape(network: AnyNetwork) -> dict[str, Any]:
    return {name: value for name, value in network.config.items() if name not in ("classes", "ordered")}


def _start(start: Run, network: AnyNetwork) -> dict[str, Any]:
    """The entry of run.json for the run that a network started from; an error if its words or shape differ. It may have
    other classes (`with_classes`)."""
    words, (own, its) = len(start.vocab), (_shape(one) for one in (network, start.network))
    if own != its or network.vocab.words[:words] != start.vocab.words:  # type: ignore[union-attr]
        raise RnnlensError(
            f"the network was not made from the run {quoted(start.name)}: its words or its shape differ; make it with "
            "rnnlens.extend(start.network, corpus.vocab)"
        )
    return {"name": start.name, "weights": start.provenance["weights"], "words": words}


def provenance_of(out: Path, about: dict[str, Any], network: AnyNetwork, vocabulary: str) -> dict[str, str]:
    """Fingerprints of the vocabulary and of the run, which covers all that determines its checkpoints. A run that
    resumes from a checkpoint keeps its fingerprint, whatever the weights of the network that is passed."""
    before = read_about(out) if (out / "run.json").exists() and checkpoint_path(out).exists() else {}
    start = {**_decisive(about), "vocabulary": vocabulary, "weights": weights_fingerprint(network)}
    return {"vocabulary": vocabulary, "run": before.get(KEY, {}).get("run") or fingerprint(start)}
