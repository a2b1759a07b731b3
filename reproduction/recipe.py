r"""The recipe of the packaged networks: corpora, weights, settings and seeds, from which every network is made again.

    python -m reproduction.recipe prepare DATA CORPUS      # folders of parquet files → one graded corpus
    python -m reproduction.recipe train CORPUS RUNS        # the packaged networks' trainings; finished ones are skipped
    python -m reproduction.recipe train CORPUS RUNS --plan search    # trainings that settings are chosen from
    python -m reproduction.recipe pack RUNS OUT            # finished runs in half precision, as tar archives
    python -m reproduction.measure CORPUS RUN … --out DIR  # validation accuracies, people, sentences → a table

Networks of this recipe are in `reproduction/trained`, in half precision; three GRUs, an LSTM and a UGRNN so far.

Labels are graded wherever people gave grades: a network that only learns yes and no never needs a word such as *very*.
Short texts teach negation: phrases of film reviews, and among them, with a weight of their own (`negated`), those of at
most ten words with a negation. The next word is a second task. A fifth of the treebank's training sentences is held out
as the *development judge*: it gives people's strengths of words, by which settings are chosen. Nothing here reads the
sentences that judge the chosen networks, or tests on a test split.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import rnnlens
from rnnlens import corpora
from rnnlens.common.files import write_json, write_tensors
from rnnlens.common.provenance import KEY
from rnnlens.training.settings import TUNED, read_settings

SOURCES = ("imdb", "yelp", "amazon", "yelp-sentences", "phrases", "treebank", "revised", "comments", "negated")
RUN = 50  # neighboring rows of a class that stay together: they are often about one film or shop
JUDGE = 0.2  # of the treebank's training sentences
SHORT = 10  # words of a phrase that `negated` has
NEGATION = r"(?i)(\b(not|no|never|nothing|nobody|none|neither|nor|without|hardly|barely)\b|n't\b)"
STARS = {1: 0.03, 2: 0.2, 3: 0.5, 4: 0.8, 5: 0.97}
RATINGS = {1: 0.03, 2: 0.03, 3: 0.2, 4: 0.2, 7: 0.8, 8: 0.8, 9: 0.97, 10: 0.97}
PHRASES = {0.0: 0.05, 0.125: 0.05, 0.25: 0.25, 0.5: 0.5, 0.75: 0.75, 1.0: 0.95}
NAMES = {"negative": 0.1, "neutral": 0.5, "positive": 0.9}

# What every training shares, beside the bundled settings of its architecture: chosen from the trainings of `search` and
# then of `refine` (docs/results/recipe.json), by the development judge, which hardly tells them apart, then the short
# sentences, then accuracies.
COMMON: dict[str, Any] = {"next_word": 0.3, "next_word_places": 4096, "epochs": 8, "checkpoint_every": 200}
OWN: dict[str, dict[str, Any]] = {
    "gru": {},
    "lstm": {"word_epsilon": 0.002},
    "ugrnn": {"word_epsilon": 0.002},
    "vanilla": {},
}
WEIGHTS = {"imdb": 2.0, "amazon": 2.0, "treebank": 5.0, "revised": 10.0, "negated": 6.0}


def plan(name: str) -> dict[str, dict[str, Any]]:
    """The trainings of a plan: name → architecture, seed, weights of sources, and settings that differ."""
    if name == "zoo":
        return {f"{arch}-{seed}": {"arch": arch, "seed": seed} for arch in OWN for seed in range(3)}
    base: dict[str, Any] = {"arch": "gru", "seed": 0}
    before = {"imdb": 1, "amazon": 1, "treebank": 5, "revised": 10, "negated": 12}
    if name == "refine":  # from the settings that `search` led to, toward accuracy on reviews
        reviews = {"imdb": 2, "amazon": 2}
        refined: dict[str, dict[str, Any]] = {
            "imdb-2": {"weights": {"imdb": 2}},
            "reviews-2": {"weights": reviews},
            "reviews-3": {"weights": {"imdb": 3, "amazon": 3}},
            "epochs-11": {"epochs": 11},
            "epochs-11-reviews-2": {"epochs": 11, "weights": reviews},
            "embedding-dropout-0.4": {"embedding_dropout": 0.4},
            "weight-decay-0.05": {"weight_decay": 0.05},
            "negated-6-reviews-2": {"weights": {**reviews, "negated": 6}},
        }
        return {key: {**base, **job, "weights": {**before, **job.get("weights", {})}} for key, job in refined.items()}
    base["next_word"] = 0.2
    jobs: dict[str, dict[str, Any]] = {
        "bold": {"weights": {"treebank": 5, "revised": 10, "negated": 1}},
        "negated-5": {"weights": {"treebank": 5, "revised": 10, "negated": 5}},
        "negated-12": {"weights": {"treebank": 5, "revised": 10, "negated": 12}},
        "negated-30": {"weights": {"treebank": 5, "revised": 10, "negated": 30}},
        "treebank-3": {"weights": {"treebank": 3, "revised": 10, "negated": 12}},
        "treebank-10": {"weights": {"treebank": 10, "revised": 10, "negated": 12}},
        "next-0.1": {"weights": {"treebank": 5, "revised": 10, "negated": 12}, "next_word": 0.1},
        "next-0.4": {"weights": {"treebank": 5, "revised": 10, "negated": 12}, "next_word": 0.4},
        "next-0": {"weights": {"treebank": 5, "revised": 10, "negated": 12}, "next_word": 0.0},
        "epsilon-0.001": {"weights": {"treebank": 5, "revised": 10, "negated": 12}, "word_epsilon": 0.001},
        "rate-0.004": {"weights": {"treebank": 5, "revised": 10, "negated": 12}, "learning_rate": 0.004},
        "dropout-0.2": {"weights": {"treebank": 5, "revised": 10, "negated": 12}, "word_dropout": 0.2},
    }
    return {key: {**base, **job, "weights": {**before, **job["weights"]}} for key, job in jobs.items()}


# --- the corpus ---


def prepare(data: Path, out: Path) -> None:
    """Write every source with the columns text, grade and group, then the corpus, and beside it the development judge
    (`OUT.judge.json`)."""
    import polars as pl

    def runs(name: str, frame: pl.DataFrame) -> pl.DataFrame:
        """Neighboring rows of a class in groups of RUN."""
        number = pl.int_range(pl.len()).over("label") // RUN
        return frame.with_columns(group=pl.format(name + " {} {}", pl.col("label"), number))

    def read(name: str, part: str) -> pl.DataFrame:
        return pl.read_parquet(data / name / f"{part}.parquet")

    def mapped(column: str, grades: Mapping[Any, float]) -> pl.Expr:
        return pl.col(column).replace_strict(grades, default=None, return_dtype=pl.Float64)

    hard = pl.col("label").cast(pl.Float64)
    grade = {
        "imdb": mapped("rating", RATINGS),
        "yelp": pl.coalesce(mapped("stars", STARS), 0.1 + 0.8 * hard),
        "amazon": hard,
        "yelp-sentences": hard,
        "phrases": hard,
        "treebank": mapped("grade", PHRASES),
        "revised": mapped("label", NAMES),
        "comments": mapped("label", NAMES),
    }
    folder = out.with_name(out.name + "-sources")
    parts: dict[str, dict[str, pl.DataFrame]] = {}
    for name, column in grade.items():
        parts[name] = {part: read(name, part).with_columns(grade=column) for part in ("train", "test")}
        if name in ("imdb", "yelp", "amazon", "yelp-sentences", "phrases"):
            parts[name] = {part: runs(f"{name} {part}", frame) for part, frame in parts[name].items()}
    originals = parts["imdb"]["train"]["group"]
    revised = parts["revised"]
    # The review that a revised one was made from is in the same part; one of a test review is in none.
    revised["train"] = revised["train"].with_columns(group=originals[revised["train"]["original"].to_list()])
    tested = set(revised["test"]["original"].to_list())
    parts["imdb"]["train"] = parts["imdb"]["train"].filter(~pl.int_range(pl.len()).is_in(list(tested)))
    parts["treebank"], judge = hold_out(parts["treebank"]["train"], parts["treebank"]["test"])
    phrases = pl.concat([parts[name]["train"].select("text", "grade") for name in ("treebank", "comments")])
    short = phrases.filter(
        pl.col("text").str.contains(NEGATION) & (pl.col("text").str.split(" ").list.len() <= SHORT)
    ).unique(maintain_order=True)
    parts["negated"] = {"train": short, "validation": short.head(0), "test": short.head(0)}
    for name in ("treebank", "comments"):
        parts[name]["train"] = parts[name]["train"].join(short.select("text"), on="text", how="anti")
    for name in SOURCES:
        (folder / name).mkdir(parents=True, exist_ok=True)
        for part, frame in parts[name].items():
            if "group" not in frame.columns:
                frame = frame.with_columns(group=pl.lit(None, pl.String))
            if len(frame):
                frame.select("text", "grade", "group").write_parquet(folder / name / f"{part}.parquet")
        print(name, {part: len(frame) for part, frame in parts[name].items()}, flush=True)
    corpora.prepare(
        [folder / name for name in SOURCES], out, label="grade", group="group", graded=True, test=0,
        vocab_size=10_500, min_count=5, overwrite=True,
    )  # fmt: skip
    write_json(out.with_name(out.name + ".judge.json"), judge)


def hold_out(train: Any, test: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The treebank in three parts, a fifth of its training sentences as validation, and what people say of words there:
    word → for eight parts of the sentences the number of pairs of phrases x and "w x", Σ label(w x) · label(x) and
    Σ label(x)², with labels from −2 to 2. No training phrase is a phrase of a held-out sentence."""
    import polars as pl

    sentences = np.unique(train["sentence"].to_numpy())
    chosen = np.random.default_rng(0).permutation(sentences)[: round(JUDGE * len(sentences))]
    held = train.filter(pl.col("sentence").is_in(chosen.tolist()))
    texts = held["text"].str.to_lowercase().unique()
    kept = train.filter(
        ~pl.col("sentence").is_in(chosen.tolist()) & ~pl.col("text").str.to_lowercase().is_in(texts.to_list())
    )
    named = pl.format("treebank {}", pl.col("sentence")).alias("group")
    parts = {"train": kept, "validation": held, "test": test}
    labels = {text.lower(): round(4 * grade) - 2 for text, grade in train.select("text", "grade").iter_rows()}
    sums: dict[str, np.ndarray] = {}
    for text, number in held.with_columns(pl.col("text").str.to_lowercase()).select("text", "sentence").iter_rows():
        word, _, rest = text.partition(" ")
        if labels.get(rest, 0):
            at = sums.setdefault(word, np.zeros((8, 3), int))[number % 8]
            at += [1, labels[text] * labels[rest], labels[rest] ** 2]
    words = {word: rows.ravel().tolist() for word, rows in sorted(sums.items())}
    return {part: frame.with_columns(named) for part, frame in parts.items()}, {"words": words}


