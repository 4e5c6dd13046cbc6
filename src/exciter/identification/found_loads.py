"""Loads that logs show: what runs with a load have beside those without, and what a log does not state of its own.

What a log does not state of its load is unknown. Where other runs show the robot without it, it is found from both:
the load φ of ``find_load``, given what is stated of it (a conditional distribution), and given that no load hangs
farther away than the arm is long, which says something only where the logs say nothing. It is then taken off as if it
were known, and what it is not known by comes back in the covariance: β̂ moves by G Δu, so that

    cov β = cov(β | u) + G cov(u) Gᵀ,    G = −(Σ RᵀR/σ²)⁻¹ (Σ RᵀR/σ²)_with A,

which is what a fit of both together has (block inversion). Drive gains that were found come back in the same way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import scipy
from scipy import linalg

from exciter.dynamics.load_effect import load_effect
from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, RecordingError
from exciter.experiment.recording import Payload
from exciter.identification.estimators.least_squares import WeightedLeastSquares
from exciter.identification.estimators.physical import PhysicallyConsistent
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.identify_config import Errors, with_uncertainty
from exciter.identification.information.estimate import Estimate, assumed
from exciter.identification.information.information import Information
from exciter.identification.information.jackknife import LEFT_OUT_STRETCHES, of_stretches
from exciter.identification.information.problem import Problem
from exciter.identification.payload import (
    GROWTH_CONFIDENCE,
    PayloadEstimate,
    payload_between,
    payload_of,
    quantities,
)
from exciter.identification.runs.reversals import reversal_speed
from exciter.identification.runs.run import Run, body_chi, bounded_parts, load_chi
from exciter.notes import Note, note, warning
from exciter.parameters.terms import LoadFriction
from exciter.parameters.terms.term import per_joint
from exciter.typing import Array

LOAD_FRICTION_ROUNDS = 8  #: at most, of a load and the friction that grows with it
SETTLED_LOAD_CHANGE = 0.1  #: of its σ: a smaller change of the load is none
TOLD_STD_SHARE = 0.5  #: of what is believed of any load: with less, the logs tell
GAINS_COUNT = assumed("drive gains are as uncertain as they were found")
LOADS_COUNT = assumed("what was found of loads is as uncertain as it was found")


def find_load(
    unloaded: Problem, runs: Sequence[Run], frame: str, errors: Errors, scales: Array | None = None
) -> PayloadEstimate:
    """The load on ``frame`` that ``runs`` have and those of ``unloaded`` have not: between two estimates whose
    covariances hold for such errors, or in one fit where the loaded runs alone do not determine the robot, or beside
    the robot as a prior completes it where no runs do. scales (J, J): relative covariance of the torques' scales, one
    per joint. Friction that grows with the load has the load in it."""
    model, phi = unloaded.model, np.zeros(10)
    rounds = LOAD_FRICTION_ROUNDS if any(isinstance(term, LoadFriction) for term in model.terms) else 1
    for _ in range(rounds):
        loaded = replace(unloaded, model=carrying(model, frame, phi), runs=tuple(runs))
        found = _found(unloaded, loaded, frame, errors, scales)
        change, phi = np.abs(found.phi - phi), found.phi
        if (change <= SETTLED_LOAD_CHANGE * np.sqrt(found.covariance.diagonal())).all():
            break
    return found


def _found(unloaded: Problem, loaded: Problem, frame: str, errors: Errors, scales: Array | None) -> PayloadEstimate:
    estimator, model = WeightedLeastSquares(), unloaded.model
    try:
        with_load, without = (
            with_uncertainty(problem, estimator, estimator.estimate(problem), errors) for problem in (loaded, unloaded)
        )
    except ParameterError:
        effect = load_effect(model, unloaded.base, frame)
        try:
            return payload_of(loaded.compressed, unloaded.compressed, effect, frame, units=loaded.units, scales=scales)
        except ParameterError:
            prior = PhysicallyConsistent()
            robot = with_uncertainty(unloaded, prior, prior.estimate(unloaded), errors)
            return payload_of(loaded.compressed, None, effect, frame, robot, loaded.units, scales)
    shared = None
    if scales is not None:
        share = scale_share(loaded, with_load) - scale_share(unloaded, without)
        shared = share @ scales @ share.T
    left_out = _of_stretches(loaded, with_load) + _of_stretches(unloaded, without)
    return payload_between(model, frame, with_load, without, unloaded.base, shared, left_out)


def _of_stretches(problem: Problem, estimate: Estimate) -> Array:
    """(b, b) of weighted least squares, from leaving out stretches of time."""
    compressed = replace(problem, folds=LEFT_OUT_STRETCHES).compressed
    return of_stretches(compressed, estimate.values, estimate.noise)


def beyond_reversals(problem: Problem, runs: Sequence[Run]) -> Problem:
    """Without equations of joints that may as well move the other way (``reversal_speed``): where dry friction jumps it
    makes errors many times the noise, which lie where accelerations are large, as a load's inertia does. runs: that
    are compared with those of the problem."""
    formulation, model = problem.formulation, problem.model
    parts = [part for part in bounded_parts((*problem.runs, *runs)) if len(part)]
    if not isinstance(formulation, InverseDynamic) or not parts:
        return problem
    given = per_joint(formulation.dead_zone, model.robot.joint_names, "the dead zone")[:, 0]
    zone = np.maximum(given, reversal_speed(parts))
    return replace(problem, formulation=replace(formulation, dead_zone=tuple(zone.tolist())))


def carrying(model: DynamicModel, frame: str, phi: Array) -> DynamicModel:
    """The model of the robot's own parameters along runs with a load φ (10,): its gears carry the load, too."""
    if not phi.any() or not any(isinstance(term, LoadFriction) for term in model.terms):
        return model
    size = model.inertial_size
    more = body_chi(model, frame, phi)[:size].reshape(-1, 10)
    nominal = model.nominal[:size].reshape(-1, 10)

    def heavier(term: LoadFriction) -> LoadFriction:
        links = (nominal if term.links is None else np.array(term.links)) + more
        return replace(term, links=tuple(map(tuple, links.tolist())))

    return replace(model, terms=tuple(heavier(one) if isinstance(one, LoadFriction) else one for one in model.terms))


