"""Prepared corpora: what is in the folder is what the texts say, and a folder is whole or not there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
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
from rnnlens.corpora.indexing import stratified  # noqa: E402
from rnnlens.corpora.prepared import load_corpus, prepare  # noqa: E402
from rnnlens.corpora.reading import read_corpus  # noqa: E402
from rnnlens.corpora.splits import Split  # noqa: E402
from rnnlens.corpora.vocab import PAD, UNK  # noqa: E402
from rnnlens.corpora.words import split_words  # noqa: E402

SHARED = Path(__file__).parents[2] / "shared" / "data"
ROOT = Path(__file__).parents[1]


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


def test_neighbours_are_held_out_together(folder: Path, tmp_path: Path) -> None:
    corpus = prepare(folder, tmp_path / "out", validation=0.25, neighbours=10, min_count=1)
    assert corpus.validation is not None
    labels = np.array(reviews(400)[1])
    for label in (0, 1):
        n = round(0.25 * int(np.sum(labels == label)))
        assert np.sum(corpus.validation.labels == label) == n
        mask = stratified(labels, 0.25, np.random.default_rng(0), 10)[labels == label]
        assert mask.sum() == n
        whole = mask[: len(mask) // 10 * 10].reshape(-1, 10)
        assert (whole.all(1) | ~whole.any(1)).sum() >= len(whole) - 1  # only the last run may be cut short
    with pytest.raises(RnnlensError, match="neighbours is 0"):
        prepare(folder, tmp_path / "none", neighbours=0)


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


def test_a_split_without_a_single_word_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "data" / "train.parquet", ["a", "b"], [0, 1])
    write(tmp_path / "data" / "test.parquet", ["", " "], [0, 1])
    with pytest.raises(RnnlensError, match="no review of the test split has words"):
        prepare(tmp_path / "data", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_more_words_than_16_bits_can_name_take_32(tmp_path: Path) -> None:
    texts = [" ".join(f"w{i}" for i in range(70_000)), "w1"]
    corpus = Corpus.from_texts(texts, [0, 1], validation=0, vocab_size=100_000)
    assert corpus.train.ids.dtype == np.uint32
    assert len(corpus.vocab) == 70_001
    assert corpus.vocab.words[1] == "w1"


def test_a_literal_unk_in_a_text_is_the_unknown_word() -> None:
    corpus = Corpus.from_texts(["<unk> good <UNK>", "bad"], [1, 0], validation=0)
    assert corpus.vocab.words == (UNK, "bad", "good")
    assert corpus.vocab.counts is not None
    assert corpus.vocab.counts.tolist() == [2, 1, 1]


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


def test_a_damaged_cache_entry_is_prepared_anew(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RNNLENS_CACHE", str(tmp_path / "cache"))
    first = load_corpus(folder)
    assert first.path is not None
    (first.path / "train.ids.npy").write_bytes(b"cut")
    assert load_corpus(folder).fingerprint == first.fingerprint


@pytest.mark.parametrize("name", ["vocab.json", "train.ids.npy", "test.offsets.npy"])
@pytest.mark.parametrize("gone", [True, False])
def test_a_damaged_folder_of_the_same_corpus_is_prepared_anew(
    folder: Path, tmp_path: Path, name: str, gone: bool
) -> None:
    first = prepare(folder, tmp_path / "out")
    (tmp_path / "out" / name).unlink() if gone else (tmp_path / "out" / name).write_bytes(b"cut")
    assert prepare(folder, tmp_path / "out").fingerprint == first.fingerprint
    assert load_corpus(tmp_path / "out").fingerprint == first.fingerprint


def test_a_folder_that_does_not_say_what_it_holds_is_replaced_only_when_told(folder: Path, tmp_path: Path) -> None:
    first = prepare(folder, tmp_path / "out")
    (tmp_path / "out" / "corpus.json").write_bytes(b"cut")
    with pytest.raises(RnnlensError, match=r"corpus\.json.*--overwrite") as told:
        prepare(folder, tmp_path / "out")
    assert "\n" not in str(told.value)
    assert prepare(folder, tmp_path / "out", overwrite=True).fingerprint == first.fingerprint


@pytest.mark.parametrize("call", ["load_corpus(source, progress=slow)", "prepare(source, out, progress=slow)"])
def test_processes_that_prepare_the_same_corpus_at_once_all_get_it(folder: Path, tmp_path: Path, call: str) -> None:
    code = (
        "import sys, time, pathlib; from rnnlens.corpora.prepared import load_corpus, prepare\n"
        "import rnnlens.corpora.writing, rnnlens.corpora.sources\n"
        "source, out, go, ready = sys.argv[1:]; pathlib.Path(ready).touch()\n"
        "def slow(done, total): print('prepared'); time.sleep(0.5)\n"
        "end = time.monotonic() + 60\n"
        "while not pathlib.Path(go).exists() and time.monotonic() < end: time.sleep(0.005)\n"
        f"print({call}.fingerprint)"
    )
    env = os.environ | {"PYTHONPATH": str(ROOT / "src"), "RNNLENS_CACHE": str(tmp_path / "runs" / "corpora")}
    ready = [tmp_path / f"ready{i}" for i in range(3)]
    given = [sys.executable, "-c", code, str(folder), str(tmp_path / "runs" / "out"), str(tmp_path / "go")]
    started = [
        subprocess.Popen([*given, str(file)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for file in ready
    ]
    deadline = time.monotonic() + 60
    while not all(file.exists() for file in ready) and time.monotonic() < deadline:
        time.sleep(0.01)
    (tmp_path / "go").touch()
    told = [process.communicate(timeout=60) for process in started]
    assert [process.returncode for process in started] == [0, 0, 0], told
    assert len({out.split()[-1] for out, _ in told}) == 1
    assert sum("prepared" in out for out, _ in told) == 1
    assert not list((tmp_path / "runs").rglob(".*"))


def test_a_lock_left_by_a_killed_process_keeps_nobody_waiting(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / ".out.lock").touch()
    prepare(folder, tmp_path / "runs" / "out")
    assert os.listdir(tmp_path / "runs") == ["out"]


def test_the_current_folder_can_be_prepared_into(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    first = prepare(folder, ".")
    assert load_corpus(".").fingerprint == first.fingerprint
    assert prepare(folder, "./").fingerprint == first.fingerprint
    second = prepare(folder, ".", seed=1, overwrite=True)
    assert load_corpus(".").fingerprint == second.fingerprint != first.fingerprint
    assert Path("corpus.json").samefile(tmp_path / "here" / "corpus.json")  # this is still the folder we are in
    assert sorted(os.listdir(tmp_path)) == ["data", "here"]


def test_a_review_of_aclimdb_edited_in_place_makes_a_new_cache_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RNNLENS_CACHE", str(tmp_path / "cache"))
    for side in ("neg", "pos"):
        (tmp_path / "aclImdb" / "train" / side).mkdir(parents=True)
        for i in range(3):
            (tmp_path / "aclImdb" / "train" / side / f"{i}_7.txt").write_text(f"{side} film")
    options = {"test": 0, "validation": 0, "min_count": 1}
    first = load_corpus(tmp_path / "aclImdb", **options)
    assert load_corpus(tmp_path / "aclImdb", **options).path == first.path
    file = tmp_path / "aclImdb" / "train" / "pos" / "1_7.txt"
    times = file.stat()
    file.write_text("pos plot")  # as many bytes
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns - 1))  # and not even the newest
    assert "plot" in load_corpus(tmp_path / "aclImdb", **options).vocab


@pytest.mark.parametrize(
    "name", ["corpus.json", "vocab.json", "train.ids.npy", "test.offsets.npy", "validation.labels.npy"]
)
@pytest.mark.parametrize("damage", ["flip", "cut", "gone"])
def test_a_damaged_folder_is_refused_by_the_name_of_the_file(
    folder: Path, tmp_path: Path, name: str, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(folder, "out")
    file = Path("out") / name
    content = bytearray(file.read_bytes())
    content[-20] ^= 1
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(content if damage == "flip" else content[:-20])
    with pytest.raises(RnnlensError) as told:
        load_corpus("out")
    assert name in str(told.value)
    assert "\n" not in str(told.value)


def test_options_for_a_prepared_folder_are_refused(folder: Path, tmp_path: Path) -> None:
    prepare(folder, tmp_path / "out")
    with pytest.raises(RnnlensError, match="already prepared: vocab_size"):
        load_corpus(tmp_path / "out", vocab_size=3)


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"text,label\n",
        b"text,other\nx,q\ny,w\n",
        b"text,label\nx,1\ny,1\n",
        b"text,label\nx,1\ny,7\nz,-3\n",
        b"text,label\nx,1\ny\xff,0\n",
        b"text,label\nx,1\ny,z,0\n",
        b'text,label\nx,1\n"y,0\n',
        b"text,label\n,1\ny,0\n",
    ],
    ids=["empty", "no rows", "no label", "one class", "out of range", "not utf-8", "ragged", "open quote", "no texts"],
)
def test_bad_input_is_one_line_and_leaves_the_earlier_corpus_alone(
    folder: Path, tmp_path: Path, content: bytes
) -> None:
    earlier = prepare(folder, tmp_path / "runs" / "out")
    (tmp_path / "bad.csv").write_bytes(content)
    for out, overwrite in (("out", True), ("new", False)):
        with pytest.raises(RnnlensError) as told:
            prepare(tmp_path / "bad.csv", tmp_path / "runs" / out, overwrite=overwrite)
        assert "\n" not in str(told.value)
    assert os.listdir(tmp_path / "runs") == ["out"]
    assert read_corpus(tmp_path / "runs" / "out").fingerprint == earlier.fingerprint


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"vocab_size": 1}, "vocab_size is 1"),
        ({"validation": 1.0}, "validation is 1.0"),
        ({"max_words": 0}, "max_words is 0"),
        ({"vocab_size": "many"}, "vocab_size is 'many': expected a whole number"),
        ({"vocab_size": None}, "vocab_size is 'None'"),
        ({"seed": 0.5}, "seed is 0.5"),
        ({"test": "a"}, "test is 'a': expected a share"),
        ({"text": 3}, "text is 3: expected the name of a column"),
        ({"vocabulary": 3}, "no option 'vocabulary'"),
    ],
)
def test_bad_options_are_refused_before_anything_is_read(tmp_path: Path, options: dict, expected: str) -> None:
    with pytest.raises(RnnlensError, match=expected):
        prepare(tmp_path / "nothing.csv", tmp_path / "out", **options)


def test_an_unwritable_place_or_a_full_disk_is_one_line_and_nothing_half_written(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(RnnlensError, match="cannot write") as told:
        prepare(folder, tmp_path / "file" / "out")
    assert "\n" not in str(told.value)

    limited = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from rnnlens.corpora.prepared import prepare; import rnnlens.corpora.writing\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))\n"
        "prepare(sys.argv[1], sys.argv[2])"
    )
    # Measuring coverage writes files too, and would meet the limit first.
    env = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    env["PYTHONPATH"] = str(ROOT / "src")
    command = [sys.executable, "-c", limited, str(folder), str(tmp_path / "runs" / "out")]
    failed = subprocess.run(command, capture_output=True, text=True, env=env)
    assert "Error: cannot write" in failed.stderr.splitlines()[-1]
    assert os.listdir(tmp_path / "runs") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
@pytest.mark.parametrize("words", [600_000, 200_000], ids=["while reading", "while writing"])
def test_a_full_disk_is_told_by_its_name(tmp_path: Path, words: int) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("cannot mount a small disk here")
    try:
        source = write(tmp_path / "train.parquet", ["good " * (words // 2), "bad " * (words // 2)], [1, 0])
        with pytest.raises(RnnlensError, match="No space left on device") as told:
            prepare(source, disk / "out", test=0, validation=0)
        assert "\n" not in str(told.value)
        assert os.listdir(disk) == []
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"validation": 1.0}, "validation is 1.0"),
        ({"validation": -0.1}, "validation is -0.1"),
        ({"validation": float("nan")}, "validation is nan"),
        ({"vocab_size": 1}, "vocab_size is 1"),
        ({"min_count": 0}, "min_count is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"texts": ["a", None]}, "text 1 is None: expected strings"),
        ({"texts": ["a", 3]}, "texts must be strings"),
        ({"texts": [["a"], ["b"]]}, "texts must be strings"),
        ({"texts": "ab"}, "texts are one string"),
        ({"texts": ["a", "b", "c"]}, "3 texts and 2 labels"),
        ({"labels": [[0], [1]]}, r"labels have the shape \(2, 1\)"),
        ({"labels": 1}, r"labels have the shape \(\)"),
        ({"labels": [[0], [1, 0]]}, "labels are not a list of numbers"),
        ({"labels": [0, None]}, "labels hold None"),
        ({"labels": [0, float("nan")]}, "labels hold nan"),
        ({"labels": ["0", "1"]}, "labels hold '0'"),
        ({"test": ["a", "b", "c"]}, "expected a pair"),
        ({"test": 0.2}, "test is '0.2': expected a pair"),
        ({"test": (["a"], [0, 1])}, "1 texts and 2 labels"),
    ],
)
def test_bad_texts_labels_and_options_in_memory_are_one_line(change: dict, expected: str) -> None:
    with pytest.raises(RnnlensError, match=expected) as told:
        Corpus.from_texts(**{"texts": ["a", "b"], "labels": [0, 1], "validation": 0, **change})
    assert "\n" not in str(told.value)


def test_texts_and_labels_must_match() -> None:
    with pytest.raises(RnnlensError, match="2 texts and 1 labels"):
        Corpus.from_texts(["a", "b"], [0])
    with pytest.raises(RnnlensError, match="expected 0"):
        Corpus.from_texts(["a", "b"], [0, 2])
    with pytest.raises(RnnlensError, match="no positive review"):
        Corpus.from_texts(["a", "b"], [0, 0])


def test_a_prepared_folder_is_read_without_polars(folder: Path, tmp_path: Path) -> None:
    prepare(folder, tmp_path / "out")
    code = "import sys; sys.modules['polars'] = None\nfrom rnnlens.corpora import load_corpus, statistics\n"
    code += "corpus = load_corpus(sys.argv[1]); corpus.train.batch([0, 1]); statistics(corpus); print(corpus)"
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", code, str(tmp_path / "out")]
    told = subprocess.run(command, capture_output=True, text=True, env=env, check=True)
    assert "train 360, validation 40, test 100" in told.stdout


@pytest.mark.skipif(not (SHARED / "yelp-sentences").is_dir(), reason="needs ../shared/data")
def test_real_sentences_lose_nothing_and_rejoin_their_contractions(tmp_path: Path) -> None:
    corpus = prepare(SHARED / "yelp-sentences", tmp_path / "out", limit=20_000)
    assert {"don't", "isn't", "it's", "_num_"} <= set(corpus.vocab.words)
    assert "n't" not in corpus.vocab
    assert corpus.test is not None
    assert (len(corpus.train), len(corpus.test)) == (18_000, 20_000)
    assert statistics(corpus)["train"]["unknown"] < 0.03


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


def test_pages_of_a_large_corpus_are_given_back(tmp_path, monkeypatch):
    """A mapped file of 64 MB, read all over: what is resident stays small, and what is read stays right."""
    from rnnlens.corpora import splits as module

    def resident():
        return int(re.search(r"RssFile:\s+(\d+)", Path("/proc/self/status").read_text())[1]) // 1024

    ids = np.arange(1 << 25, dtype=np.uint32).astype(np.uint16)
    np.save(tmp_path / "ids.npy", ids)
    offsets = np.arange(0, len(ids) + 1, 1 << 10)
    split = Split(np.load(tmp_path / "ids.npy", mmap_mode="r"), offsets, np.zeros(len(offsets) - 1, dtype=np.uint8))
    monkeypatch.setattr(module, "_LARGE", 1 << 20)
    before, most = resident(), 0
    for start in range(0, len(split), 64):
        rows = np.arange(start, start + 64)
        found, _ = split.batch(rows)
        np.testing.assert_array_equal(found[7], ids[(start + 7) << 10 : (start + 8) << 10])
        most = max(most, resident())
    assert most - before < 16  # megabytes
    assert sum(int(block.sum()) for block in module.blocks_of(split.ids)) == int(ids.sum(dtype=np.int64))
    assert resident() - before < 16
