"""Sources: every kind of file gives the same reviews, and every kind of bad input one line."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pl = pytest.importorskip("polars")

from rnnlens.common.errors import RnnlensError, RnnlensWarning  # noqa: E402
from rnnlens.corpora.labels import DROPPED, decide_scheme  # noqa: E402
from rnnlens.corpora.options import PrepareConfig  # noqa: E402
from rnnlens.corpora.sources import Source, local_files, open_source  # noqa: E402
from rnnlens.corpora.splits import NEUTRAL  # noqa: E402
from rnnlens.corpora.tables import NoSuchFileError, open_hub  # noqa: E402

TEXTS = ["good film", 'a "bad", bad\nfilm', "not bad at all", "dull é"]
LABELS = [1, 0, 1, 0]


def read_all(source: Source, split: str = "train") -> tuple[list[str], list[int]]:
    texts = [text for part, batch in source.read() if part == split for text in batch.to_list()]
    return texts, source.labels[split].tolist()


def write_csv(path: Path, separator: str = ",") -> Path:
    pl.DataFrame({"text": TEXTS, "label": LABELS}).write_csv(path, separator=separator)
    return path


def write_jsonl(path: Path) -> Path:
    rows = [{"text": text, "label": label} for text, label in zip(TEXTS, LABELS, strict=True)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def write_parquet(path: Path) -> Path:
    pl.DataFrame({"rating": [9, 1, 8, 3], "text": TEXTS, "label": LABELS}).write_parquet(path)
    return path


def write_aclimdb(folder: Path, parts: tuple[str, ...] = ("train", "test")) -> Path:
    for part in parts:
        for side in ("neg", "pos", "unsup"):
            (folder / part / side).mkdir(parents=True)
            for i in range(3):
                (folder / part / side / f"{i}_7.txt").write_text(f"{part} {side} {i} é", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.csv", write_csv),
        ("a.tsv", lambda path: write_csv(path, "\t")),
        ("semicolons.csv", lambda path: write_csv(path, ";")),
        ("a.jsonl", write_jsonl),
        ("a.ndjson", write_jsonl),
        ("a.parquet", write_parquet),
    ],
)
def test_every_kind_of_file_gives_the_same_reviews(tmp_path: Path, name: str, write: Callable[[Path], Path]) -> None:
    source = open_source(write(tmp_path / name))
    assert read_all(source) == (TEXTS, LABELS)
    assert source.columns == {"text": "text", "label": "label"}


def test_a_folder_gives_its_train_validation_and_test_files(tmp_path: Path) -> None:
    write_csv(tmp_path / "train-00000-of-00002.csv")
    write_csv(tmp_path / "train-00001-of-00002.csv")
    write_csv(tmp_path / "dev.csv")
    write_csv(tmp_path / "test.csv")
    (tmp_path / "README.md").write_text("about")
    source = open_source(tmp_path)
    assert {split: len(labels) for split, labels in source.labels.items()} == {"train": 8, "validation": 4, "test": 4}
    assert read_all(source)[0] == TEXTS * 2


def test_the_yelp_csv_folder_has_no_header_and_escapes_its_lines(tmp_path: Path) -> None:
    folder = tmp_path / "yelp_review_polarity_csv"
    folder.mkdir()
    for name in ("train.csv", "test.csv"):
        (folder / name).write_text('"1","so \\""bad\\""\\nreally"\n"2","good, ""great"" place"\n')
    source = open_source(folder)
    assert read_all(source) == (['so "bad"\nreally', 'good, "great" place'], [0, 1])
    assert source.scheme == "1/2"


@pytest.mark.parametrize("packed", ["folder", ".tar", ".tar.gz"])
def test_aclimdb_is_read_from_its_folder_or_tar_without_unpacking(tmp_path: Path, packed: str) -> None:
    folder = write_aclimdb(tmp_path / "aclImdb")
    path = folder
    if packed != "folder":
        path = tmp_path / f"aclImdb_v1{packed}"
        with tarfile.open(path, "w:gz" if packed.endswith("gz") else "w") as tar:
            tar.add(folder, "aclImdb")
    before = sorted(tmp_path.rglob("*"))
    source = open_source(path)
    for split in ("train", "test"):
        texts, labels = read_all(source, split)
        expected = {(f"{split} {side} {i} é", code) for code, side in enumerate(("neg", "pos")) for i in range(3)}
        assert set(zip(texts, labels, strict=True)) == expected
    assert sorted(tmp_path.rglob("*")) == before


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
        ([1, 2, 5], "stars", "stars", [0, 0, 1]),
        ([1, 4, 5, 6, 7, 10], "rating", "ratings 1 to 10", [0, 0, NEUTRAL, NEUTRAL, 1, 1]),
    ],
)
def test_labels_are_read_by_the_scheme_that_fits_all_of_them(
    values: list[object], column: str, name: str, codes: list[int]
) -> None:
    scheme = decide_scheme(values, column, "here")
    assert (scheme.name, [scheme.codes[value] for value in values]) == (name, codes)


@pytest.mark.parametrize(
    "values", [[0, 1, 2], [-2, 0, 1], [1, 2, 11], ["good", "bad"], [0.5, 1], ["pos", 0], [None], [1e30], [float("nan")]]
)
def test_labels_out_of_range_are_refused_in_one_line(values: list[object]) -> None:
    with pytest.raises(RnnlensError, match="expected 0/1") as told:
        decide_scheme(values, "label", "here")
    assert "\n" not in str(told.value)


def test_the_label_scheme_comes_from_every_row_not_from_the_first_ones(tmp_path: Path) -> None:
    stars = [1, 2] * 6000 + [5, 3]
    pl.DataFrame({"text": ["a"] * len(stars), "score": stars}).write_csv(tmp_path / "a.csv")
    source = open_source(tmp_path / "a.csv")
    assert source.scheme == "stars"
    assert np.bincount(source.labels["train"]).tolist() == [12000, 1, 1]


def test_columns_are_found_by_name_by_content_or_as_told(tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": [101, 102], "Review": ["x y", "z"], "stars": [5, 1], "other": ["so", "so"]})
    frame.write_csv(tmp_path / "named.csv")
    assert open_source(tmp_path / "named.csv").columns == {"text": "Review", "label": "stars"}
    told = open_source(tmp_path / "named.csv", PrepareConfig(text="other", label="stars"))
    assert read_all(told) == (["so", "so"], [1, 0])
    pl.DataFrame({"was": ["pos", "neg"], "q": ["x y", "z"]}).write_csv(tmp_path / "unnamed.csv")
    assert open_source(tmp_path / "unnamed.csv").columns == {"text": "q", "label": "was"}


def test_rows_keep_their_order_and_labels_over_many_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rnnlens.corpora.sources._BATCH_BYTES", 1000)
    n = 5000
    texts, labels = [f"word {i}" for i in range(n)], [i % 2 for i in range(n)]
    pl.DataFrame({"text": texts, "label": labels}).write_csv(tmp_path / "a.csv")
    source = open_source(tmp_path / "a.csv")
    sizes = [len(batch) for _, batch in source.read()]
    assert len(sizes) > 5
    assert read_all(source) == (texts, labels)


def bad(name: str, content: bytes | None, *expected: str, **options: str) -> object:
    return pytest.param(name, content, expected, options, id=f"{name}-{expected[0]}")


@pytest.mark.parametrize(
    ("name", "content", "expected", "options"),
    [
        bad("empty.csv", b"", "is empty"),
        bad("empty.jsonl", b"", "is empty"),
        bad("empty.parquet", b"", "is empty"),
        bad("header.csv", b"text,label\n", "is empty"),
        bad("a.csv", b"text,label\nx,1\ny,0\n", "no column 'review'", "'text', 'label'", "--text", text="review"),
        bad("a.csv", b"text,label\nx,1\ny,0\n", "no column 'stars'", label="stars"),
        bad("a.csv", b"alpha,beta\nx,q\ny,w\n", "no text column found", "'alpha', 'beta'", "text=… / --text …"),
        bad("a.csv", b"text,beta\nx,q\ny,w\n", "no label column found", "label=… / --label …"),
        bad("a.csv", b"text,label\nx,1\ny,1\n", "no negative review"),
        bad("a.csv", b"text,label\nx,0\ny,0\n", "no positive review"),
        bad("a.csv", b"text,label\nx,1\ny,12\n", "out of range", "12", "expected 0/1"),
        bad("a.csv", b"text,label\nx,good\ny,bad\n", "the label 'bad'", "expected 0/1"),
        bad("a.csv", b"text,label\nx,1\ny \xff,0\n", "not UTF-8", "0xff at offset 17, line 3"),
        bad("a.csv", "text,label\na, b,1\nc,0\n".encode("utf-16"), "not UTF-8", "iconv -f utf-16"),
        bad("a.csv", "text,label\né,1\nc,0\n".encode("utf-16-le"), "begins with zero bytes", "iconv -f utf-16le"),
        bad("a.csv", "text,label\né,1\nc,0\n".encode("utf-32"), "is UTF-32", "iconv -f utf-32"),
        bad("a.jsonl", b'{"text": "x", "label": 1}\n{"text": "\xe9", "label": 0}\n', "not UTF-8", "line 2"),
        bad("a.csv", b"text,label\nx,1\ny,z,0\n", "ragged: line 3 has 3 fields"),
        bad("a.csv", b'text,label\nx,1\n"y,0\nz,1\n', "never closed"),
        bad("a.csv", b"text,label\nx," + b"9" * 400 + b"\ny,1\n", "holds the label '999", "expected 0/1"),
        bad("a.csv", b"text,label\nx,1e999\ny,1\n", "holds the label '1e999'"),
        bad("a.jsonl", b'\xef\xbb\xbf{"text": "x", "label": 1}\n', "byte order mark: remove it", "tail -c +4"),
        bad("a.jsonl", b'{"text": ["x"], "label": 1}\n{"text": ["z"], "label": 0}\n', "column 'text'", "holds lists"),
        bad("a.jsonl", b'{"text": "x", "label": {"v": 1}}\n{"text": "z", "label": {}}\n', "column 'label'", "records"),
        bad("a.jsonl", b'{"text": "x", "label": 1}\n{"text": "y" "label": 0}\n', "cannot read"),
        bad("a.jsonl", b'{"text": "x", "label": 1}\n\n{"text": "y", "label": NaN}\n', "line 3 holds NaN", "JSON"),
        bad("a.jsonl", b'[{"text": "x", "label": 1},\n{"text": "y", "label": 0}]\n', "line 1 is not complete JSON"),
        bad("a.jsonl", b'["x", 1]\n["y", 0]\n', "line 1 is JSON, but not an object", '{"text": "good", "label": 1}'),
        bad("a.csv", b"text,label\rx,1\ry,0\r", "end with a carriage return alone", r"tr '\r' '\n'"),
        bad("a.csv", b"text,label,label\nx,1,0\ny,0,1\n", "several columns 'label': rename"),
        bad("a.csv", bz2.compress(b"text,label\nx,1\ny,0\n"), "is compressed", "bunzip2"),
        bad("a.csv", lzma.compress(b"text,label\nx,1\ny,0\n"), "is compressed", "unxz"),
        bad("a.parquet", b"no parquet at all, not even close", "cannot read"),
        bad("a.txt", b"hello", "unknown suffix", ".csv"),
        bad("a.tar.gz", b"hello", "not a complete tar"),
        bad("a.tar", gzip.compress(b"hello")[:20], "not a complete tar"),
        bad("nowhere.csv", None, "there is no file or folder"),
    ],
)  # fmt: skip
def test_bad_files_are_refused_in_one_line_that_names_them(
    tmp_path: Path, name: str, content: bytes | None, expected: tuple[str, ...], options: dict[str, str]
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RnnlensError) as told:
        for _ in open_source(path, PrepareConfig(**options)).read():
            pass
    message = str(told.value)
    assert name in message
    assert "\n" not in message
    assert all(part in message for part in expected), message


def test_splits_may_hold_the_same_labels_as_numbers_and_as_text(tmp_path: Path) -> None:
    write_csv(tmp_path / "test.csv")
    texts, labels = read_all(open_source(tmp_path / "test.csv"))
    for number, kind in enumerate((pl.Int64, pl.Float32, pl.Decimal(4, 2), pl.String)):
        (folder := tmp_path / str(number)).mkdir()
        write_csv(folder / "test.csv")
        frame = pl.DataFrame({"text": texts, "label": labels}).cast({"label": kind})
        frame.write_parquet(folder / "train.parquet")
        source = open_source(folder)
        assert source.scheme == "0/1" and source.labels["train"].tolist() == source.labels["test"].tolist() == labels


def test_classes_that_are_large_whole_numbers_stay_apart(tmp_path: Path) -> None:
    """As floating-point numbers 2⁵³ and 2⁵³ + 1 are equal."""
    numbers = [2**53, 2**53 + 1, 2**53 + 2]
    pl.DataFrame({"text": ["a", "b", "c"], "label": numbers}).write_parquet(tmp_path / "a.parquet")
    source = open_source(tmp_path / "a.parquet", PrepareConfig(classes=True))
    assert source.names == tuple(map(str, numbers)) and source.labels["train"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("names", "labels", "scheme", "codes"),
    [
        (["positive", "negative"], [0, 1, 1, -1], "neg/pos", [1, 0, 0, DROPPED]),
        (["neg", "neutral", "pos"], [0, 1, 2, 2], "neg/pos", [0, DROPPED, 1, 1]),
        (["1", "2", "3", "4", "5"], [0, 4, 3, 2], "stars", [0, 1, 1, 2]),
        (["spam", "ham"], [0, 1, 1, 0], "0/1", [0, 1, 1, 0]),  # no names that we read: numbers, as without names
        (["positive"], [0, 1, 1, 0], "0/1", [0, 1, 1, 0]),  # not of all numbers
        ("no list", [0, 1, 1, 0], "0/1", [0, 1, 1, 0]),
    ],
)
def test_a_parquet_file_that_names_its_numbered_labels_is_read_by_the_names(
    tmp_path: Path, names: list[str], labels: list[int], scheme: str, codes: list[int]
) -> None:
    """A 0 that was named positive was read as negative, without a word."""
    about = {"info": {"features": {"label": {"names": names, "_type": "ClassLabel"}}}}
    frame = pl.DataFrame({"text": TEXTS, "label": labels})
    frame.write_parquet(tmp_path / "train.parquet", metadata={"huggingface": json.dumps(about)})
    frame.write_csv(tmp_path / "test.csv")
    source = open_source(tmp_path)
    assert source.scheme == scheme and source.labels["train"].tolist() == source.labels["test"].tolist() == codes


@pytest.mark.parametrize(("text", "label"), [("^t.*$", "*"), ("*", "^text$"), ("^.*$", "^other$")])
@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_names_of_columns_are_no_patterns(tmp_path: Path, suffix: str, text: str, label: str) -> None:
    frame = pl.DataFrame({text: ["good film", "bad film"], "text": ["x", "y"], label: [1, 0], "other": [7, 8]})
    path = tmp_path / f"a{suffix}"
    {".csv": frame.write_csv, ".jsonl": frame.write_ndjson, ".parquet": frame.write_parquet}[suffix](path)
    assert read_all(open_source(path, PrepareConfig(text=text, label=label))) == (["good film", "bad film"], [1, 0])


def test_a_folder_without_a_train_file_is_refused(tmp_path: Path) -> None:
    write_csv(tmp_path / "test.csv")
    with pytest.raises(RnnlensError, match="no train file: expected train"):
        open_source(tmp_path)


def test_a_folder_with_two_kinds_of_train_file_is_refused(tmp_path: Path) -> None:
    write_csv(tmp_path / "train.csv")
    write_jsonl(tmp_path / "train.jsonl")
    with pytest.raises(RnnlensError, match=r"several kinds \(csv, jsonl\)"):
        open_source(tmp_path)


def test_lists_and_records_in_a_parquet_file_are_refused(tmp_path: Path) -> None:
    for text in ([["good", "film"], ["bad"]], [{"a": "good"}, {"a": "bad"}]):
        pl.DataFrame({"text": text, "label": [1, 0]}).write_parquet(tmp_path / "a.parquet")
        with pytest.raises(RnnlensError, match="column 'text' of .* holds lists or records: expected one text"):
            open_source(tmp_path / "a.parquet")


@pytest.mark.parametrize("column", ["text", "label"])
@pytest.mark.parametrize("value", [["good", "film"], {"a": "good"}, []])
@pytest.mark.parametrize("row", [1, 3_000])  # polars takes the kind of a column from the first 1,000 rows
def test_lists_and_records_among_the_rows_of_a_jsonl_file_are_refused(
    tmp_path: Path, row: int, value: object, column: str
) -> None:
    rows: list[dict[str, object]] = [{"tags": [1], "text": "[a] good {film}", "label": i % 2} for i in range(4_000)]
    path = tmp_path / "a.jsonl"

    def write() -> Path:
        path.write_text("\n" + "".join(json.dumps(row) + "\n" for row in rows))
        return path

    assert len(read_all(open_source(write()))[0]) == 4_000, "texts may begin with a bracket"
    rows[row][column] = value
    line = rf"column '{column}' of '.*a.jsonl' holds lists or records, the first in line {row + 2}, '"
    with pytest.raises(RnnlensError, match=line):
        list(open_source(write(), PrepareConfig(classes=True)).read())


@pytest.mark.parametrize("name", ["a[1]", "a*", "a?", "[!b]", "a]b", "{a,b}", "**"])
@pytest.mark.parametrize("write", [write_jsonl, write_csv, write_parquet])
def test_the_name_of_a_file_is_no_pattern(tmp_path: Path, name: str, write: Callable[[Path], Path]) -> None:
    """polars would read `a1.jsonl` for `a[1].jsonl`, and every file for `*.jsonl`."""
    folder = tmp_path / "data [old] *"
    folder.mkdir()
    kind = {write_jsonl: "jsonl", write_csv: "csv", write_parquet: "parquet"}[write]
    for other in ("a1", "ab", "a", "c"):
        (folder / f"{other}.{kind}").write_bytes(b"another file")
    assert read_all(open_source(write(folder / f"{name}.{kind}"))) == (TEXTS, LABELS)


@pytest.mark.parametrize("second", ["label,text\n1,x\n", "review,stars\nx,1\n", "text,label,id\nx,1,7\n"])
def test_files_of_one_split_with_other_columns_are_refused(tmp_path: Path, second: str) -> None:
    write_csv(tmp_path / "train-0.csv")
    (tmp_path / "train-1.csv").write_text(second)
    with pytest.raises(RnnlensError, match=r"\(train\) differ in their columns \(.*\): give them the same columns"):
        open_source(tmp_path)


def test_a_test_file_without_the_columns_of_train_is_refused(tmp_path: Path) -> None:
    write_csv(tmp_path / "train.csv")
    (tmp_path / "test.csv").write_text("text,answer\nx,1\n")
    with pytest.raises(RnnlensError, match=r"\(test\) has no column 'label'"):
        open_source(tmp_path)


@pytest.mark.parametrize("train", ["1 0 0", "pos neg", "joy fear anger", "2 0 1"])
@pytest.mark.parametrize("test", ["-1", "", " "])
def test_a_test_file_without_labels_is_refused_as_such(tmp_path: Path, train: str, test: str) -> None:
    """Published test sets have −1 for labels. It turned 0 and 1 into neutral and positive, so that train lacked
    negative reviews; and texts without labels were said to have no words."""
    for name, labels in (("train", train.split()), ("test", [test, test])):
        (tmp_path / f"{name}.csv").write_text("text,label\n" + "".join(f"good film,{label}\n" for label in labels))
    with pytest.raises(RnnlensError, match=r"\(test\) has no labels, .*; give the training file alone"):
        open_source(tmp_path, PrepareConfig(classes="2" in train))


def test_a_test_file_may_hold_one_class(tmp_path: Path) -> None:
    for name, labels in (("train", "-1 1"), ("test", "-1 -1")):
        (tmp_path / f"{name}.csv").write_text("text,label\n" + "".join(f"a film,{label}\n" for label in labels.split()))
    assert open_source(tmp_path).labels["test"].tolist() == [0, 0]


def test_undecodable_bytes_in_aclimdb_name_the_file(tmp_path: Path) -> None:
    folder = write_aclimdb(tmp_path / "aclImdb")
    (folder / "train" / "pos" / "1_7.txt").write_bytes(b"caf\xe9")
    with pytest.raises(RnnlensError, match=r"1_7\.txt' is not UTF-8: byte 0xe9 at offset 3"):
        list(open_source(folder).read())


def test_a_tar_without_reviews_is_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        tar.addfile(tarfile.TarInfo("other.txt"), io.BytesIO())
    with pytest.raises(RnnlensError, match="no train/pos and train/neg"):
        open_source(tmp_path / "a.tar")


@pytest.mark.parametrize("name", ["imdb", "yelp", "hf:owner/name", "hf://datasets/owner/name/train.parquet"])
def test_an_unreachable_hub_says_offline_and_suggests_a_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offline(*_: object, **__: object) -> None:
        raise pl.exceptions.ComputeError("error sending request for url (https://huggingface.co/…)\nmore")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pl, "scan_parquet", offline)
    with pytest.raises(RnnlensError, match="offline, give a local file") as told:
        open_source(name)
    assert "\n" not in str(told.value)


def test_hub_names_read_the_official_splits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def hub(path: str, **_: object) -> object:
        asked.append(path)
        if "validation" in path:
            raise pl.exceptions.ComputeError("expanded paths were empty")
        return pl.LazyFrame({"text": TEXTS, "label": LABELS})

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pl, "scan_parquet", hub)
    source = open_source("imdb")
    assert set(source.labels) == {"train", "test"}
    assert asked[0] == "hf://datasets/stanfordnlp/imdb/**/train*.parquet"


def hub_without(*missing: str, error: str = "expanded paths were empty") -> Callable[..., object]:
    def hub(path: str, **_: object) -> object:
        if any(f"/{split}*" in path for split in missing):
            raise pl.exceptions.ComputeError(error)
        return pl.LazyFrame({"text": TEXTS, "label": LABELS})

    return hub


@pytest.mark.parametrize("split", ["validation", "test"])
@pytest.mark.parametrize("name", ["imdb", "hf:owner/name"])
def test_a_hub_that_stumbles_is_an_error_and_not_a_source_without_that_split(
    name: str, split: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pl, "scan_parquet", hub_without(split, error="operation timed out"))
    with pytest.raises(RnnlensError, match="operation timed out"):
        open_source(name)


def test_a_hub_source_may_lack_a_test_split_but_not_the_known_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pl, "scan_parquet", hub_without("validation", "test"))
    assert set(open_source("hf:owner/name").labels) == {"train"}
    for name in ("imdb", "yelp", "IMDB"):
        with pytest.raises(RnnlensError, match="cannot read .* from the hub"):
            open_source(name)


def test_what_polars_says_of_a_pattern_without_files_is_understood(tmp_path: Path) -> None:
    for name in ("test*.parquet", "**/test*.parquet", "test.parquet"):
        with pytest.raises(NoSuchFileError):
            open_hub(str(tmp_path / name), "owner/name")
    (tmp_path / "test.parquet").write_bytes(b"no parquet")
    with pytest.raises(RnnlensError) as told:
        open_hub(str(tmp_path / "test*.parquet"), "owner/name")
    assert not isinstance(told.value, NoSuchFileError)


def test_too_many_distinct_labels_name_the_flag(tmp_path: Path) -> None:
    pl.DataFrame({"text": ["a"] * 2000, "label": range(2000)}).write_csv(tmp_path / "a.csv")
    with pytest.raises(RnnlensError, match="label=… / --label …"):
        open_source(tmp_path / "a.csv")


def test_a_local_file_wins_over_a_hub_name_and_is_what_the_source_depends_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "imdb").mkdir()
    write_csv(tmp_path / "imdb" / "train.csv")
    assert read_all(open_source("imdb")) == (TEXTS, LABELS)
    assert local_files("imdb") == [Path("imdb/train.csv")]
    assert local_files("yelp") == []


@pytest.mark.parametrize(("name", "separator"), [("a.csv", ","), ("a.tsv", "\t"), ("semicolons.csv", ";")])
@pytest.mark.parametrize("order", [1, -1])
def test_rows_that_an_open_quote_made_part_of_a_text_are_told_of(tmp_path, recwarn, name, separator, order):
    """The quote is closed by another text's, so that polars takes the rows between them for one text."""
    texts = ["good film", '"he said', "bad film", "dull", 'she said"', "fine"]
    rows = [("text", "label"), *((text, str(k % 2)) for k, text in enumerate(texts))]
    path = tmp_path / name
    path.write_text("".join(separator.join(row[::order]) + "\n" for row in rows))
    with pytest.warns(RnnlensWarning, match="runs over 4 lines that look like rows of their own: 'he said"):
        assert len(read_all(open_source(path))[0]) == 3
    lines = ["a list:\n1, 2\nand 3\n", "2,000 people\nliked it\nor\tnot"]
    pl.DataFrame({"text": lines, "label": [0, 1]}).write_csv(path, separator=separator)
    assert read_all(open_source(path)) == (lines, [0, 1]) and not recwarn.list
