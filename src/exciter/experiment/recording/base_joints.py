"""From what sensors say of a free base to the six joints it hangs on, and from measured contacts to torques.

Pose → q; twist → q̇; an IMU, beside the pose → q̈. Six joints have no torque of their own; forces of contacts that were
measured act in all equations, Jᵀf, and are added to the torques of all joints there. Contacts whose forces were not
measured stay flags: formulations take their forces off (``dynamics.contacts``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from exciter.dynamics.contacts import GroundContact, checked_stance, refuse_contacts_of_the_base
from exciter.dynamics.dynamics import Dynamics
from exciter.errors import MotionError, RecordingError, RobotError
from exciter.experiment.recording.base_sensing import LOCAL, ImuMounting, TwistAxes
from exciter.experiment.recording.recording import BESIDE_SIGNALS, FREE_BASE_CHANNELS, Recording, changed
from exciter.experiment.recording.signal_filters import arranged_filters
from exciter.notes import Note, note, warning
from exciter.robot import base_motion as base
from exciter.robot.robot import FREE_BASE_JOINTS, Robot
from exciter.typing import Array

SENSED = ("base_position", "base_orientation", "base_twist", "imu")
UNUSED_BASE = "free base"  #: subject of a note on a base that is fixed, and moves in the log
NO_BASE_MOTION = (
    "the robot's base is free, but the log does not say how it moved; give base_orientation: and base_position: (or "
    "base_twist:) in a recording.yaml, columns base.px … base.qz, or load the robot with base: fixed"
)
FEWEST_DIFFERENTIATED = 3  #: samples from which a gyroscope's derivative can be told


def with_base_joints(recording: Recording, robot: Robot, before: Recording | None = None) -> Recording:
    """The robot's joints, in its order, those of its free base among them; see ``Recording.arranged``."""
    unused: dict[str, Any] = dict.fromkeys(FREE_BASE_CHANNELS)
    if not robot.free_base:
        about = replace(recording.about, contacts=None, base_twist=None, imu=None)
        notes = (*recording.notes, *_of_a_free_base(recording))
        return replace(recording, **unused, about=about, notes=notes).in_order(robot)
    names = [robot.joint_names[j] for j in robot.free_base]
    if set(names) <= set(recording.joints):  # as joints, or arranged before
        found = replace(recording.in_order(robot), base_position=None, base_orientation=None, base_twist=None, imu=None)
    else:
        found = _hung(recording, robot, before)
    undriven = tuple(name for j, name in enumerate(robot.joint_names) if j not in robot.actuated)
    found = _steep(replace(found, undriven=undriven), robot)
    return _on_the_ground(found, recording, robot)


def _of_a_free_base(recording: Recording) -> Iterator[Note]:
    """What a log tells of a base that its robot has fixed, and nobody would use."""
    told = [name for name in FREE_BASE_CHANNELS if getattr(recording, name) is not None]
    if recording.about.contacts is not None and "contact" not in told:
        told.append("contacts")
    if told:
        words = ", ".join(name.replace("_", " ") for name in told)
        advice = "where the base moves, its equations are wrong: load it with base: free"
        yield warning(UNUSED_BASE, f"the log has {words}, and the robot's base is fixed: they are not used; {advice}")


def arranged_pieces(pieces: Iterable[Recording], robot: Robot) -> Iterator[Recording]:
    """``Recording.arranged`` of one piece after the other, whose angles go on over whole turns."""
    before: Recording | None = None
    for piece in pieces:
        before = piece.arranged(robot, before)
        yield before


def _hung(recording: Recording, robot: Robot, before: Recording | None) -> Recording:
    """With six joints more, whose motion is that of the base."""
    driven = [robot.joint_names[j] for j in range(robot.n) if j not in robot.free_base]
    own = _driven(recording, robot, driven)
    q, qd, qdd = _base_motion(recording, robot, before)
    order = [*FREE_BASE_JOINTS, *driven]
    columns = [order.index(name) for name in robot.joint_names]

    def joined(name: str, values: Array) -> Array:
        base_part = {"q": q, "qd": qd}.get(name)
        fill = np.nan if name in BESIDE_SIGNALS else 0.0
        more = np.full((len(own), len(FREE_BASE_JOINTS)), fill) if base_part is None else base_part
        return np.hstack([more, values])[:, columns]

    about = own.about
    gains = None if about.gains is None else tuple(np.array([1.0] * len(FREE_BASE_JOINTS) + [*about.gains])[columns])
    maps = about.map
    if maps is not None and len(maps) > 1:
        maps = tuple((maps[:1] * len(FREE_BASE_JOINTS) + maps)[k] for k in columns)
    repeated = [max(k - len(FREE_BASE_JOINTS), 0) for k in columns]  # what there is no filter of: as the first
    filters = arranged_filters(about.filter, repeated) if driven else about.filter
    about = replace(about, gains=gains, map=maps, filter=filters)
    signals = [name for name in own.everything if name not in ("wrench", *FREE_BASE_CHANNELS)]
    if qd is None and "qd" in signals:
        signals.remove("qd")
        own = replace(own, qd=None)
    values: dict[str, Any] = {name: joined(name, getattr(own, name)) for name in signals}
    values |= dict.fromkeys(SENSED) | {"base_acceleration": qdd}
    return replace(own, joints=robot.joint_names, named=True, about=about, **values)


