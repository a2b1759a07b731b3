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

from rnnlens.baselines import BASELINES
from rnnlens.common.files import write_json
from rnnlens.experiments.space import SPACES

TRAIN = ("--hidden 6 --embedding 3 --epochs 2 --batch 64 --learning-rate 0.02 --checkpoint-every 2 "
         "--test --device cpu --resume")  # fmt: skip
COMMANDS = {
    "prepare": "prepare reviews.csv --out corpus --min-count 1",
    "train": f"train corpus --out run {TRAIN}",
    "analyze": "analyze run --top 20",
    "report": "report run",
    "sweep": "sweep corpus --model bow --trials 2 --out sweep --jobs 0 --resume",
}
POOLS = {  # commands with worker processes
    "reproduce": "reproduce corpus --out table --model bow,comw,gru --seeds 1 --most 2 --jobs 2 "
                 "--settings settings.json",
    "validate": "validate --preset tiny --documents 3000 --seeds 2 --jobs 2 --hidden 6 --embedding 3 --epochs 1 "
                "--device cpu --out validation",
}  # fmt: skip
UUID = rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # the name that Plotly gives a figure, at random
TIMES = {"seconds"}  # what no two runs have in common


@dataclass(frozen=True)
class World:
    """A folder for each command as it is before it, and what is in it when nothing strikes: `before`, `after`. They
    run in the folder `now`, always the same one: a corpus remembers where it comes from."""

    commands: dict[str, str]
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
    def full(self, free: int = 0) -> Iterator[dict[str, Any] | None]:
        """No room but `free` bytes; without a disk of our own, the fault that says so."""
        if not self.disk:
            yield {"errno": FULL, "event": 1, "lasting": True}
            return
        filler = self.now / "filler"
        filler.write_bytes(bytes(max(0, shutil.disk_usage(self.now).free - free)))
        try:
            yield None
        finally:
            filler.unlink()

    @contextmanager
    def read_only(self) -> Iterator[dict[str, Any] | None]:
        """Nothing can be written; without a disk of our own, the fault that says so."""
        if not self.disk:
            yield {"errno": READ_ONLY, "event": 1, "lasting": True}
            return
        subprocess.run(["mount", "-o", "remount,ro", self.now], check=True)
        try:
            yield None
        finally:
            subprocess.run(["mount", "-o", "remount,rw", self.now], check=True)


@contextmanager
def small_disk(folder: Path, wanted: bool = True) -> Iterator[bool]:
    """A disk of 16 MB at `folder`, if wanted and where we may mount one; whether there is one."""
    folder.mkdir(parents=True)
    mounted = (
        wanted
        and shutil.which("mount") is not None
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", folder], capture_output=True
        ).returncode
    )
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", folder], check=True)


def make_world(forks: Forks, folder: Path, disk: bool = False, commands: dict[str, str] = COMMANDS) -> World:
    """Run the commands one after the other, and keep a copy of what each of them found."""
    before, after, undisturbed = {}, {}, {}
    now = folder / "now"
    now.mkdir(parents=True, exist_ok=True)
    write_reviews(now / "reviews.csv")
    write_choice(now / "settings.json")
    (now / "words.txt").write_text("not\nwas\n")
    for name, command in commands.items():
        shutil.copytree(now, folder / name)
        before[name] = contents(now)
        undisturbed[name] = forks.run(command.split(), now)
        assert undisturbed[name].code == 0, undisturbed[name].err
        after[name] = contents(now)
    return World(commands, folder, disk, before, after, undisturbed)


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


def write_choice(path: Path) -> None:
    """Settings for Table 1's models that are quick to train."""
    bag = {"learning_rate": 0.05, "epochs": 2, "word_dropout": 0.0, "batch": 32}
    network = {"hidden": 6, "embedding": 3, "epochs": 2, "learning_rate": 0.02, "word_dropout": 0.1, "batch": 32}
    models = {model: {"parameters": bag if model in BASELINES else network} for model in SPACES}
    write_json(path, {"kind": "settings", "corpus": None, "models": models})


def contents(folder: Path) -> dict[str, str]:
    """Every file that matters, with a name for its content: times aside, and without locks, checkpoints and ledgers,
    which are means and not ends."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() or path.suffix == ".db" or path.name.endswith(".lock") or "checkpoint" in name:
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
    again = forks.run(world.commands[name].split(), folder)
    if again.code:
        return [f"the same command ends with {again.code}: {again.err.strip()[-400:]}"]
    now, expected = contents(folder), world.after[name]
    return [
        f"{file} differs from an undisturbed run's"
        for file in sorted(now.keys() | expected.keys())
        if now.get(file) != expected.get(file)
    ]
