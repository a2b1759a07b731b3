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

NOTES = """## What was tried where a cell is below the paper's

- **Bag of words**: three searches (`results/trials.jsonl` and `trials-earlier.jsonl`) over learning rates, decays, L2,
  word dropout, four to sixteen epochs, all words or the last 800 agree to a tenth of a point.
- **Edges**: with shared weights they change nothing that is clear of chance on IMDB; with weights of their own they
  overfit, under weak penalties and strong: no trial of these read the validation reviews better than bags of words did.
- **LSTM**: its chosen trial read the validation reviews best of all networks, the test reviews two points worse. The
  four best settings were tried again under two more seeds; the choice stayed.
- **Vanilla**: units that begin as leaky sums (`memory`) were worth two points; reading 400 words or 800 made no clear
  difference.
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
        "read) went into the spaces that are searched now: the numbers are a little less blind than the procedure.",
        "",
    ]
    for given in parser.parse_args().folders:
        name, _, folder = given.partition("=")
        results = read_json(Path(folder) / "results.json")
        results = {key: value for key, value in results.items() if key != "fingerprint"}
        results["provenance"]["source"] = name
        write_json(DOCS / "results" / f"table-{name}.json", results)
        lines += section(name, results)
    lines += NOTES
    with atomic_file(DOCS / "table.md") as temporary:
        temporary.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print(DOCS / "table.md")


def section(name: str, results: dict[str, Any]) -> list[str]:
    table, chosen = results["table"], results["chosen"]
    lines = [f"## {name}", "", CORPORA.get(name, ""), ""]
    here = name == "imdb"  # where the settings were chosen
    more = " validation % | trials |" if here else ""
    lines += [f"| model | test accuracy % | 95 % | the paper's | less the paper's |{more}"]
    lines += ["|---" * (7 if here else 5) + "|"]
    for row in table["rows"]:
        picked = chosen[row["model"]]
        low, high = row["interval"]
        paper = row["paper"]
        beside = f"{percent(paper)} | {signed(row['accuracy'] - paper)}" if paper else "– | –"
        more = f" {percent(picked['accuracy'])} | {picked['trials']} |" if here else ""
        lines.append(
            f"| {row['title']} | {percent(row['accuracy'])} | {percent(low)} … {percent(high)} | {beside} |{more}"
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
