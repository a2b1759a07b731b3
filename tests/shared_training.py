"""A small run for `accelerate launch`: `python shared_training.py OUT [STEP]`; all die at that step, if given.
Whatever the folder holds is resumed."""

import dataclasses
import os
import sys

import numpy as np

from rnnlens import Network, TrainConfig, train
from rnnlens.corpora import Corpus
from rnnlens.training.loop import Trainer

CONFIG = TrainConfig(
    epochs=3, batch=16, learning_rate=0.02, word_dropout=0.2, embedding_dropout=0.2, checkpoint_every=5, average=0.9,
    max_words=9, blanks=6, next_word=0.3, next_word_places=64,
)  # fmt: skip


def reviews():
    """97 to train on, so that the last batch is a single review; 25 to validate on, 25 to test on. They are from two
    sources, one of which counts twice as much."""
    generator = np.random.default_rng(0)
    labels = (np.arange(122) % 3 > 0).astype(int)
    words = ["the", "film", "was", "it"]
    texts = [
        " ".join([*generator.choice(words, generator.integers(1, 14)).tolist(), ["awful", "great"][label]])
        for label in labels
    ]
    corpus = Corpus.from_texts(texts, labels, test=(texts[:25], labels[:25]), validation=0.205)
    parts = {
        name: dataclasses.replace(split, sources=(np.arange(len(split)) % 5 > 2).astype(np.uint8))
        for name, split in corpus.splits.items()
    }
    weights = [{"name": "films", "weight": 2.0}, {"name": "hotels", "weight": 1.0}]
    return dataclasses.replace(corpus, **parts, about={**corpus.about, "sources": weights})


def run(out):
    corpus = reviews()
    network = Network(corpus.vocab, arch="gru", hidden=8, embedding=4)
    return train(network, corpus, CONFIG, out, resume=True, device="cpu", test=True, progress=False, snapshots=6)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        step = Trainer.step

        def dies(trainer, rows):
            if trainer.counters.step == int(sys.argv[2]):
                os._exit(1)
            return step(trainer, rows)

        Trainer.step = dies
    run(sys.argv[1])
