"""Train several networks side by side on one corpus, each with its own settings, as `rnnlens.training` does.

python -m studies.recipe CORPUS --jobs FILE --out DIR --at-once 12 [--device cuda]

FILE is a JSON object: the name of each network → its flags, such as {"gru-0": {"arch": "gru", "seed": 0}}. Finished
networks are not trained again. `collect` packs what is needed to take them apart elsewhere: half the size, no states.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def flags(settings: dict[str, Any]) -> list[str]:
    """Settings as flags of `python -m rnnlens.training`."""
    given = []
    for name, value in settings.items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            given.append(flag if value else f"--no-{name.replace('_', '-')}")
        else:
            given += [flag, str(value)]
    return given


def run_all(corpus: Path, jobs: dict[str, dict[str, Any]], out: Path, at_once: int, device: str) -> dict[str, float]:
    """Train every network that is not there yet; seconds of each."""
    out.mkdir(parents=True, exist_ok=True)
    waiting, running, took = list(jobs), {}, {}
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    while waiting or running:
        while waiting and len(running) < at_once:
            name = waiting.pop(0)
            settings = dict(jobs[name])
            where = settings.pop("corpus", str(corpus))
            command = [sys.executable, "-m", "rnnlens.training", where, "--out", str(out / name), "--resume"]
            command += ["--test", "--device", device, *flags(settings)]
            log = open(out / f"{name}.log", "w")  # noqa: SIM115 - closed with the process
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
            running[name] = (process, time.monotonic())
        time.sleep(0.2)
        for name, (process, since) in list(running.items()):
            if process.poll() is not None:
                took[name] = round(time.monotonic() - since, 1)
                last = (out / f"{name}.log").read_text().strip().splitlines()[-1:]
                print(f"{name}: {took[name]} s, exit {process.returncode}: {last}", flush=True)
                del running[name]
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--jobs", type=Path, required=True, help="a JSON file: name → flags")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--at-once", type=int, default=12)
    parser.add_argument("--device", default="cuda", choices=["cpu", "cuda"])
    asked = parser.parse_args()
    since = time.monotonic()
    run_all(asked.corpus, json.loads(asked.jobs.read_text()), asked.out, asked.at_once, asked.device)
    print(f"all: {time.monotonic() - since:.0f} s")


if __name__ == "__main__":
    main()
