"""Robots of several limbs: rows made where they are asked for are those of all, bounds of the compiled kernel are those
of its NumPy twin, a motion is restored rather than shrunk, and a certified one keeps limbs apart that have no joint in
common; distances by coal."""

from __future__ import annotations

from dataclasses import replace

import coal
import numpy as np
import pinocchio as pin
import pytest
from numpy.testing import assert_allclose

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.excitation.constraints.collision import CapsuleDistance
from exciter.excitation.constraints.constraint import moving_point
from exciter.excitation.constraints.segments import segments_apart
from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits
from exciter.excitation.criteria.criterion import DesignObjective
from exciter.excitation.criteria.optimality_and_condition import DOptimality
from exciter.excitation.design import design
from exciter.excitation.optimiser import search as search_module
from exciter.excitation.optimiser import sqp
from exciter.excitation.optimiser.deadline import NEVER
from exciter.excitation.optimiser.search import Search
from exciter.excitation.trajectories.fourier import Fourier
from exciter.robot import Robot, load
from exciter.robot.pinocchio_model import to_pinocchio
from support.certificates import even_spans, fourier
from support.coupled_robots import COUPLED, with_capsules
from support.robots import states

ARM = """
<joint name="{side}_{k}" type="revolute"><parent link="{parent}"/><child link="{side}_l{k}"/>
<origin xyz="{xyz}"/><axis xyz="{axis}"/><limit lower="-1.8" upper="1.8" velocity="4" effort="300"/></joint>
<link name="{side}_l{k}"><inertial><origin xyz="0.02 0.01 0.15"/><mass value="2"/>
<inertia ixx="0.03" iyy="0.03" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin xyz="0 0 0.15"/><geometry><capsule radius="0.05" length="0.25"/></geometry></collision></link>"""


@pytest.fixture(scope="module")
def arms(tmp_path_factory) -> Robot:
    """Two arms of three joints, 40 cm apart and 90 cm long: they meet nearly everywhere."""
    parts = ['<robot name="arms"><link name="trunk"/>']
    for side, x in (("left", -0.2), ("right", 0.2)):
        parent, xyz = "trunk", f"{x} 0 0"
        for k, axis in enumerate(("1 0 0", "0 1 0", "0 1 0")):
            parts.append(ARM.format(side=side, k=k, parent=parent, xyz=xyz, axis=axis))
            parent, xyz = f"{side}_l{k}", "0 0 0.3"
    file = tmp_path_factory.mktemp("arms") / "arms.urdf"
    file.write_text("\n".join([*parts, "</robot>"]))
    return load(file, acceleration=12.0)


def closest(robot: Robot, q: np.ndarray) -> float:
    """[m] of capsules of different limbs, at postures q, by coal."""
    model, geometry = to_pinocchio(robot), pin.GeometryModel()
    for capsule in robot.capsules:
        radius, length = capsule.solid.size
        at = pin.SE3(capsule.solid.rotation, capsule.solid.translation)
        body = pin.GeometryObject(capsule.name, capsule.joint + 1, at, coal.Capsule(radius, length))
        geometry.addGeometryObject(body)
    sides = [capsule.name.split("_")[0] for capsule in robot.capsules]
    for a in range(len(sides)):
        for b in range(a):
            if sides[a] != sides[b]:
                geometry.addCollisionPair(pin.CollisionPair(a, b))
    data, measured = model.createData(), pin.GeometryData(geometry)
    lowest = np.inf
    for posture in q:
        pin.computeDistances(model, data, geometry, measured, posture)
        lowest = min(lowest, *(one.min_distance for one in measured.distanceResults))
    return lowest


def test_a_certified_motion_keeps_limbs_apart(arms, monkeypatch):
    """With rows taken as a step breaks them, of which there are too many to look at all."""
    monkeypatch.setattr(sqp, "MANY_ROWS_PER_VARIABLE", 2)
    assert len(arms.limbs) == 2
    family = Fourier(6.0, 3, at_rest=True)
    found = design(DynamicModel(arms), family, constraints=(CapsuleDistance(arms, clearance=0.01),), starts=1)
    assert found.certificate.certified
    assert not found.interrupted
    q = found.curve.motion(np.linspace(found.curve.start, found.curve.end, 3001)).q
    swing = np.ptp(q, axis=0)
    assert (swing > 0.5).all(), "a motion of use"
    near = closest(arms, q)
    assert 0.01 - 1e-9 <= near < 0.05, "they come close, and no closer than allowed"


