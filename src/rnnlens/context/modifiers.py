"""The table of words, with measures of how each changes the effect of the words after it (§5.1, Fig. 3).

strength  signed share by which a word changes the full effect of the next word, with its error (`context.strength`):
          −1 removes the effect, −2 reverses it, +1 doubles it. Lists, subspaces and baselines choose words by it.
norm      ‖J_inp(h_mod) − J_inp(h*)‖_F at h_mod = F(h*, word), the paper's measure. Words with a large valence have a
          large norm too, because they move the state along the line.
tau       timescale in words on which the strength decays over blank inputs.
kind      negator, diminisher, intensifier, valence, none or unclear.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rnnlens.common.allowed import shown
from rnnlens.common.display import Facts, Shown, table_html
from rnnlens.common.errors import RnnlensError, UnknownWord, quoted
from rnnlens.common.files import atomic_file
from rnnlens.common.ranges import in_range
from rnnlens.common.replacing import check_output
from rnnlens.common.rows import chosen_rows
from rnnlens.common.terminal import printable
from rnnlens.context.effects import STATES, states_after
from rnnlens.context.probes import Probes
from rnnlens.context.strength import (
    KINDS,
    MODIFIERS,
    certain_first,
    clear_at,
    kind_of,
    kinds_of,
)
from rnnlens.dynamics import LineAttractor
from rnnlens.dynamics.features import input_size
from rnnlens.networks import Network

if TYPE_CHECKING:
    from polars import DataFrame

FORMULA = "^([=+\\-@\t\r\n＝＋－＠])"  # start of a cell that spreadsheets run (OWASP); as in page/script/table.js
MOST = 400  # the paper's number of modifiers
PARTS = ("error_probes", "error_places", "error_training")  # parts of the error, the rows of `Modifiers.errors`
MEASURES = (
    "strength", "error", "valence", "own", "norm", "tau", "on_positive", "on_negative", "moves", *PARTS,
)  # fmt: skip
"""The measures of each word that are stored."""
TABLES = ("csv", "parquet")  # file formats of a table of words


@dataclass(frozen=True, eq=False)
class Modifiers(Shown):
    """Words (M), most frequent first, with all their measures.

    ids         (M,)    in the network's vocabulary
    counts      (M,)    occurrences in the training texts; None if they were not counted
    strength    (M,)    signed share by which the word changes the full effect of the next word
    error       (M,)    standard error of the strength: other probes, other places on the line, another training
    errors      (3, M)  its three parts, in this order
    valence     (M,)    the word's own full effect at h*, in logits
    own         (M,)    the same in units of the mean size of a probe word's effect
    moves       (M,)    how far the word moves the state, in units of the median over words
    norm        (M,)    ‖ΔJ_inp‖_F; scale: ‖J_inp(h*)‖_F
    on_positive, on_negative  (M,)  means of the barcode over positive and negative probes
    tau         (M,)    timescale of the strength in words; NaN for all but the strongest, and if it does not decay
    h_mod       (M, N)  F(h*, word)
    kinds               negator, diminisher, intensifier, valence, none or unclear
    members             the tables of the single networks, for a consensus
    """

    network: Network = field(repr=False)
    line: LineAttractor = field(repr=False)
    probes: Probes = field(repr=False)
    words: list[str]
    ids: Tensor
    counts: Tensor | None
    strength: Tensor
    errors: Tensor
    valence: Tensor
    own: Tensor
    moves: Tensor
    norm: Tensor
    scale: float
    on_positive: Tensor
    on_negative: Tensor
    tau: Tensor
    members: tuple[Modifiers, ...] = field(default=(), repr=False)

    def __len__(self) -> int:
        return len(self.words)

    @property
    def networks(self) -> int:
        return max(1, len(self.members))

    @cached_property
    def h_mod(self) -> Tensor:
        """The state after each word from h*, (M, N)."""
        assert self.network.E is not None
        with torch.no_grad():
            return self.network.step(self.line.h_star, self.network.E.detach()[self.ids])

    def after(self, rows: Tensor | Sequence[int]) -> Tensor:
        """h_mod of some rows of the table, (R, N); only these are computed."""
        assert self.network.E is not None
        numbers = torch.from_numpy(chosen_rows("rows", rows, len(self), from_end=True)).to(self.ids.device)
        with torch.no_grad():
            words = self.network.E.detach()[self.ids[numbers]]
            return torch.cat([*states_after(self.network, self.line.h_star, words)])

    def chosen(self, rows: Tensor | Sequence[int] | None, usual: Tensor) -> Tensor:
        """Rows of the table that a caller chose, checked; `usual` for None."""
        if rows is None:
            return usual
        return torch.from_numpy(chosen_rows("rows", rows, len(self))).to(usual.device)

    def places(self, project: Callable[[Tensor], Tensor]) -> Tensor:
        """A function of h_mod, of all words, block by block."""
        rows = torch.arange(len(self), device=self.ids.device)
        return torch.cat([project(self.after(part)) for part in rows.split(max(1, STATES // self.network.size))])

    @cached_property
    def error(self) -> Tensor:
        return self.errors.square().sum(0).sqrt()

    @cached_property
    def kinds(self) -> list[str]:
        columns = (values.tolist() for values in (self.strength, self.error, self.own))
        return [kind_of(s, error, own, self.clear_at) for s, error, own in zip(*columns, strict=True)]

    @cached_property
    def clear_at(self) -> float:
        """How many errors from 0 a strength must be to be clear."""
        return clear_at(self.strength, self.error)

    @cached_property
    def order(self) -> Tensor:
        """All rows, by |strength| − 2 errors (the end of the ± 2 error interval nearer 0): modifiers first, then the
        other words, valence words last."""
        return certain_first(self.strength, self.error, self.kinds)

    @property
    def selected(self) -> Tensor:
        """Rows of the modifiers: negators, diminishers and intensifiers, the most certain first."""
        return self.order[: sum(kind in MODIFIERS for kind in self.kinds)]

    @property
    def strong(self) -> Tensor:
        """Rows of the 400 strongest words, to which the subspace is fitted."""
        return self.order[:MOST]

    @in_range("strongest")
    def strongest(
        self,
        n: int = 20,
        kind: str | Sequence[str] | None = None,
        by: str = "strength",
        threshold: float | None = None,
    ) -> list[str]:
        """The n strongest words.

        kind: one kind or several, such as "negator" or "negators"; by default all modifiers, or all words if by="norm".
        by: `strength` orders by |strength| − 2 errors, `norm` is the paper's ranking.
        threshold: the smallest norm or |strength|."""
        order = self.order if by == "strength" else self.norm.argsort(descending=True)
        size = self.strength.abs() if by == "strength" else self.norm
        kinds = kinds_of((MODIFIERS if by == "strength" else KINDS) if kind is None else kind)
        rows = [i for i in order.tolist() if self.kinds[i] in kinds]
        return [self.words[i] for i in rows if threshold is None or float(size[i]) >= threshold][:n]

    @in_range("rank")
    def rank(self, word: str, by: str = "strength") -> int:
        """The rank of a word, from 1."""
        order = self.order if by == "strength" else self.norm.argsort(descending=True)
        return 1 + order.tolist().index(self.row(word))

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words)}

    def row(self, word: str) -> int:
        if not isinstance(word, str) or word not in self._rows:
            known = isinstance(word, str) and self.network.vocab is not None and word in self.network.vocab
            fix = "raise `top`" if known else "the network does not know it; check its spelling"
            raise UnknownWord(f"{quoted(word)} is not among the {len(self):,} words: {fix}")
        return self._rows[word]

    def __getitem__(self, word: str) -> dict[str, Any]:
        """A word's row of the table."""
        return {name: values[self.row(word)] for name, values in self._columns.items()}

    @cached_property
    def _columns(self) -> dict[str, list[Any]]:
        return {
            "word": self.words,
            "count": [None] * len(self) if self.counts is None else self.counts.tolist(),
            "kind": self.kinds,
            "strength": self.strength.tolist(),
            "error": self.error.tolist(),
            "valence": self.valence.tolist(),
            "norm": self.norm.tolist(),
            "tau": [None if math.isnan(tau) else tau for tau in self.tau.tolist()],
            "on_positive": self.on_positive.tolist(),
            "on_negative": self.on_negative.tolist(),
        }

    def columns(self) -> dict[str, list[Any]]:
        """The table's columns, in the order of `words`."""
        return dict(self._columns)

    def table(self, **more: Sequence[Any]) -> DataFrame:
        """A polars DataFrame, strongest first; more columns (in the order of `words`) may be added."""
        import polars

        for name, values in more.items():
            if name in self._columns or not hasattr(values, "__len__") or len(values) != len(self):
                raise RnnlensError(
                    f"the column {quoted(name)} is {shown(values)}: expected {len(self)} values, one for each word, "
                    f"under another name than {', '.join(self._columns)}"
                )
        frame = polars.DataFrame({**self.columns(), **more})
        return frame[self.order.cpu().numpy()]

    def write(self, path: Path | str, **more: Sequence[Any]) -> Path:
        """Save the table as .csv or .parquet. An existing file is replaced only if it is such a table. In a .csv
        file, text that a spreadsheet would run as a formula (it begins with = + - @ or a tab) gets a `'` in front."""
        import polars

        path = check_output(path, "a table", *TABLES)
        table, written = self.table(**more), io.BytesIO()
        if path.suffix.lower() == ".csv":
            table.with_columns(polars.selectors.string().str.replace(FORMULA, "'$1")).write_csv(written)
        else:
            table.write_parquet(written)
        with atomic_file(path) as temporary:
            temporary.write_bytes(written.getbuffer())  # by Python, whose errors say what the disk says
        return path

    def _facts(self) -> Facts:
        return [
            ("words", len(self)),
            ("modifiers", len(self.selected)),
            ("networks", self.networks),
            ("unclear", sum(kind == "unclear" for kind in self.kinds)),
        ]

    def _table(self) -> str:
        names = ("word", "kind", "strength", "error", "valence", "norm", "tau", "count")
        rows = [[self._columns[name][i] for name in names] for i in self.order[:30].tolist()]
        return table_html(rows, names)

    def __repr__(self) -> str:
        first = ", ".join(f"{word} {self[word]['strength']:+.2f}" for word in self.strongest(8))
        return printable(f"Modifiers({len(self.selected)} of {len(self)} words{f': {first} …' if first else ''})")

    def to_dict(self, most: int = 300, also: Sequence[str] = ()) -> dict[str, Any]:
        """For results.json, under `modifiers`: the strongest words, and the words in `also`."""
        columns = self.columns()
        rows = list(
            dict.fromkeys([*self.order[:most].tolist(), *(self.row(word) for word in also if word in self._rows)])
        )
        by_norm = self.norm.argsort(descending=True)
        return {
            "n": len(self.selected),
            "clear_at": self.clear_at if math.isfinite(self.clear_at) else None,
            "unclear": sum(kind == "unclear" for kind in self.kinds),
            "threshold": float(self.norm[by_norm[min(MOST, len(self)) - 1]]),
            "of": len(self),
            "networks": self.networks,
            "scale": self.scale,
            "error_from_probes": float(self.errors[0].median()),
            "words": [{name: values[i] for name, values in columns.items()} for i in rows],
            "strongest_by_norm": [[self.words[i], float(self.norm[i])] for i in by_norm[:50].tolist()],
            "histograms": {"norm": _histogram(self.norm), "strength": _histogram(self.strength.abs())},
            "asymmetry": self.asymmetry(),
        }

    def arrays(self) -> dict[str, Tensor]:
        """For analysis.safetensors: the words' ids (M,), and their measures (C, M) in the order of `MEASURES`."""
        return {"words": self.ids.int(), "measures": torch.stack([self._measure(name).float() for name in MEASURES])}

    def _measure(self, name: str) -> Tensor:
        part = PARTS.index(name) if name in PARTS else None
        return getattr(self, name) if part is None else self.errors[part]

    @classmethod
    def from_arrays(
        cls, network: Network, line: LineAttractor, probes: Probes, arrays: Mapping[str, Tensor]
    ) -> Modifiers:
        """The table from the result of `arrays`."""
        measures = dict(zip(MEASURES, arrays["measures"].to(network.h0), strict=True))
        errors = torch.stack([measures.pop(name) for name in PARTS])
        del measures["error"]  # it is computed from its parts
        return table_of(network, line, probes, arrays["words"].long().to(network.h0.device), errors=errors, **measures)

    def asymmetry(self) -> dict[str, Any]:
        """§11: how many negators, diminishers and intensifiers there are, and how strong they are on average."""
        summary: dict[str, Any] = {}
        for kind in MODIFIERS:
            rows = [i for i, own in enumerate(self.kinds) if own == kind]
            summary[kind] = {"n": len(rows), "mean_strength": float(self.strength[rows].mean()) if rows else None}
        return summary


def table_of(network: Network, line: LineAttractor, probes: Probes, ids: Tensor, **measures: Tensor) -> Modifiers:
    """The table of words, given by their ids (M,), with their measures."""
    vocab = network.vocab
    assert vocab is not None
    counts = None if vocab.counts is None else torch.as_tensor(vocab.counts, device=ids.device)[ids]
    scale = float(input_size(network, line.h_star))
    words = vocab.decode(ids.tolist())
    return Modifiers(network, line, probes, words, ids, counts, scale=scale, **measures)  # type: ignore[arg-type]


def _histogram(size: Tensor, bins: int = 60) -> dict[str, list[float]]:
    """Counts in logarithmic bins from the 1st percentile, with smaller values in the first bin, to the maximum."""
    size = size.double().cpu()
    high = math.log10(max(float(size.max()), 1e-30))
    low = max(math.log10(max(float(size.quantile(0.01)), 1e-30)), high - 6)
    edges = torch.linspace(low, high, bins + 1, dtype=torch.float64) if high > low else torch.tensor([low, low + 1])
    counts = torch.histc(size.clamp(min=10**low).log10(), len(edges) - 1, low, float(edges[-1]))
    return {"edges": (10**edges).tolist(), "counts": counts.tolist()}
