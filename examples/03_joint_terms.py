"""Friction, rotors, offsets, and a term of your own: everything linear at the joints is the same kind of thing."""

import numpy as np

import exciter as ex

robot = ex.load("kuka-ir361")

# A term of your own: a column as a function of q, q̇, q̈ of its joint, and its derivatives. They are checked against
# finite differences when the model is built; leave them out and they are differences themselves.
cogging = ex.UserTerm(
    "Cog",
    joints="joint_1",
    torque=lambda q, qd, qdd: np.sin(32 * q),
    dq=lambda q, qd, qdd: 32 * np.cos(32 * q),
    unit="N·m",
)
usual = (ex.RotorInertia(), ex.Viscous(), ex.Coulomb(), ex.Offset())
model = ex.DynamicModel(robot, (*usual, ex.Stribeck(velocity=0.1), cogging))
print(f"{len(model.standard)} standard parameters, the last: {', '.join(model.standard[-5:])}")
print(f"base parameters: {len(model.base)}, {model.base.method}")
print(f"with the usual terms only: {len(ex.base(robot, usual).units)}")

# Torques of a robot that has all this, and who finds it: a term that is missing is what is left of the torque.
time = np.linspace(0.0, 20.0, 4001)
rate, swing = np.array([0.9, 1.3, 2.1]), np.array([0.9, 0.6, 0.5])
phase = np.outer(time, rate)
motion = ex.Motion(time, swing * np.sin(phase), swing * rate * np.cos(phase), -swing * rate**2 * np.sin(phase))
truth = model.nominal + np.array([{"Cog": 30.0, "Fst1": 40.0}.get(name, 0.0) for name in model.standard])
noise = np.random.default_rng(0).standard_normal(motion.q.shape)
log = ex.Recording.of(time, motion.q, model.torque(motion, truth) + noise, joints=robot.joint_names)
for terms in (usual, model.terms):
    found = ex.identify(robot, log, terms=terms, estimator=ex.WeightedLeastSquares())
    print(f"{len(terms)} terms leave {found.fit[0].total_percent:.2f} % of the torque")
print(found.parameters[-1:])
