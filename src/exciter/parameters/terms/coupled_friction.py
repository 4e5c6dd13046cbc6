"""Friction that depends on several joints: of a motor that turns with two, as in wrists, and of the load on the gears,
Fl z |τ_load|, of known links, relieved by known springs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Self

import numpy as np

from exciter.errors import ParameterError
from exciter.parameters.terms import friction
from exciter.parameters.terms import term as common
from exciter.parameters.terms.friction import BoundDryFriction, DryFriction, ShapedTerm
from exciter.parameters.terms.rotor_offset_springs import POSITION_TERMS, ROTOR_INERTIA_COLUMN
from exciter.parameters.terms.term import BoundTerm, Column, Interval, JointTerm, Ranges, RigidTorque, Samples
from exciter.robot.motion import Motion, MotionGradient
from exciter.robot.robot import Robot
from exciter.settings import Amount, Numbers, OneOf, Settings, Vector
from exciter.settings.field_markers import Kind
from exciter.settings.fill import filled, json_schema
from exciter.typing import Array

Links = tuple[Annotated[tuple[float, ...], Vector(10)], ...]
#: Known springs: a term of position, and the value of its parameter, or one value for each of its parameters.
Springs = tuple[tuple[JointTerm, float | tuple[float, ...]], ...]


@dataclass(frozen=True)
class OfMotor(JointTerm):
    """Settings: the motor of joint ``second`` turns with r q_first + q_second, where r is ``ratio``."""

    first: common.Joint
    second: common.Joint
    ratio: Amount = 1.0

    def __post_init__(self) -> None:
        what = type(self).__name__
        if self.first == self.second:
            raise ParameterError(f"{what} was given joint '{self.first}' twice; name two different joints")
        if self.ratio == 0:
            raise ParameterError(f"the ratio of {what} is 0; give another number")

    def columns(self, robot: Robot, *kinds: Column) -> common.Columns:
        """Each on both joints, which must turn, with the number of the second."""
        joints = [robot.index(self.first), robot.index(self.second)]
        if any(robot.joints[j].is_prismatic for j in joints):
            which = f"{type(self).__name__} of '{self.first}' and '{self.second}'"
            raise ParameterError(f"{which} needs two revolute joints")
        return common.Columns.of(robot, *((f"{kind.symbol}{joints[1] + 1}", kind, joints) for kind in kinds))


@dataclass(frozen=True, eq=False)
class _OfMotor(ShapedTerm):
    """Γ_first = F r z, Γ_second = F z, with the shape of the motor's motion."""

    joint_wise = False
    ratio: float

    @property
    def arms(self) -> Array:
        """(2, 1) ∂ motor / ∂ (first, second), and so what each feels of the motor's torque."""
        return np.array([[self.ratio], [1.0]])

    def _of_motor(self, rows: Array) -> Array:
        """(1, N) r first + second of rows (2, N)."""
        return self.ratio * rows[:1] + rows[1:]

    def samples(self, motion: Motion, joints: list[int] | None = None) -> Samples:
        """Of the motor unless joints are given."""
        at = super().samples(motion, joints)
        return at if joints else Samples(self._of_motor(at.q), self._of_motor(at.qd), self._of_motor(at.qdd))

    def values(self, motion: Motion) -> Array:
        return self.arms * super().values(motion)

    def value_range(self, ranges: Ranges, load: common.LoadRange) -> Interval:
        low, high = ranges.qd_low[self.joints], ranges.qd_high[self.joints]
        if self.ratio < 0:
            low, high = np.stack([high[0], low[1]]), np.stack([low[0], high[1]])
        z = self.shape.value_range(self._of_motor(low), self._of_motor(high))
        return common.times((self.arms, self.arms), z)

    def pullback(self, motion: Motion, seed: Array) -> MotionGradient:
        at = self.samples(motion)
        onto = (None if g is None else self.arms * g for g in self.shape.pullback(at.q, at.qd, self._of_motor(seed)))
        return common.scatter(motion, self.joints, *onto)


