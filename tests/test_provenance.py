"""Files of one run belong together: a file of another run, or what another corpus made, is refused."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.support.calls import refused, refused_command
from tests.support.world import write_reviews

import rnnlens
from rnnlens import Network, Run, TrainConfig, train
from rnnlens.common.files import read_json, write_json
from rnnlens.corpora import Corpus, load_corpus, prepare
from rnnlens.training.loop import Trainer

CONFIG = TrainConfig(epochs=2, batch=64, checkpoint_every=2)


def trained(corpus: Corpus, out: Path, seed: int = 0, start: int | None = None, **how: Any) -> Run:
    """A run of a network of 4 units; start: the seed of its initial weights, where it is another."""
    network = Network(corpus.vocab, hidden=4, embedding=2, seed=seed if start is None else start)
    config = TrainConfig(**{**vars(CONFIG), "seed": seed})
    return train(network, corpus, config, out, progress=False, **how)


def killed(corpus: Corpus, out: Path, **how: Any) -> None:
    """A run that ends after its first checkpoint."""
    step = Trainer.step

    def dies(trainer: Trainer, rows: np.ndarray) -> torch.Tensor:
        if trainer.counters.step == 3:
            raise KeyboardInterrupt
        return step(trainer, rows)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Trainer, "step", dies)
        trained(corpus, out, **how)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus and two analyzed runs of it, which differ by their seed."""
    folder = tmp_path_factory.mktemp("stored")
    write_reviews(folder / "reviews.csv")
    corpus = prepare(folder / "reviews.csv", folder / "corpus", min_count=1)
    for seed in (0, 1):
        rnnlens.analyze(trained(corpus, folder / f"run{seed}", seed)).save()
    return folder


@pytest.fixture
def at(stored: Path, tmp_path: Path) -> Path:
    """A copy to change."""
    return Path(shutil.copytree(stored, tmp_path / "copy"))


# --- runs -------------------------------------------------------------------------------------------------------------

OPENED: dict[str, Callable[[Run], object]] = {
    "run.json": lambda run: run.network,
    "weights.safetensors": lambda run: run.network,
    "vocab.json": lambda run: run.vocab,
    "results.json": lambda run: run.results,
    "analysis.safetensors": Run.analysis_arrays,
    "states.safetensors": Run.states,
}


def permute(path: Path) -> None:
    """Two words of the vocabulary change places; the file is whole."""
    content = read_json(path)
    words = content["words"]
    write_json(path, {**content, "words": [words[1], words[0], *words[2:]]})


@pytest.mark.parametrize("file", OPENED)
def test_a_file_of_another_run_is_refused(file: str, at: Path) -> None:
    if file == "vocab.json":
        permute(at / "run0" / file)
    else:
        shutil.copy(at / "run1" / file, at / "run0" / file)
    refused(lambda: OPENED[file](rnnlens.load(at / "run0")), file, "does not fit")
    assert "does not fit" in refused_command("info", at / "run0")
    assert "does not fit" in refused_command("export", at / "run0", "--to", at / "model")


@pytest.mark.parametrize("name", ["weights", "vocabulary"])
@pytest.mark.parametrize("file", ["run.json", "results.json"])
def test_a_missing_name_is_no_way_around_the_check(file: str, name: str, at: Path) -> None:
    content = read_json(at / "run0" / file)
    for broken in ({k: v for k, v in content["provenance"].items() if k != name}, None, "x", [1]):
        write_json(at / "run0" / file, {**content, "provenance": broken})
        refused(lambda: rnnlens.load(at / "run0"), file)


def test_an_export_is_checked_like_a_run(at: Path) -> None:
    for seed in (0, 1):
        rnnlens.export(at / f"run{seed}", at / f"model{seed}")
    rnnlens.load(at / "model0").analysis_arrays()
    shutil.copy(at / "model1" / "model.safetensors", at / "model0" / "model.safetensors")
    assert "config.json' does not fit 'model.safetensors'" in refused_command("probe", at / "model0", "not bad")


