"""What to do about a file of rnnlens that is damaged, missing or not readable: the ends of messages."""

from __future__ import annotations

import errno
from pathlib import Path

from rnnlens.common.errors import quoted

_OTHERWISE = {
    **dict.fromkeys(("run.json", "vocab.json", "weights.safetensors"), "train again in another folder"),
    **dict.fromkeys(("config.json", "model.safetensors"), "export the run again"),
    **dict.fromkeys(("results.json", "analysis.safetensors", "states.safetensors"), "move it away and analyze again"),
    "corpus.json": "prepare the corpus again, with --overwrite",
    "last.safetensors": "delete it to train from the start",
}
"""By the name of a file: what helps if there is no copy of it."""


def mending(path: Path | str) -> str:
    """What to do about a damaged or missing file."""
    return f"restore it from a copy, or {_OTHERWISE.get(Path(path).name, 'make it again in another folder')}"


def unreadable(path: Path | str, error: OSError) -> str:
    """The message for a file that cannot be read. Only a missing one is made again: a forbidden one is still there."""
    advice = f"; {mending(path)}" if error.errno == errno.ENOENT else ""
    return f"cannot read {quoted(str(path), 200)}: {error.strerror or error}{advice}"
