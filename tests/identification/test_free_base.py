"""Identification with a free base: in the air, with measured wrenches, by the base alone, and on unknown contacts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import exciter as ex
from exciter.dynamics.contacts import contact_jacobian
from exciter.errors import ParameterError, RecordingError
from exciter.experiment.recording.base_sensing import Contacts
from exciter.experiment.recording.recording import About
from exciter.experiment.signals.differentiation import FilteredDifferences
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.virtual.standing import (
    StandingControl,
    StandingNoise,
    StandingRobot,
    standing_motion,
    started,
)
from exciter.experiment.virtual.true_parameters import TrueFriction, Truth
from exciter.identification.equation_filter import EquationFilter
from exciter.identification.estimators.physical import Prior
from exciter.identification.formulations.base_link import BaseLink
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.information.problem import Problem
from exciter.identification.limbs import identical_limbs, limb_spreads, standing_notes
from exciter.identification.link_masses import link_masses
from exciter.identification.physical.prior_metric import StandardEquations, link_rows
from exciter.identification.physical.prior_values import fitted_mass
from exciter.identification.runs.run import Run
from exciter.identification.uncertainty.covariance_of_correlated_errors import with_correlated_errors
from exciter.identification.uncertainty.motion_noise import motion_noise_error
from exciter.notes import Severity
from exciter.robot.robot import Frame
from exciter.validation.baselines import baselines, noise_floor
from support.standing import QUADRUPED, RATE, TERMS, Experiment, flying, posture, quadruped, sines, standing

NOISE = StandingNoise(position=5e-5, torque=0.01, place=5e-5, attitude=1e-4)


def exact_run(found: Experiment, torque: np.ndarray, *, touching: bool) -> Run:
    """Motion and torque without any error, all feet on the ground or none."""
    run = Run.at(found.stood.motion, torque, RATE)
    if not touching:
        return run
    contacts = found.stood.contacts
    flags = np.ones((len(found.stood.motion), len(contacts.frames)))
    return replace(run, parts=(replace(run.parts[0], contact=flags, contacts=contacts),))


@pytest.fixture(scope="module")
def flight() -> Experiment:
    return flying()


@pytest.fixture(scope="module")
def stand() -> Experiment:
    return standing()


def test_measured_wrenches_and_joint_torques_give_everything(flight: Experiment) -> None:
    log = flight.stood.recording(replace(NOISE, position=0.0, torque=0.0, place=0.0, attitude=0.0), forces=True)
    torque = log.arranged(quadruped()).torque
    problem = Problem(flight.model, (exact_run(flight, torque, touching=False),))
    assert len(problem.names) == 94 + 12
    found = ex.WeightedLeastSquares().estimate(problem)
    np.testing.assert_allclose(found.values, problem.base.base_values(flight.chi), atol=1e-8)


def test_the_base_alone_tells_all_that_is_inertial_and_no_friction(flight: Experiment) -> None:
    """Without any joint torque: as a formulation, and as what is left of a log that has none."""
    log = flight.stood.recording(replace(NOISE, position=0.0, torque=0.0, place=0.0, attitude=0.0), forces=True)
    torque = log.arranged(quadruped()).torque.copy()
    torque[:, 6:] = 99.0  # nobody looks
    problem = Problem(flight.model, (exact_run(flight, torque, touching=False),), BaseLink())
    found = ex.WeightedLeastSquares().estimate(problem)
    assert len(problem.names) == 94
    assert problem.joints == quadruped().joint_names[:6]
    true = dict(zip(flight.model.standard, flight.chi, strict=True))
    exact = problem.base.base_values([true[name] for name in problem.base.standard])
    np.testing.assert_allclose(found.values, exact, atol=1e-8)
    silent = replace(log, torque=None).arranged(quadruped())
    assert silent.about.unusable == quadruped().joint_names[6:]
    np.testing.assert_allclose(silent.torque[:, :6], torque[:, :6], atol=1e-9)
    full = ex.PhysicallyConsistent().estimate(problem)
    assert full.standard is not None
    assert not full.standard[:50].any()


def test_nothing_of_known_size_is_one_line(flight: Experiment, stand: Experiment) -> None:
    nothing = exact_run(flight, np.zeros_like(flight.stood.torque), touching=False)
    with pytest.raises(RecordingError, match="known up to a factor only"):
        _ = Problem(flight.model, (nothing,), BaseLink()).compressed
    with pytest.raises(RecordingError, match="forces of contacts were not measured"):
        _ = Problem(stand.model, (exact_run(stand, stand.stood.torque, touching=True),), BaseLink()).compressed


def test_unknown_forces_are_taken_off_exactly(stand: Experiment) -> None:
    """Whatever the feet press: torques with other forces between them give the same estimate."""
    rng, model = np.random.default_rng(2), stand.model
    squeezed = stand.stood.torque.copy()
    jacobian = contact_jacobian(model.dynamics, stand.stood.contacts.all, stand.stood.motion.q)
    inner = np.linalg.svd(jacobian[:, :, :6].swapaxes(1, 2))[2][:, 6:]  # forces that no base feels
    forces = np.einsum("Nkm,Nk->Nm", inner, 5.0 * rng.standard_normal((len(squeezed), inner.shape[1])))
    squeezed -= np.einsum("Nmj,Nm->Nj", jacobian, forces)
    assert np.abs(squeezed[:, :6]).max() < 1e-9
    assert np.abs(squeezed - stand.stood.torque).max() > 1.0
    for torque in (stand.stood.torque, squeezed):
        problem = Problem(model, (exact_run(stand, torque, touching=True),))
        found = ex.WeightedLeastSquares().estimate(problem)
        assert len(problem.names) == 94 + 12 - 4
        np.testing.assert_allclose(found.values, problem.base.base_values(stand.chi), atol=1e-5)
    (note,) = standing_notes(problem.model)
    assert "102 of 106 base parameters are left" in note.text
    assert "MX9" in note.text


def test_joints_at_rest_lose_their_torque_and_nothing_else(stand: Experiment) -> None:
    """In a dead zone a joint's torque is whatever friction makes it: nonsense there does no harm."""
    model = ex.DynamicModel(quadruped(), (ex.Viscous(), ex.Coulomb()))
    spoiled = stand.stood.torque.copy()
    slow = np.abs(stand.stood.motion.qd) < 0.05
    slow[:, :6] = False
    spoiled[slow] += np.random.default_rng(1).standard_normal(int(slow.sum()))
    problem = Problem(model, (exact_run(stand, spoiled, touching=True),), InverseDynamic(dead_zone=0.05))
    found = ex.WeightedLeastSquares().estimate(problem)
    chi = np.concatenate([stand.chi, np.zeros(12)])
    np.testing.assert_allclose(found.values, problem.base.base_values(chi), atol=1e-5)


