"""What a log means beside its robot: units joint by joint, torque explained, rate, planned motion, and the words."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from exciter.dynamics.model import DynamicModel
from exciter.excitation.files.row_files import MotionSamples
from exciter.experiment.quality import Repairs, check, repair
from exciter.experiment.quality.evidence import USUAL_TERMS, foreign_units
from exciter.experiment.quality.numbers_in_words import counted, number, percent, time_span
from exciter.experiment.quality.sample_tallies import turns_of
from exciter.experiment.quality.torque_checks import with_reasons
from exciter.experiment.recording import About, AnalogFilter, Recording
from exciter.notes import Severity, note, problem, warning
from exciter.robot import embedded_robots as embedded
from exciter.robot import load
from exciter.robot.motion import Motion
from support.quality_logs import RATE, changed, clean, fourier

pytestmark = pytest.mark.slow

SCARA = """<robot name="scara"><link name="base"/>
<link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="6"/>
<inertia ixx="0.03" iyy="0.1" izz="0.12" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="fore"><inertial><origin xyz="0.1 0.01 0"/><mass value="5"/>
<inertia ixx="0.03" iyy="0.07" izz="0.06" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="quill"><inertial><origin xyz="0 0 -0.05"/><mass value="1.5"/>
<inertia ixx="0.01" iyy="0.01" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
<limit lower="-2.3" upper="2.3" velocity="4" effort="120"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/><origin xyz="0.35 0 0"/>
<axis xyz="0 0 1"/><limit lower="-2.4" upper="2.4" velocity="5" effort="60"/></joint>
<joint name="slide" type="prismatic"><parent link="fore"/><child link="quill"/><origin xyz="0.3 0 0"/>
<axis xyz="0 0 1"/><limit lower="-0.2" upper="0" velocity="0.8" effort="200"/></joint></robot>"""


@cache
def model_of(robot):
    return DynamicModel(robot, USUAL_TERMS)


def judge(recording, robot, **settings):
    return check(recording, model=model_of(robot), **settings)


def told(quality, what, least=Severity.NOTE):
    return [f for f in quality.findings if f.subject == what and f.severity >= least]


@pytest.fixture(scope="module")
def ur():
    return clean("ur10e", 1)


@pytest.fixture(scope="module")
def scara(tmp_path_factory):
    path = tmp_path_factory.mktemp("scara") / "scara.urdf"
    path.write_text(SCARA, encoding="utf-8")
    return clean(load(path), 2)


def as_current(recording, gains):
    return replace(recording, torque=None, current=recording.torque / gains, about=About(gains=tuple(gains)))


# -- units -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1e3, 1e-3])
@pytest.mark.parametrize("joint", [1, 2])
def test_milliamperes_of_one_joint_are_a_problem(ur, joint, factor):
    recording, robot = ur
    gains = np.array([10.0, 11.0, 12.0, 8.0, 8.0, 8.0])
    current = as_current(recording, gains)
    assert not judge(current, robot).problems
    wrong = told(judge(changed(current, "current", joint, factor * current.current[:, joint]), robot), "unit of torque")
    assert [(f.severity, f.joint) for f in wrong] == [(Severity.PROBLEM, robot.joint_names[joint])]
    assert wrong[0].numbers["scale"] == pytest.approx(factor, rel=0.3)
    assert "mA" in wrong[0].text


def test_torque_limits_are_those_of_currents_times_gains(ur):
    """A wrist without load: its model torque says nothing, its limit does."""
    recording, robot = ur
    current = as_current(recording, np.full(6, -9.0))
    x = 1e3 * current.current[:, 5]
    wrong = told(judge(changed(current, "current", 5, x), robot), "beyond limit")
    assert [(f.severity, f.joint) for f in wrong] == [(Severity.PROBLEM, robot.joint_names[5])]
    expected = 9.0 * np.abs(x).max() / robot.limit("torque")[5]
    assert wrong[0].numbers["reached"] == pytest.approx(expected)
    once = current.current[:, 5].copy()
    once[100] *= 1e5  # a spike is no unit
    assert not told(judge(changed(current, "current", 5, once), robot), "beyond limit", Severity.PROBLEM)


def test_degrees_name_every_joint_and_the_line_to_paste(scara):
    recording, robot = scara
    q = recording.q.copy()
    q[:, :2] = np.degrees(q[:, :2])
    (all_angles,) = told(judge(replace(recording, q=q, qd=None), robot), "unit of position")
    assert set(all_angles.numbers["units"]) == {"shoulder", "elbow"}
    assert "position: {unit: [deg, deg, m]}" in all_angles.text
    one = changed(replace(recording, qd=None), "q", 1, q[:, 1])
    (elbow,) = told(judge(one, robot), "unit of position")
    assert elbow.joint == "elbow"
    assert "position: {unit: [rad, deg, m]}" in elbow.text


def test_millimetres_of_a_slide_are_a_unit_and_no_jump(scara):
    recording, robot = scara
    quality = judge(changed(replace(recording, qd=None), "q", 2, 1e3 * recording.q[:, 2]), robot)
    assert [(f.subject, f.joint) for f in quality.problems] == [("unit of position", "slide")]
    assert "[rad, rad, mm]" in quality.problems[0].text
    assert "millimetres" in quality.problems[0].text


def test_foreign_units_need_to_fit():
    robot = embedded.robot("ur10e")
    low, high = np.full(6, -1.0), np.full(6, 1.0)
    assert foreign_units(low, high, robot) == {}
    assert foreign_units(low, np.where(np.arange(6) == 2, 100.0, 1.0), robot) == {2: "deg"}
    assert foreign_units(low, np.where(np.arange(6) == 2, 1e5, 1.0), robot) == {}  # neither rad nor deg
    assert foreign_units(-90 * high, 90 * high, robot) == dict.fromkeys(range(6), "deg")
    mostly = np.array([90.0, 90.0, 90.0, 90.0, 5.0, 5.0])
    assert foreign_units(-mostly, mostly, robot) == dict.fromkeys(range(6), "deg")
    assert foreign_units(np.zeros(2), np.array([1.0, 20.0]), None) == {1: "deg"}


def test_forces_are_newtons(scara):
    recording, robot = scara
    force = recording.torque[:, 2]
    weaker = robot.with_limits(torque={"slide": 0.4 * np.abs(force).max()})
    (beyond,) = told(judge(recording, weaker), "beyond limit")
    assert beyond.joint == "slide"
    assert " N)" in beyond.text
    assert "N·m" not in beyond.text
    (cut,) = told(
        judge(changed(recording, "torque", 2, np.maximum(force, np.quantile(force, 0.04))), robot), "saturation"
    )
    assert " N:" in cut.text
    dummy = robot.with_inertias(np.tile([1.0, 0, 0, 0, 0.01, 0, 0.01, 0, 0, 0.01], (3, 1)))
    (sign,) = told(judge(changed(recording, "torque", 2, -force), dummy), "sign")  # by friction alone
    assert sign.joint == "slide"
    assert " N at usual speed" in sign.text


def test_steps_have_joints_and_units(scara):
    recording, robot = scara
    (finding,) = told(judge(changed(recording, "q", 2, np.round(recording.q[:, 2], 4)), robot), "quantisation")
    assert finding.text == "q has steps of 0.0001 m (slide)"


def test_a_drive_at_its_limit_is_no_turned_sign(ur):
    """Where it cannot do what is asked for, its torque follows something else; all else is judged as ever."""
    recording, robot = ur
    force, sigma = recording.torque[:, 2], 1e-3
    most = 1.5 * np.abs(force).max()
    robot = robot.with_limits(torque={robot.joint_names[2]: most})
    seized = (recording.time > 7.0) & (recording.time < 19.0)
    noise = sigma * most * np.random.default_rng(0).standard_normal(len(force))
    against = np.where(seized, -most * np.sign(recording.qd[:, 2]) + noise, force)
    found = judge(changed(recording, "torque", 2, against), robot)
    assert not told(found, "sign", Severity.WARNING)
    assert not told(found, "joint order", Severity.WARNING)
    assert [one.joint for one in told(found, "at limit", Severity.WARNING)] == [robot.joint_names[2]]
    turned = told(judge(changed(recording, "torque", 2, -against), robot), "sign", Severity.PROBLEM)
    assert robot.joint_names[2] in {one.joint for one in turned}
    always = judge(changed(recording, "torque", 2, -most * np.sign(recording.qd[:, 2]) + noise), robot)
    assert not told(always, "sign", Severity.WARNING)
    assert any("order and signs were not judged" in one.text for one in always.skipped)


def test_velocity_at_its_limit_is_one_note(ur):
    recording, robot = ur
    slower = robot.with_limits(velocity=0.999 * np.abs(recording.qd).max(axis=0))
    (finding,) = told(judge(recording, slower), "at limit")
    assert (finding.severity, finding.joint) == (Severity.NOTE, None)
    assert set(finding.numbers["share"]) <= set(robot.joint_names)
    assert len(finding.numbers["share"]) > 3


# -- explained torque --------------------------------------------------------------------------------------------------


def test_clean_torque_is_explained_joint_by_joint(ur):
    recording, robot = ur
    (finding,) = told(judge(recording, robot), "explained torque")
    assert finding.severity == Severity.NOTE
    assert min(finding.numbers["fitted"].values()) > 0.98
    assert min(finding.numbers["described"].values()) > 0.95  # inertias are 20 % off
    dummy = robot.with_inertias(np.tile([1.0, 0, 0, 0, 0.01, 0, 0.01, 0, 0, 0.01], (6, 1)))
    (finding,) = told(judge(recording, dummy), "explained torque")
    assert finding.severity == Severity.NOTE
    assert finding.numbers["described"] is None
    amperes = replace(recording, torque=None, current=recording.torque / [10.0, 1.0, 5.0, 2.0, 3.0, 1.0])
    (finding,) = told(judge(amperes, robot), "explained torque")
    assert min(finding.numbers["fitted"].values()) > 0.98


@pytest.mark.parametrize(("joint", "angle"), [(1, -np.pi / 2), (2, 0.5), (3, 1.2)])
def test_a_zero_that_is_off_is_found_with_its_angle(ur, joint, angle):
    recording, robot = ur
    quality = judge(changed(recording, "q", joint, recording.q[:, joint] + angle), robot)
    (finding,) = quality.problems
    assert (finding.subject, finding.joint) == ("zero", robot.joint_names[joint])
    assert finding.numbers["angle"] == pytest.approx(-angle, abs=0.1)
    assert min(told(quality, "explained torque")[0].numbers["described"].values()) < 0.98
    assert "offset: {values: [0, " in finding.text


def test_a_zero_that_a_fit_hides_is_found(scara):
    """In a plane a zero that is off is a centre of mass elsewhere: only the description knows better. Half a radian may
    be a body unlike that of the description, a whole one is not."""
    recording, robot = scara
    for angle, severity in ((0.5, Severity.WARNING), (1.0, Severity.PROBLEM)):
        quality = judge(changed(recording, "q", 1, recording.q[:, 1] + angle), robot)
        (finding,) = told(quality, "zero")
        assert (finding.severity, finding.joint) == (severity, "elbow")
        assert finding.numbers["angle"] == pytest.approx(-angle, abs=0.1)
        assert quality.usable == (severity == Severity.WARNING)
        assert min(told(quality, "explained torque")[0].numbers["fitted"].values()) > 0.98


def test_two_zeros_leave_torque_unexplained(ur):
    recording, robot = ur
    q = recording.q + np.array([0.0, 1.5, -1.5, 0.0, 0.0, 0.0])
    quality = judge(replace(recording, q=q), robot)
    assert told(quality, "explained torque", Severity.WARNING) or quality.problems


def test_torque_that_is_noise_alone_is_no_fault_of_the_log(ur):
    """Nothing explains noise; as much torque that no noise of samples explains is another matter."""
    recording, robot = ur
    name, rng = robot.joint_names[3], np.random.default_rng(0)
    quality = judge(
        changed(recording, "torque", 3, recording.torque[:, 3] + rng.normal(0.0, 150.0, len(recording))), robot
    )
    assert quality.usable, quality.problems
    (finding,) = told(quality, "explained torque", Severity.WARNING)
    assert finding.joint == name
    assert finding.numbers["noise"]
    assert "noise for the most part" in finding.text
    slow = np.cumsum(rng.normal(0.0, 1.0, len(recording)))
    quality = judge(changed(recording, "torque", 3, recording.torque[:, 3] + 30.0 * slow / slow.std()), robot)
    assert any(name in f.numbers.get("joints", ()) for f in told(quality, "explained torque", Severity.PROBLEM))


def test_exchanged_wrist_torques_are_found(ur):
    recording, robot = ur
    swapped = replace(recording, torque=recording.torque[:, [0, 1, 2, 3, 5, 4]])
    wrong = {f.joint: (f.subject, f.numbers["belongs_to"]) for f in judge(swapped, robot).problems}
    first, second = robot.joint_names[4:]
    assert wrong == {first: ("joint order", second), second: ("joint order", first)}


def test_exchanged_positions_are_found(ur):
    recording, robot = ur
    order = [0, 2, 1, 3, 4, 5]
    swapped = replace(recording, q=recording.q[:, order], qd=recording.qd[:, order])
    (finding,) = judge(swapped, robot).problems
    assert (finding.subject, finding.numbers["of"]) == ("joint order", "positions")
    assert [finding.joint, finding.numbers["belongs_to"]] == list(robot.joint_names[1:3])


def test_a_cause_that_is_known_is_told_alone(ur):
    recording, robot = ur
    quality = judge(changed(recording, "torque", 1, -recording.torque[:, 1]), robot)
    assert [f.subject for f in quality.problems] == ["sign"]
    assert [f.severity for f in told(quality, "explained torque")] == [Severity.NOTE]
    unexplained = [note("explained torque", ""), warning("explained torque", "")]
    assert with_reasons([*unexplained, warning("sign", "")]) == (*unexplained, warning("sign", ""))
    assert with_reasons([*unexplained, problem("sign", "")]) == (unexplained[0], problem("sign", ""))


# -- time --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jitter", [0.0, 0.1, 0.25])
def test_rate_and_losses_are_not_moved_by_jitter(jitter):
    recording, robot = clean("kuka-ir361", 5, seconds=40.0, jitter=jitter)
    kept = np.random.default_rng(3).random(len(recording)) > 0.01
    kept[[0, -1]] = True
    quality = judge(recording[kept], robot)
    assert quality.rate == pytest.approx(RATE, rel=5e-5)
    (rate,) = told(quality, "rate")
    assert f"nominally {RATE:.0f} Hz" in rate.text
    (lost,) = told(quality, "lost samples")
    assert lost.numbers["count"] == int((~kept).sum())
    starts = np.flatnonzero(np.diff(kept.astype(int)) == -1)
    assert lost.numbers["gaps"] == len(starts)


def test_late_stamps_are_no_losses():
    recording, robot = clean("kuka-ir361", 5, jitter=0.45)
    quality = judge(recording, robot)
    assert not told(quality, "lost samples", Severity.WARNING)
    assert all(f.numbers["share"] < 1e-3 for f in told(quality, "lost samples"))
    assert "nominally 250 Hz" in told(quality, "rate")[0].text


def test_a_long_gap_counts_by_the_true_rate():
    recording, robot = clean("kuka-ir361", 6, jitter=0.1)
    kept = np.ones(len(recording), dtype=bool)
    kept[2000:4000] = False
    (lost,) = told(judge(recording[kept], robot), "lost samples")
    assert lost.numbers["count"] == pytest.approx(2000, abs=1)
    assert lost.numbers["gaps"] == 1


# -- planned -----------------------------------------------------------------------------------------------------------


def plan_of(robot, seconds, period=12.0):
    time = np.arange(int(seconds * RATE) + 1) / RATE
    plan = fourier(robot, time, 1, period)
    return MotionSamples(plan.time, plan.q, plan.qd, plan.qdd).curve()


def test_the_smallest_of_equal_shifts_is_told(ur):
    """A plan of two periods that does not quite close: a period earlier fits where they overlap, too."""
    recording, robot = ur
    late = replace(recording[:-2], q=recording.q[2:])
    curve = plan_of(robot, 23.0)
    (finding,) = told(judge(late, robot, planned=curve), "planned motion")
    assert finding.numbers["shift"] == pytest.approx(-2 / RATE, abs=1e-5)
    assert "8 ms earlier" in finding.text
    assert "without a shift" in finding.text
    assert max(finding.numbers["rms"]) < 1e-4 < max(finding.numbers["unshifted_rms"])


def test_no_shift_is_no_number(ur):
    recording, robot = ur
    (finding,) = told(judge(recording, robot, planned=plan_of(robot, 24.0)), "planned motion")
    assert "without a shift in time" in finding.text
    assert "e-" not in finding.text


def test_exchanged_joints_of_a_plan_are_suggested(ur):
    recording, robot = ur
    curve = plan_of(robot, 24.0)
    order = [0, 2, 1, 3, 4, 5]
    findings = told(judge(replace(recording, q=recording.q[:, order], qd=None), robot, planned=curve), "planned motion")
    exchanged = [f.numbers["exchanged"] for f in findings if "exchanged" in f.numbers]
    assert exchanged == [[robot.joint_names[1], robot.joint_names[2]]]
    assert not any("exchanged" in f.numbers for f in told(judge(recording, robot, planned=curve), "planned motion"))


# -- words -------------------------------------------------------------------------------------------------------------


def test_words():
    assert [number(x) for x in (4970.3, 0.0123456, 137.4, -0.00045, 1.2e-7, 0.0)] == [
        "4970", "0.0123", "137", "-0.00045", "1.2e-07", "0"
    ]  # fmt: skip
    assert number(240200.0, 4) == "240200"
    assert (percent(1.4), percent(0.0082), percent(49.7)) == ("140 %", "0.82 %", "5000 %")
    assert (counted(1, "sample"), counted(2, "sample"), counted(0, "gap")) == ("one sample", "2 samples", "0 gaps")
    assert [time_span(x) for x in (2.5, 0.006, 22.35e-6, 1e-9, 0.001)] == ["2.5 s", "6 ms", "22.4 µs", "0", "1 ms"]


# -- turns, jumps, whole rows ------------------------------------------------------------------------------------------


def wrapped(q, least=-np.pi):
    return (q - least) % (2 * np.pi) + least


@pytest.mark.parametrize("rate", [50.0, 250.0])
def test_angles_that_wrap_around_are_no_spikes_and_can_be_repaired(rate):
    recording, robot = clean("ur10e", 4, rate=rate)
    q = recording.q.copy()
    q[:, 3] = wrapped(q[:, 3] + 3.0)
    q[:, 0] = wrapped(q[:, 0], float(np.median(q[:, 0])))
    expected = {robot.joint_names[j]: int((np.abs(np.diff(q[:, j])) > np.pi).sum()) for j in (0, 3)}
    quality = judge(replace(recording, q=q), robot)
    assert {f.joint: f.numbers["count"] for f in told(quality, "jumps")} == expected
    assert all("repair: {unwrap: true}" in f.text for f in told(quality, "jumps"))
    assert not told(quality, "spikes") + told(quality, "unit of position")
    repaired = repair(replace(recording, q=q), Repairs(unwrap=True))
    assert len(repaired.notes) == 2
    constant = repaired.recording.q - recording.q
    assert np.ptp(constant, axis=0) == pytest.approx(np.zeros(6), abs=1e-9)
    assert not repair(replace(recording, q=q)).notes  # only when asked
    assert not told(judge(repaired.recording, robot), "jumps")


def test_a_turn_from_one_sample_on_is_no_unit(scara):
    recording, robot = scara
    q = recording.q[:, 0] + 2 * np.pi * (np.arange(len(recording)) > 3000)
    quality = judge(changed(recording, "q", 0, q), robot)
    (finding,) = told(quality, "jumps")
    assert (finding.joint, finding.numbers["count"]) == ("shoulder", 1)
    assert not told(quality, "unit of position") + told(quality, "spikes")


def test_degrees_do_not_wrap():
    """Steps of some six degrees from sample to sample are motion."""
    time = np.arange(400)[:, None] / 50.0
    assert not turns_of(np.degrees(2.5 * np.sin(2.5 * time))).any()
    assert not turns_of(10.0 * np.sin(time), np.array([False])).any()


def test_repeated_samples_with_new_stamps_are_jumps_and_no_spikes(ur):
    """A block logged twice: time goes on, positions go back at once."""
    recording, robot = ur
    fast = int(np.argmax(np.abs(recording.qd[500:5000]).min(axis=1))) + 500
    rows = np.r_[0:fast, fast - 60 : len(recording) - 60]
    twice = replace(recording, q=recording.q[rows], torque=recording.torque[rows], qd=None)
    quality = judge(twice, robot)
    far = np.abs(recording.q[fast - 60] - recording.q[fast - 1])
    impossible = far * RATE > 3 * robot.limit("velocity")
    assert impossible.sum() >= 4
    names = {name for name, one in zip(robot.joint_names, impossible, strict=True) if one}
    assert names <= {f.joint for f in told(quality, "jumps", Severity.PROBLEM)}
    assert not [f for f in told(quality, "spikes") if f.numbers["signal"] == "q"]


def test_rows_of_zeros_are_one_line(ur):
    recording, robot = ur
    signals = {name: getattr(recording, name).copy() for name in ("q", "qd", "torque")}
    for x in signals.values():
        x[[400, 1700, 4000]] = 0.0
    quality = judge(replace(recording, **signals), robot)
    rows = [f for f in told(quality, "spikes") if f.numbers["signal"] == "rows"]
    assert [f.numbers["count"] for f in rows] == [3]
    assert told(quality, "spikes") == rows
    assert "3 whole rows" in rows[0].text


def test_one_spike_in_words(ur):
    recording, robot = ur
    q = recording.q[:, 2].copy()
    q[900] += 0.5
    (finding,) = told(judge(changed(recording, "q", 2, q), robot), "spikes")
    assert finding.text.startswith("one sample of q far off both neighbours")


# -- delay and a filter that is known ----------------------------------------------------------------------------------


def test_a_delay_that_the_filter_explains_is_a_note():
    analog = AnalogFilter(8, 40.0)
    # by hand: poles on a circle, and the phase at a low frequency
    w = 1e-4 * 2 * np.pi * analog.cutoff
    poles = np.exp(1j * np.pi * (2 * np.arange(1, 9) + 7) / 16) * 2 * np.pi * analog.cutoff
    slope = -np.angle(np.prod(-poles / (1j * w - poles))) / w
    assert analog.delay == pytest.approx(slope, rel=1e-6)
    recording, robot = clean("ur10e", 6, delay=analog.delay)
    (unknown,) = told(judge(recording, robot), "delay")
    assert unknown.severity == Severity.WARNING
    assert "set filter: {order: …, cutoff: …}" in unknown.text
    (known,) = told(judge(replace(recording, about=About(filter=analog)), robot), "delay")
    assert known.severity == Severity.NOTE
    assert "as the filter given explains (expected 20.4 ms)" in known.text
    (other,) = told(judge(replace(recording, about=About(filter=AnalogFilter(4, 100.0))), robot), "delay")
    assert other.severity == Severity.WARNING


@pytest.mark.parametrize("seed", [3, 4])
def test_a_joint_that_hardly_moves_has_no_turned_sign(seed):
    """Its friction bends like a spring, which bodies of any kind would make friction that drives (seed 3)."""
    robot, rng, time = embedded.robot("panda"), np.random.default_rng(seed), np.arange(0.0, 20.0, 0.004)
    motion = fourier(robot, time, seed)
    size = np.ones(robot.n)
    size[rng.permutation(robot.n)[:2]] = 0.02
    middle = motion.q.mean(axis=0)
    motion = Motion(time, middle + (motion.q - middle) * size, motion.qd * size, motion.qdd * size)
    heavier = robot.with_inertias(robot.inertias * (1.0 + 0.2 * rng.uniform(-1.0, 1.0, (robot.n, 1))))
    force, bent = DynamicModel(heavier).torque(motion), np.zeros_like(motion.q)
    for k in range(1, len(time)):
        step = motion.q[k] - motion.q[k - 1]
        bent[k] = np.sign(step) + (bent[k - 1] - np.sign(step)) * np.exp(-np.abs(step) / 0.01)
    force = force + force.std(axis=0) * (0.15 * bent + 0.01 * rng.standard_normal(bent.shape))
    recording = Recording(robot.joint_names, time, motion.q + 2e-5 * rng.standard_normal(bent.shape), None, force)
    assert not told(check(recording, robot), "sign", Severity.WARNING)


def test_friction_betrays_a_sign_where_bodies_are_known_and_too_light_to_tell():
    """The shoulder's axis is vertical and its friction larger than what bodies ask for."""
    recording, robot = clean("panda", 1)
    rubbing = 30.0 * np.tanh(recording.qd[:, 0] / 0.01)
    force = 0.02 * recording.torque[:, 0] + rubbing
    assert not told(judge(changed(recording, "torque", 0, force), robot), "sign", Severity.WARNING)
    (sign,) = told(judge(changed(recording, "torque", 0, -force), robot), "sign")
    assert sign.joint == "joint_1"
    assert sign.numbers["friction"] == pytest.approx(-30.0, rel=0.1)
