"""Codes → ids: once every text has been seen, documents are dealt to splits, words counted, and codes looked up.

`index_texts` is the whole way from texts to what `prepare` writes and `Corpus.from_texts` holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from rnnlens.corpora.corpus import PARTS
from rnnlens.corpora.encoding import Codes, Dictionary, spool_texts
from rnnlens.corpora.options import PrepareConfig
from rnnlens.corpora.overlap import overlapping
from rnnlens.corpora.vocab import PAD_WORD, UNK, Vocab
from rnnlens.errors import RnnlensError

BLOCK_WORDS = 1 << 22  # codes turned into ids in one go

Place = tuple[int, str, np.ndarray]  # of a chunk of texts: the number of its source, its split, the label of each


@dataclass
class Spool:
    """Codes of documents as they arrive: on disk if it has a path, else in memory."""

    path: Path | None = None
    _codes: list[np.ndarray] = field(default_factory=list)
    _lengths: list[np.ndarray] = field(default_factory=list)
    _labels: list[np.ndarray] = field(default_factory=list)

    def append(self, codes: np.ndarray, lengths: np.ndarray, labels: np.ndarray) -> None:
        """Add documents: their codes end to end, lengths (n,), labels (n,)."""
        if self.path is None:
            self._codes.append(codes)
        else:
            with open(self.path, "ab") as file:
                file.write(np.ascontiguousarray(codes).data)  # tofile does not say why it fails
        self._lengths.append(lengths)
        self._labels.append(labels)

    @property
    def lengths(self) -> np.ndarray:
        """(n,) int64."""
        return np.concatenate([np.zeros(0, dtype=np.int64), *self._lengths])

    @property
    def labels(self) -> np.ndarray:
        """(n,) uint8."""
        return np.concatenate([np.zeros(0, dtype=np.uint8), *self._labels])

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Runs of whole documents and their codes, about BLOCK_WORDS words at a time."""
        offsets = np.concatenate([[0], np.cumsum(self.lengths)])
        whole = None if self.path else np.concatenate([np.zeros(0, dtype=np.uint32), *self._codes])
        start = 0
        while start < len(offsets) - 1:
            stop = max(start + 1, int(np.searchsorted(offsets, offsets[start] + BLOCK_WORDS, side="right")) - 1)
            words = slice(int(offsets[start]), int(offsets[stop]))
            if whole is not None:
                codes = whole[words]
            else:
                codes = np.fromfile(self.path, np.uint32, words.stop - words.start, offset=4 * words.start)  # type: ignore[arg-type]
            yield slice(start, stop), codes
            start = stop

    def close(self) -> None:
        """Forget the codes."""
        self._codes.clear()
        if self.path is not None:
            self.path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Indexed:
    """Every document read: the words, the table code → id; each final split as the number of a source, a spool and a
    mask (n,) of it, source by source; how many documents of each source had no words, and how many of its training
    documents overlapped with held-out ones: both are left out."""

    vocab: Vocab
    table: np.ndarray
    parts: Mapping[str, list[tuple[int, Spool, np.ndarray]]]
    wordless: list[int]
    overlaps: list[int]


def index_texts(
    sources: Sequence[Mapping[str, Spool]],
    chunks: Iterable[tuple[Place, pl.Series]],
    config: PrepareConfig,
    rng: np.random.Generator,
) -> Indexed:
    """Split chunks of texts into the spools of each source, deal the documents of each to the final splits, and count
    the words of train. Of several sources, training documents that overlap with held-out ones are left out."""
    dictionary, wordless, overlaps = Dictionary(), [0] * len(sources), [0] * len(sources)

    def spool(place: Place, chunk: Codes) -> None:
        number, split, labels = place
        codes, lengths = _last_words(chunk.codes, chunk.lengths, config.max_words)
        kept = lengths > 0
        wordless[number] += int(np.count_nonzero(~kept))
        sources[number][split].append(codes, lengths[kept], labels[kept])

    spool_texts(dictionary, chunks, spool)
    shares = {"test": config.test, "validation": config.validation}
    dealt = [deal(spools, shares, rng, config.neighbours) for spools in sources]
    parts = {
        part: [(number, *found[part]) for number, found in enumerate(dealt) if part in found]
        for part in PARTS
        if any(part in found for found in dealt)
    }
    if len(sources) > 1:
        held_out = [place[1:] for part in PARTS[1:] for place in parts.get(part, ())]
        train = parts["train"]
        masks = overlapping([place[1:] for place in train], held_out)
        overlaps = [int((chosen & mask).sum()) for (_, _, chosen), mask in zip(train, masks, strict=True)]
        parts["train"] = [(*place[:2], place[2] & ~mask) for place, mask in zip(train, masks, strict=True)]
    counts = np.sum([count_words(*place[1:], dictionary.size) for place in parts["train"]], axis=0)
    found = build_vocab(dictionary.words(), counts, config.vocab_size, config.min_count)
    return Indexed(*found, parts, wordless, overlaps)