@dataclass(frozen=True)
class DriveCoupling(OfMotor):
    """The motor of joint ``second`` turns with r q_first + q_second, where r is ``ratio``.

    Its rotor and friction act on both joints. What only one joint feels is already in that joint's Ia, Fv, Fs; left are

        Γ_first  = Iam r q̈_second + fvm r q̇_second + fsm r z
        Γ_second = Iam r q̈_first  + fvm r q̇_first  + fsm z,      z = sgn(r q̇_first + q̇_second) or another shape.

    Stäubli TX40: ``DriveCoupling("joint_5", "joint_6")``. A shape with settings per joint is looked up
    under ``second``."""

    word, title = "drive-coupling", "friction and rotor of a motor that turns with two joints"
    shape: friction.Shape = field(default_factory=friction.Sign)

    def smoothed(self, width: float) -> Self:
        return replace(self, shape=self.shape.smoothed(width))

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        rotor, viscous = replace(ROTOR_INERTIA_COLUMN, symbol="Iam"), replace(friction.VISCOUS_COLUMN, symbol="fvm")
        columns = self.columns(robot, rotor, viscous, Column("fsm", common.TORQUE_UNITS, nonnegative=True))
        return _DriveCoupling(columns, columns.joints[:2], self.shape.bind([self.second]), self.ratio)


class _DriveCoupling(_OfMotor):
    def values(self, motion: Motion) -> Array:
        at = self.samples(motion, self.joints)
        return np.concatenate([self.ratio * at.qdd[::-1], self.ratio * at.qd[::-1], super().values(motion)])

    def curvature(self, rates: Array) -> Array:
        """Inertia and viscous friction are linear in the motion; the dry part jumps."""
        swapped = abs(self.ratio) * rates[:, self.joints[::-1]]
        return np.concatenate([swapped[3], swapped[2], np.full_like(swapped[0], np.inf)])

    def value_range(self, ranges: Ranges, load: common.LoadRange) -> Interval:
        swapped, ratio = self.joints[::-1], np.full((1, 1), self.ratio)
        inertia = common.times((ratio, ratio), (ranges.qdd_low[swapped], ranges.qdd_high[swapped]))
        viscous = common.times((ratio, ratio), (ranges.qd_low[swapped], ranges.qd_high[swapped]))
        low, high = map(np.concatenate, zip(inertia, viscous, super().value_range(ranges, load), strict=True))
        return low, high

    def pullback(self, motion: Motion, seed: Array) -> MotionGradient:
        inertia, viscous, dry = np.split(seed, 3)
        qd, qdd = self.ratio * viscous[::-1], self.ratio * inertia[::-1]
        return super().pullback(motion, dry) + common.scatter(motion, self.joints, None, qd, qdd)

    def kinetic(self, motion: Motion) -> Array:
        """Iam r q̇_first q̇_second, the mixed part of the rotor's energy."""
        first, second = self.samples(motion, self.joints).qd
        return np.stack([self.ratio * first * second, *np.zeros((2, len(motion)))])

    def momentum(self, motion: Motion) -> Array:
        rotor = self.ratio * self.samples(motion, self.joints).qd[::-1]
        return np.concatenate([rotor, np.zeros((4, len(motion)))])


@dataclass(frozen=True)
class CoupledSqrtViscous(OfMotor):
    """The motor of joint ``second`` turns with s = r q̇_first + q̇_second, where r is ``ratio``.

        Γ_first = fqm r √|s| sgn s,      Γ_second = fqm √|s| sgn s

    width w [rad/s] of s: the infinite slope at rest is made finite as in ``SqrtViscous``, s/(s² + w²)^¼. Given per
    joint, it is looked up under ``second``. A root of a sum is no sum of roots: Fr of the two joints cannot stand for
    it, nor it for them."""

    word, title = "coupled-sqrt-viscous", "friction with the root of the speed of a motor that turns with two joints"
    width: common.Speed = 1e-3

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        columns = self.columns(robot, replace(friction.SQUARE_ROOT_COLUMN, symbol="fqm"))
        width = common.per_joint(self.width, [self.second], "the width of CoupledSqrtViscous")
        return _OfMotor(columns, columns.joints, friction.RoundedRoot(width), self.ratio)


@dataclass(frozen=True)
class KnownSpring(Settings):
    """One entry of ``springs`` in a file."""

    term: Annotated[JointTerm, OneOf(POSITION_TERMS)]
    value: Annotated[float | tuple[float, ...], Numbers()]


class ListOfSprings(Kind):
    """``[{term: {gas-spring: …}, value: 900}]`` as pairs; one alone need not stand in a list, nor its one value."""

    wanted = "a list of {term: {gas-spring: …}, value: …}, or of pairs"

    def check(self, given: Any, context: Mapping[str, Any]) -> Springs:
        entries = [
            {"term": one[0], "value": one[1]} if isinstance(one, list | tuple) and len(one) == 2 else one  # of Python
            for one in (given if isinstance(given, list | tuple) else [given])
        ]
        listed: tuple[KnownSpring, ...] = filled(tuple[KnownSpring, ...], entries, context)
        alone = (one.value[0] if isinstance(one.value, tuple) and len(one.value) == 1 else one.value for one in listed)
        return tuple((one.term, value) for one, value in zip(listed, alone, strict=True))

    def schema(self) -> dict[str, Any]:
        return json_schema(tuple[KnownSpring, ...])


