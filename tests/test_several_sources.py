"""Several sources, one corpus: documents keep their source, sources are weighed, overlapping texts are dropped."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.calls import refused

pl = pytest.importorskip("polars")

from tests.support.saving import save_corpus  # noqa: E402

from rnnlens import Network, TrainConfig, train  # noqa: E402
from rnnlens.common.errors import RnnlensError  # noqa: E402
from rnnlens.corpora import Corpus, source_statistics, statistics  # noqa: E402
from rnnlens.corpora import overlap as overlap_module  # noqa: E402
from rnnlens.corpora.overlap import RUN, SHARE, overlapping  # noqa: E402
from rnnlens.corpora.prepared import load_corpus, prepare  # noqa: E402
from rnnlens.corpora.reading import read_corpus  # noqa: E402
from rnnlens.corpora.spool import Spool  # noqa: E402
from rnnlens.training.evaluation import losses  # noqa: E402
from rnnlens.training.weighting import document_weights  # noqa: E402


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


def test_a_training_text_that_overlaps_with_a_held_out_one_is_dropped(two, tmp_path):
    """Also from another source, and with other spaces and capitals."""
    long = " ".join(f"word{i}" for i in range(60))
    for file, rows in (
        ("films/train.csv", f"{long},1\nvery good,1\n"),
        ("hotels/test.csv", f"{long}x,1\nVery  GOOD,1\n"),
    ):
        with open(tmp_path / file, "a", encoding="utf-8") as opened:
            opened.write(rows)
    corpus = prepare(two, tmp_path / "out", validation=0)
    assert len(corpus.train) == 90 and len(corpus.test) == 23
    assert corpus.about["sources"][0]["dropped"]["overlap with validation or test"] == 2


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


@given(documents, documents, st.sampled_from([5, 1000]))
@settings(max_examples=150, deadline=None)
def test_overlap_is_what_a_plain_comparison_says(texts, held_out, block):
    """Of two words only, so that runs recur; in blocks of any size."""
    before = overlap_module._BLOCK
    overlap_module._BLOCK = block
    try:
        [mask] = overlapping([spool_of(texts)], [spool_of(held_out)])
    finally:
        overlap_module._BLOCK = before
    assert mask.tolist() == naive(texts, held_out)
    assert not overlapping([spool_of(texts)], [])[0].any()


@pytest.mark.parametrize("weights", [{"films": 0}, {"films": float("nan")}, {"films": "2"}, {"cars": 2}])
def test_bad_weights_are_refused_and_nothing_is_written(weights, two, tmp_path):
    refused(lambda: prepare(two, tmp_path / "new" / "out", weights=weights), "weight of", "expected")
    refused(lambda: prepare([two[0], two[0]], tmp_path / "new" / "out"), "expected each source once")
    assert not (tmp_path / "new").exists()
