"""`python -m rnnlens.training CORPUS --out RUN`: training where the command line's own parts are not installed, and
under `accelerate launch -m rnnlens.training`. Flags are TrainConfig's fields."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import get_args, get_type_hints

from rnnlens.errors import exit_code_of
from rnnlens.training.command import train_command
from rnnlens.training.config import TrainConfig


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m rnnlens.training", description="Train a network on a corpus.")
    parser.add_argument("corpus", help="a prepared folder, a file, a hub name, or toy")
    parser.add_argument("--out", type=Path, required=True, help="the run folder to write")
    parser.add_argument("--arch", default="gru", choices=["gru", "lstm", "ugrnn", "vanilla"])
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--embedding", type=int, default=128)
    parser.add_argument("--scale", type=float, default=1.0, help="size of the untrained embeddings")
    parser.add_argument("--memory", type=float, default=0.0, help="words that untrained units hold on to, at most")
    parser.add_argument("--refit", action="store_true", help="train on the validation reviews too, to the last epoch")
    parser.add_argument("--tuned", action="store_true", help="with the settings that come along for Table 1")
    parser.add_argument(
        "--settings", type=Path, help="a sweep's settings.json; flags that differ from their defaults win"
    )
    parser.add_argument("--sources", help="train on these sources of the corpus only, with commas")
    parser.add_argument("--resume", action="store_true", help="go on where a killed run stopped")
    parser.add_argument("--test", action="store_true", help="evaluate on the test split at the end")
    parser.add_argument("--device", choices=["cpu", "cuda"])
    parser.add_argument("--threads", type=int)
    config_flags(parser)
    return parser


def config_flags(parser: argparse.ArgumentParser, config: TrainConfig = TrainConfig()) -> None:  # noqa: B008 - frozen
    """A flag for every field of TrainConfig; what is not given is as in `config`."""
    hints = get_type_hints(TrainConfig)
    for field in dataclasses.fields(TrainConfig):
        kinds = [kind for kind in (get_args(hints[field.name]) or (hints[field.name],)) if kind is not type(None)]
        flag, default = f"--{field.name.replace('_', '-')}", getattr(config, field.name)
        if kinds == [bool]:
            parser.add_argument(flag, action=argparse.BooleanOptionalAction, default=default)
        elif isinstance(kinds[0], str):
            parser.add_argument(flag, choices=kinds, default=default)
        else:
            parser.add_argument(flag, type=kinds[0], default=default)


def main(arguments: list[str] | None = None) -> int:
    given = vars(parser().parse_args(arguments))
    names = [field.name for field in dataclasses.fields(TrainConfig)]
    settings = {name: given.pop(name) for name in names}
    return exit_code_of(lambda: train_command(config=TrainConfig(**settings), **given))


if __name__ == "__main__":
    sys.exit(main())
