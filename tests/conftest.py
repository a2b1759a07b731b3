import pytest
import torch
from browser import ARGUMENTS, chromium

# Tests use networks of a few units: a second thread would only wait for the first, and for other processes.
torch.set_num_threads(1)


@pytest.fixture(scope="module")
def browser():
    """The system's Chromium, driven by playwright; tests that need it are skipped where either is missing."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e '.[dev]'")
    path = chromium()
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield opened
        opened.close()
