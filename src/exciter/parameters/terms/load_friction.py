"""Friction that grows with the load on the gears: Fl z |τ_load|."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from exciter.errors import ParameterError
from exciter.parameters.terms.columns import Column
from exciter.parameters.terms.dry_friction import BoundDryFriction, DryFriction
from exciter.parameters.terms.gear_load import GearLoad, Links, ListOfSprings, Springs, checked_links, checked_springs
from exciter.parameters.terms.ranges import Interval, LoadRange, Ranges, absolute, times
from exciter.parameters.terms.term import BoundTerm, RigidTorque, scatter
from exciter.robot.motion import Motion, MotionGradient
from exciter.robot.robot import Robot
from exciter.typing import Array

FL = Column("Fl", ("1", "1"), nonnegative=True)


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
        object.__setattr__(self, "links", checked_links(self.links))
        object.__setattr__(self, "springs", checked_springs(self.springs))

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
        return _LoadFriction(*self.bound_parts(robot, FL), load)


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
