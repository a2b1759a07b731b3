"""`find_modifiers`: measure the most frequent words, in one network or several (§5.1, Fig. 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from rnnlens.common.errors import RnnlensError
from rnnlens.context.decay import fit_exponential
from rnnlens.context.effects import linear_effects
from rnnlens.context.modifiers import Modifiers, table_of
from rnnlens.context.probes import Probes, common_words
from rnnlens.context.strength import check_measured, fading, strengths, training_error
from rnnlens.dynamics import LineAttractor
from rnnlens.dynamics.jacobians import input_change
from rnnlens.networks import Network

PRIOR_SEEDS = 4.0  # how many networks the rule for the error of training counts for, beside those that are given


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
    h_star = line.h_star
    h_mod = network.step(h_star.expand(len(ids), -1), network.E.detach()[ids])
    found = strengths(network, line, ids, probes)
    e = probes.inputs(network)
    barcode = linear_effects(network, h_mod, e) - linear_effects(network, h_star, e)
    positive, negative = (part.mean(-1) for part in probes.split(barcode))
    seen = network.vocab.counts
    norm = input_change(network, h_mod, h_star)
    training = training_error(found.moves, None if seen is None else float(sum(seen)))
    errors = torch.stack([found.from_probes, found.from_places, training])
    check_measured(strength=found.strength, error=errors, valence=found.valence, norm=norm)
    measured = table_of(
        network,
        line,
        probes,
        ids,
        strength=found.strength,
        errors=errors,
        valence=found.valence,
        own=found.own,
        moves=found.moves,
        norm=norm,
        on_positive=positive,
        on_negative=negative,
        tau=torch.full_like(norm, torch.nan),
    )
    return replace(measured, tau=_taus(measured))


def _taus(found: Modifiers) -> Tensor:
    """τ (M,) of the strongest words, NaN for the others."""
    tau, rows = torch.full_like(found.norm, torch.nan), found.strong
    if len(rows):
        tau[rows] = fit_exponential(fading(found.network, found.line, found.h_mod[rows], found.probes)).tau.to(tau)
    return tau


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
        first,
        strength=strength.mean(0),
        own=all_of("own").mean(0),
        moves=all_of("moves").mean(0),
        valence=all_of("valence").mean(0),
        norm=all_of("norm").mean(0),
        on_positive=all_of("on_positive").mean(0),
        on_negative=all_of("on_negative").mean(0),
        tau=tau.nanmean(0),
        members=tuple(found),
        errors=torch.stack([*(errors[:, part].square().mean(0).sqrt() / k**0.5 for part in (0, 1)), training]),
    )
