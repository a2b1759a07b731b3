"""Corpora larger than memory: generate, prepare, train on and analyze millions of reviews, and measure the memory.

python -m benchmarks.scale --reviews 5000000 --folder DIR --out benchmarks/records/scale.json

Each step is the command a user would give, in a process of its own, whose resident memory (with that of its children)
is looked at ten times a second. Reviews are as long as Yelp's; words follow Zipf's law, and one review in five holds a
word never seen before, as misspellings do; labels follow from words of valence, which a few negators turn round.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.reviews import lengths, zipf
from benchmarks.table import machine

BOUND = 3.0  # GB
DISTINCT, NEGATORS, SLICE = 200_000, (20, 35), 1_000
RNNLENS = "from rnnlens.cli import main; main()"


def texts(reviews: int, seed: int = 0) -> Iterator[tuple[str, int]]:
    """Reviews and their labels, one at a time, a thousand in memory."""
    rng = np.random.default_rng(seed)
    words, valence = spelled(), valences()
    words += tuple(f"{word}." for word in words)  # at the end of a sentence
    odds = np.cumsum(zipf(DISTINCT))
    for start in range(0, reviews, SLICE):
        n_words = lengths(min(SLICE, reviews - start), "yelp", rng)
        ids = np.searchsorted(odds, rng.random(int(n_words.sum()))).clip(max=DISTINCT - 1)
        negated = np.isin(ids, NEGATORS)
        reach = np.zeros(len(ids), dtype=bool)
        for k in (1, 2, 3):
            reach[k:] |= negated[:-k]
        ends = np.cumsum(n_words)
        feeling = np.add.reduceat(np.where(reach, -1, 1) * valence[ids], ends - n_words)
        ids += DISTINCT * (rng.random(len(ids)) < 0.07)
        odd = rng.random(len(n_words)) < 0.2
        for i, (stop, n) in enumerate(zip(ends.tolist(), n_words.tolist(), strict=True)):
            text = " ".join(map(words.__getitem__, ids[stop - n : stop].tolist()))
            new = f" {_letters(start + i)}" if odd[i] else ""
            yield text + new, int(feeling[i] + 0.1 * rng.normal() > 0)


@cache
def spelled(seed: int = 1) -> tuple[str, ...]:
    """Made-up words of two to ten letters, all different, the commonest the shortest."""
    rng = np.random.default_rng(seed)
    letters = list("etaoinshrdlucmfwypvbgk")
    found: dict[str, None] = {}
    while len(found) < DISTINCT:
        size = int(min(10, 2 + len(found) ** 0.2))
        found.setdefault("".join(letters[i] for i in rng.integers(0, len(letters), size)))
    return tuple(found)


def valences(seed: int = 2) -> np.ndarray:
    """(W,): one in six of the words that are neither among the commonest 50 nor beyond the 2,000th is good or bad."""
    rng = np.random.default_rng(seed)
    found = np.where(rng.random(DISTINCT) < 1 / 6, rng.choice([-2, -1, 1, 2], DISTINCT), 0)
    found[:50] = found[2_000:] = 0
    return found


def _letters(number: int) -> str:
    """A word for a number, of letters that no other word has."""
    found = "x"
    while number:
        number, digit = divmod(number, 6)
        found += "jqzvxk"[digit]
    return found


def generate(path: Path, reviews: int) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write("text,label\n")
        file.writelines(f"{text},{label}\n" for text, label in texts(reviews))


# --- measuring --------------------------------------------------------------------------------------------------------


def measured(name: str, command: list[str], shown: str) -> dict[str, object]:
    """Run a command; its seconds, and the most memory that it and its children had at once."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    most, anonymous = 0, 0
    output: list[str] = []
    os.set_blocking(process.stdout.fileno(), False)  # type: ignore[union-attr]
    while process.poll() is None:
        rss, own = tree_memory(process.pid)
        most, anonymous = max(most, rss), max(anonymous, own)
        output += process.stdout.readlines()  # type: ignore[union-attr]
        time.sleep(0.1)
    seconds = time.perf_counter() - start
    output += process.stdout.readlines()  # type: ignore[union-attr]
    if process.returncode:
        raise SystemExit(f"{shown} failed:\n{''.join(output[-20:])}")
    found = {
        "stage": name,
        "command": shown,
        "seconds": round(seconds, 1),
        "peak_gb": round(most / 1e9, 2),
        "anonymous_gb": round(anonymous / 1e9, 2),
    }
    print(f"{name:10s} {seconds:8.1f} s   peak {found['peak_gb']:.2f} GB, not of files {found['anonymous_gb']:.2f} GB")
    return found


