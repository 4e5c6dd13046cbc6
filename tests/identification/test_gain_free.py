"""Currents without drive gains: parameters times gain are those of torques, ratios with σ; from the command."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg

import exciter as ex
from exciter.cli import main
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.experiment.recording import About, Payload, Recording, write_recording
from exciter.identification.estimators.least_squares import OrdinaryLeastSquares, WeightedLeastSquares
from exciter.identification.formulations.gain_free import GainFree
from exciter.identification.gain_ratios import gain_ratios
from exciter.identification.information.problem import Problem
from exciter.identification.runs.run import Run
from exciter.parameters.terms import Coulomb, Offset, RotorInertia, Viscous
from exciter.robot import load
from support.robots import smooth_motion

pytestmark = pytest.mark.slow

RATE, GAINS = 200.0, np.array([50.0, 30.0, -20.0])  # the third motor counts backwards
NOISE = np.array([0.05, 0.1, 0.04])  # [A]


@pytest.fixture(scope="module")
def model() -> DynamicModel:
    return DynamicModel(load("gautier-khalil"), (RotorInertia(), Viscous(), Coulomb(), Offset()))


def truth(model: DynamicModel) -> np.ndarray:
    chi = model.nominal.copy()
    chi[model.inertial_size :] += np.random.default_rng(1).uniform(0.5, 3.0, len(chi) - model.inertial_size)
    return chi


def problem_of(model: DynamicModel, noise: float = 0.0, seed: int = 0) -> Problem:
    motion = smooth_motion(model.robot, np.arange(2000) / RATE, seed=5)
    current = model.torque(motion, truth(model)) / GAINS
    current = current + noise * NOISE * np.random.default_rng(seed).standard_normal(current.shape)
    return Problem(model, (Run.at(motion, current, RATE),), GainFree())


def test_parameters_times_gain_are_those_of_torques(model):
    """Exactly, each joint's by its own gain; and every parameter of all joints together is in some of them."""
    problem = problem_of(model)
    found, base = WeightedLeastSquares().estimate(problem), problem.base
    torques = model.base.base_values(truth(model))
    each = np.concatenate([own.base_values(truth(model)) for own in base.each])
    assert_allclose(found.values * GAINS[base.joint], each, rtol=1e-9, atol=1e-9)
    scaled = zip(found.names, found.values * GAINS[base.joint], strict=True)
    alone = {name.split("/")[0]: value for name, value in scaled}
    pairs = zip(model.base.names, torques, strict=True)
    shared = np.array([(alone[name], value) for name, value in pairs if name in alone])
    assert_allclose(*shared.T, rtol=1e-8, atol=1e-8)
    assert len(shared) > 15
    assert "ZZR1/G1" in found.names
    assert base.expressions[found.names.index("ZZR1/G1")].startswith("ZZR1/G1 = (ZZ1 + ")
    assert all("/A)" in unit for unit in found.units)


def test_each_joint_has_what_its_own_row_can_tell(model):
    """The same as dense least squares on the row of each joint by itself, columns of all parameters, by the SVD."""
    problem = problem_of(model, 1.0)
    found, base = OrdinaryLeastSquares().estimate(problem), problem.base
    (run,) = problem.runs
    (part,) = run.parts
    phi = model.regressor(part.motion)
    for j in range(model.n):
        size = np.abs(phi[:, j]).max(axis=0)
        heard = phi[:, j][:, size > 1e-9] / size[size > 1e-9]
        assert len(base.each[j]) == np.linalg.matrix_rank(heard, tol=1e-8 * np.linalg.norm(heard))
        solved = np.linalg.lstsq(phi[:, j], part.torque[:, j], rcond=1e-10)[0]  # one of many, with the same torques
        assert_allclose(found.values[base.joint == j], base.each[j].base_values(solved), rtol=1e-6, atol=1e-8)


def test_ratios_of_gains_are_exact_and_their_intervals_cover(model):
    problem = problem_of(model)
    exact = gain_ratios(model, problem.base, WeightedLeastSquares().estimate(problem))
    at = model.robot.joint_names.index(exact.reference)
    assert_allclose(exact.ratios, GAINS / GAINS[at], rtol=1e-8)
    noisy = problem_of(model, 1.0)
    estimate, base = WeightedLeastSquares().estimate(noisy), noisy.base
    true = np.concatenate([own.base_values(truth(model)) / GAINS[j] for j, own in enumerate(base.each)])
    root, rng, z, excess = linalg.cholesky(estimate.covariance, lower=True), np.random.default_rng(3), [], []
    for _ in range(80):
        drawn = replace(estimate, values=true + root @ rng.standard_normal(len(true)))
        found = gain_ratios(model, base, drawn)
        assert found.determined.all()
        ratios = GAINS / GAINS[model.robot.joint_names.index(found.reference)]
        z += [(a - b) / s for a, b, s in zip(found.ratios, ratios, found.std, strict=True) if s > 0.0]
        excess.append(found.excess)
    assert abs(np.mean(z)) < 0.3
    assert 0.8 < np.std(z) < 1.2
    assert 0.9 < np.mean(np.abs(z) < 1.96) < 0.99
    assert np.mean(excess) == pytest.approx(1.0, abs=0.15)


