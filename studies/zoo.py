"""Package a trained and analysed run with rnnlens: half precision, a sample of visited states, a model card.

python -m studies.zoo RUN --name imdb-gru --source imdb --corpus "rnnlens prepare …" --command "rnnlens train …"
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import numpy as np

import rnnlens
from rnnlens.artifacts import write_json, write_tensors
from rnnlens.provenance import KEY, RUN_SCHEMA
from rnnlens.replacing import FINGERPRINTED, FolderKind, atomic_folder
from rnnlens.zoo import HERE

KEPT = ("network", "accuracy", "loss", "provenance")  # what cannot be measured again without the reviews
STATES = 500
PACKAGED = FolderKind(
    "a packaged run",
    frozenset({"weights.safetensors", "states.safetensors", "vocab.json", "history.jsonl", "run.json", "results.json",
               "README.md"}),
    {"run.json": FINGERPRINTED},
)  # fmt: skip

CARD = """# {name}

A {arch} of {hidden} units (words of {embedding} dimensions, {words} words) that reads film reviews and says whether
they are positive: the logit is above 0. Packaged with rnnlens, so that its demo and documentation need no download.

| | |
|---|---|
| made with | rnnlens {version} |
| corpus | `{corpus}`, fingerprint `{fingerprint}` |
| trained with | `{command}` |
| seed | {seed} |
| chosen | {chosen} |
| accuracy | {accuracy} |
| accuracy experiments | on {read} test reviews |
| weights | half precision here; the accuracies were measured before rounding |

{intended}
"""
INTENDED = """For research on how recurrent networks use context. It knows the films and the habits of the reviews it
was trained on, and nothing else; do not use it to judge people or what they write."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--name", required=True)
    parser.add_argument("--source", required=True, help="where the reviews come from, as anyone can name it")
    parser.add_argument("--corpus", required=True, help="the command that prepared the corpus")
    parser.add_argument("--command", required=True, help="the command that trained the network")
    parser.add_argument("--chosen", required=True, help="how this network was chosen, in words")
    asked = parser.parse_args()
    run = rnnlens.load(asked.run)
    states = run.states()
    if states is None:
        raise SystemExit(f"{asked.run} is not analyzed yet: run `rnnlens analyze {asked.run}` first")
    results = {key: run.results[key] for key in KEPT if key in run.results}
    results["probes"] = {key: run.results["probes"][key] for key in ("positive", "negative", "source")}
    for edge in ("beginning", "ending"):
        results[edge] = {part: run.results[edge][part] for part in ("train", "test") if part in run.results[edge]}
    with atomic_folder(HERE / asked.name, PACKAGED) as folder:
        weights = {name: tensor.half() for name, tensor in run.network.state_dict().items()}
        rounded = write_tensors(folder / "weights.safetensors", weights)
        # The packaged files name the rounded weights, and beside them the weights that these were made from.
        provenance = {**run.provenance, "weights": rounded, "made_from": run.provenance["weights"]}
        some = states[:: max(1, len(states) // STATES)][:STATES].half()
        write_tensors(folder / "states.safetensors", {"states": some}, {KEY: provenance})
        for name in ("vocab.json", "history.jsonl"):
            shutil.copy(asked.run / name, folder / name)
        source = {**run.about["corpus"], "source": asked.source}
        about = {**run.about, "schema": RUN_SCHEMA, "corpus": source, KEY: {**run.about.get(KEY, {}), **provenance}}
        write_json(folder / "run.json", about)
        write_json(folder / "results.json", {**results, KEY: {**results.get(KEY, {}), **provenance}})
        (folder / "README.md").write_text(
            card(run, asked.name, asked.corpus, asked.command, asked.chosen), encoding="utf-8"
        )
    size = sum(path.stat().st_size for path in (HERE / asked.name).iterdir())
    packed = rnnlens.load(f"zoo:{asked.name}")
    ids = np.arange(100) % len(packed.vocab)
    print(f"{HERE / asked.name}: {size / 1e6:.2f} MB; reads {packed.network.read(packed.vocab.decode(ids))[-1]}")


def card(run: rnnlens.Run, name: str, corpus: str, command: str, chosen: str) -> str:
    network, accuracy = run.about["network"], run.results["accuracy"]
    shown = ", ".join(f"{part} {100 * accuracy[part]:.2f} %" for part in ("validation", "test") if part in accuracy)
    return CARD.format(
        name=name, arch=network["arch"].upper(), hidden=network["hidden"], embedding=network["embedding"],
        words=f"{len(run.vocab):,}", version=run.about["version"], corpus=corpus, command=command,
        fingerprint=run.about["corpus"]["fingerprint"], seed=run.config.seed, accuracy=shown, chosen=chosen,
        read=f"{accuracy['test_shuffled']['n']:,}" if "test_shuffled" in accuracy else "no", intended=INTENDED,
    )  # fmt: skip


if __name__ == "__main__":
    main()
