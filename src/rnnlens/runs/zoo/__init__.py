"""Trained networks that come with the package, as run folders in half precision, each with a model card."""

from __future__ import annotations

from pathlib import Path

from rnnlens.common.errors import RnnlensError, quoted

HERE = Path(__file__).parent


def names() -> list[str]:
    """The networks there are."""
    return sorted(path.parent.name for path in HERE.glob("*/run.json"))


def packaged(name: str) -> Path:
    """The folder of a packaged run."""
    if name not in names():
        raise RnnlensError(f"there is no packaged network {quoted(name)}: expected one of {', '.join(names())}")
    return HERE / name


def find(name: Path | str) -> Path | None:
    """The folder of the packaged run that a name stands for: `zoo:NAME`, or NAME alone where no file or folder has that
    name. None for all else."""
    text = str(name)
    if text.startswith("zoo:"):
        return packaged(text.removeprefix("zoo:"))
    return packaged(text) if text in names() and not Path(name).exists() else None
