"""Strengths of words in networks, compared with their strengths in people's judgment.

A network's strengths are measured in two ways. *Strength* is that of the analysis: how a word changes the effect of the
next word at h*. *Behaviour* needs the text of the trees: the network reads the phrases x and "w x" that people labeled,
each from h0, and the strength is computed from its logits with the formula used for people's labels. It is weaker,
because the effect fades word by word and states saturate.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from rnnlens.analysis.behaviour import behaviour
from rnnlens.analysis.checks import check_two_sides
from rnnlens.analysis.lexicon import Lexicon, read_lexicon
from rnnlens.analysis.locate import location_of, states_of, stored_line, stored_probes
from rnnlens.analysis.people import SPLITS, Judged, judged_in, packaged
from rnnlens.analysis.scores import FEWEST, Correlation, Ranking, correlate, rank
from rnnlens.analysis.trees import Trees, read_trees
from rnnlens.common.allowed import shown
from rnnlens.common.display import Facts, Shown, table_html
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.ranges import in_range
from rnnlens.common.terminal import printable
from rnnlens.context.finding import find_modifiers
from rnnlens.context.modifiers import Modifiers
from rnnlens.networks import BothWays, Network
from rnnlens.networks.devices import check_device
from rnnlens.networks.matching import repeated
from rnnlens.runs import Run, load

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

LEAST = (20, 40)  # smallest numbers of phrases of a word: one comparison for each
CONSENSUS = "consensus"
FURTHEST = ("furthest from people", "people", "network", "people, by a straight line")
COLUMNS = ("reading", "phrases", "sentences", "words", "r", "95 % interval", "ceiling")
Strengths = Mapping[str, float]
Correlations = dict[tuple[int, str], Correlation]  # by smallest number of phrases and split (even, odd or all)


@dataclass(frozen=True, eq=False)
class Scores:
    """The strengths of one network, or of the consensus, and how well they agree with people and with lexicons.

    behaviour: strengths computed from its logits on people's phrases, by split (even, odd, all); None without trees
    """

    name: str
    strengths: Strengths = field(repr=False)
    behaviour: Mapping[str, Strengths] | None = field(repr=False)
    by_strength: Correlations
    by_behaviour: Correlations | None
    rankings: dict[str, Ranking]

    def rows(self) -> list[list[str]]:
        """A table with the columns `COLUMNS`: r by reading, number of phrases and sentences."""
        rows = []
        for reading, table in (("strength", self.by_strength), ("behaviour", self.by_behaviour or {})):
            for (least, split), score in table.items():
                cells = _number(score.r), _interval(score), _number(score.ceiling)
                rows.append([reading, f"≥ {least}", split, str(score.words), *cells])
        return rows

    def to_dict(self) -> dict[str, Any]:
        return {
            "strength": _nested(self.by_strength),
            "behaviour": None if self.by_behaviour is None else _nested(self.by_behaviour),
            "lexicons": {name: ranking.to_dict() for name, ranking in self.rankings.items()},
        }


@dataclass(frozen=True, eq=False)
class Agreement(Shown):
    """Strengths of words in people's judgment, and the scores of each network and of their consensus (last)."""

    people: Judged = field(repr=False)
    scores: tuple[Scores, ...]

    def __getitem__(self, name: str) -> Scores:
        for one in self.scores:
            if one.name == name:
                return one
        names = ", ".join(one.name for one in self.scores)
        raise RnnlensError(f"there is no network {quoted(name)}: expected one of {quoted(names, 300)}")

    def to_dict(self) -> dict[str, Any]:
        """Plain data. The words are those with enough phrases that at least one network knows, most phrases first."""
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

    @in_range("strongest")
    def furthest(self, n: int = 10, name: str | None = None) -> list[tuple[str, float, float, float]]:
        """The words furthest from a straight line fitted to all words, each with its strength in people's judgment, its
        strength in the network, and the line's prediction of people's strength."""
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

    def _table(self) -> str:
        tables = [table_html([(one.name, *row) for row in one.rows()], ("network", *COLUMNS)) for one in self.scores]
        rows = [[word, *(f"{value:+.2f}" for value in values)] for word, *values in self.furthest()]
        return "".join(tables) + table_html(rows, FURTHEST)

    def __repr__(self) -> str:
        correlations = (f"{one.name} {_number(one.by_strength[LEAST[0], 'all'].r)}" for one in self.scores)
        return printable(f"Agreement(r with people's strengths: {', '.join(correlations)})")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _interval(score: Correlation) -> str:
    return "–" if score.low is None or score.high is None else f"{score.low:.2f} … {score.high:.2f}"


class _Measured(NamedTuple):
    name: str
    network: Network
    strengths: dict[str, float]


