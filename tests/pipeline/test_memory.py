"""Logs larger than memory and long trajectory files: the same results, in memory that does not grow with them."""

import json
import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import yaml
from numpy.testing import assert_allclose, assert_array_equal

from exciter.cli import main
from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, RecordingError
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits
from exciter.excitation.files.row_files import message_as_written, ros2_yaml, sample
from exciter.excitation.trajectories.fourier import Fourier
from exciter.excitation.trajectories.ramps import ramped
from exciter.experiment.quality import Repairs, repair
from exciter.experiment.quality.repair import RepairedLog, RepairTally
from exciter.experiment.recording import About, Recording, open_recording, write_recording
from exciter.experiment.signals.differentiation import FilteredDifferences
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.fourier_fit import FourierFit
from exciter.identification.estimators.least_squares import WeightedLeastSquares
from exciter.identification.formulations.dynamic import InverseDynamic
from exciter.identification.information.problem import Problem
from exciter.identification.runs import run as runs
from exciter.identification.runs.run import SAMPLE_BYTES, LongLog, Run
from exciter.identification.uncertainty.covariance_of_correlated_errors import with_correlated_errors
from exciter.notes import texts
from exciter.parameters.terms import Coulomb, Dahl, Offset, RotorInertia, Viscous
from exciter.robot import load
from support.robots import smooth_motion

pytestmark = pytest.mark.slow

ROBOT = load("gautier-khalil")
MODEL = DynamicModel(ROBOT, (RotorInertia(), Viscous(), Coulomb(Dahl(1e-3)), Offset()))
RATE = 200.0
CHUNK = 1700
ROUTE = FilteredDifferences(cutoff=20.0)


def recorded(samples: int, seed: int = 0, **about) -> Recording:
    """A motion of the robot and its torque, with noise on both."""
    rng = np.random.default_rng(seed)
    motion = smooth_motion(ROBOT, np.arange(samples) / RATE, seed)
    chi = np.concatenate([ROBOT.inertias.ravel(), np.repeat([0.5, 2.0, 3.0, 0.1], 3)])
    torque = MODEL.torque(motion, chi) + 0.3 * rng.standard_normal(motion.q.shape)
    q = motion.q + 1e-5 * rng.standard_normal(motion.q.shape)
    return Recording(ROBOT.joint_names, motion.time, q, torque=torque, about=About(**about))


def peak(work: Callable[[], object]) -> int:
    """[B] that work takes beyond what was there, once kernels are loaded and all is known that is kept."""
    work()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def long_log(recording: Recording, sample_bytes: int = SAMPLE_BYTES, **settings) -> LongLog:
    chunks = lambda: recording.chunks(CHUNK)  # noqa: E731
    return LongLog.of(chunks, "long", MODEL, Repairs(**settings), sample_bytes=sample_bytes)


# -- repairs -----------------------------------------------------------------------------------------------------------


def damaged() -> Recording:
    """Rest at both ends, a gap, lost values, copies, outliers and angles that wrap; some of it where pieces are cut."""
    whole, rng = recorded(12_000, 3), np.random.default_rng(5)
    q, torque, time = whole.q.copy(), whole.torque.copy(), whole.time.copy()
    q[:900], q[11_000:] = q[900], q[11_000]
    q += 1e-5 * rng.standard_normal(q.shape)
    torque[CHUNK - 2 : CHUNK + 3, 1] = np.nan
    torque[[4000, 2 * CHUNK], 0] = 1e15
    torque[[5000, 3 * CHUNK - 1, 3 * CHUNK + 1], 2] += 1e4
    q[:, 0] = (q[:, 0] + 3.0 + np.pi) % (2.0 * np.pi) - np.pi
    time[7000:] += 2.0
    again = np.sort(np.concatenate([np.arange(len(time)), [CHUNK, 6000, 6000]]))
    return Recording(whole.joints, time[again], q[again], torque=torque[again])


@pytest.mark.parametrize("chunk", [CHUNK, 333, 100_000])
def test_repairs_of_a_log_in_pieces_are_those_of_the_whole(chunk):
    """Every repair, to the last bit and the last word; wherever the log is cut."""
    recording = damaged()
    repairs = Repairs(spikes=True, unwrap=True, cut_standstill=True)
    whole, done = repair(recording, repairs), RepairTally()
    log = RepairedLog(lambda: recording.chunks(chunk), repairs)
    pieces = Recording.join(list(log.repaired(done)))
    assert_array_equal(pieces.time, whole.recording.time)
    assert_array_equal(pieces.torque, whole.recording.torque)
    assert_allclose(pieces.q, whole.recording.q, rtol=0, atol=1e-14)
    numbers = [word.split()[:2] for word in texts(done.notes)]
    assert numbers == [word.split()[:2] for word in texts(whole.notes)]
    assert {word.split()[0] for word in texts(done.notes)} == {"dropped", "took", "replaced", "cut", "filled", "split"}


