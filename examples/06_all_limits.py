"""A motion within joint, torque, workspace and collision limits, and what its certificate says."""

from exciter.dynamics.model import DynamicModel
from exciter.excitation.constraints.collision import CapsuleDistance
from exciter.excitation.constraints.torque import TorqueLimits
from exciter.excitation.constraints.workspace import HalfSpace
from exciter.excitation.design import design
from exciter.excitation.trajectories.fourier import Fourier
from exciter.parameters.terms import Coulomb, Viscous
from exciter.robot import load

robot = load("ur10e")
model = DynamicModel(robot, (Viscous(), Coulomb()))
constraints = [
    TorqueLimits.of(robot, margin=0.2),  # all that the description has, rotors included
    CapsuleDistance(robot, clearance=0.02),
    HalfSpace(robot, "tool0", (0, 0, 1), 0.15),  # the tool stays 15 cm above the table
]
designed = design(model, Fourier(10.0, 5, at_rest=True), constraints=constraints, starts=2)

print(f"log det of the covariance {designed.log_det:.1f}, condition number {designed.condition_number:.0f}")
for limit in sorted(designed.certificate.limits, key=lambda limit: limit.margin)[:8]:
    print(f"{limit.what:12} of {limit.where:22} reaches {limit.reached:8.3f}, limit {limit.limit:8.3f} {limit.unit}")
