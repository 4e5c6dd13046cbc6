"""Drives that saturate: a linear gain leaves an error that a map removes; the cubic part is found, and its σ covers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import exciter as ex
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, RecordingError
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion as motion_of
from exciter.experiment.recording import About, Payload, Recording
from exciter.experiment.recording.current_map import PolynomialMap
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.identification.drive_map import current_of, identify_map
from exciter.identification.estimators.least_squares import WeightedLeastSquares
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.runs.run import Run, load_torque
from exciter.parameters.terms import Coulomb, Viscous
from exciter.robot import load

pytestmark = pytest.mark.slow

GAINS, RATE = np.array([50.0, 30.0, -20.0]), 200.0
CUBIC = np.array([-0.10, -0.009, 0.006])  # some 8 % less torque than a gain says where currents are largest
NOISE = np.array([0.05, 0.1, 0.06])  # [A]
LOAD = Payload("tool", 10.0, (0.05, 0.0, 0.1), (0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
FILTERED = InverseDynamic(ParallelFilter(Butterworth(20.0)))


@pytest.fixture(scope="module")
def model() -> DynamicModel:
    return DynamicModel(load("kuka-ir361"), (Viscous(), Coulomb()))


def path(samples: int = 1000, seed: int = 5):
    family = Fourier(period=5.0, harmonics=5)
    delta = 0.4 * np.random.default_rng(seed).standard_normal((3, len(family.labels)))
    return motion_of(family, delta, np.arange(samples) / RATE)


def run_of(model: DynamicModel, payload: Payload | None = None, noise: float = 0.0, seed: int = 0) -> Run:
    motion = path()
    torque = model.torque(motion) + (0.0 if payload is None else load_torque(model, payload, motion))
    current = current_of(torque, GAINS, CUBIC)
    assert_allclose(GAINS * current + CUBIC * current**3, torque, rtol=1e-9, atol=1e-9)
    current = current + noise * NOISE * np.random.default_rng(seed).standard_normal(current.shape)
    return replace(Run.at(motion, current, RATE), payload=payload)


@pytest.mark.parametrize("gains_known", [True, False])
@pytest.mark.parametrize("formulation", [InverseDynamic(), FILTERED], ids=["as measured", "filtered"])
def test_exact_currents_give_exact_drives_and_parameters(model, gains_known, formulation):
    runs = [run_of(model)] if gains_known else [run_of(model), run_of(model, LOAD)]
    found = identify_map(model, runs, GAINS if gains_known else None, (), formulation)
    assert_allclose(found.cubic, CUBIC, rtol=1e-8)
    assert_allclose(found.gains, GAINS, rtol=1e-9)
    assert_allclose(found.base, model.base.base_values(model.nominal), atol=1e-7)
    assert found.about_map[1] == PolynomialMap((found.gains[1], 0.0, found.cubic[1]))


def test_the_cubic_part_is_unbiased_and_its_intervals_cover(model):
    """Also beside parameters; least squares with i³ as a column draws it to zero where noise is large."""
    true, z, deviations, plain = model.base.base_values(model.nominal), [], [], []
    for seed in range(24):
        run = run_of(model, noise=3.0, seed=seed)
        found = identify_map(model, [run], GAINS, (), FILTERED)
        z.append((found.cubic - CUBIC) / found.cubic_std)
        deviations.append(found.base - true)
        (part,) = run.parts
        w, y = model.base.project(model.regressor(part.motion)), part.torque * GAINS
        columns = -(part.torque**3)[..., None] * np.eye(3)
        wide = np.concatenate([w, columns], axis=-1) / (3.0 * NOISE * np.abs(GAINS))[:, None]
        solved = np.linalg.lstsq(wide.reshape(-1, wide.shape[-1]), (y / (3.0 * NOISE * np.abs(GAINS))).ravel())[0]
        plain.append(solved[-3:])
    z = np.array(z)
    assert (np.abs(z.mean(axis=0)) < 0.6).all()  # three standard errors
    assert ((z.std(axis=0) > 0.6) & (z.std(axis=0) < 1.35)).all()
    assert 0.88 < np.mean(np.abs(z) < 1.96) <= 1.0
    bias = np.abs(np.mean(plain, axis=0) - CUBIC) / (np.std(plain, axis=0) / np.sqrt(len(plain)))
    assert bias.max() > 3.0
    spread = np.linalg.eigvalsh(found.shared)
    assert spread.min() > -1e-9 * spread.max()


def log_of(model: DynamicModel, seed: int, about: About) -> Recording:
    motion = path(4000, seed)
    current = current_of(model.torque(motion), GAINS, CUBIC)
    current = current + 0.2 * NOISE * np.random.default_rng(seed).standard_normal(current.shape)
    return Recording(model.robot.joint_names, motion.time, motion.q, current=current, about=about, name=f"log {seed}")


def test_a_map_removes_what_a_gain_leaves(model, tmp_path):
    """Known, and found: held-out motion is predicted to the noise; saved, opened and validated with the map."""
    maps = tuple(PolynomialMap((gain, 0.0, cubic)) for gain, cubic in zip(GAINS, CUBIC, strict=True))
    left, options = {}, {"estimator": WeightedLeastSquares(), "terms": ["viscous", "coulomb"]}
    options["accept_problems"] = True  # the third motor counts backwards
    for name, about, more in (
        ("gain", About(gains=tuple(GAINS)), {}),
        ("map", About(map=maps), {}),
        ("cubic", About(gains=tuple(GAINS)), {"current_map": "cubic"}),
    ):
        logs = [log_of(model, seed, about) for seed in (5, 6)]
        found = ex.identify(model.robot, logs[0], validate=logs[1], **options, **more)
        left[name] = found.validation[0].total_percent
    assert left["gain"] > 2.0 * left["map"]
    assert left["cubic"] < 1.1 * left["map"]
    drives = found.gains
    assert drives.gains_known
    assert (np.abs(drives.cubic - CUBIC) < 4.0 * drives.cubic_std).all()
    assert "cubic parts [N·m/A³]" in drives.sentence
    folder = found.save(tmp_path / "found")
    assert ex.validate(folder, logs[1])[0].total_percent == pytest.approx(left["cubic"], rel=1e-6)
    bare = log_of(model, 5, About())
    with pytest.raises(ExciterError, match="states no gains of its currents"):
        ex.identify(model.robot, bare, **options, current_map="cubic")
    half = replace(run_of(model), payload=Payload("tool", 10.0))
    with pytest.raises(RecordingError, match="a cubic part needs them"):
        identify_map(model, [run_of(model), half], None)