@in_range("agree")
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
    """Measure how well the strengths of words agree with people's judgment.

    networks: an Analysis, a Run, its folder or name, a Network, or several of these; of several, the consensus (the
    mean of their strengths) is scored too. trees: a file in the Treebank's format, whose phrases the networks then
    read. Without it people's strengths are the packaged ones, and there is no behaviour. lexicons: files, or `vader`.
    top: how many of the most frequent words of a network without analysis to measure. seed: of visited states and the
    bootstrap.
    """
    check_device(device)
    several = list(networks) if isinstance(networks, list | tuple) else [networks]
    if not several:
        raise RnnlensError("no network given: expected a run, a network or an analysis, or several")
    several = [load(one) if isinstance(one, Path | str) else one for one in several]
    _check_different(several)
    if isinstance(lexicons, bytes) or not isinstance(lexicons, str | Path | Iterable):
        raise RnnlensError(f"lexicons is {shown(lexicons)}: expected a list of files, or vader")
    lists = [read_lexicon(source) for source in ([lexicons] if isinstance(lexicons, str | Path) else lexicons)]
    opened = trees if trees is None or isinstance(trees, Trees) else read_trees(trees)
    people = packaged() if opened is None else judged_in(opened)
    scores: list[Scores] = []
    for one in several:
        measured = _measure(one, top, seed, device)
        _check_shared(measured, people)
        if advance is not None:
            advance(1, f"{measured.name}: strengths")
        read = None
        if opened is not None:
            enough = [word for word, n in zip(people.words, people.phrases(), strict=True) if n >= LEAST[0]]
            sums = behaviour(measured.network, opened, enough)
            read = {
                split: _known(dict(zip(sums.words, sums.strength(split).tolist(), strict=True))) for split in SPLITS
            }
        if advance is not None:
            advance(1, f"{measured.name}: {'strengths' if read is None else 'behaviour'}")
        name = _unused(measured.name, [score.name for score in scores])
        scores.append(_scored(name, measured.strengths, read, people, lists, seed))
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


def _check_different(several: Sequence[Any]) -> None:
    """Refuse one network twice, by whatever name, run or analysis. The readers and classes of a run are different."""
    if (twice := repeated([one.network if hasattr(one, "network") else one for one in several])) is not None:
        runs = [one if isinstance(one, Run) else getattr(one, "run", None) for one in (several[i] for i in twice)]
        name = next((run.name for run in runs if isinstance(run, Run)), "network")
        raise RnnlensError(f"{quoted(name)} is given twice: a consensus needs different networks")


@torch.no_grad()
def _measure(one: Any, top: int, seed: int, device: str | None) -> _Measured:
    """The strengths of a network, from its analysis or measured now."""
    modifiers = getattr(one, "modifiers", None)
    if isinstance(modifiers, Modifiers):  # an Analysis
        run = getattr(one, "run", None)
        return _Measured(run.name if isinstance(run, Run) else "network", modifiers.network, _strengths(modifiers))
    run, network = (one, one.network) if isinstance(one, Run) else (None, one)
    if isinstance(network, BothWays):
        raise RnnlensError(
            "this network reads both ways, and agreement is about one reader: in Python, pass run.network.forwards or "
            "run.network.backwards"
        )
    if not isinstance(network, Network):
        raise RnnlensError(
            f"agreement got {quoted(type(one).__name__)}: expected an analysis, a run, its folder or a network; "
            "torch's own modules come in through rnnlens.from_torch"
        )
    if network.vocab is None:
        raise RnnlensError("this network has no vocabulary: `agreement` compares words and needs one")
    check_two_sides(network, "agreement with people")
    network.check_measurable()
    if device is not None:
        network = copy.deepcopy(network).to(device)
    if run is not None and run.is_analyzed() and device is None:
        line = stored_line(run)
    else:
        line = location_of(network, states_of(network, run, seed=seed).to(network.h0)).line
    probes = stored_probes(run, network, line).known_to(network)
    words = find_modifiers(network, line, top=top, probes=probes)
    return _Measured(run.name if run is not None else "network", network, _strengths(words))


def _strengths(words: Modifiers) -> dict[str, float]:
    return dict(zip(words.words, words.strength.tolist(), strict=True))


def _check_shared(measured: _Measured, people: Judged) -> None:
    shared = sum(word in measured.strengths for word in people.words)
    if shared < min(FEWEST, len(people.words)):
        raise RnnlensError(
            f"{quoted(measured.name)} knows {shared} of {len(people.words)} words that people have judged; its "
            f"first words are {quoted(', '.join(list(measured.strengths)[:3]))} …: expected a network of the same "
            "language (English, unless you pass other trees)"
        )


def _known(values: Strengths) -> dict[str, float]:
    return {word: value for word, value in values.items() if np.isfinite(value)}


def _mean(several: Sequence[Strengths]) -> dict[str, float]:
    """The mean strengths of the words that all networks know."""
    shared = [word for word in several[0] if all(word in one for one in several)]
    return {word: float(np.mean([one[word] for one in several])) for word in shared}


def _unused(name: str, taken: Sequence[str]) -> str:
    """The name, followed by a number if it is taken."""
    number, unused = 2, name
    while unused in (*taken, CONSENSUS):
        number, unused = number + 1, f"{name} ({number})"
    return unused


def _nested(table: Correlations) -> dict[str, Any]:
    return {
        str(least): {split: table[least, split].to_dict() for split in SPLITS if (least, split) in table}
        for least in LEAST
    }
