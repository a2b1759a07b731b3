"""Settings that an earlier search chose, trained again and judged on the validation reviews of another corpus.

python -m studies.controls corpora/imdb-blocks --device cuda      # writes docs/results/trials-controls.jsonl
python -m studies.controls corpora/imdb-blocks --models bow,vanilla --runs 1 --out here.jsonl
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rnnlens.baselines import BASELINES
from rnnlens.common.files import append_line, read_lines
from rnnlens.corpora import load_corpus
from rnnlens.experiments.modifier_words import read_modifiers
from rnnlens.experiments.space import models_of
from rnnlens.experiments.trials import run_trial
from rnnlens.training.settings import read_settings

RESULTS = Path(__file__).parent.parent / "docs" / "results"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument("--settings", type=Path, default=RESULTS / "settings-single-reviews.json")
    parser.add_argument("--models", default="gru,lstm,ugrnn", help="with commas; `all` for all")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--runs", type=int, nargs="+", default=[1, 8], help="networks: mean length of pieces that drop")
    parser.add_argument("--device", choices=["cpu", "cuda"])
    parser.add_argument("--out", type=Path, default=RESULTS / "trials-controls.jsonl")
    asked = parser.parse_args(arguments)
    corpus, words = load_corpus(asked.corpus), read_modifiers(RESULTS / "imdb-modifiers.json")
    done = [(row["model"], row["seed"], row["run"]) for row in read_lines(asked.out)]
    for model in models_of(asked.models):
        for run in [1] if model in BASELINES else asked.runs:
            for seed in asked.seeds:
                if (model, seed, run) in done:
                    continue
                chosen = read_settings(asked.settings, model) | ({} if model in BASELINES else {"dropout_run": run})
                row = run_trial(model, corpus, chosen, seed, words if "comw" in model else None, asked.device)
                append_line(asked.out, {"model": model, "seed": seed, "run": run, "parameters": chosen, **row})
                print(model, seed, run, row["accuracy"], flush=True)


if __name__ == "__main__":
    main()
