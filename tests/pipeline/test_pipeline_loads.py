"""Loads in the pipeline: settings chosen beside loaded logs, logs that state a part of their load, gains from it."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

from exciter.dynamics.model import DynamicModel
from exciter.errors import RecordingError
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.trajectory import motion
from exciter.experiment.recording import About, Payload, Recording, read_recording, write_recording
from exciter.identification.runs.run import load_torque
from exciter.parameters.terms import Coulomb, Viscous
from exciter.pipeline.identified import Identified
from exciter.pipeline.identify import identify
from exciter.pipeline.validate import validate
from exciter.robot import load

pytestmark = pytest.mark.slow

ROBOT = load("kuka-ir361")
LOAD = Payload("tool", 12.0, (0.05, -0.02, 0.1), (0.2, 0.02, -0.01, 0.15, 0.015, 0.1))
BY_MASS = Payload("tool", 12.0)
RATE, GAINS = 100.0, np.array([30.0, 50.0, 20.0])


@cache
def recorded(seed: int, payload: Payload | None = None, stated: Payload | None = None) -> Recording:
    model, rng = DynamicModel(ROBOT, (Viscous(), Coulomb())), np.random.default_rng(seed)
    moved = motion(Fourier(8.0, 4), 0.35 * rng.standard_normal((3, 9)), np.arange(1600) / RATE)
    torque = model.torque(moved, model.nominal) + (0.0 if payload is None else load_torque(model, payload, moved))
    torque = torque + rng.standard_normal(torque.shape) * [1.0, 1.5, 0.8]
    about = About(gravity=tuple(ROBOT.gravity.tolist()), payload=stated)
    return Recording(ROBOT.joint_names, moved.time, moved.q, torque=torque, about=about, name=f"log {seed}")


def in_currents(log: Recording) -> Recording:
    return replace(log, torque=None, current=log.torque / GAINS)


@cache
def chosen(loaded: bool) -> Identified:
    return identify(ROBOT, recorded(1), loaded=recorded(2, LOAD, BY_MASS) if loaded else ())


def truth_of(payload: Payload) -> np.ndarray:
    return np.array([payload.mass, *payload.centre, *payload.inertia])


def test_loaded_logs_change_nothing_of_what_is_identified():
    """Settings are chosen from the unloaded logs alone, and so are the parameters."""
    alone, beside = chosen(False), chosen(True)
    assert beside.choices
    assert [str(one) for one in beside.choices] == [str(one) for one in alone.choices]
    assert_allclose(beside.identification.estimate.values, alone.identification.estimate.values, rtol=1e-12)
    assert_allclose(beside.identification.estimate.std, alone.identification.estimate.std, rtol=1e-12)
    assert beside.config.terms == beside.identification.problem.model.terms
    assert (np.abs(beside.payload.values - truth_of(LOAD)) < 3.3 * beside.payload.std).all()


def test_a_load_stated_by_its_mass_is_compared_in_its_mass():
    known = chosen(True).known_load
    assert known.verdict.startswith("recovered")
    assert np.isfinite(known.known).tolist() == [True] + [False] * 9
    words = " ".join(known.sentences)
    assert "known 12 kg" in words
    assert "the log does not state them: cx, cy, cz, Ixx" in words
    assert known.to_dict()["quantities"][1]["known"] is None


def test_two_logs_with_the_same_load_agree():
    one, two = chosen(True).payload, identify(ROBOT, recorded(1), loaded=recorded(3, LOAD)).payload
    assert (np.abs(one.values - two.values) < 3.0 * np.hypot(one.std, two.std)).all()
    assert (np.abs(one.values - two.values) < 2.0 * np.hypot(one.std, two.std)).mean() >= 0.9


def test_a_log_that_states_a_part_of_its_load_is_identified_from(tmp_path):
    """Beside an empty one, centre and inertia are found, and taken off; of a held-out log with the same load, too."""
    found = identify(
        ROBOT, [recorded(1), recorded(2, LOAD, BY_MASS)], validate=recorded(4, LOAD, BY_MASS), estimator="wls"
    )
    assert "found from the logs beside it, centre [" in " ".join(str(one) for one in found.notes)
    estimate, model = found.identification.estimate, found.identification.problem.model
    assert (np.abs(estimate.values - model.base.base_values(model.nominal)) < 4.0 * estimate.std).all()
    assert found.validation[0].total_percent < 5.0
    assert_allclose(found.logs.logs[1].run.payload.centre, LOAD.centre, atol=0.01)
    found.save(tmp_path / "found")
    with pytest.raises(RecordingError, match=r"log 5.*centre and inertia of the load of 12 kg"):
        validate(tmp_path / "found", recorded(5, LOAD, BY_MASS))
    with pytest.raises(RecordingError, match=r"log 5.*centre and inertia of the load of 3 kg"):
        identify(ROBOT, recorded(1), validate=recorded(5, LOAD, replace(BY_MASS, mass=3.0)), estimator="wls")


def test_gains_of_currents_from_a_load_known_by_its_mass():
    """Another load, of which nothing is known, is found beside them; its σ has that of the gains."""
    logs = [in_currents(one) for one in (recorded(1), recorded(2, LOAD, BY_MASS))]
    other = replace(LOAD, mass=7.0)
    found = identify(ROBOT, logs, loaded=in_currents(recorded(6, other)), gains={})
    assert_allclose(found.gains.gains, GAINS, rtol=0.03)
    low, high = found.gains.interval(0.999)
    assert ((low < GAINS) & (high > GAINS)).all()
    assert abs(found.payload.mass - 7.0) < 3.0 * found.payload.std[0]
    assert found.payload.std[0] > 0.9 * 7.0 * found.gains.relative_std_percent[1:].min() / 100.0
    assert any("gains" in one.text for one in found.identification.estimate.assumptions)


def test_what_is_not_given_stays_so_in_files(tmp_path):
    write_recording(recorded(2, LOAD, BY_MASS), tmp_path / "log.csv")
    assert read_recording(tmp_path / "log.csv").about.payload == BY_MASS
    assert "centre" not in (tmp_path / "log.yaml").read_text(encoding="utf-8")
