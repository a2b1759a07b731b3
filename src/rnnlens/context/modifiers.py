"""Which words are modifiers: after them, other words are read differently (§5.1, Fig. 3).

Measures of a word, at h_mod = F(h*, word):

norm         ‖J_inp(h_mod) − J_inp(reference)‖_F, the paper's. With reference `fixed` (h*, the paper's) strong valence
             words score high, because they move far along the line; with `nearest` the change along it is left out.
interaction  needs no linearisation: by how much the full effects of probe words differ from those at the point of the
             line nearest to h_mod, positive probes less negative ones, and less what a blank input does in its place.
             Above 0 it stresses valence, below 0 it weakens or flips it.
score        what lists and subspaces use: by what share the word changes the full effect of the next word, the probes'
             contrast at h_mod over that at h*, less 1 (−1 takes the effect away, −2 flips it, +1 doubles it); shrunk by
             how little the network has seen of the word: n/(n + prior) of it for a word seen n times. It is 0 for
             valence words: words whose own effect is larger than what they change in the effect of others.
             Over several networks trained independently, the mean: noise does not repeat itself.
sure         the one to find words by: how strongly probe words are changed for good, as far as it is more than chance
             among words of the same valence, and shrunk likewise (`context.strength`); over several networks, that of
             their mean strength. docs/validation.md has the evidence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from rnnlens.artifacts import atomic_file
from rnnlens.context.effects import effects, linear_effects
from rnnlens.context.probes import Probes, common_words
from rnnlens.context.strength import beyond_valence, strengths, sure_scores
from rnnlens.display import Facts, Shown, table_html
from rnnlens.dynamics import LineAttractor
from rnnlens.dynamics.jacobians import input_change, input_size
from rnnlens.errors import RnnlensError, quoted
from rnnlens.networks import Network, check_words
from rnnlens.replacing import check_output
from rnnlens.terminal import printable

if TYPE_CHECKING:
    from polars import DataFrame

    from rnnlens.context.documents import Borne

Reference = Literal["fixed", "nearest"]
FORMULA = "^([=+\\-@\t\r\n＝＋－＠])"  # how a cell begins that spreadsheets run (OWASP); as in page/script/table.js
NEGATES = 0.5  # a word that takes away at least this share of valence is a negator, one that takes less a diminisher
PRIOR = 300.0  # how many occurrences outweigh the belief that a word modifies nothing
CHANGES = 0.1  # a word that changes valence by less than this share is neither


MOST = 400
TABLES = ("csv", "parquet")  # what a table of words is saved as


@dataclass(frozen=True, eq=False)
class Modifiers(Shown):
    """Words (M), most frequent first, with every measure.

    ids           (M,)    in the network's vocabulary
    counts        (M,)    how often each was seen in training; None where nobody counted
    h_mod         (M, N)  F(h*, word)
    norm          (M,)    ‖ΔJ_inp‖_F against `reference`; `norms` has both
    relative      (M,)    the same as a share of ‖J_inp(h*)‖_F
    interaction   (M,)    the probes' contrast of the change in full effects
    positive, negative  (M,)  the mean change of the linear effect on positive and negative probes: the barcode's means
    share         (M,)    the barcode's contrast as a share of valence itself: −1 makes words neutral, −2 flips them
    valence       (M,)    the word's own full effect at h*; `lasting`: what of it lasts; over several networks,
                          their mean, each by its own scale
    score         (M,)    by what share the word changes the full effect of the next word, shrunk for rare words, 0 for
                          valence words, whose own effect is larger than that; over several networks, their mean
    strength      (M,)    the lasting change of strong probes' full effects as a share, beyond that of like words
    sure          (M,)    the strength as far as it is sure; over several networks, that of their mean strength
    kinds                 negator, intensifier, diminisher, or other
    threshold             of `score`: modifiers are above it in size
    members               of a consensus: each network's own
    split_half            correlation of the interactions measured with every other probe word with those of the rest:
                          how little depends on the choice of probes
    """

    network: Network = field(repr=False)
    line: LineAttractor = field(repr=False)
    probes: Probes = field(repr=False)
    reference: Reference
    words: list[str]
    ids: Tensor
    counts: Tensor | None
    h_mod: Tensor
    norms: dict[str, Tensor]
    scale: float
    interaction: Tensor
    positive: Tensor
    negative: Tensor
    share: Tensor
    valence: Tensor
    score: Tensor
    lasting: Tensor
    strength: Tensor
    sure: Tensor
    kinds: list[str]
    threshold: float
    split_half: float | None = None
    networks: int = 1
    members: tuple[Modifiers, ...] = field(default=(), repr=False)

    @property
    def norm(self) -> Tensor:
        return self.norms[self.reference]

    @property
    def relative(self) -> Tensor:
        return self.norm / self.scale

    def __len__(self) -> int:
        return len(self.words)

    @property
    def order(self) -> Tensor:
        """Rows by the size of `score`, strongest first."""
        return self.score.abs().argsort(descending=True)

    @property
    def selected(self) -> Tensor:
        """Rows of the modifiers, strongest first."""
        return self.order[: int((self.score.abs() > self.threshold).sum())]

    @property
    def strong(self) -> Tensor:
        """The strongest words, as many as the paper's baselines have: what the subspace is fitted to."""
        return self.order[:MOST]

    def strongest(self, n: int = 20, kind: str | Sequence[str] | None = None, by: str = "score") -> list[str]:
        """The n strongest words by `score`, `sure`, `norm` or `interaction`, of one kind, or some kinds, if named."""
        kinds = {kind} if isinstance(kind, str) else set(self.kinds if kind is None else kind)
        order = getattr(self, by).abs().argsort(descending=True).tolist()
        return [self.words[i] for i in order if self.kinds[i] in kinds][:n]

    def rank(self, word: str, by: str = "score") -> int:
        """The place of a word, from 1, by the size of a measure."""
        size = getattr(self, by).abs()
        return 1 + int((size > size[self.row(word)]).sum())

    def in_documents(self, corpus: Any, tau: float | None = None, networks: bool = True) -> Borne:
        """What the labelled training documents of a corpus bear out of these words: the score that finds modifiers best
        in hard languages (docs/validation.md). tau: how far they usually reach, in words; if not given, as far as those
        that the networks are surest of. networks: whether these say what they know, or the documents speak alone."""
        from rnnlens.context.documents import in_documents
        from rnnlens.context.scope import usual_tau

        if self.network.vocab is None:
            raise RnnlensError("the network has no vocabulary: give it that of the corpus, `Network(vocab, …)`")
        check_words(self.network, corpus)
        if tau is None:
            members = [(one.network, one.line) for one in self.members] or [(self.network, self.line)]
            tau = usual_tau(members, self.probes, self.ids, self.sure, corpus)
        ids, lasting, sure = (values.cpu().numpy() for values in (self.ids, self.lasting, self.sure))
        return in_documents(corpus, ids, tau, lasting, sure) if networks else in_documents(corpus, ids, tau)

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words)}

    def row(self, word: str) -> int:
        if word not in self._rows:
            raise RnnlensError(f"{quoted(word)} is not among the {len(self)} words: raise `top`, or check its spelling")
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
            "score": self.score.tolist(),
            "norm_fixed": self.norms["fixed"].tolist(),
            "norm_nearest": self.norms["nearest"].tolist(),
            "relative": self.relative.tolist(),
            "interaction": self.interaction.tolist(),
            "on_positive": self.positive.tolist(),
            "on_negative": self.negative.tolist(),
            "share": self.share.tolist(),
            "valence": self.valence.tolist(),
            "strength": self.strength.tolist(),
            "sure": self.sure.tolist(),
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
        return [("words", len(self)), ("modifiers", len(self.selected)), ("above the threshold", self.threshold),
                ("networks", self.networks)]  # fmt: skip

    def _drawing(self) -> str:
        names = ("word", "kind", "score", "share", "valence", "norm_fixed", "count")
        rows = [[self._columns[name][i] for name in names] for i in self.order[:30].tolist()]
        return table_html(rows, names)

    def __repr__(self) -> str:
        return printable(
            f"Modifiers({len(self.selected)} of {len(self)} words above {self.threshold:.3f}: "
            f"{', '.join(self.strongest(8))} …)"
        )

    def results(self, most: int = 300, also: Sequence[str] = ()) -> dict[str, Any]:
        """For results.json, under `modifiers`: the strongest words, and some more by name."""
        columns = self.columns()
        rows = list(
            dict.fromkeys([*self.order[:most].tolist(), *(self.row(word) for word in also if word in self._rows)])
        )
        return {
            "n": len(self.selected),
            "threshold": self.threshold,
            "split_half": self.split_half,
            "norm_threshold": {name: _outlying(norm) for name, norm in self.norms.items()},
            "of": len(self),
            "reference": self.reference,
            "networks": self.networks,
            "scale": self.scale,
            "words": [{name: values[i] for name, values in columns.items()} for i in rows],
            "strongest_by_norm": {
                name: [[self.words[i], float(norm[i])] for i in norm.argsort(descending=True)[:50].tolist()]
                for name, norm in self.norms.items()
            },
            "histograms": {
                **{f"norm_{name}": _histogram(norm) for name, norm in self.norms.items()},
                "score": _histogram(self.score.abs()),
            },
            "asymmetry": self.asymmetry(),
        }

    def asymmetry(self) -> dict[str, Any]:
        """§11: how many negators and intensifiers there are among the strongest, and how strong they are on average."""
        rows = self.strong.tolist()
        found: dict[str, Any] = {}
        for kind in ("negator", "intensifier", "diminisher", "other"):
            of_kind = [i for i in rows if self.kinds[i] == kind]
            shares = self.share[of_kind]
            found[kind] = {"n": len(of_kind), "mean_share": float(shares.mean()) if of_kind else None}
        return found