def test_a_joint_that_shares_nothing_has_no_ratio():
    """Where all but its own friction is as good as unknown."""
    robot = load("gautier-khalil")
    model = DynamicModel(robot, (Viscous(),))
    problem = problem_of(model)
    estimate, base = WeightedLeastSquares().estimate(problem), problem.base
    friction = np.array([name.startswith("Fv") for name in estimate.names])
    apart = np.where(friction | (base.joint != 2), estimate.values, 0.0)  # of joint 3 friction alone
    covariance = estimate.covariance + np.diag(np.where((base.joint == 2) & ~friction, 1e6, 0.0))
    found = gain_ratios(model, base, replace(estimate, values=apart, covariance=covariance))
    assert found.determined[:2].all()
    assert not found.determined[2] or found.std[2] > 10.0 * abs(found.ratios[2])


def left(arguments: list[str]) -> int:
    """The code that the command leaves with."""
    with pytest.raises(SystemExit) as found:
        main(arguments)
    return int(found.value.code or 0)


def test_from_the_command_without_gains(model, tmp_path, capsys, monkeypatch):
    """Fit and validation in amperes, ratios in result.json; what needs torques says so in one line."""
    monkeypatch.chdir(tmp_path)
    gains = np.abs(GAINS)  # a motor that counts backwards is refused before: signs: turns it round
    for name, seed in (("log", 5), ("other", 6)):
        motion = smooth_motion(model.robot, np.arange(4000) / RATE, seed=seed)
        current = model.torque(motion, truth(model)) / gains
        noise = NOISE * np.random.default_rng(seed).standard_normal(current.shape)
        log = Recording(model.robot.joint_names, motion.time, motion.q, current=current + noise)
        write_recording(log, tmp_path / f"{name}.csv")
    write_recording(replace(log, about=About(payload=Payload("joint_3", 2.0))), tmp_path / "full.csv")
    free = ("--formulation", "gain-free")
    assert left(["identify", "gautier-khalil", "log.csv", "-o", "out", *free, "--validate", "other.csv"]) == 0
    said, page = capsys.readouterr().out, (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "drive gains over that of" in said
    assert "residual / current [%]" in said
    assert "% of the current" in said
    assert "description" not in said.split("written to")[0]  # it says nothing of currents
    for words in ("of the torque", "residual / torque", "Residual / torque", "measured torque", "predicted torque"):
        assert words not in said + page
    found = ex.open("out")
    assert repr(found.validation).count("% of the current") + repr(found.validation).count("down to the noise") == 1
    size = np.sqrt(np.mean(found.validation[0].prediction.measured ** 2))
    assert found.validation[0].prediction.units == ("A", "A", "A")
    assert found.validation[0].total_percent < 3.0 * 100.0 * np.sqrt(np.mean(NOISE**2)) / size
    ratios, at = found.gain_ratios, model.robot.joint_names.index(found.gain_ratios.reference)
    assert (np.abs(ratios.ratios - gains / gains[at]) <= 4.0 * ratios.std + 1e-12).all()
    assert found.to_dict()["gain_ratios"]["reference"] == ratios.reference
    judged = ex.validate("out", "other.csv")
    assert judged[0].total_percent == pytest.approx(found.validation[0].total_percent, rel=1e-6)
    assert judged.inertia is None
    capsys.readouterr()
    refused = {
        ("export", "out", "--format", "yaml", "-o", "x.yaml"): "currents over unknown drive gains",
        ("identify", "gautier-khalil", "log.csv", "-o", "b"): "say in recording.yaml what they mean",
        ("identify", "gautier-khalil", "log.csv", "-o", "b", *free, "--estimator", "consistent"): "give one of ols",
        ("identify", "gautier-khalil", "full.csv", "-o", "b", *free): "a payload is stated",
        (
            "identify",
            "gautier-khalil",
            "log.csv",
            "-o",
            "b",
            *free,
            "--loaded",
            "full.csv",
        ): "loads are found",
        ("identify", "gautier-khalil", "log.csv", "-o", "b", *free, "--compare", "ols"): "compared by torques",
    }
    for arguments, said in refused.items():
        assert left(list(arguments)) == 2, arguments
        last = capsys.readouterr().err.strip().splitlines()[-1]
        assert said in last
    with pytest.raises(ExciterError, match="currents over unknown drive gains"):
        found.torque([0.1, 0.2, 0.3], [0, 0, 0], [0, 0, 0])
    for key in ({"gains": "identify"}, {"friction": "choose"}, {"evaluation": {"cutoff": 5}}, {"current_map": "cubic"}):
        with pytest.raises(ExciterError, match="is for torques in N·m"):
            ex.identify("gautier-khalil", "log.csv", {"identify": {"formulation": "gain-free", **key}})
