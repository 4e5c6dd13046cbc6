"""Trajectory files, row by row."""

from types import SimpleNamespace

import numpy as np

from exciter.excitation.files import MotionSamples
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.fourier import FourierPiece
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece, hermite
from exciter.robot import embedded_robots as embedded

ROBOT = embedded.robot("gautier-khalil")


JOINTS = ROBOT.joint_names


YES = SimpleNamespace(certified=True, limits=())


def series(seed: int = 0, end: float = 10.0) -> FourierPiece:
    rng = np.random.default_rng(seed)
    a, b = 0.3 * rng.standard_normal((2, ROBOT.n, 3))
    return FourierPiece(0.0, end, 2 * np.pi / 10.0, np.array([1, 2, 5]), a, b, 0.2 * rng.standard_normal(ROBOT.n))


def ramped(end: float = 10.0, ramp: float = 1.2345678901) -> Curve:
    """From rest by a quintic into a series, and out again: the jerk jumps at two knots that no grid hits."""
    body = series(end=end).shifted(ramp)
    states = [body.derivatives(np.array([0]), np.array([t]), 2)[:, :, 0] for t in (body.start, body.end)]
    rest = [np.stack([q + 0.05, np.zeros(3), np.zeros(3)]) for q, _, _ in states]
    width = np.array([ramp])
    ends = (0.0, ramp, body.end, body.end + ramp)
    inward = PolynomialPiece(np.array(ends[:2]), hermite(width, rest[0][:, :, None], states[0][:, :, None]))
    outward = PolynomialPiece(np.array(ends[2:]), hermite(width, states[1][:, :, None], rest[1][:, :, None]))
    return Curve((inward, body, outward))


def table(curve: Curve, count: int = 9) -> MotionSamples:
    motion = curve.motion(np.linspace(curve.start, curve.end, count))
    return MotionSamples(motion.time, motion.q, motion.qd, motion.qdd)
