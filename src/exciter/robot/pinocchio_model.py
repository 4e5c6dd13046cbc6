"""The robot as a Pinocchio model: the bridge to Pinocchio's algorithms, and the oracle of the tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from exciter.errors import RobotError
from exciter.robot.robot import Robot


def to_pinocchio(robot: Robot) -> Any:
    """A ``pinocchio.Model`` of the tree, its joints in the same order: q, v, τ are all (bodies,), as ``coupled_motion``
    has them; rigid bodies without joint terms. Every joint is of Pinocchio's unaligned kind, so that the joint frames
    stay those of the robot."""
    import pinocchio as pin

    model = pin.Model()
    model.name = robot.name
    model.gravity = pin.Motion(np.array(robot.gravity), np.zeros(3))
    for index, joint in enumerate(robot.bodies):
        kind = pin.JointModelPrismaticUnaligned if joint.is_prismatic else pin.JointModelRevoluteUnaligned
        limits = joint.limits
        identifier = model.addJoint(
            joint.parent + 1,  # Pinocchio counts the base as joint 0
            kind(np.array(joint.axis)),
            pin.SE3(np.array(joint.rotation), np.array(joint.translation)),
            joint.name,
            np.array([limits.torque]),
            np.array([limits.velocity]),
            np.array([limits.lower]),
            np.array([limits.upper]),
        )
        if identifier != index + 1:
            raise RobotError(f"Pinocchio numbered joint '{joint.name}' {identifier} instead of {index + 1}")
        model.addJointFrame(identifier)
        # set, not appended: adding inertias in Pinocchio assumes a positive mass; one holds a centre: m = 0 is special
        phi, massless = np.array(joint.inertia), joint.inertia[0] == 0.0
        if massless and np.any(phi[1:4] != 0.0):
            problem = f"the body of joint '{joint.name}' has first moments {phi[1:4].tolist()} but no mass"
            raise RobotError(f"{problem}; Pinocchio cannot hold that: give it a mass")
        phi[0] = 1.0 if massless else phi[0]  # centred: the mass adds nothing to I
        inertia = pin.Inertia.FromDynamicParameters(phi)
        inertia.mass = 0.0 if massless else inertia.mass
        model.inertias[identifier] = inertia
    for frame in robot.frames:
        placement = pin.SE3(np.array(frame.rotation), np.array(frame.translation))
        carrier = robot.bodies[frame.joint].name if frame.joint >= 0 else ""
        parent_frame = model.getFrameId(carrier, pin.FrameType.JOINT) if carrier else 0
        model.addFrame(pin.Frame(frame.name, frame.joint + 1, parent_frame, placement, pin.FrameType.OP_FRAME), False)
    return model
