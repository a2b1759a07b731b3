"""Other ways to measure a strength, compared on people's odd sentences: → docs/results/variants.json.

    python -m studies.variants RUNS …    # half a minute for each network on one core

The strength is C(F(h, word))/C(h) − 1. Varied are the probe words, the state h, and how many blank inputs lie between
the word and the probe. Even sentences are not looked at here: docs/people.md reports those, for the first variant.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

import rnnlens
from rnnlens.analysis.locate import location_of
from rnnlens.analysis.people import packaged
from rnnlens.analysis.scores import correlate
from rnnlens.context.effects import effects, word_inputs
from rnnlens.context.impulse import settle
from rnnlens.context.probes import Probes

RECORD, LEAST = Path("docs/results/variants.json"), 20


@torch.no_grad()
def measured(network: rnnlens.Network, words: list[str]) -> dict[str, list[float]]:
    """The strengths of some words by each variant."""
    line = location_of(network, rnnlens.visited_states(network, n=1_000)).line
    wide = Probes.from_network(network, line, n=300)
    e = word_inputs(network, words)

    def strength(probes: Probes, places: list[Tensor], blanks: int = 0) -> list[float]:
        before = after = torch.zeros(())
        for h in places:
            h_mod = settle(network, network.step(h, e), blanks)
            plain = settle(network, h, blanks)
            before = before + probes.contrast(effects(network, plain, probes.inputs(network)))
            after = after + probes.contrast(effects(network, h_mod, probes.inputs(network)))
        return (after / before - 1).tolist()

    h_star, usual = line.h_star, wide.first(100).some(40)
    return {
        "as it is: at h*, 40 of the 100 strongest probes": strength(usual, [h_star]),
        "all 100 strongest probes": strength(wide.first(100), [h_star]),
        "the 30 strongest probes": strength(wide.first(30), [h_star]),
        "milder probes (101st to 300th)": strength(Probes(wide.positive[100:], wide.negative[100:]), [h_star]),
        "mean over the line, logits -3 to 3": strength(usual, [line.at(x) for x in (-3.0, -1.5, 0.0, 1.5, 3.0)]),
        "at the initial state": strength(usual, [network.h0.detach()]),
        "after one blank input": strength(usual, [h_star], blanks=1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="+")
    people, record = packaged(), {}
    enough = [word for word, n in zip(people.words, people.phrases("odd"), strict=True) if n >= LEAST]
    for folder in parser.parse_args().runs:
        network = rnnlens.load(folder).network
        assert network.vocab is not None
        words = [word for word in enough if word in network.vocab]
        found = measured(network, words)
        record[folder.name] = {
            name: correlate(dict(zip(words, values, strict=True)), people, "odd", LEAST).r
            for name, values in found.items()
        }
        print(folder.name, {name: np.round(r, 3) for name, r in record[folder.name].items()}, flush=True)
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
