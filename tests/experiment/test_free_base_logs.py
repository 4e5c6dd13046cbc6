"""Logs of free bases: what recording.yaml says of pose, twist, IMU and contacts becomes q, q̇, q̈ of six joints."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import exciter as ex
from exciter.dynamics.dynamics import Dynamics
from exciter.errors import RecordingError
from exciter.experiment.quality import check
from exciter.experiment.recording.base_joints import arranged_pieces
from exciter.experiment.recording.base_sensing import Contacts, ImuMounting, TwistAxes
from exciter.experiment.recording.recording import About, Recording
from exciter.experiment.signals.contact_stretches import stretches
from exciter.experiment.signals.differentiation import FilteredDifferences
from exciter.experiment.signals.processed_motion import Processed
from exciter.experiment.virtual.standing import StandingNoise
from exciter.robot import Motion
from exciter.robot import base_motion as base
from support.standing import FEET, RATE, flying, quadruped, sines, standing

EXACT = StandingNoise(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@pytest.fixture(scope="module")
def log() -> Recording:
    """A flight of two seconds, all of it measured, without noise."""
    return flying(2.0).stood.recording(EXACT, forces=True)


def test_own_files_give_the_same_again(log: Recording, tmp_path: Path) -> None:
    imu = np.random.default_rng(0).standard_normal((len(log), 6))
    contacts = Contacts(("trunk", "LF_foot"), kind="flat", radius=0.01, margin=0.2, axes="local", moments=True)
    about = About(contacts=contacts, base_twist=TwistAxes("local"), imu=ImuMounting("imu_link", (0.1, 0.0, 0.0)))
    flags = (imu[:, :2] > 0.0).astype(float)
    whole = replace(log, imu=imu, contact=flags, contact_force=np.hstack([imu, imu]), about=about)
    for name in ("log.csv", "log.npz"):
        whole.save(tmp_path / name)
        again = ex.read(tmp_path / name)
        for channel in ("time", *whole.everything):
            np.testing.assert_array_equal(getattr(again, channel), getattr(whole, channel), err_msg=channel)
        assert (again.about.contacts, again.about.imu) == (contacts, about.imu)
        assert again.about.base_twist == about.base_twist


FOREIGN = """
file: log.csv
time: {column: t}
joints: [LF_abduct, LF_swing, LF_knee, LH_abduct, LH_swing, LH_knee, RF_abduct, RF_swing, RF_knee, RH_abduct, RH_swing,
  RH_knee]
