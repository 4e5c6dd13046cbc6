"""Payload identification: what the robot carries in loaded runs and not in unloaded ones.

Loaded rows are W (β + A φ), unloaded ones W β: a load φ on a frame adds A φ to the base parameters, with A the columns
of the link that carries the frame in the grouping of base parameters, seen from the frame. All unknowns are estimated
together, so that the uncertainty of the robot is in that of the load.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, stats

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, RecordingError
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.information.compressed import Compressed
from exciter.identification.information.estimate import WHITE, Estimate, assumed
from exciter.identification.information.information import Information
from exciter.identification.information.problem import Problem
from exciter.identification.information.solution import TINY
from exciter.identification.payload.payload_estimate import PayloadEstimate
from exciter.identification.runs.run import Run
from exciter.notes import Note, note, warning
from exciter.parameters import inertial
from exciter.parameters.base import BaseParameters
from exciter.robot.robot import BASE
from exciter.robot.spatial import inertia_transform
from exciter.typing import Array

ROUNDS, SETTLED = 50, 1e-6  # of the noise: rounds at most, and the relative change that ends them
RANK = 1e-8  # of A with columns of length one: a smaller diagonal of its factor is none
SURELY, NOTABLY = 0.999, 1.3  # that residuals grow with the load, and by how much, before a word is said
FIRST = 0.05  # of the torque: the noise to begin with
LOAD_NAMES = tuple(f"{name} of the load" for name in inertial.NAMES)
SAME_ROBOT = assumed("the robot's own parameters are the same with and without the load")


def identify_payload(
    model: DynamicModel,
    frame: str,
    loaded: Sequence[Run],
    unloaded: Sequence[Run] = (),
    robot: Estimate | None = None,
    formulation: Formulation | None = None,
) -> PayloadEstimate:
    """The load on ``frame`` that ``loaded`` runs have and ``unloaded`` ones have not.

    robot: its base parameters without the load and their covariance, where they are known from elsewhere, instead of
    unloaded runs or beside them. A known payload of a run (``Run.payload``) is taken off first, as everywhere: the load
    is what comes on top of it. Friction and rotors are taken to be the same with the load as without.
    """
    formulation = InverseDynamic() if formulation is None else formulation
    effect = load_effect(model, formulation.base(model), frame)
    if not loaded:
        raise RecordingError("there is no run with the load; give at least one")
    if not unloaded and robot is None:
        raise RecordingError(
            "there is no run without the load, and nothing is known of the robot itself: they cannot be told apart; "
            "give an unloaded run, or an estimate of the robot"
        )
    problem = Problem(model, tuple(loaded), formulation, folds=1)
    before = Problem(model, tuple(unloaded), formulation, folds=1).compressed if unloaded else None
    found = payload_of(problem.compressed, before, effect, frame, robot, problem.units)
    taken = [run.name for run in loaded if run.payload is not None and run.payload.mass]
    if taken:
        text = f"the known payload of {', '.join(taken)} was taken off first; the load comes on top of it"
        found = replace(found, fit_notes=(*found.fit_notes, note("known payload", text)))
    return found


def load_effect(model: DynamicModel, base: BaseParameters, frame: str) -> Array:
    """A (b, 10): how φ of a load on ``frame``, in its axes, changes the base parameters."""
    place = model.robot.frame(frame)
    if place.joint == BASE:
        raise ParameterError(f"the load is on '{place.name}', which is fixed on the base; name a frame that moves")
    link = place.joint
    columns = [base.standard.index(f"{name}{link + 1}") for name in inertial.NAMES]
    rotation, translation = model.mdh.rotations[link], model.mdh.translations[link]
    to_link = inertia_transform(rotation.T, -rotation.T @ translation)
    effect: Array = base.grouping[:, columns] @ to_link @ inertia_transform(place.rotation, place.translation)
    return effect


def payload_of(
    loaded: Compressed,
    unloaded: Compressed | None,
    effect: Array,
    frame: str = "flange",
    robot: Estimate | None = None,
    units: tuple[str, ...] | None = None,
) -> PayloadEstimate:
    """The same from compressed equations for base parameters; effect: A (b, 10)."""
    names = loaded.parameters
    kept, hidden = _visible(effect)
    if not len(kept):
        raise ParameterError(f"no motion of this robot shows anything of a load on '{frame}'; name another frame")
    labels = names + tuple(LOAD_NAMES[k] for k in kept)
    equations = _with_load(loaded, effect[:, kept], labels)
    carries = np.ones(len(loaded.run), dtype=np.int64)
    if unloaded is not None:
        equations = _with_load(unloaded, np.zeros((len(names), len(kept))), labels).merge(equations)
        carries = np.append(np.zeros(len(unloaded.run), dtype=np.int64), carries)
    known = _known(robot, names, len(labels))
    fit = _fitted(equations, known, carries)
    b = len(names)
    phi, covariance = _spread_out(kept, fit.values[b:], fit.covariance[b:, b:])
    freedom = float(equations.independent.sum()) + known.rows - len(labels)
    assumptions = WHITE + SAME_ROBOT
    values, own = fit.values[:b], fit.covariance[:b, :b]
    alone = Estimate(names, units or ("",) * b, values, own, loaded.joints, fit.noise[-1], freedom, assumptions)
    before = fit.noise[0] if unloaded is not None else robot.noise if robot and robot.joints == loaded.joints else None
    notes = () if before is None else _compared(equations, carries, before, fit.noise[-1], robot)
    return PayloadEstimate(
        frame, phi, covariance, hidden, freedom, alone, loaded.joints, fit.noise[-1], before, assumptions, notes
    )


def payload_between(
    model: DynamicModel, frame: str, loaded: Estimate, unloaded: Estimate, base: BaseParameters | None = None
) -> PayloadEstimate:
    """The load between two estimates of the base parameters, made from runs with and without it by any estimator.

    β₁ − β₀ = A φ, weighted by the sum of both covariances: whatever these stand for (correlated errors, outliers), the
    load's stands for, too. base: of the formulation, unless it is the model's own. With weighted least squares it is
    the same as ``identify_payload``, where each set of runs determines all parameters by itself.
    """
    effect = load_effect(model, model.base if base is None else base, frame)
    if not loaded.names == unloaded.names or len(loaded.names) != len(effect):
        raise ParameterError("both estimates must be of the base parameters of this model, made with one formulation")
    kept, hidden = _visible(effect)
    difference = Information.of_estimate(loaded.values - unloaded.values, loaded.covariance + unloaded.covariance)
    found = Information.empty(len(kept)).add(difference.r @ effect[:, kept], difference.z)
    phi, covariance = _spread_out(kept, *found.solve([LOAD_NAMES[k] for k in kept]))
    freedom = min(loaded.freedom, unloaded.freedom)
    notes: tuple[Note, ...] = ()
    rest = len(effect) - len(kept)
    if rest and found.residual > rest * stats.f.ppf(SURELY, rest, max(freedom, 1.0)):
        text = (
            f"with the load the robot differs by more than any load explains ({found.residual:.0f} where {rest} are "
            "expected): friction that depends on the load, or on temperature, may bias it"
        )
        notes = (warning("friction", text),)
    return PayloadEstimate(
        frame,
        phi,
        covariance,
        hidden,
        freedom,
        unloaded,
        loaded.joints,
        loaded.noise,
        unloaded.noise,
        loaded.assumptions + SAME_ROBOT,
        notes,
    )


def _spread_out(kept: NDArray[np.int64], values: Array, covariance: Array) -> tuple[Array, Array]:
    """φ (10,) and its covariance (10, 10) of those that were kept."""
    phi, whole = np.zeros(10), np.zeros((10, 10))
    phi[kept], whole[np.ix_(kept, kept)] = values, covariance
    return phi, whole


def _visible(effect: Array) -> tuple[NDArray[np.int64], Array]:
    """Which of φ to keep (r,), others being zero, so that A loses nothing; and the changes of φ (10, 10 − r) that have
    no effect. Most arms show all ten."""
    length = np.linalg.norm(effect, axis=0)
    scale = np.where(length > RANK * length.max(), length, np.inf)
    r, order = linalg.qr(effect / scale, mode="r", pivoting=True)
    rank = int((np.abs(np.diag(r)) > RANK).sum())
    kept, lost = order[:rank], order[rank:]
    hidden = np.zeros((10, len(lost)))
    hidden[lost, np.arange(len(lost))] = 1.0
    finite = np.where(np.isfinite(scale), scale, 1.0)
    share = linalg.solve_triangular(r[:rank, :rank], r[:rank, rank:]) if rank else np.zeros((0, len(lost)))
    hidden[kept] = -share * finite[lost] / finite[kept][:, None]
    ascending = np.argsort(kept)
    return np.asarray(kept[ascending], dtype=np.int64), hidden


def _with_load(compressed: Compressed, effect: Array, labels: tuple[str, ...]) -> Compressed:
    """R becomes [R, R A]."""
    factors = compressed.factors
    sides = np.concatenate([factors[..., :-1], factors[..., :-1] @ effect, factors[..., -1:]], axis=-1)
    square = np.zeros((*sides.shape[:2], len(labels) + 1, len(labels) + 1))
    square[:, :, : sides.shape[2]] = sides
    return replace(compressed, parameters=labels, factors=square)


def _known(robot: Estimate | None, names: tuple[str, ...], p: int) -> Information:
    """What is known of the robot, as information on all unknowns."""
    if robot is None:
        return Information.empty(p)
    if robot.names != names:
        raise ParameterError(
            f"the robot's estimate has {len(robot.names)} parameters, these equations {len(names)}, or others: make "
            "both with the same model and formulation"
        )
    known = robot.information
    return Information.empty(p).add(np.pad(known.r, ((0, 0), (0, p - len(names)))), known.z)


@dataclass(frozen=True, eq=False)
class _Fit:
    values: Array
    covariance: Array
    noise: Array  # (sets, J)


def _fitted(equations: Compressed, known: Information, carries: NDArray[np.int64]) -> _Fit:
    """Weighted by the noise of every joint, with and without load, that the residuals themselves show."""
    p, sets = len(equations.parameters), np.unique(carries, return_inverse=True)[1]
    member = sets[:, None] == np.arange(sets.max() + 1)  # (G, S)
    rows = member.T @ equations.rows
    if rows.sum() + known.rows <= p:
        raise ParameterError(f"{rows.sum()} equations for {p} parameters; record longer, filter or decimate less")
    signal = np.sqrt(member.T @ (equations.factors[..., -1] ** 2).sum(axis=2) / np.maximum(rows, 1))
    if not (signal > 0.0).all():
        joint = equations.joints[int(np.argmin(signal.min(axis=0)))]
        raise RecordingError(f"the torque of '{joint}' is zero throughout; give a log that has it, or lock the joint")
    noise = FIRST * signal
    for round_ in range(ROUNDS):
        sigma = noise[sets]
        information = equations.information(sigma).merge(known)
        if round_ == 0:
            information.refuse_singular(equations.parameters)
        inverse = linalg.solve_triangular(information.r, np.eye(p))
        values = inverse @ information.z
        rotated = (equations.factors[..., :-1] / sigma[..., None, None]) @ inverse
        took = member.T @ ((rotated**2).sum(axis=(2, 3)) * equations.inflation)
        squares = member.T @ equations.squares(values)
        before, noise = noise, np.maximum(np.sqrt(squares / np.maximum(rows - took, 1.0)), TINY * signal)
        if (np.abs(noise - before) <= SETTLED * noise).all():
            break
    # A⁻¹ B A⁻¹ with A = Σ RᵀR/σ² and B the same with rows worth fewer independent ones counted as so many
    meat = equations.information(sigma / np.sqrt(equations.inflation)).merge(known).r @ inverse @ inverse.T
    return _Fit(values, meat.T @ meat, noise)


def _compared(
    equations: Compressed, carries: NDArray[np.int64], before: Array, after: Array, robot: Estimate | None
) -> tuple[Note, ...]:
    """Joints whose residual is larger with the load: friction is the same only if it is not."""
    degrees = [np.maximum(equations.independent[carries == k].sum(axis=0), 1.0) for k in (0, 1)]
    if not (carries == 0).any() and robot is not None:
        degrees[0] = np.full(len(before), max(robot.freedom / len(before), 1.0))
    limit = stats.f.ppf(SURELY, degrees[1], degrees[0])
    ratio = after / before
    grown = np.flatnonzero((ratio**2 > limit) & (ratio > NOTABLY))
    if not len(grown):
        return ()
    listed = ", ".join(f"{equations.joints[j]} ({ratio[j]:.2g} ×)" for j in grown)
    text = (
        f"residuals are larger with the load: {listed}; friction that grows with it, a joint that bends, or noisy "
        "accelerations may bias it: filter both sides of the equations, add LoadFriction, compare slow and fast runs"
    )
    return (warning("residuals", text),)
