"""Every loader, given bytes that nobody wrote for it: whatever they are, it takes them, or refuses in one line.

`studies.fuzz` lets atheris make the bytes, `tests/test_fuzz.py` hypothesis. Files of rnnlens carry fingerprints, which
stop all but a forger: those of `SEALED` targets are made to fit.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import torch

import rnnlens
import rnnlens.runs
import rnnlens.training.loop
from rnnlens.baselines import ModifierConvolution
from rnnlens.common.errors import RnnlensError
from rnnlens.common.files import (
    _line_fingerprint,
    _tensor_fingerprint,
    fingerprint,
    read_json,
    read_lines,
    read_tensors,
    write_json,
)
from rnnlens.corpora import Corpus, load_corpus, prepare, split_words
from rnnlens.corpora.sources import open_source
from rnnlens.experiments.choosing import write_settings
from rnnlens.experiments.info import describe
from rnnlens.experiments.modifier_words import read_modifiers
from rnnlens.training.checkpoint import Counters, read_checkpoint, write_checkpoint
from rnnlens.training.settings import read_settings

Target = Callable[[Path, bytes], object]


def refused(target: Target, scene: Path, data: bytes) -> str | None:
    """What a loader says to some bytes; None if it takes them. Anything else than one line is an exception."""
    try:
        target(scene, data)
    except RnnlensError as error:
        said = str(error)
        if "\n" in said or len(said) > 1000:
            raise AssertionError(f"not one line: {said[:2000]!r}") from error
        return said
    return None


# --- a scene ----------------------------------------------------------------------------------------------------------

TEXTS = ["good film", 'a "bad", bad\nfilm', "not bad at all", "dull é", "", "very good", "awful", "fine <br /> film"]
LABELS = [1, 0, 1, 0, 0, 1, 0, 1]
FRAME = pl.DataFrame({"text": TEXTS * 4, "label": LABELS * 4})


def make_scene(scene: Path) -> None:
    """A corpus, an analyzed run of it, a baseline and settings, each as small as it can be; and a place for files."""
    (scene / "files").mkdir(parents=True)
    corpus = Corpus.from_texts(TEXTS * 4, LABELS * 4, validation=0.25)
    FRAME.write_parquet(scene / "files" / "reviews.parquet")
    prepare(scene / "files" / "reviews.parquet", scene / "corpus", min_count=1)
    network = rnnlens.Network(corpus.vocab, hidden=3, embedding=2)
    rnnlens.train(network, corpus, rnnlens.TrainConfig(epochs=1), scene / "run", progress=False, snapshots=3)
    rnnlens.analyze(rnnlens.load(scene / "run")).save()
    optimiser = _optimiser(network)
    optimiser.step()
    write_checkpoint(scene / "run", Counters(), network, optimiser, None, None, "run")
    ModifierConvolution(modifiers=["not", "very"], min_count=1, epochs=1).fit(TEXTS, LABELS).save(scene / "baseline")
    for file in ("run/run.json", "baseline/baseline.json"):  # schema 1: changed files are read beyond their names
        write_json(scene / file, {**read_json(scene / file), "schema": 1})
    row = {"model": "bow", "parameters": {"l2": 0.1}, "accuracy": 0.5, "loss": 1.0, "trial": 0, "seed": 0, "reviews": 9}
    write_settings(scene / "settings.json", [row], "corpus", 9)


def _optimiser(network: rnnlens.Network) -> torch.optim.Optimizer:
    optimiser = torch.optim.AdamW(network.parameters(), fused=True)
    for parameter in network.parameters():
        parameter.grad = torch.zeros_like(parameter)
    return optimiser


# --- sources of reviews -----------------------------------------------------------------------------------------------


def source(name: str) -> Target:
    def target(scene: Path, data: bytes) -> None:
        path = scene / "files" / name
        path.write_bytes(data)
        opened = open_source(path)
        rows = sum(len(texts) for _, texts in opened.read())
        assert rows == sum(map(len, opened.labels.values()))

    return target


def folder_of_reviews(scene: Path, data: bytes) -> None:
    """A train file that is whole, and a test file that need not be; the first byte says of which kind."""
    kind = ("csv", "tsv", "jsonl", "parquet")[data[0] % 4 if data else 0]
    folder = scene / "files" / "folder"
    folder.mkdir(exist_ok=True)
    (folder / "train.csv").write_text(FRAME.write_csv())
    with replaced(folder / f"test.{kind}", data[1:]):
        for _ in open_source(folder).read():
            pass


def packed_tar(scene: Path, data: bytes) -> None:
    source("a.tar.gz")(scene, gzip.compress(data, 1, mtime=0))


def word_list(name: str) -> Target:
    def target(scene: Path, data: bytes) -> None:
        (scene / "files" / name).write_bytes(data)
        assert all(isinstance(word, str) for word in read_modifiers(scene / "files" / name))

    return target


def text(scene: Path, data: bytes) -> None:
    words = split_words(data.decode("utf-8", "surrogateescape"))
    assert all(words)


# --- files of rnnlens -------------------------------------------------------------------------------------------------


@contextmanager
def replaced(path: Path, data: bytes) -> Iterator[None]:
    """A file's content for as long as the block lasts."""
    before = path.read_bytes() if path.exists() else None
    path.write_bytes(data)
    try:
        yield
    finally:
        path.unlink() if before is None else path.write_bytes(before)


