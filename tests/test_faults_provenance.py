"""Files of one run belong together: a file of another run is refused in one line that names it, by every command."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from reproduction import zoo as packaging
from tests.support.world import contents, write_reviews

import rnnlens
import rnnlens.runs.zoo
from rnnlens import Network, RnnlensError, Run, TrainConfig, train
from rnnlens.baselines import BagOfWords
from rnnlens.cli import main
from rnnlens.common.files import read_json, read_tensors, write_json, write_tensors
from rnnlens.corpora import Corpus, load_corpus, prepare
from rnnlens.corpora.synthetic import prepared_synthetic
from rnnlens.experiments import reproduce
from rnnlens.experiments.workers import run_jobs
from rnnlens.runs import unpack
from rnnlens.training.loop import Trainer

CONFIG = TrainConfig(epochs=2, batch=64, checkpoint_every=2)
FLAGS = ("--epochs", "2", "--batch", "64", "--checkpoint-every", "2", "--hidden", "4", "--embedding", "2")


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
    shutil.copytree(stored, tmp_path / "copy")
    return tmp_path / "copy"


def call(*words: object) -> str:
    """Run a command that must fail with one line; return the line."""
    told = io.StringIO()
    with contextlib.redirect_stderr(told), contextlib.redirect_stdout(io.StringIO()), pytest.raises(SystemExit) as stop:
        main([str(word) for word in words])
    lines = told.getvalue().strip().splitlines()
    assert stop.value.code == 1 and len(lines) == 1, told.getvalue()
    return lines[0]


COMMANDS: dict[str, Callable[[Path], tuple[object, ...]]] = {
    "info": lambda at: ("info", at / "run0"),
    "probe": lambda at: ("probe", at / "run0", "not bad"),
    "report": lambda at: ("report", at / "run0"),
    "figures": lambda at: ("figures", at / "run0", "--format", "html"),
    "export": lambda at: ("export", at / "run0", "--to", at / "model"),
    "analyze": lambda at: ("analyze", at / "run0"),
    "resume": lambda at: ("train", at / "corpus", "--out", at / "run0", *FLAGS, "--resume"),
    "resume --test": lambda at: ("train", at / "corpus", "--out", at / "run0", *FLAGS, "--resume", "--test"),
}


def permute(path: Path) -> None:
    """Two words of the vocabulary change places; the file is whole."""
    content = read_json(path)
    words = content["words"]
    write_json(path, {**content, "words": [words[1], words[0], *words[2:]]})


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_swapped_weights_and_a_permuted_vocabulary(command: str, stored: Path, at: Path) -> None:
    before = contents(at)
    weights, vocab = at / "run0" / "weights.safetensors", at / "run0" / "vocab.json"
    shutil.copy(at / "run1" / "weights.safetensors", weights)
    assert "run.json' does not fit 'weights.safetensors'" in call(*COMMANDS[command](at))
    shutil.copy(stored / "run0" / weights.name, weights)
    permute(vocab)
    assert "run.json' does not fit 'vocab.json'" in call(*COMMANDS[command](at))
    shutil.copy(stored / "run0" / vocab.name, vocab)
    assert contents(at) == before


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["results.json"], "results.json' does not fit 'weights.safetensors'"),
        (["run.json", "weights.safetensors"], "results.json' does not fit 'weights.safetensors'"),
        (["run.json"], "run.json' does not fit 'weights.safetensors'"),
        (["analysis.safetensors"], "analysis.safetensors' does not fit 'weights.safetensors'"),
        (["states.safetensors"], "states.safetensors' does not fit 'weights.safetensors'"),
    ],
)
def test_any_other_file_of_another_run_is_refused(files: list[str], message: str, at: Path) -> None:
    for file in files:
        shutil.copy(at / "run1" / file, at / "run0" / file)
    for command in ("info", "export"):
        assert message in call(*COMMANDS[command](at))
    if "states" in files[0]:
        assert message in call(*COMMANDS["analyze"](at))
    elif "analysis" in files[0]:
        for command in ("probe", "report"):
            told = call(*COMMANDS[command](at))
            assert message in told and "rnnlens analyze" in told
    else:
        with pytest.raises(RnnlensError, match=message):
            rnnlens.load(at / "run0")


@pytest.mark.parametrize("name", ["weights", "vocabulary"])
@pytest.mark.parametrize("file", ["run.json", "results.json"])
def test_a_missing_name_is_no_way_around_the_check(file: str, name: str, at: Path) -> None:
    path = at / "run0" / file
    content = read_json(path)
    for broken in ({k: v for k, v in content["provenance"].items() if k != name}, None, "x", [1]):
        write_json(path, {**content, "provenance": broken})
        with pytest.raises(RnnlensError, match=file):
            rnnlens.load(at / "run0")
    write_json(path, {key: value for key, value in content.items() if key != "provenance"})
    with pytest.raises(RnnlensError, match=rf"{file}.* names no "):
        rnnlens.load(at / "run0")


def test_arrays_that_name_no_weights_are_refused(at: Path) -> None:
    for file, read in (("analysis.safetensors", Run.analysis_arrays), ("states.safetensors", Run.states)):
        path = at / "run0" / file
        tensors, about = read_tensors(path)
        for unnamed in ({"what": about["what"]}, [], "x"):
            write_tensors(path, tensors, unnamed)  # type: ignore[arg-type]
            with pytest.raises(
                RnnlensError, match=rf"{file}' does not fit 'weights\.safetensors': it names no weights"
            ):
                read(rnnlens.load(at / "run0"))


def test_a_run_of_the_first_schema_is_opened_without_names(at: Path) -> None:
    for file in ("run.json", "results.json"):
        content = read_json(at / "run0" / file)
        del content["provenance"]
        write_json(at / "run0" / file, {**content, **({"schema": 1} if file == "run.json" else {})})
    assert rnnlens.load(at / "run0").network.read("not bad")
    assert rnnlens.load("zoo:reviews-gru").network.read("not bad")


def test_results_are_not_added_to_a_run_that_was_replaced_meanwhile(at: Path) -> None:
    analysis = rnnlens.analyze(rnnlens.load(at / "run0"))
    shutil.rmtree(at / "run0")
    shutil.copytree(at / "run1", at / "run0")
    before = contents(at / "run0")
    with pytest.raises(RnnlensError, match="run0' holds another run than when it was opened"):
        analysis.save()
    assert contents(at / "run0") == before


def test_an_analysis_is_not_saved_over_another_run(at: Path) -> None:
    before = contents(at / "run1")
    with pytest.raises(RnnlensError, match="run1' holds another run"):
        rnnlens.analyze(rnnlens.load(at / "run0")).save(at / "run1")
    assert contents(at / "run1") == before
    saved = rnnlens.analyze(rnnlens.load(at / "run0")).save(at / "elsewhere")
    assert read_json(saved / "results.json")["provenance"]["weights"] == rnnlens.load(at / "run0").provenance["weights"]


# --- checkpoints ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [{"seed": 1}, {"start": 1}])
def test_a_checkpoint_of_another_run_is_not_resumed(other: dict[str, int], stored: Path, tmp_path: Path) -> None:
    """Of another seed, and of a network with other initial weights."""
    corpus = load_corpus(stored / "corpus")
    killed(corpus, tmp_path / "one")
    killed(corpus, tmp_path / "two", **other)
    shutil.copytree(tmp_path / "one", tmp_path / "intact")
    checkpoint = Path("checkpoint", "last.safetensors")
    shutil.copy(tmp_path / "two" / checkpoint, tmp_path / "one" / checkpoint)
    with pytest.raises(RnnlensError, match=r"checkpoint/last\.safetensors' does not fit 'run\.json'.*another run"):
        trained(corpus, tmp_path / "one", resume=True)
    if "seed" in other:
        told = call("train", stored / "corpus", "--out", tmp_path / "one", *FLAGS, "--resume")
        assert "last.safetensors' does not fit 'run.json'" in told
    resumed = trained(corpus, tmp_path / "intact", resume=True)
    assert resumed.provenance["weights"] == rnnlens.load(stored / "run0").provenance["weights"]


def test_a_run_is_resumed_with_whatever_initial_weights(stored: Path, tmp_path: Path) -> None:
    """The checkpoint replaces them; a second interruption changes nothing."""
    corpus = load_corpus(stored / "corpus")
    killed(corpus, tmp_path / "run")
    killed(corpus, tmp_path / "run", start=7, resume=True)
    resumed = trained(corpus, tmp_path / "run", start=8, resume=True)
    assert resumed.provenance == rnnlens.load(stored / "run0").provenance


def test_a_run_is_not_resumed_with_other_weights_of_its_sources(tmp_path: Path) -> None:
    """The weights are not part of the corpus's content, but decide what is trained."""
    for name in ("a", "b"):
        write_reviews(tmp_path / f"{name}.csv", 240 if name == "a" else 120)
    sources = [tmp_path / "a.csv", tmp_path / "b.csv"]
    one, two = (prepare(sources, tmp_path / f"c{k}", weights={"b": k}, min_count=1) for k in (1, 2))
    assert one.fingerprint == two.fingerprint
    killed(one, tmp_path / "run")
    with pytest.raises(RnnlensError, match=r"its corpus weight of b is '1\.0', now '2\.0'"):
        trained(two, tmp_path / "run", resume=True)


