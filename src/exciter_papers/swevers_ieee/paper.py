"""The paper and what is run of it."""

from __future__ import annotations

from exciter_papers.paper import Paper, Study
from exciter_papers.swevers_ieee import designs, estimation, figures, loop, printed, validation, zero_phase

SWEVERS_1997_IEEE = Paper(
    "swevers-1997-ieee",
    "J. Swevers, C. Ganseman, D. Bilgin Tükel, J. De Schutter, H. Van Brussel: Optimal Robot Excitation and "
    "Identification. IEEE Transactions on Robotics and Automation 13(5), 1997, 730–740.",
    "Periodic motions, finite Fourier series, are designed so that parameters estimated from noisy torques are as "
    "certain as possible, and compared with motions designed by condition number. Estimation is by maximum "
    "likelihood, which is weighted least squares when joint angles are exact; simulations and an experiment on a "
    "KUKA IR 361 show both.",
    (
        Study("designs", 130.0, designs.run),
        Study("printed", 1.0, printed.run),
        Study("estimation", 47.0, estimation.run),
        Study("loop", 26.0, loop.run),
        Study("validation", 34.0, validation.run),
        Study("figures", 5.0, figures.run),
        Study("zero-phase", 0.1, zero_phase.run),
    ),
)
