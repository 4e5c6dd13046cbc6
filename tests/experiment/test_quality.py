"""The quality check: clean logs raise nothing, every fault put into one is found, at its joint and with its number."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from scipy.signal import butter, sosfiltfilt

from exciter.dynamics.model import DynamicModel
from exciter.errors import RecordingError
from exciter.excitation.files.row_files import MotionSamples
from exciter.experiment.quality import Repairs, Thresholds, check, repair
from exciter.experiment.quality.delays import blocks
from exciter.experiment.quality.evidence import USUAL_TERMS, Windows, excitation_of, visible_period
from exciter.experiment.quality.explanations import cycles
from exciter.experiment.quality.sample_tallies import isolated
from exciter.experiment.recording import About, AnalogFilter, Recording
from exciter.notes import Severity, texts
from exciter.robot import embedded_robots as embedded
from exciter.robot import load
from exciter.settings import fill, written
from support.paths import ROBOTS
from support.quality_logs import RATE, changed, clean, executed, fourier, late, truth
from support.robots import random_robot

pytestmark = pytest.mark.slow


@cache
def model_of(robot):
    return DynamicModel(robot, USUAL_TERMS)


def judge(recording, robot=None, **settings):
    """The check; base parameters of a robot are found once."""
    return check(recording, model=None if robot is None else model_of(robot), **settings)


def found(quality, what, joint=None, severity=None):
    """The one finding of that name."""
    matching = [f for f in quality.findings if f.subject == what and (joint is None or f.joint == joint)]
    matching = [f for f in matching if severity is None or f.severity == severity]
    assert len(matching) == 1, f"{what} {joint}: {[str(f) for f in quality.findings]}"
    return matching[0]


def suspicious(quality):
    return {(f.subject, f.joint) for f in quality.findings if f.severity > Severity.NOTE}


@pytest.fixture(scope="module")
def panda():
    return clean("panda", 3)


# -- clean -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("motion", "seed"), [("fourier", 0), ("bspline", 1)])
@pytest.mark.parametrize("name", ["panda", "ur10e", "tx40", "puma560", "kuka-ir361"])
def test_clean_logs_raise_nothing(name, motion, seed):
    recording, robot = clean(name, seed, motion=motion)
    assert not suspicious(judge(recording, robot))


def test_clean_logs_raise_nothing_without_a_robot_or_torque_or_with_unknown_inertias(panda):
    recording, robot = panda
    bare = judge(recording)
    assert bare.usable
    assert not suspicious(bare)
    assert any("no robot" in words for words in texts(bare.skipped))
    dummy = robot.with_inertias(np.tile([1.0, 0, 0, 0, 0.01, 0, 0.01, 0, 0, 0.01], (7, 1)))
    unknown = judge(recording, dummy)
    assert not suspicious(unknown)
    assert any("placeholders" in words for words in texts(unknown.skipped))
    assert not suspicious(judge(replace(recording, torque=None), robot))
    current = replace(recording, torque=None, current=recording.torque / 7.0)
    assert not suspicious(judge(current, robot))
    with_gains = replace(current, about=About(gains=(7.0,) * 7))
    assert not suspicious(judge(with_gains, robot))
    assert any("amperes" in words for words in texts(judge(current, robot).skipped))
    assert not any("amperes" in words for words in texts(judge(with_gains, robot).skipped))


def test_the_verdict_is_in_words_and_data(panda):
    recording, robot = panda
    quality = judge(recording, robot)
    assert quality.verdict == "usable: nothing suspicious was found"
    assert quality.to_dict()["usable"]
    assert quality.samples == len(recording)
    note = found(quality, "rate")
    assert note.numbers["rate"] == pytest.approx(RATE)
    torn = judge(changed(recording, "torque", 1, np.full(len(recording), 3.0)), robot)
    assert torn.verdict.startswith("not usable as it is: stuck sensor (joint_2)")
    assert [f.severity for f in torn.findings] == sorted((f.severity for f in torn.findings), reverse=True)


def test_a_stream_in_pieces_says_the_same(panda):
    recording, robot = panda
    time = recording.time.copy()
    time[4000:] += 0.2
    q = recording.q.copy()
    q[1000:1003, 2] = np.nan
    q[2500, 5] += 0.3
    faulty = replace(recording, time=time, q=q)
    whole, pieces = judge(faulty, robot), check(faulty.chunks(1013), robot)
    assert [(f.subject, f.joint, f.severity) for f in whole.findings] == [
        (f.subject, f.joint, f.severity) for f in pieces.findings
    ]
    for a, b in zip(whole.findings, pieces.findings, strict=True):
        if a.subject in ("lost samples", "missing values", "spikes"):
            assert dict(a.numbers) == pytest.approx(dict(b.numbers))


def test_long_logs_are_judged_on_spread_windows(panda):
    recording, robot = panda
    limits = Thresholds(most_samples=2048, window=512)
    quality = judge(recording, robot, thresholds=limits)
    assert any("2048 samples in evenly spread windows" in words for words in texts(quality.skipped))
    assert quality.samples == len(recording)
    assert found(
        judge(changed(recording, "q", 0, _spiked(recording.q[:, 0], 5555)), robot, thresholds=limits), "spikes"
    )


def test_windows_are_spread_whatever_the_length_and_never_in_step_with_a_period():
    for length in (31, 32, 100, 1000):
        windows = Windows(4, 128)
        time = np.arange(4.0 * length)
        windows.see(Recording(("a",), time, time[:, None]), 0)
        kept = windows.windows()
        starts = np.concatenate([part.time[::4] for part in kept])
        assert windows.complete == (length <= 32)
        assert len(starts) == min(length, 32)
        if length > 32:
            gaps = np.diff(np.concatenate([[0.0], starts, [4.0 * length]]))
            assert gaps.max() < 4.0 * 4 * length / 32  # four times the mean distance at most
            assert len(np.unique(starts % 64)) >= 8  # a period of 16 blocks is seen in half of its phases at least


@pytest.mark.parametrize("seed", range(45))
def test_whatever_is_recorded_is_judged_or_refused(seed):
    """Random lengths, times, shapes of signals, NaN, infinities, absurd numbers."""
    rng = np.random.default_rng(seed)
    robot = (embedded.robot("panda"), load(ROBOTS / "gantry.urdf"), random_robot(4, 1, prismatic=0.0))[seed % 3]
    count = int(rng.choice([1, 2, 5, 60, 400]))
    choices = [
        np.arange(count) / 100,
        rng.uniform(0, 10, count),
        np.round(rng.uniform(0, 3, count), 1),
        np.zeros(count),
    ]
    time = np.sort(choices[rng.integers(4)])

    def signal():
        shape = (count, robot.n)
        x = (
            np.zeros(shape),
            rng.standard_normal(shape) * 10.0 ** rng.choice([-300, 0, 300]),
            np.round(np.sin(time[:, None] + np.arange(robot.n)), 2),
            np.cumsum(rng.standard_normal(shape), axis=0),
        )[rng.integers(4)].copy()
        x[rng.random(shape) < rng.choice([0.0, 0.01, 0.9])] = rng.choice([np.nan, np.inf, 1e200, 0.0])
        return x

    recording = Recording(robot.joint_names, time, signal(), signal(), signal())
    asked = Repairs(contradicting=True, spikes=True, cut_standstill=True, interpolate=1.0, shortest=0.0)
    for work in (lambda: judge(recording, robot), lambda: judge(recording), lambda: repair(recording, asked)):
        with suppress(RecordingError):  # whose message is one line by construction
            assert work() is not None


def _spiked(x, *at, size=0.2):
    x = x.copy()
    x[list(at)] += size
    return x


# -- time --------------------------------------------------------------------------------------------------------------


def test_jitter():
    recording, robot = clean("panda", 4, jitter=0.2)
    finding = found(judge(recording, robot), "jitter")
    # a step is the difference of two uniform errors of ±0.2 intervals: variance 2 · 0.2²/3
    assert finding.numbers["jitter"] == pytest.approx(np.sqrt(2 * 0.2**2 / 3), rel=0.05)
    assert finding.severity == Severity.WARNING


def test_lost_packets_and_the_longest_gap(panda):
    recording, robot = panda
    rng = np.random.default_rng(0)
    kept = rng.random(len(recording)) > 0.03
    kept[[0, -1]] = True
    kept[3000:3010] = False
    kept[[2999, 3010]] = True
    finding = found(judge(recording[kept], robot), "lost samples")
    assert finding.numbers["count"] == int((~kept).sum())
    assert finding.numbers["share"] == pytest.approx((~kept).mean())
    assert finding.numbers["longest"] == pytest.approx(11 / RATE)
    assert finding.numbers["at"] == pytest.approx(recording.time[2999])
    assert "jitter" not in {f.subject for f in judge(recording[kept], robot).findings}


def test_one_lost_packet_is_but_a_note(panda):
    recording, robot = panda
    kept = np.arange(len(recording)) != 1234
    assert found(judge(recording[kept], robot), "lost samples").severity == Severity.NOTE


def test_duplicates(panda):
    recording, robot = panda
    twice = np.sort(np.concatenate([np.arange(len(recording)), [10, 500, 501]]))
    finding = found(judge(recording[twice], robot), "duplicates")
    assert finding.numbers["count"] == 3
    assert finding.numbers["contradicting"] == 0
    q = recording[twice].q.copy()
    assert finding.severity == Severity.WARNING
    q[502] += 1e-4
    finding = found(judge(replace(recording[twice], q=q), robot), "duplicates")
    assert finding.numbers["contradicting"] == 1
    assert finding.severity == Severity.PROBLEM  # as repair refuses it
    assert "contradicting: true" in finding.text


def test_milliseconds(panda):
    recording, robot = panda
    finding = found(judge(replace(recording, time=1000 * recording.time), robot), "unit of time")
    assert finding.severity == Severity.PROBLEM
    assert finding.numbers["unit"] == "ms"


@pytest.mark.parametrize("size", [2e4, 1e15, 1e300])
@pytest.mark.parametrize("once", [True, False])
def test_absurd_steps_of_time(panda, size, once):
    recording, robot = panda
    time = recording.time + np.where(np.arange(len(recording)) > 3000, size, 0.0) if once else None
    time = size * np.arange(len(recording)) if time is None else time
    quality = judge(replace(recording, time=time), robot)
    finding = found(quality, "unit of time")
    assert finding.severity == Severity.PROBLEM
    assert finding.numbers["longest"] == pytest.approx(size)
    assert all(len(f.text) < 400 for f in quality.findings)


def test_constant_time_and_too_few_samples_are_refused(panda):
    recording, robot = panda
    with pytest.raises(RecordingError, match="time stays at 1 s"):
        judge(replace(recording, time=np.ones(len(recording))), robot)
    with pytest.raises(RecordingError, match="at least 2"):
        judge(recording[:1], robot)
    assert not judge(recording[:40], robot).usable


# -- values ------------------------------------------------------------------------------------------------------------


def test_missing_values_single_and_in_bursts(panda):
    recording, robot = panda
    x = recording.torque[:, 2].copy()
    x[[100, 101, 900]] = np.nan
    finding = found(judge(changed(recording, "torque", 2, x), robot), "missing values", "joint_3")
    assert (finding.severity, finding.numbers["count"]) == (Severity.WARNING, 3)
    x[2000:2100] = np.nan
    finding = found(judge(changed(recording, "torque", 2, x), robot), "missing values", "joint_3")
    assert (finding.severity, finding.numbers["count"]) == (Severity.PROBLEM, 103)
    assert finding.numbers["longest"] == pytest.approx(100 / RATE)
    assert finding.numbers["at"] == pytest.approx(recording.time[2000])


@pytest.mark.parametrize("level", [0.5, 0.8])
def test_saturation(panda, level):
    recording, robot = panda
    x = recording.torque[:, 1]
    top = level * x.max()
    finding = found(judge(changed(recording, "torque", 1, np.minimum(x, top)), robot), "saturation")
    assert finding.joint == "joint_2"
    assert finding.numbers["value"] == pytest.approx(top)
    assert finding.numbers["count"] == pytest.approx((x >= top).sum(), rel=0.1)


def test_torque_at_the_descriptions_limit(panda):
    recording, robot = panda
    limit = 0.9 * np.abs(recording.torque[:, 1]).max()
    weaker = robot.with_limits(torque={"joint_2": limit})
    x = np.clip(recording.torque[:, 1], -limit, limit)
    whats = {f.subject for f in judge(changed(recording, "torque", 1, x), weaker).warnings if f.joint == "joint_2"}
    assert whats == {"saturation", "at limit"}
    beyond = found(judge(changed(recording, "torque", 1, 2 * recording.torque[:, 1]), weaker), "beyond limit")
    assert beyond.joint == "joint_2"
    assert beyond.numbers["reached"] == pytest.approx(2 / 0.9)


@pytest.mark.parametrize("signal", ["q", "qd", "torque"])
def test_stuck_sensor(panda, signal):
    recording, robot = panda
    x = getattr(recording, signal)[:, 3].copy()
    fast = int(np.argmax(np.abs(recording.qd[:5000, 3])))
    x[fast : fast + 120] = x[fast]
    finding = found(judge(changed(recording, signal, 3, x), robot), "stuck sensor")
    assert (finding.joint, finding.numbers["signal"]) == ("joint_4", signal)
    assert finding.numbers["at"] == pytest.approx(recording.time[fast])
    assert finding.numbers["duration"] == pytest.approx(119 / RATE)


def test_a_joint_that_pauses_is_not_stuck():
    """It slows down before, as joints do; quantised, so that its value is the same throughout the pause."""
    time = np.arange(4000) / RATE
    ramp = np.clip((time - 3.0) / 2.0, 0, 1)
    smooth = ramp**3 * (10 - 15 * ramp + 6 * ramp**2)
    q = np.column_stack([np.round(smooth, 4), np.round(np.sin(time), 4)])
    assert not [
        f for f in judge(Recording(("a", "b"), time, q)).findings if f.subject in ("stuck sensor", "saturation")
    ]


def reversal(held: float, *, hung: bool) -> Recording:
    """An encoder of a joint that stands for ``held`` seconds from every reversal on and then catches up with where it
    should be within 20 ms, as out of dry friction; hung: only its reading stands, and then says where the joint is."""
    time = np.arange(4000) / RATE
    plan, since = np.sin(3.0 * time), (time - np.pi / 6.0) % (np.pi / 3.0)  # [s] since the last reversal
    there = np.sign(np.sin(3.0 * (time - since + 1e-9)))
    share = np.clip((since - held) / 0.02, 0.0, 1.0)
    share = (share > 0.0) if hung else share**2 * (3.0 - 2.0 * share)
    q = np.where(time < np.pi / 6.0, plan, there + share * (plan - there))
    return Recording(("a",), time, np.round(q[:, None], 5))


def test_a_joint_that_friction_holds_at_reversals_is_not_stuck():
    """It goes on from where it stood; a sensor that hung in the same stretch jumps to where the joint is."""
    assert not [f for f in judge(reversal(0.15, hung=False)).findings if f.subject == "stuck sensor"]
    finding = found(judge(reversal(0.15, hung=True)), "stuck sensor", "a", Severity.PROBLEM)
    assert finding.numbers["duration"] == pytest.approx(0.15, abs=0.01)


def test_repeated_packets_and_slowly_refreshed_channels(panda):
    recording, robot = panda
    again = np.arange(len(recording))
    again[np.random.default_rng(1).random(len(again)) < 0.05] -= 1
    stale = replace(recording[np.maximum(again, 0)], time=recording.time)
    assert found(judge(stale, robot), "repeated rows").numbers["share"] == pytest.approx(0.05, rel=0.2)
    slow = recording.torque[:, 0][np.arange(len(recording)) // 4 * 4]
    finding = found(judge(changed(recording, "torque", 0, slow), robot), "held values")
    assert (finding.joint, finding.numbers["share"]) == ("joint_1", pytest.approx(0.75, abs=0.01))


def test_quantisation_is_told(panda):
    recording, robot = panda
    step = 0.05
    finding = found(
        judge(changed(recording, "torque", 4, step * np.round(recording.torque[:, 4] / step)), robot), "quantisation"
    )
    assert finding.numbers["steps"][4] == pytest.approx(step)
    assert finding.numbers["steps"][3] == 0


def test_spikes_and_jumps(panda):
    recording, robot = panda
    at = [700, 2100, 3500]
    finding = found(judge(changed(recording, "q", 6, _spiked(recording.q[:, 6], *at)), robot), "spikes")
    assert (finding.joint, finding.numbers["count"]) == ("joint_7", 3)
    assert finding.numbers["at"] == pytest.approx(recording.time[700])
    stepped = recording.q[:, 6] + 0.5 * (np.arange(len(recording)) > 3000)
    finding = found(judge(changed(recording, "q", 6, stepped), robot), "jumps")
    assert (finding.joint, finding.numbers["count"]) == ("joint_7", 1)
    assert finding.numbers["size"] == pytest.approx(0.5, abs=0.05)


def test_a_gap_in_clean_data_is_no_spike():
    """Reversals within gaps, at any place."""
    time = np.arange(4000) / RATE
    rng = np.random.default_rng(0)
    q = np.sin(2 * np.pi * np.array([0.3, 0.5]) * time[:, None]) + 1e-5 * rng.standard_normal((4000, 2))
    for start in range(300, 3500, 100):
        kept = (np.arange(4000) < start) | (np.arange(4000) >= start + 350)
        assert not isolated(time[kept], q[kept], 15.0).any(), start


@pytest.mark.parametrize("at", [300, 500, 725, 1000, 3998])
@pytest.mark.parametrize("size", [0.5, -0.2])
def test_the_neighbours_of_a_spike_are_good(at, size):
    time = np.arange(4000) / RATE
    q = np.sin(3.0 * time)[:, None]
    q[at] += size
    assert np.flatnonzero(isolated(time, q, 15.0)).tolist() == [at]
    recording = Recording(("a",), time, q)
    for pieces in ([recording], recording.chunks(at + 1), recording.chunks(at), recording.chunks(at + 2)):
        finding = found(check(pieces), "spikes")
        assert (finding.numbers["count"], finding.numbers["at"]) == (1, pytest.approx(time[at]))
    repaired = repair(recording, Repairs(spikes=True))
    changed_rows = np.flatnonzero(repaired.recording.q[:, 0] != q[: len(repaired.recording), 0])
    assert changed_rows.tolist() == [at]


def test_two_spikes_side_by_side_and_nothing_but_nan_around():
    time = np.arange(200) / RATE
    q = np.sin(3.0 * time)[:, None]
    q[100], q[101] = 3.0, -3.0
    assert np.flatnonzero(isolated(time, q, 15.0)).size >= 1
    q[60:99] = q[103:140] = np.nan
    assert set(np.flatnonzero(isolated(time, q, 15.0))) <= {100, 101}


def test_degrees(panda):
    recording, robot = panda
    finding = found(
        judge(replace(recording, q=np.degrees(recording.q), qd=np.degrees(recording.qd)), robot), "unit of position"
    )
    assert finding.severity == Severity.PROBLEM
    alone = found(judge(replace(recording, q=np.degrees(recording.q), qd=None)), "unit of position")
    assert alone.severity == Severity.WARNING


# -- rest --------------------------------------------------------------------------------------------------------------


def test_standstill_head_and_tail(panda):
    recording, robot = panda
    rng = np.random.default_rng(2)
    parts = []
    for k, count in ((0, 900), (-1, 1500)):
        q = recording.q[k] + 2e-5 * rng.standard_normal((count, 7))
        torque = recording.torque[k] + 0.1 * rng.standard_normal((count, 7))
        parts.append((q, 1e-3 * rng.standard_normal((count, 7)), torque))
    (qa, va, ta), (qb, vb, tb) = parts
    still = Recording(
        recording.joints,
        np.arange(len(recording) + 2400) / RATE,
        np.vstack([qa, recording.q, qb]),
        np.vstack([va, recording.qd, vb]),
        np.vstack([ta, recording.torque, tb]),
    )
    findings = {f.numbers["where"]: f for f in judge(still, robot).findings if f.subject == "standstill"}
    assert findings["before"].numbers["end"] == pytest.approx(900 / RATE, abs=0.1)
    assert findings["after"].numbers["start"] == pytest.approx((900 + len(recording)) / RATE, abs=0.1)
    assert findings["after"].severity == Severity.NOTE  # identification leaves it out
    assert "leaves it out" in findings["after"].text
    cut = repair(still, Repairs(cut_standstill=True))
    assert cut.recording.time[0] == pytest.approx(900 / RATE, abs=0.1)
    assert cut.recording.duration == pytest.approx(recording.duration, abs=0.2)
    assert len(cut.notes) == 1


def test_a_joint_that_rests_while_others_move(panda):
    recording, robot = panda
    q = np.where(np.arange(len(recording)) < 3000, recording.q[3000, 5], recording.q[:, 5])
    q = q + 2e-5 * np.random.default_rng(0).standard_normal(len(q))
    finding = found(judge(replace(changed(recording, "q", 5, q), qd=None), robot), "rest")
    assert (finding.joint, finding.numbers["share"]) == ("joint_6", pytest.approx(0.5, abs=0.02))
    assert finding.severity == Severity.NOTE
    nothing = judge(replace(recording, q=np.zeros_like(recording.q), qd=None), robot)
    assert "standstill" in {f.subject for f in nothing.problems}


# -- meaning -----------------------------------------------------------------------------------------------------------


def test_velocity_factor_sign_and_delay(panda):
    recording, robot = panda
    deg = found(judge(changed(recording, "qd", 2, np.degrees(recording.qd[:, 2])), robot), "velocity")
    assert (deg.joint, deg.numbers["factor"]) == ("joint_3", pytest.approx(180 / np.pi, rel=0.01))
    assert "degrees" in deg.text
    flipped = found(judge(changed(recording, "qd", 2, -recording.qd[:, 2]), robot), "velocity")
    assert flipped.severity == Severity.PROBLEM
    late = np.interp(recording.time - 0.02, recording.time, recording.qd[:, 2])
    finding = found(judge(changed(recording, "qd", 2, late), robot), "velocity")
    assert finding.numbers["delay"] == {"joint_3": pytest.approx(0.02, rel=0.05)}
    other = found(judge(changed(recording, "qd", 2, recording.qd[:, 4]), robot), "velocity")
    assert "not the derivative" in other.text


def test_swapped_torque_columns(panda):
    recording, robot = panda
    torque = recording.torque[:, [0, 3, 2, 1, 4, 5, 6]]
    quality = judge(replace(recording, torque=torque), robot)
    wrong = {f.joint: f.numbers["belongs_to"] for f in quality.problems if f.subject == "joint order"}
    assert wrong == {"joint_2": "joint_4", "joint_4": "joint_2"}
    cyclic = judge(replace(recording, torque=recording.torque[:, [0, 2, 3, 1, 4, 5, 6]]), robot)
    wrong = {f.joint: f.numbers["belongs_to"] for f in cyclic.problems if f.subject == "joint order"}
    assert wrong == {"joint_2": "joint_3", "joint_3": "joint_4", "joint_4": "joint_2"}


def test_swapped_joints(panda):
    recording, robot = panda
    order = [0, 3, 2, 1, 4, 5, 6]
    everything = {name: getattr(recording, name)[:, order] for name in ("q", "qd", "torque")}
    wide = robot.with_limits(lower=-4.0, upper=4.0)  # the description's limits would give it away at once
    finding = found(judge(replace(recording, **everything), wide), "joint order")
    assert {finding.joint, finding.numbers["belongs_to"]} == {"joint_2", "joint_4"}


@pytest.mark.parametrize("joint", [1, 3])
def test_flipped_torque_sign(panda, joint):
    recording, robot = panda
    finding = found(judge(changed(recording, "torque", joint, -recording.torque[:, joint]), robot), "sign")
    assert (finding.joint, finding.numbers["of"]) == (robot.joint_names[joint], "torque")
    assert finding.numbers["correlation"] < -0.9


@pytest.mark.parametrize("torque_too", [True, False])
def test_axis_counted_the_other_way_round(panda, torque_too):
    recording, robot = panda
    wide = robot.with_limits(lower=-4.0, upper=4.0)
    faulty = changed(changed(recording, "q", 3, -recording.q[:, 3]), "qd", 3, -recording.qd[:, 3])
    if torque_too:
        faulty = changed(faulty, "torque", 3, -faulty.torque[:, 3])
    finding = found(judge(faulty, wide), "sign")
    assert (finding.joint, finding.numbers["of"]) == ("joint_4", "axis" if torque_too else "position")


def test_friction_betrays_a_sign_where_inertias_are_unknown(panda):
    recording, robot = panda
    dummy = robot.with_inertias(np.tile([1.0, 0, 0, 0, 0.01, 0, 0.01, 0, 0, 0.01], (7, 1)))
    finding = found(judge(changed(recording, "torque", 0, -recording.torque[:, 0]), dummy), "sign")
    assert finding.joint == "joint_1"
    assert finding.numbers["friction"] < -5 * finding.numbers["error"]


def test_torque_of_another_scale(panda):
    recording, robot = panda
    finding = found(judge(replace(recording, torque=1e-3 * recording.torque), robot), "unit of torque")
    assert finding.numbers["scale"] == pytest.approx(1e-3, rel=0.3)


def test_joints_whose_order_cannot_be_judged_are_named():
    """Of every two torques that are exchanged unnoticed one at least is named; where all is clear none is."""
    unnoticed = 0
    for name in ("puma560", "tx40"):
        recording, robot = clean(name, 1, noise=1.0)
        for a, b in combinations(range(robot.n), 2):
            order = list(range(robot.n))
            order[a], order[b] = b, a
            quality = judge(replace(recording, torque=recording.torque[:, order]), robot)
            if not [f for f in quality.problems if f.subject in ("joint order", "sign")]:
                unnoticed += 1
                line = next(words for words in texts(quality.skipped) if words.startswith("the joint order of"))
                assert robot.joint_names[a] in line or robot.joint_names[b] in line
    assert unnoticed > 0


def test_nothing_is_said_of_orders_that_are_clear_or_never_judged(panda):
    def lines(*arguments):
        return [words for words in texts(judge(*arguments).skipped) if words.startswith("the joint order of")]

    recording, robot = clean("puma560", 1, noise=0.001)
    assert len(lines(recording, robot)) <= 1
    dummy = robot.with_inertias(np.tile([1.0, 0, 0, 0, 0.01, 0, 0.01, 0, 0, 0.01], (robot.n, 1)))
    assert not lines(recording, dummy)
    assert not lines(recording)
    assert not lines(replace(recording, torque=None), robot)


def test_cycles_of_a_permutation():
    assert cycles([0, 2, 1, 3]) == [[(1, 2), (2, 1)]]
    assert cycles([1, 2, 0, 4, 3]) == [[(0, 1), (1, 2), (2, 0)], [(3, 4), (4, 3)]]
    assert cycles([0, 1]) == []


@pytest.mark.parametrize("samples", [-2.3, 0.0, 1.6, 5.0])
@pytest.mark.parametrize("known", [True, False])
def test_delay_to_a_fraction_of_a_sample(samples, known):
    recording, robot = clean("panda", 5, motion="bspline", delay=samples / RATE)
    finding = found(judge(recording, robot if known else None), "delay")
    error = finding.numbers["error"] * RATE
    if known:
        assert finding.numbers["samples"] == pytest.approx(samples, abs=0.25)
        assert finding.severity == (Severity.WARNING if abs(samples) > 1 else Severity.NOTE)
    assert abs(finding.numbers["samples"] - samples) < max(4 * error, 0.25)


LATE = (-20, -3, 0, 1, 5, 40)  # samples that the torque comes behind the position


@pytest.fixture(scope="module")
def delays():
    """What is said of the delay of late torques, by log and lateness: two clean logs and two of virtual robots, with
    dry friction that sticks, tracking errors, encoders, noise."""
    logs = [clean("panda", 5, motion="bspline"), clean("kuka-ir361", 2), executed("kuka-ir361", 1), executed("tx40", 0)]
    return [{k: found(judge(late(recording, k), robot), "delay") for k in LATE} for recording, robot in logs]


@pytest.mark.parametrize("samples", LATE)
def test_delays_of_any_size_are_found_within_their_errors(delays, samples):
    for findings, widest in zip(delays, (0.1, 0.2, 0.5, 1.0), strict=True):
        finding = findings[samples]
        delay, error = finding.numbers["delay"] * RATE, finding.numbers["error"] * RATE
        assert abs(delay - samples) < 3 * error
        assert error < widest  # samples
        if abs(samples) >= 5:
            assert finding.severity == Severity.WARNING


def test_a_shift_moves_the_delay_by_as_much(delays):
    """No part of it is lost: an expansion in the delay would, since noise fails it first. Where friction bends before
    it slides the error is larger, and whether that is seen may depend on the shift."""
    for findings in delays:
        for k, finding in findings.items():
            within = max(0.12, 0.5 * RATE * finding.numbers["error"])
            assert finding.numbers["samples"] - findings[0].numbers["samples"] == pytest.approx(k, abs=within)


@pytest.mark.parametrize("bend", [1e-3, 4e-3, 1.5e-2])
@pytest.mark.parametrize("name", ["ur10e", "panda"])
def test_friction_that_bends_before_it_slides_is_no_delay(name, bend):
    """Dahl's friction step by step, 15 % of the torque, and a true delay of 2 ms; without columns for it 7 … 15 ms."""
    robot, (fine, late_by) = embedded.robot(name), (1000.0, 2)
    for seed in range(2):
        rng, time = np.random.default_rng(seed), np.arange(int(20.0 * fine)) / fine
        exact = fourier(robot, time, seed)
        model = DynamicModel(robot)
        bodies = model.torque(exact, truth(model, seed))
        size, z, bent = np.maximum(bodies.std(axis=0), 1e-3), np.zeros(robot.n), np.zeros_like(bodies)
        for k, step in enumerate(np.diff(exact.q, axis=0), start=1):
            z = np.sign(step) + (z - np.sign(step)) * np.exp(-np.abs(step) / bend)
            bent[k] = z
        torque = np.roll(bodies + 0.15 * size * bent, late_by, axis=0)
        torque += 0.02 * size * rng.standard_normal(torque.shape)
        q = exact.q + 2e-5 * rng.standard_normal(exact.q.shape)
        recording = Recording(robot.joint_names, time, q, None, torque)[late_by::4]
        numbers = found(judge(recording, robot), "delay").numbers
        assert abs(numbers["delay"] - 2e-3) < 2.0 * numbers["error"]
        assert numbers["error"] < 3e-3