def _last_words(codes: np.ndarray, lengths: np.ndarray, most: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Documents end to end, each cut to its last `most` words."""
    if most is None or lengths.max(initial=0) <= most:
        return codes, lengths
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(codes))  # words from here to the document's end
    return codes[left <= most], np.minimum(lengths, most)


def stratified(labels: np.ndarray, fraction: float, rng: np.random.Generator, run: int = 1) -> np.ndarray:
    """A mask (n,) of `fraction` of the documents, chosen by `rng` in runs of neighbours, the same fraction of each
    class."""
    chosen = np.zeros(len(labels), dtype=bool)
    for label in (0, 1):
        members = np.flatnonzero(labels == label)
        run = max(1, min(run, len(members)))  # a longer run is the whole class
        first = run * rng.permutation(-(-len(members) // run))  # of each run, in random order
        order = (first[:, None] + np.arange(run)).ravel()
        chosen[members[order[order < len(members)][: round(fraction * len(members))]]] = True
    return chosen


def count_words(spool: Spool, chosen: np.ndarray, size: int) -> np.ndarray:
    """How often each code occurs in the chosen documents, (size,) int64."""
    counts = np.zeros(size, dtype=np.int64)
    lengths = spool.lengths
    for documents, codes in spool.blocks():
        counts += np.bincount(codes[np.repeat(chosen[documents], lengths[documents])], minlength=size)
    return counts


def build_vocab(words: pl.DataFrame, counts: np.ndarray, vocab_size: int, min_count: int) -> tuple[Vocab, np.ndarray]:
    """The `vocab_size` − 1 most frequent words after `<unk>`, ties in alphabetical order; and the table code → id.

    A literal `<pad>` is no word: it is how no input is written in a sentence. In a review it reads as `<unk>`.
    """
    frequent = (
        words.with_columns(count=pl.Series(counts[words["code"].to_numpy()]))
        .filter((pl.col("count") >= max(1, min_count)) & ~pl.col("word").is_in([UNK, PAD_WORD]))
        .sort("count", "word", descending=[True, False])
        .head(vocab_size - 1)
    )
    known = frequent["count"].to_numpy()
    table = np.zeros(len(counts), dtype=np.uint16 if len(frequent) < 1 << 16 else np.uint32)
    table[frequent["code"].to_numpy()] = np.arange(1, len(frequent) + 1)
    return Vocab([UNK, *frequent["word"].to_list()], np.concatenate([[counts.sum() - known.sum()], known])), table


def deal(
    spools: Mapping[str, Spool], shares: Mapping[str, float], rng: np.random.Generator, run: int = 1
) -> dict[str, tuple[Spool, np.ndarray]]:
    """The final splits, each as a spool and a mask (n,) of its documents.

    `shares` says what part of train each split that the source lacks takes out of it, class by class, in runs of
    so many neighbours.
    """
    parts = {split: (spool, np.ones(len(spool.labels), dtype=bool)) for split, spool in spools.items()}
    spool, train = parts["train"]
    for part in [part for part, share in shares.items() if part not in parts and share > 0]:
        members = np.flatnonzero(train)
        held_out = members[stratified(spool.labels[members], shares[part], rng, run)]
        if len(held_out):
            mask = np.zeros_like(train)
            mask[held_out] = True
            train[held_out] = False
            parts[part] = (spool, mask)
    for split, (held, _) in parts.items():
        if not len(held.labels):
            raise RnnlensError(
                f"no review of the {split} split has words: expected reviews with words, or no such split"
            )
    for code, name in enumerate(("negative", "positive")):
        if not np.any(spool.labels[train] == code):
            raise RnnlensError(f"no {name} review is left to train on: expected reviews of both classes, with words")
    return {part: parts[part] for part in PARTS if part in parts}
