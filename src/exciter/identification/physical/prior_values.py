"""The robot that an estimate starts from and is pulled to: one body per link, all of them strictly physical."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from itertools import compress
from typing import Annotated, ClassVar

import numpy as np

from exciter.errors import ExciterError, ParameterError
from exciter.identification.physical.prior_metric import (
    LEAST_WEIGHT_FRACTION,
    Reference,
    StandardEquations,
    whitened_links,
)
from exciter.notes import done, note, warning
from exciter.parameters import inertial
from exciter.parameters.consistency import dummies
from exciter.robot.robot import Robot
from exciter.robot.spatial import from_pseudo_inertia, pseudo_inertia, rotation_to, transform_inertia
from exciter.settings import Number, Registry, Settings
from exciter.typing import Array, BoolArray

ROD_RADIUS_FRACTION = 1.0 / 3.0  #: radius of a rod over the mean length of the links
SHORTEST_ROD_FRACTION = 0.5  #: shortest rod over the mean length: axes that cross leave no length, but there is a body
UNKNOWN_LENGTH_M = 0.1  # [m] mean length of a robot whose axes all cross in one point
WRONG_MASS_FACTOR = 10.0  #: masses that are wrong by more than this factor are scaled
WRONG_MASS_RESIDUAL_RATIO = 2.0  # times the residuals, which a wrong factor must cause
LARGEST_MASS_FACTOR = 1e9  #: or its inverse: no unit that was mistaken is as far off
WEIGHTLESS = 1e150  #: σ of equations that are left out; its square is finite
LEAST_LINK_TORQUE_FRACTION = 1e-3  # of the torque: a smaller share of the links is not believed
THINNEST_BODY_FRACTION = 1e-2  #: of a rod in its place: a body with less in any direction is repaired
#: of that rod: what it then has at least; a prior must not be sure of directions nobody described
REPAIRED_BODY_FRACTION = 0.1


def uniform_rods(robot: Robot) -> Array:
    """(n, 10) in the robot's joint frames: full cylinders of one density and radius, 1 kg all together, each from the
    joint's origin to the mean of what it carries (joints; at the end the farthest frame), or a stub along its axis."""
    ends = np.array([_end(robot, j) for j in range(robot.n_bodies)])
    lengths = np.linalg.norm(ends, axis=1)
    mean = float(lengths.sum()) / robot.n_bodies or UNKNOWN_LENGTH_M
    masses = np.maximum(lengths, SHORTEST_ROD_FRACTION * mean)
    masses /= masses.sum()
    rods = []
    for joint, end, length, mass in zip(robot.bodies, ends, lengths, masses, strict=True):
        stub = length < 1e-6 * mean
        direction = joint.axis if stub else end / length
        radius, long = ROD_RADIUS_FRACTION * mean, max(float(length), SHORTEST_ROD_FRACTION * mean)
        across = mass * (radius**2 / 4.0 + long**2 / 12.0)
        inertia, turn = np.diag([across, across, 0.5 * mass * radius**2]), rotation_to(direction)  # axis along z
        rods.append(inertial.from_mass_com_inertia(float(mass), 0.5 * end, turn @ inertia @ turn.T))
    return np.array(rods)


def _end(robot: Robot, j: int) -> Array:
    """(3,) [m] where the body of joint j ends, from the joint's origin, in its frame."""
    carried = [joint.translation for joint in robot.bodies if joint.parent == j]
    if carried:
        return np.asarray(np.mean(carried, axis=0))
    frames = [frame.translation for frame in robot.frames if frame.joint == j]
    return max(frames, key=lambda at: float(np.linalg.norm(at)), default=np.zeros(3))


class PriorValues(Settings, ABC):
    """Where the values of a prior come from."""

    refusal: ClassVar[type[ExciterError]] = ParameterError

    @abstractmethod
    def reference(self, equations: StandardEquations) -> Reference: ...


@dataclass(frozen=True)
class Described(PriorValues):
    """Inertias and friction of the robot's description (URDF, MJCF, table), whatever they are worth.

    A body that cannot exist, or is a point or a line, gets what it lacks from a rod in its place. Masses that are wrong
    by orders of magnitude are scaled, all by one factor."""

    word, title = "description", "the inertias of the description"

    def reference(self, equations: StandardEquations) -> Reference:
        links, terms = equations.split(equations.model.nominal)
        mass = float(np.maximum(links[:, 0], 0.0).sum())
        if mass == 0.0:
            raise ParameterError(
                f"no link of '{equations.model.robot.name}' has a mass; give inertias, or use UniformRods"
            )
        factor, worse = fitted_mass(equations, links)
        wrong = worse > WRONG_MASS_RESIDUAL_RATIO and not 1.0 / WRONG_MASS_FACTOR < factor < WRONG_MASS_FACTOR
        factor = factor if wrong else 1.0
        links, thin = _thickened(links * factor, mass * factor * _rods(equations))
        thin &= [not joint.is_massless for joint in equations.model.robot.bodies]  # of whom there is no body to speak
        names = compress(equations.model.robot.tree_names, thin)
        plausible = " (plausible values, not the manufacturer's)" if equations.model.robot.nominal else ""
        notes = [done("prior", f"prior: the inertias of the robot's description{plausible}")]
        if wrong:
            text = f"its masses times {factor:.3g}, or torques make no sense: are they in kg, and the torques in N·m?"
            notes.append(warning("prior", text))
        if thin.any():
            text = f"made a body that can exist of what the description says for {', '.join(names)}"
            notes.append(note("prior", text))
        return Reference(links=links, terms=equations.nonnegative_part(terms), notes=tuple(notes))


