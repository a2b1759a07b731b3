"""Which recipe `validate` trains its networks by: tried out on another language than those that are reported.

python -m studies.validation_search OUT --seconds 300 --jobs 12

Every trial is a line of OUT/validation-search.jsonl: settings, the validation documents' accuracy and loss after every
epoch, how much of the modification the network reads, and how well its modifiers are found. The language's seed is 100;
reported languages have 0.
"""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rnnlens.artifacts import append_line, read_json, write_json
from rnnlens.context.modifiers import find_modifiers
from rnnlens.context.probes import Probes
from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.synthetic import prepared_synthetic, preset
from rnnlens.corpora.truth import Truth
from rnnlens.dynamics import visited_states
from rnnlens.errors import RnnlensError
from rnnlens.experiments.analyze import find_line
from rnnlens.experiments.measuring import reading
from rnnlens.experiments.recipe import Settings
from rnnlens.experiments.scoring import LEARNABLE, average_precision
from rnnlens.experiments.space import Choice, Log, Space, Uniform
from rnnlens.experiments.workers import run_jobs
from rnnlens.networks import Network
from rnnlens.training import TrainConfig, evaluate, train

LANGUAGE_SEED = 100
SHAPE = ("hidden", "embedding", "scale", "memory")
SPACE: Space = {
    "hidden": Choice(64, 128), "embedding": Choice(16, 32, 64), "scale": Log(0.01, 0.1), "memory": Choice(30, 100),
    "learning_rate": Log(5e-3, 1.5e-2), "word_epsilon": Log(5e-4, 3e-3), "sparsity": Log(0.07, 0.5),
    "weight_decay": Log(3e-3, 0.05), "word_dropout": Uniform(0.0, 0.1), "embedding_dropout": Uniform(0.0, 0.2),
    "epochs": Choice(16, 24), "batch": Choice(64, 128),
}  # fmt: skip
BASE: dict[str, Any] = {
    "hidden": 128, "embedding": 32, "scale": 0.03, "memory": 100.0, "learning_rate": 7e-3, "word_epsilon": 1e-3,
    "sparsity": 0.2, "weight_decay": 0.01, "word_dropout": 0.05, "embedding_dropout": 0.1, "epochs": 24, "batch": 128,
}  # fmt: skip
BY_HAND: list[dict[str, Any]] = [
    {}, {"hidden": 64, "embedding": 16}, {"learning_rate": 1e-2}, {"sparsity": 0.3}, {"sparsity": 0.12},
    {"batch": 64, "epochs": 16}, {"embedding": 64}, {"learning_rate": 1.5e-2, "clip": 0.3},
    {"word_epsilon": 2e-3, "sparsity": 0.1, "learning_rate": 1e-2}, {"memory": 30.0}, {"average": 0.999},
    {"word_dropout": 0.0, "embedding_dropout": 0.0}, {"embedding_dropout": 0.3}, {"weight_decay": 0.05},
    {"hidden": 64, "embedding": 16, "sparsity": 0.3, "epochs": 32, "learning_rate": 1e-2},
]  # fmt: skip
AGAIN, SEEDS = 4, (1, 2)  # so many of the best are trained again, from these seeds


def settings(n: int = 60) -> list[dict[str, Any]]:
    """By hand first, then at random."""
    generator = np.random.default_rng(0)
    drawn = [{name: kind.draw(generator) for name, kind in SPACE.items()} for _ in range(n)]
    return [{**BASE, **some} for some in [*BY_HAND, *drawn]]


def prepare(name: str, folder: Path) -> None:
    """The language, with more validation documents than it has by default, and probe words."""
    language = dataclasses.replace(preset(name), validation=5_000, test=0)
    corpus, _ = prepared_synthetic(language, LANGUAGE_SEED, folder)
    if not (folder / "probes.json").exists():
        write_json(folder / "probes.json", dataclasses.asdict(Probes.from_corpus(corpus)))


@lru_cache(maxsize=1)
def opened(folder: Path) -> tuple[Corpus, Truth, Probes]:
    from rnnlens.corpora import load_corpus

    return load_corpus(folder), Truth.load(folder), Probes(**read_json(folder / "probes.json"))


