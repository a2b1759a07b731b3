"""Linear modes: the eigenvectors of J_rec at a point, their timescales, and the modes that a deflection excites (Supp.
A)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from rnnlens.common.display import Facts, Shown
from rnnlens.common.errors import RnnlensError
from rnnlens.common.ranges import in_range
from rnnlens.common.rows import chosen_row, chosen_rows
from rnnlens.dynamics.fixed_points import FixedPoints, doubled
from rnnlens.dynamics.inputs import Inputs, check_points, check_states, check_tensor, held_input, same_input
from rnnlens.dynamics.jacobians import linearise
from rnnlens.dynamics.triangular import DEFECTIVE, eigenvector, is_triangular, slope
from rnnlens.networks import Network
from rnnlens.networks.architectures import parts_of
from rnnlens.networks.finite import check_precision

DENSE = 4096  # numbers in a state beyond which no matrix of its size is formed
LARGEST = 1e12  # norm of the eigenvectors times that of their inverse; beyond, the matrix counts as defective
TOO_LARGE = "the state has {:,} numbers: the modes of more than 4,096 do not fit into memory"
NOT_FINITE = "J_rec is NaN or infinite at this point: expected a state and weights of finite numbers"


class Spectrum(Shown):
    """What all modes have in common: eigenvalues, and methods that need vectors only where they use them."""

    eigenvalues: Tensor
    units: list[tuple[int, ...]]

    if TYPE_CHECKING:

        @property
        def right(self) -> Tensor: ...
        @property
        def left(self) -> Tensor: ...
        @property
        def J(self) -> Tensor: ...
        @property
        def inputs(self) -> Tensor | None: ...

    def __len__(self) -> int:
        return len(self.eigenvalues)

    def _facts(self) -> Facts:
        pairs = sum(len(unit) == 2 for unit in self.units)
        value = complex(self.eigenvalues[self.integration])
        return [
            ("modes", len(self)),
            ("conjugate pairs", pairs),
            ("nearest to 1", f"{value.real:.4f} {value.imag:+.4f}i"),
            ("slowest timescales, steps", [f"{tau:.1f}" for tau in self.timescales[:6].tolist()]),
        ]

    @property
    def timescales(self) -> Tensor:
        """−1/log|λ|, in steps, (N,): the time to fall to 1/e; infinite for |λ| ≥ 1, 0 for λ = 0."""
        size = self.eigenvalues.abs()
        return torch.where(size < 1, -1 / torch.log(size), torch.inf)

    @property
    def periods(self) -> Tensor:
        """2π/|arg λ|, in steps, (N,): infinite for modes that do not oscillate."""
        angle = self.eigenvalues.angle().abs()
        return torch.where(angle > 0, 2 * math.pi / angle, torch.inf)

    @property
    def integration(self) -> int:
        """The mode whose eigenvalue is nearest to 1."""
        return int((self.eigenvalues - 1).abs().argmin())

    def amplitudes(self, deflection: Tensor) -> Tensor:
        """ℓ_a · Δh, (..., N) → (..., N): how much of each mode a deflection excites; Δh = Σ_a r_a (ℓ_a · Δh)."""
        return deflection.to(self.left.dtype) @ self.left.t()

    def angles(self, deflection: Tensor) -> Tensor:
        """Angle in degrees, (units,), between Δh (N,) and each unit's left eigenvector or, for a conjugate pair, the
        plane of its real and imaginary parts (Supp. A.4)."""
        direction = deflection.to(self.J.dtype) / deflection.norm()
        cosines = torch.stack([(span.t() @ direction).norm() for span in self.spans])
        return torch.rad2deg(torch.acos(cosines.clamp(max=1)))

    @cached_property
    def spans(self) -> list[Tensor]:
        """For each unit, an orthonormal basis (N, 1 or 2) of the real span of its left eigenvectors."""
        return [self._span(unit) for unit in self.units]

    def _span(self, unit: Iterable[int]) -> Tensor:
        """An orthonormal basis (N, k) of the real span of some left eigenvectors."""
        # The imaginary part of a real mode is rounding error, which normalization would turn into a direction.
        rows, complex_ = self.left[list(unit)], self.eigenvalues[list(unit)].imag != 0
        real = torch.cat([rows.real, rows.imag[complex_]])
        real = real / real.norm(dim=1, keepdim=True)
        u, size, _ = torch.linalg.svd(real.t(), full_matrices=False)
        return u[:, size > 1e-10 * size[0]]


@dataclass(frozen=True, eq=False, repr=False)
class Modes(Spectrum):
    """Eigendecomposition J_rec = R diag(λ) L with L R = I, slowest mode first; conjugate pairs are adjacent.

    eigenvalues  (N,)    λ_a, complex
    right        (N, N)  columns r_a, of length 1: the direction in which mode a moves the state
    left         (N, N)  rows ℓ_a: a deflection excites mode a by its overlap with ℓ_a; ℓ_a · r_a = 1, so their lengths
                         differ
    J            (N, N)  the matrix itself
    units                modes that belong together: (a,) for a real one, (a, a+1) for a conjugate pair
    inputs       (D,)    the input that J_rec was taken at; None for any other matrix
    """

    eigenvalues: Tensor
    right: Tensor
    left: Tensor
    J: Tensor
    units: list[tuple[int, ...]]
    inputs: Tensor | None = None

    def left_of(self, a: int) -> Tensor:
        """ℓ_a, (N,)."""
        return self.left[chosen_row("a", a, len(self))]


@dataclass(frozen=True, eq=False, repr=False)
class TriangularModes(Spectrum):
    """The same where J_rec is triangular: eigenvalues from its diagonal, single left eigenvectors by products, both in
    memory of a few times N. `right`, `left` and `J` are N × N and made when they are used; they are refused for more
    than 4,096 numbers, and where J_rec is defective, as with the shift register of a convolution.

    eigenvalues  (N,)  λ_a, slowest first; places: the number in the state that each belongs to
    """

    network: Network = field(repr=False)
    h: Tensor
    inputs: Tensor
    eigenvalues: Tensor
    places: Tensor

    @property
    def units(self) -> list[tuple[int, ...]]:  # type: ignore[override]
        return [(a,) for a in range(len(self))]

    def left_of(self, a: int) -> Tensor:
        """ℓ_a, (N,), 1 at its own place."""
        here = linearise(self.network, self.h, self.inputs)
        values = torch.empty_like(self.h)
        values[self.places] = self.eigenvalues.real.to(values)
        depth = self.network.cell.depth
        return eigenvector(here, values, int(self.places[chosen_row("a", a, len(self))]), depth, left=True).to(
            self.eigenvalues.dtype
        )

    def by_part(self) -> dict[str, Tensor]:
        """The timescales of each part of the state, in the order of its numbers: 0 for a convolution buffer."""
        times = torch.empty_like(self.timescales)
        times[self.places] = self.timescales
        return {name: times[place] for name, place in parts_of(self.network.cell).items()}

    @cached_property
    def dense(self) -> Modes:
        """All vectors, by torch."""
        if len(self) > DENSE:
            raise RnnlensError(TOO_LARGE.format(len(self)))
        return decompose(linearise(self.network, self.h, self.inputs).J_rec().double())

    @property
    def right(self) -> Tensor:
        return self.dense.right

    @property
    def left(self) -> Tensor:
        return self.dense.left

    @property
    def J(self) -> Tensor:
        return self.dense.J


@torch.no_grad()
@in_range()
def linear_modes(network: Network, h: Tensor | FixedPoints, inputs: Inputs = None) -> Modes | TriangularModes:
    """The modes of J_rec at a state h (N,), decomposed in float64. For the recurrences of today eigenvalues and
    timescales are read from its diagonal, without the matrix.

    h: a state, or one fixed point (`points.take(0)`), whose own input is then used. inputs: the constant input at a
    state, embedded (D,) or a word; None is the blank input.
    """
    check_precision(network.h0)
    if isinstance(h, FixedPoints):
        if len(h) != 1:
            raise RnnlensError(f"h holds {len(h)} points: expected one; choose it with points.take(0)")
        check_points(network, h.network, h.states, h.inputs)
        e, h = same_input(network, h.inputs, inputs), h.states[0]
    else:
        e = held_input(network, inputs)
    check_states(network, one=True, h=h)
    if is_triangular(network):
        double = doubled(network)
        h, e = h.detach().to(double.h0), e.to(double.h0)
        values = slope(double, h, e)
        if not bool(values.isfinite().all()):
            raise RnnlensError(NOT_FINITE)
        places = values.abs().argsort(descending=True, stable=True)
        return TriangularModes(double, h, e, values[places].double().to(torch.complex128), places)
    if network.size > DENSE:
        raise RnnlensError(TOO_LARGE.format(network.size))
    J = linearise(network, h, e.to(h.dtype)).J_rec().double()
    return replace(decompose(J), inputs=e)


@torch.no_grad()
def integration_mode(network: Network, h: Tensor, inputs: Tensor | None) -> tuple[complex, Tensor]:
    """The eigenvalue of J_rec nearest to 1 and its left eigenvector as `real_rows`, of a defective J_rec too. Of a
    large state they are found among the slowest modes by products alone (Arnoldi's method)."""
    e = held_input(network, inputs)
    here = linearise(network, h, e.to(h.dtype))
    if network.size <= DENSE:
        values, vectors = torch.linalg.eig(here.J_rec().double().cpu().t())
    else:
        from scipy.sparse.linalg import LinearOperator, eigs

        def product(v: Any) -> Any:
            return here.rec_T(torch.from_numpy(v.ravel()).to(h)).double().cpu().numpy()

        operator = LinearOperator((network.size, network.size), product, dtype="float64")
        start = torch.randn(network.size, generator=torch.Generator().manual_seed(0)).double().numpy()
        values, vectors = (torch.from_numpy(part) for part in eigs(operator, k=6, v0=start, tol=1e-8))
    nearest = int((values - 1).abs().argmin())
    vector = vectors[:, nearest]
    vector = vector / vector[int(vector.abs().argmax())]  # real, if the eigenvalue is
    return complex(values[nearest]), real_rows(complex(values[nearest]), vector).to(h.device)


def real_rows(value: complex, vector: Tensor) -> Tensor:
    """The real span of an eigenvector (N,): its real part (1, N), and for a complex eigenvalue its imaginary part, too
    (2, N). The phase of a complex eigenvector is arbitrary, so that its real part alone means nothing."""
    return torch.stack([vector.real, vector.imag] if value.imag else [vector.real])


def decompose(J: Tensor) -> Modes:
    """Modes of any real matrix (N, N)."""
    if not bool(J.isfinite().all()):
        raise RnnlensError(NOT_FINITE)
    values, right = (torch.from_numpy(part).to(J.device) for part in _eigenvectors(J))
    numbers = values.tolist()  # once: every number that is read from a GPU alone waits for it
    # LAPACK returns a conjugate pair side by side, the one with positive imaginary part first. Pairs are identified
    # before sorting, because two pairs may be equally slow.
    pairs: list[tuple[int, ...]] = []
    a = 0
    while a < len(numbers):
        pairs.append((a, a + 1) if numbers[a].imag > 0 and a + 1 < len(numbers) else (a,))
        a += len(pairs[-1])

    def slowest_first(unit: tuple[int, ...]) -> tuple[float, ...]:
        value = numbers[unit[0]]
        return (-abs(value), -abs(value.imag), -value.real)

    pairs.sort(key=slowest_first)
    order = [a for unit in pairs for a in unit]
    values, right = values[order], right[:, order]
    ends = accumulate(len(unit) for unit in pairs)
    units = [tuple(range(end - len(unit), end)) for end, unit in zip(ends, pairs, strict=True)]
    left = _inverse(right, [unit for unit in units if len(unit) == 2])
    # Rounding errors keep the vectors of a defective matrix apart, but only just.
    if left is None or not float(left.norm() * right.norm()) < LARGEST:
        raise RnnlensError(DEFECTIVE)
    return Modes(values, right, left, J, units)


def _inverse(right: Tensor, pairs: list[tuple[int, ...]]) -> Tensor | None:
    """The inverse of right eigenvectors (N, N) whose columns are real or come in conjugate `pairs`; None if they are
    dependent. Real and imaginary parts take the place of a pair, so that the matrix to invert is real: a quarter of the
    work."""
    first, second = torch.tensor(pairs, dtype=torch.long, device=right.device).reshape(-1, 2).unbind(1)
    parts = right.real.clone()
    parts[:, second] = right.imag[:, first]
    inverse, info = torch.linalg.inv_ex(parts)
    if int(info):
        return None
    left = inverse.to(right.dtype)
    left[first] = 0.5 * torch.complex(inverse[first], -inverse[second])
    left[second] = left[first].conj()
    return left


def _eigenvectors(J: Tensor) -> tuple[Any, Any]:
    """Eigenvalues (N,) and right eigenvectors (N, N), by SciPy, which is quicker than torch for large N."""
    from scipy.linalg import eig

    values, right = eig(J.double().cpu().numpy(), check_finite=False)
    return values, right.astype(values.dtype)  # real, if all eigenvalues are


@in_range("remove_modes")
def remove_modes(
    h: Tensor,
    modes: Spectrum,
    h_star: Tensor,
    which: Iterable[int],
    kind: Literal["biorthogonal", "orthogonal"] = "biorthogonal",
) -> Tensor:
    """Remove modes from a state's deflection from h_star, (..., N) → (..., N), always with their conjugates.

    biorthogonal: Δh − Σ_a r_a (ℓ_a · Δh), which sets these amplitudes to 0 and keeps all others.
    orthogonal: Δh minus its projection on the span of the ℓ_a, the smallest change that sets these amplitudes to 0.
    """
    check_tensor("h", h, "states", len(modes))
    check_tensor("h_star", h_star, "a state", len(modes), h)
    which = which if isinstance(which, Iterable) else [which]
    chosen = set(chosen_rows("which", which, len(modes), "modes").tolist())
    rows = sorted({a for unit in modes.units if chosen & set(unit) for a in unit})
    deflection = (h - h_star).to(modes.J.dtype)
    if kind == "biorthogonal":
        part = (modes.amplitudes(deflection)[..., rows] @ modes.right[:, rows].t()).real
    else:
        span = modes._span(rows) if rows else modes.J.new_zeros(len(modes), 0)
        part = (deflection @ span) @ span.t()
    return h - part.to(h.dtype)
