"""Is a model good? On motion never seen, beside models that know less and what noise alone leaves."""

import numpy as np

from exciter.dynamics.model import DynamicModel
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion
from exciter.excitation.validation_motion.draw import draw
from exciter.excitation.validation_motion.random_points import RandomPoints
from exciter.experiment.synthetic import synthetic
from exciter.identification.estimators.ordinary import OrdinaryLeastSquares
from exciter.identification.estimators.weighted import WeightedLeastSquares
from exciter.identification.formulations.energy import Energy
from exciter.identification.formulations.inverse_dynamic import InverseDynamic
from exciter.identification.problem import Problem
from exciter.identification.run import Run
from exciter.parameters.terms import Coulomb, RotorInertia, Stribeck, Viscous
from exciter.robot import Motion, load
from exciter.validation.comparison import Method, compare
from exciter.validation.inertia_matrix import check_inertia_matrix
from exciter.validation.open_loop import simulate_open_loop
from exciter.validation.validation import validate

RATE, NOISE = 250.0, np.array([3.0, 3.0, 1.0])  # [Hz], [N·m]
robot = load("kuka-ir361")
rotors = (RotorInertia(), Viscous(), Coulomb())
model = DynamicModel(robot, rotors)
robot_itself = DynamicModel(robot, (*rotors, Stribeck(velocity=0.1)))  # has friction that the model does not know
secret = dict(zip(model.standard, 1.15 * model.nominal, strict=True)) | {"Fst1": 60.0}
truth = np.array([secret.get(name, 0.0) for name in robot_itself.standard])


def run(motion: Motion, name: str, seed: int) -> Run:
    data = synthetic(robot_itself, motion, truth, NOISE, seed)
    return Run.at(data.motion, data.torque, RATE, name)


family = Fourier(10.0, 4)
delta = 0.5 * np.random.default_rng(0).standard_normal((robot.n, 9))
seen = run(motion(family, delta, np.arange(2500) / RATE), "Fourier", 1)
drawn = draw(robot, RandomPoints(points=10), seed=3)  # full stops, maximum acceleration, certified
print(f"{drawn.curve.duration:.1f} s through {10} random points: {drawn.certificate.certified=}")
other = run(drawn.curve.motion(np.arange(drawn.curve.start, drawn.curve.end, 1 / RATE)), "random points", 2)

judge = InverseDynamic(dead_zone=0.01)
problem = Problem(model, (seen,), judge)
estimate = WeightedLeastSquares().estimate(problem)
(checked,) = validate(problem, estimate, [other]).runs
for left in checked.baselines.models:
    print(f"{left.model:14} leaves {left.total_percent:6.2f} % of the torque")
print(*checked.sentences, sep="\n")

print(*check_inertia_matrix(model, estimate.values, estimate.covariance).sentences[:1], sep="\n")
print(*simulate_open_loop(model, estimate.values, other).sentences[:1], sep="\n")
methods = [
    Method("weighted", judge, WeightedLeastSquares()),
    Method("ordinary", judge, OrdinaryLeastSquares()),
    Method("energy", Energy(), OrdinaryLeastSquares()),
]
print(compare(model, [seen], methods, [other], judge).sentences[0])
