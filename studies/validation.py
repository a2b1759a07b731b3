"""The method against known truth: reads what `rnnlens validate` stored, writes docs/validation.md, figures and data.

python -m studies.validation runs/validation [--imdb RUN RUN …]   # folders of `rnnlens validate`, one below the other
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rnnlens.artifacts import atomic_file, read_json, read_lines, write_json
from rnnlens.corpora import load_corpus
from rnnlens.experiments.subjects import TOP
from rnnlens.figures.style import write_figure
from studies.validation_claims import again, explained, in_short, verdicts
from studies.validation_figures import figures
from studies.validation_imdb import imdb, imdb_lists
from studies.validation_more import architectures, constants, recipe, sizes
from studies.validation_tables import (
    MAIN,
    causes,
    causes_elsewhere,
    edges,
    failures,
    languages,
    measures,
    rankings,
    table,
)  # fmt: skip

DOCS = Path(__file__).parent.parent / "docs"
Results = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="holds folders that `rnnlens validate` wrote")
    parser.add_argument("--imdb", type=Path, nargs="+", help="analysed runs: lists of their modifiers are made anew")
    parser.add_argument("--corpus", type=Path, default=Path("corpora/imdb"), help="the reviews they were trained on")
    asked = parser.parse_args()
    found = {path.parent.name: read_json(path) for path in sorted(asked.folder.glob("*/validation.json"))}
    if not found:
        parser.error(f"no validation.json in the folders of {asked.folder}")
    found = dict(sorted(found.items(), key=lambda item: place(item[1])))
    for name, one in found.items():
        write_json(DOCS / "results" / f"validation-{name}.json", slim(one))
    lists = DOCS / "results" / "imdb-lists.json"
    if asked.imdb is not None:
        write_json(lists, imdb_lists(asked.imdb, load_corpus(asked.corpus)))
    reach, tried, before = (
        read_json(path) if path.exists() else None
        for path in (DOCS / "results" / f"validation-{name}.json" for name in ("reach", "constants", "earlier"))
    )
    searched, earlier = (DOCS / "results" / f"validation-search{name}.jsonl" for name in ("", "-earlier"))
    for name, figure in figures(found, MAIN).items():
        write_figure(figure, DOCS / "images" / f"validation-{name}.svg")
    with atomic_file(DOCS / "validation.md") as temporary:
        told = read_json(lists) if lists.exists() else None
        text = "\n".join(page(found, told, read_lines(searched), read_lines(earlier), reach, tried, before)) + "\n"
        temporary.write_text(text, encoding="utf-8")
    print(DOCS / "validation.md")


ORDER = ["tiny", "easy", "medium", "mixed", "hard", "own"]


def place(one: Results) -> tuple[int, int, bool, int]:
    """Where a study stands among the others: by preset, then seed, then architecture, then size."""
    return (
        ORDER.index(one["preset"]),
        one["language_seed"],
        one["network"]["arch"] != "gru",
        one["language"]["train"],
    )


def slim(one: Results) -> Results:
    """Without every modifier's row for each network: the consensus has them."""
    if "consensus" not in one:
        return one
    networks = [{key: value for key, value in network.items() if key != "found"} for network in one["networks"]]
    return {**one, "networks": networks}


def page(
    every: dict[str, Results],
    lists: Results | None,
    searched: list[Results],
    earlier: list[Results],
    reach: Results | None,
    tried: Results | None,
    earlier_scores: Results | None,
) -> list[str]:
    found = {name: one for name, one in every.items() if name in MAIN}
    return [
        "# The method against known truth",
        "",
        "Written by `python -m studies.validation FOLDER` from what `rnnlens validate` stored; all numbers are in",
        "[results](results). Languages are made in which it is known which words modify others, how strongly and how",
        "far; networks are trained on their documents, which carry one noisy label each, and are taken apart like any",
        "other. Single networks: mean and range over seeds; consensus: of the mean of all seeds' strengths. Intervals",
        "are 95 %, by bootstrap over words. Numbers of `score` are of an earlier definition, from which the",
        "median of words of similar valence was subtracted.",
        "",
        *in_short(every),
        "## The languages",
        "",
        *languages(every),
        "",
        "`knows all`: accuracy of who knows every word's valence, strength and mean reach, but not how far each",
        "occurrence reaches; `no modifiers`: of who knows all valences and heeds no modifier. What lies between the",
        "two is all that modifiers are worth. `reads`: how much of the modification is in the networks' logits, by a",
        "regression on what words add up to plainly and on what modifiers add: 0 where a network is a bag of words.",
        "",
        "## What was asked, and what was found",
        "",
        *verdicts(found),
        "",
        *explained(found, reach),
        "",
        *again(every, earlier_scores),
        "## Which words are modifiers",
        "",
        f"Average precision of ranking the {TOP:,} most frequent words, all modifiers among them, by each score.",
        "`strength` is the lasting change of strong probe words after a word, as a share of their valence",
        "(`context.strength`); `in documents` corrects what networks are sure of by a regression on the training",
        "documents (`context.documents`).",
        "",
        *rankings(found),
        "",
        "![average precision by score](images/validation-scores.svg)",
        "",
        "The last three know the form of the language: that some words multiply what follows, fading. `documents",
        "alone` knows nothing else: it is the recommended method without networks, valences by a sparse logistic",
        "regression, then strengths by another on what follows each word. `valences known` is meant as a ceiling: the",
        "same by who knows all valences and the mean reach. For these, the better of strengths as they are and shrunk",
        "by frequency.",
        "",
        "## Where scores fail",
        "",
        *failures(found),
        "",
        "![recall by frequency](images/validation-frequency.svg)",
        "",
        "## How strong, of what kind, how far",
        "",
        *measures(found),
        "",
        "![strengths found and true](images/validation-strength.svg)",
        "",
        "## What removing the subspace removes",
        "",
        "The modifier subspace, fitted to the strongest words that the analysis found (by `score`), is projected out",
        "of the state at every step, and the test documents are read again. `modification` and `valence` are the two",
        "slopes of the logits (see above); removing exactly the modification brings the first to 0 and leaves the",
        "second. Accuracies are by the logits' median as threshold: a shift of all of them does not count.",
        "",
        *causes(found),
        "",
        "Subspaces of other words, which modify nothing, take some of the modification too, where networks are those",
        "of hard languages: a subspace is no proof that its words are modifiers.",
        "",
        "The same on all other languages, sizes and architectures. Warnings are what `analyze` warns of: a line that",
        "explains little, or a network that drifts while it reads blank inputs.",
        "",
        *causes_elsewhere(every),
        "",
        "## Edges of documents",
        "",
        *edges(found),
        "",
        *sizes(every),
        *architectures(every),
        *recipe(searched, earlier),
        *constants(tried),
        *([] if lists is None else imdb(lists, table)),
    ]


if __name__ == "__main__":
    main()