def test_a_checkpoint_that_names_no_run_is_refused(stored: Path, tmp_path: Path) -> None:
    corpus = load_corpus(stored / "corpus")
    killed(corpus, tmp_path / "run")
    path = tmp_path / "run" / "checkpoint" / "last.safetensors"
    tensors, about = read_tensors(path)
    for unnamed in ({key: value for key, value in about.items() if key != "provenance"}, []):
        write_tensors(path, tensors, unnamed)  # type: ignore[arg-type]
        with pytest.raises(RnnlensError, match=r"last\.safetensors'.* names no run"):
            trained(corpus, tmp_path / "run", resume=True)


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

    with pytest.raises(RnnlensError, match=r"reviews\.csv' changed while it was read"):
        load_corpus(path, min_count=1, progress=change)
    path.write_text(text)
    assert "good" in load_corpus(path, min_count=1).vocab


def test_a_run_is_analyzed_with_its_own_corpus_only(stored: Path) -> None:
    run, own = rnnlens.load(stored / "run0"), load_corpus(stored / "corpus")
    fewer = Corpus(own.vocab, own.train, own.validation, own.test.take(range(5)), fingerprint="other")  # type: ignore[union-attr]
    with pytest.raises(RnnlensError, match=r"run\.json' names another corpus"):
        rnnlens.analyze(run, fewer)
    assert rnnlens.analyze(run.network, fewer, accuracy=False).run is None
    assert rnnlens.analyze(run, own, accuracy=False).run is run


