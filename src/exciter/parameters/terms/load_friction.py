"""Friction that grows with the load on the gears, Fl z |τ_load|: of known links, relieved by known springs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from exciter.errors import ParameterError
from exciter.parameters.terms.coulomb_and_presliding import BoundDryFriction, DryFriction
from exciter.parameters.terms.rotor_offset_ripple_coupling import Offset, Ripple
from exciter.parameters.terms.springs import GasSpring, GravitySpring, Spring
from exciter.parameters.terms.term import (
    BoundTerm,
    Column,
    Interval,
    JointTerm,
    LoadRange,
    PotentialTerm,
    Ranges,
    RigidTorque,
    absolute,
    plus,
    scatter,
    times,
)
from exciter.robot.motion import Motion, MotionGradient
from exciter.robot.robot import Robot
from exciter.settings import Numbers, OneOf, Registry, Settings, Vector
from exciter.settings.field_markers import Kind
from exciter.settings.fill import adapter
from exciter.typing import Array

Links = tuple[Annotated[tuple[float, ...], Vector(10)], ...]
#: Known springs: a term of position, and the value of its parameter, or one value for each of its parameters.
Springs = tuple[tuple[JointTerm, float | tuple[float, ...]], ...]
#: Torques of position alone.
LOAD_SPRINGS = Registry[JointTerm]("spring", Spring, GravitySpring, GasSpring, Ripple, Offset)
LOAD_FRICTION = "LoadFriction"
LOAD_FRICTION_COLUMN = Column("Fl", ("1", "1"), nonnegative=True)


@dataclass(frozen=True)
class KnownSpring(Settings):
    """One entry of ``springs`` in a file."""

    term: Annotated[JointTerm, OneOf(LOAD_SPRINGS)]
    value: Annotated[float | tuple[float, ...], Numbers()]

    @property
    def known(self) -> float | tuple[float, ...]:
        """One value alone is a number."""
        return self.value[0] if isinstance(self.value, tuple) and len(self.value) == 1 else self.value


class ListOfSprings(Kind):
    """``[{term: {gas-spring: …}, value: 900}]`` as pairs; one alone need not stand in a list."""

    wanted = "a list of {term: {gas-spring: …}, value: …}, or of pairs"

    def check(self, given: Any, context: Mapping[str, Any]) -> Springs:
        entries = given if isinstance(given, list | tuple) else [given]
        pairs = (isinstance(one, list | tuple) and len(one) == 2 for one in entries)  # of Python code
        entries = [
            dict(zip(("term", "value"), one, strict=True)) if pair else one
            for one, pair in zip(entries, pairs, strict=True)
        ]
        listed: tuple[KnownSpring, ...] = adapter(tuple[KnownSpring, ...]).validate_python(entries, context=context)
        return tuple((entry.term, entry.known) for entry in listed)

    def schema(self) -> dict[str, Any]:
        return adapter(tuple[KnownSpring, ...]).json_schema()


@dataclass(frozen=True, eq=False)
class GearLoad:
    """τ (n, N) = torque of ``links`` (n, 10), the description's for None, plus Σ values · columns of the springs."""

    rigid: RigidTorque
    links: Array | None
    springs: tuple[tuple[PotentialTerm, Array], ...]

    @classmethod
    def of(cls, robot: Robot, rigid: RigidTorque, links: Links | None, springs: Springs) -> GearLoad:
        known = tuple(_bound(term, value, robot) for term, value in springs)
        if links is None:
            return cls(rigid, None, known)
        if len(links) != robot.n:
            raise ParameterError(
                f"links of {LOAD_FRICTION} has {len(links)} rows, but robot '{robot.name}' has {robot.n} joints; "
                "give ten inertial parameters for each, in order"
            )
        array = np.array(links)
        return cls(rigid.of(array), array, known)

    def value(self, motion: Motion) -> Array:
        """(n, N) [N·m or N], contiguous."""
        torque = np.array(self.rigid.value(motion).T, order="C")
        for spring, values in self.springs:
            for (joint, column), entry in zip(spring.rows, spring.values(motion), strict=True):
                torque[joint] += values[column] * entry
        return torque

    def pullback(self, motion: Motion, seed: Array) -> MotionGradient:
        """Gradient of Σ seed ⊙ value with respect to the motion; seed (n, N)."""
        gradient = self.rigid.pullback(motion, np.ascontiguousarray(seed.T))
        for spring, values in self.springs:
            seeds = np.stack([values[column] * seed[joint] for joint, column in spring.rows])
            gradient = gradient + spring.pullback(motion, seeds)
        return gradient

    def value_range(self, ranges: Ranges, load: LoadRange) -> Interval:
        """Lowest and highest value, each (n, M)."""
        low, high = (np.array(bound) for bound in load(self.links))
        for spring, values in self.springs:
            entries = spring.value_range(ranges, load)
            for (joint, column), *entry in zip(spring.rows, *entries, strict=True):
                value = values[column]
                low[joint], high[joint] = plus((low[joint], high[joint]), times((value, value), (entry[0], entry[1])))
        return low, high


