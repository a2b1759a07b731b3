"""What longer training, and how fast rare words learn, do to a network's modifiers, against what people call modifiers.

    rnnlens train CORPUS --tuned --epochs 9 --word-epsilon 0.002 --seed 0 --test --out DIR/epochs-9-0.002-0  # …
    python -m studies.length DIR --trees sst/train.txt --lexicon modifiers.csv       # → docs/results/length.json
    python -m studies.length                                                         # docs/length.md from the record

CORPUS is the corpus of `studies.recipe`; the measures are those of `studies.teaching`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch

import rnnlens
from rnnlens.analysis.checks import rounded
from rnnlens.common.files import read_json, write_json
from studies.pages import write_page
from studies.teaching import known_modifiers, mean_and_half, measure, people_and_phrases

RECORD, PAGE = Path("docs/results/length.json"), Path("docs/length.md")
TEMPLATE = Path(__file__).with_name("length.md")
USUAL = 0.001  # the word epsilon of the other bundled networks
COLUMNS = {"known_negators": 2, "known_intensifiers": 2, "r_strength": 2, "r_phrases": 2}


def page_values(record: dict[str, Any]) -> dict[str, Any]:
    """Means over seeds, with half of their 95 % intervals, by word epsilon and number of epochs."""
    rows: dict[tuple[float, int], list[Any]] = {}
    for name, row in record["networks"].items():
        epochs, epsilon = _settings(name)
        rows.setdefault((epsilon, epochs), []).append(row)
    table = {}
    for settings, runs in sorted(rows.items()):
        values = {key: [run[key] for run in runs] for key in COLUMNS}
        values |= {word: [run["strength"][word] for run in runs] for word in ("not", "very", "extremely")}
        values |= {source: [100 * run["test"][source] for run in runs] for source in ("imdb", "yelp-sentences")}
        table[settings] = {"n": len(runs), **{key: _said(some) for key, some in values.items()}}
    shares = {key: [row[key] for row in record["networks"].values()] for key in COLUMNS}
    long, fast = np.array([_settings(name) for name in record["networks"]]).T
    given = {"epochs": (long, fast == USUAL), "epsilon": (np.log(fast), (long >= 8) & (long <= 9))}
    trend = {
        of: {key: float(np.corrcoef(x[chosen], np.array(some)[chosen])[0, 1]) for key, some in shares.items()}
        for of, (x, chosen) in given.items()
    }
    n = {of: int(chosen.sum()) for of, (_, chosen) in given.items()}
    return {"table": table, "trend": trend, "n": n}


def _settings(name: str) -> tuple[int, float]:
    """Epochs and word epsilon of a network, from its name."""
    _, epochs, epsilon, _ = name.split("-")
    return int(epochs), float(epsilon)


def _said(values: list[float]) -> str:
    mean, half = mean_and_half(values)
    digits = 1 if abs(mean) > 10 else 2
    shown = half is not None and len(values) > 2
    return f"{mean:.{digits}f}".replace("-", "−") + (f" ± {half:.{digits}f}" if shown else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="?")
    parser.add_argument("--trees", type=Path)
    parser.add_argument("--lexicon", type=Path, action="append", default=[])
    asked = parser.parse_args()
    torch.set_num_threads(1)
    if asked.runs is not None:
        people, phrases = people_and_phrases(asked.trees)
        known, found = known_modifiers(asked.lexicon), dict(read_json(RECORD)["networks"])
        for folder in sorted(path for path in asked.runs.glob("epochs-*") if path.name not in found):
            found[folder.name] = measure(rnnlens.load(folder), people, phrases, known)
            print(folder.name, found[folder.name]["known_intensifiers"], flush=True)
        write_json(RECORD, rounded({"networks": found}))
    write_page(TEMPLATE, PAGE, **page_values(read_json(RECORD)))


if __name__ == "__main__":
    main()