# --- training ---


def train_one(corpus: Any, job: Mapping[str, Any], out: Path, device: str, places: int | None) -> None:
    """Train one network, or go on with it."""
    import torch

    arch, seed = job["arch"], job["seed"]
    settings = {**read_settings(TUNED, arch), **COMMON, **OWN[arch]}
    settings |= {name: value for name, value in job.items() if name not in ("arch", "seed", "weights")}
    settings |= {} if places is None else {"next_word_places": places}
    shape = {name: settings.pop(name) for name in ("hidden", "embedding", "scale", "memory")}
    weights = {**WEIGHTS, **job.get("weights", {})}
    sources = [{**part, "weight": float(weights.get(part["name"], 1.0))} for part in corpus.about["sources"]]
    corpus = replace(corpus, about={**corpus.about, "sources": sources})
    if device == "cpu":
        torch.set_num_threads(os.cpu_count() or 1)
    network = rnnlens.Network(corpus.vocab, arch, seed=seed, **shape)
    config = rnnlens.TrainConfig(seed=seed, **settings)
    rnnlens.train(network, corpus, config, out, resume=True, device=device, progress=sys.stderr.isatty())


def train_all(
    corpus: Path, jobs: Mapping[str, Mapping[str, Any]], out: Path, at_once: int, device: str, places: int | None
) -> None:
    """Train the networks side by side, each in a process of its own; what they print is in OUT/NAME.log."""
    out.mkdir(parents=True, exist_ok=True)
    waiting = [name for name in jobs if not finished(out / name)]
    running: dict[str, tuple[subprocess.Popen[bytes], float]] = {}
    while waiting or running:
        while waiting and len(running) < at_once:
            name = waiting.pop(0)
            command = [sys.executable, "-m", "reproduction.recipe", "one", str(corpus), str(out / name)]
            command += ["--job", json.dumps(jobs[name]), "--device", device]
            command += [] if places is None else ["--places", str(places)]
            with open(out / f"{name}.log", "w") as log:
                running[name] = subprocess.Popen(command, stdout=log, stderr=log), time.monotonic()
        time.sleep(0.5)
        for name, (process, since) in list(running.items()):
            if process.poll() is not None:
                print(f"{name}: exit {process.returncode}, {time.monotonic() - since:.0f} s", flush=True)
                del running[name]


