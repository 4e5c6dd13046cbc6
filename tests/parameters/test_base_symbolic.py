"""Base parameters in closed form, against Pinocchio's regressor, and what is said about them in words."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import subspace_angles

from exciter.errors import ParameterError
from exciter.parameters import inertial
from exciter.parameters.base import BaseParameters, numeric_base, restricted
from exciter.parameters.base_symbolic import prismatic_links, symbolic_base, symbolic_static_base
from exciter.parameters.identifiability import identifiability
from exciter.parameters.parameter_names import INERTIA_SYMBOLS, split_name
from exciter.robot import embedded_robots as embedded
from exciter.robot.mdh import in_mdh_frames
from exciter.robot.robot import Robot
from exciter.robot.spatial import axis_rotation
from support.base_robots import (
    COUNTS,
    GAUTIER_KHALIL,
    GAUTIER_KHALIL_EXPRESSIONS,
    PANDA,
    PUMA,
    UR10E,
    mdh_robot,
    regressor_rows,
    same_space,
)

GRAVITIES = [(0.0, 0.0, -9.81), (9.81, 0.0, 0.0), (0.0, 9.81, 0.0), (0.0, 0.0, 0.0), (2.0, -3.0, -8.0)]


@st.composite
def robots(draw: st.DrawFn) -> Robot:
    """Modified-DH robots full of special cases: 2–7 joints, trees, right angles, zero lengths, any gravity."""
    n = draw(st.integers(2, 7))
    angle = st.sampled_from([0.0, 0.0, 90.0, -90.0, 180.0, 33.0, -71.0])
    length = st.sampled_from([0.0, 0.0, 0.31, -0.17, 0.43])
    tree = draw(st.booleans())

    def column(values: st.SearchStrategy[float]) -> list[float]:
        return draw(st.lists(values, min_size=n, max_size=n))

    return mdh_robot(
        "random",
        column(angle),
        column(length),
        column(length),
        sigma=draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)),
        theta=column(angle),
        parents=[-1] + [draw(st.integers(-1, i - 1)) if tree else i - 1 for i in range(1, n)],
        gamma=column(angle) if tree else None,
        b=column(length) if tree else None,
        gravity=draw(st.sampled_from(GRAVITIES)),
    )


def assert_same(symbolic: BaseParameters, rows: np.ndarray, robot: Robot) -> None:
    """The closed form and the rows agree: rank, space (principal angles), columns, and reconstruction."""
    numeric = numeric_base(rows, symbolic.standard, prismatic=prismatic_links(robot))
    assert numeric.decision.is_clear
    assert len(symbolic) == len(numeric)
    if not len(numeric):
        return
    unit = np.linalg.norm(rows, axis=0)
    unit[unit < 1e-9 * unit.max()] = 1.0
    angles = subspace_angles((symbolic.grouping / unit).T, (numeric.grouping / unit).T)
    assert angles.max() < 1e-6
    assert same_space(symbolic, numeric)
    assert symbolic.independent.tolist() == numeric.independent.tolist()
    error = rows - symbolic.project(rows) @ symbolic.grouping
    assert np.abs(error).max() < 1e-9 * np.abs(rows).max()


def test_published_groupings_of_gautier_and_khalil() -> None:
    base = symbolic_base(GAUTIER_KHALIL)
    assert base.expressions == GAUTIER_KHALIL_EXPRESSIONS


@pytest.mark.parametrize(("robot", "full", "gravity", "inertia"), COUNTS, ids=lambda x: getattr(x, "name", ""))
def test_counts(robot: Robot, full: int, gravity: int, inertia: int) -> None:
    base = symbolic_base(robot)
    static = symbolic_static_base(robot)
    only = restricted(base, [name for name in base.standard if split_name(name)[0] in INERTIA_SYMBOLS])
    assert (len(base), len(static), len(only)) == (full, gravity, inertia)
    assert base.decision.is_clear
    assert_same(base, regressor_rows(robot, 40), robot)
    assert_same(static, regressor_rows(robot, 40, at_rest=True), robot)


@pytest.mark.parametrize("name", embedded.names())
def test_embedded_robots(name: str) -> None:
    robot, _ = in_mdh_frames(embedded.robot(name))
    assert_same(symbolic_base(robot), regressor_rows(robot, 30), robot)


def test_published_names_of_swevers() -> None:
    """The base set of the KUKA IR 361 in the paper's Table I, in any order."""
    table = "ZZR1 MXR2 MY2 XXR2 XY2 XZR2 YZ2 ZZR2 MX3 MY3 XXR3 XY3 XZ3 YZ3 ZZ3"
    robot, _ = in_mdh_frames(embedded.robot("kuka-ir361"))
    assert set(symbolic_base(robot).names) == set(table.split())


