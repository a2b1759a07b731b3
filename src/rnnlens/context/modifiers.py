"""Which words are modifiers: after them, other words are read differently (§5.1, Fig. 3).

strength  by what share a word changes the full effect of the next word, with its error (`context.strength`): −1 takes
          the effect away, −2 flips it, +1 doubles it. Lists, subspaces and baselines choose words by it.
norm      ‖J_inp(h_mod) − J_inp(h*)‖_F at h_mod = F(h*, word), the paper's. Words with a strong valence of their own
          have a large norm too, because they move the state along the line.
tau       how many words the change lasts, measured over blank inputs.
kind      negator, diminisher, intensifier, valence, none or unclear.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rnnlens.common.display import Facts, Shown, table_html
from rnnlens.common.errors import RnnlensError, UnknownWord, quoted
from rnnlens.common.files import atomic_file
from rnnlens.common.replacing import check_output
from rnnlens.common.terminal import printable
from rnnlens.context.decay import fit_exponential
from rnnlens.context.effects import linear_effects
from rnnlens.context.probes import Probes, common_words
from rnnlens.context.strength import (
    KINDS,
    LEAST_ERRORS,
    MODIFIERS,
    check_measured,
    clear_at,
    fading,
    kind_of,
    kinds_of,
    strengths,
    training_error,
)
from rnnlens.dynamics import LineAttractor
from rnnlens.dynamics.jacobians import input_change, input_size
from rnnlens.networks import Network

if TYPE_CHECKING:
    from polars import DataFrame

FORMULA = "^([=+\\-@\t\r\n＝＋－＠])"  # how a cell begins that spreadsheets run (OWASP); as in page/script/table.js
MOST = 400  # the paper's number of modifiers
TABLES = ("csv", "parquet")  # what a table of words is saved as
PRIOR_SEEDS = 4.0  # how many networks the rule for the error of training counts for, beside those that are given


@dataclass(frozen=True, eq=False)
class Modifiers(Shown):
    """Words (M), most frequent first, with every measure.

    ids         (M,)    in the network's vocabulary
    counts      (M,)    how often each was seen in training; None where nobody counted
    h_mod       (M, N)  F(h*, word)
    strength    (M,)    by what share the word changes the full effect of the next word
    error       (M,)    standard error of the strength: other probes, other places on the line, another training
    errors      (3, M)  its three parts, in this order
    valence     (M,)    the word's own full effect at h*, in logits
    own         (M,)    the same in units of the mean size of a probe word's effect
    moves       (M,)    how far the word moves the state, in units of the median word
    norm        (M,)    ‖ΔJ_inp‖_F; scale: ‖J_inp(h*)‖_F
    on_positive, on_negative  (M,)  the mean change of the linear effect on positive and negative probes: the barcode's
    tau         (M,)    words that the change lasts; NaN for all but the strongest, and where it does not decay
    kinds               negator, diminisher, intensifier, valence, none or unclear
    members             of a consensus: each network's own
    """

    network: Network = field(repr=False)
    line: LineAttractor = field(repr=False)
    probes: Probes = field(repr=False)
    words: list[str]
    ids: Tensor
    counts: Tensor | None
    h_mod: Tensor
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
        """All rows: modifiers first, by what of their strength is certain (the end of ± 2 errors nearer 0), then the
        other words by the size of their strength less their error, valence words last."""
        named = torch.tensor([kind in MODIFIERS for kind in self.kinds], device=self.strength.device)
        valence = torch.tensor([kind == "valence" for kind in self.kinds], device=self.strength.device)
        size = self.strength.abs() - LEAST_ERRORS * self.error
        bound = float(size.abs().max()) + 1 if len(size) else 1.0
        return (size + 2 * bound * named - 2 * bound * valence).argsort(descending=True)

    @property
    def selected(self) -> Tensor:
        """Rows of the modifiers: negators, diminishers and intensifiers, the most certain first."""
        return self.order[: sum(kind in MODIFIERS for kind in self.kinds)]

    @property
    def strong(self) -> Tensor:
        """The strongest words, as many as the paper's baselines have: what the subspace is fitted to."""
        return self.order[:MOST]

    def strongest(
        self,
        n: int = 20,
        kind: str | Sequence[str] | None = None,
        by: str = "strength",
        threshold: float | None = None,
    ) -> list[str]:
        """The n strongest words.

        kind: one kind or several, such as "negator" or "negators"; by default all modifiers, by the norm all words.
        by: `strength` orders by what of it is certain, `norm` is the paper's ranking.
        threshold: the smallest norm or size of strength."""
        if by not in ("strength", "norm"):
            raise RnnlensError(f"by is {quoted(by)}: expected strength or norm")
        order = self.order if by == "strength" else self.norm.argsort(descending=True)
        size = self.strength.abs() if by == "strength" else self.norm
        kinds = kinds_of(kind or (MODIFIERS if by == "strength" else KINDS))
        rows = [i for i in order.tolist() if self.kinds[i] in kinds]
        return [self.words[i] for i in rows if threshold is None or float(size[i]) >= threshold][:n]

    def rank(self, word: str, by: str = "strength") -> int:
        """The place of a word, from 1."""
        order = self.order if by == "strength" else self.norm.argsort(descending=True)
        return 1 + order.tolist().index(self.row(word))

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words)}

    def row(self, word: str) -> int:
        if word not in self._rows:
            raise UnknownWord(f"{quoted(word)} is not among the {len(self)} words: raise `top`, or check its spelling")
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
        """The table's columns, in the words' own order."""
        return dict(self._columns)

    def table(self, **more: Sequence[Any]) -> DataFrame:
        """A polars DataFrame, strongest first; more columns (in the words' order) may be added."""
        import polars

        frame = polars.DataFrame({**self.columns(), **more})
        return frame[self.order.cpu().numpy()]

    def write(self, path: Path | str, **more: Sequence[Any]) -> Path:
        """Save the table as .csv or .parquet. A file there is replaced only if it is such a table. In a .csv file,
        texts that a spreadsheet would run as a formula (they begin with = + - @ or a tab) get a `'` in front."""
        import polars

        path = check_output(path, "a table", *TABLES)
        with atomic_file(path) as temporary:
            table = self.table(**more)
            if path.suffix.lower() == ".csv":
                table.with_columns(polars.selectors.string().str.replace(FORMULA, "'$1")).write_csv(temporary)
            else:
                table.write_parquet(temporary)
        return path

    def _facts(self) -> Facts:
        return [
            ("words", len(self)), ("modifiers", len(self.selected)), ("networks", self.networks),
            ("unclear", sum(kind == "unclear" for kind in self.kinds)),
        ]  # fmt: skip

    def _drawing(self) -> str:
        names = ("word", "kind", "strength", "error", "valence", "norm", "tau", "count")
        rows = [[self._columns[name][i] for name in names] for i in self.order[:30].tolist()]
        return table_html(rows, names)

    def __repr__(self) -> str:
        first = ", ".join(f"{word} {self[word]['strength']:+.2f}" for word in self.strongest(8))
        return printable(f"Modifiers({len(self.selected)} of {len(self)} words: {first} …)")

    def results(self, most: int = 300, also: Sequence[str] = ()) -> dict[str, Any]:
        """For results.json, under `modifiers`: the strongest words, and some more by name."""
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

    def asymmetry(self) -> dict[str, Any]:
        """§11: how many negators, diminishers and intensifiers there are, and how strong they are on average."""
        found: dict[str, Any] = {}
        for kind in MODIFIERS:
            rows = [i for i, of in enumerate(self.kinds) if of == kind]
            found[kind] = {"n": len(rows), "mean_strength": float(self.strength[rows].mean()) if rows else None}
        return found


