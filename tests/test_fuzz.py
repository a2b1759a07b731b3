"""Whatever bytes a loader is given, it takes them or refuses in one line: no crash, no hang, no memory, no code.

Files of rnnlens carry fingerprints, which stop all but a forger: those of forged files are made to fit.
"""

from __future__ import annotations

import copy
import gzip
import io
import json
import pickle
import resource
import struct
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save

import rnnlens
from rnnlens import RnnlensError
from rnnlens.common.files import _tensor_fingerprint, fingerprint, read_json, read_lines, write_json
from rnnlens.corpora import Corpus, load_corpus, prepare
from rnnlens.corpora.sources import open_source
from rnnlens.experiments.info import describe

Target = Callable[[Path, bytes], object]
TEXTS = ["good film", 'a "bad", bad\nfilm', "not bad at all", "dull é", "", "very good", "awful", "fine <br /> film"]
LABELS = [1, 0, 1, 0, 0, 1, 0, 1]
FRAME = pl.DataFrame({"text": TEXTS * 4, "label": LABELS * 4})
LONG = 20.0  # seconds: what takes longer hangs


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus and an analyzed run of it, each as small as it can be; and a place for files."""
    scene = tmp_path_factory.mktemp("fuzz") / "scene"
    (scene / "files").mkdir(parents=True)
    corpus = Corpus.from_texts(TEXTS * 4, LABELS * 4, validation=0.25)
    FRAME.write_parquet(scene / "files" / "reviews.parquet")
    prepare(scene / "files" / "reviews.parquet", scene / "corpus", min_count=1)
    network = rnnlens.Network(corpus.vocab, hidden=3, embedding=2)
    rnnlens.train(network, corpus, rnnlens.TrainConfig(epochs=1), scene / "run", progress=False)
    rnnlens.analyze(rnnlens.load(scene / "run")).save()
    # Schema 1: changed files are read beyond their names.
    write_json(scene / "run/run.json", {**read_json(scene / "run/run.json"), "schema": 1})
    return scene


# --- what is read -----------------------------------------------------------------------------------------------------


@contextmanager
def replaced(path: Path, data: bytes) -> Iterator[None]:
    """A file's content for as long as the block lasts."""
    before = path.read_bytes() if path.exists() else None
    path.write_bytes(data)
    try:
        yield
    finally:
        path.unlink() if before is None else path.write_bytes(before)


def source(name: str) -> Target:
    def target(scene: Path, data: bytes) -> None:
        path = scene / "files" / name
        path.write_bytes(gzip.compress(data, 1, mtime=0) if name.endswith(".gz") else data)
        opened = open_source(path)
        rows = sum(len(texts) for _, texts in opened.read())
        assert rows == sum(map(len, opened.labels.values()))

    return target


def of_rnnlens(name: str, read: Callable[[Path], object], seal: Callable[[bytes], bytes]) -> Target:
    def target(scene: Path, data: bytes) -> None:
        with replaced(scene / name, seal(data)):
            read(scene)

    return target


def open_run(scene: Path) -> None:
    run = rnnlens.load(scene / "run")
    describe(scene / "run")
    run.without_subspace()
    _ = run.config, run.history, repr(run)
    run.network.read("not a good film")


def open_corpus(scene: Path) -> None:
    corpus = load_corpus(scene / "corpus")
    describe(scene / "corpus")
    for split in corpus.splits.values():
        split.batch(range(len(split)))


def seal_json(data: bytes) -> bytes:
    """JSON with the fingerprint that its content has; what is no object stays as it is."""
    try:
        content = json.loads(data)
        content.pop("fingerprint", None)
        return json.dumps({**content, "fingerprint": fingerprint(content)}).encode()
    except (ValueError, TypeError, AttributeError, RecursionError):
        return data


def seal_tensors(data: bytes) -> bytes:
    """Safetensors with the fingerprint that their content has; what is none stays as it is."""
    try:
        arrays, about = load(data), about_of(data)
        return save(arrays, metadata={"about": about, "fingerprint": _tensor_fingerprint(arrays, about)})
    except Exception:
        return data


def about_of(data: bytes) -> str:
    return json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["about"]


