"""When torques act: a log does not say to a fraction of a sample, and parameters take what that leaves.

A torque that is held until the next one acts half a sample after its time stamp, a mean over the sample before half a
sample earlier. A log whose torques are later than its positions by d has τ(t − d) ≈ τ − d τ̇; in motion that swings,
inertia times jerk looks like viscous friction, so that tenths of a millisecond are seen where noise is small.

d is estimated beside all parameters, as a column −τ̇ of all joints, τ as the estimate predicts it. Dry friction has no
part in it: it turns with the joint, which may stick. Parameters are off by A⁻¹ Wᵀ Σ⁻¹ (−τ̇) d, an error that they have
together, once; d² is expected to be what the data say together with what is known before: half a sample either way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from exciter.errors import ParameterError
from exciter.experiment.signals.processed_motion import Processed
from exciter.identification.information.estimate import Estimate, assumed
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import bounded_parts
from exciter.identification.uncertainty.covariance_of_correlated_errors import StationaryErrors
from exciter.identification.uncertainty.further_columns import FurtherColumns, WeightedFit
from exciter.notes import Note
from exciter.parameters.terms.friction import BoundDryFriction
from exciter.typing import Array

HALF_SAMPLE_STD = 12.0**-0.5  #: of the sampling interval: σ of an instant that is anywhere within one


@dataclass(frozen=True, eq=False)
class TimingError:
    """delay [s]: by how much torques are logged later than positions, with its σ, as the data and half a sample either
    way say; change (p,): of the parameters, for a delay as large as is to be expected."""

    delay: float
    std: float
    change: Array

    @property
    def size(self) -> float:
        """[s] the root of the expected square."""
        return float(np.hypot(self.delay, self.std))

    @property
    def assumptions(self) -> tuple[Note, ...]:
        return assumed(
            f"torques may be logged {1e3 * self.size:.2g} ms later or earlier than positions, which counts by what "
            "it changes"
        )


@dataclass(frozen=True, eq=False)
class _WithDelay(FurtherColumns):
    """chi: standard parameters that predict the torque, without dry friction."""

    chi: Array

    @property
    def further_names(self) -> tuple[str, ...]:
        return ("delay of torques",)

    def further(self) -> Iterator[Array]:
        for column in self.signal():
            yield column[:, None]

    def made(self, piece: Processed) -> Array:
        motion = piece.motion
        if len(motion) < 2:
            return np.zeros_like(piece.torque)
        return np.asarray(-np.gradient(self.problem.model.torque(motion, self.chi), motion.time, axis=0))


def timing_error(problem: Problem, estimate: Estimate) -> TimingError | None:
    """Of equations that are made of torques of joints, and an estimate by (weighted) least squares, with a prior or
    not; None where the motion does not tell a delay from the parameters."""
    model, base = problem.model, problem.base
    parts = [part for part in bounded_parts(problem.runs) if len(part)]
    if problem.names != model.base.names or not parts:
        return None
    chi = np.zeros(len(model.standard))
    chi[base.independent] = estimate.values
    for term, columns in model.term_columns:
        if isinstance(term, BoundDryFriction):
            chi[columns] = 0.0
    fit = WeightedFit.of(problem, estimate)
    delayed = _WithDelay(fit.problem, chi)
    try:
        values, found = delayed.fitted(fit.weights, fit.prior, StationaryErrors())
        taken = delayed.taken(fit.weights, fit.prior)[:, 0]
    except ParameterError:
        return None
    known = (HALF_SAMPLE_STD / min(part.rate for part in parts)) ** 2
    seen = max(float(found.covariance[-1, -1]), 1e-300)
    trust = known / (known + seen)
    delay, std = trust * float(values[-1]), float(np.sqrt(trust * seen))
    return TimingError(delay=delay, std=std, change=taken * float(np.hypot(delay, std)))
