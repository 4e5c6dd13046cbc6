"""One model for everyone: your URDF patched in place, MJCF for MuJoCo, a module without dependencies, data."""

import runpy
import tempfile
from pathlib import Path

import numpy as np

import exciter as ex

URDF = """<?xml version="1.0"?>
<robot name="arm">
  <link name="base"/>
  <!-- the upper arm: the maker's figures -->
  <link name="upper">
    <inertial><origin xyz="0 0 0.2"/><mass value="4.0"/>
      <inertia ixx="0.06" ixy="0" ixz="0" iyy="0.06" iyz="0" izz="0.01"/></inertial>
    <visual><geometry><mesh filename="package://arm/upper.stl"/></geometry></visual>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="3" effort="80"/>
  </joint>
</robot>
"""

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "arm.urdf").write_text(URDF, encoding="utf-8")
    robot = ex.load(folder / "arm.urdf", acceleration=10.0)
    log = ex.simulate(robot, ex.design(robot, starts=1)).recording
    found = ex.identify(robot, log, estimator=ex.PhysicallyConsistent())
    for file in ("identified.urdf", "identified.mjcf", "identified.c", "identified.yaml", "identified.py"):
        print([path.name for path in found.export(folder / file)])
    print((folder / "identified.urdf").read_text(encoding="utf-8"))  # comment, mesh and limits as they were
    module = runpy.run_path(str(folder / "identified.py"))

q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 20, 1))
print(f"the module differs by {np.abs(module['torque'](q, qd, qdd) - found.torque(q, qd, qdd)).max():.1e} N·m")
