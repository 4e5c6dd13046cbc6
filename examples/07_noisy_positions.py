"""Joint positions are noisy too: the Cramér–Rao bound depends on the parameters, so design and estimation alternate."""

import exciter as ex

SIGMA_Q = 3e-4  # [rad] of every recorded position
asked = {
    "terms": ["viscous"],
    "trajectory": {"family": "fourier", "period": 4.0, "harmonics": 3, "periods": 3},  # periods tell the noise
    "samples": 60,  # of a period while designing
    "starts": 1,
    "simulate": {
        "truth": {"viscous": 2.0, "coulomb": 0.0, "rotor_inertia": 0.0},
        "encoder": {"noise": SIGMA_Q, "counts": "none"},  # what the robot says of its positions
        "torque": {"noise": 0.2},
    },
    "campaign": {
        "criterion": "cramer-rao",
        "joint_noise": SIGMA_Q,
        "target": {"ZZ*": "0.2 %", "Fv*": "0.2 %"},
        "negligible": "none",
        "rounds": 4,
    },
}
made = ex.campaign("gautier-khalil", settings=asked)

assert made.result.config.settings.estimator.word == "ml"  # maximum likelihood takes positions as noisy
for one, worst in zip(made.rounds, made.history.ratios.max(axis=1), strict=True):
    measured = max(part.series.noise.max() for run in one.result.logs.runs for part in run.parts)
    print(f"round {one.number}: bound {one.motion.design.value:.2f}, σ of positions {measured:.1e} rad, "
          f"largest σ {worst:.2f} of its target")  # fmt: skip
print(f"reached: {made.reached}, after {made.robot_time:g} s of motion")
