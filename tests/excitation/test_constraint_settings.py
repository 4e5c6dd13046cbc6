"""Defaults, rows and shapes of constraints: what is measured where little is said, in closed form."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path

import coal
import numpy as np
import pytest

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, MotionError, ParameterError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.constraints.collision import Block, CapsuleDistance, Round, Wall
from exciter.excitation.constraints.constraint import ROW_LENGTH_M, AnyOf, UserConstraint, kinematics
from exciter.excitation.constraints.constraint_settings import OBSTACLES, REGIONS, ConstraintSettings
from exciter.excitation.constraints.mesh import MeshDistance
from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits, torque_jacobians
from exciter.excitation.constraints.workspace import (
    Box,
    HalfSpace,
    InsideCylinder,
    InsideSphere,
    OutsideCylinder,
    OutsideSphere,
)
from exciter.robot import Motion
from exciter.robot import embedded_robots as embedded
from exciter.robot.geometry import Capsule, Shape
from exciter.settings import fill, written
from exciter.settings.fill import json_schema
from support.certificates import even_spans, resting
from support.robots import random_robot, states
from support.settings_suite import check_described

POINTS = np.random.default_rng(3).uniform(-2.0, 2.0, (3, 50))
ROBOT = random_robot(4, 2, prismatic=0.0).with_limits(torque=9.0)
STILL = Motion.at(np.zeros((1, 2)))


def test_regions_are_about_the_base_unless_said_otherwise() -> None:
    x, y, _ = POINTS
    from_origin, from_vertical = np.linalg.norm(POINTS, axis=0), np.hypot(x, y)
    for region, expected in (
        (InsideSphere(ROBOT, "j2", 1.5), 1.5 - from_origin),
        (OutsideSphere(ROBOT, "j2", 1.5), from_origin - 1.5),
        (InsideCylinder(ROBOT, "j2", 1.5), 1.5 - from_vertical),
        (OutsideCylinder(ROBOT, "j2", 1.5), from_vertical - 1.5),
        (Box(ROBOT, "j2", lower=[-1.0, -np.inf, -np.inf]), x + 1.0),
        (Box(ROBOT, "j2", upper=[np.inf, 0.5, np.inf]), 0.5 - y),
    ):
        np.testing.assert_allclose(region.distance(POINTS), expected[None], atol=1e-12)
        step = 1e-6 * np.eye(3)[:, :, None]
        slope = [(region.distance(POINTS + h) - region.distance(POINTS - h)) / 2e-6 for h in step]
        gradient = np.broadcast_to(region.gradient(POINTS), (1, 3, 50))
        np.testing.assert_allclose(gradient, np.stack(slope, axis=1), atol=1e-6)
        away = region.points(states(ROBOT, 4))
        np.testing.assert_allclose(0.1 * region.values(states(ROBOT, 4)), region.distance(away))
    with pytest.raises(ParameterError, match="empty"):
        Box(ROBOT, "j2", [0.0, 0.0, 0.0], [1.0, 0.0, 1.0])
    for side in ("lower", "upper"):
        with pytest.raises(ParameterError, match="is nan; give a number"):  # a side that is no number is not left out
            Box(ROBOT, "j2", **{"lower": [-1.0] * 3, side: [np.nan, 1.0, 1.0]})
    on_its_axis = np.array([[1.0], [2.0], [3.0]])
    for cylinder in (InsideCylinder, OutsideCylinder):
        way_out = cylinder(ROBOT, "j2", 0.4, axis=on_its_axis[:, 0]).gradient(on_its_axis)[0, :, 0]
        assert np.linalg.norm(way_out) == pytest.approx(1.0)
        assert way_out @ on_its_axis[:, 0] == pytest.approx(0.0, abs=1e-12)
    for half, said in ((0.0, "lower must be below"), (np.nan, "upper is nan; give a number")):
        with pytest.raises(ParameterError, match=said):
            OutsideCylinder(ROBOT, "j2", 1.0, lower=0.0, upper=half)
    for region in (HalfSpace, InsideSphere, InsideCylinder, OutsideCylinder, Box):
        with pytest.raises(Exception, match="unknown frame 'nowhere'"):
            region(ROBOT, "nowhere", *{HalfSpace: ((0, 0, 1.0), 0.0), Box: ((0, 0, 0.0),)}.get(region, (1.0,)))


def test_rows_of_a_cylinder_say_what_is_measured() -> None:
    """From the axis where it has no ends, else from its surface."""
    for ends, what, limit in (
        ({}, "distance from an axis", 0.4),
        ({"upper": 1.0}, "distance from a cylinder", 0.0),
        ({"lower": -1.0}, "distance from a cylinder", 0.0),
        ({"lower": -1.0, "upper": 1.0}, "distance from a cylinder", 0.0),
    ):
        [row] = OutsideCylinder(ROBOT, "j2", 0.4, **ends).rows  # type: ignore[arg-type]
        assert (row.what, row.limit, row.scale, row.upper) == (what, limit, 0.1, False)
    for normal, upper, limit in (((0, 2.0, 0), False, 0.3), ((0, -2.0, 0), True, -0.3)):
        [row] = HalfSpace(ROBOT, "j2", np.array(normal), 0.6).rows
        assert (row.what, row.upper, row.limit) == ("y", upper, limit)
    [row] = HalfSpace(ROBOT, "j2", np.array([3.0, 0, 4.0]), 0.5).rows
    assert (row.upper, row.limit, row.scale) == (False, 0.1, 0.1)


def test_alternatives_have_the_unit_of_their_parts_where_that_is_one() -> None:
    low, far, torque = HalfSpace(ROBOT, "j2", (0, 0, 1.0), 0.3), OutsideSphere(ROBOT, "j2", 1.5), TorqueLimits.of(ROBOT)
    [alike] = AnyOf([low, far]).rows  # type: ignore[arg-type]
    assert (alike.unit, alike.scale, alike.limit, alike.upper, alike.assumed) == (
        "m",
        ROW_LENGTH_M,
        0.0,
        False,
        False,
    )
    [mixed] = AnyOf((low, torque)).rows
    assert (mixed.unit, mixed.scale, mixed.assumed) == ("1", 1.0, True)
    assert isinstance(AnyOf([low, far]).constraints, tuple)  # type: ignore[arg-type]
    motion = states(ROBOT, 30)
    parts = torque.linearised(motion)
    for order in (("dqd", "dqdd"), ("dqdd", "dqd")):  # a part that depends on one of them only
        one = UserConstraint("one", lambda m: 0 * m.q.T[:1] + 9.0)
        rows = replace(one.linearised(motion), **{order[0]: None, "dq": parts.dq[:1]})
        fake = type("Fake", (), {"rows": one.rows, "linearised": lambda self, motion, rows=rows: rows})()
        found = AnyOf((fake, torque)).linearised(motion)
        assert found.dqd is not None
        assert found.dqdd is not None


def test_shapes_are_as_large_as_they_say() -> None:
    """A ball above and beside a sphere, a cylinder, a capsule and a box; and the clearance of capsules."""
    for shape, up, aside in (
        (("sphere", (0.2,)), 0.2, 0.2),
        (("cylinder", (0.2, 1.0)), 0.5, 0.2),
        (("capsule", (0.2, 1.0)), 0.7, 0.2),
        (("box", (0.4, 0.6, 1.0)), 0.5, 0.2),
    ):
        for place, reach in (((0, 0, 3.0), up), ((3.0, 0, 0), aside)):
            joint = replace(ROBOT.joints[0], rotation=np.eye(3), translation=np.zeros(3), axis=[0, 0, 1.0])
            balls = Shape("sphere", -1, (0.1,), np.eye(3), place), Shape(shape[0], 0, shape[1], np.eye(3), np.zeros(3))
            robot = replace(ROBOT, joints=(joint,), shapes=balls)
            found = MeshDistance(robot, [("base", "j1")], 0.05).values(Motion.at(np.zeros((1, 1))))
            assert 0.1 * found.item() == pytest.approx(3.0 - 0.1 - reach - 0.05, abs=1e-6)


def test_bodies_without_a_shape_that_collides_are_refused(tmp_path: Path) -> None:
    one, other = (Shape("sphere", joint, (0.1,), np.eye(3), np.zeros(3)) for joint in (0, 1))
    assert MeshDistance(replace(ROBOT, shapes=(one, other)), [("j1", "j2")]).rows
    base = replace(one, joint=-1)
    drawn = replace(one, role="visual"), replace(other, role="visual")
    for shapes in ((one,), (other,), (base, one), (base, other), (one, drawn[1]), (drawn[0], other)):
        with pytest.raises(ParameterError, match="has no collision shape"):
            MeshDistance(replace(ROBOT, shapes=shapes), [("j1", "j2")])
    with pytest.raises(ParameterError, match="no collision pairs"):
        MeshDistance(replace(ROBOT, shapes=(one, other)))
    (tmp_path / "broken.stl").write_text("no mesh")
    mesh = Shape("mesh", 1, (1.0, 1.0, 1.0), np.eye(3), np.zeros(3), mesh=str(tmp_path / "broken.stl"))
    with pytest.raises(ParameterError, match=r"broken\.stl' cannot be read"):
        MeshDistance(replace(ROBOT, shapes=(one, mesh)), [("j1", "j2")]).values(STILL)


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_a_distance_that_could_not_be_measured_proves_nothing(failing: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever of the pairs of shapes it is: one that is far away does not stand for it."""
    balls = [Shape("sphere", 1, (0.1,), np.eye(3), np.array([3.0 + k, 0, 0])) for k in range(3)]
    robot = replace(ROBOT, shapes=(Shape("sphere", -1, (0.1,), np.eye(3), np.array([-9.0, 0, 0])), *balls))
    constraint = MeshDistance(robot, [("base", "j2")])
    assert certify(robot, resting(2, 0.1), [constraint]).limits[-1].status == "holds"
    measure, calls = coal.distance, count()
    monkeypatch.setattr(coal, "distance", lambda *a: np.nan if next(calls) % 3 == failing else measure(*a))
    assert np.isnan(constraint.values(Motion.at(np.zeros((1, 2))))).all()
    assert certify(robot, resting(2, 0.1), [constraint]).limits[-1].status == "open"