@pytest.mark.parametrize("gravity", GRAVITIES[1:])
def test_mounted_otherwise(gravity: tuple[float, float, float]) -> None:
    for robot in (GAUTIER_KHALIL, PUMA, PANDA):
        tilted = robot.with_gravity(gravity)
        assert_same(symbolic_base(tilted), regressor_rows(tilted, 40), tilted)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(robots())
def test_closed_form_is_what_the_regressor_shows(robot: Robot) -> None:
    """With rotor inertias, offsets and friction, whose groupings the closed form derives as well."""
    terms = [f"{symbol}{j + 1}" for symbol in ("Ia", "off", "Fv") for j in range(robot.n)]
    rows = regressor_rows(robot, 25, rotor=True, offset=True, viscous=True)
    assert_same(symbolic_base(robot, terms), rows, robot)
    assert_same(symbolic_base(robot), rows[:, : 10 * robot.n], robot)


@settings(derandomize=True, deadline=None, max_examples=15)
@given(robots())
def test_closed_form_of_poses_at_rest(robot: Robot) -> None:
    terms = [f"off{j + 1}" for j in range(robot.n)]
    rows = regressor_rows(robot, 25, at_rest=True, offset=True)
    assert_same(symbolic_static_base(robot, terms), rows, robot)


@settings(derandomize=True, deadline=None, max_examples=15)
@given(robots())
def test_verdicts_are_what_the_rows_say(robot: Robot) -> None:
    """A parameter is identifiable alone when its unit row is a combination of regressor rows, and so on."""
    rows = regressor_rows(robot, 25)
    unit = np.linalg.norm(rows, axis=0)
    dead = unit < 1e-10 * max(unit.max(), 1e-300)
    unit[dead] = 1.0
    _, values, vt = np.linalg.svd(rows / unit, full_matrices=False)
    visible = vt[values > 1e-8 * max(values[0], 1e-300)]
    alone = np.abs(np.linalg.norm(visible, axis=0) - 1.0) < 1e-7
    for column, verdict in enumerate(identifiability(robot, symbolic_base(robot)).verdicts):
        expected = "unidentifiable" if dead[column] else "identifiable" if alone[column] else "combination"
        assert verdict.status == expected, verdict
        assert verdict.reason
        assert "samples" not in verdict.reason  # a reason of the robot's structure, always


