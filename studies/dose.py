"""What the gain of the modifier subspace does to accuracy and to modification, in the packaged gated networks.

    python -m studies.dose --corpus CORPUS       # → docs/results/dose.json, docs/dose.md and its figure: half an hour
    python -m studies.dose zoo:reviews-gru --corpus CORPUS --package   # and the packaged run's results.json
    python -m studies.dose                       # the page and its figure from the record

CORPUS is the corpus that the packaged networks were trained on. The record has IMDB's test reviews; a packaged run gets
what `rnnlens analyze RUN --corpus CORPUS --reviews 1000` measures.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import rnnlens
from rnnlens.analysis.checks import rounded
from rnnlens.analysis.perturb import other_words, sample
from rnnlens.common.display import signed
from rnnlens.common.files import read_json, write_json
from rnnlens.context import Reviews, dose_response
from rnnlens.context.dose_response import random_directions
from rnnlens.context.modifiers import Modifiers
from rnnlens.figures import write_figure
from rnnlens.figures.dose_response import draw_accuracy, draw_modification
from rnnlens.figures.style import legend_below, panels, styled
from rnnlens.networks import Network
from rnnlens.runs import zoo
from studies.pages import write_page

RECORD, PAGE = Path("docs/results/dose.json"), Path("docs/dose.md")
FIGURE, TEMPLATE = Path("docs/images/dose.svg"), Path(__file__).with_name("dose.md")
NETWORKS = ("zoo:reviews-gru", "zoo:reviews-lstm", "zoo:reviews-ugrnn")
SOURCE, REVIEWS, PACKAGED, DRAWS = "imdb", 2_000, 1_000, 3
SHOWN = (0.0, 0.5, 1.5, 2.0)  # gains in the page's table


def measure(run: rnnlens.Run, split: Any, others: int = DRAWS) -> dict[str, Any]:
    """The dose-response of a run's network on a split, as `rnnlens analyze` measures it."""
    analysis = rnnlens.analyze(run)
    network, modifiers, subspace = analysis.network, analysis.modifiers, analysis.subspace
    steering = dose_response(
        network,
        subspace,
        modifiers,
        Reviews.to_read(split, network, run.config.max_words),
        draws=DRAWS,
        others=other_words(network, analysis.line, modifiers, subspace, analysis.seed, draws=others),
        seed=analysis.seed,
    )
    return steering.to_dict()


def written(run: rnnlens.Run) -> dict[str, list[float]]:
    """The share of what words write that lies in the modifier subspace and in each draw of the controls."""
    analysis = rnnlens.analyze(run)
    network, modifiers, subspace, seed = analysis.network, analysis.modifiers, analysis.subspace, analysis.seed
    words = other_words(network, analysis.line, modifiers, subspace, seed, draws=DRAWS)
    directions = {
        "subspace": [subspace.components],
        "random": random_directions(network, subspace, DRAWS, seed),
        "others": [other.take(subspace.rank).components for other in words],
    }
    return {name: [written_share(network, modifiers, V) for V in some] for name, some in directions.items()}


@torch.no_grad()
def written_share(network: Network, modifiers: Modifiers, V: Tensor) -> float:
    """The share of what words write, beyond a blank input at h*, that lies along the orthonormal rows of V (R, N): of
    the mean squared length over all words of the table, each weighted by its count."""
    blank = network.step(modifiers.line.h_star)

    def squares(h_mod: Tensor) -> Tensor:
        written = (h_mod - blank).double()
        return torch.stack([part.square().sum(1) for part in (written @ V.double().t(), written)], 1)

    both = modifiers.places(squares)
    weight = torch.ones(len(modifiers)) if modifiers.counts is None else modifiers.counts
    along, whole = (weight.to(both).unsqueeze(1) * both).sum(0)
    return float(along / whole)


def of_source(corpus: Any, name: str, most: int, seed: int = 0) -> Any:
    """Test reviews of one source, drawn at random."""
    if name not in corpus.sources:
        raise SystemExit(
            f"the corpus has the sources {', '.join(corpus.sources) or 'none'}: expected {name} among them"
        )
    rows = np.flatnonzero(corpus.test.sources == corpus.sources.index(name))
    return sample(corpus.test.take(rows), most, seed)


def package(run: rnnlens.Run, corpus: Any) -> None:
    """Store the dose-response in a packaged run, on the test reviews of its other experiments."""
    if not run.path.resolve().is_relative_to(zoo.HERE.resolve()):
        raise SystemExit(f"{run.path} is not a packaged run: expected a name such as zoo:reviews-gru")
    steering = measure(run, sample(corpus.test, PACKAGED, 0), others=1)
    path = run.path / "results.json"
    write_json(path, {**read_json(path), "steering": rounded({"split": "test", **steering})})


