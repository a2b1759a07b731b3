"""The words that each score puts first on real reviews, for docs/validation.md: nobody knows the truth there, so words
that any grammar calls modifiers are counted."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from typing import Any

import torch

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
    both = rnnlens.find_modifiers(networks, lines, probes=probes)
    first, borne, alone = both.members[0], both.in_documents(corpus), both.in_documents(corpus, networks=False)
    norms = torch.stack([one.norm for one in both.members]).mean(0)
    return {
        "networks": [[run.path.name, run.results["accuracy"]["test"]] for run in runs],
        "fade": borne.fade, "share": borne.share,
        "lists": {
            "the norm, one network": first.strongest(50, by="norm"),
            "the norm, all": [both.words[i] for i in norms.argsort(descending=True)[:50].tolist()],
            "`sure`, one network": first.strongest(50, by="sure"),
            "`sure`, all": both.strongest(50, by="sure"),
            "documents alone": alone.strongest(50),
            "in documents": borne.strongest(50),
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
        "The paper's norm, and ours, on networks of our own: the first, and all together. Networks, with their test "
        f"accuracy: {networks}. No truth is known here. Of each list it is counted how many words are on a list of "
        "English modifiers, which is generous, the same for all, and made by people who had seen such lists (`KNOWN` "
        "of `studies/validation_imdb.py`); such words are in bold."
    )
    beside = [
        [str(place + 1), *(f"**{_plain(word)}**" if word in known else _plain(word) for word in words)]
        for place, words in enumerate(zip(*lists["lists"].values(), strict=True))
    ]
    return [
        "## Real reviews: the first fifty words on IMDB", "", *wrap(text, 118), "",
        *table(["score", "known modifiers, of 50", *KNOWN], rows), "", *judgement(lists, known), "",
        *table(["", *lists["lists"]], beside), "",
    ]  # fmt: skip


def judgement(lists: Results, known: set[str]) -> list[str]:
    """What the lists say: numbers and words from them, and how they read to a person."""
    counts = {name: sum(word in known for word in words) for name, words in lists["lists"].items()}
    told = ", ".join(f"{n} ({name})" for name, n in counts.items())
    strengths = lists["strengths"]
    less, more, other_less, other_more = (
        _plain(", ".join(w for w, v in strengths.items() if sign * v > 0 and (w in known) == named))
        for named in (True, False) for sign in (-1, 1)
    )  # fmt: skip
    text = (
        f"Known modifiers of fifty: {told}. Read side by side: the norm lists words of strong valence and ratings, "
        "which move the state far, with some modifiers between them; `sure` lists modifiers, with small words and "
        "words of topics that stand before a judgement between them. The documents give each word a sense. Less of "
        f"what follows counts after {less}; more after {more}: what a grammar says of all but a few of them. Of the "
        f"others, less counts after {other_less}; more after {other_more}: some are parts of phrases that modify, "
        "some tell of what a sentence is about, and some are noise. No list is fit to be used unread."
    )
    return wrap(text, 118)


def _plain(word: str) -> str:
    """A word that is no markup."""
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]<>()#+-.!|" else sign for sign in word)
