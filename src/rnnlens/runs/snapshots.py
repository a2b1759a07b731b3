"""Snapshots of a network while it trained, as a run stores them: `run.snapshots`.

snapshots.jsonl has a line about all of them (which run, which documents, which probe words), then a line for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rnnlens.common.display import Facts, Shown, percent
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.files import parsing, read_lines, rewrite_lines
from rnnlens.common.provenance import KEY, check_named
from rnnlens.runs.abilities import Ability, abilities, sentence
from rnnlens.runs.snapshot import Snapshot, number_of, snapshot_of, some_of, text_of, whole_of

FILE = "snapshots.jsonl"
SCHEMA = 1


@dataclass(frozen=True)
class Snapshots(Shown):
    """The snapshots of a training, from before the first step to the last.

    split, documents, positive  where accuracy was measured: on how many documents, and their share of positive ones
    probes                      the probe words of both signs
    is_rerun                    whether they are of another training with the same settings, seed and corpus
    """

    snapshots: tuple[Snapshot, ...]
    split: str
    documents: int
    positive: float
    probes: Mapping[str, Sequence[str]]
    is_rerun: bool = False

    def __len__(self) -> int:
        return len(self.snapshots)

    def __iter__(self) -> Iterator[Snapshot]:
        return iter(self.snapshots)

    def __getitem__(self, index: int) -> Snapshot:
        return self.snapshots[index]

    @property
    def steps(self) -> list[int]:
        return [snapshot.step for snapshot in self.snapshots]

    @property
    def chance(self) -> float:
        """Accuracy of always answering the larger class."""
        return max(self.positive, 1 - self.positive)

    @property
    def abilities(self) -> list[Ability]:
        """The step from which on each ability holds."""
        return abilities(self)

    def _facts(self) -> Facts:
        first, last = self.snapshots[0], self.snapshots[-1]
        return [
            ("snapshots", len(self)),
            ("steps", f"{first.step:,} … {last.step:,}"),
            ("accuracy", f"{percent(first.accuracy)} … {percent(last.accuracy)}"),
            ("documents", f"{self.documents:,} of the {self.split} split"),
            ("learning", sentence(self)),
        ]

    def __repr__(self) -> str:
        return f"Snapshots({len(self)} of {self.steps[-1]:,} steps. {sentence(self)})"


def write_snapshots(path: Path, about: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> None:
    """Write a line about the snapshots, then a line for each."""
    rewrite_lines(path, [{"schema": SCHEMA, "snapshots": len(records), **about}, *records])


def read_snapshots(folder: Path, names: Mapping[str, Any]) -> Snapshots:
    """The snapshots in a run's folder. names: the provenance that its run.json states."""
    path = folder / FILE
    if not path.exists():
        raise RnnlensError(f"the run {quoted(str(folder))} has no snapshots: train it with --snapshots N to keep some")
    about, *records = read_lines(path) or [{}]
    if about.get("schema", 0) not in (0, SCHEMA):
        raise RnnlensError(f"{quoted(str(path))} has schema {quoted(about['schema'])}: upgrade rnnlens to read it")
    if len(records) < 2 or about.get("snapshots") != len(records):
        raise RnnlensError(f"{quoted(str(path))} is damaged: it has {len(records)} intact snapshots; restore it")
    check_named(path, about.get(KEY), "run", folder / "run.json", str(names.get("run")), _ADVICE)
    with parsing(path, "file of snapshots"):
        steps = [record["step"] for record in records]
        if steps != sorted(set(steps)):
            raise ValueError("its steps do not rise")
        weights, documents, probes = about[KEY]["weights"], about["documents"], about["probes"]
        return Snapshots(
            tuple(snapshot_of(record) for record in records),
            text_of(documents["split"]),
            whole_of(documents["n"]),
            number_of(documents["positive"]),
            {side: tuple(map(text_of, some_of(probes[side]))) for side in ("positive", "negative")},
            is_rerun=weights not in (names.get("weights"), names.get("made_from")),
        )


_ADVICE = "they are of another run; restore the run's own, or move the file away"
