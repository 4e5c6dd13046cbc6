"""From a robot to its parameters: design, virtual experiment, weighted least squares; then who was right."""

import exciter as ex

robot = ex.load("kuka-ir361")
terms = (ex.Viscous(), ex.Coulomb())
noise = (5.0, 5.1, 3.2)  # [N·m], near the torque noise of Swevers et al. 1997

motion = ex.design(robot, ex.Fourier(period=5, harmonics=5), terms=terms, noise=noise, starts=2)
print(motion)
print(f"all limits hold at every instant, the tightest is {motion.certificate.worst.what}")

simulated = ex.simulate(robot, motion, periods=2)  # a robot whose true parameters lie near the description's
found = ex.identify(robot, simulated.recording, terms=terms, estimator=ex.WeightedLeastSquares(), dead_zone=0.02)
print(found)

true = {one["name"]: one["value"] for one in simulated.truth_data()["base"]}
for one in found.parameters:
    print(f"{one.name:6s} true {true[one.name]:8.3f}   identified {one.value:8.3f} ± {one.std:.3f} {one.unit}")
