"""Files that others made: nothing in them is run, no archive is unpacked, and what claims too much is refused."""

from __future__ import annotations

import io
import json
import pickle
import shutil
import struct
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import rnnlens
from rnnlens import Network, RnnlensError, TrainConfig, load_corpus, toy_corpus, train
from rnnlens.baselines import BagOfWords
from rnnlens.corpora import prepare


class Program:
    """What unpickling would run."""

    def __init__(self, mark: Path):
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, a run and a baseline."""
    folder = tmp_path_factory.mktemp("folders")
    texts, labels = ["a good film", "a bad film"] * 20, [1, 0] * 20
    (folder / "reviews.csv").write_text("text,label\n" + "\n".join(map("{},{}".format, texts, labels)) + "\n")
    prepare(folder / "reviews.csv", folder / "corpus", min_count=1)
    corpus = toy_corpus(train=64, validation=16)
    train(Network(corpus.vocab, hidden=4, embedding=2), corpus, TrainConfig(epochs=1), folder / "run", progress=False)
    BagOfWords(min_count=1, epochs=1).fit(texts, labels).save(folder / "model")
    return folder


LOADERS = {
    "run/weights.safetensors": lambda folder: rnnlens.load(folder / "run").network,
    "run/run.json": lambda folder: rnnlens.load(folder / "run").about,
    "corpus/train.ids.npy": lambda folder: load_corpus(folder / "corpus").train.document(0),
    "corpus/corpus.json": lambda folder: load_corpus(folder / "corpus"),
    "model/weights.safetensors": lambda folder: BagOfWords.load(folder / "model"),
}


@pytest.mark.parametrize("name", LOADERS)
def test_nothing_in_a_folder_is_run(name: str, folders: Path, tmp_path: Path) -> None:
    shutil.copytree(folders, tmp_path / "copy")
    assert (tmp_path / "copy" / name).is_file()
    mark = tmp_path / "was here"
    array, zipped = io.BytesIO(), io.BytesIO()
    np.save(array, np.array([Program(mark)], dtype=object), allow_pickle=True)
    torch.save(Program(mark), zipped)
    for data in (pickle.dumps(Program(mark)), array.getvalue(), zipped.getvalue()):
        (tmp_path / "copy" / name).write_bytes(data)
        with pytest.raises(RnnlensError):
            LOADERS[name](tmp_path / "copy")
    assert not mark.exists()
    pickle.loads(pickle.dumps(Program(mark)))
    assert mark.exists(), "it would have"


def test_an_archive_is_read_and_never_unpacked(tmp_path: Path) -> None:
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


def test_a_file_that_claims_more_than_it_holds_is_refused(folders: Path, tmp_path: Path) -> None:
    shutil.copytree(folders, tmp_path / "copy")
    about = {"__metadata__": {"about": "{}"}, "a": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 64]}}
    head = json.dumps(about).encode()
    (tmp_path / "copy/run/weights.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + b"\0" * 64)
    with pytest.raises(RnnlensError, match="not a complete safetensors file"):
        LOADERS["run/weights.safetensors"](tmp_path / "copy")
