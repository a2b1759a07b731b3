"""What longer training does to a network's modifiers, against what people call modifiers.

    rnnlens train CORPUS --tuned --epochs 7 --seed 0 --test --out DIR/epochs-7-0     # and other lengths and seeds
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
COLUMNS = {"known_negators": 2, "known_intensifiers": 2, "r_strength": 2, "r_phrases": 2}


def page_values(record: dict[str, Any]) -> dict[str, Any]:
    """Means over seeds, with half of their 95 % intervals, by number of epochs."""
    rows: dict[int, list[Any]] = {}
    for name, row in record["networks"].items():
        rows.setdefault(int(name.split("-")[1]), []).append(row)
    table = {}
    for epochs, runs in sorted(rows.items()):
        values = {key: [run[key] for run in runs] for key in COLUMNS}
        values |= {word: [run["strength"][word] for run in runs] for word in ("not", "very", "extremely")}
        values |= {source: [100 * run["test"][source] for run in runs] for source in ("imdb", "yelp-sentences")}
        table[epochs] = {"n": len(runs), **{key: _said(some) for key, some in values.items()}}
    epochs = [int(name.split("-")[1]) for name in record["networks"]]
    shares = {key: [row[key] for row in record["networks"].values()] for key in COLUMNS}
    trend = {key: float(np.corrcoef(epochs, some)[0, 1]) for key, some in shares.items()}
    return {"table": table, "trend": trend, "n": len(epochs)}


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
        known, found = known_modifiers(asked.lexicon), {}
        for folder in sorted(asked.runs.glob("epochs-*")):
            found[folder.name] = measure(rnnlens.load(folder), people, phrases, known)
            print(folder.name, found[folder.name]["known_intensifiers"], flush=True)
        write_json(RECORD, rounded({"networks": found}))
    write_page(TEMPLATE, PAGE, **page_values(read_json(RECORD)))


if __name__ == "__main__":
    main()