def test_obstacles_count_against_what_they_name_in_their_order() -> None:
    capsules = tuple(Capsule(f"c{k}", k, np.zeros(3), np.array([0.1, 0, 0]), 0.01 * (k + 2)) for k in (-1, 0, 1))
    robot = replace(ROBOT, capsules=capsules)
    wall, ball = Wall("wall", np.array([0, 0, 2.0]), -4.0), Round.sphere("ball", np.array([5.0, 0, 0]), 0.3, ("c1",))
    found = CapsuleDistance(robot, [("c-1", "c1")], 0.02, [wall, ball])
    assert isinstance(found.obstacles, tuple)
    assert not any(row.assumed for row in found.rows)
    assert [row.where for row in found.rows] == ["c-1 – c1", "c1 – ball", "c0 – wall", "c1 – wall"]
    assert {(row.limit, row.scale, row.upper) for row in found.rows} == {(0.02, 0.1, False)}
    ends = found.ends(kinematics(robot, STILL))
    lowest = [ends[:, k, 2].min() + 2.0 - 0.01 * (k + 1) - 0.02 for k in (1, 2)]
    np.testing.assert_allclose(found.values(STILL)[2:, 0], np.array(lowest) / 0.1)
    np.testing.assert_allclose(found.linearised(STILL).values, found.values(STILL))
    with pytest.raises(ParameterError, match="clearance"):
        CapsuleDistance(robot, [("c-1", "c1")], np.inf)
    box = Block("box", np.array([0.0, 0, 0]), np.array([1.0, 2.0, 4.0]))
    for k, half in enumerate((0.5, 1.0, 2.0)):
        x = 3.0 * np.eye(3)[:, k : k + 1]
        assert box.touch(x, x)[0].item() == pytest.approx(3.0 - half)


