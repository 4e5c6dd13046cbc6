"""What can be identified, and why not the rest, in words.

Every standard parameter is identifiable alone, only in combination with others, or not at all. The reasons follow from
what each link can do (``base_symbolic``): how it turns, whether its origin moves, what its joint can feel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from exciter.errors import ParameterError, unknown_name
from exciter.parameters import inertial
from exciter.parameters.base import BaseParameters, orthonormal_rows
from exciter.parameters.base_symbolic import OFFSET_SYMBOL, ROTOR_SYMBOL, mobility, square_up
from exciter.parameters.parameter_names import INERTIA_SYMBOLS, is_inertial, split_name
from exciter.robot.robot import BASE, Robot
from exciter.typing import Array

NEGLIGIBLE_COEFFICIENT = 1e-7
SINE_SYMBOLS = ("Rs", "Rc", "Gs", "Gc")  #: of Ripple and GravitySpring
Status = Literal["identifiable", "combination", "unidentifiable"]


@dataclass(frozen=True)
class _Turning:
    """How a link turns: not at all, about one direction fixed in space, or freely."""

    directions: int
    along: Array  #: (3,) in the link's frame, when there is one direction
    vertical: bool  #: that direction is the direction of gravity
    joint: int  #: number of the first turning joint before the link, 0 if none


class Reasons:
    """Sentences about one robot, in the frames of its parameters."""

    def __init__(self, robot: Robot, *, kinetic: bool = True) -> None:
        self.robot, _ = square_up(robot.tree)
        self.joints, self.coupled = robot.joints, robot.coupling is not None
        self.kinetic = kinetic
        self.weightless = not np.any(robot.gravity)
        # How links move does not depend on whether their speed matters, so the motion always is the full one.
        self.moving = mobility(self.robot)[0]
        self.felt = self.moving if kinetic else mobility(self.robot, kinetic=False)[0]
        self.turning = [self._turning(i) for i in range(robot.n_bodies)]

    def not_felt(self, name: str) -> str:
        symbol, number = split_name(name)
        if not is_inertial(name):
            return "the given samples do not excite it: its column is zero"
        i = number - 1
        if not self._invisible(i, _unit(symbol)):
            coupled = "bodies that follow each other take it off the joints: it does no work"
            return coupled if self.coupled else "the given samples do not excite it, though the robot could"
        if not self.kinetic and self.weightless:
            return "there is no gravity: at rest nothing is felt"
        if symbol == "M":
            return self._mass(i)
        turning, inertia = self.turning[i], symbol in INERTIA_SYMBOLS
        if inertia and not self.kinetic:
            return "at rest no inertia is felt, only weight"
        if turning.directions == 0:
            why = "its inertia is never felt" if inertia else "where its mass sits does not matter"
            return f"link {number} only slides and never turns: {why}"
        if turning.directions > 1:
            return self._handed_down(i, symbol)
        if inertia:
            why = "only its inertia about that axis matters"
        elif np.linalg.norm(np.cross(_unit(symbol)[1:4], turning.along)) < NEGLIGIBLE_COEFFICIENT:
            why = "moving its mass along that axis changes nothing"
        else:
            why = "there is no gravity" if self.weightless else "turning does not raise or lower its mass"
            why += ", and for turning only the inertia about that axis matters" if self.kinetic else ""
        return f"link {number} only turns about {self._axis(i)}: {why}"

    def _mass(self, i: int) -> str:
        turning = self.turning[i]
        if np.any(np.abs(self.moving[i].velocities[:, :3]) > NEGLIGIBLE_COEFFICIENT):
            return f"the origin of link {i + 1} stays at one height: its weight never does work"
        if turning.directions == 1 and turning.vertical and turning.joint == i + 1:
            return f"joint {i + 1} is vertical: the mass of link {i + 1} never does work"
        return f"the origin of link {i + 1} never moves: a mass there never does work"

    def _handed_down(self, i: int, symbol: str) -> str:
        """A parameter that joint i does not feel acts on the carrying link: tell the story of that one."""
        parent = self.robot.joints[i].parent
        if parent == BASE:
            return f"joint {i + 1} does not feel it, and link {i + 1} stands on the base"
        largest = int(np.argmax(np.abs(self.moving[i].carry @ _unit(symbol))))
        alike = f"{inertial.INERTIAL_NAMES[largest]}{parent + 1}"
        return f"joint {i + 1} does not feel it; it acts like {alike}, and {self.not_felt(alike)}"

    def combined(self, name: str, partners: Sequence[str], *, kept: bool) -> str:
        symbol, number = split_name(name)
        if not is_inertial(name):
            return self._joint_term(symbol, number, partners)
        i = number - 1
        if not self._feels(i, _unit(symbol)):
            return self._passed_on(i, symbol)
        both = _unit("XX") + _unit("YY")
        other = {"XX": f"YY{number}", "YY": f"XX{number}"}.get(symbol)
        if other in partners and not self._feels(i, both) and not self.robot.joints[i].is_prismatic:
            carrier = self._carrier(i, "act like an inertia of {}", "are not felt")
            return f"joint {number} feels only XX{number} - YY{number}; equal amounts of both {carrier}"
        alike = f"its effect is the same as a combination of {_listed(partners)}"
        return self._gathers(number, partners) if kept else alike

    def _passed_on(self, i: int, symbol: str) -> str:
        number = i + 1
        slides = self.robot.joints[i].is_prismatic
        if slides and symbol in INERTIA_SYMBOLS:
            carrier = self._carrier(i, "its inertia adds to that of {}", "its inertia is not felt")
            return f"link {number} never turns against what carries it: {carrier}"
        if not slides and symbol == "M":
            carrier = self._carrier(i, "moves as if it belonged to {}", "never moves")
            return f"a mass on the axis of joint {number} {carrier}"
        if not slides and symbol == "MZ":
            carrier = self._carrier(i, "cannot be distinguished from moving mass on {}", "changes nothing")
            return f"moving mass along the axis of joint {number} {carrier}"
        return f"joint {number} does not feel it: " + self._carrier(i, "it acts as part of {}", "nothing else does")

    def _gathers(self, number: int, partners: Sequence[str]) -> str:
        """A kept parameter that stands for others as well."""
        own = [p for p in partners if split_name(p)[1] == number and is_inertial(p)]
        drive = [p for p in partners if not is_inertial(p)]
        carried = [p for p in partners if is_inertial(p) and p not in own]
        belongs = "acts as if it" if len(carried) == 1 else "act as if they"
        parts = (
            own and f"it acts like {_listed(own)} of the same link",
            drive and f"it cannot be distinguished from {_listed(drive)} of the drive",
            carried and f"{_listed(carried)} of other links {belongs} belonged to link {number}",
        )
        return "; ".join(part for part in parts if part)

    def _joint_term(self, symbol: str, number: int, partners: Sequence[str]) -> str:
        slides = 0 < number <= len(self.joints) and self.joints[number - 1].is_prismatic
        if symbol == ROTOR_SYMBOL:
            motion = "slide along" if slides else "turn about"
            alone = f"no other joint makes link {number} {motion} the axis of joint {number} as that joint does"
            return f"{alone}: its rotor is felt together with {_listed(partners)}"
        with_all = f"it is felt together with {_listed(partners)}"
        if symbol == OFFSET_SYMBOL:
            return f"gravity also gives a constant load at joint {number}: {with_all}"
        if symbol in SINE_SYMBOLS and any(is_inertial(partner) for partner in partners):
            return f"weight also gives a sine of the angle of joint {number}: {with_all}"
        return f"its effect is the same as a combination of {_listed(partners)}"

    def _carrier(self, i: int, with_link: str, with_base: str) -> str:
        parent = self.robot.joints[i].parent
        return with_base if parent == BASE else with_link.format(f"link {parent + 1}")

    def _turning(self, i: int) -> _Turning:
        directions, _ = orthonormal_rows(self.moving[i].velocities[:, 3:], NEGLIGIBLE_COEFFICIENT)
        chain = self.robot.ancestors(i)
        first = next((j + 1 for j in chain if not self.robot.joints[j].is_prismatic), 0)
        along = directions[0] if len(directions) == 1 else np.zeros(3)
        in_base = along
        for j in reversed(chain):  # fixed in space, so any position of the joints will do
            in_base = self.robot.joints[j].rotation @ in_base
        sideways = float(np.linalg.norm(np.cross(in_base, self.robot.gravity)))
        upright = sideways < NEGLIGIBLE_COEFFICIENT * float(np.linalg.norm(self.robot.gravity))
        vertical = len(directions) == 1 and not self.weightless and upright
        return _Turning(directions=len(directions), along=along, vertical=vertical, joint=first)

    def _axis(self, i: int) -> str:
        turning = self.turning[i]
        if turning.vertical:
            return "the vertical axis"
        axis = f"the axis of joint {turning.joint}"
        return axis if turning.joint == i + 1 else f"axes parallel to {axis}"

    def _feels(self, i: int, phi: Array) -> bool:
        """Whether joint i itself feels the change φ of its link."""
        conditions = self.felt[i].conditions[:, :10]
        return bool(np.any(np.abs(conditions @ phi) > NEGLIGIBLE_COEFFICIENT))

    def _invisible(self, i: int, phi: Array) -> bool:
        """Whether no joint feels the change φ of link i, seen from frame to frame down to the base."""
        while i != BASE:
            if self._feels(i, phi):
                return False
            phi, i = self.felt[i].carry @ phi, self.robot.joints[i].parent
        return True


def _unit(symbol: str) -> Array:
    """φ with one for the symbol and zero elsewhere; lengths in units of the robot's size."""
    return np.asarray(np.eye(10)[inertial.INERTIAL_NAMES.index(symbol)])


