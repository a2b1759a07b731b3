"""Arrays of ids → the files of a prepared corpus. Needs only NumPy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rnnlens.common import files
from rnnlens.corpora.corpus import classes_of
from rnnlens.corpora.reading import corpus_files, read_split
from rnnlens.corpora.splits import content_fingerprint
from rnnlens.corpora.vocab import Vocab


def write_npy(path: Path, dtype: np.dtype, size: int, blocks: Iterable[np.ndarray]) -> None:
    """Write an array (size,) block by block. On a full disk `np.save` would fail without giving the reason."""
    about = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (size,)}
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, about)
        for block in blocks:
            file.write(np.ascontiguousarray(block).data)


def write_about(folder: Path, vocab: Vocab, parts: list[str], about: Mapping[str, Any]) -> None:
    """Write corpus.json, which has the fingerprints of the other files."""
    classes = classes_of(about["about"])
    splits = {part: read_split(folder, part, len(vocab), about["about"]) for part in parts}
    content = {
        "kind": "corpus",
        "schema": files.SCHEMA,
        **about,
        "corpus": content_fingerprint(vocab, splits, classes),
        "sizes": {part: {"reviews": len(split), "words": len(split.ids)} for part, split in splits.items()},
        "files": {name: files.file_fingerprint(folder / name) for name in corpus_files(parts, about["about"])},
    }
    files.write_json(folder / "corpus.json", content)
