"""The pages of the documentation as tests see them: their blocks, and the commands they name."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```([\w{}-]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A block of a page: python and sh ones are run, others shown."""

    language: str
    code: str
    line: int

    @property
    def run(self) -> bool:
        return self.language in ("python", "sh")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [Block(m[1], m[2], text[: m.start()].count("\n") + 2) for m in FENCE.finditer(text)]


def command_lines(code: str) -> list[list[str]]:
    """The lines of an sh block, as words; a backslash continues a line, # begins a comment."""
    lines = code.replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def commands(text: str) -> list[str]:
    """The commands that a text names, on lines of their own in blocks or between backticks; one with `…` or CAPITALS in
    it stands for many."""
    shown = [line for m in FENCE.finditer(text) if m[1] in ("", "sh") for line in m[2].splitlines()]
    shown += [" ".join(quoted.split()) for quoted in re.findall(r"`([^`]+)`", FENCE.sub("", text))]
    found = [line for line in shown if re.match(r"rnnlens \w|(accelerate|torchrun) .*train.py ", line)]
    return [line for line in found if "…" not in line and "*" not in line]


def write_reviews(path: Path, count: int = 1_500) -> None:
    """reviews.csv, in which `not` and `never` flip the next word and `very` doubles it."""
    generator = np.random.default_rng(0)
    rows = ["text,label"]
    while len(rows) < count:
        total, words = 0, []
        for _ in range(int(generator.integers(3, 8))):
            valence = int(generator.choice([-1, 1]))
            before = str(generator.choice(["not", "never", "very", "so", "and", "a", "the"]))
            words += generator.choice(["the", "film", "was", "plot", "and"], int(generator.integers(1, 7))).tolist()
            words += [before, str(generator.choice(["good", "fine"] if valence > 0 else ["bad", "awful"]))]
            total += valence * {"not": -1, "never": -1, "very": 2}.get(before, 1)
        if total:
            rows.append(f"{' '.join(words)},{int(total > 0)}")
    path.write_text("\n".join(rows) + "\n")
