"""Fills docs/scale.md: the memory that a corpus of millions took, and what all of Yelp costs on eight GPUs, from what
was measured; and the files of examples/cluster, as they are.

python -m studies.scale [--price USD an hour and GPU]
python -m studies.scale --run RUN --gpu NAME    first notes how fast a finished run was trained, and on what
"""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rnnlens.common.files import read_json, read_lines

ROOT = Path(__file__).parent.parent
PAGE, RECORDS = ROOT / "docs" / "scale.md", ROOT / "docs" / "benchmarks"
YELP, GPUS, EPOCHS, HELD_OUT, SAMPLE = 7_000_000, 8, 8, 0.01, 20_000
BANDWIDTH = 100.0  # GB/s between GPUs in a sum over eight of them: assumed, a quarter of what NVLink promises
PRICE = 4.0  # USD for a GPU and an hour: assumed


def main() -> None:
    parser = argparse.ArgumentParser("python -m studies.scale", description=__doc__)
    parser.add_argument("--price", type=float, default=PRICE, help="USD for a GPU and an hour")
    parser.add_argument("--run", type=Path, help="a finished run on a GPU, to take the rate of training from")
    parser.add_argument("--gpu", help="the GPU it was trained on")
    asked = parser.parse_args()
    if asked.run:
        note = json.dumps(training_record(asked.run, asked.gpu), indent=1)
        (RECORDS / "training.json").write_text(note + "\n", encoding="utf-8")
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), asked.price), encoding="utf-8")
    print(PAGE)


def training_record(run: Path, gpu: str) -> dict[str, Any]:
    """How long the epochs of a run took, and what it was."""
    about, history = read_json(run / "run.json"), read_lines(run / "history.jsonl")
    network = read_json(run / "results.json")["network"]
    times = [line["seconds"] for line in history]
    rows = about["corpus"]["rows"]["train"] * (1 - about["corpus"]["options"]["validation"])
    return {
        "gpu": gpu, "arch": network["arch"], "hidden": network["hidden"], "parameters": network["parameters"],
        "batch": about["config"]["batch"], "reviews": round(rows), "steps": history[0]["step"],
        "epoch_seconds": [round(b - a, 3) for a, b in zip([0.0, *times], times, strict=False)],
    }  # fmt: skip


def filled(page: str, price: float = PRICE) -> str:
    """The page with everything between `<!-- name -->` and `<!-- end -->` written anew."""

    def part(found: re.Match[str]) -> str:
        name = found[1]
        if name.startswith("file "):
            path = ROOT / name.removeprefix("file ")
            kind = "yaml" if path.suffix == ".yaml" else "bash"
            text = f"```{kind}\n{path.read_text(encoding='utf-8')}```"
        else:
            text = memory(_read("scale")) if name == "memory" else estimate(rates(), _read("scale"), price)
        return f"<!-- {name} -->\n{text}\n<!-- end -->"

    return re.sub(r"<!-- (memory|estimate|file \S+) -->\n.*?<!-- end -->", part, page, flags=re.DOTALL)


def _read(name: str) -> dict[str, Any]:
    return json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))


def memory(scale: dict[str, Any]) -> str:
    """What each step of the generated corpus took."""
    lines = [
        f"Measured on {scale['reviews']:,} generated reviews ({scale['words']:,} words, {scale['csv_gb']} GB of csv, "
        f"{scale['vocabulary']:,} words kept), {scale['machine']['cpu']}, busy with other work (load "
        f"{scale['machine']['load']}), {scale['machine']['date']}; the most that the process and its children had at "
        "once, with and without the pages of mapped files, which the system takes back when it needs them:",
        "",
        "| command | seconds | peak GB | without mapped files |",
        "|---|--:|--:|--:|",
    ]
    for stage in scale["stages"]:
        cells = [f"`{stage['command']}`", f"{stage['seconds']:,.0f}", stage["peak_gb"], stage["anonymous_gb"]]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


@dataclass(frozen=True)
class Rates:
    """What was measured on one GPU: reviews a second alone, seconds of a step among eight (gradients not exchanged),
    reviews a second without gradients and reviews and passes a second of the analysis, where known."""

    told: str
    units: int
    parameters: float
    batch: int
    alone: float
    step: float
    evaluated: float | None = None
    analysed: float | None = None


