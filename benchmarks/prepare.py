"""How fast and how big `prepare` is.

python benchmarks/prepare.py [IMDB FOLDER]              seconds, against a plain Python pass over the same texts
python benchmarks/prepare.py memory --reviews 1000000   peak memory on a generated corpus, in a process of its own
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl

from rnnlens.corpora.prepared import prepare
from rnnlens.corpora.words import WORD, split_words


def rows(imdb: Path | None) -> Iterator[tuple[str, float, str, float]]:
    """(what, our seconds, peer, its seconds): all of `prepare` against a plain Python pass over the same files."""
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
        # Turn and turn about, and the better of two each: a shared machine is not equally busy all the time.
        ours, normal, bare = [], [], []
        for turn in range(2):
            ours.append(timed(lambda turn=turn: prepare(source, place / f"ours-{turn}")))
            normal.append(timed(lambda turn=turn: plain_python(source, place / f"normal-{turn}", split_words)))
            bare.append(timed(lambda turn=turn: plain_python(source, place / f"bare-{turn}", bare_split)))
        yield what, min(ours), "plain Python: same rules, re.findall, Counter, dict", min(normal)
        yield what, min(ours), "plain Python: bare re.findall, Counter, dict", min(bare)


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


def timed(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def generate(path: Path, reviews: int, words: int = 150, seed: int = 0, distinct: int = 200_000) -> None:
    """Reviews of about `words` words with Zipf's frequencies, written a slice at a time; csv or parquet by suffix."""
    rng = np.random.Generator(np.random.PCG64(seed))
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz"))
    spelled = pl.Series(["".join(rng.choice(letters, rng.integers(2, 11))) for _ in range(distinct)])
    zipf = np.cumsum(1 / np.arange(1, distinct + 1))
    slices: list[pl.DataFrame] = []
    for start in range(0, reviews, 10_000):
        n = min(10_000, reviews - start)
        lengths = rng.geometric(1 / words, n)
        ids = np.searchsorted(zipf, rng.random(lengths.sum()) * zipf[-1]).clip(max=distinct - 1)
        ends = pl.Series(np.where(rng.random(len(ids)) < 0.1, ". ", " "))
        spread = pl.DataFrame({"review": np.repeat(np.arange(n), lengths), "text": spelled.gather(ids) + ends})
        texts = spread.group_by("review", maintain_order=True).agg(pl.col("text").str.join(""))["text"]
        frame = pl.DataFrame({"text": texts, "label": rng.integers(0, 2, n)})
        if path.suffix == ".csv":
            with open(path, "ab") as file:
                frame.write_csv(file, include_header=start == 0, quote_style="always")
        else:
            slices.append(frame)
    if slices:
        pl.concat(slices).write_parquet(path, row_group_size=50_000)


def memory(reviews: int, suffix: str) -> None:
    """Print the peak memory and the seconds of preparing a generated file in a process of its own."""
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary) / f"reviews{suffix}"
        command = [sys.executable, __file__, "generate", "--reviews", str(reviews), "--file", str(source)]
        subprocess.run(command, check=True)
        print(f"{reviews:,} reviews in {source.stat().st_size / 1e6:,.0f} MB of {suffix}", flush=True)
        subprocess.run([sys.executable, __file__, "child", "--file", str(source)], check=True)


def child(source: Path) -> None:
    start = time.perf_counter()
    corpus = prepare(source, source.parent / "out")
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{corpus}\npeak {peak:.2f} GB, {seconds:.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", default=None, help="memory, or the folder of IMDB's parquet files")
    parser.add_argument("--reviews", type=int, default=1_000_000)
    parser.add_argument("--suffix", default=".csv", choices=[".csv", ".parquet"])
    parser.add_argument("--file", type=Path)
    given = parser.parse_args()
    if given.what == "memory":
        memory(given.reviews, given.suffix)
    elif given.what == "generate":
        generate(given.file, given.reviews)
    elif given.what == "child":
        child(given.file)
    else:
        for what, ours, peer, theirs in rows(Path(given.what) if given.what else None):
            print(f"{what}: {ours:.2f} s; {peer}: {theirs:.2f} s; {theirs / ours:.1f} times as fast")


if __name__ == "__main__":
    main()
