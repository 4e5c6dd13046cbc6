"""Figures 2 and 3: joint positions over a period, and the path of the end effector in space; ours and Table 1."""

from __future__ import annotations

import numpy as np

from exciter.dynamics.dynamics import picture_times
from exciter.report.plot import Line, Plot
from exciter.report.scene import Replay, Scene
from exciter.reproduction.finding import claim
from exciter.reproduction.paper import Part
from exciter.reproduction.swevers_asme.optimum import Optimum
from exciter.reproduction.swevers_asme.set_up import FAMILY, PAPER, heights, robot, table_1
from exciter.typing import Array

OURS, TABLE = "ours, with friction", "Table 1, a and b swapped"
DRAWN = 500  # samples of a plot
PERIODS = 2  # of the check that a motion repeats


def pictures(found: Optimum) -> Part:
    """The best trajectory with friction beside that of Table 1."""
    motions = {OURS: found.delta, TABLE: table_1(swapped=True)}
    plots = [_plot(name, delta, key) for (name, delta), key in zip(motions.items(), ("ours", "table"), strict=True)]
    replays = [_replay(name, delta, key) for (name, delta), key in zip(motions.items(), ("ours", "table"), strict=True)]
    curve = FAMILY.curve(found.delta).repeated(PERIODS)
    times = np.linspace(0.0, FAMILY.period, DRAWN)
    first, second = curve.motion(times), curve.motion(times + FAMILY.period)
    gap = max(float(np.abs(getattr(first, x) - getattr(second, x)).max()) for x in ("q", "qd", "qdd"))
    return Part(
        "Figures 2–3",
        "The optimised trajectory",
        "Figure 2 shows the joint positions of axes 1, 2, 3 over one period, Figure 3 the path of the end effector in "
        "space. Here both for our optimum of section 4.2 with friction and for Table 1 with a and b swapped. The "
        "paper's curves exist as drawings only and are not compared point by point.",
        (
            claim(
                "the trajectories are periodic, so that position, velocity and acceleration repeat",
                gap < 1e-9,
                f"difference of two periods in a row: {gap:.1e} at most",
            ),
        ),
        figures=(*plots, Scene(robot(), "tool", replays).html()),
    )


def _plot(name: str, delta: Array, key: str) -> Plot:
    time = np.linspace(0.0, FAMILY.period, DRAWN)
    q = FAMILY.curve(delta).motion(time).q
    ends = PAPER["limits"]["position"]
    lines = [Line(f"axis {j + 1}", q[:, j], "rad", -ends[j], ends[j]) for j in range(3)]
    return Plot(f"Figure 2: excitation profile, {name}", time, "time [s]", "position [rad]", lines, group=key)


def _replay(name: str, delta: Array, key: str) -> Replay:
    time = picture_times(0.0, FAMILY.period)
    motion = FAMILY.curve(delta).motion(time)
    return Replay(name, key, time, motion.q, heights(robot()).points(motion).T)
