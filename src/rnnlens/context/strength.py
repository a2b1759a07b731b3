"""The strength of a word: the signed share by which it changes the effect of the next word, with its standard error.

The effect of a word v at a state h is what it adds to the logit beyond a blank input, w·[F(h, v) − F(h, 0)]. C(h) is
the mean effect of positive probe words at h minus that of negative ones. The strength of a word is

    C(F(h*, word)) / C(h*) − 1

−1 removes the effect of the next word, −2 reverses it, +1 doubles it, 0 does not change it. Effects are exact, not
linearized.

The error combines three sources: other probe words, other places on the line than h*, and another training of the same
network. For a single network the last one follows from a rule that was fitted to networks trained with several seeds
(`reproduction.errors`); for several networks it is measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.context.effects import STATES, blank_step, effects, first_order_change, states_after
from rnnlens.context.probes import Probes, common_words
from rnnlens.dynamics import LineAttractor
from rnnlens.dynamics.features import states_at_once
from rnnlens.dynamics.jacobians import recurrent_input
from rnnlens.networks import Network
from rnnlens.networks.parallel import cores_for, in_parallel

NEGATES = -0.5  # a negator has at most this strength
CHANGES = 0.1  # a word with a smaller |strength| has the kind none
LEAST_ERRORS = 2.0  # a clear strength is at least this number of errors from 0
FALSE = 0.1  # expected share of clear words whose true strength is 0, at most
MODIFIERS = ("negator", "diminisher", "intensifier")
KINDS = ("none", *MODIFIERS, "valence", "unclear")
PLACES = (-1.0, 1.0)  # logits of other places on the line where strengths are measured; its ends are saturated
ENOUGH, FEW = 40, 20  # probe words of each sign, at h* and elsewhere; more would change strengths little
COMMON = 10_000  # most frequent words, whose median is the unit of `moves`
RULE = Path(__file__).with_name("errors.json")


def kinds_of(given: str | Iterable[str]) -> set[str]:
    """The set of one kind or several, checked; modifiers may be in the plural, as in `negators`."""
    singular = {f"{kind}s": kind for kind in MODIFIERS}
    names = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    kinds = [singular.get(name, name) for name in names]
    unknown = next((name for name, kind in zip(names, kinds, strict=True) if kind not in KINDS), None)
    if unknown is not None:
        raise RnnlensError(f"kind is {quoted(unknown)}: expected one or several of {', '.join((*KINDS[1:], KINDS[0]))}")
    return set(kinds)


@dataclass(frozen=True, eq=False)
class Strengths:
    """Measures of M words, each (M,).

    valence      a word's own effect at h*, in logits; own: in units of the mean |effect| of a probe word
    moves        how far the word moves the state beyond a blank input, in units of the median over common words
    from_probes, from_places  two parts of the error; the third is `training_error`
    norm         ‖ΔJ_inp‖_F; on_positive, on_negative: the mean barcode of positive and of negative probes, to first
                 order; all NaN if they were not asked for
    """

    strength: Tensor
    valence: Tensor
    own: Tensor
    moves: Tensor
    from_probes: Tensor
    from_places: Tensor
    norm: Tensor
    on_positive: Tensor
    on_negative: Tensor


@torch.no_grad()
def strengths(
    network: Network, line: LineAttractor, ids: Tensor, probes: Probes, first_order: bool = False
) -> Strengths:
    """Measure words, given by their ids (M,), at h* and at other places on the line. first_order: measure norms and
    barcodes too, which need the same products with the states after the words."""
    assert network.E is not None
    words, many, few = network.E.detach()[ids], probes.some(ENOUGH), probes.some(FEW)
    e, blank = many.inputs(network), network.step(line.h_star)
    # To first order, the mean effect of the positive probes is the effect of their mean, and so for the negative ones.
    means = torch.stack([part.mean(-1) for part in probes.split(probes.inputs(network).t())])
    change = first_order_change(network, line.h_star, means) if first_order else None

    def measure(some: Tensor) -> tuple[Tensor, ...]:
        h = network.step(line.h_star, some)
        u = recurrent_input(network, h)
        own, moved = network.logit(h) - network.logit(blank), (h - blank).norm(dim=-1)
        unknown = own.new_full((len(h), 1), torch.nan)
        norm, barcodes = (unknown.squeeze(1), unknown.expand(-1, 2)) if change is None else change(h, u)
        return effects(network, h, e, u=u), own, moved, norm, barcodes

    found = in_parallel(measure, _parts(network, words), network)
    after, valence, moved, norm, barcodes = map(torch.cat, zip(*found, strict=True))
    usual = effects(network, line.h_star, e)
    strength, from_probes = _ratio(usual, after, many)
    places = [line.at(logit) for logit in PLACES]
    elsewhere = [_elsewhere(network, h, words, few) for h in places]
    from_places = torch.stack([strength, *elsewhere]).std(0) / (1 + len(places)) ** 0.5
    moves = relative_moves(network, line.h_star, ids, moved)
    own = valence / usual.abs().mean()
    return Strengths(strength, valence, own, moves, from_probes, from_places, norm, *barcodes.unbind(-1))


def _elsewhere(network: Network, h: Tensor, words: Tensor, probes: Probes) -> Tensor:
    """Strengths (M,) of embedded words (M, D) at another state (N,)."""
    e = probes.inputs(network)
    after = in_parallel(lambda some: effects(network, network.step(h, some), e), _parts(network, words), network)
    return _ratio(effects(network, h, e), torch.cat(after), probes)[0]


def _parts(network: Network, words: Tensor) -> Sequence[Tensor]:
    """Embedded words (M, D) in parts, each for one core, the states after which fit into memory."""
    most = min(states_at_once(network), STATES // network.size, -(-len(words) // cores_for(network)))
    return words.split(max(1, most))


def relative_moves(network: Network, h: Tensor, ids: Tensor, moved: Tensor | None = None) -> Tensor:
    """How far each word, given by its id (M,), moves a state (N,) beyond a blank input, (M,), in units of the median
    over common words. moved: the same in the state's own units, if it is known."""

    def moves(ids: Tensor) -> Tensor:
        assert network.E is not None
        after, blank = states_after(network, h, network.E.detach()[ids]), network.step(h)
        return torch.cat([(states - blank).norm(dim=-1) for states in after])

    moved, common = moves(ids) if moved is None else moved, common_words(network, COMMON)
    known = torch.equal(ids[: len(common)], common)  # the most frequent words come first
    median = (moved[: len(common)] if known else moves(common)).median()
    return moved / median.clamp(min=torch.finfo(median.dtype).tiny)


