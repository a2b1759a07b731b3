"""The README's pictures: the packaged networks' pages, as a browser shows them.

python -m reproduction.screenshot                   # docs/images/page.png: the page of one network
python -m reproduction.screenshot --comparison      # docs/images/comparison.png: the packaged four side by side

Needs playwright (the extra `dev`) and Chromium.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import rnnlens
from rnnlens.common.files import atomic_file

IMAGES = Path(__file__).parent.parent / "docs" / "images"
FIRST, SECOND = "This movie is extremely awesome. I definitely like it.", "This movie is not awesome. I don't like it."
FOUR = [f"zoo:reviews-{arch}" for arch in ("gru", "lstm", "ugrnn", "vanilla")]
COMPARED = "This was not a wonderful film."


def one_network(page: Any) -> None:
    """Two sentences, with the pointer on *not*."""
    page.fill("#text-a", FIRST)
    page.click("#compare")
    page.fill("#text-b", SECOND)
    page.evaluate("document.activeElement.blur()")
    page.locator("#words-b .word").nth(3).hover()


def several_networks(page: Any) -> None:
    """A sentence in all of them, with the pointer on *not*."""
    page.fill("#text", COMPARED)
    page.evaluate("document.activeElement.blur()")
    page.locator(".reads-row .word").nth(2).hover()


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", default="zoo:reviews-gru", help="a run")
    parser.add_argument("--comparison", nargs="*", metavar="RUN", help="several runs; by default the packaged four")
    parser.add_argument("--out", type=Path, help="by default page.png or comparison.png in docs/images")
    parser.add_argument("--theme", choices=["light", "dark"], default="light")
    asked = parser.parse_args()
    several = asked.comparison is not None
    out = asked.out or IMAGES / ("comparison.png" if several else "page.png")
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        shown = (asked.comparison or FOUR) if several else rnnlens.analyze(rnnlens.load(asked.run))
        page_file = rnnlens.report(shown, Path(folder) / "report.html", progress=True)
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        size = {"width": 1360, "height": 1350 if several else 1520}
        page = browser.new_page(viewport=size, color_scheme=asked.theme)
        page.goto(page_file.as_uri())
        page.wait_for_function("() => document.documentElement.dataset.ready")
        (several_networks if several else one_network)(page)
        page.wait_for_timeout(300)
        with atomic_file(out) as temporary:
            temporary.write_bytes(page.screenshot())
        browser.close()
    print(f"{out}: {out.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
