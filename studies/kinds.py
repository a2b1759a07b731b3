r"""Networks of several kinds: with several classes, with two readers, with two layers.

    rnnlens prepare emotion --out CORPORA/emotion        # and news; --label rating --ordered for imdb's ratings, and
                                                         # --label stars --ordered for yelp's stars
    python -m studies.kinds --train CORPORA --out RUNS   # the networks with several classes: 2 minutes on an H200
    python -m studies.kinds --classes RUNS --corpora CORPORA             # measures them: docs/results/kinds.json
    rnnlens train REVIEWS --tuned --both-ways --test --seed 0 --out RUN  # and other seeds; without --both-ways: one way
    python -m studies.kinds --both RUN … --one RUN … --corpus REVIEWS    # networks that read both ways, and one way
    rnnlens train REVIEWS --sources yelp-sentences,phrases --layers 2 --hidden 64 --embedding 64 --memory 30 \
        --scale 0.108 --batch 128 --epochs 4 --learning-rate 0.006 --word-dropout 0.3 --dropout-run 3 \
        --embedding-dropout 0.3 --word-epsilon 0.001 --weight-decay 0.022 --average 0.998 --seed 0 --out RUN
    python -m studies.kinds --stacks RUN … --corpus REVIEWS              # networks with two layers
    python -m studies.kinds                              # the page docs/kinds.md and its figure, from the record

REVIEWS is the corpus of `studies.recipe`. `RUNS/NAME-SEED` is a run on `CORPORA/NAME`. In `NAME-flat-SEED` ordered
classes are read as if they had no order, and `NAME-null` was trained on shuffled labels.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import rnnlens
from rnnlens.common.files import read_json, write_json
from studies.kinds_measures import measure_both, measure_classes, measure_layers, measure_one_way, untrained
from studies.kinds_page import PAGE, write
from studies.kinds_training import train_classes

RECORD = Path("docs/results/kinds.json")
FEEL = ("feel", "feeling", "feels", "feelings", "felt")
POINTS = 120  # slow points of each corpus in the figure


def classes(runs: Path, corpora: Path) -> dict[str, Any]:
    """Every run with several classes, and an untrained network of the same shape for each corpus."""
    found: dict[str, Any] = {}
    for path in sorted(runs.iterdir()):
        name = path.name.split("-")[0]
        if not (corpora / name).is_dir() or not (path / "run.json").exists():
            continue
        corpus, run = rnnlens.load_corpus(corpora / name), rnnlens.load(path)
        drawn = POINTS if path.name.endswith("-0") else 0
        found[path.name] = measure_classes(run.network, corpus, run.accuracy, drawn)
        print(path.name, found[path.name]["geometry"]["count"], found[path.name]["geometry"]["shape"], flush=True)
        if path.name.endswith("-0") and "flat" not in path.name:
            found[f"{name}-untrained"] = measure_classes(untrained(run.network), corpus, {})
    return found


def share_with(corpus: Any, words: tuple[str, ...]) -> float:
    """The share of the training texts that have one of these words."""
    ids = [corpus.vocab.index[word] for word in words if word in corpus.vocab]
    texts, _ = corpus.train.batch(range(len(corpus.train)), None)
    return round(float(np.isin(texts, ids).any(1).mean()), 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", type=Path, metavar="CORPORA", help="train the networks with several classes")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--device", default="cuda", choices=["cpu", "cuda"])
    parser.add_argument("--classes", type=Path, metavar="RUNS")
    parser.add_argument("--corpora", type=Path)
    parser.add_argument("--both", type=Path, nargs="+", default=[], metavar="RUN")
    parser.add_argument("--one", type=Path, nargs="+", default=[], metavar="RUN")
    parser.add_argument("--stacks", type=Path, nargs="+", default=[], metavar="RUN")
    parser.add_argument("--corpus", help="the reviews that these were trained on")
    asked = parser.parse_args()
    if asked.train is not None:
        train_classes(asked.train, asked.out, asked.device)
        return
    record = read_json(RECORD) if RECORD.exists() else {}
    if asked.classes is not None:
        record["classes"] = classes(asked.classes, asked.corpora)
        record["feel"] = share_with(rnnlens.load_corpus(asked.corpora / "emotion"), FEEL)
    if asked.both:
        corpus = rnnlens.load_corpus(asked.corpus)
        runs = [rnnlens.load(path) for path in asked.both]
        record["both_ways"] = {run.path.name: measure_both(run.network, corpus, run) for run in runs}
        record["both_ways"]["untrained"] = measure_both(untrained(runs[0].network), corpus)
        record["one_way"] = {path.name: measure_one_way(rnnlens.load(path)) for path in asked.one}
    if asked.stacks:
        corpus = rnnlens.load_corpus(asked.corpus)
        runs = [rnnlens.load(path) for path in asked.stacks]
        record["stacks"] = {r.path.name: {**measure_one_way(r), **measure_layers(r.network, corpus)} for r in runs}
        record["stacks"]["untrained"] = measure_layers(untrained(runs[0].network), corpus)
    record.pop("fingerprint", None)
    write_json(RECORD, record)
    write(record)
    print(PAGE)


if __name__ == "__main__":
    main()
