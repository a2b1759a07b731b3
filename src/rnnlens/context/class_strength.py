"""Strengths of words in a network with several classes: how they change the evidence that the next word adds.

The evidence of C classes is their logits, centered over classes. E[j, k] is what probe words of class j add to the
evidence of class k on average, beyond a blank input, minus the mean of this over all j. E* is E at the neutral slow
point h*, E' is E right after a word. The strength of the word is the factor by which it changes E, minus 1:

    strength = Σ E' E* / Σ E* E* − 1   (the least-squares factor, over all j and k)

and its strength for one class k is the same with only the column k. −1 removes the evidence of the next word, −2
reverses it, +1 doubles it. For two classes this is the strength of `strength.py`, with the same standard errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.ranges import check_reading, in_range
from rnnlens.context.class_probes import ClassProbes
from rnnlens.context.class_table import ClassStrengths
from rnnlens.context.effects import BLOCK, effects
from rnnlens.context.probes import common_words
from rnnlens.context.strength import check_measured, relative_moves, training_error
from rnnlens.dynamics import ClassGeometry
from rnnlens.dynamics.class_places import slow_point_at
from rnnlens.networks import Network

MANY, FEW = 72, 36  # probe words of all classes, at h* and at other places
PROBED = 30  # most classes that have probe words; those of more are evenly spaced
PLACES = 2  # other places on the attractor where strengths are measured, one logit towards a class each


@dataclass(frozen=True, eq=False)
class Gains:
    """Strengths of M words: overall (M,) and by class (M, C), each with its standard error over probe words."""

    strength: Tensor
    error: Tensor
    by_class: Tensor
    errors: Tensor


def centered(logits: Tensor) -> Tensor:
    """Evidence: values (..., C) of classes minus their mean."""
    return logits - logits.mean(-1, keepdim=True)


def gains(usual: Tensor, after: Tensor, sizes: Sequence[int]) -> Gains:
    """Strengths from the evidence that probes add at h*, (V, C), and after each of M words, (M, V, C).

    sizes: how many of the V probes are of each class, in order. The error is that of a weighted sum of means over
    probes, from how much the probes of a class deviate from the common factor."""
    before, changed = (torch.stack([part.mean(-2) for part in x.split(list(sizes), -2)], -2) for x in (usual, after))
    before = before - before.mean(-2, keepdim=True)  # (J, C); centering `changed` too would change no sum below
    squares = before.square().sum(0)
    tiny = torch.finfo(squares.dtype).tiny
    by_class = (changed * before).sum(1) / squares.clamp(min=tiny) - 1
    strength = (changed * before).sum((1, 2)) / squares.sum().clamp(min=tiny) - 1
    variance, variances = torch.zeros_like(strength), torch.zeros_like(by_class)
    parts = zip(before, usual.split(list(sizes)), after.split(list(sizes), 1), strict=True)
    for weight, own, later in parts:  # one class of probes at a time
        if len(own) < 2:
            continue
        alone = (later - (1 + by_class).unsqueeze(1) * own) * (weight / squares.clamp(min=tiny))
        variances += _variance(alone) / len(own)
        together = (later - (1 + strength).view(-1, 1, 1) * own) @ weight / squares.sum().clamp(min=tiny)
        variance += _variance(together) / len(own)
    return Gains(strength, variance.sqrt(), by_class, variances.sqrt())


def _variance(x: Tensor) -> Tensor:
    """The variance of x (M, V, …) over V probes; `x.var(1)` takes many times as long for a few of them."""
    return (x - x.mean(1, keepdim=True)).square().sum(1) / (x.shape[1] - 1)


@torch.no_grad()
@in_range("class_strengths")
def class_strengths(
    network: Network, geometry: ClassGeometry, probes: ClassProbes | None = None, top: int = 10_000
) -> ClassStrengths:
    """Measure the `top` most frequent words as modifiers of the evidence of all classes.

    geometry: of the same network, whose neutral point is h*. probes: by default the words that add most to each class
    in the network itself. Errors combine other probe words, other places on the attractor and another training, as
    those of `find_modifiers`."""
    _check(network, geometry)
    h_star = geometry.neutral
    probes = ClassProbes.from_network(network, h_star) if probes is None else probes
    probes = _spaced(probes.known_to(network))
    assert network.vocab is not None and network.E is not None
    ids, counts = common_words(network, top), network.vocab.counts
    words = network.E.detach()[ids]
    many, few = (probes.some(max(2, n // len(probes.words))) for n in (MANY, FEW))
    here = _measured(network, h_star, words, many)
    places = [_measured(network, place, words, few) for place in _places(network, geometry)]
    own = centered(effects(network, h_star, words))
    usual = centered(effects(network, h_star, many.inputs(network)))
    training = training_error(relative_moves(network, h_star, ids), None if counts is None else float(sum(counts)))

    def error(of_probes: Tensor, measures: list[Tensor]) -> Tensor:
        from_places = torch.stack(measures).std(0) / len(measures) ** 0.5
        of_training = training if of_probes.ndim == 1 else training.unsqueeze(1)
        return (of_probes.square() + from_places.square() + of_training.square()).sqrt()

    every = [here, *places]
    errors = error(here.error, [one.strength for one in every]), error(here.errors, [one.by_class for one in every])
    check_measured(strength=here.strength, by_class=here.by_class, error=errors[1])
    return ClassStrengths(
        network, h_star, many, network.vocab.decode(ids.tolist()), ids, here.strength, errors[0], here.by_class,
        errors[1], own, own.norm(dim=-1) / usual.norm(dim=-1).mean(),
    )  # fmt: skip


def _check(network: Network, geometry: ClassGeometry) -> None:
    if not isinstance(geometry, ClassGeometry):
        raise RnnlensError(
            f"geometry is {quoted(type(geometry).__name__)}: expected the result of rnnlens.class_geometry(network)"
        )
    if not isinstance(network, Network) or not network.several_classes:
        raise RnnlensError("this network does not have several classes: its strengths are those of find_modifiers")
    if network.ordered:
        raise RnnlensError(
            f"the {len(network.classes)} classes are ordered and read on one scale, so that a word has one strength: "
            "use find_modifiers(network.of_class(), …)"
        )
    if geometry.names != network.classes or len(geometry.neutral) != network.size:
        raise RnnlensError("the geometry is of another network: pass rnnlens.class_geometry(network)")
    check_reading("geometry", network, geometry.network, geometry.neutral)
    if network.E is None:
        raise RnnlensError("this network has no words: expected a network with a vocabulary")


def _spaced(probes: ClassProbes) -> ClassProbes:
    """The probes of at most `PROBED` classes."""
    names = list(probes.words)
    if len(names) <= PROBED:
        return probes
    some = [names[len(names) * i // PROBED] for i in range(PROBED)]
    return ClassProbes({name: probes.words[name] for name in some}, probes.source)


def _places(network: Network, geometry: ClassGeometry) -> list[Tensor]:
    """Slow points at which a class is one logit above the mean of the others, for a few classes."""
    C = len(network.classes)
    chosen = sorted({C * i // PLACES for i in range(PLACES)})
    targets = centered(torch.eye(C, dtype=network.h0.dtype, device=network.h0.device))[chosen]
    return [slow_point_at(network, geometry.states, wanted) for wanted in targets]


def _measured(network: Network, h: Tensor, words: Tensor, probes: ClassProbes) -> Gains:
    """Strengths of embedded words (M, D) at a state, some words at a time."""
    e = probes.inputs(network)
    usual = centered(effects(network, h, e))
    parts = []
    for some in words.split(max(1, BLOCK // usual.numel())):
        after = effects(network, network.step(h, some), e)
        parts.append(gains(usual, centered(after), probes.sizes))
    return Gains(*(torch.cat([getattr(part, name) for part in parts]) for name in Gains.__dataclass_fields__))
