"""Snapshots of a network while it trained, as a run stores them: `run.snapshots`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rnnlens.common.files import rewrite_lines

FILE = "snapshots.jsonl"
SCHEMA = 1


def write_snapshots(path: Path, about: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> None:
    """Write a line about the snapshots, then a line for each."""
    rewrite_lines(path, [{"schema": SCHEMA, "snapshots": len(records), **about}, *records])
