"""`python -m rnnlens.training CORPUS --out RUN`: training without the packages that `rnnlens train` needs (cyclopts,
rich), and under `accelerate launch -m rnnlens.training`. Each field of TrainConfig is a flag."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from typing import get_args, get_type_hints

from rnnlens.common.arguments import Program, path, whole_or_none
from rnnlens.common.errors import exit_code_of
from rnnlens.common.options import ARCH, DEVICE, RANGES
from rnnlens.runs.config import TrainConfig
from rnnlens.training.command import SHAPE, given_fields, train_command


def parser(program: str = "python -m rnnlens.training", description: str = "Train a network on a corpus.") -> Program:
    parser = Program(program, description=description)
    parser.add_argument("corpus", help="a prepared folder, a file, hf:owner/name, or toy")
    parser.add_argument("--out", type=path, required=True, help="the run folder to write")
    arch = "architecture (default: gru, or that of --start)"
    parser.add_argument("--arch", choices=ARCH.names, help=arch)
    parser.add_argument("--start", help="a run folder or zoo:NAME: fine-tune its network, with the corpus's new words")
    shape = parser.add_argument_group("shape", argument_default=argparse.SUPPRESS)
    shape.add_argument("--hidden", type=int, help="units of the network, of both directions together (default: 256)")
    shape.add_argument("--embedding", type=int, help="length of a word's embedding (default: 128)")
    shape.add_argument("--scale", type=float, help="standard deviation of the initial embeddings (default: 1)")
    memory = "initial time constants of the units, from 1 to this many words (default: 0, torch's own)"
    shape.add_argument("--memory", type=float, help=memory)
    both = "read texts from both ends, with half of the units for each direction"
    shape.add_argument("--both-ways", action="store_true", help=both)
    shape.add_argument("--layers", type=int, help="number of layers (default: 1)")
    convolution = "words that each layer of mingru, minlstm, mamba or rglru sees at once (default: its paper's)"
    shape.add_argument("--convolution", type=int, help=convolution)
    parser.add_argument("--refit", action="store_true", help="train on the validation reviews too, to the last epoch")
    parser.add_argument("--tuned", action="store_true", help="use the bundled settings of this architecture")
    parser.add_argument("--settings", type=path, help="a sweep's settings.json; flags take precedence over it")
    parser.add_argument("--sources", help="train on these sources of the corpus only, separated by commas")
    parser.add_argument("--snapshots", type=int, help="how many times to keep the weights along the training")
    parser.add_argument("--resume", action="store_true", help="continue an interrupted run")
    parser.add_argument("--test", action="store_true", help="evaluate on the test split at the end")
    parser.add_argument("--device", choices=DEVICE.names, help="where to compute (default: a GPU if there is one)")
    parser.add_argument("--threads", type=int, help="CPU threads; small networks are often fastest with 1")
    config_flags(parser)
    return parser


def config_flags(parser: argparse.ArgumentParser) -> None:
    """Add a flag for every field of TrainConfig. A flag that is not given is absent from the parsed options."""
    hints = get_type_hints(TrainConfig)
    for field in dataclasses.fields(TrainConfig):
        parts = get_args(hints[field.name]) or (hints[field.name],)
        types = [part for part in parts if part is not type(None)]
        flag = f"--{field.name.replace('_', '-')}"
        told = f"{RANGES['training'][field.name].what} (default: {field.default})"
        if types == [bool]:
            parser.add_argument(flag, action=argparse.BooleanOptionalAction, default=argparse.SUPPRESS)
        elif isinstance(types[0], str):
            parser.add_argument(flag, choices=types, default=argparse.SUPPRESS, help=f"default: {field.default}")
        else:
            kind = whole_or_none if type(None) in parts else types[0]
            parser.add_argument(flag, type=kind, default=argparse.SUPPRESS, help=told)


def main(arguments: list[str] | None = None) -> int:
    options = vars(parser().parse_args(arguments))
    given = given_fields(options, SHAPE)
    rest = {name: value for name, value in options.items() if name not in given}
    return exit_code_of(lambda: train_command(given=given, **rest))


if __name__ == "__main__":
    sys.exit(main())
