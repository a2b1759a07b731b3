"""The analysis of a network that reads both ways: its two readers side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from rnnlens.analysis.locate import locate, states_of
from rnnlens.analysis.perturb import evaluated, sample
from rnnlens.common.display import Facts, Shown, table_html
from rnnlens.common.errors import RnnlensError, UnknownWord, quoted
from rnnlens.context.both_ways import Removal, Share, in_text, parts, removal, share
from rnnlens.context.finding import find_modifiers
from rnnlens.context.known import KNOWN
from rnnlens.context.modifiers import Modifiers
from rnnlens.context.perturbation import Reviews
from rnnlens.context.strength import CHANGES
from rnnlens.context.subspace import Subspace, fit_subspace
from rnnlens.corpora import CorpusLike, reversed_corpus
from rnnlens.networks import DIRECTIONS, BothWays, Network, reader_of, within
from rnnlens.runs import Run

MOST = 300  # strongest words of each reader that are kept
PHRASES = 50  # strongest words of each reader that are measured in phrases


@dataclass(frozen=True, eq=False)
class BothDirections(Shown):
    """The two readers of a network side by side.

    shown      the reader that the rest of the analysis is of
    words      the strongest words of either reader, and well-known ones: `forwards` is the strength in the forward
               reader, with `forwards_error`, `forwards_tau`, `forwards_kind` and `forwards_clear`; the same for
               `backwards`. A backward modifier changes the words before it in the text
    found      how many words are clear modifiers, by reader
    phrases    by how much a word changes the effect of the word after it in the text (`before` it) and of the word
               before it (`after`), through either reader: see `rnnlens.context.both_ways.in_text`
    share      the share of each reader in the logit's variance over reviews; None without a corpus
    removal    accuracy without the modifier subspace of either reader; None without a corpus
    split      of these reviews
    network    the whole network, with all its classes; None if it is not known
    """

    shown: str
    words: Sequence[Mapping[str, Any]] = field(repr=False)
    found: Mapping[str, int]
    phrases: Sequence[Mapping[str, Any]] = field(repr=False)
    share: Share | None = None
    removal: Removal | None = None
    split: str = ""
    network: BothWays | None = field(repr=False, default=None)

    def __getitem__(self, word: str) -> dict[str, Any]:
        """A word's row of `words`, with its row of `phrases`, if it has one."""
        rows = [dict(row) for table in (self.words, self.phrases) for row in table if row["word"] == word]
        if not rows:
            raise UnknownWord(f"{quoted(word)} is not among the {len(self.words)} words: they are in `words`")
        return {name: value for row in rows for name, value in row.items()}

    def carried(self, word: str) -> str:
        """Which readers modify with a word: forwards, backwards, both or neither. Its strength must be clear; a word
        with a large effect of its own (the kind `valence`) counts too."""
        clear = [name for name in DIRECTIONS if self[word][f"{name}_clear"]]
        return "both" if len(clear) == 2 else clear[0] if clear else "neither"

    def to_dict(self) -> dict[str, Any]:
        """For results.json, under `both_ways`."""
        return {
            "shown": self.shown,
            "words": [dict(row) for row in self.words],
            "found": dict(self.found),
            "phrases": [dict(row) for row in self.phrases],
            "share": None if self.share is None else self.share.to_dict(),
            "removal": None if self.removal is None else self.removal.to_dict(),
            "split": self.split,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any], network: BothWays | Any = None) -> BothDirections:
        part, cut = stored["share"], stored["removal"]
        return cls(
            stored["shown"],
            stored["words"],
            stored["found"],
            stored["phrases"],
            None if part is None else Share.from_dict(part),
            None if cut is None else Removal.from_dict(cut),
            stored["split"],
            network,
        )

    def _facts(self) -> Facts:
        found = ", ".join(f"{self.found[name]} {name}" for name in DIRECTIONS)
        facts: list[tuple[str, object]] = [("reader shown", self.shown), ("clear modifiers", found)]
        if self.share is not None:
            low, high = (f"{100 * edge:.0f}" for edge in self.share.interval)
            facts.append(
                ("forward share of the logit's variance", f"{100 * self.share.forwards:.0f} % ({low} … {high})")
            )
            facts += [(f"{name} alone", repr(one)) for name, one in self.share.alone.items()]
        if self.removal is not None:
            for name, one in self.removal.removed.items():
                facts.append((f"subspace removed, {name}", repr(one)))
        return facts

    def _table(self) -> str:
        names = [name for half in DIRECTIONS for name in (half, f"{half}_error", f"{half}_tau")]
        return table_html([[row["word"], *(row[name] for name in names)] for row in self.words[:30]], ["word", *names])


