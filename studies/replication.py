"""The paper's numbers beside ours: reads analysed runs, writes docs/replication.md and their results as data.

python -m studies.replication runs/zoo        # folders named CORPUS-ARCHITECTURE-…-SEED, each after `rnnlens analyze`
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

import rnnlens
from rnnlens.analysis.locate import stored_line
from rnnlens.artifacts import atomic_file, read_json, write_json
from rnnlens.context.probes import Probes
from rnnlens.experiments.claims import analysis_claims, last_readings, neutral_share, phrases_right, sign_pattern

DOCS = Path(__file__).parent.parent / "docs"
DROPPED = ("state_space", "impulse", "component_barcodes")  # figures' raw material, too long for a record

Group = tuple[str, str]
Results = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    asked = parser.parse_args()
    runs = [Stored.read(path.parent) for path in sorted(asked.folder.glob("*/run.json"))]
    runs = [run for run in runs if "subspace" in run.results]
    groups: dict[Group, list[Stored]] = {}
    for run in runs:
        groups.setdefault((run.corpus, run.about["network"]["arch"]), []).append(run)
    for run in runs:
        write_json(DOCS / "results" / f"{run.path.name}.json", {"run": about(run), **record(run.results)})
    with atomic_file(DOCS / "replication.md") as temporary:
        temporary.write_text("\n".join(page(groups)) + "\n", encoding="utf-8")
    print(DOCS / "replication.md")


@dataclass(frozen=True)
class Stored:
    """What a run folder says; its weights need not be there."""

    path: Path
    about: dict[str, Any]
    results: Results

    @classmethod
    def read(cls, path: Path) -> Stored:
        results = path / "results.json"
        return cls(path, read_json(path / "run.json"), read_json(results) if results.exists() else {})

    @property
    def corpus(self) -> str:
        return self.path.name.split("-")[0]


def record(results: Results) -> Results:
    """What is worth keeping of a run's results: numbers, not the raw material of figures."""
    kept = {key: value for key, value in results.items() if key not in (*DROPPED, "fingerprint")}
    lists = {"barcodes": ("positive", "negative"), "subspace": ("coordinates",), "timescales": ("tau", "words")}
    for key, names in lists.items():
        inner = kept[key].values() if key == "barcodes" else [kept[key]]
        shorter = [{name: value for name, value in part.items() if name not in names} for part in inner]
        kept[key] = dict(zip(kept[key], shorter, strict=True)) if key == "barcodes" else shorter[0]
    kept["beginning"] = {key: value for key, value in kept["beginning"].items() if key not in ("path", "distance")}
    kept["beginning"]["barcode"] = {
        key: value for key, value in kept["beginning"]["barcode"].items() if key not in ("positive", "negative")
    }
    modes = {key: kept["ending"]["modes"][key] for key in ("strongest", "strongest_timescales")}
    kept["ending"] = {
        key: value for key, value in kept["ending"].items() if key not in ("words", "transients", "ratio", "modes")
    } | {"modes": modes}
    kept["modifiers"] = {**kept["modifiers"], "words": kept["modifiers"]["words"][:100]}
    kept["modifiers"].pop("histograms", None)
    kept["probes"] = {key: kept["probes"][key] for key in ("phrases", "source", "positive", "negative")}
    return kept


def about(run: Stored) -> dict[str, Any]:
    """Where a run's numbers come from, without the names of folders."""
    corpus = {key: value for key, value in run.about["corpus"].items() if key != "source"}
    return {"network": run.about["network"], "config": run.about["config"], "corpus": corpus}


# --- one number for each row of the paper map -------------------------------------------------------------------------


def signed(percent: float) -> str:
    return f"{percent:+.2f}".replace("-", "−")


def spread(values: Iterable[float | None], digits: int = 2, scale: float = 1.0) -> str:
    """The mean, and the range where there are several."""
    known = [scale * value for value in values if value is not None]
    if not known:
        return "–"
    text = f"{mean(known):.{digits}f}"
    if len(known) > 1:
        text += f" ({min(known):.{digits}f} … {max(known):.{digits}f})"
    return text.replace("-", "−")


def differences(results: list[Results], find: Callable[[Results], Results | None]) -> str:
    """Differences of accuracy in points, with the 95 % interval of each network; a dash where it was not measured."""
    shown = []
    for result in results:
        found = perhaps(result, find)
        if found is None:
            shown.append("–")
            continue
        low, high = (signed(100 * x) for x in found["interval"])
        shown.append(f"{signed(100 * found['difference'])} [{low}, {high}]")
    return "<br>".join(shown) if set(shown) != {"–"} else "–"


def perhaps(result: Results, find: Callable[[Results], Any]) -> Any:
    """What is found, or None."""
    try:
        return find(result)
    except (KeyError, TypeError):
        return None


