"""The paper and what is run of it."""

from __future__ import annotations

from exciter_papers.paper import Paper, Study
from exciter_papers.swevers_asme import designs, harmonics, model, table_1

SWEVERS_1997_ASME = Paper(
    "swevers-1997-asme",
    "J. Swevers, C. Ganseman, J. De Schutter, H. Van Brussel: Generation of Periodic Trajectories for Optimal Robot "
    "Excitation. Journal of Manufacturing Science and Engineering (ASME) 119, 1997, 611–615.",
    "Excitation as finite Fourier series, whose few coefficients are optimised for a small condition number of the "
    "regression matrix within limits of joints and workspace. The example is a KUKA IR 361 with three axes and 15 "
    "parameters.",
    (
        Study("model", 1.0, model.run),
        Study("table-1", 4.0, table_1.run),
        Study("designs", 150.0, designs.run),
        Study("harmonics", 50.0, harmonics.run),
    ),
)