def test_by_hand() -> None:
    """Robots whose energies fit on a line."""
    pendulum = mdh_robot("pendulum", [90], [0], [0])
    assert symbolic_base(pendulum).expressions == ("ZZ1", "MX1", "MY1")
    turntable = mdh_robot("turntable", [0], [0], [0])
    assert symbolic_base(turntable).expressions == ("ZZ1",)
    lift = mdh_robot("lift", [0], [0], [0], sigma=[1])
    assert symbolic_base(lift).expressions == ("M1",)
    assert symbolic_base(lift, ["Ia1"]).expressions == ("M1", "Ia1")  # the weight tells M from Ia
    # τ = (M + Ia) q̈ + M g + off: two numbers for three parameters
    assert symbolic_base(lift, ["Ia1", "off1"]).expressions == (
        "MR1 = M1 + 0.101937 off1",
        "IaR1 = Ia1 - 0.101937 off1",
    )
    sled = mdh_robot("sled", [90], [0], [0], sigma=[1])
    assert symbolic_base(sled, ["Ia1", "off1"]).expressions == ("MR1 = M1 + Ia1", "off1")
    gantry = mdh_robot("gantry", [0, 90, 90], [0] * 3, [0] * 3, sigma=[1] * 3, theta=[0, 90, 0])
    assert symbolic_base(gantry).expressions == ("M1", "M2", "M3")
    scara = mdh_robot("scara", [0, 0, 0], [0, 0.3, 0.2], [0, 0, 0], sigma=[0, 0, 1])
    assert symbolic_base(scara).expressions == (
        "ZZR1 = ZZ1 + 0.09 M2",
        "ZZR2 = ZZ2 + ZZ3 + 0.4 MX3",
        "MXR2 = MX2 + MX3",
        "MYR2 = MY2 + MY3",
        "M3",
    )


def test_two_arms_on_one_base_are_two_robots() -> None:
    arm = symbolic_base(UR10E)
    first, second = UR10E.joints, UR10E.joints
    shifted = [
        replace(j, name=f"{j.name}_b", parent=j.parent + 6 if j.parent >= 0 else -1, translation=j.translation + 0.1)
        if j.parent < 0
        else replace(j, name=f"{j.name}_b", parent=j.parent + 6)
        for j in second
    ]
    both = symbolic_base(replace(UR10E, joints=(*first, *shifted)))
    assert len(both) == 2 * len(arm)
    assert both.expressions[: len(arm)] == arm.expressions
    np.testing.assert_allclose(both.grouping[len(arm) :, 60:], arm.grouping, atol=1e-12)
    assert not both.grouping[len(arm) :, :60].any()


def test_the_place_of_the_base_does_not_matter() -> None:
    """Turned with gravity and moved far away: the same robot."""
    turn = axis_rotation(np.array([0.6, 0.0, 0.8]), 1.1)
    joints = list(PANDA.joints)
    joints[0] = replace(joints[0], rotation=turn @ joints[0].rotation, translation=np.array([100.0, 50.0, -9.0]))
    moved = replace(PANDA, joints=tuple(joints), gravity=turn @ PANDA.gravity)
    assert symbolic_base(moved).expressions == symbolic_base(PANDA).expressions


def test_locked_joints() -> None:
    locked = PANDA.lock({"joint_3": 0.0, "joint_7": 0.4})
    assert_same(symbolic_base(locked), regressor_rows(locked, 40), locked)


def test_rounded_right_angles_are_right_angles() -> None:
    """α = 1.5708, as descriptions print it, must not make up parameters."""
    square, straight = float(np.rad2deg(1.5708)), float(np.rad2deg(3.1416))
    d, r = (0, 0, 0.4318, 0.0203, 0, 0), (0, 0, 0.15005, 0.4318, 0, 0)
    rounded = mdh_robot("rounded", (straight, -square, 0, -square, square, -square), d, r)
    exact = mdh_robot("exact", (180, -90, 0, -90, 90, -90), d, r)
    base = symbolic_base(rounded)
    assert len(base) == 36
    assert base.expressions == symbolic_base(exact).expressions
    assert "right angle" in base.method
    # Taken at its word, joint 1 is not quite vertical, and two more parameters are there in principle.
    rows = regressor_rows(rounded, 30)
    assert len(symbolic_base(rounded, right_angle=1e-9)) == len(numeric_base(rows, base.standard)) == 38
    assert len(numeric_base(rows, base.standard, tolerance=1e-4)) == 36


