"""Bounds on χ, each a cone. Those a user knows: masses on a scale, centres of mass inside a housing.

bounds:
  - {mass: [10, 20]}                                     # [kg] of all moving links; one number: known to 1 %
  - {joint: elbow, mass: [2, 4]}                         # of the link that a joint moves; null: open
  - {joint: elbow, centre: {lower: [-0.1, -0.1, 0], upper: [0.1, 0.1, 0.4]}}     # [m] in the joint frame
  - {joint: wrist, centre: {near: [0, 0, 0.05], radius: 0.03}}

Bounds that physics sets: every link a body, joint terms ≥ 0 where they must be, coupled rotors together; and which base
parameters no physical robot has negative.

A base parameter is Σ over links of ⟨C, J⟩ plus joint terms. ⟨C, J⟩ ≥ 0 for every body, J ⪰ 0, exactly when C ⪰ 0: the
integral of a polynomial that is nowhere negative. So is ZZR1 = ZZ1 + YY2 + YY3 + 0.4 MZ3 + 0.29 M3, though MZ3 alone
has any sign."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, ParameterError, shown
from exciter.identification.information.problem import Problem
from exciter.identification.physical.cone_program import Cone
from exciter.identification.physical.prior_metric import Reference, StandardEquations, link_rows, svec
from exciter.parameters.consistency import consistency
from exciter.robot.motion import Motion
from exciter.robot.spatial import from_pseudo_inertia
from exciter.settings import Number, Settings, Text, Vector
from exciter.settings.field_markers import Kind, wrong
from exciter.settings.fill import filled, json_schema
from exciter.typing import Array, BoolArray

GIVEN_MASS_TOLERANCE = 0.01  # a mass given as one number
INF = float("inf")
JointName = Annotated[str, Text("a joint")]
BASE_COEFFICIENT_ROUNDING = 1e-9
ROTOR_INERTIA_ROUNDING = 1e-9  # of the largest rotor


class Bound(Settings, ABC):
    """Settings of a bound, frozen, without a robot."""

    refusal: ClassVar[type[ExciterError]] = ParameterError

    @abstractmethod
    def cones(self, model: DynamicModel, reference: Reference) -> list[Cone]:
        """As conditions on χ, with numbers near one when χ is near the reference."""


@dataclass(frozen=True)
class MassBound(Bound):
    """lower ≤ mass ≤ upper [kg] of the link that ``joint`` moves; of all moving links together for None."""

    joint: JointName | None = None
    lower: Annotated[float, Number(infinite=True, unit="kg")] = 0.0
    upper: Annotated[float, Number(infinite=True, unit="kg")] = INF

    def __post_init__(self) -> None:
        if not (0.0 <= self.lower <= self.upper) or self.upper == 0.0 or self.lower == INF:
            raise ParameterError(f"{self._words}: give 0 ≤ lower ≤ upper, in kg, and upper above 0")

    @property
    def _words(self) -> str:
        of = "all moving links" if self.joint is None else f"'{self.joint}'"
        return f"mass of {of} in [{self.lower:g}, {self.upper:g}] kg"

    def spelling(self, data: dict[str, Any]) -> Any:
        mass = {"mass": [self.lower, self.upper]}
        return mass if self.joint is None else {"joint": self.joint, **mass}

    def cones(self, model: DynamicModel, reference: Reference) -> list[Cone]:
        chosen = range(model.robot.n_bodies) if self.joint is None else [model.robot.body(self.joint)]
        row = np.zeros((1, len(model.standard)))
        row[0, [10 * j for j in chosen]] = 1.0
        scale = max(float(sum(reference.links[j, 0] for j in chosen)), self.lower)
        sides = [(row, -self.lower)] if self.lower > 0.0 else []
        sides += [(-row, self.upper)] if np.isfinite(self.upper) else []
        return [Cone("nonnegative", g / scale, np.array([h / scale]), self._words, True) for g, h in sides]


@dataclass(frozen=True)
class CentreBox(Bound):
    """lower ≤ centre of mass ≤ upper (3,) [m] of the link that ``joint`` moves, in its described frame; ±inf: open."""

    joint: JointName
    lower: Annotated[tuple[float, ...], Vector(3, "m", -INF)]
    upper: Annotated[tuple[float, ...], Vector(3, "m", INF)]

    def __post_init__(self) -> None:
        if not all(low <= high for low, high in zip(self.lower, self.upper, strict=True)):
            raise ParameterError(f"{self._words}: give lower ≤ upper")

    @property
    def _words(self) -> str:
        return f"centre of mass of '{self.joint}' between {_point(self.lower)} and {_point(self.upper)} m"

    def spelling(self, data: dict[str, Any]) -> Any:
        return {"joint": self.joint, "centre": {"lower": list(self.lower), "upper": list(self.upper)}}

    def cones(self, model: DynamicModel, reference: Reference) -> list[Cone]:
        mass, moment, size = _first_moments(model, reference, self.joint)
        rows = [moment[k] - low * mass for k, low in enumerate(self.lower) if np.isfinite(low)]
        rows += [high * mass - moment[k] for k, high in enumerate(self.upper) if np.isfinite(high)]
        return [Cone("nonnegative", np.array(rows) / size, np.zeros(len(rows)), self._words, True)] if rows else []


@dataclass(frozen=True)
class CentreSphere(Bound):
    """Centre of mass of the link that ``joint`` moves within ``radius`` of ``centre`` [m], in its described frame."""

    joint: JointName
    centre: Annotated[tuple[float, ...], Vector(3, "m")]
    radius: Annotated[float, Number(above=0.0, unit="m")]

    def spelling(self, data: dict[str, Any]) -> Any:
        return {"joint": self.joint, "centre": {"near": list(self.centre), "radius": self.radius}}

    def cones(self, model: DynamicModel, reference: Reference) -> list[Cone]:
        mass, moment, size = _first_moments(model, reference, self.joint)
        rows = np.vstack([self.radius * mass, moment - np.outer(np.asarray(self.centre, dtype=float), mass)])
        words = f"centre of mass of '{self.joint}' within {self.radius:g} m of {_point(self.centre)} m"
        return [Cone("second-order", rows / size, np.zeros(4), words, True)]


@dataclass(frozen=True)
class MassRange(Kind):
    """Two numbers [kg], null where a side is open; one number is known to a hundredth."""

    wanted = "a mass [kg], or a list of the least and the most it can be"

    def check(self, given: Any, context: Mapping[str, Any]) -> tuple[float, float]:
        if not isinstance(given, list | tuple):
            mass = Number(above=0.0, unit="kg").number(given)
            return (1.0 - GIVEN_MASS_TOLERANCE) * mass, (1.0 + GIVEN_MASS_TOLERANCE) * mass
        if len(given) != 2:
            raise wrong(f" is {shown(given)}; give {self.wanted}")
        least, most = given
        number = Number(infinite=True).number
        return 0.0 if least is None else number(least), INF if most is None else number(most)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [Number(above=0.0, unit="kg").schema(), Vector(2, "kg", INF).schema()]}


@dataclass(frozen=True)
class CentreEntry(Settings):
    """A box, or a sphere."""

    lower: Annotated[tuple[float, ...] | None, Vector(3, "m", -INF)] = None
    upper: Annotated[tuple[float, ...] | None, Vector(3, "m", INF)] = None
    near: Annotated[tuple[float, ...] | None, Vector(3, "m")] = None
    radius: Annotated[float | None, Number(above=0.0, unit="m")] = None

    def bound(self, joint: str | None) -> Bound:
        if joint is None:
            raise ExciterError("centre bounds a centre of mass without a joint; name the joint that moves it")
        if self.lower is not None and self.upper is not None and self.near is None and self.radius is None:
            return CentreBox(joint, self.lower, self.upper)
        if self.near is not None and self.radius is not None and self.lower is None and self.upper is None:
            return CentreSphere(joint, self.near, self.radius)
        given = ", ".join(key for key, value in vars(self).items() if value is not None) or "nothing"
        raise ExciterError(f"centre has {given}; give {{lower: …, upper: …}}, or {{near: …, radius: …}} [m]")


@dataclass(frozen=True)
class BoundEntry(Settings):
    """What is known of a link, or of all."""

    joint: JointName | None = None
    mass: Annotated[tuple[float, float] | None, MassRange()] = None
    centre: CentreEntry | None = None

    def __post_init__(self) -> None:
        if not self.bounds:
            raise ExciterError("it has neither a mass nor a centre; give one of them")

    @property
    def bounds(self) -> tuple[Bound, ...]:
        mass = () if self.mass is None else (MassBound(self.joint, *self.mass),)
        return mass if self.centre is None else (*mass, self.centre.bound(self.joint))


@dataclass(frozen=True)
class KnownOfABody(Kind):
    """An entry of ``bounds:``, which may be more than one bound: a tuple of them, then."""

    wanted = "a mapping with some of the keys joint, mass, centre"

    def check(self, given: Any, context: Mapping[str, Any]) -> Any:
        if isinstance(given, tuple) and all(isinstance(one, Bound) for one in given):
            return given
        return given if isinstance(given, Bound) else filled(BoundEntry, given, context).bounds

    def schema(self) -> dict[str, Any]:
        return dict(json_schema(BoundEntry))


def _point(values: Sequence[float]) -> str:
    return f"({', '.join(f'{v:g}' for v in np.asarray(values, dtype=float).ravel())})"


def _first_moments(model: DynamicModel, reference: Reference, joint: str) -> tuple[Array, Array, float]:
    """Rows for mass (p,) and first moments (3, p) of a link in the robot's own joint frame, and their size [kg·m]."""
    j = model.robot.body(joint)
    mass, moment = np.zeros(len(model.standard)), np.zeros((3, len(model.standard)))
    mass[10 * j] = 1.0
    moment[:, 10 * j] = model.mdh.translations[j]
    moment[:, 10 * j + 1 : 10 * j + 4] = model.mdh.rotations[j]
    phi = reference.links[j]
    gyration = np.sqrt(0.5 * (phi[4] + phi[6] + phi[9]) / phi[0])  # [m] about the frame's origin
    return mass, moment, float(phi[0] * max(gyration, 1e-9))