def _driven(recording: Recording, robot: Robot, driven: Sequence[str]) -> Recording:
    """The joints that are no base, in the robot's order; without a torque nothing but the base has equations."""
    if not recording.named and recording.n == len(driven):
        unusable = tuple(driven[j] for j in recording.silent)
        recording = replace(
            recording, joints=tuple(driven), named=True, about=replace(recording.about, unusable=unusable)
        )
    if missing := [name for name in driven if name not in recording.joints]:
        had = ", ".join(recording.joints)
        why = f"the log has no joint '{missing[0]}' of the robot; it has {had}; rename them under joints: in a "
        raise RecordingError(f"{why}recording.yaml")
    if recording.torque is None and recording.current is None:
        about = replace(recording.about, unusable=tuple(driven))
        told = note("torque", "no torque was recorded: equations are those of the base alone (base-link method)")
        zeros = np.zeros_like(recording.q)
        recording = replace(recording, torque=zeros, about=about, notes=(*recording.notes, told))
    columns = [recording.joints.index(name) for name in driven]
    about = recording.about
    gains = None if about.gains is None else tuple(about.gains[k] for k in columns)
    maps = about.map if about.map is None or len(about.map) == 1 else tuple(about.map[k] for k in columns)
    unusable = tuple(name for name in driven if name in about.unusable)
    about = replace(about, gains=gains, map=maps, unusable=unusable, filter=arranged_filters(about.filter, columns))
    own = [name for name in recording.everything if name not in ("wrench", *FREE_BASE_CHANNELS)]
    return changed(recording, lambda _, x: x[:, columns], own, joints=tuple(driven), about=about)


def _base_motion(
    recording: Recording, robot: Robot, before: Recording | None
) -> tuple[Array, Array | None, Array | None]:
    """q, q̇ and q̈ (N, 6) of the base's joints; None where nothing was measured of them."""
    if recording.base_orientation is None or (recording.base_position is None and recording.base_twist is None):
        raise RecordingError(NO_BASE_MOTION)
    known = None if before is None else before.q[-1, list(robot.free_base[3:])]
    try:
        rotation = base.rotations(recording.base_orientation)
        angles = base.angles_of_rotation(rotation, known)
        velocity, spin = _twist(recording, rotation)
        qd = None
        if velocity is not None and spin is not None:
            qd = np.hstack([velocity, base.angle_rates(angles, spin)])
        position = recording.base_position
        if position is None:  # where it is does not matter to its dynamics, how it moves does
            assert velocity is not None
            start = np.zeros(3) if before is None else before.q[-1, list(robot.free_base[:3])]
            steps = 0.5 * (velocity[1:] + velocity[:-1]) * np.diff(recording.time)[:, None]
            position = start + np.vstack([np.zeros(3), np.cumsum(steps, axis=0)])
        q = np.hstack([position, angles])
        return q, qd, None if recording.imu is None else _felt(recording, robot, rotation, angles)
    except MotionError as error:
        raise RecordingError(str(error)) from None


def _twist(recording: Recording, rotation: Array) -> tuple[Array | None, Array | None]:
    """Velocity in axes of the world, angular velocity in axes of the base; None where there is none."""
    if recording.base_twist is None:
        return None, None
    axes = recording.about.base_twist or TwistAxes()
    velocity, spin = recording.base_twist[:, :3], recording.base_twist[:, 3:]
    if axes.frame == LOCAL:
        velocity = np.einsum("Nij,Nj->Ni", rotation, velocity)
    return velocity, spin if axes.of_spin == LOCAL else np.einsum("Nji,Nj->Ni", rotation, spin)


