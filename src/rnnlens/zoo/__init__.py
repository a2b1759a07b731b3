"""Trained networks that come with the package, as run folders in half precision, each with a model card."""

from __future__ import annotations

import shutil
from pathlib import Path

from rnnlens.artifacts import file_fingerprint
from rnnlens.errors import RnnlensError, quoted
from rnnlens.replacing import atomic_folder
from rnnlens.runs import Run, load

HERE = Path(__file__).parent


def _same_weights(run: Run, source: Path) -> bool:
    return file_fingerprint(run.path / "weights.safetensors") == file_fingerprint(source / "weights.safetensors")


def names() -> list[str]:
    """The networks there are."""
    return sorted(path.parent.name for path in HERE.glob("*/run.json"))


def packaged(name: str) -> Path:
    """The folder of a packaged run."""
    if name not in names():
        raise RnnlensError(f"there is no packaged network {quoted(name)}: expected one of {', '.join(names())}")
    return HERE / name


def unpack(name: str, out: Path | str) -> Run:
    """A copy of a packaged run that can be written to; one that is there already is opened."""
    source, out = packaged(name), Path(out)
    if not (out / "run.json").exists():
        with atomic_folder(out) as temporary:
            for path in source.iterdir():
                if path.suffix in (".json", ".jsonl", ".safetensors", ".md"):
                    shutil.copy(path, temporary / path.name)
    run = load(out)
    if run.about != load(source).about or not _same_weights(run, source):
        raise RnnlensError(f"{quoted(str(out))} holds another run: choose another folder with --out")
    return run
