"""Labels: what a column of them means, and that none is read as another without a word."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.support.calls import refused

from rnnlens.common.errors import RnnlensError
from rnnlens.corpora import Corpus, prepare
from rnnlens.corpora.labels import DROPPED, decide_scheme
from rnnlens.corpora.options import PrepareConfig
from rnnlens.corpora.sources import open_source
from rnnlens.corpora.splits import NEUTRAL


def prepared(folder: Path, content: str, **options: Any) -> Corpus:
    (folder / "r.csv").write_text(content, encoding="utf-8")
    return prepare(folder / "r.csv", folder / "out", min_count=1, test=0, validation=0, **options)


@pytest.mark.parametrize(
    ("values", "column", "name", "codes"),
    [
        ([0, 1], "label", "0/1", [0, 1]),
        ([1.0, 2.0], "label", "1/2", [0, 1]),
        (["1", "2"], "class", "1/2", [0, 1]),
        (["Neg", "POSITIVE"], "sentiment", "neg/pos", [0, 1]),
        (["False", "true", None], "label", "neg/pos", [0, 1, DROPPED]),
        (["negative", "Neutral", "positive"], "sentiment", "neg/pos", [0, DROPPED, 1]),
        ([-1, 1, None], "label", "-1/1", [0, 1, DROPPED]),
        ([-1, 0, 1], "label", "-1/0/1", [0, DROPPED, 1]),
        ([1, 2, 3, 4, 5], "label", "stars", [0, 0, NEUTRAL, 1, 1]),
        ([1, 5], "stars", "stars", [0, 1]),
        ([1, 4, 5, 6, 7, 10], "rating", "ratings 1 to 10", [0, 0, NEUTRAL, NEUTRAL, 1, 1]),
    ],
)
def test_labels_are_read_by_the_scheme_that_fits_all_of_them(
    values: list[object], column: str, name: str, codes: list[int]
) -> None:
    scheme = decide_scheme(values, column, "here")
    assert (scheme.name, [scheme.codes[value] for value in values]) == (name, codes)


@pytest.mark.parametrize("values", [[0, 1, 2], [1, 2, 11], ["good", "bad"], [0.5, 1], ["pos", 0], [None], [1e30]])
def test_labels_that_fit_no_scheme_are_refused(values: list[object]) -> None:
    refused(lambda: decide_scheme(values, "label", "here"), "expected 0/1")


@pytest.mark.parametrize("label", ["1_0", "inf", "nan", "١", "0x1"])
def test_labels_that_only_python_takes_for_numbers_are_refused(tmp_path: Path, label: str) -> None:
    refused(lambda: prepared(tmp_path, f"text,label\ngood,{label}\nbad,1\nfine,2\n"), "holds the label")


@pytest.mark.parametrize("label", ["²", "１", "1_0", "--1", "−1"])
def test_ordered_labels_that_are_no_plain_numbers_are_refused(tmp_path: Path, label: str) -> None:
    """Their order would be that of their letters."""
    with pytest.raises(RnnlensError, match=f"the class '{label}' is not a whole number"):
        prepared(tmp_path, f"text,label\ngood,{label}\nbad,-2\nfine,3\n", ordered=True)


def test_classes_are_numbered_by_size_if_they_are_plain_numbers(tmp_path: Path) -> None:
    names = prepared(tmp_path, "text,label\na,10\nb,-2\nc,9\nd,1_0\n", classes=True).classes
    assert names == ("-2", "9", "10", "1_0")
    numbers = [2**53, 2**53 + 1, 2**53 + 2]  # of which the first two are equal as floating-point numbers
    pl.DataFrame({"text": ["a", "b", "c"], "label": numbers}).write_parquet(tmp_path / "a.parquet")
    source = open_source(tmp_path / "a.parquet", PrepareConfig(classes=True))
    assert source.names == tuple(map(str, numbers)) and source.labels["train"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        ("text,positive\ngood,1\nbad,0\n", {}),
        ("text,positive\ngood,1\nbad,0\n", {"label": "positive", "text": "text"}),
        ("text,positive\ngood,positive\nbad,negative\n", {}),
        ("good,1\nbad,0\n", {}),
        ("good,positive\nbad,neg\n", {}),
    ],
)
def test_a_column_named_positive_is_a_header_above_numbers_and_data_above_words(
    tmp_path: Path, rows: str, options: dict[str, str]
) -> None:
    corpus = prepared(tmp_path, rows, **options)
    words = corpus.vocab.decode(corpus.train.ids)
    assert dict(zip(words, corpus.train.labels.tolist(), strict=True)) == {"good": 1, "bad": 0}


def test_a_column_named_negative_is_refused(tmp_path: Path) -> None:
    refused(lambda: prepared(tmp_path, "text,negative\ngood,0\nbad,1\n"), "1 may mean negative")


def test_the_label_scheme_comes_from_every_row_not_from_the_first_ones(tmp_path: Path) -> None:
    stars = [1, 2] * 6000 + [5, 3]
    pl.DataFrame({"text": ["a"] * len(stars), "score": stars}).write_csv(tmp_path / "a.csv")
    source = open_source(tmp_path / "a.csv")
    assert source.scheme == "stars"
    assert np.bincount(source.labels["train"]).tolist() == [12000, 1, 1]


def test_splits_may_hold_the_same_labels_as_numbers_and_as_text(tmp_path: Path) -> None:
    labels = [1, 0, 1, 0]
    frame = pl.DataFrame({"text": list("abcd"), "label": labels})
    for number, kind in enumerate((pl.Int64, pl.Float32, pl.Decimal(4, 2), pl.String)):
        (folder := tmp_path / str(number)).mkdir()
        frame.write_csv(folder / "test.csv")
        frame.cast({"label": kind}).write_parquet(folder / "train.parquet")
        source = open_source(folder)
        assert source.scheme == "0/1" and source.labels["train"].tolist() == source.labels["test"].tolist() == labels


@pytest.mark.parametrize(
    ("names", "labels", "scheme", "codes"),
    [
        (["positive", "negative"], [0, 1, 1, -1], "neg/pos", [1, 0, 0, DROPPED]),
        (["neg", "neutral", "pos"], [0, 1, 2, 2], "neg/pos", [0, DROPPED, 1, 1]),
        (["1", "2", "3", "4", "5"], [0, 4, 3, 2], "stars", [0, 1, 1, 2]),
        (["spam", "ham"], [0, 1, 1, 0], "0/1", [0, 1, 1, 0]),  # no names that we read: numbers, as without names
        (["positive"], [0, 1, 1, 0], "0/1", [0, 1, 1, 0]),  # not of all numbers
    ],
)
def test_a_parquet_file_that_names_its_numbered_labels_is_read_by_the_names(
    tmp_path: Path, names: list[str], labels: list[int], scheme: str, codes: list[int]
) -> None:
    """A 0 that was named positive was read as negative, without a word."""
    about = {"info": {"features": {"label": {"names": names, "_type": "ClassLabel"}}}}
    frame = pl.DataFrame({"text": list("abcd"), "label": labels})
    frame.write_parquet(tmp_path / "train.parquet", metadata={"huggingface": json.dumps(about)})
    frame.write_csv(tmp_path / "test.csv")
    source = open_source(tmp_path)
    assert source.scheme == scheme and source.labels["train"].tolist() == source.labels["test"].tolist() == codes


@pytest.mark.parametrize("train", ["1 0 0", "pos neg", "2 0 1"])
@pytest.mark.parametrize("test", ["-1", ""])
def test_a_test_file_without_labels_is_refused_as_such(tmp_path: Path, train: str, test: str) -> None:
    """Published test sets have −1 for labels. It turned 0 and 1 into neutral and positive."""
    for name, labels in (("train", train.split()), ("test", [test, test])):
        (tmp_path / f"{name}.csv").write_text("text,label\n" + "".join(f"good film,{label}\n" for label in labels))
    refused(lambda: open_source(tmp_path, PrepareConfig(classes="2" in train)), "(test) has no labels")


def test_texts_that_end_before_their_labels_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged parquet file can end polars' batches without an error."""
    frame = pl.DataFrame({"text": ["good film", "bad film"] * 200, "label": [1, 0] * 200})
    frame.write_parquet(tmp_path / "r.parquet")
    collected = pl.LazyFrame.collect_batches
    monkeypatch.setattr(pl.LazyFrame, "collect_batches", lambda *a, **k: islice(collected(*a, **k), 1))
    monkeypatch.setattr("rnnlens.corpora.sources._BATCH_BYTES", 1)
    refused(lambda: prepare(tmp_path / "r.parquet", tmp_path / "out", min_count=1), "has other texts than labels")