def controls(results: list[Results], kind: str, rank: str = "3") -> str:
    """The median and range of a control's draws in each network."""
    shown = []
    for result in results:
        draws = result.get("accuracy", {}).get(f"test_{kind}_removed", {}).get(rank)
        sizes = sorted(100 * draw["difference"] for draw in draws or [])
        shown.append(f"{signed(median(sizes))} ({signed(sizes[0])} … {signed(sizes[-1])})" if sizes else "–")
    return "<br>".join(shown) if set(shown) != {"–"} else "–"


def rows(results: list[Results]) -> dict[str, str]:
    """The table's column for one corpus and architecture."""
    patterns = [sign_pattern(r) for r in results]
    right, total = (sum(found[k] for found in patterns) for k in (0, 1))
    failed = [word for found in patterns for word in found[2]]
    neutral = [neutral_share(r) for r in results]
    failing = ", ".join(f"{word} ×{failed.count(word)}" for word in dict.fromkeys(failed))

    def each(find: Callable[[Results], float | None], digits: int = 2, scale: float = 1.0) -> str:
        return spread([find(r) for r in results], digits, scale)

    def edge(name: str, part: str, what: str) -> str:
        return differences(results, lambda r: r[name][part][what])

    return {
        "networks": str(len(results)),
        "test accuracy %": each(lambda r: r.get("accuracy", {}).get("test"), 2, 100),
        "3: slow points, share of starts %": each(lambda r: r["fixed_points"]["n"] / r["fixed_points"]["of"], 0, 100),
        "3: residual / typical step": each(lambda r: r["fixed_points"]["slow_ratio"], 3),
        "4: variance of slow points on a curve %": each(lambda r: r["line_attractor"]["explained_variance"], 1, 100),
        "4: … on a straight line %": each(lambda r: r["line_attractor"]["pc1_variance"], 1, 100),
        "4: integration eigenvalue": each(lambda r: r["line_attractor"]["integration_eigenvalue"][0], 4),
        "change of the reading over 50 blank inputs": each(lambda r: r.get("blank_input", {}).get("first")),
        "… over 50 more": each(lambda r: r.get("blank_input", {}).get("then")),
        "reading at h*": each(lambda r: r["line_attractor"]["h_star_logit"]),
        "4: alignment with the readout": each(lambda r: r["line_attractor"]["readout_alignment"]),
        "5: last logits of the probe reviews: intensified, plain, negated": "<br>".join(
            ", ".join(signed(last_readings(r)[name]) for name in ("intensified", "plain", "negated")) for r in results
        ),
        "6: words shuffled, points": differences(results, lambda r: r["accuracy"]["test_shuffled"]),
        "13: modifiers by the recommended score, of 10,000 words": each(lambda r: r["modifiers"]["n"], 0),
        "13: … by the paper's norm": each(lambda r: r["modifiers"]["norm_threshold"]["fixed"]["n"], 0),
        "14: way back after `not`, τ words": each(lambda r: r["impulse"]["not"]["tau"], 1),
        "14: way back after `extremely`, τ words": each(lambda r: r["impulse"]["extremely"]["tau"], 1),
        "15: barcodes with the right signs": f"{right} of {total}" + (f" (not: {failing})" if failing else ""),
        "15: `the a of movie` against modifiers": spread(neutral),
        "16: two components, the paper's modifiers %": each(lambda r: sum(r["subspace"]["by_norm"][:2]), 1, 100),
        "16: two components, recommended modifiers %": each(
            lambda r: sum(r["subspace"]["explained_variance"][:2]), 1, 100
        ),
        "17: τ of component 1, words": each(lambda r: r["timescales"]["mean"][0], 1),
        "17: τ of component 2, words": each(lambda r: r["timescales"]["mean"][1], 1),
        "19: subspace of rank 3 removed, points": differences(
            results, lambda r: r["accuracy"]["test_subspace_removed"]["3"]
        ),
        "19: … as a share of the cost of shuffling, means": share_of_shuffling(results),
        "19: the same, thresholds recentred": differences(
            results, lambda r: r["accuracy"]["test_subspace_removed"]["3"]["recentred"]
        ),
        "19: rank 3 of other common words, median (range) of 5": controls(results, "words"),
        "19: random rank 3, median (range) of 20": controls(results, "random"),
        "20: h0 as a modifier, share of valence": each(lambda r: r["beginning"]["barcode"]["share"]),
        "20: h0 projected out, test points": edge("beginning", "test", "h0_projected"),
        "20: h0 projected out, train points": edge("beginning", "train", "h0_projected"),
        "21: steady / initial effect, median": each(lambda r: r["ending"]["ratio_median"]),
        "21: the same, without the growth of the line itself": each(lambda r: r["ending"]["ratio_over_growth"]),
        "21: 50 blank inputs appended, test points": edge("ending", "test", "padded"),
        "21: 50 blank inputs appended, train points": edge("ending", "train", "padded"),
        "22: τ of the two strongest modes": "<br>".join(
            ", ".join("∞" if tau is None else f"{tau:.1f}" for tau in r["ending"]["modes"]["strongest_timescales"])
            for r in results
        ),
        "23: phrases whose `not` or `extremely` acts as it should": "<br>".join(
            "{} of {}".format(*phrases_right(r)) for r in results
        ),
        **{
            f"24: bilinear, P = {p}, %": each(lambda r, p=p: r["bilinear"]["explained_variance"][p - 1], 1, 100)
            for p in (1, 2, 3)
        },
        "24: bilinear, P = 3, held-out words %": each(lambda r: r["bilinear"]["held_out"][2], 1, 100),
        "24: bilinear, P = 3, recommended modifiers, held out %": each(
            lambda r: r["bilinear"]["recommended"]["held_out"][2], 1, 100
        ),
        "27: negators and diminishers / intensifiers": each(ratio_of_kinds),
        "27: additive fits better, share of negators %": each(
            lambda r: r["modifiers"]["negation_form"].get("additive_better"), 0, 100
        ),
    }


