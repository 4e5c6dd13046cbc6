"""The robots of example-robot-data: which load, which do not and why, and how many base parameters they have.

The oracle for the number is the rank of Pinocchio's own regressors, stacked over random states and projected where
bodies follow joints."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from exciter.dynamics.dynamics import Dynamics
from exciter.dynamics.model import DynamicModel, random_states
from exciter.dynamics.reference import NumpyEngine
from exciter.errors import ExciterError
from exciter.parameters.base import numeric_base
from exciter.parameters.inertial import names
from exciter.robot import Robot, load
from exciter.robot.coupling import coupled_motion
from exciter.robot.pinocchio_model import to_pinocchio
from support.example_robots import FILES

#: by the end of the path; reasons that lie in the file: the first is empty, in the second fingers follow joints by the
#: names that they had before both hands were put on one robot
REFUSED = {
    "ur3.urdf": "has no link",
    "alex_psyonic_hands.urdf": "mimic of 'Left_index_q2': unknown joint 'index_q1'",
}
COUPLED = ("baxter", "panda", "panda_collision", "pr2", "romeo", "talos_full_v2", "talos_full_v2_box", "tiago_pro")
STATES_PER_LINK = 3  # and some more: the rank of a tree is reached with few, every joint has rows of its own

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FILES, reason="the package example-robot-data is not installed"),
]


def is_refused(name: str) -> bool:
    return Path(name).name in REFUSED


@cache
def robot(name: str) -> Robot:
    return load(FILES[name], meshes=False)


def test_all_but_a_few_load() -> None:
    assert len(FILES) == 69
    for name, path in FILES.items():
        if is_refused(name):
            with pytest.raises(ExciterError) as refused:
                load(path, meshes=False)
            assert REFUSED[path.name] in str(refused.value)
            assert "\n" not in str(refused.value)
    loaded = [name for name in FILES if not is_refused(name)]
    assert len(loaded) == 67
    assert tuple(sorted(Path(name).stem for name in loaded if robot(name).coupling is not None)) == COUPLED


@pytest.mark.parametrize("name", [name for name in FILES if not is_refused(name)])
def test_base_parameters_are_the_rank_of_pinocchios_regressors(name: str) -> None:
    """The rank is clear: what is kept exceeds what is dropped a thousandfold."""
    one = robot(name)
    model, motion = to_pinocchio(one), random_states(one, 40 + STATES_PER_LINK * one.n_bodies, seed=2)
    tree, data = coupled_motion(one, motion), model.createData()
    null = np.eye(one.n) if one.coupling is None else one.coupling.matrix
    own = names(one.n_bodies)
    r = np.zeros((0, len(own)))
    block: list[np.ndarray] = []
    for k, state in enumerate(zip(tree.q, tree.qd, tree.qdd, strict=True)):
        block.append(null.T @ pin.computeJointTorqueRegressor(model, data, *state))
        if len(block) * one.n > 2 * len(own) or k == len(motion) - 1:
            r, block = np.linalg.qr(np.vstack([r, *block]), mode="r"), []
    for body in one.free_base[:-1]:  # in front of a free base: joints alone, no bodies
        r[:, 10 * body : 10 * body + 10] = 0.0
    oracle = numeric_base(r, own)
    base = DynamicModel(one, (), NumpyEngine()).base
    assert oracle.decision.is_clear, oracle.decision.words
    assert len(base) == len(oracle)


@pytest.mark.parametrize("name", [name for name in FILES if Path(name).stem in COUPLED])
def test_torques_of_coupled_robots_are_pinocchios_projected(name: str) -> None:
    one = robot(name)
    motion = random_states(one, 5)
    model, tree = to_pinocchio(one), coupled_motion(one, motion)
    data, states = model.createData(), zip(tree.q, tree.qd, tree.qdd, strict=True)
    expected = np.array([pin.rnea(model, data, *state) for state in states]) @ one.coupling.matrix
    torque = Dynamics(one).inverse_dynamics(motion)
    np.testing.assert_allclose(torque, expected, atol=1e-9 * np.abs(expected).max())


def test_pinocchio_reads_the_same_mimics() -> None:
    """Places of all joints as Pinocchio's own reader of mimic tags puts them, where it knows the leader in time."""
    compared = 0
    for name in (name for name in FILES if Path(name).stem in COUPLED):
        try:
            model = pin.buildModelFromUrdf(str(FILES[name]), True)  # with mimic joints
        except ValueError:
            continue
        one, data, q = robot(name), model.createData(), pin.neutral(model)
        at = np.random.default_rng(0).uniform(-0.3, 0.3, one.n)
        for joint, value in zip(one.joints, at, strict=True):
            place = model.joints[model.getJointId(joint.name)]
            turns = place.nq == 2  # continuous joints are points of a circle there
            q[place.idx_q : place.idx_q + place.nq] = [np.cos(value), np.sin(value)] if turns else [value]
        pin.forwardKinematics(model, data, q)
        dynamics = Dynamics(one)
        for body in one.bodies:
            there = data.oMi[model.getJointId(body.name)]
            rotation, origin = dynamics.placement(body.name, at)
            np.testing.assert_allclose(origin[0], there.translation, atol=1e-9)
            np.testing.assert_allclose(rotation[0], there.rotation, atol=1e-9)
        compared += 1
    assert compared >= 3
