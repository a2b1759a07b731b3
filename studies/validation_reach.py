"""How often a modifier must be seen for its reach to be learnt, by anyone: writes docs/results/validation-reach.json.

python -m studies.validation_reach OUT --languages 7   # hard languages of other seeds than the reported one

The observer knows all valences, the weights of edges, every other modifier, and how reaches are spread; of one word it
does not know how strong it is and how far it reaches. Nobody who learns from the same documents should hope for more.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from rnnlens.artifacts import write_json
from rnnlens.corpora.synthetic import prepared_synthetic
from rnnlens.experiments.ceiling import known_others

FIRST = 100
CUTS = (200, 500, 1_200, 2_500)
TAU, APART = 4.0, 0.4  # how the hard language's reaches are spread, about


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, help="where languages are kept")
    parser.add_argument("--languages", type=int, default=7)
    asked = parser.parse_args()
    found = []
    for seed in range(FIRST, FIRST + asked.languages):
        corpus, truth = prepared_synthetic("hard", seed, asked.out / f"hard-{seed}")
        counts = np.asarray(corpus.vocab.counts)[truth.modifiers]
        ids = truth.modifiers[counts >= CUTS[0]]
        tau, true = known_others(corpus, truth, ids, TAU, APART), truth.tau[ids]
        found.append(np.stack([counts[counts >= CUTS[0]], true, np.abs(tau - true) <= 0.3 * true]))
        print(seed, flush=True)
    seen, true, right = np.concatenate(found, 1)
    same = max(float(np.mean(np.abs(tau - true) <= 0.3 * true)) for tau in np.arange(2, 8, 0.1))
    ends = (*CUTS[1:], None)
    rows = [
        {"from": low, "to": high, "n": int(inside.sum()), "within": float(right[inside].mean())}
        for low, high in zip(CUTS, ends, strict=True)
        for inside in [(seen >= low) & (seen < (high or np.inf))]
    ]
    result = {"languages": asked.languages, "first": FIRST, "same": same, "rows": rows}
    write_json(Path(__file__).parent.parent / "docs" / "results" / "validation-reach.json", result)
    print(rows)


if __name__ == "__main__":
    main()
