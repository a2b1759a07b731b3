r"""Where the recurrences of today keep *not* and *very*: accuracy, strengths against people's, and parts of the state.

    python -m studies.recurrences_training REVIEWS --out RUNS                   # 42 networks
    python -m studies.recurrences RUNS --corpus REVIEWS --trees sst/train.txt   # → docs/results/recurrences.json
    python -m studies.recurrences                                               # docs/recurrences.md from the record

REVIEWS is the corpus of `studies.recipe`. Half of the networks are trained on shuffled labels; these took 3 minutes on
an H200, 18 at once. With --nulls only they are measured again.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch

import rnnlens
from rnnlens.analysis.behaviour import behaviour
from rnnlens.analysis.checks import rounded
from rnnlens.analysis.locate import locate, states_of
from rnnlens.analysis.people import packaged, people_say
from rnnlens.analysis.scores import correlate
from rnnlens.analysis.trees import read_trees
from rnnlens.common.files import read_json, write_json
from rnnlens.context import Reviews, final_logits
from rnnlens.context.finding import find_modifiers
from rnnlens.context.subspace import random_subspace
from rnnlens.figures import write_figure
from rnnlens.networks.architectures import parts_of
from studies import recurrences_figures
from studies.kinds_page import mean_of
from studies.pages import write_page

RECORD, PAGE = Path("docs/results/recurrences.json"), Path("docs/recurrences.md")
TEMPLATE, IMAGES = Path(__file__).with_name("recurrences.md"), Path("docs/images")
KINDS = {
    "gru-1": "GRU",
    "mingru-1": "minGRU",
    "conv-1": "minGRU, convolution over 4 words",
    "mingru-2": "minGRU, two layers",
    "rglru-2": "RG-LRU, two layers",
    "mamba-1": "Mamba",
    "mamba-2": "Mamba, two layers",
}
INTENSIFIERS = ("very", "extremely", "highly", "absolutely")
WORDS = ("not", "never", *INTENSIFIERS, "the")
STATES, PROBES, STARTS = 24, 20, 1_000
SOURCE, TEXTS = "yelp-sentences", 2_000


def measure(network: Any, corpus: Any, trees: Any) -> dict[str, Any]:
    """Strengths of words on people's phrases and at visited states, with the parts of the state that they are in."""
    judged = behaviour(network, trees, WORDS)
    on_phrases = dict(zip(judged.words, judged.strength().tolist(), strict=True))
    states = rnnlens.visited_states(network, corpus.validation, n=STATES)
    probes = rnnlens.Probes.from_corpus(corpus).known_to(network)
    found = rnnlens.attribute(network, states, list(WORDS), probes.some(PROBES), parts=parts_of(network.cell))
    location = locate(network, states_of(network, None, corpus, STARTS, 0))
    table = find_modifiers(network, location.line, top=5_000, probes=probes)
    people = correlate(dict(zip(table.words, table.strength.tolist(), strict=True)), packaged())
    return {
        "phrases": {word: on_phrases[word] for word in WORDS if word in on_phrases},
        "attribution": found.to_dict(),
        "people": people.to_dict(),
        "clear": len(table.selected),
        "line": location.line.explained,
    }


def context(network: Any, corpus: Any) -> dict[str, Any]:
    """What `analyze` says of a network's modifiers, and accuracy on short texts (SOURCE's) as they are, shuffled, and
    without three directions of the state: those of modifiers, and random ones."""
    analysis = rnnlens.analyze(network, corpus, accuracy=False, top=3_000, starts=500)
    found = analysis.results
    split = corpus.test.take(np.flatnonzero(corpus.test.sources == corpus.sources.index(SOURCE))[:TEXTS])
    texts, V = Reviews.to_read(split, network), analysis.subspace
    draws = [random_subspace(network.size, 3, torch.Generator().manual_seed(seed)).float() for seed in range(3)]
    changed = {
        "removed": [final_logits(rnnlens.project_out(network, V), texts)],
        "random": [final_logits(rnnlens.project_out(network, draw), texts) for draw in draws],
        "shuffled": [final_logits(network, texts, shuffle=0)],
    }
    right = float(np.mean((final_logits(network, texts) > 0) == texts.labels))
    costs = {
        name: float(np.mean([np.mean((logits > 0) == texts.labels) for logits in some])) - right
        for name, some in changed.items()
    }
    barcodes = {word: found["barcodes"][word]["share"] for word in ("not", "very") if word in found["barcodes"]}
    return {
        "right": right, "costs": costs, "barcodes": barcodes, "timescales": found["timescales"]["mean"],
        "bilinear": found["bilinear"]["held_out"][:3], "subspace": found["subspace"]["explained_variance"][:3],
    }  # fmt: skip


