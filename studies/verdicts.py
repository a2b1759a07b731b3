"""The opening view of four networks that differ: a good one, a simple one, one with few reviews, an untrained one.

    python -m studies.verdicts RUN --corpus CORPUS   # → docs/results/verdicts.json and pictures
    python -m studies.verdicts                       # docs/verdicts.md from the record

RUN was trained on few reviews. Pictures need playwright (the extra `dev`) and Chromium.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import rnnlens
from rnnlens.analysis.verdict import plain
from rnnlens.common.files import atomic_file, write_json
from studies.pages import write_page

RECORD, PAGE = Path("docs/results/verdicts.json"), Path("docs/verdicts.md")
TEMPLATE, PICTURES = Path(__file__).with_name("verdicts.md"), Path("docs/images")
ZOO = {"gru": "zoo:reviews-gru", "vanilla": "zoo:reviews-vanilla"}
WIDTH, HEIGHT = 1280, 550  # down to the first sentences: examples below them are texts of a corpus, which stay there


def untrained() -> rnnlens.Network:
    """A GRU of the packaged one's size and words with random weights."""
    vocab = rnnlens.load(ZOO["gru"]).network.vocab
    assert vocab is not None
    return rnnlens.Network(vocab, arch="gru", hidden=256, embedding=128, seed=0)


def analyses(few: Path, corpus: str) -> dict[str, rnnlens.Analysis]:
    """The four networks, analyzed as their users would."""
    found = {name: rnnlens.analyze(rnnlens.load(source)) for name, source in ZOO.items()}
    found["few"] = rnnlens.analyze(rnnlens.load(few), corpus, reviews=1_000)
    return {**found, "untrained": rnnlens.analyze(untrained())}


def photograph(pages: dict[str, Path]) -> None:
    """The top of each page, as a browser shows it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, path in pages.items():
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            page.goto(path.as_uri())
            page.wait_for_function("() => document.documentElement.dataset.ready")
            page.wait_for_timeout(500)
            with atomic_file(PICTURES / f"opening-{name}.png") as temporary:
                temporary.write_bytes(page.screenshot())
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("few", type=Path, nargs="?", help="a run that was trained on few reviews")
    parser.add_argument("--corpus", help="its corpus")
    asked = parser.parse_args()
    if asked.few is not None:
        record: dict[str, Any] = {}
        with TemporaryDirectory() as folder:
            pages = {}
            for name, analysis in analyses(asked.few, asked.corpus).items():
                pages[name] = rnnlens.report(analysis, Path(folder) / f"{name}.html")
                record[name] = {
                    "verdict": [plain(sentence.text) for sentence in analysis.verdict],
                    "warnings": list(analysis.results.get("warnings", ())),
                }
            photograph(pages)
        write_json(RECORD, {"networks": record})
    write_page(TEMPLATE, PAGE, networks=json.loads(RECORD.read_text(encoding="utf-8"))["networks"])


if __name__ == "__main__":
    main()