def test_covariance_of_noisy_standing_logs_is_honest(stand: Experiment) -> None:
    """Over a few draws of noise: mean of e²/σ² about one by the correlation of errors, which motion that is measured
    with noise makes alike in all equations, and no more than that by equations taken as independent."""
    squares, robust, formulation = [], [], InverseDynamic(ParallelFilter(factor=4))
    for seed in range(3):
        log = stand.stood.recording(NOISE, seed).arranged(quadruped())
        run = Run.of(log, FilteredDifferences(cutoff=8.0))
        problem = Problem(stand.model, (run,), formulation, folds=1)
        formulation = problem.projecting  # found once
        found = ex.WeightedLeastSquares().estimate(problem)
        error = found.values - problem.base.base_values(stand.chi)
        squares.append(error**2 / np.diag(found.covariance))
        robust.append(error**2 / np.diag(with_correlated_errors(problem, found).covariance))
    assert 0.35 < np.mean(squares) < 1.5
    assert 0.5 < np.mean(robust) < 1.6


def test_white_errors_of_torques_have_the_covariance_that_independent_ones_have(stand: Experiment) -> None:
    """Π turns with the posture, and few equations of the base are left: neither shortens intervals nor freedom."""
    noisy = stand.stood.torque.copy()
    noisy[:, 6:] += 0.02 * np.random.default_rng(8).standard_normal(noisy[:, 6:].shape)
    formulation = InverseDynamic(noise=(0.002,) * 6 + (0.02,) * 12)
    problem = Problem(stand.model, (exact_run(stand, noisy, touching=True),), formulation, folds=1)
    found = ex.WeightedLeastSquares().estimate(problem)
    honest = with_correlated_errors(problem, found)
    assert np.mean(honest.std / found.std) == pytest.approx(1.0, abs=0.06)
    assert honest.freedom > 30.0
    assert problem.compressed.fewest_instants == len(noisy)
    assert problem.compressed.rows[:, :6].sum() < 0.2 * 6 * len(noisy)


