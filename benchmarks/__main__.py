"""`make bench`: one table of ratios, each measured against a named peer or limit in this very run.

Writes it as data too; `last` is the ratio in the table that is committed under docs/benchmarks.
"""

from __future__ import annotations

import argparse
import importlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch

from benchmarks.table import HEAD, Row, Skipped, in_words, line, machine, ratios, record

PARTS = ("toy", "prepare", "networks", "training", "fixed_points", "context", "baselines", "gpu")
RECORDS = Path(__file__).parent.parent / "docs" / "benchmarks"


def rows(part: str, arguments: argparse.Namespace) -> Iterator[Row | Skipped]:
    """Those of one part, which is imported only now: a part must not need what another does."""
    module = importlib.import_module(f"benchmarks.{part}")
    given = {
        "prepare": {"imdb": arguments.imdb},
        "fixed_points": {"peer": arguments.peer},
        "gpu": {"small": arguments.small},
    }.get(part, {})
    for row in module.rows(**given):
        yield replace(row, part=part)


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="some parts")
    parser.add_argument("--imdb", type=Path, help="folder with IMDB's train and test files, as `rnnlens prepare` takes")
    parser.add_argument("--peer", type=Path, help="a clone of github.com/mattgolub/fixed-point-finder: adds its rows")
    parser.add_argument("--out", type=Path, help="write the table as data too")
    parser.add_argument("--last", type=Path, help="the table to compare with (default: the committed one)")
    parser.add_argument("--small", action="store_true", help="the GPU's part on a CPU, tiny: to try its lines out")
    arguments = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    about = machine(device)
    committed = arguments.last or RECORDS / f"{'gpu' if device == 'cuda' else 'cpu'}.json"
    last = ratios(json.loads(committed.read_text())) if committed.exists() else {}
    print(f"{in_words(about)}\n{HEAD}", flush=True)
    found: list[Row | Skipped] = []
    for part in arguments.only:
        for row in rows(part, arguments):
            print(line(row, last), flush=True)
            found.append(row)
            if arguments.out:  # after every row: what was measured on a borrowed machine is kept, whatever comes next
                arguments.out.parent.mkdir(parents=True, exist_ok=True)
                arguments.out.write_text(json.dumps(record(found, about), indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
