"""One suite that every joint term must pass, then what is special to each."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from exciter.errors import ExciterError, MotionError, ParameterError, RobotError
from exciter.parameters import terms as t
from exciter.parameters.terms import ONE_TERM, joint_terms
from exciter.parameters.terms import TERM_REGISTRY as WORDS
from exciter.parameters.terms.friction import FRICTION_SHAPES, linear_recursion
from exciter.robot.motion import Motion
from exciter.robot.robot import Robot
from exciter.settings import written
from support.joint_terms import (
    ARM,
    GAS,
    LEVER,
    LOAD,
    TERMS,
    TWO,
    Array,
    cubic,
    make_robot,
)
from support.settings_suite import check_described, check_read_again

GANTRY = make_robot("prismatic", "revolute", "prismatic")


SUBSETS: dict[str, tuple[t.JointTerm, str]] = {
    f"{name}-subset": (replace(term, joints=TWO), tags)  # type: ignore[type-var]
    for name, (term, tags) in TERMS.items()
    if name
    in (
        "rotor",
        "viscous",
        "sqrt",
        "coulomb-sign",
        "coulomb-tanh",
        "coulomb-dahl-per-joint",
        "load-sign",
        "load-springs",
        "offset",
        "ripple",
    )
}
CASES = [
    pytest.param(robot, term, tags, id=f"{name}-{where}")
    for where, robot in (("arm", ARM), ("gantry", GANTRY))
    for name, (term, tags) in {**TERMS, **SUBSETS}.items()
    if not (robot is GANTRY and name.startswith(("coupling", "ripple-subset")))  # those need joints that turn
]
every_term = pytest.mark.parametrize(("robot", "term", "tags"), CASES)


def random_motion(seed: int = 0, samples: int = 12, slowest: float = 0.05) -> Motion:
    """Independent random samples; no speed (nor sum of two speeds) below ``slowest``, away from kinks."""
    rng = np.random.default_rng(seed)
    qd = rng.normal(size=(40 * samples, 3))
    sums = np.stack([qd[:, 1] + qd[:, 2], -0.7 * qd[:, 2] + qd[:, 0]], axis=1)
    qd = qd[(np.abs(np.hstack([qd, sums])) > slowest).all(axis=1)][:samples]
    return Motion(np.arange(samples) * 0.01, rng.normal(size=qd.shape), qd, rng.normal(size=qd.shape))


def smooth_motion(times: Array) -> Motion:
    """Three incommensurable sines with exact derivatives."""
    w, a, p = np.array([2.0, 2.7, 3.1]), np.array([0.9, 0.7, 0.5]), np.array([0.1, 0.9, 2.0])
    phase = np.multiply.outer(times, w) + p
    return Motion(times, a * np.sin(phase), a * w * np.cos(phase), -a * w**2 * np.sin(phase))


def dense(bound: t.BoundTerm, entries: Array) -> Array:
    """(N, n, k) columns of the entries."""
    full = np.zeros((entries.shape[1], bound.columns.n, len(bound.names)))
    for (joint, column), row in zip(bound.rows, entries, strict=True):
        full[:, joint, column] += row
    return full


def numeric_gradient(f: Callable[[Motion], float], motion: Motion, step: float = 1e-6) -> dict[str, Array]:
    result = {}
    for name in ("q", "qd", "qdd"):
        array = getattr(motion, name)
        gradient = np.zeros_like(array)
        for index in np.ndindex(array.shape):
            sides = []
            for sign in (1, -1):
                moved = array.copy()
                moved[index] += sign * step
                sides.append(f(replace(motion, **{name: moved})))
            gradient[index] = (sides[0] - sides[1]) / (2 * step)
        result[name] = gradient
    return result


# -- every term ------------------------------------------------------------------------------------


@every_term
def test_structure(robot: Robot, term: t.JointTerm, tags: str) -> None:
    bound = term.bind(robot, LOAD)
    k = len(bound.names)
    assert len(set(bound.names)) == k > 0
    assert len(bound.units) == len(bound.nonnegative) == len(bound.conservative) == k
    assert len(set(bound.rows)) == len(bound.rows)
    assert {column for _, column in bound.rows} == set(range(k))
    assert all(0 <= joint < robot.n for joint, _ in bound.rows)
    motion = random_motion()
    values = bound.values(motion)
    assert values.shape == (len(bound.rows), len(motion))
    assert values.dtype == np.float64
    assert values.flags.c_contiguous
    assert np.isfinite(values).all()
    assert (values != 0).any(axis=1).all()  # every declared entry is really used (with twelve random samples)


@every_term
def test_inputs_stay_and_outputs_are_fresh(robot: Robot, term: t.JointTerm, tags: str) -> None:
    bound = term.bind(robot, LOAD)
    motion = random_motion(1)
    kept = [x.copy() for x in (motion.q, motion.qd, motion.qdd)]
    seed = np.ones((len(bound.rows), len(motion)))
    seed.flags.writeable = False
    values = bound.values(motion)
    before = values.copy()
    values[:] = 7.0  # the caller may overwrite what it got
    gradient = bound.pullback(motion, seed)
    np.testing.assert_array_equal(bound.values(motion), before)
    assert gradient.q.shape == gradient.qd.shape == gradient.qdd.shape == motion.q.shape
    for x, old in zip((motion.q, motion.qd, motion.qdd), kept, strict=True):
        np.testing.assert_array_equal(x, old)


@every_term
def test_samples_are_independent_unless_the_term_remembers(robot: Robot, term: t.JointTerm, tags: str) -> None:
    bound = term.bind(robot, LOAD)
    motion = random_motion(2)
    shuffle = np.random.default_rng(0).permutation(len(motion))
    mixed = Motion(motion.time, motion.q[shuffle], motion.qd[shuffle], motion.qdd[shuffle])
    same = np.allclose(bound.values(mixed), bound.values(motion)[:, shuffle], rtol=1e-12, atol=1e-14)
    assert same == ("m" not in tags)


@every_term
@pytest.mark.parametrize("seed", [3, 4])
def test_pullback_against_finite_differences(robot: Robot, term: t.JointTerm, tags: str, seed: int) -> None:
    bound = term.bind(robot, LOAD)
    motion = random_motion(seed)
    weights = np.random.default_rng(seed).normal(size=(len(bound.rows), len(motion)))
    exact = bound.pullback(motion, weights)
    numeric = numeric_gradient(lambda m: float((weights * bound.values(m)).sum()), motion)
    scale = max(np.abs(g).max() for g in numeric.values()) + 1.0
    for name, gradient in numeric.items():
        np.testing.assert_allclose(getattr(exact, name), gradient, atol=2e-7 * scale, err_msg=name)


@every_term
def test_pullback_is_linear_in_the_seed(robot: Robot, term: t.JointTerm, tags: str) -> None:
    bound = term.bind(robot, LOAD)
    motion = random_motion(5)
    a, b = np.random.default_rng(5).normal(size=(2, len(bound.rows), len(motion)))
    total = bound.pullback(motion, a - 2 * b)
    one, two = bound.pullback(motion, a), bound.pullback(motion, b)
    for name in ("q", "qd", "qdd"):
        np.testing.assert_allclose(
            getattr(total, name), getattr(one, name) - 2 * getattr(two, name), rtol=1e-9, atol=1e-9
        )


@every_term
def test_power_is_the_rate_of_energy(robot: Robot, term: t.JointTerm, tags: str) -> None:
    """Conservative columns: q̇ᵀ · column = d/dt (kinetic + potential), column = d/dt momentum + force."""
    bound = term.bind(robot, LOAD)
    if not any(bound.conservative):
        at_rest = random_motion()
        energies = (bound.kinetic, bound.potential, bound.momentum, bound.force)
        assert all(energy(at_rest) is None for energy in energies)
        return
    times, h = np.linspace(0.0, 4.0, 60), 1e-5
    motion, later, earlier = smooth_motion(times), smooth_motion(times + h), smooth_motion(times - h)
    select = list(bound.conservative)

    def rate(quantity: Callable[[Motion], Array | None]) -> Array:
        plus, minus = quantity(later), quantity(earlier)
        return np.zeros(()) if plus is None or minus is None else (plus - minus) / (2 * h)

    columns = dense(bound, bound.values(motion))
    power = np.einsum("Nj,Njk->kN", motion.qd, columns)
    energy_rate = rate(bound.kinetic) + rate(bound.potential)
    np.testing.assert_allclose(power[select], energy_rate[select], atol=1e-7)
    force = bound.force(motion)
    entries = np.broadcast_to(rate(bound.momentum) + (0.0 if force is None else force), (len(bound.rows), 60))
    np.testing.assert_allclose(dense(bound, entries)[..., select], columns[..., select], atol=1e-7)


@every_term
def test_energy_pullback_against_finite_differences(robot: Robot, term: t.JointTerm, tags: str) -> None:
    bound = term.bind(robot, LOAD)
    motion = random_motion(6, samples=5)
    kinetic_seed, potential_seed = np.random.default_rng(6).normal(size=(2, len(bound.names), 5))

    def f(m: Motion) -> float:
        kinetic, potential = bound.kinetic(m), bound.potential(m)
        total = 0.0 if kinetic is None else float((kinetic_seed * kinetic).sum())
        return total + (0.0 if potential is None else float((potential_seed * potential).sum()))

    exact = bound.energy_pullback(motion, kinetic_seed, potential_seed)
    for name, gradient in numeric_gradient(f, motion).items():
        np.testing.assert_allclose(getattr(exact, name), gradient, atol=1e-7)
    nothing = bound.energy_pullback(motion)
    assert not any(x.any() for x in (nothing.q, nothing.qd, nothing.qdd))


@every_term
def test_friction_takes_energy(robot: Robot, term: t.JointTerm, tags: str) -> None:
    bound = term.bind(robot, LOAD)
    motion = random_motion(7, samples=200, slowest=0.0)
    power = np.einsum("Nj,Njk->Nk", motion.qd, dense(bound, bound.values(motion)))
    if "d" in tags:
        assert (power >= 0).all()
        assert all(bound.nonnegative)
    elif "m" not in tags and not any(bound.conservative):
        assert (power < 0).any()  # the tag is not forgotten


@every_term
def test_a_motion_of_another_robot_is_refused(robot: Robot, term: t.JointTerm, tags: str) -> None:
    bound = term.bind(robot, LOAD)
    wrong = Motion.at(np.zeros((4, 2)))
    with pytest.raises(MotionError, match="2 joints and the robot 3"):
        bound.values(wrong)
    with pytest.raises(MotionError, match="one column per joint"):
        bound.pullback(wrong, np.zeros((len(bound.rows), 4)))


@every_term
def test_unknown_joint(robot: Robot, term: t.JointTerm, tags: str) -> None:
    field = next(name for name in ("joints", "joint", "first") if hasattr(term, name))
    lost = replace(term, **{field: ("elbow",) if field == "joints" else "elbow"})  # type: ignore[type-var]
    with pytest.raises(RobotError, match="unknown joint 'elbow'; valid names: joint_1, joint_2, joint_3"):
        lost.bind(robot, LOAD)


@every_term
def test_smoothed_terms_are_differentiable_at_rest(robot: Robot, term: t.JointTerm, tags: str) -> None:
    """What an optimiser uses: no jump where a joint stops."""
    bound = term.smoothed(0.1).bind(robot, LOAD)
    assert bound.names == term.bind(robot, LOAD).names
    q = np.random.default_rng(0).normal(size=(6, 3))
    rest = Motion.at(q)
    moving = replace(rest, qd=rest.qd + 1e-9)
    np.testing.assert_allclose(bound.values(moving), bound.values(rest), atol=1e-6)


# -- names, units, settings ------------------------------------------------------------------------


def test_names_and_units_follow_the_joint() -> None:
    def described(term: t.JointTerm, robot: Robot = GANTRY) -> dict[str, str]:
        bound = term.bind(robot, LOAD)
        return dict(zip(bound.names, bound.units, strict=True))

    assert described(t.RotorInertia()) == {"Ia1": "kg", "Ia2": "kg·m²", "Ia3": "kg"}
    assert described(t.Viscous(("joint_3", "joint_2"))) == {"Fv3": "N·s/m", "Fv2": "N·m·s/rad"}
    assert described(t.Coulomb(joints=("joint_1",))) == {"Fs1": "N"}
    assert described(t.Offset(("joint_2",))) == {"off2": "N·m"}
    assert described(t.LoadFriction(joints=("joint_2",))) == {"Fl2": "1"}
    assert described(t.Ripple()) == {"Rs2": "N·m", "Rc2": "N·m"}
    assert t.Ripple(TWO).bind(ARM).names == ("Rs3", "Rs1", "Rc3", "Rc1")
    assert described(t.DriveCoupling("joint_2", "joint_3"), ARM) == {
        "Iam3": "kg·m²",
        "fvm3": "N·m·s/rad",
        "fsm3": "N·m",
    }
    assert described(t.CoupledSqrtViscous("joint_3", "joint_2"), ARM) == {"fqm2": described(t.SqrtViscous())["Fr2"]}
    assert t.AsymmetricCoulomb(joints=("joint_1", "joint_3")).bind(ARM).names == (
        "Fsp1",
        "Fsp3",
        "Fsn1",
        "Fsn3",
    )
    assert t.Viscous("joint_2").bind(ARM).names == ("Fv2",)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: t.Dahl(0.0), "Dahl: delta is 0.0; give a number > 0"),
        (lambda: t.Dahl(-1e-3), "Dahl: delta is"),
        (lambda: t.Dahl(np.nan), "Dahl: delta is nan"),
        (lambda: t.Dahl({"joint_1": 1e-3, "joint_2": np.inf}), "Dahl: delta is inf"),
        (lambda: t.Dahl("small"), "Dahl: delta is"),  # type: ignore[arg-type]
        (lambda: t.Dahl(1e-3, start=1.5), r"start of Dahl is 1.5; it must lie in -1 … 1"),
        (lambda: t.Dahl(1e-3, start=np.nan), "Dahl: start is nan"),
        (lambda: t.Tanh(0.0), "Tanh: width is 0"),
        (lambda: t.SqrtViscous(width=np.nan), "SqrtViscous: width is nan"),
        (lambda: t.Stribeck(velocity=(0.1, -0.1, 0.1)), "Stribeck: velocity is -0.1"),
        (lambda: t.Coulomb().smoothed(-1.0), "Tanh: width is -1"),
        (lambda: t.Coulomb(t.Dahl({"joint_1": 1e-3})).bind(ARM), "given for joint_1 but not for 'joint_2'"),
        (lambda: t.Coulomb(t.Dahl((1e-3, 1e-3))).bind(ARM), "2 values for 3 joints"),
        (lambda: t.Viscous(("joint_1", "joint_1")).bind(ARM), "each once"),
        (lambda: t.Viscous(()).bind(ARM), "at least one joint"),
        (lambda: t.LoadFriction().bind(ARM), "needs the rigid-body torque"),
        (lambda: t.GravitySpring("joint_2", offset=np.nan), "GravitySpring: offset is nan"),
        (lambda: t.GravitySpring("joint_1").bind(GANTRY), "'joint_1' is prismatic"),
        (lambda: t.Ripple(("joint_2", "joint_3")).bind(GANTRY), "every turn, but joint 'joint_3' is prismatic"),
        (lambda: t.Ripple().bind(make_robot("prismatic")), "no joint of robot 'test' turns"),
        (lambda: t.Spring("joint_2", 0.2, 0.2, 0.0, 0.1), "length could vanish"),
        (lambda: t.Spring("joint_2", -0.2, 0.3, 0.0, 0.1), "base_arm is -0.2"),
        (lambda: t.Spring("joint_2", 0.2, 0.3, np.inf, 0.1), "offset is inf"),
        (lambda: t.Spring("joint_2", 0.2, 0.3, 0.0, -0.1), "free_length is -0.1"),
        (lambda: replace(GAS, volume=1e-4), "can sweep"),
        (lambda: replace(GAS, area=np.nan), "GasSpring: area is nan"),
        (lambda: t.DriveCoupling("joint_1", "joint_1"), "two different joints"),
        (lambda: t.DriveCoupling("joint_1", "joint_2", ratio=0.0), "ratio of DriveCoupling is 0"),
        (lambda: t.DriveCoupling("joint_1", "joint_2").bind(GANTRY), "two revolute joints"),
        (lambda: t.CoupledSqrtViscous("joint_1", "joint_1"), "CoupledSqrtViscous was given joint 'joint_1' twice"),
        (lambda: t.CoupledSqrtViscous("joint_1", "joint_2", ratio=np.nan), "CoupledSqrtViscous: ratio is nan"),
        (lambda: t.CoupledSqrtViscous("joint_1", "joint_2", width=0.0), "CoupledSqrtViscous: width is 0"),
        (lambda: t.CoupledSqrtViscous("joint_1", "joint_2").bind(GANTRY), "two revolute joints"),
        (
            lambda: t.CoupledSqrtViscous("joint_1", "joint_2", width={"joint_1": 0.1}).bind(ARM),
            "width of CoupledSqrtViscous is given for joint_1 but not for 'joint_2'",
        ),
    ],
)
def test_bad_settings_say_what_is_wrong(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ParameterError, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)


# -- what is special to each -----------------------------------------------------------------------


def test_velocity_sign_at_rest_is_zero() -> None:
    rest = Motion.at(np.ones((1, 3)))
    for term in (
        t.Coulomb(),
        t.AsymmetricCoulomb(),
        t.LoadFriction(),
        t.Stribeck(velocity=0.1),
        t.SqrtViscous(),
    ):
        assert not term.bind(ARM, LOAD).values(rest).any()
    rounded = Motion(rest.time, rest.q, np.array([[1e-16, -1e-17, 1e-12]]), rest.qdd)  # a planned stop, as computed
    for term in (t.Coulomb(), t.AsymmetricCoulomb(), t.LoadFriction()):
        assert not term.bind(ARM, LOAD).values(rounded).any()


def test_asymmetric_coulomb_adds_up_to_coulomb() -> None:
    motion = random_motion(8)
    forward, backward = np.split(t.AsymmetricCoulomb().bind(ARM).values(motion), 2)
    np.testing.assert_array_equal(forward + backward, t.Coulomb().bind(ARM).values(motion))
    np.testing.assert_array_equal(forward, (motion.qd.T > 0).astype(float))


def test_tanh_tends_to_sign_and_sqrt_to_the_root() -> None:
    motion = random_motion(9, slowest=0.1)
    smooth = t.Coulomb().smoothed(1e-3).bind(ARM).values(motion)
    np.testing.assert_allclose(smooth, np.sign(motion.qd.T), atol=1e-12)
    root = t.SqrtViscous(width=1e-4).bind(ARM).values(motion)
    np.testing.assert_allclose(root, (np.sqrt(np.abs(motion.qd)) * np.sign(motion.qd)).T, rtol=1e-6)


def test_drive_coupling_rows_as_published() -> None:
    """The wrist of the Stäubli TX40, with its published values."""
    motion = random_motion(10)
    bound = t.DriveCoupling("joint_2", "joint_3").bind(ARM)
    rows = dense(bound, bound.values(motion)) @ np.array([0.00964, 0.616, 1.95])
    q5, q6 = 1, 2
    dry = 1.95 * np.sign(motion.qd[:, q5] + motion.qd[:, q6])
    np.testing.assert_allclose(rows[:, q5], 0.00964 * motion.qdd[:, q6] + 0.616 * motion.qd[:, q6] + dry)
    np.testing.assert_allclose(rows[:, q6], 0.00964 * motion.qdd[:, q5] + 0.616 * motion.qd[:, q5] + dry)
    assert not rows[:, 0].any()


@pytest.mark.parametrize("ratio", [1.0, -0.6])
def test_drive_coupling_is_what_one_motor_on_two_joints_leaves(ratio: float) -> None:
    """Inertia and friction of the motor speed r q̇a + q̇b, minus what Ia and Fv of each joint already hold."""
    motion = random_motion(11)
    bound = t.DriveCoupling("joint_1", "joint_3", ratio).bind(ARM)
    columns = dense(bound, bound.values(motion))
    arms = np.array([ratio, 0.0, 1.0])
    for column, rate in ((0, motion.qdd), (1, motion.qd)):
        full = np.multiply.outer(rate @ arms, arms)
        np.testing.assert_allclose(columns[..., column], full - rate * arms**2, atol=1e-12)
    np.testing.assert_allclose(columns[..., 2], np.multiply.outer(np.sign(motion.qd @ arms), arms))


@pytest.mark.parametrize("ratio", [1.0, -0.6])
def test_coupled_root_is_that_of_the_motor_on_both_joints(ratio: float) -> None:
    motion = random_motion(18)
    term = t.CoupledSqrtViscous("joint_3", "joint_1", ratio, width=1e-6)
    columns = dense(term.bind(ARM), term.bind(ARM).values(motion))[..., 0]
    arms = np.array([1.0, 0.0, ratio])
    speed = motion.qd @ arms
    np.testing.assert_allclose(columns, np.multiply.outer(np.sqrt(np.abs(speed)) * np.sign(speed), arms), rtol=1e-6)
    assert not term.bind(ARM).values(Motion.at(np.ones((1, 3)))).any()
    width = replace(term, width=0.3).bind(ARM)
    alone = replace(motion, qd=motion.qd * [1.0, 1.0, 0.0])  # the first joint rests: the motor is that of the second
    np.testing.assert_allclose(width.values(alone)[1], t.SqrtViscous(("joint_1",), 0.3).bind(ARM).values(alone)[0])


def test_load_friction_reads_the_rigid_torque() -> None:
    motion = random_motion(12)
    expected = np.sign(motion.qd) * np.abs(LOAD.inverse_dynamics(motion))
    np.testing.assert_allclose(t.LoadFriction(joints=TWO).bind(ARM, LOAD).values(motion), expected.T[[2, 0]])


def test_ripple_is_a_sine_of_any_phase() -> None:
    motion = random_motion(17)
    rows = t.Ripple(TWO).bind(ARM).values(motion)
    q = motion.q.T[[2, 0]]
    np.testing.assert_allclose(np.cos(0.7) * rows[:2] + np.sin(0.7) * rows[2:], np.sin(q + 0.7), atol=1e-14)


def spring_ends(q: Array, base_arm: float, link_arm: float, offset: float) -> tuple[Array, Array]:
    """Fixed end and moving end of the spring in the plane of the joint, as points."""
    fixed = np.array([base_arm, 0.0])
    moving = link_arm * np.stack([np.cos(q + offset), np.sin(q + offset)], axis=-1)
    return fixed, moving


def test_spring_torque_is_the_moment_of_its_force() -> None:
    motion = random_motion(13)
    fixed, moving = spring_ends(motion.q[:, 1], **LEVER)
    pull = fixed - moving
    length = np.linalg.norm(pull, axis=1)
    moment = (moving[:, 0] * pull[:, 1] - moving[:, 1] * pull[:, 0]) / length  # on the link, per newton of tension
    stiffness, preload = t.Spring("joint_2", **LEVER, free_length=0.5).bind(ARM).values(motion)
    np.testing.assert_allclose(preload, -moment, rtol=1e-12)  # the drive holds against it
    np.testing.assert_allclose(stiffness, -(length - 0.5) * moment, rtol=1e-12)


def test_zero_free_length_is_a_sine() -> None:
    motion = random_motion(14)
    stiffness = t.Spring("joint_2", **LEVER, free_length=0.0).bind(ARM).values(motion)[0]
    sine, cosine = t.GravitySpring("joint_2", offset=0.4).bind(ARM).values(motion)
    q0, product = -LEVER["offset"], LEVER["base_arm"] * LEVER["link_arm"]
    np.testing.assert_allclose(stiffness, product * np.sin(motion.q[:, 1] - q0), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(stiffness, product * (np.cos(q0 + 0.4) * sine - np.sin(q0 + 0.4) * cosine), atol=1e-14)


def test_gas_spring_as_published_for_kr300() -> None:
    q = np.linspace(-2.2, 0.4, 40)
    delta = q + np.deg2rad(95)
    big, small, volume, area = 0.8, 0.2, 0.96e-3, np.pi * (0.055**2 - 0.030**2) / 4
    travel = np.sqrt(big**2 + small**2 - 2 * big * small * np.cos(delta)) - (big - small)
    torque = big * small * np.sin(delta) / (travel + big - small) / (volume - area * travel)
    term = t.GasSpring("joint_2", big, small, np.deg2rad(95), volume, area)
    values = term.bind(ARM).values(Motion.at(np.outer(q, [0, 1, 0])))[0]
    np.testing.assert_allclose(values, torque * volume, rtol=1e-12)


# -- Dahl ------------------------------------------------------------------------------------------


def test_dahl_equals_its_differential_equation() -> None:
    delta, z0 = 0.15, -0.4
    times = np.linspace(0.0, 5.0, 4001)
    motion = smooth_motion(times)
    z = t.Coulomb(t.Dahl(delta, z0), joints=("joint_2",)).bind(ARM).values(motion)[0]

    def rate(at: float, state: Array) -> Array:
        speed = smooth_motion(np.array([at])).qd[0, 1]
        return (1 - state * np.sign(speed)) / delta * speed

    exact = solve_ivp(rate, (0, 5), [z0], t_eval=times[::100], rtol=1e-9, atol=1e-10, max_step=0.02)
    np.testing.assert_allclose(z[::100], exact.y[0], atol=2e-5)


def test_dahl_with_small_travel_is_the_sign_of_the_step() -> None:
    motion = smooth_motion(np.linspace(0.0, 5.0, 500))
    z = t.Coulomb(t.Dahl(1e-9)).bind(ARM).values(motion)
    np.testing.assert_array_equal(z[:, 1:], np.sign(np.diff(motion.q.T)))
    assert not z[:, 0].any()


def test_dahl_keeps_its_state_at_rest_and_stays_within_one() -> None:
    rng = np.random.default_rng(0)
    q = np.cumsum(rng.normal(size=(300, 3)), axis=0)
    q[100:200] = q[100]
    z = t.Coulomb(t.Dahl(0.5)).bind(ARM).values(Motion.at(q))
    assert np.abs(z).max() <= 1.0
    assert (z[:, 100:200] == z[:, [100]]).all()
    assert np.ptp(z[:, 200:]) > 1.0


@settings(derandomize=True, deadline=None, max_examples=30)
@given(st.integers(0, 1000), st.integers(0, 70))
def test_fast_recursion_equals_the_loop(seed: int, steps: int) -> None:
    rng = np.random.default_rng(seed)
    a, b, start = rng.uniform(0, 1, (2, steps)), rng.normal(size=(2, steps)), rng.normal(size=2)
    x = [start]
    for k in range(steps):
        x.append(a[:, k] * x[-1] + b[:, k])
    np.testing.assert_allclose(linear_recursion(a, b, start), np.stack(x, axis=1), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("samples", [1, 2, 3])
def test_dahl_on_very_short_motions(samples: int) -> None:
    motion = random_motion(15, samples)
    bound = t.Coulomb(t.Dahl(0.3, 0.2)).bind(ARM)
    weights = np.random.default_rng(0).normal(size=(3, samples))
    assert (bound.values(motion)[:, 0] == 0.2).all()
    exact = bound.pullback(motion, weights).q
    numeric = numeric_gradient(lambda m: float((weights * bound.values(m)).sum()), motion)["q"]
    np.testing.assert_allclose(exact, numeric, atol=1e-8)


def test_dahl_derivative_reaches_back_in_time() -> None:
    motion = smooth_motion(np.linspace(0.0, 0.3, 20))
    seed = np.zeros((3, 20))
    seed[:, -1] = 1.0
    gradient = t.Coulomb(t.Dahl(2.0)).bind(ARM).pullback(motion, seed)
    assert (gradient.q[-1] > 0).all()
    assert gradient.q[0].all()
    assert not gradient.qd.any()


def test_dahl_is_fast_on_long_recordings() -> None:
    """10⁵ samples that turn at almost every step; a loop in Python needs seconds."""
    motion = Motion.at(np.random.default_rng(0).normal(size=(100_000, 3)) * 1e-3)
    bound = t.Coulomb(t.Dahl(1e-3)).bind(ARM)
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        bound.pullback(motion, bound.values(motion))
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.5


# -- a user's own term -----------------------------------------------------------------------------


def test_user_term_says_what_it_computes_numerically() -> None:
    assert cubic().bind(ARM).notes == ("'Kc2': dq, dqd, dqdd by central differences, about nine digits",)
    exact = cubic(dq=lambda q, qd, qdd: 3 * q**2 + qd, dqd=lambda q, qd, qdd: q, dqdd=-2.0)
    assert exact.bind(ARM).notes == ()
    motion = random_motion(16)
    seed = np.random.default_rng(0).normal(size=(1, len(motion)))
    one, two = exact.bind(ARM).pullback(motion, seed), cubic().bind(ARM).pullback(motion, seed)
    for name in ("q", "qd", "qdd"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), atol=1e-7)


@pytest.mark.parametrize(
    ("term", "words"),
    [
        (cubic(dq=lambda q, qd, qdd: 3 * q**2), "dq of UserTerm 'Kc2' is wrong: it gives"),
        (cubic(dqd=0.0), "dqd of UserTerm 'Kc2' is wrong"),
        (
            cubic(dqdd=lambda q, qd, qdd: np.full_like(q, np.nan)),
            "dqdd of UserTerm 'Kc2' is wrong: it gives nan",
        ),
        (cubic(dq=lambda q, qd, qdd: 1.0), r"dq of UserTerm 'Kc2' returned shape \(\); it must be \(50,\)"),
        (
            t.UserTerm("x", "joint_1", lambda q, qd, qdd: q[:3]),
            r"torque of UserTerm 'x' returned shape \(3,\)",
        ),
        (t.UserTerm("x", "joint_1", lambda q, qd, qdd: np.cumsum(q)), "depends on the order of the samples"),
        (t.UserTerm("x", "joint_1", lambda q, qd, qdd: q * np.inf), "not finite"),
        (t.UserTerm("x", "joint_1", lambda q: q), "torque of UserTerm 'x' failed: TypeError"),  # type: ignore[arg-type, misc]
        (t.UserTerm("", "joint_1", lambda q, qd, qdd: q), "empty name"),
    ],
)
def test_wrong_user_terms_are_named(term: t.UserTerm, words: str) -> None:
    with pytest.raises(ExciterError, match=words):
        term.bind(ARM)


def test_user_term_that_overwrites_its_input_is_refused() -> None:
    def careless(q: Array, qd: Array, qdd: Array) -> Array:
        q *= 2
        return q

    with pytest.raises(ParameterError, match="read-only"):
        t.UserTerm("x", "joint_1", careless).bind(ARM)


def test_user_term_is_checked_within_the_joint_limits() -> None:
    """A function that exists only within the limits is fine."""
    robot = ARM.with_limits(lower=0.5, upper=1.5)
    t.UserTerm("x", "joint_1", lambda q, qd, qdd: np.log(q)).bind(robot)


# -- as words of a file ------------------------------------------------------------------------------------------------


def test_every_term_and_shape_of_a_file_says_what_its_settings_may_be() -> None:
    check_described(WORDS)
    check_described(FRICTION_SHAPES)
    assert {type(term) for term, _ in TERMS.values()} >= set(WORDS)  # so that the test below has them all
    assert {type(getattr(term, "shape", None)) for term, _ in TERMS.values()} >= set(FRICTION_SHAPES)


@pytest.mark.parametrize("name", [name for name, (term, _) in TERMS.items() if type(term) in set(WORDS)])
def test_a_written_term_is_read_as_the_same(name: str) -> None:
    term = TERMS[name][0]
    if name == "load-tanh":  # its list is read as a tuple
        term = replace(term, shape=t.Tanh((0.2, 0.3, 0.4)))  # type: ignore[type-var]
    check_read_again(Annotated[t.JointTerm, ONE_TERM], term, robot=ARM)
    assert joint_terms(written((term, term)), ARM, "terms") == (term,)


def test_a_term_of_python_code_is_not_written_as_another() -> None:
    class Sticky(t.Coulomb):
        """Differs from its parent in what it computes."""

    for term in (cubic(), Sticky()):
        told = written(term)
        assert type(term).__name__ in ([told] if isinstance(told, str) else told)
        with pytest.raises(ExciterError, match="allowed are rotor, viscous"):
            joint_terms([told], ARM, "terms")


@pytest.mark.parametrize("name", ["nONE", " none "])
def test_none_means_no_terms(name: str) -> None:
    assert joint_terms(name, ARM, "terms") == joint_terms([], ARM, "terms") == ()
