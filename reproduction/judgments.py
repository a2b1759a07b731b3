"""What people say of words, as sums without text, for the package.

    python -m reproduction.judgments sst/train.txt    # → src/rnnlens/analysis/people.json

The trees are those of the Stanford Sentiment Treebank (Socher et al. 2013).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rnnlens.analysis.people import PACKAGED, judged_in
from rnnlens.analysis.trees import read_trees
from rnnlens.common.files import atomic_file

LEAST = 5
SOURCE = "Stanford Sentiment Treebank (Socher et al. 2013)"
FIELDS = "eight parts (sentence number mod 8), each: phrases x; sum of label(w x) * label(x); sum of label(x)^2"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trees", type=Path, help="trees of the Treebank")
    trees = read_trees(parser.parse_args().trees)
    people = judged_in(trees, LEAST)
    rows = [
        f"{json.dumps(word)}: {json.dumps(sums.ravel().tolist(), separators=(',', ':'))}"
        for word, sums in zip(people.words, people.sums, strict=True)
    ]
    head = json.dumps(
        {"source": f"{SOURCE}, {len(trees.sentences):,} sentences", "least": LEAST, "fields": FIELDS}, indent=1
    )[:-2]
    with atomic_file(PACKAGED) as temporary:
        temporary.write_text(head + ',\n "words": {\n  ' + ",\n  ".join(rows) + "\n }\n}\n", encoding="utf-8")
    print(f"{len(people.words)} words, {PACKAGED.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
