"""Sources: every kind of file gives the same reviews, and every kind of bad input one line."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

pl = pytest.importorskip("polars")

from rnnlens.common.errors import RnnlensError, RnnlensWarning  # noqa: E402
from rnnlens.corpora.options import PrepareConfig  # noqa: E402
from rnnlens.corpora.sources import Source, open_source  # noqa: E402

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
        bad("empty.csv", b"", "empty"),
        bad("header.csv", b"text,label\n", "is empty"),
        bad("a.csv", b"text,label\nx,1\ny,0\n", "no column 'review'", "'text', 'label'", "--text", text="review"),
        bad("a.csv", b"text,label\nx,1\ny,1\n", "no negative review"),
        bad("a.csv", b"text,label\nx,1\ny,12\n", "out of range", "12", "expected 0/1"),
        bad("a.csv", b"text,label\nx,1\ny \xff,0\n", "not UTF-8", "0xff at offset 17, line 3"),
        bad("a.csv", "text,label\na, b,1\nc,0\n".encode("utf-16"), "not UTF-8", "iconv -f utf-16"),
        bad("a.jsonl", b'{"text": "x", "label": 1}\n{"text": "\xe9", "label": 0}\n', "not UTF-8", "line 2"),
        bad("a.csv", b"text,label\nx,1\ny,z,0\n", "ragged: line 3 has 3 fields"),
        bad("a.csv", b'text,label\nx,1\n"y,0\nz,1\n', "never closed"),
        bad("a.jsonl", b'{"text": ["x"], "label": 1}\n{"text": ["z"], "label": 0}\n', "column 'text'", "holds lists"),
        bad("a.jsonl", b'{"text": "x", "label": 1}\n\n{"text": "y", "label": NaN}\n', "line 3 is not", "NaN"),
        bad("a.jsonl", b'[{"text": "x", "label": 1},\n{"text": "y", "label": 0}]\n', "line 1 is not complete JSON"),
        bad("a.csv", b"text,label,label\nx,1,0\ny,0,1\n", "several columns 'label': rename"),
        bad("a.parquet", b"no parquet at all, not even close", "cannot read"),
        bad("a.tar.gz", b"hello", "not a complete tar"),
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


@pytest.mark.parametrize(("text", "label"), [("^t.*$", "*"), ("*", "^text$"), ("^.*$", "^other$")])
@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_names_of_columns_are_no_patterns(tmp_path: Path, suffix: str, text: str, label: str) -> None:
    frame = pl.DataFrame({text: ["good film", "bad film"], "text": ["x", "y"], label: [1, 0], "other": [7, 8]})
    path = tmp_path / f"a{suffix}"
    {".csv": frame.write_csv, ".jsonl": frame.write_ndjson, ".parquet": frame.write_parquet}[suffix](path)
    assert read_all(open_source(path, PrepareConfig(text=text, label=label))) == (["good film", "bad film"], [1, 0])


@pytest.mark.parametrize("value", [["good", "film"], {"a": "good"}])
def test_lists_and_records_among_the_rows_of_a_jsonl_file_are_refused(tmp_path: Path, value: object) -> None:
    """polars takes the kind of a column from the first 1,000 rows."""
    rows: list[dict[str, object]] = [{"text": "[a] good {film}", "label": i % 2} for i in range(4_000)]
    rows[3_000]["text"] = value
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(RnnlensError, match="column 'text' .* holds lists or records, the first in line 3001"):
        list(open_source(tmp_path / "a.jsonl").read())


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
    with pytest.raises(RnnlensError, match=r"\(train\): schema"):
        open_source(tmp_path)


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
