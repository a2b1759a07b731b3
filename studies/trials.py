"""Many trials of the random search, without optuna, into a file that `rnnlens sweep --earlier` takes.

python -m studies.trials CORPUS --model bow,gru --trials 0-59 --modifiers RUN --out trials.jsonl
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rnnlens.common.errors import RnnlensError, exit_code_of, quoted
from rnnlens.common.ranges import check_options
from rnnlens.common.terminal import say
from rnnlens.experiments.choosing import best
from rnnlens.experiments.modifier_words import read_modifiers
from rnnlens.experiments.space import models_of
from rnnlens.experiments.trials import run_trials


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.trials", description=__doc__)
    parser.add_argument("corpus", help="a prepared folder, or any source that `rnnlens prepare` takes")
    parser.add_argument("--model", required=True, help="models of Table 1, separated by commas, or `all`")
    parser.add_argument("--trials", default="0-59", help="range of trial numbers, as in 0-59")
    parser.add_argument("--seed", type=int, default=0, help="seed of the search and of training")
    parser.add_argument("--modifiers", nargs="*", default=[], help="a list of words (.json, .txt), or analyzed runs")
    parser.add_argument("--most", type=int, default=400, help="number of modifiers to take from runs")
    parser.add_argument("--device", choices=["cpu", "cuda"])
    parser.add_argument("--jobs", type=int, default=1, help="number of trials run at the same time")
    parser.add_argument("--out", type=Path, required=True, help="a .jsonl file; trials in it are not run again")
    options = parser.parse_args(arguments)

    def command() -> None:
        check_options("sweep", seed=options.seed, most=options.most, jobs=options.jobs)
        models = models_of(options.model)
        first, _, last = options.trials.partition("-")
        if not (first.isdecimal() and (last or first).isdecimal()):
            raise RnnlensError(f"trials is {quoted(options.trials)}: expected a range such as 0-59")
        words = read_modifiers(options.modifiers, options.most) if options.modifiers else None
        rows = run_trials(
            options.corpus,
            models,
            range(int(first), int(last or first) + 1),
            options.seed,
            words,
            options.device,
            options.jobs,
            options.out,
        )
        for model in models:
            top = best(rows, model)
            if top is not None:
                say(f"{model}: {100 * top['accuracy']:.2f} % with {top['parameters']}")

    sys.exit(exit_code_of(command))


if __name__ == "__main__":
    main()
