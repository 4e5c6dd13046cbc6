"""The next experiment, given what earlier ones have told: the prior turns the design to what is still uncertain."""

import tempfile

import exciter as ex

robot, family = ex.load("gautier-khalil"), ex.BSpline(8.0, segments=6)
asked = {"terms": (ex.Viscous(), ex.Coulomb()), "noise": 2.0, "starts": 4}
first = ex.design(robot, family, **asked)
with tempfile.TemporaryDirectory() as folder:
    second = ex.design(robot, family, prior=[first.save(f"{folder}/first")], **asked)

print(f"log det of the covariance: first {first.design.log_det:.2f}, with new motion {second.design.log_det:.2f}")
for name, std in first.predicted_std.items():
    print(f"{name:6} σ {std:.4f} → {second.predicted_std[name]:.4f}")