def test_a_refitted_run_is_analyzed_with_the_corpus_it_came_from(stored: Path, tmp_path: Path) -> None:
    corpus = load_corpus(stored / "corpus")
    run = trained(corpus.refit(), tmp_path / "run")
    assert rnnlens.analyze(run, corpus, accuracy=False).save() == run.path


# --- exports, packages, pages, baselines ------------------------------------------------------------------------------


def test_an_export_is_checked_like_a_run(at: Path) -> None:
    for seed in (0, 1):
        rnnlens.export(at / f"run{seed}", at / f"model{seed}")
    rnnlens.load(at / "model0").analysis_arrays()
    shutil.copy(at / "model1" / "model.safetensors", at / "model0" / "model.safetensors")
    assert "config.json' does not fit 'model.safetensors'" in call("probe", at / "model0", "not bad")


def test_a_packaged_run_names_its_rounded_weights_and_what_they_came_from(at: Path, monkeypatch: Any) -> None:
    for module in (packaging, rnnlens.runs.zoo):
        monkeypatch.setattr(module, "HERE", at / "zoo")
    given = "zoo RUN --name n --corpus c --command d --chosen e".replace("RUN", str(at / "run0")).split()
    monkeypatch.setattr("sys.argv", given)
    monkeypatch.setattr(packaging, "card", lambda run, asked: "its card is for a corpus of several sources")
    packaging.main()
    original, packed = rnnlens.load(at / "run0"), rnnlens.load("zoo:n")
    assert packed.states() is not None and packed.provenance["weights"] != original.provenance["weights"]
    for file in ("run.json", "results.json"):
        assert read_json(packed.path / file)["provenance"]["made_from"] == original.provenance["weights"]
    rnnlens.analyze(unpack("n", at / "demo")).save()
    assert rnnlens.load(at / "demo").is_analyzed()