def share_of_shuffling(results: list[Results]) -> str:
    """What removing the subspace costs on average, over what shuffling does."""
    known = [r["accuracy"] for r in results if "test_subspace_removed" in r.get("accuracy", {})]
    if not known:
        return "–"
    removed = mean(accuracy["test_subspace_removed"]["3"]["difference"] for accuracy in known)
    return f"{removed / mean(accuracy['test_shuffled']['difference'] for accuracy in known):.2f}".replace("-", "−")


def ratio_of_kinds(result: Results) -> float:
    kinds = result["modifiers"]["asymmetry"]
    return (kinds["negator"]["n"] + kinds["diminisher"]["n"]) / max(1, kinds["intensifier"]["n"])


PAPER = {
    "test accuracy %": "GRU 89.63, LSTM 91.59, UGRNN 89.43, vanilla 89.55 (IMDB)",
    "4: integration eigenvalue": "near (1, 0)",
    "5: last logits of the probe reviews: intensified, plain, negated": "in this order",
    "6: words shuffled, points": "about −4 (gated networks)",
    "23: phrases whose `not` or `extremely` acts as it should": "gated: all; vanilla: none",
    "14: way back after `not`, τ words": "back in 5-10 steps",
    "16: two components, the paper's modifiers %": "96.2",
    "17: τ of component 1, words": "2.6",
    "17: τ of component 2, words": "4.3",
    "19: subspace of rank 3 removed, points": "like shuffling",
    "19: random rank 3, median (range) of 20": "negligible",
    "20: h0 as a modifier, share of valence": "an intensifier",
    "20: h0 projected out, test points": "−0.17",
    "20: h0 projected out, train points": "−0.23",
    "21: steady / initial effect, median": "below 1",
    "21: 50 blank inputs appended, test points": "−0.05",
    "21: 50 blank inputs appended, train points": "−0.2",
    "22: τ of the two strongest modes": "19.57, 6.63",
    "24: bilinear, P = 1, %": "83",
    "24: bilinear, P = 2, %": "96",
    "24: bilinear, P = 3, %": "98",
    "27: additive fits better, share of negators %": "additive",
}


def page(groups: dict[Group, list[Stored]]) -> list[str]:
    columns = {f"{corpus} {arch}": rows([run.results for run in runs]) for (corpus, arch), runs in groups.items()}
    lines = [
        "# The paper's numbers and ours",
        "",
        "Written by `python -m studies.replication FOLDER` from the results of analysed runs, which are in",
        "[results](results) as data, with their settings. Several networks: mean and range, or one line each with its",
        "95 % interval (bootstrap over reviews). The paper's numbers are of a GRU on Yelp 2015 unless said otherwise;",
        "`yelp` here is another, smaller set of Yelp reviews (and the paper's own counts, 68 reviews = 0.17 % and",
        "1,150 = 0.23 %, imply about 40,000 test and 500,000 training reviews, not the published set either). Its",
        "training reviews are mostly positive, its test reviews half and half. A dash: not measured.",
        "",
        "`imdb` are networks trained to be taken apart: their training drops less than half of the words, so that",
        "they come to rely on their order. Gated ones have the packaged GRU's settings; of two for the UGRNN, those",
        "under which the subspace mattered more on the validation reviews; for the LSTM those of an earlier search.",
        "`table` are those of Table 1 on IMDB (docs/baselines.md), with settings of a search for accuracy",
        "(`results/trials.jsonl`), refitted on training and validation reviews together: words must earn their place",
        "there, and drop in runs, so that phrases stay whole. Vanilla and Yelp networks have the settings of a search",
        "before it (`results/trials-single-reviews.jsonl`); on Yelp they are trained for as many steps, with classes",
        "weighed equally. The consensus over networks is of those whose weights were kept.",
        "",
        "| | paper | " + " | ".join(columns) + " |",
        "|---" * (len(columns) + 2) + "|",
    ]
    for name in next(iter(columns.values())):
        lines.append(f"| {name} | {PAPER.get(name, '')} | " + " | ".join(c[name] for c in columns.values()) + " |")
    lines += ["", "## What holds, and what does not", "", *verdicts(groups), "", *summary(groups)]
    lines += ["", "## Which words are modifiers", ""]
    for (corpus, _), runs in merged(groups).items():
        lines += modifiers_of(corpus, runs)
    return lines