def pack(runs: Path, out: Path, files: int) -> None:
    """The finished runs with their weights in half precision, in a few archives: OUT/0.tar …"""
    out.mkdir(parents=True, exist_ok=True)
    done = sorted(path for path in runs.iterdir() if path.is_dir() and finished(path))
    for number in range(files):
        with tarfile.open(out / f"{number}.tar", "w") as archive, tempfile.TemporaryDirectory() as folder:
            for run in done[number::files]:
                round_run(run, Path(folder) / run.name)
                archive.add(Path(folder) / run.name, run.name)


def round_run(path: Path, out: Path) -> None:
    """A copy of a run with weights in half precision, which names the weights that it was made from."""
    run = rnnlens.load(path)
    out.mkdir(parents=True)
    weights = {name: tensor.half() for name, tensor in run.network.state_dict().items()}
    mark = write_tensors(out / "weights.safetensors", weights)
    provenance = {**run.provenance, "weights": mark, "made_from": run.provenance["weights"]}
    for name in ("run.json", "results.json"):
        content = json.loads((path / name).read_text(encoding="utf-8"))
        content.pop("fingerprint", None)
        write_json(out / name, {**content, KEY: {**content.get(KEY, {}), **provenance}})
    for name in ("vocab.json", "history.jsonl"):
        shutil.copy(path / name, out / name)