def page_values(record: dict[str, Any]) -> dict[str, Any]:
    """What the page says of each network: rows of its table, shares of what words write, and what controls modify."""
    networks = {name: _summary(steering) for name, steering in record["networks"].items()}
    controls = [
        dose["modification"]
        for steering in record["networks"].values()
        for control in ("random", "others")
        for draw in steering[control]
        for dose in draw
    ]
    about = {name: record[name] for name in ("reviews", "words", "draws")}
    return {"networks": networks, "least": min(controls), "most": max(controls), "signed": signed, **about}


def _summary(steering: dict[str, Any]) -> dict[str, Any]:
    """Differences in accuracy from gain 1, in points: of the steered network, and the means of the controls."""
    rows = {}
    for dose in (dose for dose in steering["doses"] if dose["gain"] in SHOWN):
        change = dose["accuracy"]
        rows[dose["gain"]] = {
            "modification": dose["modification"],
            "change": 100 * change["difference"],
            "interval": [100 * edge for edge in change["interval"]],
            "recentred": 100 * change["recentred"]["difference"],
            **{control: _mean_change(steering[control], dose["gain"]) for control in ("random", "others")},
        }
    accuracy = 100 * steering["doses"][0]["accuracy"]["before"]
    far = [-100 * dose["accuracy"]["difference"] for draw in steering["random"] for dose in draw if dose["gain"] == 2]
    written = {name: 100 * float(np.mean(shares)) for name, shares in steering["written"].items()}
    return {"rows": rows, "accuracy": accuracy, "modifiers": steering["words"], "written": written, "far": sorted(far)}


def _mean_change(draws: list[Any], gain: float) -> float:
    """The mean difference in accuracy over the draws of a control at a gain, in points."""
    return 100 * float(
        np.mean([dose["accuracy"]["difference"] for draw in draws for dose in draw if dose["gain"] == gain])
    )


def figure(record: dict[str, Any]) -> Any:
    """A column for each network: accuracy above, modification below."""
    names, networks = list(record["networks"]), list(record["networks"].values())
    titles = [*names, *[""] * len(names)]
    drawn = panels(titles, rows=2, cols=len(names), shared_xaxes=True, horizontal_spacing=0.05, vertical_spacing=0.06)
    for column, steering in enumerate(networks, start=1):
        draw_accuracy(drawn, steering, 1, column, legend=column == 1)
        draw_modification(drawn, steering, 2, column)
        drawn.update_xaxes(title_text="gain", row=2, col=column)
    drawn.update_yaxes(range=[40, 94], row=1)
    drawn.update_yaxes(range=[-0.1, 2.1], row=2)
    styled(drawn, "", "", "accuracy (%)", height=620)
    drawn.update_layout(title=None, margin={"t": 40}, width=1000)
    drawn.update_xaxes(title_text="", row=1)
    drawn.update_yaxes(title_text="modification", row=2, col=1)
    drawn.update_yaxes(gridcolor="#edf2f7", zeroline=False)
    return legend_below(drawn, -0.13, 450, 120, top=0).update_layout(legend_traceorder="reversed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", default=NETWORKS)
    parser.add_argument("--corpus", type=Path, help="the prepared corpus; without it, the page is made from the record")
    parser.add_argument("--reviews", type=int, default=REVIEWS, help="most test reviews to read")
    parser.add_argument("--package", action="store_true", help="store the results in the packaged runs only")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    if asked.corpus is not None:
        corpus = rnnlens.load_corpus(asked.corpus)
        found, reviews = {}, 0
        for name in asked.runs:
            print(name, flush=True)
            run = rnnlens.load(name)
            own = run.in_own_words(corpus)
            if asked.package:
                package(run, own)
                continue
            split = of_source(own, SOURCE, asked.reviews)
            found[name.removeprefix("zoo:")] = {**measure(run, split), "written": written(run)}
            reviews = len(split)
        if not asked.package:
            words = run.config.max_words
            record = {"source": SOURCE, "reviews": reviews, "words": words, "draws": DRAWS, "networks": found}
            write_json(RECORD, rounded(record))
    if not asked.package:
        record = read_json(RECORD)
        write_figure(figure(record), FIGURE)
        write_page(TEMPLATE, PAGE, **page_values(record))


if __name__ == "__main__":
    main()
