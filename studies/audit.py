"""Which kinds of sentences the packaged networks read right.

    python -m studies.audit [--trees sst/train.txt]   # → docs/results/audit.json and docs/audit.md
    python -m studies.audit --page                    # the page from the record

The trees are the Stanford Sentiment Treebank's.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

import rnnlens
from rnnlens.common.files import atomic_file

RECORD, PAGE, TEMPLATE = Path("docs/results/audit.json"), Path("docs/audit.md"), Path(__file__).with_name("audit.md")
NETWORKS = ("reviews-gru", "reviews-lstm", "reviews-ugrnn", "reviews-vanilla")
WORST = 10  # sentences of each kind that the record keeps
SHOWN = "reviews-gru"  # whose mechanism the page shows


def measure(trees: Path | None) -> dict[str, Any]:
    """Every network's audit as plain data. Phrases of other people are counted, and none is kept."""
    found = {}
    for name in NETWORKS:
        result = rnnlens.audit(f"zoo:{name}", trees, worst=WORST).to_dict()
        found[name] = _rounded({**result, "people": [{**group, "worst": []} for group in result["people"]]})
        print(name, {kind["kind"]: kind["accuracy"] for kind in found[name]["kinds"]}, flush=True)
    return found


def page(networks: dict[str, Any]) -> str:
    """The page of a record."""
    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    shown = networks[SHOWN]
    wrong = sorted((one for kind in shown["kinds"] for one in kind["worst"]), key=lambda one: one["margin"])
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        networks=networks,
        shown=shown,
        name=SHOWN,
        wrong=wrong[:10],
        rows={part: _by_kind(networks, part) for part in ("kinds", "people")},
    )


def _by_kind(networks: dict[str, Any], part: str) -> dict[str, dict[str, Any]]:
    """Kind → network → its numbers."""
    kinds = dict.fromkeys(one["kind"] for found in networks.values() for one in found[part])
    return {
        kind: {
            name: next((one for one in found[part] if one["kind"] == kind), None) for name, found in networks.items()
        }
        for kind in kinds
    }


def _rounded(content: Any) -> Any:
    if isinstance(content, float):
        return float(f"{content:.4g}")
    if isinstance(content, dict):
        return {name: _rounded(value) for name, value in content.items()}
    return [_rounded(value) for value in content] if isinstance(content, list | tuple) else content


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trees", type=Path, help="sentences whose phrases people labelled")
    parser.add_argument("--page", action="store_true", help="write the page from the record, and measure nothing")
    asked = parser.parse_args()
    if not asked.page:
        record = {"networks": measure(asked.trees)}
        with atomic_file(RECORD) as temporary:
            temporary.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    networks = json.loads(RECORD.read_text(encoding="utf-8"))["networks"]
    with atomic_file(PAGE) as temporary:
        temporary.write_text(page(networks), encoding="utf-8")


if __name__ == "__main__":
    main()
