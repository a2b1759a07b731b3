"""The numbers that the package computes are those that were recorded: see tests/golden/record.py."""

import json

import numpy as np
import pytest
import torch
from tests.golden.record import FILE, GROUPS, compute, tolerance

GOLDEN = json.loads(FILE.read_text())


@pytest.mark.parametrize("name", GROUPS)
def test_the_numbers_are_those_that_were_recorded(name):
    if name.startswith("transformers"):
        pytest.importorskip("transformers", reason="needs transformers: pip install -e '.[transformers]'")
    threads = torch.get_num_threads()
    found, recorded = compute(name), GOLDEN[name]
    assert torch.get_num_threads() == threads
    assert found.keys() == recorded.keys()
    wrong = [told for quantity, values in found.items() if (told := difference(name, quantity, values))]
    assert not wrong, f"{name}\n" + "\n".join(wrong)


def difference(name, quantity, values):
    """What differs by more than its tolerance, in words; empty if nothing does."""
    expected = np.array(GOLDEN[name][quantity], dtype=float)  # None, which is no number, becomes nan
    if values.shape != expected.shape:
        return f"{quantity}: shape {values.shape}, recorded {expected.shape}"
    if not np.array_equal(np.isnan(values), np.isnan(expected)):
        return f"{quantity}: there are numbers where none were, or none where there were some"
    if not expected.size or np.isnan(expected).all():
        return ""
    scale, most = np.nanmax(np.abs(expected)), np.nanmax(np.abs(values - expected))
    allowed = tolerance(name, quantity)
    return f"{quantity}: differs by {most / max(scale, 1e-300):.2g} of {scale:.4g}, more than {allowed:g}" * bool(
        most > allowed * scale
    )


def test_every_group_is_recorded():
    assert GOLDEN.keys() == GROUPS.keys()
    assert FILE.stat().st_size < 300_000
