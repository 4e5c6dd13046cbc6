"""Bounds that a user knows: masses on a scale, centres of mass inside a housing. Each is a cone in χ."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from exciter.dynamics.model import DynamicModel
from exciter.errors import ParameterError
from exciter.identification.physical.reference import Reference

Array = NDArray[np.float64]
Kind = Literal["nonnegative", "second-order", "semidefinite"]


@dataclass(frozen=True, eq=False)
class Cone:
    """G χ + h in a cone: entries ≥ 0, first entry ≥ norm of the others, or svec of a matrix ⪰ 0. name: in words;
    given: whether a user gave it (physics otherwise)."""

    kind: Kind
    g: Array
    h: Array
    name: str
    given: bool = False


class Bound(ABC):
    """Settings of a bound, frozen, without a robot."""

    @abstractmethod
    def cones(self, model: DynamicModel, reference: Reference) -> list[Cone]:
        """As conditions on χ, with numbers near one when χ is near the reference."""


@dataclass(frozen=True)
class MassBound(Bound):
    """lower ≤ mass ≤ upper [kg] of the link that ``joint`` moves; of all moving links together for None."""

    joint: str | None = None
    lower: float = 0.0
    upper: float = float("inf")

    def __post_init__(self) -> None:
        if not (0.0 <= self.lower <= self.upper) or self.upper == 0.0 or self.lower == float("inf"):
            raise ParameterError(f"{self._words}: give 0 ≤ lower ≤ upper, in kg, and upper above 0")

    @property
    def _words(self) -> str:
        of = "all moving links" if self.joint is None else f"'{self.joint}'"
        return f"mass of {of} in [{self.lower:g}, {self.upper:g}] kg"

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

    joint: str
    lower: Sequence[float]
    upper: Sequence[float]

    def __post_init__(self) -> None:
        low, high = np.asarray(self.lower, dtype=float), np.asarray(self.upper, dtype=float)
        if low.shape != (3,) or high.shape != (3,) or not (low <= high).all():
            raise ParameterError(f"{self._words}: give three numbers each, in m, lower ≤ upper")
        if np.isposinf(low).any() or np.isneginf(high).any():
            raise ParameterError(f"{self._words}: an open side is −inf below and inf above")

    @property
    def _words(self) -> str:
        return f"centre of mass of '{self.joint}' between {_point(self.lower)} and {_point(self.upper)} m"

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

    joint: str
    centre: Sequence[float]
    radius: float

    def __post_init__(self) -> None:
        centre = np.asarray(self.centre, dtype=float)
        if centre.shape != (3,) or not np.isfinite(centre).all() or not 0.0 < self.radius < float("inf"):
            raise ParameterError(f"{self._words}: give three numbers and a positive radius, in m")

    @property
    def _words(self) -> str:
        return f"centre of mass of '{self.joint}' within {self.radius:g} m of {_point(self.centre)} m"

    def cones(self, model: DynamicModel, reference: Reference) -> list[Cone]:
        mass, moment, size = _first_moments(model, reference, self.joint)
        rows = np.vstack([self.radius * mass, moment - np.outer(np.asarray(self.centre, dtype=float), mass)])
        return [Cone("second-order", rows / size, np.zeros(4), self._words, True)]


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
