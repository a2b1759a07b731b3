"""The truth about a synthetic language: its words, the edge weights of its documents, and the sum of each document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rnnlens.common.files import parsing, read_json, read_marked_tensors, write_json, write_tensors
from rnnlens.common.provenance import check_named
from rnnlens.common.ranges import in_range

MODIFIERS = ("negator", "intensifier", "diminisher", "shifter")
KINDS = ("neutral", "valence", "name", *MODIFIERS)


@dataclass(frozen=True, eq=False)
class Sums:
    """The sums of the words of n documents, in logits of the labels.

    full      (n,)  the sum that the label was drawn from
    expected  (n,)  averaged over the reach of every modifier: what the words alone determine
    plain     (n,)  without any modifier, but with the edge weights
    labels    (n,)  uint8, labels drawn from the plain sum with the same random numbers
    """

    full: np.ndarray
    expected: np.ndarray
    plain: np.ndarray
    labels: np.ndarray


@dataclass(frozen=True, eq=False)
class Truth:
    """A language's words (W), the most frequent first.

    kinds      (W,)  neutral, valence, name, negator, intensifier, diminisher, shifter; a modifier may have valence too
    valence    (W,)  what a word adds to the sum; 0 for most. No modifier changes what a name adds
    factor     (W,)  multiplies the valence words in reach of a modifier: below 0 negated, 1 unchanged
    shift      (W,)  is added to the valence words in reach of a shifter
    scope      (W,)  mean reach μ in words; 0 for none. P(reach of an occurrence ≥ k) = (1 − 1/μ)^(k−1)
    edge       (T,)  the weight of a document's t-th word from either end; 1 beyond
    scale            labels are drawn from the logistic of scale·(the document's sum); larger for short documents
    bayes            accuracy of an oracle that knows the sums
    reader           accuracy of an oracle that knows all this, but not the reach of each occurrence
    sums             split → the sums of its documents
    """

    words: tuple[str, ...]
    kinds: tuple[str, ...]
    valence: np.ndarray
    factor: np.ndarray
    shift: np.ndarray
    scope: np.ndarray
    edge: np.ndarray
    scale: float
    bayes: float
    reader: float
    sums: Mapping[str, Sums]

    @cached_property
    def modifiers(self) -> np.ndarray:
        """Ids of the modifiers."""
        return np.flatnonzero([kind in MODIFIERS for kind in self.kinds])

    @cached_property
    def names(self) -> np.ndarray:
        """Which words are names, (W,)."""
        return np.array([kind == "name" for kind in self.kinds])

    @property
    def share(self) -> np.ndarray:
        """The change of the next word's valence as a share of it, (W,): −1 removes it, −2 reverses it."""
        return self.factor - 1

    @property
    def tau(self) -> np.ndarray:
        """How many words a modifier's mean effect lasts, (W,), as `Modifiers.tau`; NaN where there is none.

        The effect k words after the next is that on the next times q^k = exp(−k/τ), q = 1 − 1/μ."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.scope > 0, -1 / np.log1p(-1 / self.scope), np.nan)

    @in_range("folder")
    def save(self, folder: Path | str) -> None:
        """Write truth.json (words, numbers) and truth.safetensors (documents) into a folder."""
        folder = Path(folder)
        arrays = {f"{part}.{name}": getattr(sums, name) for part, sums in self.sums.items() for name in vars(sums)}
        mark = write_tensors(folder / "truth.safetensors", arrays, {"what": "the sums behind every document's label"})
        fields = {key: value for key, value in vars(self).items() if key not in ("sums", "modifiers", "names")}
        write_json(folder / "truth.json", {**fields, "documents": mark})

    @classmethod
    @in_range("folder")
    def load(cls, folder: Path | str) -> Truth:
        """Read and verify what `save` wrote."""
        fields: dict[str, Any] = read_json(Path(folder) / "truth.json")
        arrays, _, mark = read_marked_tensors(Path(folder) / "truth.safetensors")
        again = "make the corpus again in another folder"
        check_named(Path(folder) / "truth.json", fields, "documents", Path(folder) / "truth.safetensors", mark, again)
        with parsing(folder, "synthetic corpus of rnnlens"):
            del fields["documents"]
            for name in ("valence", "factor", "shift", "scope", "edge"):
                fields[name] = np.array(fields[name])
            for name in ("words", "kinds"):
                fields[name] = tuple(fields[name])
            parts, names = sorted({name.split(".")[0] for name in arrays}), ("full", "expected", "plain", "labels")
            return cls(**fields, sums={part: Sums(*(arrays[f"{part}.{name}"] for name in names)) for part in parts})