def trial(
    job: tuple[int, dict[str, Any], int], folder: Path, weights: Path | None, device: str | None
) -> dict[str, Any]:
    """Train one network and say how it reads."""
    torch.set_num_threads(1)
    number, asked, seed = job
    corpus, truth, probes = opened(folder)
    config = dataclasses.replace(settings_of(asked).config, seed=seed)
    network = Network(corpus.vocab, "gru", seed=seed, **{name: asked[name] for name in SHAPE})
    began, found = time.monotonic(), {"trial": number, "seed": seed, "settings": asked, "loss": None}
    try:
        with tempfile.TemporaryDirectory() as out:
            run = train(network, corpus, config, Path(out) / "run", device=device, threads=1, progress=False)
            found["history"] = [
                [round(r["validation_accuracy"], 4), round(r["validation_loss"], 4)] for r in run.history
            ]
        network = run.network.requires_grad_(False).to(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        result = evaluate(network, corpus.validation, config.max_words)
        sums = truth.sums["validation"]
        found |= {
            "accuracy": result.accuracy, "loss": result.loss, "seconds": round(time.monotonic() - began, 1),
            "reads": reading(np.asarray(result.logits, dtype=float), sums.plain, sums.expected),
            "alive": int((network.E.norm(dim=1) > 0).sum()), "modifiers": modifiers(network, corpus, truth, probes),
        }  # fmt: skip
        if weights is not None:
            from safetensors.torch import save_file

            half = {name: p.detach().half().cpu().contiguous() for name, p in network.named_parameters()}
            save_file(half, str(weights / f"{number}-{seed}.safetensors"))
    except RnnlensError as error:
        found["error"] = str(error)
    return {**found, "in_all": round(time.monotonic() - began, 1)}


def modifiers(network: Network, corpus: Corpus, truth: Truth, probes: Probes) -> dict[str, float]:
    """How well the network's modifiers are found, in short."""
    states = visited_states(network, corpus.validation, n=1000, seed=0, max_words=800)
    _, line, _, _ = find_line(network, states.to(network.h0))
    found = find_modifiers(network, line, probes=probes)
    ids = found.ids.cpu().numpy()
    positive = np.isin(ids, truth.modifiers)
    frequent = positive & (np.asarray(corpus.vocab.counts)[ids] >= LEARNABLE)
    told = {"line": line.explained}
    for name, tensor in {"norm": found.norms["fixed"], "interaction": found.interaction, "score": found.score}.items():
        told[f"{name}, precision"] = average_precision(tensor.abs().cpu().numpy(), positive)
    for name, tensor in {"share": found.share, "score": found.score}.items():
        for of, rows in (("all", positive), ("frequent", frequent)):
            pair = np.stack([tensor.cpu().numpy()[rows], truth.share[ids[rows]]])
            told[f"{name}, r, {of}"] = float(np.corrcoef(pair)[0, 1]) if np.ptp(pair[0]) > 0 else 0.0
    return {name: round(float(value), 4) for name, value in told.items()}


def search(out: Path, seconds: float, jobs: int, device: str | None, name: str = "hard") -> list[dict[str, Any]]:
    """Trials for so many seconds, several at a time; the best are trained again from other seeds."""
    began = time.monotonic()
    out.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.gettempdir()) / f"rnnlens-search-{name}"
    prepare(name, folder)
    rows: list[dict[str, Any]] = []

    def todo() -> Iterator[tuple[int, dict[str, Any], int]]:
        for number, some in enumerate(settings()):
            longest = max((row["in_all"] for row in rows), default=0.0)
            if time.monotonic() - began + 2 * longest < seconds:
                yield number, some, 0

    with tempfile.TemporaryDirectory() as weights:

        def run(some: Iterator[tuple[int, dict[str, Any], int]]) -> None:
            for _, row in run_jobs(trial, some, jobs, (folder, Path(weights), device)):
                rows.append(row)
                append_line(out / "validation-search.jsonl", row)
                told = {key: value for key, value in row.items() if key not in ("settings", "history")}
                print(f"{time.monotonic() - began:6.1f} s  {told}", flush=True)

        run(todo())
        run((row["trial"], row["settings"], seed) for row in ranked(rows)[:AGAIN] for seed in SEEDS)
        keep(rows, Path(weights), out)
    return rows


def keep(rows: list[dict[str, Any]], weights: Path, out: Path, files: int = 1, most: int = 14_000_000) -> None:
    """The networks of the best trials, in half precision: as many as go into a few files."""
    from safetensors.torch import load_file, save_file

    kept: list[dict[str, torch.Tensor]] = [{}]
    size = 0
    for best in ranked(rows):
        for path in sorted(weights.glob(f"{best['trial']}-*.safetensors")):
            if size + path.stat().st_size > most:
                kept.append({})
                size = 0
            size += path.stat().st_size
            kept[-1] |= {f"{path.stem}/{name}": value for name, value in load_file(path).items()}
    for k, some in enumerate(kept[:files]):
        save_file(some, str(out / f"validation-search-{k}.safetensors"))


def ranked(rows: list[dict[str, Any]], near: float = 0.02) -> list[dict[str, Any]]:
    """Settings whose loss is near the least, the one whose modifiers are found best first; by means over seeds, and
    those of several seeds before all others."""
    groups: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        if row["loss"] is not None and "modifiers" in row:
            groups.setdefault(row["trial"], []).append(row)
    loss = {number: float(np.mean([row["loss"] for row in group])) for number, group in groups.items()}
    found = {
        number: float(np.mean([row["modifiers"]["score, precision"] for row in group]))
        for number, group in groups.items()
    }
    near_least = [number for number in groups if loss[number] <= min(loss.values()) + near]
    order = sorted(near_least, key=lambda number: (-len(groups[number]), -found[number]))
    return [groups[number][0] for number in order]


def settings_of(asked: dict[str, Any], arch: str = "gru") -> Settings:
    rest = {name: value for name, value in asked.items() if name not in SHAPE}
    return Settings(arch, **{name: asked[name] for name in SHAPE}, config=TrainConfig(**rest))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--jobs", type=int, default=12)
    parser.add_argument("--device", choices=["cpu", "cuda"])
    parser.add_argument("--preset", default="hard")
    asked = parser.parse_args()
    search(asked.out, asked.seconds, asked.jobs, asked.device, asked.preset)


if __name__ == "__main__":
    main()