def test_residuals_of_projected_rows_are_of_whole_equations_and_have_no_floor(stand: Experiment) -> None:
    """Forces of the ground take most of an equation of the base: what is left of it is small at every instant."""
    noisy = stand.stood.torque.copy()
    noisy[:, 6:] += 0.02 * np.random.default_rng(8).standard_normal(noisy[:, 6:].shape)
    problem = Problem(stand.model, (exact_run(stand, noisy, touching=True),), InverseDynamic(), folds=1)
    found = baselines(problem, ex.WeightedLeastSquares().estimate(problem))
    assert all((model.worst >= model.rms).all() for model in found.models)
    assert found.identified.worst.max() < 1.0  # fifty σ of the noise
    floor = noise_floor(problem, found.signal)
    assert floor.total_percent is None
    assert "pose" in floor.sentence


def test_noise_of_the_base_in_w_is_counted(stand: Experiment) -> None:
    """Torques are exact, the place of the base is not: parameters are off in the same way in every draw, by more than
    chance, and the change that is said has them right on average."""
    noise, off, said = StandingNoise(0.0, 0.0, 4e-4, 0.0, 0.0, 0.0), [], []
    formulation = InverseDynamic(ParallelFilter(factor=4))
    for seed in range(3):
        run = Run.of(stand.stood.recording(noise, seed).arranged(quadruped()), FilteredDifferences(cutoff=8.0))
        problem = Problem(stand.model, (run,), formulation, folds=1)
        formulation = problem.projecting
        found = ex.WeightedLeastSquares().estimate(problem)
        off.append((found.values - problem.base.base_values(stand.chi)) / found.std)
        change = motion_noise_error(problem, found)
        assert change is not None
        said.append(change.change / found.std)
    mean, told = np.mean(off, axis=0), np.mean(said, axis=0)
    assert np.sqrt((mean**2).mean()) > 1.0
    assert np.corrcoef(mean, -told)[0, 1] > 0.8
    assert ((mean + told) ** 2).mean() < 0.5 * (mean**2).mean()
    fixed = arm_problem()
    assert motion_noise_error(fixed, ex.WeightedLeastSquares().estimate(fixed)) is None


def arm_problem() -> Problem:
    model = ex.DynamicModel(ex.load("gautier-khalil"), TERMS)
    motion = sines(3.0, np.ones(model.n), 1)
    torque = model.torque(motion) + 0.1 * np.random.default_rng(2).standard_normal(motion.q.shape)
    return Problem(model, (Run.at(motion, torque, RATE),))


def test_masses_of_links_have_the_covariance_of_prior_and_equations_together() -> None:
    """(Q + PᵀAP)⁻¹ of all parameters, by another way; without a prior torques tell no mass."""
    problem, prior = arm_problem(), Prior(weight=100.0)
    found, equations = ex.PhysicallyConsistent(prior=prior).estimate(problem), StandardEquations.of(problem)
    size, base = len(problem.model.standard), problem.base.grouping
    known = link_rows(10.0 * prior.values.reference(equations).whitening, size)
    rows = problem.compressed.information(found.noise).r @ base
    weak = np.diag(np.append(np.zeros(equations.links), np.full(size - equations.links, 1e-4)))
    whole = np.linalg.inv(known.T @ known + rows.T @ rows + weak)
    masses = link_masses(problem, replace(found, covariance=base @ whole @ base.T), prior)
    assert masses is not None
    np.testing.assert_allclose(masses.std, np.sqrt(whole.diagonal()[: equations.links : 10]), rtol=1e-3)
    low, high = masses.interval()
    assert ((low < masses.mass) & (masses.mass < high)).all()
    without = ex.PhysicallyConsistent()
    alone = link_masses(problem, without.estimate(problem), without.prior)
    assert alone is not None
    assert np.isinf(alone.std[0])
    assert link_masses(problem, ex.WeightedLeastSquares().estimate(problem), prior) is None


