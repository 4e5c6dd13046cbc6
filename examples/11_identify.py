"""One log, several ways to solve it: what each leaves of the torque of another motion, and how sure it is."""

import numpy as np

import exciter as ex

robot = ex.load("tx40")
terms = (ex.RotorInertia(), ex.Viscous(), ex.Coulomb())
model = ex.DynamicModel(robot, terms)


def log(seed: int) -> ex.Recording:
    """20 s at 200 Hz of another motion for each seed; noise of 3 % of the torques and 2e-5 rad."""
    chance, time, omega = np.random.default_rng(seed), np.arange(4_000) / 200.0, 2 * np.pi / 20 * np.arange(1, 9)
    sine, cosine = (f(np.outer(time, omega)) for f in (np.sin, np.cos))
    a, b = 0.35 * chance.standard_normal((2, 8, robot.n)) / omega[:, None]
    w = omega[:, None]
    q, qd = sine @ a - cosine @ b, cosine @ (a * w) + sine @ (b * w)
    torque = model.torque(ex.Motion(time, q, qd, cosine @ (b * w**2) - sine @ (a * w**2)))
    torque = torque + 0.03 * torque.std(axis=0) * chance.standard_normal(q.shape)
    return ex.Recording.of(time, q + 2e-5 * chance.standard_normal(q.shape), torque, joints=robot.joint_names)


ways = ("filtered", "energy", "power", "ols", "huber", "links", "essential")  # by word, or as objects
found = ex.identify(
    robot,
    log(1),
    validate=log(2),
    terms=terms,
    estimator=ex.WeightedLeastSquares(),
    filter={"cutoff": 10},
    compare=ways,
)
print(found)
print(found.comparison)
full = ex.identify(robot, log(1), validate=log(2), terms=terms, estimator=ex.PhysicallyConsistent())
print(f"bodies that can exist: {len(full.standard)} standard parameters; {full}")
