"""Payload identification: what the robot carries in loaded runs and not in unloaded ones.

Loaded rows are W (β + A φ), unloaded ones W β: a load φ on a frame adds A φ to the base parameters, with A the columns
of the link that carries the frame in the grouping of base parameters, seen from the frame. All unknowns are estimated
together, so that the uncertainty of the robot is in that of the load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from scipy import linalg

from exciter.dynamics.load_effect import LOAD_NAMES, load_effect, visible_load
from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError, RecordingError
from exciter.experiment.recording import Payload
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.information.compressed import EXACT_DATA_NOISE, Compressed, until_noise_settles
from exciter.identification.information.estimate import WHITE, Estimate, assumed, finite_or_none, student_interval
from exciter.identification.information.information import Information
from exciter.identification.information.jackknife import widened
from exciter.identification.information.problem import Problem
from exciter.identification.physical.cone_program import Cone, nearest
from exciter.identification.physical.prior_metric import svec
from exciter.identification.runs.run import Run
from exciter.identification.selection.friction_candidates import SPRING_TERMS
from exciter.notes import Note, done, in_one_line, note, texts, warning
from exciter.parameters import inertial
from exciter.parameters.base import BaseParameters
from exciter.parameters.consistency import link_consistency
from exciter.parameters.terms import RotorInertia
from exciter.robot.spatial import pseudo_inertia
from exciter.typing import Array, BoolArray, Index

LOAD_NOISE_CHANGE = 1e-6  #: relative change of σ, below which weights and residuals agree
GROWTH_CONFIDENCE = 0.999  #: that residuals grow with the load, before there is a warning
LEAST_RESIDUAL_GROWTH = 1.3  #: ratio of residuals with and without the load, before there is a warning
FIRST_NOISE_FRACTION = 0.05  #: of the torque: the noise to begin with
SAME_ROBOT = assumed("the robot's own parameters are the same with and without the load")
SAME_LINKS = assumed("the robot's links are the same with and without the load, its friction and offsets need not be")
LOAD_QUANTITIES = ("mass", "cx", "cy", "cz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
LOAD_UNITS = ("kg", *("m",) * 3, *("kg·m²",) * 6)
LOAD_CONFIDENCE = 0.95
HIDDEN_CHANGE_TOLERANCE = 1e-7  #: relative change of a quantity along what no motion shows, below which it is none
LEAST_LOAD_EIGENVALUE = 1e-5  #: smallest eigenvalue of a body moved to the boundary, scaled to unit mass and size
NO_MASS = "the mass is not significant: is a load mounted, and were the runs not swapped?"
NO_INERTIA = (
    "the inertia about the centre is not significant: the motion is too slow for it, or the load too small; mass and "
    "centre are not touched by this"
)


@dataclass(frozen=True, eq=False)
class PayloadEstimate:
    """phi (10,): m, m·c, inertia about the origin of ``frame`` (Pinocchio's order), in its axes; covariance (10, 10).
    hidden (10, k): changes of phi that no motion of this robot shows; k = 0 for most arms. freedom, assumptions: see
    ``Estimate``. robot: its base parameters from the same fit, without the load, and the σ of the equations."""

    frame: str
    phi: Array
    covariance: Array
    hidden: Array
    freedom: float
    robot: Estimate
    assumptions: tuple[Note, ...]
    fit_notes: tuple[Note, ...] = ()

    @cached_property
    def determined(self) -> BoolArray:
        """(10,) which of LOAD_QUANTITIES the robot can show."""
        if not self.hidden.size:
            return np.ones(10, dtype=bool)
        slopes = gradient(self.phi)  # NaN, and so not determined, without a mass
        change = np.abs(slopes @ self.hidden).max(axis=1)
        return np.asarray(change <= HIDDEN_CHANGE_TOLERANCE * np.abs(slopes).max(axis=1) * np.abs(self.hidden).max())

    @cached_property
    def values(self) -> Array:
        """(10,) of LOAD_QUANTITIES; NaN where not determined."""
        return np.where(self.determined, quantities(self.phi), np.nan)

    @cached_property
    def values_covariance(self) -> Array:
        """(10, 10) of them, to first order (delta method)."""
        slopes = gradient(self.phi)
        return np.asarray(slopes @ self.covariance @ slopes.T)

    @cached_property
    def std(self) -> Array:
        """(10,) of them; infinite where not determined."""
        return np.where(self.determined, np.sqrt(np.maximum(self.values_covariance.diagonal(), 0.0)), np.inf)

    def interval(self, level: float = LOAD_CONFIDENCE) -> tuple[Array, Array]:
        """Lower and upper ends (10,) of the confidence interval of each of them (Student)."""
        return student_interval(self.values, self.std, self.freedom, level)

    @property
    def mass(self) -> float:
        """[kg]"""
        return float(self.values[0])

    @property
    def centre(self) -> Array:
        """(3,) [m] in the frame."""
        return self.values[1:4]

    @property
    def inertia(self) -> Array:
        """(3, 3) [kg·m²] about the centre, in axes of the frame."""
        return inertial.symmetric(*self.values[4:])

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """What a person should know, notes of the fit included."""
        found = list(self.fit_notes)
        lost = [name for name, seen in zip(LOAD_QUANTITIES, self.determined, strict=True) if not seen]
        if lost:
            named = ", ".join(lost)
            found.append(warning("excitation", f"no motion of this robot shows {named} of a load on '{self.frame}'"))
        if self.determined[0] and self.interval()[0][0] <= 0.0:
            return (*found, warning("mass", NO_MASS))
        seen = np.flatnonzero(self.determined[4:]) + 4
        if len(seen) and not self._significant(seen):
            found.append(note("inertia", NO_INERTIA))
        elif not lost and not (verdict := link_consistency(self.phi, "the load")).consistent:
            text = f"{'; '.join(verdict.problems)}: consistent() gives the nearest body that can exist"
            found.append(warning("inertia", text))
        return tuple(found)

    def _significant(self, which: Index) -> bool:
        """Whether some of the quantities differ from zero, together (Hotelling's T²)."""
        values, covariance = self.values[which], self.values_covariance[np.ix_(which, which)]
        scale = np.sqrt(np.maximum(covariance.diagonal(), 1e-300))
        inverse = np.linalg.pinv(covariance / np.outer(scale, scale), hermitian=True)
        squares = values / scale @ inverse @ (values / scale)
        return bool(squares > len(which) * scipy.stats.f.ppf(LOAD_CONFIDENCE, len(which), max(self.freedom, 1.0)))

    def consistent(self) -> PayloadEstimate:
        """The body nearest in the metric of the covariance, of those that can exist: the constrained estimate. The
        covariance stays that of the free estimate, which is too large where a constraint holds."""
        if self.hidden.size:
            raise ParameterError(
                "the load is not fully determined, so there is no one nearest body; give the missing parameters"
            )
        if link_consistency(self.phi).consistent:
            return self
        text = "moved to the nearest body that can exist; intervals are those of the free estimate"
        notes = (*self.fit_notes, done("inertia", text))
        return replace(self, phi=nearest_body(self.phi, self.covariance), fit_notes=notes)

    def payload(self) -> Payload:
        """As a known load of other recordings."""
        if not self.determined.all():
            raise ParameterError("the load is not fully determined; give its mass, centre and inertia by hand")
        return Payload(self.frame, self.mass, tuple(self.centre.tolist()), tuple(self.values[4:].tolist()))

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        low, high = self.interval()
        numbers = [[finite_or_none(x) for x in row] for row in np.transpose([self.values, self.std, low, high])]
        return {
            "frame": self.frame,
            "parameters": [
                {"name": name, "unit": unit, "value": value, "std": std, "interval": [lower, upper]}
                for name, unit, (value, std, lower, upper) in zip(LOAD_QUANTITIES, LOAD_UNITS, numbers, strict=True)
            ],
            "level": LOAD_CONFIDENCE,
            "frame_parameters": dict(zip(inertial.INERTIAL_NAMES, self.phi.tolist(), strict=True)),
            "frame_std": dict(zip(inertial.INERTIAL_NAMES, np.sqrt(self.covariance.diagonal()).tolist(), strict=True)),
            "frame_covariance": self.covariance.tolist(),
            "freedom": float(self.freedom),
            "assumption": in_one_line(self.assumptions),
            "remarks": texts(self.notes),
        }


def nearest_body(phi: Array, covariance: Array) -> Array:
    """φ (10,) with pseudo-inertia ⪰ 0, nearest in the covariance's metric; tolerances are of unit mass and size."""
    j, std = pseudo_inertia(phi), np.sqrt(covariance.diagonal())
    mass = max(abs(phi[0]), std[0])
    size = np.sqrt(max(float(np.abs(j[:3, :3]).max()), float(std[4:].max())) / mass)
    scale = np.sqrt(mass) * np.array([size, size, size, 1.0])
    g = svec(pseudo_inertia(np.eye(10)) / np.outer(scale, scale)).T
    body = Cone("semidefinite", g, -LEAST_LOAD_EIGENVALUE * svec(np.eye(4)), "the load is a body")
    ball = inertial.from_mass_com_inertia(mass, np.zeros(3), 0.4 * mass * size**2 * np.eye(3))
    return nearest(phi, Information.of_estimate(phi, covariance).r, [body], ball)


def quantities(phi: Array) -> Array:
    """(10,) LOAD_QUANTITIES of φ: m, h/m, and I − (h·h 1 − h hᵀ)/m."""
    mass, h = phi[0] if phi[0] != 0.0 else np.nan, phi[1:4]
    about = inertial.inertia_matrix(phi) - (h @ h * np.eye(3) - np.outer(h, h)) / mass
    return np.concatenate([[phi[0]], h / mass, inertial.upper_triangle(about)])


def gradient(phi: Array) -> Array:
    """(10, 10) ∂ quantities / ∂φ."""
    mass, h, unit = phi[0] if phi[0] != 0.0 else np.nan, phi[1:4], np.eye(3)
    slopes = np.zeros((10, 10))
    slopes[0, 0] = 1.0
    slopes[1:4, 0], slopes[1:4, 1:4] = -h / mass**2, unit / mass
    for row, (a, b) in enumerate(zip(*np.triu_indices(3), strict=True), start=4):
        slopes[row, inertial.UPPER_TRIANGLE[row - 4]] = 1.0
        slopes[row, 0] = (h @ h * unit[a, b] - h[a] * h[b]) / mass**2
        slopes[row, 1:4] = -(2.0 * h * unit[a, b] - unit[a] * h[b] - h[a] * unit[b]) / mass
    return slopes


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
    is what comes on top of it. Friction and rotors are taken to be the same with the load as without."""
    formulation = InverseDynamic() if formulation is None else formulation
    effect = load_effect(model, formulation.base(model), frame)
    if not loaded:
        raise RecordingError("there is no run with the load; give at least one")
    if not unloaded and robot is None:
        raise RecordingError(
            "there is no run without the load, and nothing is known of the robot itself: they cannot be distinguished; "
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


def payload_of(
    loaded: Compressed,
    unloaded: Compressed | None,
    effect: Array,
    frame: str = "flange",
    robot: Estimate | None = None,
    units: tuple[str, ...] | None = None,
    scales: Array | None = None,
) -> PayloadEstimate:
    """The same from compressed equations for base parameters; effect: A (b, 10). scales (J, J): relative covariance of
    the torques' scales, one per joint."""
    names, b = loaded.parameters, len(loaded.parameters)
    kept, hidden = visible_load(effect)
    if not len(kept):
        raise ParameterError(f"no motion of this robot shows anything of a load on '{frame}'; name another frame")
    labels = names + tuple(LOAD_NAMES[k] for k in kept)
    equations = with_load_columns(loaded, effect[:, kept], labels)
    carries = np.ones(len(loaded.run), dtype=np.int64)
    if unloaded is not None:
        equations = with_load_columns(unloaded, np.zeros((b, len(kept))), labels).merge(equations)
        carries = np.append(np.zeros(len(unloaded.run), dtype=np.int64), carries)
    known = Information.empty(len(labels))
    if robot is not None:
        if robot.names != names:
            raise ParameterError(
                f"the robot's estimate has {len(robot.names)} parameters, these equations {b}, or others: make both "
                "with the same model and formulation"
            )
        alone = robot.information
        known = known.add(np.pad(alone.r, ((0, 0), (0, len(kept)))), alone.z)
    values, covariance, noise = _fitted(equations, known, carries, scales)
    before = noise[0] if unloaded is not None else robot.noise if robot and robot.joints == loaded.joints else None
    fitted = Estimate(
        names=names,
        units=units or ("",) * b,
        values=values[:b],
        covariance=covariance[:b, :b],
        joints=loaded.joints,
        noise=noise[-1],
        freedom=float(equations.independent.sum()) + known.rows - len(labels),
        assumptions=WHITE + SAME_ROBOT,
    )
    return _payload(
        kept,
        values[b:],
        covariance[b:, b:],
        frame=frame,
        hidden=hidden,
        freedom=fitted.freedom,
        robot=fitted,
        assumptions=fitted.assumptions,
        fit_notes=() if before is None else _grew(equations, carries, before, noise[-1], robot),
    )


def payload_between(
    model: DynamicModel,
    frame: str,
    loaded: Estimate,
    unloaded: Estimate,
    base: BaseParameters | None = None,
    shared: Array | None = None,
    left_out: Array | None = None,
) -> PayloadEstimate:
    """The load between two estimates of the base parameters, made from runs with and without it by any estimator.

    β₁ − β₀ = A φ, weighted by the sum of both covariances: whatever these stand for (correlated errors, outliers), the
    load's stands for, too. base: of the formulation, unless it is the model's own. shared (b, b): covariance that β₁ −
    β₀ has beside both, of what was taken for known in both. left_out (b, b): covariance of β₁ − β₀ from leaving out
    stretches of time, below which the load's does not go. With weighted least squares it is the same as
    ``identify_payload``, where each set of runs determines all parameters by itself.

    Where the robot differs with the load by more than chance makes, its friction and offsets, which change with load
    and temperature, are left to differ. left_out given, what no load explains of the rest shows errors that neither
    covariance has, and where it is larger than expected it widens the load's covariance as much (Birge 1932)."""
    base = model.base if base is None else base
    effect = load_effect(model, base, frame)
    if not loaded.names == unloaded.names or len(loaded.names) != len(effect):
        raise ParameterError("both estimates must be of the base parameters of this model, made with one formulation")
    kept, hidden = visible_load(effect)
    difference, nothing = loaded.values - unloaded.values, np.zeros(2 * (len(effect),))
    shared = nothing if shared is None else shared
    covariance = loaded.covariance + unloaded.covariance + shared
    freedom = min(loaded.freedom, unloaded.freedom)

    def between(rows: Index) -> tuple[Information, float]:
        """Of some of the base parameters; and how much larger the rest is than chance makes it, in squares."""
        known = Information.of_estimate(difference[rows], covariance[np.ix_(rows, rows)])
        found = Information.empty(len(kept)).add(known.r @ effect[np.ix_(rows, kept)], known.z)
        return found, found.residual / max(len(rows) - len(kept), 1)

    rows = np.arange(len(effect))
    found, excess = between(rows)
    notes, same = tuple[Note, ...](), SAME_ROBOT
    rest = len(effect) - len(kept)
    if rest and excess > scipy.stats.f.ppf(GROWTH_CONFIDENCE, rest, max(freedom, 1.0)):
        text = (
            f"with the load the robot differs by more than any load explains ({found.residual:.0f} where {rest} are "
            "expected): friction depends on the load, or on temperature, and was left to differ"
        )
        notes = (warning("friction", text),)
        rows, same = rows[~_changing(model, base)], SAME_LINKS
        found, excess = between(rows)
    values, own = found.solve([LOAD_NAMES[k] for k in kept])
    if left_out is not None:  # φ̂ = F (β₁ − β₀)
        of_rows = np.ix_(rows, rows)
        onto = found.solve()[1] @ effect[np.ix_(rows, kept)].T @ np.linalg.inv(covariance[of_rows])
        own = widened(max(excess, 1.0) * own, onto @ (left_out + shared)[of_rows] @ onto.T)
    return _payload(
        kept,
        values,
        own,
        frame=frame,
        hidden=hidden,
        freedom=freedom,
        robot=unloaded,
        assumptions=loaded.assumptions + same,
        fit_notes=notes,
    )


def _payload(kept: Index, values: Array, covariance: Array, **found: Any) -> PayloadEstimate:
    """Of those of φ that were kept, the others being zero; found: the other fields."""
    phi, whole = np.zeros(10), np.zeros((10, 10))
    phi[kept], whole[np.ix_(kept, kept)] = values, covariance
    return PayloadEstimate(phi=phi, covariance=whole, **found)


def _changing(model: DynamicModel, base: BaseParameters) -> BoolArray:
    """(b,) which base parameters are of friction or offsets: of terms that are no rotor and no spring."""
    bound = zip(model.terms, model.bound, strict=True)
    names = {name for term, one in bound if not isinstance(term, (RotorInertia, *SPRING_TERMS)) for name in one.names}
    return np.array([name in names for name in base.names])


def with_load_columns(compressed: Compressed, effect: Array, labels: tuple[str, ...]) -> Compressed:
    """R becomes [R, R A]; effect: A (b, k) of all pieces, or (G, b, k) of each; labels: of all columns."""
    factors = compressed.factors
    sides = np.concatenate([factors[..., :-1], factors[..., :-1] @ effect[..., None, :, :], factors[..., -1:]], axis=-1)
    return replace(compressed.with_factors(sides), parameters=labels)


def _fitted(
    equations: Compressed, known: Information, carries: Index, scales: Array | None
) -> tuple[Array, Array, Array]:
    """Values (p,), covariance (p, p), noise (sets, J), with and without load, of the residuals and in the weights."""
    p, sets = len(equations.parameters), np.unique(carries, return_inverse=True)[1]
    member = sets[:, None] == np.arange(sets.max() + 1)  # (G, S)
    rows = member.T @ equations.rows
    if rows.sum() + known.rows <= p:
        raise ParameterError(f"{rows.sum()} equations for {p} parameters; record longer, filter or decimate less")
    signal = np.sqrt(member.T @ (equations.factors[..., -1] ** 2).sum(axis=2) / np.maximum(rows, 1))
    if not (signal > 0.0).all():
        joint = equations.joints[int(np.argmin(signal.min(axis=0)))]
        raise RecordingError(f"the torque of '{joint}' is zero throughout; give a log that has it, or lock the joint")

    def fit(noise: Array) -> tuple[tuple[Array, Array, Array], Array]:
        sigma = noise[sets]
        information = equations.information(sigma).merge(known)
        information.refuse_singular(equations.parameters)
        inverse = linalg.solve_triangular(information.r, np.eye(p))
        values = inverse @ information.z
        took, squares = member.T @ equations.taken(inverse, sigma), member.T @ equations.squares(values)
        seen = np.sqrt(squares / np.maximum(rows - took, 1.0))
        return (values, inverse, sigma), np.maximum(seen, EXACT_DATA_NOISE * signal)

    (values, inverse, sigma), noise, _ = until_noise_settles(fit, FIRST_NOISE_FRACTION * signal, LOAD_NOISE_CHANGE)
    # A⁻¹ B A⁻¹ with A = Σ RᵀR/σ² and B the same with rows worth fewer independent ones counted as so many
    meat = equations.information(sigma / np.sqrt(equations.inflation)).merge(known).r @ inverse @ inverse.T
    covariance = meat.T @ meat
    if scales is not None:
        onto = np.einsum(
            "gjrp,gjr->pj", equations.factors[..., :-1] / sigma[..., None, None] ** 2, equations.factors[..., -1]
        )
        share = inverse @ (inverse.T @ onto)
        covariance = covariance + share @ scales @ share.T
    return values, covariance, noise


def _grew(equations: Compressed, carries: Index, before: Array, now: Array, robot: Estimate | None) -> tuple[Note, ...]:
    """Joints whose residual is larger with the load: friction is the same only if it is not."""
    degrees = [np.maximum(equations.independent[carries == k].sum(axis=0), 1.0) for k in (0, 1)]
    if not (carries == 0).any() and robot is not None:
        degrees[0] = np.full(len(before), max(robot.freedom / len(before), 1.0))
    limit = scipy.stats.f.ppf(GROWTH_CONFIDENCE, degrees[1], degrees[0])
    ratio = now / before
    grown = np.flatnonzero((ratio**2 > limit) & (ratio > LEAST_RESIDUAL_GROWTH))
    if not len(grown):
        return ()
    listed = ", ".join(f"{equations.joints[j]} ({ratio[j]:.2g} ×)" for j in grown)
    text = (
        f"residuals are larger with the load: {listed}; friction that grows with it, a joint that bends, or noisy "
        "accelerations may bias it: filter both sides of the equations, add LoadFriction, compare slow and fast runs"
    )
    return (warning("residuals", text),)
