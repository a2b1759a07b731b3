"""What to run next: the last lines that `rnnlens prepare` and `rnnlens train` print."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rnnlens.common.errors import pasted
from rnnlens.common.files import read_json
from rnnlens.runs import zoo

if TYPE_CHECKING:
    from rnnlens.corpora import Corpus

MANY = 10_000  # training texts from which a network of the default size learns modifiers (docs/findings.md)


def after_preparing(corpus: Corpus, out: Path) -> list[str]:
    """The command that trains on a corpus; of few texts, what to expect of it."""
    hints, start, n = [], "", len(corpus.train)
    if n < MANY:
        few = f"hint: {n:,} training texts are few. From random weights the default network learns little from them"
        if zoo.suits(zoo.START, corpus):
            start = f" --start zoo:{zoo.START}"
            hints.append(f"{few}; --start continues from a packaged network, which knows modifiers of English")
        else:
            hints.append(f"{few}; `rnnlens train --help` has settings for few texts")
    for source in corpus.about.get("sources", [corpus.about]):
        of = f" of {source['name']}" if "name" in source else ""
        classes = source.get("classes", {})
        graded = corpus.about["options"].get("graded")
        if graded is None and source.get("targets"):
            hints.append(f"hint: the labels{of} are graded: they are learned as targets; --no-graded learns two sides")
        elif graded is None and isinstance(classes, dict) and (neutral := classes.get("dropped")):
            n = source["dropped"]["no class"]
            hints.append(
                f"hint: {n:,} texts{of} are dropped, labeled {neutral} or not at all; --graded keeps neutral ones"
            )
    name = out.resolve().name
    return [*hints, f"next: rnnlens train {pasted(out)}{start} --out {pasted(Path('runs') / name)}"]


def after_training(corpus: str, out: Path) -> str:
    """The command that analyzes a run; with its corpus, if that has reviews to measure accuracy on."""
    about = Path(corpus).expanduser() / "corpus.json"
    sizes = read_json(about)["sizes"] if about.is_file() else {"test": 1}  # any other source gets a test split
    with_corpus = f" --corpus {pasted(corpus)}" if {"test", "validation"} & set(sizes) else ""
    return f"next: rnnlens analyze {pasted(out)}{with_corpus}"