TENSORS: dict[str, Target] = {
    "run/weights.safetensors": of_rnnlens("run/weights.safetensors", open_run, seal_tensors),
    "run/analysis.safetensors": of_rnnlens("run/analysis.safetensors", open_run, seal_tensors),
}
SEALED: dict[str, Target] = {
    **{name: of_rnnlens(name, open_run, seal_json) for name in ("run/run.json", "run/vocab.json", "run/results.json")},
    "corpus/corpus.json": of_rnnlens("corpus/corpus.json", open_corpus, seal_json),
}
TARGETS: dict[str, Target] = {
    **{kind: source(f"a.{kind}") for kind in ("csv", "tsv", "jsonl", "parquet", "tar", "tar.gz")},
    **SEALED,
    **TENSORS,
    "run/history.jsonl": of_rnnlens("run/history.jsonl", lambda at: read_lines(at / "run/history.jsonl"), bytes),
}


def genuine(name: str, scene: Path) -> bytes:
    """What a loader is meant for."""
    buffer = io.BytesIO()
    if name in ("csv", "tsv"):
        return FRAME.write_csv(separator="\t" if name == "tsv" else ",").encode()
    if name == "jsonl":
        return FRAME.write_ndjson().encode()
    if name == "parquet":
        FRAME.head(8).write_parquet(buffer, compression="uncompressed")
        return buffer.getvalue()
    if name not in ("tar", "tar.gz"):
        return (scene / name).read_bytes()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for i, (content, label) in enumerate(zip(TEXTS, LABELS, strict=True)):
            entry = tarfile.TarInfo(f"aclImdb/train/{('neg', 'pos')[label]}/{i}_7.txt")
            entry.size = len(content.encode())
            tar.addfile(entry, io.BytesIO(content.encode()))
    return buffer.getvalue()


def said_of(name: str, scene: Path, data: bytes) -> str | None:
    """What a loader says to some bytes; None if it takes them. Anything else than one line is an exception."""
    try:
        TARGETS[name](scene, data)
    except RnnlensError as error:
        assert "\n" not in str(error) and len(str(error)) <= 1000
        return str(error)
    return None


# --- any bytes --------------------------------------------------------------------------------------------------------


def few(examples: int) -> Callable[[Any], Any]:
    """As many examples, the same ones every time."""
    checks = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    return settings(max_examples=examples, deadline=None, derandomize=True, database=None, suppress_health_check=checks)


PIECES = (b"{", b"[", b'"', b"\n", b",", b"\t", b"NaN", b"1e999", b"-1", b"9" * 30, b"\xff", b"\0" * 9, b"null", b"\r")
edits = st.lists(
    st.tuples(st.floats(0, 1, exclude_max=True), st.floats(0, 0.2), st.binary(max_size=4) | st.sampled_from(PIECES)),
    max_size=6,
)


@pytest.mark.parametrize("name", TARGETS)
@few(15)
@given(changes=edits)
@example(changes=[])
@example(changes=[(0.0, 1.0, b"")])
@example(changes=[(0.5, 1.0, b"")])
@example(changes=[(0.0, 1.0, b"[" * 100_000)])
def test_any_bytes_are_taken_or_refused_in_one_line(name: str, scene: Path, changes: list) -> None:
    """Stretches of a genuine file, each replaced by other bytes."""
    began, data = time.monotonic(), genuine(name, scene)
    for at, length, piece in changes:
        start = int(at * len(data))
        data = data[:start] + piece + data[start + int(length * length * len(data)) :]
    said = said_of(name, scene, data)
    assert said is None or changes, f"what it is meant for is refused: {said}"
    assert time.monotonic() - began < LONG


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)
GONE = object()


@pytest.mark.parametrize("name", SEALED)
@few(25)
@given(where=st.lists(st.integers(0, 30), min_size=1, max_size=4), value=values | st.just(GONE))
def test_a_forged_file_with_the_right_fingerprint_is_taken_or_refused(
    name: str, scene: Path, where: list[int], value: object
) -> None:
    """One value anywhere in it replaced or taken out."""
    content = json.loads(genuine(name, scene))
    inside: Any = content
    for depth, index in enumerate(where):
        keys = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
        if not keys:
            break
        key = keys[index % len(keys)]
        if depth == len(where) - 1 or not isinstance(inside[key], dict | list):
            if value is GONE:
                del inside[key]
            else:
                inside[key] = copy.deepcopy(value)
            break
        inside = inside[key]
    said_of(name, scene, json.dumps(content).encode())