def networks(runs: Path, corpus: Any, trees: Any) -> dict[str, Any]:
    """The measures of each network that was trained on true labels."""
    found = {}
    for kind in KINDS:
        for path in sorted(runs.glob(f"{kind}-[0-9]")):
            run = rnnlens.load(path)
            test = {name: part["accuracy"] for name, part in run.accuracy["test_sources"].items()}
            known = {"test": test, "context": context(run.network, corpus)}
            found[path.name] = {**known, **measure(run.network, corpus, trees)}
            shown = {word: round(x, 2) for word, x in found[path.name]["phrases"].items()}
            print(path.name, shown, found[path.name]["people"]["r"], flush=True)
    return found


def nulls(runs: Path, trees: Any) -> dict[str, list[dict[str, Any]]]:
    """Strengths on people's phrases in networks that were trained on shuffled labels, by kind."""
    found: dict[str, list[dict[str, Any]]] = {}
    for kind in KINDS:
        for path in sorted(runs.glob(f"{kind}-null-[0-9]")):
            judged = behaviour(rnnlens.load(path).network, trees, WORDS)
            phrases = dict(zip(judged.words, judged.strength().tolist(), strict=True))
            found.setdefault(kind, []).append({"phrases": phrases})
            print(path.name, {word: round(x, 2) for word, x in phrases.items()}, flush=True)
    return found


def page_values(record: dict[str, Any]) -> dict[str, Any]:
    """Means over seeds, with half of their 95 % intervals."""
    rows = {}
    for kind, title in KINDS.items():
        runs = [record["networks"][f"{kind}-{seed}"] for seed in range(3) if f"{kind}-{seed}" in record["networks"]]
        null = record["nulls"][kind]
        parts = runs[0]["attribution"]["parts"]
        shares = {
            word: [mean_of([run["attribution"]["words"][word]["shares"][p] for run in runs]) for p in range(len(parts))]
            for word in ("not", "never", "very", "extremely")
        }
        rows[title] = {
            "imdb": mean_of([100 * run["test"]["imdb"] for run in runs], 1, sign=False),
            "sentences": mean_of([100 * run["test"]["yelp-sentences"] for run in runs], 1, sign=False),
            "r": mean_of([run["people"]["r"] for run in runs], sign=False),
            "phrases": {word: mean_of([run["phrases"][word] for run in runs]) for word in WORDS[:4]},
            "null": {word: mean_of([one["phrases"][word] for one in null]) for word in ("not", "very", "the")},
            "intensifiers": mean_of([float(np.mean([run["phrases"][word] for word in INTENSIFIERS])) for run in runs]),
            "parts": parts,
            "shares": shares,
            **_context([run["context"] for run in runs]),
        }
    return {"rows": rows}


def _context(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over seeds of what `context` measured, costs in points of accuracy."""
    return {
        "barcodes": {word: mean_of([one["barcodes"][word] for one in found]) for word in ("not", "very")},
        "timescales": [mean_of([one["timescales"][p] for one in found], 1, sign=False) for p in range(3)],
        "bilinear": [mean_of([100 * one["bilinear"][p] for one in found], 0, sign=False) for p in (0, 2)],
        "costs": {name: mean_of([100 * one["costs"][name] for one in found], 1) for name in found[0]["costs"]},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="?")
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--trees", type=Path)
    parser.add_argument(
        "--nulls", action="store_true", help="measure only the networks that were trained on shuffled labels"
    )
    asked = parser.parse_args()
    torch.set_num_threads(1)
    if asked.runs is not None:
        corpus, trees = rnnlens.load_corpus(asked.corpus), read_trees(asked.trees)
        record = dict(read_json(RECORD)) if asked.nulls else {"networks": networks(asked.runs, corpus, trees)}
        write_json(RECORD, rounded({"networks": record["networks"], "nulls": nulls(asked.runs, trees)}))
    record = read_json(RECORD)
    people = {word: said[0] for word in recurrences_figures.SHOWN if (said := people_say(word)) is not None}
    write_figure(recurrences_figures.strengths(record, KINDS, people), IMAGES / "recurrences-strengths.svg")
    write_figure(recurrences_figures.parts(record, KINDS), IMAGES / "recurrences-parts.svg")
    write_page(TEMPLATE, PAGE, **page_values(record))


if __name__ == "__main__":
    main()