@pytest.mark.parametrize(("name", "motion"), [("kuka-ir361", "bspline"), ("ur10e", "fourier")])
def test_the_error_of_a_delay_is_honest(name, motion):
    """Over many logs the estimates scatter as their errors say, neither more nor much less."""
    z = []
    for seed in range(12):
        recording, robot = clean(name, seed, motion=motion, noise=0.05, seconds=16.0)
        numbers = found(judge(recording, robot), "delay").numbers
        z.append(numbers["delay"] / numbers["error"])
    assert 0.45 < np.sqrt(np.mean(np.square(z))) < 1.4


def test_residuals_that_repeat_are_no_second_witness():
    time = np.arange(1000) * 0.01  # two periods of 5 s
    assert [len(block) for block in blocks(time, None)] == [50] * 20
    assert all(np.ptp(block) < 50 for block in blocks(time, None))
    for block in blocks(time, 5.0):
        assert len(block) == pytest.approx(50, abs=1)  # rounding
        assert np.ptp(time[block] % 5.0) < 0.26
    assert np.array_equal(np.sort(np.concatenate(blocks(time, 5.0))), np.arange(1000))


def test_joints_that_disagree_widen_the_error(panda):
    recording, robot = panda
    same = found(judge(recording, robot), "delay").numbers
    torque = np.column_stack([np.roll(x, k) for x, k in zip(recording.torque.T, (4, -4, 4, -4, 4, -4, 4), strict=True)])
    apart = found(judge(replace(recording, torque=torque)[10:-10], robot), "delay").numbers
    assert apart["error"] > 5 * same["error"]
    for joint, sign in (("joint_1", 1), ("joint_2", -1), ("joint_4", -1)):
        assert apart["per_joint"][joint] == pytest.approx(sign * 4 / RATE, abs=3 * apart["per_joint_error"][joint])


