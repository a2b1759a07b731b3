r"""The recipe of the packaged networks: train its twelve networks again, train it on parts of the corpus, or choose its
settings from a search.

    rnnlens prepare imdb yelp amazon yelp-sentences phrases --out CORPUS \
        --vocab-size 10500 --min-count 5 --neighbours 50
    python -m reproduction.recipe CORPUS --out DIR             # four architectures, three seeds: 4 minutes on an H200
    python -m reproduction.recipe CORPUS --out DIR --mixtures  # also 84 networks on parts of it: about 19 minutes more
    python -m reproduction.recipe --choose                     # docs/results/recipe-search.json → the bundled settings

Networks train side by side, each in a process of its own (`python -m rnnlens.training CORPUS --tuned …`, or
`python -m reproduction.mixtures …` for mixtures of equal size); finished ones are not trained again. On a GPU start
NVIDIA's multi-process service first: it lets the processes share the device. 69 of the 84 networks on parts of the
corpus took 16 minutes on an H200, 15 at once and with 6 others; for the other 15, LSTMs, their own times make it 3
minutes more.
That was before passes were recorded, which takes twice the memory: of 15 networks on all sources, one ran out of it.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from statistics import mean
from typing import Any

from reproduction.side_by_side import run_side_by_side
from rnnlens.common.files import write_json
from rnnlens.training.settings import TUNED

SEARCH = Path("docs/results/recipe-search.json")
ARCHS = ("gru", "lstm", "ugrnn", "vanilla")
SOURCES = ("imdb", "yelp", "amazon", "yelp-sentences", "phrases")
MIXTURES = {
    **{name: (name,) for name in SOURCES},
    "three": ("imdb", "yelp", "amazon"),
    "short": ("yelp-sentences", "phrases"),
}
SIZE = 18_000  # training documents of each mixture of equal size


def equal_mixtures() -> dict[str, dict[str, int]]:
    """Documents of each source in every mixture of equal size: reviews of one, two or three sources; then reviews of
    three sources with 25 to 100 % short documents, three quarters of which are sentences."""
    reviews, short = MIXTURES["three"], MIXTURES["short"]
    mixtures = {f"1-{name}": {name: SIZE} for name in reviews}
    mixtures["2-imdb-yelp"] = dict.fromkeys(reviews[:2], SIZE // 2)
    mixtures["3-reviews"] = dict.fromkeys(reviews, SIZE // 3)
    for percent in (25, 50, 75, 100):
        of_short = SIZE * percent // 100
        counts = dict.fromkeys(reviews, (SIZE - of_short) // 3) | {short[0]: of_short * 3 // 4, short[1]: of_short // 4}
        mixtures[f"short-{percent}"] = {name: count for name, count in counts.items() if count}
    return mixtures


def recipe_jobs() -> dict[str, dict[str, Any]]:
    """The twelve networks on all sources."""
    return {f"{arch}-all-{seed}": {"arch": arch, "seed": seed} for arch in ARCHS for seed in range(3)}


def mixture_jobs() -> dict[str, dict[str, Any]]:
    """The same recipe on parts of the corpus: on some of its sources (UGRNNs on single ones only), and for GRUs also on
    mixtures of equal size."""
    names = [(arch, name) for arch in ("gru", "lstm") for name in MIXTURES] + [("ugrnn", name) for name in SOURCES]
    jobs = {(arch, name): {"arch": arch, "sources": ",".join(MIXTURES[name])} for arch, name in names}
    for name, counts in equal_mixtures().items():
        written = ",".join(f"{source}={count}" for source, count in counts.items())
        jobs["gru", f"equal-{name}"] = {"arch": "gru", "counts": written}
    return {f"{arch}-{name}-{seed}": {**job, "seed": seed} for (arch, name), job in jobs.items() for seed in range(3)}


def arguments_of(corpus: Path, job: dict[str, Any], out: Path, device: str) -> list[str]:
    """What comes after `python -m` to train a network, or to go on with it."""
    drawn = "counts" in job  # a number of documents of each source
    program = ["reproduction.mixtures"] if drawn else ["rnnlens.training", "--tuned", "--resume", "--test"]
    flags = [part for flag, value in job.items() for part in (f"--{flag}", str(value))]
    return [*program, str(corpus), "--out", str(out), "--device", device, *flags]


def run_all(corpus: Path, jobs: dict[str, dict[str, Any]], out: Path, at_once: int, device: str) -> None:
    """Train the networks, `at_once` at a time."""
    out.mkdir(parents=True, exist_ok=True)
    arguments = {name: arguments_of(corpus, job, out / name, device) for name, job in jobs.items()}
    run_side_by_side(arguments, at_once, logs=out)


def choose(rows: list[dict[str, Any]], arch: str) -> dict[str, Any]:
    """The trial of an architecture to take. Every source counts the same: of the trials whose mean accuracy over the
    sources' validation texts is within a standard error of the highest, the one with the lowest mean loss."""

    def accuracy(row: dict[str, Any]) -> float:
        return mean(part["accuracy"] for part in row["validation"].values())

    def error(row: dict[str, Any]) -> float:
        parts = row["validation"].values()
        return math.sqrt(sum(p["accuracy"] * (1 - p["accuracy"]) / p["n"] for p in parts)) / len(parts)

    of_arch = [row for row in rows if row["arch"] == arch]
    top = max(of_arch, key=accuracy)
    near = [row for row in of_arch if accuracy(row) >= accuracy(top) - error(top)]
    return min(near, key=lambda row: mean(part["loss"] for part in row["validation"].values()))


def write_choice(search: Path) -> None:
    """Write the bundled settings of `train --tuned` from the record of the search."""
    record = json.loads(search.read_text())
    models = {}
    for arch in ARCHS:
        chosen = choose(record["trials"], arch)
        settings = dict(chosen["settings"])
        settings["epochs"] = round(settings.pop("steps") * settings["batch"] / record["documents"])
        settings |= record["then"].get(arch, {})
        accuracy = mean(part["accuracy"] for part in chosen["validation"].values())
        loss = mean(part["loss"] for part in chosen["validation"].values())
        of_arch = sum(row["arch"] == arch for row in record["trials"])
        models[arch] = {
            "parameters": settings,
            "accuracy": accuracy,
            "loss": loss,
            "trial": chosen["trial"],
            "trials": of_arch,
        }
        print(f"{arch}: trial {chosen['trial']} of {of_arch}, validation {100 * accuracy:.2f} %, loss {loss:.4f}")
    content = {"kind": "settings", "corpus": record["corpus"], "documents": record["documents"], "models": models}
    write_json(TUNED, content)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path, nargs="?")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--mixtures", action="store_true", help="also networks on parts of the corpus")
    parser.add_argument("--at-once", type=int, default=12, help="15 can take more memory than an H200 has")
    parser.add_argument("--device", default="cuda", choices=["cpu", "cuda"])
    parser.add_argument("--choose", action="store_true", help="write the bundled settings from the search's record")
    asked = parser.parse_args()
    if asked.choose:
        write_choice(SEARCH)
    elif asked.corpus is None or asked.out is None:
        parser.error("expected CORPUS --out DIR, or --choose")
    else:
        jobs = {**recipe_jobs(), **(mixture_jobs() if asked.mixtures else {})}
        run_all(asked.corpus, jobs, asked.out, asked.at_once, asked.device)


if __name__ == "__main__":
    main()