def _listed(names: Sequence[str], most: int = 4) -> str:
    """'YY2, MZ3 and M3'; long lists are cut."""
    shown = list(names[:most])
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


@dataclass(frozen=True)
class IdentifiabilityVerdict:
    """One standard parameter: its status, the base parameters it enters, and the reason in words."""

    name: str
    status: Status
    enters: tuple[str, ...]
    reason: str


@dataclass(frozen=True, eq=False)
class Identifiability:
    """The base parameters of a robot and a verdict on every standard parameter, in standard order."""

    robot: str
    joints: tuple[str, ...]
    base: BaseParameters
    verdicts: tuple[IdentifiabilityVerdict, ...]

    def verdict(self, name: str) -> IdentifiabilityVerdict:
        if name not in self.base.standard:
            raise ParameterError(unknown_name("standard parameter", name, self.base.standard))
        return self.verdicts[self.base.standard.index(name)]

    def with_status(self, status: Status) -> tuple[IdentifiabilityVerdict, ...]:
        return tuple(v for v in self.verdicts if v.status == status)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON. joints, standard, inertial_base and base are numbers of things."""
        expressions = zip(self.base.names, self.base.expressions, strict=True)
        return {
            "robot": self.robot,
            "joints": len(self.joints),
            "standard": len(self.base.standard),
            "inertial_base": self.base.inertial_count,
            "base": len(self.base),
            "parameters": [{"name": name, "expression": text} for name, text in expressions],
            "unidentifiable": [{"name": v.name, "reason": v.reason} for v in self.with_status("unidentifiable")],
        }


def identifiability(robot: Robot, base: BaseParameters, *, kinetic: bool = True) -> Identifiability:
    """Judge every standard parameter of ``base``, of a robot in modified-DH frames; kinetic=False: of poses at rest."""
    last = max((split_name(name)[1] for name in base.standard if is_inertial(name)), default=0)
    if last > robot.n_bodies:
        problem = f"the base parameters name link {last}, but robot '{robot.name}' has {robot.n_bodies} links"
        raise ParameterError(f"{problem}; give the robot they were made for")
    reasons, verdicts = Reasons(robot, kinetic=kinetic), list[IdentifiabilityVerdict]()
    for column, name in enumerate(base.standard):
        rows = np.flatnonzero(base.grouping[:, column])
        enters = tuple(base.names[k] for k in rows)
        status: Status = "combination" if enters else "unidentifiable"
        if not enters:
            reason = reasons.not_felt(name)
        elif enters == (name,):
            status, reason = "identifiable", "felt on its own"
        else:
            partners = dict.fromkeys(base.standard[i] for k in rows for i in base.members(int(k)) if i != column)
            reason = reasons.combined(name, tuple(partners), kept=column in base.independent)
        verdicts.append(IdentifiabilityVerdict(name=name, status=status, enters=enters, reason=reason))
    return Identifiability(robot=robot.name, joints=robot.joint_names, base=base, verdicts=tuple(verdicts))