@torch.no_grad()
def find_modifiers(
    network: Network | Sequence[Network],
    line: LineAttractor | Sequence[LineAttractor],
    top: int = 10_000,
    reference: Reference = "fixed",
    probes: Probes | None = None,
    threshold: float | None = None,
    prior: float = PRIOR,
) -> Modifiers:
    """Measure the `top` most frequent words as modifiers.

    reference: what `norm` is measured against. threshold: how large a modifier's score is at least; by default three
    robust standard deviations of all words' scores. prior: how many occurrences outweigh the belief that a word
    modifies nothing. Several networks with the same words, each with its line: scores and barcodes are their mean, the
    rest is of the first.
    """
    if reference not in ("fixed", "nearest"):
        raise RnnlensError(f"reference is {quoted(reference)}: expected fixed or nearest")
    if not isinstance(network, Network):
        lines = [line] if isinstance(line, LineAttractor) else list(line)
        if not network or len(lines) != len(network):
            raise RnnlensError(f"got {len(network)} networks and {len(lines)} lines: expected a line for each")
        return _consensus(
            [
                find_modifiers(n, at, top, reference, probes, threshold, prior)
                for n, at in zip(network, lines, strict=True)
            ],
            threshold,
        )
    assert isinstance(line, LineAttractor)
    line.check_blank()
    probes = probes or Probes.from_network(network, line)
    ids = common_words(network, top)
    assert network.vocab is not None and network.E is not None
    e, h_star = probes.inputs(network), line.h_star
    h_mod = network.step(h_star.expand(len(ids), -1), network.E.detach()[ids])
    nearest = line.nearest(h_mod)
    read = torch.cat([h_mod, network.step(h_star).unsqueeze(0)])  # the last after a blank input
    on_line, after = effects(network, line.knots, e), effects(network, read, e)

    def interact(some: Probes, columns: Tensor) -> Tensor:
        along = some.contrast(on_line[:, columns])  # what changes along the line, interpolated
        beyond = some.contrast(after[:, columns]) - line.interpolate(along, read)
        return beyond[:-1] - beyond[-1]

    interaction = interact(probes, torch.arange(len(e), device=e.device))
    halves = [interact(*half) for half in _halves(probes, e.device)]
    base = linear_effects(network, h_star, e)
    barcode = linear_effects(network, h_mod, e) - base
    positive, negative = (part.mean(-1) for part in probes.split(barcode))
    share = probes.contrast(barcode) / probes.contrast(base)
    seen = network.vocab.counts
    counts = None if seen is None else torch.as_tensor(seen, device=ids.device)[ids]
    valence = effects(network, h_star, network.E.detach()[ids])
    usual = effects(network, h_star, e)
    ratio = probes.contrast(after[:-1]) / probes.contrast(usual) - 1
    score = _score(ratio, valence, usual, counts, prior)
    strength, lasting = strengths(network, h_star, ids, probes)
    strength = beyond_valence(strength, lasting)
    norms = {"fixed": input_change(network, h_mod, h_star), "nearest": input_change(network, h_mod, nearest)}
    measured = {"interaction": interaction, "share": share, "valence": valence, "score": score, "strength": strength,
                "norm": norms[reference]}  # fmt: skip
    wild = [name for name, values in measured.items() if not bool(values.isfinite().all())]
    if wild:
        raise RnnlensError(
            f"the {', '.join(wild)} of some words is not finite: the probe words have no effect at h*, or the weights "
            "are too large; train the network again, or pass other probes"
        )
    return Modifiers(
        network, line, probes, reference, network.vocab.decode(ids.tolist()), ids, counts, h_mod,
        norms, float(input_size(network, h_star)), interaction, positive, negative, share, valence, score,
        lasting, strength, sure_scores(strength, lasting, counts), _kinds(share, positive, negative, score),
        _threshold(score) if threshold is None else threshold,
        float(torch.corrcoef(torch.stack(halves).double())[0, 1]) if halves else None,
    )  # fmt: skip


