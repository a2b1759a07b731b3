"""Codes → ids: once all texts are split into words, documents are divided into splits, words counted, and ids assigned.

`index_texts` does all steps from texts to what `prepare` writes and `Corpus.from_texts` returns.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from rnnlens.common.errors import RnnlensError, RnnlensWarning, quoted
from rnnlens.corpora.encoding import Codes, Dictionary, spool_texts
from rnnlens.corpora.options import PrepareConfig
from rnnlens.corpora.overlap import overlapping
from rnnlens.corpora.splits import NEUTRAL, PARTS
from rnnlens.corpora.spool import Spool
from rnnlens.corpora.vocab import PAD_WORD, UNK, Vocab

OVERLAP = "overlap with validation or test"  # why a training document is left out
HELD_OVERLAP = "overlap of validation with test"  # why a validation document is left out
HELD_GROUP = "of a group in validation or test"  # why a training document is left out, or a validation document
HELD_NEUTRAL = "neutral, in validation or test"  # why a held-out document is left out
LONGEST = 500  # characters of a word in a vocabulary
UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}]{5}|[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]{12}"  # in hardly any word
MOST_UNSPACED = 0.1  # share of such words in texts with spaces between words
Place = tuple[int, str, np.ndarray]  # of a chunk of texts: the number of its source, its split, `rows_of` (n,)


@dataclass(frozen=True)
class Indexed:
    """All documents, indexed.

    vocab    the words
    table    (codes,)  the id of each code
    parts    final split → for each source its number, a spool, and a mask (n,) of the documents in the spool
    dropped  for each source: reason → how many documents were left out
    """

    vocab: Vocab
    table: np.ndarray
    parts: Mapping[str, list[tuple[int, Spool, np.ndarray]]]
    dropped: list[dict[str, int]]


def index_texts(
    sources: Sequence[Mapping[str, Spool]],
    chunks: Iterable[tuple[Place, pl.Series]],
    config: PrepareConfig,
    rng: np.random.Generator,
    names: Sequence[str] = (),
    classes: Sequence[str] = (),
) -> Indexed:
    """Split chunks of texts into words, in the spools of each source; divide the documents into the final splits; count
    the words of train. With several sources, which have `names`, overlapping documents are left out. classes: their
    names, if there are three or more."""
    dictionary, dropped = Dictionary(), [{"no words": 0} for _ in sources]

    def spool(place: Place, chunk: Codes) -> None:
        number, split, rows = place
        codes, lengths = _last_words(chunk.codes, chunk.lengths, config.max_words)
        kept = lengths > 0
        dropped[number]["no words"] += int(np.count_nonzero(~kept))
        sources[number][split].append(codes, lengths[kept], rows[kept])

    spool_texts(dictionary, chunks, spool)
    shares = {"test": config.test, "validation": config.validation}
    of_source = [f" of {quoted(name, 200)}" for name in names] or [""]
    check_words(sources, of_source)
    if config.group is not None:
        by_source = grouped_splits(sources, shares, rng, dropped)
    else:
        by_source = [ungrouped_splits(spools, shares, rng, classes) for spools in sources]
    for splits, reasons in zip(by_source, dropped, strict=True):
        drop_neutral(splits, reasons)
    for splits, of in zip(by_source, of_source, strict=True):
        check_train(*splits["train"], of, classes)
    parts = {
        part: [(number, *splits[part]) for number, splits in enumerate(by_source) if part in splits]
        for part in PARTS
        if any(part in splits for splits in by_source)
    }
    for part, places in parts.items():
        if not any(chosen.any() for _, _, chosen in places):
            raise RnnlensError(
                f"no review of the {part} split is left: expected some that are negative or positive, and of no group "
                "in test"
            )
    if len(sources) > 1:
        drop_overlaps(parts, dropped)
        for (_, spool_, chosen), of, reasons in zip(parts["train"], of_source, dropped, strict=True):
            why = f"{reasons[OVERLAP]:,} overlap with validation or test reviews"
            if not classes:
                _check_all_classes(spool_.labels[chosen], of, why, ())
        if classes:
            left = np.concatenate([spool_.labels[chosen] for _, spool_, chosen in parts["train"]])
            _check_all_classes(left, "", "the others overlap with validation or test texts", classes)
    counts = np.sum([count_words(*place[1:], dictionary.size) for place in parts["train"]], axis=0)
    words = dictionary.words()
    warn_unspaced(words, counts)
    vocab, table = build_vocab(words, counts, config.vocab_size, config.min_count)
    return Indexed(vocab, table, parts, dropped)


def drop_overlaps(parts: dict[str, list[tuple[int, Spool, np.ndarray]]], dropped: Sequence[dict[str, int]]) -> None:
    """Leave out the training documents that overlap with validation or test documents of any source, and the validation
    documents that overlap with test documents, since `Corpus.refit` trains on them. Count both in `dropped`."""
    for part, others, reason in (("train", ("validation", "test"), OVERLAP), ("validation", ("test",), HELD_OVERLAP)):
        for counts in dropped:
            counts[reason] = 0
        places, held_out = parts.get(part, []), [place[1:] for other in others for place in parts.get(other, ())]
        masks = overlapping([place[1:] for place in places], held_out)
        parts[part] = [(*place[:2], place[2] & ~mask) for place, mask in zip(places, masks, strict=True)]
        for (number, _, chosen), mask in zip(places, masks, strict=True):
            dropped[number][reason] = int((chosen & mask).sum())
    if not any(chosen.any() for _, _, chosen in parts["validation"]):
        del parts["validation"]


def _last_words(codes: np.ndarray, lengths: np.ndarray, most: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Codes and lengths of documents, each cut to its last `most` words."""
    if most is None or lengths.max(initial=0) <= most:
        return codes, lengths
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(codes))  # words from here to the document's end
    return codes[left <= most], np.minimum(lengths, most)