def test_what_lies_beyond_the_scan_is_not_guessed(panda):
    recording, robot = clean("panda", 5, motion="bspline")
    far = judge(late(recording, 100), robot)  # 0.4 s
    finding = found(far, "delay", severity=Severity.WARNING)
    assert "delay" not in finding.numbers
    assert finding.numbers["edge"] > 0
    assert finding.numbers["residual"] < 0.5
    assert any("is not determined: the best fit lies 300 ms or more off" in words for words in texts(far.skipped))
    short = judge(recording[:400], robot)
    assert not [f for f in short.findings if f.subject == "delay"]
    assert any("is not determined: too few samples" in words for words in texts(short.skipped))
    assert not any("is not determined" in words for words in texts(judge(recording, robot).skipped))


def test_without_a_robot_a_delay_is_a_rough_note_unless_it_explains_most(panda):
    for name in ("kuka-ir361", "panda"):
        quality = judge(clean(name, 5)[0])
        assert not [f for f in quality.warnings if f.subject == "delay"]
    recording, _ = clean("panda", 5, motion="bspline")
    finding = found(judge(late(recording, 40)), "delay")
    assert finding.severity == Severity.WARNING
    assert "roughly" in finding.text


def test_earlier_low_pass(panda):
    recording, robot = panda
    sections = butter(6, 12.0, fs=RATE, output="sos")
    filtered = replace(recording, torque=sosfiltfilt(sections, recording.torque, axis=0))
    finding = found(judge(filtered, robot), "earlier low-pass")
    assert finding.severity == Severity.WARNING
    assert 8.0 < finding.numbers["cutoff"] < 36.0
    known = replace(filtered, about=About(filter=AnalogFilter(6, 12.0)))
    assert found(judge(known, robot), "earlier low-pass").severity == Severity.NOTE


