"""What can be identified at all? The base parameters of a robot, before anything moves."""

import exciter as ex

robot = ex.load("gautier-khalil")  # or a URDF, MJCF or modified-DH file
found = ex.base(robot)
print(found)

base = found.model.base
print(f"\n{len(base)} of {len(base.standard)} can be told apart; {base.decision.words}")
still, second = (len(ex.base(robot, only=kind).verdicts.base) for kind in ("gravity", "inertia"))
print(f"poses at rest tell {still}, second moments alone are {second}")

# Friction and rotor inertias are columns like any others; some rotor inertias cannot be told from a link's inertia.
full = ex.base(robot, [ex.RotorInertia(), ex.Viscous(), ex.Coulomb()]).model.base
print(f"with rotor inertia and friction: {len(full)}, e.g. {full.expressions[0]}")

print("\nwhy not the others?")
for verdict in found.verdicts.with_status("unidentifiable"):
    print(f"  {verdict.name}: {verdict.reason}")