def test_a_segment_through_the_middle_of_a_box_leaves_with_its_farther_end() -> None:
    """A rotation may be given as rows of numbers; columns are the sides of the box."""
    turned = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    box = Block("box", np.zeros(3), np.array([1.0, 9.0, 9.0]), turned)  # type: ignore[arg-type]
    near, far = np.array([[0.0], [0.3], [0.0]]), np.array([[0.0], [-0.1], [0.0]])
    for ends in ((near, far), (far, near)):
        distance, point, normal = box.touch(*ends)
        assert distance.item() == pytest.approx(-0.6)
        np.testing.assert_allclose(normal, [[0.0], [1.0], [0.0]])
        np.testing.assert_allclose(point, far)


def test_a_constraint_of_ones_own_has_rows_that_are_numbered() -> None:
    single = UserConstraint("mine", lambda m: m.q.T[:1])
    assert [(row.what, row.where) for row in single.rows] == [("mine", "")]
    several = UserConstraint("mine", lambda m: m.q.T, count=2)
    told = [(row.where, row.unit, row.limit, row.scale, row.upper) for row in several.rows]
    assert told == [("1", "1", 0.0, 1.0, False), ("2", "1", 0.0, 1.0, False)]
    spans = even_spans(resting(2), 3)
    assert (several.lower_bounds(spans) == -np.inf).all()
    unknown = UserConstraint("mine", lambda m: m.q.T[:1], bound=lambda s: np.full((1, len(s.start)), -np.inf))
    assert (unknown.lower_bounds(spans) == -np.inf).all()
    for wrong in (np.full((1, 3), np.nan), np.zeros((1, 2))):
        bad = UserConstraint("mine", lambda m: m.q.T[:1], bound=lambda s, wrong=wrong: wrong)  # type: ignore[misc]
        with pytest.raises(ParameterError, match="bound of UserConstraint"):
            bad.lower_bounds(spans)
    for given in ((), (1,), (1, 2, 3, 4)):
        with pytest.raises(ParameterError, match="give ∂c/∂q"):
            UserConstraint("mine", lambda m: m.q.T[:1], derivatives=lambda m, x=given: x).linearised(STILL)  # type: ignore[misc]
    cubic = UserConstraint("mine", lambda m: (m.q**3 + m.qd**2 + m.q * m.qdd).T, count=2)
    q, qd, qdd = np.random.default_rng(1).uniform(-3.0, 3.0, (3, 6, 2))
    q[0] = qd[0] = qdd[0] = 0.0
    rows = cubic.linearised(Motion.at(q, qd, qdd))
    for found, expected in ((rows.dq, 3 * q**2 + qdd), (rows.dqd, 2 * qd), (rows.dqdd, q)):
        assert found is not None
        np.testing.assert_allclose(found, np.einsum("Nj,jk->kjN", expected, np.eye(2)), atol=1e-7)


