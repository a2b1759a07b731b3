"""Which kinds of sentences the packaged networks read right: docs/audit.md and its record.

python -m reproduction.audit --trees sst/train.txt   # trees of the Stanford Sentiment Treebank
python -m reproduction.audit                         # the page from the record
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import rnnlens
from reproduction.study import store, stored, write_page

NETWORKS = ("reviews-gru", "reviews-lstm", "reviews-ugrnn", "reviews-vanilla")
WORST = 10  # sentences of each kind that the record keeps
SHOWN = "reviews-gru"  # whose mechanism the page shows


def measure(trees: Path) -> dict[str, Any]:
    """Every network's audit as plain data. Phrases of other people are counted, and none is kept."""
    found = {}
    for name in NETWORKS:
        result = rnnlens.audit(f"zoo:{name}", trees, worst=WORST).to_dict()
        found[name] = {**result, "people": [{**group, "worst": []} for group in result["people"]]}
        print(name, {kind["kind"]: kind["accuracy"] for kind in found[name]["kinds"]}, flush=True)
    return found


def page_values(networks: dict[str, Any]) -> dict[str, Any]:
    shown = networks[SHOWN]
    wrong = sorted((one for kind in shown["kinds"] for one in kind["worst"]), key=lambda one: one["margin"])
    rows = {part: by_kind(networks, part) for part in ("kinds", "people")}
    return {"networks": networks, "shown": shown, "name": SHOWN, "wrong": wrong[:3], "rows": rows}


def by_kind(networks: dict[str, Any], part: str) -> dict[str, dict[str, Any]]:
    """Kind → network → its numbers."""
    kinds = dict.fromkeys(one["kind"] for found in networks.values() for one in found[part])
    return {
        kind: {
            name: next((one for one in found[part] if one["kind"] == kind), None) for name, found in networks.items()
        }
        for kind in kinds
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trees", type=Path, help="sentences whose phrases people labeled")
    asked = parser.parse_args()
    if asked.trees:
        store("audit", {"networks": measure(asked.trees)})
    write_page("audit", **page_values(stored("audit")["networks"]))


if __name__ == "__main__":
    main()
