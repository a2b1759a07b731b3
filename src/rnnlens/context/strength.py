"""How strongly a word changes the effect of the next word, and how sure that is.

The effect of a word v at a state h is what it adds to the logit beyond a blank input, w·[F(h, v) − F(h, 0)]. C(h) is
the mean effect of positive probe words at h, less that of negative ones. The strength of a word is

    C(F(h*, word)) / C(h*) − 1 :

−1 takes the effect of the next word away, −2 flips it, +1 doubles it, 0 leaves it as it is. Nothing is linearised.

Its error is a standard error with three parts: other probe words, other places of the line than h*, and another
training of the same network. The last is estimated for a single network by a rule that was fitted to networks trained
with several seeds (`studies.errors`), and measured where several networks are given.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.context.effects import effects
from rnnlens.context.probes import Probes, common_words
from rnnlens.dynamics import LineAttractor
from rnnlens.networks import Network

NEGATES = -0.5  # a negator has at most this strength
CHANGES = 0.1  # a word with a strength of a smaller size changes nothing worth a name
LEAST_ERRORS = 2.0  # a clear strength is at least so many errors from 0
FALSE = 0.1  # share of clear words that may in truth be 0
MODIFIERS = ("negator", "diminisher", "intensifier")
KINDS = ("none", *MODIFIERS, "valence", "unclear")
PLACES = (-1.0, 1.0)  # logits of the places of the line where strengths are measured again; its ends are saturated
ENOUGH, FEW = 40, 20  # probe words of each side: at h*, and at other places and lags; more change little
COMMON = 10_000  # words whose median says how far a word usually moves the state
RULE = Path(__file__).with_name("errors.json")


def kinds_of(given: str | Iterable[str]) -> set[str]:
    """One kind or several, checked; modifiers may be in the plural, as in `negators`."""
    singular = {f"{kind}s": kind for kind in MODIFIERS}
    names = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    kinds = [singular.get(name, name) for name in names]
    unknown = next((name for name, kind in zip(names, kinds, strict=True) if kind not in KINDS), None)
    if unknown is not None:
        raise RnnlensError(f"kind is {quoted(unknown)}: expected one or several of {', '.join((*KINDS[1:], KINDS[0]))}")
    return set(kinds)


@dataclass(frozen=True, eq=False)
class Strengths:
    """Of M words, each (M,). valence: a word's own effect at h*; own: in units of the mean size of a probe word's.
    moves: how far the word moves the state beyond a blank input, in units of the median of the common words.
    from_probes, from_places: two parts of the error; the third depends on the training."""

    strength: Tensor
    valence: Tensor
    own: Tensor
    moves: Tensor
    from_probes: Tensor
    from_places: Tensor


@torch.no_grad()
def strengths(network: Network, line: LineAttractor, ids: Tensor, probes: Probes) -> Strengths:
    """Measure words, given by their ids (M,), at h* and at other places of the line."""
    assert network.E is not None
    words, some, few = network.E.detach()[ids], probes.some(ENOUGH), probes.some(FEW)
    usual, after = _effects(network, line.h_star, words, some.inputs(network))
    strength, error = _ratio(usual, after, some)
    places = [line.at(logit) for logit in PLACES]
    elsewhere = [_ratio(*_effects(network, h, words, few.inputs(network)), few)[0] for h in places]
    apart = torch.stack([strength, *elsewhere]).std(0) / (1 + len(places)) ** 0.5
    valence = effects(network, line.h_star, words)
    usually = _moved(network, line, network.E.detach()[common_words(network, COMMON)]).median()
    moves = _moved(network, line, words) / usually.clamp(min=torch.finfo(usually.dtype).tiny)
    return Strengths(strength, valence, valence / usual.abs().mean(), moves, error, apart)


def _moved(network: Network, line: LineAttractor, words: Tensor) -> Tensor:
    """How far embedded words (M, D) take the state from where a blank input takes it, from h*, (M,)."""
    return (network.step(line.h_star.expand(len(words), -1), words) - network.step(line.h_star)).norm(dim=-1)


def _effects(network: Network, h: Tensor, words: Tensor, e: Tensor) -> tuple[Tensor, Tensor]:
    """Effects of embedded probes (V, D) at a state, (V,), and after each of the embedded words (M, D), (M, V)."""
    return effects(network, h, e), effects(network, network.step(h.expand(len(words), -1), words), e)


def _ratio(usual: Tensor, after: Tensor, probes: Probes) -> tuple[Tensor, Tensor]:
    """Strengths (M,) and their standard errors over the choice of probes."""
    base = 2 * probes.contrast(usual)
    strength = 2 * probes.contrast(after) / base - 1
    left = probes.split(after - (1 + strength).unsqueeze(1) * usual)  # how each probe departs from the common factor
    variance = sum((part.var(-1) / part.shape[-1] for part in left if part.shape[-1] > 1), torch.zeros_like(strength))
    return strength, variance.sqrt() / base.abs()


def training_error(moves: Tensor, read: float | None) -> Tensor:
    """How much another seed would change the strength (M,): a standard deviation, by the rule of errors.json.

    It grows with how far a word moves the state, up to `most`; and it is larger throughout for networks that have read
    less text, within the range of texts with which the rule was fitted. read: how many words the network's training
    texts have; None where nobody counted."""
    rule = _rule()
    read = rule["words"] if read is None else read
    scarce = (rule["words"] / min(max(read, rule["fewest"]), rule["words"])) ** rule["power"]
    return scarce * rule["most"] * moves / (moves + rule["half"])


@cache
def _rule() -> dict[str, float]:
    return json.loads(RULE.read_text(encoding="utf-8"))["rule"]


def clear_at(strength: Tensor, error: Tensor) -> float:
    """How many errors from 0 a strength must be to be called clear: at least 2, and more where few of many words are
    that far from 0, so that of the words called clear at most a twentieth have the wrong sign by chance (Benjamini and
    Hochberg's procedure at 0.1)."""
    size = (strength.abs() / error.clamp(min=torch.finfo(error.dtype).tiny)).double().sort(descending=True).values
    chance = torch.special.erfc(size / 2**0.5)  # both tails
    ranks = torch.arange(1, len(size) + 1, dtype=torch.float64, device=size.device)
    found = (chance <= FALSE * ranks / max(1, len(size))).nonzero()
    if not len(found):
        return float("inf")
    allowed = FALSE * (1 + int(found[-1])) / len(size)
    return max(LEAST_ERRORS, float(2**0.5 * torch.special.erfinv(torch.tensor(1 - allowed, dtype=torch.float64))))


def kind_of(strength: float, error: float = 0.0, own: float = 0.0, clear: float = LEAST_ERRORS) -> str:
    """What a word is called by its strength, its error, and its own effect in units of a probe word's.

    none: it changes little. unclear: it may change nothing, because it is less than `clear` errors from 0. valence: its
    own effect is larger than the change that it makes to a probe word's."""
    if abs(strength) < CHANGES:
        return "none"
    if abs(strength) < clear * error:
        return "unclear"
    if abs(own) > abs(strength):
        return "valence"
    return "intensifier" if strength > 0 else "negator" if strength <= NEGATES else "diminisher"


@torch.no_grad()
def fading(network: Network, line: LineAttractor, h_mod: Tensor, probes: Probes, lags: int = 10) -> Tensor:
    """The strength (M, lags + 1) of words after 0, 1, … blank inputs, from the states h_mod (M, N) right after them."""
    few = probes.some(FEW)
    e = few.inputs(network)
    found, state, plain = [], h_mod, line.h_star
    for _ in range(lags + 1):
        found.append(few.contrast(effects(network, state, e)) / few.contrast(effects(network, plain, e)) - 1)
        state, plain = network.step(state), network.step(plain)
    return torch.stack(found, -1)


def check_measured(**measured: Tensor) -> None:
    """Refuse measures that are not finite."""
    wild = [name for name, values in measured.items() if not bool(values.isfinite().all())]
    if wild:
        raise RnnlensError(
            f"the {', '.join(wild)} of some words is not finite: the probe words have no effect at h*, or the weights "
            "are too large; train the network again, or pass other probes"
        )
