"""What teaches a network to modify: the recipe on several mixtures of text, measured against what people say of words.

    python -m studies.recipe CORPUS --out DIR --mixtures
    python -m studies.teaching DIR --trees sst/train.txt [--lexicon modifiers.csv]   # → docs/results/teaching.json
    python -m studies.teaching                                                       # docs/teaching.md and figure

The trees are the Stanford Sentiment Treebank's; known modifiers are VADER's and those of the lexicon.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jinja2 import Environment, StrictUndefined

import rnnlens
from rnnlens.analysis.people import judged_in
from rnnlens.analysis.trees import read_trees
from rnnlens.artifacts import atomic_file
from rnnlens.context.effects import effects
from rnnlens.experiments.analyze import find_line
from rnnlens.figures import write_figure

RECORD, PAGE = Path("docs/results/teaching.json"), Path("docs/teaching.md")
FIGURE, TEMPLATE = Path("docs/images/teaching.svg"), Path(__file__).with_name("teaching.md")
ORDER = ("imdb", "yelp", "amazon", "yelp-sentences", "phrases", "three", "short", "all")
TOP, LEAST, PHRASES, LISTED = 5_000, 20, 2_000, 20


def people_and_phrases(path: Path) -> tuple[dict[str, float], dict[str, int]]:
    """People's strengths of words with enough phrases, and the label of every phrase of at most ten words."""
    trees = read_trees(path)
    people = judged_in(trees, LEAST)
    short = (phrase for phrase in trees.phrases if phrase.end - phrase.start <= 10)
    phrases = {trees.text(phrase).lower(): phrase.label for phrase in short}
    return dict(zip(people.words, people.strength().tolist(), strict=True)), phrases


def known_modifiers(lexicons: list[Path]) -> set[str]:
    from vaderSentiment.vaderSentiment import BOOSTER_DICT, NEGATE

    rows = [row for path in lexicons for row in csv.reader(path.read_text(encoding="utf-8").splitlines())]
    return {word.lower() for word in (*NEGATE, *BOOSTER_DICT, *(cell for row in rows for cell in row))}


@torch.no_grad()
def measure(run: rnnlens.Run, people: dict[str, float], phrases: dict[str, int], known: set[str]) -> dict[str, Any]:
    """Accuracy by source; agreement with people on phrases and on words; known modifiers in the lists."""
    network = run.network
    _, line, _, _ = find_line(network, rnnlens.visited_states(network, n=3_000))
    words = rnnlens.find_modifiers(network, line, top=TOP)
    e = words.probes.inputs(network)
    usual = words.probes.contrast(effects(network, line.h_star, e))
    ratio = words.probes.contrast(effects(network, words.h_mod, e)) / usual - 1
    strength = dict(zip(words.words, ratio.tolist(), strict=True))
    shared = [word for word in people if word in strength]
    some = sorted(phrases)[:: max(1, len(phrases) // PHRASES)]
    readings = [network.read(text)[-1][1] for text in some]
    negators = words.strongest(LISTED, ("negator", "diminisher"))
    by_norm = words.strongest(50, by="norm")
    return {
        "test": {name: part["accuracy"] for name, part in run.results["accuracy"]["test_sources"].items()},
        "r_phrases": float(np.corrcoef(readings, [phrases[text] for text in some])[0, 1]),
        "r_strength": float(np.corrcoef([people[w] for w in shared], [strength[w] for w in shared])[0, 1]),
        "words": len(shared),
        "known_negators": sum(word in known for word in negators) / max(1, len(negators)),
        "known_by_norm": sum(word in known for word in by_norm),
        "strength": {word: strength[word] for word in ("not", "never", "very", "extremely", "the") if word in strength},
    }


def summary(rows: dict[str, Any]) -> list[dict[str, Any]]:
    """One row for each architecture and mixture: mean over seeds, and a 95 % interval (t, with so few seeds wide)."""
    from scipy.stats import t

    groups: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for name, row in rows.items():
        arch, rest = name.split("-", 1)
        groups[arch, rest.rsplit("-", 1)[0]].append(row)
    found = []
    for (arch, mixture), group in sorted(groups.items(), key=lambda item: (item[0][0], ORDER.index(item[0][1]))):
        entry: dict[str, Any] = {"arch": arch, "mixture": mixture, "seeds": len(group)}
        for key in ("imdb", "r_phrases", "r_strength", "known_negators", "known_by_norm"):
            values = np.array([100 * row["test"]["imdb"] if key == "imdb" else row[key] for row in group])
            half = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else None
            entry[key] = (float(values.mean()), None if half is None else float(half))
        found.append(entry)
    return found


def figure(rows: dict[str, Any]) -> Any:
    """Agreement with people against the mixture, a dot for each network."""
    import plotly.graph_objects as go

    drawn = go.Figure()
    for arch, shade in (("gru", "#1f5fa8"), ("lstm", "#c05020")):
        mine = {name: row for name, row in rows.items() if name.startswith(f"{arch}-")}
        if mine:
            drawn.add_trace(go.Scatter(
                x=[name.split("-", 1)[1].rsplit("-", 1)[0] for name in mine],
                y=[row["r_strength"] for row in mine.values()],
                mode="markers", name=arch.upper(), marker={"color": shade, "size": 10, "opacity": 0.75},
            ))  # fmt: skip
    drawn.update_layout(template="plotly_white", width=760, height=420, margin={"l": 60, "r": 10, "t": 20, "b": 60})
    drawn.update_xaxes(categoryorder="array", categoryarray=list(ORDER), title="trained on")
    drawn.update_yaxes(title="correlation of strengths with people's", range=[0, 1])
    return drawn


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
    rows = json.loads(RECORD.read_text())["networks"]
    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    page = environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        rows=summary(rows), top=TOP, least=LEAST
    )
    with atomic_file(PAGE) as temporary:
        temporary.write_text(page, encoding="utf-8")
    write_figure(figure(rows), FIGURE)


if __name__ == "__main__":
    main()
