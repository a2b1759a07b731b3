"""Commands in a small world: what is there before each, what it makes of it, and what a fault may not do to it."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.numpy import load
from tests.support.forks import run

COMMANDS = {
    "prepare": "prepare reviews.csv --out corpus --min-count 1",
    "train": "train corpus --out run --hidden 6 --embedding 3 --epochs 2 --batch 64 --learning-rate 0.02 "
             "--checkpoint-every 2 --test --device cpu --resume",
    "analyze": "analyze run --top 20",
}  # fmt: skip


@dataclass(frozen=True)
class World:
    """A folder for each command as it is before it, what is in it when nothing strikes, and how often it is touched.
    They run in the folder `now`, always the same one: a corpus remembers where it comes from."""

    folder: Path
    before: dict[str, dict[str, str]]
    after: dict[str, dict[str, str]]
    events: dict[str, int]

    def begin(self, name: str) -> Path:
        """The folder as it is before a command."""
        shutil.rmtree(self.folder / "now")
        return Path(shutil.copytree(self.folder / name, self.folder / "now"))


def make_world(folder: Path) -> World:
    """Run the commands one after the other, and keep a copy of what each of them found."""
    world, now = World(folder, {}, {}, {}), folder / "now"
    now.mkdir()
    write_reviews(now / "reviews.csv")
    for name, command in COMMANDS.items():
        shutil.copytree(now, folder / name)
        world.before[name] = contents(now)
        done = run(command, now)
        assert done.code == 0, done.err
        world.after[name], world.events[name] = contents(now), done.events
    return world


def write_reviews(path: Path, n: int = 240) -> None:
    """Reviews with a word or two that decide, some of them negated."""
    chance, rows = random.Random(0), ["text,label"]
    sides = (("bad", "awful", "dull"), ("good", "fine", "great"))
    for i in range(n):
        words = chance.choices(["the", "film", "was", "plot", "and", "a", "it", "of"], k=chance.randint(3, 10))
        negated = chance.random() < 0.3
        words += [*(["not"] if negated else []), chance.choice(sides[i % 2 ^ negated])]
        rows.append(f"{' '.join(words)},{i % 2}")
    path.write_text("\n".join(rows) + "\n")


def contents(folder: Path) -> dict[str, str]:
    """Every file that matters, with a name for its content: times aside, and without locks and checkpoints, which are
    means and not ends."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(_content(path)).hexdigest()[:16]
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(".lock") and "checkpoint" not in str(path.relative_to(folder))
    }


def _content(path: Path) -> bytes:
    if path.suffix == ".safetensors":
        return b"".join(name.encode() + array.tobytes() for name, array in sorted(load(path.read_bytes()).items()))
    if path.suffix == ".html":  # Plotly names its figures at random
        return b"a page"
    if path.suffix not in (".json", ".jsonl"):
        return path.read_bytes()
    lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    return json.dumps([_timeless(json.loads(line)) for line in lines], sort_keys=True).encode()


def _timeless(content: Any) -> Any:
    """Without seconds, which no two runs have in common, and without fingerprints over them."""
    if isinstance(content, dict):
        gone = {"seconds", "fingerprint"} if "seconds" in content else set()
        return {key: _timeless(value) for key, value in content.items() if key not in gone}
    return [_timeless(part) for part in content] if isinstance(content, list) else content


def damage(world: World, name: str, folder: Path) -> list[str]:
    """What a struck command did to files that were there before it: each must be the old one or the new one."""
    now, before, after = contents(folder), world.before[name], world.after[name]
    return [file for file in before if now.get(file) not in (before[file], after.get(file))]


def completes(world: World, name: str, folder: Path) -> list[str]:
    """Run the command again: it must end well, with the same files as if nothing had happened, and nothing else."""
    again = run(COMMANDS[name], folder)
    if again.code:
        return [f"the same command ends with {again.code}: {again.err.strip()[-400:]}"]
    now, expected = contents(folder), world.after[name]
    return sorted(file for file in now.keys() | expected.keys() if now.get(file) != expected.get(file))
