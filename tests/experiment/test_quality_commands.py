"""Logs of drives without torque sensors: what their commands say is judged, and nothing is made up for torques."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import butter, lfilter

from exciter.errors import RecordingError
from exciter.experiment.quality import check, repair
from exciter.experiment.recording import Recording
from exciter.experiment.recording.recording import Repairs
from exciter.experiment.signals.resample import resample
from exciter.notes import Severity
from exciter.pipeline.identify import identify
from support.robots import random_robot

TIME = np.arange(4000) / 400
COMMAND = 0.8 * np.sin(np.outer(TIME, [1.3, 2.1])) + 0.3 * np.cos(np.outer(TIME, [3.0, 1.7]))
JOINTS = ("j1", "j2")


def soft_drive(command: np.ndarray = COMMAND) -> Recording:
    """Encoders of a drive that is some 20 ms late and gives way to weight."""
    second_order = butter(2, 10.0, fs=400.0)
    late = lfilter(*second_order, command - command[0], axis=0) + command[0]
    noise = 2e-4 * np.random.default_rng(1).standard_normal(command.shape)
    q = 1e-4 * np.round((late + noise - 0.05) / 1e-4)
    return Recording.of(TIME, q, command=command, joints=JOINTS)


def found(log: Recording, subject: str) -> list[tuple[str, str | None]]:
    return [(str(one.severity), one.joint) for one in check(log).findings if one.subject == subject]


def test_a_log_without_torque_is_judged_as_far_as_it_goes():
    lost = soft_drive()[np.delete(np.arange(4000), np.arange(1000, 1003))]
    quality = check(lost)
    assert quality.usable
    assert {one.subject for one in quality.findings} >= {"rate", "lost samples", "quantisation", "command"}
    (followed,) = (one for one in quality.findings if one.subject == "command")
    error = np.sqrt(np.mean((lost.q - lost.command) ** 2, axis=0))
    assert list(followed.numbers["rms"].values()) == pytest.approx(error)
    assert any("`exciter actuators`" in one.text for one in quality.skipped)
    still = replace(lost, q=np.full_like(lost.q, 0.3), command=np.full_like(lost.q, 0.31))
    (rest,) = (one for one in check(still).findings if one.subject == "standstill")
    assert (rest.severity, rest.text) == (Severity.PROBLEM, "no joint moves; nothing can be identified from it")


def test_steps_and_pauses_of_a_command_are_no_faults():
    """Refreshed every tenth sample, and held for seconds."""
    held = np.repeat(COMMAND[::10], 10, axis=0)
    held[1000:2000] = held[1000]
    assert check(soft_drive(held)).verdict == "usable: nothing suspicious was found"


@pytest.mark.parametrize("shift", [0, 1, -1])
def test_a_command_that_is_what_was_measured(shift):
    log = soft_drive()
    copied = np.column_stack([np.roll(log.q[:, 0], -shift), log.command[:, 1]])
    assert found(replace(log, command=copied), "command is measured") == [("problem", "j1")]
    assert not found(log, "command is measured")


def test_commands_in_another_unit_sense_or_zero():
    log = soft_drive()
    degrees, turned, zero = (log.command * [factor, 1.0] for factor in (180.0 / np.pi, -1.0, 1.0))
    assert found(replace(log, command=degrees), "command")[0] == ("problem", "j1")
    assert "in degrees?" in check(replace(log, command=degrees)).problems[0].text
    assert "signs" in check(replace(log, command=turned)).problems[0].text
    assert found(replace(log, command=zero + np.array([0.0, 3.0])), "command") == [("warning", "j2"), ("note", None)]
    stuck = np.column_stack([log.command[:, 0], np.full(len(log), 0.2)])
    assert found(replace(log, command=stuck), "stuck command") == [("problem", "j2")]
    holes = log.command.copy()
    holes[10:20, 1] = np.nan
    assert found(replace(log, command=holes), "missing commands") == [("warning", "j2")]


def test_repair_and_resampling_keep_commands_at_their_instants():
    log = soft_drive(COMMAND + np.array([3.0, 0.0]))  # the first joint goes over half a turn
    wrapped = replace(log, q=np.where(log.q > np.pi, log.q - 2 * np.pi, log.q))
    wrapped = replace(wrapped, command=np.where(log.command > np.pi, log.command - 2 * np.pi, log.command))
    again = wrapped[np.insert(np.arange(len(log)), 500, 500)]
    kept = repair(again, Repairs(unwrap=True)).recording
    np.testing.assert_allclose(np.ptp(kept.q, axis=0), np.ptp(log.q, axis=0), atol=1e-12)
    np.testing.assert_allclose(kept.command - kept.q, log.command - log.q, atol=1e-12)
    slower = resample(log, 100.0)
    np.testing.assert_allclose(
        slower.command, np.column_stack([np.interp(slower.time, TIME, x) for x in log.command.T])
    )


def test_identification_says_what_such_a_log_is_for():
    robot = random_robot(3, 2)
    log = replace(soft_drive(), joints=robot.joint_names)
    with pytest.raises(RecordingError, match=r"the log has no torque; .*`exciter actuators` is for such logs"):
        identify(robot, [log])


def test_commands_of_other_joints():
    log = soft_drive()
    exchanged = replace(log, command=COMMAND[:, ::-1])
    assert found(exchanged, "command") == [("problem", "j1"), ("problem", "j2")]
    assert "command of 'j2'" in check(exchanged).problems[0].text
    assert found(log, "command") == [("note", None)]
