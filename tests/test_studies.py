"""Studies of trained networks: their pages say what their records say, and their measures do what they claim."""

import json

import numpy as np
import pytest
from pages import ROOT
from studies import agreement, dose, nulls, recipe, scale, start, table, teaching, toy, validation
from studies.mixtures import counts_of, drawn
from studies.pages import write_page

import rnnlens
from rnnlens.common.errors import RnnlensError, RnnlensWarning
from rnnlens.common.files import read_json
from rnnlens.corpora.splits import Split

FROM_ONE_RECORD = [teaching, start, agreement, nulls, validation, dose]


def check_page(template, page, values, tmp_path):
    write_page(template, tmp_path / "page.md", **values)
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("study", FROM_ONE_RECORD, ids=[study.__name__ for study in FROM_ONE_RECORD])
def test_the_page_is_that_of_the_record(study, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)  # records are named from here
    record = json.loads((ROOT / study.RECORD).read_text(encoding="utf-8"))
    record.pop("fingerprint", None)
    check_page(study.TEMPLATE, study.PAGE, study.page_values(record), tmp_path)


def test_the_pages_of_several_records_are_theirs(tmp_path):
    check_page(toy.TEMPLATE, toy.PAGE, toy.page_values(read_json(toy.RECORD), read_json(toy.SETTINGS)), tmp_path)
    records = {name: read_json(table.record_of(name)) for name in table.NAMES}
    check_page(table.TEMPLATE, table.PAGE, table.page_values(records), tmp_path)
    check_page(scale.TEMPLATE, scale.MEASURED, scale.page_values(), tmp_path)


def test_what_the_page_about_the_gain_says_in_words_holds_in_its_record():
    networks = read_json(ROOT / dose.RECORD)["networks"]
    changes = {
        name: {one["gain"]: one["accuracy"] for one in steering["doses"]} | {"others": steering["others"]}
        for name, steering in networks.items()
    }
    for found in changes.values():  # no gain is clearly better than 1, and gain 0 is clearly worse
        assert all(found[gain]["interval"][0] <= 0 for gain in (0.0, 0.25, 0.5, 0.75, 1.25, 1.5, 2.0))
        assert found[0.0]["interval"][1] < -0.1
    lowest = {
        name: np.mean([draw[0]["accuracy"]["difference"] for draw in of["others"]]) for name, of in changes.items()
    }
    assert lowest["reviews-lstm"] > -0.01  # specific to the modifier subspace in the LSTM only
    assert all(lowest[name] < changes[name][0.0]["difference"] for name in ("reviews-gru", "reviews-ugrnn"))


def test_a_cut_network_reads_its_frequent_words_as_before_and_others_as_unknown():
    vocab = rnnlens.Vocab(["<unk>", "the", "good", "rare"], np.array([0, 9, 5, 1]))
    network = rnnlens.Network(vocab, hidden=4, embedding=3)
    small = teaching.most_frequent(network, 3)
    assert len(network.vocab) == 4 and list(small.vocab.words) == ["<unk>", "the", "good"]
    assert small.read("the good") == network.read("the good")
    with pytest.warns(RnnlensWarning, match="unknown"):
        assert small.read("rare")[-1][1] == network.read("<unk>")[-1][1] != network.read("rare")[-1][1]


def test_a_source_is_compared_with_the_same_source_in_all():
    rows = {
        **{f"gru-imdb-{i}": {"test": {"imdb": 0.80 + 0.01 * i}} for i in range(3)},
        **{f"gru-all-{i}": {"test": {"imdb": 0.90 + 0.01 * i}} for i in range(3)},
    }
    (row,) = teaching.alone_or_all(rows)
    assert (row["arch"], row["source"]) == ("gru", "imdb")
    assert np.allclose([row["alone"], row["all"]], [81, 91])
    # Equal variances: Welch's interval is Student's with 4 degrees of freedom, t = 2.776.
    assert np.allclose([row["low"], row["high"]], 10 + np.array([-1, 1]) * 2.776 * (2 / 3) ** 0.5, atol=1e-3)


def test_three_values_have_the_interval_of_two_degrees_of_freedom():
    mean, half = teaching.mean_and_half([1.0, 2.0, 3.0])
    assert (mean, half) == pytest.approx((2, 4.303 / 3**0.5), abs=1e-3)
    assert teaching.mean_and_half([1.0]) == (1, None)


def two_sources() -> rnnlens.Corpus:
    """40 films, half of them positive, and 20 hotels, 16 of them positive; each document is its own word."""
    labels = np.array([0] * 20 + [1] * 20 + [0] * 4 + [1] * 16, dtype=np.uint8)
    sources = np.repeat(np.array([0, 1], dtype=np.uint8), [40, 20])
    train = Split(np.arange(60, dtype=np.uint16), np.arange(61), labels, sources)
    about = {"sources": [{"name": name, "weight": 1.0} for name in ("films", "hotels")]}
    words = rnnlens.Vocab([f"w{i}" for i in range(60)])
    return rnnlens.Corpus(words, train, train, train, about, None, "whole")


def test_a_mixture_has_the_documents_asked_for_half_of_them_positive_as_far_as_there_are_enough():
    corpus = two_sources()
    part = drawn(corpus, {"films": 10, "hotels": 12}, seed=1)
    assert np.bincount(part.train.sources).tolist() == [10, 12]
    assert [int(part.train.labels[part.train.sources == i].sum()) for i in (0, 1)] == [5, 8]  # 4 hotels are negative
    rows = part.train.ids  # each document is its own row
    assert len(set(rows.tolist())) == 22
    assert np.array_equal(part.train.labels, corpus.train.labels[rows])
    assert np.array_equal(part.train.sources, corpus.train.sources[rows])
    assert part.validation is corpus.validation and part.test is corpus.test and part.vocab is corpus.vocab
    assert part.about["only"] == ["films", "hotels"] and part.about["whole"] == "whole"


def test_the_seed_draws_a_mixture():
    draws = [drawn(two_sources(), {"films": 10}, seed) for seed in (0, 0, 1)]
    assert draws[0].fingerprint == draws[1].fingerprint != draws[2].fingerprint


def test_a_mixture_that_cannot_be_drawn_is_refused():
    with pytest.raises(RnnlensError, match="hotels has 20 training documents: expected at least 21"):
        drawn(two_sources(), {"hotels": 21}, 0)
    with pytest.raises(RnnlensError, match="no source 'books': expected some of films, hotels"):
        drawn(two_sources(), {"books": 1}, 0)


def test_mixtures_of_equal_size_have_equal_size_and_their_share_of_short_documents():
    mixtures = recipe.equal_mixtures()
    assert {sum(counts.values()) for counts in mixtures.values()} == {recipe.SIZE}
    for name in ("short-25", "short-100"):
        short = sum(mixtures[name].get(source, 0) for source in recipe.MIXTURES["short"])
        assert short == recipe.SIZE * int(name.split("-")[1]) / 100
    jobs = recipe.mixture_jobs()
    assert counts_of(jobs["gru-equal-short-25-2"]["counts"]) == mixtures["short-25"]
    assert {name.rsplit("-", 1)[0].split("-", 1)[1] for name in jobs} | {"all"} == set(teaching.ORDER)
