"""Barycentric parameters: those of augmented bodies (Fisette, Raucent & Samin; Swevers et al., ASME, section 4).

An augmented body is a link with the masses of all links that it carries at their joints. Of a link that turns about z
of its modified-DH frame, three parts of it act as if they were fixed to the link that carries it, because a rotation
about z does not change them and its speed does no work on them:

    m̄                  mass of the augmented body, at the joint
    μ  = Σ m z          first moment along the axis
    κ  = ½ (XX + YY)    mean moment of inertia across the axis, without one about it

They are handed on, joint by joint, to the base. What stays are seven numbers per link: mbx, mby (first moments across
the axis), kd = ½ (XX − YY), kxy, kxz, kyz, kzz. Khalil & Gautier hand YY on where κ is handed on here; the space, and
so the number of parameters, is the same. Of the seven, those that have no effect near the base, or only together, are
found from the base parameters in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from exciter.errors import ParameterError
from exciter.parameters.base import EXACT_SELECTION, BaseParameters, linear_combination, orthonormal_rows, select
from exciter.parameters.inertial import INERTIAL_NAMES
from exciter.parameters.parameter_names import split_name
from exciter.robot.robot import BASE, Robot
from exciter.robot.spatial import inertia_transform
from exciter.typing import Array

#: Name of a barycentric parameter by the inertial one that stands for it in the regressor (kd: XX with −YY).
BARYCENTRIC_SYMBOLS = {
    "ZZ": "kzz",
    "XX": "kd",
    "XY": "kxy",
    "XZ": "kxz",
    "YZ": "kyz",
    "MX": "mbx",
    "MY": "mby",
}
BARYCENTRIC_RANK_TOLERANCE = 1e-9  #: as of base parameters in closed form


@dataclass(frozen=True, eq=False)
class BarycentricParameters:
    """θ = C χ, with torques Φ χ = Φ D θ. standard (p,): names of χ. names, units (b,): of θ, those of joint terms
    unchanged. grouping (b, p): C. columns (p, b): D."""

    standard: tuple[str, ...]
    names: tuple[str, ...]
    units: tuple[str, ...]
    grouping: Array
    columns: Array

    def __len__(self) -> int:
        return len(self.names)

    def values(self, chi: ArrayLike) -> Array:
        """θ (…, b) of standard parameters χ (…, p)."""
        return np.asarray(np.asarray(chi, dtype=np.float64) @ self.grouping.T)

    def project(self, rows: ArrayLike) -> Array:
        """Φ D (…, b) of regressor rows Φ (…, p)."""
        return np.asarray(np.asarray(rows, dtype=np.float64) @ self.columns)

    def combination(self, k: int) -> str:
        """``0.5 XX2 - 0.5 YY2 + …`` of parameter k, its own link first."""
        link = split_name(self.names[k])[1]
        members = sorted(np.flatnonzero(self.grouping[k]), key=lambda i: (split_name(self.standard[i])[1] != link, i))
        return linear_combination([(float(self.grouping[k, i]), self.standard[i]) for i in members])

    @property
    def expressions(self) -> tuple[str, ...]:
        """``kd2 = 0.5 XX2 - 0.5 YY2``."""
        return tuple(f"{name} = {self.combination(k)}" for k, name in enumerate(self.names))

    def __repr__(self) -> str:
        return "\n".join(self.expressions)


def barycentric(robot: Robot, base: BaseParameters, units: Sequence[str]) -> BarycentricParameters:
    """Of a robot in modified-DH frames with these base parameters of all its standard ones, whose units (p,) are given.

    A joint that slides changes where the masses beyond it are, so that there is no augmented body: it is refused."""
    if robot.coupling is not None:
        raise ParameterError("barycentric parameters are for joints that move on their own; use the base parameters")
    if sliding := [joint.name for joint in robot.joints if joint.is_prismatic]:
        reason = f"joint '{sliding[0]}' slides, so that the masses it carries have no fixed place on the link before"
        raise ParameterError(f"barycentric parameters are for joints that turn: {reason}; use the base parameters")
    kept_forms, columns, stand_ins = _seven_per_link(robot, len(base.standard))
    terms = np.eye(len(base.standard))[10 * robot.n :]
    forms, columns = np.vstack([kept_forms, terms]), np.hstack([columns, terms.T])
    stand_ins += base.standard[10 * robot.n :]
    # Φ D = Φ_b P D: the columns of P D say which of them have an effect, and which only together.
    part = base.grouping @ columns
    scale = np.abs(part).max(axis=0, initial=0.0)
    scale[scale == 0.0] = 1.0
    basis, _ = orthonormal_rows(part / scale, BARYCENTRIC_RANK_TOLERANCE)
    kept, together = select(basis, scale, stand_ins, (), *EXACT_SELECTION)
    if len(kept) != len(base):
        raise ParameterError(
            f"{len(kept)} barycentric parameters for {len(base)} base parameters: the rank is doubtful"
        )
    grouping = together @ forms
    grouping[np.abs(grouping) < EXACT_SELECTION[1] * np.abs(grouping).max(axis=1, keepdims=True)] = 0.0
    named = [_named(stand_ins[k]) for k in kept]
    unit_of = dict(zip(base.standard, units, strict=True))
    return BarycentricParameters(
        standard=base.standard,
        names=tuple(named),
        units=tuple(unit_of[stand_ins[k]] for k in kept),
        grouping=_frozen(grouping),
        columns=_frozen(columns[:, kept]),
    )


def _seven_per_link(robot: Robot, count: int) -> tuple[Array, Array, tuple[str, ...]]:
    """Linear forms (7 n, p) of what each link keeps, the columns (p, 7 n) that stand for them, and their inertial
    names."""
    place = {name: k for k, name in enumerate(INERTIAL_NAMES)}
    augmented = np.zeros((robot.n, len(INERTIAL_NAMES), count))
    for i in range(robot.n):
        augmented[i, :, 10 * i : 10 * (i + 1)] = np.eye(10)
    for i in range(robot.n - 1, -1, -1):  # a parent comes before its children
        joint = robot.joints[i]
        if joint.parent == BASE:
            continue
        handed_on = np.zeros_like(augmented[i])
        handed_on[[place["M"], place["MZ"]]] = augmented[i][[place["M"], place["MZ"]]]
        handed_on[[place["XX"], place["YY"]]] = 0.5 * (augmented[i][place["XX"]] + augmented[i][place["YY"]])
        augmented[joint.parent] += inertia_transform(joint.rotation, joint.translation) @ handed_on
    forms, columns, names = [], [], []
    for i in range(robot.n):
        for symbol in BARYCENTRIC_SYMBOLS:
            form, column = augmented[i][place[symbol]], np.zeros(count)
            column[10 * i + place[symbol]] = 1.0
            if symbol == "XX":
                form = 0.5 * (form - augmented[i][place["YY"]])
                column[10 * i + place["YY"]] = -1.0
            forms.append(form)
            columns.append(column)
            names.append(f"{symbol}{i + 1}")
    return np.array(forms), np.array(columns).T, tuple(names)


def _named(stand_in: str) -> str:
    symbol, link = split_name(stand_in)
    return f"{BARYCENTRIC_SYMBOLS[symbol]}{link}" if symbol in BARYCENTRIC_SYMBOLS else stand_in


def _frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array
