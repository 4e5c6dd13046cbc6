"""Figures 4 and 5: torques and residue along the excitation and along the validation motion. The measurements were
never published; the same curves of a virtual robot are drawn, and nothing is claimed of the published ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import exciter as ex
from exciter.excitation.validation_motion.random_families import draw as draw_motion
from exciter.experiment.signals.equation_rows import Rows
from exciter.report.plot import Line, Plot
from exciter.typing import Array
from exciter_papers.paper import Effort, Finding, Part, closed, shown
from exciter_papers.swevers_ieee.experiment import LOG_RATE, RECORDED_PERIODS
from exciter_papers.swevers_ieee.set_up import TORQUE_NOISE_STD, chi, model, optimised, sampled, workspace
from exciter_papers.swevers_ieee.validation import (
    FITTED,
    LOW_PASS,
    SLOW_SPEED,
    UNSEEN,
    VALIDATION_FAMILY,
    Unmodelled,
    estimated,
    predicted,
)

FIGURES_SEED = 0  # of the virtual robot, its noise and the validation motion


def run(effort: Effort) -> Sequence[Part]:
    """One robot of section V-B, its model 2, and a motion that this has not seen."""
    found = optimised(ex.DOptimality(), effort.pick(2, 8))
    motion = sampled(found.delta)
    rng = np.random.default_rng(FIGURES_SEED)
    extra = Unmodelled.drawn(rng, motion)
    noise = TORQUE_NOISE_STD * rng.standard_normal(motion.q.shape)
    torque = model().torque(motion, chi()) + extra.torque(motion) + noise
    second = estimated(motion, torque)
    drawn = draw_motion(model().robot, VALIDATION_FAMILY, [workspace(model().robot)], seed=FIGURES_SEED)
    time = np.arange(int(drawn.curve.duration * LOG_RATE)) / LOG_RATE + drawn.curve.start
    unseen = drawn.curve.motion(time)
    one_run = np.sqrt(RECORDED_PERIODS) * TORQUE_NOISE_STD * rng.standard_normal(unseen.q.shape)
    exact = model().torque(unseen, chi()) + extra.torque(unseen)
    measured, foretold = low_passed(exact + one_run, predicted(unseen, second))
    return figure_4(motion, torque, predicted(motion, second)), figure_5(unseen, measured, foretold)


def low_passed(torque: Array, foretold: Array) -> tuple[Array, Array]:
    """Both through the low-pass of the validation."""
    names, time = model().robot.joint_names, np.arange(len(torque)) / LOG_RATE
    both = LOW_PASS.apply(Rows.of(time, foretold[:, :, None], torque, LOG_RATE, names, ["predicted"]))
    return np.asarray(both.y), np.asarray(both.w[:, :, 0])


def figure_4(motion: ex.Motion, measured: Array, foretold: Array) -> Part:
    residue = measured - foretold
    slow = np.abs(motion.qd) < SLOW_SPEED
    peaks = [float((residue[slow[:, j], j] ** 2).mean() / (residue[~slow[:, j], j] ** 2).mean()) for j in range(3)]
    return Part(
        "Figure 4",
        "Measured torque, estimated torque and estimation residue of model 2",
        f"A virtual robot of section V-B (seed {FIGURES_SEED}): Table I, friction and gear torques that the model does "
        "not have, noise of an average over the periods; a motion of criterion c2 of ours, one period.",
        (
            closed(
                "curves of Figure 4",
                None,
                "the measured torques and the coefficients of trajectory 2 were never published, nor was the model "
                "with offsets and a spring: nobody can draw these curves again. Those of a virtual robot are shown",
            ),
            *mean_squares("Figure 4, virtual robot", residue, FITTED, "sized to it, see section V-B"),
            *(
                shown(
                    f"Figure 4, virtual robot: mean square residue of joint {j + 1} below {SLOW_SPEED:g} rad/s over "
                    "that above",
                    value,
                )
                for j, value in enumerate(peaks)
            ),
        ),
        figures=curves("Figure 4", motion, measured, foretold, residue),
    )


def figure_5(motion: ex.Motion, measured: Array, foretold: Array) -> Part:
    residue = measured - foretold
    time = np.arange(len(measured)) / LOG_RATE
    names = model().robot.joint_names
    positions = Plot(
        "Figure 5: position",
        np.arange(len(motion)) / LOG_RATE,
        "time [s]",
        "joint position [rad]",
        [Line(name, motion.q[:, j], "rad") for j, name in enumerate(names)],
    )
    assert len(time) <= len(motion)
    return Part(
        "Figure 5",
        "Position, measured torque and estimation residue on the validation trajectory",
        f"The same virtual robot and its model 2 on a motion of ours (seed {FIGURES_SEED}) through "
        f"{VALIDATION_FAMILY.points} random points with a stop at each; one run, both torques through the low-pass of "
        "10 Hz.",
        (
            closed(
                "curves of Figure 5",
                None,
                "the points of the validation motion and the measurements along it were never published: nobody can "
                "draw these curves again. Those of a virtual robot are shown",
            ),
            *mean_squares("Figure 5, virtual robot", residue, UNSEEN, "of a robot and a motion that are not ours"),
        ),
        figures=(positions, *curves("Figure 5", motion, measured, foretold, residue)),
    )


def mean_squares(name: str, residue: Array, printed: Array, why: str) -> list[Finding]:
    return [
        shown(
            f"{name}: mean square residue of joint {j + 1} [(N·m)²]",
            float((residue[:, j] ** 2).mean()),
            f"the paper prints {printed[j]:.1f}, {why}",
        )
        for j in range(residue.shape[1])
    ]


def curves(figure: str, motion: ex.Motion, measured: Array, foretold: Array, residue: Array) -> tuple[Plot, ...]:
    time = np.arange(len(measured)) / LOG_RATE
    return tuple(
        Plot(
            f"{figure}: torque of joint {j + 1}, virtual robot",
            time,
            "time [s]",
            "torque [N·m]",
            [
                Line(name, values[:, j], "N·m")
                for name, values in (("measured", measured), ("estimated", foretold), ("residue", residue))
            ],
        )
        for j in range(motion.q.shape[1])
    )
