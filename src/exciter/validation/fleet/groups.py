"""What the parameters of a type are of, the links or the friction of a joint; and which of them a load changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exciter.dynamics.load_effect import load_effect
from exciter.dynamics.model import DynamicModel
from exciter.robot.robot import Robot
from exciter.typing import Array, BoolArray, Index


@dataclass(frozen=True, eq=False)
class ParameterGroups:
    """names, units: of b base parameters. inertial: which are of links and rotors; friction: which are of the friction
    of a joint, its offset included, by joint. level: which of all grow with the friction of a joint as a whole.
    positive: which cannot be negative. links: the bodies, and effects (b, 10) of a change of each link's parameters.
    carriers: places in ``links`` of those at the ends. load (b, 10): effect of a load (m, m·c, inertia) on ``frame``.
    joints: of the robot; torque_units: of them."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    inertial: Index
    friction: tuple[Index, ...]
    level: BoolArray
    positive: BoolArray
    links: tuple[str, ...]
    effects: tuple[Array, ...]
    carriers: tuple[int, ...]
    frame: str
    load: Array
    joints: tuple[str, ...]
    torque_units: tuple[str, ...]

    @classmethod
    def of(cls, model: DynamicModel, frame: str | None = None) -> ParameterGroups:
        base, robot = model.base, model.robot
        owner, level = dict[int, int](), dict[int, bool]()
        positive = np.zeros(len(model.standard), dtype=np.bool_)
        at = model.inertial_size
        for term in model.bound:
            for row, column in term.rows:
                owner.setdefault(at + column, row)
            for k, nonnegative in enumerate(term.nonnegative):
                positive[at + k] = level[at + k] = nonnegative
            at += len(term.names)
        rotors = {k for k, name in enumerate(model.standard) if k >= model.inertial_size and name.startswith("Ia")}
        kept = base.independent.tolist()
        inertial = [b for b, k in enumerate(kept) if k < model.inertial_size or k in rotors or k not in owner]
        of_joint: list[list[int]] = [[] for _ in robot.joint_names]
        for b, k in enumerate(kept):
            if b not in inertial:
                of_joint[owner[k]].append(b)
        alone = np.count_nonzero(base.grouping, axis=1) == 1
        own = carrying_frame(robot) if frame is None else frame
        has_children = set(robot.parents.tolist())
        return cls(
            names=base.names,
            units=tuple(model.units[k] for k in kept),
            inertial=np.array(inertial, dtype=np.int64),
            friction=tuple(np.array(one, dtype=np.int64) for one in of_joint),
            level=np.array([level.get(k, False) and b not in inertial for b, k in enumerate(kept)]),
            positive=positive[kept] & alone,
            links=tuple(body.name for body in robot.bodies),
            effects=tuple(base.grouping[:, 10 * k : 10 * k + 10] for k in range(robot.n_bodies)),
            carriers=tuple(k for k in range(robot.n_bodies) if k not in has_children),
            frame=own,
            load=load_effect(model, base, own),
            joints=robot.joint_names,
            torque_units=tuple("N" if joint.is_prismatic else "N·m" for joint in robot.joints),
        )


def carrying_frame(robot: Robot) -> str:
    """The last frame on the last link, or that link."""
    ends = [frame.name for frame in robot.frames if frame.joint == robot.n_bodies - 1]
    return ends[-1] if ends else robot.bodies[-1].name
