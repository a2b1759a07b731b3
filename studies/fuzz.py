"""Fuzz every loader with atheris (`pip install -c constraints.txt atheris`), which lets coverage lead the way.

python -m studies.fuzz --seconds 60                      # every loader in turn, each in a process of its own
python -m studies.fuzz source.tar run/run.json --seconds 600 --kept inputs

An input that crashes, takes more than twenty seconds, or more than 4 GB, ends its loader's turn and is shown.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

INSTRUMENTED = ["rnnlens", "tarfile", "csv", "safetensors"]
LONGEST, MOST = 20, 4096  # seconds, megabytes


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help="which loaders; by default all")
    parser.add_argument("--seconds", type=int, default=60, help="for each loader")
    parser.add_argument("--kept", type=Path, help="a folder to keep inputs in, for the next time")
    parser.add_argument("--out", type=Path, help="a .json file for what came of it")
    asked = parser.parse_args()
    rows = fuzz_all(asked.targets, asked.seconds, asked.kept)
    if asked.out:
        asked.out.write_text(json.dumps(rows))
    sys.exit(any(row["crashed"] for row in rows))


def fuzz_all(targets: list[str], seconds: int, kept: Path | None = None) -> list[dict[str, Any]]:
    """Fuzz loaders, one after the other; what came of each."""
    import atheris

    with atheris.instrument_imports(include=INSTRUMENTED):
        from tests.support.fuzz_targets import TARGETS, make_scene

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        scene, log = Path(folder) / "scene", Path(folder) / "log"
        forked(lambda: make_scene(scene), log)  # polars' threads do not survive a fork: none are begun here
        for name in targets or list(TARGETS):
            own = Path(folder) / "own"
            shutil.copytree(scene, own)
            inputs = (kept or Path(folder)) / name.replace("/", "-")
            began = time.monotonic()
            code = forked(lambda name=name, own=own, inputs=inputs: fuzz(name, own, seconds, inputs), log)
            rows.append(outcome(name, log.read_text(errors="replace"), time.monotonic() - began, code))
            shutil.rmtree(own)
    return rows


def forked(function: Callable[[], object], log: Path) -> int:
    """Exit code of a process that runs a function and prints to a file."""
    child = os.fork()
    if not child:
        code = 1
        try:
            file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(file, 1), os.dup2(file, 2)
            function()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def outcome(name: str, told: str, seconds: float, code: int) -> dict[str, Any]:
    """What libFuzzer and we printed, as a row."""
    counts = re.findall(r"taken (\d+), refused (\d+), longest ([\d.]+) s", told) or [(0, 0, 0)]
    found = re.findall(r"#(\d+)\s+\w+\s+cov: (\d+) ft: (\d+).*?rss: (\d+)Mb", told) or [(0, 0, 0, 0)]
    row = {
        "loader": name,
        "seconds": round(seconds),
        "inputs": int(found[-1][0]),
        "features": int(found[-1][2]),
        "megabytes": int(found[-1][3]),
        "taken": int(counts[-1][0]),
        "refused": int(counts[-1][1]),
        "longest": float(counts[-1][2]),
        "crashed": code != 0,
    }
    print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    if row["crashed"]:
        print(f"ended with {code}: {told[-6000:]}", flush=True)
    return row


def fuzz(name: str, scene: Path, seconds: int, inputs: Path) -> None:
    """Fuzz one loader in this process, which atheris ends."""
    import atheris
    from tests.support.fuzz_targets import TARGETS, genuine, refused

    inputs.mkdir(parents=True, exist_ok=True)
    (inputs / "genuine").write_bytes(genuine(name, scene))
    target, taken, refusals, longest, shown = TARGETS[name], 0, 0, 0.0, 0.0

    def one(data: bytes) -> None:
        nonlocal taken, refusals, longest, shown
        began = time.monotonic()
        said = refused(target, scene, data)
        now = time.monotonic()
        taken, refusals, longest = taken + (said is None), refusals + (said is not None), max(longest, now - began)
        if now - shown > 1:
            shown = now
            print(f"taken {taken}, refused {refusals}, longest {longest:.2f} s", flush=True)

    options = [
        f"-max_total_time={seconds}",
        f"-timeout={LONGEST}",
        f"-rss_limit_mb={MOST}",
        "-max_len=65536",
        "-print_final_stats=1",
        f"-artifact_prefix={inputs}/found-",
    ]
    atheris.Setup([sys.argv[0], *options, str(inputs)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