position: {columns: q, unit: rad}
torque: {columns: tau, unit: N·m}
base_position: {columns: [x, y, z], unit: mm}
base_orientation: {columns: [b, c, d, a], order: xyzw}
base_twist: {columns: [u, v, w, o, p, r], frame: local, unit: [m/s, m/s, m/s, deg/s, deg/s, deg/s]}
imu: {columns: imu, frame: imu_link, translation: [0.01, 0.02, -0.03], rpy: [0.1, 0.2, 0.3]}
contacts: {frames: [LF_foot, RF_foot], columns: [f1, f2], threshold: 5.0, unit: N, kind: point, radius: 0.02}
"""


def test_a_foreign_log_in_its_own_units_axes_and_order(log: Recording, tmp_path: Path) -> None:
    """Quaternion with w last, twist in the base's axes and degrees, an IMU that sits askew, feet by their forces."""
    robot, stood = quadruped(), flying(2.0).stood
    motion = stood.motion
    exact = base.BaseMotion.of_joints(motion.q[:, :6], motion.qd[:, :6], motion.qdd[:, :6])
    frame = robot.frame("imu_link")
    turn = frame.rotation @ base.rotation_of_angles(np.array([[0.3, 0.2, 0.1]]))[0]
    place = frame.translation + frame.rotation @ np.array([0.01, 0.02, -0.03])
    imu = np.hstack([exact.spin @ turn, exact.specific_force(robot.gravity, place) @ turn])
    local = np.einsum("Nji,Nj->Ni", exact.rotation, exact.velocity)
    feet = np.column_stack([np.where(motion.time < 1.0, 4.0, 30.0), np.full(len(motion), 6.0)])
    quaternion = base.quaternions(exact.rotation)
    quaternion[::2] *= -1.0  # the same pose
    parts = {
        "t": motion.time[:, None], "q": motion.q[:, 6:], "tau": stood.torque[:, 6:], "xyz": 1e3 * exact.position,
        "abcd": quaternion, "uvw": local, "opr": np.degrees(exact.spin), "imu": imu, "f": feet,
    }  # fmt: skip
    names = ["t", *(f"q_{k}" for k in range(12)), *(f"tau_{k}" for k in range(12)), *"xyz", *"abcd", *"uvw", *"opr"]
    names += [*(f"imu_{k}" for k in range(6)), "f1", "f2"]
    table = np.hstack(list(parts.values()))
    np.savetxt(tmp_path / "log.csv", table, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
    (tmp_path / "recording.yaml").write_text(FOREIGN, encoding="utf-8")
    read = ex.read(tmp_path / "recording.yaml")
    arranged = read.arranged(robot)
    assert arranged.joints == robot.joint_names
    np.testing.assert_allclose(arranged.q, motion.q, atol=1e-9)
    np.testing.assert_allclose(read.base_twist, np.hstack([local, exact.spin]), atol=1e-9)
    assert arranged.base_acceleration is not None
    inner = slice(3, -3)  # ends of a derivative
    np.testing.assert_allclose(arranged.base_acceleration[inner, :3], motion.qdd[inner, :3], atol=0.05)
    np.testing.assert_allclose(arranged.base_acceleration[inner, 3:], motion.qdd[inner, 3:6], atol=0.05)
    assert arranged.contact is not None
    assert arranged.about.contacts is not None
    np.testing.assert_array_equal(arranged.contact, np.column_stack([motion.time >= 1.0, np.ones(len(motion))]))
    assert not arranged.torque[:, :6].any()
    with_speeds = replace(read, qd=motion.qd[:, 6:]).arranged(robot)
    np.testing.assert_allclose(with_speeds.qd, motion.qd, atol=1e-9)


def test_an_imu_gives_accelerations_through_the_filter_of_the_positions(log: Recording) -> None:
    robot, stood = quadruped(), flying(4.0).stood
    motion = stood.motion
    exact = base.BaseMotion.of_joints(motion.q[:, :6], motion.qd[:, :6], motion.qdd[:, :6])
    imu = np.hstack([exact.spin, exact.specific_force(robot.gravity)])
    noisy = stood.recording(replace(EXACT, place=1e-3))
    noisy = replace(noisy, contact=None, contact_force=None, about=About(base_twist=TwistAxes("world", "local")))
    route = FilteredDifferences(cutoff=10.0)
    errors = []
    for one in (noisy, replace(noisy, imu=imu)):
        found = route.apply(one.arranged(robot)).motion
        there = np.searchsorted(motion.time, found.time - 1e-9)
        errors.append(np.sqrt(((found.qdd - motion.qdd[there])[:, :3] ** 2).mean()))
    assert errors[1] < 0.1 * errors[0]


def test_measured_forces_of_contacts_act_in_all_equations(log: Recording) -> None:
    found = flying(2.0)
    arranged = log.arranged(quadruped())
    np.testing.assert_allclose(arranged.torque, found.model.torque(found.stood.motion, found.chi), atol=1e-9)
    turn = Dynamics(quadruped()).placement("trunk", found.stood.motion.q)[0]
    local = np.hstack([np.einsum("Nji,Nj->Ni", turn, found.stood.forces[:, k : k + 3]) for k in (0, 3)])
    about = replace(log.about, contacts=replace(log.about.contacts, axes="local"))
    again = replace(log, contact_force=local, about=about).arranged(quadruped())
    np.testing.assert_allclose(again.torque, arranged.torque, atol=1e-9)


def test_pieces_go_on_over_whole_turns() -> None:
    """A base that spins: cut anywhere, angles are those of the whole log."""
    stood = flying(2.0).stood
    motion = stood.motion
    q = motion.q.copy()
    q[:, 3] += 8.0 * motion.time
    whole = replace(stood, motion=Motion(motion.time, q, motion.qd, motion.qdd)).recording(EXACT)
    whole = replace(whole, contact=None, about=About())
    pieces = list(arranged_pieces((whole[k : k + 37] for k in range(0, len(whole), 37)), quadruped()))
    np.testing.assert_allclose(np.vstack([piece.q for piece in pieces]), q, atol=1e-9)


def test_a_stretch_keeps_away_from_changes_of_contact() -> None:
    motion = sines(4.0, np.ones(18) * 0.1, 0)
    flags = np.ones((len(motion), 4))
    flags[150:200, 0] = 0.0
    flags[300:, :] = 0.0
    piece = Processed(motion, np.zeros_like(motion.q), RATE, contact=flags, contacts=Contacts(FEET, margin=0.1))
    found = [(len(stance), part.motion.time[0], part.motion.time[-1]) for stance, part in stretches(piece)]
    expected = [(4, 0.0, 1.39), (3, 1.60, 1.89), (4, 2.10, 2.89), (0, 3.10, 3.99)]
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"base_orientation": None}, "the robot's base is free, but the log does not say how it moved"),
        ({"base_position": None, "base_twist": None}, "does not say how it moved"),
        ({"about": About(contacts=Contacts(("paw",)))}, "contacts: a contact is at no frame: .*'paw'"),
        ({"imu": np.zeros((200, 6)), "about": About(imu=ImuMounting("LF_foot"))}, "'LF_foot' is not on the base link"),
        ({"base_orientation": np.zeros((200, 4))}, "quaternion of sample 0 is .*norm is 0"),
    ],
)
def test_what_is_missing_or_wrong_is_one_line(change: dict, message: str) -> None:
    whole = flying(2.0).stood.recording(EXACT)
    with pytest.raises(RecordingError, match=message) as caught:
        replace(whole, **{"contact": None, **change}).arranged(quadruped())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (", order: xyzw", "", "base_orientation: order of a quaternion is missing; give one of wxyz, xyzw"),
        ("frame: local, ", "", "frame of base_twist is missing; give one of world, local"),
        ("frames: [LF_foot, RF_foot], ", "", "contacts: frames is missing"),
        ("[LF_foot, RF_foot]", "[LF_foot, LF_foot]", "each once"),
        ("contacts: {", "contact_force: {axes: up}\ncontacts: {", "axes is 'up'"),
    ],
)
def test_a_recording_yaml_that_does_not_say_enough(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in FOREIGN
    (tmp_path / "log.csv").write_text("t\n0\n1\n", encoding="utf-8")
    (tmp_path / "recording.yaml").write_text(FOREIGN.replace(old, new), encoding="utf-8")
    with pytest.raises(RecordingError, match=message) as caught:
        ex.read(tmp_path / "recording.yaml")
    assert "\n" not in str(caught.value)


def test_columns_that_are_named_beside_own_files_must_be_there(log: Recording, tmp_path: Path) -> None:
    """Without them, feet would touch all the time."""
    replace(log, contact=None, contact_force=None, about=About()).save(tmp_path / "log.csv")
    said = "file: log.csv\nformat: exciter\ncontacts: {frames: [LF_foot]"
    (tmp_path / "recording.yaml").write_text(f"{said}}}", encoding="utf-8")
    assert ex.read(tmp_path / "recording.yaml").about.contacts.frames == ("LF_foot",)
    (tmp_path / "recording.yaml").write_text(f"{said}, columns: [f1]}}", encoding="utf-8")
    with pytest.raises(RecordingError, match="there is no column 'f1'"):
        ex.read(tmp_path / "recording.yaml")


def test_a_steep_pitch_is_told() -> None:
    stood = flying(2.0).stood
    q = stood.motion.q.copy()
    q[:, 4] = 1.45
    steep = replace(stood, motion=replace(stood.motion, q=q)).recording(EXACT)
    steep = replace(steep, contact=None, about=About())
    assert any("pitches to 83°" in note.text for note in steep.arranged(quadruped()).notes)


# -- what carries the base ---------------------------------------------------------------------------------------------


def standing_log() -> Recording:
    return standing(3.0).stood.recording(replace(EXACT, place=1e-4))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"contact": None, "about": About()}, "does not fall .*the log names no contacts"),
        ({"contact": np.zeros((300, 4))}, "does not fall .*LF_foot, .* are not above 0.5, their threshold"),
    ],
    ids=("contacts are not said", "flags that never hold"),
)
def test_a_base_that_does_not_fall_stands_on_something(change: dict, message: str) -> None:
    found = check(replace(standing_log(), **change), quadruped())
    (told,) = [one for one in found.problems if one.subject == "contacts"]
    assert re.search(message, told.text)
    assert not any(one.subject == "explained torque" for one in found.problems)


def test_a_base_that_stands_or_falls_or_is_carried_by_measured_forces_is_fine(log: Recording) -> None:
    """A fall of two seconds, while the legs swing; feet that touch; thrust that was measured."""
    motion = standing(3.0).stood.motion
    q = motion.q[:200].copy()
    q[:, 2] += 3.0 - 0.5 * 9.81 * motion.time[:200] ** 2
    fallen = replace(flying(2.0).stood, motion=replace(flying(2.0).stood.motion, q=q)).recording(EXACT)
    fallen = replace(fallen, contact=None, about=About())
    for one in (standing_log(), fallen, log):
        assert not [told for told in check(one, quadruped()).findings if told.subject == "contacts"]
