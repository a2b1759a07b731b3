"""Where does a network modify? A modifier's strength, attributed to parts of the state: layers, convolution buffers,
recurrent states.

A word m changes the effect of the next word v, because it leaves the network in another state: h_m = F(h, m) in place
of h. Interchange intervention: take some parts of the state from the run with m and the others from the run without it,
and measure v there. Let value(S) be the strength with the parts S from the run with m; value(none) is 0, and value(all)
is the strength itself. A part's share is its Shapley value: what it adds to the parts exchanged before it, averaged
over all orders in which parts can be exchanged. So the shares depend on no order, and they sum to the strength.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import Any

import torch
from torch import Tensor

from rnnlens.common.display import Shown, table_html
from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.ranges import in_range
from rnnlens.common.rows import chosen_rows
from rnnlens.context.effects import effects, word_inputs
from rnnlens.context.probes import Probes
from rnnlens.dynamics.inputs import given_states
from rnnlens.networks import Network
from rnnlens.networks.architectures import parts_of

Place = slice | Sequence[int] | Tensor
Measure = Callable[[frozenset[int]], Tensor]
EXACT = 6  # parts up to which all orders are taken
ORDERS = 64  # that are drawn for more parts, each with its reverse


@dataclass(frozen=True, eq=False, repr=False)
class Attribution(Shown):
    """The strengths of words, attributed to parts of the state.

    words     (M,)      modifiers
    parts     (P,)      names of the parts
    shares    (M, P)    what each part adds to the strength: its Shapley value; they sum to `strength`
    alone     (M, P)    the strength with only this part from the run with the word
    without   (M, P)    the strength with all parts but this one from that run
    strength  (M,)      mean over the states, of all parts together
    shares_interval (M, P, 2), strength_interval (M, 2)   95 %, over states and probes (bootstrap)
    orders              number of orders that are averaged; exact: whether these are all of them
    """

    words: list[str]
    parts: list[str]
    shares: Tensor
    alone: Tensor
    without: Tensor
    strength: Tensor
    shares_interval: Tensor
    strength_interval: Tensor
    orders: int
    exact: bool

    def __getitem__(self, word: str) -> dict[str, float]:
        """The share of each part in a word's strength."""
        if word not in self.words:
            raise RnnlensError(f"there is no word {quoted(word)} here: expected one of {', '.join(self.words[:10])}")
        return dict(zip(self.parts, self.shares[self.words.index(word)].tolist(), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """For results.json."""
        return {
            "parts": self.parts,
            "orders": self.orders,
            "exact": self.exact,
            "words": {
                word: {
                    "strength": float(self.strength[i]),
                    "strength_interval": self.strength_interval[i].tolist(),
                    "shares": self.shares[i].tolist(),
                    "shares_interval": self.shares_interval[i].tolist(),
                    "alone": self.alone[i].tolist(),
                    "without": self.without[i].tolist(),
                }
                for i, word in enumerate(self.words)
            },
        }

    def _table(self) -> str:
        rows = [
            [word, f"{float(self.strength[i]):+.2f}", *(f"{x:+.2f}" for x in self.shares[i].tolist())]
            for i, word in enumerate(self.words)
        ]
        return table_html(rows, ["word", "strength", *self.parts])


@torch.no_grad()
@in_range("attribute")
def attribute(
    network: Network,
    states: Tensor,
    words: Sequence[str],
    probes: Probes,
    *,
    parts: Mapping[str, Place] | None = None,
    draws: int = 1000,
    seed: int = 0,
) -> Attribution:
    """Attribute the strengths of words to parts of the state, by exchanging parts between the run with the word and the
    run without it.

    states (K, N) or (N,): where the words are read, such as some visited states or `line.h_star`. probes: the words
    whose effects are measured next. parts: names and places of the parts, slices, indices or masks of the flat state,
    each number in one part at most; by default layers, convolution buffers and recurrent states, as the network has
    them. Numbers that no part has are exchanged as one more part, `rest`, unless no step reads them. Up to six parts
    are exchanged in all orders, more in 128 random ones. draws: of the bootstrap over states and probes.
    """
    network.check_one_logit("an attribution")
    if not words:
        raise RnnlensError("words is empty: expected the modifiers whose strengths are attributed")
    states = given_states(network, states)
    places = checked_parts(network, parts)
    probes = probes.known_to(network)
    e, indices = probes.inputs(network), list(places.values())

    def exchanged(word: Tensor) -> Measure:
        after = network.step(states, word)

        def value(chosen: frozenset[int]) -> Tensor:
            mixed = states.clone()
            for part in chosen:
                mixed[:, indices[part]] = after[:, indices[part]]
            return effects(network, mixed, e).double()

        return value

    measures = [exchanged(word) for word in word_inputs(network, list(words))]
    return shared_out(list(words), list(places), measures, probes, draws, seed)


def shared_out(
    words: list[str], parts: list[str], measures: Sequence[Measure], probes: Probes, draws: int, seed: int
) -> Attribution:
    """The Shapley values of the parts. measures: for each word, a function from the parts that are taken from the run
    with the word to the effects (K, V) of the probes."""
    P, (orders, exact) = len(parts), _orders(len(parts), seed)
    none, every = frozenset[int](), frozenset(range(P))
    found, usual = [], torch.zeros(0)
    for measure in measures:
        value = cache(measure)
        usual = value(none)
        alone = [value(frozenset([p])) - usual for p in range(P)]
        without = [value(every - {p}) - usual for p in range(P)]
        found.append(torch.stack([value(every) - usual, *shapley(value, P, seed), *alone, *without]))
    signs = torch.tensor([1.0] * len(probes.positive) + [-1.0] * len(probes.negative)).to(usual)
    mean, low, high = _bootstrap(torch.stack(found) * signs, usual * signs, probes, draws, seed)
    interval, a, b = torch.stack([low, high], -1), 1 + P, 1 + 2 * P
    return Attribution(
        words,
        parts,
        mean[:, 1:a],
        mean[:, a:b],
        mean[:, b:],
        mean[:, 0],
        interval[:, 1:a],
        interval[:, 0],
        len(orders),
        exact,
    )


def checked_parts(network: Network, parts: Mapping[str, Place] | None) -> dict[str, Tensor]:
    """The places (n,) of each part in the flat state; those that no step reads are left out."""
    every = torch.arange(network.size)
    if parts is not None and not isinstance(parts, Mapping):
        raise RnnlensError(f"parts is {quoted(type(parts).__name__)}: expected names and places of parts of the state")
    given = parts_of(network.cell) if parts is None else parts
    places = {}
    for name, place in given.items():
        of = f"the part {quoted(name)}"
        chosen = every[place if isinstance(place, slice) else chosen_rows(of, place, network.size, "the state")]
        if not len(chosen):
            raise RnnlensError(f"{of} is empty: expected some of the {network.size} numbers of the state")
        places[str(name)] = chosen
    if not places:
        raise RnnlensError("parts is empty: expected names and places of parts of the state, or None")
    counts = torch.bincount(torch.cat([*places.values()]), minlength=network.size)
    if int(counts.max()) > 1:
        raise RnnlensError(f"number {int(counts.argmax())} of the state is in two parts: expected each in one at most")
    if bool((counts == 0).any()):
        places["rest"] = every[counts == 0]
    unread = getattr(network.cell, "slot", 0)  # an output that is written at every step, and read by the head alone
    kept = {name: place[place < network.size - unread].to(network.h0.device) for name, place in places.items()}
    return {name: place for name, place in kept.items() if len(place)}


def shapley(value: Callable[[frozenset[int]], Tensor], P: int, seed: int = 0) -> Tensor:
    """The Shapley value (P, ...) of each of P parts, for a function of the set of parts that are exchanged."""
    orders, _ = _orders(P, seed)
    at = cache(value)
    adds = [torch.zeros_like(at(frozenset()))] * P
    for order in orders:
        for before, part in _along(order):
            adds[part] = adds[part] + (at(before | {part}) - at(before)) / len(orders)
    return torch.stack(adds)


def _along(order: Sequence[int]) -> Iterator[tuple[frozenset[int], int]]:
    """Each part of an order, with the parts before it."""
    for i, part in enumerate(order):
        yield frozenset(order[:i]), part


def _orders(P: int, seed: int) -> tuple[list[tuple[int, ...]], bool]:
    """All orders of P parts, or random ones, each with its reverse, if there are many parts."""
    if P <= EXACT:
        return list(permutations(range(P))), True
    generator = torch.Generator().manual_seed(seed)
    drawn = [tuple(torch.randperm(P, generator=generator).tolist()) for _ in range(ORDERS)]
    return [order for one in drawn for order in (one, one[::-1])], False


def _bootstrap(changes: Tensor, usual: Tensor, probes: Probes, draws: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Changes (M, Q, K, V) as shares of the usual effect (K, V): means (M, Q) and the ends of their 95 % intervals over
    resampled states and resampled probes of each sign. As for strengths, both signs count equally."""
    K, n, m = usual.shape[0], len(probes.positive), len(probes.negative)
    generator = torch.Generator().manual_seed(seed)

    def weights(size: int, count: int) -> Tensor:
        drawn = torch.randint(size, (count, size), generator=generator)
        return torch.zeros(count, size).scatter_add_(1, drawn, torch.ones(count, size)) / size

    def share(state: Tensor, probe: Tensor) -> Tensor:
        over = torch.einsum("mqkv,dk,dv->dmq", changes, state, probe)
        return over / torch.einsum("kv,dk,dv->d", usual, state, probe)[:, None, None]

    def both(positive: Tensor, negative: Tensor) -> Tensor:
        return torch.cat([positive, negative], 1).to(usual) / 2

    mean = share(torch.full((1, K), 1 / K).to(usual), both(torch.full((1, n), 1 / n), torch.full((1, m), 1 / m)))[0]
    drawn = share(weights(K, draws).to(usual), both(weights(n, draws), weights(m, draws)))
    low, high = drawn.quantile(torch.tensor([0.025, 0.975]).to(usual), dim=0)
    return mean, low, high
