"""Effects of words on the logit at a state, in full and to first order. All analyses of context compare these.

The effect of a word v at a state h is w·[F(h, v) − F(h, 0)]: what it adds to the logit beyond a blank input.
A modifier is a word after which the effects of other words differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from rnnlens.common.errors import RnnlensError, quoted
from rnnlens.common.ranges import in_range
from rnnlens.corpora.vocab import PAD_WORD
from rnnlens.dynamics.features import feature_map
from rnnlens.dynamics.inputs import check_states, check_tensor
from rnnlens.dynamics.jacobians import linearise, readout_after, recurrent_input
from rnnlens.networks import Cell, Network
from rnnlens.networks.parallel import cores_for, in_parallel

BLOCK = 2**22  # floats in a block of states × words
CACHED = 2**18  # floats that stay in a core's cache
STATES = 2**21  # floats in a block of states after words


@in_range("words")
def word_inputs(network: Network, words: Sequence[str]) -> Tensor:
    """Embeddings (V, D) of words; `<pad>` is the blank input. A word that is not in the vocabulary is an error."""
    if network.vocab is None:
        raise RnnlensError("this network has no words: expected a network with a vocabulary")
    if unknown := [word for word in words if word not in network.vocab and word != PAD_WORD]:
        raise RnnlensError(f"the network does not know the word {quoted(unknown[0])}: expected words of its vocabulary")
    return network.embed(torch.as_tensor(network.vocab.encode(list(words)), device=network.h0.device)).detach()


@torch.no_grad()
def states_after(network: Network, h: Tensor, e: Tensor) -> Iterator[Tensor]:
    """The states F(h, v) after each of the embedded words e (M, D), from h (N,): in blocks (·, N) that fit into memory,
    one for networks of the usual size."""
    for words in e.split(max(1, STATES // network.size)):
        yield network.step(h, words)


def check_expansion(network: Network, h: Tensor, e: Tensor) -> None:
    """Refuse what are not states h (..., N) and embedded words e (V, D)."""
    check_states(network, h=h)
    check_tensor("e", e, "embedded words (V, D)", network.inputs, network.h0)
    if e.ndim != 2:
        raise RnnlensError(f"e has shape {tuple(e.shape)}: expected embedded words (V, {network.inputs})")


@torch.no_grad()
def effects(network: Network, h: Tensor, e: Tensor, read: Tensor | None = None, u: Tensor | None = None) -> Tensor:
    """w·[F(h, v) − F(h, 0)] for states h (..., N) and embedded words e (V, D) → (..., V); through a head that is not
    linear, the exact difference of logits. Of a network with C classes → (..., V, C).

    read (N,): a readout in place of w. u: `recurrent_input` of h, if it is known.

    For a cell, the words' drives and the states' recurrent inputs are computed once, and only φ for every pair.
    """
    check_expansion(network, h, e)
    if read is not None:
        check_tensor("read", read, "a readout", network.size, network.h0, one=True)
    flat, cell = h.reshape(-1, network.size), network.cell
    few = max(1, BLOCK // network.size)
    if len(e) > few:
        return torch.cat([effects(network, h, words, read, u) for words in e.split(few)], h.ndim - 1)
    if read is None and network.features is None and not network.several_classes:
        read = network.w
    inputs = torch.cat([e.new_zeros(1, network.inputs), e])
    d = cell.drive(inputs) if isinstance(cell, Cell) else None

    def logits_after(states: Tensor, u: Tensor | None) -> Tensor:
        states = states.unsqueeze(1)
        after = network.step(states, inputs) if u is None else cell.combine(states, d, u.unsqueeze(1))
        return network.logit(after) if read is None else after @ read

    def from_states(part: tuple[Tensor, Tensor | None]) -> Tensor:
        states, u = part
        if d is None or h.is_cuda:
            logits = logits_after(states, recurrent_input(network, states) if u is None else u)
        else:  # one product for many states, but a few pairs at a time
            pairs = max(1, CACHED // (len(inputs) * network.size))
            u = cell.recur(states) if u is None else u
            logits = torch.cat([logits_after(*some) for some in zip(states.split(pairs), u.split(pairs), strict=True)])
        return logits[:, 1:] - logits[:, :1]

    if d is None or h.is_cuda:
        at_once = BLOCK // (len(inputs) * network.size)
    else:
        at_once = min(few // 16, -(-len(flat) // cores_for(network)))
    states = flat.split(max(1, at_once))
    known = [None] * len(states) if u is None else u.reshape(-1, u.shape[-1]).split(max(1, at_once))
    every = torch.cat(in_parallel(from_states, list(zip(states, known, strict=True)), network))
    return every.reshape(*h.shape[:-1], len(e), *every.shape[2:])


def blank_step(network: Network, h: Tensor, u: Tensor | None) -> Tensor:
    """F(h, 0), the states after a blank input, from states h (..., N) and their `recurrent_input` u."""
    return network.step(h) if u is None else network.cell.combine(h, network.cell.b, u)


@torch.no_grad()
def linear_effects(network: Network, h: Tensor, e: Tensor) -> Tensor:
    """wᵀ J_inp(h) v, the effects to first order, for states h (..., N) and embedded words e (V, D) → (..., V)."""
    check_expansion(network, h, e)
    flat = h.reshape(-1, network.size)
    slopes = [
        linearise(network, states).inp_T(readout_after(network, states))
        for states in flat.split(max(1, BLOCK // (8 * network.size)))
    ]
    return (torch.cat(slopes) @ e.t()).reshape(*h.shape[:-1], len(e))


def first_order_change(
    network: Network, h_star: Tensor, e: Tensor
) -> Callable[[Tensor, Tensor | None], tuple[Tensor, Tensor]]:
    """How much the expansion at other states differs from that at h* (N,): a function of states (M, N) and their
    `recurrent_input` that returns the norm ‖ΔJ_inp‖_F, (M,), and the change of the linear effects of inputs e (V, D),
    (M, V)."""
    features, usual = feature_map(network), linear_effects(network, h_star, e)
    at_star = features(h_star)

    def change(h: Tensor, u: Tensor | None) -> tuple[Tensor, Tensor]:
        here = linearise(network, h, u=u)
        return (features(h, here) - at_star).norm(dim=-1), here.inp_T(readout_after(network, h)) @ e.t() - usual

    return change


@torch.no_grad()
@in_range("words")
def after(network: Network, h: Tensor, words: Sequence[str]) -> Tensor:
    """States (T+1, N): h (N,) itself, then the state after each of the words in turn."""
    check_states(network, one=True, h=h)
    states = [h]
    for e in word_inputs(network, words):
        states.append(network.step(states[-1], e))
    return torch.stack(states)
