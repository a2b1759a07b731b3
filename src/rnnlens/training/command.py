"""`rnnlens train`: open the corpus, train a network, print its accuracy."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import read_lines
from rnnlens.common.ranges import check_options
from rnnlens.common.replacing import check_place
from rnnlens.common.terminal import say
from rnnlens.runs import zoo
from rnnlens.runs.config import TrainConfig

if TYPE_CHECKING:
    from rnnlens.corpora.protocol import CorpusLike
    from rnnlens.networks import AnyNetwork, Network
    from rnnlens.runs import Run


SHAPE = ("hidden", "embedding", "scale", "memory", "both_ways", "layers", "convolution")  # of new_network
NAMES = tuple(field.name for field in fields(TrainConfig))
FEW_REVIEWS = {"scale": 0.1, "memory": 100, "learning_rate": 0.01}  # settings that learn from few reviews


def given_fields(flags: Mapping[str, Any], more: tuple[str, ...] = ()) -> dict[str, Any]:
    """The flags that are fields of TrainConfig or named in `more`."""
    return {name: flags[name] for name in (*more, *NAMES) if name in flags}


def resolve(given: Mapping[str, Any], chosen: Mapping[str, Any] | None = None) -> tuple[dict[str, Any], TrainConfig]:
    """The shape of a network and its training settings: `given` first, then `chosen` by a search, then the defaults.
    A search scores the last weights, so its settings keep the last weights too."""
    merged = {**({"keep": "last", **chosen} if chosen is not None else {}), **given}
    shape = {name: merged.pop(name) for name in SHAPE if name in merged}
    fields = given_fields(merged)
    if unknown := merged.keys() - fields.keys():
        raise RnnlensError(f"there is no setting {quoted(min(unknown))}: expected {', '.join((*SHAPE, *NAMES))}")
    check_options("network", shape)
    return shape, TrainConfig(**fields)


def train_command(
    corpus: str,
    out: Path,
    given: Mapping[str, Any],
    *,
    arch: str | None = None,
    start: str | None = None,
    tuned: bool = False,
    settings: Path | None = None,
    sources: str | None = None,
    refit: bool = False,
    resume: bool = False,
    test: bool = False,
    device: str | None = None,
    threads: int | None = None,
    snapshots: int | None = None,
) -> Run:
    """Train a network on a corpus (a source, a prepared folder, or `toy`).

    given      options by name, the network's shape and fields of TrainConfig; they override settings and tuned
    settings   the settings.json of a sweep
    tuned      use the bundled settings
    arch       of a new network, by default a GRU
    start      a run folder or `zoo:NAME`: fine-tune its network, with the corpus's new words added
    sources    train on these sources of the corpus only, separated by commas
    refit      train on training and validation reviews together
    snapshots  how many times to keep the weights along the training
    """
    from rnnlens.corpora import load_corpus, toy_corpus

    check_options("train", given, threads=threads)
    _, config = resolve(given)
    check_place(out, folder=True)
    if settings is not None and tuned:
        raise RnnlensError(f"got both --tuned and --settings {quoted(str(settings))}: expected one of the two")
    if sources is not None and corpus == "toy":
        raise RnnlensError(f"--sources is {quoted(sources)}: the toy language has no sources; leave --sources out")
    if refit and corpus == "toy":
        raise RnnlensError("got --refit with the toy language, whose reviews are generated: leave --refit out")
    start_run = None if start is None else _open_start(start, arch, given, corpus, tuned or settings is not None)
    # Open the corpus first, so that a missing source is reported before torch is imported.
    data: Any = toy_corpus(seed=config.seed) if corpus == "toy" else load_corpus(corpus)
    if start_run is not None:
        from rnnlens.networks import extend, with_classes

        _check_start(start_run, data)
        network: AnyNetwork = extend(start_run.network, data.vocab, seed=config.seed)
        if data.classes != _classes_of(network):
            network = with_classes(cast("Network", network), data.classes, data.ordered, seed=config.seed)
        data = data.with_vocab(network.vocab)
    if sources is not None:
        data = data.only([name.strip() for name in sources.split(",")])
    chosen = None
    if settings is not None or tuned:
        from rnnlens.training.settings import TUNED, read_choice

        chosen = read_choice(settings or TUNED, arch or "gru", None if corpus == "toy" else data)["parameters"]
    shape, config = resolve(given, chosen)
    data = data.refit() if refit else data

    from rnnlens.training.loop import train
    from rnnlens.training.resuming import is_finished

    if start_run is None:
        from rnnlens.networks import new_network

        shape |= {"classes": data.classes, "ordered": data.ordered} if getattr(data, "classes", ()) else {}
        network = new_network(data.vocab, arch=arch or "gru", seed=config.seed, **shape)
    else:
        from rnnlens.training.fine_tuning import OTHER_CLASSES, start_config

        others = OTHER_CLASSES if _classes_of(network) != _classes_of(start_run.network) else {}
        config = start_config(start_run, **{**others, **given_fields(given)})
    options: dict[str, Any] = {"resume": resume, "device": device, "test": test, "threads": threads}
    epochs, finished = _Epochs(out), is_finished(out)  # without `resume` it is an error
    report = (lambda: None) if sys.stderr.isatty() else epochs.show  # a terminal has a progress bar
    run = train(network, data, config, out, **options, start=start_run, snapshots=snapshots, report=report)
    if int(os.environ.get("RANK", 0)) == 0:
        epochs.show()
        if finished:
            say("this run was finished already: nothing was trained")
        _report(run, data, tuned)
    return run


class _Epochs:
    """Prints the epochs of a run, each of them once, as soon as it is in the run's history."""

    def __init__(self, out: Path):
        self.history, self.shown = out / "history.jsonl", 0

    def show(self) -> None:
        records = read_lines(self.history)
        for record in records[self.shown :]:
            say("  ".join(f"{key} {value:.4g}" for key, value in record.items()), flush=True)
        self.shown = len(records)


