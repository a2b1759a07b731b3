"""The method against languages whose truth is known: trains, scores, and writes docs/validation.md.

    python -m reproduction.validation FOLDER   # seven minutes on one core; → docs/results/validation.json, and the page
    python -m reproduction.validation          # docs/validation.md and its figure from the record

Every language has the same modifiers, about as many training words and as many training steps.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reproduction.languages import Language, preset
from reproduction.study import write_page
from reproduction.validate import MEASURES, OF_NETWORKS, RECIPE, Settings, validate
from rnnlens.common.files import read_json, write_json
from rnnlens.figures.style import BLUE, GREY, look_of_kind, panels, styled, write_figure

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "docs" / "results" / "validation.json"
FIGURE = ROOT / "docs" / "images" / "validation.svg"
WORDS, STEPS = 400_000, 350  # training words, steps of an epoch
LANGUAGES: dict[str, dict[str, Any]] = {
    "one topic, long": {"topics": 1, "short": 0.0},
    "one topic, short and long": {"topics": 1},
    "five topics with their own names, long": {"topical": 0.0, "short": 0.0},
    "five topics, long": {"short": 0.0},
    "five topics, short and long": {},
}
RANGES = {
    "strength_range": "average precision of the strength", "slope_range": "strength: slope on the truth",
    "list_range": "average precision of the list", "norm_range": "average precision of the norm",
    "r_range": "strength: correlation with the truth", "modification_range": "modification read (1: in full)",
    "left_range": "… without the subspace, rank 3",
    "tau_range": "τ within 30 % of the truth",
}  # fmt: skip
CONTROLS = {
    "random": "… without three random directions",
    "other_words": "… without the subspace of other words, rank 3",
}
IN_TABLE = {
    "average precision of the strength": "average precision, by strength",
    "average precision of the norm": "average precision, by norm",
    "strength: correlation with the truth": "correlation of strengths with the truth",
    "modification read (1: in full)": "share of the modification that the network uses",
    "… without the subspace, rank 3": "… without the subspace, rank 3",
}
KEPT = ("true_kind", "true_strength", "strength", "error", "kind")


def made(changes: dict[str, Any]) -> tuple[Language, Settings]:
    """A language with as many training words as the others, and networks with as many training steps."""
    language = replace(preset("topics"), **changes)
    language = replace(language, train=round(WORDS / language.mean_length))
    config = replace(RECIPE, epochs=8, batch=round(language.train / STEPS), blanks=50)
    return language, Settings("gru", 32, 16, config=config)


def measured(folder: Path, seeds: int) -> dict[str, Any]:
    """For each language: the measures of every network and of their consensus, and its modifiers."""
    record = {}
    for place, (name, changes) in enumerate(LANGUAGES.items()):
        language, settings = made(changes)
        found = validate(language, folder / str(place), settings, seeds=seeds, device="cpu", report=print)
        record[name] = {
            "documents": language.train,
            "words": found["training_words"],
            "vocabulary": found["networks"][0]["words"],
            "truth": found["truth"],
            "test": [one["accuracy"]["test"] for one in found["networks"]],
            "warnings": [len(one["warnings"]) for one in found["networks"]],
            "networks": {key: [pick(one) for one in found["networks"]] for key, pick in MEASURES.items()},
            "controls": {key: [control(one["causes"][key]) for one in found["networks"]] for key in CONTROLS},
            "consensus": {key: pick(found["consensus"]) for key, pick in MEASURES.items() if key not in OF_NETWORKS},
            "intervals": {
                **{key: one["interval"] for key, one in found["consensus"]["average_precision"].items()},
                "r": found["consensus"]["strength"]["interval"],
            },
            "modifiers": [{key: row[key] for key in KEPT} for row in found["modifiers"]],
        }
    return record


def control(removed: list[dict[str, float]]) -> float | None:
    """The modification that is left without other subspaces; None where there are too few words for any."""
    return float(np.mean([one["modification"] for one in removed])) if removed else None


def spread(values: list[float | None], digits: int = 2, scale: float = 1) -> str:
    """Mean and range over networks."""
    known = [scale * value for value in values if value is not None]
    return f"{np.mean(known):.{digits}f} ({min(known):.{digits}f} … {max(known):.{digits}f})" if known else "–"


def page_values(record: dict[str, Any]) -> dict[str, Any]:
    """What the template shows of the record: means for each language, and ranges of these over languages."""
    with_means = {
        name: {
            **one,
            "means": {
                key: np.mean([v for v in values if v is not None] or np.nan) for key, values in one["networks"].items()
            },
        }
        for name, one in record.items()
    }

    def over_languages(key: str) -> str:
        values = [one["means"][key] for one in with_means.values()]
        return f"{min(values):.2f} to {max(values):.2f}"

    strength, norm = (
        [value for one in record.values() for value in one["networks"][f"average precision of {name}"]]
        for name in ("the strength", "the norm")
    )
    again = [one["consensus"]["another seed within ± 2 errors"] for one in record.values()]
    return {
        "record": with_means,
        "spread": spread,
        "words": WORDS,
        "kept": IN_TABLE,
        "warned": sum(n > 0 for one in record.values() for n in one["warnings"]),
        "better": sum(a > b for a, b in zip(strength, norm, strict=True)),
        "networks": len(norm),
        "ahead": np.mean(strength) - np.mean(norm),
        "seeds_range": f"{min(again):.2f} to {max(again):.2f}",
        **{name: over_languages(key) for name, key in RANGES.items()},
    }


def drawn(record: dict[str, Any]) -> Figure:
    """Left: strengths as measured and as they are, in the last language. Right: average precision in every language."""
    *_, last = record
    figure = panels((f"Strength: {last}", "Average precision"), column_widths=[0.45, 0.55], horizontal_spacing=0.2)
    for kind in ("negator", "diminisher", "intensifier"):
        rows = [row for row in record[last]["modifiers"] if row["true_kind"] == kind]
        look = look_of_kind(kind)
        figure.add_scatter(
            x=[row["true_strength"] for row in rows],
            y=[row["strength"] for row in rows],
            mode="markers",
            name=kind,
            marker={"color": look.colour, "symbol": look.symbol, "size": 8},
            error_y={"array": [2 * row["error"] for row in rows], "thickness": 1, "width": 2},
            row=1,
            col=1,
        )
    figure.add_scatter(
        x=[-2.3, 1.6], y=[-2.3, 1.6], mode="lines", line={"color": GREY, "dash": "dot"}, showlegend=False, row=1, col=1
    )
    for key, colour, name in (
        ("average precision of the norm", GREY, "norm"),
        ("average precision of the strength", BLUE, "strength"),
    ):
        points = [(value, language) for language, one in record.items() for value in one["networks"][key]]
        figure.add_scatter(
            x=[value for value, _ in points],
            y=[language.replace(", ", ",<br>").replace(" with ", "<br>with ") for _, language in points],
            mode="markers",
            name=name,
            marker={"color": colour, "size": 9},
            row=1,
            col=2,
        )
    figure = styled(
        figure,
        "Strength and norm against the truth",
        "true strength",
        "measured strength",
        "left: consensus of the networks, ± 2 errors; right: one dot for each network",
        470,
    )
    figure.update_xaxes(title={"text": "average precision", "font": {"size": 14}}, range=[0, 1], row=1, col=2)
    return figure.update_yaxes(autorange="reversed", row=1, col=2).update_layout(width=1000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="where networks are trained; without it, only the page")
    parser.add_argument("--seeds", type=int, default=3, help="networks of each language")
    asked = parser.parse_args()
    if asked.folder is not None:
        write_json(RECORD, measured(asked.folder, asked.seeds))
    record = read_json(RECORD)
    write_page("validation", **page_values(record))
    write_figure(drawn(record), FIGURE)


if __name__ == "__main__":
    main()
