"""The modifier words that several analyzed runs agree on, as a file for the baselines.

python -m studies.modifier_words RUN [RUN …] --out words.json
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rnnlens.common.errors import exit_code_of
from rnnlens.common.files import atomic_file
from rnnlens.common.replacing import check_file
from rnnlens.common.terminal import say
from rnnlens.experiments.modifier_words import read_modifiers


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.modifier_words", description=__doc__)
    parser.add_argument("runs", nargs="+", help="analyzed runs of one corpus")
    parser.add_argument("--most", type=int, default=400, help="how many words")
    parser.add_argument("--out", type=Path, required=True, help="a .json file to write")
    options = parser.parse_args(arguments)

    def command() -> None:
        check_file(options.out, rb'\A\s*\[\s*"', "a list of words")
        words = read_modifiers(options.runs, options.most)
        with atomic_file(options.out) as temporary:
            temporary.write_text(json.dumps(words, ensure_ascii=False), encoding="utf-8")
        say(f"{len(words)} words: {', '.join(words[:30])}, …")

    sys.exit(exit_code_of(command))


if __name__ == "__main__":
    main()