@dataclass(frozen=True)
class LoadFriction(DryFriction):
    """Γ = Fl z |τ_load|, where τ_load is the torque of known (nominal or identified) inertias and springs.

    links: n rows of ten inertial parameters in the model's modified-DH frames, in the order of
    ``DynamicModel.standard`` (M, MX, MY, MZ, XX, XY, YY, XZ, YZ, ZZ; of a first identification where the description
    holds placeholders), the description's for None. springs: in parallel with the gears, which they relieve: pairs of
    a term (``GasSpring``, ``Spring``, …) and the value of its parameter, or a tuple with one value per parameter.

    For torques measured at the motor, before the gears; a sensor at the link does not see it."""

    word, title = "load-friction", "friction that grows with the load"
    symbols = ("Fl",)
    units = ("1", "1")
    links: Links | None = None
    springs: Annotated[Springs, ListOfSprings()] = ()

    def __post_init__(self) -> None:
        if self.links == ():
            raise ParameterError("links of LoadFriction is empty; give ten inertial parameters for each joint, or none")

    def spelling(self, data: dict[str, Any]) -> Any:
        if "springs" in data:
            data["springs"] = [{"term": term, "value": value} for term, value in data["springs"]]
        return super().spelling(data)

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        if rigid is None:
            problem = "LoadFriction needs the rigid-body torque of nominal inertias"
            raise ParameterError(f"{problem}; give rigid=…, or drop the term")
        springs = []
        for term, value in self.springs:
            bound, values, kind = term.bind(robot), np.atleast_1d(value), type(term).__name__
            if not isinstance(bound, common.PotentialTerm):
                problem = f"springs of LoadFriction have {kind}, which is no torque of position alone"
                raise ParameterError(f"{problem}; allowed are {', '.join(one.__name__ for one in POSITION_TERMS)}")
            if len(values) != len(bound.names):
                problem = f"{kind} in springs of LoadFriction has {len(values)} values for {', '.join(bound.names)}"
                raise ParameterError(f"{problem}; give one for each")
            springs.append((bound, values))
        if self.links is not None and len(self.links) != (n := robot.n_bodies):
            problem = f"links of LoadFriction has {len(self.links)} rows, but robot '{robot.name}' has {n} bodies"
            raise ParameterError(f"{problem}; give ten inertial parameters for each, in order")
        links = None if self.links is None else np.array(self.links)
        return _LoadFriction(*self.bound_parts(robot), rigid, links, tuple(springs))


@dataclass(frozen=True, eq=False)
class _LoadFriction(BoundDryFriction):
    """τ_load = torque of ``links`` (n, 10), the description's for None, plus Σ values · columns of the springs."""

    joint_wise = False  # the load depends on all joints
    rigid: RigidTorque
    links: Array | None
    springs: tuple[tuple[common.PotentialTerm, Array], ...]

    def values(self, motion: Motion) -> Array:
        return super().values(motion) * np.abs(self._load(motion))

    def value_range(self, ranges: Ranges, load: common.LoadRange) -> Interval:
        low, high = (np.array(bound) for bound in load(self.links))
        for spring, values in self.springs:
            entries = spring.value_range(ranges, load)
            for (joint, column), *entry in zip(spring.rows, *entries, strict=True):
                added = common.times((values[column], values[column]), (entry[0], entry[1]))
                low[joint], high[joint] = low[joint] + added[0], high[joint] + added[1]
        return common.times(super().value_range(ranges, load), common.absolute((low[self.joints], high[self.joints])))

    def pullback(self, motion: Motion, seed: Array) -> MotionGradient:
        z, load = super().values(motion), self._load(motion)
        onto_load = np.zeros((motion.n, len(motion)))
        onto_load[self.joints] = seed * z * np.sign(load)
        gradient = self.rigid.torque_pullback(motion, np.ascontiguousarray(onto_load.T), self.links)
        for spring, values in self.springs:
            seeds = np.stack([values[column] * onto_load[joint] for joint, column in spring.rows])
            gradient = gradient + spring.pullback(motion, seeds)
        return gradient + super().pullback(motion, seed * np.abs(load))

    def _load(self, motion: Motion) -> Array:
        """(m, N) [N·m or N] of the joints of the term."""
        torque = np.array(self.rigid.inverse_dynamics(motion, self.links).T, order="C")
        for spring, values in self.springs:
            for (joint, column), entry in zip(spring.rows, spring.values(motion), strict=True):
                torque[joint] += values[column] * entry
        return torque[self.joints]