def _halves(probes: Probes, device: torch.device) -> list[tuple[Probes, Tensor]]:
    """Every other probe word, and the rest, each with its columns; nothing where there are too few."""
    if min(len(probes.positive), len(probes.negative)) < 4:
        return []
    n = len(probes.positive)
    found = []
    for start in (0, 1):
        half = Probes(probes.positive[start::2], probes.negative[start::2], probes.source)
        columns = [*range(start, n, 2), *range(n + start, n + len(probes.negative), 2)]
        found.append((half, torch.tensor(columns, device=device)))
    return found


def kind_of(share: float, positive: float, negative: float) -> str:
    """By the sign pattern of a barcode's means: whether both valences change in the same sense, in which, how much."""
    if abs(share) < CHANGES or positive * negative > 0:  # hardly anything, or a shift of both
        return "other"
    return "intensifier" if share > 0 else "negator" if share <= -NEGATES else "diminisher"


def _kinds(share: Tensor, positive: Tensor, negative: Tensor, score: Tensor) -> list[str]:
    """The kind of each word; a valence word, whose score is 0, is no modifier."""
    rows = zip(share.tolist(), positive.tolist(), negative.tolist(), score.tolist(), strict=True)
    return [kind_of(*row[:3]) if row[3] else "other" for row in rows]


