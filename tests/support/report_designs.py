"""Designs for the tests of reports, and names that try to break out of them."""

from __future__ import annotations

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.excitation.certificate.certificate import Certificate, LimitVerdict
from exciter.excitation.criteria.optimality_and_condition import DOptimality
from exciter.excitation.design import Design
from exciter.excitation.optimiser.search import Attempt
from exciter.excitation.trajectories.fourier import Fourier
from exciter.parameters.terms import Coulomb, Viscous
from exciter.robot import Robot

EVIL = '</script><script>document.title="broken"</script><img src=x onerror="document.title=1">&"\''


def designed(robot: Robot, *, broken: bool = False) -> Design:
    """A design with real motions, limits and parameters but without a search."""
    model = DynamicModel(robot, (Viscous(), Coulomb()))
    trajectory = Fourier(period=5.0, harmonics=3)
    rng = np.random.default_rng(3)
    lower, upper = robot.position_range()
    delta = 0.25 * rng.standard_normal((robot.n, trajectory.coefficients))
    delta[:, -1] = 0.5 * (lower + upper)
    curve = trajectory.curve(delta)
    speeds = zip(robot.joint_names, robot.limit("velocity").tolist(), curve.extremum(1).size.tolist(), strict=True)
    limits = [
        LimitVerdict("velocity", name, "rad/s", v, peak, peak, 1 - peak / v, 1.0, "holds", True)
        for name, v, peak in speeds
        if np.isfinite(v)
    ]
    if broken:
        limits.append(LimitVerdict("height", "tool", "m", 0.1, 0.05, 0.05, -0.5, 2.0, "broken", False))
    attempts = tuple(
        Attempt(
            number=k,
            trajectory=trajectory,
            delta=delta if np.isfinite(value) else None,
            value=value,
            evaluations=40 + k,
            seconds=1.0 + k,
            first_feasible=0.1,
            history=((0.1, value + 30.0), (0.4, value + 3.0), (0.9 + k, value)) if np.isfinite(value) else (),
            complete=True,
        )
        for k, value in enumerate((-120.5, -131.25, np.inf))
    )
    return Design(
        model=model,
        trajectory=trajectory,
        delta=delta,
        curve=curve,
        ramps=None,
        periods=1,
        criterion=DOptimality(),
        value=-131.25,
        condition_number=55.5,
        condition_number_normalized=7.25,
        log_det=-131.25,
        parameters=model.base.names,
        predicted_std=np.geomspace(1e-4, 1.0, len(model.base)),
        certificate=Certificate(tuple(limits), curve.duration, 77),
        constraints=(),
        attempts=attempts,
        seconds=3.5,
        evaluations=123,
        samples=500,
        noise=np.full(robot.n, 0.05),
        seed=4,
        interrupted=False,
    )