def test_period_visible_given_and_wrong(panda):
    recording, robot = panda  # a Fourier motion of 12 s, twice
    assert found(judge(recording, robot), "period").numbers["period"] == pytest.approx(12.0, abs=0.01)
    given = replace(recording, about=About(period=12.0))
    assert found(judge(given, robot), "period").severity == Severity.NOTE
    wrong = found(judge(replace(recording, about=About(period=10.0)), robot), "period")
    assert wrong.severity == Severity.WARNING
    assert wrong.numbers["visible"] == pytest.approx(12.0, abs=0.01)
    time = np.arange(2000) * 0.02
    assert visible_period(time, np.column_stack([time, time**2])) is None


def test_planned_against_executed(panda):
    recording, robot = panda
    plan = fourier(robot, recording.time, 3)
    curve = MotionSamples(plan.time, plan.q, plan.qd, plan.qdd).curve()
    good = found(judge(recording, robot, planned=curve), "planned motion")
    assert good.numbers["shift"] == pytest.approx(0.0, abs=1e-4)
    assert max(good.numbers["rms"]) < 1e-4
    late = recording[:-50]
    moved = replace(late, time=late.time + 17.0, q=recording.q[50:])
    shifted = found(judge(moved, robot, planned=curve), "planned motion")
    assert shifted.numbers["shift"] == pytest.approx(-50 / RATE, abs=1e-3)
    off = recording.q[:, 4] + 0.4 * np.sin(3.0 * recording.time)
    findings = [
        f
        for f in judge(changed(recording, "q", 4, off), robot, planned=curve).warnings
        if f.subject == "planned motion"
    ]
    assert [f.joint for f in findings] == ["joint_5"]
    assert findings[0].numbers["rms"] == pytest.approx(0.4 / np.sqrt(2), rel=0.05)
    assert findings[0].numbers["worst"] == pytest.approx(0.4, rel=0.05)


