"""The paper's six baselines by name, as options of one estimator."""

from __future__ import annotations

from typing import Any

BASELINES: dict[str, dict[str, Any]] = {
    "bow": {"modifiers": None},
    "bod+eod": {"modifiers": None, "edges": True},
    "bod+eod+beta_bod+beta_eod": {"modifiers": None, "edges": True, "own_edges": True},
    "comw": {},
    "comw+beta_mod": {"own_weights": True},
    "comw+beta_mod+beta_bod+beta_eod": {"own_weights": True, "edges": True, "own_edges": True},
}
"""Options of `ModifierConvolution` by name; for the `comw` models the modifiers must be added."""
