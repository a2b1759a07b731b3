"""The networks that `validate` puts to the test: each trained on a synthetic language, and measured, by itself.

What a folder of `validate` holds before anything is scored: DIR/corpus, DIR/probes.json, DIR/ARCH-SEED (run folders,
with every word's measures in validation.safetensors). Every step uses what is finished already.
"""

from __future__ import annotations

import dataclasses
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from rnnlens.artifacts import read_json, read_tensors, write_json, write_tensors
from rnnlens.context.probes import Probes
from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.synthetic import Language, prepared_synthetic
from rnnlens.corpora.truth import Truth
from rnnlens.experiments.recipe import Settings
from rnnlens.provenance import KEY, check_named, names_in
from rnnlens.runs import Run

TOP = 10_000


@dataclasses.dataclass(frozen=True)
class Subject:
    """One network to be: its language and that one's seed, how it is made and trained, its own seed, and the folder."""

    language: Language
    language_seed: int
    settings: Settings
    seed: int
    out: Path

    @property
    def folder(self) -> Path:
        return self.out / f"{self.settings.arch}-{self.seed}"


@lru_cache(maxsize=1)
def opened(out: Path) -> tuple[Corpus, Truth]:
    """A language that was made before."""
    from rnnlens.corpora import load_corpus

    return load_corpus(out / "corpus"), Truth.load(out / "corpus")


def prepare(language: Language, language_seed: int, out: Path) -> tuple[Corpus, Truth, Probes]:
    """The language's documents, its truth, and probe words."""
    corpus, truth = prepared_synthetic(language, language_seed, out / "corpus")
    path = out / "probes.json"
    if not path.exists():
        write_json(path, {**dataclasses.asdict(Probes.from_corpus(corpus)), KEY: {"corpus": corpus.fingerprint}})
    return corpus, truth, read_probes(out, corpus)


def read_probes(out: Path, corpus: Corpus) -> Probes:
    """The probe words that `prepare` stored, which must be of this corpus."""
    path = out / "probes.json"
    stored = read_json(path)
    advice = "move it away to choose the probe words again"
    check_named(path, names_in(stored), "corpus", out / "corpus", corpus.fingerprint, advice)
    return Probes(**{name: value for name, value in stored.items() if name != KEY})


def train_subject(subject: Subject, device: str | None = None) -> Run:
    """Train one network, or open the one that was trained before; read the test documents once."""
    from rnnlens.networks import Network
    from rnnlens.training.loop import train

    settings, seed = subject.settings, subject.seed
    corpus, _ = opened(subject.out)
    shape = settings.hidden, settings.embedding
    network = Network(corpus.vocab, settings.arch, *shape, seed, settings.scale, settings.memory)
    config = dataclasses.replace(settings.config, seed=seed)
    return train(network, corpus, config, subject.folder, resume=True, device=device, test=True, progress=False)


def measure_subject(subject: Subject, device: str | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Take a trained network apart: every word's measures, and its results; or read what was measured before."""
    from rnnlens.experiments.measuring import measure_causes, measure_words, take_apart
    from rnnlens.runs import load

    corpus, truth = opened(subject.out)
    run, stored = load(subject.folder), subject.folder / "validation.safetensors"
    if not stored.exists() or "validation" not in run.results:
        where = device or ("cuda" if torch.cuda.is_available() else None)
        probes = read_probes(subject.out, corpus)
        analysis = take_apart(run, corpus, probes, TOP, where)
        run.add_results(**analysis.results, validation={"causes": measure_causes(analysis, corpus, truth)})
        arrays = measure_words(analysis, corpus, truth.modifiers)
        write_tensors(stored, arrays, {"what": "every word's measures, for `rnnlens validate`", KEY: run.provenance})
    tensors, about = read_tensors(stored)
    run.check_provenance(stored, names_in(about), "move it away to measure again")
    return tensors, run.results


def train_and_measure(subject: Subject, device: str | None = None) -> tuple[float, float]:
    """Both, as one job; returns how long each took."""
    began = time.monotonic()
    train_subject(subject, device)
    trained = time.monotonic()
    measure_subject(subject, device)
    return trained - began, time.monotonic() - trained
