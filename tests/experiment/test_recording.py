"""What a recording promises: shapes, order of time, read-only samples; and that cutting it loses nothing."""

import json
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exciter.errors import RecordingError
from exciter.experiment.recording import About, AnalogFilter, Payload, Recording
from exciter.settings import fill, written
from support.recordings import NUMBER, abouts, plain, recordings, same
from support.robots import random_robot


@settings(max_examples=30, deadline=None)
@given(recordings(), st.integers(1, 10))
def test_pieces_joined_are_the_whole(recording, size):
    pieces = list(recording.chunks(size))
    assert all(0 < len(piece) <= size for piece in pieces)
    assert same(Recording.join(pieces), recording)


@settings(max_examples=30, deadline=None)
@given(recordings(samples=1), st.data())
def test_slices_are_those_of_the_arrays(recording, data):
    part = data.draw(st.slices(len(recording)).filter(lambda s: (s.step or 1) > 0))
    cut = recording[part]
    for name in ("time", *recording.everything):
        np.testing.assert_array_equal(getattr(cut, name), getattr(recording, name)[part])
    assert cut.about == recording.about
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(recording), max_size=len(recording))))
    np.testing.assert_array_equal(recording[mask].q, recording.q[mask])
    start, end = sorted(data.draw(st.tuples(NUMBER, NUMBER)))
    inside = (recording.time >= start) & (recording.time <= end)
    assert same(recording.between(start, end), recording[inside])


@settings(max_examples=30, deadline=None)
@given(st.permutations(range(5)), st.booleans())
def test_arranged_is_the_robots_order(order, with_gains):
    robot = random_robot(7, 4)
    joints = [(*robot.joint_names, "gripper")[k] for k in order]
    q = np.arange(15.0).reshape(3, 5)
    gains = tuple(q[0]) if with_gains else None
    recording = Recording(joints, [0, 1, 2], q, current=10 * q, temperature=-q, about=About(gains=gains, period=2.0))
    recording = replace(recording, command=q + 0.5)
    arranged = recording.arranged(robot)
    assert arranged.joints == robot.joint_names
    for j, name in enumerate(robot.joint_names):
        np.testing.assert_array_equal(arranged.q[:, j], q[:, joints.index(name)])
        np.testing.assert_array_equal(arranged.current[:, j], 10 * q[:, joints.index(name)])
        np.testing.assert_array_equal(arranged.temperature[:, j], -q[:, joints.index(name)])
        np.testing.assert_array_equal(arranged.command[:, j], q[:, joints.index(name)] + 0.5)
        assert gains is None or arranged.about.gains[j] == gains[joints.index(name)]
    assert arranged.about.period == 2.0
    assert (arranged.qd, arranged.torque) == (None, None)
    assert same(arranged.arranged(robot), arranged)
    with pytest.raises(
        RecordingError, match=r"no joint 'j4' of the robot; it has .*other.*; rename them under joints:"
    ):
        replace(recording, joints=[{"j4": "other"}.get(name, name) for name in joints]).arranged(robot)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 5).flatmap(abouts))
def test_about_as_plain_data_and_back(about):
    assert fill(About, written(about), "about") == about
    assert fill(About, json.loads(json.dumps(written(about))), "about") == about


def test_samples_cannot_be_changed():
    given_q = np.zeros((4, 2))
    recording = plain(q=given_q)
    given_q[:] = 7.0
    assert not recording.q.any()
    with pytest.raises(ValueError, match="read-only"):
        recording.q[0, 0] = 1.0
    with pytest.raises(FrozenInstanceError):
        recording.q = given_q
    with pytest.raises(TypeError):
        recording.about.notes["a"] = "b"


def test_figures():
    recording = plain()
    assert (recording.n, len(recording), recording.signals) == (2, 4, ("q", "torque"))
    assert (recording.duration, recording.interval) == (4.0, 1.0)
    with pytest.raises(RecordingError, match="1 samples has no rate"):
        _ = recording[:1].interval


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"joints": ()}, "different names"),
        ({"joints": ("a", "a")}, "different names"),
        ({"joints": ("a", "b", "c")}, r"\(N, 3\); given time \(4,\), q \(4, 2\)"),
        ({"qd": np.zeros((3, 2))}, r"qd \(3, 2\)"),
        ({"time": np.zeros((4, 1))}, r"time \(4, 1\)"),
        ({"time": [0.0, 1.0, np.nan, 2.0]}, "time contains NaN"),
        ({"time": [0.0, 1.0, 0.5, 2.0]}, r"backwards after sample 1 \(1 s, then 0.5 s\)"),
    ],
)
def test_refused(changes, message):
    with pytest.raises(RecordingError, match=message):
        plain(**changes)


def test_equal_instants_and_missing_samples_are_allowed():
    assert plain(time=[0, 1, 1, 2]).interval == 1.0
    assert np.isnan(plain(q=np.full((4, 2), np.nan)).q).all()


def test_torque_needs_a_meaning():
    q = np.ones((4, 2))
    assert plain().needed_torque() is not None
    np.testing.assert_array_equal(
        plain(torque=None, current=q, about=About(gains=(2.0, -3.0))).needed_torque(), [[2.0, -3.0]] * 4
    )
    np.testing.assert_array_equal(plain(current=q, about=About(gains=(2.0, 3.0))).needed_torque(), plain().torque)
    with pytest.raises(RecordingError, match=r"gains \[N·m/A\]"):
        plain(torque=None, current=q).needed_torque()
    with pytest.raises(RecordingError, match="neither torque nor current"):
        plain(torque=None).needed_torque()


def test_commands_are_carried_and_are_no_measurement():
    time, q = np.arange(4) / 10, np.outer(np.arange(4.0), [1.0, 2.0])
    recording = Recording.of(time, q, command=q + 0.1, joints=("a", "b"))
    assert (recording.signals, recording.everything) == (("q",), ("q", "command"))
    assert repr(recording) == "<recording: 4 samples, 0.3 s, 10 Hz; q, command of a, b>"
    assert recording.labelled("command")["b"].tolist() == (q[:, 1] + 0.1).tolist()
    assert recording.units("command") == ("rad or m",) * 2
    with pytest.raises(RecordingError, match=r"neither torque nor current was recorded; .*`exciter actuators`"):
        recording.needed_torque()
    with pytest.raises(RecordingError, match=r"command has shape \(3, 2\); expected \(4, 2\)"):
        replace(recording, command=q[:3])


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: AnalogFilter(order=0), "^AnalogFilter: order is 0; give a whole number ≥ 1, at most 20$"),
        (lambda: AnalogFilter(cutoff=-4.0), r"^AnalogFilter: cutoff is -4.0; give a number > 0 \[Hz\]$"),
        (lambda: Payload("tool", -1.0), r"^Payload: mass is -1.0; give a number ≥ 0 \[kg\]$"),
        (lambda: Payload("tool", 1.0, (0.0, 0.0)), r"^Payload: centre is \[0.0, 0.0\]; give a list of 3 numbers \[m\]"),
        (lambda: Payload("tool", 1.0, inertia=(1.0,)), r"^Payload: inertia is \[1.0\]; give a list of 6 numbers"),
    ],
)
def test_settings_are_refused_by_key_and_value(made, message):
    with pytest.raises(RecordingError, match=message):
        made()


def test_nothing_to_join():
    with pytest.raises(RecordingError, match="nothing was recorded"):
        Recording.join([])