def of_rnnlens(name: str, read: Callable[[Path], object], seal: Callable[[bytes], bytes] | None = None) -> Target:
    def target(scene: Path, data: bytes) -> None:
        with replaced(scene / name, seal(data) if seal else data):
            read(scene)

    return target


def open_run(scene: Path) -> None:
    run = rnnlens.load(scene / "run")
    describe(scene / "run")
    run.without_subspace()
    _ = run.config, run.history, repr(run)
    run.network.read("not a good film")


def open_snapshot(scene: Path) -> None:
    rnnlens.load(scene / "run").at(0)


def go_on(scene: Path) -> None:
    network = rnnlens.Network(rnnlens.load(scene / "run").vocab, hidden=3, embedding=2)
    read_checkpoint(scene / "run", network, _optimiser(network), None, "run")


def seal_json(data: bytes) -> bytes:
    """JSON with the fingerprint that its content has; what is no object stays as it is."""
    try:
        content = json.loads(data)
        content.pop("fingerprint", None)
        return json.dumps({**content, "fingerprint": fingerprint(content)}).encode()
    except (ValueError, TypeError, AttributeError, RecursionError):
        return data


def seal_lines(data: bytes) -> bytes:
    """Lines of JSON, each with the fingerprint that its content has; what is no object stays as it is."""
    return b"\n".join(map(_sealed_line, data.split(b"\n")))


def _sealed_line(line: bytes) -> bytes:
    try:
        content = json.loads(line)
        content.pop("fingerprint", None)
        return json.dumps({**content, "fingerprint": _line_fingerprint(content)}).encode()
    except (ValueError, TypeError, AttributeError, RecursionError):
        return line


def seal_tensors(data: bytes) -> bytes:
    """Safetensors with the fingerprint that their content has; what is none stays as it is."""
    from safetensors.numpy import load, save

    try:
        arrays = load(data)
        about = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")]).get("__metadata__", {}).get("about", "{}")
        return save(arrays, metadata={"about": about, "fingerprint": _tensor_fingerprint(arrays, about)})
    except Exception:
        return data


def array_of_corpus(name: str) -> Target:
    def target(scene: Path, data: bytes) -> None:
        about = read_json(scene / "corpus" / "corpus.json")
        with replaced(scene / "corpus" / name, data):
            about["files"][name] = rnnlens.common.files.file_fingerprint(scene / "corpus" / name)
            with replaced(scene / "corpus" / "corpus.json", seal_json(json.dumps(about).encode())):
                open_corpus(scene)

    return target