def physics(equations: StandardEquations, reference: Reference, margin: float) -> list[Cone]:
    """margin: J ⪰ margin · J₀ for every link, so that the inertia matrix is ⪰ margin times the reference's, too."""
    g = link_rows(reference.whitening, len(equations.model.standard))
    names = [f"the link of '{name}' is a body" for name in equations.model.robot.tree_names]
    h = -margin * svec(np.eye(4))
    bodies = [Cone("semidefinite", g[10 * j : 10 * j + 10], h, name) for j, name in enumerate(names)]
    return [*bodies, *physical_terms(equations)]


def physical_terms(equations: StandardEquations) -> list[Cone]:
    """Of joint terms alone: friction, rotor inertia, stiffness ≥ 0, and Σ χ A ⪰ 0 of joints with coupled rotors."""
    wanted, cones = np.flatnonzero(equations.nonnegative), []
    if len(wanted):
        g = np.zeros((len(wanted), len(equations.model.standard)))
        g[np.arange(len(wanted)), equations.links + wanted] = 1.0 / equations.term_scale[wanted]
        name = "friction, rotor inertia and stiffness are not negative"
        cones.append(Cone("nonnegative", g, np.zeros(len(g)), name))
    matrices = rotor_matrices(equations.model)
    coupled = np.abs(matrices).sum(axis=0)
    np.fill_diagonal(coupled, 0.0)
    joints = np.flatnonzero(coupled.any(axis=0))
    if len(joints):
        scale = equations.term_scale[np.abs(matrices).sum(axis=(1, 2)) > 0.0].min()
        g = np.zeros((len(joints) * (len(joints) + 1) // 2, len(equations.model.standard)))
        g[:, equations.links :] = svec(matrices[:, joints][:, :, joints]).T / scale
        cones.append(Cone("semidefinite", g, np.zeros(len(g)), "the inertia of coupled rotors is positive"))
    return cones


def rotor_matrices(model: DynamicModel) -> Array:
    """(t, n, n): what every joint-term parameter adds to the inertia matrix, per unit."""
    still = np.zeros((model.n, model.n))
    unit = Motion.at(still, np.eye(model.n), still)
    found = [np.zeros((0, model.n, model.n))]
    for term in model.bound:
        found.append(np.zeros((len(term.names), model.n, model.n)))
        if (momentum := term.momentum(unit)) is not None:
            for k, (row, column) in enumerate(term.rows):
                found[-1][column, row] += momentum[k]
    return np.concatenate(found)


def nonnegative_base(problem: Problem) -> BoolArray:
    equations = StandardEquations.of(problem)
    links, terms = np.split(equations.grouping, [equations.links], axis=1)
    negligible = BASE_COEFFICIENT_ROUNDING * np.abs(equations.grouping).max(axis=1)
    smallest = np.linalg.eigvalsh(coefficient_matrix(links.reshape(len(links), -1, 10)))[..., 0]
    bodies = (smallest >= -negligible[:, None]).all(axis=1)
    wanted = equations.nonnegative
    signs = np.where(wanted, terms >= -negligible[:, None], np.abs(terms) <= negligible[:, None]).all(axis=1)
    return np.asarray(bodies & signs)


def coefficient_matrix(c: Array) -> Array:
    """(…, 4, 4) C with ⟨C, J(φ)⟩ = c·φ for coefficients c (…, 10)."""
    unit = np.eye(16).reshape(4, 4, 4, 4)
    symmetric = from_pseudo_inertia(0.5 * (unit + unit.swapaxes(2, 3)))
    return np.asarray(np.einsum("ijk,...k->...ij", symmetric, c))


def physical_problems(model: DynamicModel, chi: ArrayLike) -> tuple[str, ...]:
    """What is wrong with χ (p,), in words; nothing for a robot that can exist."""
    values = np.asarray(chi, dtype=float)
    names = [f"the body of joint '{name}'" for name in model.robot.tree_names]
    bodies = consistency(model.joint_frame_inertias(values), names)
    problems = [str(link) for link in bodies.links if not link.consistent]
    terms = values[model.inertial_size :]
    wanted = [flag for term in model.bound for flag in term.nonnegative]
    named = zip(model.standard[model.inertial_size :], terms, wanted, strict=True)
    problems += [f"{name} is negative ({value:.4g})" for name, value, asked in named if asked and value < 0.0]
    rotors = np.tensordot(terms, rotor_matrices(model), axes=1)
    if np.linalg.eigvalsh(rotors)[0] < -ROTOR_INERTIA_ROUNDING * np.abs(rotors).max(initial=0.0) and not problems:
        problems.append("the inertia of coupled rotors is not positive")
    return tuple(problems)
