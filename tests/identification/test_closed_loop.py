"""The whole experiment: trajectory, virtual robot, log on disk, repairs, each route; compared with what was so."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from exciter.errors import RecordingError
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.ramps import ramped
from exciter.experiment.quality import check
from exciter.experiment.quality.prepare_log import process, usual_route
from exciter.experiment.recording import AnalogFilter, Recording, open_recording, write_recording
from exciter.experiment.signals.differentiation import FilteredDifferences, SmoothingSpline
from exciter.experiment.signals.equation_rows import ParallelFilter, filtered_rows
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.experiment.signals.low_pass_filter import Butterworth
from exciter.experiment.virtual import Encoder, GearedDrive, Sampling, TorqueMeter, VirtualRobot, draw
from exciter.identification.information.information import Information
from exciter.notes import texts
from exciter.robot import load
from support.paths import ROOT

pytestmark = pytest.mark.slow

ROBOT = load("kuka-ir361")
NOISE = np.array([4.0, 4.0, 2.0])  # [N·m]
ROUTES = {"spectral": FourierFit(), "filtered": FilteredDifferences(), "spline": SmoothingSpline()}
SLIPS = 0.05  # [rad/s] faster than this, dry friction is constant


def run(folder, robot, seed, rate=None):
    """Six periods in amperes behind a 40 Hz filter, jitter and lost samples; what was so, and the log read back."""
    family = Fourier(period=4.0, harmonics=4)
    delta = 0.15 * np.random.default_rng(3).standard_normal((ROBOT.n, len(family.labels)))
    virtual = VirtualRobot(
        robot,
        draw(robot, seed=5),
        drive=GearedDrive(gear=100.0, torque_constant=0.2),
        encoder=Encoder(counts=None, noise=1e-4),
        meter=TorqueMeter(current=True, noise=NOISE, filter=AnalogFilter(order=8, cutoff=40.0)),
        sampling=Sampling(rate=250.0, jitter=2e-4, dropped=0.01),
        simulation_rate=rate,
    )
    simulated = virtual.run(ramped(family, delta, ROBOT, periods=6), seed=seed)
    write_recording(simulated.recording, folder / "log.csv")
    return simulated, open_recording(folder / "log.yaml").read().arranged(ROBOT)


@pytest.fixture(scope="module")
def dry(tmp_path_factory):
    """A robot with dry friction, which the controller does not quite make up for: its motion has corners."""
    return run(tmp_path_factory.mktemp("dry"), ROBOT, seed=2, rate=1000.0)


@pytest.fixture(scope="module")
def smooth(tmp_path_factory):
    """The same robot with all friction viscous: what it executes is as smooth as what was planned."""
    viscous = replace(ROBOT, friction={**ROBOT.friction, "coulomb": np.zeros(ROBOT.n)})
    return run(tmp_path_factory.mktemp("smooth"), viscous, seed=3)


def processed(experiment, word):
    simulated, recording = experiment
    (part,) = process(recording.between(simulated.recording.about.settled, np.inf), ROUTES[word]).parts
    return part


def truth_at(simulated, time):
    """q̇, q̈ and torque that were really so at other instants; a log of 250 Hz is fine enough for that."""
    exact = simulated.motion
    inside = (time > exact.time[5]) & (time < exact.time[-5])
    values = [CubicSpline(exact.time, x)(time[inside]) for x in (exact.qd, exact.qdd, simulated.torque)]
    return inside, values


def relative(error, value):
    return float(np.sqrt((error**2).mean() / (value**2).mean()))


def test_the_log_tells_of_its_losses_and_is_usable(dry):
    simulated, recording = dry
    np.testing.assert_array_equal(recording.time, simulated.recording.time)
    np.testing.assert_array_equal(recording.current, simulated.recording.current)
    quality = check(recording)
    assert quality.usable
    assert any("lost" in finding.subject or "lost" in finding.text for finding in quality.findings)


def test_every_route_gives_back_what_was_so_and_spectral_differentiation_best(smooth):
    simulated, _ = smooth
    errors = {}
    for word in ROUTES:
        motion = processed(smooth, word).motion
        inside, (qd, qdd, _) = truth_at(simulated, motion.time)
        errors[word] = relative(motion.qd[inside] - qd, qd), relative(motion.qdd[inside] - qdd, qdd)
    assert all(velocity < 1e-3 and acceleration < 5e-3 for velocity, acceleration in errors.values())
    assert errors["spectral"][1] < 0.5 * min(errors["filtered"][1], errors["spline"][1])


@pytest.mark.parametrize("word", ROUTES)
def test_with_dry_friction_too_away_from_its_corners(dry, word):
    simulated, _ = dry
    motion = processed(dry, word).motion
    inside, (qd, qdd, _) = truth_at(simulated, motion.time)
    slips = np.abs(qd) > SLIPS
    assert relative((motion.qd[inside] - qd)[slips], qd[slips]) < 2e-3
    assert relative((motion.qdd[inside] - qdd)[slips], qdd[slips]) < 0.03


def test_averaged_and_prewhitened_currents_give_the_torque(dry):
    simulated, _ = dry
    data = processed(dry, "spectral")
    inside, (qd, _, torque) = truth_at(simulated, data.motion.time)
    error = np.where(np.abs(qd) > SLIPS, data.torque[inside] - torque, 0.0)  # a jump has no bandwidth
    assert (np.sqrt((error**2).mean(axis=0)) < 2.0 * data.torque_noise).all()


@pytest.mark.parametrize("word", ROUTES)
def test_parameters_come_back(dry, word):
    """Rows of each route, both sides through the same filter: the torque they predict for what was so is right."""
    simulated, _ = dry
    model = simulated.truth.model
    columns = model.base.independent
    information = Information.empty(len(columns))
    for rows in filtered_rows(model, processed(dry, word), ParallelFilter(Butterworth(10.0, 4)), columns):
        information = information.add(*rows.equations(NOISE))
    values, _ = information.solve()
    w = model.regressor(simulated.motion)[:, :, columns]
    true = model.base.base_values(simulated.truth.chi)
    assert relative(w @ (values - true), w @ true) < 0.01


def test_the_usual_route_and_parts_between_gaps(dry):
    _, recording = dry
    assert isinstance(usual_route(recording)[0], FourierFit)
    once = replace(recording, about=replace(recording.about, period=None, filter=None))
    assert isinstance(usual_route(once)[0], FilteredDifferences)
    torn = Recording.join([once.between(1.0, 6.0), once.between(7.0, 12.0), once.between(13.0, 13.6)])
    prepared = process(torn)
    assert [round(part.motion.time[0]) for part in prepared.parts] == [2, 8]
    assert any(word.startswith("left out 13") for word in texts(prepared.notes))
    assert "no period is given: low-passed and differentiated" in texts(prepared.notes)
    few = replace(recording, about=replace(recording.about, period=20.0))
    assert "periods of 20 s are too few" in usual_route(few)[1].text
    with pytest.raises(RecordingError, match=r"0\.5 s are needed"):
        process(once.between(13.0, 13.3))


def test_a_periodic_log_with_gaps_is_averaged_as_one(dry):
    """Some of its periods are whole."""
    simulated, recording = dry
    start = simulated.recording.about.settled
    kept = np.ones(len(recording), dtype=bool)
    for gap in (1.0, 10.0, 18.0):
        kept &= ~((recording.time > start + gap) & (recording.time < start + gap + 0.5))
    prepared = process(recording[kept])
    (part,) = prepared.parts
    assert part.rate == pytest.approx(250.0)
    assert sum("without samples" in word for word in texts(prepared.notes)) == 3
    assert any("mean of 2 periods" in word for word in texts(prepared.notes))
    for first in (1.0, 4.8):  # a gap in every period: another route, and why
        for gap in np.arange(first, 24.0, 3.7):
            kept &= ~((recording.time > start + gap) & (recording.time < start + gap + 0.3))
    prepared = process(recording[kept])
    assert len(prepared.parts) > 3
    assert any(word.startswith("low-passed and differentiated: no whole period") for word in texts(prepared.notes))
    assert len({part.torque_bandwidth for part in prepared.parts}) == 1
    assert np.isfinite(prepared.parts[0].torque_bandwidth)


def test_the_document_does_what_it_says(capsys):
    """docs/signals.md: its programs run as they stand, and the parameters come back."""
    text = (ROOT / "docs" / "signals.md").read_text(encoding="utf-8")
    first, second = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(first, {})
    names: dict = {}
    exec(second, names)
    assert relative(names["values"] - names["true"], names["true"]) < 0.01
    assert "the motion repeats every 10 s" in capsys.readouterr().out