# -- excitation --------------------------------------------------------------------------------------------------------


def test_small_motion_is_poor_excitation():
    robot = embedded.robot("tx40")
    time = np.arange(3000) / RATE
    motion = fourier(robot, time, 1)
    middle = motion.q.mean(axis=0)
    model = DynamicModel(robot)
    size = np.array([1, 0.15, 0.15, 1, 0.15, 1])
    small = replace(motion, q=middle + size * (motion.q - middle), qd=size * motion.qd, qdd=size * motion.qdd)
    torque = model.torque(small)
    torque += 0.01 * torque.std(axis=0) * np.random.default_rng(0).standard_normal(torque.shape)
    quality = judge(Recording(robot.joint_names, time, small.q, None, torque), robot)
    poor = found(quality, "poor excitation")
    assert poor.numbers["condition_number_normalized"] > 300
    assert {"off2", "off3"} & set(poor.numbers["poor"])
    assert {f.joint for f in quality.warnings if f.subject == "small motion"} == {"joint_2", "joint_3", "joint_5"}


def test_a_joint_that_never_moves_leaves_parameters_unknown(panda):
    recording, robot = panda
    still = changed(changed(recording, "q", 6, np.full(len(recording), 0.3)), "qd", 6, np.zeros(len(recording)))
    quality = judge(still, robot)
    assert found(quality, "joint does not move").joint == "joint_7"
    poor = found(quality, "poor excitation").numbers
    assert {"Fv7", "Ia7"} <= set(poor["poor"]) or {"Fv7", "ZZ7"} <= set(poor["poor"])
    assert "Fv1" not in poor["poor"]


