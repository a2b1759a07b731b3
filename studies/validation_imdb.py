"""The words that each score puts first on real reviews, for docs/validation.md: nobody knows the truth there, so words
that any grammar calls modifiers are counted."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from typing import Any

import rnnlens
from rnnlens.context.probes import Probes
from rnnlens.corpora.corpus import Corpus
from rnnlens.experiments.analyze import stored_line

Results = dict[str, Any]
KNOWN = {  # English modifiers, by our list
    "negators": "not no never nothing nobody none nor neither nowhere without cannot can't don't doesn't didn't isn't "
    "wasn't aren't weren't won't wouldn't couldn't shouldn't hasn't haven't hadn't ain't lacks lack lacking fails fail "
    "failed hardly barely scarcely rarely seldom few",
    "intensifiers": "very really extremely absolutely definitely highly truly incredibly totally completely utterly so "
    "too such most more much especially particularly quite pretty thoroughly deeply perfectly entirely simply just "
    "even exceptionally remarkably insanely awfully terribly always all ever certainly surely",
    "diminishers": "somewhat slightly fairly rather almost nearly kinda sorta little bit less least only merely mostly "
    "partly relatively moderately sometimes occasionally but although though however despite if would could should "
    "might may maybe perhaps supposed supposedly",
}


def imdb_lists(folders: list[Path], corpus: Corpus) -> Results:
    """The fifty words that each score puts first, for the first network and for all of them together."""
    runs = [rnnlens.load(path) for path in folders]
    networks, lines = [run.network.requires_grad_(False) for run in runs], [stored_line(run) for run in runs]
    stored = runs[0].results["probes"]
    probes = Probes(tuple(stored["positive"]), tuple(stored["negative"]))
    first = rnnlens.find_modifiers(networks[0], lines[0], probes=probes)
    both = rnnlens.find_modifiers(networks, lines, probes=probes)
    borne = both.in_documents(corpus)
    one, all_of_them = runs[0].path.name, f"consensus of {len(runs)} networks"
    return {
        "networks": [[run.path.name, run.results["accuracy"]["test"]] for run in runs],
        "fade": borne.fade, "share": borne.share,
        "lists": {
            f"the paper's norm ({one})": first.strongest(50, by="norm"),
            f"`sure` ({one})": first.strongest(50, by="sure"),
            f"`score`, {all_of_them}": both.strongest(50),
            f"`sure`, {all_of_them}": both.strongest(50, by="sure"),
            f"in documents, {all_of_them}": borne.strongest(50),
        },
        "strengths": {word: borne[word]["strength"] for word in borne.strongest(50)},
    }  # fmt: skip


def imdb(lists: Results, table: Any) -> list[str]:
    known = {word for words in KNOWN.values() for word in words.split()}
    rows = []
    for name, words in lists["lists"].items():
        counts = [sum(word in some.split() for word in words) for some in KNOWN.values()]
        rows.append([name, str(sum(word in known for word in words)), *map(str, counts)])
    networks = ", ".join(f"{name} ({100 * accuracy:.1f} %)" for name, accuracy in lists["networks"])
    text = (
        f"Networks, with their test accuracy: {networks}. No truth is known here. Of each list it is counted how many "
        "words are on a list of English modifiers, made by hand (`KNOWN` of `studies/validation_imdb.py`); such "
        "words are in bold."
    )
    lines = [
        f"- **{name}**: " + ", ".join(f"**{_plain(word)}**" if word in known else _plain(word) for word in words)
        for name, words in lists["lists"].items()
    ]
    return [
        "## Real reviews: the first fifty words on IMDB", "", *wrap(text, 118), "",
        *table(["score", "known modifiers, of 50", *KNOWN], rows), "", *lines, "", *judgement(lists, known), "",
    ]  # fmt: skip


def judgement(lists: Results, known: set[str]) -> list[str]:
    """What the lists say: numbers from them, and how they read to a person."""
    norm, *_, sure, documents = (sum(word in known for word in words) for words in lists["lists"].values())
    strengths = {word: value for word, value in lists["strengths"].items() if word in known}
    less, more = (", ".join(w for w, v in strengths.items() if sign * v > 0) for sign in (-1, 1))
    text = (
        f"Of fifty words, {norm} of the paper's norm are known modifiers, {sure} of the networks' consensus (`sure`), "
        f"{documents} in documents. Read side by side, the norm's others are strong valence words and ratings, which "
        "move the state far; those of `sure` and of documents are words that stand before a judgement (`this`, `is`, "
        "`story`, `performances`), after which what follows counts more than elsewhere, signs and numerals of ratings, "
        "and words of topics. The first are modifiers to the network, if not to a grammar. The documents give the "
        f"sense: less of what follows counts after {_plain(less)}; more after {_plain(more)}. Not every sense is that "
        "of a grammar, and no list is fit to be used unread."
    )
    return wrap(text, 118)


def _plain(word: str) -> str:
    """A word that is no markup."""
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]<>()#+-.!|" else sign for sign in word)