def _score(ratio: Tensor, valence: Tensor, usual: Tensor, counts: Tensor | None, prior: float) -> Tensor:
    """The share by which a word changes the full effect of the next word (M,), n/(n + prior) of it for a word seen n
    times: its mean given the data, if one occurrence says little of a word.

    0 for valence words: those whose own effect is larger than the change that they make to the effect of a probe word.
    usual: the effects of the probe words at h* (P,)."""
    others = ratio.abs() * usual.abs().mean()
    ratio = ratio.where(valence.abs() <= others, torch.zeros_like(ratio))
    return ratio if counts is None else ratio * (counts / (counts + prior)).to(ratio.dtype)


def _histogram(size: Tensor, bins: int = 60) -> dict[str, list[float]]:
    """Counts in bins that are even in the logarithm, up to the largest; the smallest hundredth is in the first."""
    size = size.double().cpu()
    high = math.log10(max(float(size.max()), 1e-30))
    low = max(math.log10(max(float(size.quantile(0.01)), 1e-30)), high - 6)
    edges = torch.linspace(low, high, bins + 1, dtype=torch.float64) if high > low else torch.tensor([low, low + 1])
    counts = torch.histc(size.clamp(min=10**low).log10(), len(edges) - 1, low, float(edges[-1]))
    return {"edges": (10**edges).tolist(), "counts": counts.tolist()}


def _outlying(norm: Tensor) -> dict[str, float]:
    """Three robust standard deviations above the median, in the logarithm: the paper's threshold of 0.1 depends on the
    scale of inputs; and how many words are above it."""
    size = norm.double().clamp(min=1e-300).log()
    middle = size.median()
    level = middle + 3 * (size - middle).abs().median() / 0.6745
    return {"threshold": float(level.exp()), "n": int((size > level).sum())}


def _threshold(score: Tensor) -> float:
    """Three robust standard deviations, since most words modify nothing; and at least a hundredth of valence."""
    return max(3 * float(score.abs().median()) / 0.6745, 0.01)


def _consensus(found: list[Modifiers], threshold: float | None) -> Modifiers:
    """One table for several networks: scores and barcodes averaged."""
    first = found[0]
    for other in found[1:]:
        if other.words != first.words:
            raise RnnlensError("the networks do not know the same words: a consensus needs one vocabulary")
    score, share, positive, negative, strength = (
        torch.stack([getattr(one, name).to(first.score) for one in found]).mean(0)
        for name in ("score", "share", "positive", "negative", "strength")
    )
    lasting = torch.stack([(one.lasting / one.lasting.std()).to(first.score) for one in found]).mean(0)
    return replace(
        first, score=score, strength=strength, lasting=lasting, sure=sure_scores(strength, lasting, first.counts),
        share=share, positive=positive, negative=negative,
        kinds=_kinds(share, positive, negative, score), networks=len(found), members=tuple(found),
        threshold=_threshold(score) if threshold is None else threshold,
    )  # fmt: skip
