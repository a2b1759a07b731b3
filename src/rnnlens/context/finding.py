"""`find_modifiers`: measure the most frequent words, in one network or several (§5.1, Fig. 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import torch
from torch import Tensor

from rnnlens.common.errors import RnnlensError
from rnnlens.common.options import OBJECTS
from rnnlens.common.ranges import in_range
from rnnlens.context.decay import fit_exponential
from rnnlens.context.modifiers import Modifiers, table_of
from rnnlens.context.probes import Probes, common_words
from rnnlens.context.strength import check_measured, fading, strengths, training_error
from rnnlens.dynamics import LineAttractor
from rnnlens.networks import Network
from rnnlens.networks.matching import repeated

PRIOR_SEEDS = 4.0  # the weight, in networks, of the rule for the training error beside the networks that are given


@torch.no_grad()
@in_range("find_modifiers")
def find_modifiers(
    network: Network | Sequence[Network],
    line: LineAttractor | Sequence[LineAttractor],
    top: int = 10_000,
    probes: Probes | None = None,
) -> Modifiers:
    """Measure the `top` most frequent words as modifiers.

    probes: by default the words with the largest effects in the network itself. For several networks with the same
    words, each with its line, the table is a consensus: mean measures, and an error from how much the networks differ.
    """
    if isinstance(network, list | tuple):
        lines = [line] if isinstance(line, LineAttractor) else list(line)
        if not network or len(lines) != len(network):
            raise RnnlensError(f"got {len(network)} networks and {len(lines)} lines: expected a line for each")
        if repeated(network) is not None:
            raise RnnlensError("one network is given twice, and would count as two of a consensus: give each once")
        return _consensus([find_modifiers(*pair, top, probes) for pair in zip(network, lines, strict=True)])
    for name, given in (("network", network), ("line", line)):
        OBJECTS[name].check(name, given)
    network, line = cast(Network, network), cast(LineAttractor, line)
    line.check_blank()
    probes = Probes.from_network(network, line) if probes is None else probes
    ids = common_words(network, top)
    assert network.vocab is not None and network.E is not None
    modifiers = measured_words(network, line, ids, probes, first_order=True)
    check_measured(norm=modifiers.norm)
    return replace(modifiers, tau=_taus(modifiers))


def measured_words(
    network: Network, line: LineAttractor, ids: Tensor, probes: Probes, first_order: bool = False
) -> Modifiers:
    """The table of words, given by their ids (M,), with strengths and their errors; τ is NaN, and so are norms and
    barcodes without `first_order`."""
    assert network.vocab is not None
    measured, counts = strengths(network, line, ids, probes, first_order), network.vocab.counts
    training = training_error(measured.moves, None if counts is None else float(sum(counts)))
    errors = torch.stack([measured.from_probes, measured.from_places, training])
    check_measured(strength=measured.strength, error=errors, valence=measured.valence)
    return table_of(
        network,
        line,
        probes,
        ids,
        strength=measured.strength,
        errors=errors,
        valence=measured.valence,
        own=measured.own,
        moves=measured.moves,
        norm=measured.norm,
        on_positive=measured.on_positive,
        on_negative=measured.on_negative,
        tau=torch.full_like(measured.strength, torch.nan),
    )


def _taus(modifiers: Modifiers) -> Tensor:
    """τ (M,) of the strongest words, NaN for the others."""
    tau, rows = torch.full_like(modifiers.norm, torch.nan), modifiers.strong
    if len(rows):
        strength = fading(modifiers.network, modifiers.line, modifiers.after(rows), modifiers.probes)
        tau[rows] = fit_exponential(strength).tau.to(tau)
    return tau


def _consensus(members: list[Modifiers]) -> Modifiers:
    """One table for several networks: the mean of each measure. The training error is that of a mean: it combines how
    much the networks differ with the error that the rule for single networks predicts."""
    first, k = members[0], len(members)
    for other in members[1:]:
        if other.words != first.words:
            raise RnnlensError("the networks have different vocabularies: expected networks with the same words")

    def all_of(name: str) -> Tensor:
        return torch.stack([getattr(member, name).to(first.strength) for member in members])

    strength, errors, tau = all_of("strength"), all_of("errors"), all_of("tau")
    deviation = (strength - strength.mean(0)).square().sum(0)
    expected = errors[:, 2].square().mean(0)
    training = ((PRIOR_SEEDS * expected + deviation) / (PRIOR_SEEDS + k - 1) / k).sqrt()
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
        members=tuple(members),
        errors=torch.stack([*(errors[:, part].square().mean(0).sqrt() / k**0.5 for part in (0, 1)), training]),
    )
