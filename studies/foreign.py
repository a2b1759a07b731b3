"""Folders with foreign files in them: whatever a command does with such a folder, the foreign files survive.

Every command that writes a folder runs in one that holds somebody's notes: in one that holds nothing else, and in one
that it, or another command, wrote before. It may go on or refuse, in one line.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.support.forks import Done, Forks
from tests.support.world import TRAIN, World

FILES = {"notes.txt": b"mine\n", "mine/data.csv": b"a,b\n1,2\n"}
TABLE = "reproduce corpus --out table --model bow --seeds 1 --jobs 0 --settings settings.json"
VALID = ("validate --preset tiny --documents 3000 --seeds 1 --hidden 6 --embedding 3 --epochs 1 "
         "--device cpu --out validation")  # fmt: skip
BAGS = "baselines corpus --modifiers words.txt --settings settings.json --out bags"


@dataclass(frozen=True)
class Case:
    """A command, the folders that hold foreign files, commands that ran before, and a file that is damaged."""

    line: str
    places: tuple[str, ...]
    before: tuple[str, ...] = ()
    damaged: str | None = None

    @property
    def name(self) -> str:
        return self.line.split()[0]


CASES = (
    Case("prepare reviews.csv --out new --min-count 1", ("new",)),
    Case("prepare reviews.csv --out new --min-count 1 --overwrite", ("new",)),
    Case("prepare reviews.csv --out corpus --min-count 2 --overwrite", ("corpus",)),
    Case("prepare reviews.csv --out corpus --min-count 1", ("corpus",), damaged="corpus/train.ids.npy"),
    Case("prepare reviews.csv --out corpus --min-count 2 --overwrite", (), (f"train corpus --out corpus/run {TRAIN}",)),
    Case(f"train corpus --out new {TRAIN}", ("new",)),
    Case(f"train corpus --out run {TRAIN}", ("run",)),
    Case("analyze run --top 20", ("run",)),
    Case("report run", ("run",)),
    Case("figures run --out new --format html", ("new",)),
    Case("export run --to new --overwrite", ("new",)),
    Case("export run --to new --overwrite", ("new",), ("export run --to new",)),
    Case("sweep corpus --model bow --trials 1 --jobs 0 --resume --out new", ("new",)),
    Case(BAGS, ("bags", "bags/bow")),
    Case(BAGS, ("bags", "bags/bow"), (BAGS,)),
    Case(TABLE, ("table", "table/bow/0")),
    Case(TABLE, ("table", "table/bow/0"), (TABLE,)),
    Case(VALID, ("validation", "validation/corpus", "validation/gru-0")),
    Case(VALID, ("validation", "validation/corpus", "validation/gru-0"), (VALID,)),
    Case("demo --out new", ("new",)),
    Case("toy --out new", ("new",)),
)


def plant(folder: Path) -> None:
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def strike_foreign(case: Case, world: World, forks: Forks) -> tuple[Done, list[str]]:
    """Run one command over foreign files; how it ended, and what is wrong."""
    folder = world.begin("sweep")  # a corpus, and a run of it with its analysis and report
    for line in case.before:
        earlier = forks.run(line.split(), folder)
        assert earlier.code == 0, earlier.err
    for place in case.places:
        plant(folder / place)
    if case.damaged is not None:
        damaged = folder / case.damaged
        damaged.write_bytes(damaged.read_bytes()[:-2])
    kept = {folder / place / name: content for place in case.places for name, content in FILES.items()}
    if not case.places:  # what the commands before it wrote is foreign to this one
        kept = {path: path.read_bytes() for path in (folder / "corpus" / "run").rglob("*") if path.is_file()}
    done = forks.run(case.line.split(), folder)
    wrong = [
        f"{path.relative_to(folder)} is lost after `{case.line}`"
        for path, content in kept.items()
        if not path.is_file() or path.read_bytes() != content
    ]
    if done.code and not done.told:
        wrong.append(f"`{case.line}` ends with {done.code}: {done.err[-300:]}")
    return done, wrong
