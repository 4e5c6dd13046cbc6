"""Closed chains with known solutions: a four-bar, a parallelogram, a loop in space."""

import numpy as np

from exciter.robot import load
from exciter.robot.limits import Limits
from exciter.robot.robot import Frame, Joint, Robot
from exciter.robot.spatial import axis_rotation, from_pseudo_inertia

CRANK, COUPLER, ROCKER, GROUND = 0.3, 0.7, 0.5, 0.8
FOUR_BAR_POSTURE = {"crank": 1.0, "coupler": -0.5, "rocker": 1.5}


def random_inertia(rng) -> np.ndarray:
    """(10,) of a body of a few points of mass."""
    points = np.column_stack([rng.uniform(-0.2, 0.4, (6, 3)), np.ones(6)])
    return from_pseudo_inertia((points.T * rng.uniform(0.1, 0.5, 6)) @ points)


def joint(name, parent, at, rotation=None, kind="continuous", axis=(0.0, 0.0, 1.0), inertia=None) -> Joint:
    rotation = np.eye(3) if rotation is None else rotation
    body = np.zeros(10) if inertia is None else inertia
    return Joint(name, kind, parent, rotation, np.array(at, dtype=float), np.array(axis), Limits(), body)


def frame(name, body, at, rotation=None) -> Frame:
    return Frame(name, body, np.eye(3) if rotation is None else rotation, np.array(at, dtype=float))


def four_bar(turn=None, seed=0) -> Robot:
    """In the plane that ``turn`` makes of x, y; open between 'coupler_end' and 'rocker_end'."""
    rng, turn = np.random.default_rng(seed), np.eye(3) if turn is None else turn
    joints = (
        joint("crank", -1, (0, 0, 0), turn, inertia=random_inertia(rng)),
        joint("coupler", 0, (CRANK, 0, 0), inertia=random_inertia(rng)),
        joint("rocker", -1, turn @ (GROUND, 0, 0), turn, inertia=random_inertia(rng)),
    )
    ends = frame("coupler_end", 1, (COUPLER, 0, 0)), frame("rocker_end", 2, (ROCKER, 0, 0))
    return Robot("four bar", joints, gravity=np.array([0.0, -9.81, 0.0]), frames=ends)


def four_bar_angles(crank):
    """(N, 3) in closed form: law of cosines in the triangle of the diagonal, with the coupler above."""
    tip = CRANK * np.stack([np.cos(crank), np.sin(crank)], axis=-1) - [GROUND, 0.0]  # from the rocker's pivot
    diagonal, slope = np.hypot(*tip.T), np.arctan2(tip[:, 1], tip[:, 0])
    inside = np.arccos((ROCKER**2 + diagonal**2 - COUPLER**2) / (2 * ROCKER * diagonal))
    rocker = slope - inside
    along = ROCKER * np.stack([np.cos(rocker), np.sin(rocker)], axis=-1) - tip
    return np.stack([crank, np.arctan2(along[:, 1], along[:, 0]) - crank, rocker], axis=-1)


def spatial_loop(seed=3) -> Robot:
    """Nine joints, one of which slides, on a carrier that turns; frames 'left' and 'right' at the ends of two limbs."""
    rng = np.random.default_rng(seed)

    def turn():
        axis = rng.standard_normal(3)
        return axis_rotation(axis / np.linalg.norm(axis), rng.uniform(0, 2))

    joints = [joint("carrier", -1, (0, 0, 0), axis=(0.0, 1.0, 0.0), inertia=random_inertia(rng))]
    for side, count, lean in (("l", 5, (0.3, 0, 0)), ("r", 4, (0, 0.3, 0))):
        for k in range(count):
            kind, parent = "prismatic" if (side, k) == ("l", 2) else "continuous", len(joints) - 1 if k else 0
            at = rng.uniform(-0.3, 0.3, 3) + lean
            joints.append(joint(f"{side}{k}", parent, at, turn(), kind, inertia=random_inertia(rng)))
    ends = [frame(name, body, rng.uniform(-0.2, 0.2, 3), turn()) for name, body in (("left", 5), ("right", 9))]
    return Robot("spatial loop", tuple(joints), frames=tuple(ends))


PARALLELOGRAM = """
<mujoco model="parallelogram">
  <compiler angle="radian"/>
  <worldbody>
    <body pos="0 0 1">
      <joint name="shoulder" axis="0 1 0" range="-0.8 0.8" damping="0.2" armature="0.02" frictionloss="0.3"/>
      <inertial pos="0.15 0 0" mass="1.5" diaginertia="0.002 0.02 0.02"/>
      <body pos="0.3 0 0">
        <joint name="elbow" axis="0 1 0" range="-2.5 2.5"/>
        <inertial pos="0.1 0 0" mass="0.9" diaginertia="0.001 0.01 0.01"/>
        <site name="tail" pos="-0.08 0 0"/>
      </body>
    </body>
    <body pos="0 0 1">
      <joint name="crank" axis="0 1 0" range="-0.8 0.8" damping="0.2" armature="0.02" frictionloss="0.3"/>
      <inertial pos="-0.04 0 0" mass="0.3" diaginertia="0.0005 0.001 0.001"/>
      <body pos="-0.08 0 0">
        <joint name="rod" axis="0 1 0" range="-2.5 2.5"/>
        <inertial pos="0.15 0 0" mass="0.4" diaginertia="0.0003 0.004 0.004"/>
        <site name="rod_end" pos="0.3 0 0"/>
      </body>
    </body>
  </worldbody>
  <equality><connect site1="rod_end" site2="tail"/></equality>
  <actuator><motor joint="shoulder" ctrlrange="-30 30"/><motor joint="crank" ctrlrange="-30 30"/></actuator>
</mujoco>
"""


def parallelogram(folder) -> Robot:
    """Two drives about one axis, open by 0.6 rad; flat, and from there on crossed or not, where both angles agree."""
    (folder / "parallelogram.xml").write_text(PARALLELOGRAM)
    return load(folder / "parallelogram.xml", posture={"crank": 0.6, "elbow": 0.6, "rod": -0.6})
