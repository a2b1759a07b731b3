"""The packaged networks: run folders in half precision, each with a model card."""

from __future__ import annotations

from pathlib import Path

from rnnlens.common.errors import RnnlensError, quoted

HERE = Path(__file__).parent


def names() -> list[str]:
    """Names of the packaged networks."""
    return sorted(path.parent.name for path in HERE.glob("*/run.json"))


def packaged(name: str) -> Path:
    """The folder of a packaged run."""
    name = name.removeprefix("zoo:") if isinstance(name, str) else name
    if name not in names():
        raise RnnlensError(f"there is no packaged network {quoted(name)}: expected one of {', '.join(names())}")
    return HERE / name


def holds(path: Path) -> bool:
    """Whether a folder is that of a packaged run."""
    return path.resolve().parent == HERE.resolve()


def find(name: Path | str) -> Path | None:
    """The folder of the packaged run with the name `zoo:NAME`, or NAME alone if no file or folder has that name; None
    for anything else."""
    text = str(name)
    if text.startswith("zoo:"):
        return packaged(text)
    return packaged(text) if text in names() and not Path(name).exists() else None