def test_a_page_shows_the_fingerprints_of_what_it_was_made_from(at: Path) -> None:
    run = rnnlens.load(at / "run0")
    page = rnnlens.report(run, at / "page.html").read_text(encoding="utf-8")
    for name, mark in {**run.provenance, "analysis": run.results["provenance"]["analysis"]}.items():
        assert f'"{name}":"{mark}"' in page and f"{name} <code>{mark}</code>" in page


def test_a_baseline_and_a_synthetic_truth_refuse_another_ones_arrays(tmp_path: Path) -> None:
    texts, labels = ["good film", "bad film", "fine film", "dull film"] * 4, [1, 0, 1, 0] * 4
    for seed in (0, 1):
        BagOfWords(min_count=1, epochs=1, random_state=seed, word_dropout=0.5).fit(texts, labels).save(
            tmp_path / f"bow{seed}"
        )
    shutil.copy(tmp_path / "bow1" / "weights.safetensors", tmp_path / "bow0" / "weights.safetensors")
    with pytest.raises(RnnlensError, match=r"baseline\.json' does not fit 'weights\.safetensors'"):
        BagOfWords.load(tmp_path / "bow0")
    for seed in (0, 1):
        prepared_synthetic("tiny", seed, tmp_path / f"corpus{seed}")
    shutil.copy(tmp_path / "corpus1" / "truth.safetensors", tmp_path / "corpus0" / "truth.safetensors")
    with pytest.raises(RnnlensError, match=r"truth\.json' does not fit 'truth\.safetensors'"):
        prepared_synthetic("tiny", 0, tmp_path / "corpus0")


# --- reproduce --------------------------------------------------------------------------------------------------------

SETTINGS = {"hidden": 4, "embedding": 2, "epochs": 1}


def test_an_analysis_interrupted_between_its_files_is_done_again(stored: Path, tmp_path: Path) -> None:
    """`reproduce` must name the modifiers that an undisturbed analysis gives."""
    corpus = str(stored / "corpus")

    def words(out: Path) -> list[str]:
        return reproduce._consensus_words(corpus, out, SETTINGS, 1, 5, run_jobs, 0, None, lambda note: None)

    undisturbed = words(tmp_path / "one")
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Run, "add_results", lambda *given, **results: (_ for _ in ()).throw(KeyboardInterrupt))
        words(tmp_path / "two")
    folder = tmp_path / "two" / "gru-0"
    assert (folder / "analysis.safetensors").exists() and "probes" not in rnnlens.load(folder).results
    with pytest.raises(
        RnnlensError, match=r"results\.json' does not fit 'analysis\.safetensors': it names no analysis"
    ):
        rnnlens.load(folder).analysis_arrays()
    assert words(tmp_path / "two") == undisturbed
    assert rnnlens.load(folder).is_analyzed() and "probes" in rnnlens.load(folder).results


def test_modifiers_found_in_another_way_are_not_reused(stored: Path, tmp_path: Path) -> None:
    def found(most: int, seeds: int) -> list[str]:
        given = (str(stored / "corpus"), tmp_path / "out", SETTINGS, seeds, most)
        return reproduce._consensus_words(*given, run_jobs, 0, None, lambda note: None)

    assert found(3, 1) == found(3, 1)
    for most, seeds, other in ((4, 1, "most: '3', now '4'"), (3, 2, "seeds: '1', now '2'")):
        with pytest.raises(RnnlensError, match=rf"words\.json' was made with other {other}.*--modifiers"):
            found(most, seeds)
