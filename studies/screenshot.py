"""The README's picture: the packaged network's page, as a browser shows it.

python -m studies.screenshot            # needs playwright (the extra `dev`) and Chromium; writes docs/images/page.png
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import rnnlens
from rnnlens.common.files import atomic_file

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "page.png"
FIRST, SECOND = "This movie is extremely awesome. I definitely like it.", "This movie is not awesome. I don't like it."


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", default="zoo:reviews-gru", help="a run")
    parser.add_argument("--out", type=Path, default=PICTURE)
    parser.add_argument("--theme", choices=["light", "dark"], default="light")
    asked = parser.parse_args()
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        page_file = rnnlens.report(rnnlens.analyze(rnnlens.load(asked.run)), Path(folder) / "report.html")
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1360, "height": 1520}, color_scheme=asked.theme)
        page.goto(page_file.as_uri())
        page.wait_for_function("() => document.documentElement.dataset.ready")
        page.fill("#text-a", FIRST)
        page.click("#compare")
        page.fill("#text-b", SECOND)
        page.evaluate("document.activeElement.blur()")
        page.locator("#words-b .word").nth(3).hover()
        page.wait_for_timeout(300)
        with atomic_file(asked.out) as temporary:
            temporary.write_bytes(page.screenshot())
        browser.close()
    print(f"{asked.out}: {asked.out.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
