"""Fine-tuning a trained network on few reviews, compared with training from nothing on the same reviews.

    python -m studies.start REVIEWS --out DIR --start packaged=zoo:reviews-gru --start films=RUNS/gru-imdb-{seed}
    python -m studies.start                # docs/start.md from docs/results/start.json

REVIEWS is a file or folder that `rnnlens prepare` reads. `{seed}` in the name of a network to start from becomes the
seed. Networks train one after the other with one thread; finished ones are not trained again, so that larger ones may
be trained on a GPU before (`python -m rnnlens.training DIR/corpus --tuned --balance --test --out DIR/nothing-256-0`).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch

import rnnlens
from rnnlens.analysis.locate import location_of
from rnnlens.common.files import read_json, write_json
from rnnlens.corpora import prepare
from rnnlens.training.command import train_command
from studies.pages import write_page
from studies.teaching import LISTS, difference, known_modifiers, mean_and_half

RECORD, PAGE = Path("docs/results/start.json"), Path("docs/start.md")
TEMPLATE = Path(__file__).with_name("start.md")
SEEDS, LISTED = (0, 1, 2), 15
FRESH: dict[str, dict[str, Any]] = {
    "nothing-256": {"balance": True},  # the bundled size
    "nothing-32": {"hidden": 32, "embedding": 32, "balance": True},
}


def lists(run: rnnlens.Run, corpus: rnnlens.Corpus, known: set[str]) -> dict[str, Any]:
    """The two lists that `analyze` prints, each word with its strength, and how many of each are known modifiers."""
    network = run.network
    assert network.vocab is not None
    line = location_of(network, rnnlens.visited_states(network, corpus.with_vocab(network.vocab), n=1_000)).line
    modifiers = rnnlens.find_modifiers(network, line)
    found: dict[str, Any] = {}
    for name, kinds in LISTS.items():
        words = modifiers.strongest(LISTED, kinds)
        found[name] = {word: round(modifiers[word]["strength"], 3) for word in words}
        found[f"known_{name}"] = sum(word in known for word in words)
    return found


def measure(
    folder: Path, corpus: rnnlens.Corpus, known: set[str], given: dict[str, Any], start: str | None
) -> dict[str, Any]:
    """Train a network on the reviews, from `start` or else with the bundled settings from nothing, and measure it."""
    run = train_command(
        str(corpus.path), folder, given, start=start, tuned=start is None, resume=folder.exists(), test=True, threads=1
    )
    about = run.about["network"]
    row = {key: about[key] for key in ("arch", "hidden", "embedding")}
    row |= {"epochs": run.config.epochs, "batch": run.config.batch, "seconds": round(run.history[-1]["seconds"])}
    return {**row, "validation": run.accuracy["validation"], "test": run.accuracy["test"], **lists(run, corpus, known)}


def untouched(start: str, corpus: rnnlens.Corpus) -> float:
    """Test accuracy of the network to start from, before any training on these reviews."""
    network = rnnlens.load(start).network
    assert network.vocab is not None
    return rnnlens.evaluate(network, corpus.with_vocab(network.vocab).test, 600).accuracy


def summary(networks: dict[str, Any]) -> dict[str, Any]:
    """For each way to train: its rows by seed, and means with half of their 95 % intervals over seeds."""
    groups: dict[str, list[Any]] = {}
    for name, row in networks.items():
        groups.setdefault(name.rsplit("-", 1)[0], []).append(row)
    return {
        name: {
            "rows": rows,
            "test": mean_and_half([100 * row["test"] for row in rows]),
            **{key: mean_and_half([row[f"known_{key}"] for row in rows]) for key in LISTS},
        }
        for name, rows in groups.items()
    }


def page_values(record: dict[str, Any]) -> dict[str, Any]:
    """What the template shows of the record."""
    groups = summary(record["networks"])
    films, fresh = ([100 * row["test"] for row in groups[name]["rows"]] for name in ("films", "nothing-256"))
    return {"record": record, "groups": groups, "gain": difference(films, fresh), "listed": LISTED}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reviews", nargs="?", help="what `prepare` reads; without it, the page from the record")
    parser.add_argument("--out", type=Path, help="folder for the corpus and the networks")
    parser.add_argument("--start", action="append", default=[], metavar="NAME=NETWORK")
    parser.add_argument("--lexicon", type=Path, action="append", default=[])
    asked = parser.parse_args()
    if asked.reviews is not None:
        torch.set_num_threads(1)
        corpus, known = prepare(asked.reviews, asked.out / "corpus"), known_modifiers(asked.lexicon)
        starts = dict(given.split("=", 1) for given in asked.start)
        sizes = {name: len(getattr(corpus, name)) for name in ("train", "validation", "test")}
        record: dict[str, Any] = {**sizes, "words": len(corpus.vocab), "networks": {}}
        for name in (*starts, *FRESH):
            for seed in SEEDS:
                start = starts[name].format(seed=seed) if name in starts else None
                row = measure(asked.out / f"{name}-{seed}", corpus, known, {"seed": seed, **FRESH.get(name, {})}, start)
                if start is not None:
                    row["before"] = untouched(start, corpus)
                record["networks"][f"{name}-{seed}"] = row
                write_json(RECORD, record)
    record = read_json(RECORD)
    write_page(TEMPLATE, PAGE, **page_values(record))


if __name__ == "__main__":
    main()
