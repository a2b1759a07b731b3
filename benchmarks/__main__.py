"""`make bench`: one table of ratios, each measured against a named peer or limit in this very run."""

from __future__ import annotations

import argparse
import platform
from collections.abc import Iterator
from pathlib import Path

import torch

from benchmarks import baselines, context, fixed_points, networks, prepare, toy

Row = tuple[str, float, str, float]


def rows(imdb: Path | None, only: str | None) -> Iterator[Row]:
    for part in (toy, networks, fixed_points, context, baselines, prepare):
        if only in (None, part.__name__.split(".")[-1]):
            yield from prepare.rows(imdb) if part is prepare else part.rows()


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument("--imdb", type=Path, help="folder with IMDB's train and test files, as `rnnlens prepare` takes")
    parser.add_argument("--only", help="toy, networks, fixed_points, context, baselines or prepare")
    arguments = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, {torch.get_num_threads()} threads, torch {torch.__version__}")
    print(f"{'what':58s} {'ours':>10s} {'peer':>10s} {'ratio':>7s}  peer")
    for what, ours, peer, theirs in rows(arguments.imdb, arguments.only):
        print(f"{what:58s} {_time(ours):>10s} {_time(theirs):>10s} {theirs / ours:6.1f}×  {peer}", flush=True)


def _time(seconds: float) -> str:
    return f"{1e3 * seconds:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"


if __name__ == "__main__":
    main()
