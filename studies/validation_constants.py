"""The constants of `context.documents`, tried out on languages that are not reported: docs/results/
validation-constants.json.

python -m studies.validation_constants OUT   # holds chosen-101 … as `studies.validation_runs OUT` makes them

One constant at a time is varied about those that were chosen. Documents alone, of every preset, and on the hard ones
together with what their networks say; average precision, the mean over languages.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rnnlens.artifacts import read_tensors, write_json
from rnnlens.context.documents import PRIOR, SEEN, SMALL, in_documents, sparse_valences
from rnnlens.context.scope import fitted
from rnnlens.corpora.corpus import Corpus
from rnnlens.corpora.synthetic import prepared_synthetic
from rnnlens.experiments.alternatives import mean_valence, recommended
from rnnlens.experiments.ceiling import REACH
from rnnlens.experiments.scoring import average_precision
from rnnlens.experiments.subjects import TOP
from studies.validation_runs import CHOSEN_ON

CHOSEN = {"prior": PRIOR, "seen": SEEN, "small": SMALL}
TRIED = {"prior": (0.2, 0.3, 0.4, 0.6), "seen": (0.0, 20.0, 50.0, 100.0), "small": (0.0, 0.2, 0.4)}
PRESETS = ("easy", "medium", "mixed", "hard")


def said(folder: Path, corpus: Corpus) -> tuple[np.ndarray, dict[str, Any]]:
    """The words (M,) that a language's networks were asked about, and what they say together."""
    measured = [read_tensors(path)[0] for path in sorted(folder.glob("*/validation.safetensors"))]
    ids = measured[0]["ids"]
    strengths, lasting = (np.stack([one[name] for one in measured]) for name in ("strength", "lasting"))
    usual = np.mean([one["usual"] for one in measured], 0)
    return ids, {
        "tau": float(fitted(torch.from_numpy(usual))), "valence": mean_valence(lasting),
        "sure": recommended(strengths, lasting, np.asarray(corpus.vocab.counts)[ids]),
    }  # fmt: skip


def settings() -> Iterator[tuple[str, dict[str, float]]]:
    for name, values in TRIED.items():
        for value in values:
            yield f"{name} {value:g}", {**CHOSEN, name: value}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    asked = parser.parse_args()
    found: dict[str, dict[str, list[float]]] = {}
    for preset in PRESETS:
        for seed in CHOSEN_ON:
            folder = asked.out / (f"chosen-{seed}" if preset == "hard" else f"{preset}-{seed}")
            corpus, truth = prepared_synthetic(preset, seed, folder / "corpus")
            sparse, ids = sparse_valences(corpus)[0], np.arange(min(TOP, len(corpus.vocab)))
            ways = {preset: (ids, {"tau": REACH})}
            if preset == "hard":
                ways["hard, with networks"] = said(folder, corpus)
            for way, (words, given) in ways.items():
                for name, some in settings():
                    borne = in_documents(corpus, words, **given, sparse=sparse, **some)
                    precision = average_precision(np.abs(borne.score), np.isin(words, truth.modifiers))
                    found.setdefault(name, {}).setdefault(way, []).append(precision)
            print(preset, seed, flush=True)
    result = {
        "languages": list(CHOSEN_ON), "chosen": CHOSEN,
        "rows": {name: {way: float(np.mean(values)) for way, values in ways.items()} for name, ways in found.items()},
    }  # fmt: skip
    write_json(Path(__file__).parent.parent / "docs" / "results" / "validation-constants.json", result)


if __name__ == "__main__":
    main()
