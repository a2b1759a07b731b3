"""How fast `prepare` is, against a plain Python pass over the same texts. (How much memory it takes: `scale`.)"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.reviews import zipf
from benchmarks.table import Row
from benchmarks.timing import side_by_side
from rnnlens.corpora.prepared import prepare
from rnnlens.corpora.words import WORD, split_words


def rows(imdb: Path | None) -> Iterator[Row]:
    """All of `prepare` against a plain Python pass over the same files."""
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        if imdb is None:
            source, what = place / "generated", "prepare, 50,000 generated reviews"
            source.mkdir()
            for seed, split in enumerate(("train", "test")):
                generate(source / f"{split}.parquet", 25_000, words=230, seed=seed)
        else:
            source, what = imdb, "prepare, IMDB's 50,000 reviews"
        prepare(source, place / "warm", limit=100)  # polars' threads and imports are not what is measured
        folders = (place / str(n) for n in count())
        best = side_by_side(
            {
                "ours": lambda: prepare(source, next(folders)),
                "normal": lambda: plain_python(source, next(folders), split_words),
                "bare": lambda: plain_python(source, next(folders), bare_split),
            },
            rounds=2,
            warm=True,
            wall=True,
        )
        yield Row(what, best["ours"], "plain Python: same rules, re.findall, Counter, dict", best["normal"])
        yield Row(what, best["ours"], "plain Python: bare re.findall, Counter, dict", best["bare"])


def bare_split(text: str) -> list[str]:
    """Words without the rules for quotes, dashes and contractions: less than `prepare` does, and quicker in Python."""
    return re.findall(WORD, text.lower().replace("<br />", " "))


def plain_python(source: Path, out: Path, split: Callable[[str], list[str]]) -> None:
    """What one writes without polars' columns: read, split, count, look up, save."""
    texts = {name: pl.read_parquet(source / f"{name}.parquet", columns=["text"])["text"] for name in ("train", "test")}
    documents = {name: [split(text) for text in column.to_list()] for name, column in texts.items()}
    counts: Counter[str] = Counter()
    for words in documents["train"]:
        counts.update(words)
    index = {word: i for i, (word, count) in enumerate(counts.most_common(49_999), 1) if count >= 2}
    out.mkdir()
    for name, found in documents.items():
        ids = [index.get(word, 0) for words in found for word in words]
        np.save(out / f"{name}.ids.npy", np.array(ids, dtype=np.uint16))
        np.save(out / f"{name}.offsets.npy", np.cumsum([0, *map(len, found)]))


def generate(path: Path, reviews: int, words: int, seed: int, distinct: int = 200_000) -> None:
    """A parquet file of reviews of about `words` words with Zipf's frequencies."""
    rng = np.random.Generator(np.random.PCG64(seed))
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz"))
    spelled = pl.Series(["".join(rng.choice(letters, rng.integers(2, 11))) for _ in range(distinct)])
    lengths = rng.geometric(1 / words, reviews)
    ids = np.searchsorted(np.cumsum(zipf(distinct)), rng.random(lengths.sum())).clip(max=distinct - 1)
    ends = pl.Series(np.where(rng.random(len(ids)) < 0.1, ". ", " "))
    spread = pl.DataFrame({"review": np.repeat(np.arange(reviews), lengths), "text": spelled.gather(ids) + ends})
    texts = spread.group_by("review", maintain_order=True).agg(pl.col("text").str.join(""))["text"]
    pl.DataFrame({"text": texts, "label": rng.integers(0, 2, reviews)}).write_parquet(path, row_group_size=50_000)