def finished(run: Path) -> bool:
    about = run / "run.json"
    return about.exists() and json.loads(about.read_text())["status"] == "finished"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["prepare", "train", "one", "pack"])
    parser.add_argument("source", type=Path, help="folder of corpora; prepared corpus; of pack: runs")
    parser.add_argument("out", type=Path)
    parser.add_argument("--plan", choices=["zoo", "search", "refine"], default="zoo")
    parser.add_argument("--only", default="", help="names of trainings of the plan, separated by commas")
    parser.add_argument("--at-once", type=int, default=1, help="trainings side by side; of pack: archives")
    parser.add_argument("--places", type=int, help="places at which the next word is predicted; 1536 on a CPU")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--job", help="of one: its settings")
    asked = parser.parse_args()
    if asked.what == "prepare":
        prepare(asked.source, asked.out)
    elif asked.what == "pack":
        pack(asked.source, asked.out, asked.at_once)
    elif asked.what == "one":
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")
        train_one(rnnlens.load_corpus(asked.source), json.loads(asked.job), asked.out, asked.device, asked.places)
    else:
        jobs = {name: job for name, job in plan(asked.plan).items() if not asked.only or name in asked.only.split(",")}
        train_all(asked.source, jobs, asked.out, asked.at_once, asked.device, asked.places)


if __name__ == "__main__":
    main()
