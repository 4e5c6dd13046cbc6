"""One log, several ways to solve it: who is how far from the truth, and who knows it."""

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion
from exciter.experiment.signals.butterworth import Butterworth
from exciter.experiment.signals.parallel_filter import ParallelFilter
from exciter.experiment.synthetic import synthetic_recording
from exciter.identification.estimators.consistent import PhysicallyConsistent
from exciter.identification.estimators.essential import Essential
from exciter.identification.estimators.ordinary import OrdinaryLeastSquares
from exciter.identification.estimators.robust import Huber
from exciter.identification.estimators.weighted import WeightedLeastSquares
from exciter.identification.formulations.energy import Energy
from exciter.identification.formulations.filtered_dynamic import FilteredDynamic
from exciter.identification.formulations.inverse_dynamic import InverseDynamic
from exciter.identification.formulations.power import Power
from exciter.identification.problem import Problem
from exciter.identification.residuals import Residuals
from exciter.identification.run import Run
from exciter.identification.stages.sequences import LinkByLink
from exciter.identification.uncertainty.correlated import with_correlated_errors
from exciter.parameters.terms import Coulomb, RotorInertia, Viscous
from exciter.robot import load

model = DynamicModel(load("tx40"), (RotorInertia(), Viscous(), Coulomb()))
truth = model.base.base_values(model.nominal)


def log(seed: int) -> Run:
    """20 s at 500 Hz of another motion for each seed; noise of 3 % of the torques and 2e-5 rad."""
    family = Fourier(20.0, 8)
    delta = 0.35 * np.random.default_rng(seed).standard_normal((model.n, 17))
    executed = motion(family, delta, np.arange(10_000) / 500.0)
    noise = 0.03 * model.torque(executed).std(axis=0)
    return Run.of(synthetic_recording(model, executed, model.nominal, noise, position_noise=2e-5, seed=seed))


run, other = log(1), log(2)
both_sides = ParallelFilter(Butterworth(10.0))
dynamic = Problem(model, (run,), InverseDynamic(both_sides))
held_out = Problem(model, (other,), InverseDynamic(both_sides)).compressed

print("formulation            error / truth   left on other motion")
for formulation in (InverseDynamic(both_sides), FilteredDynamic(both_sides), Energy(), Power(both_sides)):
    found = WeightedLeastSquares().estimate(Problem(model, (run,), formulation))
    error = np.linalg.norm(found.values - truth) / np.linalg.norm(truth)
    left = Residuals.of(held_out, found.values).total_percent
    print(f"{type(formulation).__name__:22} {100 * error:10.3f} %   {left:14.3f} %")

print("\nestimator              within 2 σ      left on other motion")
for estimator in (OrdinaryLeastSquares(), WeightedLeastSquares(), Huber(), LinkByLink(), Essential()):
    found = estimator.estimate(dynamic)
    if isinstance(estimator, OrdinaryLeastSquares | WeightedLeastSquares):
        found = with_correlated_errors(dynamic, found)  # filtered rows are alike: σ says so
    known = found.std > 0.0
    inside = np.abs(found.values - truth)[known] < 2 * found.std[known]
    left = Residuals.of(held_out, found.values).total_percent
    print(f"{type(estimator).__name__:22} {int(inside.sum()):3d} of {known.sum():3d}   {left:14.3f} %")

full = PhysicallyConsistent().estimate(dynamic)
left = Residuals.of(held_out, full.values).total_percent
print(f"{'PhysicallyConsistent':22} {len(full.standard):4d} standard parameters, bodies that can exist: {left:.3f} %")
print(*(note.text for note in full.notes), sep="\n")
