"""Logs of four real robots: the check finds by itself what is the matter with each, and not with the others."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from exciter.experiment.quality import Repairs, check, repair
from exciter.notes import Severity
from exciter.robot import load
from support.real_data import real_recording, require_data

pytestmark = pytest.mark.real

NAMES = ("panda", "tx40", "kr300", "kr300 held_out", "lwr4", "lwr4 held_out")


@cache
def recorded(name: str):
    robot, *which = name.split()
    place = require_data(robot)
    recording = real_recording(robot, *which)
    return recording, check(recording, load(place / f"{robot}.urdf"))


@pytest.fixture(scope="module")
def judged():
    return recorded


def told(quality, what, least=Severity.WARNING):
    return [f for f in quality.findings if f.subject == what and f.severity >= least]


@pytest.mark.parametrize("name", NAMES)
def test_each_is_usable_with_care(judged, name):
    _, quality = judged(name)
    assert quality.usable, quality.verdict
    assert quality.verdict.startswith("usable with care: ")


@pytest.mark.parametrize("name", NAMES)
def test_lost_packets_are_pandas_alone(judged, name):
    recording, quality = judged(name)
    findings = told(quality, "lost samples") + told(quality, "jitter")
    if name != "panda":
        assert not findings
        return
    lost, jitter = findings
    assert lost.numbers["share"] == pytest.approx(0.022, abs=0.001)
    assert jitter.numbers["shortest"] == pytest.approx(0.7e-3, rel=0.01)
    assert jitter.numbers["longest"] == pytest.approx(8.81e-3, rel=0.01)
    expected = recording.duration / 1e-3 + 1  # by hand
    assert lost.numbers["count"] == pytest.approx(expected - len(recording), abs=1)


@pytest.mark.parametrize("name", NAMES)
def test_the_standstill_is_tx40s_alone(judged, name):
    _, quality = judged(name)
    findings = [f for f in told(quality, "standstill", Severity.NOTE) if f.numbers["duration"] > 1.0]
    if name != "tx40":
        assert not findings
        return
    assert [f.numbers["where"] for f in findings] == ["after"]
    assert findings[0].numbers["start"] == pytest.approx(7.45, abs=0.03)
    assert findings[0].numbers["end"] == pytest.approx(9.0, abs=0.001)


@pytest.mark.parametrize("name", NAMES)
def test_the_coupled_wrist_is_tx40s_alone(judged, name):
    _, quality = judged(name)
    pairs = [(f.numbers["first"], f.numbers["second"]) for f in told(quality, "coupled drives")]
    assert pairs == ([("joint_5", "joint_6")] if name == "tx40" else [])


@pytest.mark.parametrize("name", NAMES)
def test_small_excitation_is_kr300s_alone(judged, name):
    recording, quality = judged(name)
    poor, small = told(quality, "poor excitation"), told(quality, "small motion")
    if not name.startswith("kr300"):
        assert not poor
        assert not small
        return
    assert poor[0].numbers["condition_number_normalized"] > 500
    assert {"MY2", "off2"} <= set(poor[0].numbers["poor"])  # weight and offset of the shoulder: one short arc
    narrow = np.ptp(recording.q, axis=0) < 1.0
    assert [f.joint for f in small] == [n for n, few in zip(recording.joints, narrow, strict=True) if few]


@pytest.mark.parametrize("name", NAMES)
def test_the_earlier_low_pass_is_lwr4s_alone(judged, name):
    _, quality = judged(name)
    findings = told(quality, "earlier low-pass", Severity.NOTE)
    if not name.startswith("lwr4"):
        assert not findings
        return
    assert 2.0 < findings[0].numbers["cutoff"] < 12.0
    assert findings[0].numbers["half"] == pytest.approx(1.8, abs=0.2)  # both runs alike


@pytest.mark.parametrize("name", NAMES)
def test_no_order_sign_or_unit_is_doubted(judged, name):
    _, quality = judged(name)
    kinds = {"joint order", "sign", "unit of time", "unit of position", "unit of torque", "stuck sensor", "saturation"}
    assert not {f.subject for f in quality.findings} & kinds


@pytest.mark.parametrize(("name", "joint"), [("tx40", 1), ("lwr4", 3)])
def test_a_flipped_sign_of_a_real_torque_is_found(judged, name, joint):
    recording, _ = judged(name)
    torque = recording.torque.copy()
    torque[:, joint] *= -1
    robot = load(require_data(name) / f"{name}.urdf")
    wrong = check(replace(recording, torque=torque), robot).problems
    assert [(f.subject, f.joint) for f in wrong] == [("sign", recording.joints[joint])]


def test_swapped_torques_of_a_real_robot_are_found(judged):
    recording, _ = judged("lwr4")
    robot = load(require_data("lwr4") / "lwr4.urdf")
    swapped = replace(recording, torque=recording.torque[:, [0, 3, 2, 1, 4, 5, 6]])
    names = robot.joint_names
    wrong = {f.joint: f.numbers["belongs_to"] for f in check(swapped, robot).problems if f.subject == "joint order"}
    assert wrong == {names[1]: names[3], names[3]: names[1]}


def test_repair_cuts_the_standstill_when_asked(judged):
    recording, _ = judged("tx40")
    assert len(repair(recording).recording) == len(recording)
    cut = repair(recording, Repairs(cut_standstill=True)).recording
    assert cut.time[-1] == pytest.approx(7.45, abs=0.03)


def test_panda_needs_no_repair_by_default_and_is_not_split(judged):
    recording, _ = judged("panda")
    repaired = repair(recording)
    assert len(repaired.segments) == 1
    assert repaired.notes == ()