def open_corpus(scene: Path) -> None:
    corpus = load_corpus(scene / "corpus")
    describe(scene / "corpus")
    for split in corpus.splits.values():
        split.batch(range(len(split)))


def use_baseline(scene: Path) -> None:
    ModifierConvolution.load(scene / "baseline").predict(["not a good film"])


TARGETS: dict[str, Target] = {
    **{f"source.{kind}": source(f"a.{kind}") for kind in ("csv", "tsv", "jsonl", "parquet", "tar")},
    "source.tar.gz": packed_tar,
    "source.folder": folder_of_reviews,
    "words.json": word_list("words.json"),
    "words.txt": word_list("words.txt"),
    "text": text,
    "json": of_rnnlens("files/a.json", lambda scene: read_json(scene / "files/a.json"), seal_json),
    "jsonl": of_rnnlens("files/b.jsonl", lambda scene: read_lines(scene / "files/b.jsonl")),
    "safetensors": of_rnnlens("files/a.safetensors", lambda scene: read_tensors(scene / "files/a.safetensors")),
    **{name: of_rnnlens(name, open_run, seal_json) for name in ("run/run.json", "run/vocab.json", "run/results.json")},
    **{name: of_rnnlens(name, open_run, seal_tensors)
       for name in ("run/weights.safetensors", "run/analysis.safetensors")},
    "run/history.jsonl": of_rnnlens("run/history.jsonl", open_run),
    "run/snapshots/0.safetensors": of_rnnlens("run/snapshots/0.safetensors", open_snapshot, seal_tensors),
    "run/checkpoint": of_rnnlens("run/checkpoint/last.safetensors", go_on, seal_tensors),
    **{name: of_rnnlens(name, open_corpus, seal_json) for name in ("corpus/corpus.json",)},
    **{f"corpus/{part}": array_of_corpus(part)
       for part in ("vocab.json", "train.ids.npy", "train.offsets.npy", "train.labels.npy")},
    "baseline/baseline.json": of_rnnlens("baseline/baseline.json", use_baseline, seal_json),
    "baseline/weights": of_rnnlens("baseline/weights.safetensors", use_baseline, seal_tensors),
    "settings.json": of_rnnlens("settings.json", lambda at: read_settings(at / "settings.json", "bow"), seal_json),
}  # fmt: skip


def genuine(name: str, scene: Path) -> bytes:
    """What a loader is meant for."""
    kind = name.removeprefix("source.")
    buffer = io.BytesIO()
    if kind in ("csv", "tsv"):
        return FRAME.write_csv(separator="\t" if kind == "tsv" else ",").encode()
    if kind == "jsonl" and name != "jsonl":
        return FRAME.write_ndjson().encode()
    if kind == "parquet":
        FRAME.head(8).write_parquet(buffer, compression="uncompressed")
    elif kind in ("tar", "tar.gz"):
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            for i, (content, label) in enumerate(zip(TEXTS, LABELS, strict=True)):
                entry = tarfile.TarInfo(f"aclImdb/train/{('neg', 'pos')[label]}/{i}_7.txt")
                entry.size = len(content.encode())
                tar.addfile(entry, io.BytesIO(content.encode()))
    elif kind == "folder":
        return b"\0" + FRAME.write_csv().encode()
    elif kind in ("words.json", "words.txt", "text"):
        return json.dumps(["not", "very"]).encode()
    else:
        files = {
            "json": "run/run.json",
            "jsonl": "run/history.jsonl",
            "safetensors": "run/weights.safetensors",
            "run/checkpoint": "run/checkpoint/last.safetensors",
            "baseline/weights": "baseline/weights.safetensors",
        }
        return (scene / files.get(name, name)).read_bytes()
    return buffer.getvalue()
