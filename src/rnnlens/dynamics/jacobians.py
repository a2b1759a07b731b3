"""First-order expansions of the step function (eqs. 1-3): J_rec = ∂F/∂h, J_inp = ∂F/∂e, and products with them.

Those of cells and of layers of cells have a closed form (`cell_jacobians`); other networks are differentiated by torch
(`step_jacobians`). The paper's x is a one-hot word, e = E x. Its input Jacobian J_inp E, N × W, is never formed: see
`features`.

Shapes: N flat state, D embedding, W words.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from rnnlens.common.errors import RnnlensError
from rnnlens.common.ranges import in_range
from rnnlens.dynamics.attached import check_attached
from rnnlens.dynamics.cell_jacobians import CellLinearisation, of_layers
from rnnlens.dynamics.inputs import check_inputs, check_states
from rnnlens.dynamics.step_jacobians import DiagonalLinearisation, StepLinearisation, differentiated
from rnnlens.networks import Cell, Network
from rnnlens.networks.finite import check_precision
from rnnlens.networks.stack import Stack


@in_range()
def jacobians(network: Network, h: Tensor, e: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """J_rec (..., N, N) and J_inp (..., N, D) at states h (..., N) and embedded inputs e (..., D), zero if None."""
    check_precision(network.h0)
    here = linearise(network, h, e)
    return here.J_rec(), here.J_inp()


class Linearisation(Protocol):
    """The Jacobians of F at (h, e), over leading dimensions, and products with them that do not form them."""

    def J_rec(self) -> Tensor:
        """∂F/∂h, (..., N, N)."""

    def J_inp(self) -> Tensor:
        """∂F/∂e, (..., N, D)."""

    def rec(self, v: Tensor) -> Tensor:
        """J_rec v for v (..., N)."""

    def inp(self, v: Tensor) -> Tensor:
        """J_inp v for v (..., D) → (..., N)."""

    def rec_T(self, v: Tensor) -> Tensor:
        """J_recᵀ v for v (..., N)."""

    def inp_T(self, v: Tensor) -> Tensor:
        """J_inpᵀ v for v (..., N) → (..., D)."""


def linearise(network: Network, h: Tensor, e: Tensor | None = None, u: Tensor | None = None) -> Linearisation:
    """The linearization of a network's step at h (..., N) and e (..., D). u: `recurrent_input` of h, if it is known."""
    check_states(network, h=h)
    check_inputs(network, e=e)
    with torch.no_grad():
        if e is None:
            e = h.new_zeros(network.inputs)
        try:
            lead = torch.broadcast_tensors(h[..., 0], e[..., 0])[0].shape  # `broadcast_shapes` imports sympy
        except RuntimeError as error:
            raise RnnlensError(
                f"h has shape {tuple(h.shape)} and e {tuple(e.shape)}: expected one input, or one for each state"
            ) from error
        h = h.expand(*lead, network.size)
        if isinstance(network.cell, Cell):
            cell = network.cell
            u = cell.recur(h) if u is None else u
            return CellLinearisation(cell, *cell.partials(h, cell.drive(e).expand(*lead, -1), u))
        if isinstance(network.cell, Stack) and network.cell.of_cells:
            return of_layers(network.cell, h, e)
        if getattr(network.cell, "depth", 0) == 1:
            return DiagonalLinearisation(network, h, e.expand(*lead, network.inputs))
        if torch.is_inference_mode_enabled():
            raise RnnlensError(
                "torch.inference_mode() is on, in which torch differentiates no step(h, e): leave it, or use "
                "torch.no_grad()"
            )
        with differentiated():
            check_attached(network)
        return StepLinearisation(network, h, e.expand(*lead, network.inputs))


def recurrent_input(network: Network, h: Tensor) -> Tensor | None:
    """u = U h + c of a cell at states h (..., N), on which all of its steps and derivatives at h depend; the product
    takes most of their time in large networks. None for other step functions."""
    return network.cell.recur(h) if isinstance(network.cell, Cell) else None


@torch.no_grad()
@in_range()
def word_effects(network: Network, h: Tensor, e: Tensor | None = None) -> Tensor:
    """wᵀ J_inp E, (..., W): the effect of each word as the next input on the logit, to first order."""
    embedding = embedding_of(network)
    here = linearise(network, h, e)
    return here.inp_T(readout_after(network, h, e)) @ embedding.t()


@torch.no_grad()
def readout_after(network: Network, h: Tensor, e: Tensor | None = None) -> Tensor:
    """∂logit/∂h (..., N) at the state after h (..., N) and input e, by which effects are read to first order: w, if the
    head is linear."""
    return network.readout_at(h if network.features is None else network.step(h, e))


def embedding_of(network: Network) -> Tensor:
    if network.E is None:
        raise RnnlensError("this network has no words: expected a network with word embeddings")
    return network.E.detach()