def scale_share(problem: Problem, estimate: Estimate) -> Array:
    """(b, J) by which parameters change when the torques of a joint are larger by a factor, per unit of it."""
    compressed, base = problem.compressed, problem.base
    nothing = np.zeros(len(problem.names))
    loads = [run.payload for run in problem.runs]
    carried = np.array([nothing if one is None else base.base_values(load_chi(problem.model, one)) for one in loads])
    r = compressed.factors[..., :-1]
    torque = compressed.factors[..., -1] + np.einsum("gjrp,gp->gjr", r, carried[compressed.run])
    onto = np.einsum("gjrp,gjr->pj", r, torque) / estimate.noise**2
    return np.asarray(_inverse(compressed.information(estimate.noise).gram()) @ onto)


def _inverse(gram: Array) -> Array:
    """Of information, whatever its units; zero along what it says nothing of."""
    scale = np.sqrt(np.maximum(gram.diagonal(), 1e-300))
    return np.asarray(np.linalg.pinv(gram / np.outer(scale, scale), hermitian=True) / np.outer(scale, scale))


# -- loads that are stated in part -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CompletedLoad:
    """stated: as ``logs`` state it; phi (10,): with what was found; covariance (10, 10): of that, zero where stated.
    believed (10,): σ of what is believed of any load of this mass. excess: by which the logs contradict what is
    stated (a mean square, one by chance), and farthest: what chance hardly exceeds."""

    stated: Payload
    logs: tuple[str, ...]
    phi: Array
    covariance: Array
    believed: Array
    excess: float = 0.0
    farthest: float = np.inf

    @cached_property
    def payload(self) -> Payload:
        """As a load that is known."""
        values = quantities(self.phi).tolist()
        return replace(self.stated, centre=tuple(values[1:4]), inertia=tuple(values[4:]))

    @property
    def told(self) -> bool:
        """Whether the logs tell, and not only what is believed of any load."""
        std, open_ = np.sqrt(self.covariance.diagonal()), self.stated.unknown
        return bool((std[open_] < TOLD_STD_SHARE * self.believed[open_]).all())

    @property
    def note(self) -> Note:
        logs = ", ".join(Path(name).name for name in self.logs)
        missing, mass = " and ".join(self.stated.missing), self.stated.mass
        said = f"{missing} of the load of {mass:g} kg on '{self.stated.frame}' are not given"
        if not self.told:
            text = (
                f"{said}, and no log tells them from the robot: they count as unknown; give them, or a log without it"
            )
            return warning("payload", f"{text} ({logs})")
        centre = ", ".join(f"{1e3 * x:.1f}" for x in self.phi[1:4] / mass)
        std = 1e3 * float(np.sqrt(self.covariance.diagonal()[1:4].max())) / mass
        found = f"{said}: found from the logs beside it" + (f", centre [{centre}] ± {std:.1f} mm" if std else "")
        if self.excess > self.farthest:
            text = f"{found}; what is given does not agree with these logs: check it, gains and units of torque"
            return warning("payload", f"{text} ({logs})")
        return note("payload", f"{found} ({logs})")


