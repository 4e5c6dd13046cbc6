"""Bounds that a user knows: masses on a scale, centres of mass inside a housing. Each is a cone in χ.

bounds:
  - {mass: [10, 20]}                                     # [kg] of all moving links; one number: known to 1 %
  - {joint: elbow, mass: [2, 4]}                         # of the link that a joint moves; null: open
  - {joint: elbow, centre: {lower: [-0.1, -0.1, 0], upper: [0.1, 0.1, 0.4]}}     # [m] in the joint frame
  - {joint: wrist, centre: {near: [0, 0, 0.05], radius: 0.03}}
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, ParameterError, shown
from exciter.identification.physical.reference import Reference
from exciter.settings import Number, Settings, Text, Vector
from exciter.settings.fill import adapter
from exciter.settings.kinds import Kind
from exciter.settings.wrong import wrong
from exciter.typing import Array

ConeKind = Literal["nonnegative", "second-order", "semidefinite"]
KNOWN_TO = 0.01  # a mass given as one number
INF = float("inf")
JointName = Annotated[str, Text("a joint")]


@dataclass(frozen=True, eq=False)
class Cone:
    """G χ + h in a cone: entries ≥ 0, first entry ≥ norm of the others, or svec of a matrix ⪰ 0. name: in words;
    given: whether a user gave it (physics otherwise)."""

    kind: ConeKind
    g: Array
    h: Array
    name: str
    given: bool = False


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
        chosen = range(model.n) if self.joint is None else [model.robot.index(self.joint)]
        row = np.zeros(len(model.standard))
        row[[10 * j for j in chosen]] = 1.0
        scale = max(float(sum(reference.links[j, 0] for j in chosen)), self.lower)
        sides = [(row, -self.lower)] if self.lower > 0.0 else []
        sides += [(-row, self.upper)] if np.isfinite(self.upper) else []
        return [Cone("nonnegative", g[None] / scale, np.array([h / scale]), self._words, True) for g, h in sides]


@dataclass(frozen=True)
class CentreBox(Bound):
    """lower ≤ centre of mass ≤ upper (3,) [m] of the link that ``joint`` moves, in the joint frame of the robot's
    description; −inf and inf where a side is open."""

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
        if not rows:
            return []
        return [Cone("nonnegative", np.array(rows) / size, np.zeros(len(rows)), self._words, True)]


@dataclass(frozen=True)
class CentreSphere(Bound):
    """Centre of mass of the link that ``joint`` moves, at most ``radius`` [m] from ``centre`` (3,) [m], in the joint
    frame of the robot's description."""

    joint: JointName
    centre: Annotated[tuple[float, ...], Vector(3, "m")]
    radius: Annotated[float, Number(above=0.0, unit="m")]

    @property
    def _words(self) -> str:
        return f"centre of mass of '{self.joint}' within {self.radius:g} m of {_point(self.centre)} m"

    def spelling(self, data: dict[str, Any]) -> Any:
        return {"joint": self.joint, "centre": {"near": list(self.centre), "radius": self.radius}}

    def cones(self, model: DynamicModel, reference: Reference) -> list[Cone]:
        mass, moment, size = _first_moments(model, reference, self.joint)
        rows = np.vstack([self.radius * mass, moment - np.outer(np.asarray(self.centre, dtype=float), mass)])
        return [Cone("second-order", rows / size, np.zeros(4), self._words, True)]


@dataclass(frozen=True)
class MassRange(Kind):
    """Two numbers [kg], null where a side is open; one number is known to a hundredth."""

    wanted = "a mass [kg], or a list of the least and the most it can be"

    def check(self, given: Any, context: Mapping[str, Any]) -> tuple[float, float]:
        if not isinstance(given, list | tuple):
            mass = Number(above=0.0, unit="kg").number(given)
            return (1.0 - KNOWN_TO) * mass, (1.0 + KNOWN_TO) * mass
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
    """An entry of ``bounds:``, which may be more than one bound: see ``one_by_one``."""

    wanted = "a mapping with some of the keys joint, mass, centre"

    def check(self, given: Any, context: Mapping[str, Any]) -> Any:
        if isinstance(given, tuple) and all(isinstance(one, Bound) for one in given):
            return given
        return given if isinstance(given, Bound) else adapter(BoundEntry).validate_python(given, context=context).bounds

    def schema(self) -> dict[str, Any]:
        return dict(adapter(BoundEntry).json_schema())


def one_by_one(given: Iterable[Any]) -> tuple[Bound, ...]:
    """Bounds of entries that may be several."""
    return tuple(bound for one in given for bound in ((one,) if isinstance(one, Bound) else one))


def _point(values: Sequence[float]) -> str:
    return f"({', '.join(f'{v:g}' for v in np.asarray(values, dtype=float).ravel())})"


def _first_moments(model: DynamicModel, reference: Reference, joint: str) -> tuple[Array, Array, float]:
    """Rows that give the mass (p,) and the first moments (3, p) of a link in the robot's own joint frame, and the size
    [kg·m] of such moments."""
    j = model.robot.index(joint)
    mass, moment = np.zeros(len(model.standard)), np.zeros((3, len(model.standard)))
    mass[10 * j] = 1.0
    moment[:, 10 * j] = model.mdh.translations[j]
    moment[:, 10 * j + 1 : 10 * j + 4] = model.mdh.rotations[j]
    phi = reference.links[j]
    gyration = np.sqrt(0.5 * (phi[4] + phi[6] + phi[9]) / phi[0])  # [m] about the frame's origin
    return mass, moment, float(phi[0] * max(gyration, 1e-9))