def test_condition_inflation_and_sigma_are_those_of_least_squares():
    rng = np.random.default_rng(0)
    rows, beta = rng.standard_normal((4000, 2, 3)), np.array([1.0, -2.0, 0.5])
    rows[:, :, 2] = rows[:, :, 1] + 0.1 * rng.standard_normal((4000, 2))
    noise = np.array([0.1, 0.5])
    effort = rows @ beta + noise * rng.standard_normal((4000, 2))
    result = excitation_of(rows, effort, ("a", "b", "c"), 4000.0)
    w = (rows / noise[:, None]).reshape(-1, 3)
    covariance = np.linalg.inv(w.T @ w)
    assert result.noise == pytest.approx(noise, rel=0.05)
    assert result.std == pytest.approx(np.sqrt(covariance.diagonal()), rel=0.05)
    assert result.values == pytest.approx(beta, abs=5 * result.std.max())
    norms = np.linalg.norm(w, axis=0)
    assert result.condition == pytest.approx(np.linalg.cond(w / norms), rel=0.05)
    assert result.inflation == pytest.approx(np.sqrt(covariance.diagonal()) * norms, rel=0.05)


# -- repair ------------------------------------------------------------------------------------------------------------


def test_nothing_is_changed_when_nothing_is_wrong(panda):
    recording, _ = panda
    repaired = repair(recording)
    assert repaired.notes == ()
    assert len(repaired.segments) == 1
    for name in ("time", "q", "qd", "torque"):
        assert np.array_equal(getattr(repaired.recording, name), getattr(recording, name))