@dataclass(frozen=True)
class UniformRods(PriorValues):
    """Uniform rods from joint to joint, see ``uniform_rods``. mass [kg] of all together; None: fitted to the data."""

    word, title = "rods", "uniform rods"
    mass: Annotated[float | None, Number(above=0.0, unit="kg")] = None

    def reference(self, equations: StandardEquations) -> Reference:
        rods = _rods(equations)
        mass = fitted_mass(equations, rods)[0] if self.mass is None else self.mass
        origin = "fitted to the data" if self.mass is None else "as given"
        text = f"prior: uniform rods from joint to joint, {mass:.4g} kg all together ({origin})"
        terms = equations.nonnegative_part(equations.split(equations.model.nominal)[1])
        return Reference(links=mass * rods, terms=terms, notes=(done("prior", text),))


@dataclass(frozen=True)
class BestKnown(PriorValues):
    """The description's inertias; uniform rods where those are placeholders."""

    word, title = "best-known", "the best that is known"

    def reference(self, equations: StandardEquations) -> Reference:
        why = dummies(equations.model.robot)
        if not why:
            return Described().reference(equations)
        found = UniformRods().reference(equations)
        text = f"the inertias of the robot's description are placeholders: {why}"
        return replace(found, notes=(note("prior", text), *found.notes))


PRIOR_VALUES = Registry[PriorValues]("prior", BestKnown, Described, UniformRods)


def fitted_mass(equations: StandardEquations, links: Array) -> tuple[float, float]:
    """By what to multiply links (n, 10) so that their torques fit best, joint terms of any size beside them; and how
    many times larger the residuals are when they are left as they are."""
    signal = equations.signal
    # equations whose right side is zero tell no size: those of a free base in the air, or beside unknown forces
    told = signal > LEAST_WEIGHT_FRACTION * signal.max()
    a, z = equations.sides(np.where(told, signal, WEIGHTLESS))
    terms = a[:, equations.links :]
    torque = a[:, : equations.links] @ links.ravel()
    factor, left = _nonnegative_factor(terms, torque, z)
    most = float(np.linalg.norm(z) / max(float(np.linalg.norm(torque)), 1e-300))
    if factor <= LEAST_LINK_TORQUE_FRACTION * most:  # torques that ask for no mass at all: at most as large as they
        factor = most
    if not 1.0 / LARGEST_MASS_FACTOR < factor < LARGEST_MASS_FACTOR:
        raise ParameterError(
            f"the torques say nothing of the masses of '{equations.model.robot.name}' (they would be {factor:.3g} "
            "times those of the prior): they are zero, in another unit, or taken off with forces of contacts"
        )
    _, as_given = _nonnegative_factor(terms, np.zeros_like(z), z - torque)
    return factor, as_given / max(left, 1e-300)


def _nonnegative_factor(terms: Array, torque: Array, z: Array) -> tuple[float, float]:
    """x ≥ 0 of ‖x · torque + terms · anything − z‖ at its least, and that least."""
    q, _ = np.linalg.qr(terms / np.maximum(np.linalg.norm(terms, axis=0), 1e-300))
    along, right = (v - q @ (q.T @ v) for v in (torque, z))
    size, least = float(along @ along), LEAST_LINK_TORQUE_FRACTION**2 * float(torque @ torque)
    factor = max(float(along @ right) / size, 0.0) if size > least else 0.0  # or terms can do all that the links do
    return factor, float(np.linalg.norm(right - factor * along))


def _rods(equations: StandardEquations) -> Array:
    """(n, 10) of 1 kg, in modified-DH frames."""
    model = equations.model
    placed = zip(uniform_rods(model.robot), model.mdh.rotations, model.mdh.translations, strict=True)
    return np.array([transform_inertia(phi, r.T, -r.T @ p) for phi, r, p in placed])


def _thickened(links: Array, rods: Array) -> tuple[Array, BoolArray]:
    """Links with nothing thinner than a part of the rods, and which of them were."""
    lower: Array = np.asarray(np.linalg.cholesky(pseudo_inertia(rods)))
    values, vectors = np.linalg.eigh(whitened_links(links, lower))
    thin = values[:, 0] < THINNEST_BODY_FRACTION
    thicker = vectors * np.maximum(values, REPAIRED_BODY_FRACTION)[:, None, :] @ vectors.swapaxes(1, 2)
    repaired = from_pseudo_inertia(lower @ thicker @ lower.swapaxes(1, 2))
    return np.where(thin[:, None], repaired, links), thin
