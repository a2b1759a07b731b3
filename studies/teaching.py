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
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import t, ttest_ind

import rnnlens
from rnnlens.analysis.locate import location_of
from rnnlens.analysis.people import judged_in
from rnnlens.analysis.trees import read_trees
from rnnlens.common.errors import RnnlensWarning
from rnnlens.common.files import read_json, write_json
from rnnlens.figures import write_figure
from studies.pages import write_page
from studies.recipe import MIXTURES, SIZE, SOURCES, equal_mixtures

RECORD, PAGE = Path("docs/results/teaching.json"), Path("docs/teaching.md")
FIGURE, TEMPLATE = Path("docs/images/teaching.svg"), Path(__file__).with_name("teaching.md")
EQUAL = tuple(f"equal-{name}" for name in equal_mixtures())
ORDER = (*MIXTURES, "all", *EQUAL)
TOP, LEAST, PHRASES, LISTED, STATES = 8_000, 20, 2_000, 20, 1_000
MEASURED = ("r_strength", "r_phrases", "known_negators", "known_intensifiers", "modifiers", "not")
DRAWN = {"r_strength": "r of strengths with people's", "known_negators": "share of known negators"}
SHADES = {"gru": "#1f5fa8", "lstm": "#c05020", "ugrnn": "#3a7d44"}
LABELS = {
    "three": "imdb, yelp, amazon",
    "short": "sentences, phrases",
    "all": "all five",
    **{f"equal-1-{name}": f"{name} only" for name in MIXTURES["three"]},
    "equal-2-imdb-yelp": "imdb, yelp",
    "equal-3-reviews": "imdb, yelp, amazon",
    **{f"equal-short-{percent}": f"{percent} % short" for percent in (25, 50, 75, 100)},
}
LISTS = {"negators": ("negator", "diminisher"), "intensifiers": ("intensifier",)}
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
    """Accuracy by source; agreement with people on phrases and on words; clear modifiers, and how many are known."""
    network = most_frequent(run.network, TOP)
    line = location_of(network, rnnlens.visited_states(network, n=STATES)).line
    words = rnnlens.find_modifiers(network, line, top=TOP)
    strength = dict(zip(words.words, words.strength.tolist(), strict=True))
    shared, wanted = ([word for word in some if word in strength] for some in (people, SHOWN))
    chosen = sorted(phrases)[:: max(1, len(phrases) // PHRASES)]
    with warnings.catch_warnings(category=RnnlensWarning, action="ignore"):  # words that are unknown
        readings = [network.read(text)[-1][1] for text in chosen]
    lists = {name: words.strongest(LISTED, kinds) for name, kinds in LISTS.items()}
    shares = {name: sum(word in known for word in some) / max(1, len(some)) for name, some in lists.items()}
    by_norm = words.strongest(50, by="norm")
    return {
        "vocabulary": run.about["corpus"]["options"]["vocab_size"],
        "test": {name: part["accuracy"] for name, part in run.results["accuracy"]["test_sources"].items()},
        "r_phrases": float(np.corrcoef(readings, [phrases[text] for text in chosen])[0, 1]),
        "r_strength": float(np.corrcoef([people[w] for w in shared], [strength[w] for w in shared])[0, 1]),
        "words": len(shared),
        "modifiers": len(words.selected),
        **{f"listed_{name}": len(some) for name, some in lists.items()},
        **{f"known_{name}": share for name, share in shares.items()},
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


def value(row: dict[str, Any], key: str) -> float:
    """A measure of a network: a key of its row, or the strength of a word."""
    return float(row["strength"][key] if key in SHOWN else row[key])


def summary(rows: dict[str, Any]) -> list[dict[str, Any]]:
    """One row for each architecture and mixture: mean over seeds, and half of a 95 % interval."""
    return [
        {"arch": arch, "mixture": mixture, "seeds": len(group)}
        | {key: mean_and_half([value(row, key) for row in group]) for key in MEASURED}
        for (arch, mixture), group in grouped(rows).items()
    ]


def difference(first: list[float], second: list[float]) -> dict[str, float]:
    """The difference of two means, first − second, with its 95 % interval (Welch)."""
    low, high = ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    return {"mean": float(np.mean(first) - np.mean(second)), "low": float(low), "high": float(high)}


def alone_or_all(rows: dict[str, Any]) -> list[dict[str, Any]]:
    """Test accuracy on each source, in percent: trained on it alone, trained on all, and the difference."""
    groups, found = grouped(rows), []
    for arch in ("gru", "lstm", "ugrnn"):
        for source in SOURCES:
            if (arch, source) in groups:
                alone, every = (
                    [100 * row["test"][source] for row in groups[arch, mixture]] for mixture in (source, "all")
                )
                means = {"alone": float(np.mean(alone)), "all": float(np.mean(every))}
                found.append({"arch": arch, "source": source, **means, **difference(every, alone)})
    return found


def figure(rows: dict[str, Any]) -> Any:
    """Agreement with people and known negators, a dot for each network: whole sources, and mixtures of equal size."""
    from plotly.subplots import make_subplots

    columns = {"whole sources": (*MIXTURES, "all"), f"{SIZE:,} documents each": EQUAL}
    drawn = make_subplots(
        2, 2, shared_xaxes=True, shared_yaxes=True, horizontal_spacing=0.03, vertical_spacing=0.06,
        subplot_titles=tuple(columns),
    )  # fmt: skip
    for (arch, mixture), group in grouped(rows).items():
        column = 1 + (mixture in EQUAL)
        for i, (key, title) in enumerate(DRAWN.items()):
            drawn.add_scatter(
                x=[LABELS.get(mixture, mixture)] * len(group),
                y=[row[key] for row in group],
                mode="markers",
                name=arch.upper(),
                legendgroup=arch,
                offsetgroup=arch,
                showlegend=(i, mixture) == (0, "all"),
                marker={"color": SHADES[arch], "size": 8, "opacity": 0.75},
                row=i + 1,
                col=column,
            )
            drawn.update_yaxes(title=title, row=i + 1, col=1)
    for i, names in enumerate(columns.values()):
        labels = [LABELS.get(name, name) for name in names]
        drawn.update_xaxes(categoryorder="array", categoryarray=labels, tickangle=-40, col=i + 1)
    drawn.update_yaxes(range=[-0.04, 0.9], zeroline=False)
    drawn.update_layout(
        template="plotly_white",
        width=900,
        height=640,
        margin={"l": 60, "r": 10, "t": 60, "b": 110},
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.1},
        scattermode="group",
        scattergap=0.5,
    )
    return drawn


def page_values(record: dict[str, Any]) -> dict[str, Any]:
    """What the template shows of the record."""
    rows = record["networks"]
    groups = grouped(rows)

    def apart(first: str, second: str, key: str = "r_strength", arch: str = "gru") -> dict[str, float]:
        """How much a measure differs between networks of two mixtures."""
        return difference(*([value(row, key) for row in groups[arch, mixture]] for mixture in (first, second)))

    return {
        "rows": {(row["arch"], row["mixture"]): row for row in summary(rows)},
        "sources": alone_or_all(rows),
        "apart": apart,
        "top": record["words"],
        "least": record["least"],
        "size": SIZE,
        "mixtures": (*MIXTURES, "all"),
        "equal": EQUAL,
        "labels": LABELS,
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
        before = read_json(RECORD) if RECORD.exists() else {"words": TOP, "networks": {}}
        rows = before["networks"] if before["words"] == TOP else {}  # else measured with other words
        for folder in sorted(asked.runs.iterdir()):
            if (folder / "run.json").exists() and folder.name not in rows and not folder.name.startswith("vanilla"):
                rows[folder.name] = measure(rnnlens.load(folder), people, phrases, known)
                print(folder.name, {key: rows[folder.name][key] for key in ("r_phrases", "r_strength")}, flush=True)
                write_json(RECORD, {"words": TOP, "least": LEAST, "networks": rows})
    record = read_json(RECORD)
    write_page(TEMPLATE, PAGE, **page_values(record))
    write_figure(figure(record["networks"]), FIGURE)


if __name__ == "__main__":
    main()