def test_derivatives_of_torque_are_the_same_from_both_engines() -> None:
    """Also where only some parameters of a term are zero; and of a motion of another robot there are none."""
    from exciter.parameters.terms import Viscous

    model = DynamicModel(ROBOT, (Viscous(),))
    motion = states(ROBOT, 7)
    chi = np.append(model.nominal[:20], [0.0, 2.0])
    tau, _, dqd, _ = torque_jacobians(model, motion, chi)
    np.testing.assert_allclose(tau, model.torque(motion, chi).T, atol=1e-9)
    step = 1e-6
    for joint in range(2):
        sides = [
            model.torque(Motion.at(motion.q, motion.qd + sign * step * np.eye(2)[joint], motion.qdd), chi)
            for sign in (1.0, -1.0)
        ]
        np.testing.assert_allclose(dqd[:, joint], (sides[0] - sides[1]).T / (2 * step), atol=1e-5)
    with pytest.raises(MotionError):
        torque_jacobians(model, Motion.at(np.zeros((2, 3))), chi)


# -- as sections of a file ---------------------------------------------------------------------------------------------

PANDA = embedded.robot("panda")
SECTIONS: list[dict[str, object]] = [
    {},
    {"torque": False, "self_collision": False, "ground": False},
    {"torque": True, "self_collision": True, "ground": -0.5},
    {"torque": {"margin": 0.1, "payload": {"frame": "flange", "mass": 2, "centre": [0, 0, 0.1]}}},
    {"self_collision": {"clearance": 0.02, "pairs": [["link_2", "link_7"]]}},
    {"ground": {"height": -0.3, "normal": [0, 0, 2], "clearance": 0.0}},
    {"ground": "None"},
    {"workspace": [{"frame": "flange", "z_min": -0.5, "x_max": "9e-1"}, {"frame": "flange", "y_max": 1}]},
    {"workspace": [{"frame": "flange", "box": {"lower": [None, -2, -1], "upper": [2, float("inf"), None]}}]},
    {"workspace": [{"frame": "flange", "half_space": {"normal": [0.1, 0.2, 0.3], "offset": -1}}]},
    {"workspace": [{"frame": "flange", "inside_sphere": {"radius": 2, "centre": [0, 0, 0.3]}}]},
    {"workspace": [{"frame": "flange", "outside_sphere": {"radius": 0.1}}]},
    {"workspace": [{"frame": "joint_5", "inside_cylinder": {"radius": 2, "point": [0.1, 0, 0], "axis": [0, 1, 1]}}]},
    {"workspace": [{"frame": "flange", "outside_cylinder": {"radius": 0.1, "lower": -1, "upper": 0.2}}]},
    {"workspace": [{"any_of": [{"frame": "flange", "z_min": 0}, {"frame": "flange", "inside_sphere": {"radius": 1}}]}]},
    {
        "obstacles": [
            {"name": "ball", "sphere": {"centre": [2, 0, 0.3], "radius": 0.1}, "against": ["link_7"]},
            {"capsule": {"start": [2, 0, 0], "end": [2, 0, 1], "radius": 0.05}},
            {"half_space": {"normal": [0, 0, 3], "offset": -3}},
            {"box": {"lower": [0.4, -3, -2], "upper": [0.8, -2, 0.3]}},
        ]
    },
]  # fmt: skip


