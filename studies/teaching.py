"""What teaches a network to modify: the recipe on several mixtures of text, measured against what people say of words.

    python -m studies.recipe CORPUS --out DIR --mixtures
    python -m studies.teaching DIR --trees sst/train.txt [--lexicon modifiers.csv]   # → docs/results/teaching.json
    python -m studies.teaching                                                       # docs/teaching.md and figure

The trees are the Stanford Sentiment Treebank's; known modifiers are VADER's and those of the lexicon.
"""

from __future__ import annotations

import argparse
import copy
import csv
import json
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import t, ttest_ind

import rnnlens
from rnnlens.analysis.locate import find_line
from rnnlens.analysis.people import judged_in
from rnnlens.analysis.trees import read_trees
from rnnlens.common.errors import RnnlensWarning
from rnnlens.figures import write_figure
from studies.pages import write_page

RECORD, PAGE = Path("docs/results/teaching.json"), Path("docs/teaching.md")
FIGURE, TEMPLATE = Path("docs/images/teaching.svg"), Path(__file__).with_name("teaching.md")
ORDER = ("imdb", "yelp", "amazon", "yelp-sentences", "phrases", "three", "short", "all")
SINGLE = ORDER[:5]
TOP, LEAST, PHRASES, LISTED, STATES = 5_000, 20, 2_000, 20, 1_000
SHOWN = ("not", "never", "very", "extremely", "the")


def people_and_phrases(path: Path) -> tuple[dict[str, float], dict[str, int]]:
    """People's strengths of words with enough phrases, and the label of every phrase of at most ten words."""
    trees = read_trees(path)
    people = judged_in(trees, LEAST)
    short = (phrase for phrase in trees.phrases if phrase.end - phrase.start <= 10)
    phrases = {trees.text(phrase).lower(): phrase.label for phrase in short}
    return dict(zip(people.words, people.strength().tolist(), strict=True)), phrases


def known_modifiers(lexicons: list[Path]) -> set[str]:
    from vaderSentiment.vaderSentiment import BOOSTER_DICT, NEGATE

    rows = [row for path in lexicons for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines())]
    return {word.lower() for word in (*NEGATE, *BOOSTER_DICT, *(row["word"] for row in rows))}


@torch.no_grad()
def most_frequent(network: rnnlens.Network, top: int) -> rnnlens.Network:
    """A copy of a network that knows its `top` most frequent words only, which are the first of its vocabulary."""
    assert network.vocab is not None and network.E is not None
    small, counts = copy.deepcopy(network), network.vocab.counts
    small.vocab = rnnlens.Vocab(network.vocab.words[:top], None if counts is None else counts[:top])
    small.E = torch.nn.Parameter(network.E[:top].clone())
    return small