def test_duplicates_are_dropped_and_contradictions_refused(panda):
    recording, _ = panda
    twice = recording[np.sort(np.concatenate([np.arange(len(recording)), [10, 500]]))]
    repaired = repair(twice)
    assert np.array_equal(repaired.recording.time, recording.time)
    assert texts(repaired.notes) == ["dropped 2 samples with the time of the one before"]
    q = twice.q.copy()
    q[11] += 1.0
    with pytest.raises(RecordingError, match="contradicting: true"):
        repair(replace(twice, q=q))
    assert np.array_equal(repair(replace(twice, q=q), Repairs(contradicting=True)).recording.q, recording.q)


def test_short_runs_of_nan_are_filled_and_bursts_refused(panda):
    recording, _ = panda
    x = recording.q[:, 2].copy()
    x[[50, 51, 52, 700, 0]] = np.nan
    repaired = repair(changed(recording, "q", 2, x))
    assert len(repaired.recording) == len(recording) - 1  # the first sample cannot be interpolated: it is cut
    assert np.abs(repaired.recording.q - recording.q[1:]).max() < 2e-4
    assert any("filled 4 missing values of q (joint_3)" in words for words in texts(repaired.notes))
    x[1000:1100] = np.nan
    with pytest.raises(RecordingError, match="q of joint_3 holds no numbers for"):
        repair(changed(recording, "q", 2, x))
    with pytest.raises(RecordingError, match="windows"):
        repair(
            changed(recording, "q", 2, np.where(np.arange(len(x)) == 9, np.nan, recording.q[:, 2])),
            Repairs(interpolate=0),
        )
    with pytest.raises(RecordingError, match="no sample has all its values"):
        repair(changed(recording, "q", 2, np.full(len(x), np.nan)))


