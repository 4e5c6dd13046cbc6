"""One model for everyone: a URDF patched in place, MJCF for MuJoCo, C without dependencies, data with covariance."""

import tempfile
from pathlib import Path

import mujoco
import numpy as np
import pinocchio

from exciter.dynamics.base import random_states
from exciter.dynamics.model import DynamicModel
from exciter.export.c_code import c_code
from exciter.export.mjcf import mjcf_text
from exciter.export.python_module import python_module
from exciter.export.urdf import identified_urdf
from exciter.parameters.terms import RotorInertia, Viscous
from exciter.robot import load

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

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "arm.urdf"
    path.write_text(URDF, encoding="utf-8")
    model = DynamicModel(load(path), (RotorInertia(), Viscous()))
    found = dict(zip(model.standard, 1.2 * model.nominal, strict=True)) | {"Ia1": 0.3, "Fv1": 2.5}
    chi = np.array(list(found.values()))  # as exciter identify --estimator consistent finds it
    patched = identified_urdf(model, chi, path)

print(patched)  # comment, mesh and limits as they were
motion = random_states(model.robot, samples=20)
torque = model.torque(motion, chi)

other = pinocchio.buildModelFromXML(patched)
data = other.createData()
rows = zip(motion.q, motion.qd, motion.qdd, strict=True)
rigid = np.array([pinocchio.rnea(other, data, *row) for row in rows])
beyond = found["Ia1"] * motion.qdd  # what URDF has no place for
print("Pinocchio differs by", f"{np.abs(rigid + other.damping * motion.qd + beyond - torque).max():.1e} N·m")

simulator = mujoco.MjModel.from_xml_string(mjcf_text(model, chi))
print("MuJoCo has armature", simulator.dof_armature, "and damping", simulator.dof_damping.ravel())

values = model.base.base_values(chi)  # base parameters are enough for code
names: dict = {}
exec(python_module(model, values), names)
print("the module differs by", f"{np.abs(names['torque'](motion.q, motion.qd, motion.qdd) - torque).max():.1e} N·m")
print(c_code(model, values).header.splitlines()[1].strip(" *"))