def _ratio(usual: Tensor, after: Tensor, probes: Probes) -> tuple[Tensor, Tensor]:
    """Strengths (M,) and their standard errors over the choice of probes."""
    base = 2 * probes.contrast(usual)
    strength = 2 * probes.contrast(after) / base - 1
    left = probes.split(after - (1 + strength).unsqueeze(1) * usual)  # deviation of each probe from the common factor
    variance = sum((part.var(-1) / part.shape[-1] for part in left if part.shape[-1] > 1), torch.zeros_like(strength))
    return strength, variance.sqrt() / base.abs()


def training_error(moves: Tensor, read: float | None) -> Tensor:
    """Standard deviation (M,) of the strength over training seeds, predicted by the rule of errors.json.

    It rises with `moves` towards `most`, and is larger for networks trained on less text, within the range of sizes to
    which the rule was fitted. read: number of words in the training texts; None if they were not counted."""
    rule = _rule()
    read = rule["words"] if read is None else read
    scarce = (rule["words"] / min(max(read, rule["fewest"]), rule["words"])) ** rule["power"]
    return scarce * rule["most"] * moves / (moves + rule["half"])


@cache
def _rule() -> dict[str, float]:
    return json.loads(RULE.read_text(encoding="utf-8"))["rule"]


def clear_at(strength: Tensor, error: Tensor) -> float:
    """How many errors from 0 a strength must be to be called clear: at least 2, and more if few words are that far from
    0, so that at most a tenth of the clear words are expected to be false (the Benjamini-Hochberg procedure)."""
    size = (strength.abs() / error.clamp(min=torch.finfo(error.dtype).tiny)).double().sort(descending=True).values
    chance = torch.special.erfc(size / 2**0.5)  # both tails
    ranks = torch.arange(1, len(size) + 1, dtype=torch.float64, device=size.device)
    passed = (chance <= FALSE * ranks / max(1, len(size))).nonzero()
    if not len(passed):
        return float("inf")
    allowed = FALSE * (1 + int(passed[-1])) / len(size)
    return max(LEAST_ERRORS, float(2**0.5 * torch.special.erfinv(torch.tensor(1 - allowed, dtype=torch.float64))))


def kind_of(strength: float, error: float = 0.0, own: float = 0.0, clear: float = LEAST_ERRORS) -> str:
    """The kind of a word from its strength, its error, and its own effect in units of a probe word's.

    none: |strength| is below 0.1. unclear: the strength is less than `clear` errors from 0. valence: the word's own
    effect is larger than the change that it makes to the effect of a probe word."""
    if abs(strength) < CHANGES:
        return "none"
    if abs(strength) < clear * error:
        return "unclear"
    if abs(own) > abs(strength):
        return "valence"
    return "intensifier" if strength > 0 else "negator" if strength <= NEGATES else "diminisher"


def certain_first(strength: Tensor, error: Tensor, kinds: Sequence[str]) -> Tensor:
    """All rows (M,), by |strength| − 2 errors (the end of the ± 2 error interval nearer 0): modifiers first, then the
    other words, valence words last."""
    modifier = torch.tensor([kind in MODIFIERS for kind in kinds], device=strength.device)
    valence = torch.tensor([kind == "valence" for kind in kinds], device=strength.device)
    size = strength.abs() - LEAST_ERRORS * error
    bound = float(size.abs().max()) + 1 if len(size) else 1.0
    return (size + 2 * bound * modifier - 2 * bound * valence).argsort(descending=True)


@torch.no_grad()
def fading(network: Network, line: LineAttractor, h_mod: Tensor, probes: Probes, lags: int = 10) -> Tensor:
    """The strength (M, lags + 1) after 0, 1, … blank inputs, from the states h_mod (M, N) right after words."""
    few = probes.some(FEW)
    e = few.inputs(network)

    def contrasts(h: Tensor) -> Tensor:
        found, u = [], recurrent_input(network, h)
        for lag in range(lags + 1):
            if lag:
                h = blank_step(network, h, u)
                u = recurrent_input(network, h)
            found.append(few.contrast(effects(network, h, e, u=u)))
        return torch.stack(found, -1)

    parts = h_mod.split(max(1, -(-len(h_mod) // cores_for(network))))
    return torch.cat(in_parallel(contrasts, parts, network)) / contrasts(line.h_star) - 1


def check_measured(**measured: Tensor) -> None:
    """Raise an error if a measure is not finite."""
    not_finite = [name for name, values in measured.items() if not bool(values.isfinite().all())]
    if not_finite:
        raise RnnlensError(
            f"the {', '.join(not_finite)} of some words is not finite: the probe words have no effect at h*, or the "
            "weights are too large; train the network again, or pass other probes"
        )