# --- checkpoints ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [{"seed": 1}, {"start": 1}])
def test_a_checkpoint_of_another_run_is_not_resumed(other: dict[str, int], stored: Path, tmp_path: Path) -> None:
    """Of another seed, and of a network with other initial weights."""
    corpus, checkpoint = load_corpus(stored / "corpus"), Path("checkpoint", "last.safetensors")
    killed(corpus, tmp_path / "one")
    killed(corpus, tmp_path / "two", **other)
    shutil.copytree(tmp_path / "one", tmp_path / "intact")
    shutil.copy(tmp_path / "two" / checkpoint, tmp_path / "one" / checkpoint)
    refused(lambda: trained(corpus, tmp_path / "one", resume=True), "last.safetensors' does not fit 'run.json'")
    resumed = trained(corpus, tmp_path / "intact", resume=True)
    assert resumed.provenance["weights"] == rnnlens.load(stored / "run0").provenance["weights"]


def test_a_run_is_not_resumed_with_other_weights_of_its_sources(tmp_path: Path) -> None:
    """The weights are not part of the corpus's content, but decide what is trained."""
    for name in ("a", "b"):
        write_reviews(tmp_path / f"{name}.csv", 240 if name == "a" else 120)
    sources = [tmp_path / "a.csv", tmp_path / "b.csv"]
    one, two = (prepare(sources, tmp_path / f"c{k}", weights={"b": k}, min_count=1) for k in (1, 2))
    assert one.fingerprint == two.fingerprint
    killed(one, tmp_path / "run")
    refused(lambda: trained(two, tmp_path / "run", resume=True), "its corpus weight of b is '1.0', now '2.0'")


# --- corpora ----------------------------------------------------------------------------------------------------------


def test_flipped_labels_of_the_same_size_and_time_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RNNLENS_CACHE", str(tmp_path / "cache"))
    path, folder = tmp_path / "reviews.csv", tmp_path / "aclImdb"
    write_reviews(path)
    for side in ("neg", "pos"):
        (folder / "train" / side).mkdir(parents=True)
        for i in range(20):
            (folder / "train" / side / f"{i}_5.txt").write_text(f"a {side} film")
    for source, changed, old, new in (
        (path, path, "good,1\n", "good,0\n"),
        (folder, folder / "train" / "neg" / "3_5.txt", "neg film", "pos film"),
    ):
        first, times, text = load_corpus(source, min_count=1), changed.stat(), changed.read_text()
        assert old in text
        changed.write_text(text.replace(old, new))
        os.utime(changed, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert changed.stat().st_size == times.st_size
        assert load_corpus(source, min_count=1).fingerprint != first.fingerprint


def test_a_source_that_changes_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RNNLENS_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "reviews.csv"
    write_reviews(path)
    text = path.read_text()

    def change(rows: int, total: int) -> None:
        path.write_text(text.replace("good", "evil"))

    refused(lambda: load_corpus(path, min_count=1, progress=change), "reviews.csv' changed while it was read")
    path.write_text(text)
    assert "good" in load_corpus(path, min_count=1).vocab


def test_a_run_is_analyzed_with_its_own_corpus_only(stored: Path, tmp_path: Path) -> None:
    run, own = rnnlens.load(stored / "run0"), load_corpus(stored / "corpus")
    assert own.test is not None
    fewer = Corpus(own.vocab, own.train, own.validation, own.test.take(range(5)), fingerprint="other")
    refused(lambda: rnnlens.analyze(run, fewer), "run.json' names another corpus")
    assert rnnlens.analyze(run.network, fewer, accuracy=False).run is None
    assert rnnlens.analyze(run, own, accuracy=False).run is run
    refitted = trained(own.refit(), tmp_path / "run")  # its own is the one that it was refitted to
    assert rnnlens.analyze(refitted, own, accuracy=False).save() == refitted.path