def test_spikes_only_when_asked(panda):
    recording, _ = panda
    spiked = changed(recording, "q", 6, _spiked(recording.q[:, 6], 700, 2100))
    assert np.array_equal(repair(spiked).recording.q, spiked.q)
    repaired = repair(spiked, Repairs(spikes=True))
    assert np.abs(repaired.recording.q - recording.q).max() < 2e-4
    assert repaired.notes[0].text == "replaced 2 isolated outliers of q (joint_7)"


def test_long_gaps_split_and_are_never_bridged(panda):
    recording, _ = panda
    kept = np.ones(len(recording), dtype=bool)
    kept[2000:2100] = False
    kept[2150:2500] = False
    repaired = repair(recording[kept])
    assert [len(part) for part in repaired.segments] == [2000, len(recording) - 2500]
    assert len(repaired.notes) == 2
    assert np.array_equal(repaired.recording.time[:2000], recording.time[:2000])
    with pytest.raises(RecordingError, match="the longest piece"):
        repair(recording[kept], Repairs(shortest=100.0))


@pytest.mark.parametrize("hole", [slice(1990, 1991), slice(1992, 1998), slice(2003, 2006), slice(1998, 2002)])
def test_holes_beside_a_gap_are_filled_from_their_own_side(hole):
    """Beyond the gap the joint is elsewhere; holes at the gap itself are cut, as at the ends of the log."""
    time = np.arange(4000) / 500
    time[2000:] += 1.3
    q = np.sin(3.0 * time)[:, None]
    holed = q.copy()
    holed[hole] = np.nan
    repaired = repair(Recording(("a",), time, holed))
    assert len(repaired.segments) == 2
    at = np.searchsorted(time, repaired.recording.time)
    assert np.abs(repaired.recording.q - q[at]).max() < 1e-6
    beside = hole.start < 2000 < hole.stop
    assert len(at) == (4000 - 4 if beside else 4000)


def test_stuck_channels_and_constant_time_cannot_be_repaired(panda):
    recording, _ = panda
    with pytest.raises(RecordingError, match="cannot be repaired: joint_2"):
        repair(changed(recording, "torque", 1, np.zeros(len(recording))))
    with pytest.raises(RecordingError, match="time stays"):
        repair(replace(recording, time=np.zeros(len(recording))))
    still = Recording(("a",), np.arange(500) / 100, 1e-5 * np.random.default_rng(0).standard_normal((500, 1)))
    with pytest.raises(RecordingError, match="standstill"):
        repair(still, Repairs(cut_standstill=True))


def test_repairs_from_plain_data():
    def filled(data):
        return fill(Repairs, data, "repair", error=RecordingError)

    assert filled({}) == Repairs() == filled(None)
    asked = Repairs(spikes=True, interpolate=0.1)
    assert filled({"spikes": True, "interpolate": 0.1}) == asked == filled(written(asked))
    for data, words in (
        ({"spike": True}, "unknown key 'spike'"),
        ({"spikes": 1}, "true or false"),
        ({"interpolate": -1}, "≥ 0"),
        ({"longest_gap": "far"}, "number > 0"),
        ([1], "mapping"),
    ):
        with pytest.raises(RecordingError, match=words):
            filled(data)
