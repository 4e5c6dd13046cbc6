"""A robot that stands: feet stay, forces carry it, torques are right beside them, rows tell what logs tell; and what is
proved of a motion. Oracles: Pinocchio with forces on the feet, differences, the projection of logs."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pinocchio as pin
import pytest

import exciter as ex
from exciter.dynamics.contacts import GroundContact, taken_off, unknown_forces
from exciter.dynamics.dynamics import Dynamics
from exciter.errors import ExciterError, MotionError, RobotError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.constraints.constraint_settings import ConstraintSettings
from exciter.excitation.constraints.not_checked import unchecked
from exciter.excitation.constraints.stance_forces import StanceForces
from exciter.excitation.criteria.observation_rows import DesignColumns, TorqueRows
from exciter.excitation.files.row_files import commanded, csv_text, parse_csv, parse_ros2, ros2_json, sample
from exciter.excitation.trajectories.curve import Curve
from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece
from exciter.experiment.virtual.standing_run import StandingSettings, stand_through
from exciter.experiment.virtual.true_parameters import TrueFriction, Truth
from exciter.parameters.terms import Tanh
from exciter.pipeline.settings_file import loaded_for_logs
from exciter.robot import Motion, Robot
from exciter.robot.load import RobotOptions
from exciter.robot.pinocchio_model import to_pinocchio
from exciter.robot.stance import footings, touching
from exciter.settings.fill import fill
from support.certificates import even_spans, fourier, inside
from support.standing import FEET, QUADRUPED, quadruped

BENT = {
    f"{leg}_{joint}": sign * angle
    for leg, sign in (("LF", 1), ("LH", -1), ("RF", 1), ("RH", -1))
    for joint, angle in (("swing", 0.6), ("knee", -1.2))
}
RADIUS = 0.02
TERMS = (ex.Viscous(), ex.Coulomb(Tanh(0.2)), ex.RotorInertia())
SIZES = np.array([0.02, 0.02, 0.015, 0.1, 0.08, 0.1])  # [m, rad]


@cache
def stood(radius: float = RADIUS) -> Robot:
    free = replace(
        quadruped(),
        friction={"viscous": np.r_[np.zeros(6), np.full(12, 0.05)], "coulomb": np.r_[np.zeros(6), np.full(12, 0.1)]},
    )
    return free.stand(*FEET, friction=0.7, radius=radius, posture=BENT)


def wriggle(robot: Robot, seed: int = 0, share: float = 0.4) -> Curve:
    (piece,) = fourier(robot.n, seed, size=1.0).pieces
    scale = share * SIZES[:, None]
    return Curve((replace(piece, a=scale * piece.a, b=scale * piece.b, offset=robot.coupling.home),))


def differences(function, motion: Motion, ways: list, step: float = 1e-6):
    given = motion.q, motion.qd, motion.qdd
    ends = [
        function(Motion(motion.time, *(x + s * step * d for x, d in zip(given, ways, strict=True)))) for s in (1, -1)
    ]
    return (ends[0] - ends[1]) / (2.0 * step)


def ways_of(motion: Motion, seed: int = 2) -> list:
    return [np.random.default_rng(seed + k).standard_normal(motion.q.shape) for k in range(3)]


def test_the_base_leads_and_feet_stay():
    robot = stood()
    assert robot.joint_names == ("base_x", "base_y", "base_z", "base_yaw", "base_pitch", "base_roll")
    assert [body.actuated for body in robot.bodies] == [False] * 6 + [True] * 12
    tree = robot.coupling.motion(wriggle(robot).motion(np.linspace(0, 5, 30))).tree
    model = to_pinocchio(robot.tree)
    data = model.createData()
    for q in tree.q:
        pin.framesForwardKinematics(model, data, q)
        places = [data.oMf[model.getFrameId(foot)].translation for foot in FEET]
        np.testing.assert_allclose(places, touching(robot) + np.array([0, 0, RADIUS]), atol=1e-9)
    assert touching(robot)[:, 2] == pytest.approx(0.0, abs=1e-12)
    assert robot.ground == pytest.approx(0.0, abs=1e-12)


def test_the_frame_that_stands_for_the_tool_moves():
    robot = stood()
    assert robot.frame(robot.tool_frame).joint == robot.base_link
    assert quadruped().frame(quadruped().tool_frame).joint != quadruped().base_link


def test_legs_close_from_the_motion_before_as_from_the_reference():
    robot, instants = stood(), np.linspace(0, 5, 70)
    chained = replace(robot.coupling)
    for share in (0.4, 0.38, 0.0, 0.6):  # a little, and much of another motion
        u = wriggle(robot, share=share).motion(instants).q
        np.testing.assert_allclose(chained.positions(u), replace(chained).positions(u), atol=1e-9)
        q, closed = chained._from_last(u, chained.positions(u), u + 0.01)
        assert closed.all()
        np.testing.assert_allclose(q, replace(chained).positions(u + 0.01), atol=1e-9)


def test_forces_and_torques_are_pinocchios():
    """Recursive Newton–Euler with the forces on the feet: nothing is left for the base, the torques for the legs."""
    robot = stood()
    forces = StanceForces.of(robot)
    motion = wriggle(robot).motion(np.linspace(0, 5, 12))
    found, tree = forces.carried(motion), robot.coupling.motion(motion).tree
    model = to_pinocchio(robot.tree)
    data, points = model.createData(), touching(robot)
    friction = forces.model.torque(tree) - Dynamics(robot.tree).inverse_dynamics(tree)
    for k in range(len(motion)):
        pin.forwardKinematics(model, data, tree.q[k])
        outside = pin.StdVec_Force()
        outside.extend(pin.Force.Zero() for _ in range(model.njoints))
        for i, foot in enumerate(footings(robot)):
            at = data.oMi[foot.a.joint + 1]
            force = found.forces[3 * i : 3 * i + 3, k]
            outside[foot.a.joint + 1] = at.actInv(pin.Force(force, np.cross(points[i], force)))
        torque = pin.rnea(model, data, tree.q[k], tree.qd[k], tree.qdd[k], outside)
        np.testing.assert_allclose(torque[:6], 0.0, atol=1e-9)
        np.testing.assert_allclose(torque[6:] + friction[k, 6:], found.torque[6:, k], atol=1e-9)
    weight = robot.inertias[:, 0].sum() * 9.81
    assert forces.carried(Motion.at(robot.coupling.home)).forces[2::3].sum() == pytest.approx(weight)


def test_rows_of_forces_slope_and_stay_above_their_bounds():
    robot = stood().with_limits(torque=dict.fromkeys(stood().tree_names[6:], 8.0))
    forces, motion = StanceForces.of(robot), wriggle(robot).motion(np.linspace(0.1, 4.9, 6))
    forces = replace(forces, model=ex.DynamicModel(robot.tree, TERMS))
    ways = ways_of(motion)
    exact = sum(np.einsum("KnN,Nn->KN", x, d) for x, d in zip(forces.linearised(motion).slopes, ways, strict=True))
    np.testing.assert_allclose(exact, differences(forces.values, motion, ways), rtol=1e-6, atol=1e-6)
    curve = wriggle(robot, seed=1)
    spans = even_spans(curve, 400)
    bound, lowest = forces.lower_bounds(spans), forces.values(inside(spans, curve, 4)[1])
    assert (bound <= lowest.reshape(len(bound), 400, -1).min(axis=2) + 1e-9).all()
    fine = even_spans(curve, 2000)
    assert (forces.values(fine.left) - forces.lower_bounds(fine)).max() < 0.1  # bounds close in


def test_information_is_that_of_logs_with_forces_unknown():
    """Of point feet: Σ (ΠW)ᵀ S⁻² ΠW, where the equations of the base have next to no error, of the free robot."""
    robot, sigma = stood(0.0), 0.3
    model, free = ex.DynamicModel(robot, TERMS), ex.DynamicModel(robot.tree, TERMS)
    assert model.standard == free.standard
    motion, columns = wriggle(robot).motion(np.linspace(0, 5, 8)), np.arange(0, len(model.standard), 3)
    gram = TorqueRows().rows(model, motion, DesignColumns.of(model, columns), np.full(6, sigma**-2.0)).gram()
    tree, noise = robot.coupling.motion(motion).tree, np.r_[np.full(6, 1e-6), np.full(12, sigma)]
    contacts = tuple(GroundContact(foot) for foot in FEET)
    pushed = unknown_forces(free.dynamics, contacts, tree.q, np.zeros(tree.q.shape, dtype=bool))
    left = taken_off(free.regressor(tree)[:, :, columns], pushed, noise)[0] / noise[:, None]
    rows = left.reshape(-1, len(columns))
    np.testing.assert_allclose(gram, rows.T @ rows, rtol=1e-5, atol=1e-5 * np.abs(gram).max())


@pytest.mark.parametrize("kind", ["gram", "rows"])
def test_gradients_of_rows_with_drives_on_followers(kind):
    robot = stood()
    model = ex.DynamicModel(robot, TERMS)
    columns, motion = (
        DesignColumns.of(model, np.arange(100, len(model.standard))),
        wriggle(robot).motion(np.linspace(0, 5, 5)),
    )

    def rows(at: Motion):
        return TorqueRows().rows(model, at, columns, np.full(6, 2.0))

    shape = (len(columns), len(columns)) if kind == "gram" else rows(motion).w.shape
    seed = np.random.default_rng(7).standard_normal(shape)
    gradient = rows(motion).pullback(seed) if kind == "gram" else rows(motion).rows_pullback(seed)
    ways = ways_of(motion)
    exact = sum((x * d).sum() for x, d in zip((gradient.q, gradient.qd, gradient.qdd), ways, strict=True))
    value = differences(
        lambda at: float(((rows(at).gram() if kind == "gram" else rows(at).w) * seed).sum()), motion, ways
    )
    assert exact == pytest.approx(value, rel=1e-6)
    w = rows(motion).w
    np.testing.assert_allclose(w.T @ w, rows(motion).gram(), rtol=1e-9, atol=1e-9)


def test_friction_of_legs_takes_the_power_that_it_takes():
    robot = stood()
    model = ex.DynamicModel(robot, TERMS)
    motion = wriggle(robot).motion(np.linspace(0, 5, 20))
    tree, chi = robot.coupling.motion(motion).tree, model.nominal.copy()
    assert chi[[model.standard.index("Fv7"), model.standard.index("Fs18")]].tolist() == [0.05, 0.1]
    chi[: model.inertial_size] = 0.0
    lost = (0.05 * tree.qd[:, 6:] ** 2 + 0.1 * tree.qd[:, 6:] * np.tanh(tree.qd[:, 6:] / 0.2)).sum(axis=1)
    np.testing.assert_allclose((model.torque(motion, chi) * motion.qd).sum(axis=1), lost, atol=1e-12)


def from_rest(robot: Robot, joint: str, way: float, seconds: float) -> Curve:
    q = np.tile(robot.coupling.home, (2, 1))
    q[1, robot.index(joint)] += way
    return Curve((PolynomialPiece.from_samples([0.0, seconds], q, 0 * q, 0 * q),))


def test_what_is_proved_of_a_motion_and_what_is_not_checked():
    robot = stood()
    limits = ConstraintSettings(self_collision=False).constraints(robot)
    calm = certify(robot, from_rest(robot, "base_x", 0.03, 1.0), limits)
    assert calm.certified
    kept = {(one.what, one.where) for one in calm.limits if one.status == "holds"}
    assert {("normal force", "LF_foot"), ("force left in the friction cone", "RH_foot"), ("torque", "LF_knee")} <= kept
    assert {("velocity", "LF_knee"), ("closure", "loops"), ("acceleration", "base_x")} <= kept
    said = " ".join(note.text for note in unchecked(robot, limits, calm))
    for words in ("level and rigid, with a friction of 0.7", "forces between the feet", "rolling of round feet"):
        assert words in said
    hasty = certify(robot.with_limits(acceleration=100.0), from_rest(robot, "base_y", 0.06, 0.2), limits)
    broken = {one.what for one in hasty.limits if one.status == "broken"}
    assert "force left in the friction cone" in broken
    alone = " ".join(note.text for note in unchecked(robot, (), calm))
    assert "forces of the ground, and torques beside them: not among the constraints" in alone


def test_a_calm_motion_is_stood_through_in_mujoco(tmp_path):
    robot = stood()
    truth = Truth(robot.tree.with_inertias(1.05 * robot.inertias), friction=TrueFriction(0.03, 0.05))
    curve = from_rest(robot, "base_x", 0.02, 0.8)
    run = stand_through(robot, curve, truth, StandingSettings(stiffness=60.0, damping=1.0), rate=100.0)
    assert run.stayed
    assert run.lift.min() > 0.5 * StanceForces.of(robot).share
    assert run.stood.motion.q[-1, 0] == pytest.approx(0.02, abs=5e-3)
    assert run.truth.friction.array("coulomb")[:6].tolist() == [0.0] * 6  # nothing rubs where there is no drive
    log, *_ = run.save(tmp_path / "log.csv")
    assert ex.read(log.with_suffix(".yaml")).about.contacts.frames == FEET
    with pytest.raises(ExciterError, match="does not stand"):
        stand_through(quadruped(), curve, truth)


@pytest.mark.parametrize("gains", [(0.0, 0.0), (3e4, 3e2)], ids=["down", "kicked up"])
def test_a_robot_that_fell_has_no_log(gains):
    robot = stood()
    heavy = Truth(robot.tree.with_inertias(1.3 * robot.inertias))
    with pytest.raises(MotionError, match=r"fell; ask for less, or control it more stiffly .*stiffness"):
        stand_through(robot, from_rest(robot, "base_x", 0.02, 0.8), heavy, StandingSettings(*gains), rate=100.0)


def test_a_heavy_robot_is_held_by_gains_of_its_weight():
    """Forty times as heavy: five newton metres per radian, which hold the light one, let it fall."""
    light = stood()
    heavy = light.with_inertias(40.0 * light.inertias)
    curve, truth = from_rest(heavy, "base_x", 0.02, 0.8), Truth(heavy.tree.with_inertias(1.1 * heavy.inertias))
    run = stand_through(heavy, curve, truth, rate=100.0)
    assert run.stayed
    assert run.lift.min() > 0.4 * StanceForces.of(heavy).share
    weight = 40.0 * light.inertias[:, 0].sum() * 9.81
    height = heavy.coupling.home[2] - heavy.ground
    assert StandingSettings().gains(heavy) == pytest.approx(weight / 4 * height / 0.35 * np.array([1.0, 0.02]))
    assert StandingSettings(stiffness=7.0).gains(heavy) == (7.0, 0.02 * 7.0)
    with pytest.raises(MotionError, match="fell"):
        stand_through(heavy, curve, truth, StandingSettings(5.0, 0.1), rate=100.0)


def test_forces_of_the_ground_in_mujoco_are_the_planned_ones():
    """Of the robot as described, joint friction included; round feet roll, which moves where they touch a little."""
    robot = replace(stood(), friction={"viscous": np.r_[np.zeros(6), np.full(12, 0.05)]})
    truth = Truth(robot.tree, friction=TrueFriction(viscous=0.05))
    curve = from_rest(robot, "base_pitch", 0.25, 0.5)
    run = stand_through(robot, curve, truth, rate=100.0)
    assert run.stayed
    wanted = curve.motion(np.minimum(run.stood.motion.time, curve.end))
    forces = StanceForces.of(robot)
    np.testing.assert_allclose(run.stood.forces.T, forces.carried(wanted).forces, atol=0.1 * forces.share)
    assert run.slip.max() < 5e-4
    centre = Dynamics(run.stood.robot).placement(FEET[0], run.stood.motion.q)[1]
    assert np.ptp(centre[:, 0]) > 2.0 * run.slip[0]  # rolling is no slip


def test_a_repeated_motion_goes_there_and_back():
    """So that round feet roll back; a motion that does not end where it began can be repeated no other way."""
    robot = stood()
    curve, truth = from_rest(robot, "base_pitch", 0.2, 0.5), Truth(robot.tree)
    run = stand_through(robot, curve, truth, rate=100.0, periods=2)
    asked = run.stood.motion.q[:, robot.tree.index("base_pitch")]
    assert run.recording.about.period == pytest.approx(2.0 * curve.duration)
    assert asked[round(100.0 * curve.duration)] == pytest.approx(0.2, abs=0.02)
    np.testing.assert_allclose(run.stood.motion.q[-1], run.stood.motion.q[0], atol=0.05)
    with pytest.raises(MotionError, match="cannot be run 2 times"):
        stand_through(robot, curve, truth, StandingSettings(back=False), rate=100.0, periods=2)


def test_files_have_the_legs_and_refuse_others():
    robot = stood()
    samples = sample(from_rest(robot, "base_z", -0.02, 1.0), 50.0)
    text = csv_text(*commanded(samples, robot))
    assert "LF_knee.q" in text.splitlines()[0]
    np.testing.assert_array_equal(parse_csv(text, robot, "it").q, samples.q)
    data = json.loads(ros2_json(*commanded(samples, robot)))
    np.testing.assert_array_equal(parse_ros2(data, robot, "it").q, samples.q)
    free = sample(from_rest(robot, "base_z", -0.02, 1.0), 50.0)
    other, names = commanded(free, robot)
    bent = np.array(other.q)
    bent[:, 8] += 0.01
    with pytest.raises(MotionError, match=r"'LF_knee' up to 0\.01 rad"):
        parse_csv(csv_text(replace(other, q=bent), names), robot, "it")


@pytest.mark.parametrize(
    ("feet", "more", "problem"),
    [
        (FEET[:2], {}, "cannot stand on LF_foot, RF_foot: it would tip over; name 3 feet at least"),
        ((*FEET[:3], "paw"), {}, "a foot is at no frame: .*'paw'"),
        ((*FEET[:3], "trunk"), {}, "is on the base itself"),
        ((*FEET[:3], FEET[0]), {}, "names a frame twice"),
        (FEET, {"posture": {"LF_knee": 9.0}}, "its limits are -2.6 … 2.6"),
        (FEET, {"posture": {}}, "cannot move along base_z, .*: its legs are stretched"),
    ],
)
def test_what_cannot_stand_is_told_in_a_line(feet, more, problem):
    with pytest.raises(RobotError, match=problem) as told:
        quadruped().stand(*feet, **{"posture": BENT, **more})
    assert "\n" not in str(told.value)


def test_settings_say_it_as_well():
    options = fill(
        RobotOptions, {"stance": {"feet": [*FEET], "friction": 0.5}, "posture": BENT, "limits": {"torque": 9.0}}, "it"
    )
    robot = ex.load(QUADRUPED, options)  # a robot that is to stand has a free base
    assert [foot.friction for foot in footings(robot)] == [0.5] * 4
    assert robot.bodies[6].limits.torque == 9.0
    assert np.isinf(robot.joints[0].limits.torque)
    with pytest.raises(RobotError, match="has no free base"):
        ex.load(QUADRUPED).stand(*FEET)


def test_logs_are_of_the_free_robot_that_stands():
    """What is planned for a robot on its feet is not what a log of it says: all joints, and what touches."""
    options = fill(
        RobotOptions, {"stance": {"feet": [*FEET]}, "posture": BENT, "limits": {"torque": 9.0}, "lock": {}}, "it"
    )
    free, known = loaded_for_logs(QUADRUPED, options)
    assert free.coupling is None
    assert free.joint_names == ex.load(QUADRUPED, base="free").joint_names
    assert free.joints[6].limits.torque == 9.0
    assert np.isinf(free.joints[0].limits.torque)
    again = ex.load(QUADRUPED, known)  # as an identified model is opened again
    assert (again.coupling, again.joint_names) == (None, free.joint_names)
    np.testing.assert_array_equal(again.limit("torque"), free.limit("torque"))
    assert loaded_for_logs(ex.load(QUADRUPED, options), RobotOptions())[0].joint_names == free.joint_names
    assert loaded_for_logs(stood(), RobotOptions())[0].joint_names == free.joint_names
    assert loaded_for_logs(free, options)[0].coupling is None
