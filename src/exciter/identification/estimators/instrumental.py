"""Instrumental variables with simulated instruments (IDIM-IV; Janot, Vandanjon, Gautier 2014).

Noise on the joints makes W itself noisy, and least squares biased: E(Wᵀe) ≠ 0. Z, the same regressor along the motion
of a simulated closed loop, knows nothing of that noise; then χ = (ZᵀΣ⁻¹W)⁻¹ ZᵀΣ⁻¹y. Z needs parameters, so it is made
anew with every χ until they agree. Both sides and the instruments go through the same formulation, filters included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from exciter.errors import ParameterError
from exciter.experiment.signals.local_routes import FilteredDifferences
from exciter.experiment.signals.rows import Rows
from exciter.identification.closed_loop.closed_loop import ClosedLoop
from exciter.identification.closed_loop.coloured import Series, coloured_covariance
from exciter.identification.closed_loop.simulated_problem import Loops, Settled, dry_friction
from exciter.identification.estimators.estimator import Estimator, Rounds
from exciter.identification.estimators.weighted import ROUNDS, SETTLED, reweighted
from exciter.identification.information.compressed import Labelled, compress
from exciter.identification.information.estimate import Estimate, assumed, enough_rows, noise_of
from exciter.identification.information.problem import Problem
from exciter.settings import Positive
from exciter.typing import Array

ASSUMPTIONS = assumed(
    "errors of the equations are stationary, of any colour and correlated between joints",
    "the simulated motion knows nothing of them, so controller and reference are known",
)


@dataclass(frozen=True)
class InstrumentalVariables(Estimator):
    """loop: of all runs, or one of each. rounds: simulations at most; tolerance: settled when no parameter changes by
    more than this part of its σ. It starts from weighted least squares.

    What is left of the noise's bias is of second order (of q̇², say), so light filtering helps. The direction of dry
    friction is taken from the simulation in W too: the sign of a noisy velocity is wrong around every reversal, on
    average less than ±1, and no instrument mends that. route: how the measured motion was differentiated; the simulated
    positions then go through it too, and what it does to them (corners at reversals, the controller's steps between two
    samples, the gain of central differences) is made up for. Without, a log of 100 Hz with dry friction leaves 0.6 % of
    the torque wrong, noise or not. σ tends to be too large, by 10 % or so: see ``closed_loop.coloured``.
    """

    word, title = "iv", "instrumental variables"
    inner = ("loop", "route")
    loop: ClosedLoop | tuple[ClosedLoop, ...] | None = None
    route: FilteredDifferences | None = None
    rounds: Rounds = 20
    tolerance: Positive = 1e-3

    def estimate(self, problem: Problem) -> Estimate:
        loops = Loops.of(problem, self.loop, self.route)
        enough_rows(problem.compressed)
        start, noise = reweighted(problem.compressed, problem.names)

        def update(along: Problem) -> Settled:
            return _update(problem, along, noise)

        found = loops.settle(start, update, self.rounds, self.tolerance, exact=False)
        compressed = problem.compressed
        independent = float(compressed.independent.sum())
        freedom = max(independent - len(found.values), 1.0)
        meat = coloured_covariance(lambda: _series(problem, found), found.noise)
        bread = np.linalg.inv(found.factor)
        return Estimate(
            problem.names,
            problem.units,
            found.values,
            bread @ meat @ bread.T * (independent / freedom),
            compressed.joints,
            found.noise,
            freedom,
            ASSUMPTIONS,
            compressed.information().condition_number,
            compressed.information().condition_number_normalized,
            notes=found.notes,
        )


def _update(problem: Problem, along: Problem, noise: Array) -> Settled:
    """χ with the instruments of ``along``, weights and residuals in agreement; σ as if errors were white."""
    p = len(problem.names)
    cross = np.zeros((len(problem.joints), p, 2 * p + 1))  # Zᵀ [W y Z] per joint

    def labelled() -> Iterator[Labelled]:
        for run, measured, instruments in _pairs(problem, along):
            z = instruments.w.transpose(1, 2, 0)
            cross[:, :, : p + 1] += z @ measured.sides.transpose(1, 0, 2)
            cross[:, :, p + 1 :] += z @ z.transpose(0, 2, 1)
            yield run, np.zeros(len(measured), dtype=np.int64), measured

    compressed = compress(labelled(), problem.names, problem.joints, len(problem.runs), 1)
    for _ in range(ROUNDS):
        weighted = (cross / (noise**2)[:, None, None]).sum(axis=0)
        values = _solved(weighted[:, :p], weighted[:, p])
        before, noise = noise, noise_of(compressed, values, noise)
        if (np.abs(noise - before) <= SETTLED * noise).all():
            break
    inverse = np.linalg.inv(weighted[:, :p])
    covariance = inverse @ weighted[:, p + 1 :] @ inverse.T
    return Settled(values, np.sqrt(np.diag(covariance)), noise, weighted[:, :p], along)


def _solved(matrix: Array, right: Array) -> Array:
    scale = np.sqrt(np.abs(np.diag(matrix)))
    try:
        return np.asarray(np.linalg.solve(matrix / np.outer(scale, scale), right / scale) / scale)
    except np.linalg.LinAlgError:
        raise ParameterError(
            "the simulated motion does not excite all parameters; is this the reference that the robot followed?"
        ) from None


def _pairs(problem: Problem, along: Problem) -> Iterator[tuple[int, Rows, Rows]]:
    """Measured equations and those of the simulated motion at the same instants. Of dry friction, the measured ones
    have what was simulated: its direction, and what it held back at rest (``SimulatedPieces``)."""
    dry = np.flatnonzero(dry_friction(problem.model)[problem.base.independent])
    simulated = np.append(dry, len(problem.names))
    for (run, measured), (_, instruments) in zip(problem.rows(), along.rows(), strict=True):
        assert np.array_equal(measured.time, instruments.time)
        sides = measured.sides.copy(order="K")
        sides[..., simulated] = instruments.sides[..., simulated]
        yield run, replace(measured, sides=sides), instruments


def _series(problem: Problem, found: Settled) -> Iterator[Series]:
    """Instruments and residuals over time."""
    for _, measured, instruments in _pairs(problem, found.along):
        left = measured.y - measured.w @ found.values
        yield Series(measured.time, measured.rate, instruments.w, left)
