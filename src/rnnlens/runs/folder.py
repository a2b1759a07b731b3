"""A run: the folder of one trained network, read back and verified."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np
import torch
from torch import Tensor

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import (
    exclusive,
    file_fingerprint,
    parsing,
    read_json,
    read_lines,
    read_marked_json,
    read_marked_tensors,
    write_json,
)
from rnnlens.common.mending import mending
from rnnlens.common.provenance import KEY, RUN_SCHEMA, check_named, is_checked, names_in
from rnnlens.common.ranges import in_range
from rnnlens.common.replacing import atomic_folder
from rnnlens.common.version import __version__
from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.protocol import CorpusLike
from rnnlens.corpora.vocab import Vocab
from rnnlens.networks import Network
from rnnlens.networks.architectures import least_weights
from rnnlens.networks.reading import Reading
from rnnlens.runs import missing, zoo
from rnnlens.runs.config import TrainConfig
from rnnlens.runs.views import analyzed, untrained, without
from rnnlens.runs.weights import load_weights, misfit, snapshot_path

C = TypeVar("C", bound=CorpusLike | None)
Results = dict[str, Any]
SHARED = ("accuracy", "loss", KEY, "beginning", "ending")  # parts of results.json that several commands write
CONFIG, MODEL = "config.json", "model.safetensors"  # the names of run.json and weights.safetensors in an export


@dataclass(frozen=True)
class Run:
    """A run folder. `about` is its run.json; other files are read when first used, and refused if they are damaged or
    belong to another run."""

    path: Path
    about: dict[str, Any]

    @property
    def weights(self) -> Path:
        """The file of weights, as a run or an export (`rnnlens.export`) has it."""
        own = self.path / "weights.safetensors"
        return own if own.exists() or not (self.path / MODEL).exists() else self.path / MODEL

    @property
    def name(self) -> str:
        """`zoo:NAME` of a packaged run; otherwise the name of its folder, without the path."""
        name = self.path.resolve().name
        return f"zoo:{name}" if self.is_packaged else name

    @property
    def is_packaged(self) -> bool:
        return zoo.holds(self.path)

    @cached_property
    def vocab(self) -> Vocab:
        return self._vocab[0]

    @cached_property
    def network(self) -> Network | Any:  # Any: a BothWays, of a run that was trained to read both ways
        """The trained network, on the CPU."""
        return self._network[0]

    @property
    def analyzed_network(self) -> Network:
        """The network that the stored analysis is of: of several classes, the view of one (`Network.of_class`); of a
        network that reads both ways, one of its readers."""
        return analyzed(self.network, self.results.get("analysis"))

    @overload
    def read(self, text: str) -> Reading: ...
    @overload
    def read(self, text: list[str] | tuple[str, ...]) -> list[Reading]: ...
    @overload
    def read(self, text: None = None, *, words: Sequence[str]) -> Reading: ...
    def read(self, text: Any = None, *, words: Any = None) -> Reading | list[Reading]:
        """`network.read`: the words of a text, each with the logit after it, or the probabilities of the classes."""
        return self.network.read(text, words=words)

    def predict_proba(self, texts: Iterable[str]) -> np.ndarray:
        """`network.predict_proba`: probabilities (n, 2) of negative and positive, or (n, C) of C classes."""
        return self.network.predict_proba(texts)

    def predict(self, texts: Iterable[str]) -> np.ndarray:
        """`network.predict`: labels (n,), 0 or 1, or names of classes."""
        return self.network.predict(texts)

    @property
    def is_toy(self) -> bool:
        """Whether it was trained on the toy language, which has no reviews."""
        return "valences" in self.about["corpus"]

    @cached_property
    def provenance(self) -> dict[str, str]:
        """Fingerprints of the weights, vocabulary and corpus, which are stored with every result of this run."""
        corpus = str(self.about["corpus"].get("fingerprint", ""))
        return {"weights": self._network[1], "vocabulary": self._vocab[1], "corpus": corpus}

    def check_provenance(self, file: Path, names: object, advice: str) -> None:
        """Refuse a file of this folder that was made with other weights, another vocabulary or another corpus.

        names: the provenance that the file states."""
        if not is_checked(self.about):
            return
        files = {"weights": self.weights, "vocabulary": self.path / "vocab.json", "corpus": _about_file(self.path)}
        for what, mark in self.provenance.items():
            check_named(file, names, what, files[what], mark, advice)

    def check_corpus(self, corpus: CorpusLike) -> None:
        """Refuse a corpus that the run was not trained on. A run that was also trained on its validation reviews
        (`Corpus.refit`), or only on some of its sources (`Corpus.only`), was trained on it."""
        trained_on = {self.about["corpus"].get(name) for name in ("fingerprint", "refit", "whole")}
        if is_checked(self.about) and getattr(corpus, "fingerprint", None) not in trained_on:
            raise RnnlensError(
                f"{quoted(str(_about_file(self.path)))} names another corpus than {quoted(str(corpus))}: pass the one "
                f"of {quoted(self.about['corpus'].get('source'))}, on which the run was trained, or its network alone, "
                "as in analyze(run.network, corpus)"
            )

    def in_own_words(self, corpus: C) -> C | Corpus:
        """For a run with added words (`train --start`): the corpus that it was trained on, in the run's vocabulary. Any
        other corpus as it is."""
        recoded = self.about["corpus"].get("recoded")
        trained_on = recoded is not None and recoded == getattr(corpus, "fingerprint", None)
        return corpus.with_vocab(self.vocab) if trained_on and isinstance(corpus, Corpus) else corpus

    def _check_part(self, what: str, file: Path, mark: str) -> None:
        """Refuse a vocabulary or weights that run.json does not name."""
        if is_checked(self.about):
            check_named(_about_file(self.path), names_in(self.about), what, file, mark, f"{_RESTORE}, or train again")

    @cached_property
    def _vocab(self) -> tuple[Vocab, str]:
        """The vocabulary and its fingerprint."""
        path = self.path / "vocab.json"
        content, mark = read_marked_json(path)
        self._check_part("vocabulary", path, mark)
        with parsing(path, "vocabulary of rnnlens"):
            return Vocab(content["words"], content.get("counts")), mark

    @cached_property
    def _network(self) -> tuple[Network | Any, str]:
        """The network and the fingerprint of its weights."""
        path = self.weights
        tensors, _, mark = read_marked_tensors(path)
        self._check_part("weights", path, mark)
        return self._with_weights(path, tensors), mark

    def _with_weights(self, path: Path, tensors: dict[str, np.ndarray]) -> Network | Any:
        with parsing(_about_file(self.path), "run of rnnlens"):
            shape = self.about["network"]
            least = least_weights(shape) + len(self.vocab) * shape["embedding"]  # before memory is allocated
            if sum(array.size for array in tensors.values()) < least:
                raise misfit(path, tensors)
            network = untrained(self.vocab, self.about)
        if any(name.endswith("h0") and array.dtype == np.float64 for name, array in tensors.items()):
            network = network.double()  # half precision, which a packaged run may be stored in, is read as single
        load_weights(network, tensors, path)
        return network

    @property
    def config(self) -> TrainConfig:
        with parsing(_about_file(self.path), "run of rnnlens"):
            return TrainConfig(**self.about["config"])

    @cached_property
    def results(self) -> dict[str, Any]:
        """The content of results.json; empty if there is none yet."""
        path = self.path / "results.json"
        results = read_json(path) if path.exists() else {}
        for name in ("network", "accuracy", "loss", "provenance", "probes", "beginning", "ending"):
            if not isinstance(results.get(name, {}), dict):
                raise RnnlensError(
                    f"{quoted(str(path))} is damaged: its {name} is {quoted(results[name])}; {mending(path)}"
                )
        if path.exists():
            self.check_provenance(path, names_in(results), _RESTORE)
        return results

    @property
    def accuracy(self) -> dict[str, Any]:
        """Accuracies by split, and of perturbed reviews; it is an error if results.json has none."""
        if "accuracy" not in self.results:
            path = quoted(str(self.path / "results.json"))
            raise RnnlensError(f"{path} with the accuracy of this run is missing: restore it, or train the run again")
        return self.results["accuracy"]

    @property
    def history(self) -> list[dict[str, Any]]:
        """One record per epoch."""
        return read_lines(self.path / "history.jsonl")

    @property
    def steps(self) -> list[int]:
        """The steps of the training whose weights `train(…, snapshots=N)` kept, for `at`."""
        kept = (path.stem for path in snapshot_path(self.path, 0).parent.glob("*.safetensors"))
        return sorted(int(step) for step in kept if step.isdecimal())

    def at(self, step: int) -> Network | Any:
        """The network with the weights that it had after this many steps of its training."""
        if step not in self.steps:
            kept = ", ".join(map(str, self.steps)) or "none: train with --snapshots N to keep some"
            raise RnnlensError(f"the weights after step {quoted(step)} were not kept: those kept are {kept}")
        path = snapshot_path(self.path, step)
        tensors, about, _ = read_marked_tensors(path)
        run = str(self.about[KEY]["run"])
        check_named(path, names_in(about), "run", _about_file(self.path), run, _RESTORE)
        return self._with_weights(path, tensors)

    def without_subspace(self, network: Network | Any = None) -> Network | Any:
        """The network without the modifier subspace that an analysis stored; None if there is no analysis."""
        arrays = self.analysis_arrays()
        if "subspace" not in arrays:
            return None
        network = self.network if network is None else network
        with parsing(self.path / "analysis.safetensors", "analysis of this network"):
            return without(network, self.results.get("analysis"), arrays)

    def analysis_arrays(self) -> dict[str, Tensor]:
        """The arrays of analysis.safetensors, empty if there is none; they must be of the same analysis as
        results.json."""
        path = self.path / "analysis.safetensors"
        if not path.exists():
            return {}
        tensors, about, mark = read_marked_tensors(path)
        again = f"run `{missing.analyze(self.path)}` again"
        self.check_provenance(path, names_in(about), again)
        # An analysis that was interrupted between its two files leaves a results.json that does not name it.
        check_named(self.path / "results.json", names_in(self.results), "analysis", path, mark, again)
        return {name: torch.from_numpy(array.copy()) for name, array in tensors.items()}

    def is_analyzed(self) -> bool:
        """Whether the folder has an intact analysis of this network."""
        try:
            return bool(self.analysis_arrays())
        except RnnlensError:
            return False

    def states(self) -> Tensor | None:
        """The sample of visited states (K, N) that an analysis stored; None if there is none."""
        path = self.path / "states.safetensors"
        if not path.exists():
            return None
        tensors, about, _ = read_marked_tensors(path)
        self.check_provenance(path, names_in(about), f"{_RESTORE}, or move it away")
        size = self.analyzed_network.size
        with parsing(path, f"sample of states of {size} units"):
            return torch.from_numpy(tensors["states"].astype(np.float32).reshape(-1, size))

    def add_results(self, keep: Callable[[Results], Results] = dict, /, **results: Any) -> None:
        """Merge results into results.json, key by key, and the parts that several commands write (accuracy, loss,
        provenance, beginning, ending) by their own keys. Pass only new results: the rest of the file stays as it is,
        whichever process or thread wrote it. keep: what to keep of the content before; by default all of it."""
        path = self.path / "results.json"
        with exclusive(self.path, wait=True):
            stored = keep(read_json(path)) if path.exists() else {}
            known = merge_results({KEY: self.current_provenance()}, stored)
            merged = merge_results(known, results)
            write_json(path, merged)
            self.results.clear()
            self.results.update(merged)

    def current_provenance(self) -> dict[str, str]:
        """`provenance`, for new results; refused if the folder no longer holds the run that was opened."""
        if read_about(self.path).get(KEY) != self.about.get(KEY):
            raise RnnlensError(
                f"{quoted(str(self.path))} holds another run than when it was opened: the results were not stored; "
                "open it again and repeat"
            )
        return self.provenance

    def __repr__(self) -> str:
        network, accuracy = self.network, self.results.get("accuracy") or {}
        parts = [name for name in ("validation", "test") if isinstance(accuracy.get(name), int | float)]
        shown = "".join(f", {name} {100 * accuracy[name]:.2f} %" for name in parts)
        return f"Run({str(self.path)!r}: {network.arch} of {network.units}{shown})"


def merge_results(known: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """`known` updated with `new`; shared parts are updated key by key."""
    both = [name for name in SHARED if isinstance(known.get(name), dict) and isinstance(new.get(name), dict)]
    return {**known, **new, **{name: {**known[name], **new[name]} for name in both}}


@in_range("load")
def load(path: Path | str) -> Run:
    """Open a run folder, or one that `export` wrote: `.network`, `.vocab`, `.config`, `.results`, `.history`.

    The name of a packaged network, `zoo:reviews-gru` or `reviews-gru`, opens that; a folder of the same name takes
    precedence over the short form."""
    path = zoo.find(path) or Path(path)
    about = read_about(path)
    run = Run(path, about)
    if about.get("status") != "finished":
        raise missing.not_finished(path)
    run.network, run.results  # noqa: B018 - read now, so that damage is reported before an analysis begins
    return run


@in_range("folder")
def unpack(name: str, out: Path | str) -> Run:
    """A writable copy of a packaged run in the folder `out`; an existing copy is opened."""
    source, out = zoo.packaged(name), Path(out)
    if not (out / "run.json").exists():
        with atomic_folder(out) as temporary:
            for path in source.iterdir():
                if path.suffix in (".json", ".jsonl", ".safetensors", ".md"):
                    shutil.copy(path, temporary / path.name)
    run = load(out)
    weights = [folder / "weights.safetensors" for folder in (out, source)]
    if run.about != load(source).about or len({file_fingerprint(path) for path in weights}) > 1:
        raise RnnlensError(f"{quoted(str(out))} holds another run: choose another folder with --out")
    return run


def load_checked(path: Path | str) -> Run:
    """`load`, and also check that no other file of the folder is damaged or belongs to another run."""
    run = load(path)
    run.analysis_arrays()
    run.states()
    return run


def read_about(path: Path) -> dict[str, Any]:
    """The content of run.json (in an export, config.json), checked."""
    file = _about_file(path)
    if not file.exists():
        raise missing.no_run(path)
    about = read_json(file)
    if file.name == CONFIG and about.get("model_type") != "rnnlens":
        raise RnnlensError(f"{quoted(str(path))} holds another kind of model: expected a run or what `export` wrote")
    with parsing(file, "run of rnnlens"):
        if about.get("schema", 0) > RUN_SCHEMA:
            raise RnnlensError(
                f"{quoted(str(path))} has schema {about['schema']}, rnnlens {__version__} reads up to {RUN_SCHEMA}: "
                "upgrade rnnlens"
            )
        for name, kind in (("version", str), ("status", str), ("network", dict), ("config", dict), ("corpus", dict)):
            if not isinstance(about[name], kind):
                raise TypeError(f"its {name} is {quoted(about[name])}")
    return about


def _about_file(path: Path) -> Path:
    """run.json, or in an export config.json."""
    export = path / CONFIG
    return export if export.exists() and not (path / "run.json").exists() else path / "run.json"


_RESTORE = "restore the file that was changed"
