"""``route:`` by method: how positions are differentiated.

route: {method: differences, cutoff: 20, measured_velocity: true}   # [Hz]; the method unless given
route: {method: fourier, harmonics: 20, period: 10}                 # of a motion that repeats
route: {method: spline, knots_per_second: 20}
"""

from __future__ import annotations

from exciter.experiment.signals.filtered_differences import FilteredDifferences
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.experiment.signals.route import Route
from exciter.experiment.signals.smoothing_spline import SmoothingSpline
from exciter.settings import Registry

ROUTES = Registry[Route]("method", FilteredDifferences, FourierFit, SmoothingSpline)
