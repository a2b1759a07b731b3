"""How much strengths depend on how many visited states the search for slow points starts from, and on which.

    python -m studies.starts     # → docs/results/starts.json; a few minutes on one core

For each packaged gated network, the strengths of the 2,000 most frequent words are measured from several samples of
states, and compared with those from the first sample: |difference| in units of the strength's own error.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch

import rnnlens
from rnnlens.analysis.locate import location_of
from rnnlens.common.version import __version__
from rnnlens.context import find_modifiers

RECORD, NETWORKS, WORDS = Path("docs/results/starts.json"), ("reviews-gru", "reviews-lstm", "reviews-ugrnn"), 2_000
SEEDS = range(1, 13)
SAMPLES = (
    (2_000, 0),
    (2_000, 1),
    (2_000, 2),
    *((n, seed) for n in (256, 128) for seed in SEEDS),
)  # states, and the seed


@torch.no_grad()
def measure(name: str) -> list[dict[str, float]]:
    network = rnnlens.load(f"zoo:{name}").network
    tables = []
    for n, seed in SAMPLES:
        line = location_of(network, rnnlens.visited_states(network, n=n, seed=seed).to(network.h0)).line
        tables.append(find_modifiers(network, line, top=WORDS))
    first, rows = tables[0], []
    for (n, seed), table in zip(SAMPLES[1:], tables[1:], strict=True):
        apart = (table.strength - first.strength).abs() / first.error
        rows.append({"starts": n, "seed": seed, "median": float(apart.median()), "largest": float(apart.max())})
    return rows


def main() -> None:
    found = {name: measure(name) for name in NETWORKS}
    for name, rows in found.items():
        for row in rows:
            print(name, row)
    record = {"command": "python -m studies.starts", "version": __version__, "words": WORDS, "networks": found}
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
