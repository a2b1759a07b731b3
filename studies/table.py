"""Table 1 as a page: reads what `rnnlens reproduce` made, writes docs/table.md and its results as data.

python -m studies.table imdb=runs/table-imdb yelp=runs/table-yelp
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rnnlens.artifacts import atomic_file, read_json, write_json
from rnnlens.experiments.table import TITLES

DOCS = Path(__file__).parent.parent / "docs"
CORPORA = {
    "imdb": "IMDB, official split: 25,000 reviews to train on (10 % of them held out while settings were chosen), "
    "25,000 to test on.",
    "yelp": "A small set of Yelp reviews (about 60,000 to train on, mostly positive; 4,518 to test on, half and "
    "half), not the paper's Yelp 2015. Settings are IMDB's, trained for as many steps, with classes weighed equally.",
}


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
        "over seeds, by Student's t; of a difference, by bootstrap over reviews and seeds.",
        "",
    ]
    for given in parser.parse_args().folders:
        name, _, folder = given.partition("=")
        results = read_json(Path(folder) / "results.json")
        results = {key: value for key, value in results.items() if key != "fingerprint"}
        results["provenance"]["source"] = name
        write_json(DOCS / "results" / f"table-{name}.json", results)
        lines += section(name, results)
    with atomic_file(DOCS / "table.md") as temporary:
        temporary.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print(DOCS / "table.md")


def section(name: str, results: dict[str, Any]) -> list[str]:
    table, chosen = results["table"], results["chosen"]
    lines = [f"## {name}", "", CORPORA.get(name, ""), ""]
    lines += [
        "| model | test accuracy % | 95 % | the paper's | less the paper's | validation % | trials |",
        "|---" * 7 + "|",
    ]
    for row in table["rows"]:
        picked = chosen[row["model"]]
        low, high = row["interval"]
        paper = row["paper"]
        beside = f"{percent(paper)} | {signed(row['accuracy'] - paper)}" if paper else "– | –"
        lines.append(
            f"| {row['title']} | {percent(row['accuracy'])} | {percent(low)} … {percent(high)} | {beside} | "
            f"{percent(picked['accuracy'])} | {picked['trials']} |"
        )
    lines += ["", "| | difference, points | 95 % |", "|---|---|---|"]
    for step in table["differences"]:
        low, high = (signed(x) for x in step["interval"])
        lines.append(
            f"| {TITLES[step['model']]} less {TITLES[step['less']]} | {signed(step['difference'])} | {low} … {high} |"
        )
    gain = table["gain"]
    if gain:
        share = "not defined (no gain)" if gain["share"] is None else f"{100 * gain['share']:.0f} %"
        lines += ["", f"Of the gain of the best network over a bag of words, the best baseline recovers: {share}."]
    lines += ["", "Words in random order (Fig. 10):", "", "| | points, each seed |", "|---|---|"]
    for model, record in results["architectures"].items():
        costs = ", ".join(signed(one["difference"]) for one in record["shuffled"])
        lines.append(f"| {TITLES[model]} | {costs} |")
    return [*lines, ""]


def percent(share: float) -> str:
    return f"{100 * share:.2f}"


def signed(share: float) -> str:
    return f"{100 * share:+.2f}".replace("-", "−")


if __name__ == "__main__":
    main()