@torch.no_grad()
def find_modifiers(
    network: Network | Sequence[Network],
    line: LineAttractor | Sequence[LineAttractor],
    top: int = 10_000,
    probes: Probes | None = None,
) -> Modifiers:
    """Measure the `top` most frequent words as modifiers.

    probes: by default the words that the network itself reads most strongly. Several networks with the same words, each
    with its line: strengths are their mean, and the error says how much they differ; the rest is of the first.
    """
    if not isinstance(network, Network):
        lines = [line] if isinstance(line, LineAttractor) else list(line)
        if not network or len(lines) != len(network):
            raise RnnlensError(f"got {len(network)} networks and {len(lines)} lines: expected a line for each")
        return _consensus([find_modifiers(n, at, top, probes) for n, at in zip(network, lines, strict=True)])
    assert isinstance(line, LineAttractor)
    line.check_blank()
    probes = probes or Probes.from_network(network, line)
    ids = common_words(network, top)
    assert network.vocab is not None and network.E is not None
    words, h_star = network.E.detach()[ids], line.h_star
    h_mod = network.step(h_star.expand(len(ids), -1), words)
    found = strengths(network, line, ids, probes)
    e = probes.inputs(network)
    barcode = linear_effects(network, h_mod, e) - linear_effects(network, h_star, e)
    positive, negative = (part.mean(-1) for part in probes.split(barcode))
    seen = network.vocab.counts
    counts = None if seen is None else torch.as_tensor(seen, device=ids.device)[ids]
    read = None if seen is None else float(sum(seen))
    norm = input_change(network, h_mod, h_star)
    errors = torch.stack([found.from_probes, found.from_places, training_error(found.moves, read)])
    check_measured(strength=found.strength, error=errors, valence=found.valence, norm=norm)
    measured = Modifiers(
        network, line, probes, network.vocab.decode(ids.tolist()), ids, counts, h_mod, found.strength, errors,
        found.valence, found.own, found.moves, norm, float(input_size(network, h_star)), positive, negative,
        torch.full_like(norm, torch.nan),
    )  # fmt: skip
    return replace(measured, tau=_taus(measured))


