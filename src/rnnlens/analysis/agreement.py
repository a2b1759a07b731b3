"""Strengths that were measured in networks, held against what people say of the same words.

Two readings. *Strength* is the analysis's: what a word does to the next one at h*. *Behaviour* needs the trees' text:
the network reads people's phrases x and "w x", each from h0, and the strength is taken from its logits by the formula
that is used for people's labels. It is weaker: the effect fades word by word, and states saturate.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from rnnlens.analysis.behaviour import behaviour
from rnnlens.analysis.lexicon import Lexicon, read_lexicon
from rnnlens.analysis.locate import find_line, states_of, stored_line, stored_probes
from rnnlens.analysis.people import SPLITS, Judged, judged_in, packaged
from rnnlens.analysis.scores import FEWEST, Correlation, Ranking, correlate, rank
from rnnlens.analysis.trees import Trees, read_trees
from rnnlens.common.display import Facts, Shown, table_html
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.ranges import check_options
from rnnlens.common.terminal import printable
from rnnlens.context.finding import find_modifiers
from rnnlens.context.modifiers import Modifiers
from rnnlens.networks import Network
from rnnlens.runs import Run, load

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

LEAST = (20, 40)  # phrases that a word must have to be compared
CONSENSUS = "consensus"
FURTHEST = ("furthest from people", "people", "network", "people, by a straight line")
COLUMNS = ("reading", "phrases", "sentences", "words", "r", "95 % interval", "ceiling")
Strengths = Mapping[str, float]
Correlations = dict[tuple[int, str], Correlation]  # by (phrases at least, even, odd or all)


@dataclass(frozen=True, eq=False)
class Scores:
    """One network, or the consensus: its strengths, and how well they agree with people and with lexicons.

    behaviour: strengths that show where it reads people's phrases, by even, odd and all; None without trees
    """

    name: str
    strengths: Strengths = field(repr=False)
    behaviour: Mapping[str, Strengths] | None = field(repr=False)
    by_strength: Correlations
    by_behaviour: Correlations | None
    rankings: dict[str, Ranking]

    def rows(self) -> list[list[str]]:
        """A table with the columns `COLUMNS`: r by reading, number of phrases and sentences."""
        found = []
        for reading, table in (("strength", self.by_strength), ("behaviour", self.by_behaviour or {})):
            for (least, split), score in table.items():
                cells = _number(score.r), _interval(score), _number(score.ceiling)
                found.append([reading, f"≥ {least}", split, str(score.words), *cells])
        return found

    def to_dict(self) -> dict[str, Any]:
        return {
            "strength": _nested(self.by_strength),
            "behaviour": None if self.by_behaviour is None else _nested(self.by_behaviour),
            "lexicons": {name: found.to_dict() for name, found in self.rankings.items()},
        }


@dataclass(frozen=True, eq=False)
class Agreement(Shown):
    """People's strengths of words, and those of one network, or of several and (last) their consensus."""

    people: Judged = field(repr=False)
    scores: tuple[Scores, ...]

    def __getitem__(self, name: str) -> Scores:
        for one in self.scores:
            if one.name == name:
                return one
        names = ", ".join(one.name for one in self.scores)
        raise RnnlensError(f"there is no network {quoted(name)}: expected one of {quoted(names, 300)}")

    def to_dict(self) -> dict[str, Any]:
        """Plain data. Words are those with enough phrases that some network knows, most phrases first."""
        phrases, strength = self.people.phrases(), self.people.strength()
        rows = [i for i in np.argsort(-phrases, kind="stable").tolist() if phrases[i] >= LEAST[0]]
        words = []
        for i in rows:
            word = self.people.words[i]
            ours = {one.name: one.strengths[word] for one in self.scores if word in one.strengths}
            if ours:
                words.append({"word": word, "people": float(strength[i]), "phrases": int(phrases[i]), "strength": ours})
        return {
            "source": self.people.source,
            "networks": {one.name: one.to_dict() for one in self.scores},
            "words": words,
        }

    def furthest(self, n: int = 10, name: str | None = None) -> list[tuple[str, float, float, float]]:
        """Words that lie furthest from the straight line through all of them, each with its strength in people's
        judgement, in the network, and what the line expects people to say."""
        name = self.scores[-1].name if name is None else self[name].name
        rows = [
            (row["word"], row["people"], row["strength"][name])
            for row in self.to_dict()["words"]
            if name in row["strength"]
        ]
        if len(rows) < FEWEST:
            return []
        theirs, ours = np.array([row[1:] for row in rows]).T
        expected = np.polyval(np.polyfit(ours, theirs, 1), ours)
        order = np.argsort(-np.abs(theirs - expected), kind="stable")[:n].tolist()
        return [(*rows[i], float(expected[i])) for i in order]

    def figure(self, name: str | None = None) -> Figure:
        """A scatter of a network's strengths (by default the last one's, the consensus) against people's."""
        from rnnlens.figures.agreement import agreement as draw

        return draw(self.to_dict(), self.scores[-1].name if name is None else self[name].name)

    def _facts(self) -> Facts:
        return [("people", self.people.source), ("networks", [one.name for one in self.scores])]

    def _drawing(self) -> str:
        tables = [table_html([(one.name, *row) for row in one.rows()], ("network", *COLUMNS)) for one in self.scores]
        rows = [[word, *(f"{value:+.2f}" for value in values)] for word, *values in self.furthest()]
        return "".join(tables) + table_html(rows, FURTHEST)

    def __repr__(self) -> str:
        said = (f"{one.name} {_number(one.by_strength[LEAST[0], 'all'].r)}" for one in self.scores)
        return printable(f"Agreement(r with people's strengths: {', '.join(said)})")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _interval(score: Correlation) -> str:
    return "–" if score.low is None or score.high is None else f"{score.low:.2f} … {score.high:.2f}"


