"""Closed loops in files of other tools: MJCF joins sites (equality), a URDF is a tree with lines of YAML beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from exciter.robot.closed_loops import ClosedLoops
from exciter.robot.robot import BASE, STANDARD_GRAVITY, Frame, Robot
from exciter.robot.ties import JointTie
from exciter.settings import yaml_text

LOOP_LINES = (
    "what is joined in the robot of the URDF beside this file, which a URDF cannot say: settings to load it with"
)


@dataclass(frozen=True)
class WrittenLoops:
    """The robot with a frame for every end of a tie, and the ties by names: (tag, ends, coefficients)."""

    robot: Robot
    ties: tuple[tuple[str, tuple[str, str], tuple[float, ...]], ...]

    @classmethod
    def of(cls, robot: Robot) -> WrittenLoops | None:
        """None where there are none."""
        if not isinstance(robot.coupling, ClosedLoops):
            return None
        frames, found = [*robot.frames], []
        for number, tie in enumerate(robot.coupling.ties.ties, start=1):
            if isinstance(tie, JointTie):
                found.append((tie.word, (tie.names[0], tie.names[1]), _about_zero(tie)))
                continue
            ends = []
            for end, letter in ((tie.a, "a"), (tie.b, "b")):
                ends.append(name := _named(robot, end, f"loop_{number}_{letter}"))
                if name not in robot.frame_names:
                    frames.append(replace(end, name=name))
            found.append((tie.word, (ends[0], ends[1]), ()))
        return cls(replace(robot, frames=tuple(frames)), tuple(found))

    @property
    def equalities(self) -> list[tuple[str, dict[str, Any]]]:
        """Of MJCF, which knows four powers and joints."""
        found = list[tuple[str, dict[str, Any]]]()
        for tag, (a, b), coefficients in self.ties:
            if tag == "joint":
                found.append((tag, {"joint1": a, **({"joint2": b} if b else {}), "polycoef": list(coefficients)}))
            else:
                found.append((tag, {"site1": a, "site2": b}))
        return found

    @property
    def sites(self) -> tuple[Frame, ...]:
        """Frames with a site each: those of the robot, and joints' own that are joined."""
        ends = {end for tag, both, _ in self.ties for end in both if tag != "joint"}
        known = {frame.name for frame in self.robot.frames}
        return (*self.robot.frames, *(self.robot.frame(name) for name in sorted(ends - known)))

    @property
    def posture(self) -> list[float]:
        """A posture (bodies) in which all ties hold."""
        assert isinstance(self.robot.coupling, ClosedLoops)
        return [float(one) for one in self.robot.coupling.reference]

    @property
    def lines(self) -> str:
        """YAML that closes the loops of a URDF again."""
        loops = list[dict[str, Any]]()
        for tag, ends, coefficients in self.ties:
            loops.append({tag: [*ends], **({"coefficients": [*coefficients]} if tag == "joint" else {})})
        driven = [body.name for body in self.robot.bodies if body.actuated]
        posture = dict(zip(self.robot.tree_names, self.posture, strict=True))
        told: dict[str, Any] = {"loops": loops, "actuated": driven, "posture": posture}
        if (gravity := tuple(self.robot.gravity.tolist())) != STANDARD_GRAVITY:  # which a URDF cannot say, either
            told["gravity"] = [*gravity]
        return f"# {LOOP_LINES}\n{yaml_text(told)}"


def _named(robot: Robot, end: Frame, otherwise: str) -> str:
    """A frame of the robot that is this one, or a name of its own."""
    if end.name in robot.frame_names:
        known = robot.frame(end.name)
        places = np.allclose(known.rotation, end.rotation) and np.allclose(known.translation, end.translation)
        if known.joint == end.joint and places:
            return end.name
    if end.joint == BASE and np.allclose(end.rotation, np.eye(3)) and not end.translation.any():
        return "base" if "base" not in robot.frame_names else otherwise
    return otherwise


def _about_zero(tie: JointTie) -> tuple[float, ...]:
    """Coefficients of the leader's position itself: of q_joint = zero + P(q_leader − leader_zero)."""
    shifted = np.polynomial.Polynomial(tie.coefficients)(np.polynomial.Polynomial([-tie.leader_zero, 1.0]))
    found = np.zeros(len(tie.coefficients))
    found[: len(shifted.coef)] = shifted.coef
    found[0] += tie.zero
    return tuple(found.tolist())