def _bound(term: JointTerm, value: float | tuple[float, ...], robot: Robot) -> tuple[PotentialTerm, Array]:
    bound, values = term.bind(robot), np.atleast_1d(value)
    if not isinstance(bound, PotentialTerm):
        raise ParameterError(
            f"springs of {LOAD_FRICTION} have {type(term).__name__}, which is no torque of position alone; "
            f"allowed are {', '.join(kind.__name__ for kind in LOAD_SPRINGS)}"
        )
    if len(values) != len(bound.names):
        raise ParameterError(
            f"{type(term).__name__} in springs of {LOAD_FRICTION} has {len(values)} values for "
            f"{', '.join(bound.names)}; give one for each"
        )
    return bound, values


@dataclass(frozen=True)
class LoadFriction(DryFriction):
    """Γ = Fl z |τ_load|, where τ_load is the torque of known (nominal or identified) inertias and springs.

    links: n rows of ten inertial parameters in the model's modified-DH frames, in the order of
    ``DynamicModel.standard`` (M, MX, MY, MZ, XX, XY, YY, XZ, YZ, ZZ; of a first identification where the description
    holds placeholders), the description's for None. springs: in parallel with the gears, which they relieve: pairs of
    a term (``GasSpring``, ``Spring``, …) and the value of its parameter, or a tuple with one value per parameter.

    For torques measured at the motor, before the gears; a sensor at the link does not see it.
    """

    word: ClassVar[str] = "load-friction"
    title: ClassVar[str] = "friction that grows with the load"
    links: Links | None = None
    springs: Annotated[Springs, ListOfSprings()] = ()

    def __post_init__(self) -> None:
        if self.links == ():
            raise ParameterError(
                f"links of {LOAD_FRICTION} is empty; give ten inertial parameters for each joint, or none"
            )

    def spelling(self, data: dict[str, Any]) -> Any:
        if "springs" in data:
            data["springs"] = [{"term": term, "value": value} for term, value in data["springs"]]
        return super().spelling(data)

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        if rigid is None:
            raise ParameterError(
                "LoadFriction needs the rigid-body torque of nominal inertias; give rigid=…, or drop the term"
            )
        load = GearLoad.of(robot, rigid, self.links, self.springs)
        return _LoadFriction(*self.bound_parts(robot, LOAD_FRICTION_COLUMN), load)


@dataclass(frozen=True, eq=False)
class _LoadFriction(BoundDryFriction):
    load: GearLoad

    @property
    def joint_wise(self) -> bool:
        return False  # the load depends on all joints

    def values(self, motion: Motion) -> Array:
        return self.direction(self.samples(motion)) * np.abs(self.load.value(motion)[self.joints])

    def value_range(self, ranges: Ranges, load: LoadRange) -> Interval:
        low, high = (torque[self.joints] for torque in self.load.value_range(ranges, load))
        return times(self.direction_range(ranges), absolute((low, high)))

    def pullback(self, motion: Motion, seed: Array) -> MotionGradient:
        at = self.samples(motion)
        load = self.load.value(motion)[self.joints]
        onto_load = np.zeros((motion.n, len(motion)))
        onto_load[self.joints] = seed * self.direction(at) * np.sign(load)
        through_shape = scatter(motion, self.joints, *self.shape.pullback(at.q, at.qd, seed * np.abs(load)))
        return self.load.pullback(motion, onto_load) + through_shape
