"""When does a network learn what? Snapshots of trainings that differ only in their seed.

    python -m studies.film RUN0 RUN1 RUN2     # → docs/results/film.json, docs/film.md and its figure
    python -m studies.film                    # page and figure from the record

The runs are trained with `--snapshots`. An ability appears at the first snapshot from which on it always holds
(`rnnlens.runs.abilities`). Means and intervals over seeds are those of the logarithm of the step.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t

import rnnlens
from rnnlens.common.files import read_json, write_json
from rnnlens.context.known import INTENSIFIERS, NEGATORS, NEUTRAL
from rnnlens.figures import write_figure
from rnnlens.figures.style import GREY, INK, look_of_kind, styled
from studies.pages import write_page

RECORD, PAGE = Path("docs/results/film.json"), Path("docs/film.md")
FIGURE, TEMPLATE = Path("docs/images/film.svg"), Path(__file__).with_name("film.md")
LATER = ("“not”", "“very”", "order")  # abilities whose delay after valence the page names
SUBTITLE = "a mark for each seed; line: 95 % interval of the mean over seeds"


def measure(runs: list[rnnlens.Run]) -> dict[str, Any]:
    """The abilities and the curves of every run."""
    first = runs[0].about
    for run in runs[1:]:
        same = [{**about["config"], "seed": None} for about in (first, run.about)]
        if same[0] != same[1] or first["corpus"] != run.about["corpus"] or first["network"] != run.about["network"]:
            raise rnnlens.RnnlensError(f"{run.path} and {runs[0].path} differ in more than their seed")
    rows = [row_of(run) for run in runs]
    return {
        "what": "snapshots of trainings that differ in their seed",
        "network": first["network"],
        "corpus": first["corpus"].get("source"),
        "steps": rows[0]["steps"][-1],
        "runs": rows,
    }


def row_of(run: rnnlens.Run) -> dict[str, Any]:
    """The curves and abilities of one run."""
    film = run.snapshots
    words, texts = film[-1].words, film[-1].readings
    return {
        "seed": run.config.seed,
        "seconds": round(run.history[-1]["seconds"]),
        "documents": film.documents,
        "split": film.split,
        "steps": film.steps,
        "accuracy": [at.accuracy for at in film],
        "shuffled": [at.shuffled for at in film],
        "explained": [None if at.line is None else at.line.explained for at in film],
        "overlap": [None if at.subspace is None else at.subspace.overlap for at in film],
        "strengths": {word: [at.words[word][:2] if word in at.words else None for at in film] for word in words},
        "readings": {text: [at.readings.get(text) for at in film] for text in texts},
        "abilities": {
            one.said: {"step": one.step, "after": one.after, "means": one.means, "word": one.is_word}
            for one in film.abilities
        },
    }


def over_seeds(record: dict[str, Any]) -> list[dict[str, Any]]:
    """For each ability: its step in every run, and the geometric mean with its 95 % interval, the earliest first.
    Abilities that some run never learns have no mean, and come last."""
    rows = []
    for name, about in record["runs"][0]["abilities"].items():
        found = [run["abilities"].get(name, {}).get("step") for run in record["runs"]]
        steps = [step for step in found if step is not None]
        row: dict[str, Any] = {"name": name, "means": about["means"], "word": about["word"], "steps": found}
        never = len(found) - len(steps)
        over = {} if never else interval([math.log(max(1, step)) for step in steps])
        rows.append({**row, "never": never, **over})
    return sorted(rows, key=lambda row: (row["never"], row.get("mean", math.inf)))


def interval(logs: list[float]) -> dict[str, float]:
    """The geometric mean and its 95 % interval (t distribution), from logarithms."""
    values = np.array(logs)
    half = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0.0
    places = {"mean": values.mean(), "low": values.mean() - half, "high": values.mean() + half}
    return {name: math.exp(place) for name, place in places.items()}


def later(record: dict[str, Any], first: str, second: str) -> dict[str, Any]:
    """How many times as late the second ability is as the first, paired within runs."""
    steps = [[run["abilities"].get(name, {}).get("step") for name in (first, second)] for run in record["runs"]]
    row: dict[str, Any] = {"first": first, "second": second}
    if not all(step for pair in steps for step in pair):
        return row
    return {**row, **interval([math.log(late / early) for early, late in steps])}


def figure(record: dict[str, Any]) -> Any:
    """Abilities from the earliest to the latest, a mark for every seed, mean and interval where all learn it."""
    from plotly.graph_objects import Figure

    rows = [row for row in over_seeds(record) if row["never"] < len(row["steps"])]
    names = [row["name"] for row in rows]
    drawn = Figure()
    for row in rows:
        seen = [step for step in row["steps"] if step is not None]
        word = row["name"].strip("“”") if row["word"] else ""
        kind = "negator" if word in NEGATORS else "intensifier" if word in INTENSIFIERS else "none"
        look = look_of_kind(kind)
        if "mean" in row:
            low, high = max(row["low"], 1), min(row["high"], record["steps"])
            drawn.add_scatter(
                x=[low, high], y=[row["name"]] * 2, mode="lines", line={"color": GREY, "width": 1.5}, showlegend=False
            )
            drawn.add_scatter(
                x=[row["mean"]], y=[row["name"]], mode="markers", showlegend=False,
                marker={"symbol": "line-ns-open", "size": 14, "color": INK},
            )  # fmt: skip
        drawn.add_scatter(
            x=[max(1, step) for step in seen], y=[row["name"]] * len(seen), mode="markers", showlegend=False,
            marker={"symbol": look.symbol, "size": 8, "color": look.colour, "opacity": 0.8},
        )  # fmt: skip
    drawn = styled(drawn, "When each ability appears", "training step", "", SUBTITLE)
    drawn.update_xaxes(type="log", range=[0, math.log10(record["steps"] * 1.15)])
    drawn.update_yaxes(categoryorder="array", categoryarray=names[::-1])
    return drawn.update_layout(width=900, height=140 + 24 * len(names), margin={"l": 130})


def page_values(record: dict[str, Any]) -> dict[str, Any]:
    """What the template shows of the record."""
    rows = over_seeds(record)
    return {
        "record": record,
        "rows": rows,
        "by_name": {row["name"]: row for row in rows},
        "controls": [f"“{word}”" for word in NEUTRAL],
        "pairs": [later(record, "valence", name) for name in LATER],
        "seeds": len(record["runs"]),
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
