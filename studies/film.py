"""When does a network learn what? Snapshots of trainings that differ only in their seed.

    python -m studies.film RUN …     # → docs/results/film.json, docs/film.md and its figure
    python -m studies.film           # page and figure from the record

The runs are trained with `--snapshots`, several seeds of one architecture or more. An ability appears at the first
snapshot from which on it always holds (`rnnlens.runs.abilities`). Means and intervals over seeds are those of the
logarithm of the step.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t

import rnnlens
from rnnlens.analysis.snapshot import STARTS
from rnnlens.common.files import read_json, write_json
from rnnlens.context.known import NEUTRAL
from rnnlens.figures import write_figure
from rnnlens.figures.style import COLOURS, SYMBOLS, styled
from studies.pages import write_page

RECORD, PAGE = Path("docs/results/film.json"), Path("docs/film.md")
FIGURE, TEMPLATE = Path("docs/images/film.svg"), Path(__file__).with_name("film.md")
SUBTITLE = "marks: mean over seeds, with its 95 % interval; dots: each seed"
HALVED = ("very", "not", "extremely", "never")  # words whose strengths are compared half-way
Record = dict[str, Any]


def measure(runs: list[rnnlens.Run]) -> Record:
    """The abilities and the curves of every run, by architecture."""
    archs: dict[str, list[rnnlens.Run]] = {}
    for run in runs:
        archs.setdefault(run.about["network"]["arch"], []).append(run)
    for group in archs.values():
        for run in group[1:]:
            if settings(run) != settings(group[0]):
                raise rnnlens.RnnlensError(f"{run.path} and {group[0].path} differ in more than their seed")
    rows = {arch: [row_of(run) for run in group] for arch, group in archs.items()}
    first = next(iter(rows.values()))[0]
    return {
        "what": "snapshots of trainings that differ in their seed",
        "hidden": runs[0].about["network"]["hidden"],
        "corpus": runs[0].about["corpus"].get("source"),
        "steps": first["steps"],
        "documents": first["documents"],
        "split": first["split"],
        "archs": rows,
    }


def settings(run: rnnlens.Run) -> list[Any]:
    return [{**run.about["config"], "seed": None}, run.about["corpus"]["fingerprint"], run.about["network"]]


def row_of(run: rnnlens.Run) -> Record:
    """The curves and abilities of one run."""
    film = run.snapshots
    words, texts = film[-1].words, film[-1].readings
    return {
        "seed": run.config.seed,
        "documents": film.documents,
        "split": film.split,
        "steps": film.steps,
        "accuracy": [at.accuracy for at in film],
        "shuffled": [at.shuffled for at in film],
        "explained": [None if at.line is None else round(at.line.explained, 4) for at in film],
        "overlap": [None if at.subspace is None else round(at.subspace.overlap, 4) for at in film],
        "strengths": {
            word: [None if word not in at.words else round(at.words[word].strength, 3) for at in film] for word in words
        },
        "readings": {text: [round(at.readings[text], 2) for at in film] for text in texts},
        "chance": film.chance,
        "abilities": {
            one.said: {"step": one.step, "after": one.after, "until": one.until, "means": one.means}
            for one in film.abilities
        },
    }


def over_seeds(rows: list[Record]) -> dict[str, Record]:
    """For each ability: its step in every run, and the geometric mean with its 95 % interval, the earliest first.
    Abilities that some run never learns have no mean, and come last."""
    found = {}
    for name, about in rows[0]["abilities"].items():
        steps = [row["abilities"].get(name, {}).get("step") for row in rows]
        until = [row["abilities"].get(name, {}).get("until") for row in rows]
        never = steps.count(None)
        over = {} if never else within([row["abilities"][name] for row in rows])
        found[name] = {"means": about["means"], "steps": steps, "until": until, "never": never, **over}
    return dict(sorted(found.items(), key=lambda item: (item[1]["never"], item[1].get("mean", math.inf))))


def interval(logs: list[float]) -> dict[str, float]:
    """The geometric mean and its 95 % interval (t distribution), from logarithms."""
    values = np.array(logs)
    half = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0.0
    places = {"mean": values.mean(), "low": values.mean() - half, "high": values.mean() + half}
    return {name: math.exp(place) for name, place in places.items()}


def within(abilities: list[Record]) -> dict[str, float]:
    """The geometric mean of the snapshots at which an ability appears, and an interval that also covers the time since
    the snapshot before."""
    late, early = ([math.log(max(1, one[name] or 0)) for one in abilities] for name in ("step", "after"))
    return {**interval(late), "low": interval(early)["low"]}


def half_way(rows: list[Record]) -> dict[str, Record]:
    """The step from which on a measure is at least half of its final value, for measures that can be compared so: the
    gain in accuracy with shuffled words (valence) and as written, and strengths."""
    curves = {
        "valence": [[value - row["chance"] for value in row["shuffled"]] for row in rows],
        "accuracy": [[value - row["chance"] for value in row["accuracy"]] for row in rows],
        **{f"“{word}”": [[value or 0.0 for value in row["strengths"][word]] for row in rows]
           for word in HALVED},
    }  # fmt: skip
    steps = {
        name: [half_step(row["steps"], values) for row, values in zip(rows, some, strict=True)]
        for name, some in curves.items()
    }
    return {
        name: {
            "steps": some,
            **interval([math.log(step) for step in some]),
            "factor": interval([math.log(step / first) for step, first in zip(some, steps["valence"], strict=True)]),
        }
        for name, some in steps.items()
    }


def half_step(steps: list[int], values: list[float]) -> float:
    """The step from which on a measure is at least half of its last value, interpolated between two snapshots."""
    shares = [value / values[-1] for value in values]
    before = max(k for k, share in enumerate(shares) if share < 0.5)
    along = (0.5 - shares[before]) / (shares[before + 1] - shares[before])
    return steps[before] + along * (steps[before + 1] - steps[before])


def extremes(row: Record) -> Record:
    """What a seed's curves do between beginning and end: *very* overshoots, “not bad” recovers, the line thickens."""
    very = [value or 0.0 for value in row["strengths"]["very"]]
    not_bad, explained = row["readings"]["not bad"], [share or 0.0 for share in row["explained"]]
    middle = [share for step, share in zip(row["steps"], explained, strict=True) if 500 <= step <= 2_000]
    return {
        "seed": row["seed"],
        "very": (max(very), row["steps"][int(np.argmax(very))], very[-1]),
        "not_bad": (min(not_bad), row["steps"][int(np.argmin(not_bad))], not_bad[-1]),
        "line": (sum(middle) / max(1, len(middle)), explained[-1]),
    }


