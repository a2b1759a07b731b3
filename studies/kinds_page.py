"""The page and the figure of `studies.kinds`, from its record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t, ttest_ind

from rnnlens.common.display import signed
from rnnlens.context.strength import MODIFIERS
from rnnlens.figures import write_figure
from rnnlens.figures.style import panels, styled
from studies.pages import write_page

PAGE, FIGURE = Path("docs/kinds.md"), Path("docs/images/kinds.svg")
TEMPLATE = Path(__file__).with_name("kinds.md")
ROWS = {
    "news": "news, four topics",
    "emotion": "emotion, six",
    "ratings-flat": "IMDB's eight ratings, without order",
    "stars-flat": "Yelp's four stars, without order",
    "ratings": "the ratings, in order",
    "stars": "the stars, in order",
}
COLORS = ("#1f5fa8", "#c05020", "#3a7d44", "#8a5aa8", "#b8860b", "#555555", "#d4699e", "#20808d")
PHRASES = ("not", "never", "hardly", "very", "extremely", "but", "though", "enough", "the")
LAYERED = ("not", "never", "hardly", "very", "extremely", "the")


def write(record: dict[str, Any]) -> None:
    """Write the page with those parts that the record has."""
    values: dict[str, Any] = {"signed": signed, "dimensions": [], "both": None, "stacks": None, "mean": mean_of}
    if "classes" in record:
        values["dimensions"] = [_dimensions(record["classes"], name, title) for name, title in ROWS.items()]
        values["emotion"] = _words(record["classes"], "emotion", ("feel", "feeling", "not", "never", "very", "so"))
        values["stars"] = _words(record["classes"], "stars-flat", ("not", "never", "hardly", "very", "extremely"))
        values["feel"] = record["feel"]
        rows = [row for run in runs_of(record["classes"], "emotion") for row in run["words"]]
        values["gates"] = sorted({row["word"] for row in rows if row["kind"] in MODIFIERS})
        values["clear"] = {name: _seeds(record["classes"], name, "clear") for name in ("news", "emotion", "stars-flat")}
        write_figure(figure(record["classes"]), FIGURE)
    if "both_ways" in record:
        values["both"] = _both(record)
    if "stacks" in record:
        values["stacks"] = _stacks(record["stacks"])
    write_page(TEMPLATE, PAGE, **values)


def runs_of(found: dict[str, Any], name: str) -> list[Any]:
    """The seeds of a kind of network."""
    return [found[f"{name}-{seed}"] for seed in range(3) if f"{name}-{seed}" in found]


def _seeds(found: dict[str, Any], name: str, key: str) -> list[Any]:
    return [one[key] for one in runs_of(found, name)]


def mean_of(values: Any, digits: int = 2, sign: bool = True) -> str:
    """The mean with half of its 95 % interval over seeds (t distribution)."""
    x = np.asarray(values, dtype=float)
    half = t.ppf(0.975, len(x) - 1) * x.std(ddof=1) / len(x) ** 0.5
    mean = f"{x.mean():{'+' if sign else ''}.{digits}f}".replace("-", "−")
    return f"{mean} ± {half:.{digits}f}"


def _dimensions(found: dict[str, Any], name: str, title: str) -> dict[str, Any]:
    """A row of the table of dimensions."""
    runs, base = runs_of(found, name), name.split("-")[0]
    geometries = [run["geometry"] for run in runs]
    nulls = [found[key] for key in (f"{base}-null", f"{base}-untrained") if key in found]
    return {
        "title": title,
        "most": len(runs[0]["classes"]) - 1,
        "accuracy": mean_of([100 * run["accuracy"]["test"] for run in runs], 1, sign=False),
        "counts": ", ".join(str(g["count"]) for g in geometries),
        "low": min(g["count_interval"][0] for g in geometries),
        "high": max(g["count_interval"][1] for g in geometries),
        "ratio": mean_of([g["dimension"] for g in geometries], sign=False),
        "shapes": ", ".join(dict.fromkeys(g["shape"] for g in geometries)),
        "words": geometries[0]["predicted"]["words"],
        "null": [
            f"{null['geometry']['count']} ({'slow points' if null['geometry']['through'] == 'slow points' else 'none'})"
            for null in nulls
        ],
    }


def _words(found: dict[str, Any], name: str, words: tuple[str, ...]) -> dict[str, Any]:
    """Strengths of words, overall and by class, with intervals over seeds."""
    runs = runs_of(found, name)
    by_word: dict[str, Any] = {}
    for word in words:
        rows = [row for run in runs for row in run["words"] if row["word"] == word]
        if len(rows) == len(runs):
            by_class = np.array([row["by_class"] for row in rows]).mean(0).tolist()
            by_word[word] = {"strength": mean_of([row["strength"] for row in rows]), "by_class": by_class}
    return {"classes": runs[0]["classes"], "words": by_word}


def _both(record: dict[str, Any]) -> dict[str, Any]:
    """What the page says of networks that read both ways."""
    found = dict(record["both_ways"])
    null = found.pop("untrained", None)
    runs, one = list(found.values()), list(record["one_way"].values())
    accuracy = {}
    for source in runs[0]["test"]:
        two, single = ([100 * run["test"][source] for run in some] for some in (runs, one))
        low, high = ttest_ind(two, single, equal_var=False).confidence_interval()
        accuracy[source] = {"both": np.mean(two), "one": np.mean(single), "low": low, "high": high}
    phrases = {}
    for word in PHRASES:
        rows = [next((row for row in run["phrases"] if row["word"] == word), None) for run in runs]
        if all(row is not None for row in rows):
            phrases[word] = {
                f"{place} {reader}": mean_of([row[place][reader] for row in rows])  # type: ignore[index]
                for place in ("before", "after")
                for reader in ("forwards", "backwards")
            }
    return {
        "n": len(runs),
        "accuracy": accuracy,
        "share": mean_of([100 * run["share"]["forwards"] for run in runs], 0, sign=False),
        "found": {name: [run["found"][name] for run in runs] for name in ("forwards", "backwards")},
        "null": None if null is None else null["found"],
        "null_phrases": None if null is None else {row["word"]: row for row in null["phrases"]},
        "removal": _removal(runs),
        "phrases": phrases,
        "not_backwards": [
            signed(next(row for row in run["phrases"] if row["word"] == "not")["before"]["backwards"]) for run in runs
        ],
        "strengths": _strengths(runs),
        "removed": _removed(runs),
    }


def _removal(runs: list[Any]) -> dict[str, Any]:
    """What removing modifier subspaces costs, in points, for each half and for both."""
    return {
        half: {
            "removed": [100 * run["removal"][half]["removed"]["difference"] for run in runs],
            "intervals": [[100 * x for x in run["removal"][half]["removed"]["interval"]] for run in runs],
            "random": [100 * np.mean([d["difference"] for d in run["removal"][half]["random"]]) for run in runs],
            "lower": sum(run["removal"][half]["removed"]["interval"][1] < 0 for run in runs),
        }
        for half in ("forwards", "backwards", "both")
    }


def _removed(runs: list[Any]) -> dict[str, Any]:
    """The change that *not* makes to the next word, through each reader: as it is, without the subspaces, and without
    random directions."""
    tables = {"as it is": [run["phrases"] for run in runs]}
    tables |= {name: [run["removed"][name] for run in runs] for name in ("subspace", "random")}
    found = {}
    for name, rows in tables.items():
        of = [next(row for row in some if row["word"] == "not") for some in rows]
        found[name] = {half: mean_of([row["before"][half] for row in of]) for half in ("forwards", "backwards")}
    return found


def _strengths(runs: list[Any]) -> dict[str, Any]:
    found = {}
    for word in PHRASES:
        rows = [next((row for row in run["words"] if row["word"] == word), None) for run in runs]
        if all(row is not None for row in rows):
            found[word] = {half: mean_of([row[half] for row in rows]) for half in ("forwards", "backwards")}  # type: ignore[index]
    return found


def _stacks(found: dict[str, Any]) -> dict[str, Any]:
    """What the page says of networks with two layers."""
    null = found.get("untrained")
    runs = [one for name, one in found.items() if name != "untrained"]
    parts = runs[0]["parts"]
    words = {}
    for word in LAYERED:
        rows = [next(row for row in run["words"] if row["word"] == word) for run in runs]
        words[word] = [mean_of([row["by_part"][p] for row in rows]) for p in range(len(parts))]
    return {
        "parts": parts,
        "n": len(runs),
        "keeps": [mean_of([run["keeps"][p] for run in runs]) for p in range(len(parts))],
        "subspace": [mean_of([run["subspace"][p] for run in runs], sign=False) for p in range(len(parts))],
        "second": [f"{100 * run['keeps'][1]:.0f} %" for run in runs],
        "words": words,
        "null": null and {"keeps": null["keeps"], "not": next(r for r in null["words"] if r["word"] == "not")},
    }


def figure(found: dict[str, Any]) -> Any:
    """Slow points of one network for each corpus, in the plane of their first two axes, colored by class."""
    names = [name for name in ROWS if f"{name}-0" in found and "points" in found[f"{name}-0"]["geometry"]][:4]
    drawn = panels([ROWS[name] for name in names], rows=2, cols=2, horizontal_spacing=0.08, vertical_spacing=0.12)
    for place, name in enumerate(names):
        one = found[f"{name}-0"]
        for k, label in enumerate(one["classes"]):
            at = np.array([point["at"] for point in one["geometry"]["points"] if point["class"] == k]).reshape(-1, 3)
            if not len(at):
                continue
            color, where = COLORS[k % len(COLORS)], {"row": 1 + place // 2, "col": 1 + place % 2}
            drawn.add_scatter(
                x=at[:, 0], y=at[:, 1], mode="markers", showlegend=False, marker={"size": 4, "color": color}, **where
            )
            far = at[np.linalg.norm(at, axis=1).argsort()[-5:]].mean(0)  # the name beside the outermost points
            drawn.add_annotation(
                x=far[0], y=far[1], text=f"<b>{label}</b>", showarrow=False, yshift=15,
                font={"color": color, "size": 13}, **where,
            )  # fmt: skip
    styled(drawn, "", "", "", height=760)
    return drawn.update_layout(title=None, margin={"t": 40}, width=900)
