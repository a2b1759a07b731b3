"""`make bench`: one table of ratios, each measured against a named peer or limit in this very run.

A ratio above 1 says that we are quicker; `last` is the ratio committed in benchmarks/records, and ▼ marks what
has lost a fifth since. `--record` puts this run in its place.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch

from benchmarks.page import RECORDS, write_page
from benchmarks.table import HEAD, Row, Skipped, in_words, line, machine, record, rows_of
from benchmarks.timing import of_the_cpu

PARTS = ("toy", "prepare", "networks", "recurrences", "training", "fixed_points", "context", "baselines", "gpu")


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
    parser.add_argument("--out", type=Path, help="write the table as data")
    parser.add_argument("--record", action="store_true", help="write it to benchmarks/records, with its page")
    parser.add_argument("--threads", type=int, help="of torch (default: its own choice; one where the machine is busy)")
    parser.add_argument("--small", action="store_true", help="the GPU's part on a CPU, tiny: to try its lines out")
    arguments = parser.parse_args()
    busy = os.getloadavg()[0] > 0.5 * len(os.sched_getaffinity(0))
    if arguments.threads or busy:
        torch.set_num_threads(arguments.threads or 1)  # threads that wait for each other measure only who else is here
    name = "gpu" if "gpu" in arguments.only and torch.cuda.is_available() else "cpu"
    if busy and name == "cpu" and torch.get_num_threads() == 1:
        of_the_cpu()
    about, committed = machine("cuda" if name == "gpu" else "cpu"), RECORDS / f"{name}.json"
    before = rows_of(json.loads(committed.read_text(encoding="utf-8"))) if committed.exists() else []
    last = {row.key: row.ratio for row in before if isinstance(row, Row)}
    out = arguments.out or (committed if arguments.record else None)
    print(f"{in_words(about)}\n{HEAD}", flush=True)
    found: list[Row | Skipped] = []
    for part in arguments.only:
        for row in rows(part, arguments):
            found.append(replace(row, last=last.get(row.key)) if isinstance(row, Row) else row)
            print(line(found[-1]), flush=True)
            if out:  # after every row: what was measured on a borrowed machine is kept, whatever comes next
                out.parent.mkdir(parents=True, exist_ok=True)
                out.write_text(json.dumps(record(found, about), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if arguments.record:
        write_page()


if __name__ == "__main__":
    main()