class _Measured(NamedTuple):
    name: str
    network: Network
    strengths: dict[str, float]


def agreement(
    networks: Any,
    trees: Path | str | Trees | None = None,
    lexicons: Sequence[Path | str | Lexicon] = (),
    *,
    top: int = 10_000,
    seed: int = 0,
    device: str | None = None,
    advance: Callable[[int, str], None] | None = None,
) -> Agreement:
    """How well the strengths of words agree with what people say of them.

    networks: an Analysis, a Run, its folder or name, a Network, or several of these; of several also the consensus, the
    mean of their strengths. trees: a file in the Treebank's format; then the networks also read its phrases. Without
    it people's strengths are the packaged ones, and there is no behaviour. lexicons: files, or `vader`. top: how many
    of a network's most frequent words are measured where they are not yet. seed: of visited states and the bootstrap.
    """
    check_options("agree", top=top, seed=seed)
    several = list(networks) if isinstance(networks, list | tuple) else [networks]
    if not several:
        raise RnnlensError("no network given: expected a run, a network or an analysis, or several")
    lists = [read_lexicon(source) for source in ([lexicons] if isinstance(lexicons, str | Path) else lexicons)]
    opened = read_trees(trees) if isinstance(trees, Path | str) else trees
    people = packaged() if opened is None else judged_in(opened)
    scores: list[Scores] = []
    for one in several:
        found = _measure(one, top, seed, device)
        _check_shared(found, people)
        if advance is not None:
            advance(1, f"{found.name}: strengths")
        read = None
        if opened is not None:
            enough = [word for word, n in zip(people.words, people.phrases(), strict=True) if n >= LEAST[0]]
            sums = behaviour(found.network, opened, enough)
            read = {
                split: _known(dict(zip(sums.words, sums.strength(split).tolist(), strict=True))) for split in SPLITS
            }
        if advance is not None:
            advance(1, f"{found.name}: behaviour")
        name = _unused(found.name, [score.name for score in scores])
        scores.append(_scored(name, found.strengths, read, people, lists, seed))
    if len(scores) > 1:
        mean = _mean([one.strengths for one in scores])
        read = None
        if opened is not None:
            read = {split: _mean([(one.behaviour or {})[split] for one in scores]) for split in SPLITS}
        scores.append(_scored(CONSENSUS, mean, read, people, lists, seed))
    return Agreement(people, tuple(scores))