def _felt(recording: Recording, robot: Robot, rotation: Array, angles: Array) -> Array:
    """q̈ (N, 6) by the IMU, whose gyroscope is differentiated; as noisy as it is: routes low-pass it."""
    turn, place = imu_place(robot, recording.about.imu or ImuMounting())
    assert recording.imu is not None
    if len(recording) < FEWEST_DIFFERENTIATED:
        raise RecordingError(f"{len(recording)} samples of an IMU are too few; at least {FEWEST_DIFFERENTIATED}")
    spin, felt = recording.imu[:, :3] @ turn.T, recording.imu[:, 3:] @ turn.T
    spin_rate = np.gradient(spin, recording.time, axis=0)
    rates = base.angle_rates(angles, spin)
    linear = base.acceleration_of_imu(rotation, spin, spin_rate, felt, robot.gravity, place)
    return np.hstack([linear, base.angle_accelerations(angles, rates, spin_rate)])


def imu_place(robot: Robot, mounting: ImuMounting) -> tuple[Array, Array]:
    """Rotation (3, 3) and place (3,) [m] of an IMU in the base link."""
    yaw_pitch_roll = np.array([mounting.rpy[::-1]], dtype=float)
    turn, place = base.rotation_of_angles(yaw_pitch_roll)[0], np.array(mounting.translation, dtype=float)
    if mounting.frame is None:
        return turn, place
    try:
        frame = robot.frame(mounting.frame)
    except RobotError as error:
        raise RecordingError(f"imu: {error}") from None
    if frame.joint != robot.base_link:
        raise RecordingError(f"imu: frame '{mounting.frame}' is not on the base link; name one that is")
    return frame.rotation @ turn, frame.rotation @ place + frame.translation


def _steep(recording: Recording, robot: Robot) -> Recording:
    """With a word where yaw and roll are hardly told apart."""
    pitch = np.abs(recording.q[:, robot.free_base[4]])
    if not len(pitch) or not np.nanmax(pitch) > base.STEEP_PITCH_RAD:
        return recording
    text = f"the base pitches to {np.degrees(np.nanmax(pitch)):.0f}°: near ±90° yaw and roll cannot be told apart, and "
    return replace(recording, notes=(*recording.notes, warning("base pitch", f"{text}their rates grow beyond bounds")))


def _on_the_ground(found: Recording, given: Recording, robot: Robot) -> Recording:
    """With the torque of contacts that were measured, or flags of those that were not."""
    contacts = given.about.contacts
    if contacts is None:
        told = note("contacts", "no contacts are given: the robot is taken to fly, nothing touches it")
        return replace(found, contact=None, contact_force=None, notes=(*found.notes, told))
    try:
        checked_stance(robot, contacts.all)
        if given.contact_force is None:
            refuse_contacts_of_the_base(robot, contacts.all)
    except RobotError as error:
        raise RecordingError(f"contacts: {error}") from None
    if given.contact_force is None:
        flags = np.ones((len(found), len(contacts.frames))) if given.contact is None else given.contact
        return replace(found, contact=flags, contact_force=None)
    torque = found.needed_torque() + contact_torque(robot, contacts.all, found.q, given.contact_force, contacts.axes)
    about = replace(found.about, contacts=None, gains=None, map=None)
    return replace(found, torque=torque, current=None, contact=None, contact_force=None, about=about)


def contact_torque(robot: Robot, contacts: Sequence[GroundContact], q: Array, forces: Array, axes: str) -> Array:
    """Σ Jᵀf (N, n) of forces, and moments about the frames' origins, in axes of the world or of the frames (local)."""
    dynamics, whole = Dynamics(robot), np.where(np.isfinite(q), q, 0.0)
    parts, total = np.split(forces, len(contacts), axis=1), np.zeros_like(q)
    for contact, part in zip(contacts, parts, strict=True):
        rotation, _ = dynamics.placement(contact.frame, whole)
        jacobian, vectors = dynamics.jacobian(contact.frame, whole), part.reshape(len(part), -1, 3)
        if axes == LOCAL:
            vectors = np.einsum("Nij,Nkj->Nki", rotation, vectors)
        flat = vectors.reshape(len(part), -1)
        total += np.einsum("Nmj,Nm->Nj", jacobian[:, : flat.shape[1]], flat)
    return np.where(np.isfinite(q).all(axis=1, keepdims=True), total, np.nan)
