"""Commands in a small world: what is there before each, what it makes of it, and what a fault may not do to it."""

from __future__ import annotations

import hashlib
import json
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.forks import FULL, READ_ONLY, Done, Forks

TRAIN = ("--hidden 6 --embedding 3 --epochs 2 --batch 64 --learning-rate 0.02 --checkpoint-every 2 "
         "--test --device cpu --resume")  # fmt: skip
COMMANDS = {
    "prepare": "prepare reviews.csv --out corpus --min-count 1",
    "train": f"train corpus --out run {TRAIN}",
    "analyze": "analyze run --top 20",
}
UUID = rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # the name that Plotly gives a figure, at random
TIMES = {"seconds"}  # what no two runs have in common


@dataclass(frozen=True)
class World:
    """A folder for each command as it is before it, and what is in it when nothing strikes: `before`, `after`. They
    run in the folder `now`, always the same one: a corpus remembers where it comes from."""

    folder: Path
    disk: bool
    before: dict[str, dict[str, str]]
    after: dict[str, dict[str, str]]
    undisturbed: dict[str, Done]

    def begin(self, name: str) -> Path:
        """The folder as it is before a command."""
        for path in self.now.iterdir():  # (itself it may be a disk)
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.copytree(self.folder / name, self.now, dirs_exist_ok=True)
        return self.now

    @property
    def now(self) -> Path:
        return self.folder / "now"

    @contextmanager
    def full(self) -> Iterator[dict[str, Any] | None]:
        """No room; without a disk of our own, the fault that says so."""
        if not self.disk:
            yield {"errno": FULL, "event": 1}
            return
        filler = self.now / "filler"
        filler.write_bytes(bytes(shutil.disk_usage(self.now).free))
        try:
            yield None
        finally:
            filler.unlink()

    @contextmanager
    def read_only(self) -> Iterator[dict[str, Any] | None]:
        """Nothing can be written; without a disk of our own, the fault that says so."""
        if not self.disk:
            yield {"errno": READ_ONLY, "event": 1}
            return
        subprocess.run(["mount", "-o", "remount,ro", self.now], check=True)
        try:
            yield None
        finally:
            subprocess.run(["mount", "-o", "remount,rw", self.now], check=True)


@contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """A disk of 16 MB at `folder`, where we may mount one; whether there is one."""
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", folder]
    mounted = shutil.which("mount") is not None and not subprocess.run(mount, capture_output=True).returncode
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", folder], check=True)


def make_world(forks: Forks, folder: Path, disk: bool) -> World:
    """Run the commands one after the other, and keep a copy of what each of them found."""
    before, after, undisturbed = {}, {}, {}
    now = folder / "now"
    now.mkdir(parents=True, exist_ok=True)
    write_reviews(now / "reviews.csv")
    for name, command in COMMANDS.items():
        shutil.copytree(now, folder / name)
        before[name] = contents(now)
        undisturbed[name] = forks.run(command.split(), now)
        assert undisturbed[name].code == 0, undisturbed[name].err
        after[name] = contents(now)
    return World(folder, disk, before, after, undisturbed)


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
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() or path.name.endswith(".lock") or "checkpoint" in name:
            continue
        found[name] = hashlib.sha256(_content(path)).hexdigest()[:16]
    return found


def _content(path: Path) -> bytes:
    if path.suffix == ".safetensors":  # the header's order is chance
        data = path.read_bytes()
        end = 8 + int.from_bytes(data[:8], "little")
        header = json.loads(data[8:end])
        about = header["__metadata__"]
        header["__metadata__"] = _timeless({**about, "about": (told := json.loads(about["about"])), **_times(told)})
        return json.dumps(header, sort_keys=True).encode() + data[end:]
    if path.suffix not in (".json", ".jsonl"):
        return re.sub(UUID, b"", path.read_bytes()) if path.suffix == ".html" else path.read_bytes()
    lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    return json.dumps([_timeless(json.loads(line)) for line in lines], sort_keys=True).encode()


def _times(content: dict[str, Any]) -> dict[str, Any]:
    """What tells `_timeless` that a fingerprint depends on the clock: it is over the times as well."""
    return {name: content[name] for name in TIMES & content.keys()}


def _timeless(content: Any) -> Any:
    if isinstance(content, dict):
        timed = TIMES & content.keys()
        return {
            key: _timeless(value)
            for key, value in content.items()
            if key not in TIMES and not (timed and key == "fingerprint")
        }
    return [_timeless(part) for part in content] if isinstance(content, list) else content


def damage(world: World, name: str, folder: Path) -> list[str]:
    """What a struck command did to files that were there before it: each must be the old one or the new one."""
    now = contents(folder)
    wrong = [f"{file} is gone" for file in world.before[name] if file not in now]
    for file, mark in now.items():
        if Path(file).name.endswith(".tmp") or ".tmp/" in file:
            continue
        if mark not in (world.before[name].get(file), world.after[name].get(file)) and file in world.before[name]:
            wrong.append(f"{file} is neither the old one nor the new one")
    return wrong


def completes(world: World, name: str, folder: Path, forks: Forks) -> list[str]:
    """Run the command again: it must end well, with the same files as if nothing had happened, and nothing else."""
    again = forks.run(COMMANDS[name].split(), folder)
    if again.code:
        return [f"the same command ends with {again.code}: {again.err.strip()[-400:]}"]
    now, expected = contents(folder), world.after[name]
    return [
        f"{file} differs from an undisturbed run's"
        for file in sorted(now.keys() | expected.keys())
        if now.get(file) != expected.get(file)
    ]
