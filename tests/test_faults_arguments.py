"""Arguments of Python functions that are no path, no choice, no flag or no network: refused in one line, before
anything is computed or written; what has the right meaning in another type is taken."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
import torch
from tests.handmade import handmade
from tests.support.world import write_choice, write_reviews

import rnnlens
from rnnlens import BothWays, Corpus, Network, Probes, RnnlensError, TrainConfig
from rnnlens.analysis.agreement import _check_different
from rnnlens.analysis.analyze import analyze_command
from rnnlens.analysis.lexicon import read_lexicon
from rnnlens.analysis.trees import read_trees
from rnnlens.baselines import BagOfWords, ModifierConvolution
from rnnlens.cli import main, printing
from rnnlens.common import options
from rnnlens.common.allowed import Choice, PathLike, Range
from rnnlens.common.options import RANGES
from rnnlens.common.ranges import check_options, check_reading
from rnnlens.context import Reviews
from rnnlens.corpora import Modifier, ToyLanguage, Truth, Vocab, prepare, synthetic_corpus
from rnnlens.corpora.language import Language
from rnnlens.corpora.synthetic import prepared_synthetic
from rnnlens.dynamics.inputs import check_points
from rnnlens.experiments.bags import fit_baselines
from rnnlens.experiments.modifier_words import read_modifiers
from rnnlens.experiments.recipe import Settings
from rnnlens.experiments.reproduce import reproduce
from rnnlens.experiments.sweep import sweep
from rnnlens.experiments.toy import train_toy
from rnnlens.experiments.trials import run_trials
from rnnlens.experiments.validate import validate
from rnnlens.networks import ARCHITECTURES
from rnnlens.runs import unpack

GRU, STEP = torch.nn.GRU(2, 3), lambda h, e: h
TEXTS, LABELS = ["a good film", "a bad plot", "not good", "it was great"] * 10, [1, 0, 0, 1] * 10


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A corpus, a run, and what is measured of a network by hand."""
    folder = tmp_path_factory.mktemp("made")
    corpus = Corpus.from_texts(TEXTS, LABELS)
    network = Network(corpus.vocab, hidden=4, embedding=3)
    run = rnnlens.train(network, corpus, TrainConfig(epochs=1), folder / "run", progress=False)
    known, _ = handmade()
    other, _ = handmade(seed=1)
    states = rnnlens.visited_states(known, n=300)
    points = rnnlens.find_fixed_points(known, states, mode="slow")
    line = rnnlens.fit_line_attractor(known, points)
    words = rnnlens.find_modifiers(known, line, probes=Probes(("good", "great"), ("bad", "awful")))

    class Made:
        pass

    Made.folder, Made.corpus, Made.run, Made.network = folder, corpus, run, run.network
    Made.known, Made.line, Made.modifiers, Made.states = known, line, words, states
    Made.other, Made.other_line = other, rnnlens.fit_line_attractor(known, points, trim=0.2)
    Made.points, Made.modes = points, rnnlens.linear_modes(known, line.h_star)
    Made.subspace = rnnlens.fit_subspace(known, line, words, rank=2)
    Made.smaller = dataclasses.replace(Made.subspace, h_star=torch.zeros(4))
    Made.reviews = Reviews.to_read(Corpus.from_ids(known.vocab, ([[0, 1], [2]] * 5, [0, 1] * 5)).train, known)
    Made.toy = rnnlens.toy_corpus(train=5, validation=5)
    Made.bag = BagOfWords(min_count=1, epochs=1).fit(TEXTS, LABELS)
    return Made


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, and another home folder."""
    (tmp_path / "here").mkdir()
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


def refused(call: Callable[[], object], *parts: str) -> None:
    """One line with these parts, and nothing in the current folder."""
    with pytest.raises(RnnlensError) as error:
        call()
    message = str(error.value)
    assert "\n" not in message and all(part in message for part in parts), message
    assert not list(Path().iterdir())


# --- paths ------------------------------------------------------------------------------------------------------------

PATHS: dict[str, Callable[[Any, Any], object]] = {
    "load": lambda m, p: rnnlens.load(p),
    "load_checked": lambda m, p: rnnlens.runs.load_checked(p),
    "unpack": lambda m, p: unpack("reviews-gru", p),
    "export run": lambda m, p: rnnlens.export(p, "o"),
    "export": lambda m, p: rnnlens.export(m.run, p),
    "report run": lambda m, p: rnnlens.report(p, "r.html"),
    "report": lambda m, p: rnnlens.report(m.run, p),
    "report several": lambda m, p: rnnlens.report([m.run, m.run], p),
    "train": lambda m, p: rnnlens.train(Network(m.corpus.vocab, hidden=2, embedding=2), m.corpus, TrainConfig(), p),
    "load_corpus": lambda m, p: rnnlens.load_corpus(p),
    "prepare source": lambda m, p: prepare(p, "o"),
    "prepare": lambda m, p: prepare("nowhere", p),
    "synthetic": lambda m, p: prepared_synthetic("tiny", 0, p),
    "Truth.load": lambda m, p: Truth.load(p),
    "analyze": lambda m, p: rnnlens.analyze(p),
    "analyze corpus": lambda m, p: rnnlens.analyze(m.run, p),
    "Analysis.load": lambda m, p: rnnlens.Analysis.load(p),
    "audit": lambda m, p: rnnlens.audit(p),
    "audit trees": lambda m, p: rnnlens.audit(m.run, p),
    "agreement": lambda m, p: rnnlens.agreement(p),
    "agreement trees": lambda m, p: rnnlens.agreement(m.run, p),
    "agreement lexicons": lambda m, p: rnnlens.agreement(m.run, lexicons=[p]),
    "read_trees": lambda m, p: read_trees(p),
    "read_lexicon": lambda m, p: read_lexicon(p),
    "Modifiers.write": lambda m, p: m.modifiers.write(p),
    "write_figure": lambda m, p: rnnlens.figures.write_figure(rnnlens.figures.reading({"a": [("a", 1.0)]}), p),
    "write_figures": lambda m, p: rnnlens.figures.write_figures({"subspace": {}}, p, "html"),
    "save": lambda m, p: m.bag.save(p),
    "BagOfWords.load": lambda m, p: BagOfWords.load(p),
    "sweep": lambda m, p: sweep("nowhere", ["bow"], 1, p),
    "sweep corpus": lambda m, p: sweep(p, ["bow"], 1, "o"),
    "sweep earlier": lambda m, p: sweep("nowhere", ["bow"], 1, "o", earlier=p if p is not None else 5),
    "reproduce": lambda m, p: reproduce("nowhere", p),
    "reproduce settings": lambda m, p: reproduce("nowhere", "o", settings=p if p is not None else 5),
    "validate": lambda m, p: validate("tiny", p),
    "train_toy": lambda m, p: train_toy(p),
    "fit_baselines": lambda m, p: next(fit_baselines(m.corpus, ["not"], p)),
    "run_trials": lambda m, p: run_trials("nowhere", ["bow"], range(1), out=p),
    "read_modifiers": lambda m, p: read_modifiers([p]),
}
SOURCES = ("load_corpus", "prepare source", "analyze corpus")  # says what a name of the hub looks like
NONE = ("report", "report run", "report several", "analyze corpus", "audit trees", "agreement trees")  # takes None
NO_PATHS = {"a number": 5, "bytes": b"x", "empty": "", "NUL": "a\0b", "a surrogate": "\ud800", "too long": "x" * 300}


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("given", [*NO_PATHS, "None"])
def test_what_is_no_path_is_told_before_anything_is_written(name: str, given: str, made: Any) -> None:
    if given == "None" and name in NONE:
        pytest.skip("None is a value of its own here")
    refused(lambda: PATHS[name](made, NO_PATHS.get(given)), "" if name in SOURCES else "expected")


def test_every_function_that_takes_a_path_is_among_these() -> None:
    called = " ".join(inspect.getsource(PATHS[name]) for name in PATHS)
    for name in rnnlens.__all__:
        function = getattr(rnnlens, name)
        if inspect.isfunction(function) and "Path" in str(inspect.signature(function)):
            assert f".{name}(" in called, name


@pytest.mark.parametrize("name", ["prepare", "save", "write_figure", "train", "Modifiers.write", "export"])
def test_a_tilde_is_the_home_folder_in_python_too(name: str, made: Any, empty: Path) -> None:
    write_reviews(empty / "reviews.csv")
    calls = {**PATHS, "prepare": lambda m, p: prepare(empty / "reviews.csv", p)}
    ending = {"write_figure": ".html", "Modifiers.write": ".csv"}.get(name, "")
    calls[name](made, f"~/new{ending}")
    assert (empty / "home" / f"new{ending}").exists() and not list((empty / "here").iterdir())


FOLDERS = {
    "train": "train nowhere --out {}",
    "prepare": "prepare nowhere --out {}",
    "toy": "toy --out {}",
    "demo": "demo --out {}",
    "export": "export nowhere --to {}",
    "figures": "figures nowhere --out {}",
    "baselines": "baselines nowhere --modifiers nowhere --out {}",
    "sweep": "sweep nowhere --model bow --out {}",
    "reproduce": "reproduce nowhere --out {}",
    "validate": "validate --out {}",
}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_that_cannot_be_made_is_told_before_anything_is_read(name: str, empty: Path, capsys: Any) -> None:
    (empty / "file").write_text("mine")
    with pytest.raises(SystemExit) as ended:
        main(FOLDERS[name].format(empty / "file" / "new").split())
    told = capsys.readouterr()
    assert ended.value.code == 1 and told.out == "" and told.err.count("\n") == 1
    assert told.err.startswith("error: cannot write ") and "is not a folder" in told.err


def test_every_folder_that_a_command_writes_is_among_these() -> None:
    for name, known in RANGES.items():
        if any(isinstance(kind, PathLike) and kind.folder for kind in known.values()) and f"def {name}(" in _commands():
            assert name in FOLDERS, name


def _commands() -> str:
    return "".join(path.read_text() for path in Path(printing.__file__).parent.glob("*.py"))


def test_an_empty_source_is_not_the_current_folder(made: Any) -> None:
    write_reviews(Path("train.csv"))
    for call in (
        rnnlens.load_corpus,
        lambda source: prepare(source, "o"),
        lambda source: rnnlens.analyze(made.run, source),
    ):
        for source in ("", ["train.csv", ""]):
            with pytest.raises(RnnlensError, match="source is '': expected the name of a source"):
                call(source)
    assert [path.name for path in Path().iterdir()] == ["train.csv"]


@pytest.mark.parametrize(("command", "option"), [("sweep", "storage"), ("export", "name")])
def test_an_empty_text_is_a_variable_that_was_not_set(command: str, option: str) -> None:
    refused(lambda: check_options(command, {option: ""}), f"{option} is '': expected")
    assert check_options(command, {option: None}) == {option: None}


@pytest.mark.parametrize("line", ["train toy --out=", "baselines c --modifiers= --out o", "info ", "report r --out="])
def test_an_empty_path_is_not_the_current_folder(line: str, capsys: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        main(line.split(" "))
    told = capsys.readouterr().err
    assert ended.value.code == 2 and told.count("\n") == 1 and "'' is no path" in told
    assert not list(Path().iterdir())


# --- choices and flags ------------------------------------------------------------------------------------------------

CHOICES: dict[str, tuple[Callable[[Any], object], str]] = {
    "arch": (lambda m: Network(["a", "b"], arch="GRU"), "arch is 'GRU': expected gru, lstm, ugrnn, vanilla, mingru"),
    "mode": (lambda m: rnnlens.find_fixed_points(m.known, m.states, mode="x"), "mode is 'x': expected fixed or slow"),
    "by": (lambda m: m.modifiers.rank("not", by="Strength"), "by is 'Strength': expected strength or norm"),
    "kind": (lambda m: m.modifiers.strongest(kind="nouns"), "kind is 'nouns': expected one or several of"),
    "removal": (
        lambda m: rnnlens.remove_modes(m.states, rnnlens.linear_modes(m.known, m.line.h_star), m.line.h_star, [0], "x"),
        "kind is 'x': expected biorthogonal or orthogonal",
    ),
    "engine": (lambda m: sweep("nowhere", ["bow"], 1, "o", engine="Ray"), "engine is 'Ray': expected local or ray"),
    "no jobs on a cluster": (
        lambda m: sweep("nowhere", ["bow"], 1, "o", engine="ray", jobs=0),
        "engine is 'ray' and jobs is 0: expected at least 1 job at a time",
    ),
    "no jobs of reproduce": (lambda m: reproduce("nowhere", "o", engine="ray", jobs=0), "'ray' and jobs is 0"),
    "engine of reproduce": (lambda m: reproduce("nowhere", "o", engine="x"), "engine is 'x': expected local or ray"),
    "models": (lambda m: reproduce("nowhere", "o", models=["rnn"]), "unknown model 'rnn': expected one of bow"),
    "models as text": (lambda m: sweep("nowhere", "gru", 1, "o"), "models is 'gru': expected a list of some of bow"),
    "device": (lambda m: validate("tiny", "o", device="tpu"), "device is 'tpu': expected cpu or cuda"),
    "format": (lambda m: rnnlens.figures.write_figures({}, "o", "gif"), "'gif': expected svg, pdf, png or html"),
    "keep": (lambda m: m.corpus.train.batch([0], 2, keep="middle"), "keep is 'middle': expected last or first"),
    "pooling": (
        lambda m: rnnlens.from_torch(GRU, torch.zeros(2, 2), torch.nn.Linear(3, 1), ["a", "b"], pooling="max"),
        "pooling is 'max': expected 'mean', or None",
    ),
    "schedule": (lambda m: TrainConfig(schedule="step"), "schedule is 'step': expected cosine, linear, exponential or"),
    "an array": (lambda m: TrainConfig(keep=np.zeros(2)), "keep is 'ndarray': expected best or last"),
    "direction": (lambda m: rnnlens.analyze(m.run, direction="up"), "'up': expected forwards or backwards"),
    "license": (lambda m: rnnlens.export("nowhere", "o", license=5), "license is 5: expected a text"),
    "dataset": (lambda m: rnnlens.export("nowhere", "o", dataset="a b"), "dataset is 'a b': expected the owner/name"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_is_refused_with_those_there_are(name: str, made: Any) -> None:
    call, told = CHOICES[name]
    refused(lambda: call(made), told)


FLAGS: dict[str, Callable[[Any, Any], object]] = {
    "overwrite": lambda m, no: rnnlens.export("nowhere", "o", overwrite=no),
    "overwrite a corpus": lambda m, no: prepare("nowhere", "o", overwrite=no),
    "resume": lambda m, no: rnnlens.train(m.network, m.corpus, TrainConfig(), "o", resume=no),
    "test": lambda m, no: rnnlens.train(m.network, m.corpus, TrainConfig(), "o", test=no),
    "accuracy": lambda m, no: rnnlens.analyze(m.run, accuracy=no),
    "progress": lambda m, no: rnnlens.fit_readout(m.network, m.corpus, progress=no),
    "ordered": lambda m, no: Network(["a", "b"], classes=["1", "2", "3"], ordered=no),
    "check": lambda m, no: rnnlens.from_module(
        torch.nn.Linear(1, 1), ["a"], rnn="r", embedding="e", readout="l", check=no
    ),
    "batch_first": lambda m, no: rnnlens.from_torch(
        GRU, torch.zeros(2, 2), torch.nn.Linear(3, 1), ["a", "b"], batch_first=no
    ),
    "balance": lambda m, no: reproduce("nowhere", "o", balance=no),
    "edges": lambda m, no: ModifierConvolution(edges=no).fit(TEXTS, LABELS),
}


@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize("no", ["no", 0, None])
def test_a_text_or_a_number_is_no_flag(name: str, no: object, made: Any) -> None:
    if no is None and name in ("batch_first", "balance"):
        pytest.skip("None is a value of its own here")
    refused(lambda: FLAGS[name](made, no), f"{name.split()[0]} is ", "expected True")


def test_flags_of_numpy_are_flags() -> None:
    assert check_options("export", overwrite=np.bool_(True)) == {"overwrite": True}


# --- numbers ----------------------------------------------------------------------------------------------------------


def test_numbers_of_numpy_are_taken_by_functions(made: Any) -> None:
    two = np.int64(2)
    network = Network(made.corpus.vocab, hidden=two, embedding=two, seed=two, scale=np.float32(0.5))
    assert network.config["hidden"] == 2 and type(network.config["hidden"]) is int
    rnnlens.extend(network, Vocab(["new"]), seed=two)
    rnnlens.networks.with_classes(network, ["a", "b", "c"], seed=two)
    rnnlens.find_fixed_points(made.known, made.states[:4], mode="slow", chunk=two)
    rnnlens.fit_bilinear(made.known, made.line, made.modifiers, rank=two, seed=two)
    assert rnnlens.analyze(made.run, starts=np.int64(100), rank=two, seed=two, top=np.int64(30)).seed == 2


def test_flags_of_numpy_are_flags_of_estimators() -> None:
    ModifierConvolution(None, min_count=1, epochs=1, edges=np.True_, own_edges=np.True_).fit(TEXTS, LABELS)
    ModifierConvolution(["not"], min_count=1, epochs=1, own_weights=np.True_, factored=np.False_).fit(TEXTS, LABELS)


@pytest.mark.parametrize("momentum", [0, np.float32(0.5)])
def test_any_momentum_in_its_range_can_be_trained_with(momentum: Any, made: Any) -> None:
    ModifierConvolution(["not"], min_count=1, epochs=1, momentum=momentum).fit(TEXTS, LABELS)
    network = Network(made.corpus.vocab, hidden=2, embedding=2)
    rnnlens.train(network, made.corpus, TrainConfig(epochs=1, momentum=momentum), "o", progress=False)


def test_lists_of_numbers_may_be_arrays_or_ranges() -> None:
    for ranks in ([1, 2], (1, 2), np.array([1, 2]), torch.tensor([1, 2]), range(1, 3)):
        assert check_options("perturbations", ranks=ranks) == {"ranks": (1, 2)}
    assert check_options("perturb", gains=np.array([0.5, 1])) == {"gains": (0.5, 1.0)}


def test_a_penalty_that_no_float_holds_removes_every_word() -> None:
    model = BagOfWords(min_count=1, epochs=1, l1=1e308).fit(TEXTS, LABELS)
    assert len(set(model.decision_function(TEXTS))) == 1


@pytest.mark.parametrize("number", [10**400, -(10**400), float("inf")])
def test_a_number_that_no_float_holds_is_refused(number: Any) -> None:
    refused(lambda: TrainConfig(learning_rate=number), "learning_rate is ", "expected a number above 0")


def test_a_whole_number_stays_one_so_that_old_fingerprints_hold() -> None:
    assert type(Language(length=230).length) is int and type(TrainConfig(clip=1).clip) is int


# --- objects ----------------------------------------------------------------------------------------------------------

OBJECTS: dict[str, tuple[Callable[[Any], object], str]] = {
    "jacobians": (lambda m: rnnlens.jacobians(m.run, m.states), "network is 'Run': expected a network, such as"),
    "find_fixed_points": (lambda m: rnnlens.find_fixed_points(m.run, m.states), "network is 'Run'"),
    "visited_states": (lambda m: rnnlens.visited_states(m.run), "network is 'Run'"),
    "train": (lambda m: rnnlens.train(m.run, m.corpus), "network is 'Run'"),
    "train on a network": (lambda m: rnnlens.train(m.network, m.network), "corpus is 'Network': expected a corpus"),
    "train start": (lambda m: rnnlens.train(m.network, m.corpus, start="runs/a"), "start is 'runs/a': expected a run"),
    "evaluate": (lambda m: rnnlens.evaluate(m.network, m.corpus), "split is 'Corpus': expected a split of a corpus"),
    "evaluate a run": (lambda m: rnnlens.evaluate(m.run, m.corpus.train), "network is 'Run'"),
    "line": (lambda m: rnnlens.find_modifiers(m.known, m.states), "line is 'Tensor': expected a line"),
    "text as networks": (lambda m: rnnlens.find_modifiers("not", m.line), "network is 'not': expected a network"),
    "modifiers": (lambda m: rnnlens.fit_subspace(m.known, m.line, ["not"]), "['not']\": expected a table of words"),
    "network of a subspace": (lambda m: rnnlens.fit_subspace(m.run, m.line, m.modifiers), "network is 'Run'"),
    "rows": (lambda m: rnnlens.fit_subspace(m.known, m.line, m.modifiers, rows=[0, 10**6]), "rows is '[0, 1000000]'"),
    "probes": (lambda m: rnnlens.barcode(m.known, m.line, "not", {"good": 1}), "{'good': 1}\": expected probe words"),
    "no probes": (lambda m: rnnlens.barcode(m.known, m.line, "not", []), "probes is '[]': expected probe words"),
    "a word": (lambda m: rnnlens.barcode(m.known, m.line, ["not"]), "word is \"['not']\": expected a text"),
    "no word": (lambda m: rnnlens.barcode(m.known, m.line, None), "word is 'None': expected a text"),
    "words": (
        lambda m: rnnlens.attribute(m.known, m.states, "not", m.modifiers.probes),
        "words is 'not': expected a list of words",
    ),
    "numbers as words": (lambda m: Probes([1, 2], ["bad"]), "positive probes are '[1, 2]': expected a list"),
    "numbers to encode": (lambda m: m.corpus.vocab.encode([1, 2]), "'[1, 2]' of type list: expected a text"),
    "split_words": (lambda m: rnnlens.corpora.split_words(None), "text is 'None': expected a text"),
    "extend": (lambda m: rnnlens.extend(m.network, ["new"]), "vocab is \"['new']\": expected a Vocab"),
    "with_vocab": (lambda m: m.corpus.with_vocab(["new"]), "vocab is \"['new']\": expected a Vocab"),
    "with_classes": (lambda m: rnnlens.networks.with_classes(m.network, "abc"), "classes is 'abc': expected a list"),
    "from_ids": (lambda m: Corpus.from_ids(["a", "b"], [[0, 1]]), "train is '[[0, 1]]': expected a pair"),
    "broken ids": (lambda m: Corpus.from_ids(["a", "b"], ([[0.7, 1]], [1])), "a document is '[0.7, 1]'"),
    "gains": (
        lambda m: rnnlens.context.dose_response(m.known, m.subspace, m.modifiers, m.reviews, gains=[0.5]),
        "gains is '[0.5]': expected a list of gains, from 0 to 10, with 1 among them",
    ),
    "ranks twice": (
        lambda m: rnnlens.context.perturb(m.known, m.subspace, m.reviews, ranks=(1, 1)),
        "ranks is '(1, 1)': expected a list of ranks, at least 1, each once",
    ),
    "ranks beyond": (
        lambda m: rnnlens.context.perturb(m.known, m.subspace, m.reviews, ranks=(9,)),
        "ranks is '(9,)': expected some up to 2, the rank of the subspace",
    ),
    "draws": (lambda m: rnnlens.context.perturb(m.known, m.subspace, m.reviews, draws=3), "draws is 3: expected a"),
    "others": (
        lambda m: rnnlens.context.perturb(m.known, m.subspace, m.reviews, others=[3]),
        "others is '[3]': expected a list of subspaces, such as [analysis.subspace]",
    ),
    "one other": (
        lambda m: rnnlens.context.dose_response(m.known, m.subspace, m.modifiers, m.reviews, others=m.subspace),
        "others is 'Subspace': expected a list of subspaces",
    ),
    "others None": (
        lambda m: rnnlens.context.perturb(m.known, m.subspace, m.reviews, others=None),
        "others is 'None': expected a list of subspaces",
    ),
    "agreed trees": (lambda m: rnnlens.agreement(m.run, trees=5), "trees is 5: expected a file of trees, or trees"),
    "listed trees": (lambda m: rnnlens.agreement(m.run, trees=[5]), "trees is '[5]': expected a file of trees"),
    "a line of another network": (
        lambda m: rnnlens.barcode(m.network, m.line, "good"),
        "line is of another network: its states have 8 numbers, those of the network 4",
    ),
    "a line in another precision": (
        lambda m: rnnlens.find_modifiers(Network(["a", "b"], hidden=8, embedding=2), m.line),
        "line is of states in torch.float64 on cpu, and the network has torch.float32 on cpu",
    ),
    "a line of another network of the same size": (
        lambda m: rnnlens.barcode(m.other, m.line, "good"),
        "line is of another network, which reads the same states differently",
    ),
    "one line for two networks": (
        lambda m: rnnlens.find_modifiers([m.known, m.other], [m.line, m.line]),
        "line is of another network, which reads the same states differently",
    ),
    "one network as two": (
        lambda m: rnnlens.find_modifiers([m.known, m.known], [m.line, m.line]),
        "one network is given twice",
    ),
    "one network and its copy as two": (
        lambda m: rnnlens.find_modifiers([m.known, copy.deepcopy(m.known)], [m.line, m.line]),
        "one network is given twice",
    ),
    "modifiers of another network of the same size": (
        lambda m: rnnlens.context.dose_response(m.other, m.subspace, m.modifiers, m.reviews),
        "modifiers is of another network, which reads the same states differently",
    ),
    "points of another network of the same size": (
        lambda m: rnnlens.fit_line_attractor(m.other, m.points),
        "the points are of another network, which steps from them to other states",
    ),
    "a point of another network of the same size": (
        lambda m: rnnlens.linear_modes(m.other, m.points.take(0)),
        "the points are of another network",
    ),
    "geometry of another network": (
        lambda m: rnnlens.class_strengths(
            Network(["a", "b", "c"], hidden=4, embedding=2, classes=["x", "y", "z"], seed=1),
            rnnlens.class_geometry(Network(["a", "b", "c"], hidden=4, embedding=2, classes=["x", "y", "z"])),
        ),
        "geometry is of another network",
    ),
    "geometry in another precision": (
        lambda m: rnnlens.class_strengths(
            Network(["a", "b", "c"], hidden=4, embedding=2, classes=["x", "y", "z"]).double(),
            rnnlens.class_geometry(Network(["a", "b", "c"], hidden=4, embedding=2, classes=["x", "y", "z"])),
        ),
        "geometry is of states in torch.float32 on cpu, and the network has torch.float64 on cpu",
    ),
    "probes of two sides for classes": (
        lambda m: rnnlens.class_strengths(m.known, m.line, Probes(["good"], ["bad"])),
        "probes is 'Probes': expected probe words by class",
    ),
    "a probe twice": (
        lambda m: Probes(["good", "great", "good"], ["bad"]),
        "'good' is twice among the positive probes: expected each word once",
    ),
    "values of other probes": (
        lambda m: m.modifiers.probes.contrast(torch.zeros(3, 5)),
        "values have shape (3, 5): expected (..., 4)",
    ),
    "labels of minus one and one": (
        lambda m: rnnlens.context.compare_logits(np.zeros(2), np.ones(2), np.array([-1, 1])),
        "labels are '[-1, 1]': expected some from 0 to 1",
    ),
    "no labels": (
        lambda m: rnnlens.context.compare_logits(np.zeros(0), np.zeros(0), np.zeros(0)),
        "labels are '[]': expected some",
    ),
    "a text as words": (lambda m: m.known.read_words("not good"), "words is 'not good': expected a list of words"),
    "a text as words of both ways": (
        lambda m: BothWays.untrained(["a", "b"], hidden=2, embedding=2).read_words("a b"),
        "words is 'a b': expected a list of words",
    ),
    "a bias of three classes for one logit": (
        lambda m: BothWays(m.network, copy.deepcopy(m.network), torch.zeros(3)),
        "b has shape (3,): expected (), as the readers' logits",
    ),
    "three classes of one logit": (
        lambda m: BothWays(m.network, copy.deepcopy(m.network), torch.zeros(1), ["x", "y", "z"]),
        "there are 3 classes, and the readers have one logit",
    ),
    "readers with other logits": (
        lambda m: BothWays(m.network, Network(m.corpus.vocab, hidden=4, embedding=3, classes=["x", "y", "z"]), 0.0),
        "the forward reader has () logits in torch.float32, the backward one (3,) logits in torch.float32",
    ),
    "a backward reader as the forward one": (
        lambda m: BothWays(BothWays.untrained(["a", "b"], hidden=8).backwards, Network(["a", "b"]), torch.zeros(())),
        "the forward reader reads texts from their last word to their first: pass it as backwards",
    ),
    "inputs of another size": (
        lambda m: m.network.logits_of(torch.zeros(1, 2, 7)),
        "expected inputs (B, T, 3), got shape (1, 2, 7)",
    ),
    "inputs of one sequence": (
        lambda m: m.network.last_logits_of(torch.zeros(2, 3), None),
        "expected inputs (B, T, 3), got shape (2, 3)",
    ),
    "inputs that are no tensor": (
        lambda m: m.network.logits_of([[1.0, 2.0, 3.0]]),
        "inputs is 'list': expected a tensor",
    ),
    "inputs of one word": (
        lambda m: m.network.last_logits_of(torch.zeros(3), None),
        "expected inputs (B, T, 3), got shape (3,)",
    ),
    "slow points in another precision": (
        lambda m: rnnlens.fit_line_attractor(m.known, m.states.float()),
        "points is torch.float32 on cpu: expected torch.float64 on cpu",
    ),
    "slow points of a network in another precision": (
        lambda m: rnnlens.fit_line_attractor(copy.deepcopy(m.known).float(), m.points),
        "the points are of states in torch.float64 on cpu, and the network has torch.float32 on cpu: find them again",
    ),
    "inputs in another precision": (
        lambda m: m.network.logits_of(torch.zeros(1, 2, 3, dtype=torch.float64)),
        "inputs is torch.float64, and the network torch.float32: pass inputs.to(torch.float32)",
    ),
    "a first state in another precision": (
        lambda m: m.network.states(torch.zeros(1, 2, dtype=torch.long), m.network.h0.double()),
        "h0 is torch.float64, and the network torch.float32: pass h0.to(torch.float32)",
    ),
    "toy ids that no word has": (
        lambda m: rnnlens.ToyLanguage().targets(np.array([[-2, 0]])),
        "ids range from -2 to 0: expected 0 … 6, or -1 for a blank input",
    ),
    "toy ids of one review": (
        lambda m: rnnlens.ToyLanguage().targets(np.array([0, 1])),
        "ids is int64 of shape (2,): expected an array (n, T) of whole numbers",
    ),
    "directions that are not orthonormal": (
        lambda m: rnnlens.fit_subspace(m.known, m.line, m.modifiers, without=torch.ones(2, 8, dtype=torch.float64)),
        "the rows of the subspace are not orthonormal",
    ),
    "directions that are NaN": (
        lambda m: rnnlens.fit_subspace(m.known, m.line, m.modifiers, attractor=m.subspace.components * torch.nan),
        "attractor has shape (2, 8): expected finite directions (k, N)",
    ),
    "directions that are complex": (
        lambda m: rnnlens.fit_subspace(m.known, m.line, m.modifiers, attractor=m.modes.left[:1]),
        "attractor is torch.complex128 on cpu: expected real directions",
    ),
    "modifiers at another line": (
        lambda m: rnnlens.fit_subspace(m.known, m.other_line, m.modifiers),
        "modifiers were measured at the h* of another line",
    ),
    "a logit of states of another network": (
        lambda m: m.network.logit(m.states.float()),
        "h has shape (300, 8): expected states (..., 4)",
    ),
    "a step of states of another network": (lambda m: m.network.step(m.states), "h has shape (300, 8): expected"),
    "a step at a word": (lambda m: m.known.step(m.line.h_star, "good"), "e is 'str': expected a tensor"),
    "a step at inputs of another network": (
        lambda m: m.known.step(m.line.h_star, torch.zeros(3, dtype=torch.float64)),
        "e has shape (3,): expected embedded inputs (..., 4)",
    ),
    "a readout in another precision": (
        lambda m: rnnlens.context.effects(
            m.known, m.line.h_star, rnnlens.context.word_inputs(m.known, ["good"]), torch.ones(8)
        ),
        "read is torch.float32 on cpu: expected torch.float64 on cpu",
    ),
    "one direction": (
        lambda m: rnnlens.fit_subspace(m.known, m.line, m.modifiers, attractor=m.line.h_star),
        "attractor has shape (8,): expected finite directions (k, N)",
    ),
    "a rank that no analysis keeps": (
        lambda m: rnnlens.analyze(m.run, rank=11),
        "rank is 11: expected a whole number, from 1 to 10",
    ),
    "states that are all the same": (
        lambda m: rnnlens.analyze(Network([f"w{i}" for i in range(9)], hidden=6), states=torch.zeros(30, 6)),
        "all slow points have the same logit",
    ),
    "another number of values": (
        lambda m: m.modifiers.table(mine=[1, 2]),
        "the column 'mine' is '[1, 2]': expected 40 values",
    ),
    "a column that there is": (lambda m: m.modifiers.table(word=m.modifiers.words), "expected 40 values"),
    "counts that are no whole numbers": (
        lambda m: Vocab(["a", "b"], [0.5, 1.7]),
        "the counts are '[0.5, 1.7]': expected one whole number per word",
    ),
    "results as pairs": (
        lambda m: rnnlens.figures.strengths(m.run),
        "pairs is 'Run': expected a list of pairs",
    ),
    "two names without an order": (
        lambda m: Corpus.from_texts(TEXTS, ["pos", "neg"] * 20),
        "labels are 'neg', 'pos', and do not say which is positive: pass classes=[negative, positive]",
    ),
    "a generator of modifiers": (
        lambda m: ModifierConvolution(modifiers=(word for word in ["not"])).fit(TEXTS, LABELS),
        "modifiers is 'generator': expected a list of words",
    ),
    "a subspace of another network": (
        lambda m: rnnlens.context.perturb(m.network, m.subspace, m.reviews),
        "subspace is of another network: its states have 8 numbers, those of the network 4",
    ),
    "modifiers of another network": (
        lambda m: rnnlens.context.dose_response(
            Network(["a", "b"], hidden=8, embedding=2), m.subspace, m.modifiers, m.reviews
        ),
        "modifiers is of states in torch.float64",
    ),
    "other subspaces of another network": (
        lambda m: rnnlens.context.perturb(m.known, m.subspace, m.reviews, others=[m.subspace, m.smaller]),
        "others is of another network: its states have 4 numbers, those of the network 8",
    ),
    "points of another network": (
        lambda m: rnnlens.fit_line_attractor(m.network, m.points),
        ": expected states, a tensor (..., 4)",
    ),
    "modes of another network": (
        lambda m: rnnlens.mode_removal(
            m.network, torch.ones(4), torch.zeros(4), rnnlens.context.word_inputs(m.network, ["good"]), m.modes
        ),
        "the modes are of states with 8 numbers, and those of the network have 4",
    ),
    "labels of several classes": (
        lambda m: rnnlens.evaluate(m.network, Corpus.from_texts(TEXTS, ["a", "b", "c", "d"] * 10).train),
        "the labels are from 0 to 3, and the network has one logit: expected 0 to 1",
    ),
    "reviews of several classes": (
        lambda m: Reviews.to_read(
            Corpus.from_texts(TEXTS, ["a", "b", "c", "d"] * 10).train,
            Network(["a", "b"], hidden=2, embedding=2, classes=["a", "b", "c"]).of_class("c"),
        ),
        "expected 0 to 1; it reads class 'c' − the mean of the others: pass the network with all its classes",
    ),
    "more classes": (
        lambda m: rnnlens.evaluate(
            Network(m.corpus.vocab, hidden=2, embedding=2, classes=["a", "b", "c"]),
            Corpus.from_texts(TEXTS, ["a", "b", "c", "d"] * 10).train,
        ),
        "the labels are from 0 to 3, and the network has 3 classes: expected 0 to 2",
    ),
    "a run twice": (
        lambda m: rnnlens.agreement([m.folder / "run", str(m.folder / "run")]),
        "'run' is given twice: a consensus needs different networks",
    ),
    "a run and its folder": (
        lambda m: rnnlens.agreement([m.run, m.folder / ".." / m.folder.name / "run"]),
        "'run' is given twice: a consensus needs different networks",
    ),
    "a network twice": (lambda m: rnnlens.agreement([m.known, m.known]), "'network' is given twice"),
    "a run and its network": (
        lambda m: rnnlens.agreement([m.run, m.run.network]),
        "'run' is given twice: a consensus needs different networks",
    ),
    "a network and a copy of it": (
        lambda m: rnnlens.agreement([copy.deepcopy(m.run.network), m.folder / "run"]),
        "'run' is given twice: a consensus needs different networks",
    ),
    "modifiers of one run twice": (
        lambda m: read_modifiers([m.folder / "run", m.folder / "run"]),
        "the network of 'run' is given twice: a consensus needs different networks",
    ),
    "one column": (
        lambda m: prepare("nowhere", "o", text="a", label="a"),
        "text and label are both the column 'a': expected two columns",
    ),
    "class probes of one logit": (
        lambda m: rnnlens.ClassProbes.from_network(m.known, m.line.h_star),
        "does not have several classes: for one logit use Probes.from_network",
    ),
    "one reader twice": (
        lambda m: BothWays(m.network, m.network, torch.zeros(())),
        "both readers are one network, which cannot read in two orders",
    ),
    "readers of different words": (
        lambda m: BothWays(m.network, m.known, torch.zeros(())),
        "the two readers have different words",
    ),
    "runs as readers": (lambda m: BothWays(m.run, m.run, torch.zeros(())), "forwards is 'Run': expected a Network"),
    "bias of both ways": (
        lambda m: BothWays(m.network, Network(m.corpus.vocab, hidden=2, embedding=2), "no"),
        "b is 'no': expected a tensor",
    ),
    "other classes of both ways": (
        lambda m: rnnlens.networks.with_classes(BothWays.untrained(["a", "b"], hidden=2), ["a", "b", "c"]),
        "the network is 'BothWays': expected a Network",
    ),
    "probe reviews": (lambda m: rnnlens.context.probe_reviews(m.known, ["good"]), "expected a dict of texts, by name"),
    "phrases to several classes": (
        lambda m: rnnlens.context.probe_phrases(Network(["a", "b"], classes=["a", "b", "c"]), ["a"]),
        "this network has 3 classes",
    ),
    "timescales": (
        lambda m: rnnlens.context.fit_exponential(torch.rand(3, 20), shortest=10, longest=1),
        "shortest is 10: expected less than longest, 1",
    ),
    "a flag as a class": (
        lambda m: rnnlens.from_torch(GRU, torch.zeros(2, 2), torch.nn.Linear(3, 3), ["a", "b"], target=True),
        "target is 'True': expected a class below 3",
    ),
    "reviews": (lambda m: Reviews.to_read(m.corpus, m.network), "split is 'Corpus': expected a split"),
    "progress": (lambda m: prepare("nowhere", "o", progress=True), "progress is 'True': expected a function"),
    "figure": (lambda m: rnnlens.figures.write_figure(m.run, "f.html"), "figure is 'Run': expected a Plotly figure"),
    "readings": (lambda m: rnnlens.figures.reading([("a", 1.0)]), "[('a', 1.0)]\": expected readings by sentence"),
    "results": (lambda m: rnnlens.figures.catalogue(5), "results is 5: expected a run, an analysis"),
    "toy figure": (lambda m: rnnlens.figures.spectra(m.run), "these results have no 'toy': `rnnlens toy` stores it"),
    "trees": (lambda m: rnnlens.audit(m.run, [("not good",)]), "[('not good',)]\": expected a file of trees"),
    "parts": (
        lambda m: rnnlens.attribute(m.known, m.states, ["not"], m.modifiers.probes, parts=[1]),
        "parts is 'list': expected names and places",
    ),
    "toy modifier": (lambda m: ToyLanguage(modifiers={"not": -1}), "modifier 'not' is -1: expected Modifier("),
    "toy scope": (lambda m: Modifier(1.0, 0), "scope is 0: expected a whole number"),
    "language": (lambda m: synthetic_corpus(5), "language is 5: expected a Language, or the name of a preset"),
    "too many valence words": (lambda m: Language(valence_share=1), "valence_share, names and valence_from need"),
    "modifiers of a language": (lambda m: Language(modifiers=5), "modifiers is 5: expected (how many,"),
    "fewer than no modifiers": (lambda m: Language(modifiers={"negator": (-3, -1, 0)}), "is -3: expected a whole"),
    "strengths that are no numbers": (lambda m: Language(modifiers={"negator": (3, "a", 0)}), "is 'a': expected"),
    "the highest strength first": (
        lambda m: Language(modifiers={"negator": (3, 0, -1)}),
        "modifiers of kind 'negator' are '(3, 0, -1)': expected the lowest before the highest",
    ),
    "advance": (lambda m: rnnlens.agreement(m.run, advance=5), "advance is 5: expected a function"),
    "a subspace as probe words by class": (
        lambda m: rnnlens.class_strengths(m.known, m.line, m.subspace),
        "probes is 'Subspace': expected probe words by class",
    ),
    "drawn modifiers": (lambda m: Language(modifiers={"negator": 5}), "of kind 'negator' are 5: expected"),
    "words of a sweep": (lambda m: sweep("nowhere", ["bow"], 1, "o", modifiers="not"), "'not': expected a list"),
    "settings": (lambda m: Settings(hidden=0), "hidden is 0: expected a whole number"),
    "one label": (lambda m: Probes.from_corpus(Corpus.from_ids(["a", "b"], ([[0], [1]], [1, 1]))), "have one label"),
    "inputs beside an embedding": (
        lambda m: rnnlens.adapt(STEP, torch.zeros(2, 3), (torch.ones(4), 0.0), ["a", "b"], torch.zeros(4), inputs=5),
        "inputs is 5, but the embedding has 3 columns",
    ),
    "no state": (
        lambda m: rnnlens.adapt(STEP, torch.zeros(2, 3), (torch.ones(4), 0.0), ["a", "b"], []),
        "initial_state has shape (0,)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OBJECTS)
def test_an_argument_of_another_kind_is_told(name: str, made: Any) -> None:
    call, told = OBJECTS[name]
    refused(lambda: call(made), told)


STATES: dict[str, Callable[[Any, Any], object]] = {
    "jacobians": lambda m, h: rnnlens.jacobians(m.known, h),
    "linear_modes": lambda m, h: rnnlens.linear_modes(m.known, h),
    "linear_quality": lambda m, h: rnnlens.linear_quality(m.known, h, rnnlens.context.word_inputs(m.known, ["good"])),
    "mode_removal": lambda m, h: rnnlens.mode_removal(
        m.known, h, m.line.h_star, rnnlens.context.word_inputs(m.known, ["good"])
    ),
    "nearest": lambda m, h: m.line.nearest(h),
    "distance": lambda m, h: m.line.distance(h),
    "tangent": lambda m, h: m.line.tangent(h),
    "state_barcode": lambda m, h: rnnlens.context.state_barcode(m.known, m.line, h),
    "input_change": lambda m, h: rnnlens.dynamics.input_change(m.known, h, m.line.h_star),
    "after": lambda m, h: rnnlens.context.after(m.known, h, ["good"]),
}
WRONG_STATES = {
    "float32": (torch.zeros(8), "h.to(network.h0)"),
    "whole numbers": (torch.zeros(8, dtype=torch.long), "torch.int64 on cpu: expected torch.float64"),
    "of another size": (torch.zeros(7, dtype=torch.float64), "has shape (7,): expected"),
    "no tensor": ([0.0] * 8, "is 'list': expected"),
    "none": (None, "is 'NoneType': expected"),
}


@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize("wrong", WRONG_STATES)
def test_states_of_another_shape_or_precision_are_told(name: str, wrong: str, made: Any) -> None:
    given, told = WRONG_STATES[wrong]
    refused(lambda: STATES[name](made, given), told.replace("h.to", "h_mod.to" if name == "mode_removal" else "h.to"))


def test_words_may_be_a_column_of_a_table(made: Any) -> None:
    """They are stored as plain texts; a set has no order."""
    words, probes = ["not", "very"], made.modifiers.probes
    usual = rnnlens.attribute(made.known, made.line.h_star, words, probes, draws=10)
    for column in (np.array(words), pl.Series(words), tuple(words)):
        found = rnnlens.attribute(made.known, made.line.h_star, column, probes, draws=10)
        assert [type(word) for word in found.words] == [str, str] and repr(found) == repr(usual)
        assert made.known.read_words(column) == made.known.read_words(words)
    for wrong in (set(words), frozenset(words), np.array("not"), np.array([words])):
        refused(lambda wrong=wrong: made.known.read_words(wrong), "words is ", "expected a list of words")


@pytest.mark.parametrize("name", ["evaluate", "analyze", "train", "find_fixed_points", "fit_readout"])
def test_a_network_without_numbers_is_told(name: str, made: Any) -> None:
    network, call = copy.deepcopy(made.network).to("meta"), getattr(rnnlens, name)
    of = {"evaluate": made.corpus.train, "find_fixed_points": torch.zeros(2, 4), "analyze": None}.get(name, made.corpus)
    refused(lambda: call(network, of), "the network is on torch's meta device, which holds no numbers")


def test_complex_states_do_not_lose_half_of_themselves(made: Any) -> None:
    for call in (rnnlens.find_fixed_points, rnnlens.context.blank_input):
        refused(lambda call=call: call(made.known, made.states.to(torch.complex128)), "complex128", "expected real")


def test_one_state_is_expanded_as_several_are(made: Any) -> None:
    e = rnnlens.context.word_inputs(made.known, ["good"])
    one = rnnlens.linear_quality(made.known, made.line.h_star, e)
    assert repr(one) == repr(rnnlens.linear_quality(made.known, made.line.h_star.unsqueeze(0), e))


@pytest.mark.parametrize("name", ["linearise", "effects", "linear_effects"])
def test_a_run_is_no_network(name: str, made: Any) -> None:
    h, e = made.run.network.h0.detach(), torch.zeros(1, 3)
    call = rnnlens.dynamics.linearise if name == "linearise" else getattr(rnnlens.context, name)
    refused(lambda: call(made.run, h, e), "network is 'Run': expected a network")


def test_parts_of_a_network_fit_its_copies(made: Any) -> None:
    """A copy, and one without or with more of a subspace, read states as the network does."""
    copies = [copy.deepcopy(made.known), rnnlens.steer(made.known, made.subspace, 2)]
    for network in [*copies, rnnlens.project_out(made.known, made.subspace)]:
        assert rnnlens.barcode(network, made.line, "not", made.modifiers.probes).name == "not"
    for network in copies:
        assert rnnlens.fit_line_attractor(network, made.points).is_line
    network = Network(["a", "b"], hidden=4, embedding=2)
    moved, h = copy.deepcopy(network).double(), network.h0.detach().expand(3, -1)  # after its parts were measured
    check_reading("line", network, moved, h)
    check_points(network, moved, h, torch.zeros(2))


def test_classes_of_one_run_may_be_compared(made: Any) -> None:
    whole = Network(["a", "b"], hidden=2, embedding=2, classes=["x", "y", "z"])
    other = rnnlens.project_out(made.known, made.subspace)  # another network, although its weights are those of `known`
    _check_different([made.known, other, SimpleNamespace(network=None), SimpleNamespace(network=3)])
    x, y, again = (SimpleNamespace(run=made.run, network=whole.of_class(name)) for name in "xyx")
    _check_different([x, y])
    refused(lambda: _check_different([x, y, again]), "'run' is given twice")


def test_a_folder_in_place_of_an_analysis_is_told_before_it_starts(made: Any, empty: Path) -> None:
    shutil.copytree(made.run.path, empty / "run")
    (empty / "run" / "analysis.safetensors").mkdir()
    refused(lambda: analyze_command(empty / "run", None), "analysis.safetensors' is a folder: move it away")


# --- rows -------------------------------------------------------------------------------------------------------------

ROWS: dict[str, tuple[Callable[[Any, Any], object], Callable[[Any], int]]] = {
    "batch": (lambda m, rows: m.corpus.train.batch(rows), lambda m: len(m.corpus.train)),
    "take": (lambda m, rows: m.corpus.train.take(rows), lambda m: len(m.corpus.train)),
    "batch of toy reviews": (lambda m, rows: m.toy.train.batch(rows), lambda m: 5),
    "points": (lambda m, rows: m.points.take(rows), lambda m: len(m.points)),
    "after": (lambda m, rows: m.modifiers.after(rows), lambda m: len(m.modifiers)),
    "fit_subspace": (
        lambda m, rows: rnnlens.fit_subspace(m.known, m.line, m.modifiers, rank=1, rows=rows),
        lambda m: len(m.modifiers),
    ),
    "remove_modes": (lambda m, rows: rnnlens.remove_modes(m.states, m.modes, m.line.h_star, rows), lambda m: 8),
    "mode_removal": (
        lambda m, rows: rnnlens.mode_removal(
            m.known, m.states[0], m.line.h_star, rnnlens.context.word_inputs(m.known, ["good"]), units=rows
        ),
        lambda m: len(m.modes.units),
    ),
}
NO_ROWS: dict[str, Callable[[int], Any]] = {
    "a mask of another length": lambda n: [True, False, True],
    "broken numbers": lambda n: [0.5, 1.0],
    "an array of broken numbers": lambda n: np.array([1.0, 2.0]),
    "NaN": lambda n: [float("nan")],
    "texts": lambda n: ["0", "1"],
    "beyond the last": lambda n: [0, n],
    "before the first": lambda n: [0, -n - 2],
    "a huge number": lambda n: [10**30],
    "a text": lambda n: "01",
    "rows of rows": lambda n: [[0, 1]],
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("wrong", NO_ROWS)
def test_what_numbers_no_rows_is_told(name: str, wrong: str, made: Any) -> None:
    call, count = ROWS[name]
    refused(lambda: call(made, NO_ROWS[wrong](count(made))), ": expected numbers of ", f"to {count(made) - 1}, or")


@pytest.mark.parametrize("name", ROWS)
def test_rows_by_a_mask_or_by_numbers_of_any_type_are_the_same(name: str, made: Any) -> None:
    call, count = ROWS[name]
    mask = np.arange(count(made)) < 2
    plain = repr(call(made, [0, 1]))
    for rows in (mask, torch.from_numpy(mask), mask.tolist(), np.array([0, 1], np.uint8), torch.tensor([0, 1]), (0, 1)):
        assert repr(call(made, rows)) == plain


def test_a_mask_takes_the_documents_that_it_marks(made: Any) -> None:
    train = made.corpus.train
    assert (
        train.take(train.labels == 1).labels.all() and len(train.take(train.labels == 1)) == (train.labels == 1).sum()
    )
    assert np.array_equal(train.batch([-1])[0], train.batch([len(train) - 1])[0])


ONE: dict[str, Callable[[Any, Any], object]] = {
    "document": lambda m, i: m.corpus.train.document(i),
    "point": lambda m, i: m.points.take(i),
    "mode": lambda m, i: m.modes.left_of(i),
}


@pytest.mark.parametrize("name", ONE)
def test_one_row_is_a_whole_number_that_there_is(name: str, made: Any) -> None:
    for wrong in (True, 10**9, -(10**30)):
        refused(lambda wrong=wrong: ONE[name](made, wrong), "expected a whole number, from -")
    one = ONE[name](made, 1)
    for same in (np.int64(1), torch.tensor(1)):
        assert repr(ONE[name](made, same)) == repr(one)
    assert len(made.points.take(np.int64(1))) == 1


def test_ids_below_the_blank_input_are_no_words(made: Any) -> None:
    assert made.corpus.vocab.decode([-1, 0]) == ["<pad>", made.corpus.vocab.words[0]]
    refused(lambda: made.corpus.vocab.decode([0, -2]), "no word has the id -2")
    refused(lambda: made.corpus.vocab.decode([float("nan")]), "expected whole numbers")


@pytest.mark.parametrize("logit", [float("nan"), "0", None])
def test_a_place_on_the_line_is_a_logit(logit: Any, made: Any) -> None:
    refused(lambda: made.line.at(logit), "logit is ", "expected a number")


def test_a_phrase_without_words_reads_as_the_empty_review(made: Any) -> None:
    assert rnnlens.context.probe_phrases(made.known, ("", "good"))[""] == 0


# --- what was taken for something else --------------------------------------------------------------------------------


SPLITS: dict[str, Callable[[Any, Any], object]] = {
    "evaluate": lambda network, split: rnnlens.evaluate(network, split),
    "to_read": lambda network, split: Reviews.to_read(split, network),
    "visited_states": lambda network, split: rnnlens.visited_states(network, split, n=2),
}


@pytest.mark.parametrize("name", SPLITS)
def test_a_split_of_another_corpus_is_refused(name: str, made: Any) -> None:
    """Its ids mean other words, or its words are in the other order."""
    call, other = SPLITS[name], Corpus.from_texts(["so good", "so bad"] * 5, [1, 0] * 5).train
    for split in (other, other.take([0, 1]), other.join(other)):
        refused(lambda split=split: call(made.network, split), "network and corpus have different words (10 and 4)")
    backward = copy.deepcopy(made.network)
    backward.direction = "backwards"
    refused(lambda: call(backward, made.corpus.train), "the corpus is in the usual order")
    own = rnnlens.reversed_corpus(made.corpus).train
    for network, split in ((backward, own), (made.network, made.corpus.train.take([0, 1]))):
        call(network, split)
        call(network, dataclasses.replace(split, vocab=None, backward=None))  # of no corpus
    refused(lambda: made.corpus.train.join(other), "the splits have different words")


def test_a_corpus_with_other_words_is_read_by_its_words() -> None:
    other = Corpus.from_texts(["great film", "bad plot", "good film it was"] * 4, [1, 0, 1] * 4, validation=0)
    texts = [" ".join(other.vocab.decode(other.train.document(i))) for i in range(len(other.train))]
    model = BagOfWords(min_count=1, epochs=20).fit(TEXTS, LABELS)
    assert model.vocab_ != other.vocab
    assert np.allclose(model.decision_function(other), model.decision_function(texts))
    assert np.allclose(model.decision_function(other.train.take([1, 0])), model.decision_function(texts)[[1, 0]])
    many = dataclasses.replace(Corpus.from_ids([f"w{i}" for i in range(99)], ([[98]], [1])).train, vocab=None)
    refused(lambda: model.predict(many), "the split has the id 98, and the model knows", "with_vocab")
    refused(lambda: model.predict(rnnlens.reversed_corpus(other).train), "the corpus are in reverse order")


def test_a_table_of_words_is_no_list_of_them(made: Any, empty: Path) -> None:
    """Its headings, kinds and numbers would be words."""
    made.modifiers.write(empty / "table.csv")
    refused(
        lambda: read_modifiers([empty / "table.csv"]), "is no list of words: expected .json, .txt, or analyzed runs"
    )
    for name in ("words.txt", "words"):
        (empty / name).write_text("not\nvery")
        assert read_modifiers([empty / name]) == ["not", "very"]


def test_settings_that_lack_a_model_are_told_before_the_first_fit(made: Any, empty: Path) -> None:
    from rnnlens.common.files import read_json, write_json

    write_choice(empty / "settings.json")
    content = read_json(empty / "settings.json")
    del content["models"]["comw+beta_mod"]
    write_json(empty / "settings.json", content)
    corpus = Corpus.from_texts(TEXTS, LABELS, test=(TEXTS, LABELS), validation=0.2)
    called = lambda: next(fit_baselines(corpus, ["not"], "o", settings=empty / "settings.json"))  # noqa: E731
    refused(called, "there are no settings for 'comw+beta_mod'")
    write_reviews(empty / "reviews.csv")
    prepare(empty / "reviews.csv", empty / "corpus", min_count=1)
    notes: list[str] = []
    models = ["bow", "comw+beta_mod"]
    called = lambda: reproduce(  # noqa: E731
        str(empty / "corpus"), "o", models=models, settings=empty / "settings.json", jobs=0, report=notes.append
    )
    refused(called, "there are no settings for 'comw+beta_mod'")
    assert notes == []


# --- one declaration --------------------------------------------------------------------------------------------------


def test_names_in_the_table_are_those_of_the_code() -> None:
    assert options.ARCH.names == tuple(ARCHITECTURES) == get_args(printing.Trained)
    assert options.DEVICE.names == get_args(printing.Device)
    for field, kind in RANGES["training"].items():
        if isinstance(kind, Choice):
            literal = importlib.import_module("typing").get_type_hints(TrainConfig)[field]
            assert kind.names == get_args(literal), field


PACKAGES = ("", ".corpora", ".networks", ".training", ".dynamics", ".context", ".figures", ".runs")
OWN = {  # checked by the function itself, or by one that it calls
    "fit_baselines", "load_checked", "load_weights", "read_about", "write_vocab", "write_weights", "split_words",
    "prepare", "load_corpus", "new_network", "linearise", "effects", "linear_effects", "check_words",
    "weights_fingerprint",
}  # fmt: skip
BY_NETWORK = {"output", "layer"}  # which numbers there are depends on the network
OPENED = {"run", "corpus", "trees", "lexicons"}  # given as a path, `load`, `load_corpus` and others open them


@pytest.mark.parametrize("package", PACKAGES)
def test_every_number_flag_choice_and_path_of_a_public_function_is_in_the_table(package: str) -> None:
    module = importlib.import_module(f"rnnlens{package}")
    for name in module.__all__:
        function = getattr(module, name)
        if not inspect.isfunction(function) or name in OWN:
            continue
        kinds = _kinds(function)
        for option, parameter in inspect.signature(function).parameters.items():
            hint = str(parameter.annotation)
            simple = re.fullmatch(r"(int|float|bool|Mode|Kind|Order|What)( \| None)?", hint) or "Literal" in hint
            path = "Path" in hint and option not in OPENED
            network = option == "network" and "Network" in hint
            if (simple or path or network) and option not in BY_NETWORK:
                assert option in kinds, f"{name}({option}: {hint})"
                if parameter.default not in (inspect.Parameter.empty, None):
                    assert parameter.default in kinds[option], f"{name}({option}={parameter.default!r})"


def _kinds(function: Any) -> dict[str, Any]:
    while not hasattr(function, "allowed") and hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return getattr(function, "allowed", {})


def test_every_range_says_its_limits() -> None:
    for of, known in RANGES.items():
        for name, kind in known.items():
            assert kind.what and "\n" not in kind.what, (of, name)
            if isinstance(kind, Range) and kind.high not in (float("inf"), 2**31 - 1):
                assert any(char.isdigit() for char in kind.what), (of, name)
