"""The wrench on the base: the regressor against Pinocchio, identification without joint friction, and its way from a
file through repairs and routes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
import yaml
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2

from exciter.dynamics.base_reaction import BaseReaction
from exciter.dynamics.model import DynamicModel
from exciter.errors import RecordingError
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.quality.prepare_log import process
from exciter.experiment.recording import About, Payload, Recording, read_recording, write_recording
from exciter.experiment.signals.differentiation import FilteredDifferences, SmoothingSpline
from exciter.experiment.signals.equation_rows import ParallelFilter, Rows
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.experiment.signals.processed_motion import Processed, Route
from exciter.identification.estimators.least_squares import WeightedLeastSquares
from exciter.identification.formulations.dynamic import WRENCH_EQUATIONS, BaseWrench, InverseDynamic
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.notes import texts
from exciter.parameters.terms import Coulomb, Viscous
from exciter.robot import Motion, Robot, load
from support.robots import random_gravity, random_robot, smooth_motion, states

OFFSET = np.array([12.0, -7.0, 250.0, 3.0, 1.0, -2.0])  # the plate's zero, and the weight of the base


def free_flyer_wrench(robot: Robot, motion: Motion) -> np.ndarray:
    """(N, 6) Pinocchio: the robot on a free flyer that does not move; force and torque in its own axes."""
    model = pin.Model()
    model.gravity = pin.Motion(np.array(robot.gravity), np.zeros(3))
    model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")
    for index, joint in enumerate(robot.joints):
        kind = pin.JointModelPrismaticUnaligned if joint.is_prismatic else pin.JointModelRevoluteUnaligned
        placement = pin.SE3(np.array(joint.rotation), np.array(joint.translation))
        model.addJoint(joint.parent + 2, kind(np.array(joint.axis)), placement, joint.name)
        model.inertias[index + 2] = pin.Inertia.FromDynamicParameters(np.array(joint.inertia))
    data, still = model.createData(), pin.neutral(model)[:7]
    states = zip(motion.q, motion.qd, motion.qdd, strict=True)
    rest = np.zeros(6)
    found = [pin.rnea(model, data, np.r_[still, q], np.r_[rest, qd], np.r_[rest, qdd])[:6] for q, qd, qdd in states]
    return np.array(found)


def measured(model: DynamicModel, rate: float = 200.0, duration: float = 10.0) -> Processed:
    """Joints with friction that nobody measures: the log has no torque."""
    motion = smooth_motion(model.robot, np.arange(round(rate * duration)) / rate, seed=2)
    return Processed(motion, np.zeros_like(motion.q), rate, wrench=free_flyer_wrench(model.robot, motion) + OFFSET)


def expected(model: DynamicModel) -> np.ndarray:
    return BaseWrench().base(model).base_values(np.append(model.nominal[: model.inertial_size], OFFSET))


def estimated(model: DynamicModel, *parts: Processed, payload: Payload | None = None) -> np.ndarray:
    return WeightedLeastSquares().estimate(Problem(model, (Run(parts, payload=payload),), BaseWrench())).values


# -- the equations -----------------------------------------------------------------------------------------------------


def test_wrench_is_that_of_pinocchio(any_robot: Robot) -> None:
    """By both ways, on any robot, gravity anywhere; base parameters reproduce the rows."""
    robot = any_robot.with_gravity(random_gravity(any_robot.name))
    model, motion = DynamicModel(robot), states(any_robot, 12)
    reaction = BaseReaction(model)
    oracle = free_flyer_wrench(robot, motion)
    size = np.abs(oracle).max()
    assert_allclose(reaction.wrench(motion), oracle, rtol=0, atol=1e-11 * size)
    phi = reaction.regressor(motion)
    assert_allclose(phi @ model.nominal, oracle, rtol=0, atol=1e-11 * size)
    base = BaseWrench().base(model)
    assert base.decision.is_clear
    rows = np.concatenate([phi, np.broadcast_to(np.eye(6), (len(phi), 6, 6))], axis=2)
    chi = np.append(model.nominal, OFFSET)
    exact = oracle + OFFSET
    assert_allclose(base.project(rows) @ base.base_values(chi), exact, rtol=0, atol=1e-8 * np.abs(exact).max())
    assert len(BaseWrench().units(model)) == len(base.standard)


def test_parameters_come_back_exactly_and_friction_does_not_matter() -> None:
    model = DynamicModel(load("panda").with_gravity([2.0, 1.0, -9.0]), (Viscous(), Coulomb()))
    part = measured(model)
    assert_allclose(estimated(model, part), expected(model), rtol=0, atol=1e-9 * np.abs(expected(model)).max())
    names = Problem(model, (Run((part,)),), BaseWrench()).names
    assert not any(name.startswith(("Fv", "Fs")) for name in names)
    assert [name.removesuffix("R") for name in names[-6:]] == [f"off.{x}" for x in ("fx", "fy", "fz", "mx", "my", "mz")]


def test_pieces_and_a_filter() -> None:
    model = DynamicModel(load("gautier-khalil"))
    part = measured(model, 500.0)
    for formulation in (BaseWrench(), BaseWrench(ParallelFilter(factor=2))):
        columns = formulation.base(model).independent
        whole, cut = (
            Rows.join(list(formulation.rows(model, pieces, columns)))
            for pieces in ([part], [part[:3], part[3:2200], part[2200:]])
        )
        assert_allclose(whole.sides, cut.sides, rtol=0, atol=1e-10 * np.abs(whole.sides).max())
        assert whole.joints == WRENCH_EQUATIONS == formulation.equations(model)


def test_known_payload_is_taken_off() -> None:
    robot = random_robot(8, 3, prismatic=0.0)
    model = DynamicModel(robot)
    payload = Payload("j3", 2.0, (0.1, -0.05, 0.2), (0.03, 0.001, 0.0, 0.02, 0.0, 0.01))
    heavy = list(robot.joints)
    centre, (xx, xy, xz, yy, yz, zz) = np.array(payload.centre), payload.inertia
    about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    about += payload.mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
    order = [about[a, b] for a, b in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))]
    carried = np.array([payload.mass, *(payload.mass * centre), *order])
    heavy[2] = replace(heavy[2], inertia=heavy[2].inertia + carried)
    part = measured(DynamicModel(replace(robot, joints=tuple(heavy))))
    found = estimated(model, part, payload=payload)
    assert_allclose(found, expected(model), rtol=0, atol=1e-9 * np.abs(expected(model)).max())
    assert np.abs(estimated(model, part) - expected(model)).max() > 0.1


def test_reported_covariance_is_the_real_one() -> None:
    model = DynamicModel(load("gautier-khalil"))
    part, noise, runs = measured(model, 50.0), np.array([3.0, 3.0, 8.0, 1.0, 1.0, 0.5]), 60
    assert part.wrench is not None
    rng, squares, true = np.random.default_rng(1), 0.0, expected(model)
    for _ in range(runs):
        noisy = replace(part, wrench=part.wrench + noise * rng.standard_normal(part.wrench.shape))
        found = WeightedLeastSquares().estimate(Problem(model, (Run((noisy,)),), BaseWrench(), folds=1))
        off = found.values - true
        squares += off @ np.linalg.solve(found.covariance, off)
    low, high = chi2.ppf([0.001, 0.999], len(true) * runs)
    assert low < squares < high


def test_what_was_not_recorded_is_refused() -> None:
    model = DynamicModel(load("gautier-khalil"))
    part = measured(model)
    with pytest.raises(RecordingError, match="no wrench on the base was recorded"):
        estimated(model, replace(part, wrench=None))
    with pytest.raises(RecordingError, match="torque of 'joint_1' is zero throughout run: it was not recorded"):
        _ = Problem(model, (Run((part,)),), InverseDynamic()).compressed


# -- from a file to parameters -----------------------------------------------------------------------------------------


def recording(model: DynamicModel, periods: int = 3) -> Recording:
    """Without torque: a plate is all there is."""
    delta = np.random.default_rng(7).standard_normal((model.n, 7)) * 0.5
    motion = motion_of(Fourier(5.0, 3), delta, np.arange(periods * 1000) / 200.0)
    wrench = free_flyer_wrench(model.robot, motion) + OFFSET
    about = About(period=5.0, settled=0.0)
    return Recording(model.robot.joint_names, motion.time, motion.q, about=about, wrench=wrench)


@pytest.mark.parametrize(
    "route", [FilteredDifferences(20.0), FourierFit(), FourierFit(harmonics=3), SmoothingSpline(), None], ids=repr
)
def test_every_route_carries_the_wrench(route: Route | None) -> None:
    model = DynamicModel(load("gautier-khalil"))
    run = Run.of(recording(model), route)
    found = WeightedLeastSquares().estimate(Problem(model, (run,), BaseWrench())).values
    true = expected(model)
    assert np.linalg.norm(found - true) < 2e-3 * np.linalg.norm(true)


def test_uneven_times_and_holes() -> None:
    """Resampled beside the joints; what is missing is filled and told, by name."""
    model = DynamicModel(load("gautier-khalil"))
    log = recording(model)
    kept = np.random.default_rng(0).random(len(log)) > 0.1
    wrench = log.wrench.copy()
    wrench[500, 2] = wrench[700, 4] = np.nan
    prepared = process(replace(log, wrench=wrench)[kept | ~np.isfinite(wrench).all(axis=1)], FilteredDifferences(20.0))
    assert any("filled 2 missing values of wrench (fz, my)" in word for word in texts(prepared.notes))
    part = prepared.parts[0]
    exact = np.column_stack([np.interp(part.motion.time, log.time, column) for column in log.wrench.T])
    assert_allclose(part.wrench, exact, rtol=0, atol=2e-3 * np.abs(exact).max())
    wrench[1::3, 0] = np.nan
    with pytest.raises(RecordingError, match="wrench of fx holds no numbers in 33 %"):
        process(replace(log, wrench=wrench))


@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_own_files_keep_every_bit(tmp_path: Path, suffix: str) -> None:
    log = recording(DynamicModel(load("gautier-khalil")), 1)
    for given in (log, replace(log, torque=2.0 * log.q)):
        write_recording(given, tmp_path / f"log{suffix}")
        back = read_recording(tmp_path / f"log{suffix}")
        assert_array_equal(back.wrench, given.wrench)
        assert_array_equal(back.q, given.q)
        assert (back.torque is None) == (given.torque is None)
        assert back.channels == given.channels
    if suffix == ".csv":
        header = (tmp_path / "log.csv").read_text(encoding="utf-8").splitlines()[0]
        assert header.endswith("base.fx,base.fy,base.fz,base.mx,base.my,base.mz")


def test_foreign_logs_say_where_the_wrench_is(tmp_path: Path) -> None:
    log = recording(DynamicModel(load("gautier-khalil")), 1)[:50]
    table = np.column_stack([log.time, log.q, -1e-3 * log.wrench])
    names = ["t", "a", "b", "c", "Fx", "Fy", "Fz", "Mx", "My", "Mz"]
    np.savetxt(tmp_path / "plate.csv", table, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
    description = {
        "file": "plate.csv",
        "joints": list(log.joints),
        "time": {"column": "t", "unit": "s"},
        "position": {"columns": ["a", "b", "c"], "unit": "rad"},
        "wrench": {"columns": names[4:], "unit": "kN", "factor": -1},
    }
    path = tmp_path / "recording.yaml"

    def read(**wrench: object) -> Recording:
        path.write_text(yaml.safe_dump({**description, "wrench": {**description["wrench"], **wrench}}))
        return read_recording(path)

    assert_allclose(read().wrench, log.wrench, rtol=1e-12)
    mixed = read(unit="N", factor=[-1e3, -1e3, -1e3, -2e3, -2e3, -2e3])
    assert_allclose(mixed.wrench, log.wrench * [1, 1, 1, 2, 2, 2], rtol=1e-12)
    for wrong, words in (
        ({"unit": "N·m"}, "not of wrench; allowed are N, kN"),
        ({"columns": names[4:9]}, r"5 columns for 6 .*\(fx, fy, fz, mx, my, mz\)"),
        ({"factor": [1.0, 2.0]}, "has 2 numbers"),
        ({"factor": 1e9}, "no robot reaches that"),
    ):
        with pytest.raises(RecordingError, match=words):
            read(**wrong)


def test_shapes_are_checked() -> None:
    log = recording(DynamicModel(load("gautier-khalil")), 1)
    with pytest.raises(RecordingError, match=r"wrench has shape \(1000, 3\); expected \(1000, 6\)"):
        replace(log, wrench=log.q)
    part = measured(DynamicModel(load("gautier-khalil")))
    with pytest.raises(RecordingError, match="wrench has shape"):
        replace(part, wrench=part.motion.q)
    with pytest.raises(RecordingError, match="neither torque nor current"):
        replace(log, wrench=None).needed_torque()
