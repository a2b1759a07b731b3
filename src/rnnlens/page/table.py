"""Table 1 and the architectures side by side (Fig. 10), where `rnnlens reproduce` left them in the results."""

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
from rnnlens.page.sections import Section, Story, architecture, drawn
from rnnlens.runs import Run


def reproduction(folder: Path) -> dict[str, Any]:
    """What `rnnlens reproduce` stored in a folder; nothing if it is no such folder."""
    if (folder / "run.json").exists() or not (folder / "results.json").exists():
        return {}
    found = read_json(folder / "results.json")
    return {key: found[key] for key in ("table", "architectures") if found.get(key)} if "table" in found else {}


def network_of(folder: Path) -> Path | None:
    """The run to show with a reproduction: one that was taken apart, or else any network."""
    found = [*sorted(folder.glob("modifiers/gru-*")), *(folder / arch / "0" for arch in ("gru", "lstm", "ugrnn"))]
    known = [path for path in [*found, folder / "vanilla" / "0"] if (path / "run.json").exists()]
    analyzed = [path for path in known if (path / "analysis.safetensors").exists()]
    return next(iter([*analyzed, *known]), None)


def table_story(network: Network | None, results: Mapping[str, Any], run: Run | None) -> Story:
    """The page of a reproduction whose networks were not taken apart."""
    name, size = ("no network", "") if network is None else architecture(network)
    where = [] if run is None else [f"with {run.path.parent.name}/{run.path.name}, {name} of {size}, inside"]
    return Story(
        "Table 1, again",
        ["a reproduction on one corpus", *where],
        "Type a sentence. The line is the logit after each word: above 0, the network would call it positive.",
        "logit",
        ["not bad at all"],
        {"positive": [], "negative": []},
        [("models", str(len(results["table"]["rows"])), "10")],
        [*table_section(results), *architectures(results)],
    )


def table_section(results: Mapping[str, Any]) -> list[Section]:
    """Table 1: every model that was measured, beside the paper's number."""
    table = results.get("table")
    if not table or not table["rows"]:
        return []
    rows = [("model", "test accuracy", "95 % interval over seeds", "in the paper")]
    for row in table["rows"]:
        interval = "–" if row["interval"] is None else " … ".join(_percent(edge) for edge in row["interval"])
        rows.append((row["title"], _percent(row["accuracy"]), interval, _percent(row["paper"])))
    text = "Bags of words with modifiers against recurrent networks: how much of what context gives needs no network?"
    if table["gain_recovered"] is not None:
        text += (
            f" Of the best network's gain over a bag of words, the best baseline recovers "
            f"{100 * table['gain_recovered']:.0f} % here; the paper says at least 90 % (Yelp)."
        )
    drawings, missing = drawn(catalogue(results), "table")
    return [Section("table", "Table 1", "§9, Table 1", text, (), drawings, rows, missing=missing)]


def architectures(results: Mapping[str, Any]) -> list[Section]:
    """Fig. 10: shuffling and the six phrases in every architecture, means over seeds."""
    found = results.get("architectures")
    if not found:
        return []
    phrases = list(next(iter(found.values()))["phrases"][0])
    rows = [("architecture", "words shuffled, points", *(f"“{phrase}”" for phrase in phrases))]
    for name, one in found.items():
        cost = 100 * mean(seed["difference"] for seed in one["shuffled"])
        read = [mean(seed[phrase] for seed in one["phrases"]) for phrase in phrases]
        rows.append((TITLES.get(name, name), *(signed(value) for value in (cost, *read))))
    text = (
        "In the paper, gated networks lose accuracy without word order and modulate words by context; a vanilla "
        "network does not."
    )
    drawings, missing = drawn(catalogue(results), "architectures")
    return [Section("architectures", "All architectures", "§7, Fig. 10", text, (), drawings, rows, missing=missing)]


def _percent(share: float | None) -> str:
    return "–" if share is None else percent(share, 2)
