"""J_inp E, the paper's N × W input Jacobian, as a short vector with the same inner products: to compare input Jacobians
at many states, and to regress them.

With C = EᵀE the inner product is tr(J C J'ᵀ), which does not depend on the number of words W. If units see the input
through a few gates each, J_inp = Σ_g diag(p^g) W_g, so unit h contributes Σ_{g,g'} p^g p'^g' (W_g C W_g'ᵀ)_hh, which
does not depend on D either: with that G × G matrix factored as RᵀR, unit h has the G features R p. This is the case for
the paper's four cells and for one layer of minGRU or minLSTM. For other steps J_inp is taken column by column, N·D
features, and if those are too many, as a random sketch with the same inner products on average.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor

from rnnlens.common.ranges import in_range
from rnnlens.dynamics.cell_jacobians import CellLinearisation
from rnnlens.dynamics.inputs import check_states
from rnnlens.dynamics.jacobians import Linearisation, embedding_of, linearise
from rnnlens.dynamics.step_jacobians import StepLinearisation
from rnnlens.networks import Cell, Network
from rnnlens.networks.parallel import in_parallel

MOST = 2**17  # features of a state before they are sketched
COLUMNS, BUCKETS = 16, 2048  # of a sketch: random combinations of inputs, and sums over random units
AT_ONCE = 2**22  # numbers of the states that are differentiated together


@torch.no_grad()
def input_features(network: Network, h: Tensor) -> Tensor:
    """J_inp(h) E as vectors (..., K) for states h (..., N), at blank input: differences of them have the norm
    ‖(J_inp(h) − J_inp(h')) E‖_F, and regressing them is equivalent to regressing the input Jacobians.

    K is S·H·G for a cell, G·H for one layer of minGRU or minLSTM, else N·D; beyond 131,072 the features are a sketch of
    fixed random numbers, with which norms are right to about a tenth, and shares of variance better than that."""
    return feature_map(network)(h)


@torch.no_grad()
def feature_map(network: Network) -> Callable[..., Tensor]:
    """`input_features` of a network as a function of states, and of the linearization there if it is known, without
    what it has to compute only once."""
    E, cell = embedding_of(network), network.cell
    gram = (E.t() @ E).double()
    if isinstance(cell, Cell):
        root = _gate_root(cell.W, cell.gates, gram)
        return lambda h, here=None: _by_gates(cast(CellLinearisation, here or linearise(network, h)).p_d, root)
    if getattr(cell, "depth", 0) == 1:
        root = _gate_root(cell.layers[0].W, cell.gate_slopes(network.h0).shape[-2], gram)
        return lambda h, here=None: _by_gates(cell.gate_slopes(h).unsqueeze(-3), root)
    values, vectors = torch.linalg.eigh(gram)
    directions = (vectors * values.clamp(min=0).sqrt()).to(network.h0)  # C = directions directionsᵀ
    sketched = network.size * network.inputs > MOST
    if sketched and network.inputs > COLUMNS:
        directions = directions @ _normal(network.inputs, COLUMNS).to(directions) / COLUMNS**0.5

    def by_columns(h: Tensor, here: Linearisation | None = None) -> Tensor:
        flat = h.reshape(-1, h.shape[-1])
        few = max(1, AT_ONCE // network.size)
        parts = [_columns(network, points, directions.to(h), sketched) for points in flat.split(few)]
        return torch.cat(parts).reshape(*h.shape[:-1], -1)

    return by_columns


def _gate_root(W: Tensor, gates: int, gram: Tensor) -> Tensor:
    """R (H, G, K) of each unit, from the weights W (G·H, D) of its gates: R Rᵀ has the entries (W_g C W_g'ᵀ)_hh."""
    weights = W.detach().double().unflatten(0, (gates, -1))  # (G, H, D)
    overlap = torch.einsum("ghd,khd->hgk", weights @ gram, weights)  # (H, G, G)
    values, vectors = torch.linalg.eigh(overlap.cpu())
    return (vectors * values.clamp(min=0).sqrt().unsqueeze(1)).to(W.device)


def _by_gates(p: Tensor, root: Tensor) -> Tensor:
    """Features (..., S·G·H) from the derivatives p (..., S, G, H) by the gates: Σ_g p^g ∘ root_g. (einsum would
    rearrange all numbers for products of G × G matrices, which takes longer than the products.)"""
    first, *others = root.to(p).permute(1, 2, 0)  # (K, H) of each gate
    features = p[..., 0, None, :] * first
    for g, one in enumerate(others, 1):
        features.addcmul_(p[..., g, None, :], one)
    return features.flatten(-3)


def _columns(network: Network, h: Tensor, directions: Tensor, sketched: bool) -> Tensor:
    """J_inp times each column of directions (D, k), at states h (K, N), flat; with `sketched`, units are added up, with
    random signs, in 2,048 random groups."""
    here, columns = linearise(network, h), []
    inp = here.inp_of_many() if isinstance(here, StepLinearisation) else here.inp
    for direction in directions.t():
        column = inp(direction)
        if sketched and network.size > BUCKETS:
            generator = torch.Generator().manual_seed(1)
            bucket = torch.randint(BUCKETS, (network.size,), generator=generator).to(h.device)
            sign = torch.randint(2, (network.size,), generator=generator).to(h) * 2 - 1
            column = h.new_zeros(len(h), BUCKETS).index_add_(1, bucket, column * sign)
        columns.append(column)
    return torch.cat(columns, -1)


def _normal(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@torch.no_grad()
@in_range()
def input_change(network: Network, h: Tensor, reference: Tensor) -> Tensor:
    """‖(J_inp(h) − J_inp(reference)) E‖_F, (...): how far the input Jacobian at a state differs from that at
    `reference` (eq. 4).

    reference (..., N) broadcasts against h. No array of size W (or D, for a cell) is formed: see `input_features`.
    """
    check_states(network, h=h, reference=reference)
    shape, features = torch.broadcast_shapes(h.shape[:-1], reference.shape[:-1]), feature_map(network)
    one = features(reference) if reference.ndim == 1 else None

    def change(points: tuple[Tensor, Tensor]) -> Tensor:
        return (features(points[0]) - (features(points[1]) if one is None else one)).norm(dim=-1)

    few = states_at_once(network)
    flat = [part.expand(*shape, -1).reshape(-1, network.size).split(few) for part in (h, reference)]
    return torch.cat(in_parallel(change, list(zip(*flat, strict=True)), network)).reshape(shape)


def states_at_once(network: Network) -> int:
    """How many states a core takes at a time for features and effects."""
    if isinstance(network.cell, Cell):
        return max(1, (2**20 if network.h0.is_cuda else 2**18) // network.size)
    return max(1, 2**25 // min(MOST, network.size * network.inputs))


@torch.no_grad()
def input_size(network: Network, h: Tensor) -> Tensor:
    """‖J_inp(h) E‖_F, (...): the norm of the input Jacobian, to which changes are compared."""
    return input_features(network, h).norm(dim=-1)
