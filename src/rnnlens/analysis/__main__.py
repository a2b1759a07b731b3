"""`python -m rnnlens.analysis`: `rnnlens analyze` for installations without cyclopts and rich."""

from __future__ import annotations

import sys

from rnnlens.analysis.analyze import analyze_command
from rnnlens.common.arguments import Program, path
from rnnlens.common.errors import exit_code_of
from rnnlens.common.options import DEVICE, DIRECTION
from rnnlens.common.terminal import say


def main(arguments: list[str] | None = None) -> None:
    parser = Program(prog="python -m rnnlens.analysis", description=__doc__)
    parser.add_argument("run", type=path, help="a run folder")
    parser.add_argument("--corpus", help="its prepared corpus: adds the accuracy experiments")
    parser.add_argument("--device", choices=DEVICE.names, help="device to compute on")
    parser.add_argument("--top", type=int, default=10_000, help="how many of the most frequent words to measure")
    parser.add_argument(
        "--reviews", type=int, help="read at most this many reviews of a split, drawn at random: quicker on a CPU"
    )
    parser.add_argument("--overwrite", action="store_true", help="also replace an analysis of more reviews")
    parser.add_argument("--class", dest="class_", help="of a network with several classes, the one to analyze")
    both = "of a network that reads both ways, the reader to analyze (default: forwards)"
    parser.add_argument("--direction", choices=DIRECTION.names, help=both)
    parser.add_argument("--seed", type=int, default=0, help="seed of random controls")
    options = parser.parse_args(arguments)

    def command() -> None:
        say(
            analyze_command(
                options.run,
                options.corpus,
                top=options.top,
                device=options.device,
                seed=options.seed,
                reviews=options.reviews,
                overwrite=options.overwrite,
                class_=options.class_,
                direction=options.direction,
            )
        )

    sys.exit(exit_code_of(command))


if __name__ == "__main__":
    main()