def test_what_is_missing_for_longer_than_a_piece_sees_is_refused():
    recording = recorded(6000)
    torque = recording.torque.copy()
    torque[1000:4000, 0] = np.nan
    log = RepairedLog(lambda: replace(recording, torque=torque).chunks(CHUNK))
    with pytest.raises(RecordingError, match="no numbers"):
        list(log)


# -- identification ----------------------------------------------------------------------------------------------------


def test_a_log_in_pieces_gives_the_estimate_of_the_whole():
    """Friction that remembers, a covariance for correlated errors, residuals: as with the log in memory."""
    recording, problems = recorded(12_000), []
    for run in (Run.of(recording, ROUTE), long_log(recording).run(ROUTE)):
        problems.append(Problem(MODEL, (run,), InverseDynamic(ParallelFilter())))
    assert sum(1 for _ in problems[1].runs[0].parts) > 3
    whole, pieces = (with_correlated_errors(p, WeightedLeastSquares().estimate(p)) for p in problems)
    assert_allclose(pieces.values, whole.values, rtol=1e-7, atol=1e-7 * np.abs(whole.values).max())
    assert_allclose(pieces.std, whole.std, rtol=1e-6)
    assert_array_equal(problems[1].compressed.rows.sum(axis=0), problems[0].compressed.rows.sum(axis=0))


def test_a_long_log_that_repeats_is_averaged_over_its_periods():
    once = recorded(2000, 4)
    pure = smooth_motion(ROBOT, once.time, 4)
    phase = np.exp(1j * 2.0 * np.pi * once.time / 10.0)
    q = np.stack([0.5 * phase.real, 0.4 * phase.imag, 0.3 * (phase**2).imag], axis=1)
    repeated = Recording(
        once.joints,
        np.arange(20_000) / RATE,
        np.tile(q, (10, 1)) + 1e-6 * np.random.default_rng(1).standard_normal((20_000, 3)),
        torque=np.tile(MODEL.torque(pure), (10, 1)),
        about=About(period=10.0),
    )
    found = long_log(repeated, longest_gap=0.05).run()
    expected = FourierFit().apply(repeated)
    (part,) = found.parts
    assert part.series is not None
    assert_allclose(part.motion.qdd, expected.motion.qdd, atol=1e-3)
    assert found.sample is None


def test_samples_of_a_long_log_are_bounded_and_spread():
    recording = recorded(12_000)
    log = long_log(recording, sample_bytes=100_000)
    kept = log.sample
    assert 0.5e5 < sum(getattr(kept, name).nbytes for name in ("time", *kept.everything)) <= 1e5
    assert np.histogram(kept.time, 4, (0.0, 60.0))[0].min() > 0
    assert f"{len(kept)} of its 12000 samples" in log.sampled
    run = log.run(ROUTE)
    assert isinstance(run.bounded.parts, tuple)
    assert sum(map(len, run.bounded.parts)) < sum(map(len, run.parts)) / 3


def test_memory_of_estimation_does_not_grow_with_the_log():
    """From pieces of the log to the estimate; samples would take 56 B a row, friction that remembers more."""
    peaks, sizes = [], (30_000, 60_000)
    for samples in sizes:
        run = long_log(recorded(samples), sample_bytes=200_000).run(ROUTE)
        problem = Problem(MODEL, (run,), InverseDynamic(ParallelFilter()))
        peaks.append(peak(lambda p=problem: WeightedLeastSquares().estimate(replace(p))))
    assert (peaks[1] - peaks[0]) / (sizes[1] - sizes[0]) < 10.0


def test_memory_of_friction_that_remembers_does_not_grow_with_the_motion(monkeypatch):
    """Also of a motion that is in memory: columns of its terms are made block by block."""
    monkeypatch.setattr("exciter.dynamics.model.MEMORY_BLOCK_SAMPLES", 2000)
    peaks, sizes = [], (10_000, 40_000)
    for samples in sizes:
        motion = smooth_motion(ROBOT, np.arange(samples) / RATE)
        peaks.append(peak(lambda motion=motion: [len(part[1]) for part in MODEL.regressor_chunks(motion, 500)]))
    assert (peaks[1] - peaks[0]) / (sizes[1] - sizes[0]) < 10.0


def test_an_npz_file_is_never_read_whole(tmp_path):
    peaks, sizes = [], []
    for samples in (100_000, 400_000):
        path, numbers = tmp_path / f"{samples}.npz", np.random.default_rng(0).standard_normal((samples, 3))
        write_recording(Recording(ROBOT.joint_names, np.arange(samples) / RATE, numbers, torque=numbers), path)
        file = open_recording(path)
        peaks.append(peak(lambda file=file: sum(1 for _ in file.chunks(10_000))))
        sizes.append(path.stat().st_size)
    assert peaks[1] - peaks[0] < 0.05 * (sizes[1] - sizes[0])


# -- the command -------------------------------------------------------------------------------------------------------


