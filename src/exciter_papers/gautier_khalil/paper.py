"""The paper and what is run of it."""

from __future__ import annotations

from exciter_papers.gautier_khalil import (
    appendix,
    interpolation,
    methods,
    noise,
    optimum,
    printed,
    random_sequences,
)
from exciter_papers.paper import Paper, Study

GAUTIER_KHALIL_1992 = Paper(
    "gautier-khalil-1992",
    "M. Gautier, W. Khalil: Exciting Trajectories for the Identification of Base Inertial Parameters of Robots. The "
    "International Journal of Robotics Research 11(4), August 1992, 362–375.",
    "Points (q, q̇) are chosen so that the condition number of the energy model's observation matrix becomes small, "
    "and a motion of quintic polynomials is laid through them. A robot with three joints shows what that gains over "
    "random points, and how noise then enters the estimates.",
    (
        Study("random-sequences", 14.0, random_sequences.run),
        Study("limits", 50.0, random_sequences.run_limits),
        Study("optimum", 70.0, optimum.run),
        Study("methods", 330.0, methods.run),
        Study("appendix", 0.1, appendix.run),
        Study("interpolation", 25.0, interpolation.run),
        Study("noise", 50.0, noise.run),
        Study("arithmetic", 2.0, printed.run),
    ),
)
