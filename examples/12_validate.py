"""Is a model good? On motion that was not identified from, beside models that know less and what noise alone leaves."""

import exciter as ex

robot = ex.load("kuka-ir361")
seen = ex.design(robot, ex.Fourier(period=5, harmonics=4), starts=1)
other = ex.design(robot, ex.RandomPoints(points=6), seed=3)  # full stops, maximum acceleration, certified
print(other)

log, held_out = ex.simulate(robot, seen), ex.simulate(robot, other)  # the same robot: the same seed
found = ex.identify(robot, log.recording, estimator=ex.WeightedLeastSquares(), compare=("ols", "energy"))
judged = ex.validate(found, held_out.recording)

for left in judged[0].baselines.models:
    print(f"{left.model:14} leaves {left.total_percent:6.2f} % of the torque")
print(judged)
print(*judged.sentences, sep="\n")  # the inertia matrix, and a simulator driven by the model
print(found.comparison)
