"""Fills docs/scale.md: the memory that a corpus of millions took, and what all of Yelp costs on eight GPUs, from what
was measured; and the files of examples/cluster, as they are.

python -m studies.scale [--price USD an hour and GPU]
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE, RECORDS = ROOT / "docs" / "scale.md", ROOT / "docs" / "benchmarks"
YELP, GPUS, EPOCHS, HELD_OUT = 7_000_000, 8, 8, 0.01
BANDWIDTH = 100.0  # GB/s between GPUs in a sum over eight of them: assumed, a quarter of what NVLink promises
PRICE = 4.0  # USD for a GPU and an hour: assumed


def main() -> None:
    parser = argparse.ArgumentParser("python -m studies.scale", description=__doc__)
    parser.add_argument("--price", type=float, default=PRICE, help="USD for a GPU and an hour")
    asked = parser.parse_args()
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), asked.price), encoding="utf-8")
    print(PAGE)


def filled(page: str, price: float = PRICE) -> str:
    """The page with everything between `<!-- name -->` and `<!-- end -->` written anew."""

    def part(found: re.Match[str]) -> str:
        name = found[1]
        if name.startswith("file "):
            path = ROOT / name.removeprefix("file ")
            kind = "yaml" if path.suffix == ".yaml" else "bash"
            text = f"```{kind}\n{path.read_text(encoding='utf-8')}```"
        else:
            text = memory(_read("scale")) if name == "memory" else estimate(_read("gpu"), _read("scale"), price)
        return f"<!-- {name} -->\n{text}\n<!-- end -->"

    return re.sub(r"<!-- (memory|estimate|file \S+) -->\n.*?<!-- end -->", part, page, flags=re.DOTALL)


def _read(name: str) -> dict[str, Any]:
    return json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))


def memory(scale: dict[str, Any]) -> str:
    """What each step of the generated corpus took."""
    lines = [
        f"Measured on {scale['reviews']:,} generated reviews ({scale['words']:,} words, {scale['csv_gb']} GB of csv, "
        f"{scale['vocabulary']:,} words kept), {scale['machine']['cpu']}, {scale['machine']['date']}; the most that "
        "the process and its children had at once, with and without the pages of mapped files, which the system takes "
        "back when it needs them:",
        "",
        "| command | seconds | peak GB | without mapped files |",
        "|---|--:|--:|--:|",
    ]
    for stage in scale["stages"]:
        cells = [f"`{stage['command']}`", f"{stage['seconds']:,.0f}", stage["peak_gb"], stage["anonymous_gb"]]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def estimate(gpu: dict[str, Any], scale: dict[str, Any], price: float) -> str:
    """Minutes, GPU hours and dollars, from rates measured on one GPU."""
    rows = {row["what"]: row for row in gpu["rows"] if row["numbers"]}
    shared = next(row["numbers"] for what, row in rows.items() if "as one of 8 processes" in what)
    alone = {
        int(row["numbers"]["batch"]): row["numbers"]["reviews_per_s"]
        for what, row in rows.items()
        if what.startswith("training gru") and "float32" in what
    }
    evaluated = next(row["numbers"]["reviews_per_s"] for what, row in rows.items() if what.startswith("evaluating"))
    analysed = next(row["numbers"] for what, row in rows.items() if what.startswith("analyze with"))
    prepared = next(stage for stage in scale["stages"] if stage["stage"] == "prepare")
    batch = int(shared["batch"])
    train, held = YELP * (1 - 2 * HELD_OUT), YELP * HELD_OUT
    exchange = 2 * (GPUS - 1) / GPUS * 4 * shared["parameters"] / (BANDWIDTH * 1e9)
    step = shared["step_s"] + exchange
    epoch = train / (batch * GPUS) * step + held / (evaluated * GPUS)
    one = train / alone[batch] + held / evaluated
    sample = 20_000
    stages = [
        ("prepare, two CPU cores", prepared["seconds"] * YELP / scale["reviews"], 0),
        (f"train, {EPOCHS} epochs, {GPUS} GPUs", EPOCHS * epoch, GPUS),
        (f"the same on one GPU, {batch:,} reviews a step", EPOCHS * one, 1),
        (f"analyze, {sample:,} reviews of each split, one GPU",
         sample * analysed["passes"] / analysed["reviews_per_s"], 1),
    ]  # fmt: skip
    many = ", ".join(f"{rate:,.0f} at {size:,} a step" for size, rate in sorted(alone.items()))
    lines = [
        f"A GRU of 256 units on {YELP / 1e6:.0f} million reviews, {EPOCHS} epochs, {100 * HELD_OUT:.0f} % held out to "
        f"validate on and as many to test on. Measured on one {gpu['machine']['gpu']} ({gpu['machine']['date']}), on "
        f"generated reviews as long as Yelp's: {many} reviews a second alone; as one of {GPUS} processes that share "
        f"batches of {batch * GPUS:,}, {shared['reviews_per_s']:,.0f}, {1e3 * shared['step_s']:.1f} ms a step. Not "
        f"measured but assumed: {shared['parameters'] / 1e6:.1f} million gradients summed over {GPUS} GPUs at "
        f"{BANDWIDTH:.0f} GB/s, {1e3 * exchange:.2f} ms a step if nothing of it hides behind the computation; a price "
        f"of {price:.2f} USD for a GPU and an hour; and that {batch * GPUS:,} reviews a step learn as well as few (the "
        "settings that come along were chosen for 64 a step: search again).",
        "",
        "| step | minutes | GPU hours | USD |",
        "|---|--:|--:|--:|",
    ]
    for name, seconds, gpus in stages:
        hours = seconds * gpus / 3600
        cost = f"{hours:.2f} | {hours * price:.2f}" if gpus else "– | –"
        lines.append(f"| {name} | {seconds / 60:,.1f} | {cost} |")
    speedup = one / epoch
    disk = scale["csv_gb"] * YELP / scale["reviews"]
    lines += [
        "",
        f"Eight GPUs are {speedup:.1f} times as fast as one at the same reviews a GPU. On disk the texts take about "
        f"{disk:.0f} GB and the prepared corpus {2 * scale['words'] * YELP / scale['reviews'] / 1e9:.1f} GB; while "
        f"preparing, {4 * scale['words'] * YELP / scale['reviews'] / 1e9:.1f} GB more.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
