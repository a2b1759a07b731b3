"""Prepared corpora: what is in the folder is what the texts say, and a folder is whole or not there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pl = pytest.importorskip("polars")

from rnnlens.common.errors import RnnlensError  # noqa: E402
from rnnlens.corpora.corpus import Corpus  # noqa: E402
from rnnlens.corpora.counting import statistics  # noqa: E402
from rnnlens.corpora.prepared import load_corpus, prepare  # noqa: E402
from rnnlens.corpora.reading import read_corpus  # noqa: E402
from rnnlens.corpora.splits import Split  # noqa: E402
from rnnlens.corpora.vocab import PAD, UNK  # noqa: E402
from rnnlens.corpora.words import split_words  # noqa: E402


def reviews(n: int, seed: int = 0) -> tuple[list[str], list[int]]:
    rng = np.random.default_rng(seed)
    words = np.array(["good", "bad", "not", "very", "film", "the", "it 's", "don't", ".", "...", "plot", "dull", "fun"])
    texts = [" ".join(words[rng.integers(len(words), size=k)]) + f" w{i}" for i, k in enumerate(rng.integers(0, 30, n))]
    return texts, [i % 3 % 2 for i in range(n)]


def write(path: Path, texts: list[str], labels: list[int]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame({"text": texts, "label": labels}).write_parquet(path)
    return path


def words_of(corpus: Corpus, split: Split) -> list[list[str]]:
    return [corpus.vocab.decode(split.document(i)) for i in range(len(split))]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "data" / "train.parquet", *reviews(400))
    write(tmp_path / "data" / "test.parquet", *reviews(100, seed=1))
    return tmp_path / "data"


# --- what is in it ----------------------------------------------------------------------------------------------------


def test_ids_are_what_a_plain_reading_of_the_texts_gives(folder: Path, tmp_path: Path) -> None:
    corpus = prepare(folder, tmp_path / "out", validation=0, min_count=2, vocab_size=12)
    texts, labels = reviews(400)
    counts = Counter(word for text in texts for word in split_words(text))
    words = sorted((word for word in counts if counts[word] >= 2), key=lambda word: (-counts[word], word))[:11]
    assert corpus.vocab.words == (UNK, *words)
    assert corpus.vocab.counts is not None
    known = [counts[word] for word in words]
    assert corpus.vocab.counts.tolist() == [sum(counts.values()) - sum(known), *known]
    assert corpus.test is not None
    for split, (given_texts, given_labels) in ((corpus.train, (texts, labels)), (corpus.test, reviews(100, seed=1))):
        assert split.labels.tolist() == given_labels
        expected = [[w if w in words else UNK for w in split_words(text)] for text in given_texts]
        assert words_of(corpus, split) == expected
    assert corpus.validation is None


def test_texts_in_memory_and_on_disk_make_the_same_corpus(folder: Path, tmp_path: Path) -> None:
    on_disk = prepare(folder, tmp_path / "out", seed=3, min_count=1)
    in_memory = Corpus.from_texts(*reviews(400), test=reviews(100, seed=1), seed=3)
    assert in_memory.fingerprint == on_disk.fingerprint == read_corpus(tmp_path / "out").fingerprint
    assert statistics(in_memory) == statistics(on_disk)
    assert on_disk.train.ids.dtype == np.uint16
    assert isinstance(on_disk.train.ids, np.memmap)


def test_many_small_chunks_on_several_threads_change_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = prepare(folder, tmp_path / "whole")
    monkeypatch.setattr("rnnlens.corpora.sources._BATCH_BYTES", 100)
    monkeypatch.setattr("rnnlens.corpora.encoding._WORKERS", 4)
    monkeypatch.setattr("rnnlens.corpora.spool.BLOCK_WORDS", 50)
    calls: list[tuple[int, int]] = []
    pieces = prepare(folder, tmp_path / "pieces", progress=lambda done, total: calls.append((done, total)))
    assert pieces.fingerprint == whole.fingerprint
    assert len(calls) > 4
    assert calls[-1] == (500, 500)


def test_the_validation_split_is_stratified_seeded_and_left_out_of_the_counts(folder: Path, tmp_path: Path) -> None:
    options = {"validation": 0.25, "min_count": 1}
    corpora = [prepare(folder, tmp_path / f"{i}", seed=seed, **options) for i, seed in enumerate((0, 0, 1))]
    first = corpora[0]
    assert first.validation is not None
    labels = np.array(reviews(400)[1])
    for label in (0, 1):
        n = int(np.sum(labels == label))
        assert np.sum(first.validation.labels == label) == round(0.25 * n)
        assert np.sum(first.train.labels == label) == n - round(0.25 * n)
    assert first.fingerprint == corpora[1].fingerprint != corpora[2].fingerprint
    assert first.vocab.counts is not None
    assert first.vocab.counts.sum() == len(first.train.ids)
    # every text ends with a word of its own: those of validation are unknown, those of train are not
    assert all(words[-1] == UNK for words in words_of(first, first.validation))
    assert all(words[-1] != UNK for words in words_of(first, first.train))


def test_a_single_file_gives_up_a_stratified_test_split(tmp_path: Path) -> None:
    texts, labels = reviews(400)
    corpus = prepare(write(tmp_path / "all.parquet", texts, labels), tmp_path / "out", test=0.2, validation=0.1)
    assert corpus.validation is not None
    assert corpus.test is not None
    sizes = [len(split) for split in (corpus.train, corpus.validation, corpus.test)]
    assert sizes == [288, 32, 80]
    assert sum(corpus.test.labels) == round(0.2 * sum(labels))


def test_limit_and_max_words_keep_both_classes_and_the_last_words(folder: Path, tmp_path: Path) -> None:
    corpus = prepare(folder, tmp_path / "out", limit=60, max_words=4, validation=0, min_count=1)
    assert len(corpus.train) == 60
    assert 0 < corpus.train.labels.mean() < 1
    assert corpus.train.lengths.max() == 4
    assert all(words[-1].startswith("w") for words in words_of(corpus, corpus.train))


def test_rows_without_text_or_class_are_dropped_and_counted(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('text,stars\ngood,5\nbad,1\n,1\nmeh,3\nfine,\n"",4\n')
    corpus = prepare(tmp_path / "a.csv", tmp_path / "out", test=0, validation=0, min_count=1)
    assert corpus.about["dropped"] == {"no class": 1, "no text": 1, "no words": 1}
    assert words_of(corpus, corpus.train) == [["good"], ["bad"], ["meh"]]


def test_huge_and_unknown_reviews_work_and_empty_ones_are_dropped(tmp_path: Path) -> None:
    texts = ["good " * 100_000, "", "\x00 \ufffd", "bad bad", "good good"]
    corpus = prepare(write(tmp_path / "train.parquet", texts, [1, 0, 1, 0, 1]), tmp_path / "out", test=0, validation=0)
    assert corpus.train.lengths.tolist() == [100_000, 2, 2] and corpus.about["dropped"]["no words"] == 2
    other = Corpus.from_texts(texts, [1, 0, 1, 0, 1], test=(["never seen these", "a\ud800"], [0, 1]), validation=0)
    assert other.test is not None
    assert words_of(other, other.test) == [[UNK] * 3, [UNK]]
    assert statistics(other)["test"]["unknown"] == 1


def test_more_words_than_16_bits_can_name_take_32(tmp_path: Path) -> None:
    texts = [" ".join(f"w{i}" for i in range(70_000)), "w1"]
    corpus = Corpus.from_texts(texts, [0, 1], validation=0, vocab_size=100_000)
    assert corpus.train.ids.dtype == np.uint32
    assert len(corpus.vocab) == 70_001
    assert corpus.vocab.words[1] == "w1"


def test_a_literal_pad_in_a_text_is_unknown_and_never_a_word() -> None:
    corpus = Corpus.from_texts(["<pad> good <PAD>", "bad"], [1, 0], validation=0)
    assert corpus.vocab.words == (UNK, "bad", "good")
    assert words_of(corpus, corpus.train) == [[UNK, "good", UNK], ["bad"]]
    assert corpus.vocab.encode("<pad> good").tolist() == [PAD, 2]


# --- batches ----------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 9), max_size=7), min_size=1, max_size=8),
    st.data(),
    st.one_of(st.none(), st.integers(1, 8)),
    st.sampled_from(["last", "first"]),
)
def test_a_batch_is_its_documents_cut_and_padded(
    documents: list, data: st.DataObject, most: int | None, keep: str
) -> None:
    offsets = np.concatenate([[0], np.cumsum([len(document) for document in documents])]).astype(np.int64)
    ids = np.array([i for document in documents for i in document], dtype=np.uint16)
    split = Split(ids, offsets, np.zeros(len(documents), dtype=np.uint8))
    chosen = data.draw(st.lists(st.integers(-len(documents), len(documents) - 1), max_size=6))
    batch, lengths = split.batch(chosen, most, keep)  # type: ignore[arg-type]
    part = slice(None) if most is None else slice(-most, None) if keep == "last" else slice(most)
    cut = [documents[i][part] for i in chosen]
    width = max([1, *map(len, cut)])
    assert batch.dtype == lengths.dtype == np.int64
    assert batch.shape == (len(chosen), width)
    assert batch.tolist() == [document + [PAD] * (width - len(document)) for document in cut]
    assert lengths.tolist() == [len(document) for document in cut]
    taken = split.take(chosen)
    assert [taken.document(i).tolist() for i in range(len(taken))] == [documents[i] for i in chosen]


# --- folders and the cache --------------------------------------------------------------------------------------------


def test_a_prepared_folder_is_reused_refused_or_replaced_as_told(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = prepare(folder, out)
    stamp = (out / "corpus.json").stat().st_mtime_ns
    assert prepare(folder, out).fingerprint == first.fingerprint
    assert (out / "corpus.json").stat().st_mtime_ns == stamp
    with pytest.raises(RnnlensError, match="holds another corpus"):
        prepare(folder, out, seed=1)
    assert prepare(folder, out, seed=1, overwrite=True).fingerprint != first.fingerprint
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("…")
    with pytest.raises(RnnlensError, match="holds 'thesis.tex', which is not part of a prepared corpus"):
        prepare(folder, tmp_path / "mine", overwrite=True)


def test_load_corpus_prepares_once_and_again_when_the_file_or_an_option_changes(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RNNLENS_CACHE", str(tmp_path / "cache"))
    first = load_corpus(folder)
    assert first.path is not None
    stamp = (first.path / "corpus.json").stat().st_mtime_ns
    again = load_corpus(folder)
    assert again.path == first.path
    assert (first.path / "corpus.json").stat().st_mtime_ns == stamp
    assert load_corpus(folder, vocab_size=10).path != first.path
    write(folder / "train.parquet", *reviews(401))
    assert load_corpus(folder).path != first.path


@pytest.mark.parametrize("name", ["vocab.json", "train.ids.npy"])
def test_a_damaged_folder_of_the_same_corpus_is_prepared_anew(
    folder: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RNNLENS_CACHE", str(tmp_path / "cache"))
    first, cached = prepare(folder, tmp_path / "out"), load_corpus(folder)
    (tmp_path / "out" / name).write_bytes(b"cut")
    assert prepare(folder, tmp_path / "out").fingerprint == first.fingerprint
    assert load_corpus(tmp_path / "out").fingerprint == first.fingerprint
    assert cached.path is not None
    (cached.path / name).unlink()
    assert load_corpus(folder).fingerprint == first.fingerprint


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"texts": ["a", None]}, "text 1 is None"),
        ({"texts": ["a", 3]}, "texts must be strings"),
        ({"texts": "ab"}, "texts are one string"),
        ({"texts": ["a", "b", "c"]}, "3 texts and 2 labels"),
        ({"labels": [[0], [1]]}, r"labels have the shape \(2, 1\)"),
        ({"labels": [0, None]}, "labels hold None"),
        ({"labels": [0, float("nan")]}, "labels hold nan"),
        ({"labels": [0, 2]}, "expected 0"),
        ({"labels": [0, 0]}, "no positive review"),
        ({"labels": ["0", "1"]}, "labels hold '0'"),
        ({"test": 0.2}, "test is '0.2': expected a pair"),
        ({"test": (["a"], [0, 1])}, "1 texts and 2 labels"),
    ],
)
def test_bad_texts_and_labels_in_memory_are_refused(change: dict, expected: str) -> None:
    with pytest.raises(RnnlensError, match=expected) as told:
        Corpus.from_texts(**{"texts": ["a", "b"], "labels": [0, 1], "validation": 0, **change})
    assert "\n" not in str(told.value)


def test_a_corpus_from_ones_own_ids():
    documents, labels = [[1, 2, 3], [2], [3, 3]], [1, 0, 1]
    corpus = Corpus.from_ids(["<unk>", "a", "b", "c"], (documents, labels), test=([[1]], [0]))
    assert [corpus.train.document(i).tolist() for i in range(3)] == documents
    assert corpus.train.labels.tolist() == labels and corpus.validation is None and len(corpus.test) == 1
    assert corpus.fingerprint == Corpus.from_ids(corpus.vocab, (documents, labels), test=([[1]], [0])).fingerprint
    assert corpus.fingerprint != Corpus.from_ids(corpus.vocab, (documents, [1, 1, 1]), test=([[1]], [0])).fingerprint
    for wrong, told in [
        (([[4]], [0]), "ids range from 4"),
        (([[-1]], [0]), "ids range from -1"),
        (([[1]], [0, 1]), "1 documents and 2 labels"),
        (([[1]], [2]), "labels hold"),
    ]:
        with pytest.raises(RnnlensError, match=told):
            Corpus.from_ids(corpus.vocab, wrong)
