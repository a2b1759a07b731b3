"""A real browser for the tests of the page: the system's Chromium, driven by playwright. Where either is missing, tests
that need it are skipped and say so."""

import os
import shutil
import subprocess
import tarfile
from contextlib import contextmanager
from pathlib import Path

import pytest

ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run",
]  # fmt: skip
AXE = "axe-core@4.14.0"


def chromium() -> str:
    paths = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    found = next((path for path in paths if path), None)
    if found is None:
        pytest.skip("needs Chromium: `make test` installs it where it may (apt-get install chromium)")
    return found


@contextmanager
def opened(browser, path: Path, fragment: str = "", width: int = 1440, height: int = 900, idle: bool = False, **how):
    """The page at a file, with `page.wrong`: console errors, uncaught errors, and requests to anywhere. Figures are
    unpacked when one is drawn; idle: as soon as the browser is idle, as for a reader, which takes most of a second."""
    context = browser.new_context(viewport={"width": width, "height": height}, **how)
    if not idle:
        context.add_init_script("globalThis.requestIdleCallback = () => {}")
    context.set_default_timeout(120_000)  # a busy machine is no failure
    page = context.new_page()
    page.wrong = []
    page.on("console", lambda said: page.wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("request", lambda r: None if r.url.startswith(("file:", "data:", "blob:")) else page.wrong.append(r.url))
    page.goto(path.resolve().as_uri() + fragment)
    page.wait_for_function("() => document.documentElement.dataset.ready", timeout=60_000)
    yield page
    context.close()


def unfold(page) -> None:
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")


def draw_all(page) -> int:
    """Unfold the page and scroll through it until every figure is drawn; how many there are."""
    unfold(page)
    plots = page.locator(".plot")
    for i in range(plots.count()):
        plots.nth(i).scroll_into_view_if_needed()
        page.wait_for_function("i => document.querySelectorAll('.plot')[i].querySelector('.main-svg')", arg=i)
    return plots.count()


def axe() -> str:
    """axe-core's script, from the npm registry; kept in a cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rnnlens-tests" / AXE
    script = cache / "package" / "axe.min.js"
    if not script.exists():
        if shutil.which("npm") is None:
            pytest.skip("needs npm, to fetch axe-core")
        cache.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["npm", "pack", AXE], cwd=cache, capture_output=True, text=True, timeout=120)
        if done.returncode:
            pytest.skip(f"npm could not fetch axe-core: {done.stderr.strip()[-200:]}")
        with tarfile.open(next(cache.glob("*.tgz"))) as archive:
            archive.extract("package/axe.min.js", cache, filter="data")
    return script.read_text("utf-8")
