"""The paper and what is run of it."""

from __future__ import annotations

from exciter_papers.paper import Paper, Study
from exciter_papers.rackl import dynamic, printed, static, validation

RACKL_2012 = Paper(
    "rackl-2012",
    "W. Rackl, R. Lampariello, G. Hirzinger: Robot Excitation Trajectories for Dynamic Parameter Estimation using "
    "Optimized B-Splines. IEEE International Conference on Robotics and Automation, 2012, 2042–2047.",
    "Way-points of a B-spline are optimised within position, velocity, acceleration, torque and workspace limits, so "
    "that a seven-axis arm with torque sensors reveals the inertias of its links. Gravity is identified before, from "
    "poses at rest; the result is compared with CAD on another trajectory.",
    (
        Study("ranks", 1.0, printed.run),
        Study("static", 3.0, static.run),
        Study("dynamic", 105.0, dynamic.run),
        Study("validation", 60.0, validation.run),
    ),
)
