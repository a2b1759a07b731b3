"""The language that the method was chosen on, scored like those that are reported: docs/results/validation-chosen.json.

python -m studies.validation_chosen OUT   # after studies.validation_search OUT, whose best recipe's networks it scores
"""

from __future__ import annotations

import argparse
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from rnnlens.artifacts import read_json, write_json
from rnnlens.context.documents import sparse_valences
from rnnlens.experiments.against_truth import scored
from rnnlens.experiments.measuring import measure_words, take_apart
from rnnlens.experiments.subjects import TOP
from rnnlens.experiments.validate import _finite
from rnnlens.networks import Network
from studies.validation_search import opened, prepare


def main() -> None:
    from safetensors.torch import load_file

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, help="holds recipe.json and validation-search-0.safetensors")
    asked = parser.parse_args()
    folder = asked.out / "language"
    prepare("hard", folder)
    corpus, truth, probes = opened(folder)
    weights: dict[str, dict[str, torch.Tensor]] = {}
    for name, tensor in load_file(asked.out / "validation-search-0.safetensors").items():
        trial, part = name.split("/", 1)
        if trial.split("-")[0] == str(read_json(asked.out / "recipe.json")["trial"]):
            weights.setdefault(trial, {})[part] = tensor.float()
    measured: list[dict[str, Any]] = []
    for some in weights.values():
        network = Network(corpus.vocab, "gru", some["h0"].numel(), some["E"].shape[1])
        network.load_state_dict(some)
        run: Any = SimpleNamespace(network=network.requires_grad_(False), config=SimpleNamespace(max_words=None))
        measured.append(measure_words(take_apart(run, corpus, probes, TOP, None), corpus, truth.modifiers))
        print(len(measured), flush=True)
    found = scored(corpus, truth, measured, {}, np.asarray(sparse_valences(corpus)[0]))
    kept = {key: value for key, value in found.items() if key not in ("found", "edges")}
    path = Path(__file__).parent.parent / "docs" / "results" / "validation-chosen.json"
    write_json(path, _finite({"preset": "hard", "language_seed": 100, "seeds": len(measured), "consensus": kept}))
    print(path)


if __name__ == "__main__":
    main()
