"""A-priori sizes Z of the parameters, by which weighted criteria scale them [12.15]: given, or of the description.

values: [1.0, 0.2, …]                      # one per parameter, in their order
values: {XY2: 0.02, "Fv*": 5.0}            # by name or pattern; the others as the description has them
floor: 0.01                                # of what a parameter could be: no size is less

A description has many zeros: bodies drawn symmetric (XY, XZ, YZ, MX of most links), differences that cancel
(XX − YY of a flange), friction that nobody knew. Nobody believes them to be zero on the robot, and a column times zero
has no condition number. So a size is never less than a share of what the parameter could be, with the mass and the
inertia that its links have there: a body of mass m whose second moments have the trace t = (XX + YY + ZZ)/2 has first
moments of √(m t) and products of inertia of t/2 at most (Cauchy and Schwarz). A base parameter could be as large as
its summands together. Friction and rotors: the median of their kind on this robot. Where all that is zero: what alone
would make the torque of the joint, along a random motion. The share is one hundredth unless given: parameters of the
KUKA IR 361 that symmetric links would not have were identified (Swevers et al. 1997, IEEE, Table II) as 0.005 to 0.05
of what they could be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Annotated, Any

import numpy as np

from exciter.dynamics.model import DynamicModel, random_motion
from exciter.errors import ParameterError, shown, unknown_name
from exciter.excitation.criteria.observation_rows import DesignColumns
from exciter.parameters.parameter_names import split_name
from exciter.settings import Number
from exciter.settings.field_markers import Kind, inside, wrong
from exciter.typing import Array, Index

USUAL_SIZE_FLOOR = 0.01  # of what a parameter could be
PROBED_SAMPLES = 200  # of the random motion that torques are taken from
MOST_FLOOR = 10.0  # that anybody can mean


class SizesByName(dict[str, float]):
    """By parameter or pattern; a criterion that has them hashes like any other."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(sorted(self.items())))


@dataclass(frozen=True)
class SizesOfParameters(Kind):
    """Numbers other than zero, one per parameter, or by name and pattern; signs do not matter."""

    wanted = "a list of numbers, one per parameter, or a mapping (parameter or pattern: number)"

    def check(self, given: Any, context: Mapping[str, Any]) -> Any:
        if isinstance(given, Mapping):
            sizes = SizesByName()
            for name, value in given.items():
                with inside(f": {name}"):
                    sizes[str(name)] = _other_than_zero(value)
            return sizes
        if not isinstance(given, list | tuple):
            raise wrong(f" is {shown(given)}; give {self.wanted}")
        return tuple(Number().number(value) for value in given)

    def schema(self) -> dict[str, Any]:
        one = Number().schema()
        return {"anyOf": [{"type": "array", "items": one}, {"type": "object", "additionalProperties": one}]}


def _other_than_zero(given: Any) -> float:
    if not (value := Number().number(given)):
        raise wrong(f" is {shown(given)}; give a number other than zero")
    return value


Sizes = Annotated[tuple[float, ...] | Mapping[str, float] | None, SizesOfParameters()]
Floor = Annotated[float, Number(least=0.0, most=MOST_FLOOR)]


def checked_scale(values: Any, h: Array, what: str) -> Array:
    """(b,) positive numbers, one per parameter."""
    if isinstance(values, Mapping):
        raise ParameterError(f"{what} are given by name; bind the criterion to a model")
    given = np.asarray(values, dtype=float)
    if given.shape != (len(h),) or not (np.isfinite(given).all() and given.all()):
        raise ParameterError(
            f"{what} must be {len(h)} numbers other than zero, one per parameter; given {shown(given.tolist())}"
        )
    return np.asarray(np.abs(given))


def bound_sizes(
    given: tuple[float, ...] | Mapping[str, float] | None,
    model: DynamicModel,
    columns: DesignColumns | None,
    floor: float,
    what: str,
) -> tuple[float, ...]:
    """(b,) sizes of the parameters of interest. given: all of them, some by name, or none."""
    if given is not None and not isinstance(given, Mapping):
        return given
    names = model.base.names if columns is None else columns.of_interest
    sizes = named_sizes(given or {}, names)
    if len(sizes) < len(names):
        own = dict(zip(model.base.names, nominal_sizes(model, floor), strict=True))
        for name in names:
            if name in sizes:
                continue
            if not own.get(name, 0.0) > 0.0:
                why = "is 0 in the description, and so is the floor" if name in own else "is none of the description's"
                raise ParameterError(f"{what} needs the size of every parameter; {name} {why}: give values, or a floor")
            sizes[name] = own[name]
    return tuple(abs(sizes[name]) for name in names)


def named_sizes(given: Mapping[str, float], names: tuple[str, ...]) -> dict[str, float]:
    """By parameter, of names and patterns; a name counts more than a pattern, a later pattern than an earlier one."""
    for pattern in given:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise ParameterError(unknown_name("parameter", pattern, names))
    found = {name: value for pattern, value in given.items() for name in names if fnmatchcase(name, pattern)}
    return found | {name: value for name, value in given.items() if name in names}


def nominal_sizes(model: DynamicModel, floor: float = USUAL_SIZE_FLOOR) -> Array:
    """(b,) of the base parameters in the description, each at least ``floor`` times what it could be."""
    return np.maximum(np.abs(model.base.base_values(model.nominal)), floor * possible_sizes(model))


def possible_sizes(model: DynamicModel) -> Array:
    """(b,) what the base parameters could be, by the masses and inertias of the description."""
    base = model.base
    sizes: Array = np.abs(base.grouping) @ _possible_standard(model)
    if (silent := np.flatnonzero(~(sizes > 0.0))).size:
        sizes[silent] = _torque_sizes(model, base.independent[silent])
    return sizes


def _possible_standard(model: DynamicModel) -> Array:
    """(p,) of standard parameters; zero where the description says nothing of its kind."""
    sizes = np.abs(model.nominal)
    links = sizes[: model.inertial_size].reshape(-1, 10)  # M, MX, MY, MZ, XX, XY, YY, XZ, YZ, ZZ; a view
    mass, trace = links[:, :1], 0.5 * links[:, [4, 6, 9]].sum(axis=1, keepdims=True)
    links[:, 1:4] = np.maximum(links[:, 1:4], np.sqrt(mass * trace))
    links[:, [5, 7, 8]] = np.maximum(links[:, [5, 7, 8]], 0.5 * trace)
    terms = range(model.inertial_size, len(sizes))
    symbols = {k: split_name(model.standard[k])[0] for k in terms}
    for k in terms:
        if not sizes[k] > 0.0:
            alike = [sizes[i] for i in terms if symbols[i] == symbols[k] and model.nominal[i] != 0.0]
            sizes[k] = float(np.median(alike)) if alike else 0.0
    return sizes


def _torque_sizes(model: DynamicModel, columns: Index) -> Array:
    """Of standard columns: with which each alone makes the torque that its joint has along a random motion."""
    motion = random_motion(model.robot, PROBED_SAMPLES)
    effect = np.sqrt((model.regressor(motion)[:, :, columns] ** 2).mean(axis=0))  # (n, k)
    torque = np.sqrt((model.torque(motion) ** 2).mean(axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where((effect > 0.0) & (torque > 0.0)[:, None], torque[:, None] / effect, np.inf)
    least: Array = ratio.min(axis=0)
    return np.where(np.isfinite(least), least, 0.0)
