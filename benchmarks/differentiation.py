"""Error of q̇, q̈ and torque by each route, against truth, as noise on the positions grows.

    python benchmarks/differentiation.py [--virtual]

A designed-like Fourier motion (10 s, 5 harmonics, 16 periods) and a B-spline motion that does not repeat (40 s), both
of the Panda within its limits, sampled at 1 kHz with 10 % jitter of the clock, true time known. Noise is white, or an
encoder's quantisation. Every route chooses its own settings. The torque column is that of the nominal model on the
processed motion. With --virtual the Fourier motion is executed by the virtual robot (friction, transients, an imperfect
controller: the motion repeats but is no longer a Fourier series of five harmonics), and truth is what its links did.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.piecewise import BSpline
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.recording import About, Recording
from exciter.experiment.signals.differentiation import FilteredDifferences, SmoothingSpline
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.experiment.signals.processed_motion import Route
from exciter.robot import load
from exciter.robot.motion import Motion

Array = NDArray[np.float64]
RATE = 1000.0
NOISES = (1e-6, 1e-5, 1e-4, 1e-3)
ENCODER = 2.0 * np.pi / 2**17  # rad, step of an encoder on the joint
ROUTES: dict[str, Route] = {
    "spectral": FourierFit(),
    "filtered": FilteredDifferences(),
    "spline": SmoothingSpline(),
}


@dataclass(frozen=True)
class Case:
    """truth(time, joints): the exact motion; duration [s]; period [s] of one that repeats."""

    name: str
    truth: Callable[[Array, int], Motion]
    duration: float
    period: float | None
    routes: tuple[str, ...]


def fourier_coefficients(joints: int) -> tuple[Fourier, Array]:
    family = Fourier(10.0, 5)
    delta = np.random.default_rng(1).normal(0.0, 1.0, (joints, family.coefficients))
    speed = np.abs(family.basis(np.linspace(0.0, 10.0, 500))[1] @ delta.T).max(axis=0)
    delta[:, :-1] *= 1.5 / speed[:, None]  # 1.5 rad/s
    delta[:, -1] = np.resize([0.0, 0.0, 0.0, -1.5, 0.0, 1.8, 0.0], joints)
    return family, delta


def fourier(time: Array, joints: int) -> Motion:
    return motion_of(*fourier_coefficients(joints), time)


def spline(time: Array, joints: int) -> Motion:
    family = BSpline(45.0, 36, 5)  # a way-point every 1.25 s
    points = np.random.default_rng(2).uniform(-0.6, 0.6, (joints, 37))
    points += np.resize([0.0, 0.0, 0.0, -1.5, 0.0, 1.8, 0.0], joints)[:, None]
    return motion_of(family, family.interpolate(points), time)


PERIODIC = Case("periodic (Fourier, 16 periods of 10 s)", fourier, 160.0, 10.0, ("spectral", "filtered", "spline"))
SINGLE = Case("not repeated (B-spline, 40 s)", spline, 40.0, None, ("filtered", "spline"))


@dataclass(frozen=True)
class Errors:
    """RMS over samples and joints: q̇ [rad/s], q̈ [rad/s²], torque [N·m]."""

    velocity: float
    acceleration: float
    torque: float


def record(case: Case, noise: float, joints: int, log: Recording | None = None, seed: int = 0) -> Recording:
    """noise [rad]: standard deviation; negative: quantisation by that step instead. log: gives instants and ``about``
    where a robot was there."""
    rng = np.random.default_rng(seed)
    if log is None:
        time = np.arange(int(case.duration * RATE) + 1) / RATE
        time = np.clip(time + 0.1 / RATE * rng.uniform(-0.5, 0.5, len(time)), 0.0, None)
        about = About(period=case.period, settled=0.0 if case.period else None)
    else:
        time, about = log.time, log.about
    q = case.truth(time, joints).q
    q = np.round(q / -noise) * -noise if noise < 0 else q + noise * rng.standard_normal(q.shape)
    return Recording(tuple(f"j{k}" for k in range(joints)), time, q, torque=np.zeros_like(q), about=about)


def errors(case: Case, recording: Recording, route: Route, model: DynamicModel | None) -> Errors:
    motion = route.apply(recording).motion
    inside = (motion.time >= 2.0) & (motion.time <= case.duration - 2.0)  # where filters have forgotten the ends
    if case.period and len(motion) <= case.period * RATE + 1:
        inside[:] = True  # one averaged period has no ends
    part = slice(int(np.argmax(inside)), len(inside) - int(np.argmax(inside[::-1])))
    got, truth = motion[part], case.truth(motion.time[part], motion.n)
    torque = float("nan") if model is None else _rms(model.torque(got) - model.torque(truth))
    return Errors(_rms(got.qd - truth.qd), _rms(got.qdd - truth.qdd), torque)


def _rms(x: Array) -> float:
    return float(np.sqrt(np.mean(x**2)))


def table(
    case: Case,
    noises: Sequence[float] = (*NOISES, -ENCODER),
    joints: int = 7,
    model: DynamicModel | None = None,
    log: Recording | None = None,
) -> dict[tuple[str, float], Errors]:
    """Errors by route and noise."""
    result = {}
    for noise in noises:
        recording = record(case, noise, joints, log)
        for name in case.routes:
            result[name, noise] = errors(case, recording, ROUTES[name], model)
    return result


def executed(periods: int = 8) -> tuple[Case, Recording]:
    """The Fourier motion as the virtual robot performs it: the truth at any time, and the log's instants."""
    from exciter.experiment.virtual.sensors import Sampling
    from exciter.experiment.virtual.true_parameters import draw
    from exciter.experiment.virtual.virtual_robot import VirtualRobot

    robot = load("panda")
    family, delta = fourier_coefficients(robot.n)
    virtual = VirtualRobot(robot, draw(robot, 1), sampling=Sampling(RATE, 0.03 / RATE))
    simulated = virtual.run(family.curve(delta), periods=periods)
    happened = simulated.motion
    splines = [CubicSpline(happened.time, x) for x in (happened.q, happened.qd, happened.qdd)]

    def truth(time: Array, joints: int) -> Motion:
        return Motion(time, *(s(time)[:, :joints] for s in splines))

    routes = ("spectral", "filtered", "spline")
    case = Case(f"virtual robot ({periods} periods of 10 s)", truth, simulated.recording.duration, 10.0, routes)
    return case, simulated.recording


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--virtual", action="store_true", help="let the virtual robot execute the periodic motion")
    virtual = parser.parse_args().virtual
    model = DynamicModel(load("panda"))
    for case, log in [executed()] if virtual else [(PERIODIC, None), (SINGLE, None)]:
        rows = table(case, model=model, log=log)
        print(f"\n{case.name}\n")
        print("| noise of q [rad] | route | RMS q̇ [rad/s] | RMS q̈ [rad/s²] | RMS torque [N·m] |")
        print("|---|---|---|---|---|")
        for (route, noise), e in rows.items():
            label = f"{noise:.0e}" if noise > 0 else f"encoder, step {-noise:.1e}"
            print(f"| {label} | {route} | {e.velocity:.1e} | {e.acceleration:.1e} | {e.torque:.1e} |")


if __name__ == "__main__":
    main()