def verdicts(groups: dict[Group, list[Stored]]) -> list[str]:
    """Each claim with the number of networks, of those in which it was measured, that show it."""

    names = [f"{corpus} {arch}" for corpus, arch in groups]
    lines = ["| claim | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    checked = [[analysis_claims(run.results) for run in runs] for runs in groups.values()]
    for k, claim in enumerate(checked[0][0]):
        known = [[found[k].shown for found in some if found[k].shown is not None] for some in checked]
        counts = [f"{sum(shown)} of {len(shown)}" if shown else "–" for shown in known]
        lines.append(f"| {claim.claim} | " + " | ".join(counts) + " |")
    return lines


def summary(groups: dict[Group, list[Stored]]) -> list[str]:
    """For each corpus: which claims most of its gated networks show, and which most do not."""
    lines = []
    for (corpus, _), runs in merged(groups).items():
        checked = [analysis_claims(run.results) for run in runs]
        names: dict[str, list[str]] = {"shown by most": [], "not shown by most": []}
        for k, claim in enumerate(checked[0]):
            known = [found[k].shown for found in checked if found[k].shown is not None]
            if known:
                names["shown by most" if 2 * sum(known) > len(known) else "not shown by most"].append(claim.claim)
        lines.append(f"**{corpus}**, of {len(runs)} gated networks:")
        lines += [f"- {verdict}: {'; '.join(claims)}." for verdict, claims in names.items()]
        lines.append("")
    return lines


def merged(groups: dict[Group, list[Stored]]) -> dict[Group, list[Stored]]:
    found: dict[Group, list[Stored]] = {}
    for (corpus, arch), runs in groups.items():
        if arch != "vanilla":
            found.setdefault((corpus, "gated"), []).extend(runs)
    return found


def modifiers_of(corpus: str, runs: list[Stored]) -> list[str]:
    """Ranks of known modifiers by each score, in single networks and by consensus, and the top of each list."""
    opened = [rnnlens.load(run.path) for run in runs if (run.path / "weights.safetensors").exists()]
    networks = [run.network.requires_grad_(False) for run in opened]
    lines = [stored_line(run) for run in opened]
    stored = opened[0].results["probes"]
    probes = Probes(tuple(stored["positive"]), tuple(stored["negative"]))
    both = rnnlens.find_modifiers(networks, lines, probes=probes)
    unshrunk = rnnlens.find_modifiers(networks, lines, probes=probes, prior=0.0)
    first = rnnlens.find_modifiers(networks[0], lines[0], probes=probes)
    nearest = rnnlens.find_modifiers(networks[0], lines[0], probes=probes, reference="nearest")
    name = opened[0].path.name
    scores = {
        f"norm, fixed (the paper's; {name})": (first, "norm"),
        f"norm, nearest ({name})": (nearest, "norm"),
        f"interaction ({name})": (first, "interaction"),
        f"recommended score ({name})": (first, "score"),
        f"consensus of {len(opened)} networks, without shrinking rare words": (unshrunk, "score"),
        f"recommended score, consensus of {len(opened)} networks": (both, "score"),
    }
    words = [word for word in ("not", "never", "very", "extremely") if word in first.words]
    text = [f"### {corpus}", "", "Rank among 10,000 words:", "", "| score | " + " | ".join(words) + " |"]
    text.append("|---" * (len(words) + 1) + "|")
    for label, (table, by) in scores.items():
        text.append(f"| {label} | " + " | ".join(str(table.rank(word, by)) for word in words) + " |")
    text += ["", "The strongest fifty words:", ""]
    for label, (table, by) in scores.items():
        text.append(f"- **{label}**: {', '.join(table.strongest(50, by=by))}")
    return [*text, ""]


if __name__ == "__main__":
    main()