def identified(log, out, *words) -> dict:
    with pytest.raises(SystemExit) as left:
        main(["identify", "gautier-khalil", str(log), "-o", str(out), *map(str, words)])
    assert not left.value.code
    return json.loads((out / "result.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("settled", [True, False], ids=["settings-given", "automatic"])
def test_a_log_beyond_the_bound_is_identified_as_one_below(monkeypatch, tmp_path, settled):
    """With settings given the very same, a validation included; where they are chosen, they are from a sample of it."""
    log, other, config = tmp_path / "log.npz", tmp_path / "other.npz", tmp_path / "config.yaml"
    write_recording(recorded(6000), log)
    write_recording(recorded(4000, 1), other)
    given = {"estimator": "wls", "route": {"cutoff": 20}, "filter": {"cutoff": 10}, "dead_zone": 0}
    config.write_text(yaml.safe_dump({"identify": given if settled else {}}), encoding="utf-8")
    words = ("--config", config, "--validate", other)
    below = identified(log, tmp_path / "below", *words)
    monkeypatch.setattr("exciter.pipeline.logs.HELD_BYTES", 1000)
    monkeypatch.setattr(runs, "SAMPLE_BYTES", 200_000)
    beyond = identified(log, tmp_path / "beyond", *words)
    assert not any("evenly spread windows" in note for note in below["notes"])
    assert sum("evenly spread windows" in note for note in beyond["notes"]) == 2
    assert "evenly spread windows" in (tmp_path / "beyond" / "report.html").read_text(encoding="utf-8")
    if settled:
        one, two = ([p["value"] for p in data["parameters"]] for data in (below, beyond))
        assert_allclose(two, one, rtol=1e-7, atol=1e-8)
        assert beyond["validation"][0]["total_percent"] == pytest.approx(below["validation"][0]["total_percent"], 1e-7)
        assert beyond["equations"] == below["equations"]
    else:
        assert beyond["equations"] > 0.9 * below["equations"]
        assert beyond["total_percent"] == pytest.approx(below["total_percent"], rel=0.1)
        held_out = [data["validation"][0]["total_percent"] for data in (below, beyond)]
        assert held_out[1] == pytest.approx(held_out[0], rel=0.2)


# -- slow motions ------------------------------------------------------------------------------------------------------


def test_memory_of_a_certificate_does_not_grow_with_kinematics_of_every_row():
    """A file of many rows is proved block by block; links' kinematics take kilobytes a row, the proof bytes."""
    robot = load("panda")
    low, high = robot.position_range()
    delta = np.zeros((7, 7))
    delta[:, 0], delta[:, -1] = 0.02, 0.5 * (low + high)
    curve = Fourier(4.0, 3).curve(delta)
    files = [sample(curve, rate).curve() for rate in (400.0, 1600.0)]
    limits = [TorqueLimits(DynamicModel(robot, (Viscous(),)))]
    peaks = [peak(lambda file=file: certify(robot, file, limits)) for file in files]
    per_row = (peaks[1] - peaks[0]) / (len(files[1].knots) - len(files[0].knots))
    assert per_row < 3000.0


def test_messages_read_line_by_line_are_what_yaml_reads():
    """And what is none of our own lines is left to YAML, whatever it means there."""
    delta = 0.05 * np.random.default_rng(2).standard_normal((3, 7))
    text = ros2_yaml(sample(ramped(Fourier(4.0, 3), delta, ROBOT, periods=1), 5.0), ROBOT.joint_names)
    assert message_as_written(text) == yaml.safe_load(text)
    point = text.index("- positions")
    spoilt = (
        text + "more: 1\n",
        text.replace("positions", "effort", 1),
        text.replace("  velocities", "- velocities", 1),
        text.replace('"sec": 0', '"sec": 010', 1),
        text.replace('"sec": 0', '"sec": 0x1', 1),
        text.replace("0.", "0_1.", 1),
        text.replace("0.", "1e5, 0.", 1),
        text.replace("0.", "1:30.", 1),
        text.replace("points:", "points: # all"),
        text[:point] + "  positions: [0.5, 0.5, 0.5]\n" + text[point:],
        text[:point] + "- positions: [0.5, 0.5, 0.5]\n  positions: [0.1, 0.1, 0.1]\n" + text[point:],
        text.replace("\n", "\r\n"),
        text.replace("joint_1", r"\x6aoint_1"),
        "",
    )
    for one in spoilt:
        assert one != text
        found = message_as_written(one)
        assert found is None or found == yaml.safe_load(one)
    assert sum(message_as_written(one) is None for one in spoilt) >= len(spoilt) - 1


def test_a_term_that_remembers_and_cannot_go_on_is_refused_in_pieces(monkeypatch):
    """It would begin anew with every piece, unnoticed; one piece is no harm."""
    monkeypatch.delattr("exciter.parameters.terms.friction._Dahl.after")
    motion = smooth_motion(ROBOT, np.arange(300) / RATE)
    assert sum(len(part[1]) for part in MODEL.regressor_chunks(motion, 100)) == 300
    monkeypatch.setattr("exciter.dynamics.model.MEMORY_BLOCK_SAMPLES", 100)
    with pytest.raises(ExciterError, match="needs after"):
        list(MODEL.regressor_chunks(motion, 100))