def test_every_region_and_obstacle_of_a_file_says_what_its_settings_may_be() -> None:
    check_described(REGIONS)
    check_described(OBSTACLES)
    schema = json_schema(ConstraintSettings)
    assert set(schema["properties"]) == {"torque", "self_collision", "workspace", "obstacles", "ground"}
    assert {"name", "against", "sphere"} < set(schema["properties"]["obstacles"]["items"]["properties"])


@pytest.mark.parametrize("given", SECTIONS, ids=lambda given: ", ".join(given) or "nothing")
def test_a_written_section_asks_for_the_same_constraints(given: dict[str, object]) -> None:
    """To the last bit of every value; the file may be read before its robot is known, or after."""
    first = fill(ConstraintSettings, given, "constraints")
    again = fill(ConstraintSettings, written(first), "constraints")
    assert written(again) == written(first)
    known = fill(ConstraintSettings, given, "constraints", robot=PANDA)
    motion = states(PANDA, 5)
    for one, *others in zip(*(settings.constraints(PANDA) for settings in (first, again, known)), strict=True):
        for other in others:
            assert [vars(row) for row in one.rows] == [vars(row) for row in other.rows]
            np.testing.assert_array_equal(one.values(motion), other.values(motion))


def test_an_unknown_frame_is_told_with_its_place_whenever_the_robot_is_known() -> None:
    given = {"workspace": [{"frame": "flange", "z_min": 0.0}, {"frame": "nose", "z_min": 0.0}]}
    with pytest.raises(ExciterError, match=r"^x: workspace 2: unknown frame 'nose'; valid names: joint_1"):
        fill(ConstraintSettings, given, "x").constraints(PANDA, "x")
    with pytest.raises(ExciterError, match=r"^x: workspace 2: unknown frame 'nose'; valid names: joint_1"):
        fill(ConstraintSettings, given, "x", robot=PANDA)


def test_constraints_of_python_code_join_those_of_a_file() -> None:
    mine = InsideSphere(PANDA, "flange", 3.0)
    settings = ConstraintSettings(torque=False, self_collision=False, ground=False, further=(mine,))
    assert settings.constraints(PANDA) == (mine,)
    assert "further" not in written(settings)
    with pytest.raises(ExciterError, match="unknown key 'further'"):
        fill(ConstraintSettings, {"further": []}, "x")
