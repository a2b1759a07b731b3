"""`python -m rnnlens.experiments.film CORPUS --out RUN --snapshots 40`: `rnnlens train` with snapshots, without the
packages that the command line needs, and under `accelerate launch -m rnnlens.experiments.film`. It is not part of
`python -m rnnlens.training`, because training comes before the analyses that a snapshot is made of."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rnnlens.common.errors import exit_code_of
from rnnlens.training.__main__ import parser
from rnnlens.training.command import SHAPE, given_fields, train_command

if TYPE_CHECKING:
    from rnnlens.analysis.film import Film


def film_of(snapshots: int | None) -> Film | None:
    """The film of `--snapshots N`, None without it."""
    if snapshots is None:
        return None
    from rnnlens.analysis.film import Film

    return Film(snapshots)


def main(arguments: list[str] | None = None) -> int:
    program = parser("python -m rnnlens.experiments.film", "Train a network on a corpus and keep snapshots of it.")
    program.add_argument("--snapshots", type=int, required=True, help="number of records to keep along the training")
    options = vars(program.parse_args(arguments))
    given, snapshots = given_fields(options, SHAPE), options.pop("snapshots")
    rest = {name: value for name, value in options.items() if name not in given}
    return exit_code_of(lambda: train_command(given=given, **rest, watch=film_of(snapshots)))


if __name__ == "__main__":
    sys.exit(main())
