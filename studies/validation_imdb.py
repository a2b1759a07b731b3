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
KNOWN = {  # English modifiers, by any grammar
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


def imdb_lists(folder: Path, corpus: Corpus) -> Results:
    """The fifty words that each score puts first, for one network and for all of them together."""
    runs = [rnnlens.load(path.parent) for path in sorted(folder.glob("imdb-*/run.json"))]
    runs = [run for run in runs if "subspace" in run.results]
    networks, lines = [run.network.requires_grad_(False) for run in runs], [stored_line(run) for run in runs]
    stored = runs[0].results["probes"]
    probes = Probes(tuple(stored["positive"]), tuple(stored["negative"]))
    first = rnnlens.find_modifiers(networks[0], lines[0], probes=probes)
    both = rnnlens.find_modifiers(networks, lines, probes=probes)
    borne = both.in_documents(corpus)
    one, all_of_them = runs[0].path.name, f"consensus of {len(runs)} networks"
    return {
        "networks": [run.path.name for run in runs],
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
    text = ["## Real reviews: the first fifty words on IMDB", ""]
    known = {word for words in KNOWN.values() for word in words.split()}
    rows = []
    for name, words in lists["lists"].items():
        counts = [sum(word in some.split() for word in words) for some in KNOWN.values()]
        rows.append([name, str(sum(word in known for word in words)), *map(str, counts)])
    text += [
        f"Networks: {', '.join(lists['networks'])}. No truth is known here; of each list it is counted how many words",
        "any grammar calls a modifier. Such words are in bold.",
        "",
        *table(["score", "modifiers by any grammar, of 50", *KNOWN], rows),
        "",
    ]
    for name, words in lists["lists"].items():
        text.append(f"- **{name}**: " + ", ".join(f"**{_plain(w)}**" if w in known else _plain(w) for w in words))
    return [*text, "", *judgement(lists), ""]


def judgement(lists: Results) -> list[str]:
    """What the lists say, in words that follow from their counts; read by a person when they were made."""
    known = {word for words in KNOWN.values() for word in words.split()}
    norm, _, _, sure, documents = (sum(word in known for word in words) for words in lists["lists"].values())
    strengths = {word: value for word, value in lists["strengths"].items() if word in known}
    less, more = (", ".join(w for w, v in strengths.items() if sign * v > 0) for sign in (-1, 1))
    text = [
        f"Read side by side, the paper's norm lists strong valence words and rare names ({norm} of 50 are known",
        f"modifiers). The networks' consensus (`sure`) lists {sure}, the documents {documents}:",
        "documents find about as many as networks do, and not more, unlike in the hard synthetic language, whose form",
        f"is what the regression supposes. What they add is the sense: less counts after {_plain(less)};",
        f"more after {_plain(more)}. What else both list is of three kinds: words that stand before",
        "a judgement (`this`,",
        "`was`, `acting`, `story`), after which the next word counts more than elsewhere; numerals and signs of",
        "ratings; and words of topics, whose valence words are used in their own way. The first are modifiers to the",
        "network, if not to a grammar. No list is fit to be used unread.",
    ]
    return wrap(" ".join(text), 118)


def _plain(word: str) -> str:
    """A word that is no markup."""
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]<>()#+-.!|" else sign for sign in word)