def _taus(found: Modifiers) -> Tensor:
    """τ (M,) of the strongest words, NaN for the others."""
    tau, rows = torch.full_like(found.norm, torch.nan), found.strong
    if len(rows):
        tau[rows] = fit_exponential(fading(found.network, found.line, found.h_mod[rows], found.probes)).tau.to(tau)
    return tau


def _histogram(size: Tensor, bins: int = 60) -> dict[str, list[float]]:
    """Counts in bins that are even in the logarithm, up to the largest; the smallest hundredth is in the first."""
    size = size.double().cpu()
    high = math.log10(max(float(size.max()), 1e-30))
    low = max(math.log10(max(float(size.quantile(0.01)), 1e-30)), high - 6)
    edges = torch.linspace(low, high, bins + 1, dtype=torch.float64) if high > low else torch.tensor([low, low + 1])
    counts = torch.histc(size.clamp(min=10**low).log10(), len(edges) - 1, low, float(edges[-1]))
    return {"edges": (10**edges).tolist(), "counts": counts.tolist()}


def _consensus(found: list[Modifiers]) -> Modifiers:
    """One table for several networks: the mean of their strengths. The error of training is that of a mean, from how
    much the networks differ, together with what the rule for single networks expects."""
    first, k = found[0], len(found)
    for other in found[1:]:
        if other.words != first.words:
            raise RnnlensError("the networks do not know the same words: a consensus needs one vocabulary")

    def all_of(name: str) -> Tensor:
        return torch.stack([getattr(one, name).to(first.strength) for one in found])

    strength, errors, tau = all_of("strength"), all_of("errors"), all_of("tau")
    apart = (strength - strength.mean(0)).square().sum(0)
    expected = errors[:, 2].square().mean(0)
    training = ((PRIOR_SEEDS * expected + apart) / (PRIOR_SEEDS + k - 1) / k).sqrt()
    return replace(
        first, strength=strength.mean(0), own=all_of("own").mean(0), moves=all_of("moves").mean(0),
        valence=all_of("valence").mean(0), norm=all_of("norm").mean(0), on_positive=all_of("on_positive").mean(0),
        on_negative=all_of("on_negative").mean(0), tau=tau.nanmean(0), members=tuple(found),
        errors=torch.stack([*(errors[:, part].square().mean(0).sqrt() / k**0.5 for part in (0, 1)), training]),
    )  # fmt: skip
