"""Friction of each joint: of the speed, and dry friction with a direction of motion z in −1 … 1.

A shape of z is the true sign of the speed, a smooth one, or pre-sliding after Dahl (1968): near a reversal the contact
bends before it slides, dz/dq = (1 − z sgn q̇)/δ. Between two samples the joint is taken to move one way, so the step is
exact:

    z_{k+1} = s + (z_k − s) e^{−|Δq|/δ},   Δq = q_{k+1} − q_k,   s = sgn Δq.

z depends on the path alone, not on speed; δ → 0 gives the true sign of the motion, and at rest z stays
where it is. The samples must be one recording in the order of time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Self

import numpy as np

from exciter.errors import ExciterError, MotionError, ParameterError
from exciter.parameters.terms import term as common
from exciter.parameters.terms.term import BoundTerm, Column, Interval, JointTerm, Ranges, RigidTorque, Samples
from exciter.robot.motion import Motion, MotionGradient
from exciter.robot.robot import Robot
from exciter.settings import Names, OneOf, Registry, Settings
from exciter.typing import Array

STANDSTILL_SPEED = 1e-9  # [rad/s or m/s] a slower joint stands still
VISCOUS_COLUMN = Column("Fv", ("N·m·s/rad", "N·s/m"), nonnegative=True)
SQUARE_ROOT_COLUMN = Column("Fr", ("N·m·(s/rad)^½", "N·(s/m)^½"), nonnegative=True)


@dataclass(frozen=True)
class Viscous(JointTerm):
    """Viscous friction.

    Γ = Fv q̇.

    >>> ex.DynamicModel(robot, [ex.Viscous(joints=("joint_1",))]).standard[-1]
    'Fv1'"""

    word, title = "viscous", "viscous friction"
    joints: Names | None = None

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        return _Viscous(common.joint_columns(robot, common.joint_indices(robot, self.joints), VISCOUS_COLUMN))


class _Viscous(common.PointwiseTerm):
    def entries(self, at: Samples) -> Array:
        return at.qd.copy()

    def partials(self, at: Samples) -> common.Partials:
        return common.Partials(qd=np.ones_like(at.qd))

    def curvature(self, rates: Array) -> Array:
        return rates[2, self.columns.joints]


class BoundShape(ABC):
    """z of each joint over time, from its q and q̇ (m, N)."""

    memory: ClassVar[bool] = False  #: whether z depends on earlier samples

    @abstractmethod
    def values(self, q: Array, qd: Array) -> Array:
        """(m, N) z."""

    def after(self, q: Array, qd: Array) -> BoundShape:
        """The shape for samples the first of which is the last of these; itself where nothing is remembered."""
        if self.memory:
            raise MotionError(f"{type(self).__name__} remembers earlier samples, and cannot go on: it needs after()")
        return self

    def value_range(self, low: Array, high: Array) -> Interval:
        """Lowest and highest z while q̇ stays between low and high (m, M); z grows with q̇ unless a shape says more."""
        return self.values(low, low), self.values(high, high)

    @abstractmethod
    def pullback(self, q: Array, qd: Array, seed: Array) -> tuple[Array | None, Array | None]:
        """Gradients of Σ seed ⊙ z with respect to q and q̇, each (m, N); None where it is zero."""


class FrictionShape(Settings, ABC):
    """Settings of a shape, frozen, without joints."""

    refusal: ClassVar[type[ExciterError]] = ParameterError

    @abstractmethod
    def bind(self, joints: Sequence[str]) -> BoundShape:
        """The shape on the named joints, in that order."""

    def smoothed(self, width: float) -> FrictionShape:
        """The shape to optimise with; only the true sign needs another."""
        return self


@dataclass(frozen=True)
class Sign(FrictionShape, BoundShape):
    """z = sgn(q̇), 0 at rest; its derivative is taken as zero.

    Below STANDSTILL_SPEED is rest: a planned stop is never exactly zero in floating point, and rounding must not choose
    the sign."""

    word, title = "sign", "sign"

    def bind(self, joints: Sequence[str]) -> BoundShape:
        return self

    def smoothed(self, width: float) -> FrictionShape:
        return Tanh(width)

    def values(self, q: Array, qd: Array) -> Array:
        return np.where(np.abs(qd) > STANDSTILL_SPEED, np.sign(qd), 0.0)

    def value_range(self, low: Array, high: Array) -> Interval:
        """Of both readings of a motion below STANDSTILL_SPEED, rest and its sign: certificates hold for either."""
        lowest = np.sign(np.where(low > STANDSTILL_SPEED, low, np.minimum(low, 0.0)))
        highest = np.sign(np.where(high < -STANDSTILL_SPEED, high, np.maximum(high, 0.0)))
        return lowest, highest

    def pullback(self, q: Array, qd: Array, seed: Array) -> tuple[Array | None, Array | None]:
        return None, None


@dataclass(frozen=True)
class Tanh(FrictionShape):
    """z = tanh(q̇/width): smooth, for optimisation; width [rad/s or m/s], one or per joint."""

    word, title = "tanh", "tanh"
    width: common.Speed

    def bind(self, joints: Sequence[str]) -> BoundShape:
        return _Tanh(common.per_joint(self.width, joints, "the width of Tanh"))


@dataclass(frozen=True, eq=False)
class _Tanh(BoundShape):
    width: Array

    def values(self, q: Array, qd: Array) -> Array:
        # tanh by one exponential: several times faster than np.tanh, which is what optimisation would spend here
        decay = np.exp(np.abs(qd) * (-2.0 / self.width))
        return np.copysign((1.0 - decay) / (1.0 + decay), qd)

    def pullback(self, q: Array, qd: Array, seed: Array) -> tuple[Array | None, Array | None]:
        return None, seed * (1.0 - self.values(q, qd) ** 2) / self.width


@dataclass(frozen=True)
class Dahl(FrictionShape):
    """Pre-sliding; delta δ [rad or m] is the travel over which the friction builds up, one or per joint.

    start: z before the first sample's motion, in −1 … 1, one or per joint. Motor-side encoders see δ of some
    0.02–0.2 mrad, link-side encoders 0.5–4 mrad."""

    word, title = "dahl", "Dahl pre-sliding"
    delta: common.Travel
    start: Annotated[common.PerJoint, common.OfNamedJoints(least=-1.0)] = 0.0

    def __post_init__(self) -> None:
        common.check_within(self.start, -1.0, 1.0, "start of Dahl")

    def bind(self, joints: Sequence[str]) -> BoundShape:
        delta = common.per_joint(self.delta, joints, "delta of Dahl")
        return _Dahl(delta, common.per_joint(self.start, joints, "start of Dahl")[:, 0])


@dataclass(frozen=True, eq=False)
class _Dahl(BoundShape):
    memory: ClassVar[bool] = True
    delta: Array
    start: Array

    def values(self, q: Array, qd: Array) -> Array:
        return self._run(q)[0]

    def after(self, q: Array, qd: Array) -> BoundShape:
        return replace(self, start=self._run(q)[0][:, -1])

    def value_range(self, low: Array, high: Array) -> Interval:
        """Where it came from decides: all that can be."""
        return np.full_like(low, -1.0), np.ones_like(high)

    def pullback(self, q: Array, qd: Array, seed: Array) -> tuple[Array | None, Array | None]:
        z, decay, direction = self._run(q)
        # λ_k = seed_k + decay_k λ_{k+1}: the same recursion, backwards in time.
        backwards = linear_recursion(decay[:, ::-1], seed[:, :-1][:, ::-1], seed[:, -1])
        later = backwards[:, :-1][:, ::-1]
        # ∂z_{k+1}/∂Δq = decay (1 − s z_k)/δ; at Δq = 0 this is 1/δ, the mean of both one-sided derivatives.
        step = later * decay * (1.0 - direction * z[:, :-1]) / self.delta
        gradient = np.zeros_like(q)
        gradient[:, 1:] += step
        gradient[:, :-1] -= step
        return gradient, None

    def _run(self, q: Array) -> tuple[Array, Array, Array]:
        """z (m, N), and decay e^{−|Δq|/δ} and direction sgn Δq of every step, each (m, N − 1)."""
        travel = np.diff(q, axis=1)
        direction = np.sign(travel)
        exponent = -np.abs(travel) / self.delta
        decay = np.exp(exponent)
        return linear_recursion(decay, -np.expm1(exponent) * direction, self.start), decay, direction


def linear_recursion(a: Array, b: Array, start: Array) -> Array:
    """x (m, K + 1) of x_{k+1} = a_k x_k + b_k from x_0 = start (m,), for a, b (m, K). Two steps at a time are a
    recursion of the same form with half the length, which gives every even x; one more product gives the odd ones. O(K)
    work in O(log K) NumPy calls, and stable because |a| ≤ 1 is never divided by."""
    steps = a.shape[1]
    x = np.empty((a.shape[0], steps + 1))
    if steps <= 8:
        x[:, 0] = start
        for k in range(steps):
            x[:, k + 1] = a[:, k] * x[:, k] + b[:, k]
        return x
    pairs = steps // 2
    a0, b0, a1, b1 = a[:, : 2 * pairs : 2], b[:, : 2 * pairs : 2], a[:, 1::2], b[:, 1::2]
    x[:, : 2 * pairs + 1 : 2] = linear_recursion(a0 * a1, a1 * b0 + b1, start)
    x[:, 1 : 2 * pairs : 2] = a0 * x[:, : 2 * pairs : 2] + b0
    if steps % 2:
        x[:, -1] = a[:, -1] * x[:, -2] + b[:, -1]
    return x


@dataclass(frozen=True, eq=False)
class RoundedRoot(BoundShape):
    """z = √|s| sgn s of the speed s with a finite slope at rest: s/(s² + w²)^¼."""

    width: Array

    def values(self, q: Array, qd: Array) -> Array:
        return qd * (qd**2 + self.width**2) ** -0.25

    def pullback(self, q: Array, qd: Array, seed: Array) -> tuple[Array | None, Array | None]:
        return None, seed * ((0.5 * qd**2 + self.width**2) * (qd**2 + self.width**2) ** -1.25)


FRICTION_SHAPES = Registry[FrictionShape]("shape", Sign, Tanh, Dahl)
Shape = Annotated[FrictionShape, OneOf(FRICTION_SHAPES)]


@dataclass(frozen=True, eq=False)
class ShapedTerm(BoundTerm):
    """Γ = F z, with the shape of ``joints`` (m)."""

    joints: list[int]
    shape: BoundShape

    @property
    def has_memory(self) -> bool:
        return self.shape.memory

    @property
    def joint_wise(self) -> bool:
        return not self.has_memory

    def samples(self, motion: Motion, joints: list[int] | None = None) -> Samples:
        return super().samples(motion, self.joints if joints is None else joints)

    def after(self, motion: Motion) -> BoundTerm:
        at = self.samples(motion)
        return replace(self, shape=self.shape.after(at.q, at.qd))

    def values(self, motion: Motion) -> Array:
        at = self.samples(motion)
        return self.shape.values(at.q, at.qd)

    def value_range(self, ranges: Ranges, load: common.LoadRange) -> Interval:
        return self.shape.value_range(ranges.qd_low[self.joints], ranges.qd_high[self.joints])

    def pullback(self, motion: Motion, seed: Array) -> MotionGradient:
        at = self.samples(motion)
        return common.scatter(motion, self.joints, *self.shape.pullback(at.q, at.qd, seed))


@dataclass(frozen=True)
class SqrtViscous(JointTerm):
    """Γ = Fr √|q̇| sgn q̇, with the infinite slope at rest made finite: q̇/(q̇² + w²)^¼.

    width w [rad/s or m/s], one or per joint: the relative change is below ¼ (w/q̇)², 0.25 % at ten widths.
    The derivatives are exact for the function with the width. Harmless in extrapolation, where powers explode."""

    word, title = "sqrt-viscous", "friction with the root of the speed"
    joints: Names | None = None
    width: common.Speed = 1e-3

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        joints = common.joint_indices(robot, self.joints)
        width = common.per_joint(self.width, [robot.joint_names[j] for j in joints], "the width of SqrtViscous")
        return ShapedTerm(common.joint_columns(robot, joints, SQUARE_ROOT_COLUMN), joints, RoundedRoot(width))


class BoundDryFriction(ShapedTerm):
    """Γ = Fs z, and what is made of it."""


@dataclass(frozen=True)
class DryFriction(JointTerm):
    """Settings: the shape (``Sign()``, ``Tanh(width)`` or ``Dahl(delta)``) and the joints, None for all."""

    symbols: ClassVar[tuple[str, ...]]
    units: ClassVar[tuple[str, str]] = common.TORQUE_UNITS
    shape: Shape = field(default_factory=Sign)
    joints: Names | None = None

    def smoothed(self, width: float) -> Self:
        return replace(self, shape=self.shape.smoothed(width))

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        return BoundDryFriction(*self.bound_parts(robot))

    def bound_parts(self, robot: Robot) -> tuple[common.Columns, list[int], BoundShape]:
        joints = common.joint_indices(robot, self.joints)
        kinds = (Column(symbol, self.units, nonnegative=True) for symbol in self.symbols)
        shape = self.shape.bind([robot.joint_names[j] for j in joints])
        return common.joint_columns(robot, joints, *kinds), joints, shape


@dataclass(frozen=True)
class Coulomb(DryFriction):
    """Dry friction.

    Γ = Fs z.

    ``Coulomb()`` has z = sgn q̇, ``Coulomb(Tanh(0.03))`` is smooth, ``Coulomb(Dahl(1e-3))`` pre-slides.

    >>> ex.DynamicModel(robot, [ex.Viscous(), ex.Coulomb()]).standard[-3:]
    ('Fs1', 'Fs2', 'Fs3')"""

    word, title = "coulomb", "Coulomb friction"
    symbols = ("Fs",)


@dataclass(frozen=True)
class AsymmetricCoulomb(DryFriction):
    """Γ = Fsp max(z, 0) + Fsn min(z, 0), both ≥ 0; in motion the same as Coulomb plus an offset."""

    word, title = "asymmetric-coulomb", "asymmetric Coulomb friction"
    symbols = ("Fsp", "Fsn")

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        return _AsymmetricCoulomb(*self.bound_parts(robot))


class _AsymmetricCoulomb(BoundDryFriction):
    def values(self, motion: Motion) -> Array:
        return self._both(super().values(motion))

    def value_range(self, ranges: Ranges, load: common.LoadRange) -> Interval:
        low, high = super().value_range(ranges, load)
        return self._both(low), self._both(high)

    def pullback(self, motion: Motion, seed: Array) -> MotionGradient:
        z = super().values(motion)
        forward, backward = np.split(seed, 2)
        onto_z = np.where(z > 0, forward, np.where(z < 0, backward, 0.5 * (forward + backward)))
        return super().pullback(motion, onto_z)

    def _both(self, z: Array) -> Array:
        return np.concatenate([np.maximum(z, 0.0), np.minimum(z, 0.0)])


@dataclass(frozen=True)
class Stribeck(DryFriction):
    """Dry friction that falls with speed.

    Γ = Fst z exp(−(q̇/v_s)²), on top of Coulomb; ``velocity`` v_s [rad/s or m/s], one or per joint.

    >>> ex.DynamicModel(robot, [ex.Coulomb(), ex.Stribeck(velocity=0.1)]).standard[-3:]
    ('Fst1', 'Fst2', 'Fst3')"""

    word, title = "stribeck", "Stribeck friction"
    symbols = ("Fst",)
    velocity: common.Speed = field(kw_only=True)

    def bind(self, robot: Robot, rigid: RigidTorque | None = None) -> BoundTerm:
        columns, joints, shape = self.bound_parts(robot)
        names = [robot.joint_names[j] for j in joints]
        return BoundStribeck(columns, joints, shape, common.per_joint(self.velocity, names, "the velocity of Stribeck"))


@dataclass(frozen=True, eq=False)
class BoundStribeck(BoundDryFriction):
    velocity: Array

    def values(self, motion: Motion) -> Array:
        return super().values(motion) * self._bell(self.samples(motion).qd)

    def value_range(self, ranges: Ranges, load: common.LoadRange) -> Interval:
        slow, fast = common.absolute((ranges.qd_low[self.joints], ranges.qd_high[self.joints]))
        return common.times(super().value_range(ranges, load), (self._bell(fast), self._bell(slow)))

    def pullback(self, motion: Motion, seed: Array) -> MotionGradient:
        qd = self.samples(motion).qd
        bell = self._bell(qd)
        slope = seed * super().values(motion) * bell * (-2.0 * qd / self.velocity**2)
        return super().pullback(motion, seed * bell) + common.scatter(motion, self.joints, qd=slope)

    def _bell(self, speed: Array) -> Array:
        return np.asarray(np.exp(-((speed / self.velocity) ** 2)))