def tree_memory(pid: int) -> tuple[int, int]:
    """Bytes resident in a process and all that descend from it: in all, and without pages of mapped files."""
    total = own = 0
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        try:
            status = Path(f"/proc/{one}/status").read_text()
            for task in Path(f"/proc/{one}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
        except (OSError, ValueError):  # gone in the meantime
            continue
        sizes = {
            line.split(":")[0]: line.split()[1] for line in status.splitlines() if line.startswith(("VmRSS", "RssAnon"))
        }
        total, own = total + 1024 * int(sizes.get("VmRSS", 0)), own + 1024 * int(sizes.get("RssAnon", 0))
    return total, own


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--reviews", type=int, default=5_000_000)
    parser.add_argument(
        "--folder", type=Path, default=Path("runs/scale"), help="for the corpus: 1.8 GB a million reviews"
    )
    parser.add_argument("--steps", type=int, default=1_000, help="of training")
    parser.add_argument("--analyzed", type=int, default=1_000, help="reviews of a split that the analysis reads")
    parser.add_argument("--out", type=Path, help="write what was measured")
    parser.add_argument("--keep", action="store_true", help="leave the corpus where it is")
    parser.add_argument("--generate", type=Path, help="only write the reviews, as csv")
    given = parser.parse_args()
    if given.generate:
        generate(given.generate, given.reviews)
        return
    about, folder = machine("cpu"), given.folder
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("corpus", "run"):  # of an earlier time
        shutil.rmtree(folder / name, ignore_errors=True)
    source = folder / "reviews.csv"
    us = [sys.executable, "-m", "benchmarks.scale", "--reviews", str(given.reviews), "--generate", str(source)]
    stages = [measured("generate", us, f"python -m benchmarks.scale --reviews {given.reviews} --generate reviews.csv")]
    size = source.stat().st_size
    stages += [
        measured(
            name,
            [sys.executable, "-c", RNNLENS, *(word.replace("DIR", str(folder)) for word in asked.split())],
            f"rnnlens {asked.replace('DIR/', '')}",
        )
        for name, asked in (
            ("prepare", "prepare DIR/reviews.csv --out DIR/corpus --validation 0.01 --test 0.01"),
            ("info", "info DIR/corpus"),
            ("train", f"train DIR/corpus --out DIR/run --hidden 64 --embedding 32 --steps {given.steps} --epochs 1"),
            ("analyze", f"analyze DIR/run --corpus DIR/corpus --reviews {given.analyzed}"),
        )
    ]
    corpus = json.loads((folder / "corpus" / "corpus.json").read_text())
    run = json.loads((folder / "run" / "results.json").read_text())
    found = {
        "machine": about,
        "reviews": given.reviews,
        "words": sum(part["words"] for part in corpus["sizes"].values()),
        "csv_gb": round(size / 1e9, 2),
        "vocabulary": run["network"]["words"],
        "validation_accuracy": run["accuracy"]["validation"],
        "bound_gb": BOUND,
        "stages": stages,
    }
    worst = max(float(str(stage["peak_gb"])) for stage in stages)
    print(f"{given.reviews:,} reviews, {found['words']:,} words: at most {worst:.2f} GB; the bound is {BOUND:.0f} GB")
    if given.out:
        given.out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if not given.keep:
        shutil.rmtree(folder)
    sys.exit(worst > BOUND)


if __name__ == "__main__":
    main()