@torch.no_grad()
def measure(run: rnnlens.Run, people: dict[str, float], phrases: dict[str, int], known: set[str]) -> dict[str, Any]:
    """Accuracy by source; agreement with people on phrases and on words; known modifiers in the lists."""
    network = most_frequent(run.network, TOP)
    _, line, _, _ = find_line(network, rnnlens.visited_states(network, n=STATES))
    words = rnnlens.find_modifiers(network, line, top=TOP)
    strength = dict(zip(words.words, words.strength.tolist(), strict=True))
    shared, wanted = ([word for word in some if word in strength] for some in (people, SHOWN))
    some = sorted(phrases)[:: max(1, len(phrases) // PHRASES)]
    with warnings.catch_warnings(category=RnnlensWarning, action="ignore"):  # words that are unknown
        readings = [network.read(text)[-1][1] for text in some]
    negators = words.strongest(LISTED, ("negator", "diminisher"))
    by_norm = words.strongest(50, by="norm")
    return {
        "vocabulary": run.about["corpus"]["options"]["vocab_size"],
        "test": {name: part["accuracy"] for name, part in run.results["accuracy"]["test_sources"].items()},
        "r_phrases": float(np.corrcoef(readings, [phrases[text] for text in some])[0, 1]),
        "r_strength": float(np.corrcoef([people[w] for w in shared], [strength[w] for w in shared])[0, 1]),
        "words": len(shared),
        "known_negators": sum(word in known for word in negators) / max(1, len(negators)),
        "known_by_norm": sum(word in known for word in by_norm),
        "strength": {word: strength[word] for word in wanted},
    }


def grouped(rows: dict[str, Any]) -> dict[tuple[str, str], list[Any]]:
    """The rows of each architecture and mixture, a row for each seed, in the order of the page."""
    groups: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for name, row in rows.items():
        arch, rest = name.split("-", 1)
        groups[arch, rest.rsplit("-", 1)[0]].append(row)
    return dict(sorted(groups.items(), key=lambda item: (item[0][0], ORDER.index(item[0][1]))))


def mean_and_half(values: list[float]) -> tuple[float, float | None]:
    """The mean and half of its 95 % interval (t distribution), None with one value."""
    if len(values) < 2:
        return float(np.mean(values)), None
    half = t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5
    return float(np.mean(values)), float(half)


def summary(rows: dict[str, Any]) -> list[dict[str, Any]]:
    """One row for each architecture and mixture: mean over seeds, and half of a 95 % interval."""
    found = []
    for (arch, mixture), group in grouped(rows).items():
        entry: dict[str, Any] = {"arch": arch, "mixture": mixture, "seeds": len(group)}
        for key in ("imdb", "r_phrases", "r_strength", "known_negators", "known_by_norm"):
            entry[key] = mean_and_half([100 * row["test"]["imdb"] if key == "imdb" else row[key] for row in group])
        found.append(entry)
    return found


def alone_or_all(rows: dict[str, Any]) -> list[dict[str, Any]]:
    """Test accuracy on each source, in percent: trained on it alone, trained on all, and the difference with its 95 %
    interval (Welch)."""
    groups, found = grouped(rows), []
    for arch in ("gru", "lstm"):
        for source in SINGLE:
            if (arch, source) in groups:
                alone, every = (
                    [100 * row["test"][source] for row in groups[arch, mixture]] for mixture in (source, "all")
                )
                low, high = ttest_ind(every, alone, equal_var=False).confidence_interval(0.95)
                found.append(
                    {
                        "arch": arch,
                        "source": source,
                        "alone": np.mean(alone),
                        "all": np.mean(every),
                        "low": low,
                        "high": high,
                    }
                )
    return found


def figure(rows: dict[str, Any]) -> Any:
    """Agreement with people against the mixture, a dot for each network."""
    import plotly.graph_objects as go

    drawn = go.Figure()
    for arch, shade in (("gru", "#1f5fa8"), ("lstm", "#c05020")):
        mine = {name: row for name, row in rows.items() if name.startswith(f"{arch}-")}
        if mine:
            drawn.add_trace(
                go.Scatter(
                    x=[name.split("-", 1)[1].rsplit("-", 1)[0] for name in mine],
                    y=[row["r_strength"] for row in mine.values()],
                    mode="markers",
                    name=arch.upper(),
                    marker={"color": shade, "size": 10, "opacity": 0.75},
                )
            )
    drawn.update_layout(
        template="plotly_white",
        width=760,
        height=400,
        margin={"l": 60, "r": 10, "t": 20, "b": 60},
        scattermode="group",
        scattergap=0.6,
    )
    drawn.update_xaxes(categoryorder="array", categoryarray=list(ORDER), title="trained on")
    drawn.update_yaxes(title="correlation of strengths with people's", range=[0, 0.8])
    return drawn


def page_values(record: dict[str, Any]) -> dict[str, Any]:
    """What the template shows of the record."""
    rows = record["networks"]
    return {
        "rows": summary(rows),
        "sources": alone_or_all(rows),
        "top": record["words"],
        "least": record["least"],
        "mixtures": ORDER,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "runs", type=Path, nargs="?", help="the folder of networks; without it, the page from the record"
    )
    parser.add_argument("--trees", type=Path)
    parser.add_argument("--lexicon", type=Path, action="append", default=[])
    asked = parser.parse_args()
    if asked.runs is not None:
        people, phrases = people_and_phrases(asked.trees)
        known = known_modifiers(asked.lexicon)
        rows = json.loads(RECORD.read_text())["networks"] if RECORD.exists() else {}
        for folder in sorted(asked.runs.iterdir()):
            if (folder / "run.json").exists() and folder.name not in rows and not folder.name.startswith("vanilla"):
                rows[folder.name] = measure(rnnlens.load(folder), people, phrases, known)
                print(folder.name, {key: rows[folder.name][key] for key in ("r_phrases", "r_strength")}, flush=True)
                RECORD.write_text(json.dumps({"words": TOP, "least": LEAST, "networks": rows}, indent=1) + "\n")
    record = json.loads(RECORD.read_text())
    write_page(TEMPLATE, PAGE, **page_values(record))
    write_figure(figure(record["networks"]), FIGURE)


if __name__ == "__main__":
    main()
