"""Package a trained and analyzed network with rnnlens: half precision, a sample of visited states, a model card.

python -m reproduction.zoo RUN --name reviews-gru --corpus "rnnlens prepare …" --command "rnnlens train …" --chosen "…"
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import rnnlens
from reproduction.study import filled
from rnnlens.analysis.paper_claims import analysis_claims
from rnnlens.analysis.verdict import verdict
from rnnlens.common.files import write_json, write_tensors
from rnnlens.common.provenance import KEY, RUN_SCHEMA
from rnnlens.common.replacing import FINGERPRINTED, FolderKind, atomic_folder
from rnnlens.runs.zoo import HERE

KEPT = ("network", "accuracy", "steering", "loss", "provenance")  # what cannot be measured again without the reviews
STATES = 300
PACKAGED = FolderKind(
    "a packaged run",
    frozenset({"weights.safetensors", "states.safetensors", "vocab.json", "history.jsonl", "run.json", "results.json",
               "README.md"}),
    {"run.json": FINGERPRINTED},
)  # fmt: skip
SENTENCES = (  # the last two are positive, though their words are not
    "This movie is awesome. I like it.",
    "This movie is extremely awesome. I definitely like it.",
    "This movie is not awesome. I don't like it.",
    "not good",
    "wasn't good",
    "never good",
    "hardly good",
    "not bad",
    "I was not disappointed",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--name", required=True)
    parser.add_argument("--corpus", required=True, help="the command that prepared the corpus")
    parser.add_argument("--command", required=True, help="the command that trained the network")
    parser.add_argument("--chosen", required=True, help="how this network was chosen, in words")
    parser.add_argument("--note", default="", help="what else a user must know, in a sentence")
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
        about = {**run.about, "schema": RUN_SCHEMA, KEY: {**run.about.get(KEY, {}), **provenance}}
        write_json(folder / "run.json", about)
        write_json(folder / "results.json", {**results, KEY: {**results.get(KEY, {}), **provenance}})
        (folder / "README.md").write_text(card(run, asked), encoding="utf-8")
    packed = rnnlens.load(f"zoo:{asked.name}")
    size = sum(path.stat().st_size for path in (HERE / asked.name).iterdir())
    print(f"{asked.name}: {size / 1e6:.2f} MB; {SENTENCES[3]}: {packed.network.read(SENTENCES[3])[-1][1]:+.1f}")


def card(run: rnnlens.Run, asked: argparse.Namespace) -> str:
    """The model card, from the template beside this file."""
    readings = {text: run.network.read(text)[-1][1] for text in SENTENCES}
    return filled(
        "card.md",
        run=run,
        asked=asked,
        network=run.about["network"],
        accuracy=run.results["accuracy"],
        misread=[text for text in SENTENCES[-2:] if readings[text] < 0],
        blank=run.results["blank_input"],
        claims=analysis_claims(run.results),
        verdict=verdict(run.results),
        readings=readings,
    )


if __name__ == "__main__":
    main()