def complete_load(
    stated: Payload, runs: Sequence[Run], beside: Problem | None, model: DynamicModel, errors: Errors
) -> CompletedLoad:
    """runs: that carry it; beside: runs of the robot whose load is known, where there are any."""
    open_, length = stated.unknown, _arm_length(model, stated.frame)
    believed = stated.mass * np.array([0.0, *(length,) * 3, *(length**2,) * 6])
    known = Information.empty(len(open_)).add(np.diag(1.0 / believed[open_]), np.zeros(len(open_)))
    excess, farthest = 0.0, np.inf
    if beside is not None:
        try:
            found = find_load(beside, [replace(run, payload=None) for run in runs], stated.frame, errors)
        except (ParameterError, RecordingError):  # they show too little of it
            found = None
        if found is not None:
            seen = linalg.null_space(found.hidden.T) if found.hidden.size else np.eye(10)
            shown = Information.of_estimate(seen.T @ (found.phi - stated.stated), seen.T @ found.covariance @ seen)
            known = known.add(shown.r @ seen[open_].T, shown.z)
            rest = seen.shape[1] - len(open_)
            if rest > 0:
                excess, farthest = (
                    known.residual / rest,
                    float(scipy.stats.f.ppf(GROWTH_CONFIDENCE, rest, max(found.freedom, 1.0))),
                )
    values, covariance = known.solve()
    phi, whole = stated.stated.copy(), np.zeros((10, 10))
    phi[open_] += values
    whole[np.ix_(open_, open_)] = covariance
    return CompletedLoad(
        stated=stated,
        logs=tuple(run.name for run in runs),
        phi=phi,
        covariance=whole,
        believed=believed,
        excess=excess,
        farthest=farthest,
    )


def _arm_length(model: DynamicModel, frame: str) -> float:
    """[m] from joint to joint and to the frame, one metre for a robot whose joints meet in a point."""
    joints = sum(float(np.linalg.norm(joint.translation)) for joint in model.robot.bodies)
    return joints + float(np.linalg.norm(model.robot.frame(frame).translation)) or 1.0


def with_what_was_found(
    problem: Problem, estimate: Estimate, loads: Sequence[CompletedLoad] = (), scales: Array | None = None
) -> Estimate:
    """The estimate with what is not known of loads and drive gains that were found from logs, and taken for known."""
    compressed, covariance, said = problem.compressed, estimate.covariance, estimate.assumptions
    if scales is not None:
        share = scale_share(problem, estimate)
        covariance, said = covariance + share @ scales @ share.T, (*said, *GAINS_COUNT)
    if loads:
        inverse, said = _inverse(compressed.information(estimate.noise).gram()), (*said, *LOADS_COUNT)
    for load in loads:
        carries = np.array([run.payload == load.payload for run in problem.runs])[compressed.run]
        onto = compressed.where(carries).information(estimate.noise).gram()
        share = inverse @ onto @ load_effect(problem.model, problem.base, load.stated.frame)
        covariance = covariance + share @ load.covariance @ share.T
    return replace(estimate, covariance=covariance, assumptions=said)