def rates() -> Rates:
    """From the benchmark on a GPU where it is recorded, else from how long a run took to train."""
    if (RECORDS / "gpu.json").exists():
        return _benchmarked(_read("gpu"))
    run = _read("training")
    later = run["epoch_seconds"][1:]  # the first pays for loading libraries
    seconds = sum(later) / len(later)
    alone = run["reviews"] / seconds
    told = (
        f"Measured: a {run['arch'].upper()} of {run['hidden']} units read {run['reviews']:,} Yelp reviews, "
        f"{run['batch']} a step, in {seconds:.2f} s an epoch on one {run['gpu']}, its validation reviews among them: "
        f"{alone:,.0f} reviews a second, {1e3 * seconds / run['steps']:.1f} ms a step, other work on that GPU "
        "perhaps included. The GPU's part of the benchmark, which measures larger batches and what a process does "
        "among eight, is yet to be recorded (`python -m benchmarks --only gpu --record`); a process among eight is "
        "taken to be as quick as one alone."
    )
    return Rates(told, run["hidden"], run["parameters"], run["batch"], alone, seconds / run["steps"])


def _benchmarked(gpu: dict[str, Any]) -> Rates:
    rows = {row["what"]: row["numbers"] for row in gpu["rows"] if row["numbers"]}
    pair = next(row for row in gpu["rows"] if "as one of 8 processes" in row["what"])

    def numbers(start: str) -> dict[str, float]:
        return next(found for what, found in rows.items() if what.startswith(start))

    shared = pair["numbers"]
    alone = {int(found["batch"]): found["reviews_per_s"] for what, found in rows.items()
             if what.startswith("training gru") and "float32" in what}  # fmt: skip
    batch, analysed = int(shared["batch"]), numbers("analyze with")
    many = ", ".join(f"{rate:,.0f} at {size:,} a step" for size, rate in sorted(alone.items()))
    told = (
        f"Measured on one {gpu['machine']['gpu']} ({gpu['machine']['date']}), a GRU of 256 units on generated reviews "
        f"as long as Yelp's: {many} reviews a second alone; as one of {GPUS} processes that share batches of "
        f"{batch * GPUS:,}, {shared['reviews_per_s']:,.0f}, {1e3 * shared['step_s']:.1f} ms a step (one process stood "
        "in for the others, and exchanged no gradients). Analysis was measured on the packaged GRU."
    )
    beside = shared["reviews_per_s"] * pair["ours"] / pair["theirs"]  # the same reviews alone, in turns with it
    return Rates(told, 256, shared["parameters"], batch, beside, shared["step_s"],
                 numbers("evaluating")["reviews_per_s"], analysed["reviews_per_s"] / analysed["passes"])  # fmt: skip


def estimate(found: Rates, scale: dict[str, Any], price: float) -> str:
    """Minutes, GPU hours and dollars."""
    prepared = next(stage for stage in scale["stages"] if stage["stage"] == "prepare")
    train, held, growth = YELP * (1 - 2 * HELD_OUT), YELP * HELD_OUT, YELP / scale["reviews"]
    exchange = 2 * (GPUS - 1) / GPUS * 4 * found.parameters / (BANDWIDTH * 1e9)
    validation = held / found.evaluated if found.evaluated else 0.0
    one = train / found.alone + validation
    epoch = train / (found.batch * GPUS) * (found.step + exchange) + validation / GPUS
    stages = [
        ("prepare, two CPU cores", prepared["seconds"] * growth, 0),
        (f"train, {EPOCHS} epochs, {GPUS} GPUs, {found.batch * GPUS:,} reviews a step", EPOCHS * epoch, GPUS),
        (f"train, {EPOCHS} epochs, one GPU, {found.batch:,} reviews a step", EPOCHS * one, 1),
    ]
    if found.analysed:
        stages.append((f"analyze, {SAMPLE:,} reviews of each split, one GPU", SAMPLE / found.analysed, 1))
    lines = [
        f"A GRU of {found.units} units on {YELP / 1e6:.0f} million reviews, {EPOCHS} epochs, {100 * HELD_OUT:.0f} % "
        f"held out to validate on and as many to test on. {found.told}",
        "",
        f"Not measured but assumed: {found.parameters / 1e6:.1f} million gradients summed over {GPUS} GPUs at "
        f"{BANDWIDTH:.0f} GB/s, {1e3 * exchange:.2f} ms a step if nothing of it hides behind the computation; a price "
        f"of {price:.2f} USD for a GPU and an hour; and that {found.batch * GPUS:,} reviews a step learn as well as "
        "few (the settings that come along were chosen for smaller steps: search again).",
        "",
        "| step | minutes | GPU hours | USD |",
        "|---|--:|--:|--:|",
    ]
    for name, seconds, gpus in stages:
        hours = seconds * gpus / 3600
        cost = f"{hours:.2f} | {hours * price:.2f}" if gpus else "– | –"
        lines.append(f"| {name} | {seconds / 60:,.1f} | {cost} |")
    words = scale["words"] * growth / 1e9
    lines += [
        "",
        f"By this, eight GPUs are {one / epoch:.1f} times as fast as one at as many reviews a GPU. On disk the texts "
        f"take about {scale['csv_gb'] * growth:.0f} GB and the prepared corpus {2 * words:.1f} GB; while preparing, "
        f"{4 * words:.1f} GB more.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
