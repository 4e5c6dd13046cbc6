"""The two ways to compute: NumPy reference and compiled twin, behind one small interface.

Everything here is arrays with samples last: q, q̇, q̈ are (n, N). ``default_engine`` prefers Numba and falls
back to NumPy; both give the same numbers.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Protocol

from exciter.dynamics.chain import Chain, RowBatch
from exciter.errors import ExciterError
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class LagrangeRows:
    """Energies of the ten parameters of every link and their derivatives, samples last.

    e, u (n, 10, N): kinetic and potential energy per parameter [12.33, 12.34].
    momentum, de_dq, du_dq (n, n, 10, N): ∂e/∂q̇_j, ∂e/∂q_j, ∂u/∂q_j by joint, link, parameter [12.36, 12.37].
    """

    e: Array
    u: Array
    momentum: Array
    de_dq: Array
    du_dq: Array


@dataclass(frozen=True, eq=False)
class Placements:
    """Link frames in the base: rotation (n, 3, 3, N), origin (n, 3, N); screws (P, 3, N) in the link frames."""

    rotation: Array
    origin: Array
    sv: Array
    sw: Array


class Engine(Protocol):
    """What an implementation of the dynamics offers."""

    @property
    def name(self) -> str:
        """Word for it: numpy or numba."""

    def regressor(self, chain: Chain, q: Array, qd: Array, qdd: Array, out: Array | None = None) -> Array:
        """Φ as (n, n, 10, N): joint row, link, parameter, sample; into ``out`` when given."""

    def torque(self, chain: Chain, inertias: Array, q: Array, qd: Array, qdd: Array) -> Array:
        """τ (n, N) of inertial parameters (n, 10)."""

    def gram(self, rows: RowBatch) -> Array:
        """H = Σ_j weights_j W_jᵀ W_j (b, b), W never stored."""

    def columns(self, rows: RowBatch, out: Array) -> None:
        """The b columns of W into out (n, ≥ b, N), which was zero: joint row, column, sample."""

    def adjoint(
        self, rows: RowBatch, matrix: Array | None, torque_seed: Array | None, inertias: Array
    ) -> tuple[Array, Array, Array, Array]:
        """q̄, q̇̄, q̈̄ (n, N) and ∂/∂terms (E, N) of f(H) + Σ torque_seed·τ, with matrix = ∂f/∂H + its transpose.

        torque_seed (n, N) acts on the torque of inertial parameters (n, 10); None leaves a part out.
        """

    def lagrange(self, chain: Chain, q: Array, qd: Array) -> LagrangeRows:
        """Energies, momenta and their position derivatives."""

    def placements(self, chain: Chain, q: Array) -> Placements:
        """Forward kinematics."""


@lru_cache(maxsize=1)
def default_engine() -> Engine:
    """Numba when it is installed, NumPy otherwise; the environment variable EXCITER_ENGINE chooses by name."""
    wanted = os.environ.get("EXCITER_ENGINE", "auto")
    if wanted not in ("auto", "numba", "numpy"):
        raise ExciterError(f"EXCITER_ENGINE is '{wanted}'; allowed are auto, numba, numpy")
    if wanted == "numba" or (wanted == "auto" and find_spec("numba") is not None):
        from exciter.dynamics.numba_engine import NumbaEngine

        return NumbaEngine()
    from exciter.dynamics.numpy_engine import NumpyEngine

    return NumpyEngine()