def stratified(labels: np.ndarray, fraction: float, rng: np.random.Generator, classes: int = 2) -> np.ndarray:
    """A mask (n,) of `fraction` of the documents, chosen by `rng`, the same fraction of each class."""
    chosen = np.zeros(len(labels), dtype=bool)
    for label in range(classes):
        members = np.flatnonzero(labels == label)
        order = rng.permutation(len(members))
        chosen[members[order[: round(fraction * len(members))]]] = True
    return chosen


def count_words(spool: Spool, chosen: np.ndarray, size: int) -> np.ndarray:
    """How often each code occurs in the chosen documents, (size,) int64."""
    counts = np.zeros(size, dtype=np.int64)
    lengths = spool.lengths
    for documents, codes in spool.blocks():
        counts += np.bincount(codes[np.repeat(chosen[documents], lengths[documents])], minlength=size)
    return counts


def warn_unspaced(words: pl.DataFrame, counts: np.ndarray) -> None:
    """Warn of texts in Chinese, Japanese, Thai, Lao, Khmer or Burmese whose words have no spaces between them: whole
    clauses would be words, nearly all of them unknown."""
    counted = words.with_columns(count=pl.Series(counts[words["code"].to_numpy()]))
    long = counted.filter((pl.col("count") > 0) & pl.col("word").str.contains(UNSPACED))
    if len(long) and long["count"].sum() >= MOST_UNSPACED * counts.sum():
        example = long.sort("count", "word", descending=[True, False])["word"][0]
        message = (
            f"the texts have no spaces between words: {quoted(example, 40)} is one word, and a network learns nothing "
            "from words that hardly ever occur again; put spaces between the words with a segmenter for the language, "
            "and prepare the corpus again"
        )
        warnings.warn(RnnlensWarning(message), stacklevel=3)


def build_vocab(words: pl.DataFrame, counts: np.ndarray, vocab_size: int, min_count: int) -> tuple[Vocab, np.ndarray]:
    """The `vocab_size` − 1 most frequent words after `<unk>`, ties in alphabetical order; and the table code → id.

    A literal `<pad>` is not a word: it stands for a blank input. In a review it becomes `<unk>`, and so does a word of
    more than `LONGEST` characters, such as a file that was pasted into a review: a page would show it many times.
    """
    frequent = (
        words.with_columns(count=pl.Series(counts[words["code"].to_numpy()]))
        .filter((pl.col("count") >= max(1, min_count)) & ~pl.col("word").is_in([UNK, PAD_WORD]))
        .filter(pl.col("word").str.len_chars() <= LONGEST)
        .sort("count", "word", descending=[True, False])
        .head(vocab_size - 1)
    )
    known = frequent["count"].to_numpy()
    table = np.zeros(len(counts), dtype=np.uint16 if len(frequent) < 1 << 16 else np.uint32)
    table[frequent["code"].to_numpy()] = np.arange(1, len(frequent) + 1)
    return Vocab([UNK, *frequent["word"].to_list()], np.concatenate([[counts.sum() - known.sum()], known])), table


Splits = dict[str, tuple[Spool, np.ndarray]]  # final split → a spool, and a mask (n,) of its documents


def ungrouped_splits(
    spools: Mapping[str, Spool],
    shares: Mapping[str, float],
    rng: np.random.Generator,
    classes: Sequence[str] = (),
) -> Splits:
    """The final splits of a source.

    shares: for each split that the source lacks, the share of train that becomes it, the same of each class. classes:
    their names, if there are three or more.
    """
    parts = {split: (spool, np.ones(len(spool.labels), dtype=bool)) for split, spool in spools.items()}
    spool, train = parts["train"]
    for part in [part for part, share in shares.items() if part not in parts and share > 0]:
        members = np.flatnonzero(train)
        held_out = members[stratified(spool.labels[members], shares[part], rng, len(classes) or 2)]
        if len(held_out):
            mask = np.zeros_like(train)
            mask[held_out] = True
            train[held_out] = False
            parts[part] = (spool, mask)
    return {part: parts[part] for part in PARTS if part in parts}


