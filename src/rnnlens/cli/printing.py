"""What several commands share: choices of their options, and the line that says where the page is."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from rnnlens.common.terminal import say

Arch = Literal["gru", "lstm", "ugrnn", "vanilla"]
Device = Literal["cpu", "cuda"]


def show_report(path: Path) -> None:
    say(f"report: {path} ({path.stat().st_size / 1e6:.1f} MB)")
