"""Arguments that would be silently wrong are refused before anything is computed or written; what has the right meaning
in another type is taken."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from tests.handmade import handmade
from tests.support.calls import command, refused, refused_command
from tests.support.world import write_reviews

import rnnlens
from rnnlens import BothWays, Corpus, Network, Probes, RnnlensError, TrainConfig
from rnnlens.baselines import BagOfWords, ModifierConvolution
from rnnlens.common.ranges import check_options
from rnnlens.context import Reviews
from rnnlens.corpora import Vocab, prepare
from rnnlens.corpora.prepared import load_corpus
from rnnlens.corpora.sources import hub_name, open_source
from rnnlens.experiments.modifier_words import read_modifiers
from rnnlens.training.settings import TUNED, read_settings

TEXTS, LABELS = ["a good film", "a bad plot", "not good", "it was great"] * 10, [1, 0, 0, 1] * 10
GRU = torch.nn.GRU(2, 3)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """A corpus, a run, and what is measured of a network by hand."""
    corpus, (known, _), (other, _) = Corpus.from_texts(TEXTS, LABELS), handmade(), handmade(seed=1)
    network = Network(corpus.vocab, hidden=4, embedding=3)
    run = rnnlens.train(network, corpus, TrainConfig(epochs=1), tmp_path_factory.mktemp("made") / "run", progress=False)
    states = rnnlens.visited_states(known, n=300)
    points = rnnlens.find_fixed_points(known, states, mode="slow")
    line = rnnlens.fit_line_attractor(known, points)
    modifiers = rnnlens.find_modifiers(known, line, probes=Probes(("good", "great"), ("bad", "awful")))
    return SimpleNamespace(
        corpus=corpus, run=run, network=run.network, known=known, other=other, states=states, points=points, line=line,
        other_line=rnnlens.fit_line_attractor(known, points, trim=0.2), modifiers=modifiers,
        modes=rnnlens.linear_modes(known, line.h_star), subspace=rnnlens.fit_subspace(known, line, modifiers, rank=2),
        reviews=Reviews.to_read(Corpus.from_ids(known.vocab, ([[0, 1], [2]] * 5, [0, 1] * 5)).train, known),
    )  # fmt: skip


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, and another home folder."""
    for name in ("here", "home"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RNNLENS_CACHE", str(tmp_path / "cache"))
    return tmp_path


def classed(seed: int = 0) -> Network:
    return Network(["a", "b", "c"], hidden=4, embedding=2, classes=["x", "y", "z"], seed=seed)


# --- what belongs to another network, or means something else ---------------------------------------------------------

ANOTHER: dict[str, tuple[Callable[[Any], object], str]] = {
    "a line": (lambda m: rnnlens.barcode(m.other, m.line, "good"), "line is of another network"),
    "one network as two": (
        lambda m: rnnlens.find_modifiers([m.known, copy.deepcopy(m.known)], [m.line, m.line]), "given twice"),
    "modifiers": (
        lambda m: rnnlens.context.dose_response(m.other, m.subspace, m.modifiers, m.reviews), "of another network"),
    "modifiers at another line": (
        lambda m: rnnlens.fit_subspace(m.known, m.other_line, m.modifiers), "measured at the h* of another line"),
    "a subspace": (lambda m: rnnlens.context.perturb(m.network, m.subspace, m.reviews), "of another network"),
    "points": (lambda m: rnnlens.fit_line_attractor(m.other, m.points), "the points are of another network"),
    "a point": (lambda m: rnnlens.linear_modes(m.other, m.points.take(0)), "the points are of another network"),
    "a geometry": (
        lambda m: rnnlens.class_strengths(classed(1), rnnlens.class_geometry(classed())), "of another network"),
    "a run twice": (lambda m: rnnlens.agreement([m.run, m.run.path]), "'run' is given twice"),
    "a copy of a network": (lambda m: rnnlens.agreement([copy.deepcopy(m.network), m.run]), "'run' is given twice"),
    "one reader twice": (lambda m: BothWays(m.network, m.network, torch.zeros(())), "both readers are one network"),
    "a text as words": (lambda m: m.known.read_words("not good"), "expected a list of words"),
    "a set of words": (lambda m: m.known.read_words({"not", "good"}), "expected a list of words"),
    "a probe twice": (lambda m: Probes(["good", "good"], ["bad"]), "expected each word once"),
    "values of other probes": (lambda m: m.modifiers.probes.contrast(torch.zeros(3, 5)), "expected (..., 4)"),
    "labels of −1 and 1": (
        lambda m: rnnlens.context.compare_logits(np.zeros(2), np.ones(2), np.array([-1, 1])), "expected some from 0"),
    "labels without an order": (lambda m: Corpus.from_texts(TEXTS, ["pos", "neg"] * 20), "which is positive"),
    "labels of four classes": (
        lambda m: rnnlens.evaluate(m.network, Corpus.from_texts(TEXTS, ["a", "b", "c", "d"] * 10).train),
        "the network has one logit"),
    "broken ids": (lambda m: Corpus.from_ids(["a", "b"], ([[0.7, 1]], [1])), "a document is"),
    "broken counts": (lambda m: Vocab(["a", "b"], [0.5, 1.7]), "expected a whole number, at least 0, for each word"),
    "an id below the blank input": (lambda m: m.corpus.vocab.decode([0, -2]), "no word has the id -2"),
    "toy ids that no word has": (lambda m: rnnlens.ToyLanguage().targets(np.array([[-2, 0]])), "ids range from -2"),
    "complex states": (lambda m: rnnlens.find_fixed_points(m.known, m.states + 0j), "expected real"),
    "states of another size": (lambda m: m.network.logit(m.states.float()), "expected states (..., 4)"),
    "lengths beyond the batch": (
        lambda m: m.network(torch.zeros(2, 4, dtype=torch.long), torch.tensor([2, 5])), "expected 0 … 4"),
    "ids as flags": (lambda m: m.network.states(torch.ones(1, 2, dtype=torch.bool)), "got torch.bool"),
    "directions that are not orthonormal": (
        lambda m: rnnlens.fit_subspace(m.known, m.line, m.modifiers, without=torch.ones(2, 8, dtype=torch.float64)),
        "not orthonormal"),
    "ranks twice": (lambda m: rnnlens.context.perturb(m.known, m.subspace, m.reviews, ranks=(1, 1)), "each once"),
    "gains without 1": (
        lambda m: rnnlens.context.dose_response(m.known, m.subspace, m.modifiers, m.reviews, gains=[0.5]), "with 1"),
    "modifiers twice": (lambda m: ModifierConvolution(["not", "not"]).fit(TEXTS, LABELS), "holds 'not' twice"),
    "weights of classes": (
        lambda m: BagOfWords(class_weight={0: -1.0, 1: 1.0}).fit(TEXTS, LABELS), "class_weight is"),
}  # fmt: skip


@pytest.mark.parametrize("name", ANOTHER)
def test_what_means_something_else_is_refused(name: str, made: Any) -> None:
    call, told = ANOTHER[name]
    refused(lambda: call(made), told)
    assert not list(Path().iterdir())


def test_parts_of_a_network_fit_its_copies(made: Any) -> None:
    """A copy, and one without or with more of a subspace, read states as the network does."""
    copies = [copy.deepcopy(made.known), rnnlens.steer(made.known, made.subspace, 2)]
    for network in [*copies, rnnlens.project_out(made.known, made.subspace)]:
        assert rnnlens.barcode(network, made.line, "not", made.modifiers.probes).name == "not"
    for network in copies:
        assert rnnlens.fit_line_attractor(network, made.points).is_line


SPLITS: dict[str, Callable[[Any, Any], object]] = {
    "evaluate": rnnlens.evaluate,
    "to_read": lambda network, split: Reviews.to_read(split, network),
    "visited_states": lambda network, split: rnnlens.visited_states(network, split, n=2),
}


@pytest.mark.parametrize("name", SPLITS)
def test_a_split_of_another_corpus_is_refused(name: str, made: Any) -> None:
    """Its ids mean other words, or its words are in the other order."""
    call, other = SPLITS[name], Corpus.from_texts(["so good", "so bad"] * 5, [1, 0] * 5).train
    for split in (other, other.take([0, 1]), other.join(other)):
        refused(lambda split=split: call(made.network, split), "different words")  # type: ignore[misc]
    backward = copy.deepcopy(made.network)
    backward.direction = "backwards"
    refused(lambda: call(backward, made.corpus.train), "the corpus is in the usual order")
    own = rnnlens.reversed_corpus(made.corpus).train
    for network, split in ((backward, own), (made.network, made.corpus.train.take([0, 1]))):
        call(network, split)
        call(network, dataclasses.replace(split, vocab=None, backward=None))  # of no corpus
    refused(lambda: made.corpus.train.join(other), "different words")


def test_a_corpus_with_other_words_is_read_by_its_words() -> None:
    other = Corpus.from_texts(["great film", "bad plot", "good film it was"] * 4, [1, 0, 1] * 4, validation=0)
    texts = [" ".join(other.vocab.decode(other.train.document(i))) for i in range(len(other.train))]
    model = BagOfWords(min_count=1, epochs=20).fit(TEXTS, LABELS)
    assert model.vocab_ != other.vocab
    assert np.allclose(model.decision_function(other), model.decision_function(texts))
    assert np.allclose(model.decision_function(other.train.take([1, 0])), model.decision_function(texts)[[1, 0]])
    many = dataclasses.replace(Corpus.from_ids([f"w{i}" for i in range(99)], ([[98]], [1])).train, vocab=None)
    refused(lambda: model.predict(many), "the split has the id 98")
    refused(lambda: model.predict(rnnlens.reversed_corpus(other).train), "in reverse order")


# --- rows -------------------------------------------------------------------------------------------------------------

ROWS: dict[str, tuple[Callable[[Any, Any], object], Callable[[Any], int]]] = {
    "batch": (lambda m, rows: m.corpus.train.batch(rows), lambda m: len(m.corpus.train)),
    "take": (lambda m, rows: m.corpus.train.take(rows), lambda m: len(m.corpus.train)),
    "points": (lambda m, rows: m.points.take(rows), lambda m: len(m.points)),
    "after": (lambda m, rows: m.modifiers.after(rows), lambda m: len(m.modifiers)),
    "fit_subspace": (
        lambda m, rows: rnnlens.fit_subspace(m.known, m.line, m.modifiers, rank=1, rows=rows),
        lambda m: len(m.modifiers),
    ),
    "remove_modes": (lambda m, rows: rnnlens.remove_modes(m.states, m.modes, m.line.h_star, rows), lambda m: 8),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_numbers_or_a_mask_of_any_type_and_nothing_else(name: str, made: Any) -> None:
    call, count = ROWS[name]
    n = count(made)
    for wrong in ([True, False, True], [0.5, 1.0], ["0", "1"], [0, n], [0, -n - 2], [10**30], "01", [[0, 1]]):
        refused(lambda wrong=wrong: call(made, wrong), ": expected numbers of ")  # type: ignore[misc]
    mask, plain = np.arange(n) < 2, repr(call(made, [0, 1]))
    for rows in (mask, torch.from_numpy(mask), mask.tolist(), np.array([0, 1], np.uint8), torch.tensor([0, 1]), (0, 1)):
        assert repr(call(made, rows)) == plain


def test_a_mask_takes_the_documents_that_it_marks(made: Any) -> None:
    train = made.corpus.train
    positive = train.take(train.labels == 1)
    assert positive.labels.all() and len(positive) == (train.labels == 1).sum()
    assert np.array_equal(train.batch([-1])[0], train.batch([len(train) - 1])[0])


# --- numbers, flags and words of other types --------------------------------------------------------------------------

NUMBERS: list[tuple[Callable[[], object], str]] = [
    (lambda: TrainConfig(epochs=1.5), "epochs is 1.5"),  # type: ignore[arg-type]
    (lambda: TrainConfig(epochs=True), "epochs is 'True'"),
    (lambda: TrainConfig(batch="64"), "batch is '64'"),  # type: ignore[arg-type]
    (lambda: TrainConfig(balance="no"), "balance is 'no'"),  # type: ignore[arg-type]
    (lambda: TrainConfig(learning_rate=float("nan")), "learning_rate is nan"),
    (lambda: TrainConfig(learning_rate=10**400), "learning_rate is"),
    (lambda: TrainConfig(word_dropout=1.0), "word_dropout is 1.0"),
    (lambda: prepare("nowhere", "o", validation=1.0), "validation is 1.0"),
    (lambda: Network(["a", "b"], hidden=10**30), "hidden is 1"),
    (lambda: rnnlens.analyze("nowhere", top=-5), "top is -5"),
    (lambda: rnnlens.analyze("nowhere", seed=2**70), "seed is 1"),
    (lambda: rnnlens.export("nowhere", "o", overwrite="no"), "overwrite is 'no'"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "told"), NUMBERS, ids=[told for _, told in NUMBERS])
def test_a_number_or_flag_outside_its_range_is_refused(call: Callable[[], object], told: str) -> None:
    refused(call, told, "expected")
    assert not list(Path().iterdir())


LINES = {
    "analyze run --top 0": "top is 0",
    "analyze run --top 1.5": "not 1.5",
    "train c --out o --epochs 1e3": "not 1e3",
    "train c --out o --scale nan": "scale is nan",
    "train c --out=": "'' is no path",
    "prepare r.csv --out o --seed -1": "seed is -1",
    "prepare corpora/mine --out o": "there is no file or folder 'corpora/mine'",
    "train corpora/mine --out o": "there is no file or folder 'corpora/mine'",
    "analyze nowhere --table words.txt": "expected a name ending in",
}


@pytest.mark.parametrize("line", LINES)
def test_a_command_is_refused_in_one_line_before_anything_is_read(line: str) -> None:
    assert LINES[line] in refused_command(*line.split(" "))
    assert not list(Path().iterdir())


def test_numbers_flags_and_lists_of_numpy_are_taken(made: Any) -> None:
    two = np.int64(2)
    network = Network(made.corpus.vocab, hidden=two, embedding=two, seed=two, scale=np.float32(0.5))
    assert network.config["hidden"] == 2 and type(network.config["hidden"]) is int
    rnnlens.extend(network, Vocab(["new"]), seed=two)
    TrainConfig(epochs=two, learning_rate=np.float32(0.01))
    ModifierConvolution(["not"], min_count=1, epochs=1, own_weights=np.True_).fit(TEXTS, LABELS)
    for ranks in ([1, 2], np.array([1, 2]), torch.tensor([1, 2]), range(1, 3)):
        assert check_options("perturbations", ranks=ranks) == {"ranks": (1, 2)}
    words, probes = ["not", "very"], made.modifiers.probes
    usual = rnnlens.attribute(made.known, made.line.h_star, words, probes, draws=10)
    for column in (np.array(words), pl.Series(words), tuple(words)):
        found = rnnlens.attribute(made.known, made.line.h_star, column, probes, draws=10)
        assert repr(found) == repr(usual) and made.known.read_words(column) == made.known.read_words(words)


def test_a_table_of_words_is_no_list_of_them(made: Any, empty: Path) -> None:
    """Its headings, kinds and numbers would be words."""
    made.modifiers.write(empty / "table.csv")
    refused(lambda: read_modifiers([empty / "table.csv"]), "is no list of words")
    (empty / "words.txt").write_text("\ufeffDon’t\nNOT\n", encoding="utf-8")
    texts, labels = ["don't like it", "like it", "not good", "good"] * 5, [0, 1, 0, 1] * 5
    model = ModifierConvolution(read_modifiers(empty / "words.txt"), min_count=1, epochs=1).fit(texts, labels)
    assert model.modifiers_["word"].sort().to_list() == ["don't", "not"], "as texts are read"


# --- paths and flags --------------------------------------------------------------------------------------------------


def test_a_tilde_is_the_home_folder_wherever_a_path_is_given(made: Any, empty: Path) -> None:
    write_reviews(empty / "reviews.csv")
    prepare(empty / "reviews.csv", "~/corpus")
    rnnlens.export(made.run, "~/model")
    made.modifiers.write("~/words.csv")
    assert {"corpus", "model", "words.csv"} == {path.name for path in (empty / "home").iterdir()}
    assert command("info", "~/corpus")[0] == 0 and not list(Path().iterdir())


def test_a_flag_that_equals_a_default_wins_over_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = SimpleNamespace()

    def network(vocab: Any, arch: str, seed: int, **shape: Any) -> Any:
        seen.shape = shape

    def train(network: Any, data: Any, config: TrainConfig, *_: Any, **__: Any) -> Any:
        seen.config = config
        raise RnnlensError("no training here")

    monkeypatch.setattr("rnnlens.corpora.toy_corpus", lambda seed: SimpleNamespace(vocab=None))
    monkeypatch.setattr("rnnlens.networks.new_network", network)
    monkeypatch.setattr("rnnlens.training.loop.train", train)

    def settings(*flags: object) -> dict[str, Any]:
        assert "no training here" in refused_command("train", "toy", "--out", "o", *flags)
        return {**dataclasses.asdict(seen.config), **seen.shape}

    defaults = {**dataclasses.asdict(TrainConfig()), "hidden": 256, "embedding": 128, "scale": 1.0, "memory": 0.0}
    chosen = read_settings(TUNED, "gru")
    assert chosen.items() <= settings("--tuned").items()
    for name in (name for name in chosen if chosen[name] != defaults[name]):
        found = settings("--tuned", f"--{name.replace('_', '-')}", defaults[name])
        assert found[name] == defaults[name]
        assert all(found[other] == chosen[other] for other in chosen if other != name), name
    assert settings("--epochs", 3) == dataclasses.asdict(TrainConfig(epochs=3))
    assert settings("--tuned", "--max-words", "None")["max_words"] is None


# --- names of the hub -------------------------------------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every path that polars is asked to scan; the hub has reviews of whatever name."""
    paths: list[str] = []

    def scan(path: Any, **_: object) -> object:
        paths.append(str(path))
        return pl.LazyFrame({"text": ["good", "bad"] * 20, "label": [1, 0] * 20})

    for name in ("scan_parquet", "scan_csv", "scan_ndjson"):
        monkeypatch.setattr(pl, name, scan)
    return paths


@pytest.mark.parametrize("name", ["owner/name", "mine", "mine.parquet", "https://example.org/reviews.csv", "./imdb"])
def test_a_missing_path_is_a_missing_path_and_no_request(name: str, asked: list[str]) -> None:
    for read in (open_source, load_corpus, lambda source: prepare(source, "out")):
        refused(lambda read=read: read(name), f"there is no file or folder {name!r}")  # type: ignore[misc]
    assert asked == [] and not list(Path().iterdir())


def test_hub_names_are_written_as_such(asked: list[str]) -> None:
    assert hub_name("hf:owner/name") == "owner/name" and hub_name("owner/name") is None
    assert hub_name("imdb") == "stanfordnlp/imdb" and hub_name("Yelp") == "fancyzhx/yelp_polarity"
    open_source("hf:owner/name")
    assert asked[0] == "hf://datasets/owner/name/**/train*.parquet"
    Path("hf:owner/name").mkdir(parents=True)  # even where such a folder lies here
    assert hub_name("hf:owner/name") == "owner/name"
    Path("imdb").mkdir()
    assert hub_name("imdb") is None
    for wrong in ("hf:", "hf:name", "hf:a/b/c", "hf:/datasets/owner/name"):
        refused(lambda wrong=wrong: open_source(wrong), "expected hf:owner/name")  # type: ignore[misc]