def usual_or_reversed(corpus: Any, direction: str | None) -> Any:
    """The corpus in the order in which a reader reads it."""
    return reversed_corpus(corpus) if corpus is not None and direction == "backwards" else corpus


def check_direction(network: object, direction: str | None, stored: str = "") -> str | None:
    """The direction to analyze, by default that of the stored analysis, or else forwards; None for a network that reads
    one way, which has no choice."""
    if not isinstance(network, BothWays):
        if direction is not None:
            raise RnnlensError(
                f"direction is {quoted(direction)}, but this network reads one way: leave it out (--direction)"
            )
        return None
    return direction or stored or "forwards"


@torch.no_grad()
def both_directions(
    whole: BothWays,
    modifiers: Modifiers,
    corpus: CorpusLike | None,
    run: Run | None = None,
    *,
    rank: int = 3,
    starts: int | None = None,
    seed: int = 0,
    accuracy: bool = True,
    reviews: int | None = None,
) -> BothDirections:
    """Measure the other reader as the shown one was measured, and compare them.

    whole: with all its classes. modifiers: the table of the reader that is shown. corpus: in the usual order."""
    shown, class_ = modifiers.network.direction, modifiers.network.target or None
    both = whole.of_class(None if whole.ordered else class_) if whole.several_classes else whole
    other = next(name for name in DIRECTIONS if name != shown)
    reader = reader_of(both, other)
    location = locate(reader, states_of(reader, run, usual_or_reversed(corpus, other), starts, seed))
    table = find_modifiers(reader, location.line, top=len(modifiers), probes=modifiers.probes)
    tables = {shown: modifiers, other: table}
    lines = {name: one.line for name, one in tables.items()}
    phrases = in_text(both, lines, _listed(tables, PHRASES), modifiers.probes)
    words = [_row(word, tables) for word in _listed(tables, MOST)]
    found = {name: len(tables[name].selected) for name in DIRECTIONS}
    measured = BothDirections(shown, words, found, phrases, network=whole)
    if corpus is None or not accuracy:
        return measured
    split, texts = evaluated(corpus)
    longest = None if run is None else run.config.max_words
    read = Reviews.to_read(sample(texts, reviews, seed), within(whole, "forwards"), longest)
    halves = parts(whole, read)
    subspaces = {name: _subspace(one, rank) for name, one in tables.items()}
    cut = removal(whole, subspaces, read, halves, seed=seed)
    return replace(measured, share=share(whole, halves, read.labels, class_), removal=cut, split=split)


def _subspace(modifiers: Modifiers, rank: int) -> Subspace:
    subspace = fit_subspace(modifiers.network, modifiers.line, modifiers, rank=None)
    return subspace.take(min(rank, subspace.rank))


def _listed(tables: Mapping[str, Modifiers], most: int) -> list[str]:
    """Well-known words, and the strongest of each reader, by the larger certain strength: |strength| − 2 errors. Words
    for which this is below 0 come last, well-known ones before others, since those with small errors say nothing."""
    first = tables["forwards"]
    known = [word for word in KNOWN if word in first._rows]
    strong = [one.words[i] for one in tables.values() for i in one.order[:most].tolist()]

    def certain(word: str) -> float:
        rows = [(one, one.row(word)) for one in tables.values()]
        return max(float(one.strength[i].abs() - 2 * one.error[i]) for one, i in rows)

    return sorted(dict.fromkeys([*known, *strong]), key=lambda word: -max(0.0, certain(word)))


def _row(word: str, tables: Mapping[str, Modifiers]) -> dict[str, Any]:
    row: dict[str, Any] = {"word": word}
    for name in DIRECTIONS:
        one, i = tables[name], tables[name].row(word)
        tau, strength, error = (float(values[i]) for values in (one.tau, one.strength, one.error))
        row |= {
            name: strength,
            f"{name}_error": error,
            f"{name}_clear": abs(strength) >= max(CHANGES, one.clear_at * error),
            f"{name}_tau": None if math.isnan(tau) else tau,
            f"{name}_kind": one.kinds[i],
        }
    return row


def reader_and_whole(network: Any, direction: str | None) -> tuple[Network, Any]:
    """The network to analyze, and the one whose accuracy is measured: the same, unless it reads both ways."""
    if direction is None:
        return network, network
    return reader_of(network, direction), within(network, direction)