def _report(run: Run, corpus: CorpusLike, tuned: bool) -> None:
    """Print the accuracy of the run and of each source, and a hint if it is low. tuned: whether it has the bundled
    settings."""
    say(repr(run))
    if stopped := _stopped(run):
        say(stopped)
    for line in accuracy_by_source(run.accuracy):
        say(line)
    if hint := _hint(run, corpus, tuned):
        say(hint)


def accuracy_by_source(accuracy: Mapping[str, Any]) -> list[str]:
    """A line for each split with the accuracy on each of several sources."""
    return [
        f"{split} accuracy by source: "
        + ", ".join(f"{name} {100 * part['accuracy']:.2f} %" for name, part in parts.items())
        for split in ("validation", "test")
        if (parts := accuracy.get(f"{split}_sources"))
    ]


def _open_start(start: str, arch: str | None, given: Mapping[str, Any], corpus: str, settings: bool) -> Run:
    """The run to start from; an error with options that only apply to new networks."""
    from rnnlens.training.fine_tuning import open_start

    if settings:
        raise RnnlensError(
            f"start is {quoted(start)}, but --tuned and --settings are for new networks: leave them out, or leave "
            "--start out"
        )
    if corpus == "toy":
        raise RnnlensError(
            f"start is {quoted(start)}, and the toy language has its own words: train it without --start"
        )
    return open_start(start, arch, {name: given[name] for name in SHAPE if name in given})


def _classes_of(network: AnyNetwork) -> tuple[str, ...]:
    """The names of three or more classes; none of two."""
    return network.classes if network.several_classes else ()


def _check_start(start: Run, corpus: Any) -> None:
    """Refuse a run that reads in another order, or that reads both ways and has other classes."""
    if start.network.backward != ("reversed" in corpus.about):
        orders = ["reverse", "usual"] if start.network.backward else ["usual", "reverse"]
        raise RnnlensError(
            f"start is {quoted(start.name)}, which reads words in their {orders[0]} order, and the corpus has them in "
            f"their {orders[1]} order: prepare it {'with' if start.network.backward else 'without'} --reverse"
        )
    if corpus.classes != _classes_of(start.network) and hasattr(start.network, "forwards"):
        raise RnnlensError(
            f"start is {quoted(start.name)}, which reads both ways and has other classes than the corpus: leave "
            "--start out, or start from a network of the same classes"
        )


def _stopped(run: Run) -> str | None:
    """A line for a run that ended before its last epoch, because the validation accuracy had stopped rising."""
    config, last = run.config, len(run.history)
    if not config.patience or config.steps or last >= config.epochs:
        return None
    epochs = f"{config.patience} epoch{'s' if config.patience > 1 else ''}"
    return f"stopped after epoch {last} of {config.epochs}: validation accuracy had not risen for {epochs}"


def _hint(run: Run, corpus: CorpusLike, tuned: bool = False) -> str | None:
    """A hint if validation accuracy is near that of a constant answer; small corpora train for few steps."""
    accuracy, split = run.accuracy.get("validation"), corpus.validation
    if accuracy is None or split is None or np.ndim(split.labels) != 1:
        return None
    constant = np.bincount(np.asarray(split.labels, int)).max() / len(split)  # of always answering the largest class
    if accuracy > constant + 0.1 * (1 - constant):
        return None
    better = "hardly better than" if accuracy > constant else "no better than"
    hint = f"hint: {100 * accuracy:.1f} % is {better} a constant answer ({100 * constant:.1f} %). Try "
    if "start" in run.about:
        return hint + "more epochs or a higher learning rate"
    from rnnlens.networks.cells import CELLS

    used = {**run.about["network"], **asdict(run.config)}
    tips = ["more epochs"]
    if run.about["network"]["arch"] in CELLS and not tuned:
        tips.append("the bundled settings (--tuned)")
    if any(used.get(name) != value for name, value in FEW_REVIEWS.items()):
        flags = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in FEW_REVIEWS.items())
        tips.append(f"settings for few reviews ({flags})")
    if zoo.suits(zoo.START, corpus):
        tips.append(f"a packaged network (--start zoo:{zoo.START})")
    return hint + " or ".join(part for part in (", ".join(tips[:-1]), tips[-1]) if part)
