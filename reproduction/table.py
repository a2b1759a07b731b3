"""Table 1 as a page: reads what `rnnlens reproduce` made, writes docs/table.md and its results as data.

python -m reproduction.table imdb=runs/table-imdb yelp=runs/table-yelp
python -m reproduction.table                                    # from the records
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from reproduction.study import store, stored, write_page
from rnnlens.common.files import read_json

NETWORKS = ("gru", "lstm", "ugrnn", "vanilla")
NAMES = ("imdb", "yelp")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", help="NAME=FOLDER, as in imdb=runs/table")
    for given in parser.parse_args().folders:
        name, _, folder = given.partition("=")
        results = read_json(Path(folder) / "results.json")
        results["provenance"]["source"] = name
        store(f"table-{name}", results)
    write_page("table", **page_values({name: stored(f"table-{name}") for name in NAMES}))


def page_values(records: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What the template shows of the records."""
    imdb = records["imdb"]["table"]["rows"]
    paper = {row["model"]: row["paper"] for row in imdb}
    best_bag = max(value for model, value in paper.items() if model not in NETWORKS)
    best_network = max(paper[model] for model in NETWORKS)
    above = [row["accuracy"] - row["paper"] for row in imdb]
    return {
        "tables": {name: _table(results) for name, results in records.items()},
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
    }


if __name__ == "__main__":
    main()
