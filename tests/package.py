"""`make package`: wheel and sdist in dist/, then the wheel alone in a fresh environment, used and type-checked.

A fresh environment takes minutes, so this is a command and no test; `test_package.py` builds and looks into both files.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

USER = """import rnnlens

run = rnnlens.load("zoo:reviews-gru")
analysis = rnnlens.analyze(run, top=500)
path = rnnlens.report(analysis, "report.html")
print(path.stat().st_size, analysis.modifiers.strongest(3), run.read("not bad")[-1][1], run.network("not bad").item())
print(run.read(["not bad", "very good"])[0][-1][1], run.read(words=["not", "bad"])[-1][1], run.predict_proba(["good"]))
print(run.vocab["not"] + 1, run.vocab[5].upper())
rnnlens.figures.barcodes(analysis, ["not"])
rnnlens.baselines.BagOfWords(min_count=1, random_state=0).fit(["good", "bad"], [1, 0]).predict(["good"])
"""


def build(out: Path) -> tuple[Path, Path]:
    """The wheel and the sdist of this checkout."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, sdist


def files_of(wheel: Path, sdist: Path) -> tuple[set[str], set[str]]:
    """What is in them, without the sdist's own folder."""
    with zipfile.ZipFile(wheel) as inside, tarfile.open(sdist) as packed:
        return set(inside.namelist()), {name.partition("/")[2] for name in packed.getnames()}


def reveal(names: list[str]) -> str:
    """A script in which mypy says what each public name is."""
    return "import rnnlens\n" + "".join(f"reveal_type(rnnlens.{name})\n" for name in names)


def untyped(told: str) -> list[str]:
    """The lines of mypy's answer to it that say Any, or that something is wrong."""
    return [line for line in told.splitlines() if '"Any"' in line or " error: " in line]


def main() -> None:
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    wheel, sdist = build(dist)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB; {sdist.name}: {sdist.stat().st_size / 1e6:.1f} MB")
    with tempfile.TemporaryDirectory() as temporary:
        folder, since = Path(temporary), time.monotonic()
        # Nothing of the checkout may be found by chance: another folder, and no PYTHONPATH.
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}

        def run(name: str, *arguments: str | Path) -> str:
            command = [str(folder / "venv/bin" / name), *map(str, arguments)]
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
            return done.stdout

        def pip(*what: str | Path) -> None:
            run(
                "python",
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "-c",
                ROOT / "constraints.txt",
                *what,
            )

        venv.create(folder / "venv", with_pip=True)
        pip(wheel)
        print(f"installed alone in {time.monotonic() - since:.0f} s: {run('rnnlens', '--version').strip()}")
        since = time.monotonic()
        run("rnnlens", "--help")
        print(f"rnnlens --help: {time.monotonic() - since:.2f} s")
        since = time.monotonic()
        told = run("rnnlens", "demo", "--out", "demo").splitlines()[-1]
        print(f"rnnlens demo: {time.monotonic() - since:.0f} s; {told}")
        run("rnnlens", "probe", "demo", "not bad at all", "--figure", "reading.html")
        print(run("rnnlens", "export", "demo", "--to", "hub").strip())
        (folder / "user.py").write_text(USER)
        print(f"user.py: {run('python', 'user.py').strip()}")
        pip("mypy")
        names = run("python", "-c", "import rnnlens; print(*rnnlens.__all__)").split()
        print(f"mypy --strict user.py: {run('mypy', '--strict', 'user.py').strip()}")
        (folder / "names.py").write_text(reveal(names))
        wrong = untyped(run("mypy", "names.py"))
        if wrong:
            sys.exit("\n".join(["public names without a type:", *wrong]))
        print(f"mypy: all {len(names)} public names have types")


if __name__ == "__main__":
    main()
