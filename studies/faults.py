"""Strike commands in every way there is, as often as one likes, and write down what came of it.

python -m studies.faults                               # an hour or two; writes docs/results/faults.json, docs/faults.md
python -m studies.faults train fuzz --every 10 --seconds 5 --out somewhere              # some of it, quickly
python -m studies.faults reproduce validate foreign --every 15 --out somewhere      # a few strikes each, in minutes
python -m studies.faults --page                                                     # the page alone, from the record

Real full and read-only disks need root, clock jumps libfaketime (Debian's faketime), fuzzing atheris; what is missing
is left out, and said.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from tests.support.forks import FULL, Done, Forks
from tests.support.world import COMMANDS, POOLS, World, completes, damage, make_world, small_disk

from rnnlens.common.files import atomic_file
from studies.foreign import CASES, strike_foreign

ROOT = Path(__file__).parents[1]
DOCS, TEMPLATE = ROOT / "docs", Path(__file__).with_name("faults.md")
FAKETIME = f"/usr/lib/{platform.machine()}-linux-gnu/faketime/libfaketime.so.1"
JUMPS = ("-3650d", "+3650d", "-1h", "+0", "+1h", "-30d")
ROOM = (0, *(1 << k for k in range(12, 22)))  # bytes left on a full disk
PARTS = (*COMMANDS, *POOLS, "foreign", "fuzz", "cases")
ENDS = (0, 1, -signal.SIGKILL, -signal.SIGINT, -signal.SIGTERM, 128 + signal.SIGTERM)
Row = dict[str, Any]
Strike = Callable[[Path], Done]


class Study:
    """Strikes, counted by what strikes and whom."""

    def __init__(self, world: World, forks: Forks, every: int):
        self.world, self.forks, self.every, self.rows = world, forks, every, list[Row]()

    def strike(self, fault: str, name: str, strikes: list[Strike]) -> None:
        """Begin anew, strike, look, and run the same command again; for each of the strikes."""
        row: Row = {"fault": fault, "command": name, "strikes": 0, "ended": 0, "told": 0, "wrong": []}
        said: set[str] = set()
        for strike in strikes:
            folder = self.world.begin(name)
            done = strike(folder)
            wrong = damage(self.world, name, folder)
            if done.code == 1 and not done.told:
                wrong.append(f"not one line: {done.err[-300:]}")
            if done.code not in ENDS:
                wrong.append(f"ended with {done.code}")
            if done.left:
                wrong.append(f"left {done.left} processes")
            wrong += completes(self.world, name, folder, self.forks)
            row["strikes"] += 1
            row["ended"] += done.code != 0
            row["told"] += done.told is not None
            row["wrong"] += wrong[:3]
            said |= {re.sub(r"'[^']*'", "…", done.told)} if done.told else set()
        self.rows.append(row)
        print(
            f"{fault}, {name}: {row['strikes']} strikes, {row['ended']} ended it, {row['told']} told, "
            f"{row['wrong'] or 'nothing wrong'}",
            *sorted(said),
            sep="\n    ",
            flush=True,
        )

    def touches(self, name: str, fault: Row) -> list[Strike]:
        """A fault at every touch, or every so many."""
        count = self.run(self.world.begin(name), name, fault).events
        first = random.Random(name).randrange(min(self.every, count)) + 1
        return [
            partial(self.run, name=name, fault={**fault, "event": at}) for at in range(first, count + 1, self.every)
        ]

    def moments(self, name: str, kind: signal.Signals, n: int = 30) -> list[Strike]:
        """A signal at random moments of the command's time."""
        chance, seconds = random.Random(f"{name} {kind}"), self.world.undisturbed[name].seconds
        return [
            partial(self.run, name=name, fault={"signal": kind, "after": chance.uniform(0, seconds)})
            for _ in range(max(2, n // self.every))
        ]

    def run(self, folder: Path, name: str, fault: Row | None = None, forks: Forks | None = None) -> Done:
        return (forks or self.forks).run(self.world.commands[name].split(), folder, fault)

    def full(self, folder: Path, name: str, free: int) -> Done:
        with self.world.full(free):
            return self.run(folder, name)

    def read_only(self, folder: Path, name: str) -> Done:
        with self.world.read_only():
            return self.run(folder, name)

    def at_once(self, folder: Path, name: str, other: Forks) -> Done:
        """Two processes run the same command in the same folder; how the one that was refused, if one was, ended."""
        with ThreadPoolExecutor(1) as pool:
            theirs = pool.submit(other.run, self.world.commands[name].split(), folder)
            ours = self.run(folder, name)
            return ours if ours.code else theirs.result()


@contextmanager
def jumping(file: Path) -> Iterator[dict[str, str]]:
    """The clock that libfaketime reads from a file, set anew every tenth of a second, by hours and by years; the
    environment of processes that go by it. (A clock that is set moves neither the monotonic one nor files' times.)"""
    ended, chance = threading.Event(), random.Random(0)
    file.write_text("+0\n")

    def jump() -> None:
        while not ended.wait(0.1):
            file.write_text(chance.choice(JUMPS) + "\n")

    thread = threading.Thread(target=jump)
    thread.start()
    try:
        yield {
            "LD_PRELOAD": FAKETIME,
            "FAKETIME_TIMESTAMP_FILE": str(file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
        }
    finally:
        ended.set()
        thread.join()


@contextmanager
def studies(every: int, commands: dict[str, str], disk: bool = True) -> Iterator[Study]:
    """A world of commands to strike in; for the single processes, on a disk of its own where we may mount one."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Forks() as forks,
        small_disk(Path(folder) / "world" / "now", disk) as mounted,
    ):
        yield Study(make_world(forks, Path(folder) / "world", mounted, commands), forks, every)


def strike_command(study: Study, name: str) -> None:
    """Every fault on one command."""
    study.strike("killed at a touch of a file", name, study.touches(name, {"signal": signal.SIGKILL}))
    study.strike("killed by the clock", name, study.moments(name, signal.SIGKILL))
    study.strike("Ctrl-C at a touch of a file", name, study.touches(name, {"signal": signal.SIGINT})[::4])
    study.strike("Ctrl-C by the clock", name, study.moments(name, signal.SIGINT, 15))
    study.strike("no room for one write", name, study.touches(name, {"errno": FULL}))
    study.strike("no room from a write on", name, study.touches(name, {"errno": FULL, "lasting": True})[::4])
    if study.world.disk:
        study.strike("a full disk", name, [partial(study.full, name=name, free=free) for free in ROOM])
        study.strike("a read-only disk", name, [partial(study.read_only, name=name)])
    with Forks() as other:
        both = partial(study.at_once, name=name, other=other)
        study.strike("two processes at once", name, [both] * max(1, 5 // study.every))
    if Path(FAKETIME).exists():
        with (
            tempfile.TemporaryDirectory() as folder,
            jumping(Path(folder) / "clock") as environment,
            Forks(environment) as jumpy,
        ):
            struck = partial(study.run, name=name, forks=jumpy)
            study.strike("clock jumps", name, [struck] * max(1, 5 // study.every))


def strike_pool(study: Study, name: str) -> None:
    """Ends of a command that has worker processes: none of them may be left."""
    study.strike("killed by the clock", name, study.moments(name, signal.SIGKILL))
    study.strike("killed at a touch of a file", name, study.touches(name, {"signal": signal.SIGKILL})[::4])
    study.strike("terminated by the clock", name, study.moments(name, signal.SIGTERM))
    study.strike("Ctrl-C by the clock", name, study.moments(name, signal.SIGINT, 15))
    for told, kind in (("killed", signal.SIGKILL), ("terminated", signal.SIGTERM)):
        at = [partial(study.run, name=name, fault={"signal": kind, "workers": n}) for n in (1, 2)]
        study.strike(f"{told} as workers start", name, at)


def struck_foreign(study: Study) -> list[Row]:
    """What commands did in folders with foreign files."""
    rows: dict[str, Row] = {}
    for case in CASES:
        row = rows.setdefault(case.name, {"command": case.name, "folders": 0, "refused": 0, "wrong": []})
        done, wrong = strike_foreign(case, study.world, study.forks)
        row["folders"] += 1
        row["refused"] += done.told is not None
        row["wrong"] += wrong[:3]
        print(f"foreign files, {case.line}: {done.told or 'done'}; {wrong or 'nothing wrong'}", flush=True)
    return list(rows.values())


def fuzzed(seconds: int) -> list[Row]:
    """What came of fuzzing, in a process that has imported nothing yet: atheris must see it happen."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "fuzz.json"
        subprocess.run([sys.executable, "-m", "studies.fuzz", f"--seconds={seconds}", f"--out={out}"], check=False)
        return json.loads(out.read_text())


def cases() -> list[Row]:
    """Run the suite's cases of faults, file by file; how many passed and failed."""
    rows = []
    for file in sorted((ROOT / "tests").glob("test_faults*.py")):
        command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", str(file)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        counts = {name: int(n) for n, name in re.findall(r"(\d+) (passed|failed|error)", done.stdout[-500:])}
        row = {
            "file": file.relative_to(ROOT).as_posix(),
            "passed": counts.get("passed", 0),
            "failed": counts.get("failed", 0) + counts.get("error", 0),
        }
        print(f"{row['file']}: {row['passed']} passed, {row['failed']} failed", flush=True)
        rows.append(row)
    return rows


# --- written down -----------------------------------------------------------------------------------------------------


def page(found: dict[str, Any]) -> str:
    """The record as a page, by the template beside this file."""
    strikes, foreign, fuzz = found["strikes"], found.get("foreign", []), found["fuzz"]
    faults = []
    for fault in dict.fromkeys(row["fault"] for row in strikes):
        of = [row for row in strikes if row["fault"] == fault]
        faults.append(
            {"fault": fault, "strikes": total(of, "strikes"), "ended": total(of, "ended"), "wrong": total(of, "wrong")}
        )
    struck = [name for name in (*COMMANDS, *POOLS) if any(row["command"] == name for row in strikes)]
    missing = [
        *(() if found.get("disk") else ("real disks, which need root",)),
        *(() if found.get("faketime") else ("clock jumps, which need libfaketime",)),
    ]
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, trim_blocks=True)
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        date=found["date"],
        cores=found["cores"],
        python=found["python"],
        every=found.get("every", 1),
        strikes=total(strikes, "strikes"),
        folders=total(foreign, "folders"),
        inputs=total(fuzz, "inputs"),
        wrong=total(strikes, "wrong") + total(foreign, "wrong") + total(fuzz, "crashed"),
        commands=[name for name in struck if name in COMMANDS],
        pools=[name for name in struck if name in POOLS],
        faults=faults,
        missing=missing,
        foreign=[row["command"] for row in foreign],
        refused=total(foreign, "refused"),
        lost=total(foreign, "wrong"),
        loaders=len(fuzz),
        seconds=found.get("fuzz seconds", 0),
        taken=total(fuzz, "taken"),
        rejected=total(fuzz, "refused"),
        crashes=total(fuzz, "crashed"),
        cases=found.get("cases", []),
        failed=total(found.get("cases", []), "failed"),
        mutations=json.loads((DOCS / "results" / "mutations.json").read_text()),
        listed=listed,
    )


def total(rows: list[Row], name: str) -> int:
    """The sum of a column; of lists, their lengths."""
    return sum(len(row[name]) if isinstance(row[name], list) else int(row[name]) for row in rows)


def listed(names: list[str]) -> str:
    """`a`, `b` and `c`."""
    quoted = [f"`{name}`" for name in names]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.faults", description=__doc__)
    parser.add_argument(
        "parts", nargs="*", help=f"which of {', '.join(PARTS)}; by default all. Others stay as they are"
    )
    parser.add_argument("--every", type=int, default=1, help="strike at every so many touches only")
    parser.add_argument("--seconds", type=int, default=60, help="of fuzzing, for each loader")
    parser.add_argument("--out", type=Path, default=DOCS, help="the folder for faults.md and results/faults.json")
    parser.add_argument("--page", action="store_true", help="only write faults.md anew, from results/faults.json")
    asked = parser.parse_args()
    data = asked.out / "results" / "faults.json"
    found: dict[str, Any] = {"strikes": [], "fuzz": []}
    found = json.loads(data.read_text()) if data.exists() else found
    for part in () if asked.page else asked.parts or PARTS:
        if part == "fuzz":
            found |= {"fuzz": fuzzed(asked.seconds), "fuzz seconds": asked.seconds}
        elif part == "cases":
            found["cases"] = cases()
        elif part == "foreign":
            with studies(asked.every, COMMANDS, disk=False) as study:
                found["foreign"] = struck_foreign(study)
        else:
            commands = {"prepare": COMMANDS["prepare"], part: POOLS[part]} if part in POOLS else COMMANDS
            with studies(asked.every, commands, disk=part not in POOLS) as study:
                (strike_pool if part in POOLS else strike_command)(study, part)
            found |= {"every": asked.every, "faketime": Path(FAKETIME).exists()}
            found |= {"disk": study.world.disk} if part not in POOLS else {}
            found["strikes"] = [row for row in found["strikes"] if row["command"] != part] + study.rows
        found |= {"date": date.today().isoformat(), "python": platform.python_version(), "cores": os.cpu_count()}
        write(data, json.dumps(found, indent=1) + "\n")
    write(asked.out / "faults.md", page(found))
    if (
        total(found["strikes"] + found.get("foreign", []), "wrong")
        + total(found["fuzz"], "crashed")
        + total(found.get("cases", []), "failed")
    ):
        raise SystemExit("something is wrong: see above")


def write(path: Path, text: str) -> None:
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