def test_whether_a_robot_on_its_feet_leans_is_not_asked(stand: Experiment) -> None:
    """The attitude of its base was measured; and it is said."""
    log = stand.stood.recording(NOISE, 0)
    found = ex.identify(quadruped(), log, terms=TERMS, automatic=True, filter=EquationFilter(5.0))
    (said,) = [choice for choice in found.choices if choice.key == "gravity"]
    assert said.value == "as described"
    assert "attitude of the base was measured" in said.reason


def test_a_virtual_quadruped_from_end_to_end(tmp_path: Path) -> None:
    """MuJoCo's contacts, a controller, sensors, files, identification without forces of the ground, exports."""
    robot, radius = quadruped(), 0.015
    truth = Truth(robot, friction=TrueFriction(viscous=[0.0] * 6 + [0.03] * 12))
    contacts = replace(standing(1.0).stood.contacts, radius=radius)
    start, logs, control = posture(robot, radius), [], StandingControl(stiffness=80.0, damping=1.0, step=1e-3)
    for seed in (1, 2):
        moved = sines(7.0, np.array([0.03, 0.03, 0.02, 0.2, 0.15, 0.2]), seed)
        motion = standing_motion(robot, contacts.all, started(moved, start[:6]), start)
        stood = StandingRobot(truth, contacts, control).stand(motion, robot)
        if not logs:  # MuJoCo's motion, torques and forces satisfy our equations
            model = ex.DynamicModel(robot, TERMS)
            chi = model.nominal.copy()
            chi[model.inertial_size :] = 0.03
            measured = stood.recording(StandingNoise(0, 0, 0, 0, 0, 0), forces=True)
            point = replace(measured.about, contacts=replace(contacts, radius=0.0))
            assert stood.forces[1:, 2::3].min() > 0.0
            below = replace(measured, about=point).arranged(robot).torque  # at the frames' origins
            error = model.torque(stood.motion, chi)[:, 0:3] - below[:, 0:3]
            assert np.abs(error).max() < 1e-6 * np.abs(below).max()
        logs.append(stood.between(1.0, 7.0).recording(NOISE, seed))
    logs[0].save(tmp_path / "log.csv")
    # a little memory and time: explicit settings, no report
    found = ex.identify(
        ex.load(QUADRUPED, base="free"), tmp_path / "log.csv", validate=logs[1], terms=TERMS,
        estimator=ex.PhysicallyConsistent(prior=Prior(weight=100.0)), formulation=InverseDynamic(),
    )  # fmt: skip
    assert found.physically_consistent
    assert found.validation[0].total_percent < 5.0
    notes = " ".join(note.text for note in found.logs.notes)
    assert "forces of the ground on LF_foot" in notes
    assert "limbs that the description makes alike" in notes
    (spread,) = limb_spreads(found.identification.problem.model, found.identification.estimate.standard)
    assert spread.spread.max() < 0.2  # six seconds are little: benchmarks/quadruped.py has more
    folder = found.save(tmp_path / "found")
    again = ex.open(folder)
    assert again.parameters.names == found.parameters.names
    _exports(found, tmp_path)


def _exports(found: ex.Identified, folder: Path) -> None:
    import mujoco
    import pinocchio as pin

    base = found.identification.problem.model.joint_frame_inertias(found.identification.estimate.standard)[5]
    found.export(folder / "identified.urdf")
    read = pin.buildModelFromUrdf(str(folder / "identified.urdf"), pin.JointModelFreeFlyer())
    np.testing.assert_allclose(read.inertias[1].toDynamicParameters(), base, rtol=1e-6, atol=1e-9)
    found.export(folder / "identified.xml", format="mjcf")
    text = (folder / "identified.xml").read_text(encoding="utf-8")
    assert text.count("<freejoint") == 1
    assert text.count("<motor") == 12
    model = mujoco.MjModel.from_xml_path(str(folder / "identified.xml"))
    assert (model.nq, model.nv) == (19, 18)
    again = ex.load(folder / "identified.xml")
    np.testing.assert_allclose(again.joints[5].inertia, base, rtol=1e-6, atol=1e-9)
    assert again.joint_names[:6] == quadruped().joint_names[:6]


