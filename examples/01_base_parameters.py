"""What can be identified at all? The base parameters of a robot, before anything moves."""

from exciter.dynamics.base import inertia_base, static_base
from exciter.dynamics.model import DynamicModel
from exciter.parameters.identifiability import identifiability
from exciter.parameters.terms import Coulomb, RotorInertia, Viscous
from exciter.robot import load

robot = load("gautier-khalil")  # or a URDF, MJCF or modified-DH file
model = DynamicModel(robot)
for expression in model.base.expressions:
    print(expression)

print(f"\n{len(model.base)} of {len(model.standard)} can be told apart; {model.base.decision.words}")
print(f"poses at rest tell {len(static_base(model))}, second moments alone are {len(inertia_base(model))}")

# Friction and rotor inertias are columns like any others; some rotor inertias cannot be told from a link's inertia.
full = DynamicModel(robot, (RotorInertia(), Viscous(), Coulomb()))
print(f"with rotor inertia and friction: {len(full.base)}, e.g. {full.base.expressions[0]}")

print("\nwhy not the others?")
for verdict in identifiability(model.dynamics.robot, model.base).with_status("unidentifiable"):
    print(f"  {verdict.name}: {verdict.reason}")
