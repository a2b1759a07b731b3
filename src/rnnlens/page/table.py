"""Table 1 and the comparison of architectures (Fig. 10), from the results of `rnnlens reproduce`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from typing import Any

from rnnlens.analysis.table import TITLES
from rnnlens.common.display import percent, signed
from rnnlens.common.files import read_json
from rnnlens.figures import catalogue
from rnnlens.networks import Network
from rnnlens.page.sections import Example, Section, Story, architecture, drawn
from rnnlens.runs import Run


def reproduction(folder: Path) -> dict[str, Any]:
    """The results of `rnnlens reproduce` in a folder; empty if there are none."""
    if (folder / "run.json").exists() or not (folder / "results.json").exists():
        return {}
    results = read_json(folder / "results.json")
    return {key: results[key] for key in ("table", "architectures") if results.get(key)} if "table" in results else {}


def network_of(folder: Path) -> Path | None:
    """The run to show with a reproduction: an analyzed one if there is one."""
    candidates = [*sorted(folder.glob("modifiers/gru-*")), *(folder / arch / "0" for arch in ("gru", "lstm", "ugrnn"))]
    known = [path for path in [*candidates, folder / "vanilla" / "0"] if (path / "run.json").exists()]
    analyzed = [path for path in known if (path / "analysis.safetensors").exists()]
    return next(iter([*analyzed, *known]), None)


def table_story(network: Network | None, results: Mapping[str, Any], run: Run | None) -> Story:
    """The page of a reproduction whose networks were not analyzed."""
    name, size = ("no network", "") if network is None else architecture(network)
    where = [] if run is None else [f"with {run.path.parent.name}/{run.path.name}, {name} of {size}, inside"]
    return Story(
        "Table 1, reproduced",
        ["a reproduction on one corpus", *where],
        "Type a sentence. The line is the logit after each word: above 0, the network reads it as positive.",
        "logit",
        [Example("not bad at all")],
        {"positive": [], "negative": []},
        [("models", str(len(results["table"]["rows"])), "10")],
        [*table_section(results), *architectures(results)],
    )


def table_section(results: Mapping[str, Any]) -> list[Section]:
    """Table 1: the accuracy of every measured model beside the paper's number."""
    table = results.get("table")
    if not table or not table["rows"]:
        return []
    rows = [("model", "test accuracy", "95 % interval over seeds", "in the paper")]
    for row in table["rows"]:
        interval = "–" if row["interval"] is None else " … ".join(_percent(edge) for edge in row["interval"])
        rows.append((row["title"], _percent(row["accuracy"]), interval, _percent(row["paper"])))
    text = (
        "Bags of words with modifiers against recurrent networks: how much of the gain from context needs no network?"
    )
    if table["gain_recovered"] is not None:
        text += (
            f" Of the best network's gain over a bag of words, the best baseline recovers "
            f"{100 * table['gain_recovered']:.0f} % here; in the paper it is at least 90 % (Yelp)."
        )
    drawings, missing = drawn(catalogue(results), "table")
    return [Section("table", "Table 1", "§9, Table 1", text, (), drawings, rows, missing=missing)]


def architectures(results: Mapping[str, Any]) -> list[Section]:
    """Fig. 10: shuffling and the six phrases in every architecture, means over seeds."""
    stored = results.get("architectures")
    if not stored:
        return []
    phrases = list(next(iter(stored.values()))["phrases"][0])
    rows = [("architecture", "words shuffled, points", *(f"“{phrase}”" for phrase in phrases))]
    for name, measured in stored.items():
        cost = 100 * mean(seed["difference"] for seed in measured["shuffled"])
        read = [mean(seed[phrase] for seed in measured["phrases"]) for phrase in phrases]
        rows.append((TITLES.get(name, name), *(signed(value) for value in (cost, *read))))
    text = (
        "In the paper, gated networks lose accuracy when words are shuffled, and modifiers change their reading of "
        "words; a vanilla network shows neither."
    )
    drawings, missing = drawn(catalogue(results), "architectures")
    return [Section("architectures", "All architectures", "§7, Fig. 10", text, (), drawings, rows, missing=missing)]


def _percent(share: float | None) -> str:
    return "–" if share is None else percent(share, 2)
