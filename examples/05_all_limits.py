"""A motion within joint, torque, workspace and collision limits, and what its certificate says."""

import exciter as ex

robot = ex.load("ur10e")
further = [
    ex.HalfSpace(robot, "tool0", normal=(0, 0, 1), offset=0.15),  # the tool stays 15 cm above the table
    ex.Block("cabinet", centre=(0, 1.2, 0.5), size=(1.0, 0.4, 1.0)),
]
settings = ex.DesignSettings(
    constraints=ex.ConstraintSettings(torque={"margin": 0.2}, self_collision={"clearance": 0.02})
)
# Torque, self-collision and the ground are kept anyway, where the description has what they need.
motion = ex.design(robot, ex.Fourier(10.0, 5, at_rest=True), settings=settings, constraints=further, starts=1)

print(motion)
for limit in sorted(motion.certificate.limits, key=lambda limit: limit.margin)[:8]:
    print(f"{limit.what:12} of {limit.where:28} reaches {limit.reached:8.3f}, limit {limit.limit:8.3f} {limit.unit}")
for note in motion.not_checked:
    print(note)
