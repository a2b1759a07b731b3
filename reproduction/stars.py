r"""What grades change for somebody with few reviews: 3,000 Yelp reviews with stars, learned as grades and as two sides.

    python -m reproduction.stars DATA/yelp --out runs/stars [--seeds 3]

Each network is trained from the packaged GRU (`--start` of the command line) and from random weights, and reads the
same test reviews. Prints accuracy and the logits of two phrases for each.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import rnnlens
from rnnlens.corpora.grades import labels_of, target_at
from rnnlens.training import start_config

REVIEWS, TESTED = 3_000, 2_000
PHRASES = ("not bad", "very good", "good")
FEW = rnnlens.TrainConfig(epochs=8, learning_rate=0.01, batch=32)
SHAPE = {"hidden": 64, "embedding": 32, "scale": 0.1, "memory": 100.0}


def main() -> None:
    import polars as pl

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", default="zoo:reviews-gru")
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    train, test = (pl.read_parquet(asked.data / f"{part}.parquet").drop_nulls("stars") for part in ("train", "test"))
    test = test.sample(TESTED, seed=0)
    start = rnnlens.load(asked.start)
    for seed in range(asked.seeds):
        some = train.sample(REVIEWS, seed=seed)
        grades = [target_at((stars - 3) / 2) for stars in some["stars"]]
        sides = labels_of(pl.Series(grades).to_numpy())
        for name, given in (("two sides", {"labels": sides}), ("grades", {"grades": grades})):
            corpus = rnnlens.Corpus.from_texts(some["text"].to_list(), **given, min_count=2, seed=seed)
            tested = rnnlens.Corpus.from_texts(test["text"].to_list(), test["label"].to_numpy(), validation=0)
            for way in ("start", "new"):
                if way == "start":
                    network = rnnlens.extend(start.network, corpus.vocab, seed=seed)
                    config = start_config(start, seed=seed)
                else:
                    network = rnnlens.Network(corpus.vocab, seed=seed, **SHAPE)
                    config = rnnlens.TrainConfig(**{**vars(FEW), "seed": seed, "balance": True})
                out = asked.out / f"{way}-{name.split()[0]}-{seed}"
                words = corpus.with_vocab(network.vocab)
                run = rnnlens.train(
                    network, words, config, out, start=start if way == "start" else None, resume=True, progress=False
                )
                read = rnnlens.evaluate(run.network, tested.with_vocab(run.vocab).train, max_words=600)
                logits = "  ".join(f"{phrase} {run.network(phrase).item():+.2f}" for phrase in PHRASES)
                print(f"{way:5s}  {name:9s}  seed {seed}  test {100 * read.accuracy:.2f} %  {logits}", flush=True)


if __name__ == "__main__":
    main()