def test_limbs_that_are_alike_are_found() -> None:
    (legs,) = identical_limbs(quadruped())
    assert [quadruped().joint_names[leg[0]] for leg in legs] == ["LF_abduct", "LH_abduct", "RF_abduct", "RH_abduct"]
    assert all(len(leg) == 3 for leg in legs)
    assert identical_limbs(ex.load("panda")) == ()


def test_a_free_base_without_base_motion_exits_with_one_line(
    tmp_path: Path, flight: Experiment, capsys: pytest.CaptureFixture[str]
) -> None:
    from exciter.cli import main

    log = flight.stood.recording(NOISE)
    bare = ex.Recording.of(log.time, log.q, log.torque, joints=log.joints, about=About())
    bare.save(tmp_path / "log.csv")
    with pytest.raises(SystemExit) as caught:
        main(["identify", str(QUADRUPED), str(tmp_path / "log.csv"), "--base", "free", "-o", str(tmp_path / "out")])
    said = capsys.readouterr().err.strip().splitlines()
    assert caught.value.code == 2
    assert "the robot's base is free, but the log does not say" in said[-1]
    assert not (tmp_path / "out").exists()


def test_equations_with_nothing_on_their_right_side_tell_no_mass(flight: Experiment) -> None:
    """Those of a base in the air: torques of the joints alone say how heavy links are, by a finite number."""
    from_joints = exact_run(flight, flight.stood.torque, touching=False)
    found = StandardEquations.of(Problem(flight.model, (from_joints,)))
    assert not found.signal[:6].any()
    links = found.split(flight.chi)[0]
    assert fitted_mass(found, 1000.0 * links)[0] == pytest.approx(1e-3, rel=0.01)
    with pytest.raises(ParameterError, match="the torques say nothing of the masses of 'quadruped'"):
        fitted_mass(found, 1e-12 * links)


def test_a_contact_that_no_joint_moves_is_one_line(stand: Experiment) -> None:
    """On the base itself, or on the axis of a hip: unless the force there was measured, or it stands flat."""
    robot, log = quadruped(), stand.stood.recording(NOISE)
    hip = Frame("on the axis", robot.index("LF_abduct"), np.eye(3), np.zeros(3))
    robot = replace(robot, frames=(*robot.frames, hip))
    on_one = {"contact": log.contact[:, :1]}
    for name in ("trunk", "on the axis"):
        given = replace(log, **on_one, about=replace(log.about, contacts=Contacts((name,))))
        with pytest.raises(RecordingError, match=f"^contacts: the contact '{name}' is on the base itself; name a"):
            given.arranged(robot)
        forces = replace(given, contact_force=np.zeros((len(log), 3)))
        assert forces.arranged(robot).contact is None
    flat = replace(log, **on_one, about=replace(log.about, contacts=Contacts(("on the axis",), kind="flat")))
    assert flat.arranged(robot).contact is not None


def test_a_log_of_a_free_base_on_a_fixed_robot_is_warned_of(stand: Experiment) -> None:
    """Once, also where it is arranged again; not where the robot's base is free, too."""
    fixed, log = ex.load(QUADRUPED, base="fixed"), stand.stood.recording(NOISE)
    found = log.arranged(fixed)
    (told,) = (one for one in found.arranged(fixed).notes if one.subject == "free base")
    assert told.severity is Severity.WARNING
    assert "the log has base position, base orientation, base twist, contact, and the robot's base is" in told.text
    assert "load it with base: free" in told.text
    assert not any(one.subject == "free base" for one in log.arranged(quadruped()).notes)
    assert any("base is fixed: they are not used" in one.text for one in ex.inspect(fixed, log).findings)
