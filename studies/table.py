"""Table 1 as a page: reads what `rnnlens reproduce` made, writes docs/table.md and its results as data.

python -m studies.table imdb=runs/table-imdb yelp=runs/table-yelp,corpora/yelp    # or names alone: from the records
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from rnnlens.analysis.table import TITLES, difference
from rnnlens.common.files import atomic_file, read_json, read_lines, read_tensors, write_json
from rnnlens.corpora.reading import read_corpus

DOCS = Path(__file__).parent.parent / "docs"
CORPORA = {
    "imdb": "IMDB, official split: 25,000 reviews to train on (20 % of them held out while settings were chosen, in "
    "runs of 50 neighbours: `rnnlens prepare IMDB --vocab-size 20000 --min-count 5 --validation 0.2 --neighbours 50`), "
    "25,000 to test on.",
    "yelp": "A small set of Yelp reviews (about 60,000 to train on, mostly positive; 4,518 to test on, half and "
    "half), not the paper's Yelp 2015. Classes are weighed equally. Settings were chosen on Yelp's validation reviews: "
    "for the gated networks of four around the packaged networks' recipe, for the bag of words and the edges by "
    "random search (`results/yelp-search.json`). The convolutions of modifiers have IMDB's settings and the 400 "
    "strongest words of one of the recipe's GRUs; the vanilla network was not trained again.",
}

NOTES = """## What was tried where a cell is below the paper's

- **Bag of words**: four searches (`results/trials*.jsonl`) over learning rates, decays, L1, L2, word dropout, four to
  sixteen epochs, all words or the last 800. Two of them were followed by refits on these splits
  (`results/table-imdb.json`, `table-imdb-earlier.json`), and the present choice reads the test reviews a little worse
  than the earlier one did; none reached the paper's number.
- **Own weights**, of modifiers and of edges: three to six weights a word, and more trials or penalties did not bring
  them above the models that share weights by more than chance. Those of modifiers vary from seed to seed.
- **Vanilla**: 44 trials, among them sparse words and words dropped in runs; what an earlier search had chosen
  (trial −1) is still its best.
