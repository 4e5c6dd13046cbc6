"""Terms without memory: an entry depends on the same sample of its own joint, and nothing else."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from exciter.parameters.terms.term import BoundTerm, scatter
from exciter.robot.motion import Motion, MotionGradient
from exciter.typing import Array


@dataclass(frozen=True, eq=False)
class Samples:
    """q, q̇, q̈ of chosen joints, each (m, N), one contiguous row per joint."""

    q: Array
    qd: Array
    qdd: Array

    @classmethod
    def of(cls, motion: Motion, joints: list[int]) -> Samples:
        if joints == list(range(motion.n)):
            return cls(*motion.samples_last)
        q, qd, qdd = (x[joints] for x in motion.samples_last)
        return cls(q, qd, qdd)


@dataclass(frozen=True, eq=False)
class Partials:
    """∂ entry / ∂ (q, q̇, q̈) of the entry's joint, each (len(rows), N); None where it is zero."""

    q: Array | None = None
    qd: Array | None = None
    qdd: Array | None = None


class PointwiseTerm(BoundTerm):
    """Give ``entries`` and ``partials`` of the samples of each entry's joint; the rest follows."""

    @property
    def joint_wise(self) -> bool:
        return True

    @abstractmethod
    def entries(self, at: Samples) -> Array:
        """(len(rows), N)."""

    @abstractmethod
    def partials(self, at: Samples) -> Partials: ...

    def samples(self, motion: Motion) -> Samples:
        self.check(motion)
        return Samples.of(motion, self.columns.joints)

    def values(self, motion: Motion) -> Array:
        return self.entries(self.samples(motion))

    def pullback(self, motion: Motion, seed: Array) -> MotionGradient:
        d = self.partials(self.samples(motion))
        q, qd, qdd = (None if p is None else seed * p for p in (d.q, d.qd, d.qdd))
        return scatter(motion, self.columns.joints, q, qd, qdd)


class PotentialTerm(PointwiseTerm):
    """A torque ∂u/∂q: all of it is force. Give ``energies`` too."""

    @abstractmethod
    def energies(self, at: Samples) -> Array:
        """(k, N) with one entry per column."""

    def potential(self, motion: Motion) -> Array:
        return self.energies(self.samples(motion))

    def force(self, motion: Motion) -> Array:
        return self.values(motion)
