"""The example and the page about baselines run as they stand, and say what they promise."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/baselines.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """reviews.csv, in which `not` and `never` flip the next word and `very` doubles it."""
    generator = np.random.default_rng(0)
    rows = ["text,label"]
    while len(rows) < 1_500:
        total, words = 0, []
        for _ in range(int(generator.integers(3, 8))):
            valence = int(generator.choice([-1, 1]))
            before = str(generator.choice(["not", "never", "very", "so", "and", "a", "the"]))
            words += generator.choice(["the", "film", "was", "plot", "and"], int(generator.integers(1, 7))).tolist()
            words += [before, str(generator.choice(["good", "fine"] if valence > 0 else ["bad", "awful"]))]
            total += valence * {"not": -1, "never": -1, "very": 2}.get(before, 1)
        if total:
            rows.append(f"{' '.join(words)},{int(total > 0)}")
    folder = tmp_path_factory.mktemp("reviews")
    (folder / "reviews.csv").write_text("\n".join(rows) + "\n")
    return folder


def test_twelve_lines_find_the_modifiers(folder):
    source = (ROOT / "examples/baselines.py").read_text()
    lines = [line for line in source.split('"""')[2].splitlines() if line.strip()]
    assert len(lines) <= 12
    told = subprocess.run([sys.executable, ROOT / "examples/baselines.py", "reviews.csv"], cwd=folder, text=True,
                          capture_output=True, check=True).stdout  # fmt: skip
    assert float(told.split(" %")[0]) > 90
    strengths = {word: float(value) for word, value in re.findall(r"^(\w+) +strength ([+-][\d.]+)", told, re.MULTILINE)}
    assert strengths["not"] < -1 and strengths["never"] < -1 and strengths["very"] > 0.3
    scopes = [float(value) for value in re.findall(r"fades over ([\d.]+) words", told)]
    assert len(scopes) == 3 and 0 < max(scopes) < 10
    assert re.search(r"good .*by not at distance", told)


@pytest.mark.parametrize("code", BLOCKS, ids=range(len(BLOCKS)))
def test_the_page_runs(code, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    exec(compile(code, "baselines.md", "exec"), {"__name__": "__main__"})
    assert "strength" in capsys.readouterr().out and (folder / "runs/model/baseline.json").exists()
