"""Clean logs straight from the model, to put faults into: Fourier and B-spline motions, friction, noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.interpolate import CubicSpline, make_interp_spline

from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.fourier import Fourier
from exciter.experiment.recording import About, Recording
from exciter.experiment.virtual import Sampling, VirtualRobot, draw
from exciter.parameters.terms import Coulomb, Offset, RotorInertia, Viscous
from exciter.robot import Motion, Robot
from exciter.robot import embedded_robots as embedded

RATE = 250.0
TERMS = (RotorInertia(), Viscous(), Coulomb(), Offset())


def fourier(robot: Robot, time: np.ndarray, seed: int, period: float = 12.0) -> Motion:
    """Five harmonics per joint within 80 % of position (at most ±1.6 rad) and velocity limits."""
    rng = np.random.default_rng(seed)
    w = 2 * np.pi / period * np.arange(1, 6)[:, None, None]
    phase = w * time[:, None] + rng.uniform(0, 2 * np.pi, (5, 1, robot.n))
    a = rng.uniform(0.3, 1.0, (5, 1, robot.n)) / np.arange(1, 6)[:, None, None]
    q, qd, qdd = (a * np.sin(phase)).sum(0), (a * w * np.cos(phase)).sum(0), -(a * w**2 * np.sin(phase)).sum(0)
    return _scaled(robot, time, q, qd, qdd)


def bspline(robot: Robot, time: np.ndarray, seed: int) -> Motion:
    """A quintic spline through random points, one per 1.5 s: never the same twice."""
    points = np.random.default_rng(seed).uniform(-1, 1, (int(time[-1] / 1.5) + 6, robot.n))
    spline = make_interp_spline(np.linspace(time[0] - 1, time[-1] + 1, len(points)), points, k=5)
    return _scaled(robot, time, spline(time), spline(time, 1), spline(time, 2))


def _scaled(robot: Robot, time: np.ndarray, *derivatives: np.ndarray) -> Motion:
    lower, upper = robot.position_range()
    half = np.minimum(0.4 * (upper - lower), 1.6)
    q, qd, _ = derivatives
    centre = 0.5 * (q.max(0) + q.min(0))
    fastest = np.where(np.isfinite(robot.limit("velocity")), 0.8 * robot.limit("velocity"), 3.0)
    size = np.minimum(half / (0.5 * np.ptp(q, axis=0)), fastest / np.abs(qd).max(0))
    middle = 0.5 * (lower + upper)
    return Motion(time, middle + size * (q - centre), size * derivatives[1], size * derivatives[2])


def truth(model: DynamicModel, seed: int) -> np.ndarray:
    """Inertias up to 20 % off the description, link by link."""
    rng = np.random.default_rng(seed + 100)
    chi = model.nominal.copy()
    links = np.repeat(rng.uniform(0.8, 1.2, model.n), 10)
    chi[: model.inertial_size] = model.nominal[: model.inertial_size] * links
    return chi


def clean(
    name: str | Robot = "panda",
    seed: int = 0,
    *,
    seconds: float = 24.0,
    rate: float = RATE,
    motion: str = "fourier",
    noise: float = 0.01,
    jitter: float = 0.0,
    delay: float = 0.0,
) -> tuple[Recording, Robot]:
    """A log and the robot it is of. delay [s]: of torque behind position; jitter: of the stamps, over the interval."""
    robot = embedded.robot(name) if isinstance(name, str) else name
    rng = np.random.default_rng(seed)
    time = np.arange(int(seconds * rate)) / rate
    time = time + jitter / rate * rng.uniform(-1, 1, len(time)) * (np.arange(len(time)) > 0)
    make = {"fourier": fourier, "bspline": bspline}[motion]
    exact = make(robot, time, seed)
    model = DynamicModel(robot, TERMS)
    chi = truth(model, seed)
    size = np.maximum(np.std(model.torque(exact, chi), axis=0), 1e-3)
    for j in range(robot.n):
        speed = np.abs(exact.qd[:, j]).max()
        for symbol, value in (("Fv", 0.1 * size[j] / speed), ("Fs", 0.1 * size[j]), ("off", 0.02 * size[j])):
            chi[model.standard.index(f"{symbol}{j + 1}")] = value
    torque = model.torque(exact, chi)
    if delay:
        torque = CubicSpline(time, torque)(np.maximum(time - delay, time[0]))
    q = exact.q + 2e-5 * rng.standard_normal(exact.q.shape)
    qd = exact.qd + 1e-3 * rng.standard_normal(exact.q.shape)
    torque = torque + noise * size * rng.standard_normal(torque.shape)
    return Recording(robot.joint_names, time, q, qd, torque, about=About()), robot


def changed(recording: Recording, signal: str, joint: int, values: np.ndarray) -> Recording:
    """With one channel replaced."""
    x = getattr(recording, signal).copy()
    x[:, joint] = values
    return replace(recording, **{signal: x})


def late(recording: Recording, samples: int) -> Recording:
    """With the torque so many samples later, exactly: rows are cut, none is invented."""
    count = len(recording) - abs(samples)
    behind, ahead = recording[max(samples, 0) :][:count], recording[max(-samples, 0) :][:count]
    return replace(behind, torque=ahead.torque)


def executed(name: str, seed: int) -> tuple[Recording, Robot]:
    """Two settled periods of 5 s that a virtual robot of that kind executed, and the robot it is of."""
    robot = embedded.robot(name)
    family, (lower, upper) = Fourier(5.0, 5), robot.position_range()
    coefficients = np.random.default_rng(seed).standard_normal((robot.n, len(family.labels)))
    coefficients[:, -1] = 0.0
    motion = family.curve(coefficients).motion(np.linspace(0.0, 5.0, 1001))
    fastest = np.where(np.isfinite(robot.limit("velocity")), robot.limit("velocity"), 3.0)
    half = np.minimum(0.4 * (upper - lower), 1.5)
    coefficients *= np.minimum(half / np.abs(motion.q).max(0), 0.7 * fastest / np.abs(motion.qd).max(0))[:, None]
    coefficients[:, -1] = 0.5 * (lower + upper)
    machine = VirtualRobot(robot, draw(robot, seed), sampling=Sampling(RATE), simulation_rate=1000.0)
    recording = machine.run(family.curve(coefficients), periods=2, seed=seed).recording
    return recording.between((recording.about.settled or 0.0) + 0.3, np.inf), robot