def test_a_locked_limb_keeps_its_pairs(arms):
    """It is one body with the base then, and so no neighbour of what turns on the base but of the trunk itself."""
    one = load(arms.file, acceleration=12.0, only="right_0")
    assert one.joint_names == ("right_0", "right_1", "right_2")
    between = {frozenset(pair) for pair in arms.collision_pairs if pair[0].split("_")[0] != pair[1].split("_")[0]}
    assert len(between) == 9
    assert between <= {frozenset(pair) for pair in one.collision_pairs}


def test_a_joint_that_friction_holds_is_refused(arms):
    held = replace(arms.with_limits(torque={"left_1": 2.0}), friction={"coulomb": np.full(6, 2.0)})
    with pytest.raises(ExciterError, match="'left_1' cannot move: a dry friction of 2 N·m takes all of the 2 N·m"):
        design(DynamicModel(held), Fourier(6.0, 3), constraints=(TorqueLimits.of(held),), starts=1)


def test_a_broken_motion_is_restored_nearby(arms):
    family = Fourier(6.0, 3, at_rest=True)
    model = DynamicModel(arms)
    objective = DesignObjective(model, DOptimality(), model.base.independent, np.ones(6))
    search = Search(family, objective, (CapsuleDistance(arms),), 300, 0)
    centre, begun = search._begun(0, NEVER)
    problem = search._problem(search.criterion)
    found = sqp.minimise(problem, begun, replace(search.settings, iterations=15)).y
    stricter = replace(problem.nonlinear, margins=problem.nonlinear.margins + 0.15)  # 15 mm more
    assert stricter.values(found).min() < -0.1
    restored = sqp.restored(replace(problem, nonlinear=stricter), found)
    assert restored is not None
    assert stricter.values(restored).min() >= 0.0
    assert problem.limits.room(restored) >= -1e-6
    smaller = search_module.shrunk(problem.limits, stricter, centre, found)
    assert problem.criterion(restored)[0] < problem.criterion(smaller)[0]


@pytest.mark.parametrize("name", [None, *COUPLED])
def test_rows_in_part_are_those_of_all(arms, name):
    robot = arms if name is None else with_capsules(COUPLED[name]())
    constraint, motion = CapsuleDistance(robot), states(robot, 40, seed=5)
    whole, part = constraint.linearised(motion), constraint.linearised_in_part(motion)
    near = whole.values < 4.9  # [0.1 m]
    assert near.any()
    assert_allclose(part.values[near], whole.values[near], atol=1e-12)
    assert (part.values <= whole.values + 1e-12).all()
    row, at = np.nonzero(near)
    order = np.random.default_rng(0).permutation(len(row))
    slopes = part.slopes_at(row[order], at[order])
    assert slopes[1] is None
    assert slopes[2] is None
    assert_allclose(slopes[0], whole.dq[row[order], :, at[order]], atol=1e-11)
    sizes = np.abs(whole.dq).sum(axis=1)
    assert (part.sensitivities[0][near] >= sizes[near] - 1e-9).all()
    if name is None:
        assert_allclose(part.sensitivities[0][near], sizes[near], atol=1e-11)


def test_bounds_of_the_kernel_are_those_of_its_twin(arms):
    constraint = CapsuleDistance(arms)
    spans = even_spans(fourier(arms.n, seed=2), 60)
    points = [(body.joint, point) for body in constraint.bodies for point in (body.start, body.end)]
    ends = [moving_point(arms, *point, spans) for point in points]
    x = np.array([position for position, _ in ends]).reshape(len(constraint.bodies), 2, 3, -1)
    slack = np.array([far for _, far in ends]).reshape(len(constraint.bodies), 2, -1)
    expected = segments_apart(x[constraint.pair_index], slack[constraint.pair_index])
    assert_allclose(constraint._apart(x, slack), expected, atol=1e-12)
    slack[0, 0, 3] = np.nan
    assert np.isnan(constraint._apart(x, slack)[(constraint.pair_index == 0).any(axis=1), 3]).all()
