"""Several sources, one corpus: documents keep their source, sources are weighed, overlapping texts are dropped."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

pl = pytest.importorskip("polars")

from rnnlens import Network, TrainConfig, load, train  # noqa: E402
from rnnlens.cli import main  # noqa: E402
from rnnlens.common.errors import RnnlensError  # noqa: E402
from rnnlens.corpora import Corpus, source_statistics, statistics  # noqa: E402
from rnnlens.corpora import overlap as overlap_module  # noqa: E402
from rnnlens.corpora.asked import source_names  # noqa: E402
from rnnlens.corpora.overlap import RUN, SHARE, overlapping  # noqa: E402
from rnnlens.corpora.prepared import load_corpus, prepare  # noqa: E402
from rnnlens.corpora.reading import read_corpus  # noqa: E402
from rnnlens.corpora.saving import save_corpus  # noqa: E402
from rnnlens.corpora.splits import Split  # noqa: E402
from rnnlens.corpora.spool import Spool  # noqa: E402
from rnnlens.training.evaluation import losses  # noqa: E402
from rnnlens.training.weighting import document_weights  # noqa: E402

OVERLAP, HELD_OVERLAP = "overlap with validation or test", "overlap of validation with test"


def table(path: Path, texts: list[str], labels: list[Any], columns: tuple[str, str] = ("text", "label")) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *zip(texts, labels, strict=True)])
    return path


def texts_of(mark: str, n: int) -> list[str]:
    """n texts that differ from one another and name their source."""
    return [f"{mark} text {mark}{i} is {'good' if i % 3 else 'bad'}" for i in range(n)]


def source(folder: Path, mark: str, n: int = 30, test: int = 9) -> Path:
    """Two thirds positive, one third negative."""
    for part, number in (("train", n), ("test", test)):
        texts = texts_of(f"{mark}{part}", number)
        table(folder / f"{part}.csv", [f"{mark} {text}" for text in texts], [int(i % 3 > 0) for i in range(number)])
    return folder


@pytest.fixture
def two(tmp_path: Path) -> list[Path]:
    return [source(tmp_path / "films", "films", 30), source(tmp_path / "hotels", "hotels", 60, 12)]


def assert_sources_kept(corpus: Corpus) -> None:
    """The first word of every text is the name of its source."""
    for split in corpus.splits.values():
        assert split.sources is not None and len(split.sources) == len(split)
        named = [corpus.vocab.decode(split.document(i))[0] for i in range(len(split))]
        assert named == [corpus.sources[number] for number in split.sources]


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    told = capsys.readouterr()
    return int(end.value.code or 0), told.out, told.err


# --- one corpus -------------------------------------------------------------------------------------------------------


def test_every_document_keeps_its_source_wherever_it_goes(two, tmp_path, monkeypatch):
    monkeypatch.setenv("RNNLENS_CACHE", str(tmp_path / "cache"))
    corpus = prepare(two, tmp_path / "out", min_count=1)
    assert corpus.sources == ("films", "hotels") and {"films", "hotels"} <= set(corpus.vocab.words)
    assert corpus.validation is not None
    assert {name: len(split) for name, split in corpus.splits.items()} == {"train": 81, "validation": 9, "test": 21}
    cached = load_corpus(two, min_count=1)
    assert cached.fingerprint == corpus.fingerprint == load_corpus(two, min_count=1).fingerprint
    taken = corpus.train.take([50, 3, 80])
    parts = {
        "prepared": corpus,
        "read": read_corpus(tmp_path / "out"),
        "cached": cached,
        "taken": Corpus(corpus.vocab, taken, about=corpus.about),
        "joined": Corpus(corpus.vocab, taken.join(corpus.validation), about=corpus.about),
        "refit": corpus.refit(),
        "only": corpus.only(["hotels"]),
        "only, refit": corpus.only(["hotels"]).refit(),
    }
    for one in parts.values():
        assert_sources_kept(one)
    (tmp_path / "saved").mkdir()
    save_corpus(corpus.refit(), tmp_path / "saved", "key")
    saved = read_corpus(tmp_path / "saved")
    assert_sources_kept(saved)
    assert saved.fingerprint == corpus.refit().fingerprint and len(saved.train) == 90 and saved.validation is None


def test_only_keeps_the_training_documents_of_some_sources(two, tmp_path):
    corpus = prepare(two, tmp_path / "out", min_count=1)
    only = corpus.only("hotels")
    assert set(only.train.sources) == {1} and len(only.train) == 54
    assert only.vocab is corpus.vocab and only.validation is corpus.validation and only.test is corpus.test
    assert only.fingerprint != corpus.fingerprint and "hotels: train 54" in repr(only)
    assert corpus.only(["hotels", "films", "films"]).about["only"] == ["films", "hotels"]
    refit = only.refit()
    assert set(refit.train.sources) == {1} and len(refit.train) == 60, "no film review was asked for"
    with pytest.raises(RnnlensError, match=r"no source 'films': expected some of 'hotels'$"):
        only.only(["films"])
    for names in (["cars"], [], [""]):
        with pytest.raises(RnnlensError, match="expected some of 'films', 'hotels'"):
            corpus.only(names)
    with pytest.raises(RnnlensError, match="the corpus has one source"):
        prepare(two[0], tmp_path / "single").only(["films"])


def test_statistics_by_source_add_up(two, tmp_path):
    corpus = prepare(two, tmp_path / "out", min_count=2)
    whole, by_source = statistics(corpus), source_statistics(corpus)
    assert list(by_source) == ["films", "hotels"] and by_source["hotels"]["test"]["reviews"] == 12
    for part, found in whole.items():
        of_part = [by_source[name][part] for name in by_source]
        for key in ("reviews", "words"):
            assert sum(one[key] for one in of_part) == found[key]
        for share, of in (("positive", "reviews"), ("unknown", "words")):
            assert sum(one[share] * one[of] for one in of_part) / found[of] == pytest.approx(found[share])
    assert whole["test"]["unknown"] > 0 and source_statistics(Corpus.from_texts(["a", "b"], [0, 1])) == {}


def test_a_limit_holds_for_each_source(two, tmp_path):
    corpus = prepare(two, tmp_path / "out", limit=15, validation=0)
    assert np.bincount(corpus.train.sources).tolist() == [15, 15] and corpus.about["sources"][0]["rows"]["train"] == 30


def test_each_source_has_its_own_label_scheme(tmp_path):
    films = table(tmp_path / "films.csv", texts_of("films", 10), [1, 2, 3, 4, 5] * 2, ("body", "stars"))
    hotels = table(tmp_path / "hotels.csv", texts_of("hotels", 12), [*["neg", "pos"] * 5, "", " "])
    ratings = table(tmp_path / "ratings.csv", texts_of("ratings", 10), list(range(1, 11)), ("review", "rating"))
    corpus = prepare([films, hotels, ratings], tmp_path / "out", test=0, validation=0)
    first, second, third = corpus.about["sources"]
    assert first["classes"] == {"negative": "1, 2", "positive": "4, 5", "neutral": "3"}
    assert first["columns"] == {"text": "body", "label": "stars"} and first["dropped"]["no class"] == 0
    assert second["classes"] == {"negative": "neg", "positive": "pos"} and second["dropped"]["no class"] == 2
    assert third["classes"] == {"negative": "1, 2, 3, 4", "positive": "7, 8, 9, 10", "neutral": "5, 6"}
    assert corpus.train.labels.tolist() == [0, 0, 2, 1, 1] * 2 + [0, 1] * 5 + [0] * 4 + [2, 2] + [1] * 4


def test_a_single_source_is_prepared_as_before(tmp_path):
    """Also as a list of one: nothing is dropped, even what train and test share, and no source is stored."""
    folder = source(tmp_path / "films", "films")
    table(
        folder / "test.csv", [f"films {text}" for text in texts_of("filmstrain", 9)], [int(i % 3 > 0) for i in range(9)]
    )
    alone, listed = prepare(folder, tmp_path / "alone"), prepare([folder], tmp_path / "listed")
    assert alone.fingerprint == listed.fingerprint and alone.sources == () and alone.train.sources is None
    assert len(alone.train) == 27 and not list((tmp_path / "alone").glob("*.sources.npy"))
    assert alone.about["dropped"] == {"no class": 0, "no text": 0, "no words": 0}
    assert document_weights(alone, TrainConfig()) is None


def test_damaged_source_numbers_are_noticed(two, tmp_path):
    prepare(two, tmp_path / "out")
    numbers = np.load(tmp_path / "out" / "test.sources.npy")
    np.save(tmp_path / "out" / "test.sources.npy", numbers + 1)
    with pytest.raises(RnnlensError, match=r"test\.sources\.npy' is damaged"):
        read_corpus(tmp_path / "out")
    with pytest.raises(RnnlensError, match="not that of one of the 2 sources"):
        read_corpus(tmp_path / "out", verify=False)
    with pytest.raises(RnnlensError, match="one split has sources, the other has none"):
        Split(np.zeros(0, np.uint16), np.zeros(1, np.int64), numbers[:0]).join(
            Split(np.zeros(0, np.uint16), np.zeros(1, np.int64), numbers[:0], numbers[:0])
        )


# --- weights ----------------------------------------------------------------------------------------------------------


def test_classes_count_equally_within_a_source_and_sources_by_their_weight(two, tmp_path):
    corpus = prepare(two, tmp_path / "out", weights={"films": 3}, validation=0)
    weights = document_weights(corpus, TrainConfig())
    # 30 films count 3 on average and 60 hotels 1: 5 / 3 over all. A third of each source is negative: 3 / 2 and 3 / 4.
    films, negative = corpus.train.sources == 0, corpus.train.labels == 0
    by_hand = np.where(films, 3, 1) * np.where(negative, 3 / 2, 3 / 4) / (5 / 3)
    np.testing.assert_allclose(weights, by_hand, rtol=1e-6)
    assert weights.mean() == pytest.approx(1) and weights[films].sum() / weights[~films].sum() == pytest.approx(1.5)
    for one in (0, 1):
        of_one = corpus.train.sources == one
        assert weights[of_one & negative].sum() == pytest.approx(weights[of_one & ~negative].sum())
    doubled = prepare(two, tmp_path / "doubled", weights={"films": 6, "hotels": 2}, validation=0)
    np.testing.assert_allclose(document_weights(doubled, TrainConfig()), weights, rtol=1e-6)
    refit = prepare(two, tmp_path / "held", weights={"films": 3}).refit()
    assert len(document_weights(refit, TrainConfig())) == len(refit.train) == 90
    assert document_weights(corpus.only(["films"]), TrainConfig()).mean() == pytest.approx(1)


def test_the_training_loss_is_weighed_and_accuracy_by_source_sums_to_the_whole(two, tmp_path):
    corpus = prepare(two, tmp_path / "out", weights={"hotels": 4}, min_count=1)
    network = Network(corpus.vocab, hidden=4, embedding=3, seed=1)
    with torch.no_grad():
        ids, lengths = map(torch.from_numpy, corpus.train.batch(np.arange(len(corpus.train))))
        logits = network.logits_of(network.embed(ids)).gather(1, lengths.unsqueeze(1)).squeeze(1)
        loss = losses(logits, torch.tensor(corpus.train.labels.astype(np.float32)))[0].numpy()
    config = TrainConfig(epochs=1, batch=1000, word_dropout=0, embedding_dropout=0)
    run = train(network, corpus, config, tmp_path / "run", device="cpu", test=True, progress=False)
    expected = (loss * document_weights(corpus, config)).mean()
    assert run.history[0]["train_loss"] == pytest.approx(expected, rel=1e-5)
    assert abs(expected - loss.mean()) > 1e-4, "the test would not notice weights that are left out"
    for split in ("validation", "test"):
        found = run.accuracy[f"{split}_sources"]
        assert list(found) == ["films", "hotels"] and sum(part["n"] for part in found.values()) == len(
            corpus.splits[split]
        )
        for name, whole in (("accuracy", run.accuracy[split]), ("loss", run.results["loss"][split])):
            sums = sum(part[name] * part["n"] for part in found.values())
            assert sums / len(corpus.splits[split]) == pytest.approx(whole)


# --- overlap ----------------------------------------------------------------------------------------------------------

LONG = " ".join(f"word{i}" for i in range(60))
SENTENCE = "we waited for an hour and nobody came to our table"  # 11 words


def dropped(tmp_path: Path, in_train: str, in_test: str) -> tuple[int, int]:
    """How many training texts of films and hotels go when a film's is `in_train` and a hotel's test text `in_test`."""
    films, hotels = source(tmp_path / "films", "films"), source(tmp_path / "hotels", "hotels")
    with open(films / "train.csv", "a", encoding="utf-8") as file:
        file.write(f"{in_train},1\n")
    with open(hotels / "test.csv", "a", encoding="utf-8") as file:
        file.write(f"{in_test},1\n")
    corpus = prepare([films, hotels], tmp_path / "out", validation=0)
    counts = [part["dropped"][OVERLAP] for part in corpus.about["sources"]]
    assert len(corpus.train) == 61 - sum(counts) and len(corpus.test) == 19
    return counts[0], counts[1]


@pytest.mark.parametrize(
    ("in_train", "in_test", "goes"),
    [
        (LONG, LONG, True),
        (LONG, LONG.replace("word30", "another"), True),
        (f"{LONG} {LONG[::-1]}", f"{LONG[::-1]} {LONG}", True),  # nearly all of it, in another order
        (SENTENCE, f"at first {SENTENCE} and then we left", True),
        (f"at first {SENTENCE} and then we left", SENTENCE, True),
        ("very good", "Very  GOOD", True),  # the same words
        ("very good", f"very good {LONG}", False),
        (f"it was very good {LONG}", "very good", False),
        (f"nobody came to our table {LONG}", "nobody came to our table", False),  # fewer than eight words
        (f"{SENTENCE} {LONG}", f"{SENTENCE} {LONG[::-1]}", False),  # a sentence in common
    ],
)  # fmt: skip
def test_texts_that_overlap_with_held_out_ones_are_dropped(in_train, in_test, goes, tmp_path):
    assert dropped(tmp_path, in_train, in_test) == (int(goes), 0)


def test_validation_texts_that_overlap_with_test_texts_are_dropped(tmp_path):
    """They would be trained on by `refit`."""
    films, hotels = source(tmp_path / "films", "films"), source(tmp_path / "hotels", "hotels")
    table(films / "validation.csv", [LONG, "films are bad"], [1, 0])
    with open(hotels / "test.csv", "a", encoding="utf-8") as file:
        file.write(f"{LONG},1\n")
    corpus = prepare([films, hotels], tmp_path / "out", validation=0)
    assert len(corpus.validation) == 1 and corpus.about["sources"][0]["dropped"][HELD_OVERLAP] == 1
    table(films / "validation.csv", [LONG, LONG], [1, 0])
    assert prepare([films, hotels], tmp_path / "none", validation=0).validation is None


def test_a_source_of_which_nothing_is_left_is_refused(tmp_path):
    films, hotels = source(tmp_path / "films", "films"), source(tmp_path / "hotels", "hotels")
    (films / "test.csv").write_bytes((hotels / "train.csv").read_bytes() + b"one more,1\n")
    with pytest.raises(RnnlensError, match=r"no negative review of 'hotels' is left to train on: 27 overlap with"):
        prepare([films, hotels], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def naive(texts: list[list[int]], held_out: list[list[int]]) -> list[bool]:
    def runs(text: list[int]) -> list[tuple[int, ...]]:
        return [tuple(text[i : i + RUN]) for i in range(max(1, len(text) - RUN + 1))]

    known = {run for text in held_out for run in runs(text)}
    found = []
    for text in texts:
        share = np.mean([run in known for run in runs(text)])
        whole = any(
            text[i : i + len(other)] == other
            for other in held_out
            if len(other) >= RUN
            for i in range(len(text) - len(other) + 1)
        )
        found.append(bool(share >= SHARE or whole))
    return found


def spool_of(texts: list[list[int]]) -> tuple[Spool, np.ndarray]:
    spool = Spool()
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    spool.append(np.concatenate(texts).astype(np.uint32), lengths, np.zeros(len(texts), np.uint8))
    return spool, np.ones(len(texts), bool)


documents = st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=20), min_size=1, max_size=8)


@given(documents, documents, st.sampled_from([3, 20, 1000]), st.sampled_from([5, 1000]))
@settings(max_examples=150, deadline=None)
def test_overlap_is_what_a_plain_comparison_says(texts, held_out, most, block):
    """Of two words only, so that runs recur; whatever is held in memory at a time."""
    before = overlap_module._MOST, overlap_module._BLOCK
    overlap_module._MOST, overlap_module._BLOCK = most, block
    try:
        [mask] = overlapping([spool_of(texts)], [spool_of(held_out)])
    finally:
        overlap_module._MOST, overlap_module._BLOCK = before
    assert mask.tolist() == naive(texts, held_out)
    assert not overlapping([spool_of(texts)], [])[0].any()


# --- names and errors -------------------------------------------------------------------------------------------------


def test_names_are_short_and_differ(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for names, expected in {
        ("a/films.csv", "hf:owner/hotels"): ["films", "hotels"],
        ("a/films.csv", "a/films.tsv", "cars"): ["films.csv", "films.tsv", "cars"],
        ("a/films.csv", "b/films.csv"): ["a/films", "b/films"],
        ("films.csv", "sub/films.csv"): [f"{tmp_path.name}/films", "sub/films"],
        ("hf:a/films", "hf:b/films"): ["hf:a/films", "hf:b/films"],
        ("a, b=c.csv", "."): ["a-b-c", tmp_path.name],
    }.items():
        assert source_names(names) == expected
    with pytest.raises(RnnlensError, match="rename one of them"):
        source_names(["a b.csv", "a,b.csv"])


def test_the_cache_knows_sources_by_their_names(two, tmp_path, monkeypatch):
    monkeypatch.setenv("RNNLENS_CACHE", str(tmp_path / "cache"))
    assert load_corpus(two).sources == ("films", "hotels")
    os.symlink(two[0], tmp_path / "movies")
    assert load_corpus([tmp_path / "movies", two[1]]).sources == ("movies", "hotels")


BAD_SOURCES = {
    "empty.csv": ("", "'{}' is empty"),
    "header.csv": ("text,label\n", "'{}' is empty"),
    "unlabelled.csv": ("text,when\nfine,noon\nbad,night\n", "no label column found in '{}'"),
    "nothing.csv": ("text,label\nfine,\nbad,\n", "column 'label' of '{}' holds no label: expected 0/1"),
    "one-class.csv": ("text,label\nfine,1\ngood,1\n", "'{}' has no negative review to train on"),
    "named.csv": ("text,label\nfine,joy\nbad,anger\n", "column 'label' of '{}' holds the label 'anger'"),
    "wide.csv": ("text,label\nfine,1\nbad,40\n", "column 'label' of '{}' holds labels out of range"),
    "wordless.csv": ("text,label\n<br />,1\n<br />,0\n", "no review of the train split of 'wordless' has words"),
}


@pytest.mark.parametrize("name", BAD_SOURCES)
def test_a_bad_source_is_refused_by_name_and_nothing_is_written(name, two, tmp_path, capsys):
    content, expected = BAD_SOURCES[name]
    (tmp_path / name).write_text(content)
    before = sorted(tmp_path.iterdir())
    code, _, told = call(capsys, "prepare", *two, tmp_path / name, "--out", tmp_path / "out", "--test", 0)
    assert code == 1 and told.count("\n") == 1 and expected.format(tmp_path / name) in told
    assert sorted(tmp_path.iterdir()) == before


def test_the_same_file_twice_is_refused(two, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.symlink(two[0], tmp_path / "link")
    source(tmp_path / "copy", "films")
    acl = tmp_path / "set" / "aclImdb"
    for side in ("neg", "pos"):
        (acl / "train" / side).mkdir(parents=True)
        (acl / "train" / side / "0.txt").write_text(side)
    before = sorted(tmp_path.iterdir())
    for first, again in (
        ("films", "films"),
        (two[0], "films"),
        ("films", "./hotels/../films"),
        ("films", "link"),
        ("films", "films/train.csv"),
        ("films", "copy"),
        (acl, acl.parent),
        ("imdb", "hf:stanfordnlp/imdb"),
        ("imdb", "IMDB"),
    ):
        with pytest.raises(
            RnnlensError, match=r"(is given twice|holds the same file as .*): expected each source once$"
        ):
            prepare([first, two[1], again], tmp_path / "out")
    assert sorted(tmp_path.iterdir()) == before


def test_a_prepared_corpus_is_no_source(two, tmp_path):
    prepare(two[0], tmp_path / "out")
    with pytest.raises(RnnlensError, match="is a prepared corpus: expected the sources that it was prepared from"):
        prepare([tmp_path / "out", two[1]], tmp_path / "both")


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ({"films": 0}, r"weight of 'films' is 0: expected a number above 0"),
        ({"films": -1}, r"weight of 'films' is -1: expected a number above 0"),
        ({"films": float("nan")}, r"weight of 'films' is nan: expected a number above 0"),
        ({"films": float("inf")}, r"weight of 'films' is inf: expected a number above 0"),
        ({"films": 1e30}, r"weight of 'films' is 1e\+30: expected a number above 0, from 1e-6 to 1e6"),
        ({"films": True}, r"weight of 'films' is 'True': expected a number above 0"),
        ({"films": "2"}, r"weight of 'films' is '2': expected a number above 0"),
        ({"cars": 2}, r"weight of 'cars': there is no such source, expected one of 'films', 'hotels'"),
        ([2, 1], r"weights is '\[2, 1\]': expected numbers by the names of sources"),
    ],
)
def test_bad_weights_are_refused_and_nothing_is_written(weights, expected, two, tmp_path):
    with pytest.raises(RnnlensError, match=expected):
        prepare(two, tmp_path / "new" / "out", weights=weights)
    assert not (tmp_path / "new").exists()
    with pytest.raises(RnnlensError, match="expected|need several sources"):
        prepare(two[0], tmp_path / "new" / "out", weights=weights)


@pytest.mark.parametrize("weight", ["films", "=2", "films=", "films=two", "films=2 --weight films=3"])
def test_weights_that_cannot_be_read_are_bad_usage(weight, two, tmp_path, capsys):
    given = f"--weight {weight}".split()
    code, _, told = call(capsys, "prepare", *two, "--out", tmp_path / "out", *given)
    assert code == 2 and told.count("\n") == 1 and "--weight" in told and not (tmp_path / "out").exists()


# --- the command line -------------------------------------------------------------------------------------------------


def test_the_commands_tell_everything_by_source(two, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    stars = table(tmp_path / "cars.csv", texts_of("cars", 40), [1, 2, 3, 4, 5, 5, 1, 1] * 5, ("body", "stars"))
    out, run = tmp_path / "out", tmp_path / "run"
    code, told, _ = call(capsys, "prepare", *two, stars, "--out", out, "--weight", "cars=2", "--min-count", 1)
    assert code == 0 and "Corpus(films + hotels + cars:" in told and "cars (weight 2)" in told
    for expected in (
        "text from 'body', label from 'stars'",
        "stars, graded: 1, 2 → negative; 4, 5 → positive; 3 neutral",
        "1 → 0.03, 2 → 0.2, 3 → 0.5, 4 → 0.8, 5 → 0.97",
        "train 60, test 12",
    ):
        assert expected in told
    code, told, _ = call(capsys, "info", out)
    assert code == 0 and "cars (weight 2)" in told and "3 neutral" in told and "12 reviews, 66.7 % positive" in told
    small = ["--hidden", 4, "--embedding", 3, "--epochs", 1, "--device", "cpu"]
    code, told, _ = call(capsys, "train", out, "--sources", "cars, hotels", "--test", "--out", run, *small)
    assert code == 0 and "validation accuracy by source: films " in told and "test accuracy by source: films " in told
    assert load(run).about["corpus"]["only"] == ["hotels", "cars"] and "films" not in repr(load(run))
    load(run).check_corpus(load_corpus(out))
    code, told, _ = call(capsys, "info", run)
    assert code == 0 and "test accuracy, hotels" in told and "% of 12 reviews" in told
    code, _, told = call(capsys, "train", out, "--sources", "planes", "--out", tmp_path / "other", *small)
    assert code == 1 and "no source 'planes': expected some of 'films', 'hotels', 'cars'" in told
    code, _, told = call(capsys, "train", "toy", "--sources", "films", "--out", tmp_path / "other", *small)
    assert code == 1 and "the toy language has no sources" in told and not (tmp_path / "other").exists()
    assert call(capsys, "prepare", "--out", tmp_path / "other")[0] == 2