""".splitlines()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", help="NAME=FOLDER, as in imdb=runs/table")
    lines = [
        "# Table 1, the paper's and ours",
        "",
        "Written by `python -m studies.table` from folders of `rnnlens reproduce`; the numbers are in",
        "[results](results) as data. Settings are chosen by random search on validation reviews",
        "(`results/trials.jsonl`; how, in [baselines](baselines.md)); each model is then trained on training and",
        "validation reviews together, and reads the test reviews once for each of three seeds. Intervals: of a mean",
        "over seeds, by Student's t; of a difference, by bootstrap over reviews and seeds. Refits of earlier",
        "searches had read the test reviews too, and what they showed (words must begin small, whole reviews be",
        "read, validation reviews flatter networks) went into how settings are searched for now: the numbers are a",
        "little less blind than the procedure.",
        "",
    ]
    for given in parser.parse_args().folders:
        name, _, folder = given.partition("=")
        folder, _, corpus = folder.partition(",")
        record = DOCS / "results" / f"table-{name}.json"
        if folder:
            results = read_json(Path(folder) / "results.json")
            results = {key: value for key, value in results.items() if key != "fingerprint"}
            results["provenance"]["source"] = name
            if corpus:
                results["networks_less_bow"] = networks_less_bow(Path(folder), results["table"], Path(corpus))
            write_json(record, results)
        lines += section(name, read_json(record))
    lines += [*neighbours(), *NOTES]
    with atomic_file(DOCS / "table.md") as temporary:
        temporary.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print(DOCS / "table.md")


def networks_less_bow(folder: Path, table: dict[str, Any], corpus: Path) -> dict[str, Any]:
    """By how much each network reads more test reviews right than the bag of words, with its interval."""
    found = {row["model"]: len(row["seeds"]) for row in table["rows"]}
    split = read_corpus(corpus).test
    assert split is not None
    labels = np.asarray(split.labels) > 0

    def right(model: str) -> np.ndarray:
        """Which answers are right, (seeds, reviews)."""
        paths = (folder / model / str(seed) / "outcome.safetensors" for seed in range(found[model]))
        return np.stack([(np.asarray(read_tensors(path)[0]["logits"]) > 0) == labels for path in paths])

    bow = right("bow")
    return {model: difference(right(model), bow) for model in ("gru", "lstm", "ugrnn") if model in found}


def section(name: str, results: dict[str, Any]) -> list[str]:
    table, chosen = results["table"], results["chosen"]
    lines = [f"## {name}", "", CORPORA.get(name, ""), ""]
    here = name == "imdb"  # where the settings were chosen, and the reviews are the paper's
    more = " the paper's | less the paper's | validation % | trials |" if here else ""
    lines += [f"| model | test accuracy % | 95 % |{more}"]
    lines += ["|---" * (7 if here else 3) + "|"]
    for row in table["rows"]:
        picked = chosen[row["model"]]
        low, high = row["interval"]
        more = ""
        if here:
            paper = row["paper"] or float("nan")
            more = f" {percent(paper)} | {signed(row['accuracy'] - paper)} | {percent(picked['accuracy'])} | "
            more += f"{picked['trials']} |"
        lines.append(f"| {row['title']} | {percent(row['accuracy'])} | {percent(low)} … {percent(high)} |{more}")
    lines += ["", "| | difference, points | 95 % |", "|---|---|---|"]
    for step in table["differences"]:
        low, high = (signed(x) for x in step["interval"])
        lines.append(
            f"| {TITLES[step['model']]} less {TITLES[step['less']]} | {signed(step['difference'])} | {low} … {high} |"
        )
    for model, step in results.get("networks_less_bow", {}).items():
        low, high = (signed(x) for x in step["interval"])
        lines.append(f"| {TITLES[model]} less {TITLES['bow']} | {signed(step['difference'])} | {low} … {high} |")
    gain = table["gain"]
    if gain:
        share = "not defined (no gain)" if gain["share"] is None else f"{100 * gain['share']:.0f} %"
        lines += ["", f"Of the gain of the best network over a bag of words, the best baseline recovers: {share}."]
        paper = {row["model"]: row["paper"] for row in table["rows"] if row["paper"] is not None}
        if here and "bow" in paper:
            nets = ("gru", "lstm", "ugrnn", "vanilla")
            best = max(value for model, value in paper.items() if model not in nets)
            most = max(value for model, value in paper.items() if model in nets)
            recovered = (best - paper["bow"]) / (most - paper["bow"])
            lines[-1] += f" The paper's own numbers on IMDB give {100 * recovered:.0f} %."
    lines += ["", "Words in random order (Fig. 10):", "", "| | points, each seed |", "|---|---|"]
    for model, record in results["architectures"].items():
        costs = ", ".join(signed(one["difference"]) for one in record["shuffled"])
        lines.append(f"| {TITLES[model]} | {costs} |")
    return [*lines, ""]


def neighbours() -> list[str]:
    """What validation reviews that were drawn one by one hid, from the records of both searches."""
    before, now = (read_json(DOCS / "results" / f"table-imdb{name}.json") for name in ("-earlier", ""))
    again = read_lines(DOCS / "results" / "trials-controls.jsonl")

    def tested(results: dict[str, Any], model: str) -> str:
        return percent(next(row["accuracy"] for row in results["table"]["rows"] if row["model"] == model))

    lines = [
        "## Validation reviews that tell of the same films", "",
        "IMDB lists reviews of one film side by side. Validation reviews drawn one by one tell of films that training",
        "has seen, and settings that learn names by heart look good; test reviews tell of other films. The earlier",
        "choices, read by validation reviews drawn both ways, and by the test reviews; beside them the present ones:",
        "",
        "| | earlier: single reviews | runs of 50 | test | now: runs of 50 | test |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for model in ("gru", "lstm", "ugrnn"):
        runs = [row["accuracy"] for row in again if row["model"] == model and row["run"] == 1]
        single, chosen = before["chosen"][model]["accuracy"], now["chosen"][model]["accuracy"]
        lines.append(
            f"| {TITLES[model]} | {percent(single)} | {percent(sum(runs) / len(runs))} | {tested(before, model)} | "
            f"{percent(chosen)} | {tested(now, model)} |"
        )
    gains = []
    for model in ("gru", "lstm", "ugrnn"):
        one, runs = (
            [row["accuracy"] for row in again if row["model"] == model and row["run"] == run] for run in (1, 8)
        )
        gains.append(f"{TITLES[model]} {signed(sum(runs) / len(runs) - sum(one) / len(one))}")
    return [
        *lines, "",
        "The first and fourth column are of trials that a search chose, the second of the same settings under two",
        "seeds, trained on a tenth fewer reviews than the first: chance and size are part of their difference. Of what",
        "is new in the search, one thing was tried by itself: with words dropped in runs of 8 instead of one by one,",
        f"the earlier settings gain {', '.join(gains)} points on runs of 50. The rest (`word_epsilon`, `sparsity`,",
        "longer `memory`) came together.", "",
    ]  # fmt: skip


def percent(share: float) -> str:
    return f"{100 * share:.2f}"


def signed(share: float) -> str:
    return f"{100 * share:+.2f}".replace("-", "−")


if __name__ == "__main__":
    main()
