"""When does a network learn what? The step from which on each ability holds, in its snapshots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from rnnlens.runs.snapshot import Snapshot

NEARLY = 0.9  # of the final gain in accuracy
HALF = 0.5  # of the final strength, cost or overlap
ONE_DIMENSIONAL = 0.9  # as for `LineAttractor.is_line`
LASTS = 100  # blank inputs
SAID = ("not", "never", "very", "extremely")  # words that the sentence names; the table has all
GOOD, NOT_GOOD, BAD, NOT_BAD = "good", "not good", "bad", "not bad"


class Filmed(Protocol):
    """What abilities are read from: `Snapshots`."""

    @property
    def snapshots(self) -> tuple[Snapshot, ...]: ...
    @property
    def documents(self) -> int: ...
    @property
    def chance(self) -> float: ...


@dataclass(frozen=True)
class Ability:
    """Something that a network can do.

    name     a word, or what it is called; means: when it counts as learned, in plain words
    step     of the snapshot from which on it always holds; None if it does not hold at the end
    after    the last snapshot without it; None if it holds from the start, or not at the end
    until    the last snapshot with it, if it held but does not hold at the end; else None
    is_word  whether it is the strength of a word
    """

    name: str
    means: str
    step: int | None
    after: int | None
    until: int | None
    is_word: bool = False

    @property
    def said(self) -> str:
        return f"“{self.name}”" if self.is_word else self.name


def abilities(film: Filmed) -> list[Ability]:
    """Every ability of a film, in a fixed order."""
    last, chance = film.snapshots[-1], film.chance
    found: list[Ability] = []

    def add(name: str, means: str, holds: Callable[[Snapshot], bool]) -> None:
        found.append(Ability(name, means, *_from_then_on(film.snapshots, holds)))

    def nearly_all(name: str) -> Callable[[Snapshot], bool]:
        gain = getattr(last, name) - chance
        error = (chance * (1 - chance) / max(1, film.documents)) ** 0.5
        enough = chance + NEARLY * gain
        return lambda at: gain > 2 * error and getattr(at, name) >= enough

    add("valence", "nine tenths of the final gain in accuracy over a constant answer, with words in random order",
        nearly_all("shuffled"))  # fmt: skip
    add("accuracy", "nine tenths of the final gain in accuracy over a constant answer", nearly_all("accuracy"))
    add("order", "random order costs accuracy, by more than two errors and at least half as much as at the end",
        lambda at: at.lost - at.won > max(2 * (at.lost + at.won) ** 0.5, HALF * (last.lost - last.won)))  # fmt: skip
    if {GOOD, NOT_GOOD, BAD, NOT_BAD} <= last.readings.keys():
        add(f"“{NOT_GOOD}”", f"“{GOOD}” is read as positive and “{NOT_GOOD}” as negative",
            lambda at: at.readings.get(GOOD, 0) > 0 > at.readings.get(NOT_GOOD, 0))  # fmt: skip
        add(f"“{NOT_BAD}”", f"“{BAD}” is read as negative and “{NOT_BAD}” as positive",
            lambda at: at.readings.get(BAD, 0) < 0 < at.readings.get(NOT_BAD, 0))  # fmt: skip
    for word in last.words:
        means = "its strength is more than two errors from 0 and at least half of the final one"
        steps = _from_then_on(film.snapshots, partial(_as_strong, last=last, word=word))
        found.append(Ability(word, means, *steps, is_word=True))
    add("memory", f"half of the spread of readings outlasts {LASTS} blank inputs",
        lambda at: at.line is not None and at.line.settled >= LASTS)  # fmt: skip
    add("the line", "a curve explains nine tenths of the slow points' variance, and half of the visited states lie "
        "within its range", _has_line)  # fmt: skip
    add("the subspace", "it contains half of the final modifier subspace",
        lambda at: at.subspace is not None and at.subspace.overlap >= HALF)  # fmt: skip
    return found


def sentence(film: Filmed) -> str:
    """What it learns when, in the order of learning; of the words, a few."""
    every = [one for one in abilities(film) if not one.is_word or one.name in SAID]
    at: dict[int, list[str]] = {}
    for one in every:
        if one.step is not None:
            at.setdefault(one.step, []).append(one.said)
    untrained = at.pop(0, [])
    parts = [f"{_listed(at[step])} by step {step:,}" for step in sorted(at)]
    text = f"It learns {', '.join(parts)}." if parts else "It learns nothing that was measured."
    text += f" It has {_listed(untrained)} before training." if untrained else ""
    never = [one.said for one in every if one.step is None and one.until is None]
    text += f" It never learns {_listed(never)}." if never else ""
    lost = [f"{one.said} after step {one.until:,}" for one in every if one.until is not None]
    return text + (f" It loses {_listed(lost)}." if lost else "")


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def _from_then_on(
    snapshots: Sequence[Snapshot], holds: Callable[[Snapshot], bool]
) -> tuple[int | None, int | None, int | None]:
    """`step`, `after` and `until` of an ability."""
    found = [(snapshot.step, holds(snapshot)) for snapshot in snapshots]
    with_it = [step for step, held in found if held]
    after = max((step for step, held in found if not held), default=None)
    if not found[-1][1]:
        # (An untrained network may do it by chance.)
        return None, None, max((step for step in with_it if step), default=None)
    return min(step for step in with_it if after is None or step > after), after, None


def _as_strong(at: Snapshot, last: Snapshot, word: str) -> bool:
    here, final = at.words.get(word), last.words[word]
    if here is None or not here.is_clear:
        return False
    if not final.is_clear:  # it was lost: no final strength to compare with
        return True
    return here.strength * final.strength > 0 and abs(here.strength) >= HALF * abs(final.strength)


def _has_line(at: Snapshot) -> bool:
    line = at.line
    if line is None or line.through != "slow points":
        return False
    return line.shape == "line" and line.explained >= ONE_DIMENSIONAL and line.covers >= HALF
