"""Fuzz every loader with atheris (`pip install -c constraints.txt atheris`), which lets coverage lead the way.

python -m studies.fuzz --seconds 60                      # every loader in turn, each in a process of its own
python -m studies.fuzz source.tar run/run.json --seconds 600 --corpus kept

An input that crashes, takes more than twenty seconds, or more than 4 GB, is kept and ends its loader's turn.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

INSTRUMENTED = ["rnnlens", "tarfile", "json", "csv", "safetensors.numpy", "numpy.lib"]
LONGEST, MOST = 20, 4096  # seconds, megabytes


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help="which loaders; by default all (`--list` names them)")
    parser.add_argument("--seconds", type=int, default=60, help="for each loader")
    parser.add_argument("--corpus", type=Path, help="a folder to keep inputs in, for the next time")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)  # one loader, in this process
    asked = parser.parse_args()
    if asked.here:
        fuzz(asked.targets[0], asked.seconds, asked.corpus)
        return
    if asked.list:
        from studies.fuzz_targets import TARGETS

        print("\n".join(TARGETS))
        return
    rows = fuzz_all(asked.targets, asked.seconds, asked.corpus)
    sys.exit(any(row["crashed"] for row in rows))


def fuzz_all(targets: list[str], seconds: int, corpus: Path | None = None) -> list[dict[str, Any]]:
    """Fuzz loaders, one after the other; what came of each."""
    from studies.fuzz_targets import TARGETS

    rows = []
    for name in targets or list(TARGETS):
        with tempfile.TemporaryDirectory() as folder:
            kept = (corpus or Path(folder)) / name.replace("/", "-")
            began = time.monotonic()
            command = [sys.executable, "-m", "studies.fuzz", name, "--here", f"--seconds={seconds}", f"--corpus={kept}"]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        told = done.stdout + done.stderr
        counts = re.findall(r"taken (\d+), refused (\d+), longest ([\d.]+) s", told)
        found = re.findall(r"#(\d+)\s+\w+\s+cov: (\d+) ft: (\d+).*?rss: (\d+)Mb", told)
        row = {
            "loader": name, "seconds": round(time.monotonic() - began), "inputs": int(found[-1][0]) if found else 0,
            "features": int(found[-1][2]) if found else 0, "megabytes": int(found[-1][3]) if found else 0,
            "taken": int(counts[-1][0]) if counts else 0, "refused": int(counts[-1][1]) if counts else 0,
            "longest": float(counts[-1][2]) if counts else 0.0, "crashed": done.returncode != 0,
        }  # fmt: skip
        rows.append(row)
        print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
        if row["crashed"]:
            print(told[-6000:])
    return rows


def fuzz(name: str, seconds: int, corpus: Path) -> None:
    """Fuzz one loader in this process, which atheris ends."""
    import atheris

    with atheris.instrument_imports(include=INSTRUMENTED):
        from studies.fuzz_targets import TARGETS, genuine, make_scene, refused

    scene = Path(tempfile.mkdtemp()) / "scene"
    make_scene(scene)
    corpus.mkdir(parents=True, exist_ok=True)
    (corpus / "genuine").write_bytes(genuine(name, scene))
    target, taken, refusals, longest, shown = TARGETS[name], 0, 0, 0.0, time.monotonic()

    def one(data: bytes) -> None:
        nonlocal taken, refusals, longest, shown
        began = time.monotonic()
        said = refused(target, scene, data)
        now = time.monotonic()
        taken, refusals, longest = taken + (said is None), refusals + (said is not None), max(longest, now - began)
        if now - shown > 1:
            shown = now
            print(f"taken {taken}, refused {refusals}, longest {longest:.2f} s", flush=True)

    options = [f"-max_total_time={seconds}", f"-timeout={LONGEST}", f"-rss_limit_mb={MOST}", "-max_len=65536",
               "-print_final_stats=1", f"-artifact_prefix={corpus}/found-"]  # fmt: skip
    atheris.Setup([sys.argv[0], *options, str(corpus)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
