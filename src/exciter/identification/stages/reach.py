"""How far around its instant an equation looks: a filter brings in what the robot did before and after."""

from __future__ import annotations

from exciter.experiment.signals.processed import Processed
from exciter.experiment.signals.rows import ParallelFilter
from exciter.identification.formulations import derivative
from exciter.identification.formulations.filtered_dynamic import FilteredDynamic
from exciter.identification.formulations.formulation import Formulation
from exciter.identification.formulations.inverse_dynamic import InverseDynamic

FORGOTTEN = 1e-5  # share of what lies further away that may still come in
LONGEST = 45.0  # over the noise bandwidth: the filter of ``decimate``, which remembers longest


def reach(formulation: Formulation, piece: Processed, bandwidth: float) -> float:
    """[s] to both sides. piece: the first of a run. bandwidth [Hz]: of its rows, where no more is known of them."""
    if isinstance(formulation, InverseDynamic):
        both = formulation.parallel_filter
        return 0.0 if both is None else _remembered(both, piece) / piece.rate
    if isinstance(formulation, FilteredDynamic):
        return (_remembered(formulation.parallel_filter, piece) + derivative.REACH) / piece.rate
    return LONGEST / bandwidth


def _remembered(both: ParallelFilter, piece: Processed) -> int:
    low_pass, _ = both.at(piece.rate, piece.torque_bandwidth)
    return low_pass.settle(piece.rate, FORGOTTEN)