def figure(record: Record) -> Any:
    """Abilities from the earliest to the latest in the first architecture; one look for each architecture."""
    from plotly.graph_objects import Figure

    every = {arch: over_seeds(rows) for arch, rows in record["archs"].items()}
    names = [name for name, row in next(iter(every.values())).items() if row["never"] < len(row["steps"])]
    drawn, last = Figure(), record["steps"][-1]
    for k, (arch, found) in enumerate(every.items()):
        colour, shift = COLOURS[k + 1], 0.22 * ((len(every) - 1) / 2 - k)
        heights = {name: len(names) - 1 - i + shift for i, name in enumerate(names)}
        learned = {name: found[name] for name in names if "mean" in found[name]}
        means = [row["mean"] for row in learned.values()]
        drawn.add_scatter(
            x=means, y=[heights[name] for name in learned], mode="markers", name=arch.upper(),
            marker={"symbol": SYMBOLS[k], "size": 9, "color": colour},
            error_x={
                "type": "data", "symmetric": False, "color": colour, "thickness": 1.5, "width": 0,
                "array": [min(row["high"], last) - row["mean"] for row in learned.values()],
                "arrayminus": [row["mean"] - max(1, row["low"]) for row in learned.values()],
            },
        )  # fmt: skip
        dots = [(max(1, step), heights[name]) for name in names for step in found[name]["steps"] if step is not None]
        drawn.add_scatter(
            x=[x for x, _ in dots], y=[y for _, y in dots], mode="markers", showlegend=False,
            marker={"size": 5, "color": colour, "opacity": 0.45},
        )  # fmt: skip
    drawn = styled(drawn, "When each ability appears", "training step", "", SUBTITLE)
    drawn.update_xaxes(type="log", range=[math.log10(100), math.log10(last * 1.1)])
    drawn.update_yaxes(tickvals=[len(names) - 1 - i for i in range(len(names))], ticktext=names, zeroline=False)
    return drawn.update_layout(width=900, height=160 + 30 * len(names), margin={"l": 130})


def page_values(record: Record) -> Record:
    """What the template shows of the record."""
    found = {arch: over_seeds(rows) for arch, rows in record["archs"].items()}
    first = next(iter(record["archs"]))
    return {
        "record": record,
        "found": found,
        "first": first,
        "half": half_way(record["archs"][first]),
        "extremes": [extremes(row) for row in record["archs"][first]],
        "words": [f"“{word}”" for word in record["archs"][first][0]["strengths"]],
        "controls": [f"“{word}”" for word in NEUTRAL],
        "seeds": len(record["archs"][first]),
        "starts": STARTS,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", type=Path, help="runs that were trained with --snapshots")
    asked = parser.parse_args()
    if asked.runs:
        write_json(RECORD, measure([rnnlens.load(path) for path in asked.runs]))
    record = read_json(RECORD)
    write_figure(figure(record), FIGURE)
    write_page(TEMPLATE, PAGE, **page_values(record))


if __name__ == "__main__":
    main()
