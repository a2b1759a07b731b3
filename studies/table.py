"""Table 1 as a page: reads what `rnnlens reproduce` made, writes docs/table.md and its results as data.

python -m studies.table imdb=runs/table-imdb yelp=runs/table-yelp,corpora/yelp
python -m studies.table imdb yelp                                                # from the records
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from rnnlens.analysis.table import TITLES, difference
from rnnlens.common.files import read_json, read_tensors, write_json
from rnnlens.corpora.reading import read_corpus
from studies.pages import write_page

DOCS = Path(__file__).parent.parent / "docs"
PAGE, TEMPLATE = DOCS / "table.md", Path(__file__).with_name("table.md")
NETWORKS = ("gru", "lstm", "ugrnn", "vanilla")
NAMES = ("imdb", "yelp")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", help="NAME=FOLDER[,CORPUS], as in imdb=runs/table; others: the record")
    for given in parser.parse_args().folders:
        name, _, folder = given.partition("=")
        folder, _, corpus = folder.partition(",")
        if folder:
            results = read_json(Path(folder) / "results.json")
            results = {key: value for key, value in results.items() if key != "fingerprint"}
            results["provenance"]["source"] = name
            if corpus:
                results["networks_less_bow"] = networks_less_bow(Path(folder), results["table"], Path(corpus))
            write_json(record_of(name), results)
    write_page(TEMPLATE, PAGE, **page_values({name: read_json(record_of(name)) for name in NAMES}))
    print(PAGE)


def record_of(name: str) -> Path:
    return DOCS / "results" / f"table-{name}.json"


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


def page_values(records: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What the template shows of the records."""
    imdb = records["imdb"]["table"]["rows"]
    paper = {row["model"]: row["paper"] for row in imdb}
    best_bag = max(value for model, value in paper.items() if model not in NETWORKS)
    best_network = max(paper[model] for model in NETWORKS)
    above = [row["accuracy"] - row["paper"] for row in imdb]
    return {
        "tables": {name: _table(results) for name, results in records.items()},
        "titles": TITLES,
        "at_least": sum(value >= 0 for value in above),
        "worst": min(above),
        "paper_share": (best_bag - paper["bow"]) / (best_network - paper["bow"]),
    }


def _table(results: dict[str, Any]) -> dict[str, Any]:
    table = results["table"]
    return {
        "rows": table["rows"],
        "by_model": {row["model"]: row for row in table["rows"]},
        "gain": table["gain"],
        "steps": {step["model"]: step for step in table["differences"] if step["model"] in ("comw", "comw+beta_mod")},
        "networks": results.get("networks_less_bow", {}),
        "trials": {model: chosen.get("trials") for model, chosen in results["chosen"].items()},
        "shuffled": {
            model: mean(one["difference"] for one in found["shuffled"])
            for model, found in results["architectures"].items()
        },
    }


if __name__ == "__main__":
    main()
