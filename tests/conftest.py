import os

import pytest
import torch
from browser import ARGUMENTS, chromium

# Tests use networks of a few units: a second thread would only wait for the first, and for other processes.
torch.set_num_threads(1)
os.environ.setdefault("OMP_NUM_THREADS", "1")  # of the processes that they start

# Files that take longest. They begin, so that no process ends with one of them while the others have nothing to do.
LONG = (
    "test_page", "test_docs", "test_sweep", "test_comparison", "test_reproduce", "test_fixed_points", "test_demo",
    "test_guarantees", "test_live", "test_context",
)  # fmt: skip


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: LONG.index(item.path.stem) if item.path.stem in LONG else len(LONG))


@pytest.fixture(scope="module")
def browser():
    """The system's Chromium, driven by playwright; tests that need it are skipped where either is missing."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e '.[dev]'")
    path = chromium()
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield opened
        opened.close()