def grouped_splits(
    sources: Sequence[Mapping[str, Spool]],
    shares: Mapping[str, float],
    rng: np.random.Generator,
    dropped: Sequence[dict[str, int]],
) -> list[Splits]:
    """The final splits of all sources, where each group of documents is in one split, whatever its source.

    A group of which a source's own test or validation split has a part belongs there. Of the others, random groups are
    drawn for each split that a source lacks, until they have its share; larger ones than that stay in train. Documents
    of train whose group belongs to a source's own split are left out, and so are those of its own validation split
    whose group belongs to test."""
    home: dict[int, str] = {}
    for part in ("test", "validation"):
        for spools in sources:
            if part in spools:
                home.update((int(group), part) for group in spools[part].groups if int(group) not in home)
    for spools in sources:
        decided = spools["train"].groups[~neutral_in(spools["train"])]
        names, first, sizes = np.unique(decided, return_index=True, return_counts=True)
        names, sizes = names[np.argsort(first)], sizes[np.argsort(first)]  # as they come, whatever their numbers are
        for part in [part for part, share in shares.items() if part not in spools and share > 0]:
            homes = _homes(names, home, "")
            wanted = round(shares[part] * sizes[np.isin(homes, ["", part])].sum()) - sizes[homes == part].sum()
            free = rng.permutation(np.flatnonzero(homes == ""))
            free = free[sizes[free] <= wanted]
            drawn = free[np.cumsum(sizes[free]) <= wanted]
            if wanted > 0 and not len(drawn) and part not in homes:
                message = (
                    f"no reviews are held out for {part}: every group (--group) has more than {wanted:,}, its share; "
                    f"raise {part} (--{part}), or give reviews of more groups"
                )
                warnings.warn(RnnlensWarning(message), stacklevel=3)
            home.update((int(group), part) for group in names[drawn])
    found = []
    for spools, reasons in zip(sources, dropped, strict=True):
        belong = {split: _homes(spool.groups, home, "train") for split, spool in spools.items()}
        splits = {split: (spool, belong[split] == split) for split, spool in spools.items()}
        for part in [part for part in PARTS if part not in splits and part in belong["train"]]:
            splits[part] = (spools["train"], belong["train"] == part)
        kept = sum(int(np.count_nonzero(chosen)) for _, chosen in splits.values())
        reasons[HELD_GROUP] = sum(len(spool.labels) for spool in spools.values()) - kept
        found.append({part: splits[part] for part in PARTS if part in splits})
    return found


def _homes(groups: np.ndarray, home: Mapping[int, str], free: str) -> np.ndarray:
    """The split that each of the groups (n,) belongs to, `free` if none yet."""
    return np.array([home.get(int(group), free) for group in groups], dtype=str)


def neutral_in(spool: Spool) -> np.ndarray:
    """A mask (n,) of the neutral documents of a graded source; of another source none is."""
    return (spool.labels == NEUTRAL) & (spool.grades is not None)


def drop_neutral(splits: Splits, reasons: dict[str, int]) -> None:
    """Leave neutral documents of graded sources out of validation and test, in place, and count them."""
    for part, (spool, chosen) in splits.items():
        if part != "train" and spool.grades is not None:
            neutral = neutral_in(spool)
            reasons[HELD_NEUTRAL] = reasons.get(HELD_NEUTRAL, 0) + int(np.count_nonzero(chosen & neutral))
            splits[part] = (spool, chosen & ~neutral)


def check_words(sources: Sequence[Mapping[str, Spool]], of_source: Sequence[str]) -> None:
    """Refuse splits without documents. of_source: the sources, for errors."""
    for spools, of in zip(sources, of_source, strict=True):
        for split, spool in spools.items():
            if not len(spool.labels):
                raise RnnlensError(
                    f"no review of the {split} split{of} has words: expected reviews with words, or no such split"
                )


def check_train(spool: Spool, train: np.ndarray, of: str, classes: Sequence[str]) -> None:
    """Refuse training documents of one class. of: the source, for errors."""
    wanted = "expected some of each class, with words" if classes else "expected reviews of both classes, with words"
    if not (classes and of):  # of several sources, each may lack some of the classes
        _check_all_classes(spool.labels[train], of, wanted, classes)


def _check_all_classes(labels: np.ndarray, of: str, why: str, classes: Sequence[str]) -> None:
    for code, name in enumerate(classes or ("negative", "positive")):
        if not np.any(labels == code):
            what = f"text of class {quoted(name)}" if classes else f"{name} review{of}"
            raise RnnlensError(f"no {what} is left to train on: {why}")