# --- files that claim more than they hold -----------------------------------------------------------------------------


def header(kind: str, length: int, end: int) -> bytes:
    """A safetensors file of 64 bytes that says it has a tensor of another length."""
    tensor = {"dtype": kind, "shape": [length], "data_offsets": [0, end]}
    text = json.dumps({"__metadata__": {"about": "{}", "fingerprint": "x"}, "a": tensor}).encode()
    return struct.pack("<Q", len(text)) + text + b"\0" * 64


def parquet(rows: int) -> bytes:
    """So many rows without a text, which take next to no bytes."""
    file = io.BytesIO()
    frame = pl.select(text=pl.repeat(None, rows, dtype=pl.String), label=pl.repeat(1, rows, dtype=pl.UInt8))
    frame.write_parquet(file, compression="zstd", row_group_size=rows)
    return file.getvalue()


WEIGHTS = "run/weights.safetensors"
BOMBS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "zipped csv": ("csv", lambda: gzip.compress(b"text,label\n" + b"\n" * (64 << 20), 1)),
    "many columns": ("csv", lambda: b"c," * 100_000 + b"\n"),
    "deep jsonl": ("jsonl", lambda: b'{"text":' * 100_000),
    "deep json": ("run/run.json", lambda: b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    "a long number": ("run/run.json", lambda: b'{"fingerprint": "", "a": ' + b"9" * 100_000 + b"}"),
    "many rows": ("parquet", lambda: parquet(3_000_000)),
    "long tensors": (WEIGHTS, lambda: header("F32", 1 << 40, 64)),
    "tensors past the end": (WEIGHTS, lambda: header("U8", 1 << 40, 1 << 40)),
    "a long header": (WEIGHTS, lambda: struct.pack("<Q", 1 << 60) + b"{}"),
}


@pytest.fixture
def no_more_memory() -> Iterator[None]:
    """A gigabyte of address space more than now, and then no more."""
    if not Path("/proc/self/statm").exists():
        pytest.skip("needs Linux to say how much memory there is now")
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (1 << 30), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_file_that_claims_more_than_it_holds_takes_no_memory(bomb: str, scene: Path, no_more_memory: None) -> None:
    name, make = BOMBS[bomb]
    data, began = make(), time.monotonic()
    assert said_of(name, scene, data) and time.monotonic() - began < LONG


# --- and files that would rather be programs --------------------------------------------------------------------------


class Program:
    """What unpickling would run."""

    def __init__(self, mark: Path):
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


def test_no_pickle_is_read(scene: Path, tmp_path: Path) -> None:
    mark = tmp_path / "was here"
    pickled, array, zipped = pickle.dumps(Program(mark)), io.BytesIO(), io.BytesIO()
    np.save(array, np.array([Program(mark)], dtype=object), allow_pickle=True)
    torch.save(Program(mark), zipped)
    for name in TARGETS:
        for data in (pickled, array.getvalue(), zipped.getvalue()):
            said_of(name, scene, data)
    assert not mark.exists()
    pickle.loads(pickled)
    assert mark.exists(), "it would have"


def test_what_a_tar_holds_is_never_unpacked(tmp_path: Path) -> None:
    """Entries that point out of it are read as any other, links not at all, and no file appears."""
    names = ("train/pos/1_9.txt", "train/neg/1_1.txt", "../../train/pos/2_9.txt", f"{tmp_path}/train/neg/2.txt")
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for name in names:
            made = tarfile.TarInfo(name)
            made.size = 4
            tar.addfile(made, io.BytesIO(b"good" if "pos" in name else b"dull"))
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
            made = tarfile.TarInfo(f"train/pos/{kind.decode()}.txt")
            made.type, made.linkname = kind, "/etc/passwd"
            tar.addfile(made)
    corpus = prepare(tmp_path / "a.tar", tmp_path / "corpus", test=0, validation=0, min_count=1)
    assert len(corpus.train) == 4 and set(corpus.vocab.words) == {"<unk>", "good", "dull"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar", "corpus"]
