"""Friction, springs, couplings, and a term of your own: everything linear at the joints is the same kind of thing."""

import numpy as np

from exciter.dynamics.base import numeric_model_base
from exciter.dynamics.model import DynamicModel
from exciter.parameters.terms import Coulomb, Dahl, DriveCoupling, LoadFriction, Offset, RotorInertia, UserTerm, Viscous
from exciter.robot import Motion, load

robot = load("tx40")

# A term of your own: a column as a function of q, q̇, q̈ of its joint, and its derivatives. They are checked against
# finite differences when the model is built; leave them out and they are differences themselves.
cogging = UserTerm(
    "Cog",
    joints="joint_1",
    torque=lambda q, qd, qdd: np.sin(32 * q),
    dq=lambda q, qd, qdd: 32 * np.cos(32 * q),
    unit="N·m",
)

model = DynamicModel(
    robot,
    (
        RotorInertia(),
        Viscous(),
        Coulomb(Dahl(delta=0.002)),  # pre-sliding: remembers where the motion came from
        LoadFriction(),  # grows with the load on the gears
        Offset(),
        DriveCoupling("joint_5", "joint_6"),  # the wrist's motors move each other
        cogging,
    ),
)
time = np.linspace(0.0, 10.0, 500)
q = 0.8 * np.sin(np.outer(time, 0.3 + 0.2 * np.arange(robot.n)))
motion = Motion(time, q, np.gradient(q, time, axis=0), np.gradient(np.gradient(q, time, axis=0), time, axis=0))

print(f"{len(model.standard)} standard parameters, the last: {', '.join(model.standard[-5:])}")
print(f"regressor {model.regressor(motion).shape}")
print(f"base parameters: {len(model.base)}, {model.base.method}")
simple = DynamicModel(robot, (RotorInertia(), Viscous(), Coulomb(), Offset(), DriveCoupling("joint_5", "joint_6")))
print(f"with the usual terms only: {len(numeric_model_base(simple))}")