def test_reasons_in_words() -> None:
    report = identifiability(GAUTIER_KHALIL, symbolic_base(GAUTIER_KHALIL, ["Ia1", "Ia2", "Ia3", "Fv1"]))
    about = {v.name: v for v in report.verdicts}
    assert about["M1"].reason == "joint 1 is vertical: the mass of link 1 never does work"
    assert about["XX1"].reason == "link 1 only turns about the vertical axis: only its inertia about that axis matters"
    assert (
        about["MZ3"].reason
        == "moving mass along the axis of joint 3 cannot be distinguished from moving mass on link 2"
    )
    assert about["M3"].enters == ("ZZR1", "XXR2", "XZR2", "ZZR2", "MXR2")
    assert about["YY2"].reason.startswith("joint 2 feels only XX2 - YY2")
    assert about["MZ2"].reason.startswith("joint 2 does not feel it; it acts like MY1, and link 1 only turns")
    assert about["Ia2"].status == "combination"
    assert about["Ia3"].status == about["Fv1"].status == "identifiable"
    slider = mdh_robot("slider", [0, 90], [0, 0], [0, 0], sigma=[1, 0])
    about = {v.name: v for v in identifiability(slider, symbolic_base(slider)).verdicts}
    assert about["ZZ1"].reason == "link 1 only slides and never turns: its inertia is never felt"
    assert about["MX1"].reason == "link 1 only slides and never turns: where its mass sits does not matter"
    assert about["M2"].reason == "a mass on the axis of joint 2 moves as if it belonged to link 1"
    assert (
        about["XX2"].reason == "link 2 only turns about the axis of joint 2: only its inertia about that axis matters"
    )


def test_reasons_at_rest_and_of_poor_samples() -> None:
    static = identifiability(PANDA, symbolic_static_base(PANDA), kinetic=False)
    assert static.verdict("ZZ3").reason == "at rest no inertia is felt, only weight"
    assert static.verdict("MX3").status == "combination"
    nowhere = PANDA.with_gravity((0, 0, 0))
    floating = identifiability(nowhere, symbolic_static_base(nowhere), kinetic=False)
    assert len(floating.base) == 0
    assert {v.reason for v in floating.verdicts} == {"there is no gravity: at rest nothing is felt"}
    rows = regressor_rows(PANDA, 40, at_rest=True)
    poor = identifiability(PANDA, numeric_base(rows, inertial.names(7)))
    assert poor.verdict("ZZ3").reason == "the given samples do not excite it, though the robot could"
    assert poor.verdict("ZZ1").status == "unidentifiable"
    with pytest.raises(ParameterError, match="unknown standard parameter 'M8'"):
        poor.verdict("M8")


def test_plain_data() -> None:
    terms = [f"{s}{j}" for s in ("Ia", "Fv", "Fs") for j in (1, 2, 3)]
    data = identifiability(GAUTIER_KHALIL, symbolic_base(GAUTIER_KHALIL, terms)).to_dict()
    assert json.loads(json.dumps(data)) == data
    counts = {key: data[key] for key in ("robot", "joints", "standard", "inertial_base", "base")}
    assert counts == {"robot": "gautier-khalil", "joints": 3, "standard": 39, "inertial_base": 15, "base": 22}
    assert data["parameters"][1] == {"name": "XXR2", "expression": "XXR2 = XX2 - YY2 - 0.25 M3"}
    assert len(data["parameters"]) == 22
    assert {item["name"] for item in data["unidentifiable"]} == {
        "M1", "MX1", "MY1", "MZ1", "XX1", "XY1", "YY1", "XZ1", "YZ1", "M2", "MZ2",
    }  # fmt: skip


def test_terms_the_closed_form_cannot_judge_are_refused() -> None:
    with pytest.raises(ParameterError, match="does not know the joint term 'Ks1'"):
        symbolic_base(GAUTIER_KHALIL, ["Ks1"])
    with pytest.raises(ParameterError, match="does not know the joint term 'Ia4'"):
        symbolic_base(GAUTIER_KHALIL, ["Ia4"])
    with pytest.raises(ParameterError, match="has no effect at rest"):
        symbolic_static_base(GAUTIER_KHALIL, ["Fv1"])
    with pytest.raises(ParameterError, match="has 3 links"):
        identifiability(GAUTIER_KHALIL, symbolic_base(PANDA))