def _scored(
    name: str,
    strengths: Strengths,
    read: Mapping[str, Strengths] | None,
    people: Judged,
    lists: Sequence[Lexicon],
    seed: int,
) -> Scores:
    keys = [(least, split) for least in LEAST for split in SPLITS]
    rankings: dict[str, Ranking] = {}
    for one in lists:
        rankings[_unused(one.name, list(rankings))] = rank(strengths, one)
    return Scores(
        name,
        strengths,
        read,
        {(least, split): correlate(strengths, people, split, least, seed) for least, split in keys},
        None
        if read is None
        else {(least, split): correlate(read[split], people, split, least, seed) for least, split in keys},
        rankings,
    )


@torch.no_grad()
def _measure(one: Any, top: int, seed: int, device: str | None) -> _Measured:
    """A network's strengths: those of its analysis, or else measured now."""
    one = load(one) if isinstance(one, Path | str) else one
    found = getattr(one, "modifiers", None)
    if isinstance(found, Modifiers):  # an Analysis
        run = getattr(one, "run", None)
        return _Measured(run.name if isinstance(run, Run) else "network", found.network, _strengths(found))
    if not isinstance(one, Run | Network):
        raise RnnlensError(
            f"agreement got {quoted(type(one).__name__)}: expected an analysis, a run, its folder or a network; "
            "torch's own modules come in through rnnlens.from_torch"
        )
    run, network = (one, one.network) if isinstance(one, Run) else (None, one)
    if network.vocab is None:
        raise RnnlensError("this network has no words: there is nothing that people could say of them")
    network.check_measurable()
    if device is not None:
        network = copy.deepcopy(network).to(device)
    if run is not None and run.is_analyzed() and device is None:
        line = stored_line(run)
    else:
        line = find_line(network, states_of(network, run, seed=seed).to(network.h0))[1]
    probes = stored_probes(run, network, line).known_to(network)
    words = find_modifiers(network, line, top=top, probes=probes)
    return _Measured(run.name if run is not None else "network", network, _strengths(words))


def _strengths(words: Modifiers) -> dict[str, float]:
    return dict(zip(words.words, words.strength.tolist(), strict=True))


def _check_shared(found: _Measured, people: Judged) -> None:
    shared = sum(word in found.strengths for word in people.words)
    if shared < min(FEWEST, len(people.words)):
        raise RnnlensError(
            f"{quoted(found.name)} knows {shared} of {len(people.words)} words that people have judged; its own are "
            f"{quoted(', '.join(list(found.strengths)[:3]))} …: expected a network of the same language (English, "
            "unless you pass other trees)"
        )


def _known(values: Strengths) -> dict[str, float]:
    return {word: value for word, value in values.items() if np.isfinite(value)}


def _mean(several: Sequence[Strengths]) -> dict[str, float]:
    """The mean strength of the words that all of them have."""
    shared = [word for word in several[0] if all(word in one for one in several)]
    return {word: float(np.mean([one[word] for one in several])) for word in shared}


def _unused(name: str, taken: Sequence[str]) -> str:
    """The name, with a number where it is taken."""
    number, found = 2, name
    while found in (*taken, CONSENSUS):
        number, found = number + 1, f"{name} ({number})"
    return found


def _nested(table: Correlations) -> dict[str, Any]:
    return {
        str(least): {split: table[least, split].to_dict() for split in SPLITS if (least, split) in table}
        for least in LEAST
    }
