"""The dynamic model: names, frames, joint terms and base parameters put together."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from numpy.testing import assert_allclose

from exciter.dynamics.engine import NumbaEngine
from exciter.dynamics.model import DynamicModel, excited_base, inertia_base, numeric_model_base, static_base
from exciter.dynamics.reference import NumpyEngine
from exciter.errors import ExciterError, ParameterError
from exciter.parameters.terms import (
    Coulomb,
    CoupledSqrtViscous,
    DriveCoupling,
    GravitySpring,
    Offset,
    RotorInertia,
    SqrtViscous,
    UserTerm,
    Viscous,
)
from exciter.robot import Motion, load
from exciter.robot import embedded_robots as embedded
from exciter.robot.mdh import MDHRow, MDHTable
from exciter.robot.pinocchio_model import to_pinocchio
from exciter.robot.spatial import axis_rotation
from support.base_robots import same_space
from support.real_data import require_data
from support.robots import random_inertia, random_robot, smooth_motion, states

USUAL = (RotorInertia(), Viscous(), Coulomb(), Offset())


def model_of(robot, terms=USUAL):
    return DynamicModel(robot, terms, NumpyEngine())


@pytest.mark.parametrize("tree", [False, True])
def test_modified_dh_frames_change_nothing_outside(tree):
    """Torque of χ in modified-DH frames equals Pinocchio's in the robot's own frames, and the inertias come back."""
    robot = random_robot(7, 6, tree=tree)
    model = model_of(robot, ())
    motion = states(robot, 20)
    oracle = to_pinocchio(robot)
    data = oracle.createData()
    expected = [pin.rnea(oracle, data, *x) for x in zip(motion.q, motion.qd, motion.qdd, strict=True)]
    assert_allclose(model.torque(motion), expected, atol=1e-10 * np.abs(expected).max())
    assert_allclose(model.joint_frame_inertias(model.nominal), robot.inertias, atol=1e-12)


def test_regressor_times_parameters_is_the_torque():
    robot = load("puma560")
    model = model_of(robot)
    motion = states(robot, 30)
    chi = model.nominal + np.random.default_rng(0).standard_normal(len(model.standard))
    assert_allclose(model.regressor(motion) @ chi, model.torque(motion, chi), atol=1e-9)
    assert len(model.units) == len(model.standard) == 6 * 14
    friction = {
        name: model.nominal[k] for k, name in enumerate(model.standard) if name in ("Ia2", "Fv2", "Fs2", "off2")
    }
    assert friction == {"Ia2": 4.75, "Fv2": 9.5, "Fs2": 13.6, "off2": 0.0}


def test_lagrange_rows_with_joint_terms_give_the_regressor():
    """Γ = (d/dt B1 + B2) χ for every column: rotor inertia in B1, springs and friction in B2."""
    robot = load("tx40")
    coupled = DriveCoupling("joint_5", "joint_6")
    model = model_of(robot, (RotorInertia(), Viscous(), Offset(), GravitySpring("joint_2"), coupled))
    h, t = 1e-3, np.linspace(0.0, 3.0, 20)

    def b1(time):
        return model.momentum_rows(smooth_motion(robot, time))[0]

    rate = (8 * (b1(t + h) - b1(t - h)) - (b1(t + 2 * h) - b1(t - 2 * h))) / (12 * h)
    motion = smooth_motion(robot, t)
    phi = model.regressor(motion)
    assert_allclose(rate + model.momentum_rows(motion)[1], phi, atol=1e-8 * np.abs(phi).max())


def test_energy_rows_say_which_columns_store_energy():
    robot = load("gautier-khalil")
    model = model_of(robot)
    h = model.energy(states(robot, 4))
    stored = {name for name, column in zip(model.standard, h.T, strict=True) if np.isfinite(column).all()}
    assert set(model.standard) - stored == {f"{symbol}{j}" for symbol in ("Fv", "Fs") for j in (1, 2, 3)}


# What the recorded sets' baselines count: rotor inertia, viscous, Coulomb and offset per joint.
@pytest.mark.parametrize(
    ("robot", "extra", "count"),
    [
        ("panda", (), 69),
        ("lwr4", (), 69),
        ("tx40", (DriveCoupling("joint_5", "joint_6"),), 61),
        ("tx40", (DriveCoupling("joint_5", "joint_6"), CoupledSqrtViscous("joint_5", "joint_6")), 61 + 1),
        ("tx40", (SqrtViscous(), CoupledSqrtViscous("joint_5", "joint_6")), 58 + 6 + 1),
    ],
)
def test_base_counts_with_joint_terms(robot, extra, count):
    model = model_of(load(robot), (*USUAL, *extra))
    assert len(model.base) == count
    assert same_space(model.base, numeric_model_base(model, seed=1))


def test_base_count_of_a_recorded_robot():
    assert len(model_of(load(require_data("kr300") / "kr300.urdf")).base) == 58


@pytest.mark.parametrize("name", embedded.names())
def test_closed_form_and_numeric_agree(name):
    for gravity in ((0.0, 0.0, -9.81), (3.0, -4.0, 7.0), (0.0, 9.81, 0.0)):
        model = model_of(load(name).with_gravity(gravity))
        numeric = numeric_model_base(model)
        assert numeric.decision.is_clear
        assert same_space(model.base, numeric)
        assert len(static_base(model_of(load(name).with_gravity(gravity), ()))) == len(
            numeric_model_base(model_of(load(name).with_gravity(gravity), ()), static=True)
        )


def test_subsets():
    for name in ("panda", "lwr4"):
        model = model_of(load(name), ())
        assert (len(model.base), len(static_base(model)), len(inertia_base(model))) == (43, 12, 31)
    locked = model_of(load("panda").lock({"joint_4": -1.5, "joint_5": 0.0, "joint_6": 1.5, "joint_7": 0.0}), ())
    assert len(locked.base) == len(numeric_model_base(locked)) == 15


def test_minimal_set_of_given_samples():
    """One joint of three moves: only what that motion shows is counted."""
    robot = load("gautier-khalil")
    model = model_of(robot, ())
    t = np.linspace(0.0, 3.0, 50)
    q, qd, qdd = np.zeros((3, len(t), 3))
    q[:, 0], qd[:, 0], qdd[:, 0] = np.sin(t), np.cos(t), -np.sin(t)
    few = excited_base(model, Motion(t, q, qd, qdd))
    w = model.regressor(Motion(t, q, qd, qdd)).reshape(-1, len(model.standard))
    assert len(few) == np.linalg.matrix_rank(w) < len(model.base)
    assert_allclose(few.project(w) @ few.base_values(model.nominal), w @ model.nominal, atol=1e-9)


@pytest.mark.parametrize("tilt", [3e-6, 1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize("name", ["ur10e", "puma560"])
def test_calibrated_robots_keep_sound_base_parameters(name, tilt):
    """Axes that miss being parallel by a little must not throw frames, and with them all accuracy, kilometres away."""
    nominal, rng, joints = load(name), np.random.default_rng(1), []
    for joint in nominal.joints:
        axis = rng.standard_normal(3)
        turned = joint.rotation @ axis_rotation(axis / np.linalg.norm(axis), tilt * rng.uniform(0.3, 1.0))
        moved = joint.translation + 0.3 * tilt * rng.standard_normal(3)
        joints.append(replace(joint, rotation=turned, translation=moved) if joint.parent >= 0 else joint)
    robot = replace(nominal, joints=tuple(joints))
    model = model_of(robot, ())
    motion = states(robot, 40)
    oracle = to_pinocchio(robot)
    data = oracle.createData()
    exact = np.array([pin.rnea(oracle, data, *x) for x in zip(motion.q, motion.qd, motion.qdd, strict=True)])
    assert_allclose(model.torque(motion), exact, atol=1e-10 * np.abs(exact).max())
    w = model.base.project(model.regressor(motion))
    assert_allclose(w @ model.base.base_values(model.nominal), exact, atol=2e-5 * np.abs(exact).max())
    flat = w.reshape(-1, len(model.base))
    assert np.linalg.cond(flat / np.linalg.norm(flat, axis=0)) < 300


@pytest.mark.parametrize("twist", [2e-5, 1e-4, 1e-3, 0.1])
def test_barely_twisted_axes_are_counted_once(twist):
    """The closed form may doubt a twist whose effect is its square; the samples then decide."""
    rows = (MDHRow("a", -1, 0, 0, 0, 0, 0), MDHRow("b", 0, 0, twist, 0.4, 0, 0.1))
    inertias = [random_inertia(np.random.default_rng(k)) for k in range(2)]
    robot = MDHTable("twisted", rows).robot(inertias=inertias)
    model = model_of(robot, ())
    w = model.base.project(model.regressor(states(robot, 60))).reshape(-1, len(model.base))
    assert len(model.base) in ((8,) if twist > 5e-4 else (4, 8))
    assert np.linalg.matrix_rank(w / np.linalg.norm(w, axis=0), tol=1e-10) == len(model.base)


def test_the_closed_form_is_used_wherever_it_is_sound():
    """Falling back on samples is for doubtful geometry only, not for columns that are zero up to rounding."""
    for seed in range(25):
        robot = random_robot(seed, 1 + seed % 7, tree=seed % 2 == 0, prismatic=0.3 * (seed % 3))
        assert model_of(robot, ()).base.method.startswith("closed form")


def test_rules_go_by_what_a_term_is_not_by_its_name():
    robot = load("gautier-khalil")
    twin = UserTerm("Fr1", "joint_1", lambda q, qd, qdd: 2 * qd, dq=0.0, dqd=2.0, dqdd=0.0)
    assert len(model_of(robot, (Viscous(), twin)).base) == 15 + 3
    assert len(static_base(model_of(robot, (GravitySpring("joint_1"),)))) == 6


def test_inertia_only_keeps_second_moments():
    kept = inertia_base(model_of(load("panda"), ()))
    assert [kept.standard[k] for k in kept.independent][:6] == ["ZZ1", "XX2", "XY2", "XZ2", "YZ2", "ZZ2"]
    assert kept.expressions[0] == "ZZR1 = ZZ1 + YY2"
    assert len(kept.standard) == 42


def test_wrong_shapes_are_refused_before_they_reach_the_kernels():
    robot, other = load("panda"), model_of(load("gautier-khalil"), (Viscous(),))
    model = DynamicModel(robot, (Viscous(),))
    motion, layout = states(robot, 10), model.layout(model.base.independent)
    rows = model.rows(motion, layout)
    wrong = [
        lambda: model.rows(motion, other.layout(other.base.independent)),
        lambda: model.rows(motion, DynamicModel(robot, (Viscous(), Offset())).layout([0, 1])),
        lambda: model.rows(states(load("puma560"), 5), layout),
        lambda: rows.pullback(np.eye(3)),
        lambda: rows.pullback(np.eye(layout.size), np.ones((10, 3))),
        lambda: model.dynamics.torque_pullback(motion, np.ones((5, 7))),
        lambda: model.dynamics.inverse_dynamics(motion, np.ones((6, 10))),
        lambda: model.dynamics.placement("joint_7", np.zeros((4, 6))),
        lambda: model.dynamics.regressor(motion, out=np.zeros((10, 7, 70))),
        lambda: model.layout([-1, 0]),
        lambda: model.layout([0, 0]),
        lambda: model.layout([77]),
        lambda: model.torque(motion, np.ones(3)),
    ]
    for attempt in wrong:
        with pytest.raises(ExciterError):
            attempt()


def test_motions_and_results_belong_to_who_asked_for_them():
    """Neither changing the array a motion was made of nor a result may change anything computed later."""
    robot = load("gautier-khalil")
    model = DynamicModel(robot, (RotorInertia(), Offset(), Viscous()))
    q = np.zeros((4, 3))
    motion = Motion.at(q, q + 1.0, q + 2.0)
    before = model.torque(motion, np.ones(len(model.standard)))
    q[:] = 1.0
    for term in model.bound:
        for part in (term.values(motion), term.potential(motion), term.momentum(motion), term.kinetic(motion)):
            if part is not None:
                part[:] = 7.0
    assert_allclose(model.torque(motion, np.ones(len(model.standard))), before, atol=0)


def test_no_samples_are_no_error():
    robot = load("panda")
    nothing = Motion.at(np.zeros((0, 7)))
    for engine in (NumpyEngine(), NumbaEngine(), NumbaEngine(threads=2)):
        model = DynamicModel(robot, (Viscous(),), engine)
        assert model.regressor(nothing).shape == (0, 7, 77)
        assert model.torque(nothing).shape == (0, 7)
        assert not model.rows(nothing, model.layout([0, 5])).gram().any()


def test_a_parameter_is_given_by_one_term_only():
    with pytest.raises(ParameterError, match="Fv1"):
        model_of(load("panda"), (Viscous(), Viscous()))
